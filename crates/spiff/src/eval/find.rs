//! Paths: from a node to those below it, to names, to stubs.

use std::collections::HashSet;
use std::path::Path as FilePath;
use std::sync::Arc;

use super::closure::{Closure, Template};
use super::scope::{Env, LevelKind, Scope, Steps};
use crate::syntax::embedded;
use crate::value::{Map, Node, Value};

/// The key field of a list that doesn't name another.
pub(crate) const KEY: &str = "name";
/// The current lambda or template.
pub(crate) const SELF: &str = "_";
/// The innermost map of the document.
const DOCUMENT: &str = "__";
/// The bindings, or the outermost document.
const ROOT: &str = "___";
/// Where an expression stands.
const CONTEXT: &str = "__ctx";
/// The version of the original whose behaviour this is.
const VERSION: &str = "v1.7.0-beta-8";

/// Whether a key is one of the two merge keys.
pub(crate) fn is_merge_key(key: &str) -> bool {
    matches!(key, "<<" | "<<<")
}

/// Whether a map has no merge key left and, with control structures, none of those.
pub(crate) fn is_map_complete(map: &Map, control: bool) -> bool {
    // Keys are in byte order: all that begin with `<<` are neighbours.
    let from = std::ops::Bound::Included("<<");
    let mut keys = map.range::<str, _>((from, std::ops::Bound::Unbounded)).map(|(key, _)| key);
    if control {
        return !keys.take_while(|key| key.starts_with("<<")).any(|key| !key.starts_with("<<!"));
    }
    !keys.by_ref().take_while(|key| key.starts_with("<<")).any(|key| is_merge_key(key))
}

/// The expression of an entry that stands for others: a map of a merge key alone.
pub(crate) fn insert(entry: &Node) -> Option<(&Arc<str>, &Node)> {
    let map = entry.as_map()?;
    if map.len() != 1 {
        return None;
    }
    map.iter().next().filter(|(key, _)| is_merge_key(key))
}

/// Whether a list has no entries left that stand for others.
pub(crate) fn is_list_complete(list: &[Node]) -> bool {
    !list.iter().any(|entry| insert(entry).is_some())
}

/// Whether a value is no expression and has no pending insertion itself; what is below doesn't count.
pub(crate) fn is_locally_resolved(value: &Value, control: bool) -> bool {
    match value {
        Value::Expression(_) => false,
        Value::Map(map) => is_map_complete(map, control),
        Value::List(list) => is_list_complete(list),
        _ => true,
    }
}

/// Whether nothing is left to be evaluated in a value.
pub(crate) fn is_resolved(value: &Value, control: bool) -> bool {
    is_resolved_or_failed(value, false, control)
}

/// Whether nothing is left to be evaluated, or nothing can be.
pub(crate) fn is_resolved_or_failed(value: &Value, accept_failed: bool, control: bool) -> bool {
    Settled { accept_failed, control, seen: HashSet::new() }.is(value)
}

/// A look through a value for what is left to be evaluated.
struct Settled {
    accept_failed: bool,
    control: bool,
    /// Where lists and maps are that stand in several places: each is looked through once.
    seen: HashSet<usize>,
}

impl Settled {
    fn is(&mut self, value: &Value) -> bool {
        match value {
            Value::Expression(_) => false,
            Value::List(list) => {
                let known = Arc::strong_count(list) > 1 && !self.seen.insert(Arc::as_ptr(list).addr());
                known || list.iter().all(|node| self.node(node))
            }
            Value::Map(map) => {
                let known = Arc::strong_count(map) > 1 && !self.seen.insert(Arc::as_ptr(map).addr());
                known || (is_map_complete(map, self.control) && map.values().all(|node| self.node(node)))
            }
            Value::String(text) => !embedded::is_expression(text),
            _ => true,
        }
    }

    fn node(&mut self, node: &Node) -> bool {
        let annotations = node.annotations();
        let settled = self.accept_failed && (annotations.failed || annotations.error);
        settled || crate::syntax::too_deep::with_stack(|| self.is(node))
    }
}

