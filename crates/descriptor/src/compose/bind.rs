//! Converts values in descriptors to templates. A [`Template`] is the form of a value in a topology.
//!
//! In a template, each `${…}` contains the full name of the element whose property it reads. If a property is
//! sensitive, the conversion stores each literal of the value as a secret. In place of the literal, the template
//! contains a reference to this secret.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde_json::Value as Json;
use windlass_model::assembly::Property;
use windlass_model::sorted::members;
use windlass_model::{AssemblyName, ComponentName, ElementName, Part, PropertyName, Template};
use windlass_secret::{SecretRef, Sensitive};
use windlass_source::{Diagnostic, Diagnostics, Place, Span};

use super::entry::Entry;
use super::frame::Binder;
use crate::codes;
use crate::property::{Properties, PropertyDecl};
use crate::reader::origin;
use crate::scope::Meaning;
use crate::template::{Segment, Value, ValueKind};

/// The converter from values to templates. Its methods return templates. Its fields collect further results: secrets,
/// groups of nodes that a `${…}` names, and problems.
pub(super) struct Values<'a> {
    /// Name of the assembly that is composed. The ids of secrets contain it.
    name: &'a AssemblyName,
    pub(super) secrets: BTreeMap<SecretRef, Sensitive<String>>,
    /// Groups of nodes that a `${…}` names, each with the place of the `${…}`. Such a `${…}` reads the node
    /// with the lowest number or key.
    pub(super) lowest: BTreeSet<(ElementName, Place)>,
    /// Problems of `${each.…}`, which reads a field of a list entry.
    pub(super) diagnostics: Diagnostics,
}

impl<'a> Values<'a> {
    pub(super) fn new(name: &'a AssemblyName) -> Self {
        Self { name, secrets: BTreeMap::new(), lowest: BTreeSet::new(), diagnostics: Diagnostics::new() }
    }

    /// Converts a section of properties from a descriptor to the properties of an element or relationship. `binder`
    /// gives a meaning to each `${…}` in the values.
    pub(super) fn properties(
        &mut self,
        declared: &Properties,
        binder: Binder<'_>,
    ) -> IndexMap<PropertyName, Property> {
        declared.iter().map(|(name, decl)| (name.clone(), self.property(decl, binder))).collect()
    }

    fn property(&mut self, decl: &PropertyDecl, binder: Binder<'_>) -> Property {
        Property {
            value: decl.effective().map(|value| self.bind(value, binder, decl.sensitive)),
            read_only: decl.read_only,
            volatile: decl.volatile,
            sensitive: decl.sensitive,
            private: false,
            origin: Some(origin(binder.source, decl.effective().map_or(decl.name_span, |v| v.span))),
        }
    }

    /// Converts a value to a template. `binder` gives a meaning to each `${…}` in the value. If `sensitive` is
    /// true, the method stores each literal of the value as a secret. The template then contains a reference to
    /// this secret in place of the literal.
    pub(super) fn bind(&mut self, value: &Value, binder: Binder<'_>, sensitive: bool) -> Template {
        match &value.kind {
            ValueKind::Null => Template::Null,
            ValueKind::Text(segments) => self.bind_text(segments, binder, sensitive),
            ValueKind::List(items) => {
                Template::List(items.iter().map(|item| self.bind(item, binder, sensitive)).collect())
            }
            ValueKind::Map(entries) => Template::Map(
                entries.iter().map(|(key, v)| (key.clone(), self.bind(v, binder, sensitive))).collect(),
            ),
        }
    }

    fn bind_text(&mut self, segments: &[Segment], binder: Binder<'_>, sensitive: bool) -> Template {
        if let ([Segment::Reference(reference)], Some(entry)) = (segments, binder.each)
            && let Some(Meaning::Each(field)) = binder.scope.find(reference)
        {
            let value = self.field(entry, &field, binder, reference.span);
            return if sensitive { self.sealed(value) } else { value };
        }
        let mut parts = Vec::with_capacity(segments.len());
        for segment in segments {
            if let (Segment::Reference(reference), Some(entry)) = (segment, binder.each)
                && let Some(Meaning::Each(field)) = binder.scope.find(reference)
            {
                match self.field(entry, &field, binder, reference.span) {
                    Template::Null => {}
                    Template::Text(text) => parts.extend(text),
                    Template::List(_) | Template::Map(_) => {
                        let message = format!("`{field}` of the entry `{}` is no text", entry.key);
                        let place = binder.source.place(reference.span);
                        self.diagnostics.push(Diagnostic::error(codes::BAD_EACH, message).at(place));
                    }
                }
            } else {
                parts.push(self.bind_segment(segment, binder));
            }
        }
        self.text(parts, sensitive)
    }

