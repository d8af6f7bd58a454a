//! Parses an update from its wire form.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::check::{Cursor, Mode, Reading};
use crate::node::{Node, Sort};
use crate::operator::Operator;
use crate::path::Path;
use crate::place::Place;
use crate::problem::{Notice, Problem, UpdateError, Warning};
use crate::shape::Shape;
use crate::suggest;
use crate::update::{Op, Update};

/// The result of parsing an update.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Parsed {
    /// The update that was parsed.
    pub update: Update,
    /// Inputs that were accepted, but probably not intended.
    pub warnings: Vec<Warning>,
}

impl Update {
    /// Parses the wire form of an update, which is a map. Plain fields of the map replace whole fields of the
    /// document, and operators act on dotted paths.
    ///
    /// ```yaml
    /// name: web one                        # replace the value of a field
    /// $set:   { status.flags.active: true }  # replace the value at a path
    /// $unset: { status.message: null }       # remove a path; the value means nothing
    /// $pushAll: { log: [ one, two ] }        # append to a list
    /// ```
    ///
    /// An update that is `null` or `{}` changes nothing. An operator whose operand is `null` or `{}` also changes
    /// nothing. If the operand of `$pushAll` contains a map for a path, the map is appended to the list as one
    /// entry.
    ///
    /// # Errors
    /// All errors of these kinds:
    ///
    /// - a wire form that is no map,
    /// - an unknown operator or path,
    /// - an operator that the shape forbids,
    /// - a value of a wrong sort,
    /// - two operations at the same path, or one operation below the path of another.
    pub fn parse(wire: &Value, shape: &Shape) -> Result<Parsed, Vec<UpdateError>> {
        Wire::new(shape).read(wire)
    }

    /// Parses the wire form like [`parse`](Update::parse), but skips paths, fields and keys that the shape
    /// does not contain. Each of them causes a warning [`Notice::Ignored`].
    ///
    /// # Errors
    /// The errors of `parse`, except unknown paths.
    pub fn parse_lenient(wire: &Value, shape: &Shape) -> Result<Parsed, Vec<UpdateError>> {
        let mut reader = Wire::new(shape);
        reader.reading.lenient = true;
        reader.read(wire)
    }

    /// Creates an update from operations. An operation that replaces a value by an empty container becomes a
    /// removal. An append without entries is dropped.
    ///
    /// This function is for operations that a program creates, not for input that a person writes. The shape
    /// describes the permitted documents. This function checks only that the shape contains each path, and that
    /// each value is a map, a list or a leaf as the shape requires. Other rules, such as required fields, are not
    /// checked. The [`Place`] in an error is the place that the wrong operation would have in the wire form of an
    /// update, such as `/$set/status.message`.
    ///
    /// # Errors
    /// Unknown paths, values of a wrong sort, and conflicts.
    pub fn from_ops(
        ops: impl IntoIterator<Item = (Path, Op)>,
        shape: &Shape,
    ) -> Result<Update, Vec<UpdateError>> {
        let shape = shape.trusting();
        let mut reader = Wire::new(&shape);
        for (path, op) in ops {
            let (operator, value) = match op {
                Op::Replace(value) => (Operator::Set, value),
                Op::Unset => (Operator::Unset, Value::Null),
                Op::Append(entries) => (Operator::PushAll, Value::Array(entries)),
            };
            let place = Place::default().key(operator.name()).key(&path.to_string());
            reader.operation(operator, path, &value, place);
        }
        reader.finish().map(|parsed| parsed.update)
    }
}

/// An operation that was read, with its place. The field `op` is `None` if the operation changes nothing.
struct Found {
    path: Path,
    place: Place,
    op: Option<Op>,
}

struct Wire<'s> {
    reading: Reading<'s>,
    found: Vec<Found>,
}

impl<'s> Wire<'s> {
    fn new(shape: &'s Shape) -> Self {
        let mode = if shape.trusting { Mode::Trusted } else { Mode::Authored };
        Self { reading: Reading::new(shape, mode), found: vec![] }
    }

    fn read(mut self, wire: &Value) -> Result<Parsed, Vec<UpdateError>> {
        match wire {
            Value::Null => {}
            Value::Object(fields) => fields.iter().for_each(|(name, value)| self.field(name, value)),
            other => self.reading.wrong_sort(&Cursor::default(), "a map of fields and operators", other),
        }
        self.finish()
    }

