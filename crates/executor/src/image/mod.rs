//! Reads, stores and unpacks images on this host, without a container engine.
//!
//! An image is a file system in layers, and a config that states how the programs of the image are run. An image is
//! imported from a file in one of three formats (see [`archive`]): the output of `docker save`, an OCI layout, or
//! an artifact set, in which the Open Component Model stores an image as one file.
//!
//! A [`Store`] keeps unpacked images under the digests of their configs. A config contains the digests of the
//! layers, and the store checks each layer against its digest. So the content of an image depends only on the
//! digest of its config. The store maps names to images, and returns the folder that becomes the root of a job.
//!
//! Images are not trusted. No name in an archive leads out of the folder into which the archive is unpacked,
//! since the kernel itself resolves each path within that folder. Sizes and counts are limited, and devices
//! are skipped. Set-user-id bits and owners are dropped: all files belong to the user that unpacks the image.
//!
//! ```
//! use windlass_executor::image::{Reference, Store};
//!
//! # let dir = tempfile::tempdir()?;
//! let store = Store::open(dir.path().join("images"))?;
//! let error = store.resolve(&"busybox:1.36".parse::<Reference>()?).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "there is no image `busybox:1.36` in the store: import it with `windlass image import FILE`"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod archive;
mod budget;
pub mod build;
mod config;
mod error;
mod files;
mod layer;
mod limits;
mod reference;
mod root;
mod store;
mod stream;

pub use crate::{Digest, DigestError};

pub use self::{
    config::ImageConfig,
    error::ImageError,
    files::{FileSearch, ImageFiles},
    limits::ImageLimits,
    reference::{ImageName, Reference, ReferenceError},
    store::{Image, Listed, Prune, Pruned, Store},
};
