//! String literals. They are read as JSON strings, and written in Go's quoting.

use std::fmt::Write;

/// Quotes text with the escapes of Go's `strconv.Quote`.
pub(crate) fn go_quote(text: &str) -> String {
    quoted(text, |c, out| match c {
        '\u{7}' => out.write_str("\\a"),
        '\u{b}' => out.write_str("\\v"),
        c if is_printable(c) => out.write_char(c),
        c if (c as u32) < 0x80 => write!(out, "\\x{:02x}", c as u32),
        c if (c as u32) < 0x1_0000 => write!(out, "\\u{:04x}", c as u32),
        c => write!(out, "\\U{:08x}", c as u32),
    })
}

/// Quotes text as Go's JSON encoder does.
pub(super) fn json_quote(text: &str) -> String {
    quoted(text, |c, out| match c {
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => write!(out, "\\u{:04x}", c as u32),
        c => out.write_char(c),
    })
}

/// Quotes text with the escapes that Go and JSON share. The function `other` writes each character that has no such
/// escape.
fn quoted(text: &str, other: impl Fn(char, &mut String) -> std::fmt::Result) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a string can't fail.
            c => {
                let _ = other(c, &mut out);
            }
        }
    }
    out.push('"');
    out
}

fn is_printable(c: char) -> bool {
    match c {
        ' ' => true,
        c if c.is_control() || c.is_whitespace() => false,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => false,
        '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{f0000}'..='\u{10ffff}' => false,
        _ => true,
    }
}

/// Returns the content of a quoted literal. If the literal is invalid, the error is the message of Go's JSON
/// parser.
pub(crate) fn unquote(literal: &[char]) -> Result<String, String> {
    let inner = &literal[1..literal.len() - 1];
    let mut out = String::with_capacity(inner.len());
    let mut at = 0;
    while let Some(&c) = inner.get(at) {
        at += 1;
        match c {
            '\\' => at = escape(inner, at, &mut out)?,
            c if (c as u32) < 0x20 => {
                return Err(format!("invalid character {} in string literal", go_quote_char(c)));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

fn escape(text: &[char], at: usize, out: &mut String) -> Result<usize, String> {
    let Some(&c) = text.get(at) else { return Err("unexpected end of JSON input".into()) };
    out.push(match c {
        '"' | '\\' | '/' => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(text, at + 1, out),
        c => return Err(format!("invalid escape sequence `\\{c}` in string")),
    });
    Ok(at + 1)
}

fn unicode(text: &[char], at: usize, out: &mut String) -> Result<usize, String> {
    let first = hex4(text, at)?;
    if (0xd800..0xdc00).contains(&first)
        && text.get(at + 4) == Some(&'\\')
        && text.get(at + 5) == Some(&'u')
        && let Ok(second) = hex4(text, at + 6)
        && (0xdc00..0xe000).contains(&second)
    {
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return Ok(at + 10);
    }
    out.push(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
    Ok(at + 4)
}

fn hex4(text: &[char], at: usize) -> Result<u32, String> {
    let mut value = 0;
    for offset in 0..4 {
        let Some(&c) = text.get(at + offset) else { return Err("unexpected end of JSON input".into()) };
        let Some(digit) = c.to_digit(16) else {
            let read: String = text[at..=at + offset].iter().collect();
            return Err(format!("invalid escape sequence `\\u{read}` in string"));
        };
        value = value * 16 + digit;
    }
    Ok(value)
}

fn go_quote_char(c: char) -> String {
    match c {
        '\'' => "'\\''".into(),
        '"' => "'\"'".into(),
        c => {
            let quoted = go_quote(&c.to_string());
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    }
}
