//! Processes documents: repeats passes until nothing changes.
//!
//! A pass visits a document once. It evaluates the nodes for which the previous pass has computed all
//! required values. An unchanged part keeps its address in memory, so the engine finds changes without
//! comparing whole documents.

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

/// The parts that a result keeps; the internal form of [`Preserve`](crate::Preserve).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Whether expressions without a value stay in the result. If false, they are an error.
    pub(crate) unresolved: bool,
    /// Whether escaped expressions and escaped merge keys stay as they are. If false, they are unescaped: `((! a ))`
    /// becomes `(( a ))`.
    pub(crate) escapes: bool,
    /// Whether nodes with the marker `&temporary` or `&local` stay in the result.
    pub(crate) temporary: bool,
}

impl Keep {
    pub(crate) const NOTHING: Self = Self { unresolved: false, escapes: false, temporary: false };
}

/// Makes all passes over a document in the environment `outer`. The stubs can override the nodes of the document.
/// Returns the document after the last pass, and a report of the nodes without a value.
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

/// Processes stubs, which are documents that supply or override values of a template. Each stub in the list gets
/// values from the stubs after it.
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

/// Processes the stubs, and then the template. The processed stubs supply values to the template.
fn cascade(template: &Node, stubs: &[Node], outer: &Env, keep: Keep) -> Result<Node, Unresolved> {
    let prepared = prepare(stubs, outer, keep)?;
    apply(template, &prepared, outer, keep)
}

/// Processes a template with the stubs `prepared`, which are the result of [`prepare`]. If all nodes of the result
/// have values, the function also removes temporary nodes and unescapes expressions (see [`tidied`]).
pub(crate) fn apply(template: &Node, prepared: &[Node], outer: &Env, keep: Keep) -> Result<Node, Unresolved> {
    let (result, complete) = process(template, prepared, outer, keep)?;
    Ok(if complete { tidied(&result, outer, keep) } else { result })
}

/// Processes a template with the stubs `prepared`, which [`prepare`] has returned. Returns the processed template.
/// It still contains temporary nodes and escaped expressions. Also returns whether all nodes have values.
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

/// Removes temporary nodes from a result, and unescapes its expressions. For example, the text `((! a ))` becomes
/// `(( a ))`. `keep` can turn off one or both of these changes.
pub(crate) fn tidied(result: &Node, env: &Env, keep: Keep) -> Node {
    let result = if keep.temporary { result.clone() } else { discard_temporary(result) };
    if keep.escapes { result } else { tidy::unescape(&result, env.state().features) }
}

/// Processes a document with stubs. The stubs supply values as they are: the function does not process the stubs
/// themselves. The tests of the Go program spiff++ process documents in the same way.
pub(crate) fn single(document: &Node, stubs: &[Node], outer: &Env) -> Result<Node, Unresolved> {
    let (result, unresolved) = flow_document(document, stubs, outer);
    if unresolved.is_empty() { Ok(result) } else { Err(unresolved) }
}
