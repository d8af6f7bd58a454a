//! The recorded applications of a factory, by the natural ids of their instances.

use std::collections::BTreeMap;

use windlass_driver::contract::Found;
use windlass_model::{AssemblyName, ElementName};
use windlass_store::Store;

use crate::error::Error;
use crate::wiring::owned;

/// The recorded applications of a factory. A discovery compares the found instances with these applications.
#[derive(Debug)]
pub(crate) struct Known {
    /// The applications whose natural ids are recorded, by natural id.
    pub(crate) by_natural: BTreeMap<String, AssemblyName>,
    /// The applications without a recorded natural id. An application lacks the id if its launch is unfinished or has
    /// failed. Such a launch may have created an instance.
    pub(crate) launching: Vec<AssemblyName>,
}

/// The decision about an instance that the script of a factory has found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The instance belongs to this application.
    Known(AssemblyName),
    /// The natural id of the instance is not recorded, and the instance no longer exists.
    Ignored,
    /// The natural id of the instance is not recorded. An unfinished or failed launch of an application may have
    /// created the instance, so this discovery does not adopt it.
    Waits,
    /// The natural id of the instance is not recorded, and the instance becomes an application.
    New,
}

impl Known {
    /// Decides how the discovery treats a found instance. If the instance belongs to an application, also removes this
    /// application from `by_natural`. After the last found instance, `by_natural` contains the applications whose
    /// instances the script did not find.
    pub(crate) fn decide(&mut self, found: &Found) -> Decision {
        match self.by_natural.remove(&found.natural) {
            Some(name) => Decision::Known(name),
            None if found.is_gone() => Decision::Ignored,
            None if self.launching.is_empty() => Decision::New,
            None => Decision::Waits,
        }
    }
}

/// Reads the recorded applications of a factory, with their natural ids. If the record of an application contains
/// no natural id, the function reads the id from the records of the application's instances. For example, the id is
/// missing if windlass was killed during an adoption.
pub(crate) async fn known(store: &dyn Store, factory: &AssemblyName) -> Result<Known, Error> {
    let mut known = Known { by_natural: BTreeMap::new(), launching: Vec::new() };
    for owned in owned(store, factory).await? {
        let mut natural = owned.natural_id;
        if natural.is_none()
            && let Some(snapshot) = store.load(&owned.assembly).await?
        {
            let element: ElementName = (&owned.assembly).into();
            let mut instances = snapshot.instances.iter().filter(|(name, _)| **name != element);
            natural = instances.find_map(|(_, instance)| instance.natural.clone());
            if natural.is_none() {
                known.launching.push(owned.assembly.clone());
            }
        }
        known.by_natural.extend(natural.map(|natural| (natural, owned.assembly)));
    }
    Ok(known)
}
