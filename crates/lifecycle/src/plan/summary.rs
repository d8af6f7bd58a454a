//! The changes of a plan for display.

use windlass_model::State;

use crate::changes::{Fate, Part, Parts, is_repackaged};
use crate::differences::{Diff, ElementChange, ElementChangeKind, RelationshipChange};
use crate::rank;
use crate::situation::Options;

/// Returns the changes of a plan's parts and relationships.
pub(crate) fn diff(parts: Parts<'_>, options: &Options, relationships: Vec<RelationshipChange>) -> Diff {
    // Collecting in place reuses the memory of the parts.
    let elements = parts.list.into_iter().filter_map(|part| change(part, options)).collect();
    Diff { elements, relationships }
}

fn change(part: Part<'_>, options: &Options) -> Option<ElementChange> {
    let to = rank::state(part.end);
    let kind = match part.fate {
        Fate::Keep if part.untouched || part.now.state == to => return None,
        Fate::Remove if part.now.state == State::Absent => return None,
        Fate::Keep => ElementChangeKind::Raised,
        Fate::Add => ElementChangeKind::Added,
        Fate::Adopt => ElementChangeKind::Adopted,
        Fate::Repair => ElementChangeKind::Repaired,
        Fate::Heal => ElementChangeKind::Healed,
        Fate::Lower => ElementChangeKind::Lowered,
        Fate::Reconfigure => ElementChangeKind::Reconfigured,
        Fate::Reinstall if part.now.is_partly_removed() => ElementChangeKind::Repaired,
        Fate::Reinstall => ElementChangeKind::Reinstalled,
        Fate::Remove => ElementChangeKind::Removed,
    };
    let replaces = match (part.before, part.after) {
        (Some(before), Some(after)) if part.is_there() && before.descriptor != after.descriptor => {
            Some(Box::new(before.descriptor.clone()))
        }
        _ => None,
    };
    let repackaged = is_repackaged(&part, options);
    Some(ElementChange {
        element: part.name,
        kind,
        from: part.now.state,
        to,
        replaces,
        descriptor: part.descriptor,
        repackaged,
        properties: part.changes,
    })
}
