//! References resolve to what exists: exactly one thing must fit.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value as Json;
use windlass_model::assembly::{Element, ElementKind, Operation, Property, Referent};
use windlass_model::resolve::text_of;
use windlass_model::template::End;
use windlass_model::{ComponentName, DescriptorName, ElementName, OperationName, PropertyName};
use windlass_secret::Sensitive;
use windlass_source::{Diagnostic, Place};

use super::known::{Known, Unknown};
use super::{Composer, Existing, Frame, Offered, ReferenceRequest, Search, Seat, own_operations};
use crate::check::newest;
use crate::codes;
use crate::document::{Descriptor, ReferenceDecl, ReferenceType, RelationshipDecl};
use crate::read::{did_you_mean, origin};
use crate::scope::quoted;

/// What a thing must look like.
type Wanted = BTreeMap<PropertyName, Known>;

/// Something that has the name of the type that is asked for.
struct Candidate<'r> {
    thing: &'r Existing,
    /// Why it does not fit; empty when it does.
    unfit: Vec<String>,
}

impl<'r> Composer<'r> {
    pub(super) fn reference(&mut self, frame: Frame<'_>, name: &ComponentName, decl: &ReferenceDecl) {
        let (Some(kind), Some(wanted)) = (&decl.kind, self.wanted(frame, decl)) else { return };
        let element = frame.owner.child(name);
        let candidates = self.candidates(&element, &kind.value, &wanted);
        let fitting = self.fitting(&element, &candidates);
        let queries = newest(kind, self.request.catalog).filter(|descriptor| match descriptor {
            Descriptor::Resource(resource) => !resource.queries.is_empty(),
            Descriptor::Assembly(_) => false,
        });
        let queries = queries.and_then(|descriptor| descriptor.name().cloned());
        let searchable = queries.is_some() || kind.value.is_assembly();
        let pending = fitting.is_empty() && searchable && matches!(self.request.search, Search::Later);
        self.references.push(ReferenceRequest {
            element: element.clone(),
            kind: kind.value.clone(),
            queries: queries.clone(),
            properties: wanted
                .iter()
                .map(|(name, known)| (name.clone(), Sensitive::new(known.text.clone())))
                .collect(),
            found: match fitting[..] {
                [thing] => Some(thing.clone()),
                _ => None,
            },
            pending,
            place: frame.assembly.source.place(kind.span),
        });
        match fitting[..] {
            [thing] => self.resolved(frame, name, decl, thing),
            [] if pending => {}
            [] => {
                let searched = match self.request.search {
                    Search::Done(found) => queries.zip(found.get(&element)),
                    _ => None,
                };
                let searched = searched.map(|(resource, found)| (resource, found.as_ref().err().cloned()));
                let place = frame.assembly.source.place(kind.span);
                let nothing = Nothing { name, kind: &kind.value, wanted: &wanted, searched };
                self.diagnostics.push(nothing.diagnostic(&candidates, place));
            }
            _ => {
                let diagnostic = several(name, &wanted, &fitting);
                self.diagnostics.push(diagnostic.at(frame.assembly.source.place(kind.span)));
            }
        }
    }

