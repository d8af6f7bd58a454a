//! The other factories of a manifest. Their discovery scripts may find the same instances. An instance must not become
//! an application of two factories: if one application is destroyed, the other one loses its instance.
//!
//! A twin is another factory of the same manifest with the same configuration, so both find the same instances. Two
//! factories with different configurations may find the same instances, too: they may differ only in their credentials,
//! for example. windlass can't know this. So windlass takes instances with the same manifest and the same natural id
//! for one instance, unless the user states that they are different.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use windlass_model::AssemblyName;
use windlass_model::record::AssemblyRecord;
use windlass_store::{Snapshot, Store};

use super::managed::{Known, known};
use super::parameters::given;
use crate::error::Error;

/// The applications of the other factories of a manifest.
#[derive(Debug, Default)]
pub(super) struct Twins {
    /// The names of the twins.
    pub(super) names: BTreeSet<AssemblyName>,
    /// The owner of each instance, by the natural id of the instance. If several factories manage an instance of this
    /// id, the owner is a twin, if possible.
    by_natural: BTreeMap<String, Owner>,
    /// The applications of twins whose launches may have created an instance that has no record yet.
    pub(super) launching: Vec<AssemblyName>,
}

/// The factory and the application that manage an instance.
#[derive(Debug)]
struct Owner {
    factory: AssemblyName,
    application: AssemblyName,
    is_twin: bool,
}

impl Twins {
    /// Reads the applications of all other factories that were launched from the same manifest as the factory in
    /// `snapshot`.
    pub(super) async fn of(store: &dyn Store, snapshot: &Snapshot) -> Result<Self, Error> {
        let factory = &snapshot.assembly;
        let configuration = given(snapshot);
        let title = |record: &AssemblyRecord| record.application.as_ref().map(|from| from.title.clone());
        // Applications have an owner, and factories have none. A store may contain many applications.
        let owned: HashSet<AssemblyName> = store.owned_names().await?.into_iter().collect();
        let mut twins = Self::default();
        for name in store.assembly_names().await? {
            if name == factory.name || owned.contains(&name) {
                continue;
            }
            let record = store.assembly(&name).await?;
            if record.as_ref().and_then(title) != title(factory) {
                continue;
            }
            let Some(other) = store.load(&name).await? else { continue };
            twins.add(name.clone(), given(&other) == configuration, known(store, &name).await?);
        }
        Ok(twins)
    }

    fn add(&mut self, factory: AssemblyName, is_twin: bool, Known { by_natural, launching }: Known) {
        for (natural, application) in by_natural {
            let owner = Owner { factory: factory.clone(), application, is_twin };
            if is_twin {
                self.by_natural.insert(natural, owner);
            } else {
                self.by_natural.entry(natural).or_insert(owner);
            }
        }
        if is_twin {
            self.names.insert(factory);
            self.launching.extend(launching);
        }
    }

    /// Returns the reason why the factory `by` must not adopt the instance `natural`; `None` if no other factory of the
    /// same manifest manages an instance of this id. `same_ids` contains natural ids that, as the user has stated,
    /// belong to several instances. For a factory with the same configuration as `by`, the statement has no effect.
    pub(super) fn refusal(&self, by: &AssemblyName, natural: &str, same_ids: &[String]) -> Option<String> {
        let Owner { factory, application, is_twin } = self.by_natural.get(natural)?;
        if *is_twin {
            return Some(format!(
                "it is the instance of `{application}`, an application of the factory `{factory}` with the same \
                 configuration; remove one of the two factories, or change its configuration with `windlass app \
                 reconfigure`"
            ));
        }
        let is_stated = same_ids.iter().any(|id| id == natural);
        (!is_stated).then(|| {
            let quoted = natural.replace('\'', r"'\''");
            format!(
                "the instance of `{application}`, an application of the factory `{factory}`, has the same natural id; if \
                 they are one instance, remove one of the two factories; if they are two, adopt this one with `windlass \
                 app discover {by} --same-id '{quoted}'`"
            )
        })
    }
}
