//! The HTML page: the picture, and the details of a node after a click on the node.

use super::drawing::Drawing;
use super::svg::{escaped, write};

/// The script of the page. It inserts all text as plain text, never as HTML, and sends no request.
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

pub(crate) fn html(drawing: &Drawing) -> String {
    let title = escaped(&drawing.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1><p>drag to move, turn the wheel to zoom, click a node for its details</p><button id=\"fit\">show all</button></header>\n<main>\n"
    );
    write(drawing, &mut out);
    out.push_str("</main>\n<aside id=\"details\" hidden><button id=\"close\" aria-label=\"close\">×</button><h2></h2><dl></dl></aside>\n<script type=\"application/json\" id=\"data\">");
    out.push_str(&data(drawing));
    out.push_str("</script>\n<script>\n");
    out.push_str(SCRIPT);
    out.push_str("</script>\n</body>\n</html>\n");
    out
}

/// Returns the labels and details of the nodes as JSON. The characters `<`, `>` and `&` are escaped, so the
/// JSON cannot end the HTML element around it.
fn data(drawing: &Drawing) -> String {
    let nodes: Vec<_> = drawing.nodes.iter().map(|node| (&node.label, &node.details)).collect();
    let json = serde_json::to_string(&nodes).expect("labels and details are text");
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
