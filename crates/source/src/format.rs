//! Formats the layout of a YAML text: indentation, and blanks at the end of lines.
//!
//! The entries of a nested block collection are indented by two columns more than the entry around them. All
//! other lines move together with the entry to which they belong. The formatter does not change quotes, flow
//! collections, the order of keys, the blanks within a line, or the words of comments. So the distance between
//! a value and a comment behind the value stays the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::load::{LoadOptions, load};
use crate::node::{Kind, Node};
use crate::reading::Reading;
use crate::scalar::Style;
use crate::{Diagnostic, Diagnostics, Severity, Source, codes};

/// Number of columns by which the entries of a nested collection are indented.
const STEP: usize = 2;

/// Returns a YAML text with formatted layout. Its data and its comments stay the same.
///
/// ```
/// use windlass_source::{Source, formatted};
///
/// let source = Source::new("a.yaml", "a:\n    - x   \n    # of b\n    -   b: 'c'\n");
/// assert_eq!(formatted(&source).unwrap(), "a:\n  - x\n  # of b\n  -   b: 'c'\n");
/// ```
///
/// # Errors
///
/// The problems of the text if it can't be read. [`codes::NOT_FORMATTED`] if the formatted text can't be read,
/// or contains other data.
pub fn formatted(source: &Arc<Source>) -> Result<String, Diagnostics> {
    let loaded = load(source, &LoadOptions::default());
    if loaded.diagnostics.has_errors() {
        return Err(loaded.diagnostics);
    }
    let mut layout = Layout { source, starts: BTreeMap::new(), blocks: Vec::new(), inside: Vec::new() };
    for document in &loaded.documents {
        layout.node(document, 0);
    }
    let text = layout.text();
    // The formatted text has the limits of the source. A deeper indentation must not exceed them.
    let limit = source.limit().max(text.len());
    let again = load(&Source::with_limit(source.name(), text.clone(), limit), &LoadOptions::default());
    if again.diagnostics.count(Severity::Error) == 0 && values(&again.documents) == values(&loaded.documents)
    {
        return Ok(text);
    }
    let message = "another layout could change the data of this file; it stays as it is";
    let start = crate::Span::new(0, 0);
    Err(vec![Diagnostic::error(codes::NOT_FORMATTED, message).at(source.place(start))].into())
}

fn values(documents: &[Node]) -> Vec<serde_json::Value> {
    documents.iter().map(|document| document.to_value(Reading::Text)).collect()
}

/// The layout of a text. Lines count from 1, columns from 0.
struct Layout<'s> {
    source: &'s Source,
    /// The lines that begin with a block entry: with a key or a `-` outside of `{…}` and `[…]`. Each line number is
    /// mapped to the old and the new column of the entry.
    starts: BTreeMap<usize, (usize, usize)>,
    /// The first and the last line of each block scalar. The formatter keeps blanks at the ends of all lines of a
    /// block scalar, because these blanks are data.
    blocks: Vec<(usize, usize)>,
    /// Ranges of lines in values that extend over several lines: plain scalars, quoted scalars and flow
    /// collections. Each range extends from the second line of such a value to its last line. The lines of a range
    /// move with the value, even if they begin with `#`.
    inside: Vec<(usize, usize)>,
}

