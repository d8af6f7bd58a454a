//! The place of an expression, and the names to which the expression can refer.

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::state::State;
use crate::path::Steps;
use crate::report::Unresolved;
use crate::syntax::ast::Place;
use crate::value::select;
use crate::value::{Map, Node, Redirect, Value};

/// Name by which the body of a lambda or template refers to the lambda or template itself.
pub(crate) const SELF: &str = "_";

/// A map whose fields are visible as names. The scopes of an expression form a chain, from the innermost map
/// outwards.
#[derive(Debug)]
pub(crate) struct Scope {
    /// Fields of the map, as they were in the pass that created this scope. Later passes can change the map. If
    /// [`watched`](Self::watched) is true, [`Flow::update`] replaces these fields after each pass by the current fields
    /// of the map.
    fields: RwLock<Arc<Map>>,
    /// Entries of the document's root list. The field is `None` if the root of the document is a map, or if this
    /// scope is not the outermost scope of the document.
    items: RwLock<Option<Arc<Vec<Node>>>>,
    next: Option<Arc<Scope>>,
    /// The scope at which references with a leading dot, such as `.a`, begin. `None` if they begin at this scope
    /// itself.
    root: Option<Arc<Scope>>,
    /// Whether this scope encloses a document that has its own root. A reference with a leading dot in that
    /// document begins at the root of the document, and not at a scope outside of the document. See
    /// [`Env::with_new_root`].
    ends_root: bool,
    /// Path of the map in the document; `None` for bindings and parameters.
    pub(crate) path: Option<Steps>,
    /// Id of the [`Flow`] in which the scope was created.
    flow: u64,
    /// Whether the scope is in the list [`Flow::watched`].
    watched: AtomicBool,
}

impl Scope {
    fn new(next: Option<Arc<Scope>>, path: Option<Steps>, flow: u64, fields: Arc<Map>) -> Self {
        let outer = next.as_ref().filter(|next| !next.ends_root);
        let root = outer.map(|outer| outer.root.clone().unwrap_or_else(|| outer.clone()));
        Self {
            fields: RwLock::new(fields),
            items: RwLock::new(None),
            next,
            root,
            ends_root: false,
            path,
            flow,
            watched: AtomicBool::new(false),
        }
    }

    pub(crate) fn fields(&self) -> Arc<Map> {
        self.fields.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Node> {
        self.fields.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(crate) fn items(&self) -> Option<Arc<Vec<Node>>> {
        self.items.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn next(&self) -> Option<&Arc<Scope>> {
        self.next.as_ref()
    }

    fn set(&self, fields: Arc<Map>) {
        *self.fields.write().unwrap_or_else(PoisonError::into_inner) = fields;
    }
}

/// The processing of one document in all its passes. The document is a template, a stub, or a document that the
/// evaluation of an expression requires (see [`Processor`]).
#[derive(Debug)]
pub(crate) struct Flow {
    id: u64,
    /// Number of steps in the path of the document's root. The number is 0 if the document is the template of the
    /// engine, or a stub. If an expression instantiates a template value, the content of this value is a document of
    /// its own. The root of this document has the path of the node with the expression.
    base: usize,
    /// Scopes that lambdas and templates have captured. After each pass over the document,
    /// [`update`](Self::update) gives these scopes the current fields of their maps.
    watched: Mutex<Vec<Arc<Scope>>>,
}

impl Flow {
    pub(crate) fn new(base: usize) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), base, watched: Mutex::new(Vec::new()) }
    }

    /// Updates the scopes that lambdas and templates have captured. The method is called after each pass, and
    /// `root` is the document after this pass. Each scope of a map in the document gets the current fields of this
    /// map.
    pub(crate) fn update(&self, root: &Node) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        for scope in watched.iter() {
            let Some(path) = &scope.path else { continue };
            let path = path.to_vec();
            let mut here = Some(root.clone());
            for step in path.iter().skip(self.base) {
                here = here.and_then(|node| select::step(&node, step, None));
            }
            if let Some(Value::Map(fields)) = here.as_ref().map(Node::value) {
                scope.set(fields.clone());
            }
        }
    }
}

