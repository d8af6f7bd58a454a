//! The results of an evaluation beside a value.

use std::sync::Arc;

use crate::syntax::ast::Child;
use crate::value::{Flags, Issue, Redirect, Value};

/// How an evaluation ended.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// With a value.
    Value(Value),
    /// It must be tried again in the next pass, with this expression.
    Later(Child),
    /// It failed.
    Failed,
}

/// An outcome, and what is to be noted at the node.
#[derive(Clone, Debug)]
pub(crate) struct Eval {
    pub(crate) outcome: Outcome,
    pub(crate) info: Info,
}

/// Facts for the annotations of the node that an expression belongs to.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a node")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Info {
    pub(crate) redirect: Redirect,
    pub(crate) replace: bool,
    pub(crate) merged: bool,
    pub(crate) preferred: bool,
    pub(crate) undefined: bool,
    pub(crate) error: bool,
    pub(crate) failed: bool,
    /// Nodes below the value may be unresolved; it counts for paths that follow only.
    pub(crate) raw: bool,
    pub(crate) flags: Flags,
    pub(crate) key_name: Option<Arc<str>>,
    pub(crate) source: Option<Arc<str>>,
    pub(crate) issue: Option<Arc<Issue>>,
}

impl Info {
    /// Adds the facts of another part's evaluation.
    pub(crate) fn join(mut self, other: Self) -> Self {
        if other.redirect != Redirect::None {
            self.redirect = other.redirect;
        }
        // Only a merge expression that stands alone replaces.
        self.replace = other.replace;
        self.preferred |= other.preferred;
        self.merged |= other.merged;
        if other.key_name.is_some() {
            self.key_name = other.key_name;
        }
        if other.issue.is_some() {
            self.issue = other.issue;
        }
        self.error |= other.error;
        self.failed |= other.failed;
        self.undefined |= other.undefined;
        self.flags |= other.flags;
        self
    }

    /// The same without its problem.
    pub(crate) fn without_problem(mut self) -> Self {
        self.issue = None;
        self.error = false;
        self.failed = false;
        self.undefined = false;
        self
    }

    /// The same with a problem of its own.
    pub(crate) fn with_error(mut self, message: impl Into<String>) -> Self {
        self.error = true;
        self.issue = Some(Arc::new(Issue::new(message)));
        self
    }

    /// The same with what it waits for.
    pub(crate) fn waiting(mut self, message: impl Into<String>, failed: bool) -> Self {
        self.issue = Some(Arc::new(Issue::new(message)));
        self.failed = failed;
        self
    }

    /// The message of the problem; empty without one.
    pub(crate) fn message(&self) -> &str {
        self.issue.as_deref().map_or("", |issue| &issue.message)
    }
}

impl Eval {
    pub(crate) fn value(value: impl Into<Value>) -> Self {
        Self::with(value, Info::default())
    }

    pub(crate) fn with(value: impl Into<Value>, info: Info) -> Self {
        Self { outcome: Outcome::Value(value.into()), info }
    }

    pub(crate) fn later(expr: Child, info: Info) -> Self {
        Self { outcome: Outcome::Later(expr), info }
    }

    pub(crate) fn failed(info: Info) -> Self {
        Self { outcome: Outcome::Failed, info }
    }

    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::failed(Info::default().with_error(message))
    }

    pub(crate) fn undefined() -> Self {
        Self::with(Value::Null, Info { undefined: true, ..Info::default() })
    }

    /// The same outcome with more noted.
    pub(crate) fn noting(mut self, change: impl FnOnce(&mut Info)) -> Self {
        change(&mut self.info);
        self
    }
}
