//! The result of the evaluation of an expression: the outcome, and information for the annotations of the node that
//! contains the expression.

use std::sync::Arc;

use crate::syntax::ast::Child;
use crate::value::{Flags, Issue, Redirect, Value};

#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Value(Value),
    /// A required value is not known yet. This variant contains the expression that the next pass evaluates in
    /// place of the old one. For example, `a` in `a || b` has failed, and the value of `b` is not known yet. This
    /// variant then contains `b`.
    Later(Child),
    /// The evaluation failed. In most cases, [`Info::issue`] contains a message about the cause.
    Failed,
}

/// The outcome of an evaluation, with the [`Info`] that the evaluation has collected.
#[derive(Clone, Debug)]
pub(crate) struct Eval {
    pub(crate) outcome: Outcome,
    pub(crate) info: Info,
}

/// Information that the evaluation of an expression collects. Most fields become annotations of the node that contains
/// the expression.
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
    /// Whether the value is the result of a function. Such a value may contain nodes that are not evaluated yet. The
    /// path `.a` in `f(x).a` selects the node `a` without waiting for the other nodes.
    pub(crate) raw: bool,
    pub(crate) flags: Flags,
    pub(crate) key_name: Option<Arc<str>>,
    pub(crate) source: Option<Arc<str>>,
    pub(crate) issue: Option<Arc<Issue>>,
}

impl Info {
    /// Adds the information from the evaluation of another part of the same expression.
    pub(crate) fn join(mut self, other: Self) -> Self {
        if other.redirect != Redirect::None {
            self.redirect = other.redirect;
        }
        // The flag `replace` is the effect of `merge replace`. If an expression has several parts, the last
        // part alone determines this flag.
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

    /// Removes the message of the problem, and all flags that describe the problem. `undefined` is one of these
    /// flags.
    pub(crate) fn without_problem(mut self) -> Self {
        self.issue = None;
        self.error = false;
        self.failed = false;
        self.undefined = false;
        self
    }

    /// Records that the expression itself has failed, and sets the message of the problem. If the expression waits for
    /// another node, [`waiting`](Self::waiting) is used instead.
    pub(crate) fn with_error(mut self, message: impl Into<String>) -> Self {
        self.error = true;
        self.issue = Some(Arc::new(Issue::new(message)));
        self
    }

    /// Sets the message about the node for which the expression waits. `failed` tells whether the awaited
    /// node has failed.
    pub(crate) fn waiting(mut self, message: impl Into<String>, failed: bool) -> Self {
        self.issue = Some(Arc::new(Issue::new(message)));
        self.failed = failed;
        self
    }

    /// Returns the message of the problem; empty if no problem is set.
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

    pub(crate) fn noting(mut self, change: impl FnOnce(&mut Info)) -> Self {
        change(&mut self.info);
        self
    }
}
