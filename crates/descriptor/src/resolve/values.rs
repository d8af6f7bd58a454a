//! Evaluates the properties whose values are known before anything is created.
//!
//! The module looks for the descriptor of a component when a value first reads the component.
//! `windlass_model::resolve` evaluates each property once and without recursion. So a chain of properties that
//! read each other may have any length, and many values may read the same property.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use serde_json::Value as Json;
use windlass_model::resolve::{Entered, Joined, ValueGraph, Visits, evaluate, text_of};
use windlass_model::template::{End, InstanceField};
use windlass_model::{ComponentName, PropertyName};

use crate::compose::{Existing, MAX_NESTING, Request};
use crate::document::{
    AssemblyDescriptor, Component, Descriptor, EndpointDecl, ReferenceDecl, RelationshipDecl,
};
use crate::emit::Position;
use crate::property::{Properties, PropertyDecl};
use crate::reader::Spanned;
use crate::scope::{EACH, Meaning, Scope};
use crate::template::{Reference, Segment, Value, ValueKind};

/// Maximum length in bytes of all evaluated values together. The evaluated values are stored, because other values read
/// them.
const KEPT: usize = 32 << 20;

/// Maximum number of references in a chain in which each reference needs the next one. For example, the reference
/// `subnet` requires an instance whose property `network` is `${network.id}`. So `subnet` needs the reference
/// `network`.
const MAX_REFERENCES: usize = 32;

/// A value, or the reason why the value is unknown.
#[derive(Debug, Clone)]
pub(super) enum Found {
    /// The value, and whether it contains a secret.
    Text { text: Arc<str>, secret: bool },
    /// The value is not known, or is no text.
    Unknown { reason: Arc<str> },
}

impl Found {
    fn unknown(reason: impl Into<Arc<str>>) -> Self {
        Self::Unknown { reason: reason.into() }
    }

    fn plain(text: impl Into<Arc<str>>) -> Self {
        Self::Text { text: text.into(), secret: false }
    }

    /// Marks the text as secret if `also` is true.
    fn with_secret(self, also: bool) -> Self {
        match self {
            Self::Text { text, secret } => Self::Text { text, secret: secret || also },
            unknown @ Self::Unknown { .. } => unknown,
        }
    }
}

/// The context that gives a meaning to each `${…}` in a value.
#[derive(Clone, Copy)]
pub(super) struct Spot<'s> {
    /// The part whose descriptor contains the value, as an index into [`Values::parts`].
    scope: usize,
    /// The part that `${instance.…}` reads, as an index into [`Values::parts`].
    instance: usize,
    /// The relationship to which the value belongs; `None` for a value outside of relationships. In the value,
    /// `${source.…}` reads a property of the relationship's source, and `${target.…}` a property of its target.
    ends: Option<&'s RelationshipDecl>,
}

/// A component or reference that a value reads, or the outermost assembly.
struct Part<'a> {
    subject: Subject<'a>,
    /// Index of the enclosing assembly, and the name of this part in it; `None` for the outermost assembly.
    inside: Option<(usize, ComponentName)>,
    /// Full name of the part's element. `None` if the part has several elements, because the part or an enclosing
    /// assembly is a group of nodes.
    instance: Option<String>,
    depth: usize,
}

/// The source of a part's properties: a descriptor, or an existing instance.
#[derive(Clone)]
enum Subject<'a> {
    Described(Descriptor),
    /// The instance to which a reference resolves; `None` if no instance, or more than one instance, fits the
    /// reference.
    Existing(Option<&'a Existing>),
    /// A component whose descriptor is not in the catalog.
    Undescribed,
}

type Key = (usize, PropertyName);

/// The source from which a property gets its value.
enum Origin<'v> {
    /// A value in a descriptor. `scope` is the index of the part whose descriptor contains the value. `instance` is
    /// the index of the part that `${instance.…}` reads. Both are indexes into [`Values::parts`].
    Value { value: &'v Value, scope: usize, instance: usize },
    /// A value that needs no evaluation, or the reason why the property has no known value.
    Found(Found),
}