impl Layout<'_> {
    /// Returns the line and the column of an offset.
    fn at(&self, offset: u32) -> (usize, usize) {
        let position = self.source.position(offset);
        (position.line, position.column - 1)
    }

    fn line(&self, line: usize) -> &str {
        self.source.line(line).map_or("", |span| &self.source.text()[span.start as usize..span.end as usize])
    }

    /// Adds the lines of a node, and of the nodes inside it, to `starts`, `blocks` and `inside`. `column` is the new
    /// column of each line that begins with an entry of this node.
    fn node(&mut self, node: &Node, column: usize) {
        let (first, last) = (self.at(node.span().start), self.at(node.span().end).0);
        let is_flow = self.source.text()[node.span().start as usize..].starts_with(['{', '[']);
        match node.kind() {
            Kind::Scalar(scalar) if matches!(scalar.style(), Style::Literal | Style::Folded) => {
                self.blocks.push((first.0, last));
            }
            Kind::Sequence(items) if !is_flow => {
                let (mut from, dashes) = self.dash(first);
                for item in items {
                    from = self.item(item, (from, dashes), column);
                }
            }
            Kind::Mapping(mapping) if !is_flow => {
                for entry in mapping {
                    let (line, old) = self.at(entry.key.span().start);
                    self.entry(line, old, column);
                    // If the value of the entry is a block collection, its entries begin below the line of
                    // the key. So the entries of the value are indented.
                    self.node(&entry.value, column + STEP);
                }
            }
            _ if last > first.0 => self.inside.push((first.0 + 1, last)),
            _ => {}
        }
    }

    /// Returns the line and column of the first `-` of a block sequence. The argument `first` is the place at which
    /// the sequence begins according to the parser.
    ///
    /// Usually, `first` is the place of the first `-`. But if each `-` is in the same column as the key of the
    /// sequence, `first` is the place of the text after the first `-`.
    fn dash(&self, first: (usize, usize)) -> (usize, usize) {
        let is_dash = |line: usize, column: usize| {
            let rest = self.line(line).as_bytes().get(column..).unwrap_or_default();
            matches!(rest, [b'-'] | [b'-', b' ' | b'\t', ..])
        };
        if is_dash(first.0, first.1) {
            return first;
        }
        let begin = |line: usize| self.indentation(line).filter(|column| is_dash(line, *column));
        (1..=first.0).rev().find_map(|line| Some((line, begin(line)?))).unwrap_or(first)
    }

    /// Records an item of a block sequence. The `-` of the item is in column `dash.1`, and in line `dash.0` or a
    /// later line. Returns the line of this `-`.
    fn item(&mut self, item: &Node, dash: (usize, usize), column: usize) -> usize {
        let (from, old) = dash;
        let (start, within) = self.at(item.span().start);
        let has_dash = |line: &usize| self.line(*line).as_bytes().get(old) == Some(&b'-');
        let line = (from..=start).rev().find(has_dash).unwrap_or(start);
        self.entry(line, old, column);
        // An entry in the line of a `-` keeps its distance from the `-`.
        let inner = if start == line { column + within.saturating_sub(old) } else { column + STEP };
        self.node(item, inner);
        line
    }

    /// Records the old and the new column of an entry if the entry begins the line.
    fn entry(&mut self, line: usize, old: usize, new: usize) {
        if self.indentation(line) == Some(old) {
            // The node of an alias is a copy of another node, with the places of the other node. The other
            // node was recorded before the copy, and its columns are kept.
            self.starts.entry(line).or_insert((old, new));
        }
    }

    /// Returns the number of blanks at the start of a line; `None` for an empty line.
    fn indentation(&self, line: usize) -> Option<usize> {
        self.line(line).find(|blank: char| blank != ' ')
    }

    /// Returns the text with the new layout.
    fn text(&mut self) -> String {
        self.blocks.sort_unstable();
        self.inside.sort_unstable();
        let lines = self.source.text().lines().count();
        let mut out = String::with_capacity(self.source.text().len());
        // The old and the new column of the previous entry.
        let mut moved = (0, 0);
        for number in 1..=lines {
            let line = self.line(number);
            let is_block = is_in(&self.blocks, number);
            if let Some(start) = self.starts.get(&number) {
                moved = *start;
            } else if line.starts_with("---") || line.starts_with("...") || line.starts_with('%') {
                moved = (0, 0);
            }
            let Some(old) = self.indentation(number) else {
                out.push('\n');
                continue;
            };
            let is_comment = line[old..].starts_with('#') && !is_block && !is_in(&self.inside, number);
            let (from, to) = if is_comment { self.comment(number, old).unwrap_or(moved) } else { moved };
            let column = (old + to).saturating_sub(from);
            out.extend(std::iter::repeat_n(' ', column));
            out.push_str(if is_block { &line[old..] } else { line[old..].trim_end() });
            out.push('\n');
        }
        let end = out.trim_end_matches('\n').len();
        if end == 0 {
            return String::new();
        }
        out.truncate(end + 1);
        out
    }

    /// Finds the entry with which a comment moves, and returns the old and the new column of this entry. The
    /// formatter then moves the comment by the same distance as the entry. `line` and `column` are the old place of
    /// the comment.
    ///
    /// The comment moves with the next entry below it, if the old column of that entry is the old column of the
    /// comment. Otherwise, the comment moves with the nearest entry above it that has the old column of the
    /// comment. If no such entry exists, the function returns `None`.
    fn comment(&self, line: usize, column: usize) -> Option<(usize, usize)> {
        let next = self.starts.range(line..).next().map(|(_, columns)| *columns);
        let is_same = |columns: &(usize, usize)| columns.0 == column;
        next.filter(is_same)
            .or_else(|| self.starts.range(..line).rev().map(|(_, columns)| *columns).find(is_same))
    }
}

