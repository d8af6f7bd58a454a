//! Finds cycles of properties that read each other, and cycles of components that depend on each other. The message
//! about a cycle lists the `${…}` or the entries of `depends-on` that form the cycle, with their places.

use std::sync::Arc;

use windlass_model::name::{DescriptorKind, RESERVED};
use windlass_source::{Diagnostic, Place, Source};

use crate::catalog::{Catalog, MemoryCatalog};
use crate::codes;
use crate::document::{AssemblyDescriptor, Component};
use crate::property::{Properties, PropertyDecl};
use crate::resource::ResourceDescriptor;
use crate::template::Reference;

/// A graph of properties that read each other, or of components that depend on each other. Each node is a number.
/// If property 0 reads property 1, an edge leads from node 0 to node 1. `E` is the data of an edge, such as the
/// `${…}` by which property 0 reads property 1.
#[derive(Debug)]
pub(crate) struct Graph<E> {
    /// For each node, the index of its first edge in `edges`. The last entry is the number of all edges.
    first: Vec<usize>,
    edges: Vec<(usize, E)>,
}

impl<E> Graph<E> {
    /// Creates a graph without nodes, with memory for `nodes` nodes.
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        let mut first = Vec::with_capacity(nodes + 1);
        first.push(0);
        Self { first, edges: Vec::new() }
    }

    /// Adds an edge from the current node to the node `read`.
    pub(crate) fn edge(&mut self, read: usize, at: E) {
        self.edges.push((read, at));
    }

    /// Ends the current node. Later edges begin at the next node.
    pub(crate) fn end_node(&mut self) {
        self.first.push(self.edges.len());
    }

    /// Returns the number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns the edges of a node, each with the node that it leads to.
    pub(crate) fn edges(&self, node: usize) -> &[(usize, E)] {
        &self.edges[self.first[node]..self.first[node + 1]]
    }
}

/// The nodes of the graph of one descriptor, in this order:
///
/// - the properties of the assembly or resource itself,
/// - the properties that the assembly gives to each component,
/// - the properties that each reference requires of its instance,
/// - one node for each component, which stands for the start of the component.
struct Names<'d> {
    own: &'d Properties,
    private: Option<&'d Properties>,
    assembly: Option<&'d AssemblyDescriptor>,
    /// For each component and each reference, the index of the node for its first property. All components come before
    /// the references.
    parts: Vec<usize>,
    /// The number of all properties. In the graph, the nodes of components follow the nodes of properties. So
    /// this number is also the index of the node for the first component.
    properties: usize,
}

/// The target of a `${…}`: the property that the `${…}` reads.
enum Reads {
    /// A property with a node of its own in the graph. The number is the index of this node.
    Property(usize),
    /// A property that gets its value from a running component. The number is the index of the component in the
    /// composition.
    Output(usize),
}

impl<'d> Names<'d> {
    fn assembly(assembly: &'d AssemblyDescriptor) -> Self {
        let mut names = Self { assembly: Some(assembly), ..Self::of(&assembly.properties) };
        names.parts.reserve(assembly.composition.len() + assembly.references.len());
        let sections = assembly.composition.values().map(|part| &part.properties);
        for section in sections.chain(assembly.references.values().map(|part| &part.properties)) {
            names.parts.push(names.properties);
            names.properties += section.len();
        }
        names
    }

    fn resource(resource: &'d ResourceDescriptor) -> Self {
        let private = &resource.private_properties;
        let own = Self::of(&resource.properties);
        Self { properties: own.properties + private.len(), private: Some(private), ..own }
    }

    fn of(own: &'d Properties) -> Self {
        Self { own, private: None, assembly: None, parts: Vec::new(), properties: own.len() }
    }

