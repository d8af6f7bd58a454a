//! A descriptor with everything filled in that is known before anything is made.
//!
//! What comes out is a valid descriptor in canonical form. A `${…}` whose value is not known yet stays, with the reason
//! as a comment behind it: what a driver will publish, what differs from node to node, what nobody has given. Secrets
//! are never written: a reference to one stays, and a literal is masked.
//!
//! Unlike [`compose`](mod@crate::compose) this does not need everything to be at hand: a descriptor that is not in the
//! catalog, a reference that fits nothing, a parameter that is missing only leave more unknown.

mod values;

use std::sync::Arc;

use windlass_source::{Diagnostics, LoadOptions, Node, Place, Reading, Source, load_one};

use crate::check::{Missing, check};
use crate::compose::{Request, refused};
use crate::document::{AssemblyDescriptor, Descriptor, read};
use crate::emit::{Body, Fill, Item, Position, canonical, root, write};
use crate::template::{Segment, Value, ValueKind};
use values::{Found, Spot, Values};

/// What stands for a literal that must not be seen.
const MASK: &str = "***";

/// A descriptor, filled in.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The descriptor as YAML in canonical form, with comments.
    pub text: String,
    /// The references that are left, in the order of the text.
    pub left: Vec<Left>,
}

impl Resolved {
    /// Returns the descriptor as data, without comments.
    pub fn document(&self) -> serde_json::Value {
        let source = Source::with_limit("resolved", self.text.as_str(), self.text.len());
        let root = load_one(&source, &LoadOptions::default()).root;
        root.map(|root| root.to_value(Reading::Text)).unwrap_or_default()
    }
}

/// A reference whose value is not filled in.
#[derive(Debug, Clone)]
pub struct Left {
    /// Where the value stands that it is in.
    pub place: Place,
    /// What is between the braces.
    pub reference: String,
    /// Why it is left.
    pub reason: String,
}

/// Fills in what is known. The assembly must have been read without errors.
///
/// # Errors
/// When a check finds errors in the descriptor, or what is given is wrong: all of it. Then there is nothing to print
/// that would be valid.
pub fn resolve(assembly: &Arc<AssemblyDescriptor>, request: Request<'_>) -> Result<Resolved, Diagnostics> {
    let descriptor = Descriptor::Assembly(assembly.clone());
    let mut diagnostics = check(&descriptor, request.catalog, Missing::Tolerated);
    diagnostics.extend(request.parameters.keys().filter_map(|name| refused(assembly, name, None)));
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let resolved = filled(assembly, request);
    // What was given may make no sense: a word for a number of nodes, say.
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

/// Writes the descriptor with what is known.
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
    Resolved { text: write(&document, assembly.source.text().len()), left }
}

/// Fills in values as a descriptor is written.
struct Known<'a> {
    assembly: &'a Arc<AssemblyDescriptor>,
    values: Values<'a>,
    /// Whether the property that is being written must not be seen.
    sensitive: bool,
    left: Vec<Left>,
    /// The bytes that have been put in for references.
    written: usize,
}

/// The most references that are listed as left.
const MOST_LEFT: usize = 100_000;

/// The most reasons that are written behind a value.
const MOST_REASONS: usize = 8;

/// The most bytes that are put in for references: what many read is written out for each of them.
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

    /// Puts a given value in the place of a property's own.
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

/// Makes what is written for a given value; none where it would mean something else when it is read.
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
        // What is wrong with it has been reported when the descriptor was read.
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
