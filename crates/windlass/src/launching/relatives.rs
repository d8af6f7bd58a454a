//! The other factories of a manifest. Their discovery scripts may find the same instances. An instance must not become
//! an application of two factories: if one application is destroyed, the other one loses its instance.
//!
//! [`Kinship`] distinguishes two kinds of such factories. For a discovery, windlass takes instances with the same manifest
//! and the same natural id for one instance, unless the user states that they are different.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use windlass_engine::{Kinship, kinship};
use windlass_model::AssemblyName;
use windlass_store::{Snapshot, Store};

use super::managed::{Known, known};
use crate::error::Error;

/// The applications of the other factories of a manifest.
#[derive(Debug, Default)]
pub(super) struct Relatives {
    /// The names of the twins.
    pub(super) twins: BTreeSet<AssemblyName>,
    /// The owner of each instance, by the natural id of the instance. If several factories manage an instance of this
    /// id, the owner is a twin, if possible.
    by_natural: BTreeMap<String, Owner>,
    /// The applications of twins whose launches may have created an instance that has no record yet.
    pub(super) launching_of_twins: Vec<AssemblyName>,
    /// Such applications of siblings.
    launching_of_siblings: Vec<AssemblyName>,
}

/// The factory and the application that manage an instance.
#[derive(Debug)]
struct Owner {
    factory: AssemblyName,
    application: AssemblyName,
    kinship: Kinship,
}

impl Relatives {
    /// Reads the applications of all other factories that were launched from the same manifest as `factory`.
    pub(super) async fn of(store: &dyn Store, factory: &Snapshot) -> Result<Self, Error> {
        // Applications have an owner, and factories have none. A store may contain many applications.
        let owned: HashSet<AssemblyName> = store.owned_names().await?.into_iter().collect();
        let mut relatives = Self::default();
        for name in store.assembly_names().await? {
            if !owned.contains(&name)
                && let Some(kinship) = kinship(store, factory, &name).await?
            {
                let known = known(store, &name).await?;
                relatives.add(name, kinship, known);
            }
        }
        Ok(relatives)
    }

    fn add(&mut self, factory: AssemblyName, kinship: Kinship, Known { by_natural, launching }: Known) {
        for (natural, application) in by_natural {
            let owner = Owner { factory: factory.clone(), application, kinship };
            match kinship {
                Kinship::Twins => {
                    self.by_natural.insert(natural, owner);
                }
                Kinship::Siblings => {
                    self.by_natural.entry(natural).or_insert(owner);
                }
            }
        }
        match kinship {
            Kinship::Twins => {
                self.twins.insert(factory);
                self.launching_of_twins.extend(launching);
            }
            Kinship::Siblings => self.launching_of_siblings.extend(launching),
        }
    }

    /// Returns all applications whose launches may have created an instance that has no record yet.
    pub(super) fn all_launching(&self) -> impl Iterator<Item = &AssemblyName> {
        self.launching_of_twins.iter().chain(&self.launching_of_siblings)
    }

    /// Tells whether an application of one of these factories has the natural id `natural`.
    pub(super) fn have(&self, natural: &str) -> bool {
        self.by_natural.contains_key(natural)
    }

    /// Returns the applications of siblings whose launches may have created the instance `natural`. If the user has
    /// stated by `same_ids` that the id belongs to several instances, the list is empty.
    pub(super) fn launching(&self, natural: &str, same_ids: &[String]) -> &[AssemblyName] {
        if is_stated(natural, same_ids) { &[] } else { &self.launching_of_siblings }
    }

    /// Returns the reason why the factory `by` must not adopt the instance `natural`; `None` if no other factory of the
    /// same manifest manages an instance of this id. `same_ids` contains natural ids that, as the user has stated,
    /// belong to several instances. For a twin of `by`, the statement has no effect.
    pub(super) fn refusal(&self, by: &AssemblyName, natural: &str, same_ids: &[String]) -> Option<String> {
        let Owner { factory, application, kinship } = self.by_natural.get(natural)?;
        match kinship {
            Kinship::Twins => Some(format!(
                "it is the instance of `{application}`, an application of the factory `{factory}` with the same \
                 configuration; remove one of the two factories, or change its configuration with `windlass app \
                 reconfigure`"
            )),
            Kinship::Siblings if is_stated(natural, same_ids) => None,
            Kinship::Siblings => Some(format!(
                "the instance of `{application}`, an application of the factory `{factory}`, has the same natural id; if \
                 they are one instance, remove one of the two factories; if they are two, adopt this one with {}",
                statement(by, natural)
            )),
        }
    }
}

/// Returns the command by which the user states that the natural id `natural` belongs to several instances.
pub(super) fn statement(by: &AssemblyName, natural: &str) -> String {
    format!("`windlass app discover {by} --same-id '{}'`", natural.replace('\'', r"'\''"))
}

/// Tells whether the user has stated that the natural id `natural` belongs to several instances.
pub(super) fn is_stated(natural: &str, same_ids: &[String]) -> bool {
    same_ids.iter().any(|id| id == natural)
}
