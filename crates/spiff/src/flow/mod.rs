//! Processes documents: repeats passes until nothing changes.
//!
//! A pass visits a document once, and evaluates the nodes whose inputs are known from the previous pass.
//! Unchanged parts stay the same in memory, so a change is detected without comparing documents.

mod control;
mod incremental;
mod issue;
mod list;
mod map;
mod node;
mod passes;
mod range;
mod template;
mod tidy;
mod unchanged;
mod unresolved;
mod visit;

use std::sync::Arc;

pub(crate) use passes::run;
pub use tidy::discard_temporary;
pub(crate) use tidy::state_only;

use crate::eval::scope::LevelKind;
use crate::eval::{Env, Level, Processor};
use crate::report::Unresolved;
use crate::value::Node;

/// The [`Processor`] that evaluations use.
#[derive(Debug)]
pub(crate) struct FlowProcessor;

impl Processor for FlowProcessor {
    fn run(&self, document: &Node, env: &Env) -> (Node, Unresolved) {
        run(document, env, false)
    }

    fn cascade(&self, template: &Node, stubs: &[Node], env: &Env) -> Result<Node, Unresolved> {
        cascade(template, stubs, env, Keep::NOTHING)
    }
}

/// The parts of a result that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Expressions that could not be evaluated.
    pub(crate) unresolved: bool,
    /// Escapes of merge keys.
    pub(crate) escapes: bool,
    /// Temporary nodes.
    pub(crate) temporary: bool,
}

impl Keep {
    pub(crate) const NOTHING: Self = Self { unresolved: false, escapes: false, temporary: false };
}

/// Processes a document with its stubs.
fn flow_document(document: &Node, stubs: &[Node], outer: &Env) -> (Node, Unresolved) {
    let source: Arc<str> = document.source().into();
    let level = Level {
        state: outer.state().clone(),
        processor: outer.level.processor,
        stubs: stubs.to_vec(),
        outer: Some(outer.clone()),
        source,
        kind: LevelKind::Document,
    };
    run(document, &Env::new(level), true)
}

/// Processes the stubs, each with the stubs after it as its own stubs.
pub(crate) fn prepare(stubs: &[Node], outer: &Env, keep: Keep) -> Result<Vec<Node>, Unresolved> {
    let mut prepared: Vec<Node> = Vec::new();
    for stub in stubs.iter().rev() {
        let (result, unresolved) = flow_document(stub, &prepared, outer);
        if !unresolved.is_empty() && (!keep.unresolved || outer.state().exhausted().is_some()) {
            return Err(unresolved);
        }
        prepared.insert(0, tidy::discard_local(&result));
        if outer.level.outer.is_none() {
            outer.state().next_level(outer.level.kind == LevelKind::Bindings);
        }
    }
    Ok(prepared)
}

/// Processes the stubs, then the template with them.
fn cascade(template: &Node, stubs: &[Node], outer: &Env, keep: Keep) -> Result<Node, Unresolved> {
    let prepared = prepare(stubs, outer, keep)?;
    apply(template, &prepared, outer, keep)
}

/// Processes a template with prepared stubs.
pub(crate) fn apply(template: &Node, prepared: &[Node], outer: &Env, keep: Keep) -> Result<Node, Unresolved> {
    let (result, complete) = process(template, prepared, outer, keep)?;
    Ok(if complete { tidied(&result, outer, keep) } else { result })
}

/// Processes a template. The result keeps everything. Also tells whether all nodes have values.
pub(crate) fn process(
    template: &Node,
    prepared: &[Node],
    outer: &Env,
    keep: Keep,
) -> Result<(Node, bool), Unresolved> {
    let (result, unresolved) = flow_document(template, prepared, outer);
    if !unresolved.is_empty() && (!keep.unresolved || outer.state().exhausted().is_some()) {
        return Err(unresolved);
    }
    Ok((result, unresolved.is_empty()))
}

/// Removes the nodes that are not part of a final result, and resolves escapes.
pub(crate) fn tidied(result: &Node, env: &Env, keep: Keep) -> Node {
    let result = if keep.temporary { result.clone() } else { discard_temporary(result) };
    if keep.escapes { result } else { tidy::unescape(&result, env.state().features) }
}

/// Processes a single document with unprocessed stubs, as the tests of the original do.
pub(crate) fn single(document: &Node, stubs: &[Node], outer: &Env) -> Result<Node, Unresolved> {
    let (result, unresolved) = flow_document(document, stubs, outer);
    if unresolved.is_empty() { Ok(result) } else { Err(unresolved) }
}
