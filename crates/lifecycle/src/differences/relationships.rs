//! The comparison of an old and a new version of a relationship.

use std::collections::HashSet;

use windlass_model::resolve::{Answer, Missing, ResolveError, Resolver};
use windlass_model::template::{End, Part};
use windlass_model::{PropertyName, Relationship, Template};

/// Returns the names of the properties that a relationship reads from the end `wanted`: from its sources or its
/// targets.
///
/// For example, a value of the relationship contains `${source.address}`. Then the result for the sources contains
/// `address`.
pub(crate) fn end_properties(relationship: &Relationship, wanted: End) -> HashSet<&PropertyName> {
    let mut read = HashSet::new();
    for template in relationship.properties.values().filter_map(|property| property.value.as_ref()) {
        template.for_each_part(&mut |part| {
            if let Part::End { end, property } = part
                && *end == wanted
            {
                read.insert(property);
            }
        });
    }
    read
}

/// Tells whether the operations or the values of a relationship have changed. A value that awaits an output
/// counts as changed.
pub(crate) fn differ(
    old: &Relationship,
    new: &Relationship,
    before: &mut Resolver<'_>,
    after: &mut Resolver<'_>,
) -> bool {
    if old.create != new.create || old.cease != new.cease {
        return true;
    }
    let names: HashSet<&PropertyName> = old.properties.keys().chain(new.properties.keys()).collect();
    names.into_iter().any(|name| {
        let (old, new) = (template(old, name), template(new, name));
        let (Some(old), Some(new)) = (old, new) else { return old.is_some() != new.is_some() };
        let ends = |template: &Template| {
            let mut ends = Vec::new();
            template.for_each_part(&mut |part| {
                if let Part::End { end, property } = part {
                    ends.push((*end, property.clone()));
                }
            });
            ends
        };
        let later = after.template(new);
        ends(old) != ends(new) || waits_for_output(&later) || before.template(old) != later
    })
}

/// Returns the value of a property; none if the property has no value.
fn template<'r>(relationship: &'r Relationship, name: &PropertyName) -> Option<&'r Template> {
    relationship.properties.get(name)?.value.as_ref()
}

/// Tells whether a value awaits outputs that are not published yet.
fn waits_for_output(answer: &Result<Answer, ResolveError>) -> bool {
    let Ok(Answer::Waiting(missing)) = answer else { return false };
    missing.iter().any(|missing| matches!(missing, Missing::Output { .. }))
}
