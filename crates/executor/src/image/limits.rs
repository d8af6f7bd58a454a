//! Size limits of images.

/// Size limits of an image. Images from outside must not fill the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageLimits {
    /// Maximum total size of all files in bytes, unpacked. Default: 16 GiB.
    pub bytes: u64,
    /// Maximum number of files, folders and links. Default: one million.
    pub entries: u64,
    /// Maximum size of one document (manifest, config) in bytes. Default: 4 MiB.
    pub document_bytes: u64,
    /// Maximum number of layers. Default: 512.
    pub layers: usize,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { bytes: 16 << 30, entries: 1_000_000, document_bytes: 4 << 20, layers: 512 }
    }
}
