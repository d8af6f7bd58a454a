//! Layout mistakes: tabs, colons, comments, indentation.

use super::line::Line;
use super::site::{Cause, Site, edit};
use crate::codes;
use crate::load::yaml::ErrorKind;

/// Finds a syntax error whose cause is a tab in the indentation. Returns `None` if the error has another cause.
pub(super) fn tab(site: &Site<'_>) -> Option<Cause> {
    let line = std::iter::once(site.line())
        .chain(site.line().below(site.text))
        .find(|line| line.text.trim_start_matches(' ').starts_with('\t'))?;
    let about_tabs = matches!(
        site.kind,
        ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar
            | ErrorKind::TabNotAllowed
            | ErrorKind::TabAtBlockScalarStart
    );
    if !about_tabs && line.start > site.at {
        return None;
    }
    let leading = |line: &Line<'_>| line.text.len() - line.text.trim_start_matches(' ').len();
    let tabs = line.start + leading(&line)..line.start + line.indent();
    let diagnostic = site
        .error(codes::TAB_INDENTATION, "a tab is used as indentation", tabs)
        .label("a tab, where YAML takes spaces only");
    let unit = unit(site.text);
    let tabbed = |line: &Line<'_>| line.text.starts_with('\t') && !line.content().is_empty();
    let lines: Vec<Line<'_>> = lines(site.text).filter(|other| tabbed(other) || *other == line).collect();
    let edits = lines.iter().map(|line| {
        let width = line.text[..line.indent()].chars().map(|c| if c == '\t' { unit } else { 1 }).sum();
        edit(line.start..line.start + line.indent(), " ".repeat(width))
    });
    let edits = edits.collect();
    let deepest = lines_indent(site.text).max().unwrap_or(0);
    // If lines with spaces have several levels of indentation, it is not certain how many spaces a tab
    // replaces.
    if deepest > unit {
        let help = "put as many spaces as the lines beside it have";
        return Some(Cause { diagnostic: diagnostic.help(help), repair: Some(edits) });
    }
    let description = format!("put {unit} spaces in place of each tab");
    Some(site.fixed(diagnostic.help(description.clone()), description, edits))
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let whole = text.split_inclusive('\n').scan(0, |start, line| {
        let here = *start;
        *start += line.len();
        Some(Line { start: here, text: line.trim_end_matches(['\n', '\r']) })
    });
    whole.into_iter()
}

/// Returns the indentation of each line that is not indented by tabs.
fn lines_indent(text: &str) -> impl Iterator<Item = usize> {
    lines(text)
        .filter(|line| !line.content().is_empty() && !line.text.starts_with('\t'))
        .map(|line| line.indent())
}

/// Returns the number of spaces by which a text indents one level: the smallest indentation of its indented lines.
/// Returns 2 if no line is indented.
fn unit(text: &str) -> usize {
    lines_indent(text).filter(|&indent| indent > 0).min().unwrap_or(2)
}

/// Recognises `\#` at the start of a line.
pub(super) fn escaped_comment(site: &Site<'_>) -> Option<Cause> {
    let line = site.line();
    let is_comment = |line: &Line<'_>| line.content().starts_with("\\#");
    let mut at: Vec<usize> = match site.kind {
        // The parser read the line with `\#` as a key that continues on the next line.
        ErrorKind::MappingValueNotAllowed => line.above(site.text).take_while(is_comment).collect::<Vec<_>>(),
        _ => Vec::new(),
    }
    .into_iter()
    .chain(Some(line).filter(is_comment))
    .map(|line| line.content_range().start)
    .collect();
    at.sort_unstable();
    (!at.is_empty()).then(|| escaped_comments(site, &at))
}

/// Recognises the lines of an unresolved merge conflict. The repair keeps the first side of the conflict.
pub(super) fn conflict(site: &Site<'_>) -> Option<Cause> {
    let mut lines = lines(site.text);
    let begin = lines.find(|line| line.text.starts_with("<<<<<<< "))?;
    let middle = lines.find(|line| line.text == "=======")?;
    let end = lines.find(|line| line.text.starts_with(">>>>>>> "))?;
    let diagnostic = site
        .error(codes::SYNTAX, "a conflict of a merge is left in the text", begin.start..begin.end())
        .related(site.place(end.start..end.end()), "it ends here")
        .help("keep one of the two sides, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`");
    let repair = vec![edit(begin.start..begin.end(), ""), edit(middle.start..end.end(), "")];
    Some(Cause { diagnostic, repair: Some(repair) })
}

