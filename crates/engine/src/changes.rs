//! What would change of what is up already.

use std::collections::BTreeMap;

use windlass_model::record::ElementRecord;
use windlass_model::{Element, ElementName, Part, State, Template, Topology};

/// Finds the elements that are there and would be removed or changed, with a few words on how.
pub(crate) fn changes(
    before: &Topology,
    after: &Topology,
    records: &BTreeMap<ElementName, ElementRecord>,
) -> Vec<(ElementName, String)> {
    let there = |element: &&Element| records.get(&element.name).is_some_and(|r| r.state != State::Absent);
    let changed = before.elements().iter().filter(there).filter_map(|old| {
        let how = match after.get(&old.name) {
            None => Some("it would be removed".to_owned()),
            Some(new) => change(old, new),
        };
        how.map(|how| (old.name.clone(), how))
    });
    changed.collect()
}

fn change(old: &Element, new: &Element) -> Option<String> {
    if old.descriptor != new.descriptor {
        return Some(format!("from `{}` to `{}`", old.descriptor, new.descriptor));
    }
    let names =
        old.properties.keys().chain(new.properties.keys().filter(|k| !old.properties.contains_key(*k)));
    let value = |element: &Element, name: &str| element.properties.get(name).and_then(|p| p.value.clone());
    let changed: Vec<String> = names
        .filter(|name| !same(value(old, name.as_str()).as_ref(), value(new, name.as_str()).as_ref()))
        .map(|name| format!("`{name}`"))
        .collect();
    (!changed.is_empty()).then(|| format!("another value of {}", changed.join(", ")))
}

/// Compares values; two secrets count as the same, since what they hold isn't seen here.
fn same(old: Option<&Template>, new: Option<&Template>) -> bool {
    match (old, new) {
        (Some(Template::Text(old)), Some(Template::Text(new))) => {
            old.len() == new.len()
                && old
                    .iter()
                    .zip(new)
                    .all(|pair| matches!(pair, (Part::Secret(_), Part::Secret(_))) || pair.0 == pair.1)
        }
        (old, new) => old == new,
    }
}
