//! The differences between the installed and the desired version of an assembly, and data for their display.

mod counts;
mod declared;
mod diff;
mod packages;
mod relationships;
mod values;

pub use counts::Counts;
pub use declared::{DeclaredChange, declared_changes};
pub use diff::{
    Batches, Diff, Effect, ElementChange, ElementChangeKind, Ends, PropertyChange, RelationshipChange,
    RelationshipChangeKind, Together,
};
pub use packages::{Affected, FileChange, FileChangeKind, PackageDiff};
pub(crate) use relationships::{differ, end_properties};
pub(crate) use values::{Comparison, property_change};