/// Processes documents during the evaluation of an expression. Examples are the content of an instantiated template,
/// and a document that a function merges.
///
/// The code that processes documents is a layer above the code that evaluates expressions. So the evaluation can't
/// call the processing directly. It calls the processor in the [`Level`] of the expression's document.
pub(crate) trait Processor: Debug + Send + Sync {
    /// Processes a document in the scope `env` until a pass changes nothing. No stub overrides the nodes of the
    /// document.
    fn run(&self, document: &Node, env: &Env) -> (Node, Unresolved);

    /// Processes the stubs, and then the template. The processed stubs supply values to the template. The result
    /// contains no temporary nodes and no escapes.
    fn cascade(&self, template: &Node, stubs: &[Node], env: &Env) -> Result<Node, Unresolved>;
}

/// The state that all expressions of a document share.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) state: Arc<State>,
    pub(crate) processor: &'static dyn Processor,
    /// Stubs of the document, by descending precedence.
    pub(crate) stubs: Vec<Node>,
    /// The environment around this level's document. The outermost level has no document, and this field is `None`.
    ///
    /// - If the caller of the engine supplied the document, this is the environment of the outermost level. It contains
    ///   the bindings (values that the caller has set).
    /// - If an expression such as `merge(a, b)` produced the document, this is the environment of the expression.
    pub(crate) outer: Option<Env>,
    /// Name of the document.
    pub(crate) source: Arc<str>,
    pub(crate) kind: LevelKind,
}

/// The kind of a [`Level`]. A level belongs to a document, to the bindings (values that the caller has set), or to
/// neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelKind {
    Document,
    /// Bindings that the caller has set.
    Bindings,
    /// The outermost level of a session whose documents have no common tags or bindings. This level contains no
    /// names. In other sessions, the outermost level is [`Bindings`](Self::Bindings).
    Nothing,
}

impl Level {
    /// Creates the [`Level`] of a document without stubs. The document is inside the environment `outer`.
    pub(crate) fn nested(outer: &Env, source: &str) -> Self {
        let state = outer.state().clone();
        Self {
            state,
            processor: outer.level.processor,
            stubs: Vec::new(),
            outer: Some(outer.clone()),
            source: source.into(),
            kind: LevelKind::Document,
        }
    }
}

/// The environment of an expression: its place, and the names to which the expression can refer.
#[derive(Clone, Debug)]
pub(crate) struct Env {
    pub(crate) level: Arc<Level>,
    pub(crate) flow: Arc<Flow>,
    pub(crate) scope: Option<Arc<Scope>>,
    pub(crate) path: Steps,
    pub(crate) stub_path: Steps,
    pub(crate) no_merge: bool,
    pub(crate) source: Arc<str>,
    /// All parameters and local values to which the expression can refer. A new lambda captures them, so that later
    /// calls of the lambda can also refer to them. `None` if there are none.
    pub(crate) statics: Option<Arc<Map>>,
}

impl Env {
    pub(crate) fn new(level: Level) -> Self {
        let source = level.source.clone();
        Self {
            level: Arc::new(level),
            flow: Arc::new(Flow::new(0)),
            scope: None,
            path: Steps::default(),
            stub_path: Steps::default(),
            no_merge: false,
            source,
            statics: None,
        }
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.level.state
    }

    /// Returns the place of the expression. The parser stores this place in an expression whose value depends on
    /// the place, such as `merge`.
    pub(crate) fn place(&self) -> Place {
        Place { path: self.path.to_vec(), stub_path: self.stub_path.to_vec() }
    }

    pub(crate) fn with_step(&self, step: Arc<str>) -> Self {
        let path = self.path.then(step.clone());
        // In most cases, `path` and `stub_path` are equal.
        let stub_path = if self.stub_path.is(&self.path) { path.clone() } else { self.stub_path.then(step) };
        Self { path, stub_path, ..self.clone() }
    }

