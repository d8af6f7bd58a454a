//! The data model: a [`Node`] is a [`Value`] with its [`Annotations`] and the name of its document.
//!
//! Nodes are shared and immutable: a clone copies a pointer, and every change creates a new node. So two
//! results that contain the same list can't affect each other.

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
