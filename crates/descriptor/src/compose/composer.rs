//! The state of a running composition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_model::assembly::Relationship;
use windlass_model::policy::Policy;
use windlass_model::{DescriptorName, Template};
use windlass_source::{Code, Diagnostic, Diagnostics, Place, Source, Span};

use super::bind::Values;
use super::elements::Elements;
use super::index::Index;
use super::known::{Known, Unknown, known};
use super::parameters::Parameters;
use super::request::{GivenPlaces, ReferenceRequest, Request};
use super::room::Room;

/// A running composition, with the elements that it has created and the problems that it has found.
pub(super) struct Composer<'a> {
    pub(super) request: Request<'a>,
    pub(super) parameters: Parameters<'a>,
    pub(super) values: Values<'a>,
    pub(super) diagnostics: Diagnostics,
    pub(super) elements: Elements,
    pub(super) relationships: Vec<Relationship>,
    pub(super) policies: Vec<Policy>,
    pub(super) references: Vec<ReferenceRequest>,
    pub(super) resources: BTreeSet<DescriptorName>,
    /// Texts of all descriptors that have been checked, by the names of their files.
    pub(super) sources: BTreeMap<String, Arc<Source>>,
    pub(super) examined: BTreeSet<DescriptorName>,
    /// Names of the assemblies whose composition has begun and not ended, the outermost first.
    pub(super) inside: Vec<DescriptorName>,
    pub(super) room: Room,
    /// Index of the existing instances. It is built on first use.
    pub(super) index: Option<Index<'a>>,
}

impl<'a> Composer<'a> {
    pub(super) fn new(request: Request<'a>, places: &'a GivenPlaces) -> Self {
        Self {
            request,
            parameters: Parameters::new(&request, places),
            values: Values::new(request.name),
            diagnostics: Diagnostics::new(),
            elements: Elements::default(),
            relationships: Vec::new(),
            policies: Vec::new(),
            references: Vec::new(),
            resources: BTreeSet::new(),
            sources: BTreeMap::new(),
            examined: BTreeSet::new(),
            inside: Vec::new(),
            room: Room::new(request.nodes),
            index: None,
        }
    }

    /// Reports an error. If an earlier error has a place that overlaps with `span`, the new error is dropped.
    pub(super) fn error(&mut self, source: &Arc<Source>, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, message).at(source.place(span)));
    }

    /// Adds an error, as [`error`](Self::error) does.
    pub(super) fn report(&mut self, error: Diagnostic) {
        let overlaps = |said: &Place, own: &Place| {
            let (at, span) = (said.span(), own.span());
            Arc::ptr_eq(said.source(), own.source()) && at.start < span.end && span.start < at.end
        };
        let mut said = self.diagnostics.iter().filter(|said| said.is_error()).filter_map(Diagnostic::place);
        let follows = error.place().is_some_and(|own| said.any(|said| overlaps(said, own)));
        if !follows {
            self.diagnostics.push(error);
        }
    }

    /// Evaluates a template to a text. A `${…}` in the template can read only the elements that the composition has
    /// created so far. The error states why the text is not known.
    pub(super) fn known(&self, template: &Template) -> Result<Known, Unknown> {
        known(template, &self.elements, &self.values.secrets)
    }
}
