//! Checks JSON values against a shape, and converts valid values to their canonical form.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::keys::Keys;
use crate::node::{Node, Rule, Sort};
use crate::operator::Operator;
use crate::path::Path;
use crate::place::Place;
use crate::problem::{Notice, Problem, UpdateError, Warning};
use crate::shape::{Shape, prune};
use crate::suggest;

impl Shape {
    /// Checks a document against this shape:
    ///
    /// - Each value has the type that the shape requires, for example a map or a boolean.
    /// - Each record contains its required fields.
    /// - Each value passes the test that [`Node::matching`] has set.
    ///
    /// The [`Keys`] of maps are not checked, because they restrict only updates. A document may contain keys that
    /// were permitted earlier. A [trusting](Shape::trusting) shape checks only the types of values.
    ///
    /// A valid update can leave a record without a required field. To detect this, apply the update to a copy, and
    /// check the copy.
    ///
    /// # Errors
    /// All errors. Their places and paths are those of the document.
    pub fn check(&self, document: &Value) -> Result<(), Vec<UpdateError>> {
        let mode = if self.trusting { Mode::Trusted } else { Mode::Document };
        let mut reading = Reading::new(self, mode);
        reading.value(&self.root, document, &mut Cursor::default());
        if reading.errors.is_empty() { Ok(()) } else { Err(reading.errors) }
    }
}

/// The kind of a check. It determines which requirements of the [`Shape`] a value must meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The check of an update. All requirements apply: types of values, permitted operators and keys, required
    /// fields, and the tests of [`Node::matching`]. Missing fields get their defaults.
    Authored,
    /// The check of an update or a document against a [trusting](Shape::trusting) shape. Only the types of values
    /// are checked, for example whether a value is a list.
    Trusted,
    /// The check of a document. Only these requirements apply: types of values, required fields, and the tests of
    /// [`Node::matching`].
    Document,
}

/// The current position of a check, as keys in the document and as a place in the checked JSON value.
///
/// For example, the keys of the number in the update `{"$set": {"status.note": 1}}` are `status` and `note`. Its place
/// is `/$set/status.note`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    /// The keys of the current path in the document. If a document is checked, this is the path of the value that is
    /// being checked. If an update is checked, this is the path that the update changes.
    pub(crate) keys: Vec<String>,
    /// The place in the checked JSON value. This value is an update or a document.
    pub(crate) place: Place,
}

impl Cursor {
    pub(crate) fn enter(&mut self, key: &str) {
        self.keys.push(key.to_owned());
        self.place.enter(key);
    }

    pub(crate) fn leave(&mut self) {
        self.keys.pop();
        self.place.leave();
    }

    pub(crate) fn path(&self) -> Option<Path> {
        (!self.keys.is_empty()).then(|| Path::walked(&self.keys))
    }
}

/// A check of an update or document, with the errors found so far.
#[derive(Debug)]
pub(crate) struct Reading<'s> {
    pub(crate) shape: &'s Shape,
    pub(crate) mode: Mode,
    pub(crate) lenient: bool,
    pub(crate) errors: Vec<UpdateError>,
    pub(crate) warnings: Vec<Warning>,
}

impl<'s> Reading<'s> {
    pub(crate) fn new(shape: &'s Shape, mode: Mode) -> Self {
        Self { shape, mode, lenient: false, errors: vec![], warnings: vec![] }
    }

    pub(crate) fn error(&mut self, at: &Cursor, problem: Problem) {
        self.errors.push(UpdateError { place: at.place.clone(), path: at.path(), problem });
    }

    pub(crate) fn warn(&mut self, at: &Cursor, notice: Notice) {
        self.warnings.push(Warning { place: at.place.clone(), path: at.path(), notice });
    }

    /// Reports an unknown path: as a warning in a lenient check, and as an error in all other checks.
    pub(crate) fn unknown(&mut self, at: &Cursor, problem: Problem) {
        if self.lenient { self.warn(at, Notice::Ignored(problem)) } else { self.error(at, problem) }
    }

    pub(crate) fn wrong_sort(&mut self, at: &Cursor, expected: &str, value: &Value) {
        self.error(at, Problem::WrongSort { expected: expected.to_owned(), found: sort_of(value) });
    }