/// Whether a node is there, has a value, and nothing is left to be evaluated in it.
pub(crate) fn is_resolved_node(node: &Node, control: bool) -> bool {
    let annotations = node.annotations();
    !annotations.failed && !annotations.undefined && is_resolved(node, control)
}

/// One step down. `complete`: maps and lists with pending insertions are refused; it says whether control
/// structures count.
pub(crate) fn step(here: &Node, step: &str, complete: Option<bool>) -> Option<Node> {
    match here.value() {
        Value::Map(map) => {
            if complete.is_some_and(|control| !is_map_complete(map, control)) {
                return None;
            }
            map.get(step).cloned()
        }
        Value::List(list) => {
            if complete.is_some() && !is_list_complete(list) {
                return None;
            }
            entry(list, step, here.annotations().key_name.as_deref(), complete)
        }
        _ => None,
    }
}

fn entry(list: &[Node], step: &str, key: Option<&str>, complete: Option<bool>) -> Option<Node> {
    if let Some(index) = step.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let index: i64 = index.parse().ok()?;
        let length = i64::try_from(list.len()).ok()?;
        let index = if index < 0 { index.checked_add(length)? } else { index };
        return list.get(usize::try_from(index).ok()?).cloned();
    }
    let (key, wanted) = match step.split_once(':') {
        Some((key, wanted)) if !key.is_empty() => (key, wanted),
        _ => (key.unwrap_or(KEY), step),
    };
    list.iter()
        .find(|entry| {
            let Some(map) = entry.as_map() else { return false };
            if complete.is_some_and(|control| !is_map_complete(map, control)) {
                return false;
            }
            map.get(key).and_then(|name| name.as_str()) == Some(wanted)
        })
        .cloned()
}

/// All steps down, through complete maps and lists only.
pub(crate) fn path<'p>(root: &Node, path: impl IntoIterator<Item = &'p str>, control: bool) -> Option<Node> {
    let mut here = root.clone();
    for name in path {
        here = step(&here, name, Some(control))?;
    }
    Some(here)
}

/// The meaning of a name, and how the search goes on below it.
pub(crate) enum Found {
    /// A node: the next step is below it.
    Node(Node),
    /// `_`: the next step is a name of its own scope.
    Own(Node, Env),
    /// `__`: the next step is a name from that scope on.
    Scope(Arc<Scope>),
}

impl Found {
    pub(crate) fn node(&self) -> Node {
        match self {
            Self::Node(node) | Self::Own(node, _) => node.clone(),
            Self::Scope(scope) => Node::new(Value::Map(scope.fields())),
        }
    }

    /// The next step.
    pub(crate) fn step(&self, name: &str) -> Option<Found> {
        match self {
            Self::Node(node) => step(node, name, None).map(Found::Node),
            Self::Own(_, env) => env.name(name),
            Self::Scope(scope) => {
                let mut here = Some(scope);
                while let Some(scope) = here {
                    if let Some(node) = scope.get(name) {
                        return Some(Found::Node(node));
                    }
                    here = scope.next();
                }
                None
            }
        }
    }
}

impl Env {
    /// The meaning of a name.
    pub(crate) fn name(&self, name: &str) -> Option<Found> {
        if name == CONTEXT {
            return Some(Found::Node(self.context()));
        }
        let mut map_scope = None;
        let mut here = self.scope.as_ref();
        while let Some(scope) = here {
            if map_scope.is_none() && scope.path.as_ref().is_some_and(|path| path.len() > 0) {
                map_scope = Some(scope);
            }
            if let Some(node) = scope.get(name) {
                if name == SELF
                    && let Some(env) = own_env(&node)
                {
                    return Some(Found::Own(node, env));
                }
                return Some(Found::Node(node));
            }
            here = scope.next();
        }
        if name == ROOT {
            let mut outermost = self;
            while let Some(outer) = &outermost.level.outer
                && outer.level.kind != LevelKind::Nothing
            {
                outermost = outer;
            }
            return Some(Found::Node(Node::new(Value::Map(outermost.root_fields()))));
        }
        if name == DOCUMENT
            && let Some(scope) = map_scope
        {
            return Some(Found::Scope(scope.clone()));
        }
        self.level.outer.as_ref()?.name(name)
    }