/// Returns one [`Cause`] for all `\#` that were meant to begin a comment. `at` contains the offset of each `\#`,
/// and must not be empty.
pub(super) fn escaped_comments(site: &Site<'_>, at: &[usize]) -> Cause {
    let more = if at.len() > 1 { format!(", {} times in all", at.len()) } else { String::new() };
    let diagnostic = site
        .error(codes::ESCAPED_COMMENT, format!("`\\#` does not begin a comment{more}"), at[0]..at[0] + 2)
        .label("read as text")
        .help("remove the backslash");
    site.fixed(diagnostic, "remove the backslash", at.iter().map(|&at| edit(at..at + 1, "")).collect())
}

/// Recognises `...` as a placeholder for omitted text.
pub(super) fn ellipsis(site: &Site<'_>) -> Option<Cause> {
    let line = site.line();
    if !line.content().starts_with("...") || line.key().is_some() {
        return None;
    }
    let range = line.content_range();
    let diagnostic = site
        .error(codes::SYNTAX, "`...` is neither a key nor a comment", range.clone())
        .help("make it a comment, or write what it stands for");
    Some(site.fixed(diagnostic, "make it a comment", vec![edit(range.start..range.start, "# ")]))
}

/// Recognises a key without its colon. For example, a line contains only `lifecycle`, and the value of this key is on
/// the lines below. If the line also contains other words, `key_and_value` examines the line.
pub(super) fn missing_colon(site: &Site<'_>) -> Option<Cause> {
    if *site.kind != ErrorKind::SimpleKeyExpected {
        return None;
    }
    let line = site.line();
    let (start, entry) = line.entry();
    if entry.contains(':') {
        return None;
    }
    if !is_word(entry) {
        return key_and_value(site, line);
    }
    let diagnostic = site.error(
        codes::MISSING_COLON,
        format!("no colon after the key `{entry}`"),
        start..start + entry.len(),
    );
    let owns = |below: Line<'_>| {
        below.indent() > line.indent() || below.indent() == line.indent() && below.content().starts_with("- ")
    };
    if line.below(site.text).is_some_and(owns) {
        let end = start + entry.len();
        return Some(site.fixed(
            diagnostic.help(format!("write `{entry}:`")),
            "add the colon",
            vec![edit(end..end, ":")],
        ));
    }
    let help = "each line of a mapping is `key: value`";
    Some(site.left_out(diagnostic.label("expected `key: value`").help(help), site.at..site.at))
}

/// Recognises a line of a mapping that lacks the colon. If the line consists of a key and one word, as in
/// `quantity 2`, the error has a fix that adds the colon. If more words follow the key, the error has no fix,
/// and the loader skips the line at which the parser stopped.
fn key_and_value(site: &Site<'_>, line: Line<'_>) -> Option<Cause> {
    let (start, entry) = line.entry();
    let (key, value) = entry.split_once(' ')?;
    let value = value.trim_start();
    if !is_word(key) || !key.starts_with(char::is_alphabetic) {
        return None;
    }
    let end = start + key.len();
    if value.contains(' ') {
        let diagnostic = site
            .error(codes::MISSING_COLON, "no colon on this line", line.content_range())
            .label("expected `key: value`")
            .help("each line of a mapping is `key: value`; a comment begins with `#`");
        return Some(site.left_out(diagnostic, site.at..site.at));
    }
    let diagnostic = site
        .error(codes::MISSING_COLON, format!("no colon after the key `{key}`"), start..end)
        .help(format!("write `{key}: {value}`"));
    Some(site.fixed(diagnostic, "add the colon", vec![edit(end..end, ":")]))
}

/// Recognises a key whose colon is not followed by a space: `name:web`.
pub(super) fn missing_space(site: &Site<'_>) -> Option<Cause> {
    let line = match site.kind {
        ErrorKind::SimpleKeyExpected => site.line(),
        // The parser read `name:web` as text that continues on the next line.
        ErrorKind::MappingValueNotAllowed => {
            let line = site.line();
            line.above(site.text).next().filter(|above| above.indent() == line.indent())?
        }
        _ => return None,
    };
    let (start, entry) = line.entry();
    let (key, value) = entry.split_once(':')?;
    if !is_word(key) || value.is_empty() || value.starts_with([':', '/', ' ']) {
        return None;
    }
    let at = start + key.len();
    let diagnostic = site
        .error(codes::MISSING_COLON, format!("no space after the colon of `{key}`"), start..at + 1)
        .label("read as text, not as a key")
        .help(format!("write `{key}: {value}`"));
    Some(site.fixed(diagnostic, "add the space", vec![edit(at + 1..at + 1, " ")]))
}

