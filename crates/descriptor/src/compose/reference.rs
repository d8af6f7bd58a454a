//! Resolves each reference of an assembly to exactly one existing instance.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value as Json;
use windlass_model::assembly::{Element, ElementKind, Operation, Property, Referent};
use windlass_model::resolve::text_of;
use windlass_model::template::End;
use windlass_model::{ComponentName, DescriptorName, ElementName, OperationName, PropertyName};
use windlass_secret::Sensitive;
use windlass_source::{Diagnostic, Severity, did_you_mean, listed};

use super::composer::Composer;
use super::frame::{Frame, Seat, own_operations};
use super::index::Index;
use super::known::{Known, Unknown};
use super::request::{Existing, Offered, ReferenceRequest, Search};
use crate::catalog::newest;
use crate::codes;
use crate::document::{Descriptor, ReferenceDecl, ReferenceType, RelationshipDecl};
use crate::reader::origin;

/// The properties that a reference requires of an instance, with their values.
type Wanted = BTreeMap<PropertyName, Known>;

impl<'r> Composer<'r> {
    pub(super) fn reference(&mut self, frame: Frame<'_>, name: &ComponentName, decl: &ReferenceDecl) {
        // The composition has already failed, and no further error would be reported.
        if self.diagnostics.is_full(Severity::Error) {
            return;
        }
        let (Some(kind), Some(wanted)) = (&decl.kind, self.wanted(frame, decl)) else { return };
        let element = frame.owner.child(name);
        let fitting = self.fitting(&element, &kind.value, &wanted);
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
            _ if self.diagnostics.leaves_out(Severity::Error) => {}
            [] => {
                let searched = match self.request.search {
                    Search::Done(found) => queries.zip(found.get(&element)),
                    _ => None,
                };
                let place = frame.assembly.source.place(kind.span);
                let diagnostic = if let Some((resource, Err(why))) = &searched {
                    search_failed(name, resource, why)
                } else {
                    let searched = searched.map(|(resource, _)| resource);
                    let nothing = Nothing { name, kind: &kind.value, wanted: &wanted, searched };
                    nothing.diagnostic(&self.candidates(&element, &kind.value))
                };
                self.diagnostics.push(diagnostic.at(place));
            }
            _ => {
                let diagnostic = several(name, &wanted, &fitting);
                self.diagnostics.push(diagnostic.at(frame.assembly.source.place(kind.span)));
            }
        }
    }

    /// Returns the instances that drivers have found for one reference.
    fn found_for(&self, element: &ElementName) -> &'r [Existing] {
        match self.request.search {
            Search::Done(found) => match found.get(element) {
                Some(Ok(found)) => found.as_slice(),
                _ => &[],
            },
            Search::Never | Search::Later => &[],
        }
    }

    /// Returns all known instances whose type fits a reference. The version of an instance does not matter.
    fn candidates(&mut self, element: &ElementName, kind: &ReferenceType) -> Vec<&'r Existing> {
        let listed = self.index().of_kind.get(&(kind.kind, &kind.name)).cloned().unwrap_or_default();
        let found = self.found_for(element).iter();
        let of_kind =
            found.filter(|thing| thing.descriptor.kind == kind.kind && thing.descriptor.name == kind.name);
        listed.into_iter().chain(of_kind).collect()
    }

    /// Returns the index of the existing instances. The first call builds the index.
    fn index(&mut self) -> &Index<'r> {
        let existing = self.request.existing;
        self.index.get_or_insert_with(|| Index::new(existing))
    }

    /// Returns the instances that fit a reference. If an earlier composition has chosen one of these instances for
    /// the reference, the method returns only this instance. Otherwise, the method returns those fitting instances
    /// whose descriptor has the newest version.
    fn fitting(&mut self, element: &ElementName, kind: &ReferenceType, wanted: &Wanted) -> Vec<&'r Existing> {
        let index = self.index();
        let listed = match wanted.get("name") {
            Some(name) => index.of_name.get(&(kind.kind, &kind.name, name.text.as_str())),
            None => index.of_kind.get(&(kind.kind, &kind.name)),
        };
        let listed = listed.into_iter().flatten().copied();
        let mut fitting: Vec<&Existing> = listed.filter(|thing| fits(thing, kind, wanted)).collect();
        fitting.extend(self.found_for(element).iter().filter(|thing| fits(thing, kind, wanted)));
        let before = self.request.bound.get(element);
        if let Some(same) = fitting.iter().find(|thing| Some(&thing.referent) == before) {
            return vec![same];
        }
        let newest = fitting.iter().map(|thing| &thing.descriptor.version).max().cloned();
        fitting.retain(|thing| Some(&thing.descriptor.version) == newest.as_ref());
        fitting
    }

    /// Evaluates the properties that a reference requires. If a value is not known, reports the property and
    /// returns `None`.
    fn wanted(&mut self, frame: Frame<'_>, decl: &ReferenceDecl) -> Option<Wanted> {
        let mut wanted = Some(Wanted::new());
        for (name, property) in &decl.properties {
            let Some(value) = property.effective() else { continue };
            let template = self.values.bind(value, frame.binder(frame.owner), false);
            match self.known(&template) {
                Ok(mut known) => {
                    known.sensitive |= property.sensitive;
                    if let Some(wanted) = &mut wanted {
                        wanted.insert(name.clone(), known);
                    }
                    continue;
                }
                Err(Unknown::Property(element, property))
                    if self.parameters.is_missing(&element, &property) => {}
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
            let value = Some(self.values.given(value, sensitive));
            let property = Property { value, sensitive, origin: Some(at.clone()), ..Property::default() };
            properties.insert(key, property);
        }
        let parent = Some(frame.owner.clone());
        let (name, component) = (frame.owner.child(name), Some(name.clone()));
        let seat = Seat { name, parent, component, index: None, key: None, protect: false };
        let operations = self.offered(thing, &seat.name);
        self.elements.push(Element {
            properties,
            operations,
            referent: Some(thing.referent.clone()),
            origin: Some(at),
            ..seat.element(ElementKind::Reference, thing.descriptor.clone())
        });
    }

    /// Returns the operations that relationships may call on the existing instance `thing`. Each [`Operation`]
    /// contains the name of the element that executes it:
    ///
    /// - The operations in [`Offered::Promoted`] already contain this name.
    /// - For [`Offered::OfDescriptor`], this name is `seat`, the name of the element that stands for the reference. The
    ///   scripts of the operations are in the package of the instance's descriptor. `self.resources` lists the
    ///   descriptors whose packages the assembly needs. So the method adds the instance's descriptor to this list.
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

    /// Checks the operations that a relationship calls on its sources. If a source is a reference, the instance of
    /// the reference must have the operation; otherwise, the method reports an error.
    pub(super) fn operations_of_references(&mut self, frame: Frame<'_>, decl: &RelationshipDecl) {
        for call in decl.create.iter().chain(&decl.cease).filter(|call| call.value.end == End::Source) {
            for endpoint in &decl.sources {
                let component = &endpoint.value.component;
                let name = frame.owner.child(component);
                let Some(element) = self.elements.find(&name) else { continue };
                let Some(referent) = element.referent.as_ref() else { continue };
                if element.operations.contains_key(&call.value.operation)
                    || self.diagnostics.leaves_out(Severity::Error)
                {
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
                    format!("it has {}", listed(&known))
                };
                let diagnostic = Diagnostic::error(codes::BAD_OPERATION, message)
                    .at(frame.assembly.source.place(call.span))
                    .help(help);
                self.diagnostics.push(diagnostic);
            }
        }
    }
}

