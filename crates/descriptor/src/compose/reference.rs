//! References resolve to what exists: exactly one thing must fit.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use windlass_model::assembly::{Element, ElementKind, Property};
use windlass_model::resolve::text_of;
use windlass_model::{ComponentName, PropertyName};
use windlass_secret::Sensitive;
use windlass_source::{Diagnostic, Place};

use super::known::{Known, Unknown};
use super::{Composer, Existing, Frame, ReferenceRequest, Seat};
use crate::check::newest;
use crate::codes;
use crate::document::{Descriptor, ReferenceDecl, ReferenceType};
use crate::read::{did_you_mean, origin};
use crate::scope::quoted;

/// What a thing must look like.
type Wanted = BTreeMap<PropertyName, Known>;

impl Composer<'_> {
    pub(super) fn reference(&mut self, frame: Frame<'_>, name: &ComponentName, decl: &ReferenceDecl) {
        let (Some(kind), Some(wanted)) = (&decl.kind, self.wanted(frame, decl)) else { return };
        let of_type = self.request.existing.iter().filter(|thing| kind.value.accepts(&thing.descriptor));
        let of_type: Vec<&Existing> = of_type.collect();
        let fitting: Vec<&Existing> = of_type.iter().copied().filter(|thing| fits(thing, &wanted)).collect();
        // Of several versions the newest counts.
        let highest = fitting.iter().map(|thing| &thing.descriptor.version).max();
        let fitting: Vec<&Existing> =
            fitting.iter().copied().filter(|thing| Some(&thing.descriptor.version) == highest).collect();
        let found = match fitting[..] {
            [thing] => Some(thing),
            _ => None,
        };
        let queries = newest(kind, self.request.catalog).filter(|descriptor| match descriptor {
            Descriptor::Resource(resource) => !resource.queries.is_empty(),
            Descriptor::Assembly(_) => false,
        });
        self.references.push(ReferenceRequest {
            element: frame.owner.child(name),
            kind: kind.value.clone(),
            queries: queries.and_then(|descriptor| descriptor.name().cloned()),
            properties: wanted
                .iter()
                .map(|(name, known)| (name.clone(), Sensitive::new(known.text.clone())))
                .collect(),
            found: found.cloned(),
            origin: origin(&frame.assembly.source, decl.name_span),
        });
        match fitting[..] {
            [thing] => self.resolved(frame, name, decl, thing),
            [] => {
                let place = frame.assembly.source.place(kind.span);
                self.diagnostics.push(nothing(name, &kind.value, &wanted, &of_type, place));
            }
            _ => {
                let diagnostic = several(name, &wanted, &fitting);
                self.diagnostics.push(diagnostic.at(frame.assembly.source.place(kind.span)));
            }
        }
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
        let mut properties = indexmap::IndexMap::new();
        for (key, value) in std::iter::once((&its_name.0, &its_name.1)).chain(&thing.properties) {
            let Ok(key) = key.parse::<PropertyName>() else { continue };
            let value = Some(self.given(value, false));
            properties.insert(key, Property { value, origin: Some(at.clone()), ..Property::default() });
        }
        let parent = Some(frame.owner.clone());
        let seat = Seat { name: frame.owner.child(name), parent, component: Some(name.clone()), index: None };
        self.push(Element {
            properties,
            origin: Some(at),
            ..seat.element(ElementKind::Reference, thing.descriptor.clone())
        });
    }
}

/// Tells whether a thing fits; what it doesn't say, fits.
fn fits(thing: &Existing, wanted: &Wanted) -> bool {
    wanted.iter().all(|(name, wanted)| match name.as_str() {
        "name" => thing.name == wanted.text,
        name => thing.properties.get(name).is_none_or(|has| text_of(has) == wanted.text),
    })
}

fn nothing(
    name: &ComponentName,
    kind: &ReferenceType,
    wanted: &Wanted,
    of_type: &[&Existing],
    place: Place,
) -> Diagnostic {
    let with = described(wanted);
    let message = format!("the reference `{name}` fits nothing: there is no `{kind}`{with}");
    let diagnostic = Diagnostic::error(codes::NO_INSTANCE, message).at(place);
    let names: Vec<&str> = of_type.iter().map(|thing| thing.name.as_str()).collect();
    if names.is_empty() {
        return diagnostic.help("declare it under `existing:` in `windlass.yaml`");
    }
    let diagnostic = diagnostic.help(format!("of that type there are {}", quoted(&names)));
    match wanted.get("name").filter(|asked| !asked.sensitive) {
        Some(asked) => did_you_mean(diagnostic, &asked.text, names),
        None => diagnostic,
    }
}

fn several(name: &ComponentName, wanted: &Wanted, fitting: &[&Existing]) -> Diagnostic {
    let names: Vec<&str> = fitting.iter().map(|thing| thing.name.as_str()).collect();
    let with = described(wanted);
    let message = format!("the reference `{name}` fits {} things{with}: {}", names.len(), quoted(&names));
    Diagnostic::error(codes::MANY_INSTANCES, message).help("give more of its properties, until one is left")
}

/// Says what was looked for.
fn described(wanted: &Wanted) -> String {
    let looked: Vec<String> =
        wanted.iter().map(|(name, known)| format!("{name} `{}`", known.shown())).collect();
    if looked.is_empty() { String::new() } else { format!(" with {}", looked.join(", ")) }
}
