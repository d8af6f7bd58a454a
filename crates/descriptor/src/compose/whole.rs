//! Checks of a composed assembly. Each check needs all elements of the assembly.
//!
//! The checks find four kinds of problems:
//!
//! - a cycle in which properties from several descriptors read each other,
//! - a value that is too long,
//! - a `${…}` that reads a property of a reference, although the instance to which the reference refers does not
//!   have this property,
//! - a `${…}` that reads a group without nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_model::assembly::{Element, ElementKind, Origin, Relationship};
use windlass_model::policy::Policy;
use windlass_model::resolve::MAX_VALUE;
use windlass_model::{ElementName, Part, PropertyName, Template};
use windlass_source::{Diagnostic, Diagnostics, Place, Severity, Source, Span, did_you_mean, listed};

use super::bind::Values;
use super::elements::Elements;
use crate::codes;
use crate::cycle::{self, Graph};

/// Maximum total length in bytes of all inserted texts in an assembly. Each `${…}` inserts one text: the value that it
/// reads.
const MAX_VALUES: u64 = 64 << 20;

/// The result of the search for values that are too long.
enum TooLong {
    /// The value of the property with this number is too long.
    Value(usize),
    /// All inserted texts together are longer than [`MAX_VALUES`].
    All,
}

/// A composed assembly in which the composition has found no error.
pub(super) struct Whole<'c> {
    pub(super) elements: &'c mut Elements,
    pub(super) relationships: &'c mut [Relationship],
    pub(super) policies: &'c mut [Policy],
    pub(super) values: &'c Values<'c>,
    /// Texts of the descriptors, by the names of their files.
    pub(super) sources: &'c BTreeMap<String, Arc<Source>>,
    pub(super) diagnostics: &'c mut Diagnostics,
}

/// Converts the origin of a declaration to a place in the text of the descriptor. Returns `None` if `sources` does not
/// contain this text.
pub(super) fn place(sources: &BTreeMap<String, Arc<Source>>, origin: &Origin) -> Option<Place> {
    Some(place_at(sources.get(&*origin.file)?, origin))
}