    /// A step from the root of the document.
    pub(crate) fn root_name(&self, name: &str) -> Option<Found> {
        let root = self.root()?;
        match root.items() {
            Some(_) if name == "__map" => {
                let mut found = None;
                let mut here = self.scope.as_ref();
                while let Some(scope) = here {
                    if scope.path.is_some() && scope.items().is_none() {
                        found = Some(scope.clone());
                    }
                    here = scope.next();
                }
                found.map(|scope| Found::Node(Node::new(Value::Map(scope.fields()))))
            }
            Some(items) => step(&Node::new(Value::List(items)), name, None).map(Found::Node),
            None => root.get(name).map(Found::Node),
        }
    }

    /// The document.
    pub(crate) fn root_node(&self) -> Option<Node> {
        let root = self.root()?;
        Some(Node::new(root.items().map_or_else(|| Value::Map(root.fields()), Value::List)))
    }

    /// The first stub's node at a path; parts of defaults don't count.
    pub(crate) fn in_stubs(&self, path: &[Arc<str>]) -> Option<Node> {
        let control = self.state().features.control;
        self.level.stubs.iter().find_map(|stub| {
            self::path(stub, path.iter().map(|step| &**step), control)
                .filter(|node| !node.annotations().flags.is_implied())
        })
    }

    /// The first stub's node at this place.
    pub(crate) fn here_in_stubs(&self) -> Option<Node> {
        if self.level.stubs.is_empty() {
            return None;
        }
        self.in_stubs(&self.stub_path.to_vec())
    }

    fn context(&self) -> Node {
        let source = &*self.level.source;
        let folder = |file: &str| match FilePath::new(file).parent() {
            Some(folder) if folder.as_os_str().is_empty() => ".".to_owned(),
            Some(folder) => folder.to_string_lossy().into_owned(),
            None => ".".to_owned(),
        };
        let resolved = self.state().host.resolve(source).unwrap_or_else(|| source.to_owned());
        let steps = |steps: &Steps| Value::list(steps.to_vec().iter().map(|step| Value::from(&**step)));
        let mut fields = vec![
            ("VERSION", Value::from(VERSION)),
            ("FILE", Value::from(source)),
            ("DIR", Value::from(folder(source))),
            ("RESOLVED_DIR", Value::from(folder(&resolved))),
            ("RESOLVED_FILE", Value::from(resolved)),
            ("PATHNAME", Value::from(self.path.text())),
            ("PATH", steps(&self.path)),
            ("STUBPATH", steps(&self.stub_path)),
        ];
        // Without bindings it is a list, as in the original.
        let mut bindings = Value::list([]);
        let mut outers = Vec::new();
        let mut outer = self.level.outer.as_ref();
        while let Some(env) = outer {
            let fields = env.root().map(|root| root.fields());
            if env.level.kind == LevelKind::Bindings {
                bindings = Value::Map(fields.clone().unwrap_or_default());
            }
            match fields {
                Some(fields) if env.level.kind == LevelKind::Document || !fields.is_empty() => {
                    outers.push(Node::new(Value::Map(fields)));
                }
                _ => {}
            }
            outer = env.level.outer.as_ref();
        }
        if !outers.is_empty() {
            fields.push(("OUTER", Value::from(outers)));
        }
        fields.push(("BINDINGS", bindings));
        Node::new(Value::map(fields))
    }
}

/// The scope in which a lambda or template was made.
fn own_env(node: &Node) -> Option<Env> {
    match node.value() {
        Value::Lambda(lambda) => Closure::of(lambda).map(|closure| closure.env.clone()),
        Value::Template(template) => Template::of(template).map(|template| template.env.clone()),
        _ => None,
    }
}
