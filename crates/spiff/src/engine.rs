//! The entry point: an engine with settings, and sessions that process documents.

use std::borrow::Cow;
use std::sync::Arc;

use windlass_source::{Code, Source};

use crate::codes;
use crate::eval::expression::Expression;
use crate::eval::scope::LevelKind;
use crate::eval::{Env, Level, State};
use crate::flow::{self, FlowProcessor, Keep};
use crate::functions::{FunctionError, Host, Registry};
use crate::mistakes::Mistakes;
use crate::path::Steps;
use crate::report::Unresolved;
use crate::syntax::{Place, SyntaxError};
use crate::trace::{Trace, TraceStep};
use crate::value::{Flags, Map, Node, Value};
use crate::yaml::{ReadError, read_document, to_yaml};
use crate::{Features, Limits, Outside};

/// The reason why processing a document failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpiffError {
    /// Some nodes of a document have no value, or the processing has exceeded a limit. In the second case, the field
    /// [`exceeded`](field@Unresolved::exceeded) names the limit.
    #[error("{0}")]
    Unresolved(Unresolved),
    /// A text is not a valid document.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// A text is not a valid expression.
    #[error("{0}")]
    Syntax(#[from] SyntaxError),
    /// The result exceeds [`Limits::output`].
    #[error("limit of {limit} bytes of output exceeded")]
    Output {
        /// The limit in bytes.
        limit: usize,
    },
}

impl SpiffError {
    /// Returns the code of the error. `windlass explain CODE` explains the error.
    pub fn code(&self) -> Code {
        match self {
            Self::Unresolved(report) => report.code(),
            Self::Read(_) => codes::DOCUMENT,
            Self::Syntax(_) => codes::EXPRESSION,
            Self::Output { .. } => codes::TOO_LARGE,
        }
    }
}

impl From<Unresolved> for SpiffError {
    fn from(unresolved: Unresolved) -> Self {
        Self::Unresolved(unresolved)
    }
}

/// The parts that a result keeps as they are. By default, all fields are `false`: expressions without a value are an
/// error, escaped expressions are unescaped, and temporary nodes are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preserve {
    /// Whether expressions without a value stay in the result. By default, they are an error.
    pub partial: bool,
    /// Whether an escaped expression such as `((! a ))` stays as it is. By default, it becomes the text
    /// `(( a ))`.
    pub escapes: bool,
    /// Whether nodes with the marker `&temporary` or `&local` stay in the result.
    pub temporary: bool,
}

/// A template engine. Its settings apply to all documents that it processes.
///
/// ```
/// use windlass_spiff::{Engine, Features, yaml};
/// use windlass_source::Source;
///
/// let template = Source::new("template.yaml", "url: (( \"https://\" host \":\" port ))\nhost: (( merge ))\nport: 443\n");
/// let stub = Source::new("stub.yaml", "host: example.org\nport: 8443\n");
///
/// let engine = Engine::new().with_features(Features::ALL);
/// let result = engine.process_texts(&template, &[stub])?;
/// assert_eq!(result.to_yaml(), "host: example.org\nport: 8443\nurl: https://example.org:8443\n");
/// # Ok::<(), windlass_spiff::SpiffError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Engine {
    features: Features,
    limits: Limits,
    registry: Registry,
    outside: Outside,
    bindings: Map,
    tags: Vec<(String, Node)>,
    preserve: Preserve,
    trace: Option<String>,
    mistakes: Mistakes,
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

/// A document after processing.
#[derive(Clone, Debug)]
pub struct Processed {
    node: Node,
    state: Node,
    trace: Vec<TraceStep>,
}

impl Processed {
    /// Returns the root of the document.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Returns a document with the nodes that have the marker `&state`. Pass the document as a stub to the
    /// next run.
    pub fn state(&self) -> &Node {
        &self.state
    }

    /// Returns the recorded steps of the node that [`Engine::with_trace`] names; empty if no node is named.
    pub fn trace(&self) -> &[TraceStep] {
        &self.trace
    }

    /// Returns the document as YAML.
    pub fn to_yaml(&self) -> String {
        to_yaml(&self.node)
    }
}

impl Engine {
    /// Creates an engine with the default limits. It has no optional features, and no access to the outside
    /// world.
    pub fn new() -> Self {
        Self {
            features: Features::NONE,
            limits: Limits::default(),
            registry: Registry::standard(),
            outside: Outside::none(),
            bindings: Map::new(),
            tags: Vec::new(),
            preserve: Preserve::default(),
            trace: None,
            mistakes: Mistakes::default(),
        }
    }

    /// Sets the optional features of the language.
    pub fn with_features(mut self, features: Features) -> Self {
        self.features = features;
        self
    }

    /// Sets the limits on the cost of a template.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the access of templates to files, commands, addresses and variables.
    pub fn with_outside(mut self, outside: Outside) -> Self {
        self.outside = outside;
        self
    }

    /// Adds a function. If a function with the same name exists, the new function replaces it.
    pub fn with_function(
        mut self,
        name: impl Into<Cow<'static, str>>,
        function: impl Fn(&mut dyn Host, &[Node]) -> Result<Node, FunctionError> + Send + Sync + 'static,
    ) -> Self {
        self.registry.add(name, function);
        self
    }

