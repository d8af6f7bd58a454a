//! Plans of small assemblies, as a reader sees them.

mod golden;
mod intents;
mod model;
mod rules;
mod services;
mod support;
