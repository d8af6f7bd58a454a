//! The differences between the installed and the desired version, and the data that describes them.

mod diff;

pub use diff::{
    Diff, Effect, ElementChange, ElementChangeKind, Ends, PropertyChange, RelationshipChange,
    RelationshipChangeKind,
};