    /// Binds a name to a value. Expressions refer to the value by this name. If a document has a field with
    /// this name, the name refers to the field instead.
    pub fn with_binding(mut self, name: impl AsRef<str>, value: impl Into<Value>) -> Self {
        self.bindings.insert(Arc::from(name.as_ref()), Node::new(value).with_source("<binding>"));
        self
    }

    /// Adds a tag: a name by which all documents can refer to `node`.
    pub fn with_tag(mut self, name: impl Into<String>, node: Node) -> Self {
        self.tags.push((name.into(), node));
        self
    }

    /// Sets which parts the engine keeps in a result, such as temporary nodes. By default, the engine keeps none of the
    /// parts that [`Preserve`] lists.
    pub fn with_preserved(mut self, preserve: Preserve) -> Self {
        self.preserve = preserve;
        self
    }

    /// Records how the node at `path` gets its value; see [`Processed::trace`]. Examples of paths are
    /// `a.b.[0]`, and `a.name:x` for the list entry whose field `name` is `x`.
    pub fn with_trace(mut self, path: impl Into<String>) -> Self {
        self.trace = Some(path.into());
        self
    }

    /// Makes each expression with a non-ASCII character a syntax error. This reproduces a mistake of the Go
    /// program spiff++.
    pub fn with_ascii_only(mut self) -> Self {
        self.mistakes.ascii_only = true;
        self
    }

    /// Reproduces a mistake of the Go program spiff++ in lists that contain the entry `- <<: (( merge ))`.
    ///
    /// The mistake is that expressions in the entries of the list stay text. It occurs if an entry has no key, or
    /// if two entries have the same key. The key of an entry is its field `name`, or another field that the list
    /// declares as its key field.
    pub fn with_raw_entries(mut self) -> Self {
        self.mistakes.raw_entries = true;
        self
    }

    /// Processes a template with stubs; the first stub has the highest precedence.
    ///
    /// # Errors
    /// When a stub or the template has nodes without a value, or a limit is exceeded.
    pub fn process(&self, template: &Node, stubs: &[Node]) -> Result<Processed, SpiffError> {
        self.session().process(template, stubs)
    }

    /// Parses a template and stubs, and processes them as [`process`](Self::process) does.
    ///
    /// # Errors
    /// When the template or a stub is no valid YAML document. All errors of [`process`](Self::process) can
    /// also occur.
    pub fn process_texts(
        &self,
        template: &Arc<Source>,
        stubs: &[Arc<Source>],
    ) -> Result<Processed, SpiffError> {
        let template = read_document(template)?;
        let stubs = stubs.iter().map(read_document).collect::<Result<Vec<_>, _>>()?;
        self.process(&template, &stubs)
    }

    /// Processes a document, and then evaluates an expression. The expression can refer to the fields of the
    /// processed document by name.
    ///
    /// # Errors
    /// When the expression is malformed, or has no value.
    pub fn evaluate(&self, expression: &str, document: &Node) -> Result<Node, SpiffError> {
        let session = self.session();
        let expr = session.env.state().parse(expression, &Place::default())?;
        let document = session.process_bare(document, &[])?;
        let fields = match document.value() {
            Value::Map(map) => (**map).clone(),
            _ => Map::new(),
        };
        let scope = session.env.with_fields(Arc::new(fields));
        let node = Node::new(Expression::value(expr)).with_source("<expression>");
        let (result, unresolved) = flow::run(&node, &scope, false);
        if unresolved.is_empty() { Ok(result) } else { Err(unresolved.into()) }
    }

    /// Creates a session for a document and its stubs.
    ///
    /// If the engine has bindings, tags or optional features, a global tag of a stub is visible in the document, too.
    /// The name `___` in an expression then refers to the bindings: the values that
    /// [`with_binding`](Self::with_binding) has set.
    ///
    /// If the engine has none of these, two other rules apply, as in the command of the Go program spiff++. A tag of a
    /// stub is visible only in this stub. The name `___` refers to the root of the stub or document that contains the
    /// expression.
    pub fn session(&self) -> Session {
        let is_plain = self.bindings.is_empty() && self.tags.is_empty() && self.features == Features::NONE;
        self.open(if is_plain { LevelKind::Nothing } else { LevelKind::Bindings })
    }

    /// Creates a session for several documents, which are processed one after the other. An expression can
    /// refer to the result of an earlier document, for example by `doc.1::a`.
    pub fn stream(&self) -> Session {
        self.open(LevelKind::Bindings)
    }

    fn open(&self, kind: LevelKind) -> Session {
        let trace = self.trace.as_deref().map(Trace::new);
        let state = Arc::new(State::new(
            self.features,
            self.limits,
            self.registry.clone(),
            self.outside.clone(),
            self.mistakes,
            trace,
        ));
        for (name, node) in &self.tags {
            // The call fails only if the same name already tags a node at a different path. All tags of an
            // engine have the same path, which is empty, so the call can't fail. If several tags have the
            // same name, the last tag replaces the others.
            let _ = state.tag(&format!("*{}", name.trim_start_matches('*')), node, &Steps::default());
        }
        state.next_document();
        let source: Arc<str> = "<bindings>".into();
        let level = Level { state, processor: &FlowProcessor, stubs: Vec::new(), outer: None, source, kind };
        let env = Env::new(level).with_fields(Arc::new(self.bindings.clone()));
        Session { env, preserve: self.preserve }
    }
}

