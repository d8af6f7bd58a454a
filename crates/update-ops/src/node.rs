//! The values and operations that are permitted at one path of a document.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use serde_json::Value;

use crate::keys::Keys;
use crate::operator::Operator;

/// A node of a [`Shape`](crate::Shape): the sort of the value at a path, and the operations that updates may
/// perform on it.
///
/// There are two families of sorts. *Containers* are record, map and list. A container is created when a
/// value is written into it, and an empty container counts as absent. *Leaves* are boolean, text, number and
/// opaque. A leaf is replaced as a whole, and its parts can't be addressed. An empty leaf, such as an empty
/// text, is kept.
///
/// A new node permits every operator that its sort allows. The methods [`deny`](Node::deny),
/// [`required`](Node::required) and [`defaults_to`](Node::defaults_to) restrict the permitted operators.
#[derive(Clone, Debug)]
#[must_use]
pub struct Node {
    pub(crate) sort: Sort,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) spellings: Vec<(String, Value)>,
    pub(crate) rule: Option<Rule>,
    denied: BTreeMap<Operator, Cow<'static, str>>,
    /// A second copy of this node, if [`Node::recursive`] created this node; otherwise `None`. The placeholders
    /// ([`Sort::Again`]) below this node lead to the copy. A placeholder contains only a weak pointer, so this
    /// field keeps the copy alive.
    anchor: Option<Arc<Node>>,
}

/// The sort of a node: the type of the values that the node permits.
#[derive(Clone, Debug)]
pub(crate) enum Sort {
    Record(BTreeMap<String, Arc<Node>>),
    Map(Keys, Arc<Node>),
    List,
    Bool,
    Text,
    Number,
    Opaque,
    /// The value can be a map, a list or a leaf. All nodes of an [untyped](crate::Shape::untyped) shape have the sort
    /// `Any`.
    Any,
    /// A placeholder, which [`Node::recursive`] passes to its argument `build`. The placeholder stands for the
    /// enclosing node, which `build` returns.
    Again(Weak<Node>),
}

/// A test of values, with a description of valid values.
#[derive(Clone)]
pub(crate) struct Rule {
    pub(crate) expected: Cow<'static, str>,
    pub(crate) test: Arc<dyn Fn(&Value) -> bool + Send + Sync>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({:?})", self.expected)
    }
}

/// Constructors, one for each sort.
impl Node {
    /// Creates a node that permits maps with these fields. Other fields are errors.
    pub fn record<'a>(fields: impl IntoIterator<Item = (&'a str, Node)>) -> Self {
        Self::of(Sort::Record(
            fields.into_iter().map(|(name, node)| (name.to_owned(), Arc::new(node))).collect(),
        ))
    }

    /// Creates a node that permits maps. `keys` restricts the keys of a map, and `entry` is the node of each value.
    pub fn map(keys: Keys, entry: Node) -> Self {
        Self::of(Sort::Map(keys, Arc::new(entry)))
    }

    /// Creates a node that permits lists. Updates can append entries to the list, or replace it.
    ///
    /// Entries are opaque: paths can't address them, and a `null` or an empty map in them is kept. A test by
    /// [`matching`](Node::matching) is applied to each entry.
    pub fn list() -> Self {
        Self::of(Sort::List)
    }

    /// Creates a node that permits `true` and `false`.
    pub fn boolean() -> Self {
        Self::of(Sort::Bool)
    }

    /// Creates a node that permits all strings.
    pub fn text() -> Self {
        Self::of(Sort::Text)
    }

    /// Creates a node that permits all numbers.
    pub fn number() -> Self {
        Self::of(Sort::Number)
    }

    /// Creates a node that permits all values, including `null`. The parts of the value can't be addressed.
    pub fn opaque() -> Self {
        Self::of(Sort::Opaque)
    }

    /// Creates a node that contains itself. `build` builds this node, and receives a placeholder for the node as its
    /// argument. The rules of the node, such as required fields, apply at every depth.
    ///
    /// ```
    /// use windlass_update_ops::{Keys, Node, Shape};
    ///
    /// let tree = Node::recursive(|tree| {
    ///     Node::record([("label", Node::text()), ("children", Node::map(Keys::any(), tree))])
    /// });
    /// let shape = Shape::new([("root", tree)]);
    /// assert!(shape.knows(&"root.children.left.children.right.label".parse()?));
    /// # Ok::<(), windlass_update_ops::PathError>(())
    /// ```
    pub fn recursive(build: impl FnOnce(Node) -> Node) -> Self {
        let anchor = Arc::new_cyclic(|again| build(Self::of(Sort::Again(again.clone()))));
        Self { anchor: Some(anchor.clone()), ..Self::clone(&anchor) }
    }

    pub(crate) fn any() -> Self {
        Self::of(Sort::Any)
    }

    fn of(sort: Sort) -> Self {
        let denied = BTreeMap::new();
        Self { sort, denied, required: false, default: None, spellings: vec![], rule: None, anchor: None }
    }
}

