//! Locations, and the properties by which a component chooses its location.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_executor::Bounds;
use windlass_model::record::LocationRecord;
use windlass_model::resolve::Resolved;

use crate::masking::texts;

/// The property that names a location.
pub const DEPLOYMENT_LOCATION: &str = "deploymentLocation";

/// The property that names the resource manager to which the location of a component must belong.
pub const RESOURCE_MANAGER: &str = "resourceManager";

/// The values that determine the placement of a part: two properties of the part, and the recorded location of its
/// instance. An empty value of a property counts as missing, and a missing value is `None`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Placement {
    /// The property `deploymentLocation`: the name of the location.
    pub location: Option<String>,
    /// The property `resourceManager`: the name of a resource manager. If [`Location::manager`] also contains a
    /// name, the two names must be equal. windlass uses the name only for this comparison.
    pub manager: Option<String>,
    /// The recorded location of the part's instance; `None` if there is no instance yet. If the part names no location,
    /// its calls use this location. So an existing instance keeps its location when `windlass.yaml` changes.
    #[serde(default)]
    pub recorded: Option<LocationRecord>,
}

/// The keys of a location that tell the script driver how to exchange data with scripts, each with its valid
/// values.
pub const SCRIPTING: [(&str, &[&str]); 3] =
    [("adapter", &["invoke"]), ("input", &["yaml", "json"]), ("launch-key", &["launch", "launch-instances"])];

/// A location where drivers work: an entry of `locations:` in `windlass.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The name of the location. The property `deploymentLocation` of a component contains it.
    pub name: String,
    /// Whether `windlass.yaml` declares the location.
    #[serde(default)]
    pub is_declared: bool,
    /// The name of the resource manager to which the location belongs. `None` matches any resource manager.
    pub manager: Option<String>,
    /// The infrastructure type of the location. Descriptors choose drivers by this type.
    pub infrastructure: String,
    /// The kind of the runtime that runs the jobs at the location.
    pub runtime: String,
    /// The settings that only the location's kind of runtime supports, such as `engine` of `docker`. They are
    /// already checked.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Whether jobs with secrets may share containers with other jobs.
    #[serde(default)]
    pub pool_secrets: PoolSecrets,
    /// The image for container runtimes.
    pub image: Option<String>,
    /// The network of the jobs at the location.
    pub network: Option<String>,
    /// The names of volumes, each with the path at which a container runtime mounts this volume.
    pub volumes: BTreeMap<String, String>,
    /// Environment variables of each job. They must not contain secrets, because other programs of the user
    /// may read the environment of a job.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Resource limits of each job.
    #[serde(default)]
    pub limits: Bounds,
    /// Maximum number of concurrent jobs of one windlass process; `None` for no limit.
    #[serde(default)]
    pub max_jobs: Option<NonZeroU32>,
    /// The keys of [`SCRIPTING`] that the location sets, with their values, such as `input: json`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scripting: BTreeMap<String, String>,
    /// Configuration for the driver.
    pub properties: BTreeMap<String, Value>,
    /// The names of the properties whose values are secret.
    #[serde(default)]
    pub secret: BTreeSet<String>,
}

/// Whether a job with secrets may share a container with other jobs. The choice matters only if the location has a
/// pool. A pool is a set of containers that are started before jobs need them. A container of a pool can run many
/// jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PoolSecrets {
    /// Each job with secrets gets a new container. No other job uses this container.
    #[default]
    Fresh,
    /// Jobs with secrets use the same containers as all other jobs of the location. This is safe only if the jobs of
    /// the location trust each other.
    Shared,
}

impl Location {
    /// Creates a location that runs jobs as local processes. It needs no declaration in `windlass.yaml`.
    pub fn local(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_declared: false,
            manager: None,
            infrastructure: "Local".to_owned(),
            runtime: "process".to_owned(),
            settings: BTreeMap::new(),
            pool_secrets: PoolSecrets::default(),
            image: None,
            network: None,
            volumes: BTreeMap::new(),
            environment: BTreeMap::new(),
            limits: Bounds::default(),
            max_jobs: None,
            scripting: BTreeMap::new(),
            properties: BTreeMap::new(),
            secret: BTreeSet::new(),
        }
    }

    /// Returns the location as the record of an instance names it.
    pub fn recorded(&self) -> LocationRecord {
        LocationRecord { name: self.name.clone(), is_declared: self.is_declared }
    }

    /// Returns the properties of the location as the configuration of calls, each under the name
    /// `location.<name>`.
    pub fn configuration(&self) -> BTreeMap<String, Resolved> {
        let entry = |(name, value): (&String, &Value)| {
            let resolved = Resolved { value: value.clone(), sensitive: self.secret.contains(name) };
            (format!("location.{name}"), resolved)
        };
        self.properties.iter().map(entry).collect()
    }

    /// Returns the texts of the location's secret properties, which must not appear in any log.
    pub fn secrets(&self) -> Vec<String> {
        let secret = self.properties.iter().filter(|(name, _)| self.secret.contains(*name));
        secret.flat_map(|(_, value)| texts(value)).collect()
    }
}
