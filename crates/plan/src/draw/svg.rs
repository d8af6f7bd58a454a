//! Draws a graph as an SVG picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::drawing::{Drawing, Line, Shape, Sign, Tone};
use super::geometry::{CHAR, LINE, Layout, PAD, Place, number};
use super::layout::layout;

/// The style sheet of the picture. The picture paints its own background, light or dark as the viewer prefers.
/// Otherwise, dark text would be unreadable in a program that shows pictures on black.
pub(crate) const STYLE: &str = "text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1c2733}\
.bg{fill:#fff}.n rect{fill:#f4f7fa;stroke:#5b7083;rx:4}.round rect{fill:#eef2fb;stroke:#4f5f9d;rx:14}\
.good rect{fill:#e3f4e4;stroke:#2f7d32}.pending rect{fill:#fff4d6;stroke:#9a6b00}\
.bad rect{fill:#fde7e5;stroke:#b3261e}.bold rect{stroke:#b3261e;stroke-width:2.5}\
.quiet rect{fill:none;stroke:#b9c4ce;stroke-dasharray:2 3}.quiet text{fill:#5b6b78}\
.e{fill:none;stroke:#7d8c99;stroke-width:1.2}.dashed{stroke-dasharray:5 4;stroke:#9aa7b2}.tip{fill:#7d8c99}\
.f rect{fill:#5b7083;fill-opacity:.06;stroke:#9fb0bf;rx:6}.f text{font-size:12px;fill:#4a5d6e}\
.l{font-size:11px;fill:#3d5a80;text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:3px}\
.k text{font-size:12px;fill:#4a5d6e}\
@media(prefers-color-scheme:dark){text{fill:#dfe7ee}.bg{fill:#12181f}.n rect{fill:#1f2a35;stroke:#8ba0b3}\
.round rect{fill:#222a45;stroke:#8f9fe0}.good rect{fill:#1b3a20;stroke:#6cc070}\
.pending rect{fill:#43350f;stroke:#d9a93a}.bad rect{fill:#4a1d1a;stroke:#f08a80}.bold rect{stroke:#f08a80}\
.quiet rect{fill:none;stroke:#5b6b78}.quiet text{fill:#a9b6c2}.e{stroke:#8ba0b3}.dashed{stroke:#66757f}\
.tip{fill:#8ba0b3}.f text,.k text{fill:#a9b6c2}.l{fill:#9cc2f0;stroke:#12181f}}";

/// The height of a line of the legend, in pixels.
const ROW: u32 = 22;
/// The width of a sign in the legend, in pixels.
const SIGN: u32 = 34;

pub(crate) fn svg(drawing: &Drawing) -> String {
    let mut out = String::new();
    write(drawing, &mut out);
    out
}

/// Appends the drawing to `out`, as an `<svg>` element. The SVG file consists of this element, and the HTML page
/// contains it.
pub(crate) fn write(drawing: &Drawing, out: &mut String) {
    let layout = layout(drawing);
    let longest = drawing.legend.iter().map(|(_, text)| text.chars().count()).max();
    let width = layout.width.max(longest.map_or(0, |longest| number(longest) * CHAR + SIGN + 3 * PAD));
    let height = layout.height + number(drawing.legend.len()) * ROW + if longest.is_some() { PAD } else { 0 };
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\"><path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n<rect class=\"bg\" width=\"{width}\" height=\"{height}\"/>",
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
        let class = class(node.shape, node.tone);
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
    if drawing.shows_names() {
        names(drawing, &layout, out);
    }
    legend(&drawing.legend, layout.height, out);
    out.push_str("</g>\n</svg>\n");
}

fn class(shape: Shape, tone: Option<Tone>) -> String {
    let shape = match shape {
        Shape::Box => "n",
        Shape::Bold => "n bold",
        Shape::Round => "n round",
        Shape::Quiet => "n quiet",
    };
    match tone {
        None => shape.to_owned(),
        Some(Tone::Good) => format!("{shape} good"),
        Some(Tone::Pending) => format!("{shape} pending"),
        Some(Tone::Bad) => format!("{shape} bad"),
    }
}

/// Writes the names of edges, each in the middle between the first two points of its edge. If more than `FEW`
/// edges from one node have the same name, only the middle edge of these edges shows the name.
fn names(drawing: &Drawing, layout: &Layout, out: &mut String) {
    const FEW: usize = 3;
    let mut bundles: BTreeMap<(usize, &str), Vec<usize>> = BTreeMap::new();
    for (at, edge) in drawing.edges.iter().enumerate().filter(|(_, edge)| !edge.name.is_empty()) {
        bundles.entry((edge.from, &edge.name)).or_default().push(at);
    }
    for mut edges in bundles.into_values() {
        if edges.len() > FEW {
            edges = vec![edges[edges.len() / 2]];
        }
        for at in edges {
            let [(x0, y0), (x, y), ..] = layout.edges[at][..] else { continue };
            let (x, y) = (x0.midpoint(x), y0.midpoint(y).saturating_sub(4));
            let name = escaped(&drawing.edges[at].shown_name());
            let _ = writeln!(out, "<text class=\"l\" x=\"{x}\" y=\"{y}\">{name}</text>");
        }
    }
}

/// Writes the legend below the picture, with one sign on each line.
fn legend(legend: &[(Sign, String)], top: u32, out: &mut String) {
    for ((sign, text), row) in legend.iter().zip(0_u32..) {
        let y = top + row * ROW;
        out.push_str("<g class=\"k\">");
        let _ = match sign {
            Sign::Edge(line) => {
                let class = if *line == Line::Dashed { "e dashed" } else { "e" };
                write!(
                    out,
                    "<path class=\"{class}\" d=\"M{PAD} {}h{SIGN}\" marker-end=\"url(#arrow)\"/>",
                    y + ROW / 2
                )
            }
            sign => {
                let class = match sign {
                    Sign::Tone(tone) => class(Shape::Box, Some(*tone)),
                    Sign::Node(shape) => class(*shape, None),
                    Sign::Edge(_) => String::new(),
                };
                write!(
                    out,
                    "<g class=\"{class}\"><rect x=\"{PAD}\" y=\"{}\" width=\"{SIGN}\" height=\"14\"/></g>",
                    y + 4
                )
            }
        };
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text></g>", SIGN + 2 * PAD, y + 15, escaped(text));
    }
}

/// Returns the SVG path of a curve through the given points. At each of these points, the tangent of the curve is
/// horizontal.
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
            // XML does not allow control characters.
            control if control.is_control() && control != '\n' && control != '\t' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
