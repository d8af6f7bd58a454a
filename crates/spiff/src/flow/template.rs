//! Nodes whose values are templates, or come from templates.

use std::sync::Arc;

use crate::eval::closure::Template;
use crate::eval::expression::Expression;
use crate::eval::{Env, Eval, Info, template};
use crate::syntax::ast::{Child, Expr};
use crate::value::{Annotations, Flags, Node, TemplateValue, Value};

/// Returns a copy of `node` that has a new template as its value. Each use of the template processes the content
/// `prepared`. If the template itself gets into the output of the engine, the engine writes the original value of
/// `node` in its place.
pub(super) fn as_template(node: &Node, prepared: Node, env: &Env) -> Node {
    let template = Template { path: env.path.text(), prepared, original: node.clone(), env: env.clone() };
    node.with_value(template.into_value())
}

/// Returns the template that an expression with the marker `&template` declares. If `required` is true, an
/// expression without markers also becomes a template. Returns `None` for any other expression. An empty
/// template is an error.
pub(super) fn declared_template(
    node: &Node,
    expr: &Child,
    required: bool,
    env: &Env,
) -> Option<Result<Eval, Eval>> {
    let (content, flags) = match &**expr {
        Expr::Marker(marker) if marker.has("&template") => {
            let flags = template::flags(marker);
            (template::content(marker, flags, node), flags)
        }
        // An expression with other markers is no template.
        Expr::Marker(_) => return None,
        _ if required => {
            let text = format!("(( {expr} ))");
            (Some(node.with_value(text)), Flags::NONE)
        }
        _ => return None,
    };
    let info = Info { flags, ..Info::default() };
    Some(match content {
        Some(content) => Ok(Eval::with(as_template(node, content, env).into_value(), info)),
        None => Err(Eval::failed(info.with_error("empty template value"))),
    })
}

/// Creates an expression that instantiates a template.
pub(super) fn substitution(template: &Arc<dyn TemplateValue>) -> Child {
    Arc::new(Expr::Substitution(Arc::new(Expr::Known(Value::Template(template.clone())))))
}

/// Prepares a node of a stub for the document that takes over this node. A node with the marker `&dynamic` contains a
/// template, or was created from one. The function replaces such a node by an expression that instantiates the template
/// again. Any other node stays unchanged.
pub(super) fn instantiated(stub: Node) -> Node {
    let annotations = stub.annotations();
    if !annotations.flags.has(Flags::DYNAMIC) {
        return stub;
    }
    let template = match stub.value() {
        Value::Template(template) => template.clone(),
        _ => match &annotations.template {
            Some(template) => template.clone(),
            None => return stub,
        },
    };
    let flags = annotations.flags | Flags::INJECTED;
    let annotations = Annotations { flags, template: Some(template.clone()), ..Annotations::NONE };
    Node::new(Expression::value(substitution(&template)))
        .with_source("<substitute>")
        .with_annotations(annotations)
}
