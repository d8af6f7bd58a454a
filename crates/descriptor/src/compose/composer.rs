//! The state of a composition: the elements so far, their positions, and the problems.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use windlass_model::assembly::{Element, Relationship};
use windlass_model::policy::Policy;
use windlass_model::{DescriptorName, ElementName, PropertyName};
use windlass_secret::{SecretRef, Sensitive};
use windlass_source::{Code, Diagnostic, Diagnostics, Place, Source, Span};

use super::index::Index;
use super::request::{GivenPlaces, ReferenceRequest, Request};

/// A composition, with its elements and problems so far.
pub(super) struct Composer<'a> {
    pub(super) request: Request<'a>,
    /// Places of parameters.
    pub(super) given_at: GivenPlaces,
    pub(super) diagnostics: Diagnostics,
    pub(super) elements: Vec<Element>,
    pub(super) places: HashMap<ElementName, usize>,
    pub(super) relationships: Vec<Relationship>,
    pub(super) policies: Vec<Policy>,
    pub(super) references: Vec<ReferenceRequest>,
    pub(super) secrets: BTreeMap<SecretRef, Sensitive<String>>,
    pub(super) resources: BTreeSet<DescriptorName>,
    /// Sources of all examined descriptors, by name.
    pub(super) sources: BTreeMap<String, Arc<Source>>,
    pub(super) examined: BTreeSet<DescriptorName>,
    /// Assemblies that are being composed, outermost first.
    pub(super) inside: Vec<DescriptorName>,
    /// Required parameters without a value.
    pub(super) missing: BTreeSet<PropertyName>,
    /// Groups whose lowest node's value is read, with the place of the reference.
    pub(super) lowest: BTreeSet<(ElementName, Place)>,
    /// Groups whose nodes have keys, each with the node of its lowest key, if it has nodes.
    pub(super) keyed: HashMap<ElementName, Option<ElementName>>,
    /// Whether the limit of elements is exceeded.
    pub(super) full: bool,
    /// Number of elements that no text declares: nodes after the first, and the content of a repeated
    /// assembly.
    pub(super) multiplied: usize,
    /// Bytes of properties from descriptors that were used before.
    pub(super) copied: usize,
    /// Descriptors that were used.
    pub(super) used: HashSet<DescriptorName>,
    /// Assemblies that were nested.
    pub(super) nested: HashSet<DescriptorName>,
    /// Number of enclosing nodes and nested assemblies that are repetitions.
    pub(super) repeated: usize,
    /// Index of the instances that references may resolve to.
    pub(super) index: Option<Index<'a>>,
}

impl<'a> Composer<'a> {
    pub(super) fn new(request: Request<'a>) -> Self {
        Self {
            request,
            given_at: GivenPlaces::default(),
            diagnostics: Diagnostics::new(),
            elements: Vec::new(),
            places: HashMap::new(),
            relationships: Vec::new(),
            policies: Vec::new(),
            references: Vec::new(),
            secrets: BTreeMap::new(),
            resources: BTreeSet::new(),
            sources: BTreeMap::new(),
            examined: BTreeSet::new(),
            inside: Vec::new(),
            missing: BTreeSet::new(),
            lowest: BTreeSet::new(),
            keyed: HashMap::new(),
            full: false,
            multiplied: 0,
            copied: 0,
            used: HashSet::new(),
            nested: HashSet::new(),
            repeated: 0,
            index: None,
        }
    }

    /// Reports an error, unless an error was already reported at an overlapping place.
    pub(super) fn error(&mut self, source: &Arc<Source>, code: Code, span: Span, message: impl Into<String>) {
        let follows =
            self.diagnostics.iter().filter(|said| said.is_error()).filter_map(Diagnostic::place).any(
                |said| {
                    let at = said.span();
                    Arc::ptr_eq(said.source(), source) && at.start < span.end && span.start < at.end
                },
            );
        if !follows {
            self.diagnostics.push(Diagnostic::error(code, message).at(source.place(span)));
        }
    }

    pub(super) fn push(&mut self, element: Element) {
        self.places.insert(element.name.clone(), self.elements.len());
        self.elements.push(element);
    }
}
