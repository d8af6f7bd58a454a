//! Finds properties that read each other in a circle, and prints the circle edge by edge.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use windlass_model::name::DescriptorKind;
use windlass_source::{Diagnostic, Place, Source, Span};

use crate::catalog::Catalog;
use crate::codes;
use crate::document::AssemblyDescriptor;
use crate::property::{Properties, PropertyDecl};
use crate::resource::ResourceDescriptor;
use crate::scope::{Meaning, Scope};
use crate::template::Reference;

/// Properties, and who reads whom where.
#[derive(Debug)]
pub(crate) struct Graph<K, E> {
    properties: Vec<K>,
    places: HashMap<K, usize>,
    edges: Vec<Vec<(usize, E)>>,
}

impl<K, E> Default for Graph<K, E> {
    fn default() -> Self {
        Self { properties: Vec::new(), places: HashMap::new(), edges: Vec::new() }
    }
}

impl<K, E> Graph<K, E> {
    /// Makes a graph of properties that are known by their number, without edges.
    pub(crate) fn numbered(properties: Vec<K>) -> Self {
        let edges = properties.iter().map(|_| Vec::new()).collect();
        Self { properties, places: HashMap::new(), edges }
    }

    /// Notes that one property reads another, both given by their numbers.
    pub(crate) fn numbered_edge(&mut self, reader: usize, read: usize, at: E) {
        self.edges[reader].push((read, at));
    }
}

impl<K: Clone + Eq + Hash, E> Graph<K, E> {
    /// Notes that one property reads another.
    pub(crate) fn edge(&mut self, reader: K, read: K, at: E) {
        let (reader, read) = (self.node(reader), self.node(read));
        self.edges[reader].push((read, at));
    }

    fn node(&mut self, property: K) -> usize {
        if let Some(at) = self.places.get(&property) {
            return *at;
        }
        self.places.insert(property.clone(), self.properties.len());
        self.properties.push(property);
        self.edges.push(Vec::new());
        self.properties.len() - 1
    }
}

/// A property as it is referred to in a descriptor: the part it is of, and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Named<'d> {
    /// The component or reference; none for the descriptor's own properties.
    part: Option<&'d str>,
    property: &'d str,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Some(part) => write!(f, "{part}.{}", self.property),
            None => f.write_str(self.property),
        }
    }
}

type Names<'d> = Graph<Named<'d>, Option<Span>>;

impl<'d> Names<'d> {
    fn section(&mut self, part: Option<&'d str>, properties: &'d Properties, scope: Scope<'_>) {
        for (name, decl) in properties {
            let Some(value) = decl.effective() else { continue };
            let reader = Named { part, property: name.as_str() };
            value.for_each_reference(&mut |reference| {
                if let Some(read) = named(reference, scope) {
                    self.edge(reader, read, Some(reference.span));
                }
            });
        }
    }
}

/// The property that a reference means, if it means one. What it means has the name that is written.
fn named<'d>(reference: &'d Reference, scope: Scope<'_>) -> Option<Named<'d>> {
    match (scope.meaning(reference), reference.split()) {
        (Ok(Meaning::Own(_)), _) => Some(Named { part: None, property: &reference.text }),
        (Ok(Meaning::Part(..)), (part, Some(property))) => Some(Named { part: Some(part), property }),
        _ => None,
    }
}

/// Builds the graph of an assembly's own properties and those of its entries.
fn assembly_graph(assembly: &AssemblyDescriptor) -> Names<'_> {
    let mut graph = Graph::default();
    let scope = Scope::assembly(assembly);
    graph.section(None, &assembly.properties, scope);
    for (name, component) in &assembly.composition {
        graph.section(Some(name.as_str()), &component.properties, scope);
    }
    for (name, reference) in &assembly.references {
        graph.section(Some(name.as_str()), &reference.properties, scope);
    }
    graph
}

/// How the coming up of a component is called among properties; no property is called so.
const UP: &str = " ";

/// Adds what outputs cost: a component that publishes one must be up, and for that it needs all that it is given.
fn add_outputs<'d>(graph: &mut Names<'d>, assembly: &'d AssemblyDescriptor, catalog: &dyn Catalog) {
    let scope = Scope::assembly(assembly);
    let mut outputs = HashSet::new();
    let own = assembly.properties.values();
    let given = assembly.composition.values().flat_map(|part| part.properties.values());
    for value in own.chain(given).filter_map(PropertyDecl::effective) {
        value.for_each_reference(&mut |reference| {
            if let Some(read @ Named { part: Some(part), property }) = named(reference, scope)
                && outputs.insert(read)
                && is_output(assembly, catalog, part, property)
            {
                graph.edge(read, Named { part: Some(part), property: UP }, None);
            }
        });
    }
    for (name, component) in &assembly.composition {
        let part = Some(name.as_str());
        let given = component.properties.iter().filter(|(_, decl)| decl.effective().is_some());
        for (property, _) in given {
            graph.edge(Named { part, property: UP }, Named { part, property: property.as_str() }, None);
        }
    }
}

