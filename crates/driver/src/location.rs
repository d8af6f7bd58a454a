//! Where a part is placed, and with which runtime.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_executor::Bounds;

use crate::call::texts;

/// The property that names a location.
pub const DEPLOYMENT_LOCATION: &str = "deploymentLocation";

/// The property that names the resource manager of a location.
pub const RESOURCE_MANAGER: &str = "resourceManager";

/// The two properties that together say where a part is placed. An empty one is not given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Placement {
    /// `deploymentLocation`: the name of the location.
    pub location: Option<String>,
    /// `resourceManager`: who manages resources there.
    pub manager: Option<String>,
}

/// A place where drivers work: an entry of `locations:` in `windlass.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Its name: a value of `deploymentLocation`.
    pub name: String,
    /// The resource manager it belongs to; a location without one matches any.
    pub manager: Option<String>,
    /// Its infrastructure type, matched by the drivers' selectors.
    pub infrastructure: String,
    /// The kind of the runtime that runs its jobs.
    pub runtime: String,
    /// The engine that makes containers, for the runtime `docker`: `docker`, `podman`, `context:NAME` or an address.
    #[serde(default)]
    pub engine: Option<String>,
    /// How many warm containers are kept for short jobs, for the runtime `docker`; none are where it isn't given.
    #[serde(default)]
    pub pool: Option<u16>,
    /// Whether jobs that are given secrets may have one of these.
    #[serde(default)]
    pub pool_secrets: PoolSecrets,
    /// The image for container runtimes.
    pub image: Option<String>,
    /// The network of its jobs.
    pub network: Option<String>,
    /// Named volumes and where container runtimes mount them.
    pub volumes: BTreeMap<String, String>,
    /// What each of its jobs may use at the most.
    #[serde(default)]
    pub limits: Bounds,
    /// Configuration for the driver.
    pub properties: BTreeMap<String, Value>,
    /// The names of those of the properties whose values are secret.
    #[serde(default)]
    pub secret: BTreeSet<String>,
}

/// Where jobs run that are given secrets, in a location with warm containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PoolSecrets {
    /// In a container of their own, where no job was before or will be.
    #[default]
    Fresh,
    /// In warm containers as any other: the location has said that its jobs may trust each other.
    Shared,
}

impl Location {
    /// Makes the location that stands in for one that is not declared: local processes.
    pub fn local(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            manager: None,
            infrastructure: "Local".to_owned(),
            runtime: "process".to_owned(),
            engine: None,
            pool: None,
            pool_secrets: PoolSecrets::default(),
            image: None,
            network: None,
            volumes: BTreeMap::new(),
            limits: Bounds::default(),
            properties: BTreeMap::new(),
            secret: BTreeSet::new(),
        }
    }

    /// Returns the texts of its secret properties: what must not appear in any log.
    pub fn secrets(&self) -> Vec<String> {
        let secret = self.properties.iter().filter(|(name, _)| self.secret.contains(*name));
        secret.flat_map(|(_, value)| texts(value)).collect()
    }
}
