//! The names that queued launches of applications have reserved. The store keeps a queued launch as a request, and the
//! assembly is created only when the request is executed.

use windlass_model::AssemblyName;
use windlass_model::record::ApplicationIntent;
use windlass_model::request::RequestRecord;
use windlass_store::Store;

use crate::error::EngineError;

/// Refuses to create the assembly `name` if the queued launch of an application has reserved this name. `own` is the
/// queued request that the caller executes. If `own` is given, only a launch that is older than `own` causes a refusal.
///
/// Except in a preview, the caller holds the lease of `name`, so no further launch can reserve the name.
pub(super) async fn refuse_if_reserved(
    store: &dyn Store,
    name: &AssemblyName,
    own: Option<&RequestRecord>,
) -> Result<(), EngineError> {
    let is_launch = |request: &RequestRecord| {
        request.assembly == *name && request.application == Some(ApplicationIntent::Launch)
    };
    let mut launches = store.requests().await?.into_iter().filter(is_launch);
    match launches.find(|launch| own.is_none_or(|own| launch.id < own.id)) {
        Some(launch) => Err(EngineError::NameReserved { name: name.clone(), request: launch.id }),
        None => Ok(()),
    }
}
