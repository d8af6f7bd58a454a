//! Counts of the changes that a plan makes, by the effect of the change.

use std::fmt;

use serde::Serialize;

use super::diff::{Diff, Effect};

/// Counts of the parts and relationships that a plan changes. The parts are counted by the effect of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Parts that are created.
    pub added: usize,
    /// Parts that stay and are changed.
    pub changed: usize,
    /// Parts that are stopped and started again unchanged.
    pub restarted: usize,
    /// Parts that are removed and re-created.
    pub replaced: usize,
    /// Parts that are removed.
    pub removed: usize,
    /// The number of relationships that are added or removed, or whose declaration or values change. A relationship
    /// does not count if only nodes at its source or target are added, removed or re-created.
    pub relationships: usize,
}

impl Counts {
    /// Counts the changes of a plan.
    pub fn of(changes: &Diff) -> Self {
        let mut counts = Self { relationships: changes.relationships.len(), ..Self::default() };
        for change in &changes.elements {
            match change.effect() {
                Effect::Added => counts.added += 1,
                Effect::Restarted => counts.restarted += 1,
                Effect::Replaced => counts.replaced += 1,
                Effect::Removed => counts.removed += 1,
                Effect::Changed => counts.changed += 1,
            }
        }
        counts
    }

    /// Tells whether all numbers are zero.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Counts {
    /// Writes the numbers that are not zero: `2 to add, 1 to replace, 3 to remove`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.added, "to add"),
            (self.changed, "to change"),
            (self.restarted, "to restart"),
            (self.replaced, "to replace"),
            (self.removed, "to remove"),
        ];
        let mut words: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        match self.relationships {
            0 => {}
            1 => words.push("1 relationship to change".to_owned()),
            many => words.push(format!("{many} relationships to change")),
        }
        f.write_str(&words.join(", "))
    }
}
