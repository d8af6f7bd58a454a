//! The creation of a [`Diff`], which shows to users the changes that a plan makes.

use windlass_model::State;

use crate::changes::{ChangeKind, Part, Parts};
use crate::differences::{Diff, ElementChange, ElementChangeKind, RelationshipChange};
use crate::rank;

/// Creates the [`Diff`] of a plan. The planner later adds the fields about rolling changes.
pub(crate) fn diff(parts: Parts<'_>, relationships: Vec<RelationshipChange>) -> Diff {
    let outdated = parts.list.iter().filter(|part| part.is_outdated() && !part.untouched);
    let outdated = outdated.map(|part| part.name.clone()).collect();
    // `into_iter` with `collect` reuses the memory of the list of parts.
    let elements = parts.list.into_iter().filter_map(change).collect();
    Diff { elements, relationships, outdated, ..Diff::default() }
}

fn change(part: Part<'_>) -> Option<ElementChange> {
    let to = rank::state(part.end);
    let kind = match part.change_kind {
        ChangeKind::Keep if part.only_changes_package() => ElementChangeKind::Repackaged,
        ChangeKind::Keep if part.untouched || part.now.state == to => return None,
        ChangeKind::Remove if part.now.state == State::Absent => return None,
        ChangeKind::Keep => ElementChangeKind::Raised,
        ChangeKind::Add => ElementChangeKind::Added,
        ChangeKind::Adopt => ElementChangeKind::Adopted,
        ChangeKind::Repair if part.now.gone => ElementChangeKind::Recreated,
        ChangeKind::Repair => ElementChangeKind::Repaired,
        ChangeKind::Heal => ElementChangeKind::Healed,
        ChangeKind::Lower => ElementChangeKind::Lowered,
        ChangeKind::Reconfigure => ElementChangeKind::Reconfigured,
        ChangeKind::Reinstall if part.now.is_partly_removed() => ElementChangeKind::Repaired,
        ChangeKind::Reinstall => ElementChangeKind::Reinstalled,
        ChangeKind::Remove => ElementChangeKind::Removed,
    };
    let replaces = match (part.before, part.after) {
        (Some(before), Some(after)) if part.is_there() && before.descriptor != after.descriptor => {
            Some(Box::new(before.descriptor.clone()))
        }
        _ => None,
    };
    let repackaged = part.is_repackaged();
    let applies_values = matches!(kind, ElementChangeKind::Reconfigured | ElementChangeKind::Reinstalled);
    Some(ElementChange {
        element: part.name,
        kind,
        from: part.now.state,
        to,
        replaces,
        descriptor: part.descriptor,
        repackaged,
        values_in_doubt: applies_values && part.now.values_in_doubt,
        may_be_complete: part.now.could_not_be_stopped(),
        properties: part.changes,
    })
}
