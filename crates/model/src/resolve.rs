//! The values of properties, or the outputs that they await.
//!
//! Values from descriptors and parameters are known at once. An output is known when its driver has published
//! it. So a value is either [`Answer::Known`], or [`Answer::Waiting`] with a list of the missing outputs. A
//! value computed from a sensitive value is sensitive. Chains of references are followed without recursion,
//! so they can have any length.

mod answer;
mod error;
mod known;
mod lookup;

use std::cell::Cell;

use serde_json::Value;

pub use self::answer::{Answer, Awaited, Missing, Resolved};
pub use self::error::{MAX_AWAITED, MAX_VALUE, ResolveError};
use self::known::{Found, Known};
pub use self::lookup::{Lookup, NothingYet, Output};
use crate::assembly::{Element, ElementKind, Property, Topology};
use crate::name::{ElementName, PropertyName};
use crate::references::{Key, declared};
use crate::template::{InstanceField, Part, Template};

/// Resolves properties of one topology, and caches the results.
pub struct Resolver<'a> {
    topology: &'a Topology,
    lookup: &'a dyn Lookup,
    known: Known,
    visits: Vec<Visit>,
    /// The number of outputs that joined values await; see [`MAX_AWAITED`].
    awaited: Cell<usize>,
}

/// The properties that a template reads, in its order; none for an undeclared property.
type Read<'r> = std::slice::Iter<'r, Option<Key>>;

/// A pending visit of a property.
#[derive(Debug, Clone, Copy)]
enum Visit {
    /// Visits the properties that it reads.
    Enter(Key),
    /// Computes its value from those that it reads.
    Leave(Key),
}

impl<'a> Resolver<'a> {
    /// Creates a resolver for a few properties.
    pub fn new(topology: &'a Topology, lookup: &'a dyn Lookup) -> Self {
        Self { topology, lookup, known: Known::few(), visits: Vec::new(), awaited: Cell::new(0) }
    }

    /// Creates a resolver for most properties. It allocates a cache for all of them.
    pub fn of_all(topology: &'a Topology, lookup: &'a dyn Lookup) -> Self {
        Self { known: Known::all(topology.references().count()), ..Self::new(topology, lookup) }
    }

    /// Resolves one property of an element.
    ///
    /// # Errors
    ///
    /// A [`ResolveError`] if the property can't have a value.
    pub fn property(
        &mut self,
        element: &ElementName,
        property: &PropertyName,
    ) -> Result<Answer, ResolveError> {
        match self.key(element, property) {
            Some(key) => self.evaluate(key).and_then(|found| self.answer(found)),
            None => self.undeclared(self.place(element)?, property),
        }
    }

    /// Calls `tell` for each output that a property awaits, in the order of element names.
    ///
    /// `element` is the position of the element in the topology, and `property` that of the property in the
    /// element. `tell` receives the position of the publishing element, and the output.
    ///
    /// # Errors
    ///
    /// A [`ResolveError`] if the property can't have a value.
    ///
    /// # Panics
    ///
    /// When a position is out of range.
    pub fn awaited_at(
        &mut self,
        element: usize,
        property: usize,
        mut tell: impl FnMut(usize, &PropertyName),
    ) -> Result<(), ResolveError> {
        let place = |at: usize| u32::try_from(at).expect("places are below 2^32");
        match self.evaluate(Key { element: place(element), property: place(property) })? {
            Found::Awaits(key) => tell(key.element as usize, self.at(key).1),
            Found::Answer(at) => {
                let Ok(Answer::Waiting(missing)) = self.known.answer(at) else { return Ok(()) };
                for missing in missing {
                    if let Missing::Output { property, place, .. } = missing {
                        tell(*place, property);
                    }
                }
            }
            Found::Nothing | Found::Open => {}
        }
        Ok(())
    }

