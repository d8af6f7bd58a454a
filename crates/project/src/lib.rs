#![doc = include_str!("../README.md")]
//!
//! # The way of the data
//!
//! ```text
//! FILE or DIR ──find_descriptor──▶ file ──load──▶ Descriptor
//!                                   │
//!                                   ├──Project::open──▶ root, locations, existing things
//!                                   └──DiskCatalog::around──▶ descriptors by name ──package──▶ driver::Package
//! ```
//!
//! | module | it has |
//! |---|---|
//! | [`find`] | from what a user names to the file of an assembly |
//! | [`disk`] | the only door to the disk |
//! | [`overlay`] | texts that stand for those of files |
//! | [`output`] | the door for writing files that a user names |
//! | [`file`](mod@file) | what a `windlass.yaml` may say |
//! | [`project`] | the project that a file belongs to, and where its parts go |
//! | [`catalog`] | descriptors on the disk, and the rule by which they are found |
//! | [`package`] | which files of a folder are a package |
//! | [`secret`] | values that a `windlass.yaml` names and doesn't hold |
//! | `schema` | the JSON Schema of a `windlass.yaml`, with the feature of that name |
//! | [`codes`] | the codes of all messages |

pub mod catalog;
pub mod codes;
pub mod disk;
pub mod file;
pub mod find;
mod layout;
mod lmproject;
pub mod output;
pub mod overlay;
pub mod package;
pub mod project;
mod reader;
#[cfg(feature = "schema")]
pub mod schema;
pub mod secret;
mod walk;

pub use catalog::DiskCatalog;
pub use disk::load;
pub use file::FILE_NAME;
pub use find::find_descriptor;
pub use overlay::Overlay;
pub use project::{PlacementError, Project};