    /// Checks a value at a node. Returns the canonical form of the value, or `None` if the value is empty or
    /// invalid.
    pub(crate) fn value(&mut self, node: &Node, value: &Value, at: &mut Cursor) -> Option<Value> {
        if value.is_null() && self.null_is_none(node) {
            return None;
        }
        match (&node.sort, value) {
            (Sort::Record(fields), Value::Object(map)) => {
                let fields = fields.iter().map(|(name, node)| (name.as_str(), node));
                self.unknown_fields(node, map, at);
                let record = fields.filter_map(|(name, field)| self.field(name, &field.resolve(), map, at));
                let record: Map<_, _> = record.collect();
                self.tested(node, value, at).filter(|_| !record.is_empty()).map(|_| Value::Object(record))
            }
            (Sort::Map(keys, entry), Value::Object(map)) => {
                let entries =
                    map.iter().filter_map(|(key, value)| self.entry(keys, &entry.resolve(), key, value, at));
                let entries: Map<_, _> = entries.collect();
                self.tested(node, value, at).filter(|_| !entries.is_empty()).map(|_| Value::Object(entries))
            }
            (Sort::List, Value::Array(entries)) => {
                self.entries(node, entries, at);
                (!entries.is_empty()).then(|| value.clone())
            }
            (Sort::Any, _) => prune(node, value.clone()),
            (Sort::Bool, Value::Bool(_))
            | (Sort::Text, Value::String(_))
            | (Sort::Number, Value::Number(_))
            | (Sort::Opaque, _) => self.tested(node, value, at).cloned(),
            _ => self.respelled(node, value, at),
        }
    }

