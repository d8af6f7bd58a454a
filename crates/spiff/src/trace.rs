//! Records how a node gets its value, step by step.

use std::sync::{Mutex, PoisonError};

/// One step in the evaluation of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Name of the document that contains the node: a stub or the template.
    pub document: String,
    /// The number of the pass. The first pass has the number 1.
    pub pass: u32,
    /// A description of what happened in the step.
    pub event: String,
    /// Value of the node after the step, in a short form.
    pub value: String,
}

/// Records the steps in the evaluation of one node.
#[derive(Debug)]
pub(crate) struct Trace {
    path: String,
    steps: Mutex<Vec<TraceStep>>,
}

impl Trace {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.to_owned(), steps: Mutex::default() }
    }

    pub(crate) fn wants(&self, path: &str) -> bool {
        self.path == path
    }

    pub(crate) fn note(&self, step: TraceStep) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |last: &TraceStep| {
            (&last.document, &last.event, &last.value) == (&step.document, &step.event, &step.value)
        };
        if !steps.last().is_some_and(same) {
            steps.push(step);
        }
    }

    pub(crate) fn steps(&self) -> Vec<TraceStep> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
