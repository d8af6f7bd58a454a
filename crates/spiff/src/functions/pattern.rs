//! Regular expressions in the syntax of Go's `regexp`.
//!
//! The crate `regex` selects the same match as Go, and also needs only linear time. This module translates the
//! differences. In Go, `\d`, `\w`, `\s` and `\b` match ASCII characters only, `\Q…\E` quotes a text, and a
//! character class contains neither other classes nor set operations.

use std::fmt;
use std::ops::Range;

use regex::{Captures, Regex};

/// A compiled regular expression.
pub(super) struct Pattern {
    regex: Regex,
    empty: bool,
}

/// The reason why a text is no regular expression. The wording is that of Go's message.
pub(super) struct BadPattern(String);

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}", self.0)
    }
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Result<Self, BadPattern> {
        let regex = Regex::new(&translate(pattern)).map_err(|error| BadPattern(explain(pattern, &error)))?;
        Ok(Self { regex, empty: pattern.is_empty() })
    }

    /// Tells whether the pattern was written as an empty text.
    pub(super) fn is_empty(&self) -> bool {
        self.empty
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    pub(super) fn find_all<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.regex.find_iter(text).map(|found| found.range())
    }

    /// Returns the first match with its groups.
    pub(super) fn groups<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        self.regex.captures(text).map(|captures| groups(&captures))
    }

    /// Returns all matches with their groups.
    pub(super) fn all_groups<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Vec<&'t str>> + 't {
        self.regex.captures_iter(text).map(|captures| groups(&captures))
    }

    /// Returns the start and end, in bytes, of the first match and then of each of its groups. A group that is not part
    /// of the match is `None`.
    pub(super) fn spans(&self, text: &str) -> Option<Vec<Option<(usize, usize)>>> {
        let captures = self.regex.captures(text)?;
        Some(captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect())
    }

    /// Replaces `$1`, `${1}` and `${name}` in a template by the texts of the groups, and `$$` by a dollar
    /// sign.
    pub(super) fn expand(&self, template: &str, text: &str, spans: &[Option<(usize, usize)>]) -> String {
        let group = |at: usize| spans.get(at).copied().flatten().map_or("", |(start, end)| &text[start..end]);
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix('$') {
                out.push('$');
                rest = behind;
                continue;
            }
            let Some((name, behind)) = group_name(rest) else {
                out.push('$');
                continue;
            };
            rest = behind;
            let by_name = || self.regex.capture_names().position(|known| known == Some(name));
            if let Some(at) = name.parse().ok().or_else(by_name) {
                out.push_str(group(at));
            }
        }
        out + rest
    }
}

fn groups<'t>(captures: &Captures<'t>) -> Vec<&'t str> {
    captures.iter().map(|group| group.map_or("", |group| group.as_str())).collect()
}

/// Parses `1`, `{1}`, `name` or `{name}` at the start of a text. Returns the name, and the rest of the text.
fn group_name(text: &str) -> Option<(&str, &str)> {
    let (inner, braced) = text.strip_prefix('{').map_or((text, false), |inner| (inner, true));
    let length = inner.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(inner.len());
    let (name, rest) = inner.split_at(length);
    if name.is_empty() {
        return None;
    }
    if braced { rest.strip_prefix('}').map(|rest| (name, rest)) } else { Some((name, rest)) }
}

/// Translates the pattern to the syntax of the crate `regex`.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut in_class = false;
    let mut class_start = false;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        let first_in_class = std::mem::take(&mut class_start);
        match character {
            '\\' => escape(&mut out, &mut characters, in_class),
            '[' if in_class && characters.peek() == Some(&':') => named_class(&mut out, &mut characters),
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                class_start = true;
                out.push('[');
                if characters.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            ']' if in_class && first_in_class => out.push_str("\\]"),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(character);
            }
            '-' if in_class && characters.peek() == Some(&'-') => out.push_str("\\-"),
            _ => out.push(character),
        }
    }
    out
}

/// Copies the rest of a named class such as `[:alpha:]`, which stands inside of a character class.
fn named_class(out: &mut String, characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    out.push('[');
    for character in characters.by_ref() {
        out.push(character);
        if character == ']' {
            break;
        }
    }
}