/// The evaluation of the values of one assembly descriptor.
pub(super) struct Values<'a> {
    assembly: &'a Arc<AssemblyDescriptor>,
    request: Request<'a>,
    parts: Vec<Part<'a>>,
    places: HashMap<(usize, ComponentName), usize>,
    found: HashMap<Key, Found>,
    /// Properties whose evaluation has begun and not ended.
    open: HashSet<Key>,
    /// Length in bytes of all texts in `found`.
    kept: usize,
    /// Number of references whose property values are being evaluated now. These values select the instance of a
    /// reference. The number exceeds 1 if a value contains a `${…}` that reads a property of another reference.
    looking: usize,
}

impl<'a> Values<'a> {
    pub(super) fn new(assembly: &'a Arc<AssemblyDescriptor>, request: Request<'a>) -> Self {
        let root = Part {
            subject: Subject::Described(Descriptor::Assembly(assembly.clone())),
            inside: None,
            instance: Some(request.name.to_string()),
            depth: 0,
        };
        Self {
            assembly,
            request,
            parts: vec![root],
            places: HashMap::new(),
            found: HashMap::new(),
            open: HashSet::new(),
            kept: 0,
            looking: 0,
        }
    }

    /// Returns the value that the user gives to a property of the assembly.
    pub(super) fn given(&self, name: &str) -> Option<&'a Json> {
        self.request.parameters.get(name)
    }

    /// Returns the [`Spot`] that determines the meaning of each `${…}` at a position of the assembly descriptor.
    pub(super) fn spot(&mut self, position: &Position<'_>) -> Spot<'a> {
        let (mut instance, mut ends) = (0, None);
        match position {
            Position::Component(name) => {
                if let Some((name, _)) = self.assembly.composition.get_key_value(*name) {
                    instance = self.part(0, name);
                }
            }
            Position::Relationship(name) => ends = self.assembly.relationships.get(*name),
            _ => {}
        }
        Spot { scope: 0, instance, ends }
    }

    /// Tells whether the property `name` is declared as sensitive at `position`. For a property of a component, the
    /// declaration in the component's descriptor also counts.
    pub(super) fn is_sensitive(&mut self, name: &str, position: &Position<'_>) -> bool {
        let declares = |properties: &Properties| properties.get(name).is_some_and(|decl| decl.sensitive);
        match position {
            Position::Own | Position::Number => declares(&self.assembly.properties),
            Position::Reference(reference) => {
                self.assembly.references.get(*reference).is_some_and(|decl| declares(&decl.properties))
            }
            Position::Relationship(relationship) => {
                self.assembly.relationships.get(*relationship).is_some_and(|decl| declares(&decl.properties))
            }
            Position::Component(component) => {
                let Some((component, decl)) = self.assembly.composition.get_key_value(*component) else {
                    return false;
                };
                let part = self.part(0, component);
                declares(&decl.properties)
                    || matches!(&self.parts[part].subject, Subject::Described(found) if declares(found.properties()))
            }
        }
    }

    /// Returns the `type` of a component or reference as text, with its placeholder resolved.
    pub(super) fn kind(&self, position: &Position<'_>) -> Option<String> {
        match position {
            Position::Component(name) => {
                Some(self.assembly.composition.get(*name)?.kind.as_ref()?.value.to_string())
            }
            Position::Reference(name) => {
                Some(self.assembly.references.get(*name)?.kind.as_ref()?.value.to_string())
            }
            _ => None,
        }
    }

    /// Returns the value of a `${…}`.
    pub(super) fn of(&mut self, reference: &Reference, spot: &Spot<'_>) -> Found {
        match self.target(reference, spot) {
            Ok(found) => found,
            Err(key) => self.find(&key),
        }
    }

    /// Returns the result of a property. The first call for a property evaluates the property and stores the result.
    fn find(&mut self, key: &Key) -> Found {
        if !self.found.contains_key(key) {
            let Ok(()) = evaluate(self, &mut Visits::default(), key.clone());
        }
        self.answer(key)
    }

    /// Returns the stored result of a property. The caller has already begun to evaluate the property. If the property
    /// reads itself, the evaluation is not complete, and no result is stored. The method then returns `Found::Unknown`.
    fn answer(&self, key: &Key) -> Found {
        self.found.get(key).cloned().unwrap_or_else(|| Found::unknown("it reads itself"))
    }

    /// Stores the result of a property. If the total length of all stored texts would exceed [`KEPT`], the
    /// method stores "unknown" in place of the text.
    fn keep(&mut self, key: Key, found: Found) {
        let found = match found {
            Found::Text { text, .. } if self.kept + text.len() > KEPT => {
                Found::unknown("it is too long to be written out")
            }
            found => found,
        };
        if let Found::Text { text, .. } = &found {
            self.kept += text.len();
        }
        self.found.insert(key, found);
    }

    /// Joins a text from its literals and the values of its `${…}`. The caller has already evaluated each property
    /// that a `${…}` reads.
    fn join(&mut self, segments: &[Segment], spot: &Spot<'_>) -> Found {
        let mut joined = Joined::default();
        for segment in segments {
            let pushed = match segment {
                Segment::Literal(literal) => joined.push(literal, false),
                Segment::Reference(reference) => {
                    let found = self.target(reference, spot).unwrap_or_else(|key| self.answer(&key));
                    match found {
                        Found::Text { text, secret } => joined.push(&text, secret),
                        Found::Unknown { .. } => return found,
                    }
                }
            };
            if let Err(too_long) = pushed {
                return Found::unknown(too_long.to_string());
            }
        }
        let secret = joined.is_sensitive();
        Found::Text { text: joined.into_text().into(), secret }
    }

    /// Calls `act` with two arguments: the [`Origin`] from which a property gets its value, and a flag that tells
    /// whether the property is sensitive.
    fn with_origin<T>(&mut self, (at, name): &Key, act: impl FnOnce(&mut Self, Origin<'_>, bool) -> T) -> T {
        let subject = self.parts[*at].subject.clone();
        let outer = self.parts[*at].inside.as_ref().map(|(outer, _)| self.parts[*outer].subject.clone());
        let (origin, secret) = self.origin(*at, name, &subject, outer.as_ref());
        act(self, origin, secret)
    }

    /// Returns the [`Origin`] from which the property `name` gets its value, and whether the property is sensitive.
    /// The property belongs to the part with the index `at`. `subject` is the descriptor or instance of this part.
    /// `outer` is the descriptor of the assembly around this part.
    fn origin<'v>(
        &self,
        at: usize,
        name: &PropertyName,
        subject: &'v Subject<'_>,
        outer: Option<&'v Subject<'_>>,
    ) -> (Origin<'v>, bool) {
        let Some((outside, component)) = &self.parts[at].inside else { return self.own(name, subject) };
        let given = match outer {
            Some(Subject::Described(Descriptor::Assembly(assembly))) => {
                assembly.composition.get(component).and_then(|part| part.properties.get(name))
            }
            _ => None,
        };
        let declared = match subject {
            Subject::Existing(thing) => return (Origin::Found(of_thing(component, name, *thing)), false),
            Subject::Undescribed => None,
            Subject::Described(descriptor) => descriptor.properties().get(name),
        };
        let secret = [given, declared].into_iter().flatten().any(|decl| decl.sensitive);
        let own = |value| Origin::Value { value, scope: at, instance: at };
        let decides = declared.is_some_and(|decl| decl.read_only || decl.value.is_some());
        let origin =
            match (given.and_then(PropertyDecl::effective), declared.and_then(PropertyDecl::effective)) {
                (Some(value), _) if !decides => Origin::Value { value, scope: *outside, instance: at },
                (_, Some(value)) => own(value),
                _ => Origin::Found(without_value(&self.path(at), name, subject, [given, declared])),
            };
        (origin, secret)
    }

    /// Returns the name of a component for a message. For example, `inner__web` is the component `web` of the
    /// component `inner`.
    fn path(&self, at: usize) -> String {
        let up = |part: &&(usize, ComponentName)| self.parts[part.0].inside.as_ref();
        let mut names: Vec<&str> = std::iter::successors(self.parts[at].inside.as_ref(), up)
            .map(|(_, name)| name.as_str())
            .collect();
        names.reverse();
        names.join("__")
    }

    /// Returns the [`Origin`] from which a property of the outermost assembly gets its value, and whether the
    /// property is sensitive.
    fn own<'v>(&self, name: &PropertyName, subject: &'v Subject<'_>) -> (Origin<'v>, bool) {
        let declared = match subject {
            Subject::Described(descriptor) => descriptor.properties().get(name),
            _ => None,
        };
        let secret = declared.is_some_and(|decl| decl.sensitive);
        let given = self.request.parameters.get(name.as_str()).filter(|value| !value.is_null());
        let origin = match (given, declared.and_then(PropertyDecl::effective)) {
            (Some(Json::Array(_) | Json::Object(_)), _) => {
                Origin::Found(Found::unknown(format!("`{name}` is a list or a mapping")))
            }
            (Some(given), _) => Origin::Found(Found::plain(text_of(given))),
            (None, Some(value)) => Origin::Value { value, scope: 0, instance: 0 },
            (None, None) if declared.is_some_and(|decl| decl.read_only) => {
                Origin::Found(Found::unknown(format!("`{name}` has no value")))
            }
            (None, None) => Origin::Found(Found::unknown(format!("give it with `-p {name}=…`"))),
        };
        (origin, secret)
    }

    /// Evaluates a `${…}`. If the `${…}` reads a property, returns `Err` with the key of this property. The caller
    /// then evaluates the property, or looks up its result. If the `${…}` reads no property, returns `Ok` with the
    /// value, or with the reason why the value is unknown.
    fn target(&mut self, reference: &Reference, spot: &Spot<'_>) -> Result<Found, Key> {
        let subject = self.parts[spot.scope].subject.clone();
        let meaning = match &subject {
            Subject::Described(Descriptor::Assembly(assembly)) if spot.ends.is_some() => {
                Scope::relationship(assembly).find(reference)
            }
            Subject::Described(Descriptor::Assembly(assembly)) => Scope::assembly(assembly).find(reference),
            Subject::Described(Descriptor::Resource(resource)) => Scope::resource(resource).find(reference),
            _ => return Ok(Found::unknown("it means nothing here")),
        };
        match meaning {
            Some(Meaning::Own(property)) => Err((spot.scope, property)),
            Some(Meaning::Part(component, property)) => Err((self.part(spot.scope, &component), property)),
            Some(Meaning::Instance(field)) => Ok(self.instance(spot.instance, field)),
            Some(Meaning::End(end, property)) => self.end(spot, end, property),
            Some(Meaning::Each(_)) => Ok(Found::unknown("differs from node to node")),
            None if reference.split().0 == EACH => Ok(Found::unknown("differs from node to node")),
            None => Ok(Found::unknown("it means nothing here")),
        }
    }

    fn instance(&self, part: usize, field: InstanceField) -> Found {
        match (&self.parts[part].instance, field) {
            (_, InstanceField::Id) => Found::unknown("known once it is made"),
            (None, _) => Found::unknown("differs from node to node"),
            (Some(name), InstanceField::Name) => Found::plain(name.as_str()),
            (Some(_), InstanceField::Index) => Found::plain("1"),
        }
    }

    /// Returns the value of `${source.…}` or `${target.…}`, or the reason why the value is unknown. The value is known
    /// only if the list of sources or targets contains exactly one component, and this component has one node.
    ///
    /// # Errors
    /// The error is not a failure. It is the key of the property that the `${…}` reads. The caller must evaluate this
    /// property.
    fn end(&mut self, spot: &Spot<'_>, end: End, property: PropertyName) -> Result<Found, Key> {
        let ends: &[Spanned<EndpointDecl>] = match (spot.ends, end) {
            (Some(decl), End::Source) => &decl.sources,
            (Some(decl), End::Target) => &decl.targets,
            (None, _) => &[],
        };
        // The list may contain several capabilities of one component.
        let is_one =
            |one: &&Spanned<EndpointDecl>| ends.iter().all(|end| end.value.component == one.value.component);
        let Some(one) = ends.first().filter(is_one) else {
            return Ok(Found::unknown("differs from pair to pair"));
        };
        let part = self.part(spot.scope, &one.value.component);
        let Part { subject, instance, .. } = &self.parts[part];
        let declared = matches!(subject, Subject::Described(found) if found.properties().contains_key(&property))
            || self
                .assembly
                .composition
                .get(&one.value.component)
                .is_some_and(|part| part.properties.contains_key(&property));
        match (InstanceField::from_word(property.as_str()), subject) {
            (Some(field), Subject::Described(_) | Subject::Undescribed) if !declared => {
                Ok(self.instance(part, field))
            }
            (_, Subject::Described(_) | Subject::Undescribed) if instance.is_none() => {
                Ok(Found::unknown("differs from pair to pair"))
            }
            _ => Err((part, property)),
        }
    }

    /// Returns the index of the component or reference `name` in [`Values::parts`]. If the list does not contain this
    /// part yet, the method adds it. `outer` is the index of the assembly that contains the part.
    fn part(&mut self, outer: usize, name: &ComponentName) -> usize {
        let key = (outer, name.clone());
        if let Some(at) = self.places.get(&key) {
            return *at;
        }
        let Part { subject, instance, depth, .. } = &self.parts[outer];
        let (outside, outer_name, depth) = (subject.clone(), instance.clone(), depth + 1);
        let (subject, plural) = match &outside {
            Subject::Described(Descriptor::Assembly(assembly)) => {
                self.described(outer, assembly, name, depth)
            }
            _ => (Subject::Undescribed, false),
        };
        let instance = outer_name.filter(|_| !plural).map(|outer| format!("{outer}__{name}"));
        let at = self.parts.len();
        self.parts.push(Part { subject, inside: Some(key.clone()), instance, depth });
        self.places.insert(key, at);
        at
    }

    /// Returns the descriptor of the component `name`, or the instance that fits the reference `name`. The second
    /// returned value tells whether `name` is a component that is a group of nodes.
    fn described(
        &mut self,
        outer: usize,
        assembly: &AssemblyDescriptor,
        name: &ComponentName,
        depth: usize,
    ) -> (Subject<'a>, bool) {
        if let Some(component) = assembly.composition.get(name) {
            let found = component.kind.as_ref().filter(|_| depth <= MAX_NESTING);
            let found = found.and_then(|kind| self.request.catalog.find(&kind.value));
            return (found.map_or(Subject::Undescribed, Subject::Described), Component::is_plural(component));
        }
        let thing = assembly.references.get(name).and_then(|decl| self.existing(outer, decl));
        (Subject::Existing(thing), false)
    }

    /// Returns the instance that fits a reference; `None` if no instance or more than one instance fits.
    fn existing(&mut self, outer: usize, decl: &ReferenceDecl) -> Option<&'a Existing> {
        if self.looking == MAX_REFERENCES {
            return None;
        }
        self.looking += 1;
        let kind = decl.kind.as_ref();
        let wanted: Option<Vec<(&PropertyName, Arc<str>)>> = decl
            .properties
            .iter()
            .filter_map(|(name, decl)| Some((name, decl.effective()?)))
            .map(|(name, value)| Some((name, self.wanted(outer, value)?)))
            .collect();
        self.looking -= 1;
        let (kind, wanted) = (kind?, wanted?);
        let fits = |thing: &&Existing| {
            kind.value.accepts(&thing.descriptor)
                && thing.unfit.is_none()
                && wanted.iter().all(|(name, wanted)| match name.as_str() {
                    "name" => *thing.name == **wanted,
                    name => thing.properties.get(name).is_none_or(|has| text_of(has) == **wanted),
                })
        };
        let mut fitting = self.request.existing.iter().filter(fits);
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }

    fn wanted(&mut self, outer: usize, value: &Value) -> Option<Arc<str>> {
        let ValueKind::Text(segments) = &value.kind else { return None };
        let spot = Spot { scope: outer, instance: outer, ends: None };
        for reference in references(segments) {
            if let Err(key) = self.target(reference, &spot) {
                self.find(&key);
            }
        }
        match self.join(segments, &spot) {
            Found::Text { text, .. } => Some(text),
            Found::Unknown { .. } => None,
        }
    }
}

