//! Mistakes inside a scalar: colons, quotes, escapes, characters that must be quoted.

use super::line::{Unclosed, unclosed};
use super::site::{Cause, Site, edit};
use crate::codes;
use crate::load::yaml::ErrorKind;

/// Recognises a colon and a space inside unquoted text: `type: resource:: c_streamer::1.0`.
pub(super) fn colon_in_text(site: &Site<'_>) -> Option<Cause> {
    let line = site.line();
    let (start, entry) = line.entry();
    let separator = entry.find(": ")?;
    let value = start + separator + 2;
    let value =
        value + (site.text[value..line.end()].len() - site.text[value..line.end()].trim_start().len());
    if *site.kind != ErrorKind::MappingValueNotAllowed || site.at <= value {
        return None;
    }
    let end = plain_end(site.text, value, line.end());
    let text = &site.text[value..end];
    let diagnostic = site
        .error(
            codes::COLON_IN_TEXT,
            format!("colon and space inside the text `{text}`"),
            site.at..site.at + 2,
        )
        .label("this separates a key from its value");
    let blank = site.at + 1;
    if site.text[..site.at].ends_with(':') {
        let next = blank + (site.text[blank..end].len() - site.text[blank..end].trim_start().len());
        let joined = format!("{}{}", &site.text[value..blank], &site.text[next..end]);
        let cause = site.fixed(
            diagnostic.help(format!("write `{joined}`")),
            "remove the space",
            vec![edit(blank..next, "")],
        );
        return Some(cause);
    }
    let quoted = quote(text);
    Some(site.fixed(diagnostic.help("quote the text"), "quote the text", vec![edit(value..end, quoted)]))
}

/// Recognises unquoted text that starts with a reserved character.
pub(super) fn reserved_character(site: &Site<'_>) -> Option<Cause> {
    let found = match site.kind {
        ErrorKind::UnexpectedCharacter { character } => *character,
        ErrorKind::MissingAnchorOrAliasName => site.text[site.at..].chars().next()?,
        _ => return None,
    };
    let line = site.line();
    let end = plain_end(site.text, site.at, line.end());
    let diagnostic = site
        .error(codes::RESERVED_CHARACTER, format!("text can't begin with {}", shown(found)), site.at..end)
        .help("quote the text");
    let text = &site.text[site.at..end];
    // If the text contains separators, closing brackets or quotes, its end is not certain.
    if end == site.at || text.contains([',', ']', '}', '"', '\'']) || text.contains(": ") {
        return Some(site.left_out(diagnostic, site.at..site.at));
    }
    Some(site.fixed(diagnostic, "quote the text", vec![edit(site.at..end, quote(text))]))
}

fn shown(c: char) -> String {
    if c == '`' { "a backtick".to_owned() } else { format!("`{c}`") }
}

/// Recognises text after `|` or `>` on the same line: `run: | echo hi`.
pub(super) fn block_header(site: &Site<'_>) -> Option<Cause> {
    if *site.kind != ErrorKind::InvalidBlockScalarHeader {
        return None;
    }
    let marker = &site.text[site.at..=site.at];
    let message = format!("text on the line of `{marker}`");
    let end = site.line().content_range().end.max(site.at + 1);
    let help = format!("put the text on the lines below, or quote it if `{marker}` belongs to it");
    let diagnostic = site.error(codes::SYNTAX, message, site.at..end).help(help);
    Some(site.left_out(diagnostic, site.at..site.at))
}

/// Recognises a backslash in double quotes that starts no valid escape.
pub(super) fn escape(site: &Site<'_>) -> Option<Cause> {
    if *site.kind != ErrorKind::UnknownQuotedScalarEscape {
        return None;
    }
    let (at, c) = bad_escape(site.text, site.at)?;
    let diagnostic = site
        .error(codes::ESCAPE, format!("`\\{c}` is no escape"), at..at + 1 + c.len_utf8())
        .help(format!("write `\\\\{c}` if a backslash is meant, or use single quotes"));
    Some(site.fixed(diagnostic, "write the backslash twice", vec![edit(at..at + 1, "\\\\")]))
}

