//! Compares two documents.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::value::{Map, Node, Value};

/// A place at which two documents differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Node at this place in the first document; none if the document has no such node.
    pub a: Option<Node>,
    /// Node at this place in the second document; none if the document has no such node.
    pub b: Option<Node>,
    /// Path to the place at which the documents differ. A step of the path is the key of a field, the `name` of a
    /// named list entry, or `[i]` for a list entry without a name.
    ///
    /// In a list with the key `jobs`, the positions of named entries are also compared. If an entry has different
    /// positions in the two documents, this counts as a difference. The path of this difference ends with the step
    /// `index`, and the fields `a` and `b` are the two positions.
    pub path: Vec<String>,
}

/// Returns the differences of two documents.
///
/// Two lists are compared entry by entry. If neither list is empty, and every entry of both lists has a text in its
/// field `name`, the entries with the same name are compared. In all other cases, the entries at the same position
/// are compared.
///
/// The differences in two maps are sorted by key. In two lists, the differences at the entries of `a` come first,
/// in the order of `a`. The differences at entries that only `b` contains follow.
///
/// ```
/// use windlass_source::Source;
/// use windlass_spiff::{diff, yaml};
///
/// let read = |text: &str| yaml::read_document(&Source::new("a.yaml", text));
/// let differences = diff(&read("a: 1\nb: [x]\n")?, &read("a: 2\nb: [x]\n")?);
/// assert_eq!(differences.len(), 1);
/// assert_eq!(differences[0].path, ["a"]);
/// # Ok::<(), windlass_spiff::yaml::ReadError>(())
/// ```
pub fn diff(a: &Node, b: &Node) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut path = Vec::new();
    compare(Some(a), Some(b), &mut path, &mut differences);
    differences
}

fn compare(a: Option<&Node>, b: Option<&Node>, path: &mut Vec<String>, found: &mut Vec<Difference>) {
    // A list whose entries have names is compared like a map, if the other document has a map at this place.
    let named = |node: Option<&Node>, other: Option<&Node>| {
        let list = node?.as_list()?;
        other?.as_map()?;
        by_name(list)
    };
    let (left, right) = (named(a, b), named(b, a));
    let (a, b) = (left.as_ref().or(a), right.as_ref().or(b));
    crate::too_deep::with_stack(|| match (a.map(Node::value), b.map(Node::value)) {
        (Some(Value::Map(left)), Some(Value::Map(right))) => {
            let keys: BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for key in keys {
                path.push(key.to_string());
                compare(left.get(key), right.get(key), path, found);
                path.pop();
            }
        }
        (Some(Value::List(left)), Some(Value::List(right))) => lists(left, right, path, found),
        (left, right) => {
            if left != right {
                found.push(Difference { a: a.cloned(), b: b.cloned(), path: path.clone() });
            }
        }
    });
}

/// Compares the position of an entry in the list `left` with its position in the list `right`. `path` is the path of
/// the entry, and ends with the name of the entry. The function is called only for lists with the key `jobs`, because
/// the order of jobs has a meaning in manifests of BOSH.
fn positions(left: &[Node], right: &[Node], path: &mut Vec<String>, found: &mut Vec<Difference>) {
    let wanted = path.last().cloned();
    let position = |list: &[Node]| {
        let at =
            list.iter().position(|node| node.get("name").and_then(|name| name.as_str()) == wanted.as_deref());
        at.and_then(|at| i64::try_from(at).ok()).map(Node::new)
    };
    let (a, b) = (position(left), position(right));
    if a.as_ref().map(Node::value) != b.as_ref().map(Node::value) {
        path.push("index".into());
        found.push(Difference { a, b, path: path.clone() });
        path.pop();
    }
}

/// Returns a map from the name of each list entry to its other fields. Returns `None` if an entry has no
/// name, or if two entries have the same name.
fn by_name(list: &[Node]) -> Option<Node> {
    let entry = |node: &Node| {
        let mut map = node.as_map()?.clone();
        let name = map.remove("name")?;
        Some((Arc::from(name.as_str()?), node.with_value(Value::from(map))))
    };
    let map: Option<Map> = list.iter().map(entry).collect();
    Some(Node::new(Value::from(map.filter(|map| map.len() == list.len())?)))
}

fn lists(left: &[Node], right: &[Node], path: &mut Vec<String>, found: &mut Vec<Difference>) {
    let name = |node: &Node| node.get("name").and_then(|name| name.as_str()).map(str::to_owned);
    let named = |list: &[Node]| !list.is_empty() && list.iter().all(|node| name(node).is_some());
    if named(left) && named(right) {
        let entry = |list: &[Node], wanted: &str| {
            list.iter().find(|node| name(node).as_deref() == Some(wanted)).cloned()
        };
        let mut seen = BTreeSet::new();
        for key in left.iter().chain(right).filter_map(name) {
            if seen.insert(key.clone()) {
                let (a, b) = (entry(left, &key), entry(right, &key));
                let jobs = path.last().is_some_and(|step| step == "jobs");
                path.push(key);
                if jobs && a.is_some() && b.is_some() {
                    positions(left, right, path, found);
                }
                compare(a.as_ref(), b.as_ref(), path, found);
                path.pop();
            }
        }
        return;
    }
    for at in 0..left.len().max(right.len()) {
        path.push(format!("[{at}]"));
        compare(left.get(at), right.get(at), path, found);
        path.pop();
    }
}
