//! Digests of the sections of `windlass.yaml`.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};
use windlass_source::{Entry, Kind, Mapping, Node, Reading};

/// Returns a digest of each location and of each driver. The key of a digest is `locations.NAME` or `drivers.NAME`.
/// Comments, the layout and the order of keys do not affect a digest. A property of a location does not either if
/// `is_secret` returns true for the names of the location and the property.
pub(crate) fn digests(root: &Mapping, is_secret: &dyn Fn(&str, &str) -> bool) -> BTreeMap<String, String> {
    let mut digests = BTreeMap::new();
    for key in ["locations", "drivers"] {
        let entries = root.get(key).and_then(Node::as_mapping).map(Mapping::entries).unwrap_or_default();
        for Entry { key: name, value, .. } in entries {
            let name = name.text();
            let mut digest = Sha256::new();
            match value.as_mapping().filter(|_| key == "locations") {
                Some(location) => feed_map(&mut digest, location, &mut |digest, entry| match entry
                    .value
                    .as_mapping()
                    .filter(|_| entry.key.text() == "properties")
                {
                    Some(properties) => feed_map(digest, properties, &mut |digest, entry| {
                        if is_secret(name, entry.key.text()) {
                            digest.update("null");
                        } else {
                            feed(digest, &entry.value);
                        }
                    }),
                    None => feed(digest, &entry.value),
                }),
                None => feed(&mut digest, value),
            }
            digests.insert(format!("{key}.{name}"), format!("sha256:{}", hex::encode(digest.finalize())));
        }
    }
    digests
}

/// Feeds a node to a digest, as JSON whose keys are sorted. A large node needs no second copy in memory.
fn feed(digest: &mut Sha256, node: &Node) {
    match node.kind() {
        Kind::Mapping(mapping) => feed_map(digest, mapping, &mut |digest, entry| feed(digest, &entry.value)),
        Kind::Sequence(items) => {
            digest.update("[");
            for item in items {
                feed(digest, item);
                digest.update(",");
            }
            digest.update("]");
        }
        Kind::Scalar(_) => digest.update(node.to_value(Reading::Script).to_string()),
    }
}

/// Feeds a mapping to a digest. `feed_value` feeds the value of an entry.
fn feed_map(digest: &mut Sha256, mapping: &Mapping, feed_value: &mut dyn FnMut(&mut Sha256, &Entry)) {
    let mut entries: Vec<&Entry> = mapping.iter().collect();
    entries.sort_by_key(|entry| entry.key.text());
    digest.update("{");
    for entry in entries {
        digest.update(serde_json::Value::from(entry.key.text()).to_string());
        digest.update(":");
        feed_value(digest, entry);
        digest.update(",");
    }
    digest.update("}");
}
