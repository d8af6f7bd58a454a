//! Images for sandboxes, made and kept without an engine or a registry.
//!
//! ```
//! use windlass::images::{Contents, Images};
//!
//! # let dir = tempfile::tempdir()?;
//! std::fs::create_dir(dir.path().join("files"))?;
//! let images = Images::open(&dir.path().join("images"))?;
//! let built = images.build(&Contents::Folder(dir.path().join("files")), "demo:1", None)?;
//! assert_eq!(images.list()?.images, built.images);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_executor::image::{
    self, ImageError, ImageName, Listed, ReferenceError, Store,
    build::{BuildError, ImageBuilder},
};

/// Where a static busybox usually is.
const BUSYBOXES: [&str; 2] = ["/bin/busybox", "/usr/bin/busybox"];

/// The images of one user.
#[derive(Debug)]
pub struct Images {
    store: Store,
}

/// What an image is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// All that is in a folder, as the root of the image.
    Folder(PathBuf),
    /// The static busybox of this host: a shell and the usual small tools.
    Busybox,
}

/// Which images are removed.
pub use image::Prune;

/// Why something could not be done with images.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImagesError {
    /// An image could not be read, kept or found.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// An image could not be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A name is none.
    #[error(transparent)]
    Name(#[from] ReferenceError),
    /// There is no busybox to make an image of.
    #[error("there is no busybox on this host: install the package `busybox-static`")]
    NoBusybox,
    /// The archive could not be written.
    #[error("can't write `{}`: {source}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// What the host said.
        source: std::io::Error,
    },
}

/// Images, as they are listed: `version: 1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImagesView {
    /// The version of this form: 1.
    pub version: u32,
    /// In order of their ids.
    pub images: Vec<ImageView>,
}

/// One image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImageView {
    /// The digest of its config, by which jobs may name it.
    pub id: String,
    /// All its names.
    pub names: Vec<String>,
    /// How many bytes its files have.
    pub bytes: u64,
    /// The processor it is for.
    pub architecture: String,
}

/// What was removed: `version: 1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PrunedView {
    /// The version of this form: 1.
    pub version: u32,
    /// The ids of the images that are gone.
    pub removed: Vec<String>,
    /// How many bytes their files had.
    pub bytes: u64,
    /// The ids of those that were left because jobs use them.
    pub in_use: Vec<String>,
}

impl Images {
    /// Opens the images in this folder, which is made if needed.
    ///
    /// # Errors
    /// [`ImagesError::Image`] when the folder can't be made.
    pub fn open(folder: &Path) -> Result<Self, ImagesError> {
        Ok(Self { store: Store::open(folder)? })
    }

    /// Makes an image and brings it in under a name; also writes it to a file, as `docker load` takes it.
    ///
    /// # Errors
    /// All but that an image is not found.
    pub fn build(
        &self,
        contents: &Contents,
        name: &str,
        file: Option<&Path>,
    ) -> Result<ImagesView, ImagesError> {
        let name: ImageName = name.parse()?;
        let builder = ImageBuilder::new(name.to_string());
        let built = match contents {
            Contents::Folder(folder) => builder.tree(folder)?.build()?,
            Contents::Busybox => {
                let busybox = BUSYBOXES.iter().map(Path::new).find(|path| path.exists());
                builder.busybox(busybox.ok_or(ImagesError::NoBusybox)?)?.build()?
            }
        };
        let write = |path: &Path| {
            let failed = |source| ImagesError::Write { path: path.to_owned(), source };
            windlass_project::output::write(path, built.archive(), 0o666).map_err(failed)
        };
        if let Some(file) = file {
            write(file)?;
            return self.import(file, Some(&name.to_string()));
        }
        let passing = self.store.path().join(format!("built-{}.tar", std::process::id()));
        let imported = write(&passing).and_then(|()| self.import(&passing, Some(&name.to_string())));
        let _removed = std::fs::remove_file(passing);
        imported
    }

    /// Brings in the images of a file or folder.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn import(&self, path: &Path, name: Option<&str>) -> Result<ImagesView, ImagesError> {
        let name: Option<ImageName> = name.map(str::parse).transpose()?;
        Ok(ImagesView::of(self.store.import(path, name.as_ref())?))
    }

    /// Lists the images.
    ///
    /// # Errors
    /// [`ImagesError::Image`] when the folder can't be read.
    pub fn list(&self) -> Result<ImagesView, ImagesError> {
        Ok(ImagesView::of(self.store.list()?))
    }

    /// Removes images.
    ///
    /// # Errors
    /// [`ImagesError::Image`] when one can't be removed.
    pub fn prune(&self, which: Prune) -> Result<PrunedView, ImagesError> {
        let pruned = self.store.prune(which)?;
        let texts = |ids: Vec<image::Digest>| ids.iter().map(ToString::to_string).collect();
        Ok(PrunedView {
            version: 1,
            removed: texts(pruned.removed),
            bytes: pruned.bytes,
            in_use: texts(pruned.in_use),
        })
    }
}

impl ImagesView {
    fn of(listed: Vec<Listed>) -> Self {
        let view = |image: Listed| ImageView {
            id: image.id.to_string(),
            names: image.names.iter().map(ToString::to_string).collect(),
            bytes: image.bytes,
            architecture: image.architecture,
        };
        Self { version: 1, images: listed.into_iter().map(view).collect() }
    }
}