impl ValueGraph for Values<'_> {
    type Key = Key;
    type Error = Infallible;

    fn enter(&mut self, key: &Key, mut read: impl FnMut(Key)) -> Entered {
        if self.found.contains_key(key) {
            return Entered::Answered;
        }
        if !self.open.insert(key.clone()) {
            return Entered::Cycle;
        }
        let known = self.with_origin(key, |values, origin, secret| {
            let unknown = match origin {
                Origin::Found(found) => return Some(found.with_secret(secret)),
                Origin::Value { value, scope, instance } => match &value.kind {
                    ValueKind::Text(segments) => {
                        let spot = Spot { scope, instance, ends: None };
                        let targets = references(segments).map(|reference| values.target(reference, &spot));
                        targets.filter_map(Result::err).for_each(&mut read);
                        return None;
                    }
                    ValueKind::Null => "is null",
                    ValueKind::List(_) | ValueKind::Map(_) => "is a list or a mapping",
                },
            };
            Some(Found::unknown(format!("`{}` {unknown}", key.1)))
        });
        let Some(known) = known else { return Entered::Opened };
        self.open.remove(key);
        self.keep(key.clone(), known);
        Entered::Answered
    }

    fn leave(&mut self, key: &Key) {
        let found = self.with_origin(key, |values, origin, secret| match origin {
            Origin::Value { value: Value { kind: ValueKind::Text(segments), .. }, scope, instance } => {
                values.join(segments, &Spot { scope, instance, ends: None }).with_secret(secret)
            }
            Origin::Value { .. } | Origin::Found(_) => unreachable!("only a property with text is opened"),
        });
        self.open.remove(key);
        self.keep(key.clone(), found);
    }

    /// Does nothing, because `join` handles the cycle. If a property reads itself through other properties, the
    /// property has no result yet when its value is needed. `join` then returns an unknown value with the reason
    /// "it reads itself".
    fn cycle<'k>(&mut self, _: impl Iterator<Item = &'k Key> + Clone, _: &'k Key) -> Result<(), Infallible> {
        Ok(())
    }
}

