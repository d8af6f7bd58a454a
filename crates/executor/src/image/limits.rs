//! How much of an image is taken.

/// How large an image may be. What comes from elsewhere must not fill the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageLimits {
    /// The most bytes of all files together, unpacked. Default: 16 GiB.
    pub bytes: u64,
    /// The most files, folders and links. Default: one million.
    pub entries: u64,
    /// The most bytes of one of its documents (manifest, config). Default: 4 MiB.
    pub document_bytes: u64,
    /// The most layers. Default: 512.
    pub layers: usize,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { bytes: 16 << 30, entries: 1_000_000, document_bytes: 4 << 20, layers: 512 }
    }
}
