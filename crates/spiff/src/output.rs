//! The part of a result that is printed, and its format.

use std::sync::Arc;

use crate::syntax::ast::steps;
use crate::value::{Map, Node, Value};
use crate::yaml::{NotJson, to_json, to_yaml};
use crate::{Session, SpiffError};

/// Which part of each result is printed, and in which form.
///
/// The parts are chosen in this order: path, expression, fields, entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The node at this path is the result.
    pub path: Option<String>,
    /// The value of this expression, which sees the fields of the result, is the result.
    pub evaluate: Option<String>,
    /// A map of the nodes at these paths is the result, each by the last step of its path.
    pub select: Vec<String>,
    /// Each entry of a list is a document.
    pub split: bool,
    /// Documents are printed as JSON, one a line, instead of YAML.
    pub json: bool,
}

/// Why a result can't be printed as it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The result has nothing at a path.
    #[error("path \"{0}\" not found")]
    NotFound(String),
    /// Only a map has fields that an expression sees.
    #[error("no map document")]
    NoMap,
    /// The expression is wrong, or has no value.
    #[error("expression \"{expression}\" failed: {error}")]
    Expression {
        /// The expression.
        expression: String,
        /// The problem.
        error: SpiffError,
    },
    /// A value has no JSON form.
    #[error(transparent)]
    Json(#[from] NotJson),
}

impl Output {
    /// The documents that are printed for a result; none if the result is marked `&temporary` as a whole.
    ///
    /// # Errors
    /// If the result has no such path or field, or the expression has no value.
    pub fn choose(&self, session: &Session, result: &Node) -> Result<Vec<Node>, OutputError> {
        if session.discards(result) {
            return Ok(Vec::new());
        }
        let mut node = match &self.path {
            Some(path) => at(result, path)?,
            None => result.clone(),
        };
        if let Some(expression) = &self.evaluate {
            let fields = node.as_map().ok_or(OutputError::NoMap)?;
            node = session
                .evaluate(expression, fields)
                .map_err(|error| OutputError::Expression { expression: expression.clone(), error })?;
        }
        if !self.select.is_empty() {
            let mut map = Map::new();
            for path in &self.select {
                let name = steps(path, false).last().cloned().unwrap_or_else(|| Arc::from(path.as_str()));
                map.insert(name, at(&node, path)?);
            }
            node = Node::new(Value::from(map));
        }
        match node.value() {
            Value::List(list) if self.split => Ok(list.to_vec()),
            _ => Ok(vec![node]),
        }
    }

    /// The text of documents. A document that is missing is printed as its first line only.
    ///
    /// # Errors
    /// If a value has no JSON form.
    pub fn print(&self, documents: &[Option<Node>]) -> Result<String, OutputError> {
        let mut text = String::new();
        for node in documents {
            if self.json {
                if let Some(node) = node {
                    text.push_str(&to_json(node.value())?);
                    text.push('\n');
                }
                continue;
            }
            if documents.len() > 1 || node.is_none() {
                text.push_str("---\n");
            }
            if let Some(node) = node {
                text.push_str(&to_yaml(node));
            }
        }
        Ok(text)
    }
}

fn at(node: &Node, path: &str) -> Result<Node, OutputError> {
    node.at(path).ok_or_else(|| OutputError::NotFound(path.to_owned()))
}
