//! Values that keep the scope in which they were created: lambdas and templates.

use std::any::Any;
use std::sync::Arc;

use super::scope::Env;
use super::short::{short_map, shorten};
use crate::syntax::ast::Lambda;
use crate::too_deep::with_stack;
use crate::value::{Callable, Map, Node, TemplateValue, Value};

/// A lambda, with the scope in which it was created.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub(crate) lambda: Arc<Lambda>,
    /// The default values of the parameters, by position; none for a parameter without a default.
    pub(crate) defaults: Vec<Option<Value>>,
    pub(crate) statics: Option<Arc<Map>>,
    pub(crate) env: Env,
}

impl Closure {
    pub(crate) fn of(lambda: &Arc<dyn Callable>) -> Option<&Self> {
        lambda.as_any().downcast_ref()
    }

    /// Returns the number of parameters that need no argument.
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

/// Frees the captured scopes. A scope may contain another lambda, whose scopes are then freed recursively. This
/// recursion can be of any depth, so [`with_stack`] allocates more memory for the call stack if necessary.
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

/// A template, with the scope in which it was created.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) path: String,
    /// The content that is processed when the template is instantiated.
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
