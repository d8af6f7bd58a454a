//! Factories of the same manifest. The scripts of such factories may find the same instances.

use windlass_driver::location::DEPLOYMENT_LOCATION;
use windlass_model::assembly::ElementKind;
use windlass_model::record::AssemblyRecord;
use windlass_model::{AssemblyName, Template};
use windlass_store::{Snapshot, Store, StoreError};

use crate::parameters::parameters_of;

/// The relation between two factories that were launched from the same manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinship {
    /// The factories have the same configuration, and their scripts run at the same location. So a natural id means the
    /// same instance to both.
    Twins,
    /// The factories differ in a value or in the location. They may have the same instances, for example if they differ
    /// only in their credentials. They may also have different instances with the same natural id, for example in two
    /// clouds. windlass can't know this.
    Siblings,
}

/// Returns the relation between a factory and the assembly `other`; `None` if `other` is no other factory of the same
/// manifest.
///
/// # Errors
/// An error of the store.
pub async fn kinship(
    store: &dyn Store,
    factory: &Snapshot,
    other: &AssemblyName,
) -> Result<Option<Kinship>, StoreError> {
    let title = |record: &AssemblyRecord| record.application.as_ref().map(|from| from.title.clone());
    let Some(own) = title(&factory.assembly).filter(|_| factory.assembly.name != *other) else {
        return Ok(None);
    };
    let record = store.assembly(other).await?.filter(|record| record.owner.is_none());
    if record.and_then(|record| title(&record)) != Some(own) {
        return Ok(None);
    }
    let Some(other) = store.load(other).await? else { return Ok(None) };
    let is_twin =
        location_of(factory) == location_of(&other) && parameters_of(factory) == parameters_of(&other);
    Ok(Some(if is_twin { Kinship::Twins } else { Kinship::Siblings }))
}

/// Returns the location where the scripts of a factory run.
fn location_of(factory: &Snapshot) -> Option<&Template> {
    let mut elements = factory.assembly.topology.elements().iter();
    let scripted = elements.find(|element| element.kind == ElementKind::Resource)?;
    scripted.properties.get(DEPLOYMENT_LOCATION)?.value.as_ref()
}
