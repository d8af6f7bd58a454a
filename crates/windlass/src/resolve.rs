//! Resolution of a descriptor: windlass fills in all values that are known before any part of the assembly exists.

use serde::Serialize;
use windlass_descriptor::{Request, Resolved, resolve};
use windlass_model::AssemblyName;
use windlass_project::Project;
use windlass_source::{Diagnostics, Place};

use crate::desired::{open, settable, with_environment};
use crate::error::Error;
use crate::input::AssemblyInput;

/// A descriptor in which the known values are filled in.
#[derive(Debug, Clone, Serialize)]
pub struct ResolveView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name that the assembly would get.
    pub assembly: AssemblyName,
    /// The descriptor as data. Numbers and booleans are strings, spelled as in the descriptor: the version `1.10` is
    /// the string `"1.10"`.
    pub descriptor: DescriptorData,
    /// The expressions `${…}` that no value has replaced, in the order in which [`DescriptorData::text`] contains
    /// them.
    pub left: Vec<LeftView>,
}

/// A descriptor as data. The data are parsed from the text on demand, because large descriptors are mostly
/// printed as text.
#[derive(Debug, Clone)]
pub struct DescriptorData(Resolved);

impl DescriptorData {
    /// Returns the descriptor as YAML. If an expression `${…}` was not replaced by a value, a comment in the same line
    /// contains the reason.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the descriptor as JSON data.
    pub fn to_value(&self) -> serde_json::Value {
        self.0.document()
    }
}

impl Serialize for DescriptorData {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// An expression `${…}` that no value has replaced.
#[derive(Debug, Clone, Serialize)]
pub struct LeftView {
    /// The text between the braces of `${…}`.
    pub reference: String,
    /// The reason why no value has replaced the expression. For example, the value is a secret, or a driver will report
    /// the value later.
    pub reason: String,
    /// The place of the value that contains the expression. If the value is a list or a map, this is the place where
    /// the list or map begins.
    pub place: Place,
}

/// Fills in the known values of an assembly's descriptor. Also returns warnings about the descriptors.
///
/// # Errors
///
/// Returns all errors of the descriptor and the parameters. A missing required parameter, or a missing
/// descriptor of a part, is not an error here.
pub fn resolve_input(project: &Project, input: &AssemblyInput) -> Result<(ResolveView, Diagnostics), Error> {
    let opened = open(project, &input.file, &input.catalog)?;
    if opened.diagnostics.has_errors() {
        return Err(Error::Input(opened.diagnostics));
    }
    let Some(descriptor) = opened.assembly.name.as_ref().map(|name| &name.value) else {
        return Err(Error::Input(opened.diagnostics));
    };
    let name = input.name.as_ref().unwrap_or(&descriptor.name);
    let (parameters, _) = with_environment(&input.parameters, &input.environment, settable(&opened.assembly));
    let request = Request::new(name, &parameters, &opened.catalog).existing(project.existing());
    let mut resolved = resolve(&opened.assembly, request).map_err(Error::Input)?;
    let left = std::mem::take(&mut resolved.left).into_iter().map(|left| LeftView {
        reference: left.reference,
        reason: left.reason,
        place: left.place,
    });
    let view = ResolveView {
        version: 1,
        assembly: name.clone(),
        left: left.collect(),
        descriptor: DescriptorData(resolved),
    };
    Ok((view, opened.diagnostics))
}
