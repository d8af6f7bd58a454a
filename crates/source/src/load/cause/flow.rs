//! Mistakes inside `{…}` and `[…]`.

use super::line::{Line, Unclosed, closer, unclosed};
use super::scalar::quote;
use super::site::{Cause, Site, edit};
use crate::codes;
use crate::load::yaml::ErrorKind;

/// Recognises a `${reference}` without quotes.
pub(super) fn reference(site: &Site<'_>) -> Option<Cause> {
    if !matches!(
        site.kind,
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator
    ) {
        return None;
    }
    let line = site.line();
    // The parser stops at the `{` of the reference `${x}`. If the parser has read `{x}` as a mapping, it stops
    // after the `}`.
    let stop = site.at + site.text[site.at..].chars().next().map_or(0, char::len_utf8);
    let dollar = line.start + site.text[line.start..stop.min(line.end())].rfind("${")?;
    let bounds: &[char] = &[',', '[', '{', ' ', '\t'];
    let before = &site.text[line.start..dollar];
    let start = line.start + before.rfind(bounds).map_or(line.indent(), |found| found + 1);
    let end = text_end(site.text, dollar, line.end())?;
    let text = &site.text[start..end];
    let diagnostic = site
        .error(codes::REFERENCE_IN_FLOW, format!("`{text}` must be quoted inside brackets"), start..end)
        .help(format!("write `\"{text}\"`, or a block without brackets"));
    let quoted = if text.contains(['"', '\\']) { quote(text) } else { format!("\"{text}\"") };
    Some(site.fixed(diagnostic, "quote the reference", vec![edit(start..end, quoted)]))
}

/// Returns the offset at which the unquoted text around a `${…}` ends. `dollar` is the offset of the `$`. The text
/// ends at the first `,`, `]`, `}` or space after the `${…}`, or otherwise at `line_end`. Returns `None` if the
/// line does not contain the closing brace of the `${…}`.
fn text_end(text: &str, dollar: usize, line_end: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text[dollar..line_end].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | ']' | '}' | ' ' if depth == 0 => return Some(dollar + at),
            _ => {}
        }
    }
    (depth == 0).then_some(line_end)
}

/// Tells whether the parser's error may come from an unclosed bracket.
fn may_be_unclosed(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnclosedFlowCollection { .. }
            | ErrorKind::UnexpectedEofFlowSequence
            | ErrorKind::UnexpectedEofFlowMapping
            | ErrorKind::UnexpectedEofImplicitFlowMapping
            | ErrorKind::UnexpectedEof
            | ErrorKind::InvalidColonPlacement
            | ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::ExpectedFlowSequenceSeparator
            | ErrorKind::BlockEntryInFlowCollection
            | ErrorKind::InvalidFlowScalarIndent
            | ErrorKind::MismatchedFlowCollectionEnd { .. }
            | ErrorKind::MisplacedFlowCollectionEnd
            | ErrorKind::InvalidIndentation
            | ErrorKind::SimpleKeyExpected
    )
}

/// Recognises a bracket that is never closed, or closed by the wrong bracket.
pub(super) fn unclosed_bracket(site: &Site<'_>) -> Option<Cause> {
    if let ErrorKind::MismatchedFlowCollectionEnd { open, close } = site.kind {
        let message = format!("`{open}` is closed by `{close}`");
        let found = site.text[site.at..].find(*close).map_or(site.at, |found| site.at + found);
        let diagnostic = site
            .error(codes::UNCLOSED_BRACKET, message, found..found + 1)
            .related(site.place(site.at..site.at + 1), "opened here");
        let help = format!("write `{}`, or quote the text", closer(*open));
        return Some(site.left_out(diagnostic.help(help), site.at..site.at));
    }
    if !may_be_unclosed(site.kind) {
        return None;
    }
    let here = site.line();
    let opened = matches!(site.kind, ErrorKind::UnclosedFlowCollection { .. });
    let at_end = opened || site.text[site.at..].trim().is_empty();
    let own = at_end.then_some(here);
    let (line, at, open) = own.into_iter().chain(here.above(site.text)).find_map(opens)?;
    // The first line that can't be inside the brackets; none if there is no such line.
    let next = if at_end {
        line.below_all(site.text).find(|below| below.indent() <= line.indent())
    } else {
        // The parser may have read more lines before it noticed the error. So the search ends at the line
        // `here`, where the parser stopped.
        let mut between = line.below_all(site.text).take_while(|below| below.start <= here.start);
        between.find(|below| below.indent() <= line.indent()).or(Some(here))
    };
    if next.is_some_and(|next| next.indent() > line.indent()) {
        return None;
    }
    let mut diagnostic = site
        .error(codes::UNCLOSED_BRACKET, format!("`{open}` is never closed"), at..at + 1)
        .label("opened here");
    if let Some(next) = next {
        diagnostic = diagnostic.related(site.place(next.content_range()), "this was read as part of it");
    }
    let last = match next {
        Some(next) => next.above(site.text).next()?,
        None => line.below_all(site.text).last().unwrap_or(line),
    };
    let Some(Unclosed::Bracket { closers, end, .. }) = unclosed(&site.text[line.start..last.end()]) else {
        let help = format!("close it with `{}`, or quote the text", closer(open));
        return Some(site.left_out(diagnostic.help(help), at..last.end()));
    };
    let end = line.start + end;
    let diagnostic = diagnostic.help(format!("close it with `{closers}`, or quote the text"));
    Some(site.fixed(diagnostic, format!("add `{closers}`"), vec![edit(end..end, closers)]))
}

fn opens(line: Line<'_>) -> Option<(Line<'_>, usize, char)> {
    match unclosed(line.text) {
        Some(Unclosed::Bracket { at, open, .. }) => Some((line, line.start + at, open)),
        _ => None,
    }
}

/// Recognises a colon and a space inside a value in brackets: `{a: b: c}`.
pub(super) fn colon(site: &Site<'_>) -> Option<Cause> {
    let flow = matches!(
        site.kind,
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator
    );
    if !flow || !site.text[site.at..].starts_with(':') {
        return None;
    }
    let diagnostic = site
        .error(codes::COLON_IN_TEXT, "a second colon in one entry", site.at..site.at + 1)
        .label("expected `,` or the closing bracket")
        .help("quote the text, or separate the entries by `,`");
    Some(site.left_out(diagnostic, site.at..site.at))
}
