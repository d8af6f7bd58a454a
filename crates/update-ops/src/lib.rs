//! The algebra of `$set`, `$unset`, `$pushAll` and plain replacement over JSON documents.

mod apply;
mod check;
mod compose;
mod diff;
mod keys;
mod node;
mod operator;
mod path;
mod place;
mod problem;
mod shape;
mod suggest;
mod update;
mod wire;

pub use keys::Keys;
pub use node::Node;
pub use operator::Operator;
pub use path::{Path, PathError};
pub use place::{Place, Step};
pub use problem::{Irreversible, NotViable, Notice, Problem, UpdateError, Warning};
pub use shape::Shape;
pub use update::{Iter, Op, Update};
pub use wire::Parsed;
