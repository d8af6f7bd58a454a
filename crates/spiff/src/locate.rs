//! Locates nodes without a value: finds the place of each such node in the texts of the template and its stubs.
//!
//! Nodes have no spans, because spans would cost memory and time in every run. So this module parses a source a second
//! time, but only if an error is reported.

use std::collections::HashMap;
use std::sync::Arc;

use windlass_source::{Code, Diagnostic, Key, Kind, Node as Tree, Place, Source, Span, load};

use crate::codes;
use crate::report::{Reason, Unresolved, UnresolvedNode};
use crate::syntax::{Place as Position, SyntaxError, Unexpected, embedded, parse};
use crate::too_deep;
use crate::yaml::load_options;

/// Returns a diagnostic for each node of a report that has a problem of its own, or that belongs to a cycle. Nodes that
/// only depend on such a node are left out.
///
/// `sources` are the texts of the template and its stubs. `document` is the index of the document in a template with
/// several documents, from 0. Each diagnostic contains the place of its node in one of the sources. If no source
/// contains the node, the function returns no diagnostic for the node. The root of a document and an exceeded limit have
/// the place of the document's start. For a malformed expression, the place is that of the first character that does
/// not match the grammar.
///
/// ```
/// use windlass_source::Source;
/// use windlass_spiff::{Engine, SpiffError, locate};
///
/// let source = Source::new("a.yaml", "a: 1\nb:\n  c: (( d ))\n");
/// let Err(SpiffError::Unresolved(report)) = Engine::new().process_texts(&source, &[]) else { panic!() };
/// let found = locate(&report, &[source], 0);
/// assert_eq!(found[0].to_string(), "a.yaml:3:6: error[WL0700]: `b.c` has no value: 'd' not found");
/// ```
pub fn locate(report: &Unresolved, sources: &[Arc<Source>], document: usize) -> Vec<Diagnostic> {
    let mut documents: HashMap<&str, Option<Document>> = HashMap::new();
    let mut found = Vec::new();
    for node in report.nodes.iter().filter(|node| node.reason != Reason::Depends) {
        let document = documents.entry(&node.source).or_insert_with(|| {
            let source = sources.iter().find(|source| source.name() == node.source)?;
            Document::read(source, document)
        });
        let Some(document) = document else { continue };
        found.extend(match report.exceeded {
            Some(_) => Some(document.exceeded(report.code(), node)),
            None => document.diagnostic(node),
        });
    }
    found
}

/// A parsed source.
struct Document {
    source: Arc<Source>,
    root: Tree,
}

/// A node of a document.
#[derive(Clone, Copy)]
struct Found<'d> {
    node: &'d Tree,
    /// The key of the node, if the node is a field of a map.
    key: Option<&'d Key>,
}

impl Document {
    fn read(source: &Arc<Source>, document: usize) -> Option<Self> {
        let mut documents = load(source, &load_options()).documents;
        let at = if documents.len() > 1 { document } else { 0 };
        (at < documents.len()).then(|| Self { source: Arc::clone(source), root: documents.swap_remove(at) })
    }

    /// Returns the diagnostic of an exceeded limit. A limit concerns all of the document, so the place is its start.
    fn exceeded(&self, code: Code, root: &UnresolvedNode) -> Diagnostic {
        Diagnostic::error(code, root.issue.message.clone()).at(self.start())
    }

    /// Returns the first character of the document.
    fn start(&self) -> Place {
        let start = self.root.span().start;
        self.source.place(Span::empty(start))
    }

    fn diagnostic(&self, node: &UnresolvedNode) -> Option<Diagnostic> {
        let subject = match node.path[..] {
            [] => "the document".to_owned(),
            _ => format!("`{}`", node.path.join(".")),
        };
        let (found, place) = match self.find(node) {
            Some(found) => (found.node, self.place(found)),
            // The root of the result has no node of its own in the source, for example if a merge created it.
            None if node.path.is_empty() => (&self.root, self.start()),
            None => return None,
        };
        if let Some((error, span)) = self.syntax_error(found, node) {
            let message = format!("{subject} is no expression: {error}");
            return Some(Diagnostic::error(codes::EXPRESSION, message).at(self.source.place(span)));
        }
        let why = match node.issue.message.lines().next() {
            Some(why) => why,
            None if node.reason == Reason::Pending => "it waits for itself, or for a cycle of nodes",
            None => "it can't be evaluated",
        };
        let message = format!("{subject} has no value: {why}");
        Some(Diagnostic::error(codes::UNRESOLVED, message).at(place))
    }