/// A session: documents that are processed one after the other, with common tags and bindings.
#[derive(Debug)]
pub struct Session {
    env: Env,
    preserve: Preserve,
}

impl Drop for Session {
    /// Removes the files that expressions have created by `tempfile`.
    fn drop(&mut self) {
        self.env.state().host.clean();
    }
}

impl Session {
    fn keep(&self) -> Keep {
        Keep {
            unresolved: self.preserve.partial,
            escapes: self.preserve.escapes,
            temporary: self.preserve.temporary,
        }
    }

    /// Processes stubs, which are documents that supply values to other documents. Each stub in the list gets
    /// values from the stubs after it.
    ///
    /// # Errors
    /// When a stub has nodes without a value, or a limit is exceeded.
    pub fn prepare(&self, stubs: &[Node]) -> Result<Vec<Node>, SpiffError> {
        Ok(flow::prepare(stubs, &self.env, self.keep())?)
    }

    /// Processes a template with stubs that [`prepare`](Self::prepare) has processed.
    ///
    /// # Errors
    /// When the template has nodes without a value, or a limit is exceeded.
    pub fn apply(&self, template: &Node, prepared: &[Node]) -> Result<Processed, SpiffError> {
        let whole = flow::process(template, prepared, &self.env, self.keep());
        self.env.state().host.clean();
        let (whole, complete) = whole?;
        let state = flow::state_only(&whole);
        // If some nodes have no value, the result keeps all its nodes, for example temporary nodes. The Go
        // program spiff++ does the same.
        let node = if complete { flow::tidied(&whole, &self.env, self.keep()) } else { whole };
        let processed = Processed { node, state, trace: self.steps() };
        self.check_size(&processed.node)?;
        if complete {
            self.env.state().push_document(&processed.node);
        }
        self.env.state().next_document();
        Ok(processed)
    }

    /// Processes a template with stubs; the first stub has the highest precedence.
    ///
    /// # Errors
    /// When a stub or the template has nodes without a value, or a limit is exceeded.
    pub fn process(&self, template: &Node, stubs: &[Node]) -> Result<Processed, SpiffError> {
        let prepared = self.prepare(stubs)?;
        self.apply(template, &prepared)
    }

    /// Processes a document with stubs. The stubs supply values as they are: the method does not process the stubs
    /// themselves. Temporary nodes and escaped expressions stay in the result as they are.
    ///
    /// # Errors
    /// When the document has nodes without a value, or a limit is exceeded.
    pub fn process_bare(&self, document: &Node, stubs: &[Node]) -> Result<Node, SpiffError> {
        Ok(flow::single(document, stubs, &self.env)?)
    }

    /// Tells whether the whole result is left out of the output. This is the case if the root of the result has the
    /// marker `&temporary`, and the engine does not keep temporary nodes.
    pub fn discards(&self, result: &Node) -> bool {
        !self.preserve.temporary && result.annotations().flags.has(Flags::TEMPORARY)
    }

    /// Evaluates an expression that can refer to the fields of a processed document by name.
    ///
    /// # Errors
    /// When the expression is malformed, or has no value.
    pub fn evaluate(&self, expression: &str, fields: &Map) -> Result<Node, SpiffError> {
        let expr = self.env.state().parse(expression, &Place::default())?;
        let level = Level::nested(&self.env, "context");
        let scope = Env::new(level).with_locals(fields.clone());
        let node = Node::new(Expression::value(expr)).with_source("<expr>");
        Ok(flow::apply(&node, &[], &scope, Keep::NOTHING)?)
    }

    /// Returns the recorded steps of the node that [`Engine::with_trace`] names; empty if no node is named.
    pub fn steps(&self) -> Vec<TraceStep> {
        self.env.state().trace.as_ref().map(Trace::steps).unwrap_or_default()
    }

    fn check_size(&self, node: &Node) -> Result<(), SpiffError> {
        let limit = self.env.state().limits.output;
        if size(node, limit) > limit { Err(SpiffError::Output { limit }) } else { Ok(()) }
    }
}

/// Returns the approximate size of a document in bytes. If the size exceeds `limit`, the function stops
/// counting, and returns a number above `limit`.
fn size(node: &Node, limit: usize) -> usize {
    crate::too_deep::with_stack(|| {
        let mut total = 0;
        match node.value() {
            Value::String(text) => total = text.len(),
            Value::Bytes(bytes) => total = bytes.len(),
            Value::List(list) => {
                for entry in list.iter() {
                    total += 2 + size(entry, limit);
                    if total > limit {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                for (key, entry) in map.iter() {
                    total += key.len() + 2 + size(entry, limit);
                    if total > limit {
                        break;
                    }
                }
            }
            _ => total = 4,
        }
        total
    })
}
