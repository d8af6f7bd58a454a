//! The canonical form of descriptors.
//!
//! The canonical form has a fixed order of sections and keys. If the language permits several notations for the same
//! value, the canonical form always uses the same notation. For example, `port: 80` in a section `properties` becomes
//! `port: {value: 80}`.

use windlass_source::{Entry, Mapping, Node};

use super::item::{Body, Item};
use crate::document::Descriptor;
use crate::keys;
use crate::reader::canonical as meant;

/// The position of a value in a descriptor. The position determines the meaning of each `${…}` in the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position<'a> {
    /// The value is in the properties, metrics or policies of the assembly or resource itself.
    Own,
    /// The value is in the key `quantity` of a component, or in a key of the component's section `cluster`. Such a
    /// value is a number of nodes.
    Number,
    /// The value is in the properties of this component.
    Component(&'a str),
    /// The value is in the properties of this reference.
    Reference(&'a str),
    /// The value is in the properties of this relationship.
    Relationship(&'a str),
}

/// Decides which values the output contains. One implementation copies the values of the descriptor unchanged.
/// The other implementation, for [`resolve`](crate::resolve()), inserts values in place of `${…}`.
pub(crate) trait Fill {
    /// Returns the value to write in place of `node`.
    fn fill(&mut self, node: &Node, position: &Position<'_>) -> Item;

    /// Tells the implementation that the next values belong to the property `name`. [`canonical`] calls `enter` once
    /// for each property, before it calls [`fill`](Self::fill) for the values of the property.
    fn enter(&mut self, name: &str, position: &Position<'_>) {
        let _ = (name, position);
    }

    /// Returns the declaration to write for the property `name`. The default implementation returns `body`.
    ///
    /// `body` is the declaration in canonical form: null, or a mapping such as `{type: integer, value: 80}`. The
    /// values of its keys `value` and `default` come from [`fill`](Self::fill).
    fn property(&mut self, name: &str, body: Item, position: &Position<'_>) -> Item {
        let _ = (name, position);
        body
    }

    /// Returns the `type` to write for a component or reference.
    fn kind(&mut self, node: &Node, position: &Position<'_>) -> Item {
        let _ = position;
        Item::of(node)
    }
}

const METRIC: [&str; 3] = ["type", "publication-period", "source-metric"];

const POLICY: [&str; 4] = ["type", "metric", "target", "properties"];

/// Returns the canonical form of `descriptor`. `root` is the YAML tree of the descriptor's text, and `fill` decides
/// which values the result contains. If `root` is `None`, the result is an empty mapping.
pub(crate) fn canonical(descriptor: &Descriptor, root: Option<&Node>, fill: &mut dyn Fill) -> Item {
    let Some(mapping) = root.and_then(Node::as_mapping) else {
        return root.map_or(Item::new(Body::Map(Vec::new())), Item::of);
    };
    let order: &[&str] = match descriptor {
        Descriptor::Assembly(_) => keys::ASSEMBLY.names,
        Descriptor::Resource(_) => keys::RESOURCE.names,
    };
    let mut canonical = Canonical { values: fill };
    let mut document = canonical.entries(mapping, order, |writer, key, node| match key {
        "properties" | "private-properties" => writer.properties(node, Position::Own),
        "composition" => {
            writer.section(node, |writer, name, node| writer.part(node, Position::Component(name)))
        }
        "references" => {
            writer.section(node, |writer, name, node| writer.part(node, Position::Reference(name)))
        }
        "relationships" => writer.section(node, Canonical::relationship),
        "metrics" => writer
            .section(node, |writer, _, node| writer.body(node, &METRIC, |writer, _, node| writer.own(node))),
        "policies" => writer.section(node, |writer, _, node| writer.policy(node)),
        _ => Item::of(node),
    });
    // If the text contains no name, but the project has supplied a name, the output contains the name of the
    // project.
    if let (Body::Map(entries), Some(name)) = (&mut document.body, descriptor.name()) {
        match entries.iter_mut().find(|(key, _)| key == "name") {
            Some((_, item)) if item.body == Body::Null => *item = Item::text(name.to_string()),
            Some(_) => {}
            None => entries.insert(0, ("name".into(), Item::text(name.to_string()))),
        }
    }
    document
}

struct Canonical<'f> {
    values: &'f mut dyn Fill,
}

impl Canonical<'_> {
    /// Converts a mapping to an item. The keys that `order` contains come first, in this order. The other keys
    /// follow in their original order. `make` converts the value of each key.
    fn entries(
        &mut self,
        mapping: &Mapping,
        order: &[&str],
        mut make: impl FnMut(&mut Self, &str, &Node) -> Item,
    ) -> Item {
        let mut entries: Vec<(usize, &str, &Entry)> = mapping
            .iter()
            .map(|entry| {
                let key = spelled(mapping, entry, order);
                (order.iter().position(|known| *known == key).unwrap_or(order.len()), key, entry)
            })
            .collect();
        entries.sort_by_key(|(place, ..)| *place);
        let items = entries.into_iter().map(|(_, key, entry)| (key.into(), make(self, key, &entry.value)));
        Item::new(Body::Map(items.collect()))
    }

    /// Builds a mapping as [`entries`](Self::entries) does. A node that is no mapping is copied unchanged.
    fn body(
        &mut self,
        node: &Node,
        order: &[&str],
        make: impl FnMut(&mut Self, &str, &Node) -> Item,
    ) -> Item {
        match node.as_mapping() {
            Some(mapping) => self.entries(mapping, order, make),
            None => Item::of(node),
        }
    }

    /// Converts a section whose keys are names, such as `composition`. The names keep their order. `make` converts the
    /// value of each name. A node that is no mapping is copied unchanged.
    fn section(&mut self, node: &Node, mut make: impl FnMut(&mut Self, &str, &Node) -> Item) -> Item {
        self.body(node, &[], |writer, key, node| make(writer, key, node))
    }

    fn properties(&mut self, node: &Node, position: Position<'_>) -> Item {
        self.section(node, |writer, name, node| {
            writer.values.enter(name, &position);
            let body = match node.as_mapping() {
                Some(mapping) => {
                    writer.entries(mapping, keys::PROPERTY.names, |writer, key, node| match key {
                        "default" | "value" => writer.values.fill(node, &position),
                        _ => Item::of(node),
                    })
                }
                None if node.is_null() => Item::of(node),
                // A node that is no mapping is the value of the property.
                None => Item::new(Body::Map(vec![("value".into(), writer.values.fill(node, &position))])),
            };
            writer.values.property(name, body, &position)
        })
    }

    fn part(&mut self, node: &Node, position: Position<'_>) -> Item {
        self.body(node, keys::COMPONENT.names, |writer, key, node| match key {
            "type" => writer.values.kind(node, &position),
            "quantity" => writer.values.fill(node, &Position::Number),
            "cluster" => writer.body(node, keys::CLUSTER.names, |writer, key, node| match key {
                "each" | "key" => Item::of(node),
                _ => writer.values.fill(node, &Position::Number),
            }),
            "properties" => writer.properties(node, position),
            _ => Item::of(node),
        })
    }

    fn relationship(&mut self, name: &str, node: &Node) -> Item {
        self.body(node, keys::RELATIONSHIP.names, |writer, key, node| match key {
            "properties" => writer.properties(node, Position::Relationship(name)),
            "source-capabilities" | "target-requirements"
                if node.as_scalar().is_some() && !node.is_null() =>
            {
                Item::new(Body::List(vec![Item::of(node)]))
            }
            _ => Item::of(node),
        })
    }

    fn policy(&mut self, node: &Node) -> Item {
        self.body(node, &POLICY, |writer, key, node| match key {
            "properties" => writer.section(node, |writer, _, node| match node.as_mapping() {
                Some(_) => writer.body(node, &["value"], |writer, _, node| writer.own(node)),
                None => Item::new(Body::Map(vec![("value".into(), writer.own(node))])),
            }),
            _ => writer.own(node),
        })
    }

    fn own(&mut self, node: &Node) -> Item {
        self.values.fill(node, &Position::Own)
    }
}

/// Returns the key of an entry of `mapping`. If `KEY_SPELLINGS` lists the key as misspelt, returns the correct key
/// instead. But a misspelt key is returned unchanged in these cases:
///
/// - `order` does not contain the correct key.
/// - `mapping` also contains the correct key.
/// - An earlier entry of `mapping` has a misspelling of the same key.
fn spelled<'m>(mapping: &Mapping, entry: &'m Entry, order: &[&str]) -> &'m str {
    let key = entry.key.text();
    let right = meant(key);
    let first =
        || mapping.iter().find(|other| meant(other.key.text()) == right).map(|other| other.key.span());
    let counts = right != key
        && order.contains(&right)
        && mapping.get(right).is_none()
        && first() == Some(entry.key.span());
    if counts { right } else { key }
}
