//! The spiff++ ("dynaml") template language: YAML documents whose values are expressions.
//!
//! # Where to look
//!
//! | you want | look at |
//! |---|---|
//! | the data that expressions work on | [`value`]: [`Node`](value::Node), [`Value`](value::Value) |
//! | expressions as text and as trees | [`syntax`] |
//! | to read and write documents | [`yaml`] |
//! | what functions there are, and how to add one | [`functions`] |

pub mod functions;
pub mod syntax;
pub mod value;
pub mod yaml;