    fn field(&mut self, name: &str, value: &Value) {
        let place = Place::default().key(name);
        if !name.starts_with('$') {
            match Path::from_keys([name]) {
                Ok(path) => self.operation(Operator::Set, path, value, place),
                Err(problem) => self.reading.error(&at(place), problem.into()),
            }
        } else if let Some(operator) = Operator::named(name) {
            self.operations(operator, value, &place);
        } else {
            let nearest = suggest::nearest(name, Operator::ALL.into_iter().map(Operator::name));
            let nearest = nearest.and_then(Operator::named);
            self.reading.error(&at(place), Problem::UnknownOperator { name: name.to_owned(), nearest });
        }
    }

    /// Reads the operand of an operator: paths and values.
    fn operations(&mut self, operator: Operator, paths: &Value, place: &Place) {
        let paths = match paths {
            Value::Null => return,
            Value::Object(paths) => paths,
            other => return self.reading.wrong_sort(&at(place.clone()), "a map of paths", other),
        };
        for (text, value) in paths {
            let place = place.clone().key(text);
            match text.parse() {
                Ok(path) => self.operation(operator, path, value, place),
                Err(problem) => self.reading.error(&at(place), Problem::BadPath(problem)),
            }
        }
    }

    fn operation(&mut self, operator: Operator, path: Path, value: &Value, place: Place) {
        let mut at = Cursor { keys: path.as_slice().to_vec(), place: place.clone() };
        let Some(node) = self.reading.find(&at) else { return };
        let op = self.op(operator, &node, value, &mut at);
        self.found.push(Found { path, place, op });
    }

    fn op(&mut self, operator: Operator, node: &Node, value: &Value, at: &mut Cursor) -> Option<Op> {
        let asked = self.reading.mode == Mode::Authored || operator == Operator::PushAll;
        if let Some(hint) = node.denial(operator).filter(|_| asked) {
            self.reading.error(at, Problem::NotPermitted { operator, hint: hint.into_owned() });
            return None;
        }
        if operator != Operator::Unset && deeper_than(value, Path::MAX_KEYS - at.keys.len()) {
            self.reading.error(at, Problem::TooDeep);
            return None;
        }
        match operator {
            Operator::Set => Some(self.reading.value(node, value, at).map_or(Op::Unset, Op::Replace)),
            Operator::Unset => Some(Op::Unset),
            Operator::PushAll => self.append(node, value, at),
        }
    }

    fn append(&mut self, node: &Node, value: &Value, at: &Cursor) -> Option<Op> {
        let entries = match value {
            Value::Array(entries) => entries.clone(),
            Value::Object(_) => {
                self.reading.warn(at, Notice::LoneEntry);
                vec![value.clone()]
            }
            other => {
                self.reading.wrong_sort(at, "a list of entries", other);
                return None;
            }
        };
        if matches!(node.sort, Sort::List) {
            self.reading.entries(node, &entries, at);
        }
        (!entries.is_empty()).then_some(Op::Append(entries))
    }

    fn finish(mut self) -> Result<Parsed, Vec<UpdateError>> {
        self.conflicts();
        let Reading { errors, warnings, .. } = self.reading;
        if !errors.is_empty() {
            return Err(errors);
        }
        let ops: BTreeMap<_, _> =
            self.found.into_iter().filter_map(|found| Some((found.path, found.op?))).collect();
        Ok(Parsed { update: Update::from_normal(ops), warnings })
    }

    /// Reports each operation at or below the path of another operation.
    ///
    /// In the order of paths, all descendants of a path directly follow the path. So one pass with a stack of
    /// ancestors finds all conflicts.
    fn conflicts(&mut self) {
        self.found.sort_by(|a, b| a.path.cmp(&b.path));
        let mut above: Vec<&Found> = vec![];
        for found in &self.found {
            while above.last().is_some_and(|other| !found.path.starts_with(&other.path)) {
                above.pop();
            }
            if let Some(other) = above.last() {
                let problem =
                    Problem::Conflict { other: other.path.clone(), other_place: other.place.clone() };
                let (place, path) = (found.place.clone(), Some(found.path.clone()));
                self.reading.errors.push(UpdateError { place, path, problem });
            }
            above.push(found);
        }
    }
}

fn at(place: Place) -> Cursor {
    Cursor { keys: vec![], place }
}

/// Tells whether a value has more than `levels` levels of nested containers. Deeper levels are not visited.
fn deeper_than(value: &Value, levels: usize) -> bool {
    let mut inside: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(entries) => Box::new(entries.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => return false,
    };
    levels == 0 || inside.any(|value| deeper_than(value, levels - 1))
}
