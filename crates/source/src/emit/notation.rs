//! The notation of scalars. A scalar may be plain only if all readers of YAML agree on its meaning. All other
//! scalars are double-quoted or blocks.

use std::fmt::Write as _;

use crate::invisible::{is_false_blank, is_invisible};

/// Writes a text as a double-quoted scalar, which every reader of YAML 1.1 or 1.2 reads as the same text.
///
/// ```
/// assert_eq!(windlass_source::quote("a \"b\"\n"), r#""a \"b\"\n""#);
/// ```
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    string(&mut out, text);
    out
}

/// Tells whether the key `name` can be written without quotes, because every reader of YAML reads it as text. Examples
/// are `image` and `max-size`.
///
/// The result is true if `name` meets three conditions:
///
/// - It begins with an ASCII letter or `_`.
/// - It contains only ASCII letters, digits and the characters `_-./`.
/// - It is no keyword of YAML 1.1 or 1.2, such as `yes`.
pub(super) fn is_safe(name: &str) -> bool {
    const KEYWORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'))
        && !KEYWORDS.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Tells whether [`EmitStyle::Text`](super::EmitStyle::Text) writes `text` without quotes. The result is true only in
/// these cases:
///
/// - Every reader reads the unquoted text as the same text. Example: `resource::web::1.0`.
/// - The text is `true`, `false` or a whole number such as `12`. A reader reads it either as this text, or as the
///   boolean or number with this spelling.
///
/// The result is false for ambiguous texts, such as `1.10`, `2020-01-01`, `yes` and `010`.
pub(super) fn is_plain(text: &str) -> bool {
    const KEYWORDS: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "null", "nan"];
    const SIGNS: &str = "_-./@+: ,();='?!*&";
    let Some(first) = text.chars().next() else { return false };
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    let is_word = (first.is_ascii_alphabetic() || matches!(first, '_' | '/'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || SIGNS.contains(c))
        && !text.ends_with([':', ' '])
        && !text.contains(": ")
        && !is(&KEYWORDS)
        && (matches!(text, "true" | "false") || !is(&["true", "false"]));
    is_word || is_whole(text)
}

/// Tells whether a text is a whole number in a spelling on which all readers agree.
fn is_whole(text: &str) -> bool {
    (1..=15).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

/// Returns `true` if a text has several lines, and if a block scalar can represent the text unchanged.
pub(super) fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\n'])
        && body.split('\n').all(|line| !line.ends_with([' ', '\t']) && !line.starts_with('\t'))
        && !text.chars().any(|c| c != '\n' && (needs_escape(c) || is_false_blank(c)))
}

/// Writes a number. A float has a point, and an exponent has a sign: `1e16` is written as `1.0e+16`. A reader of YAML
/// 1.1 would read `1e16` as text.
pub(super) fn number(out: &mut String, number: &serde_json::Number) {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else {
        out.push_str(&text);
        return;
    };
    out.push_str(mantissa);
    out.push_str(if mantissa.contains('.') { "e" } else { ".0e" });
    out.push_str(if exponent.starts_with(['-', '+']) { "" } else { "+" });
    out.push_str(exponent);
}

/// Writes a text as a double-quoted scalar. Characters that a reader could misinterpret are escaped: control
/// characters, line breaks of YAML 1.1, invisible characters, byte-order marks and noncharacters.
pub(super) fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => escape(out, c),
            c => out.push(c),
        }
    }
    out.push('"');
}

pub(super) fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        || is_invisible(c)
}

/// Writes a character as the escape `\uXXXX`, or as `\UXXXXXXXX` if the character is above U+FFFF. Such a character
/// could also be written as two escapes `\uXXXX` (a surrogate pair), but readers of YAML 1.1 would not combine
/// them.
fn escape(out: &mut String, c: char) {
    let code = u32::from(c);
    // Writing to a string can't fail.
    let _ = if code > 0xffff { write!(out, "\\U{code:08X}") } else { write!(out, "\\u{code:04X}") };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_text_is_not_plain() {
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
