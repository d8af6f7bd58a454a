//! What a property's value is, or what it still waits for.
//!
//! Values that come from descriptors and parameters are known at once. What a driver publishes is known once its
//! part has come far enough, so a value is either [`Answer::Known`] or [`Answer::Waiting`] with exactly what is
//! missing. What is computed from a sensitive value is sensitive. Chains of references are followed without
//! recursion, so their length doesn't matter.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;
use thiserror::Error;
use windlass_secret::{SecretRef, Sensitive};

use crate::assembly::{Element, ElementKind, Property, Topology};
use crate::id::InstanceId;
use crate::name::{ElementName, PropertyName};
use crate::template::{InstanceField, Part, Template};

/// What is known of the instances at the moment of asking.
pub trait Lookup {
    /// Returns what the driver of `element` has published as its property.
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output;

    /// Returns the engine's id of the element, once it has one.
    fn instance_id(&self, element: &ElementName) -> Option<InstanceId>;

    /// Returns the value behind a secret, if it may be opened here.
    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>>;
}

/// What a driver has published.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// This value; sensitive when it is kept sealed.
    Published(Resolved),
    /// Nothing, and something may still come.
    NotYet,
    /// Nothing, and the part has come so far that nothing will.
    Nothing,
}

/// Knows nothing of any instance: what can be resolved with it, is known statically.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingYet;

impl Lookup for NothingYet {
    fn output(&self, _: &ElementName, _: &PropertyName) -> Output {
        Output::NotYet
    }

    fn instance_id(&self, _: &ElementName) -> Option<InstanceId> {
        None
    }

    fn secret(&self, _: &SecretRef) -> Option<Sensitive<String>> {
        None
    }
}

/// A value with its taint.
#[derive(Clone, PartialEq)]
pub struct Resolved {
    /// The value; a sensitive one that couldn't be opened is the text `***`.
    pub value: Value,
    /// Whether it is, or was computed from, a sensitive value.
    pub sensitive: bool,
}

impl std::fmt::Debug for Resolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shown().fmt(f)
    }
}

impl Resolved {
    /// Makes a value that everybody may see.
    pub fn plain(value: impl Into<Value>) -> Self {
        Self { value: value.into(), sensitive: false }
    }

    /// Returns the value for people: `***` when it is sensitive.
    pub fn shown(&self) -> Value {
        if self.sensitive && !self.value.is_null() { Value::from("***") } else { self.value.clone() }
    }
}

/// Something a value waits for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Missing {
    /// A property that a driver publishes.
    Output {
        /// The part that publishes it.
        element: ElementName,
        /// The property.
        property: PropertyName,
    },
    /// The engine's id of an element that isn't there yet.
    InstanceId(ElementName),
}

/// A value, or what it waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The value.
    Known(Resolved),
    /// What is missing, sorted.
    Waiting(BTreeSet<Missing>),
}

/// A value that can't come to be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// Properties read each other in a circle.
    #[error("properties read each other in a circle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// The part has been installed and has not published the property.
    #[error("`{element}` is installed and has published no property `{property}`")]
    NeverPublished {
        /// The part.
        element: ElementName,
        /// The property.
        property: PropertyName,
    },
    /// The topology has no such element.
    #[error("there is no element `{0}`")]
    UnknownElement(ElementName),
    /// Values that double each other grow without end.
    #[error("the value would have more than {} MiB, with all that it reads", MAX_VALUE >> 20)]
    TooLong,
}

/// The most bytes that text may have with all that it reads, published or not.
pub const MAX_VALUE: usize = 4 << 20;

type Key<'a> = (&'a ElementName, &'a PropertyName);

/// Resolves properties of one topology, remembering what it has found.
pub struct Resolver<'a> {
    topology: &'a Topology,
    lookup: &'a dyn Lookup,
    known: HashMap<Key<'a>, Result<Answer, ResolveError>>,
}

impl<'a> Resolver<'a> {
    /// Makes a resolver that has found nothing yet.
    pub fn new(topology: &'a Topology, lookup: &'a dyn Lookup) -> Self {
        Self { topology, lookup, known: HashMap::new() }
    }

