//! Tests of the public API.

mod corpus;
mod corpus_yaml;
mod emitting;
mod examples;
mod families;
mod function_table;
mod fuzz;
mod memory;
mod parsing;
mod passes;
mod safety;
mod typed;
