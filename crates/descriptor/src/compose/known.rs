//! Evaluates texts that must be known before anything is created: numbers of nodes, and the required
//! properties of references.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;

use windlass_model::resolve::{Entered, Joined, ResolveError, ValueGraph, Visits, evaluate};
use windlass_model::template::InstanceField;
use windlass_model::{ElementName, Part, PropertyName, Template};
use windlass_secret::{SecretRef, Sensitive};

use super::elements::Elements;

/// Maximum length in bytes of a text that must be known before anything is created. The limit is small,
/// because the text is evaluated again for each value that reads it.
const LONGEST: usize = 64 << 10;

/// A text, and whether it contains a secret.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) text: String,
    pub(super) sensitive: bool,
}

impl Known {
    /// Returns the text for a message; `***` if the text is secret.
    pub(super) fn shown(&self) -> &str {
        if self.sensitive { windlass_secret::MASK } else { &self.text }
    }
}

/// The reason why the value of a text is not known.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Unknown {
    /// The text reads this property, which has no value or will get its value later.
    Property(ElementName, PropertyName),
    /// The value can't be evaluated. For example, the value is a list, is too long, depends on itself, or
    /// contains the id of an instance that is not created yet.
    Other,
}

impl From<ResolveError> for Unknown {
    fn from(_: ResolveError) -> Self {
        Self::Other
    }
}

/// Evaluates a template to a text. A `${…}` in the template can read only the elements that the composition has
/// created so far. Fails if the value of a `${…}` is not known yet.
pub(super) fn known(
    template: &Template,
    elements: &Elements,
    secrets: &BTreeMap<SecretRef, Sensitive<String>>,
) -> Result<Known, Unknown> {
    let mut texts = Texts { elements, secrets, found: HashMap::new() };
    let mut visits = Visits::default();
    let parts = parts(template)?;
    for part in parts {
        if let Some(key) = texts.read(part) {
            let Ok(()) = evaluate(&mut texts, &mut visits, key);
        }
    }
    texts.join(parts)
}

/// A property: the index of its element, and its index in the element.
type Key = (usize, usize);

/// The state of the evaluation of one template. `found` contains the values of all properties that the template reads,
/// directly or through other properties.
struct Texts<'c> {
    elements: &'c Elements,
    secrets: &'c BTreeMap<SecretRef, Sensitive<String>>,
    /// The results by property. The result is `None` while the property is being evaluated.
    found: HashMap<Key, Option<Result<Known, Unknown>>>,
}

impl Texts<'_> {
    /// Returns the property to which `part` refers, for example `${web.port}`. Returns `None` if `part` does not
    /// refer to a property, or if the property does not exist.
    fn read(&self, part: &Part) -> Option<Key> {
        let Part::Property { element, property } = part else { return None };
        let at = self.elements.position(element)?;
        Some((at, self.elements.all()[at].properties.get_index_of(property)?))
    }

    fn join(&self, parts: &[Part]) -> Result<Known, Unknown> {
        let mut joined = Joined::with_limit(LONGEST);
        for part in parts {
            match part {
                Part::Literal(text) => joined.push(text, false)?,
                Part::Instance { element, field: InstanceField::Name } => {
                    joined.push(element.as_str(), false)?;
                }
                Part::Secret(secret) => {
                    let value = self.secrets.get(secret).ok_or(Unknown::Other)?;
                    joined.push(value.expose(), true)?;
                }
                Part::Property { element, property } => {
                    let unknown = || Unknown::Property(element.clone(), property.clone());
                    let found = self.found.get(&self.read(part).ok_or_else(unknown)?);
                    // A property that is read here has been evaluated before. If it has no result, it reads
                    // itself in a cycle.
                    let known = found.and_then(Option::as_ref).ok_or(Unknown::Other)?;
                    let known = known.as_ref().map_err(Clone::clone)?;
                    joined.push(&known.text, known.sensitive)?;
                }
                _ => return Err(Unknown::Other),
            }
        }
        let sensitive = joined.is_sensitive();
        Ok(Known { text: joined.into_text(), sensitive })
    }

    /// Returns the value of a property as the parts of a text: literals and `${…}`. Fails if the property has
    /// no value, or if the value is no text.
    fn parts(&self, (element, property): Key) -> Result<&[Part], Unknown> {
        let element = &self.elements.all()[element];
        let (name, property) = element.properties.get_index(property).expect("a key is of a property");
        let unknown = || Unknown::Property(element.name.clone(), name.clone());
        parts(property.value.as_ref().ok_or_else(unknown)?)
    }
}

impl ValueGraph for Texts<'_> {
    type Key = Key;
    type Error = Infallible;

    fn enter(&mut self, key: &Key, read: impl FnMut(Key)) -> Entered {
        match self.found.get(key) {
            Some(Some(_)) => return Entered::Answered,
            Some(None) => return Entered::Cycle,
            None => {}
        }
        let opened =
            self.parts(*key).map(|parts| parts.iter().filter_map(|part| self.read(part)).for_each(read));
        let answer = opened.err().map(Err);
        let entered = if answer.is_some() { Entered::Answered } else { Entered::Opened };
        self.found.insert(*key, answer);
        entered
    }

    fn leave(&mut self, key: &Key) {
        let mut text = self.parts(*key).and_then(|parts| self.join(parts));
        if let Ok(text) = &mut text {
            text.sensitive |= self.elements.all()[key.0].properties[key.1].sensitive;
        }
        self.found.insert(*key, Some(text));
    }

    /// Does nothing, because `join` handles the cycle. If a property reads itself through other properties, the
    /// property has no result yet when its value is needed. `join` then returns an unknown value.
    fn cycle<'k>(&mut self, _: impl Iterator<Item = &'k Key> + Clone, _: &'k Key) -> Result<(), Infallible> {
        Ok(())
    }
}

fn parts(template: &Template) -> Result<&[Part], Unknown> {
    match template {
        Template::Text(parts) => Ok(parts),
        _ => Err(Unknown::Other),
    }
}
