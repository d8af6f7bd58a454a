//! What a launch needs of a published revision and of an environment.

use std::collections::BTreeMap;

use windlass_model::AssemblyName;
use windlass_model::record::PackageFile;

/// A revision of a published application or factory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedRevision {
    /// The title.
    pub title: String,
    /// The number of the revision, from 1.
    pub number: u64,
    /// The text of the manifest.
    pub manifest: String,
    /// The pinned scripts, with their paths relative to their folder.
    pub files: Vec<PackageFile>,
}

/// The services of an environment that a launch uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Services {
    /// The name of the environment.
    pub environment: String,
    /// The location where its scripts run.
    pub location: Option<String>,
    /// The factories, by the titles of their applications.
    pub factories: BTreeMap<String, AssemblyName>,
}
