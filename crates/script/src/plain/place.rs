//! The files and folders that a plain script reads and writes, and the environment variables that contain the paths
//! of these files and folders.

use windlass_executor::{Job, WorkPath};

/// A file or folder for a plain script, below `.windlass` in the working folder of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The environment variable that contains the path of the file or folder.
    pub variable: &'static str,
    name: &'static str,
}

/// The folder with a file for each property of the instance.
pub(crate) const PROPERTIES: Place = Place { variable: "WINDLASS_IN", name: "properties" };

/// The folder with a file for each argument.
pub(crate) const ARGUMENTS: Place = Place { variable: "WINDLASS_ARGUMENTS", name: "arguments" };

/// The folder with a file for each property of the location.
pub(crate) const LOCATION: Place = Place { variable: "WINDLASS_LOCATION", name: "location" };

/// The file with the id of the instance.
pub(crate) const ID: Place = Place { variable: "WINDLASS_ID_FILE", name: "id" };

/// The folder in which the script writes one file for each output property.
pub(crate) const OUTPUTS: Place = Place { variable: "WINDLASS_OUT", name: "out" };

/// The folder in which the script writes one file for each metric.
pub(crate) const METRICS: Place = Place { variable: "WINDLASS_METRICS", name: "metrics" };

impl Place {
    /// Returns the path relative to the working folder of the script, such as `.windlass/out`.
    pub(crate) fn path(self) -> WorkPath {
        format!(".windlass/{}", self.name).parse().expect("the names of places are words")
    }

    /// Returns the path of a file in the folder; `None` if no file can have the name.
    pub(crate) fn file(self, name: &str) -> Option<WorkPath> {
        let path = (!name.contains('/')).then(|| format!("{}/{name}", self.path()))?;
        path.parse().ok()
    }

    /// Returns the name of the file that contains all values of an input folder as one JSON object, such as
    /// `properties.json`. Each other file of the folder contains one value.
    pub(crate) fn summary(self) -> String {
        format!("{}.json", self.name)
    }

    /// Adds to a job the environment variable with the path of this file or folder.
    pub(crate) fn announced(self, job: Job) -> Job {
        job.path_env(self.variable, self.path())
    }
}
