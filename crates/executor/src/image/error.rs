//! What can be wrong with images.

use std::{io, path::PathBuf};

use crate::image::Digest;

/// Why an image could not be read, kept or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// A file or folder could not be read or written.
    #[error("can't {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the host said.
        source: io::Error,
    },
    /// A file is nothing that holds an image.
    #[error(
        "`{}` holds no image: it has neither a `manifest.json` (docker archive), nor an `index.json` (OCI layout, \
         artifact set), nor an `artifact-descriptor.json`", path.display()
    )]
    NotAnImage {
        /// The file or folder.
        path: PathBuf,
    },
    /// A document in an image is not what it should be.
    #[error("`{document}` in `{}` can't be used: {problem}", path.display())]
    Document {
        /// The file or folder with the image.
        path: PathBuf,
        /// The document in it.
        document: String,
        /// What is wrong.
        problem: String,
    },
    /// Content is not what its digest says.
    #[error("{what} in `{}` has the digest {found}, but should have {expected}: the file is damaged or was changed", path.display())]
    Digest {
        /// The file or folder with the image.
        path: PathBuf,
        /// What was read.
        what: String,
        /// What was expected.
        expected: Digest,
        /// What was found.
        found: Digest,
    },
    /// A layer holds something that can't be unpacked safely.
    #[error("the entry `{entry}` of {layer} can't be unpacked: {problem}")]
    Entry {
        /// The layer.
        layer: String,
        /// The entry's name.
        entry: String,
        /// What is wrong.
        problem: String,
    },
    /// An image is larger than is taken.
    #[error("the image has more than {limit} {what}, which is the limit")]
    TooLarge {
        /// The most that is taken.
        limit: u64,
        /// Of what.
        what: &'static str,
    },
    /// None of the images in a file is for this host.
    #[error("`{}` has no image for {wanted}; it has some for {}", path.display(), found.join(", "))]
    Platform {
        /// The file or folder with the images.
        path: PathBuf,
        /// What this host is.
        wanted: String,
        /// What there is.
        found: Vec<String>,
    },
    /// There is no such image in the store.
    #[error("there is no image `{reference}` in the store: bring it in with `windlass image import FILE`")]
    Unknown {
        /// The reference as given.
        reference: String,
    },
    /// A folder of the host can't be mounted into the image at this path.
    #[error("nothing can be mounted at `{path}` of the image: {problem}")]
    MountPoint {
        /// The path as given.
        path: String,
        /// What is in the way.
        problem: String,
    },
    /// A file holds several images, and it was not said which.
    #[error("`{}` holds {count} images: import it and choose one by name", path.display())]
    Several {
        /// The file or folder.
        path: PathBuf,
        /// How many there are.
        count: usize,
    },
}

/// Makes the error that says what was tried on which file.
pub(crate) fn io_error(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(io::Error) -> ImageError {
    let path = path.into();
    move |source| ImageError::Io { action, path, source }
}