fn references(segments: &[Segment]) -> impl Iterator<Item = &Reference> {
    segments.iter().filter_map(|segment| match segment {
        Segment::Reference(reference) => Some(reference),
        Segment::Literal(_) => None,
    })
}

fn of_thing(component: &ComponentName, name: &PropertyName, thing: Option<&Existing>) -> Found {
    match thing {
        None => Found::unknown(format!("known once the reference `{component}` is found")),
        Some(thing) if name.as_str() == "name" => Found::plain(thing.name.as_str()),
        Some(thing) => match thing.properties.get(name.as_str()) {
            Some(Json::Array(_) | Json::Object(_)) => {
                Found::unknown(format!("`{name}` is a list or a mapping"))
            }
            Some(_) if thing.sensitive.contains(name.as_str()) => {
                Found::unknown(format!("`{name}` of `{component}` is a secret"))
            }
            Some(value) => Found::plain(text_of(value)),
            None => Found::unknown(format!("the instance of the reference `{component}` has no `{name}`")),
        },
    }
}

/// Returns the reason why a component's property has no known value.
fn without_value(
    component: &str,
    name: &PropertyName,
    subject: &Subject<'_>,
    decls: [Option<&PropertyDecl>; 2],
) -> Found {
    let published = decls.iter().flatten().any(|decl| decl.read_only);
    Found::unknown(match subject {
        _ if published => format!("known once `{component}` is Installed"),
        Subject::Undescribed => format!("the descriptor of `{component}` is not at hand"),
        Subject::Described(Descriptor::Resource(_)) => format!("known once `{component}` is Installed"),
        _ => format!("`{component}.{name}` has no value"),
    })
}