/// Tells whether a line is in one of the sorted ranges.
fn is_in(ranges: &[(usize, usize)], line: usize) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= line);
    after.checked_sub(1).is_some_and(|at| line <= ranges[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        formatted(&Source::new("a.yaml", text)).unwrap_or_else(|problems| problems.to_string())
    }

    #[test]
    fn entries_are_indented_by_two() {
        for (before, after) in [
            ("a:\n    b:\n        c: 1\n    d: 2\n", "a:\n  b:\n    c: 1\n  d: 2\n"),
            ("a:\n- x\n- y:\n    - z\n", "a:\n  - x\n  - y:\n      - z\n"),
            ("a:\n-\n  # one\n  x: 1\n-\n  x: 2\n", "a:\n  -\n    # one\n    x: 1\n  -\n    x: 2\n"),
            ("a:\n- -1\n- - -2\n  - 3\n", "a:\n  - -1\n  - - -2\n    - 3\n"),
            ("a:\n   -   b: 1\n       c: 2\n", "a:\n  -   b: 1\n      c: 2\n"),
            ("-\n      a: 1\n- - 2\n  - 3\n", "-\n  a: 1\n- - 2\n  - 3\n"),
            ("a:  {b: 1,\n      c: 2}   \n\n\n", "a:  {b: 1,\n      c: 2}\n"),
            ("a: 'x\n  y'\r\nb:\r\n    c:\r\n", "a: 'x\n  y'\nb:\n  c:\n"),
            ("---\na: 1\n---\nb:\n    c: 1\n", "---\na: 1\n---\nb:\n  c: 1\n"),
            ("", ""),
            ("\n# only\n", "\n# only\n"),
        ] {
            assert_eq!(text(before), after, "{before:?}");
            assert_eq!(text(after), after, "again");
        }
    }

    #[test]
    fn block_scalars_keep_their_blanks() {
        let before = "a:\n    run: |\n        if x  \n          y\n\n        # no comment\n    b: 1\n";
        assert_eq!(text(before), "a:\n  run: |\n      if x  \n        y\n\n      # no comment\n  b: 1\n");
        let with_indicator = "a:\n    run: |2\n        x\n    b: 1\n";
        assert_eq!(text(with_indicator), "a:\n  run: |2\n      x\n  b: 1\n");
    }

    #[test]
    fn comments_move_with_their_entries() {
        let before = "# top\na:   # behind\n    # of b\n    b: 1\n    # end of a\n# of c\nc: '#'\n";
        let after = "# top\na:   # behind\n  # of b\n  b: 1\n  # end of a\n# of c\nc: '#'\n";
        assert_eq!(text(before), after);
    }

    /// A user can raise the size limit of a source. The raised limit also applies to the formatted text.
    #[test]
    fn a_text_above_the_default_limit_is_formatted() {
        let comments = format!("# {}\n", "x".repeat(1 << 20)).repeat(17);
        let source = Source::with_limit("a.yaml", format!("a:\n    b: 1  \n{comments}"), 64 << 20);
        assert!(formatted(&source).is_ok_and(|text| text == format!("a:\n  b: 1\n{comments}")));
    }

    #[test]
    fn what_can_not_be_read_is_not_formatted() {
        assert!(text("a: [1\n").contains("error[WL"), "{}", text("a: [1\n"));
    }
}
