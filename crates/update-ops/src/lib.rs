//! Updates of JSON documents: validation, application and algebra of `$set`, `$unset`, `$pushAll` and plain
//! replacement.
//!
//! A supervising program often reports *changes* instead of states. For example, a flag is now true, a signal
//! no longer exists, or two lines were added to a log. Such a report is an *update*. This crate validates
//! updates, and reports errors with their places. It applies updates, composes two updates into one, tells
//! whether the order of two updates matters, and computes the inverse of an update.
//!
//! # A document and its shape
//!
//! Documents are [`serde_json::Value`]s. A [`Shape`] defines the paths of a document, the values at each
//! path, and the operations that updates may perform at each path. An example is the record of a pump:
//!
//! ```
//! # use windlass_update_ops::{Keys, Node, Operator, Shape};
//! fn pump() -> Shape {
//!     let flag = || Node::boolean().defaults_to(false);
//!     Shape::new([
//!         ("status", Node::record([("running", flag()), ("alarm", flag()), ("note", Node::text())])),
//!         ("signals", Node::map(Keys::any(), Node::opaque())),
//!         ("log", Node::list().deny(Operator::Set, "use `$pushAll`")),
//!     ])
//! }
//! # let _ = pump();
//! ```
//!
//! # An update
//!
//! In its wire form an update is a map. A plain field replaces the whole field with the same name, and does
//! not merge. The operators `$set`, `$unset` and `$pushAll` act on dotted paths. The order of fields and
//! operators in the map has no meaning. An update may touch each path only once:
//!
//! ```
//! # use serde_json::json;
//! # use windlass_update_ops::{Keys, Node, Operator, Shape, Update};
//! # fn pump() -> Shape {
//! #     let flag = || Node::boolean().defaults_to(false);
//! #     Shape::new([
//! #         ("status", Node::record([("running", flag()), ("alarm", flag()), ("note", Node::text())])),
//! #         ("signals", Node::map(Keys::any(), Node::opaque())),
//! #         ("log", Node::list().deny(Operator::Set, "use `$pushAll`")),
//! #     ])
//! # }
//! let shape = pump();
//! let wire = json!({
//!     "status": {"running": true},
//!     "$set": {"signals.pressure": 2.5},
//!     "$unset": {"signals.error": null},
//!     "$pushAll": {"log": ["started"]},
//! });
//! let update = Update::parse(&wire, &shape).expect("a valid update").update;
//!
//! let before = json!({"status": {"alarm": true, "note": "dry"}, "signals": {"error": 7}});
//! let mut document = before.clone();
//! update.apply(&mut document)?;
//! assert_eq!(document, json!({
//!     "status": {"running": true, "alarm": false}, // replaced: the alarm is off, the note gone
//!     "signals": {"pressure": 2.5},
//!     "log": ["started"],
//! }));
//! # Ok::<(), windlass_update_ops::NotViable>(())
//! ```
//!
//! All errors are reported at once. Each has its place in the wire form, and a help text if the remedy is
//! known:
//!
//! ```
//! # use serde_json::json;
//! # use windlass_update_ops::{Node, Operator, Shape, Update};
//! # let shape = Shape::new([
//! #     ("status", Node::record([("running", Node::boolean())])),
//! #     ("log", Node::list().deny(Operator::Set, "use `$pushAll`")),
//! # ]);
//! let wire = json!({"log": [], "$set": {"status.runing": true}});
//! let errors = Update::parse(&wire, &shape).unwrap_err();
//! assert_eq!(errors[0].place.to_string(), "/$set/status.runing");
//! assert_eq!(errors[0].to_string(), "`status.runing`: no such path");
//! assert_eq!(errors[0].help().as_deref(), Some("did you mean `status.running`?"));
//! assert_eq!(errors[1].to_string(), "`log`: it may not be replaced");
//! assert_eq!(errors[1].help().as_deref(), Some("use `$pushAll`"));
//! ```
//!
//! # The algebra
//!
//! After parsing, an [`Update`] is in normal form: a map from paths to operations ([`Op`]) in which no path
//! equals another path or is below it. So its operations are independent of each other. Updates can be
//! [composed](Update::then), [compared](Update::commutes_with), [inverted](Update::inverse) and [computed
//! from two documents](Update::diff). The [laws](Update#laws) of the algebra always hold:
//!
//! ```
//! # use serde_json::json;
//! # use windlass_update_ops::{Keys, Node, Shape, Update};
//! # let shape = Shape::new([("signals", Node::map(Keys::any(), Node::opaque()))]);
//! # let update = |wire| Update::parse(&wire, &shape).expect("a valid update").update;
//! let before = json!({"signals": {"pressure": 1.0}});
//! let first = update(json!({"$set": {"signals.pressure": 2.5, "signals.flow": 8}}));
//! let then = update(json!({"$unset": {"signals.flow": null}}));
//!
//! let both = first.clone().then(&then)?;
//! let mut document = before.clone();
//! both.apply(&mut document)?;
//! assert_eq!(document, json!({"signals": {"pressure": 2.5}}));
//!
//! let undo = both.inverse(&before).expect("it appends nothing");
//! undo.apply(&mut document)?;
//! assert_eq!(document, before);
//!
//! assert!(!first.commutes_with(&then)); // both touch `signals.flow`
//! # Ok::<(), windlass_update_ops::NotViable>(())
//! ```
//!
//! # Modules, in the order of the data flow
//!
//! `path`, `place` and `operator` define the basic types. `keys`, `node` and `shape` describe documents.
//! `wire` parses an update, with `check` for its values and `problem` for its errors. `update` is the normal
//! form, on which `apply`, `compose` and `diff` work. `schema` creates the JSON Schema of the wire form.
//! `json_patch` and `merge_patch` convert updates from and to other notations. `patch` defines the errors of this
//! conversion.

mod apply;
mod check;
mod compose;
mod diff;
mod json_patch;
mod keys;
mod merge_patch;
mod node;
mod operator;
mod patch;
mod path;
mod place;
mod problem;
mod schema;
mod shape;
mod suggest;
mod update;
mod wire;

pub use json_patch::{from_json_patch, to_json_patch};
pub use keys::Keys;
pub use merge_patch::{from_merge_patch, to_merge_patch};
pub use node::Node;
pub use operator::Operator;
pub use patch::{NoMergePatch, PatchError, PatchProblem};
pub use path::{Path, PathError};
pub use place::{Place, Step};
pub use problem::{Irreversible, NotViable, Notice, Problem, UpdateError, Warning};
pub use schema::WireSchema;
pub use shape::Shape;
pub use update::{Conflict, Iter, Op, Update};
pub use wire::Parsed;

/// The README's example, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