    /// Finds everything that has the name of a type, whatever its version, and why it does not fit.
    fn candidates(&self, element: &ElementName, kind: &ReferenceType, wanted: &Wanted) -> Vec<Candidate<'r>> {
        let request = self.request;
        let found = match request.search {
            Search::Done(found) => match found.get(element) {
                Some(Ok(found)) => found.as_slice(),
                _ => &[],
            },
            Search::Never | Search::Later => &[],
        };
        let of_kind = request
            .existing
            .iter()
            .chain(found)
            .filter(|thing| thing.descriptor.kind == kind.kind && thing.descriptor.name == kind.name);
        of_kind.map(|thing| Candidate { thing, unfit: unfit(thing, kind, wanted) }).collect()
    }

    /// Finds what fits: what the reference was before, else all of the newest version that fits.
    fn fitting(&self, element: &ElementName, candidates: &[Candidate<'r>]) -> Vec<&'r Existing> {
        let fitting =
            candidates.iter().filter(|candidate| candidate.unfit.is_empty()).map(|found| found.thing);
        let fitting: Vec<&Existing> = fitting.collect();
        let before = self.request.bound.get(element);
        if let Some(same) = fitting.iter().find(|thing| Some(&thing.referent) == before) {
            return vec![same];
        }
        let newest = fitting.iter().map(|thing| &thing.descriptor.version).max();
        fitting.iter().copied().filter(|thing| Some(&thing.descriptor.version) == newest).collect()
    }

    /// Evaluates what the thing must look like; none when that is not known, which has been reported.
    fn wanted(&mut self, frame: Frame<'_>, decl: &ReferenceDecl) -> Option<Wanted> {
        let mut wanted = Some(Wanted::new());
        for (name, property) in &decl.properties {
            let Some(value) = property.effective() else { continue };
            let template = self.bind(value, frame.binder(frame.owner), false);
            match self.known(&template) {
                Ok(mut known) => {
                    known.sensitive |= property.sensitive;
                    if let Some(wanted) = &mut wanted {
                        wanted.insert(name.clone(), known);
                    }
                    continue;
                }
                Err(Unknown::Property(element, property)) if self.is_missing(&element, property.as_str()) => {
                }
                Err(_) => {
                    let message =
                        format!("`{name}` must be known before anything is made, and its value is not");
                    self.error(&frame.assembly.source, codes::NO_INSTANCE, value.span, message);
                }
            }
            wanted = None;
        }
        wanted
    }

    fn resolved(&mut self, frame: Frame<'_>, name: &ComponentName, decl: &ReferenceDecl, thing: &Existing) {
        let at = origin(&frame.assembly.source, decl.name_span);
        let its_name = ("name".to_owned(), Json::from(thing.name.as_str()));
        let mut properties = IndexMap::new();
        for (key, value) in std::iter::once((&its_name.0, &its_name.1)).chain(&thing.properties) {
            let Ok(key) = key.parse::<PropertyName>() else { continue };
            let sensitive = thing.sensitive.contains(key.as_str());
            let value = Some(self.given(value, sensitive));
            let property = Property { value, sensitive, origin: Some(at.clone()), ..Property::default() };
            properties.insert(key, property);
        }
        let parent = Some(frame.owner.clone());
        let seat = Seat { name: frame.owner.child(name), parent, component: Some(name.clone()), index: None };
        let operations = self.offered(thing, &seat.name);
        self.push(Element {
            properties,
            operations,
            referent: Some(thing.referent.clone()),
            origin: Some(at),
            ..seat.element(ElementKind::Reference, thing.descriptor.clone())
        });
    }

    /// Returns the operations of a thing, and the element that each runs on in the end. Where that is the reference itself,
    /// the package of the thing is one that the assembly needs.
    fn offered(&mut self, thing: &Existing, seat: &ElementName) -> IndexMap<OperationName, Operation> {
        match &thing.operations {
            Offered::Nothing => IndexMap::new(),
            Offered::Promoted(operations) => operations.clone(),
            Offered::OfDescriptor => match self.request.catalog.find(&thing.descriptor) {
                Some(Descriptor::Resource(resource)) if !resource.operations.is_empty() => {
                    self.resources.insert(thing.descriptor.clone());
                    own_operations(&resource, seat)
                }
                _ => IndexMap::new(),
            },
        }
    }

    /// Refuses operations that what a reference stands for doesn't have.
    pub(super) fn operations_of_references(&mut self, frame: Frame<'_>, decl: &RelationshipDecl) {
        for call in decl.create.iter().chain(&decl.cease).filter(|call| call.value.end == End::Source) {
            for endpoint in &decl.sources {
                let component = &endpoint.value.component;
                let name = frame.owner.child(component);
                let Some(element) = self.places.get(&name).map(|at| &self.elements[*at]) else { continue };
                let Some(referent) = element.referent.as_ref() else { continue };
                if element.operations.contains_key(&call.value.operation) {
                    continue;
                }
                let known: Vec<&str> = element.operations.keys().map(OperationName::as_str).collect();
                let message = format!(
                    "the reference `{component}` is {referent}, which has no operation `{}`",
                    call.value.operation
                );
                let help = if known.is_empty() {
                    "it has none; call an operation of the target".to_owned()
                } else {
                    format!("it has {}", quoted(&known))
                };
                let diagnostic = Diagnostic::error(codes::BAD_OPERATION, message)
                    .at(frame.assembly.source.place(call.span))
                    .help(help);
                self.diagnostics.push(diagnostic);
            }
        }
    }
}

/// Says why a thing does not fit; what it doesn't say, fits.
fn unfit(thing: &Existing, kind: &ReferenceType, wanted: &Wanted) -> Vec<String> {
    let mut why: Vec<String> = thing.unfit.iter().cloned().collect();
    if !kind.versions.contains(&thing.descriptor.version) {
        why.push(format!("its version is not in `{}`", kind.versions));
    }
    for (name, wanted) in wanted {
        let has = match name.as_str() {
            "name" if thing.name != wanted.text => {
                why.push("it is called otherwise".to_owned());
                continue;
            }
            "name" => continue,
            name => thing.properties.get(name).map(text_of).filter(|has| *has != wanted.text),
        };
        let secret = wanted.sensitive || thing.sensitive.contains(name.as_str());
        why.extend(has.map(|has| {
            if secret { format!("its `{name}` is another") } else { format!("its `{name}` is `{has}`") }
        }));
    }
    why
}

/// A reference that nothing fits.
struct Nothing<'n> {
    name: &'n ComponentName,
    kind: &'n ReferenceType,
    wanted: &'n Wanted,
    /// The resource whose drivers were asked, and why they could not look.
    searched: Option<(DescriptorName, Option<String>)>,
}