impl Whole<'_> {
    /// Runs all checks of this module.
    pub(super) fn check(&mut self) {
        // Each of these steps is left out if it can find nothing. Only a `${…}` that names a group can read a
        // node that does not exist. Only a `${…}` that names a reference can read a property that does not exist.
        if !self.values.lowest.is_empty() {
            self.read_lowest_keys();
            self.empty_absent_nodes();
        }
        if self.elements.all().iter().any(|element| element.kind == ElementKind::Reference) {
            self.properties_of_references();
        }
        let flow = self.flow();
        if let Some(circle) = cycle::find(&flow.graph, flow.graph.len()) {
            let length = circle.len();
            let circle = circle.into_iter().take(cycle::SHOWN).map(|(reader, read, ())| {
                let property = flow.property(reader);
                let origin = self.elements.all()[property.0].properties[property.1].origin.as_ref();
                let place = origin.and_then(|origin| self.place(origin));
                (self.property_name(property), self.property_name(flow.property(read)), place)
            });
            let diagnostic = cycle::diagnostic(circle.collect(), length);
            self.diagnostics.push(diagnostic);
        } else {
            match flow.too_long() {
                Some(TooLong::Value(property)) => {
                    let (element, property) = flow.property(property);
                    self.refuse_length(element, property);
                }
                Some(TooLong::All) => {
                    let message = format!(
                        "the values of all elements together would have more than {} MiB, with all that they read",
                        MAX_VALUES >> 20
                    );
                    let help = "have fewer properties read what is long";
                    self.diagnostics.push(Diagnostic::error(codes::TOO_LONG, message).help(help));
                }
                None => {}
            }
        }
    }

    fn refuse_length(&mut self, element: usize, property: usize) {
        let name = self.property_name((element, property));
        let message = format!("the value of `{name}` would have more than {} MiB", MAX_VALUE >> 20);
        let origin = self.elements.all()[element].properties[property].origin.clone();
        let place = origin.and_then(|origin| self.place(&origin));
        let diagnostic = Diagnostic::error(codes::TOO_LONG, message);
        self.diagnostics.push(match place {
            Some(place) => diagnostic.at(place),
            None => diagnostic,
        });
    }

    /// Returns the length in bytes of the text that `part` inserts into a value. The length is exact for a literal or a
    /// secret. For a field such as `${instance.id}`, the result is an estimate: the length of the element's name. The
    /// result is 0 for any other part. Callers do not pass parts that read a property of the topology.
    fn length(&self, part: &Part) -> u64 {
        let length = match part {
            Part::Literal(text) => text.len(),
            Part::Secret(secret) => self.values.secrets.get(secret).map_or(0, |value| value.expose().len()),
            Part::Instance { element, .. } => element.as_str().len(),
            _ => 0,
        };
        u64::try_from(length).unwrap_or(u64::MAX)
    }

    /// Converts the origin of a declaration to a place in the text of the descriptor. Returns `None` if `self.sources`
    /// does not contain this text.
    fn place(&self, origin: &Origin) -> Option<Place> {
        place(self.sources, origin)
    }

    /// Removes each `${…}` that names a group without nodes. Warns of each property whose value contained such a
    /// `${…}`.
    ///
    /// A `${…}` that names a group reads a property of one node of the group. So it has no value if the group has no
    /// nodes.
    fn empty_absent_nodes(&mut self) {
        let (elements, places) = self.elements.all_mut();
        let is_absent =
            |part: &Part| matches!(part, Part::Property { element, .. } if !places.contains_key(element));
        let elements = elements.iter_mut().map(|element| &mut element.properties);
        let relationships = self.relationships.iter_mut().map(|relationship| &mut relationship.properties);
        let mut emptied = Vec::new();
        for property in elements.chain(relationships).flat_map(indexmap::IndexMap::values_mut) {
            let Some(value) = property.value.as_mut() else { continue };
            let mut absent = None;
            without(value, &is_absent, &mut absent);
            emptied.extend(absent.map(|part| (part, property.origin.clone())));
        }
        for (part, origin) in emptied {
            if self.diagnostics.leaves_out(Severity::Warning) {
                continue;
            }
            let message = format!("`{part}` has no value: there is no such node");
            let diagnostic = Diagnostic::warning(codes::MANY_NODES, message);
            let place = origin.and_then(|origin| self.place(&origin));
            self.diagnostics.push(match place {
                Some(place) => diagnostic.at(place),
                None => diagnostic,
            });
        }
    }

    /// Reports each value that reads a property of a reference, if the instance of the reference does not
    /// have this property.
    fn properties_of_references(&mut self) {
        let elements = self.elements.all().iter().flat_map(|element| element.properties.values());
        let relationships =
            self.relationships.iter().flat_map(|relationship| relationship.properties.values());
        let mut found = Diagnostics::new();
        for property in elements.chain(relationships) {
            let Some(value) = &property.value else { continue };
            value.for_each_part(&mut |part| {
                let Part::Property { element, property: name } = part else { return };
                let Some(reference) = self.reference_without(element, name) else { return };
                if found.leaves_out(Severity::Error) {
                    return;
                }
                let diagnostic = no_property(reference, name);
                let place = property.origin.as_ref().and_then(|origin| self.place(origin));
                found.push(match place {
                    Some(place) => diagnostic.at(place),
                    None => diagnostic,
                });
            });
        }
        self.diagnostics.extend(found);
    }

    fn reference_without(&self, element: &ElementName, property: &PropertyName) -> Option<&Element> {
        let element = self.elements.find(element)?;
        let lacks = element.kind == ElementKind::Reference && !element.properties.contains_key(property);
        lacks.then_some(element)
    }

    /// Builds the graph of all properties, with an edge from each property to each property that it reads. The
    /// result also contains for each property the length of the literal text in its value.
    fn flow(&self) -> Flow {
        let first = self.elements.all().iter().scan(0, |next, element| {
            let first = *next;
            *next += element.properties.len();
            Some(first)
        });
        let first: Vec<usize> = first.collect();
        let properties = self.elements.all().iter().map(|element| element.properties.len()).sum();
        let mut flow =
            Flow { graph: Graph::with_capacity(properties), own: Vec::with_capacity(properties), first };
        for property in self.elements.all().iter().flat_map(|element| element.properties.values()) {
            let mut own = 0;
            if let Some(value) = &property.value {
                value.for_each_part(&mut |part| match self.property_read(part) {
                    Some((element, property)) => flow.graph.edge(flow.first[element] + property, ()),
                    None => own += self.length(part),
                });
            }
            flow.own.push(own);
            flow.graph.end_node();
        }
        flow
    }

    fn property_read(&self, part: &Part) -> Option<(usize, usize)> {
        let Part::Property { element, property } = part else { return None };
        let at = self.elements.position(element)?;
        Some((at, self.elements.all()[at].properties.get_index_of(property)?))
    }

    fn property_name(&self, (element, property): (usize, usize)) -> String {
        let element = &self.elements.all()[element];
        let property = element.properties.get_index(property).map_or("", |(name, _)| name.as_str());
        format!("{}.{property}", element.name)
    }
}