    /// Checks the entries of a list. `node` is the node of the list. If [`Node::matching`] has given a test to
    /// this node, each entry must pass the test. The entries of a [trusted](Mode::Trusted) update are not
    /// tested.
    pub(crate) fn entries(&mut self, node: &Node, entries: &[Value], at: &Cursor) {
        let Some(Rule { expected, test }) = node.rule.as_ref().filter(|_| self.mode != Mode::Trusted) else {
            return;
        };
        for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| !test(entry)) {
            let at = Cursor { keys: at.keys.clone(), place: at.place.clone().index(index) };
            self.wrong_sort(&at, expected, entry);
        }
    }

    fn field(
        &mut self,
        name: &str,
        node: &Node,
        map: &Map<String, Value>,
        at: &mut Cursor,
    ) -> Option<(String, Value)> {
        let authored = self.mode == Mode::Authored;
        let before = self.errors.len();
        at.enter(name);
        let mut field = map.get(name).and_then(|value| self.below(node, value, at));
        if field.is_none() && authored && self.errors.len() == before {
            field.clone_from(&node.default);
        }
        if field.is_none() && node.required && self.mode != Mode::Trusted && self.errors.len() == before {
            self.error(at, Problem::Missing);
        }
        at.leave();
        field.map(|value| (name.to_owned(), value))
    }

    fn entry(
        &mut self,
        keys: &Keys,
        node: &Node,
        key: &str,
        value: &Value,
        at: &mut Cursor,
    ) -> Option<(String, Value)> {
        at.enter(key);
        let entry = match self.bad_key(keys, key, at) {
            Some(problem) => {
                self.unknown(at, problem);
                None
            }
            None => self.below(node, value, at),
        };
        at.leave();
        entry.map(|value| (key.to_owned(), value))
    }

    /// Checks a field of a record, or an entry of a map. Returns the same as [`value`](Self::value).
    ///
    /// If the mode is [`Mode::Authored`], the method also checks that `node` permits the operator `$set`. Without this
    /// check, an update could change a protected field by replacing the whole record.
    fn below(&mut self, node: &Node, value: &Value, at: &mut Cursor) -> Option<Value> {
        match node.denial(Operator::Set).filter(|_| self.mode == Mode::Authored) {
            Some(hint) => {
                self.error(at, Problem::NotPermitted { operator: Operator::Set, hint: hint.into_owned() });
                None
            }
            None => self.value(node, value, at),
        }
    }

    fn unknown_fields(&mut self, node: &Node, map: &Map<String, Value>, at: &mut Cursor) {
        for key in map.keys().filter(|key| node.child(key).is_none()) {
            at.enter(key);
            let problem = unknown_path(node, &at.keys);
            self.unknown(at, problem);
            at.leave();
        }
    }

    /// Tells whether `null` at a node means that the value is absent. The result is `false` in two cases:
    ///
    /// - The node permits any value. Then `null` is an ordinary value.
    /// - The mode is [`Mode::Authored`], and the node forbids the operator `$unset`. Then `null` is an error, because
    ///   it would remove the value.
    fn null_is_none(&self, node: &Node) -> bool {
        let leaf = matches!(node.sort, Sort::Opaque | Sort::Any);
        !leaf && (self.mode != Mode::Authored || node.denial(Operator::Unset).is_none())
    }

    fn tested<'v>(&mut self, node: &Node, value: &'v Value, at: &Cursor) -> Option<&'v Value> {
        match &node.rule {
            Some(rule) if self.mode != Mode::Trusted && !(rule.test)(value) => {
                self.wrong_sort(at, &rule.expected, value);
                None
            }
            _ => Some(value),
        }
    }

    fn respelled(&mut self, node: &Node, value: &Value, at: &Cursor) -> Option<Value> {
        let meant = node.spellings.iter().find(|(spelling, _)| value.as_str() == Some(spelling));
        let Some((spelling, meant)) = meant else {
            self.wrong_sort(at, &node.expected(), value);
            return None;
        };
        self.warn(at, Notice::Spelling { spelling: spelling.clone(), value: meant.to_string() });
        Some(meant.clone())
    }

    /// Returns the node of a path. If the shape has no such path, reports the reason.
    pub(crate) fn find(&mut self, at: &Cursor) -> Option<Arc<Node>> {
        let mut node = self.shape.root.clone();
        for (depth, key) in at.keys.iter().enumerate() {
            match self.step(&node, key, &at.keys[..depth]) {
                Ok(child) => node = child,
                Err(problem) => {
                    self.unknown(at, self.completed(problem, &at.keys[depth + 1..]));
                    return None;
                }
            }
        }
        Some(node)
    }

    /// Extends the suggested path in `problem` by the keys `rest`, if the result is a valid path.
    fn completed(&self, problem: Problem, rest: &[String]) -> Problem {
        let Problem::UnknownPath { nearest: Some(nearest), fields } = problem else { return problem };
        let whole = Path::walked(&[nearest.as_slice(), rest].concat());
        let nearest = if self.shape.knows(&whole) { whole } else { nearest };
        Problem::UnknownPath { nearest: Some(nearest), fields }
    }

    fn step(&self, node: &Node, key: &str, above: &[String]) -> Result<Arc<Node>, Problem> {
        let here: Vec<_> = above.iter().cloned().chain([key.to_owned()]).collect();
        if let Sort::Map(keys, _) = &node.sort
            && let Some(problem) =
                self.bad_key(keys, key, &Cursor { keys: here.clone(), place: Place::default() })
        {
            return Err(problem);
        }
        node.child(key).ok_or_else(|| match node.sort {
            Sort::Record(_) => unknown_path(node, &here),
            _ => Problem::Inside { leaf: Path::walked(above), sort: node.expected().into_owned() },
        })
    }

    fn bad_key(&self, keys: &Keys, key: &str, at: &Cursor) -> Option<Problem> {
        let bad = self.mode == Mode::Authored && !keys.allows(key);
        bad.then(|| match keys.expected() {
            Some(expected) => Problem::BadKey { expected: expected.to_string() },
            None => near(keys.names(), &at.keys),
        })
    }
}

fn unknown_path(node: &Node, keys: &[String]) -> Problem {
    match &node.sort {
        Sort::Record(fields) => near(fields.keys().map(String::as_str), keys),
        _ => near([].into_iter(), keys),
    }
}

/// Creates the problem "no such path" for the path `keys`. The last key of this path is wrong. `names` are the keys
/// that would be valid in its place. The problem suggests a path that ends with the most similar of these names.
fn near<'a>(names: impl Iterator<Item = &'a str> + Clone, keys: &[String]) -> Problem {
    let (last, above) = keys.split_last().map_or(("", &[][..]), |(last, above)| (last.as_str(), above));
    let nearest = suggest::nearest(last, names.clone()).map(|name| {
        let keys: Vec<_> = above.iter().cloned().chain([name.to_owned()]).collect();
        Path::walked(&keys)
    });
    Problem::UnknownPath { nearest, fields: names.map(str::to_owned).collect() }
}

/// Describes the type of a JSON value for messages such as "expected a list, found a string".
pub(crate) fn sort_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
