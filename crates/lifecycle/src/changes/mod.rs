//! The changes of resources: the kind of each change, the path of each resource through the states, the
//! batches of rolling changes, and the resources that a limited plan may touch.

mod decision;
mod later;
mod node;
mod part;
mod parts;
mod path;
mod readers;
mod rolling;
mod rolls;
mod scope;

pub(crate) use decision::ChangeRules;
pub(crate) use later::Later;
pub(crate) use node::{Disposition, NodePath};
pub(crate) use part::{ChangeKind, Part};
pub(crate) use parts::Parts;
pub(crate) use readers::follow_values;
pub(crate) use rolling::{Role, Rolling, RollingGroup, RollingNode, Suspended};
pub(crate) use scope::{Reach, Scope, ScopeError};