/// Restrictions and defaults of a node.
impl Node {
    /// Forbids an operator at this node. The hint tells authors the alternative, as a lower-case fragment
    /// such as "use `$pushAll`".
    pub fn deny(mut self, operator: Operator, hint: impl Into<Cow<'static, str>>) -> Self {
        self.denied.insert(operator, hint.into());
        self
    }

    /// Makes the field required: each value of the enclosing record must contain the field. An update can
    /// remove the field only together with the enclosing record.
    pub fn required(mut self) -> Self {
        self.required = true;
        self.deny(Operator::Unset, "it is required")
    }

    /// Sets a default value of the field. If a new value of the enclosing record lacks the field, the field
    /// gets the default. An update can remove the field only together with the enclosing record.
    pub fn defaults_to(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self.deny(Operator::Unset, "it always has a value: `$set` it")
    }

    /// Permits the string `spelling` in place of `value`, for example `yes` in place of `true`. If an update contains
    /// this string, the parser converts it to `value`, and returns a [`Warning`](crate::Warning).
    pub fn spelled(mut self, spelling: impl Into<String>, value: impl Into<Value>) -> Self {
        self.spellings.push((spelling.into(), value.into()));
        self
    }

    /// Permits only values that pass `test`. In a list, each entry must pass `test`. `expected` describes a valid
    /// value, and completes the sentence "expected …": `a port number`.
    pub fn matching(
        mut self,
        expected: impl Into<Cow<'static, str>>,
        test: impl Fn(&Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.rule = Some(Rule { expected: expected.into(), test: Arc::new(test) });
        self
    }
}

impl Node {
    /// Returns the reason why an operator is forbidden at this node; none if it is permitted.
    pub(crate) fn denial(&self, operator: Operator) -> Option<Cow<'static, str>> {
        match (operator, &self.sort) {
            (Operator::PushAll, _) if !self.takes_appends() => Some("it is not a list: use `$set`".into()),
            _ => self.denied.get(&operator).cloned(),
        }
    }

    /// Returns the node of the field or entry `key`. Returns `None` if a value of this node can't contain `key`, for
    /// example because the value is a list. All entries of a map have the same node. The method does not check
    /// whether the [`Keys`] of the map permit `key`.
    pub(crate) fn child(&self, key: &str) -> Option<Arc<Node>> {
        match &self.sort {
            Sort::Record(fields) => fields.get(key).map(Self::resolve),
            Sort::Map(_, entry) => Some(Self::resolve(entry)),
            Sort::Any => Some(Arc::new(self.clone())),
            _ => None,
        }
    }

    /// Tells whether the values of the node are maps whose entries can be addressed.
    pub(crate) fn is_structural(&self) -> bool {
        matches!(self.sort, Sort::Record(_) | Sort::Map(..) | Sort::Any)
    }

    /// Tells whether the values of the node are lists to which entries can be appended.
    pub(crate) fn takes_appends(&self) -> bool {
        matches!(self.sort, Sort::List | Sort::Any)
    }

    /// Returns the node for which a placeholder stands. For a node that is no placeholder, returns the node
    /// itself.
    ///
    /// [`Node::recursive`] creates placeholders. A placeholder contains only a weak pointer to its node. If this node
    /// no longer exists, the method returns an opaque node, which permits all values.
    pub(crate) fn resolve(self: &Arc<Self>) -> Arc<Self> {
        match &self.sort {
            Sort::Again(target) => target.upgrade().unwrap_or_else(|| Arc::new(Self::opaque())),
            _ => self.clone(),
        }
    }

    /// Returns this node if [`Node::recursive`] has created it. Such a node contains a placeholder for itself. If this
    /// node is a placeholder, returns the node for which the placeholder stands. Otherwise, returns `None`.
    pub(crate) fn recursion(&self) -> Option<Arc<Self>> {
        match &self.sort {
            Sort::Again(target) => target.upgrade(),
            _ => self.anchor.clone(),
        }
    }

    /// Returns the description of a valid value, for the text after "expected".
    pub(crate) fn expected(&self) -> Cow<'static, str> {
        match &self.sort {
            Sort::Record(fields) => format!("a map of {}", quoted(fields.keys())).into(),
            Sort::Map(..) => "a map".into(),
            Sort::List => "a list".into(),
            Sort::Bool => "a boolean".into(),
            Sort::Text => "a string".into(),
            Sort::Number => "a number".into(),
            Sort::Opaque | Sort::Any | Sort::Again(_) => "a value".into(),
        }
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