    /// Returns the target of a `${…}`; `None` if the target has no node in the graph. For example, `${instance.name}`
    /// and an unknown property have no node.
    fn read(&self, reference: &Reference, catalog: &dyn Catalog) -> Option<Reads> {
        let (part, property) = reference.split();
        if property.is_some() && RESERVED.contains(&part) {
            return None;
        }
        if let (Some(property), Some(assembly)) = (property, self.assembly) {
            if let Some((at, _, component)) = assembly.composition.get_full(part) {
                return match component.properties.get_full(property) {
                    Some((number, _, decl)) if decl.effective().is_some() => {
                        Some(Reads::Property(self.parts[at] + number))
                    }
                    _ => is_output(component, catalog, property).then_some(Reads::Output(at)),
                };
            }
            if let Some((at, _, found)) = assembly.references.get_full(part) {
                let number = found.properties.get_index_of(property)?;
                return Some(Reads::Property(self.parts[assembly.composition.len() + at] + number));
            }
        }
        let private = || Some(self.own.len() + self.private?.get_index_of(&*reference.text)?);
        self.own.get_index_of(&*reference.text).or_else(private).map(Reads::Property)
    }

    /// Builds the graph. If a property reads an output of a component, an edge leads from the property to the
    /// start of this component. A component can start only if its properties have values. So edges lead from
    /// the start of a component to the properties that the assembly gives to the component.
    fn graph(&self, catalog: &dyn Catalog) -> Graph<Option<&'d Reference>> {
        let components = self.assembly.map_or(0, |assembly| assembly.composition.len());
        let mut graph = Graph::with_capacity(self.properties + components);
        for decl in self.sections().flat_map(Properties::values) {
            if let Some(value) = decl.effective() {
                value.for_each_reference(&mut |reference| match self.read(reference, catalog) {
                    Some(Reads::Property(read)) => graph.edge(read, Some(reference)),
                    Some(Reads::Output(component)) => {
                        graph.edge(self.properties + component, Some(reference));
                    }
                    None => {}
                });
            }
            graph.end_node();
        }
        for at in 0..components {
            let end = self.parts.get(at + 1).copied().unwrap_or(self.properties);
            for given in self.parts[at]..end {
                // A property that reads nothing is in no cycle.
                if !graph.edges(given).is_empty() {
                    graph.edge(given, None);
                }
            }
            graph.end_node();
        }
        graph
    }

    /// Returns all sections of properties. Their properties have the same order as the nodes of the graph.
    fn sections(&self) -> impl Iterator<Item = &'d Properties> {
        let composition = self.assembly.iter().flat_map(|assembly| assembly.composition.values());
        let references = self.assembly.iter().flat_map(|assembly| assembly.references.values());
        let parts = composition.map(|part| &part.properties).chain(references.map(|part| &part.properties));
        [Some(self.own), self.private].into_iter().flatten().chain(parts)
    }

    /// Returns the component or reference to which a node belongs; `None` for the descriptor's own
    /// properties.
    fn part(&self, node: usize) -> Option<&'d str> {
        let assembly = self.assembly?;
        let part = match node.checked_sub(self.properties) {
            Some(component) => component,
            // A component without properties has the same number in `parts` as the next component.
            None => self.parts.partition_point(|first| *first <= node).checked_sub(1)?,
        };
        match assembly.composition.get_index(part) {
            Some((name, _)) => Some(name.as_str()),
            None => assembly
                .references
                .get_index(part - assembly.composition.len())
                .map(|(name, _)| name.as_str()),
        }
    }

    /// Returns the name of a property as it is written inside `${…}`, such as `web.url`.
    fn name(&self, node: usize) -> String {
        let (mut section, mut number) = (None, node);
        for properties in self.sections() {
            if number < properties.len() {
                section = Some(properties);
                break;
            }
            number -= properties.len();
        }
        let property =
            section.and_then(|section| section.get_index(number)).map_or("", |(name, _)| name.as_str());
        match self.part(node) {
            Some(part) => format!("{part}.{property}"),
            None => property.to_owned(),
        }
    }
}

/// Tells whether `property` has no value until the component is installed.
///
/// - For a resource, the result is `true` if the descriptor contains no value for the property. The result is also
///   `true` if the descriptor is missing.
/// - For a nested assembly, the result is always `false`. One part of the assembly can supply the value before the
///   other parts are installed.
fn is_output(component: &Component, catalog: &dyn Catalog, property: &str) -> bool {
    let Some(kind) = &component.kind else { return true };
    if kind.value.kind == DescriptorKind::Assembly {
        return false;
    }
    let descriptor = catalog.find(&kind.value);
    let declared = descriptor.as_ref().and_then(|descriptor| descriptor.properties().get(property));
    declared.is_none_or(|decl: &PropertyDecl| decl.effective().is_none())
}