/// The graph of properties that read other properties. The nodes of the graph are the properties of all elements,
/// numbered from 0 in the order of the elements.
struct Flow {
    graph: Graph<()>,
    own: Vec<u64>,
    /// For each element, the number of its first property. The properties of all elements are numbered together,
    /// from 0. For example, if the first element has the properties 0 to 2, the entry of the second element is 3.
    first: Vec<usize>,
}

impl Flow {
    /// Returns the index of the element of a property, and the property's index in the element.
    fn property(&self, number: usize) -> (usize, usize) {
        let element = self.first.partition_point(|first| *first <= number) - 1;
        (element, number - self.first[element])
    }

    /// Computes the final length of each value: each `${…}` counts with the length of the value that it reads.
    /// Returns the first length that exceeds its limit; `None` if all lengths are permitted. The graph must have no
    /// cycles.
    fn too_long(&self) -> Option<TooLong> {
        // Marks a length that is not computed yet. No computed length is as high.
        const NOT_YET: u64 = u64::MAX;
        let mut lengths = vec![NOT_YET; self.own.len()];
        let mut open = Vec::new();
        let mut read_in = 0u64;
        for start in 0..self.own.len() {
            if lengths[start] == NOT_YET {
                open.push(start);
            }
            while let Some(&property) = open.last() {
                let reads = self.graph.edges(property);
                let before = open.len();
                open.extend(reads.iter().map(|(read, ())| *read).filter(|read| lengths[*read] == NOT_YET));
                if open.len() > before {
                    continue;
                }
                let lengths_read = reads.iter().map(|(read, ())| lengths[*read]);
                let length = lengths_read.fold(self.own[property], u64::saturating_add);
                if length > MAX_VALUE as u64 {
                    return Some(TooLong::Value(property));
                }
                read_in = read_in.saturating_add(length - self.own[property]);
                if read_in > MAX_VALUES {
                    return Some(TooLong::All);
                }
                lengths[property] = length;
                open.pop();
            }
        }
        None
    }
}

/// Removes the parts of a template for which `is_absent` is true. A text without remaining parts becomes
/// null. Stores one of the removed parts in `absent`.
fn without(template: &mut Template, is_absent: &dyn Fn(&Part) -> bool, absent: &mut Option<Part>) {
    match template {
        Template::Null => {}
        Template::Text(parts) => {
            let Some(first) = parts.iter().find(|part| is_absent(part)) else { return };
            *absent = Some(first.clone());
            parts.retain(|part| !is_absent(part));
            if parts.is_empty() {
                *template = Template::Null;
            }
        }
        Template::List(items) => items.iter_mut().for_each(|item| without(item, is_absent, absent)),
        Template::Map(entries) => entries.values_mut().for_each(|entry| without(entry, is_absent, absent)),
    }
}

fn no_property(reference: &Element, name: &PropertyName) -> Diagnostic {
    let component = reference.component.as_ref().map_or("", |component| component.as_str());
    let message = format!("the instance of the reference `{component}` has no property `{name}`");
    let names: Vec<&str> = reference.properties.keys().map(PropertyName::as_str).collect();
    let diagnostic =
        Diagnostic::error(codes::UNKNOWN_PROPERTY, message).help(format!("it has {}", listed(&names)));
    did_you_mean(diagnostic, name.as_str(), names)
}

/// Returns the place from the line and column of `origin` to the end of the line.
fn place_at(source: &Arc<Source>, origin: &Origin) -> Place {
    let line = source.line(origin.line as usize).unwrap_or_default();
    let before: usize =
        source.slice(line).chars().take((origin.column as usize).saturating_sub(1)).map(char::len_utf8).sum();
    let start = line.start + u32::try_from(before).unwrap_or(0);
    source.place(Span::new(start, line.end))
}
