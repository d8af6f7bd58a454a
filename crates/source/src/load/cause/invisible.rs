//! Invisible characters that cause errors.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::invisible::{is_false_blank, is_invisible, name};
use crate::load::draft::Draft;
use crate::{Diagnostic, Diagnostics, Edit, Fix, Severity, Source, Span, codes};

/// Reports the invisible characters of a text, except those in the ranges `quoted`. If a character occurs several
/// times with the same severity, one diagnostic reports all these occurrences.
///
/// `draft` is the copy of the text that the loader repairs. In `draft`, the function removes or replaces each
/// character that is reported as an error. Before the call, `draft` must not contain repairs, because the function
/// uses offsets of the original text.
pub(crate) fn invisible(source: &Arc<Source>, draft: &mut Draft<'_>, quoted: &[Range<usize>]) -> Diagnostics {
    let found = find(source.text(), quoted);
    let hindering = found.iter().filter(|((severity, _), _)| *severity == Severity::Error);
    let repair: Vec<Edit> = hindering.flat_map(|(_, edits)| edits.clone()).collect();
    if !repair.is_empty() {
        draft.apply(repair);
    }
    found.into_iter().map(|((severity, c), edits)| report(source, severity, c, edits)).collect()
}

/// Length in bytes of the longest line in which the loader searches for invisible characters. The search reads the
/// whole line again for each invisible character. So the search would be slow for a longer line with many invisible
/// characters.
const LONGEST_LINE: usize = 16 << 10;

/// Number of invisible characters after which the search stops. It still completes the line in which it reaches this
/// number.
const MOST: usize = 10_000;

/// Returns the edits that remove or replace invisible characters, by severity and character. The function ignores
/// characters in the ranges `quoted`, which are byte ranges in `text`.
fn find(text: &str, quoted: &[Range<usize>]) -> BTreeMap<(Severity, char), Vec<Edit>> {
    let mut found: BTreeMap<_, Vec<Edit>> = BTreeMap::new();
    if text.is_ascii() {
        return found;
    }
    let is_quoted = |at: usize| {
        let after = quoted.partition_point(|range| range.end <= at);
        quoted.get(after).is_some_and(|range| range.contains(&at))
    };
    let (mut start, mut count) = (0, 0);
    for line in text.split_inclusive('\n') {
        if !line.is_ascii() && line.len() <= LONGEST_LINE && count < MOST {
            for (at, c) in line
                .char_indices()
                .filter(|&(at, c)| !is_quoted(start + at) && (start + at > 0 || c != '\u{feff}'))
            {
                if let Some((severity, replacement)) = judge(line, at, c) {
                    count += 1;
                    let span = Span::from(start + at..start + at + c.len_utf8());
                    found
                        .entry((severity, c))
                        .or_default()
                        .push(Edit { span, replacement: replacement.into() });
                }
            }
        }
        start += line.len();
    }
    found
}

/// Judges the character `c` at the byte offset `at` of a line. Returns the severity of the problem that the character
/// causes, and the text that replaces the character. Returns `None` if the character is harmless at this offset.
fn judge(line: &str, at: usize, c: char) -> Option<(Severity, &'static str)> {
    let (before, after) = (&line[..at], &line[at + c.len_utf8()..]);
    if is_false_blank(c) {
        return (opens(before) && !is_comment(before)).then_some((Severity::Error, " "));
    }
    if !is_invisible(c) || is_comment(before) {
        return None;
    }
    if opens(before) || ends(after) {
        return Some((Severity::Error, ""));
    }
    // Joiners and direction marks are legitimate inside words of many scripts.
    matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}').then_some((Severity::Warning, ""))
}

/// Tells whether a key or a value starts at a position in a line. `before` is the text from the start of the line to
/// the position. The result is true if `before` contains only indentation, list markers, or a key with its colon.
fn opens(before: &str) -> bool {
    let seen = before.chars().filter(|&c| !is_invisible(c)).map(|c| if is_false_blank(c) { ' ' } else { c });
    let seen: String = seen.collect();
    let content = seen.trim_start_matches([' ', '\t', '-']).trim_end_matches([' ', '\t']);
    let key = content.strip_suffix(':');
    content.is_empty() || key.is_some_and(|key| !key.contains(": "))
}

/// Tells whether a key or a value ends at a position in a line. `after` is the text from the position to the end of the
/// line.
fn ends(after: &str) -> bool {
    let rest = after.trim_start_matches(is_invisible);
    rest.trim_end().is_empty() || rest.starts_with(": ") || rest.trim_end() == ":"
}

fn is_comment(before: &str) -> bool {
    before.trim_start().starts_with('#') || before.contains(" #")
}

fn report(source: &Arc<Source>, severity: Severity, c: char, edits: Vec<Edit>) -> Diagnostic {
    let (first, count) = (edits[0].span, edits.len());
    let blank = is_false_blank(c);
    let what = if blank { "instead of a space" } else { "in the text" };
    let more = if count > 1 { format!(", {count} times in all") } else { String::new() };
    let message = format!("{} (U+{:04X}) {what}{more}", name(c), u32::from(c));
    let help = if blank {
        "put spaces in their place"
    } else {
        "remove them; they come with text copied from web pages"
    };
    Diagnostic::new(severity, codes::INVISIBLE_CHARACTER, message)
        .at(source.place(first))
        .label("here, though it can't be seen")
        .help(help)
        .fix(Fix::edits(
            if blank { "put spaces in their place" } else { "remove the invisible characters" },
            edits,
        ))
}