fn bad_escape(text: &str, from: usize) -> Option<(usize, char)> {
    let mut chars = text[from..].char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            let (_, next) = chars.next()?;
            if !"0abt\tnvfre \"/\\N_LPxuU\r\n".contains(next) {
                return Some((from + at, next));
            }
        }
    }
    None
}

/// Recognises text after the closing quote, on the same line.
pub(super) fn trailing_text(site: &Site<'_>) -> Option<Cause> {
    let quote = match site.kind {
        ErrorKind::InvalidTrailingSingleQuotedScalar => '\'',
        ErrorKind::InvalidTrailingDoubleQuotedScalar => '"',
        _ => return None,
    };
    let line = site.line();
    let (start, entry) = line.entry();
    let value = start + entry.find(&format!(": {quote}")).map_or(0, |found| found + 2);
    if !site.text[value..].starts_with(quote) || value >= site.at {
        return None;
    }
    let end = line.content_range().end;
    let help = if quote == '\'' {
        "write a quote inside single quotes twice"
    } else {
        "write a quote inside double quotes as `\\\"`"
    };
    let trailing = end - site.text[site.at..end].trim_start().len()..end;
    let diagnostic = site
        .error(codes::UNCLOSED_QUOTE, "text after the closing quote", trailing)
        .related(site.place(value..value + 1), "the text begins here");
    let inner = &site.text[value + 1..end];
    match inner.strip_suffix(quote).filter(|inner| inner.len() > site.at.saturating_sub(value + 1)) {
        Some(inner) if quote == '\'' || !inner.contains('\\') => {
            let escaped = inner.replace(quote, if quote == '\'' { "''" } else { "\\\"" });
            let edits = vec![edit(value + 1..end - 1, escaped)];
            Some(site.fixed(diagnostic.help(help), "escape the quotes inside", edits))
        }
        _ => Some(site.left_out(diagnostic.help(help), site.at..site.at)),
    }
}

/// Recognises a quote that is never closed.
pub(super) fn unclosed_quote(site: &Site<'_>) -> Option<Cause> {
    let quoted = matches!(
        site.kind,
        ErrorKind::UnclosedQuotedScalar
            | ErrorKind::InvalidQuotedScalarIndent
            | ErrorKind::DocumentIndicatorInQuotedScalar
            | ErrorKind::InvalidTrailingSingleQuotedScalar
            | ErrorKind::InvalidTrailingDoubleQuotedScalar
    );
    if !quoted {
        return None;
    }
    let here = site.line();
    let mut lines = std::iter::once(here).chain(here.above(site.text));
    let (line, at, quote) = lines.find_map(|line| match unclosed(line.text) {
        Some(Unclosed::Quote { at, quote }) => Some((line, at, quote)),
        _ => None,
    })?;
    let at = line.start + at;
    let help = if quote == '\'' {
        "close it, or write an apostrophe inside single quotes twice"
    } else {
        "close it"
    };
    let mut diagnostic = site
        .error(
            codes::UNCLOSED_QUOTE,
            format!("the quote `{quote}` is never closed"),
            at..line.content_range().end,
        )
        .label("opened here")
        .help(help);
    if here != line {
        diagnostic = diagnostic.related(site.place(here.content_range()), "this was read as part of it");
    }
    Some(site.left_out(diagnostic, at..at))
}

/// Returns the offset at which an unquoted text ends. The text begins at `start`, and its line ends at `end`. A comment
/// and spaces at the end of the line are not part of the text.
fn plain_end(text: &str, start: usize, end: usize) -> usize {
    let value = &text[start..end];
    let value = value.find(" #").map_or(value, |comment| &value[..comment]);
    start + value.trim_end().len()
}

/// Quotes a text, with single quotes if possible.
pub(super) fn quote(text: &str) -> String {
    if text.contains('\'') {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("'{text}'")
    }
}
