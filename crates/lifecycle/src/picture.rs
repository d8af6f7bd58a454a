//! Drawings of an assembly: its components with their relationships, and the references between properties.

use std::collections::HashMap;

use windlass_model::assembly::{ElementKind, Endpoint, Referent};
use windlass_model::{Element, ElementName, Part, Relationship, Template, Topology};
use windlass_plan::draw::{Drawing, Edge, Group, Line, Node, Shape, Sign};

/// Draws components and relationships.
///
/// Each component is drawn as one box, even a cluster. A nested assembly is drawn as a frame.
pub fn draw_topology(topology: &Topology) -> Drawing {
    let mut drawing = Drawing::new(format!("{}: components and relationships", topology.name()));
    let places = components(topology, &mut drawing);
    for relationship in topology.relationships() {
        let ends = |ends: &[Endpoint]| -> Vec<usize> {
            ends.iter().filter_map(|end| place(topology, &places, &end.element)).collect()
        };
        let (sources, targets) = (ends(&relationship.sources), ends(&relationship.targets));
        let calls = !relationship.create.is_empty() || !relationship.cease.is_empty();
        for from in &sources {
            for to in &targets {
                drawing.edges.push(Edge {
                    from: *from,
                    to: *to,
                    name: name(relationship),
                    label: label(relationship),
                    line: if calls { Line::Solid } else { Line::Dashed },
                });
            }
        }
    }
    drawing.legend = nodes_of_components();
    drawing.legend.extend([
        (Sign::Edge(Line::Solid), "relationship with operations, from source to target".to_owned()),
        (Sign::Edge(Line::Dashed), "relationship without operations: an order".to_owned()),
    ]);
    drawing.trim_legend();
    drawing
}

fn name(relationship: &Relationship) -> String {
    if relationship.is_dependency() { "depends on".to_owned() } else { relationship.name.to_string() }
}

fn label(relationship: &Relationship) -> String {
    if relationship.is_dependency() {
        let names = |ends: &[Endpoint]| -> String {
            ends.iter().map(|end| end.element.local()).collect::<Vec<_>>().join(", ")
        };
        return format!("{} depends on {}", names(&relationship.targets), names(&relationship.sources));
    }
    format!(
        "{}: source {} ({}), target {} ({})",
        relationship.name,
        relationship.source_state,
        relationship.source_modifier,
        relationship.target_state,
        relationship.target_modifier
    )
}

/// Returns the entries of the legend for components and references.
fn nodes_of_components() -> Vec<(Sign, String)> {
    vec![
        (Sign::Node(Shape::Box), "component, or a cluster × its nodes".to_owned()),
        (Sign::Node(Shape::Round), "reference to something that exists".to_owned()),
    ]
}

/// Draws the components, and the references between their properties.
///
/// For example, the property `url` of a web server refers to the property `address` of a database. Then an edge leads
/// from the database to the web server.
pub fn draw_properties(topology: &Topology) -> Drawing {
    let mut drawing = Drawing::new(format!("{}: references between properties", topology.name()));
    let places = components(topology, &mut drawing);
    let mut reads: Vec<((usize, usize), Vec<String>)> = Vec::new();
    let mut known: HashMap<(usize, usize), usize> = HashMap::new();
    for element in topology.elements() {
        let Some(to) = place(topology, &places, &element.name) else { continue };
        for (name, property) in &element.properties {
            for (producer, output) in property.value.iter().flat_map(read) {
                let Some(from) = place(topology, &places, producer).filter(|from| *from != to) else {
                    continue;
                };
                let at = *known.entry((from, to)).or_insert_with(|| {
                    reads.push(((from, to), Vec::new()));
                    reads.len() - 1
                });
                let line = format!("{name} ← {output}");
                if !reads[at].1.contains(&line) {
                    reads[at].1.push(line);
                }
            }
        }
    }
    for ((from, to), lines) in reads {
        let name = match lines.as_slice() {
            [first] => first.clone(),
            [first, more @ ..] => format!("{first} (+{})", more.len()),
            [] => String::new(),
        };
        drawing.edges.push(Edge { from, to, name, label: lines.join(", "), line: Line::Solid });
    }
    drawing.legend = nodes_of_components();
    drawing.legend.push((Sign::Edge(Line::Solid), "property ← the output that it reads".to_owned()));
    drawing.trim_legend();
    drawing
}

fn read(template: &Template) -> Vec<(&ElementName, &windlass_model::PropertyName)> {
    let mut read = Vec::new();
    template.for_each_part(&mut |part| {
        if let Part::Property { element, property } = part {
            read.push((element, property));
        }
    });
    read
}

