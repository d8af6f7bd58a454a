//! Finds properties that read each other in a circle, and prints the circle edge by edge.

use std::collections::HashMap;
use std::sync::Arc;

use windlass_source::{Diagnostic, Source, Span};

use crate::codes;
use crate::document::AssemblyDescriptor;
use crate::property::Properties;
use crate::resource::ResourceDescriptor;
use crate::scope::{Meaning, Scope};

/// Properties by name, and who reads whom where.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    names: Vec<String>,
    places: HashMap<String, usize>,
    edges: Vec<Vec<(usize, Span)>>,
}

impl Graph {
    fn node(&mut self, name: String) -> usize {
        if let Some(at) = self.places.get(&name) {
            return *at;
        }
        self.places.insert(name.clone(), self.names.len());
        self.names.push(name);
        self.edges.push(Vec::new());
        self.names.len() - 1
    }

    fn section(&mut self, prefix: &str, properties: &Properties, scope: Scope<'_>) {
        for (name, decl) in properties {
            let reader = self.node(format!("{prefix}{name}"));
            let Some(value) = decl.effective() else { continue };
            value.for_each_reference(&mut |reference| {
                let read = match scope.meaning(reference) {
                    Ok(Meaning::Own(property)) => property.to_string(),
                    Ok(Meaning::Part(component, property)) => format!("{component}.{property}"),
                    _ => return,
                };
                let read = self.node(read);
                self.edges[reader].push((read, reference.span));
            });
        }
    }
}

/// Builds the graph of an assembly's own properties and those of its entries.
pub(crate) fn assembly_graph(assembly: &AssemblyDescriptor) -> Graph {
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
pub(crate) fn resource_graph(resource: &ResourceDescriptor) -> Graph {
    let mut graph = Graph::default();
    graph.section("", &resource.properties, Scope::resource(&resource.properties));
    graph
}

/// A circle: each property and where it reads the next; the last reads the first.
pub(crate) type Circle = Vec<(String, String, Span)>;

/// Finds a circle, depth first and without recursion.
pub(crate) fn find(graph: &Graph) -> Option<Circle> {
    let mut done = vec![false; graph.names.len()];
    for start in 0..graph.names.len() {
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

fn circle(graph: &Graph, path: &[(usize, usize)]) -> Circle {
    let edge = |(node, next): &(usize, usize)| {
        let (read, span) = graph.edges[*node][next - 1];
        (graph.names[*node].clone(), graph.names[read].clone(), span)
    };
    path.iter().map(edge).collect()
}

/// Prints a circle.
pub(crate) fn diagnostic(source: &Arc<Source>, circle: &Circle) -> Diagnostic {
    let names: Vec<&str> =
        circle.iter().map(|edge| edge.0.as_str()).chain(circle.first().map(|e| e.0.as_str())).collect();
    let message = format!("properties read each other in a circle: {}", names.join(" -> "));
    let mut edges = circle.iter();
    let mut diagnostic = Diagnostic::error(codes::PROPERTY_CYCLE, message);
    if let Some((reader, read, span)) = edges.next() {
        diagnostic = diagnostic.at(source.place(*span)).label(format!("`{reader}` reads `{read}`"));
    }
    for (reader, read, span) in edges {
        diagnostic = diagnostic.related(source.place(*span), format!("`{reader}` reads `{read}`"));
    }
    diagnostic.help("give one of them a value of its own")
}
