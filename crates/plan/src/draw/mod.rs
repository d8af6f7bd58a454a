//! Pictures of graphs: of plans, and of whatever else has nodes and edges.
//!
//! A [`Drawing`] is a graph with labels and details, and knows nothing of what it shows. [`Drawing::render`] writes it
//! as Graphviz's dot, as Mermaid, as JSON, as SVG, or as one HTML page that needs no network.
//!
//! SVG is laid out by a small layered layout of our own ([`layout`]): longest path, barycentre sweeps, straightened
//! columns. It is linear but for the sorting, the same graph gives the same bytes, and it draws nothing but boxes and
//! curves. The design page says what was tried instead.

mod html;
mod lanes;
pub mod layout;
mod pixels;
mod svg;
mod text;

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

use crate::plan::{Plan, StepNumber, Task, Wait, WaitKind};

/// A graph to be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Drawing {
    /// The version of this form.
    pub version: u32,
    /// What it shows.
    pub title: String,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges, between places in `nodes`.
    pub edges: Vec<Edge>,
    /// What nodes are in, outer groups before inner ones.
    pub groups: Vec<Group>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// A name that no other node has.
    pub id: String,
    /// What is written on it, a line or more.
    pub label: String,
    /// How it looks.
    pub shape: Shape,
    /// The place of its group.
    pub group: Option<usize>,
    /// What is told of it when one asks: names and values.
    pub details: Vec<(String, String)>,
}

/// How a node looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A box: something that is, or is done.
    Box,
    /// A box that stands out, as on the critical path.
    Bold,
    /// A rounded box: something outside.
    Round,
    /// A small one without weight: a barrier.
    Quiet,
}

/// An edge, in the direction in which it is read: from what comes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What is written on it.
    pub label: String,
    /// How it looks.
    pub line: Line,
}

/// How an edge looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// A need.
    Solid,
    /// Something weaker.
    Dashed,
}

/// Something that nodes are in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its name.
    pub label: String,
    /// The place of the group it is in.
    pub parent: Option<usize>,
}

/// How a drawing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Graphviz.
    Dot,
    /// Mermaid's flowchart.
    Mermaid,
    /// The data themselves.
    Json,
    /// A picture.
    Svg,
    /// A page with the picture in it, to move about in.
    Html,
}

/// A word that is no format.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no format of pictures: one of dot, mermaid, json, svg, html")]
pub struct UnknownFormat(pub String);

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Dot, Self::Mermaid, Self::Json, Self::Svg, Self::Html];

    /// Returns the word for the format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Mermaid => "mermaid",
            Self::Json => "json",
            Self::Svg => "svg",
            Self::Html => "html",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|f| f.as_str() == word).ok_or_else(|| UnknownFormat(word.to_owned()))
    }
}

impl Drawing {
    /// Makes an empty drawing.
    pub fn new(title: impl Into<String>) -> Self {
        Self { version: 1, title: title.into(), nodes: Vec::new(), edges: Vec::new(), groups: Vec::new() }
    }

    /// Draws a plan: steps and barriers, an edge from the step that is waited for to the one that waits. The critical path
    /// stands out.
    pub fn of_plan<W: fmt::Display, R: fmt::Display>(title: impl Into<String>, plan: &Plan<W, R>) -> Self {
        let mut drawing = Self::new(title);
        let critical: HashSet<StepNumber> = plan.critical_path().into_iter().collect();
        for (to, step) in plan.steps().enumerate() {
            let (shape, label) = match step.task {
                Task::Barrier(label) => (Shape::Quiet, label.clone()),
                Task::Work(work) if critical.contains(&step.number) => {
                    (Shape::Bold, format!("{} {work}", step.number))
                }
                Task::Work(work) => (Shape::Box, format!("{} {work}", step.number)),
            };
            let mut details = Vec::new();
            for Wait { on, kind, reason } in step.waits() {
                let (word, line) = match kind {
                    WaitKind::Needs => ("needs", Line::Solid),
                    WaitKind::After => ("after", Line::Dashed),
                };
                details.push((format!("{word} {on}"), reason.to_string()));
                let from = on.index().unwrap_or_default();
                drawing.edges.push(Edge { from, to, label: reason.to_string(), line });
            }
            drawing.nodes.push(Node { id: step.number.to_string(), label, shape, group: None, details });
        }
        drawing
    }

    /// Writes the drawing in a format.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Dot => text::dot(self),
            Format::Mermaid => text::mermaid(self),
            Format::Json => text::json(self),
            Format::Svg => svg::svg(self),
            Format::Html => html::html(self),
        }
    }
}
