//! The files of a folder or an image. A check looks for the scripts of manifests among these files.
//!
//! Nothing is run: the files of an image are listed from its layers, or from its unpacked files.

use std::path::Path;

use windlass_executor::image::{FileSearch, ImageFiles};
use windlass_manifest::scripts::{ScriptFile, ScriptFiles as Files, ScriptPlace, ScriptSearch};
use windlass_manifest::{Checked, check_scripts};
use windlass_model::record::PackageFile;
use windlass_source::Diagnostics;

use crate::error::Error;

/// The files among which a check looks for the scripts of manifests.
#[derive(Debug, Clone)]
pub struct ScriptFiles(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Folder(Vec<PackageFile>),
    Image(ImageFiles),
}

impl ScriptFiles {
    /// Takes the files from a folder.
    ///
    /// # Errors
    /// Returns [`Error::Input`] if the folder can't be read.
    pub fn of_folder(folder: &Path) -> Result<Self, Error> {
        Ok(Self(Kind::Folder(windlass_project::files_in(folder).map_err(Error::Input)?)))
    }

    /// Takes the files from an image.
    pub fn of_image(files: ImageFiles) -> Self {
        Self(Kind::Image(files))
    }

    /// Checks that `self` contains each script of a manifest, and that each script is executable.
    pub(crate) fn check(&self, checked: &Checked<'_>) -> Diagnostics {
        match &self.0 {
            Kind::Folder(files) => check_scripts(checked, &listed(files)[..], ScriptPlace::Folder),
            Kind::Image(files) => check_scripts(checked, &InImage(files), ScriptPlace::Image),
        }
    }
}

/// Converts the files of a folder to the type that [`check_scripts`] requires.
pub(crate) fn listed(files: &[PackageFile]) -> Vec<ScriptFile<'_>> {
    files.iter().map(|file| ScriptFile { path: &file.path, executable: file.executable }).collect()
}

struct InImage<'f>(&'f ImageFiles);

impl Files for InImage<'_> {
    fn find(&self, path: &str) -> ScriptSearch {
        match self.0.find(path) {
            FileSearch::Executable => ScriptSearch::Executable,
            FileSearch::NotExecutable => ScriptSearch::NotExecutable,
            FileSearch::Dangling(target) => ScriptSearch::Dangling(target),
            FileSearch::Missing => ScriptSearch::Missing,
            _ => ScriptSearch::NotAFile,
        }
    }

    fn paths(&self) -> Vec<String> {
        self.0.paths().collect()
    }
}
