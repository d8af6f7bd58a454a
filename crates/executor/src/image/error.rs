//! Errors of reading and storing images.

use std::{io, path::PathBuf};

use crate::Digest;

/// An error of reading, storing or finding an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// A file or folder could not be read or written.
    #[error("can't {action} `{}`: {source}", path.display())]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file or folder has none of the image formats.
    #[error(
        "`{}` holds no image: it has neither a `manifest.json` (docker archive), nor an `index.json` (OCI layout, \
         artifact set), nor an `artifact-descriptor.json`", path.display()
    )]
    NotAnImage {
        /// The file or folder.
        path: PathBuf,
    },
    /// A document in an image is malformed.
    #[error("`{document}` in `{}` can't be used: {problem}", path.display())]
    Document {
        /// The file or folder with the image.
        path: PathBuf,
        /// The name of the document in the file or folder.
        document: String,
        /// A description of the problem, as text for people.
        problem: String,
    },
    /// The digest of a document or layer differs from the digest that the image states.
    #[error("{what} in `{}` has the digest {found}, but should have {expected}: the file is damaged or was changed", path.display())]
    Digest {
        /// The file or folder with the image.
        path: PathBuf,
        /// A description of the document or layer, as text for people.
        what: String,
        /// Digest that the image states.
        expected: Digest,
        /// Digest of the actual bytes.
        found: Digest,
    },
    /// A layer contains an entry that can't be unpacked safely.
    #[error("the entry `{entry}` of {layer} can't be unpacked: {problem}")]
    Entry {
        /// Description of the layer.
        layer: String,
        /// Name of the entry.
        entry: String,
        /// A description of the problem, as text for people.
        problem: String,
    },
    /// An image exceeds a limit.
    #[error("the image has more than {limit} {what}, which is the limit")]
    TooLarge {
        /// The limit that the image exceeds.
        limit: u64,
        /// The quantity to which the limit applies, as a noun phrase.
        what: &'static str,
    },
    /// None of the images in a file is for this host.
    #[error("`{}` has no image for {wanted}; it has some for {}", path.display(), found.join(", "))]
    Platform {
        /// The file or folder with the images.
        path: PathBuf,
        /// The platform of this host.
        wanted: String,
        /// The platforms of the images in the file.
        found: Vec<String>,
    },
    /// The store has no such image.
    #[error("there is no image `{reference}` in the store: import it with `windlass image import FILE`")]
    Unknown {
        /// The reference as given.
        reference: String,
    },
    /// A folder of the host can't be mounted into the image at this path.
    #[error("nothing can be mounted at `{path}` of the image: {problem}")]
    MountPoint {
        /// The path as given.
        path: String,
        /// A description of the problem, as text for people.
        problem: String,
    },
    /// A file contains several images, but the request needs exactly one.
    #[error("`{}` holds {count} images: import it and choose one by name", path.display())]
    Several {
        /// The file or folder with the images.
        path: PathBuf,
        /// Number of the images.
        count: usize,
    },
}

/// Returns a function that wraps an I/O error with the attempted action and the path.
pub(crate) fn io_error(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(io::Error) -> ImageError {
    let path = path.into();
    move |source| ImageError::Io { action, path, source }
}
