//! Values that capture a scope: lambdas, templates, and pending expressions.

use std::any::Any;
use std::sync::Arc;

use super::scope::Env;
use super::waiting::{self, Seen};
use crate::syntax::ast::{Child, Lambda};
use crate::syntax::quote::go_quote;
use crate::too_deep::with_stack;
use crate::value::number::float_text;
use crate::value::{Callable, Map, Node, Pending, TemplateValue, Value};

/// A lambda with its captured scope.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub(crate) lambda: Arc<Lambda>,
    /// The values of default parameters, by position.
    pub(crate) defaults: Vec<Option<Value>>,
    pub(crate) statics: Option<Arc<Map>>,
    pub(crate) env: Env,
}

impl Closure {
    pub(crate) fn of(lambda: &Arc<dyn Callable>) -> Option<&Self> {
        lambda.as_any().downcast_ref()
    }

    /// Returns the number of optional parameters.
    pub(crate) fn optional(&self) -> usize {
        let parameters = &self.lambda.parameters;
        match parameters.iter().position(|parameter| parameter.default.is_some()) {
            Some(first) => parameters.len() - first,
            None => usize::from(self.lambda.varargs),
        }
    }

    pub(crate) fn into_value(self) -> Value {
        self.env.watch();
        Value::Lambda(Arc::new(self))
    }
}

/// Frees nested lambdas with enough stack, since a lambda can hold a lambda that holds a lambda, and so on.
impl Drop for Closure {
    fn drop(&mut self) {
        let held = (self.env.scope.take(), self.env.statics.take(), self.statics.take());
        with_stack(move || drop(held));
    }
}

impl Callable for Closure {
    fn text(&self) -> String {
        let statics = match &self.statics {
            Some(statics) if !statics.is_empty() => shorten(&short_map(statics)),
            _ => String::new(),
        };
        format!("{statics}{}", self.lambda)
    }

    fn source(&self) -> String {
        self.lambda.to_string()
    }

    fn parameters(&self) -> usize {
        self.lambda.parameters.len()
    }

    fn equivalent(&self, other: &dyn Callable) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| self.lambda == other.lambda)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A template with its captured scope.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) path: String,
    /// Node that is processed when the template is instantiated.
    pub(crate) prepared: Node,
    pub(crate) original: Node,
    pub(crate) env: Env,
}

impl Template {
    pub(crate) fn of(template: &Arc<dyn TemplateValue>) -> Option<&Self> {
        template.as_any().downcast_ref()
    }

    pub(crate) fn into_value(self) -> Value {
        self.env.watch();
        Value::Template(Arc::new(self))
    }
}

impl TemplateValue for Template {
    fn original(&self) -> &Node {
        &self.original
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A parsed expression of a document.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    expr: Child,
    /// Nodes that it referred to when it was last found pending.
    seen: Option<Seen>,
}

impl Expression {
    pub(crate) fn of(pending: &Arc<dyn Pending>) -> Option<&Child> {
        pending.as_any().downcast_ref::<Self>().map(|expression| &expression.expr)
    }

    pub(crate) fn value(expr: Child) -> Value {
        Value::Expression(Arc::new(Self { expr, seen: None }))
    }

    /// Creates an expression that was found pending at a place.
    pub(crate) fn waiting(expr: Child, env: &Env) -> Value {
        let seen = waiting::references(&expr).map(|references| waiting::seen(&references, env));
        Value::Expression(Arc::new(Self { expr, seen }))
    }

    /// Tells whether an expression is pending and a retry would have the same result.
    pub(crate) fn still_waits(pending: &Arc<dyn Pending>, env: &Env) -> bool {
        let Some(Self { expr, seen: Some(seen) }) = pending.as_any().downcast_ref() else { return false };
        waiting::references(expr).is_some_and(|references| waiting::sees(&references, seen, env))
    }
}

impl Pending for Expression {
    fn text(&self) -> String {
        self.expr.to_string()
    }

    fn equivalent(&self, other: &dyn Pending) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| Arc::ptr_eq(&self.expr, &other.expr) || self.expr == other.expr)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Formats the values of a map in short form, for messages: `{x: 1, y: ["a"]}`; `_` is omitted.
pub(crate) fn short_map(map: &Map) -> String {
    let fields: Vec<String> = map
        .iter()
        .filter(|(name, _)| &***name != super::find::SELF)
        .map(|(name, node)| format!("{name}: {}", short(node)))
        .collect();
    format!("{{{}}}", fields.join(", "))
}

/// Formats a value in short form.
pub(crate) fn short(value: &Value) -> String {
    match value {
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(|item| short(item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => short_map(map),
        Value::String(text) => go_quote(text),
        Value::Int(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Float(value) => float_text(*value),
        Value::Lambda(lambda) => lambda.text(),
        Value::Expression(expression) => expression.text(),
        Value::Null | Value::Undefined => "<nil>".into(),
        other => format!("<{}>", other.type_name()),
    }
}

/// Shortens a long text by omitting its middle.
pub(crate) fn shorten(text: &str) -> String {
    const WHOLE: usize = 40;
    const PART: usize = 17;
    if text.len() <= WHOLE {
        return text.to_owned();
    }
    let begin = (0..=PART).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (text.len() - PART..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    format!("{} ... {}", &text[..begin], &text[end..])
}
