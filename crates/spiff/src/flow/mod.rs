//! Documents to documents: passes until nothing changes.
//!
//! A pass goes through a document once and evaluates what can be evaluated with what the pass before it left. What
//! didn't change stays the same in memory, so that whether a pass changed anything is known without comparing
//! documents.

mod control;
mod list;
mod map;
mod node;
mod tidy;

use std::sync::Arc;

pub use tidy::discard_temporary;
pub(crate) use tidy::state_only;

use crate::eval::{Env, Level};
use crate::report::Unresolved;
use crate::value::{Node, Value};

/// What stays in the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Expressions that could not be evaluated.
    pub(crate) unresolved: bool,
    /// Escapes.
    pub(crate) escapes: bool,
    /// Temporary nodes.
    pub(crate) temporary: bool,
}

impl Keep {
    pub(crate) const NOTHING: Self = Self { unresolved: false, escapes: false, temporary: false };
}

/// Processes a document in a scope until nothing changes.
pub(crate) fn run(document: &Node, env: &Env, overriding: bool) -> (Node, Unresolved) {
    let state = env.state();
    let mut current = document.clone();
    let mut pass = 0;
    let mut undefined = false;
    loop {
        pass += 1;
        state.set_pass(pass);
        let mut next = node::flow(&current, env, overriding, false);
        if next.annotations().undefined {
            undefined = true;
            next = Node::new(Value::Null);
        }
        env.flow.update(&next);
        if state.exhausted().is_some() {
            current = next;
            break;
        }
        if node::identical(&current, &next) {
            current = next;
            if state.pause() {
                continue;
            }
            break;
        }
        state.changed();
        current = next;
        if pass >= state.limits.passes {
            state.exhaust(&format!("limit of {pass} passes exceeded"));
            break;
        }
    }
    let unresolved = match state.exhausted() {
        Some(limit) => Unresolved::exhausted(&current, &limit),
        None => Unresolved::find(&current, state),
    };
    if undefined && matches!(current.value(), Value::Null) {
        current = current.annotate(|annotations| annotations.undefined = true);
    }
    (current, unresolved)
}

/// Processes a document with its stubs.
fn flow_document(document: &Node, stubs: &[Node], outer: &Env) -> (Node, Unresolved) {
    let source: Arc<str> = document.source().into();
    let level = Level {
        state: outer.state().clone(),
        stubs: stubs.to_vec(),
        outer: Some(outer.clone()),
        source,
        bindings: false,
    };
    run(document, &Env::new(level), true)
}

/// Processes the stubs, each with the later ones as its own stubs.
pub(crate) fn prepare(stubs: &[Node], outer: &Env, keep: Keep) -> Result<Vec<Node>, Unresolved> {
    let mut prepared: Vec<Node> = Vec::new();
    for stub in stubs.iter().rev() {
        let (result, unresolved) = flow_document(stub, &prepared, outer);
        if !unresolved.is_empty() && (!keep.unresolved || outer.state().exhausted().is_some()) {
            return Err(unresolved);
        }
        prepared.insert(0, tidy::discard_local(&result));
        if outer.level.outer.is_none() {
            outer.state().next_document();
        }
    }
    Ok(prepared)
}

/// Processes stubs, then the template with them.
pub(crate) fn cascade(template: &Node, stubs: &[Node], outer: &Env, keep: Keep) -> Result<Node, Unresolved> {
    let prepared = prepare(stubs, outer, keep)?;
    apply(template, &prepared, outer, keep)
}

/// Processes a template with stubs that are prepared.
pub(crate) fn apply(template: &Node, prepared: &[Node], outer: &Env, keep: Keep) -> Result<Node, Unresolved> {
    let (mut result, mut unresolved) = flow_document(template, prepared, outer);
    if unresolved.is_empty() && tidy::has_dynamic(&result) {
        (result, unresolved) = flow_document(&tidy::with_dynamic(&result), prepared, outer);
    }
    if !unresolved.is_empty() && (!keep.unresolved || outer.state().exhausted().is_some()) {
        return Err(unresolved);
    }
    Ok(tidied(&result, outer, keep))
}

/// Without what doesn't belong into a result.
pub(crate) fn tidied(result: &Node, env: &Env, keep: Keep) -> Node {
    let result = if keep.temporary { result.clone() } else { discard_temporary(result) };
    if keep.escapes { result } else { tidy::unescape(&result, env.state().features) }
}

/// Processes a single document with stubs that are taken as they are, as the tests of the original do.
pub(crate) fn single(document: &Node, stubs: &[Node], outer: &Env) -> Result<Node, Unresolved> {
    let (result, unresolved) = flow_document(document, stubs, outer);
    if unresolved.is_empty() { Ok(result) } else { Err(unresolved) }
}