    /// Returns the place of `found`. If `found` is a map or list that is the value of a key, returns the place of this
    /// key.
    fn place(&self, found: Found<'_>) -> Place {
        let span = match (found.node.kind(), found.key) {
            (Kind::Scalar(_), _) | (_, None) => found.node.span(),
            (_, Some(key)) => key.span(),
        };
        self.source.place(span)
    }

    /// Finds the node of the source from which a node of the result was made.
    ///
    /// The result may have another structure than the source: merges shift the entries of lists, and templates create
    /// nodes. So a node counts as found in these cases, tried in this order:
    ///
    /// 1. The source has the same expression at the same path.
    /// 2. The source has the same expression at exactly one other path.
    /// 3. The path leads through maps only, and the source has another expression at this path.
    /// 4. The path leads through maps only and exists in the source, and the node of the result is no expression.
    /// 5. The path leads through maps only, and begins with the path of an expression in the source. This expression
    ///    has created the rest of the path.
    fn find(&self, node: &UnresolvedNode) -> Option<Found<'_>> {
        let (reached, rest) = self.follow(&node.path);
        if rest == 0 && is_same(reached.node, node) {
            return Some(reached);
        }
        let mut same = Vec::new();
        same_nodes(Found { node: &self.root, key: None }, node, &mut same);
        if let [only] = same[..] {
            return Some(only);
        }
        let through_list = node.path.iter().any(|step| step.starts_with('['));
        let is_expression =
            reached.node.as_str().is_some_and(|text| embedded::expression(text, true).is_some());
        let is_made = is_expression || rest == 0 && !node.is_expression;
        (!through_list && !node.path.is_empty() && is_made).then_some(reached)
    }

    /// Follows a path as far as the source has it. Returns the last node, and the number of remaining steps.
    fn follow(&self, path: &[Arc<str>]) -> (Found<'_>, usize) {
        let mut found = Found { node: &self.root, key: None };
        for (at, step) in path.iter().enumerate() {
            let next = match found.node.kind() {
                Kind::Mapping(map) => {
                    map.entry(step).map(|entry| Found { node: &entry.value, key: Some(&entry.key) })
                }
                Kind::Sequence(items) => {
                    index(step).and_then(|index| items.get(index)).map(|node| Found { node, key: None })
                }
                Kind::Scalar(_) => None,
            };
            match next {
                Some(next) => found = next,
                None => return (found, path.len() - at),
            }
        }
        (found, 0)
    }

    /// Returns the syntax error of a malformed expression, and the span of the first character that does not match the
    /// grammar. If the part before the error is itself invalid, such as a number that is too large, returns the span of
    /// this part.
    fn syntax_error(&self, tree: &Tree, node: &UnresolvedNode) -> Option<(SyntaxError, Span)> {
        if node.is_expression {
            return None;
        }
        let text = tree.as_str().filter(|text| embedded::is_expression(text))?;
        let inner = &text[2..text.len() - 2];
        let error = parse(inner, &Position::default()).err()?;
        let range = match &error {
            SyntaxError::Unexpected(Unexpected { span: [begin, end], reason: Some(_), .. }) => {
                offset(inner, *begin)..offset(inner, *end)
            }
            SyntaxError::Unexpected(Unexpected { span: [_, end], .. }) => {
                let at = offset(inner, *end);
                at..at + text[2 + at..].chars().next().map_or(0, char::len_utf8)
            }
            SyntaxError::TooDeep => 0..inner.len(),
        };
        let span = tree.inside(&self.source).span(range.start + 2..range.end + 2);
        Some((error, span))
    }
}