/// A cycle. Each entry contains the number of a node, the number of the node that it reads, and the data of
/// the edge. The last node reads the first one.
pub(crate) type Circle<E> = Vec<(usize, usize, E)>;

/// Finds a cycle among the nodes with numbers below `nodes`. The depth-first search uses no recursion.
pub(crate) fn find<E: Clone>(graph: &Graph<E>, nodes: usize) -> Option<Circle<E>> {
    find_all(graph, nodes, 1).pop()
}

/// Finds cycles among the nodes with numbers below `nodes`. No two of the cycles have a node in common. The function
/// stops after `most` cycles.
fn find_all<E: Clone>(graph: &Graph<E>, nodes: usize, most: usize) -> Vec<Circle<E>> {
    let mut found = Vec::new();
    let mut seen = vec![Seen::Not; nodes];
    let mut path: Vec<(usize, usize)> = Vec::new();
    // Indices in `path` of the nodes that belong to cycles found before.
    let mut reported: Vec<usize> = Vec::new();
    for start in 0..nodes {
        if seen[start] == Seen::Not {
            seen[start] = Seen::OnPath(0);
            path.push((start, 0));
        }
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some((read, _)) = graph.edges(node).get(*next) else {
                seen[node] = Seen::Done;
                path.pop();
                if reported.last() == Some(&path.len()) {
                    reported.pop();
                }
                continue;
            };
            *next += 1;
            match seen.get(*read) {
                Some(Seen::OnPath(from)) if reported.last().is_none_or(|last| last < from) => {
                    found.push(circle(graph, &path[*from..]));
                    reported.extend(*from..path.len());
                    if found.len() == most {
                        return found;
                    }
                }
                Some(Seen::Not) => {
                    seen[*read] = Seen::OnPath(path.len());
                    path.push((*read, 0));
                }
                Some(Seen::OnPath(_) | Seen::Done) | None => {}
            }
        }
    }
    found
}

/// The search state of a node.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Not,
    /// The node is at this index of the current path.
    OnPath(usize),
    Done,
}

fn circle<E: Clone>(graph: &Graph<E>, path: &[(usize, usize)]) -> Circle<E> {
    let edge = |(node, next): &(usize, usize)| {
        let (read, at) = &graph.edges(*node)[next - 1];
        (*node, *read, at.clone())
    };
    path.iter().map(edge).collect()
}

/// Maximum number of cycles that are reported for one descriptor.
const MOST: usize = 100;

/// Maximum number of edges that a message about one cycle lists.
pub(crate) const SHOWN: usize = 16;

/// Formats the path of a cycle of `length` nodes. `names` contains the names of the first nodes of the cycle. If
/// `names` lacks some nodes, the path tells the number of these nodes.
fn way<S: AsRef<str>>(names: &[S], length: usize) -> String {
    let mut way: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let left_out;
    if length > names.len() {
        left_out = format!("({} more)", length - names.len());
        way.push(&left_out);
    }
    way.extend(names.first().map(AsRef::as_ref));
    way.join(" -> ")
}

/// Returns the errors about cycles of properties of an assembly. If no such cycle exists, returns the errors
/// about components that wait for each other's outputs.
pub(crate) fn problems(assembly: &AssemblyDescriptor, catalog: &dyn Catalog) -> Vec<Diagnostic> {
    let names = Names::assembly(assembly);
    let graph = names.graph(catalog);
    let circles = find_all(&graph, names.properties, MOST);
    if !circles.is_empty() {
        return circles.into_iter().map(|circle| said(&names, &assembly.source, circle)).collect();
    }
    let circles = find_all(&graph, graph.len(), MOST).into_iter();
    circles.map(|circle| waiting(&names, &assembly.source, circle)).collect()
}

/// Returns the errors about cycles of properties of a resource.
pub(crate) fn problems_of_resource(resource: &ResourceDescriptor) -> Vec<Diagnostic> {
    let names = Names::resource(resource);
    let graph = names.graph(&MemoryCatalog::new());
    let circles = find_all(&graph, names.properties, MOST).into_iter();
    circles.map(|circle| said(&names, &resource.source, circle)).collect()
}

