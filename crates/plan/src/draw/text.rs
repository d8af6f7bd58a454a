//! The text formats: dot, Mermaid and JSON.

use std::fmt::Write as _;

use super::drawing::{Drawing, Line, Shape, Tone};

pub(crate) fn json(drawing: &Drawing) -> String {
    let mut json = serde_json::to_string_pretty(drawing).expect("a drawing is plain data");
    json.push('\n');
    json
}

/// Returns a drawing in the language `dot` of Graphviz.
pub(crate) fn dot(drawing: &Drawing) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "digraph {} {{\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];",
        quoted(&drawing.title)
    );
    groups(
        drawing,
        None,
        1,
        &mut out,
        &mut |out, at, indent| {
            let node = &drawing.nodes[at];
            let look = match node.shape {
                Shape::Box => "",
                Shape::Bold => ", style=bold, penwidth=2",
                Shape::Round => ", style=rounded",
                Shape::Quiet => ", shape=plaintext, fontcolor=gray40",
            };
            let tone = match node.tone {
                None => "",
                Some(Tone::Good) => ", color=darkgreen",
                Some(Tone::Pending) => ", color=darkorange",
                Some(Tone::Bad) => ", color=red",
            };
            let _ = writeln!(out, "{indent}n{at} [label={}{look}{tone}];", quoted(&node.label));
        },
        &|label, number| {
            (format!("subgraph cluster_{number} {{\n"), format!("label={};\n", quoted(label)), "}\n")
        },
    );
    for edge in &drawing.edges {
        let style = if edge.line == Line::Dashed { ", style=dashed" } else { "" };
        let name =
            if edge.name.is_empty() { String::new() } else { format!("label={}, ", quoted(&edge.name)) };
        let tooltip = quoted(&edge.label);
        let _ = writeln!(out, "  n{} -> n{} [{name}tooltip={tooltip}{style}];", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

pub(crate) fn mermaid(drawing: &Drawing) -> String {
    let mut out = String::from("flowchart LR\n");
    groups(
        drawing,
        None,
        1,
        &mut out,
        &mut |out, at, indent| {
            let node = &drawing.nodes[at];
            let label = entities(&node.label);
            let _ = match node.shape {
                Shape::Round => writeln!(out, "{indent}n{at}([\"{label}\"])"),
                Shape::Quiet => writeln!(out, "{indent}n{at}{{{{\"{label}\"}}}}"),
                Shape::Box | Shape::Bold => writeln!(out, "{indent}n{at}[\"{label}\"]"),
            };
        },
        &|label, number| (format!("subgraph g{number}[\"{}\"]\n", entities(label)), String::new(), "end\n"),
    );
    for edge in &drawing.edges {
        let arrow = if edge.line == Line::Dashed { "-.->" } else { "-->" };
        let name =
            if edge.name.is_empty() { String::new() } else { format!("|\"{}\"|", entities(&edge.name)) };
        let _ = writeln!(out, "  n{} {arrow}{name} n{}", edge.from, edge.to);
    }
    let bold: Vec<String> = (0..drawing.nodes.len())
        .filter(|at| drawing.nodes[*at].shape == Shape::Bold)
        .map(|at| format!("n{at}"))
        .collect();
    if !bold.is_empty() {
        let _ = writeln!(out, "  classDef bold stroke-width:3px\n  class {} bold", bold.join(","));
    }
    out
}

/// Writes the nodes and groups that are directly inside `parent`, and everything inside these groups. `node` writes a
/// node. `frame` receives the label and the index of a group. The result of `frame` is three texts: the first line of
/// the group, a line for the label, and the last line. The second text is empty if the first line contains the label.
fn groups(
    drawing: &Drawing,
    parent: Option<usize>,
    depth: usize,
    out: &mut String,
    node: &mut dyn FnMut(&mut String, usize, &str),
    frame: &dyn Fn(&str, usize) -> (String, String, &'static str),
) {
    let indent = "  ".repeat(depth);
    for at in (0..drawing.nodes.len()).filter(|at| drawing.nodes[*at].group == parent) {
        node(out, at, &indent);
    }
    // The limit on nested assemblies bounds the depth of the recursion.
    for (number, group) in drawing.groups.iter().enumerate().filter(|(_, group)| group.parent == parent) {
        let (open, first, close) = frame(&group.label, number);
        let _ = write!(out, "{indent}{open}");
        if !first.is_empty() {
            let _ = write!(out, "{indent}  {first}");
        }
        groups(drawing, Some(number), depth + 1, out, node, frame);
        let _ = write!(out, "{indent}{close}");
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Escapes characters that have a special meaning in Mermaid or HTML.
fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("#quot;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '#' => out.push_str("#35;"),
            '`' => out.push_str("#96;"),
            '\n' => out.push_str("<br/>"),
            other => out.push(other),
        }
    }
    out
}