/// Tells whether a component's property is one that only the running component can have. Parts of an assembly publish
/// one by one, so an assembly is not waited for as a whole.
fn is_output(assembly: &AssemblyDescriptor, catalog: &dyn Catalog, component: &str, property: &str) -> bool {
    let Some(part) = assembly.composition.get(component) else { return false };
    if part.properties.get(property).is_some_and(|decl| decl.effective().is_some()) {
        return false;
    }
    let Some(kind) = &part.kind else { return true };
    if kind.value.kind == DescriptorKind::Assembly {
        return false;
    }
    let descriptor = catalog.find(&kind.value);
    let declared = descriptor.as_ref().and_then(|descriptor| descriptor.properties().get(property));
    declared.is_none_or(|decl| decl.effective().is_none())
}

/// A circle: each property and where it reads the next; the last reads the first.
pub(crate) type Circle<K, E> = Vec<(K, K, E)>;

/// Finds a circle, depth first and without recursion.
pub(crate) fn find<K: Clone, E: Clone>(graph: &Graph<K, E>) -> Option<Circle<K, E>> {
    let mut seen = vec![Seen::Not; graph.properties.len()];
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..graph.properties.len() {
        if seen[start] == Seen::Not {
            seen[start] = Seen::OnPath(0);
            path.push((start, 0));
        }
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some((read, _)) = graph.edges[node].get(*next) else {
                seen[node] = Seen::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match seen[*read] {
                Seen::OnPath(from) => return Some(circle(graph, &path[from..])),
                Seen::Done => {}
                Seen::Not => {
                    seen[*read] = Seen::OnPath(path.len());
                    path.push((*read, 0));
                }
            }
        }
    }
    None
}

/// How far the search has come with a property.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Not,
    /// It is on the way that is being followed, at this place.
    OnPath(usize),
    Done,
}

fn circle<K: Clone, E: Clone>(graph: &Graph<K, E>, path: &[(usize, usize)]) -> Circle<K, E> {
    let edge = |(node, next): &(usize, usize)| {
        let (read, at) = &graph.edges[*node][next - 1];
        (graph.properties[*node].clone(), graph.properties[*read].clone(), at.clone())
    };
    path.iter().map(edge).collect()
}

/// Finds properties of an assembly that read each other in a circle, or components that wait for each other's outputs.
pub(crate) fn problem(assembly: &AssemblyDescriptor, catalog: &dyn Catalog) -> Option<Diagnostic> {
    let mut graph = assembly_graph(assembly);
    if let Some(circle) = find(&graph) {
        return Some(said(&assembly.source, circle));
    }
    add_outputs(&mut graph, assembly, catalog);
    let circle = find(&graph)?;
    Some(waiting(&assembly.source, circle))
}

/// Finds properties of a resource that read each other in a circle.
pub(crate) fn problem_of_resource(resource: &ResourceDescriptor) -> Option<Diagnostic> {
    let mut graph = Graph::default();
    let scope = Scope::resource(resource);
    graph.section(None, &resource.properties, scope);
    graph.section(None, &resource.private_properties, scope);
    Some(said(&resource.source, find(&graph)?))
}

fn said(source: &Arc<Source>, circle: Circle<Named<'_>, Option<Span>>) -> Diagnostic {
    let edges = circle.into_iter().map(|(reader, read, span)| {
        (reader.to_string(), read.to_string(), span.map(|span| source.place(span)))
    });
    diagnostic(edges.collect())
}

/// Prints a circle of components that need each other's outputs.
fn waiting(source: &Arc<Source>, circle: Circle<Named<'_>, Option<Span>>) -> Diagnostic {
    let up = circle.iter().filter(|(reader, ..)| reader.property == UP);
    let names: Vec<&str> = up.filter_map(|(reader, ..)| reader.part).collect();
    let way = names.iter().chain(names.first()).copied().rev().collect::<Vec<_>>().join(" -> ");
    let message = match names[..] {
        [one] => format!("`{one}` needs its own output before it is there"),
        _ => format!("components wait for each other's outputs in a circle: {way}"),
    };
    let mut diagnostic = Diagnostic::error(codes::PROPERTY_CYCLE, message);
    for (reader, read, span) in circle {
        let Some(place) = span.map(|span| source.place(span)) else { continue };
        let text = format!("`{reader}` reads `{read}`");
        diagnostic = match diagnostic.place() {
            None => diagnostic.at(place).label(text),
            Some(_) => diagnostic.related(place, text),
        };
    }
    diagnostic.help(
        "an output is known once its component is installed; give one of these properties a value of its own",
    )
}

/// Prints a circle edge by edge.
pub(crate) fn diagnostic(circle: Circle<String, Option<Place>>) -> Diagnostic {
    let names = circle.iter().map(|edge| edge.0.as_str()).chain(circle.first().map(|edge| edge.0.as_str()));
    let way = names.collect::<Vec<_>>().join(" -> ");
    let message = format!("properties read each other in a circle: {way}");
    let mut diagnostic = Diagnostic::error(codes::PROPERTY_CYCLE, message);
    for (reader, read, place) in circle {
        let text = format!("`{reader}` reads `{read}`");
        diagnostic = match place {
            Some(place) if diagnostic.place().is_none() => diagnostic.at(place).label(text),
            Some(place) => diagnostic.related(place, text),
            None => diagnostic,
        };
    }
    diagnostic.help("give one of them a value of its own")
}