/// Tells whether an instance fits a reference. Unlike [`unfit`], the function creates no texts, because it
/// runs for each pair of a reference and an instance.
fn fits(thing: &Existing, kind: &ReferenceType, wanted: &Wanted) -> bool {
    let is = |name: &PropertyName, wanted: &str| match name.as_str() {
        "name" => thing.name == wanted,
        name => match thing.properties.get(name) {
            Some(Json::String(has)) => has == wanted,
            Some(has) => text_of(has) == wanted,
            None => true,
        },
    };
    thing.unfit.is_none()
        && thing.descriptor.kind == kind.kind
        && thing.descriptor.name == kind.name
        && kind.versions.contains(&thing.descriptor.version)
        && wanted.iter().all(|(name, wanted)| is(name, &wanted.text))
}

/// Returns the reasons why an instance does not fit a reference. If the instance fits, the result is empty. An
/// example of a reason is a property whose value differs from the value in the reference. A property that the instance
/// lacks is not compared.
fn unfit(thing: &Existing, kind: &ReferenceType, wanted: &Wanted) -> Vec<String> {
    let mut why: Vec<String> = thing.unfit.iter().cloned().collect();
    if !kind.versions.contains(&thing.descriptor.version) {
        why.push(format!("its version is not in `{}`", kind.versions));
    }
    for (name, wanted) in wanted {
        let has = match name.as_str() {
            "name" if thing.name != wanted.text => {
                why.push("another name".to_owned());
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

/// Returns the diagnostic of a search that failed. The message contains the first line of the reason. If the reason
/// has more lines, such as the output of a script, the help contains the whole reason.
fn search_failed(name: &ComponentName, resource: &DescriptorName, why: &str) -> Diagnostic {
    let first = why.lines().next().unwrap_or_default();
    let message = format!("the search for the reference `{name}` failed: `queries` of `{resource}`: {first}");
    let remedy =
        "correct the cause and repeat the command, or declare the thing under `existing:` in `windlass.yaml`";
    let help =
        if first == why { remedy.to_owned() } else { format!("{remedy}; the whole reason is:\n{why}") };
    Diagnostic::error(codes::SEARCH_FAILED, message).help(help)
}

/// A reference that no instance fits.
struct Nothing<'n> {
    name: &'n ComponentName,
    kind: &'n ReferenceType,
    wanted: &'n Wanted,
    /// The resource whose drivers have searched for instances; none if there was no search.
    searched: Option<DescriptorName>,
}

impl Nothing<'_> {
    fn diagnostic(&self, candidates: &[&Existing]) -> Diagnostic {
        let Self { name, kind, wanted, searched } = self;
        let with = described(wanted);
        let message = format!("the reference `{name}` fits nothing: there is no `{kind}`{with}");
        let diagnostic = Diagnostic::error(codes::NO_INSTANCE, message);
        if candidates.is_empty() {
            return diagnostic.help(match searched {
                Some(resource) => {
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
                let names = candidates.iter().map(|thing| thing.name.as_str());
                did_you_mean(diagnostic, &asked.text, names)
            }
            None => diagnostic,
        };
        let listed = described_candidates(candidates, kind, wanted);
        let help = match &near.help {
            Some(near) => format!("{near} {listed}"),
            None => listed,
        };
        near.help(help)
    }
}

/// Maximum number of instances that a message lists. For more instances, the list ends with a number, such as `3 more`.
const NAMED: usize = 8;

/// Lists instances that do not fit a reference, each with the reasons.
fn described_candidates(candidates: &[&Existing], kind: &ReferenceType, wanted: &Wanted) -> String {
    let one = |thing: &&Existing| {
        let unfit = unfit(thing, kind, wanted).join(", ");
        format!("`{}` {} ({unfit})", thing.name, thing.descriptor.version)
    };
    let mut all: Vec<String> = candidates.iter().take(NAMED).map(one).collect();
    if let Some(more @ 1..) = candidates.len().checked_sub(NAMED) {
        all.push(format!("{more} more"));
    }
    format!("these exist, but do not fit: {}", all.join("; "))
}

fn several(name: &ComponentName, wanted: &Wanted, fitting: &[&Existing]) -> Diagnostic {
    let names: Vec<String> = fitting.iter().map(|thing| of_whom(thing)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let with = described(wanted);
    let message = format!("the reference `{name}` fits {} things{with}: {}", names.len(), listed(&names));
    Diagnostic::error(codes::MANY_INSTANCES, message).help("give more of its properties, until one is left")
}

/// Returns the name of an instance for a message. If a driver found the instance, the text also contains its id,
/// for example `lan (net-42)`. An id that is equal to the name is left out.
fn of_whom(thing: &Existing) -> String {
    match &thing.referent {
        Referent::Found(id) if *id != thing.name => format!("{} ({id})", thing.name),
        _ => thing.name.clone(),
    }
}

/// Describes the properties that a reference requires, for a message.
fn described(wanted: &Wanted) -> String {
    let looked: Vec<String> =
        wanted.iter().map(|(name, known)| format!("{name} `{}`", known.shown())).collect();
    if looked.is_empty() { String::new() } else { format!(" with {}", looked.join(", ")) }
}
