//! The layout: block style, two spaces, one entry on each line, trailing comments.

use smol_str::SmolStr;
use windlass_source::quote;

use super::item::{Body, Item};

/// Writes a document; `length` is the expected size in bytes.
pub(crate) fn write(item: &Item, length: usize) -> String {
    let mut out = Out { text: String::with_capacity(length) };
    match &item.body {
        Body::Map(entries) if !entries.is_empty() => out.map(entries, 0, false),
        Body::List(items) if !items.is_empty() => out.list(items, 0, false),
        _ => out.leaf(item, 0),
    }
    out.text
}

struct Out {
    text: String,
}

/// Maximum length of a key, as written, on the line of its value; YAML allows 1024 characters.
const LONGEST_KEY: usize = 1000;

impl Out {
    /// Writes entries. With `inline` the first one continues the line of a written `- `.
    fn map(&mut self, entries: &[(SmolStr, Item)], depth: usize, mut inline: bool) {
        for (key, value) in entries {
            self.indent(depth, &mut inline);
            let key = if is_plain(key) { key.clone() } else { quote(key).into() };
            if key.len() > LONGEST_KEY {
                self.text.push_str("? ");
                self.text.push_str(&key);
                self.text.push('\n');
                self.indent(depth, &mut false);
            } else {
                self.text.push_str(&key);
            }
            self.text.push(':');
            match &value.body {
                Body::Map(entries) if !entries.is_empty() => {
                    self.end_line(value);
                    self.map(entries, depth + 1, false);
                }
                Body::List(items) if !items.is_empty() => {
                    self.end_line(value);
                    self.list(items, depth + 1, false);
                }
                _ => {
                    self.text.push(' ');
                    self.leaf(value, depth + 1);
                }
            }
        }
    }

    fn list(&mut self, items: &[Item], depth: usize, mut inline: bool) {
        for item in items {
            self.indent(depth, &mut inline);
            self.text.push_str("- ");
            match &item.body {
                Body::Map(entries) if !entries.is_empty() => self.map(entries, depth + 1, true),
                Body::List(items) if !items.is_empty() => self.list(items, depth + 1, true),
                _ => self.leaf(item, depth + 1),
            }
        }
    }

    fn leaf(&mut self, item: &Item, depth: usize) {
        match &item.body {
            Body::Null => self.text.push_str("null"),
            Body::List(_) => self.text.push_str("[]"),
            Body::Map(_) => self.text.push_str("{}"),
            Body::Text(text) if is_plain(text) => self.text.push_str(text),
            Body::Text(text) if is_block(text) => return self.block(text, item, depth),
            Body::Text(text) => self.text.push_str(&quote(text)),
        }
        self.end_line(item);
    }

    /// Writes multi-line text as a block.
    fn block(&mut self, text: &str, item: &Item, depth: usize) {
        self.text.push_str(if text.ends_with('\n') { "|" } else { "|-" });
        self.end_line(item);
        for line in text.lines() {
            if !line.is_empty() {
                self.indent(depth.max(1), &mut false);
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }

    fn end_line(&mut self, item: &Item) {
        if let Some(comment) = &item.comment {
            self.text.push_str("  # ");
            // The comment must stay on its line, so control characters and breaks are replaced.
            self.text.extend(comment.chars().map(|c| if c.is_control() || is_break(c) { ' ' } else { c }));
        }
        self.text.push('\n');
    }

    fn indent(&mut self, depth: usize, inline: &mut bool) {
        if !std::mem::replace(inline, false) {
            self.text.extend(std::iter::repeat_n("  ", depth));
        }
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Tells whether an unquoted text is read the same by every reader: words, names, `true`, `false` and whole
/// numbers. Versions (`1.10`), dates, `yes`, `010` and everything ambiguous are quoted.
fn is_plain(text: &str) -> bool {
    const KEYWORDS: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "null", "nan"];
    let Some(first) = text.chars().next() else { return false };
    let inner = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(
                c,
                '_' | '-'
                    | '.'
                    | '/'
                    | '@'
                    | '+'
                    | ':'
                    | ' '
                    | ','
                    | '('
                    | ')'
                    | ';'
                    | '='
                    | '\''
                    | '?'
                    | '!'
                    | '*'
                    | '&'
            )
    };
    let shape = (first.is_ascii_alphabetic() || first == '_' || first == '/')
        && text.chars().all(inner)
        && !text.ends_with([':', ' '])
        && !text.contains(": ")
        && !KEYWORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        && (matches!(text, "true" | "false")
            || !["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word)));
    shape || is_whole(text)
}

/// Tells whether a text is a whole number in the spelling that every reader writes.
fn is_whole(text: &str) -> bool {
    text.len() <= 15
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
        && !text.is_empty()
}

/// Tells whether a text has several lines that survive in a block unchanged.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let lines = || body.split('\n');
    body.contains('\n')
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\n'])
        && lines().all(|line| !line.ends_with([' ', '\t']) && !line.starts_with('\t'))
        && !text.chars().any(|c| c != '\n' && (c.is_control() || is_break(c) || is_odd(c)))
}

/// Tells whether a character is invisible or removed by readers, so that it must be escaped.
fn is_odd(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
        || matches!(c, '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_more_than_text_is_quoted() {
        for plain in ["a", "resource::web::1.0", "true", "12", "0", "a b", "/mnt", "web.store", "it's"] {
            assert!(is_plain(plain), "{plain}");
        }
        let quoted = [
            "",
            " a",
            "a ",
            "a:",
            "a: b",
            "a #b",
            "1.10",
            "010",
            "yes",
            "NO",
            "True",
            "~",
            "null",
            "2020-01-01",
            "${a}",
            "- a",
            "#a",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a",
            "{",
            "[",
            "é",
            "=",
            "<<",
            "-1",
            ".5",
            "0x1f",
            "1_000",
        ];
        for quoted in quoted {
            assert!(!is_plain(quoted), "{quoted}");
        }
    }
}