/// Recognises a key without its colon. The parser has read the key as text that continues on the next line.
pub(super) fn continued_key(site: &Site<'_>) -> Option<Cause> {
    let line = site.line();
    if *site.kind != ErrorKind::MappingValueNotAllowed
        || line.content_range().start + line.content().find(':')? != site.at
    {
        return None;
    }
    let above = line.above(site.text).next()?;
    let (start, entry) = above.entry();
    if above.indent() >= line.indent() || !is_word(entry) {
        return None;
    }
    let end = start + entry.len();
    let diagnostic = site
        .error(codes::MISSING_COLON, format!("no colon after the key `{entry}`"), start..end)
        .related(site.place(line.content_range()), "so this can't be below it")
        .help(format!("write `{entry}:`"));
    Some(site.fixed(diagnostic, "add the colon", vec![edit(end..end, ":")]))
}

/// Recognises a line that is indented below a line that already has a value.
pub(super) fn below_a_value(site: &Site<'_>) -> Option<Cause> {
    let block = matches!(site.kind, ErrorKind::MappingValueNotAllowed | ErrorKind::ExpectedBlockMappingKey);
    let line = site.line();
    let above = line.above(site.text).next()?;
    if !block || above.indent() >= line.indent() {
        return None;
    }
    let key = above.key()?;
    let (start, entry) = above.entry();
    let value = start + entry.len() - entry.rsplit_once(": ").map_or(0, |(_, value)| value.len());
    let value = value..start + entry.len();
    let diagnostic = site
        .error(
            codes::INDENTATION,
            format!("this line is indented below `{key}`, which has a value already"),
            line.content_range(),
        )
        .label(format!("indented by {}, `{key}` by {}", spaces(line.indent()), above.indent()))
        .related(site.place(value), format!("the value of `{key}`"))
        .help(format!("give it the indentation of `{key}`, or remove the value"));
    let repair = vec![edit(line.start..line.start + line.indent(), " ".repeat(above.indent()))];
    Some(Cause { diagnostic, repair: Some(repair) })
}

/// Recognises a line whose indentation matches no line above.
pub(super) fn fits_nowhere(site: &Site<'_>) -> Option<Cause> {
    let line = site.line();
    let levels = levels(site, line);
    let known = matches!(
        site.kind,
        ErrorKind::ExpectedBlockMappingKey
            | ErrorKind::MappingValueNotAllowed
            | ErrorKind::InvalidIndentation
    );
    if !known || levels.contains(&line.indent()) {
        return None;
    }
    let expected: Vec<String> = levels.iter().map(ToString::to_string).collect();
    let diagnostic = site
        .error(
            codes::INDENTATION,
            format!("indented by {}, as no line above", spaces(line.indent())),
            line.content_range(),
        )
        .label(format!("expected {}", expected.join(" or ")))
        .help("lines of one mapping or list have the same indentation");
    Some(site.left_out(diagnostic, site.at..site.at))
}

/// Returns the valid indentations for a line, the smallest first. These are the indentation of the line above, and the
/// indentations of all entries that contain the line above. Example: if the lines above are `a:` without indentation
/// and `b: 1` with 4 spaces, the result is 0 and 4.
fn levels(site: &Site<'_>, line: Line<'_>) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::new();
    for above in line.above(site.text) {
        if levels.last().is_none_or(|&least| above.indent() < least) {
            levels.push(above.indent());
        }
        if above.indent() == 0 {
            break;
        }
    }
    levels.reverse();
    levels
}

/// Recognises a list item at a place where no list item is allowed.
pub(super) fn item(site: &Site<'_>) -> Option<Cause> {
    let line = site.line();
    let (message, help, start) = match site.kind {
        ErrorKind::BlockSequenceEntryNotAllowed => {
            let help = "put `- …` on lines of its own, below the key";
            ("a list item on the line of its key", help, site.at)
        }
        ErrorKind::ExpectedBlockMappingKey if line.content().starts_with("- ") => {
            let help = "give the list a key, and put its items below it";
            ("a list item between the keys of a mapping", help, line.content_range().start)
        }
        _ => return None,
    };
    let diagnostic = site.error(codes::SYNTAX, message, start..line.content_range().end).help(help);
    Some(site.left_out(diagnostic, site.at..site.at))
}

/// Recognises a line after the end of the document. For example, the line has less indentation than the first line
/// of the document, so the document has ended before this line.
pub(super) fn behind_the_end(site: &Site<'_>) -> Option<Cause> {
    if *site.kind != ErrorKind::ExpectedDocumentStart {
        return None;
    }
    let line = site.line();
    let diagnostic = site
        .error(codes::INDENTATION, "the document has ended before this line", line.content_range())
        .help("a document is one mapping, one list or one value, with the indentation of its first line");
    Some(site.left_out(diagnostic, site.at..site.at))
}

/// Tells whether a text could be a key: a word without spaces, which may be quoted.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '"' | '\'' | '$'))
}

fn spaces(count: usize) -> String {
    if count == 1 { "1 space".to_owned() } else { format!("{count} spaces") }
}
