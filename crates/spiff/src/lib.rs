//! The spiff++ ("dynaml") template language: YAML documents whose values are expressions.
//!
//! The crate processes a *template* (a document with expressions) and *stubs* (documents that supply or
//! override values) into one document. An expression between `((` and `))` refers to other nodes, calls
//! functions, or merges values from the stubs. A template has access to files, commands, addresses and
//! variables only if an [`Outside`] grants it. If a template exceeds one of its [`Limits`], the processing
//! ends. In this crate, *the original* is the implementation of spiff++ in Go, version v1.7.0-beta-8.
//!
//! ```
//! use windlass_source::Source;
//! use windlass_spiff::{Engine, Features};
//!
//! let template = Source::new("t.yaml", "sum: (( a + b ))\na: 1\nb: (( merge || 2 ))\n");
//! let stub = Source::new("s.yaml", "a: 40\n");
//! let result = Engine::new().with_features(Features::ALL).process_texts(&template, &[stub])?;
//! assert_eq!(result.to_yaml(), "a: 40\nb: 2\nsum: 42\n");
//! # Ok::<(), windlass_spiff::SpiffError>(())
//! ```
//!
//! # Overview
//!
//! | task | items |
//! |---|---|
//! | process documents | [`Engine`], [`Session`], [`Processed`] |
//! | limit the cost, grant access, enable optional parts of the language | [`Limits`], [`Outside`], [`Features`] |
//! | find out where a node without a value is, and why it has none | [`Unresolved`], [`ExceededLimit`], [`locate`], [`TraceStep`] |
//! | the data model of expressions | [`value`]: [`Node`](value::Node), [`Value`](value::Value) |
//! | expressions as text and as trees | [`syntax`] |
//! | read and write documents | [`yaml`] |
//! | list functions, or add one | [`functions`] |

mod check;
pub mod codes;
mod compare;
mod cycle;
mod definition;
mod engine;
mod eval;
mod flow;
pub mod functions;
mod limits;
mod locate;
mod mistakes;
mod output;
mod outside;
mod path;
mod report;
pub mod syntax;
mod too_deep;
mod trace;
pub mod value;
pub mod yaml;

pub use check::check;
pub use compare::{Difference, diff};
pub use definition::{DefinitionError, define};
pub use engine::{Engine, Preserve, Processed, Session, SpiffError};
pub use flow::discard_temporary;
pub use limits::{ExceededLimit, Features, Limits};
pub use locate::locate;
pub use output::{Output, OutputError};
pub use outside::{Fetch, Now, Outside, Random};
pub use report::{Reason, Unresolved, UnresolvedNode};
pub use trace::TraceStep;

/// The README's examples, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