fn said(names: &Names<'_>, source: &Arc<Source>, circle: Circle<Option<&Reference>>) -> Diagnostic {
    let length = circle.len();
    let edges = circle.into_iter().take(SHOWN).map(|(reader, read, reference)| {
        let place = reference.map(|reference| source.place(reference.span));
        (names.name(reader), names.name(read), place)
    });
    diagnostic(edges.collect(), length)
}

/// Returns the error about a cycle of components that wait for each other's outputs.
fn waiting(names: &Names<'_>, source: &Arc<Source>, circle: Circle<Option<&Reference>>) -> Diagnostic {
    let ups = circle.iter().filter(|(reader, ..)| *reader >= names.properties);
    let parts: Vec<&str> = ups.filter_map(|(reader, ..)| names.part(*reader)).collect();
    let mut shown: Vec<&str> = parts.iter().rev().take(SHOWN).copied().collect();
    // In `parts`, each component needs an output of the next component. The message lists the components in
    // reverse order. If the message shows all components, it begins with the first component of `parts`.
    shown.rotate_right(usize::from(parts.len() <= SHOWN));
    let way = way(&shown, parts.len());
    let message = match parts[..] {
        [one] => format!("`{one}` needs its own output before it is there"),
        _ => format!("components wait for each other's outputs in a circle: {way}"),
    };
    let mut diagnostic = Diagnostic::error(codes::PROPERTY_CYCLE, message);
    for (reader, _, reference) in circle.into_iter().filter(|edge| edge.2.is_some()).take(SHOWN) {
        let Some(reference) = reference else { continue };
        let place = source.place(reference.span);
        let text = format!("`{}` reads `{}`", names.name(reader), reference.text);
        diagnostic = match diagnostic.place() {
            None => diagnostic.at(place).label(text),
            Some(_) => diagnostic.related(place, text),
        };
    }
    diagnostic.help(
        "an output is known once its component is installed; give one of these properties a value of its own",
    )
}

/// Returns the errors about components that depend on each other by `depends-on`.
pub(crate) fn dependencies(assembly: &AssemblyDescriptor) -> Vec<Diagnostic> {
    if assembly.composition.values().all(|component| component.depends_on.is_empty()) {
        return Vec::new();
    }
    let mut graph = Graph::with_capacity(assembly.composition.len());
    for component in assembly.composition.values() {
        for on in &component.depends_on {
            if let Some(at) = assembly.composition.get_index_of(&on.value) {
                graph.edge(at, on.span);
            }
        }
        graph.end_node();
    }
    let name = |at: usize| assembly.composition.get_index(at).map_or("", |(name, _)| name.as_str());
    let circles = find_all(&graph, graph.len(), MOST).into_iter();
    circles
        .map(|circle| {
            let shown = &circle[..circle.len().min(SHOWN)];
            let names: Vec<&str> = shown.iter().map(|(dependent, ..)| name(*dependent)).collect();
            let message = match names[..] {
                [one] => format!("`{one}` depends on itself"),
                _ => format!("components depend on each other in a circle: {}", way(&names, circle.len())),
            };
            let mut diagnostic = Diagnostic::error(codes::DEPENDENCY_CYCLE, message);
            for (dependent, on, span) in shown {
                let place = assembly.source.place(*span);
                let text = format!("`{}` depends on `{}`", name(*dependent), name(*on));
                diagnostic = match diagnostic.place() {
                    None => diagnostic.at(place).label(text),
                    Some(_) => diagnostic.related(place, text),
                };
            }
            diagnostic.help("remove one of these entries of `depends-on`")
        })
        .collect()
}

/// Returns the error about a cycle of `length` properties. `circle` lists the first edges of the cycle. For a property
/// `a` that reads a property `b`, the edge contains `a`, `b`, and the place at which `a` reads `b`. The place is `None`
/// if it is not known.
pub(crate) fn diagnostic(circle: Vec<(String, String, Option<Place>)>, length: usize) -> Diagnostic {
    let names: Vec<&str> = circle.iter().map(|edge| edge.0.as_str()).collect();
    let way = way(&names, length);
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