    /// Returns the environment for the nodes inside a map at the current path. `fields` contains the fields of the map.
    /// Expressions can refer to these fields by name.
    pub(crate) fn with_fields(&self, fields: Arc<Map>) -> Self {
        let scope = Scope::new(self.scope.clone(), Some(self.path.clone()), self.flow.id, fields);
        Self { scope: Some(Arc::new(scope)), ..self.clone() }
    }

    /// Returns the environment for the entries of a document whose root is a list. `items` contains these entries.
    pub(crate) fn with_items(&self, items: Arc<Vec<Node>>) -> Self {
        let scope = Scope::new(self.scope.clone(), Some(self.path.clone()), self.flow.id, Arc::default());
        *scope.items.write().unwrap_or_else(PoisonError::into_inner) = Some(items);
        Self { scope: Some(Arc::new(scope)), ..self.clone() }
    }

    /// Returns the environment with additional names, such as parameters or bindings.
    pub(crate) fn with_locals(&self, locals: Map) -> Self {
        let statics = match &self.statics {
            Some(statics) if !statics.is_empty() => {
                let mut all = (**statics).clone();
                all.extend(locals.iter().map(|(name, node)| (name.clone(), node.clone())));
                Arc::new(all)
            }
            _ => Arc::new(locals.clone()),
        };
        let scope = Scope::new(self.scope.clone(), None, self.flow.id, Arc::new(locals));
        Self { scope: Some(Arc::new(scope)), statics: Some(statics), ..self.clone() }
    }

    /// Returns the environment for a document that has its own root: a reference with a leading dot begins at the
    /// root of that document.
    pub(crate) fn with_new_root(&self) -> Self {
        let mut scope = Scope::new(self.scope.clone(), None, self.flow.id, Arc::default());
        scope.root = None;
        scope.ends_root = true;
        Self { scope: Some(Arc::new(scope)), ..self.clone() }
    }

    /// Returns this environment, but with the parameters and local values of the environment `other`.
    pub(crate) fn with_statics_of(self, other: &Self) -> Self {
        Self { statics: other.statics.clone(), ..self }
    }

    /// Returns the environment for a separate document at the current path, such as an instantiated template. The
    /// document gets a [`Flow`] of its own.
    pub(crate) fn with_flow(&self) -> Self {
        Self { flow: Arc::new(Flow::new(self.path.len())), ..self.clone() }
    }

    pub(crate) fn redirected(&self, redirect: &Redirect) -> Self {
        match redirect {
            Redirect::None => self.clone(),
            Redirect::Nowhere => Self { no_merge: true, ..self.clone() },
            Redirect::To(path) => Self { stub_path: Steps::from_path(path), no_merge: false, ..self.clone() },
        }
    }

    /// Registers the scopes that a lambda or template captures, so that later passes update them.
    pub(crate) fn watch(&self) {
        // Later passes do not update the root map of the document. Later passes also do not update the scopes in
        // an instantiated template or in a merged document. The Go program spiff++ has the same rules.
        if self.flow.base > 0 {
            return;
        }
        let mut here = self.scope.as_ref();
        let mut watched = self.flow.watched.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(scope) = here
            && scope.path.as_ref().is_some_and(|path| path.len() > 0)
        {
            if scope.flow == self.flow.id && !scope.watched.swap(true, Ordering::Relaxed) {
                watched.push(scope.clone());
            }
            here = scope.next();
        }
    }

    pub(crate) fn root(&self) -> Option<Arc<Scope>> {
        let scope = self.scope.as_ref()?;
        Some(scope.root.clone().unwrap_or_else(|| scope.clone()))
    }

    /// Returns the fields of the outermost map, the root of the document.
    pub(crate) fn root_fields(&self) -> Arc<Map> {
        self.root().map(|root| root.fields()).unwrap_or_default()
    }
}
