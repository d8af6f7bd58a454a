//! Evaluates text that must be known before anything is created: numbers of nodes, and the properties of
//! references.

use std::collections::HashSet;

use windlass_model::template::InstanceField;
use windlass_model::{ElementName, Part, PropertyName, Template};

use super::composer::Composer;

/// Maximum bytes of such a text: properties that double each other grow exponentially.
const LONGEST: usize = 64 << 10;

/// A text, and whether it is secret or contains a secret.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) text: String,
    pub(super) sensitive: bool,
}

impl Known {
    /// Returns the text for messages, masked if it is sensitive.
    pub(super) fn shown(&self) -> &str {
        if self.sensitive { windlass_secret::MASK } else { &self.text }
    }
}

/// The reason why a text is unknown.
#[derive(Debug, PartialEq)]
pub(super) enum Unknown {
    /// A property that it reads has no value, or none yet.
    Property(ElementName, PropertyName),
    /// It is no text, is too long, or depends on a property that only a running instance has.
    Other,
}

type Key<'c> = (usize, &'c PropertyName);

/// A template that is being evaluated, with the text so far.
struct Open<'c> {
    parts: std::slice::Iter<'c, Part>,
    known: Known,
    /// Property whose value it is; `None` for the outermost template.
    key: Option<Key<'c>>,
}

impl Composer<'_> {
    /// Evaluates text from the elements created so far. References are followed without recursion.
    pub(super) fn known(&self, template: &Template) -> Result<Known, Unknown> {
        let mut stack = vec![Open { parts: texts(template)?.iter(), known: Known::default(), key: None }];
        let mut open = HashSet::new();
        loop {
            let Some(top) = stack.last_mut() else { return Err(Unknown::Other) };
            match top.parts.next() {
                Some(Part::Literal(text)) => top.known.text.push_str(text),
                Some(Part::Instance { element, field: InstanceField::Name }) => {
                    top.known.text.push_str(element.as_str());
                }
                Some(Part::Secret(secret)) => {
                    let value = self.secrets.get(secret).ok_or(Unknown::Other)?;
                    top.known.text.push_str(value.expose());
                    top.known.sensitive = true;
                }
                Some(Part::Property { element, property }) => {
                    let next = self.open(element, property)?;
                    if next.key.is_some_and(|key| !open.insert(key)) {
                        return Err(Unknown::Other);
                    }
                    stack.push(next);
                }
                Some(_) => return Err(Unknown::Other),
                None => {
                    let Some(done) = stack.pop() else { return Err(Unknown::Other) };
                    if let Some(key) = done.key {
                        open.remove(&key);
                    }
                    let Some(reader) = stack.last_mut() else { return Ok(done.known) };
                    reader.known.text.push_str(&done.known.text);
                    reader.known.sensitive |= done.known.sensitive;
                }
            }
            if stack.last().is_some_and(|top| top.known.text.len() > LONGEST) {
                return Err(Unknown::Other);
            }
        }
    }

    fn open<'c>(&'c self, element: &ElementName, name: &PropertyName) -> Result<Open<'c>, Unknown> {
        let unknown = || Unknown::Property(element.clone(), name.clone());
        let at = *self.places.get(element).ok_or_else(unknown)?;
        let (name, property) = self.elements[at].properties.get_key_value(name).ok_or_else(unknown)?;
        let parts = texts(property.value.as_ref().ok_or_else(unknown)?)?;
        let known = Known { text: String::new(), sensitive: property.sensitive };
        Ok(Open { parts: parts.iter(), known, key: Some((at, name)) })
    }
}

fn texts(template: &Template) -> Result<&[Part], Unknown> {
    match template {
        Template::Text(parts) => Ok(parts),
        _ => Err(Unknown::Other),
    }
}
