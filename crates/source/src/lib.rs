//! Documents as text: a YAML loader with error recovery and spans, diagnostics, and an emitter.
//!
//! windlass reads descriptors, manifests, templates and the output of scripts. These texts are YAML or JSON,
//! and most of them are written by hand. Only this crate parses YAML. So a document has the same meaning
//! everywhere, every error has a place, and no document can exhaust the memory. This crate knows nothing
//! about assemblies.
//!
//! # Data flow
//!
//! ```text
//! bytes ─▶ Source ─load─▶ Node ─┬─ to_value(Reading) ─▶ serde_json::Value ─▶ emit ─▶ YAML
//!                  │            └─ parse::<T>(Reading) ─▶ T
//!                  └─▶ Diagnostics ─▶ fixes ─▶ apply_fixes ─▶ text
//! ```
//!
//! A [`Source`] is text with a name. [`load()`] reads it into [`Node`]s, which keep the [`Span`] and the
//! spelling of every scalar, and into [`Diagnostics`]. The loader *recovers* from errors: it returns the
//! readable parts, and reports all mistakes in one run, each with its actual cause. The meaning of a plain
//! scalar depends on the parameter [`Reading`]: `1.10` is a version in a descriptor and a number in the
//! output of a script. Data is [`serde_json::Value`], in which the order of keys has no meaning. Nodes keep
//! the order.
//!
//! # Example
//!
//! ```
//! use windlass_source::{LoadOptions, Reading, Source, apply_fixes, load_one};
//!
//! let text = "name: shop\ntype: resource:: web::1.10\nlifecycle\n- Install\n";
//! let source = Source::new("shop.yaml", text);
//! let loaded = load_one(&source, &LoadOptions::default());
//!
//! // Both mistakes are reported at once, each at its place.
//! assert_eq!(
//!     loaded.diagnostics.to_string(),
//!     "shop.yaml:2:16: error[WL0009]: colon and space inside the text `resource:: web::1.10`\n\
//!      shop.yaml:3:1: error[WL0008]: no colon after the key `lifecycle`\n",
//! );
//!
//! // The text was read as its author probably meant it.
//! let root = loaded.root.unwrap();
//! assert_eq!(root.get("type").unwrap().as_str(), Some("resource::web::1.10"));
//! assert_eq!(root.to_value(Reading::Text)["lifecycle"][0], "Install");
//!
//! // The fixes repair the mistakes, and leave the rest of the file unchanged.
//! assert_eq!(
//!     apply_fixes(text, loaded.diagnostics.fixes()),
//!     "name: shop\ntype: resource::web::1.10\nlifecycle:\n- Install\n",
//! );
//! ```
//!
//! # Overview
//!
//! | task | items |
//! |---|---|
//! | text, places | [`Source`], [`Span`], [`Place`] |
//! | read a file that a user names | [`files`] |
//! | load a document | [`load_one`], [`load()`], [`LoadOptions`], [`Limits`] |
//! | traverse it | [`Node`], [`Mapping`], [`Scalar`] |
//! | data, typed documents | [`Node::to_value`], [`Node::parse`], [`Reading`] |
//! | data with infinities and bytes, for spiff | [`SpiffScalar`] |
//! | find the place of a JSON pointer | [`Node::locate`] |
//! | find the place of an offset in a scalar's text | [`Node::inside`] |
//! | report | [`Diagnostic`], [`codes!`], [`suggest()`], [`listed`], [`did_you_mean`] |
//! | fix, format | [`Fix`], [`apply_fixes`], [`formatted`] |
//! | write YAML for any reader, with comments | [`emit()`], [`Tree`], [`emit_typed`] |
//! | declare the keys of a language, and make its JSON Schema | [`keys`], [`section!`] |
//!
//! # Deviations
//!
//! The loader deviates from YAML 1.2 in these points. Keys are text, so `1` and `"1"` are the same key, and a
//! collection as a key is an error. Equal keys are an error, except with [`DuplicateKeys::LastWins`]. By default, a
//! plain key `<<` merges other mappings; see [`MergeKeys`]. With [`Reading::Script`], a scalar is a boolean or a number
//! only if YAML 1.1 and YAML 1.2 agree on its value. Otherwise, the scalar is text. Tags have no effect, except those
//! of the core types.

mod code;
pub mod codes;
mod decode;
mod diagnostic;
mod diagnostics;
mod emit;
pub mod files;
mod fix;
mod format;
mod hint;
mod inside;
mod invisible;
pub mod keys;
mod load;
mod misfit;
mod node;
mod parse;
mod reader;
mod reading;
mod scalar;
mod severity;
mod spiff;
mod suggest;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
mod typed;

/// The README's example, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use code::{Code, CodeInfo, code_problems};
pub use diagnostic::{Diagnostic, Label};
pub use diagnostics::Diagnostics;
pub use emit::{Content, EmitStyle, Tree, emit, quote};
pub use fix::{Edit, Fix, apply_fixes};
pub use format::formatted;
pub use hint::did_you_mean;
pub use inside::Inside;
pub use load::{Dialect, DuplicateKeys, Limits, LoadOptions, Loaded, LoadedOne, MergeKeys, load, load_one};
pub use node::{Entry, Key, Kind, Mapping, Node};
pub use parse::Located;
pub use reading::Reading;
pub use scalar::{Scalar, Style};
pub use severity::Severity;
pub use spiff::SpiffScalar;
pub use suggest::{listed, nearest, suggest, suggest_unique, suggest_within};
pub use text::{Place, Position, Source, Span, Spanned};
pub use typed::{EmitError, emit_typed};