/// Returns the index in a step such as `[2]`.
fn index(step: &str) -> Option<usize> {
    step.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Returns the byte offset of a position: a line and a column, both counted from 1.
fn offset(text: &str, (line, column): (usize, usize)) -> usize {
    let start = text.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
    let rest = &text[start..];
    start + rest.char_indices().nth(column - 1).map_or(rest.len(), |(at, _)| at)
}

/// Tells whether a scalar of a source contains the same expression as `node`. If `node` is a malformed expression,
/// tells whether the scalar has the same text as `node`.
fn is_same(tree: &Tree, node: &UnresolvedNode) -> bool {
    let Some(text) = tree.as_str() else { return false };
    if !node.is_expression {
        return *text == node.text;
    }
    let inner = embedded::expression(text, true);
    inner.is_some_and(|inner| {
        parse(&inner, &Position::default()).is_ok_and(|expr| expr.to_string() == node.text)
    })
}

/// Collects the nodes of a source with the same expression as `node`, at most two of them.
fn same_nodes<'d>(found: Found<'d>, node: &UnresolvedNode, same: &mut Vec<Found<'d>>) {
    too_deep::with_stack(|| match found.node.kind() {
        _ if same.len() > 1 => {}
        Kind::Scalar(_) if is_same(found.node, node) => same.push(found),
        Kind::Scalar(_) => {}
        Kind::Sequence(items) => {
            items.iter().for_each(|item| same_nodes(Found { node: item, key: None }, node, same));
        }
        Kind::Mapping(map) => map.entries().iter().for_each(|entry| {
            same_nodes(Found { node: &entry.value, key: Some(&entry.key) }, node, same);
        }),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Features, SpiffError};

    /// Returns the diagnostics of a template, one in each line.
    fn places(template: &str, stubs: &[&str]) -> String {
        let template = Source::new("t.yaml", template);
        let stubs: Vec<_> = stubs.iter().map(|text| Source::new("s.yaml", *text)).collect();
        let engine = Engine::new().with_features(Features::ALL);
        let Err(SpiffError::Unresolved(report)) = engine.process_texts(&template, &stubs) else {
            panic!("the template has values");
        };
        let sources: Vec<_> = [template].into_iter().chain(stubs).collect();
        let found: Vec<String> = locate(&report, &sources, 0).iter().map(ToString::to_string).collect();
        found.join("\n")
    }

    #[test]
    fn a_malformed_expression_has_the_place_of_its_first_wrong_character() {
        let cases = [
            ("a: (( 1+2 ))", "1:8"),
            ("a: 1\nb: (( x | ))", "2:9"),
            ("b: \"(( \\\"é\\\" | ))\"", "1:14"),
            ("a: '(( ''é'' ))'", "1:8"),
            ("a: >-\n  (( b\n  || c |\n  ))", "3:8"),
            ("l:\n- x: (( 99999999999999999999 ))", "2:9"),
        ];
        let found = cases.map(|(text, place)| {
            let found = places(text, &[]);
            let shown = found.split(": error[WL0702]: `").next().unwrap().replace("t.yaml:", "");
            (text, place.to_owned(), shown)
        });
        let wrong: Vec<_> = found.iter().filter(|(_, place, shown)| place != shown).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_failed_expression_has_the_place_of_its_node() {
        for (text, expected) in [
            ("a: 1\nb: {c: (( d ))}", "t.yaml:2:8: error[WL0700]: `b.c` has no value: 'd' not found"),
            ("a: (( b ))\nb: (( a ))", "t.yaml:1:4"),
            ("l:\n- 1\n- (( x ))", "t.yaml:3:3"),
            ("a: x (( y )) z", "t.yaml:1:4"),
            // The entry of the stub comes first, so the entry of the template has another index in the result.
            ("l:\n- (( merge ))\n- (( x ))", "t.yaml:3:3"),
            ("t:\n  <<: (( &template ))\n  x: (( nowhere ))\nu: (( *t ))", "t.yaml:4:4"),
        ] {
            let found = places(text, &["l: [7, 8]\n"]);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
        let found = places("a: (( merge ))", &["\na: (( nowhere ))\n"]);
        assert!(found.starts_with("s.yaml:2:4: "), "{found}");
    }

    #[test]
    fn an_error_of_the_whole_document_has_the_place_of_its_start() {
        assert_eq!(
            places("# a comment\n\n<<: (( 1 ))\n", &[]),
            "t.yaml:3:1: error[WL0700]: the document has no value: require map value for '<<' insert, found 'int'"
        );
        assert_eq!(
            places("(( x ))", &[]),
            "t.yaml:1:1: error[WL0700]: the document has no value: 'x' not found"
        );
        assert_eq!(
            places("# a comment\nf: (( |x|->.f(x) ))\na: (( .f(1) ))\n", &[]),
            "t.yaml:2:1: error[WL0708]: limit of 2000 calls within each other exceeded"
        );
    }

    #[test]
    fn nodes_that_only_depend_on_a_failure_are_left_out() {
        assert_eq!(
            places("a: (( b ))\nb: (( c ))", &[]),
            "t.yaml:2:4: error[WL0700]: `b` has no value: 'c' not found"
        );
    }
}