    /// Resolves a template that is bound to this topology, such as a value of a relationship's pair.
    ///
    /// # Errors
    ///
    /// A [`ResolveError`] if the template can't have a value.
    pub fn template(&mut self, template: &Template) -> Result<Answer, ResolveError> {
        let mut read = Vec::new();
        let mut undeclared = Ok(());
        template.for_each_part(&mut |part| {
            if let Part::Property { element, property } = part {
                read.push((self.key(element, property), element, property));
            }
        });
        for (key, element, property) in &read {
            match key {
                Some(key) => drop(self.evaluate(*key)?),
                None => undeclared = self.undeclared(self.place(element)?, property).map(drop),
            }
            std::mem::replace(&mut undeclared, Ok(()))?;
        }
        let read: Vec<Option<Key>> = read.into_iter().map(|(key, _, _)| key).collect();
        self.fill(template, &mut read.iter())
    }

    fn place(&self, element: &ElementName) -> Result<usize, ResolveError> {
        self.topology.position(element).ok_or_else(|| ResolveError::UnknownElement(element.clone()))
    }

    /// Finds a declared property.
    fn key(&self, element: &ElementName, property: &PropertyName) -> Option<Key> {
        let element = u32::try_from(self.topology.position(element)?).ok()?;
        declared(self.topology.elements(), element, property)
    }

    fn at(&self, key: Key) -> (&'a Element, &'a PropertyName, &'a Property) {
        let element = &self.topology.elements()[key.element as usize];
        let declared = element.properties.get_index(key.property as usize);
        let (name, property) = declared.expect("a key is made of a property that is declared");
        (element, name, property)
    }

    fn found(&self, key: Key) -> Found {
        self.known.get(self.topology.references().number(key))
    }

    fn set(&mut self, key: Key, found: Found) {
        self.known.set(self.topology.references().number(key), found);
    }

    /// Evaluates a property depth first. The stack is explicit, so chains of references can have any length.
    fn evaluate(&mut self, root: Key) -> Result<Found, ResolveError> {
        self.visits.push(Visit::Enter(root));
        while let Some(visit) = self.visits.pop() {
            match visit {
                Visit::Enter(key) => match self.found(key) {
                    Found::Awaits(_) | Found::Answer(_) => {}
                    Found::Open => return Err(self.circle(key)),
                    Found::Nothing => self.enter(key),
                },
                Visit::Leave(key) => self.leave(key),
            }
        }
        let found = self.found(root);
        match found {
            Found::Answer(at) => self.known.answer(at).as_ref().map(|_| found).map_err(Clone::clone),
            _ => Ok(found),
        }
    }

    /// Begins to evaluate a property. The properties that it reads are pushed in reverse order, so that the
    /// first is visited first.
    fn enter(&mut self, key: Key) {
        if self.template_of(key).is_some() {
            self.set(key, Found::Open);
            self.visits.push(Visit::Leave(key));
            let read = self.topology.references().read_by(key).iter().rev().flatten();
            self.visits.extend(read.map(|key| Visit::Enter(*key)));
            return;
        }
        let (_, name, property) = self.at(key);
        match self.published(key.element as usize, name, Some(property)) {
            Some(answer) => self.answered(key, answer),
            None => self.set(key, Found::Awaits(key)),
        }
    }

    /// Computes a property from the properties that it reads.
    fn leave(&mut self, key: Key) {
        let (_, _, property) = self.at(key);
        let template = property.value.as_ref().expect("it has one, or it would read nothing");
        let read = self.topology.references().read_by(key);
        // A value that consists of one reference awaits the same output.
        if let (Template::Text(parts), [Some(only)]) = (template, read)
            && parts.len() == 1
            && let Found::Awaits(awaited) = self.found(*only)
        {
            return self.set(key, Found::Awaits(awaited));
        }
        let answer = self.fill(template, &mut read.iter());
        self.answered(key, answer);
    }

    fn answered(&mut self, key: Key, answer: Result<Answer, ResolveError>) {
        let (_, _, property) = self.at(key);
        let found = self.known.keep(answer.map(|answer| taint(answer, property)));
        self.set(key, found);
    }

