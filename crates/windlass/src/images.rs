//! Images for sandboxes. They are built and stored without a container engine or a registry.
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
use tempfile::NamedTempFile;
use windlass_executor::image::{
    self, ImageError, ImageFiles, ImageName, Listed, Reference, ReferenceError, Store,
    build::{BuildError, ImageBuilder},
};
use windlass_source::Code;

use crate::blocking::blocking;
use crate::codes;
use crate::runtimes::{Variables, save_from_engine};

/// Usual paths of a statically linked busybox.
const BUSYBOXES: [&str; 2] = ["/bin/busybox", "/usr/bin/busybox"];

/// The image store of one user.
#[derive(Debug)]
pub struct Images {
    store: Store,
}

/// The contents of a new image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// All files of a folder, as the root of the image.
    Folder(PathBuf),
    /// The statically linked busybox of this host: a shell and common small tools.
    Busybox,
}

/// The selection of images to remove.
pub use image::Prune;

/// The reason why an operation on images failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImagesError {
    /// An image could not be read, stored or found.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// An image could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A name is invalid.
    #[error(transparent)]
    Name(#[from] ReferenceError),
    /// Neither the image store nor a container engine has the image.
    #[error(
        "there is no image `{image}`: the store doesn't have it, and {}; import it with `windlass image import FILE`, or \
         name a file as `./FILE`",
        reasons.join(", and ")
    )]
    Nowhere {
        /// The requested name of the image.
        image: String,
        /// The reasons why the container engines do not have the image, one for each engine.
        reasons: Vec<String>,
    },
    /// No statically linked busybox was found on this host.
    #[error("there is no busybox on this host: install the package `busybox-static`")]
    NoBusybox,
    /// The archive could not be written.
    #[error("can't write `{}`: {source}", path.display())]
    Write {
        /// The path of the archive.
        path: PathBuf,
        /// The error of writing the archive.
        source: std::io::Error,
    },
}

impl ImagesError {
    /// Returns the code of the error. `windlass explain CODE` explains the error.
    pub fn code(&self) -> Code {
        match self {
            Self::Image(error) => match error {
                ImageError::NotAnImage { .. } => codes::NO_IMAGE_IN_FILE,
                ImageError::Document { .. } | ImageError::Digest { .. } | ImageError::Entry { .. } => {
                    codes::DAMAGED_IMAGE
                }
                ImageError::TooLarge { .. } => codes::LARGE_IMAGE,
                ImageError::Platform { .. } => codes::OTHER_PLATFORM,
                ImageError::Unknown { .. } => codes::NO_IMAGE,
                ImageError::MountPoint { .. } => codes::IMAGE_MOUNT,
                ImageError::Several { .. } => codes::SEVERAL_IMAGES,
                _ => codes::IMAGE_FILE,
            },
            Self::Build(_) => codes::IMAGE_BUILD,
            Self::Name(_) => codes::IMAGE_NAME,
            Self::Nowhere { .. } => codes::NO_IMAGE,
            Self::NoBusybox => codes::NO_BUSYBOX,
            Self::Write { .. } => codes::WRITE,
        }
    }
}

/// A list of stored images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImagesView {
    /// The version of this view's JSON layout, which is 1 at present.
    pub version: u32,
    /// The images, sorted by id.
    pub images: Vec<ImageView>,
}

/// A stored image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImageView {
    /// The digest of the image's config. The digest is also a valid name of the image.
    pub id: String,
    /// All names of the image.
    pub names: Vec<String>,
    /// Size of the image's files in bytes.
    pub bytes: u64,
    /// Processor architecture of the image.
    pub architecture: String,
}

/// The result of removing images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PrunedView {
    /// The version of this view's JSON layout, which is 1 at present.
    pub version: u32,
    /// The ids of the removed images.
    pub removed: Vec<String>,
    /// Size of the removed images' files in bytes.
    pub bytes: u64,
    /// The ids of images that were kept because jobs use them.
    pub in_use: Vec<String>,
}

