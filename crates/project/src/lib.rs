#![doc = include_str!("../README.md")]
//!
//! # Data flow
//!
//! ```text
//! FILE or DIR ──find_descriptor──▶ file ──load──▶ Descriptor
//!                                   │
//!                                   ├──Project::open──▶ root, locations, existing instances
//!                                   └──DiskCatalog::around──▶ descriptors by name ──package──▶ driver::Package
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`find`] | resolution of a user's path to the file of an assembly |
//! | [`disk`] | reading and replacing files |
//! | [`load()`] | reading a descriptor from a file |
//! | [`overlay`] | texts that are used instead of files' contents, such as an editor's buffers |
//! | [`output`] | atomic writing of files that the user names |
//! | [`kinds`] | the kinds of runtimes that locations may name, registered by the caller |
//! | [`file`](mod@file) | the format of `windlass.yaml` |
//! | [`project`] | the project to which a file belongs, and the placement of components |
//! | [`catalog`] | descriptors on disk, and the search path |
//! | [`inventory`] | static Ansible inventories: the hosts of a group |
//! | `ignored` | the files in a package folder that do not belong to the package |
//! | [`package`] | the files that belong to a package |
//! | [`secret`] | secret values that a `windlass.yaml` refers to |
//! | `schema` | the JSON Schema of `windlass.yaml` |
//! | [`codes`] | the diagnostic codes of this crate |

pub mod catalog;
pub mod codes;
pub mod disk;
mod environment;
pub mod file;
pub mod find;
mod ignored;
pub mod inventory;
mod keys;
pub mod kinds;
mod layout;
mod lmproject;
mod load;
pub mod output;
pub mod overlay;
pub mod package;
pub mod project;
mod reader;
pub mod schema;
pub mod secret;
mod sections;
mod walk;

pub use catalog::DiskCatalog;
pub use file::FILE_NAME;
pub use find::find_descriptor;
pub use kinds::{ImageUse, Misfit, RuntimeKind, RuntimeKinds, SettingProblem};
pub use load::load;
pub use overlay::Overlay;
pub use package::files_in;
pub use project::{PlacementError, Project};
pub use windlass_driver::Setting;
