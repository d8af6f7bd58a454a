//! The differences between the property values of an element in two versions.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_model::resolve::{Answer, Missing, ResolveError, Resolved, Resolver};
use windlass_model::{Element, PropertyName, Template};

use super::diff::PropertyChange;
use crate::situation::{Shown, Version};

/// Compares the values of properties in the installed version with those in the desired version.
///
/// The comparison allocates a cache for the values of all elements. So it is efficient only if the caller compares
/// most elements.
pub(crate) struct Comparison<'a> {
    installed: Resolver<'a>,
    desired: Resolver<'a>,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(installed: Version<'a>, desired: Version<'a>) -> Self {
        Self {
            installed: Resolver::of_all(installed.topology, installed.lookup),
            desired: Resolver::of_all(desired.topology, desired.lookup),
        }
    }

    /// Compares the property values of an element in two versions, and returns the differences.
    ///
    /// `before` is the element in the installed version, and `after` is the element in the desired version. The result
    /// also contains the properties in `outdated`: their values have changed since they were applied. See
    /// [`crate::ElementNow::outdated`].
    pub(crate) fn changes(
        &mut self,
        before: &Element,
        after: &Element,
        outdated: &BTreeMap<PropertyName, Option<Value>>,
    ) -> Vec<PropertyChange> {
        let mut changes: Vec<PropertyChange> = Vec::new();
        let added = after.properties.keys().filter(|name| !before.properties.contains_key(*name));
        for name in before.properties.keys().chain(added) {
            let old = given(before, name).then(|| self.installed.property(&before.name, name));
            let new = given(after, name).then(|| self.desired.property(&after.name, name));
            if !is_same(old.as_ref(), new.as_ref()) {
                let shown = |answer: &Option<Result<Answer, ResolveError>>| match answer {
                    Some(answer) => Shown::answer(answer),
                    None => Shown::Nothing,
                };
                // For a removed value, the installed version tells whether the property is volatile.
                let declares = if given(after, name) { after } else { before };
                changes.push(property_change(declares, name, shown(&old), shown(&new)));
            }
        }
        for (name, was) in outdated {
            if !given(after, name) || changes.iter().any(|change| change.property == *name) {
                continue;
            }
            let Ok(Answer::Known(now)) = self.desired.property(&after.name, name) else { continue };
            let was = match was {
                Some(value) => Shown::of(&Resolved::plain(value.clone())),
                None => Shown::Masked,
            };
            changes.push(property_change(after, name, was, Shown::of(&now)));
        }
        changes
    }
}

/// Creates the change of a property from the value `before` to the value `now`.
///
/// The function takes the property's flag `volatile` and its place of declaration from `element`: the element in the
/// desired version or, for a removed value, in the installed version.
pub(crate) fn property_change(
    element: &Element,
    name: &PropertyName,
    before: Shown,
    now: Shown,
) -> PropertyChange {
    let property = element.properties.get(name);
    PropertyChange {
        property: name.clone(),
        before,
        after: now,
        volatile: property.is_some_and(|property| property.volatile),
        origin: property.and_then(|property| property.origin.clone()),
    }
}

/// Tells whether the value of a property comes from the descriptor, not from a driver.
fn given(element: &Element, name: &PropertyName) -> bool {
    let value = element.properties.get(name).and_then(|property| property.value.as_ref());
    value.is_some_and(|value| *value != Template::Null)
}

/// Tells whether a value stays the same.
///
/// Values that await outputs are the same if they await the same outputs of the same parts. The function
/// ignores the positions of these parts in the two topologies.
fn is_same(old: Option<&Result<Answer, ResolveError>>, new: Option<&Result<Answer, ResolveError>>) -> bool {
    match (old, new) {
        (Some(Ok(Answer::Waiting(old))), Some(Ok(Answer::Waiting(new)))) => {
            let (old, new) = (old.iter(), new.iter());
            old.len() == new.len() && old.zip(new).all(|(old, new)| is_same_missing(old, new))
        }
        _ => old == new || is_nothing(old) && is_nothing(new),
    }
}

fn is_same_missing(old: &Missing, new: &Missing) -> bool {
    match (old, new) {
        (
            Missing::Output { element: old, property: of_old, .. },
            Missing::Output { element: new, property: of_new, .. },
        ) => (old, of_old) == (new, of_new),
        _ => old == new,
    }
}

fn is_nothing(answer: Option<&Result<Answer, ResolveError>>) -> bool {
    match answer {
        None => true,
        Some(Ok(Answer::Known(resolved))) => resolved.value.is_null(),
        Some(_) => false,
    }
}
