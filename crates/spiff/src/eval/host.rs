//! The implementation of [`Host`]. Through it, functions such as `read` access the evaluator and the outside world.

use std::path::Path;
use std::time::Duration;

use super::closure::{Closure, Template};
use super::lambda::{self, Style};
use super::resolved::is_locally_resolved;
use super::{Env, Eval, Info, Outcome, template};
use crate::functions::{Denied, FunctionError, Host, Nested};
use crate::report::Unresolved;
use crate::value::{Callable, Issue, Node, Value};

/// The [`Host`] that the evaluator passes to one call of a function. The function uses its host to call lambdas and
/// to read files, for example.
pub(crate) struct HostOf<'e> {
    env: &'e Env,
    /// Information about the value for which the function waits. The message in this information contains the path
    /// of the value. The field is `None` if the function does not wait for a value.
    pub(crate) waiting: Option<Info>,
}

impl<'e> HostOf<'e> {
    pub(crate) fn new(env: &'e Env) -> Self {
        Self { env, waiting: None }
    }

    fn result(&self, eval: Eval) -> Result<Node, FunctionError> {
        if let Some(limit) = self.env.state().exhausted() {
            return Err(FunctionError::Limit(limit));
        }
        match eval.outcome {
            Outcome::Value(value) => {
                let undefined = eval.info.undefined;
                Ok(Node::new(if undefined { Value::Undefined } else { value }))
            }
            Outcome::Later(_) => Err(FunctionError::Pending),
            Outcome::Failed => Err(function_error(eval.info.issue.as_deref())),
        }
    }

    fn waits(&mut self, path: &str, node: &Node) -> FunctionError {
        let annotations = node.annotations();
        let failed = annotations.failed || annotations.error;
        self.waiting = Some(Info::default().waiting(format!("'{path}' unresolved"), failed));
        FunctionError::Pending
    }

    fn report(&self, unresolved: &Unresolved) -> FunctionError {
        match self.env.state().exhausted() {
            Some(limit) => FunctionError::Limit(limit),
            None => FunctionError::failed(unresolved.to_string()),
        }
    }
}

/// Converts the problem of a failed evaluation to the error of a function. If the evaluation has recorded no problem,
/// the message of the error is empty.
fn function_error(issue: Option<&Issue>) -> FunctionError {
    let Some(issue) = issue else { return FunctionError::failed("") };
    let causes = match (&issue.nested[..], issue.chain) {
        ([], _) => Nested::None,
        (nested, true) => {
            let mut chain = Vec::new();
            let mut here = nested.first();
            while let Some(issue) = here {
                chain.push(issue.message.clone());
                here = issue.nested.first();
            }
            Nested::Chain(chain)
        }
        (nested, false) => Nested::Nodes(nested.iter().map(|issue| issue.message.clone()).collect()),
    };
    FunctionError::Failed { message: issue.message.clone(), causes }
}

