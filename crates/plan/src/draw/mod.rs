//! Drawings of plans and of other graphs.
//!
//! A [`Drawing`] is a graph with labels and details. It may show a plan or something else. [`Drawing::render`]
//! writes it as Graphviz's dot, as Mermaid, as JSON, as SVG, or as one HTML page that needs no network.
//!
//! The module [`layout`] computes the positions in the SVG picture. The layout is layered and deterministic. Apart
//! from sorting, its computation takes linear time. `docs/design/plan.md` compares this layout with those of other
//! crates.

mod drawing;
mod geometry;
mod html;
mod lanes;
pub mod layout;
mod pixels;
mod svg;
mod text;

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

pub use self::drawing::{Drawing, Edge, Group, Line, Node, Shape, Sign, Tone};
use crate::plan::{Plan, StepNumber, Task, Wait, WaitKind};

/// The output format of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The language `dot` of Graphviz.
    Dot,
    /// A Mermaid flowchart.
    Mermaid,
    /// The drawing as JSON.
    Json,
    /// An SVG picture.
    Svg,
    /// An HTML page in which the picture can be moved and zoomed.
    Html,
}

/// The error for a word that is not the name of an output format.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no format of pictures: one of dot, mermaid, json, svg, html")]
pub struct UnknownFormat(pub String);

impl Format {
    /// All output formats.
    pub const ALL: [Self; 5] = [Self::Dot, Self::Mermaid, Self::Json, Self::Svg, Self::Html];

    /// Returns the name of the format.
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
    /// Draws the steps and barriers of a plan. Each edge leads from an awaited step to the waiting step. The
    /// steps of the critical path are emphasized.
    pub fn of_plan<W: fmt::Display, R: fmt::Display>(title: impl Into<String>, plan: &Plan<W, R>) -> Self {
        let mut drawing = Self::new(title);
        let critical: HashSet<StepNumber> = plan.critical_path().into_iter().collect();
        for (to, step) in plan.steps().enumerate() {
            let (shape, label) = match step.task {
                Task::Barrier(label) => (Shape::Quiet, label.clone()),
                Task::Work(work) if critical.contains(&step.number) => {
                    (Shape::Bold, wrapped(&format!("{} {work}", step.number)))
                }
                Task::Work(work) => (Shape::Box, wrapped(&format!("{} {work}", step.number))),
            };
            let mut details = Vec::new();
            for Wait { on, kind, reason } in step.waits() {
                let (word, line) = match kind {
                    WaitKind::Needs => ("needs", Line::Solid),
                    WaitKind::After => ("after", Line::Dashed),
                };
                details.push((format!("{word} {on}"), reason.to_string()));
                let from = on.index().unwrap_or_default();
                drawing.edges.push(Edge { from, to, name: String::new(), label: reason.to_string(), line });
            }
            drawing.nodes.push(Node {
                id: step.number.to_string(),
                label,
                shape,
                tone: None,
                group: None,
                details,
            });
        }
        drawing.legend = vec![
            (Sign::Node(Shape::Box), "step".to_owned()),
            (Sign::Node(Shape::Bold), "step of the longest chain".to_owned()),
            (Sign::Node(Shape::Quiet), "all steps before it have ended".to_owned()),
            (Sign::Edge(Line::Solid), "needs the success of the step before".to_owned()),
            (Sign::Edge(Line::Dashed), "comes after the step before".to_owned()),
        ];
        drawing.trim_legend();
        drawing
    }

    /// Returns the drawing in a format.
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

/// Breaks a label into lines, so that the columns of a large plan stay narrow.
fn wrapped(label: &str) -> String {
    const WIDTH: usize = 32;
    let mut lines: Vec<String> = Vec::new();
    for word in label.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