/// Adds a drawn node for each component, and a frame for each nested assembly and each cluster of assemblies.
///
/// Returns the position of the drawn node for each element that has a drawn node. All nodes of a cluster
/// share one drawn node. Corresponding parts of the assemblies in a cluster also share one drawn node.
fn components<'a>(topology: &'a Topology, drawing: &mut Drawing) -> HashMap<&'a ElementName, usize> {
    let mut places: HashMap<&ElementName, usize> = HashMap::new();
    let mut groups: HashMap<&ElementName, usize> = HashMap::new();
    // Elements inside a cluster of assemblies, each with its counterpart in the first assembly of the
    // cluster. Only this first assembly is drawn.
    let mut alike: HashMap<&ElementName, &ElementName> = HashMap::new();
    for element in topology.elements() {
        if let Some(first) = first_alike(topology, element, &alike) {
            alike.insert(&element.name, &first.name);
            let place = places.get(&first.name).copied();
            places.extend(place.map(|place| (&element.name, place)));
            continue;
        }
        // A cluster of resources is drawn as one node.
        if let Some(inside) = element.parent.as_ref().and_then(|parent| places.get(parent)) {
            places.insert(&element.name, *inside);
            continue;
        }
        let parent = element.parent.as_ref().and_then(|parent| groups.get(parent)).copied();
        if let Some(first) = topology.children(&element.name).next()
            && element.kind == ElementKind::Group
            && first.kind == ElementKind::Assembly
        {
            // The cluster and its first assembly share a frame.
            let count = topology.children(&element.name).count();
            groups.extend([(&element.name, drawing.groups.len()), (&first.name, drawing.groups.len())]);
            let label = format!("{} × {count} ({})", element.name.local(), first.descriptor);
            drawing.groups.push(Group { label, parent });
            continue;
        }
        if groups.contains_key(&element.name) {
            continue;
        }
        if element.kind == ElementKind::Assembly && element.parent.is_some() {
            let label =
                element.component.as_ref().map_or_else(|| element.name.to_string(), ToString::to_string);
            groups.insert(&element.name, drawing.groups.len());
            drawing.groups.push(Group { label: format!("{label} ({})", element.descriptor), parent });
            continue;
        }
        places.insert(&element.name, drawing.nodes.len());
        drawing.nodes.push(node(topology, element, parent));
        if element.kind == ElementKind::Assembly {
            // The root assembly is not drawn as a node. If the maps contained the root, its parts would be drawn
            // as one common node, like the nodes of a cluster.
            groups.remove(&element.name);
            places.remove(&element.name);
            drawing.nodes.pop();
        }
    }
    places
}

/// Returns the element that is drawn in place of `element`, if `element` belongs to a cluster of assemblies.
///
/// Only the first assembly of such a cluster is drawn. The function returns this assembly, or the part of it that
/// corresponds to `element`. Returns `None` for all other elements.
fn first_alike<'a>(
    topology: &'a Topology,
    element: &Element,
    alike: &HashMap<&ElementName, &'a ElementName>,
) -> Option<&'a Element> {
    let parent = topology.get(element.parent.as_ref()?)?;
    if let Some(first) = alike.get(&parent.name) {
        let place = |of: &Element| (of.component.clone(), of.index, of.key.clone());
        let same = |of: &&Element| place(of) == place(element);
        return topology.children(first).find(same);
    }
    let is_in_cluster = parent.kind == ElementKind::Group && element.kind == ElementKind::Assembly;
    topology.children(&parent.name).next().filter(|first| is_in_cluster && first.name != element.name)
}

fn node(topology: &Topology, element: &Element, group: Option<usize>) -> Node {
    let count = topology.children(&element.name).count();
    let label = match element.kind {
        ElementKind::Group => format!("{} × {count}\n{}", element.name.local(), element.descriptor),
        _ => format!("{}{}\n{}", element.name.local(), meant(element), element.descriptor),
    };
    let kind = match element.kind {
        ElementKind::Reference => "reference",
        ElementKind::Group => "cluster",
        ElementKind::Resource | ElementKind::Assembly => "resource",
    };
    let mut details =
        vec![("element".to_owned(), element.name.to_string()), ("is".to_owned(), kind.to_owned())];
    details.extend(element.referent.iter().map(|referent| ("stands for".to_owned(), referent.to_string())));
    details.extend(element.origin.iter().map(|origin| ("declared".to_owned(), origin.to_string())));
    let like = match element.kind {
        ElementKind::Group => topology.children(&element.name).next().unwrap_or(element),
        _ => element,
    };
    for (name, property) in &like.properties {
        let value = match &property.value {
            _ if property.sensitive => "***".to_owned(),
            Some(value) => written(value),
            None if property.read_only => "(published by its driver)".to_owned(),
            None => "(none)".to_owned(),
        };
        details.push((name.to_string(), value));
    }
    Node {
        id: element.name.to_string(),
        label,
        shape: if element.kind == ElementKind::Reference { Shape::Round } else { Shape::Box },
        tone: None,
        group,
        details,
    }
}

/// Returns the suffix of a reference's label: the name of the assembly to which the reference refers.
fn meant(element: &Element) -> String {
    match &element.referent {
        Some(Referent::Assembly(name)) => format!(" → {name}"),
        _ => String::new(),
    }
}

/// Writes a template in the syntax of a descriptor.
fn written(template: &Template) -> String {
    match template {
        Template::Null => "(none)".to_owned(),
        Template::Text(parts) => parts.iter().map(ToString::to_string).collect(),
        Template::List(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Template::Map(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key}: {}", written(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Returns the position in `Drawing::nodes` of the drawn node for an element.
///
/// A nested assembly, or a cluster of assemblies, has no drawn node of its own. For such an element, the function
/// returns the drawn node of its first resource. Returns `None` for the root assembly, and for a nested assembly
/// without resources.
fn place(topology: &Topology, places: &HashMap<&ElementName, usize>, name: &ElementName) -> Option<usize> {
    if let Some(place) = places.get(name) {
        return Some(*place);
    }
    // A nested assembly has no drawn node, so its first part is used.
    topology
        .leaves(name)
        .first()
        .filter(|_| topology.get(name).is_some_and(|e| e.parent.is_some()))
        .and_then(|leaf| places.get(&leaf.name))
        .copied()
}
