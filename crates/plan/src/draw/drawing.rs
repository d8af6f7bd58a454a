//! The graph that is drawn, with its labels and details.

use serde::Serialize;

/// A graph with labels and details, which can be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Drawing {
    /// The version of the JSON format.
    pub version: u32,
    /// The title.
    pub title: String,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges. Their ends are indices of `nodes`.
    pub edges: Vec<Edge>,
    /// The groups of nodes. Outer groups precede inner ones.
    pub groups: Vec<Group>,
}

impl Drawing {
    /// Creates an empty drawing.
    pub fn new(title: impl Into<String>) -> Self {
        Self { version: 1, title: title.into(), nodes: Vec::new(), edges: Vec::new(), groups: Vec::new() }
    }
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Its name, which no other node has.
    pub id: String,
    /// Its label, of one or more lines.
    pub label: String,
    /// Its shape.
    pub shape: Shape,
    /// The index of its group.
    pub group: Option<usize>,
    /// The details that the HTML page shows on a click: names and values.
    pub details: Vec<(String, String)>,
}

/// The shape of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A box, for an object or an action.
    Box,
    /// An emphasized box, for example on the critical path.
    Bold,
    /// A rounded box, for an object outside of the graph's subject.
    Round,
    /// An inconspicuous box, for a barrier.
    Quiet,
}

/// An edge. It leads from a node to one that depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The index of its start in [`Drawing::nodes`].
    pub from: usize,
    /// The index of its end in [`Drawing::nodes`].
    pub to: usize,
    /// Its label.
    pub label: String,
    /// Its line style.
    pub line: Line,
}

/// The line style of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// A solid line, for a strong dependency.
    Solid,
    /// A dashed line, for a weaker dependency.
    Dashed,
}

/// A group of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its label.
    pub label: String,
    /// The index of the group that contains it.
    pub parent: Option<usize>,
}
