//! Templates. The marker `&template` declares a template. The operator `*` instantiates a template: the engine
//! processes the content of the template, and the result becomes the value of the operator.

use std::sync::Arc;

use super::closure::Template;
use super::scope::SELF;
use super::{Env, Eval, Info, Outcome};
use crate::limits::cost;
use crate::report::Unresolved;
use crate::syntax::ast::{Child, Marker};
use crate::value::{Flags, Issue, Map, Node, Value};

/// Returns the flags of all names in `marker`. The names `&template` and `&tag:NAME` have no flag.
pub(crate) fn flags(marker: &Marker) -> Flags {
    marker.names.iter().fold(Flags::NONE, |flags, name| {
        flags
            | match &**name {
                "&temporary" => Flags::TEMPORARY,
                "&local" => Flags::LOCAL,
                "&inject" => Flags::INJECT,
                "&default" => Flags::DEFAULT,
                "&state" => Flags::STATE,
                "&dynamic" => Flags::DYNAMIC,
                _ => Flags::NONE,
            }
    })
}

/// Returns the content of a template that a marker `&template` declares. The content is the marked expression as a
/// text. For example, the content is `(( (a + b) ))` for `&template (a + b)`. Returns `None` if the marker has no
/// expression.
///
/// `declared` is the node that becomes the template. The content has the annotations of `declared`, and also `flags`.
pub(crate) fn content(marker: &Marker, flags: Flags, declared: &Node) -> Option<Node> {
    let (text, _) = marker.expr.as_ref()?;
    let content = declared.with_value(format!("(( {text} ))"));
    Some(if flags.is_empty() { content } else { content.annotate(|annotations| annotations.flags |= flags) })
}

/// Evaluates `*e`: instantiates the template that is the value of `e`.
pub(super) fn substitution(expr: &Child, template: &Child, env: &Env) -> Eval {
    let Eval { outcome, info } = super::eval(template, env, false);
    let value = match outcome {
        Outcome::Failed => return Eval::failed(info),
        Outcome::Later(_) => return Eval::later(expr.clone(), info),
        Outcome::Value(value) => value,
    };
    let Value::Template(value) = value else {
        return Eval::failed(info.with_error("template value required"));
    };
    match Template::of(&value) {
        Some(template) => instantiate(expr, &Value::Template(value.clone()), template, env),
        None => Eval::error("template value required"),
    }
}

/// Processes the content of a template in the scope of the expression that uses the template.
pub(crate) fn instantiate(expr: &Child, value: &Value, template: &Template, env: &Env) -> Eval {
    let _guard = match env.state().enter() {
        Ok(guard) => guard,
        Err(limit) => return Eval::error(limit),
    };
    let mut locals = Map::new();
    locals.insert(Arc::from(SELF), Node::new(value.clone()));
    let inner = env.with_locals(locals).with_flow();
    let (result, unresolved) = env.level.processor.run(&bare(&template.prepared), &inner);
    if let Some(limit) = env.state().exhausted() {
        return Eval::error(limit);
    }
    if unresolved.is_empty() {
        if let Err(limit) = env.state().spend(made(&result)) {
            return Eval::error(limit);
        }
        env.state().is_resolved(&result);
        let info = Info {
            source: result.source_name().cloned(),
            undefined: result.annotations().undefined,
            ..Info::default()
        };
        return Eval::with(result.into_value(), info);
    }
    if !unresolved.has_issue() {
        return Eval::later(expr.clone(), Info::default());
    }
    failed(&unresolved, &template.path)
}

/// Returns the cost of a value that a template has created, as a number of steps. A list or map that another value
/// also contains costs nothing.
fn made(value: &Value) -> u64 {
    crate::too_deep::with_stack(|| match value {
        Value::List(list) if Arc::strong_count(list) == 1 => {
            cost(value) + list.iter().map(|node| made(node)).sum::<u64>()
        }
        Value::Map(map) if Arc::strong_count(map) == 1 => {
            cost(value) + map.values().map(|node| made(node)).sum::<u64>()
        }
        _ => 0,
    })
}

fn failed(unresolved: &Unresolved, path: &str) -> Eval {
    let issue = Issue {
        message: format!("resolution of template '{path}' failed"),
        nested: unresolved.issues(),
        chain: false,
        path: None,
    };
    let (error, failed) = unresolved.state();
    Eval::failed(Info { error, failed, issue: Some(Arc::new(issue)), ..Info::default() })
}

/// Removes the annotations of the node itself and of all nodes below the node. The values stay.
pub(crate) fn bare(node: &Node) -> Node {
    let value = match node.value() {
        Value::List(items) if items.iter().any(is_dressed) => {
            Value::from(items.iter().map(bare).collect::<Vec<_>>())
        }
        Value::Map(map) if map.values().any(is_dressed) => {
            Value::from(map.iter().map(|(key, node)| (key.clone(), bare(node))).collect::<Map>())
        }
        other => other.clone(),
    };
    let bare = Node::new(value);
    match node.source_name() {
        Some(source) => bare.with_source(source.clone()),
        None => bare,
    }
}

fn is_dressed(node: &Node) -> bool {
    *node.annotations() != crate::value::Annotations::NONE
        || match node.value() {
            Value::List(items) => items.iter().any(is_dressed),
            Value::Map(map) => map.values().any(is_dressed),
            _ => false,
        }
}