    /// Returns a field of a list entry. Reports an error if the field is missing.
    fn field(&mut self, entry: &Entry, field: &str, binder: Binder<'_>, span: Span) -> Template {
        entry.field(field, binder, span).unwrap_or_else(|problem| {
            self.diagnostics.push(*problem);
            Template::Null
        })
    }

    fn bind_segment(&mut self, segment: &Segment, binder: Binder<'_>) -> Part {
        let reference = match segment {
            Segment::Literal(text) => return Part::Literal(text.to_string()),
            Segment::Reference(reference) => reference,
        };
        match binder.scope.find(reference) {
            Some(Meaning::Own(property)) => Part::Property { element: binder.owner.clone(), property },
            Some(Meaning::Part(component, property)) => {
                let element = self.part_element(binder, &component, reference.span);
                Part::Property { element, property }
            }
            Some(Meaning::Instance(field)) => Part::Instance { element: binder.instance.clone(), field },
            Some(Meaning::End(end, property)) => Part::End { end, property },
            // A `${…}` without a meaning stays as text, because the check has already reported it. The caller
            // handles `${each.…}` before it calls this method.
            Some(Meaning::Each(_)) | None => Part::Literal(format!("${{{}}}", reference.text)),
        }
    }

    /// Returns the element that a `${…}` reads. `component` is the component that the `${…}` names. If the component is
    /// a group of nodes, the method returns the node with number 1, and adds the group to `lowest`.
    ///
    /// The composition later warns of each group in `lowest` that has several nodes, because the `${…}` reads only
    /// one of them. If the nodes of a group have keys in place of numbers, the composition also replaces node 1 by
    /// the node with the lowest key.
    fn part_element(&mut self, binder: Binder<'_>, component: &ComponentName, span: Span) -> ElementName {
        let element = binder.owner.child(component);
        let Some(part) = binder.scope.assembly.and_then(|a| a.composition.get(component)) else {
            return element;
        };
        if !part.is_plural() {
            return element;
        }
        self.lowest.insert((element.clone(), binder.source.place(span)));
        element.node(1)
    }

    /// Converts the value of a parameter, or of a property of an existing instance, to a template. A `${…}` in
    /// this value is not evaluated, and stays in the template as literal text.
    pub(super) fn given(&mut self, value: &Json, sensitive: bool) -> Template {
        match value {
            Json::Null => Template::Null,
            Json::String(text) => self.text(vec![Part::Literal(text.clone())], sensitive),
            Json::Array(items) => {
                Template::List(items.iter().map(|item| self.given(item, sensitive)).collect())
            }
            Json::Object(entries) => Template::Map(
                members(entries)
                    .into_iter()
                    .map(|(key, entry)| (key.clone(), self.given(entry, sensitive)))
                    .collect(),
            ),
            other => self.text(vec![Part::Literal(other.to_string())], sensitive),
        }
    }

    /// Creates a template from the parts of a text. If the text is sensitive, the method stores each literal as a
    /// secret. The template then contains a reference to this secret in place of the literal.
    fn text(&mut self, parts: Vec<Part>, sensitive: bool) -> Template {
        let text = Template::Text(parts);
        if sensitive { self.sealed(text) } else { text }
    }

    /// Stores each literal of a template as a secret, and replaces the literal by a reference to this secret.
    pub(super) fn sealed(&mut self, template: Template) -> Template {
        match template {
            Template::Null => Template::Null,
            Template::Text(parts) => {
                let parts = parts.into_iter().map(|part| match part {
                    Part::Literal(text) => self.secret(text),
                    other => other,
                });
                Template::Text(parts.collect())
            }
            Template::List(items) => {
                Template::List(items.into_iter().map(|item| self.sealed(item)).collect())
            }
            Template::Map(entries) => {
                let entries = entries.into_iter().map(|(key, entry)| (key, self.sealed(entry)));
                Template::Map(entries.collect())
            }
        }
    }

    fn secret(&mut self, text: String) -> Part {
        let number = self.secrets.len() + 1;
        let id = format!("{}:given/{number}", self.name);
        let secret: SecretRef = id.parse().expect("an assembly's name and a number make an id");
        self.secrets.insert(secret.clone(), Sensitive::new(text));
        Part::Secret(secret)
    }
}
