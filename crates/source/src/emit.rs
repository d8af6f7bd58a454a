//! Emits data as YAML that all readers interpret in the same way.
//!
//! A library's emitter quotes for its own parser. It writes `yes`, `22:22`, `010` and dates without quotes,
//! and PyYAML reads them as booleans, sexagesimal numbers and dates. This emitter writes every string as a
//! JSON string, which YAML 1.1 and 1.2 both read unambiguously.

use std::fmt::Write as _;

use serde_json::Value;

/// The layout of [`emit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitStyle {
    /// One entry on each line, nested by two spaces.
    #[default]
    Block,
    /// As `Block`, with a leading `---` line.
    Document,
}

/// Writes data as YAML that reads the same under YAML 1.1 (PyYAML) and 1.2.
///
/// Block style, keys sorted by byte, every string double-quoted, empty collections as `{}` and `[]`, a line
/// break at the end. A key is unquoted only where every reader takes it as text. Equal data gives equal
/// bytes.
///
/// ```
/// use serde_json::json;
/// use windlass_source::{EmitStyle, emit};
///
/// let data = json!({"ports": [8080, 1e10], "on": "yes", "image": {"tag": "1.10"}, "labels": {}});
/// let expected = r#"image:
///   tag: "1.10"
/// labels: {}
/// "on": "yes"
/// ports:
///   - 8080
///   - 10000000000.0
/// "#;
/// assert_eq!(emit(&data, EmitStyle::Block), expected);
/// ```
pub fn emit(value: &Value, style: EmitStyle) -> String {
    let mut out = String::new();
    if style == EmitStyle::Document {
        out.push_str("---\n");
    }
    match value {
        Value::Array(items) if !items.is_empty() => sequence(&mut out, items, 0, false),
        Value::Object(map) if !map.is_empty() => mapping(&mut out, map, 0, false),
        scalar => {
            leaf(&mut out, scalar);
            out.push('\n');
        }
    }
    out
}

/// Writes a text as a double-quoted scalar, which every reader of YAML 1.1 or 1.2 reads as this text.
///
/// ```
/// assert_eq!(windlass_source::quote("a \"b\"\n"), r#""a \"b\"\n""#);
/// ```
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    string(&mut out, text);
    out
}

/// Writes the items. With `inline` the first one continues the line of a written `- `.
fn sequence(out: &mut String, items: &[Value], depth: usize, mut inline: bool) {
    for item in items {
        if !inline {
            indent(out, depth);
        }
        inline = false;
        out.push_str("- ");
        match item {
            Value::Array(items) if !items.is_empty() => sequence(out, items, depth + 1, true),
            Value::Object(map) if !map.is_empty() => mapping(out, map, depth + 1, true),
            scalar => {
                leaf(out, scalar);
                out.push('\n');
            }
        }
    }
}

fn mapping(out: &mut String, map: &serde_json::Map<String, Value>, depth: usize, mut inline: bool) {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|&(key, _)| key);
    for (name, value) in entries {
        if !inline {
            indent(out, depth);
        }
        inline = false;
        key(out, name);
        match value {
            Value::Array(items) if !items.is_empty() => {
                out.push_str(":\n");
                sequence(out, items, depth + 1, false);
            }
            Value::Object(map) if !map.is_empty() => {
                out.push_str(":\n");
                mapping(out, map, depth + 1, false);
            }
            scalar => {
                out.push_str(": ");
                leaf(out, scalar);
                out.push('\n');
            }
        }
    }
}

fn indent(out: &mut String, depth: usize) {
    (0..depth).for_each(|_| out.push_str("  "));
}

/// Maximum length of a key without the `?` notation, in bytes as written. YAML allows 1024 characters.
const LONGEST_SIMPLE_KEY: usize = 1000;

fn key(out: &mut String, name: &str) {
    let start = out.len();
    if is_safe(name) {
        out.push_str(name);
    } else {
        string(out, name);
    }
    if out.len() - start > LONGEST_SIMPLE_KEY {
        out.insert_str(start, "? ");
        // The value's `:` is on the next line, in the column of the `?`.
        let line = out[..start].rfind('\n').map_or(0, |at| at + 1);
        let column = start - line;
        out.push('\n');
        (0..column).for_each(|_| out.push(' '));
    }
}

/// Tells whether every reader takes an unquoted key as text: a word that is no keyword of YAML 1.1 or 1.2.
fn is_safe(name: &str) -> bool {
    const KEYWORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'))
        && !KEYWORDS.iter().any(|word| name.eq_ignore_ascii_case(word))
}

fn leaf(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(n) => number(out, n),
        Value::String(text) => string(out, text),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

/// Writes integers as digits, and floats with a point and a signed exponent, since YAML 1.1 reads other forms
/// as text.
fn number(out: &mut String, number: &serde_json::Number) {
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

/// Writes a JSON string. Characters that a reader could misinterpret are escaped: control characters, line
/// breaks of YAML 1.1, invisible characters, byte-order marks and noncharacters. All others stay readable.
fn string(out: &mut String, text: &str) {
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

fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        || crate::invisible::is_invisible(c)
}

/// Writes `\uXXXX`, or `\UXXXXXXXX` beyond the first plane, since YAML 1.1 readers don't combine surrogate
/// pairs.
fn escape(out: &mut String, c: char) {
    let code = u32::from(c);
    // Writing to a string can't fail.
    let _ = if code > 0xffff { write!(out, "\\U{code:08X}") } else { write!(out, "\\u{code:04X}") };
}
