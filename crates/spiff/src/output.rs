//! Selects the printed part of a result, and its format.

use std::sync::Arc;

use windlass_source::Code;

use crate::codes;
use crate::path::steps;
use crate::value::{Map, Node, Value};
use crate::yaml::{NotJson, to_json, to_yaml};
use crate::{Session, SpiffError};

/// The printed part of each result, and its format.
///
/// The selections are applied in this order: path, expression, fields, entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Path of the node that becomes the result.
    pub path: Option<String>,
    /// Expression whose value becomes the result; it can refer to the fields of the result.
    pub evaluate: Option<String>,
    /// Paths of nodes. The result becomes a map of these nodes, with the last step of each path as the key.
    pub select: Vec<String>,
    /// Whether each entry of a list becomes a document.
    pub split: bool,
    /// Whether documents are printed as JSON, one on each line, instead of YAML.
    pub json: bool,
}

/// The reason why the selected output can't be printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The path does not exist in the result.
    #[error("path \"{0}\" not found")]
    NotFound(String),
    /// The result is no map, so the expression has no fields to refer to.
    #[error("no map document")]
    NoMap,
    /// The expression is malformed, or has no value.
    #[error("expression \"{expression}\" failed: {error}")]
    Expression {
        /// The text of the expression.
        expression: String,
        /// The reason why the expression failed.
        error: SpiffError,
    },
    /// The value has no JSON form.
    #[error(transparent)]
    Json(#[from] NotJson),
}

impl OutputError {
    /// Returns the code of the error, which `windlass explain` explains.
    pub fn code(&self) -> Code {
        match self {
            Self::NotFound(_) => codes::NO_NODE,
            Self::NoMap => codes::NO_MAP,
            Self::Expression { error, .. } => error.code(),
            Self::Json(_) => codes::NO_JSON,
        }
    }
}

impl Output {
    /// Returns the documents that are printed for a result; none if the whole result is marked `&temporary`.
    ///
    /// # Errors
    /// When the result has no such path or field, or the expression has no value.
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

    /// Formats documents. In YAML, a missing document is printed as the line `---`; in JSON, it is omitted.
    ///
    /// # Errors
    /// When a value has no JSON form.
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
