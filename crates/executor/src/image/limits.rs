//! Size limits of images.

/// Size limits of an image. With these limits, an image from an unknown source can fill neither the disk nor the
/// memory. In addition, no path has more than 128 parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageLimits {
    /// Maximum total size in bytes of all files after unpacking. Default: 16 GiB.
    pub bytes: u64,
    /// Maximum number of files, folders and links. A folder without an entry of its own also counts, if it occurs in
    /// the paths of other entries. Default: one million.
    pub entries: u64,
    /// Maximum total length in bytes of the paths and link targets of all [`entries`](Self::entries). Default: 256 MiB.
    pub path_bytes: u64,
    /// Maximum size in bytes of one document, such as a manifest or a config. Default: 4 MiB.
    pub document_bytes: u64,
    /// Maximum number of layers. Default: 512.
    pub layers: usize,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self {
            bytes: 16 << 30,
            entries: 1_000_000,
            path_bytes: 256 << 20,
            document_bytes: 4 << 20,
            layers: 512,
        }
    }
}
