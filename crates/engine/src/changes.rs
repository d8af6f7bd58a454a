//! What would change of what is up already.

use std::collections::BTreeMap;

use windlass_model::assembly::Property;
use windlass_model::record::ElementRecord;
use windlass_model::resolve::{Answer, Lookup, Output, ResolveError, Resolver};
use windlass_model::{Element, ElementName, InstanceId, PropertyName, State, Topology, Transition};
use windlass_secret::{SecretRef, Sensitive};

/// A topology and the secrets it refers to.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) secrets: &'a BTreeMap<SecretRef, Sensitive<String>>,
}

/// Knows what a topology says by itself, and nothing that a driver has published.
impl Lookup for Side<'_> {
    fn output(&self, _: &ElementName, _: &PropertyName) -> Output {
        Output::NotYet
    }

    fn instance_id(&self, _: &ElementName) -> Option<InstanceId> {
        None
    }

    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>> {
        self.secrets.get(secret).cloned()
    }
}

/// Finds the elements that are there and would be removed or changed, with a few words on how.
///
/// A property that is volatile may change by itself where the resource declares no Reconfigure: there is nothing to
/// call for it then.
pub(crate) fn changes(
    before: Side<'_>,
    after: Side<'_>,
    records: &BTreeMap<ElementName, ElementRecord>,
) -> Vec<(ElementName, String)> {
    let there = |element: &&Element| records.get(&element.name).is_some_and(|r| r.state != State::Absent);
    let mut old_values = Resolver::new(before.topology, &before);
    let mut new_values = Resolver::new(after.topology, &after);
    let mut changed = Vec::new();
    for old in before.topology.elements().iter().filter(there) {
        let how = match after.topology.get(&old.name) {
            None => Some("it would be removed".to_owned()),
            Some(new) => change(old, new, &mut old_values, &mut new_values),
        };
        changed.extend(how.map(|how| (old.name.clone(), how)));
    }
    changed
}

fn change(
    old: &Element,
    new: &Element,
    old_values: &mut Resolver<'_>,
    new_values: &mut Resolver<'_>,
) -> Option<String> {
    if old.descriptor != new.descriptor {
        return Some(format!("from `{}` to `{}`", old.descriptor, new.descriptor));
    }
    let added = new.properties.keys().filter(|name| !old.properties.contains_key(*name));
    let names = old.properties.keys().chain(added);
    let differs = |name: &&PropertyName| {
        !may_change(new, name) && value(old, name, old_values) != value(new, name, new_values)
    };
    let changed: Vec<String> = names.filter(differs).map(|name| format!("`{name}`")).collect();
    (!changed.is_empty()).then(|| format!("another value of {}", changed.join(", ")))
}

fn may_change(element: &Element, name: &PropertyName) -> bool {
    element.properties.get(name).is_some_and(|property| property.volatile)
        && !element.declares(Transition::Reconfigure)
}

/// Returns what the descriptors say of a property; nothing for one whose value only its driver gives.
fn value(
    element: &Element,
    name: &PropertyName,
    values: &mut Resolver<'_>,
) -> Option<Result<Answer, ResolveError>> {
    let given = element.properties.get(name).and_then(|property: &Property| property.value.as_ref())?;
    Some(values.property(&element.name, name)).filter(|_| *given != windlass_model::Template::Null)
}