fn escape(out: &mut String, characters: &mut std::iter::Peekable<std::str::Chars<'_>>, in_class: bool) {
    let Some(character) = characters.next() else {
        out.push('\\');
        return;
    };
    match (character, in_class) {
        ('d', false) => out.push_str("[0-9]"),
        ('d', true) => out.push_str("0-9"),
        ('D', _) => out.push_str("[^0-9]"),
        ('w', false) => out.push_str("[0-9A-Za-z_]"),
        ('w', true) => out.push_str("0-9A-Za-z_"),
        ('W', _) => out.push_str("[^0-9A-Za-z_]"),
        ('s', false) => out.push_str("[\\t\\n\\x0c\\r ]"),
        ('s', true) => out.push_str("\\t\\n\\x0c\\r "),
        ('S', _) => out.push_str("[^\\t\\n\\x0c\\r ]"),
        ('b', false) => out.push_str("(?-u:\\b)"),
        ('B', false) => out.push_str("(?-u:\\B)"),
        ('Q', false) => {
            let rest: String = characters.clone().collect();
            let quoted = rest.split("\\E").next().unwrap_or_default();
            out.push_str(&regex::escape(quoted));
            let skip = quoted.chars().count() + if quoted.len() < rest.len() { 2 } else { 0 };
            for _ in 0..skip {
                characters.next();
            }
        }
        _ => {
            out.push('\\');
            out.push(character);
        }
    }
}

/// Returns the error message about an invalid pattern. Common errors have the messages of Go.
fn explain(pattern: &str, error: &regex::Error) -> String {
    use regex_syntax::ast::ErrorKind;
    let Err(syntax) = regex_syntax::ast::parse::Parser::new().parse(pattern) else {
        return match error {
            regex::Error::CompiledTooBig(_) => format!("expression too large: `{pattern}`"),
            _ => format!("invalid expression: `{pattern}`"),
        };
    };
    let start = syntax.span().start.offset;
    let part = pattern.get(start..syntax.span().end.offset).unwrap_or(pattern);
    let from = pattern.get(start..).unwrap_or(pattern);
    match syntax.kind() {
        ErrorKind::ClassUnclosed => format!("missing closing ]: `{from}`"),
        ErrorKind::GroupUnclosed => format!("missing closing ): `{pattern}`"),
        ErrorKind::GroupUnopened => format!("unexpected ): `{pattern}`"),
        ErrorKind::RepetitionMissing => {
            let operator = pattern.get(syntax.span().end.offset..).and_then(|rest| rest.chars().next());
            let operator = part.chars().next().or(operator).unwrap_or('*');
            format!("missing argument to repetition operator: `{operator}`")
        }
        ErrorKind::ClassRangeInvalid => format!("invalid character class range: `{part}`"),
        ErrorKind::EscapeUnexpectedEof => "trailing backslash at end of expression: ``".into(),
        ErrorKind::EscapeUnrecognized => format!("invalid escape sequence: `{part}`"),
        ErrorKind::UnsupportedLookAround | ErrorKind::FlagUnrecognized => {
            format!("invalid or unsupported Perl syntax: `{part}`")
        }
        ErrorKind::RepetitionCountInvalid => format!("invalid repeat count: `{part}`"),
        kind => format!("{kind}: `{part}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_go() {
        let cases = [
            ("\\d+", "x٣12", "12"),
            ("[[]+", "a[[b", "[["),
            ("[]a]+", "b]a", "]a"),
            ("\\Qa.b\\E+", "axb a.bb", "a.bb"),
            ("[a&&b]+", "x&a", "&a"),
            ("[[:digit:]x]+", "a1x", "1x"),
            ("[\\w-]+", "é-a", "-a"),
        ];
        for (pattern, text, expected) in cases {
            let compiled = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(compiled.groups(text).unwrap()[0], expected, "{pattern}");
        }
    }

    #[test]
    fn errors_have_the_messages_of_go() {
        let cases = [
            ("(", "missing closing ): `(`"),
            ("a[b", "missing closing ]: `[b`"),
            ("a)", "unexpected ): `a)`"),
            ("*", "missing argument to repetition operator: `*`"),
            ("\\", "trailing backslash at end of expression: ``"),
            ("[z-a]", "invalid character class range: `z-a`"),
        ];
        for (pattern, expected) in cases {
            let message = Pattern::new(pattern).err().expect("it is wrong").to_string();
            assert_eq!(message, format!("error parsing regexp: {expected}"));
        }
    }

    #[test]
    fn templates_name_groups() {
        let pattern = Pattern::new("(?P<first>o)(.)").unwrap_or_else(|error| panic!("{error}"));
        let spans = pattern.spans("foob").unwrap();
        assert_eq!(pattern.expand("<$first|${2}|$1x|$$|$>", "foob", &spans), "<o|o||$|$>");
    }
}
