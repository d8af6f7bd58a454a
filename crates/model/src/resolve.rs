//! Computation of the values of properties.
//!
//! Values from descriptors and parameters are known at once. An output is known when its driver has published it, and
//! an instance id is known when windlass has assigned it. So the result is either [`Answer::Known`], or
//! [`Answer::Waiting`] with a list of the missing outputs and instance ids. A value computed from a sensitive value is
//! sensitive. A chain of references `${…}` is followed without recursion, so it can have any length.

mod answer;
mod error;
mod evaluate;
mod known;
mod lookup;

use std::cell::Cell;

use serde_json::Value;

pub use self::answer::{Answer, Awaited, Missing, Resolved, text_of};
pub use self::error::{MAX_AWAITED, MAX_VALUE, ResolveError};
pub use self::evaluate::{Entered, Joined, ValueGraph, Visits, evaluate};
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
    visits: Visits<Key>,
    /// The number of awaited outputs that this resolver has collected. The limit of this number is
    /// [`MAX_AWAITED`].
    awaited: Cell<usize>,
}

/// An iterator over the properties that a template reads, in the order of the template. An undeclared
/// property is `None`.
type Read<'r> = std::slice::Iter<'r, Option<Key>>;

impl<'a> Resolver<'a> {
    /// Creates a resolver for callers that read few properties of the topology. For callers that read most of them,
    /// [`of_all`](Self::of_all) is faster.
    pub fn new(topology: &'a Topology, lookup: &'a dyn Lookup) -> Self {
        Self { topology, lookup, known: Known::few(), visits: Visits::default(), awaited: Cell::new(0) }
    }

    /// Creates a resolver for a caller that reads most properties of the topology. The resolver allocates a
    /// cache for all of them.
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

    /// Calls `tell` for each output that the value of a property depends on, and that is not known yet. The calls are
    /// in the order of the names of the elements that publish the outputs.
    ///
    /// `element` is the position of the element in the topology, and `property` the position of the property
    /// in the element. `tell` receives the position of the publishing element, and the name of the output.
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

    /// Resolves a template that need not belong to a property of this topology. Example: the template of a
    /// relationship's property, after [`Template::bind_ends`]. All references `${…}` in the template must read elements
    /// of this topology.
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

    /// Returns the position of a property; none if the topology does not declare the property.
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

    fn evaluate(&mut self, root: Key) -> Result<Found, ResolveError> {
        let mut visits = std::mem::take(&mut self.visits);
        let evaluated = evaluate(&mut Properties(self), &mut visits, root);
        self.visits = visits;
        evaluated?;
        let found = self.found(root);
        match found {
            Found::Answer(at) => self.known.answer(at).as_ref().map(|_| found).map_err(Clone::clone),
            _ => Ok(found),
        }
    }

    fn answered(&mut self, key: Key, answer: Result<Answer, ResolveError>) {
        let (_, _, property) = self.at(key);
        let found = self.known.keep(answer.map(|answer| taint(answer, property)));
        self.set(key, found);
    }

    /// Converts the cached state of a property to the [`Answer`] for callers. The evaluation of the property must be
    /// complete.
    fn answer(&self, found: Found) -> Result<Answer, ResolveError> {
        match found {
            Found::Awaits(key) => Ok(self.awaited(key.element as usize, self.at(key).1)),
            Found::Answer(at) => self.known.answer(at).clone(),
            Found::Nothing | Found::Open => unreachable!("what has been left is answered"),
        }
    }

