//! Inserts values in place of `${…}` in a descriptor, if the values are known before anything is created.
//!
//! The result is a valid descriptor in canonical form. If a value is not known, the `${…}` stays, and a comment
//! in the same line states the reason. For example, a driver will publish the value later, the value differs
//! between nodes, or a parameter is missing. The result contains no secrets. A reference to a secret stays a
//! `${…}`, and `***` replaces the literal of a sensitive property.
//!
//! The function [`compose`](crate::compose()) refuses an assembly if a descriptor, a parameter or the
//! instance of a reference is missing. [`resolve`] accepts such an assembly, and the values that depend on
//! the missing thing stay unknown.

mod values;

use std::sync::Arc;

use windlass_source::{Diagnostics, LoadOptions, Node, Place, Reading, Source, load_one};

use crate::check::{Missing, check};
use crate::compose::{Request, refused};
use crate::document::{AssemblyDescriptor, Descriptor};
use crate::emit::{Body, Fill, Item, Position, canonical, root, write};
use crate::read::read;
use crate::template::{Segment, Value, ValueKind};
use values::{Found, Spot, Values};

/// The text that replaces a secret literal.
const MASK: &str = "***";

/// A descriptor in which known values have replaced `${…}`.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Descriptor as YAML text in canonical form, with comments.
    pub text: String,
    /// The `${…}` that were not replaced, in the order of the text.
    pub left: Vec<Left>,
}

impl Resolved {
    /// Returns the descriptor as JSON data, without comments.
    pub fn document(&self) -> serde_json::Value {
        let source = Source::with_limit("resolved", self.text.as_str(), self.text.len());
        let root = load_one(&source, &LoadOptions::default()).root;
        root.map(|root| root.to_value(Reading::Text)).unwrap_or_default()
    }
}

/// A `${…}` that was not replaced.
#[derive(Debug, Clone)]
pub struct Left {
    /// Place of the value that contains the `${…}`.
    pub place: Place,
    /// Text inside the braces, such as `web.url` for `${web.url}`.
    pub reference: String,
    /// Reason why the value of the `${…}` is not known, or is not shown.
    pub reason: String,
}

/// Returns an assembly descriptor with values in place of `${…}`. If a value is not known, the `${…}` stays. The
/// descriptor must have been read without errors.
///
/// # Errors
/// Returns the errors that [`check`](mod@crate::check) finds in the descriptor. Reading the descriptor does not detect
/// these errors. Also returns the errors about the parameters, and the errors in the result.
pub fn resolve(assembly: &Arc<AssemblyDescriptor>, request: Request<'_>) -> Result<Resolved, Diagnostics> {
    let descriptor = Descriptor::Assembly(assembly.clone());
    let mut diagnostics = check(&descriptor, request.catalog, Missing::Tolerated);
    diagnostics.extend(request.parameters.keys().filter_map(|name| refused(assembly, name, None)));
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let resolved = filled(assembly, request);
    // The result is read and checked again, because an inserted value may be invalid at its place. An example
    // is a word in place of a number of nodes.
    let Resolved { text, left } = resolved;
    let limit = text.len().max(assembly.source.limit());
    let source = Source::with_limit(format!("{} (resolved)", assembly.source.name()), text, limit);
    let again = read(&source);
    let mut diagnostics = again.diagnostics;
    diagnostics.extend(
        again.descriptor.map(|again| check(&again, request.catalog, Missing::Tolerated)).unwrap_or_default(),
    );
    if diagnostics.has_errors() {
        return Err(diagnostics.into_iter().filter(windlass_source::Diagnostic::is_error).collect());
    }
    Ok(Resolved { text: source.text().to_owned(), left })
}

/// Does the work of [`resolve`], without the checks.
fn filled(assembly: &Arc<AssemblyDescriptor>, request: Request<'_>) -> Resolved {
    let descriptor = Descriptor::Assembly(assembly.clone());
    let mut known = Known {
        assembly,
        values: Values::new(assembly, request),
        sensitive: false,
        left: Vec::new(),
        written: 0,
    };
    let document = canonical(&descriptor, root(&descriptor).as_ref(), &mut known);
    let left = known.left;
    drop(known.values);
    Resolved { text: write(&document), left }
}

/// The [`Fill`] that inserts known values in place of `${…}`.
struct Known<'a> {
    assembly: &'a Arc<AssemblyDescriptor>,
    values: Values<'a>,
    /// Whether the property whose values are written now is sensitive.
    sensitive: bool,
    left: Vec<Left>,
    /// Length in bytes of all texts that have replaced a `${…}`.
    written: usize,
}

/// Maximum number of entries in [`Resolved::left`].
const MOST_LEFT: usize = 100_000;

/// Maximum number of reasons in the comment about one value.
const MOST_REASONS: usize = 8;

/// Maximum total length, in bytes, of the texts that replace the `${…}` of a descriptor. Without a limit, the output
/// could grow too large, because each `${…}` that reads a long value adds a copy of the value.
const GROWTH: usize = 16 << 20;

