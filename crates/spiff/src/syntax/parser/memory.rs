//! The stored results of rules.

use super::tree::Tree;

/// The rules whose results the parser stores for each position.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    Expression,
    Or,
    Concat,
    Logic,
    Compare,
    Add,
    Multiply,
    Primary,
}

pub(super) const SLOTS: usize = 8;

#[derive(Clone, Debug)]
pub(super) enum Memory {
    Unknown,
    Failed,
    Found(Tree, u32),
}