impl Images {
    /// Opens the image store in a folder. Creates the folder if it is missing.
    ///
    /// # Errors
    /// Returns [`ImagesError::Image`] if the folder can't be created.
    pub fn open(folder: &Path) -> Result<Self, ImagesError> {
        Ok(Self { store: Store::open(folder)? })
    }

    /// Builds an image and stores it under a name. If `file` is given, also writes an archive to this file,
    /// for `docker load`.
    ///
    /// # Errors
    /// Returns any [`ImagesError`] except [`ImagesError::Nowhere`].
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
        }
        // The given file may be a pipe, which can't be read again, so the archive is imported from a copy.
        let passing = self.passing("built-")?;
        write(passing.path())?;
        self.import(passing.path(), Some(&name.to_string()))
    }

    /// Imports the images of a file or folder.
    ///
    /// # Errors
    /// Returns [`ImagesError::Name`] if the name is invalid. Returns [`ImagesError::Image`] if the images
    /// can't be read or stored.
    pub fn import(&self, path: &Path, name: Option<&str>) -> Result<ImagesView, ImagesError> {
        let name: Option<ImageName> = name.map(str::parse).transpose()?;
        Ok(ImagesView::of(self.store.import(path, name.as_ref())?))
    }

    /// Lists the files of an image without running or importing the image. `image` names a file, a folder or
    /// a stored image. If no stored image has the name, the container engines of this machine are searched.
    ///
    /// # Errors
    /// Returns [`ImagesError::Nowhere`] if no such image exists, and any error of reading an image.
    pub async fn files(&self, image: &str, variables: &Variables) -> Result<ImageFiles, ImagesError> {
        match self.files_at(image.parse()?).await {
            Err(ImageError::Unknown { .. }) => self.files_of_engine(image, variables).await,
            files => Ok(files?),
        }
    }

    /// Lists the files of an image of a container engine. The engine saves the image to a temporary file.
    async fn files_of_engine(&self, image: &str, variables: &Variables) -> Result<ImageFiles, ImagesError> {
        match save_from_engine(image, || self.passing("saved-"), variables).await? {
            Ok(saved) => Ok(self.files_at(Reference::Path(saved.path().to_owned())).await?),
            Err(reasons) => Err(ImagesError::Nowhere { image: image.to_owned(), reasons }),
        }
    }

    /// Lists the files of an image on a separate thread, because an image may have several gigabytes.
    async fn files_at(&self, image: Reference) -> Result<ImageFiles, ImageError> {
        let store = self.store.clone();
        blocking(move || store.files(&image)).await
    }

    /// Creates a temporary archive in the folder of the store. The archive has a unique name, and is removed when the
    /// returned value is dropped.
    fn passing(&self, prefix: &str) -> Result<NamedTempFile, ImagesError> {
        let folder = self.store.path();
        let made = tempfile::Builder::new().prefix(prefix).suffix(".tar").tempfile_in(folder);
        made.map_err(|source| ImagesError::Write { path: folder.to_owned(), source })
    }

    /// Lists the stored images.
    ///
    /// # Errors
    /// Returns [`ImagesError::Image`] if the folder of the store can't be read.
    pub fn list(&self) -> Result<ImagesView, ImagesError> {
        Ok(ImagesView::of(self.store.list()?))
    }

    /// Removes the images that `which` selects.
    ///
    /// # Errors
    /// Returns [`ImagesError::Image`] if an image can't be removed.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_tasks_have_different_temporary_archives() {
        let folder = tempfile::tempdir().unwrap();
        let images = Images::open(folder.path()).unwrap();
        let [one, other] = [(); 2].map(|()| images.passing("saved-").unwrap());
        assert_ne!(one.path(), other.path());
        let paths = [one.path().to_owned(), other.path().to_owned()];
        drop((one, other));
        assert!(paths.iter().all(|path| !path.exists()));
    }
}
