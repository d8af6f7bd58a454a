//! Finds malformed expressions in documents.

use crate::Features;
use crate::syntax::{Place, SyntaxError, embedded, parse};
use crate::too_deep;
use crate::value::{Node, Value};

/// Returns the path and the syntax error of each malformed expression of a document.
///
/// An engine does not report a malformed expression at once, because a stub can override the expression. A stub is
/// a document that supplies or overrides values. The engine reports the expression if it remains in the result.
///
/// ```
/// use windlass_source::Source;
/// use windlass_spiff::{Features, check, yaml};
///
/// let node = yaml::read_document(&Source::new("a.yaml", "a: (( 1 + 2 ))\nb: (( 1+2 ))\n"))?;
/// let problems = check(&node, Features::NONE);
/// assert_eq!(problems.len(), 1);
/// assert_eq!(problems[0].0, "b");
/// # Ok::<(), windlass_spiff::yaml::ReadError>(())
/// ```
pub fn check(document: &Node, features: Features) -> Vec<(String, SyntaxError)> {
    let mut problems = Vec::new();
    visit(document, &mut Vec::new(), features, &mut problems);
    problems
}

fn visit(node: &Node, path: &mut Vec<String>, features: Features, problems: &mut Vec<(String, SyntaxError)>) {
    too_deep::with_stack(|| match node.value() {
        Value::Map(map) => {
            for (key, child) in map.iter() {
                path.push(key.to_string());
                visit(child, path, features, problems);
                path.pop();
            }
        }
        Value::List(list) => {
            for (at, child) in list.iter().enumerate() {
                path.push(format!("[{at}]"));
                visit(child, path, features, problems);
                path.pop();
            }
        }
        Value::String(text) => {
            if let Some(inner) = embedded::expression(text, features.interpolation)
                && let Err(error) = parse(&inner, &Place::default())
            {
                problems.push((path.join("."), error));
            }
        }
        _ => {}
    });
}
