//! The outputs of an assembly.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use windlass_model::{AssemblyName, PropertyName};

use super::application::instances;
use super::views::Views;
use crate::error::Error;
use crate::wiring::Wiring;

/// The outputs of an assembly.
#[derive(Debug, Clone, Serialize)]
pub struct OutputsView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The known values of the assembly's read-only properties. If the assembly is a factory, the map also contains
    /// the lists of the factory's instances. In place of a secret, the map contains `***`.
    pub outputs: BTreeMap<PropertyName, Value>,
    /// The names of the outputs whose values are secrets.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub secrets: BTreeSet<PropertyName>,
}

impl Views<'_> {
    /// Returns the outputs of an assembly.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly, or if the store can't be read.
    pub async fn outputs(&self, name: &AssemblyName) -> Result<OutputsView, Error> {
        let snapshot = self.windlass.snapshot(name).await?;
        let mut wiring = Wiring::new(self.windlass.store_of(name).await?);
        let instances = instances(&mut wiring, &snapshot).await?;
        let outputs = windlass_engine::outputs(snapshot);
        let secrets = outputs.iter().filter(|(_, value)| value.sensitive).map(|(name, _)| name.clone());
        let secrets = secrets.collect();
        let outputs = outputs.into_iter().map(|(name, value)| (name, value.shown())).chain(instances);
        Ok(OutputsView { version: 1, assembly: name.clone(), outputs: outputs.collect(), secrets })
    }
}
