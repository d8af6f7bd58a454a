//! Images without an engine: read, kept and unpacked on this host.
//!
//! An image is a file system in layers, and a config that says how to run what is in it. Here it comes as a file: what
//! `docker save` writes, an OCI layout, an artifact set out of a component archive ([`archive`]). A [`Store`] keeps
//! images unpacked under the digests of their configs, which name the digests of their layers: what was unpacked was
//! what was meant, whoever made the file. It knows their names, and hands out the folder to be a job's root.
//!
//! Images come from elsewhere and are not trusted: no name in an archive leads out of the folder it is unpacked into
//! (the kernel itself resolves each path within that folder), sizes and counts are limited, devices are left out, and
//! set-user-id bits and owners are dropped: everything belongs to whoever unpacks it.
//!
//! ```
//! use windlass_executor::image::{Reference, Store};
//!
//! # let dir = tempfile::tempdir()?;
//! let store = Store::open(dir.path().join("images"))?;
//! let error = store.resolve(&"busybox:1.36".parse::<Reference>()?).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "there is no image `busybox:1.36` in the store: bring it in with `windlass image import FILE`"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod archive;
pub mod build;
mod config;
mod digest;
mod error;
mod layer;
mod limits;
mod reference;
mod root;
mod store;
mod stream;

pub use self::{
    config::ImageConfig,
    digest::{Digest, DigestError},
    error::ImageError,
    limits::ImageLimits,
    reference::{ImageName, Reference, ReferenceError},
    store::{Image, Listed, Prune, Pruned, Store},
};
