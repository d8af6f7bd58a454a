//! Finds assemblies that contain themselves. The check reads only descriptors, and composes no assembly.

use std::collections::HashSet;
use std::sync::Arc;

use windlass_descriptor::codes::NESTED_IN_ITSELF;
use windlass_descriptor::{AssemblyDescriptor, Catalog, Descriptor, Spanned};
use windlass_model::DescriptorName;
use windlass_model::name::DescriptorKind;
use windlass_source::{Diagnostic, Diagnostics};

/// An assembly whose nested assemblies are being checked.
struct Open {
    assembly: Arc<AssemblyDescriptor>,
    name: DescriptorName,
    parts: std::vec::IntoIter<Spanned<DescriptorName>>,
}

impl Open {
    /// Prepares the check whether an assembly contains itself. Returns `None` for an assembly without a name. Such
    /// an assembly can't contain itself, because a descriptor refers to nested assemblies by name.
    fn new(assembly: Arc<AssemblyDescriptor>) -> Option<Self> {
        let name = assembly.name.as_ref()?.value.clone();
        let parts = assembly.composition.values().filter_map(|part| part.kind.clone());
        let parts =
            parts.filter(|kind| kind.value.kind == DescriptorKind::Assembly).collect::<Vec<_>>().into_iter();
        Some(Self { assembly, name, parts })
    }
}

/// Reports assemblies that contain themselves, directly or through other nested assemblies. The error is at the entry
/// of the section `composition` that closes the cycle.
pub(crate) fn check(
    assemblies: impl IntoIterator<Item = Arc<AssemblyDescriptor>>,
    catalog: &impl Catalog,
    diagnostics: &mut Diagnostics,
) {
    let mut done: HashSet<DescriptorName> = HashSet::new();
    for assembly in assemblies {
        let mut way: Vec<Open> =
            Open::new(assembly).filter(|open| !done.contains(&open.name)).into_iter().collect();
        while let Some(open) = way.last_mut() {
            let Some(kind) = open.parts.next() else {
                done.insert(open.name.clone());
                way.pop();
                continue;
            };
            if let Some(at) = way.iter().position(|open| open.name == kind.value) {
                diagnostics.push(in_itself(&way[at..], &kind));
            } else if !done.contains(&kind.value)
                && let Some(Descriptor::Assembly(inner)) = catalog.find(&kind.value)
            {
                way.extend(Open::new(inner));
            }
        }
    }
}

fn in_itself(ring: &[Open], kind: &Spanned<DescriptorName>) -> Diagnostic {
    let way = ring.iter().map(|open| &open.name).chain([&kind.value]).map(|name| format!("`{name}`"));
    let message = format!("the assembly is inside itself: {}", way.collect::<Vec<_>>().join(" -> "));
    let diagnostic = Diagnostic::error(NESTED_IN_ITSELF, message);
    match ring.last() {
        Some(open) => diagnostic.at(open.assembly.source.place(kind.span)),
        None => diagnostic,
    }
}