impl Nothing<'_> {
    fn diagnostic(&self, candidates: &[Candidate<'_>], place: Place) -> Diagnostic {
        let Self { name, kind, wanted, searched } = self;
        let with = described(wanted);
        let message = format!("the reference `{name}` fits nothing: there is no `{kind}`{with}");
        let diagnostic = Diagnostic::error(codes::NO_INSTANCE, message).at(place);
        if let Some((resource, Some(why))) = searched {
            return diagnostic.help(format!("`queries` of `{resource}` could not look for it: {why}"));
        }
        if candidates.is_empty() {
            return diagnostic.help(match searched {
                Some((resource, _)) => {
                    format!("`queries` of `{resource}` have found nothing; look whether it is there")
                }
                None if kind.is_assembly() => {
                    "bring one up, or declare it under `existing:` in `windlass.yaml`".to_owned()
                }
                None => "declare it under `existing:` in `windlass.yaml`".to_owned(),
            });
        }
        let near = match wanted.get("name").filter(|asked| !asked.sensitive) {
            Some(asked) => {
                let names = candidates.iter().map(|candidate| candidate.thing.name.as_str());
                did_you_mean(diagnostic, &asked.text, names)
            }
            None => diagnostic,
        };
        let listed = listed(candidates);
        let help = match &near.help {
            Some(near) => format!("{near} {listed}"),
            None => listed,
        };
        near.help(help)
    }
}

/// The most candidates that are named before the rest is counted.
const NAMED: usize = 8;

/// Lists what does not fit, each with its reasons.
fn listed(candidates: &[Candidate<'_>]) -> String {
    let one = |Candidate { thing, unfit }: &Candidate<'_>| {
        format!("`{}` {} ({})", thing.name, thing.descriptor.version, unfit.join(", "))
    };
    let mut all: Vec<String> = candidates.iter().take(NAMED).map(one).collect();
    if let Some(more @ 1..) = candidates.len().checked_sub(NAMED) {
        all.push(format!("{more} more"));
    }
    format!("of that name there are: {}", all.join("; "))
}

fn several(name: &ComponentName, wanted: &Wanted, fitting: &[&Existing]) -> Diagnostic {
    let names: Vec<String> = fitting.iter().map(|thing| of_whom(thing)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let with = described(wanted);
    let message = format!("the reference `{name}` fits {} things{with}: {}", names.len(), quoted(&names));
    Diagnostic::error(codes::MANY_INSTANCES, message).help("give more of its properties, until one is left")
}

/// Names a thing, with what its driver calls it where that is something else.
fn of_whom(thing: &Existing) -> String {
    match &thing.referent {
        Referent::Found(id) if *id != thing.name => format!("{} ({id})", thing.name),
        _ => thing.name.clone(),
    }
}

/// Says what was looked for.
fn described(wanted: &Wanted) -> String {
    let looked: Vec<String> =
        wanted.iter().map(|(name, known)| format!("{name} `{}`", known.shown())).collect();
    if looked.is_empty() { String::new() } else { format!(" with {}", looked.join(", ")) }
}