impl Host for HostOf<'_> {
    fn call(&mut self, lambda: &dyn Callable, arguments: &[Node]) -> Result<Node, FunctionError> {
        let Some(closure) = lambda.as_any().downcast_ref::<Closure>() else {
            return Err("a lambda of another engine can't be called".into());
        };
        let eval = lambda::call(closure, Style::Function, &[], arguments, self.env, false);
        self.result(eval)
    }

    fn evaluate(&mut self, expression: &str) -> Result<Node, FunctionError> {
        let expr = self
            .env
            .state()
            .parse(expression, &self.env.place())
            .map_err(|error| FunctionError::failed(format!("({expression})\t {error}")))?;
        self.result(super::eval(&expr, self.env, false))
    }

    fn merge(&mut self, documents: &[Node]) -> Result<Node, FunctionError> {
        let mut documents: Vec<Node> = documents
            .iter()
            .map(|node| match node.value() {
                Value::Template(value) => match Template::of(value) {
                    Some(template) => template::bare(&template.prepared),
                    None => node.clone(),
                },
                _ => node.clone(),
            })
            .map(|node| node.with_source("dynaml"))
            .collect();
        if documents.is_empty() {
            return Err("at least one argument required for merge function".into());
        }
        let _guard = self.env.state().enter().map_err(FunctionError::Limit)?;
        let template = documents.remove(0);
        self.env.level.processor.cascade(&template, &documents, self.env).map_err(|unresolved| {
            match self.report(&unresolved) {
                FunctionError::Failed { message, causes } => {
                    FunctionError::Failed { message: format!("merging failed: {message}"), causes }
                }
                other => other,
            }
        })
    }

    fn process(&mut self, document: Node, own_root: bool) -> Result<Node, FunctionError> {
        let _guard = self.env.state().enter().map_err(FunctionError::Limit)?;
        let env = if own_root { self.env.with_new_root() } else { self.env.clone() };
        let (result, unresolved) = env.level.processor.run(&document, &env.with_flow());
        if unresolved.is_empty() {
            return Ok(result);
        }
        if !unresolved.has_issue() {
            return Err(FunctionError::Pending);
        }
        match self.env.state().exhausted() {
            Some(limit) => Err(FunctionError::Limit(limit)),
            None => Err(FunctionError::Failed {
                message: "resolution of document failed".into(),
                causes: Nested::Nodes(unresolved.issues().into_iter().map(|issue| issue.message).collect()),
            }),
        }
    }

    fn template(&mut self, document: Node) -> Value {
        let env = self.env.clone();
        Template { path: env.path.text(), prepared: document.clone(), original: document, env }.into_value()
    }

    fn tag(&mut self, name: &str, value: &Node) -> Result<(), FunctionError> {
        self.env.state().tag(name, value, &self.env.path).map_err(FunctionError::failed)
    }

    fn path(&self) -> Vec<String> {
        self.env.path.to_vec().iter().map(ToString::to_string).collect()
    }

    fn lookup(&mut self, path: &[&str]) -> Result<Option<Node>, FunctionError> {
        let mut found = None;
        let mut seen = String::new();
        for name in path {
            seen.push('.');
            seen.push_str(name);
            found = match &found {
                None => self.env.root_name(name),
                Some(found) => found.step(name),
            };
            match &found {
                None => return Ok(None),
                Some(found) => {
                    let control = self.env.state().features.control;
                    if !is_locally_resolved(&found.node(), control) {
                        return Err(self.waits(&seen, &found.node()));
                    }
                }
            }
        }
        let node = found.map(|found| found.node());
        match node {
            Some(node) if !self.env.state().is_resolved(&node) => Err(self.waits(&seen, &node)),
            other => Ok(other),
        }
    }

    fn features(&self) -> Vec<String> {
        self.env.state().features.names()
    }

    fn spend(&mut self, steps: u64) -> Result<(), FunctionError> {
        self.env.state().spend(steps).map_err(FunctionError::Limit)
    }

    fn now(&self) -> Duration {
        self.env.state().host.now()
    }

    fn random(&mut self, bytes: &mut [u8]) {
        self.env.state().host.random(bytes);
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, Denied> {
        self.env.state().host.read(path)
    }

    fn write(&mut self, path: &str, content: &[u8], mode: u32) -> Result<(), Denied> {
        self.env.state().host.write(path, content, mode)
    }

    fn make_folder(&mut self, path: &str, mode: u32) -> Result<(), Denied> {
        self.env.state().host.make_folder(path, mode)
    }

    fn temporary_file(&mut self, content: &[u8], mode: u32) -> Result<String, Denied> {
        self.env.state().host.temporary_file(content, mode)
    }

    fn list(&mut self, folder: &str) -> Result<Vec<(String, bool)>, Denied> {
        self.env.state().host.list(folder)
    }

    fn exists(&mut self, path: &Path) -> Result<Option<bool>, Denied> {
        self.env.state().host.exists(path)
    }

    fn run(&mut self, command: &[String], input: Option<&[u8]>, cached: bool) -> Result<Vec<u8>, Denied> {
        self.env.state().host.run(command, input, cached)
    }

    fn variable(&mut self, name: &str) -> Result<Option<String>, Denied> {
        self.env.state().host.variable(name)
    }

    fn encryption_key(&self) -> Option<String> {
        self.env.state().host.key()
    }
}