    /// Returns the answer of an evaluated property.
    fn answer(&self, found: Found) -> Result<Answer, ResolveError> {
        match found {
            Found::Awaits(key) => Ok(self.awaited(key.element as usize, self.at(key).1)),
            Found::Answer(at) => self.known.answer(at).clone(),
            Found::Nothing | Found::Open => unreachable!("what has been left is answered"),
        }
    }

    /// Returns the template that gives the value. The published output of a read-only property takes
    /// precedence.
    fn template_of(&self, key: Key) -> Option<&'a Template> {
        let (element, name, property) = self.at(key);
        let template = property.value.as_ref()?;
        let output = || self.lookup.output_at(key.element as usize, &element.name, name);
        let published = || matches!(output(), Output::Published(_));
        (!property.read_only || !published()).then_some(template)
    }

    /// Aborts the evaluation at a property that depends on itself.
    fn circle(&mut self, again: Key) -> ResolveError {
        let visits = std::mem::take(&mut self.visits);
        let way = visits.iter().filter_map(|visit| match visit {
            Visit::Leave(key) => Some(*key),
            Visit::Enter(_) => None,
        });
        way.clone().for_each(|key| self.set(key, Found::Nothing));
        let round = way.skip_while(|key| *key != again).chain([again]);
        let told = |key| {
            let (element, name, _) = self.at(key);
            format!("{}.{name}", element.name)
        };
        ResolveError::Cycle(round.map(told).collect())
    }

    /// Answers for a property without a template; none if its driver has yet to publish it.
    fn published(
        &self,
        place: usize,
        name: &PropertyName,
        property: Option<&Property>,
    ) -> Option<Result<Answer, ResolveError>> {
        let element = &self.topology.elements()[place];
        let sensitive = property.is_some_and(|p| p.sensitive);
        let read_only = property.is_none_or(|p| p.read_only);
        if element.kind != ElementKind::Resource {
            return Some(Ok(Answer::Known(Resolved { value: Value::Null, sensitive })));
        }
        match self.lookup.output_at(place, &element.name, name) {
            Output::Published(mut resolved) => {
                resolved.sensitive |= sensitive;
                Some(Ok(Answer::Known(resolved)))
            }
            Output::Nothing if read_only => {
                let (element, property) = (element.name.clone(), name.clone());
                Some(Err(ResolveError::NeverPublished { element, property }))
            }
            Output::Nothing => Some(Ok(Answer::Known(Resolved { value: Value::Null, sensitive }))),
            Output::NotYet => None,
        }
    }

    /// Answers for a property that the element does not declare. Its driver may publish it nevertheless.
    fn undeclared(&self, place: usize, name: &PropertyName) -> Result<Answer, ResolveError> {
        self.published(place, name, None).unwrap_or_else(|| Ok(self.awaited(place, name)))
    }

    fn awaited(&self, place: usize, name: &PropertyName) -> Answer {
        let element = self.topology.elements()[place].name.clone();
        Answer::Waiting(Missing::Output { element, property: name.clone(), place }.into())
    }

    /// Computes the value of a template. `read` has the properties that it reads, which are evaluated
    /// already.
    fn fill(&self, template: &Template, read: &mut Read<'_>) -> Result<Answer, ResolveError> {
        match template {
            Template::Null => Ok(Answer::Known(Resolved::plain(Value::Null))),
            Template::Text(parts) => self.fill_text(parts, read),
            Template::List(items) => {
                let answers: Result<Vec<_>, _> = items.iter().map(|item| self.fill(item, read)).collect();
                self.gather(answers?, Value::Array)
            }
            Template::Map(entries) => {
                let entry = |entry: &Template| self.fill(entry, read);
                let answers: Result<Vec<_>, _> = entries.values().map(entry).collect();
                let keys = entries.keys().cloned();
                self.gather(answers?, |values| Value::Object(keys.zip(values).collect()))
            }
        }
    }

    /// Joins answers. Limits the number of awaited outputs.
    fn gather(
        &self,
        answers: Vec<Answer>,
        join: impl FnOnce(Vec<Value>) -> Value,
    ) -> Result<Answer, ResolveError> {
        let awaited = answers.iter().map(|answer| match answer {
            Answer::Waiting(missing) => missing.len(),
            Answer::Known(_) => 0,
        });
        let awaited = self.awaited.get().saturating_add(awaited.sum());
        self.awaited.set(awaited);
        if awaited > MAX_AWAITED { Err(ResolveError::TooManyAwaited) } else { Ok(gather(answers, join)) }
    }

    fn fill_text(&self, parts: &[Part], read: &mut Read<'_>) -> Result<Answer, ResolveError> {
        if let [part] = parts {
            return self.fill_part(part, read);
        }
        let mut answers = Vec::with_capacity(parts.len());
        let mut bytes = 0;
        for part in parts {
            let answer = self.fill_part(part, read)?;
            bytes += length(&answer);
            if bytes > MAX_VALUE {
                return Err(ResolveError::TooLong);
            }
            answers.push(answer);
        }
        self.gather(answers, |values| Value::from(values.iter().map(text_of).collect::<String>()))
    }

    fn fill_part(&self, part: &Part, read: &mut Read<'_>) -> Result<Answer, ResolveError> {
        match part {
            Part::Literal(text) => Ok(Answer::Known(Resolved::plain(text.as_str()))),
            Part::Property { element, property } => match read.next().copied().flatten() {
                Some(key) => self.answer(self.found(key)),
                None => self.undeclared(self.place(element)?, property),
            },
            Part::Instance { element, field } => self.instance(element, *field),
            Part::Secret(secret) => {
                let value = self.lookup.secret(secret).map_or("***".into(), |s| s.expose().clone());
                Ok(Answer::Known(Resolved { value: Value::from(value), sensitive: true }))
            }
            // Ends are bound before a template is resolved. An unbound end has no value.
            Part::End { .. } => Ok(Answer::Known(Resolved::plain(Value::Null))),
        }
    }

    fn instance(&self, name: &ElementName, field: InstanceField) -> Result<Answer, ResolveError> {
        let value = match field {
            InstanceField::Name => Value::from(name.as_str()),
            InstanceField::Index => {
                let element = &self.topology.elements()[self.place(name)?];
                Value::from(element.index.unwrap_or(1).to_string())
            }
            InstanceField::Id => match self.lookup.instance_id(name) {
                Some(id) => Value::from(id.as_str()),
                None => return Ok(Answer::Waiting(Missing::InstanceId(name.clone()).into())),
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

/// Joins answers. The result lists everything that is missing, or is the joined value, sensitive if one of
/// them is.
fn gather(answers: Vec<Answer>, join: impl FnOnce(Vec<Value>) -> Value) -> Answer {
    let mut missing: Vec<Missing> = Vec::new();
    let mut values = Vec::with_capacity(answers.len());
    let mut sensitive = false;
    for answer in answers {
        match answer {
            Answer::Known(resolved) => {
                sensitive |= resolved.sensitive;
                values.push(resolved.value);
            }
            Answer::Waiting(more) => missing.extend(more.iter().cloned()),
        }
    }
    match Awaited::of(missing) {
        Some(missing) => Answer::Waiting(missing),
        None => Answer::Known(Resolved { value: join(values), sensitive }),
    }
}

/// Returns the size of a known value as text, in bytes.
fn length(answer: &Answer) -> usize {
    match answer {
        Answer::Known(Resolved { value: Value::String(text), .. }) => text.len(),
        Answer::Known(resolved) => text_of(&resolved.value).len(),
        Answer::Waiting(_) => 0,
    }
}

/// Returns a value as part of a text: empty for null, JSON for numbers, booleans, lists and maps.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