    /// Resolves one property of an element.
    pub fn property(
        &mut self,
        element: &ElementName,
        property: &PropertyName,
    ) -> Result<Answer, ResolveError> {
        let element = self.element(element)?;
        match element.properties.get_key_value(property) {
            Some((property, _)) => self.evaluate((&element.name, property)),
            None => self.published(element, property),
        }
    }

    /// Resolves a template that is bound to this topology, such as one of a relationship's pair.
    pub fn template(&mut self, template: &Template) -> Result<Answer, ResolveError> {
        let mut needed = Vec::new();
        template.for_each_part(&mut |part| {
            if let Part::Property { element, property } = part {
                needed.push((element.clone(), property.clone()));
            }
        });
        for (element, property) in &needed {
            self.property(element, property)?;
        }
        self.fill(template)
    }

    fn element(&self, name: &ElementName) -> Result<&'a Element, ResolveError> {
        self.topology.get(name).ok_or_else(|| ResolveError::UnknownElement(name.clone()))
    }

    /// Follows references depth first with a stack of its own.
    fn evaluate(&mut self, root: Key<'a>) -> Result<Answer, ResolveError> {
        let mut stack = vec![root];
        let mut open = HashSet::from([root]);
        while let Some(&key) = stack.last() {
            if self.known.contains_key(&key) {
                open.remove(&key);
                stack.pop();
                continue;
            }
            match self.next_unknown(key)? {
                Some(next) if open.insert(next) => stack.push(next),
                Some(next) => return Err(cycle(&stack, next)),
                None => {
                    let answer = self.compute(key);
                    self.known.insert(key, answer);
                }
            }
        }
        self.known[&root].clone()
    }

    fn next_unknown(&self, key: Key<'a>) -> Result<Option<Key<'a>>, ResolveError> {
        let Some(template) = self.template_of(key)? else { return Ok(None) };
        let mut next = None;
        template.for_each_part(&mut |part| {
            if let (None, Part::Property { element, property }) = (&next, part)
                && let Some((property, _)) =
                    self.topology.get(element).and_then(|e| e.properties.get_key_value(property))
                && !self.known.contains_key(&(element, property))
            {
                next = Some((element, property));
            }
        });
        Ok(next)
    }

    /// Returns the template that decides, if one does: a read-only property's own output comes before it.
    fn template_of(&self, (element, name): Key<'a>) -> Result<Option<&'a Template>, ResolveError> {
        let property = &self.element(element)?.properties[name];
        let overridden =
            property.read_only && matches!(self.lookup.output(element, name), Output::Published(_));
        Ok(if overridden { None } else { property.value.as_ref() })
    }

    fn compute(&self, key: Key<'a>) -> Result<Answer, ResolveError> {
        let element = self.element(key.0)?;
        let property = &element.properties[key.1];
        let answer = match self.template_of(key)? {
            Some(template) => self.fill(template)?,
            None => self.published(element, key.1)?,
        };
        Ok(taint(answer, property))
    }

    /// Answers for a property without a value of its own.
    fn published(&self, element: &Element, name: &PropertyName) -> Result<Answer, ResolveError> {
        let property = element.properties.get(name);
        let sensitive = property.is_some_and(|p| p.sensitive);
        let read_only = property.is_none_or(|p| p.read_only);
        if element.kind != ElementKind::Resource {
            return Ok(Answer::Known(Resolved { value: Value::Null, sensitive }));
        }
        match self.lookup.output(&element.name, name) {
            Output::Published(mut resolved) => {
                resolved.sensitive |= sensitive;
                Ok(Answer::Known(resolved))
            }
            Output::Nothing if read_only => {
                Err(ResolveError::NeverPublished { element: element.name.clone(), property: name.clone() })
            }
            Output::Nothing => Ok(Answer::Known(Resolved { value: Value::Null, sensitive })),
            Output::NotYet => Ok(Answer::Waiting(BTreeSet::from([Missing::Output {
                element: element.name.clone(),
                property: name.clone(),
            }]))),
        }
    }

    fn fill(&self, template: &Template) -> Result<Answer, ResolveError> {
        match template {
            Template::Null => Ok(Answer::Known(Resolved::plain(Value::Null))),
            Template::Text(parts) => self.fill_text(parts),
            Template::List(items) => {
                let answers: Result<Vec<_>, _> = items.iter().map(|item| self.fill(item)).collect();
                Ok(gather(answers?, Value::Array))
            }
            Template::Map(entries) => {
                let answers: Result<Vec<_>, _> = entries.values().map(|entry| self.fill(entry)).collect();
                let keys = entries.keys().cloned();
                Ok(gather(answers?, |values| Value::Object(keys.zip(values).collect())))
            }
        }
    }

    fn fill_text(&self, parts: &[Part]) -> Result<Answer, ResolveError> {
        let answers: Result<Vec<_>, _> = parts.iter().map(|part| self.fill_part(part)).collect();
        let answers = answers?;
        if parts.len() > 1 && answers.iter().map(length).sum::<usize>() > MAX_VALUE {
            return Err(ResolveError::TooLong);
        }
        Ok(gather(answers, |mut values| match values.len() {
            1 => values.remove(0),
            _ => Value::from(values.iter().map(text_of).collect::<String>()),
        }))
    }

    fn fill_part(&self, part: &Part) -> Result<Answer, ResolveError> {
        match part {
            Part::Literal(text) => Ok(Answer::Known(Resolved::plain(text.as_str()))),
            Part::Property { element, property } => match self.known.get(&(element, property)) {
                Some(answer) => answer.clone(),
                None => self.published(self.element(element)?, property),
            },
            Part::Instance { element, field } => self.instance(element, *field),
            Part::Secret(secret) => {
                let value = self.lookup.secret(secret).map_or("***".into(), |s| s.expose().clone());
                Ok(Answer::Known(Resolved { value: Value::from(value), sensitive: true }))
            }
            // An end is bound before its template is asked for; left unbound it has no value.
            Part::End { .. } => Ok(Answer::Known(Resolved::plain(Value::Null))),
        }
    }

    fn instance(&self, name: &ElementName, field: InstanceField) -> Result<Answer, ResolveError> {
        let value = match field {
            InstanceField::Name => Value::from(name.as_str()),
            InstanceField::Index => Value::from(self.element(name)?.index.unwrap_or(1).to_string()),
            InstanceField::Id => match self.lookup.instance_id(name) {
                Some(id) => Value::from(id.as_str()),
                None => return Ok(Answer::Waiting(BTreeSet::from([Missing::InstanceId(name.clone())]))),
            },
        };
        Ok(Answer::Known(Resolved::plain(value)))
    }
}

fn taint(answer: Answer, property: &Property) -> Answer {
    match answer {
        Answer::Known(mut resolved) => {
            resolved.sensitive |= property.sensitive;
            Answer::Known(resolved)
        }
        waiting @ Answer::Waiting(_) => waiting,
    }
}

/// Joins answers: all that is missing, else the value made of them, sensitive if one of them is.
fn gather(answers: Vec<Answer>, join: impl FnOnce(Vec<Value>) -> Value) -> Answer {
    let mut missing = BTreeSet::new();
    let mut values = Vec::with_capacity(answers.len());
    let mut sensitive = false;
    for answer in answers {
        match answer {
            Answer::Known(resolved) => {
                sensitive |= resolved.sensitive;
                values.push(resolved.value);
            }
            Answer::Waiting(more) => missing.extend(more),
        }
    }
    if missing.is_empty() {
        Answer::Known(Resolved { value: join(values), sensitive })
    } else {
        Answer::Waiting(missing)
    }
}

/// Returns how many bytes of text a known value is.
fn length(answer: &Answer) -> usize {
    match answer {
        Answer::Known(Resolved { value: Value::String(text), .. }) => text.len(),
        Answer::Known(resolved) => text_of(&resolved.value).len(),
        Answer::Waiting(_) => 0,
    }
}

/// Returns a value as it reads inside text: nothing for null, JSON for lists and maps.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn cycle(stack: &[Key<'_>], again: Key<'_>) -> ResolveError {
    let start = stack.iter().position(|key| *key == again).unwrap_or(0);
    let names = stack[start..].iter().chain([&again]).map(|(e, p)| format!("{e}.{p}"));
    ResolveError::Cycle(names.collect())
}