impl Known<'_> {
    fn value(&mut self, value: &Value, spot: &Spot<'_>, node: &Node) -> Item {
        match &value.kind {
            ValueKind::Null => Item::new(Body::Null),
            ValueKind::Text(segments) => self.text(segments, spot, node),
            ValueKind::List(items) => {
                Item::new(Body::List(items.iter().map(|item| self.value(item, spot, node)).collect()))
            }
            ValueKind::Map(entries) => {
                let entries =
                    entries.iter().map(|(key, value)| (key.as_str().into(), self.value(value, spot, node)));
                Item::new(Body::Map(entries.collect()))
            }
        }
    }

    fn text(&mut self, segments: &[Segment], spot: &Spot<'_>, node: &Node) -> Item {
        let (mut text, mut reasons) = (String::new(), Vec::new());
        for segment in segments {
            let reference = match segment {
                Segment::Literal(_) if self.sensitive => {
                    return Item { body: Body::Text(MASK.into()), comment: Some("a secret".into()) };
                }
                Segment::Literal(literal) => {
                    text.push_str(literal);
                    continue;
                }
                Segment::Reference(reference) => reference,
            };
            let reason = match self.values.of(reference, spot) {
                Found::Text { secret: true, .. } => "a secret".to_owned(),
                Found::Text { .. } if self.sensitive => "a secret".to_owned(),
                Found::Text { text: known, .. } if known.contains("${") => {
                    "its value has `${` in it".to_owned()
                }
                Found::Text { text: known, .. } if self.written + known.len() > GROWTH => {
                    "it is too long to be written out".to_owned()
                }
                Found::Text { text: known, .. } => {
                    self.written += known.len();
                    text.push_str(&known);
                    continue;
                }
                Found::Unknown { reason } => reason.to_string(),
            };
            text.push_str("${");
            text.push_str(&reference.text);
            text.push('}');
            if self.left.len() < MOST_LEFT {
                self.left.push(Left {
                    place: self.assembly.source.place(node.span()),
                    reference: reference.text.to_string(),
                    reason: reason.clone(),
                });
            }
            if reasons.len() < MOST_REASONS && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        let comment = (!reasons.is_empty()).then(|| reasons.join("; ").into());
        Item { body: Body::Text(text.into()), comment }
    }

    /// Returns the declaration of a property whose value the user gives as the parameter `given`. In the
    /// declaration `body`, the parameter replaces the keys `value` and `default`. If the property is sensitive, or
    /// if the parameter contains `${`, the result contains a comment in place of the parameter.
    fn given(&self, body: Item, given: &serde_json::Value) -> Item {
        let mut entries = match body.body {
            Body::Map(entries) => entries,
            _ => Vec::new(),
        };
        entries.retain(|(key, _)| key != "default" && key != "value");
        let comment = match value_of(given) {
            _ if self.sensitive => Some("given, and not shown: a secret"),
            None => Some("given, and not shown: it has `${` in it, which would be a reference here"),
            Some(value) => {
                entries.push(("value".into(), value));
                None
            }
        };
        Item { body: Body::Map(entries), comment: comment.map(Box::from) }
    }
}

/// Converts the value of a parameter for the output. Returns `None` if a text in the value contains `${`. In the
/// parameter, `${` is plain text, but a reader of the output would evaluate the `${…}`.
fn value_of(given: &serde_json::Value) -> Option<Item> {
    use serde_json::Value as Json;
    Some(match given {
        Json::Null => Item::new(Body::Null),
        Json::String(text) if text.contains("${") => return None,
        Json::String(text) => Item::text(text),
        Json::Array(items) => Item::new(Body::List(items.iter().map(value_of).collect::<Option<_>>()?)),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| Some((key.as_str().into(), value_of(value)?)));
            Item::new(Body::Map(entries.collect::<Option<_>>()?))
        }
        other => Item::text(other.to_string()),
    })
}

impl Fill for Known<'_> {
    fn fill(&mut self, node: &Node, position: &Position<'_>) -> Item {
        // The errors are dropped, because they were already reported when the descriptor was read.
        let value = Value::read(&self.assembly.source, node, &mut Diagnostics::new());
        let spot = self.values.spot(position);
        self.value(&value, &spot, node)
    }

    fn enter(&mut self, name: &str, position: &Position<'_>) {
        self.sensitive = self.values.is_sensitive(name, position);
    }

    fn property(&mut self, name: &str, body: Item, position: &Position<'_>) -> Item {
        let given = match position {
            Position::Own => self.values.given(name),
            _ => None,
        };
        let made = match given {
            Some(given) => self.given(body, given),
            None => body,
        };
        self.sensitive = false;
        made
    }

    fn kind(&mut self, node: &Node, position: &Position<'_>) -> Item {
        match self.values.kind(position) {
            Some(kind) => Item::text(kind),
            None => Item::of(node),
        }
    }
}
