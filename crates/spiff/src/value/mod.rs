//! The data model: a [`Node`] is a [`Value`] with its [`Annotations`] and the name of its document.
//!
//! Nodes are shared and immutable. A clone copies a pointer, and a change creates a new node. So if two
//! results contain the same list, a change of one result does not affect the other.

mod convert;
mod equality;
mod flags;
mod issue;
pub(crate) mod merge_key;
mod node;
pub mod number;
pub(crate) mod rebuild;
pub(crate) mod select;
mod truth;

pub use equality::{NotComparable, equals};
pub use flags::Flags;
pub use issue::Issue;
pub use node::{Annotations, Callable, Map, Node, Pending, Redirect, TemplateValue, Value};
