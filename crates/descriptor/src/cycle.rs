//! Finds properties that read each other in a circle, and prints the circle edge by edge.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use windlass_model::name::DescriptorKind;
use windlass_model::{ComponentName, PropertyName};
use windlass_source::{Diagnostic, Place, Source, Span};

use crate::catalog::Catalog;
use crate::codes;
use crate::document::AssemblyDescriptor;
use crate::property::{Properties, PropertyDecl};
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

impl Graph<String, Option<Span>> {
    fn section(&mut self, prefix: &str, properties: &Properties, scope: Scope<'_>) {
        for (name, decl) in properties {
            let Some(value) = decl.effective() else { continue };
            value.for_each_reference(&mut |reference| {
                let read = match scope.meaning(reference) {
                    Ok(Meaning::Own(property)) => property.to_string(),
                    Ok(Meaning::Part(component, property)) => format!("{component}.{property}"),
                    _ => return,
                };
                self.edge(format!("{prefix}{name}"), read, Some(reference.span));
            });
        }
    }
}

/// Builds the graph of an assembly's own properties and those of its entries.
fn assembly_graph(assembly: &AssemblyDescriptor) -> Graph<String, Option<Span>> {
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

/// How the coming up of a component is called among properties; no property is called so.
const UP: &str = " ";

/// Adds what outputs cost: a component that publishes one must be up, and for that it needs all that it is given.
fn add_outputs(
    graph: &mut Graph<String, Option<Span>>,
    assembly: &AssemblyDescriptor,
    catalog: &dyn Catalog,
) {
    let scope = Scope::assembly(assembly);
    let mut outputs = Vec::new();
    let own = assembly.properties.values();
    let given = assembly.composition.values().flat_map(|part| part.properties.values());
    for value in own.chain(given).filter_map(PropertyDecl::effective) {
        value.for_each_reference(&mut |reference| {
            if let Ok(Meaning::Part(component, property)) = scope.meaning(reference)
                && is_output(assembly, catalog, &component, &property)
            {
                outputs.push((component, property));
            }
        });
    }
    for (component, property) in outputs {
        graph.edge(format!("{component}.{property}"), format!("{component}{UP}"), None);
    }
    for (name, component) in &assembly.composition {
        let given = component.properties.iter().filter(|(_, decl)| decl.effective().is_some());
        for (property, _) in given {
            graph.edge(format!("{name}{UP}"), format!("{name}.{property}"), None);
        }
    }
}

/// Tells whether a component's property is one that only the running component can have. Parts of an assembly publish
/// one by one, so an assembly is not waited for as a whole.
fn is_output(
    assembly: &AssemblyDescriptor,
    catalog: &dyn Catalog,
    component: &ComponentName,
    property: &PropertyName,
) -> bool {
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
    graph.section("", &resource.properties, scope);
    graph.section("", &resource.private_properties, scope);
    Some(said(&resource.source, find(&graph)?))
}

fn said(source: &Arc<Source>, circle: Circle<String, Option<Span>>) -> Diagnostic {
    let edges =
        circle.into_iter().map(|(reader, read, span)| (reader, read, span.map(|span| source.place(span))));
    diagnostic(edges.collect())
}

/// Prints a circle of components that need each other's outputs.
fn waiting(source: &Arc<Source>, circle: Circle<String, Option<Span>>) -> Diagnostic {
    let names: Vec<&str> = circle.iter().filter_map(|(name, ..)| name.strip_suffix(UP)).collect();
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