    /// Returns the template from which the value of a property is computed. The result is `None` for a
    /// read-only property with a published output, because the output takes precedence.
    fn template_of(&self, key: Key) -> Option<&'a Template> {
        let (element, name, property) = self.at(key);
        let template = property.value.as_ref()?;
        let output = || self.lookup.output_at(key.element as usize, &element.name, name);
        let published = || matches!(output(), Output::Published(_));
        (!property.read_only || !published()).then_some(template)
    }

    /// Returns the answer for a property whose value does not come from a template. `property` is `None` if the
    /// element does not declare the property.
    ///
    /// If the element is not a resource, the answer is the JSON value null. For a resource, the answer depends on
    /// its driver:
    ///
    /// - If the driver has published the property as an output, the answer is this output.
    /// - If the driver may publish the output later, the method returns `None`, because there is no answer yet.
    /// - If the driver will never publish the output, the answer is an error for a read-only or undeclared property.
    ///   For any other property, the answer is the JSON value null.
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

    /// Returns the answer for a property that the element does not declare. The element's driver may publish
    /// such a property nevertheless.
    fn undeclared(&self, place: usize, name: &PropertyName) -> Result<Answer, ResolveError> {
        self.published(place, name, None).unwrap_or_else(|| Ok(self.awaited(place, name)))
    }

    fn awaited(&self, place: usize, name: &PropertyName) -> Answer {
        let element = self.topology.elements()[place].name.clone();
        Answer::Waiting(Missing::Output { element, property: name.clone(), place }.into())
    }

    /// Computes the value of a template. `read` contains the properties that the template reads. They are
    /// already evaluated.
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

    /// Joins the answers for the values of a list or map. If outputs or instance ids are missing, the result lists all
    /// of them. Otherwise, the result is the list or map that `collect` returns, and is sensitive if one of its values
    /// is sensitive.
    fn gather(
        &self,
        answers: Vec<Answer>,
        collect: impl FnOnce(Vec<Value>) -> Value,
    ) -> Result<Answer, ResolveError> {
        let mut missing: Vec<Missing> = Vec::new();
        let mut values = Vec::with_capacity(answers.len());
        let mut sensitive = false;
        for answer in answers {
            match answer {
                Answer::Known(resolved) => {
                    sensitive |= resolved.sensitive;
                    values.push(resolved.value);
                }
                Answer::Waiting(more) => {
                    self.count_awaited(more.len())?;
                    missing.extend(more.iter().cloned());
                }
            }
        }
        Ok(match Awaited::of(missing) {
            Some(missing) => Answer::Waiting(missing),
            None => Answer::Known(Resolved { value: collect(values), sensitive }),
        })
    }

    /// Adds `more` to the number of awaited outputs, and checks the limit [`MAX_AWAITED`].
    fn count_awaited(&self, more: usize) -> Result<(), ResolveError> {
        let awaited = self.awaited.get().saturating_add(more);
        self.awaited.set(awaited);
        if awaited > MAX_AWAITED { Err(ResolveError::TooManyAwaited) } else { Ok(()) }
    }

    fn fill_text(&self, parts: &[Part], read: &mut Read<'_>) -> Result<Answer, ResolveError> {
        if let [part] = parts {
            return self.fill_part(part, read);
        }
        let mut text = Joined::default();
        let mut missing = Vec::new();
        for part in parts {
            match self.fill_part(part, read)? {
                Answer::Known(value) => text.push_value(&value)?,
                Answer::Waiting(more) => {
                    self.count_awaited(more.len())?;
                    missing.extend(more.iter().cloned());
                }
            }
        }
        Ok(match Awaited::of(missing) {
            Some(missing) => Answer::Waiting(missing),
            None => Answer::Known(text.into()),
        })
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
            // A reference to an end of a relationship, such as `${source.port}`, is bound before a template
            // is resolved. An unbound reference has the value null.
            Part::End { .. } => Ok(Answer::Known(Resolved::plain(Value::Null))),
        }
    }

    fn instance(&self, name: &ElementName, field: InstanceField) -> Result<Answer, ResolveError> {
        let value = match field {
            InstanceField::Name => Value::from(self.topology.instance_name(name).as_str()),
            InstanceField::Index => {
                let element = &self.topology.elements()[self.place(name)?];
                match &element.key {
                    Some(key) => Value::from(key.as_str()),
                    None => Value::from(element.index.unwrap_or(1).to_string()),
                }
            }
            InstanceField::Id => match self.lookup.instance_id(name) {
                Some(id) => Value::from(id.as_str()),
                None => return Ok(Answer::Waiting(Missing::InstanceId(name.clone()).into())),
            },
        };
        Ok(Answer::Known(Resolved::plain(value)))
    }
}

/// The properties of a resolver as a graph. `Resolver` itself does not implement [`ValueGraph`], because the
/// implementation would make the private type `Key` public.
struct Properties<'r, 'a>(&'r mut Resolver<'a>);

impl ValueGraph for Properties<'_, '_> {
    type Key = Key;
    type Error = ResolveError;

    fn enter(&mut self, key: &Key, read: impl FnMut(Key)) -> Entered {
        match self.0.found(*key) {
            Found::Awaits(_) | Found::Answer(_) => return Entered::Answered,
            Found::Open => return Entered::Cycle,
            Found::Nothing => {}
        }
        if self.0.template_of(*key).is_some() {
            self.0.set(*key, Found::Open);
            self.0.topology.references().read_by(*key).iter().flatten().copied().for_each(read);
            return Entered::Opened;
        }
        let (_, name, property) = self.0.at(*key);
        match self.0.published(key.element as usize, name, Some(property)) {
            Some(answer) => self.0.answered(*key, answer),
            None => self.0.set(*key, Found::Awaits(*key)),
        }
        Entered::Answered
    }

    fn leave(&mut self, key: &Key) {
        let (_, _, property) = self.0.at(*key);
        let template = property.value.as_ref().expect("it has one, or it would read nothing");
        let read = self.0.topology.references().read_by(*key);
        // A value that consists of a single `${…}` awaits the same output as the property that it reads.
        if let (Template::Text(parts), [Some(only)]) = (template, read)
            && parts.len() == 1
            && let Found::Awaits(awaited) = self.0.found(*only)
        {
            return self.0.set(*key, Found::Awaits(awaited));
        }
        let answer = self.0.fill(template, &mut read.iter());
        self.0.answered(*key, answer);
    }

    fn cycle<'k>(
        &mut self,
        open: impl Iterator<Item = &'k Key> + Clone,
        again: &'k Key,
    ) -> Result<(), ResolveError> {
        open.clone().for_each(|key| self.0.set(*key, Found::Nothing));
        let full_name = |key: &Key| {
            let (element, name, _) = self.0.at(*key);
            format!("{}.{name}", element.name)
        };
        let cycle = open.skip_while(|key| *key != again).chain([again]);
        Err(ResolveError::Cycle(cycle.map(full_name).collect()))
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
