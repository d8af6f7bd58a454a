//! Reads and composes descriptors, and shows the results as readable text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use windlass_descriptor::{
    AssemblyDescriptor, Composed, Descriptor, Existing, MemoryCatalog, Missing, Read, Request, Resolved,
    Search, check, compose, read, resolve,
};
use windlass_model::assembly::{Property, Relationship};
use windlass_model::{Element, ElementKind, ElementName, Template, Topology};
use windlass_source::{Diagnostic, Diagnostics, Source};

/// Returns the folder of the examples of this repository.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Reads an example by its path below the folder of examples.
pub(crate) fn fixture(path: &str) -> Read {
    let text = fs::read_to_string(fixtures().join(path)).unwrap();
    read(&Source::new(path, text))
}

/// Reads text as a descriptor.
pub(crate) fn read_text(text: &str) -> Read {
    read(&Source::new("a.yaml", text))
}

/// Inputs of a composition.
#[derive(Default)]
pub(crate) struct World {
    catalog: MemoryCatalog,
    existing: Vec<Existing>,
    parameters: BTreeMap<String, Value>,
    /// The results of the simulated searches, by the name of the reference's element. For other references, no search
    /// takes place.
    searched: BTreeMap<ElementName, Result<Vec<Existing>, String>>,
}

impl World {
    /// Creates a world with the descriptors `0.yaml`, `1.yaml` and so on. The descriptors must have no
    /// errors.
    pub(crate) fn of(descriptors: &[&str]) -> Self {
        let mut world = Self::default();
        for (number, text) in descriptors.iter().enumerate() {
            world.add(read(&Source::new(format!("{number}.yaml"), *text)));
        }
        world
    }

    pub(crate) fn add(&mut self, read: Read) {
        assert!(!read.diagnostics.has_errors(), "{}", read.diagnostics);
        self.catalog.insert(read.descriptor.unwrap());
    }

    pub(crate) fn catalog(&self) -> &MemoryCatalog {
        &self.catalog
    }

