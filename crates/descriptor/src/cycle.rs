//! Finds properties that read each other in a circle, and prints the circle edge by edge.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use windlass_source::{Diagnostic, Place, Source, Span};

use crate::codes;
use crate::document::AssemblyDescriptor;
use crate::property::Properties;
use crate::resource::ResourceDescriptor;
use crate::scope::{Meaning, Scope};

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

impl Graph<String, Span> {
    fn section(&mut self, prefix: &str, properties: &Properties, scope: Scope<'_>) {
        for (name, decl) in properties {
            let Some(value) = decl.effective() else { continue };
            value.for_each_reference(&mut |reference| {
                let read = match scope.meaning(reference) {
                    Ok(Meaning::Own(property)) => property.to_string(),
                    Ok(Meaning::Part(component, property)) => format!("{component}.{property}"),
                    _ => return,
                };
                self.edge(format!("{prefix}{name}"), read, reference.span);
            });
        }
    }
}

/// Builds the graph of an assembly's own properties and those of its entries.
pub(crate) fn assembly_graph(assembly: &AssemblyDescriptor) -> Graph<String, Span> {
    let mut graph = Graph::default();
    let scope = Scope::assembly(assembly);
    graph.section("", &assembly.properties, scope);
    for (name, component) in &assembly.composition {
        graph.section(&format!("{name}."), &component.properties, scope);
    }
    for (name, reference) in &assembly.references {
        graph.section(&format!("{name}."), &reference.properties, scope);
    }
    graph
}

/// Builds the graph of a resource's own properties.
pub(crate) fn resource_graph(resource: &ResourceDescriptor) -> Graph<String, Span> {
    let mut graph = Graph::default();
    graph.section("", &resource.properties, Scope::resource(&resource.properties));
    graph
}

/// A circle: each property and where it reads the next; the last reads the first.
pub(crate) type Circle<K, E> = Vec<(K, K, E)>;

/// Finds a circle, depth first and without recursion.
pub(crate) fn find<K: Clone, E: Clone>(graph: &Graph<K, E>) -> Option<Circle<K, E>> {
    let mut done = vec![false; graph.properties.len()];
    for start in 0..graph.properties.len() {
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut on_path = HashMap::new();
        if !done[start] {
            path.push((start, 0));
            on_path.insert(start, 0);
        }
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some((read, _)) = graph.edges[node].get(*next) else {
                done[node] = true;
                on_path.remove(&node);
                path.pop();
                continue;
            };
            *next += 1;
            if let Some(from) = on_path.get(read) {
                return Some(circle(graph, &path[*from..]));
            }
            if !done[*read] {
                on_path.insert(*read, path.len());
                path.push((*read, 0));
            }
        }
    }
    None
}

fn circle<K: Clone, E: Clone>(graph: &Graph<K, E>, path: &[(usize, usize)]) -> Circle<K, E> {
    let edge = |(node, next): &(usize, usize)| {
        let (read, at) = &graph.edges[*node][next - 1];
        (graph.properties[*node].clone(), graph.properties[*read].clone(), at.clone())
    };
    path.iter().map(edge).collect()
}

/// Says what is wrong with a graph whose edges are places of one text, if it has a circle.
pub(crate) fn problem(source: &Arc<Source>, graph: &Graph<String, Span>) -> Option<Diagnostic> {
    let circle =
        find(graph)?.into_iter().map(|(reader, read, span)| (reader, read, Some(source.place(span))));
    Some(diagnostic(circle.collect()))
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
