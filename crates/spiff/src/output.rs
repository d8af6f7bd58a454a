//! The part of a result that is printed, and its format.

use std::sync::Arc;

use windlass_source::Code;

use crate::codes;
use crate::path::steps;
use crate::value::{Map, Node, Value};
use crate::yaml::{NotJson, to_json, to_yaml};
use crate::{Session, SpiffError};

/// The part of a result that is printed, and its format.
///
/// At first, the whole result is selected. Then the fields `path`, `evaluate`, `select` and `split` are applied in this
/// order. Each of these fields selects a new value from the value that is selected so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Path of the node to select.
    pub path: Option<String>,
    /// Expression whose value is selected. The expression is applied to the node at `path`, or to the whole result
    /// if `path` is `None`. This node must be a map. The expression can refer to the fields of the map by their
    /// names.
    pub evaluate: Option<String>,
    /// Paths of nodes to select. If the list is not empty, a map of these nodes is selected. The key of a node in the
    /// map is the last step of its path.
    pub select: Vec<String>,
    /// Whether each entry of a selected list is printed as a separate document.
    pub split: bool,
    /// Whether documents are printed as JSON, one on each line. By default, documents are printed as YAML.
    pub json: bool,
}

/// The reason why the selected output can't be printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The result has no node at this path.
    #[error("path \"{0}\" not found")]
    NotFound(String),
    /// [`Output::evaluate`] contains an expression, but the selected node is no map. An expression can refer only to
    /// the fields of a map.
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
    /// Returns the code of the error. `windlass explain CODE` explains the error.
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
    /// Returns the documents that are printed for a result. If the root of the result has the marker
    /// `&temporary`, the list is empty.
    ///
    /// # Errors
    /// - [`OutputError::NotFound`] if no node exists at the path in `path`, or at one of the paths in `select`.
    /// - [`OutputError::NoMap`] if the expression in `evaluate` is applied to a value that is no map.
    /// - [`OutputError::Expression`] if the expression in `evaluate` is malformed, or has no value.
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

    /// Returns the text of documents. In YAML, a missing document (`None`) is the line `---`. In JSON, a
    /// missing document is left out.
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
