//! The twins of a factory. A twin is another factory of the same manifest with the same configuration, so the discovery
//! scripts of both factories find the same instances. An instance must not become an application of both factories:
//! if one application is destroyed, the other one loses its instance.

use std::collections::{BTreeMap, HashSet};

use windlass_model::AssemblyName;
use windlass_model::record::AssemblyRecord;
use windlass_store::{Snapshot, Store};

use super::managed::{Known, known};
use super::parameters::given;
use crate::error::Error;

/// The applications of the twins of a factory.
#[derive(Debug, Default)]
pub(super) struct Twins {
    /// The instances that applications of the twins manage. The key is the natural id of an instance. The value
    /// contains the name of the twin, and the name of the twin's application.
    by_natural: BTreeMap<String, (AssemblyName, AssemblyName)>,
    /// The applications whose launches may have created an instance that has no record yet.
    pub(super) launching: Vec<AssemblyName>,
}

impl Twins {
    /// Reads the applications of all twins of the factory in `snapshot`. A twin is another factory with the same
    /// manifest and the same configuration.
    pub(super) async fn of(store: &dyn Store, snapshot: &Snapshot) -> Result<Self, Error> {
        let factory = &snapshot.assembly;
        let configuration = given(snapshot);
        let title = |record: &AssemblyRecord| record.application.as_ref().map(|from| from.title.clone());
        // Applications have an owner, and factories have none. A store may contain many applications.
        let owned: HashSet<AssemblyName> = store.owned_names().await?.into_iter().collect();
        let mut twins = Self::default();
        for twin in store.assembly_names().await? {
            if twin == factory.name || owned.contains(&twin) {
                continue;
            }
            let record = store.assembly(&twin).await?;
            if record.as_ref().and_then(title) != title(factory) {
                continue;
            }
            let Some(other) = store.load(&twin).await? else { continue };
            if given(&other) != configuration {
                continue;
            }
            let Known { by_natural, launching } = known(store, &twin).await?;
            let managed = by_natural.into_iter();
            twins.by_natural.extend(managed.map(|(natural, name)| (natural, (twin.clone(), name))));
            twins.launching.extend(launching);
        }
        Ok(twins)
    }

    /// Returns the reason why a factory must not adopt the instance `natural`; `None` if no twin manages the instance.
    /// A twin is another factory of the same manifest with the same configuration.
    pub(super) fn refusal(&self, natural: &str) -> Option<String> {
        let (twin, name) = self.by_natural.get(natural)?;
        Some(format!(
            "it is the instance of `{name}`, an application of the factory `{twin}` with the same configuration; \
             remove one of the two factories, or change its configuration with `windlass app reconfigure`"
        ))
    }
}
