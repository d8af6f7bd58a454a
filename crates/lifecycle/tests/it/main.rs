//! Plans of small assemblies, as a reader sees them.

mod golden;
mod rules;
mod support;
