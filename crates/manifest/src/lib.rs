#![doc = include_str!("../README.md")]
//!
//! # Data flow
//!
//! ```text
//! text ──read──▶ Manifest ──check──▶ Checked ──compile(launch)──▶ model::Topology
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`name`] | paths of components |
//! | [`grammar`] | parsers of small texts in a manifest, such as `configuration(string)` |
//! | [`document`] | manifests as typed documents |
//! | `read` | reading of a manifest from its text: [`read()`] |
//! | [`visible`] | the pins of each component as seen from outside |
//! | [`value`] | the conversion of values to the types of their pins |
//! | `settings`, [`connections`] | the effective values of pins; the pins that bindings join |
//! | [`role`] | the role of a manifest: an application or a factory, with its scripts |
//! | [`check`](mod@check) | the rules for one manifest |
//! | [`pair`] | the rules for several manifests together |
//! | [`pins`](mod@pins) | the pins of the `scripted.Component` or `scripted.ComponentFactory` |
//! | [`compile`](mod@compile) | the conversion of a checked manifest to a topology |
//! | [`scripts`] | the check that a folder or an image contains the scripts of a manifest |
//! | [`title`], [`environment`] | titles of applications; environments with their services |
//! | [`services`], [`resolution`] | the services that a manifest needs; the search for them in an environment |
//! | [`schema`] | JSON Schemas of manifests and environment files |
//! | [`import`] | reading of environments from files |
//! | [`codes`] | the codes of all messages |

mod builtin;
pub mod check;
pub mod codes;
pub mod compile;
pub mod connections;
pub mod document;
pub mod environment;
pub mod grammar;
pub mod import;
pub mod name;
pub mod pair;
pub mod pins;
mod read;
mod reader;
mod report;
pub mod resolution;
pub mod role;
pub mod schema;
pub mod scripts;
pub mod services;
mod settings;
pub mod title;
pub mod value;
pub mod visible;

pub use check::{Checked, check};
pub use compile::{Compiled, Launch, compile};
pub use document::Manifest;
pub use environment::Environment;
pub use pair::{Published, check_pairs};
pub use pins::pins;
pub use read::{Read, is_manifest, read};
pub use resolution::{ServiceState, resolve};
pub use role::Role;
pub use scripts::check_scripts;
pub use services::{ServiceReference, Services};
pub use settings::Settings;
pub use title::short_name;
