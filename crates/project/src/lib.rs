//! What lies on the disk: `windlass.yaml`, descriptors by their names, and package folders.
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
//! | [`file`](mod@file) | what a `windlass.yaml` may say |
//! | [`project`] | the project that a file belongs to, and where its parts go |
//! | [`catalog`] | descriptors on the disk, and the rule by which they are found |
//! | [`package`] | which files of a folder are a package |
//! | [`codes`] | the codes of all messages |
//!
//! ```no_run
//! use std::path::Path;
//! use windlass_descriptor::{Descriptor, Request, compose};
//! use windlass_project::{DiskCatalog, Project, find_descriptor, load};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = find_descriptor("shop".as_ref())?;
//! let project = Project::open(&file, Path::new(".")).map_err(|diagnostics| diagnostics.to_string())?;
//! let Some(Descriptor::Assembly(shop)) = load(&file).descriptor else { return Err("not an assembly".into()) };
//!
//! let (catalog, diagnostics) = DiskCatalog::around(&file, &shop, &project, &[]);
//! let name = "shop".parse()?;
//! let request =
//!     Request { name: &name, parameters: &Default::default(), catalog: &catalog, existing: project.existing() };
//! let composed = compose(&shop, request);
//! # Ok(())
//! # }
//! ```

pub mod catalog;
pub mod codes;
pub mod disk;
pub mod file;
pub mod find;
mod layout;
pub mod package;
pub mod project;
mod reader;
mod walk;

pub use catalog::DiskCatalog;
pub use disk::load;
pub use file::FILE_NAME;
pub use find::find_descriptor;
pub use project::{PlacementError, Project};
