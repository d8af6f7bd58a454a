//! Documents as text: a recovering, spanned YAML loader, diagnostics and an emitter.

mod code;
pub mod codes;
mod diagnostic;
mod emit;
mod fix;
mod inside;
mod invisible;
mod load;
mod misfit;
mod node;
mod parse;
mod reader;
mod reading;
mod suggest;
mod text;

pub use code::{Code, CodeInfo, code_problems};
pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity};
pub use emit::{EmitStyle, emit};
pub use fix::{Edit, Fix, apply_fixes};
pub use inside::Inside;
pub use load::{Dialect, DuplicateKeys, Limits, LoadOptions, Loaded, LoadedOne, MergeKeys, load, load_one};
pub use node::{Entry, Key, Kind, Mapping, Node, Scalar, Style};
pub use parse::Located;
pub use reading::Reading;
pub use suggest::{suggest, suggest_unique};
pub use text::{Place, Position, Source, Span};