    pub(crate) fn given(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn existing(mut self, descriptor: &str, name: &str, properties: &[(&str, &str)]) -> Self {
        let properties = properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        let descriptor = descriptor.parse().unwrap();
        self.existing.push(Existing::listed(descriptor, name.to_owned(), properties));
        self
    }

    /// Adds a search that fails. `element` is the element of a reference, such as `test__net`.
    pub(crate) fn failed_search(mut self, element: &str, why: &str) -> Self {
        self.searched.insert(element.parse().unwrap(), Err(why.to_owned()));
        self
    }

    /// Composes an assembly as `test`.
    pub(crate) fn compose(&self, assembly: &Arc<AssemblyDescriptor>) -> Composed {
        let name = "test".parse().unwrap();
        let request = Request::new(&name, &self.parameters, &self.catalog).existing(&self.existing);
        let search = if self.searched.is_empty() { request.search } else { Search::Done(&self.searched) };
        compose(assembly, Request { search, ..request })
    }

    /// Inserts known values into the assembly of a text. Returns the diagnostics if this fails.
    pub(crate) fn resolve(&self, text: &str) -> Result<Resolved, String> {
        let Read { descriptor, diagnostics } = read_text(text);
        let Some(Descriptor::Assembly(assembly)) = descriptor else { panic!("no assembly: {diagnostics}") };
        let name = "test".parse().unwrap();
        let request = Request::new(&name, &self.parameters, &self.catalog).existing(&self.existing);
        resolve(&assembly, request).map_err(|diagnostics| show(&diagnostics))
    }

    /// Composes the assembly of a text. The diagnostics of reading are included.
    pub(crate) fn compose_text(&self, text: &str) -> Composed {
        let Read { descriptor, mut diagnostics } = read_text(text);
        let Some(Descriptor::Assembly(assembly)) = descriptor else { panic!("no assembly: {diagnostics}") };
        let mut composed = self.compose(&assembly);
        diagnostics.extend(composed.diagnostics);
        diagnostics.sort();
        composed.diagnostics = diagnostics;
        composed
    }

    /// Returns the diagnostics of composing the assembly of a text.
    pub(crate) fn messages(&self, text: &str) -> String {
        show(&self.compose_text(text).diagnostics)
    }

    /// Returns the topology of a text as a tree.
    pub(crate) fn tree(&self, text: &str) -> String {
        let composed = self.compose_text(text);
        composed.topology.map_or_else(|| show(&composed.diagnostics), |topology| tree(&topology))
    }

    /// Returns the diagnostics of checking a text without composing it.
    pub(crate) fn check(&self, text: &str, missing: Missing) -> String {
        let Read { descriptor, mut diagnostics } = read_text(text);
        if let Some(descriptor) = descriptor {
            diagnostics.extend(check(&descriptor, &self.catalog, missing));
        }
        diagnostics.sort();
        show(&diagnostics)
    }
}

/// Returns the diagnostics of a text alone, without other descriptors.
pub(crate) fn messages(text: &str) -> String {
    World::default().check(text, Missing::Tolerated)
}

/// Shows each diagnostic on a line, followed by related places and help.
pub(crate) fn show(diagnostics: &Diagnostics) -> String {
    diagnostics.iter().map(show_one).collect()
}

fn show_one(diagnostic: &Diagnostic) -> String {
    let related = diagnostic.related.iter().map(|label| format!("    {}: {}\n", label.place, label.text));
    let help = diagnostic.help.iter().map(|help| format!("    help: {help}\n"));
    std::iter::once(format!("{diagnostic}\n")).chain(related).chain(help).collect()
}

/// Shows a topology as a tree: elements with their properties, then relationships.
pub(crate) fn tree(topology: &Topology) -> String {
    let elements = topology.elements().iter().map(|element| show_element(topology, element));
    let relationships = topology.relationships().iter().map(show_relationship);
    elements.chain(relationships).collect()
}

fn show_element(topology: &Topology, element: &Element) -> String {
    let depth =
        std::iter::successors(element.parent.as_ref(), |name| topology.get(name)?.parent.as_ref()).count();
    let indent = "  ".repeat(depth);
    let kind = match element.kind {
        ElementKind::Assembly => "assembly",
        ElementKind::Group => "group",
        ElementKind::Resource => "resource",
        ElementKind::Reference => "reference",
    };
    let mut text = format!("{indent}{} ({kind} of {})", element.name, element.descriptor);
    if let Some(cluster) = &element.cluster {
        let most = cluster.maximum.map_or("any".to_owned(), |most| most.to_string());
        write!(text, " {}..{most} by {}", cluster.minimum, cluster.increment).unwrap();
    }
    text.push('\n');
    text.extend(
        element.properties.iter().map(|(name, property)| show_property(&indent, name.as_str(), property)),
    );
    let operations = element.operations.iter();
    text.extend(
        operations.map(|(name, to)| format!("{indent}  {name}() -> {}.{}\n", to.element, to.operation)),
    );
    text
}

fn show_property(indent: &str, name: &str, property: &Property) -> String {
    let flags = [
        (property.read_only, " (read-only)"),
        (property.volatile, " (volatile)"),
        (property.sensitive, " (sensitive)"),
    ];
    let flags: String = flags.iter().filter(|(set, _)| *set).map(|(_, word)| *word).collect();
    let value = property.value.as_ref().map_or(String::new(), |value| format!(" {}", template(value)));
    format!("{indent}  {name}{flags}:{value}\n")
}

/// Shows a template in the syntax of a descriptor. Quotes a text if it is empty, or if it has blanks at its start or
/// end.
pub(crate) fn template(value: &Template) -> String {
    match value {
        Template::Null => "null".to_owned(),
        Template::Text(parts) => {
            let text: String = parts.iter().map(ToString::to_string).collect();
            if text.is_empty() || text.trim() != text { format!("{text:?}") } else { text }
        }
        Template::List(items) => format!("[{}]", items.iter().map(template).collect::<Vec<_>>().join(", ")),
        Template::Map(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|(key, entry)| format!("{key}: {}", template(entry))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

fn show_relationship(relationship: &Relationship) -> String {
    let ends = |ends: &[windlass_model::assembly::Endpoint]| {
        let name = |end: &windlass_model::assembly::Endpoint| match &end.capability {
            Some(capability) => format!("{}.{capability}", end.element),
            None => end.element.to_string(),
        };
        ends.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "{}: {} ({:?} {:?}) -> {} ({:?} {:?})\n",
        relationship.name,
        ends(&relationship.sources),
        relationship.source_modifier,
        relationship.source_state,
        ends(&relationship.targets),
        relationship.target_modifier,
        relationship.target_state,
    );
    text.extend(
        relationship.properties.iter().map(|(name, property)| show_property("", name.as_str(), property)),
    );
    for (word, calls) in [("Create", &relationship.create), ("Cease", &relationship.cease)] {
        let calls: Vec<_> = calls.iter().map(ToString::to_string).collect();
        if !calls.is_empty() {
            writeln!(text, "  {word}: {}", calls.join(", ")).unwrap();
        }
    }
    text
}
