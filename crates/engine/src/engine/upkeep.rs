//! Maintenance of the records in a store:
//!
//! - It removes old records.
//! - It gives assemblies other names.
//! - It forgets assemblies, which removes their records and keeps their instances.
//! - It moves assemblies to other stores.
//!
//! The maintenance calls no driver.

use std::sync::Arc;

use windlass_model::id::Entropy;
use windlass_model::{AssemblyName, Clock};
use windlass_store::{Lease, Store};

use super::references::Visitor;
use crate::error::EngineError;
use crate::keeper::give_up;

/// Maintains the records of a store. An `Upkeep` removes old records. It also renames assemblies, forgets them, and
/// moves them to other stores. It calls no driver.
#[derive(Clone, Copy)]
pub struct Upkeep<'e> {
    pub(super) store: &'e Arc<dyn Store>,
    pub(super) clock: &'e Arc<dyn Clock>,
    pub(super) entropy: &'e dyn Entropy,
    /// Whether an assembly may be removed from the store although other assemblies reference this assembly, or
    /// although a process of this assembly was interrupted.
    pub(super) force: bool,
    pub(super) visitor: Visitor<'e>,
}

/// Returns the error for an assembly that does not exist, with the names of the existing assemblies.
pub(super) async fn unknown(store: &dyn Store, name: &AssemblyName) -> Result<EngineError, EngineError> {
    let known = store.assembly_names().await?;
    Ok(EngineError::Unknown { name: name.clone(), known })
}

/// Releases a lease after an error, and returns the error.
pub(super) async fn give_back(store: &Arc<dyn Store>, lease: Lease, error: EngineError) -> EngineError {
    give_up(store, lease).await;
    error
}
