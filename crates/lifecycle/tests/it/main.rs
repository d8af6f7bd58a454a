//! Plans of small assemblies, in the form that users see.

mod declared;
mod each;
mod golden;
mod intents;
mod merged;
mod model;
mod packages;
mod rules;
mod services;
mod support;
mod through;
