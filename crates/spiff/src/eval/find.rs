//! Finds the node for a name in a scope, and the node for a path in the stubs.

use std::path::Path as FilePath;
use std::sync::Arc;

use super::closure::{Closure, Template};
use super::scope::{Env, LevelKind, SELF, Scope};
use crate::path::Steps;
use crate::value::select::{self, step};
use crate::value::{Node, Value};

/// Name by which an expression refers to the innermost map around the expression. The root map of the document does not
/// count: if no other map is around the expression, the name is looked up in the environment around the document.
const DOCUMENT: &str = "__";
/// Name by which an expression refers to the bindings: the map of values that the caller of the engine has set. If
/// the outermost level of the session is [`LevelKind::Nothing`], there are no bindings. The name then refers to the
/// root map of the outermost document.
const ROOT: &str = "___";
/// Name by which an expression refers to a map with facts about the expression, such as its path.
const CONTEXT: &str = "__ctx";
/// Value of `VERSION` in the map `__ctx`: the version of the Go program spiff++ that this crate reproduces.
const VERSION: &str = "v1.7.0-beta-8";

/// The result of a search for the beginning of a path, for example for the names `a.b` of the path `a.b.c`. The
/// variant determines where [`step`](Self::step) looks up the next name of the path, here `c`.
pub(crate) enum Found {
    /// A node to which the first names of a path lead. The next name of the path is looked up in the value of this
    /// node: among the fields of a map, or among the entries of a list.
    Node(Node),
    /// The lambda or template to which the name `_` refers. In the path `_.a`, the name `a` is looked up in the
    /// environment that this lambda or template captured at its creation.
    Own(Node, Env),
    /// The map to which the name `__` refers: the innermost map around the expression. In the path `__.a`, the name
    /// `a` is looked up among the fields of this map, and then in the outer scopes.
    Scope(Arc<Scope>),
}

impl Found {
    pub(crate) fn node(&self) -> Node {
        match self {
            Self::Node(node) | Self::Own(node, _) => node.clone(),
            Self::Scope(scope) => Node::new(Value::Map(scope.fields())),
        }
    }

    /// Looks up `name`, the next name of a path. The names before `name` have led to `self`. Returns `None` if
    /// `name` is not found.
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
    /// Looks up `name`, the first name of a path, from the innermost scope outwards. Returns `None` if no scope
    /// contains `name`.
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

    /// Looks up `name`, the first name of a path, in the root map or root list of the document. Returns `None` if
    /// the root does not contain `name`.
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

    /// Returns the root node of the document: a map or a list. Returns `None` if the environment has no scope, for
    /// example if the whole document is a single expression.
    pub(crate) fn root_node(&self) -> Option<Node> {
        let root = self.root()?;
        Some(Node::new(root.items().map_or_else(|| Value::Map(root.fields()), Value::List)))
    }

    /// Searches the stubs in order for a node at `path`, and returns the first node that it finds. The method ignores
    /// a node inside a map with the marker `&default`, if the node itself does not have this marker.
    pub(crate) fn in_stubs(&self, path: &[Arc<str>]) -> Option<Node> {
        let control = self.state().features.control;
        self.level.stubs.iter().find_map(|stub| {
            select::path(stub, path.iter().map(|step| &**step), control)
                .filter(|node| !node.annotations().flags.is_implied())
        })
    }

    /// Searches the stubs in order for a node at the path `self.stub_path`, and returns the first node that it finds
    /// (see [`in_stubs`](Self::in_stubs)). Returns `None` if no stub contains such a node.
    ///
    /// In most cases, this path is the path of the current node. A merge expression with a path, such as `merge a.b`,
    /// sets another path.
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
        // As in the Go program spiff++, `BINDINGS` is an empty list if the engine has no bindings.
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

/// Returns the environment that a lambda or template captured at its creation. Returns `None` if the value of the node
/// is no lambda or template.
fn own_env(node: &Node) -> Option<Env> {
    match node.value() {
        Value::Lambda(lambda) => Closure::of(lambda).map(|closure| closure.env.clone()),
        Value::Template(template) => Template::of(template).map(|template| template.env.clone()),
        _ => None,
    }
}
