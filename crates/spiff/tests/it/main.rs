//! The crate through its public interface.

mod corpus;
mod corpus_yaml;
mod examples;
mod function_table;
mod fuzz;
mod memory;
mod safety;
mod typed;
