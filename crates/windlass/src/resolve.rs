//! A descriptor with everything filled in that is known before anything is made.

use serde::Serialize;
use windlass_descriptor::{Request, Resolved, resolve};
use windlass_model::AssemblyName;
use windlass_source::{Diagnostics, Place};

use crate::desired::{open, with_environment};
use crate::error::Error;
use crate::intent::Order;
use crate::open::Windlass;

/// A descriptor, filled in.
#[derive(Debug, Clone, Serialize)]
pub struct ResolveView {
    /// The version of this form.
    pub version: u32,
    /// The name that the assembly would have.
    pub assembly: AssemblyName,
    /// The descriptor as data; every scalar is text, spelled as in the descriptor.
    pub descriptor: DescriptorData,
    /// The references that are left in it, in the order of the canonical form.
    pub left: Vec<LeftView>,
}

/// A descriptor as data. It is made of the text when somebody asks for it: large ones are mostly wanted as text.
#[derive(Debug, Clone)]
pub struct DescriptorData(Resolved);

impl DescriptorData {
    /// Returns the descriptor as YAML, with the reasons of what is left as comments.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the data.
    pub fn to_value(&self) -> serde_json::Value {
        self.0.document()
    }
}

impl Serialize for DescriptorData {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// A reference whose value is not filled in.
#[derive(Debug, Clone, Serialize)]
pub struct LeftView {
    /// What is between the braces.
    pub reference: String,
    /// Why it is left.
    pub reason: String,
    /// Where the value stands that it is in.
    pub place: Place,
}

impl Windlass {
    /// Fills in what is known of an assembly's descriptor. Beside it are the warnings about the descriptors.
    ///
    /// # Errors
    ///
    /// When the descriptor or what is given has errors: all of them. What is missing, as a required parameter or the
    /// descriptor of a part, is no error here.
    pub fn resolve(&self, order: &Order) -> Result<(ResolveView, Diagnostics), Error> {
        let opened = open(&self.project, &order.file, &order.catalog)?;
        if opened.diagnostics.has_errors() {
            return Err(Error::Input(opened.diagnostics));
        }
        let Some(descriptor) = opened.assembly.name.as_ref().map(|name| &name.value) else {
            return Err(Error::Input(opened.diagnostics));
        };
        let name = order.name.as_ref().unwrap_or(&descriptor.name);
        let (parameters, _) = with_environment(&order.parameters, &order.environment, &opened.assembly);
        let request = Request::new(name, &parameters, &opened.catalog).existing(self.project.existing());
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
}
