//! The SVG picture.

use std::fmt::Write as _;

use super::drawing::{Drawing, Line, Shape};
use super::geometry::{LINE, PAD, Place};
use super::layout::layout;

/// The style sheet of the picture, which the HTML page also contains.
pub(crate) const STYLE: &str = "text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1c2733}\
.n rect{fill:#f4f7fa;stroke:#5b7083;rx:4}.bold rect{stroke:#b3261e;stroke-width:2.5}\
.round rect{fill:#eef6ee;stroke:#4f7d4f;rx:14}.quiet rect{fill:none;stroke:#b9c4ce;stroke-dasharray:2 3}\
.quiet text{fill:#5b6b78}.e{fill:none;stroke:#7d8c99;stroke-width:1.2}.dashed{stroke-dasharray:5 4;stroke:#b0bac3}\
.f rect{fill:#5b7083;fill-opacity:.06;stroke:#9fb0bf;rx:6}.f text{font-size:12px;fill:#4a5d6e}";

/// Writes the picture as a document.
pub(crate) fn svg(drawing: &Drawing) -> String {
    let mut out = String::new();
    write(drawing, &mut out);
    out
}

/// Writes the picture into a string.
pub(crate) fn write(drawing: &Drawing, out: &mut String) {
    let layout = layout(drawing);
    let (width, height) = (layout.width, layout.height);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\" fill=\"#7d8c99\"/></marker></defs>",
        escaped(&drawing.title)
    );
    out.push_str("<g id=\"all\">\n");
    for (group, place) in drawing.groups.iter().zip(&layout.frames) {
        let Some(Place { x, y, width, height }) = place else { continue };
        let _ = writeln!(
            out,
            "<g class=\"f\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/><text x=\"{}\" y=\"{}\">{}</text></g>",
            x + 8,
            y + 16,
            escaped(&group.label)
        );
    }
    for (edge, points) in drawing.edges.iter().zip(&layout.edges) {
        let class = if edge.line == Line::Dashed { "e dashed" } else { "e" };
        let _ = writeln!(
            out,
            "<path class=\"{class}\" data-from=\"{}\" data-to=\"{}\" d=\"{}\" marker-end=\"url(#arrow)\"><title>{}</title></path>",
            edge.from,
            edge.to,
            curve(points),
            escaped(&edge.label)
        );
    }
    for (at, (node, place)) in drawing.nodes.iter().zip(&layout.nodes).enumerate() {
        let class = match node.shape {
            Shape::Box => "n",
            Shape::Bold => "n bold",
            Shape::Round => "n round",
            Shape::Quiet => "n quiet",
        };
        let Place { x, y, width, height } = place;
        let _ = write!(
            out,
            "<g class=\"{class}\" data-node=\"{at}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
        for (line, row) in node.label.lines().zip(0_u32..) {
            let _ = write!(
                out,
                "<text x=\"{}\" y=\"{}\">{}</text>",
                x + PAD,
                y + PAD + 8 + row * LINE,
                escaped(line)
            );
        }
        out.push_str("</g>\n");
    }
    out.push_str("</g>\n</svg>\n");
}

/// Returns the path of a curve through points, with horizontal tangents.
fn curve(points: &[(u32, u32)]) -> String {
    let mut path = String::new();
    let Some((x, y)) = points.first() else { return path };
    let _ = write!(path, "M{x} {y}");
    for pair in points.windows(2) {
        let ((x0, y0), (x, y)) = (pair[0], pair[1]);
        let middle = x0.midpoint(x);
        let _ = if y0 == y {
            write!(path, "L{x} {y}")
        } else {
            write!(path, "C{middle} {y0} {middle} {y} {x} {y}")
        };
    }
    path
}

/// Escapes text for XML and HTML, including attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML allows no control characters.
            control if control.is_control() && control != '\n' && control != '\t' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
