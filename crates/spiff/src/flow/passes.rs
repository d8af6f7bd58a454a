//! Repeats passes over a document until nothing changes.

use super::incremental::{Incremental, Progress};
use super::unchanged::identical;
use super::{node, unresolved};
use crate::eval::Env;
use crate::limits::ExceededLimit;
use crate::report::Unresolved;
use crate::value::{Node, Value};

/// Processes a document in the scope `env` until a pass changes nothing, or a limit is exceeded. Returns the processed
/// document, and a report of its nodes without a value.
///
/// `overriding` determines whether a stub can override the root node of the document.
pub(crate) fn run(document: &Node, env: &Env, overriding: bool) -> (Node, Unresolved) {
    let state = env.state();
    let mut passes = Passes { env, current: document.clone(), count: 0, undefined: false };
    passes.all(overriding);
    let Passes { mut current, undefined, .. } = passes;
    let report = match state.exceeded() {
        Some((limit, message)) => Unresolved::exceeded(&current, limit, &message),
        None => unresolved::find(&current, state),
    };
    if undefined && matches!(current.value(), Value::Null) {
        current = current.annotate(|annotations| annotations.undefined = true);
    }
    (current, report)
}

/// The state of a document between two passes.
struct Passes<'e> {
    env: &'e Env,
    current: Node,
    count: u32,
    /// Whether a pass has left the whole document undefined.
    undefined: bool,
}

impl Passes<'_> {
    /// Makes passes until a pass changes nothing, or a limit is exceeded. `overriding` determines whether a stub can
    /// override the root node of the document.
    fn all(&mut self, overriding: bool) {
        // The search for open nodes takes about as long as a pass over plain data. So if a search finds that
        // incremental passes are not possible, the number of whole passes until the next search is doubled.
        let (mut interval, mut until_survey) = (1_u32, 1_u32);
        loop {
            let before = self.current.clone();
            let changed = self.whole(overriding);
            if self.has_ended() {
                return;
            }
            if !changed {
                if self.env.state().pause() {
                    continue;
                }
                return;
            }
            if until_survey > 0 {
                until_survey -= 1;
                continue;
            }
            interval = if self.incremental(before) { 0 } else { (interval * 2).max(1) };
            until_survey = interval;
            if self.has_ended() {
                return;
            }
        }
    }

    /// Makes one pass over all nodes. Returns whether it changed a node.
    fn whole(&mut self, overriding: bool) -> bool {
        self.env.state().set_pass(self.count + 1);
        let mut next = node::flow(&self.current, self.env, overriding, false);
        if next.annotations().undefined {
            self.undefined = true;
            next = Node::new(Value::Null);
        }
        let changed = !identical(&self.current, &next);
        self.current = next;
        self.count(changed);
        changed
    }

    /// Makes incremental passes, which evaluate only some nodes, if the document allows them. Ends when a pass
    /// changes nothing, when the next pass must visit all nodes, or when a limit is exceeded. Returns whether at
    /// least one incremental pass has changed the document.
    ///
    /// The last pass before this call has visited all nodes. `before` is the document before that pass.
    fn incremental(&mut self, before: Node) -> bool {
        let Some(mut open) = Incremental::of(&before, &self.current, self.env) else { return false };
        // A pass can change a map in place only if no other document shares the map. `before` shares most maps
        // with the current document. After `before` is dropped, these maps can be changed in place.
        drop(before);
        let mut any = false;
        loop {
            self.env.state().set_pass(self.count + 1);
            let progress = open.pass(&mut self.current);
            if progress == Progress::Unchanged {
                return any;
            }
            any = true;
            self.count(true);
            if progress == Progress::Last || self.has_ended() {
                return any;
            }
        }
    }

    fn count(&mut self, changed: bool) {
        let state = self.env.state();
        self.count += 1;
        self.env.flow.update(&self.current);
        if !changed || state.exhausted().is_some() {
            return;
        }
        state.changed();
        if self.count >= state.limits.passes {
            state.exhaust(ExceededLimit::Passes, &format!("limit of {} passes exceeded", self.count));
        }
    }

    fn has_ended(&self) -> bool {
        self.env.state().exhausted().is_some()
    }
}
