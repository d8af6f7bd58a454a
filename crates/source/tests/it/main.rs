//! Tests of the public API.

mod campaign;
mod causes;
mod corpus;
mod diagnostics;
mod emitting;
mod files;
mod fuzz;
mod inside;
mod json;
mod limits;
mod nodes;
mod pages;
mod parsing;
mod pyyaml;
mod readings;
mod render;
mod suggesting;
mod texts;
