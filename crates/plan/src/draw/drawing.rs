//! The graph that is drawn, with its labels and details.

use serde::Serialize;

/// A graph with labels and details, which can be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Drawing {
    /// The version of the JSON format.
    pub version: u32,
    /// The title of the drawing.
    pub title: String,
    /// The nodes of the drawing.
    pub nodes: Vec<Node>,
    /// The edges. Their ends are indices of `nodes`.
    pub edges: Vec<Edge>,
    /// The groups of nodes. A group that contains other groups comes before them.
    pub groups: Vec<Group>,
    /// The legend: the signs of the picture, each with its meaning.
    #[serde(skip)]
    pub legend: Vec<(Sign, String)>,
}

/// A sign that the legend of a picture explains. A sign is a shape, a colour or a line style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The shape of a node.
    Node(Shape),
    /// The colour of a node, for example the colour of objects that have failed.
    Tone(Tone),
    /// The line style of an edge.
    Edge(Line),
}

/// The tone of a node tells the condition of the object for which the node stands. Pictures show the tone as a
/// colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// The node stands for a thing that works, such as an element in the state Active.
    Good,
    /// The node stands for a thing that is not complete, such as an element in the state Installed.
    Pending,
    /// The node stands for a thing that has failed or no longer works.
    Bad,
}

/// The maximum number of named edges in a drawing. If more edges have a name, the picture shows no names of
/// edges, because the names would overlap.
const MOST_NAMES: usize = 60;

/// The maximum length of an edge's name in a picture, in characters.
const LONGEST_NAME: usize = 28;

impl Edge {
    /// Returns the name as a picture shows it. The end of a long name is replaced by `…`.
    pub(super) fn shown_name(&self) -> String {
        match self.name.char_indices().nth(LONGEST_NAME) {
            Some(_) => self.name.chars().take(LONGEST_NAME - 1).chain(['…']).collect(),
            None => self.name.clone(),
        }
    }
}

impl Drawing {
    /// Tells whether a picture of this drawing, such as an SVG file, shows the names of the edges. The picture
    /// shows no names if more than [`MOST_NAMES`] edges have a name.
    pub(super) fn shows_names(&self) -> bool {
        self.edges.iter().filter(|edge| !edge.name.is_empty()).count() <= MOST_NAMES
    }

    /// Drops the legend's entries for signs that do not occur in the drawing.
    pub fn trim_legend(&mut self) {
        let (nodes, edges) = (&self.nodes, &self.edges);
        self.legend.retain(|(sign, _)| match sign {
            Sign::Node(shape) => nodes.iter().any(|node| node.shape == *shape),
            Sign::Tone(tone) => nodes.iter().any(|node| node.tone == Some(*tone)),
            Sign::Edge(line) => edges.iter().any(|edge| edge.line == *line),
        });
    }

    /// Creates an empty drawing.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            version: 1,
            title: title.into(),
            nodes: Vec::new(),
            edges: Vec::new(),
            groups: Vec::new(),
            legend: Vec::new(),
        }
    }
}

/// A node of a drawing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// The unique name of the node.
    pub id: String,
    /// The label of the node, of one or more lines.
    pub label: String,
    /// The shape of the node.
    pub shape: Shape,
    /// The tone of the node; none for a node without a state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tone: Option<Tone>,
    /// The index of the node's group in [`Drawing::groups`]; none for a node outside of all groups.
    pub group: Option<usize>,
    /// The details that the HTML page shows after a click on the node: names and values.
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
    /// A rounded box, for an object outside of the drawn system, for example a network to which an assembly refers.
    Round,
    /// An inconspicuous box, for a barrier.
    Quiet,
}

/// An edge from one node to a second node. The second node depends on the first node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The index of the edge's first node in [`Drawing::nodes`].
    pub from: usize,
    /// The index of the edge's second node in [`Drawing::nodes`].
    pub to: usize,
    /// The name of the edge, such as the name of a relationship; empty for an edge without a name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The description of the edge, which a picture shows as a tooltip.
    pub label: String,
    /// The line style of the edge.
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
    /// The label of the group.
    pub label: String,
    /// The index in [`Drawing::groups`] of the group that contains this group; none for an outermost group.
    pub parent: Option<usize>,
}
