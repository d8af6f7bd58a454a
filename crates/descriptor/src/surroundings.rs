//! The names that a descriptor gets from its project.
//!
//! The tool `lmctl` builds packages from a project. If a descriptor has no name, `lmctl` adds a name. `lmctl`
//! also replaces a placeholder such as `$lmctl:/contains:/web:/descriptor_name` by the name of a descriptor
//! that the project contains. The text of the descriptor does not contain these names. windlass reads a project
//! directly, and does not build it with `lmctl`. So a caller that knows the project passes the names to
//! [`read_in`](crate::read_in).

use std::collections::BTreeMap;

use windlass_model::DescriptorName;

/// The text with which each placeholder begins.
pub(crate) const PLACEHOLDER: &str = "$lmctl:";

/// The names that a project gives to its descriptors. The default contains no names.
///
/// ```
/// use windlass_descriptor::{Surroundings, read_in};
/// use windlass_source::Source;
///
/// let mut around = Surroundings { name: Some("assembly::shop::1.0".parse()?), ..Surroundings::default() };
/// around.contain("web", &Surroundings { name: Some("resource::web-shop::1.0".parse()?), ..Surroundings::default() });
///
/// let text = "composition:\n  web: {type: '$lmctl:/contains:/web:/descriptor_name'}\n";
/// let read = read_in(&Source::new("assembly.yml", text), &around);
/// assert!(!read.diagnostics.has_errors());
/// assert_eq!(read.descriptor.unwrap().name().unwrap().to_string(), "assembly::shop::1.0");
/// # Ok::<(), windlass_model::name::NameError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surroundings {
    /// The name that the project gives to the descriptor.
    pub name: Option<DescriptorName>,
    /// The name of the descriptor of each contained project, by the path of the project. Examples of paths are
    /// `contains:/web` and `contains:/web:/contains:/db`.
    pub contained: BTreeMap<String, DescriptorName>,
}

impl Surroundings {
    /// Adds a contained project under the given name. Also adds the projects inside the contained project.
    pub fn contain(&mut self, name: &str, project: &Self) {
        let way = format!("contains:/{name}");
        for (deeper, descriptor) in &project.contained {
            self.contained.insert(format!("{way}:/{deeper}"), descriptor.clone());
        }
        if let Some(descriptor) = &project.name {
            self.contained.insert(way, descriptor.clone());
        }
    }

    /// Returns the name of the descriptor for which a placeholder stands. Returns `None` if the project does not give
    /// this name, or if the text is no placeholder.
    pub(crate) fn resolve(&self, placeholder: &str) -> Option<&DescriptorName> {
        let way = placeholder.strip_prefix(PLACEHOLDER)?.strip_prefix('/')?;
        if way == "descriptor_name" {
            return self.name.as_ref();
        }
        self.contained.get(way.strip_suffix(":/descriptor_name")?)
    }

    /// Tells whether the project contains other projects. If so, a placeholder can stand for the name of a contained
    /// project's descriptor.
    pub(crate) fn has_placeholders(&self) -> bool {
        !self.contained.is_empty()
    }

    /// Returns the placeholder for each name in `contained`, such as `$lmctl:/contains:/web:/descriptor_name`.
    pub(crate) fn placeholders(&self) -> Vec<String> {
        self.contained.keys().map(|way| format!("{PLACEHOLDER}/{way}:/descriptor_name")).collect()
    }
}
