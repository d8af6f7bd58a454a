//! JSON Schemas of the documents that users write, and of the documents that scripts read and print.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use windlass_descriptor::schema::DriverProperties;
use windlass_driver::{Driver, Registry};
use windlass_project::{Overlay, find_descriptor};

use crate::desired::read_assembly;
use crate::error::Error;
use crate::runtimes::RuntimeRegistry;

/// A kind of document that has a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Document {
    /// An assembly descriptor.
    Assembly,
    /// A resource descriptor.
    Resource,
    /// A `windlass.yaml`.
    Project,
    /// An application manifest.
    Manifest,
    /// A file with markers and properties, which `windlass env import` adds to an environment. A marker is a name that
    /// describes the environment, such as `eu`.
    Environment,
    /// The document that a script reads.
    ScriptInput,
    /// The document that a script prints.
    ScriptOutput,
}

impl Document {
    /// All kinds of documents.
    pub const ALL: [Self; 7] = [
        Self::Assembly,
        Self::Resource,
        Self::Project,
        Self::Manifest,
        Self::Environment,
        Self::ScriptInput,
        Self::ScriptOutput,
    ];

    /// Returns the file name of the JSON Schema for this kind of document. The folder `schemas` of the windlass
    /// repository contains the file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Assembly => "assembly.schema.json",
            Self::Resource => "resource.schema.json",
            Self::Project => "windlass.schema.json",
            Self::Manifest => "manifest.schema.json",
            Self::Environment => "environment.schema.json",
            Self::ScriptInput => "script-input.schema.json",
            Self::ScriptOutput => "script-output.schema.json",
        }
    }
}

/// Returns the JSON Schema of the parameters of an assembly, in draft 2020-12, for `--params` files. `file`
/// is the assembly's descriptor or its folder.
///
/// # Errors
/// Returns [`Error::Input`] if the file is missing, or is not a readable assembly descriptor.
pub fn parameters(file: &Path, overlay: &Overlay) -> Result<Value, Error> {
    let file = find_descriptor(file).map_err(|diagnostic| Error::Input(vec![*diagnostic].into()))?;
    let assembly = read_assembly(overlay, &file)?.0;
    Ok(windlass_descriptor::parameter_schema::parameters(&assembly))
}

/// Returns the JSON Schema of a kind of document, in draft 2020-12. The schema covers the registered kinds of
/// runtimes, and the settings and driver properties of the drivers.
pub fn schema(document: Document, runtimes: &RuntimeRegistry, drivers: &Registry) -> Value {
    match document {
        Document::Assembly => windlass_descriptor::schema::assembly(),
        Document::Resource => windlass_descriptor::schema::resource(&properties(drivers)),
        Document::Project => windlass_project::schema::project(&runtimes.kinds(), drivers),
        Document::Manifest => windlass_manifest::schema::manifest(),
        Document::Environment => windlass_manifest::schema::environment(),
        Document::ScriptInput => windlass_script::schema::input(),
        Document::ScriptOutput => windlass_script::schema::output(),
    }
}

/// Returns the JSON Schemas of the driver properties, by the kind of the driver and the key of the property.
fn properties(drivers: &Registry) -> DriverProperties {
    let of = |driver: &Arc<dyn Driver>| {
        let properties = driver.properties().into_iter();
        let schemas = properties.map(|property| (property.key.to_owned(), property.schema)).collect();
        (driver.kind().to_string(), schemas)
    };
    drivers.iter().map(of).collect()
}
