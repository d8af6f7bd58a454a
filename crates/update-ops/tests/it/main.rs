//! Tests the update algebra, from single paths up to a corpus of real documents.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod algebra;
mod corpus;
mod documents;
mod errors;
mod generate;
mod laws;
mod patches;
mod paths;
mod table;
mod wire;
