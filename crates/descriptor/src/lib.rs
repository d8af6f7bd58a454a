#![doc = include_str!("../README.md")]
//!
//! # Data flow
//!
//! ```text
//! text ──read──▶ Descriptor ──check──▶ Diagnostics
//!                    │
//!                    └──compose(parameters, catalog, existing)──▶ model::Topology
//! ```
//!
//! | module | content |
//! |---|---|
//! | `read` | reading of a descriptor from its text: [`read()`], [`read_in`] |
//! | [`document`] | descriptors as Rust types |
//! | [`property`], [`property_types`] | sections of properties; the types of properties |
//! | [`resource`] | resource descriptors |
//! | [`metric`] | metrics and policies, as a descriptor declares them |
//! | [`template`] | values that may contain `${…}` |
//! | [`catalog`] | the trait [`Catalog`], by which this crate finds other descriptors |
//! | [`check`](mod@check) | checks of a descriptor that has been read |
//! | [`compose`](mod@compose) | composition of an assembly and its components into one flat topology |
//! | [`emit`](mod@emit) | descriptors as text in one canonical form |
//! | [`resolve`](mod@resolve) | a descriptor with known values in place of `${…}` |
//! | [`schema`] | JSON Schemas of descriptors |
//! | [`parameter_schema`] | the JSON Schema of an assembly's parameters |
//! | [`codes`] | the codes of all messages |

mod assembly;
pub mod catalog;
pub mod check;
pub mod codes;
pub mod compose;
mod cycle;
pub mod document;
pub mod emit;
mod foreign;
mod keys;
pub mod metric;
pub mod parameter_schema;
pub mod property;
pub mod property_types;
mod quotes;
mod read;
mod reader;
pub mod resolve;
pub mod resource;
pub mod schema;
mod scope;
mod surroundings;
pub mod template;

pub use catalog::{Catalog, MemoryCatalog};
pub use check::{Missing, check, check_lists};
pub use compose::{
    Composed, Existing, GivenPlaces, Offered, ReferenceRequest, Request, Search, compose, compose_given,
};
pub use document::{AssemblyDescriptor, Descriptor};
pub use emit::emit;
pub use read::{Read, read, read_in};
pub use reader::Spanned;
pub use resolve::{Resolved, resolve};
pub use resource::ResourceDescriptor;
pub use surroundings::Surroundings;
