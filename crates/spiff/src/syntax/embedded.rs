//! Recognises expressions in strings, and unescapes strings. For example, `(( a ))` is an expression, and `((! a ))`
//! is the escaped form of the string `(( a ))`.

use std::borrow::Cow;

use super::quote::json_quote;

/// Returns the expression in a string; `None` if the string contains no expression.
///
/// The string `(( a ))` contains the expression `a`, but `((! a ))` contains no expression. If `interpolation` is true,
/// `x (( a )) y` contains the concatenation `"x " ( a ) " y"`.
///
/// ```
/// use windlass_spiff::syntax::embedded::expression;
///
/// assert_eq!(expression("(( a ))", false).as_deref(), Some(" a "));
/// assert_eq!(expression("x (( a )) y", true).as_deref(), Some("\"x \" ( a ) \" y\""));
/// assert_eq!(expression("((! a ))", true), None);
/// ```
pub fn expression(text: &str, interpolation: bool) -> Option<Cow<'_, str>> {
    if let Some(inner) = enclosed(text) {
        return (!inner.starts_with('!')).then_some(Cow::Borrowed(inner));
    }
    if !interpolation || !text.contains("((") {
        return None;
    }
    self::interpolation(text).map(Cow::Owned)
}

/// Tells whether the whole string has the form of an expression.
pub fn is_expression(text: &str) -> bool {
    enclosed(text).is_some_and(|inner| !inner.starts_with('!'))
}

/// Returns the string with one level of escapes removed.
///
/// ```
/// use windlass_spiff::syntax::embedded::unescape;
///
/// assert_eq!(unescape("((! a ))", false), "(( a ))");
/// assert_eq!(unescape("x ((! a )) y", true), "x (( a )) y");
/// ```
pub fn unescape(text: &str, interpolation: bool) -> Cow<'_, str> {
    if let Some(inner) = enclosed(text) {
        return match inner.strip_prefix('!') {
            Some(rest) => Cow::Owned(format!("(({rest}))")),
            None => Cow::Borrowed(text),
        };
    }
    if !interpolation || !text.contains("((!") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for part in parts(text) {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Inside(inside) => match inside.strip_prefix('!') {
                Some(rest) => {
                    out.push_str("((");
                    out.push_str(rest);
                    out.push_str("))");
                }
                // If the text also contains an expression without an escape, the text stays unchanged.
                None => return Cow::Borrowed(text),
            },
        }
    }
    Cow::Owned(out)
}

fn enclosed(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("((")?;
    inner.strip_suffix("))")
}

enum Part<'a> {
    /// Text outside of expressions.
    Text(&'a str),
    /// The text between `((` and `))`.
    Inside(&'a str),
}

/// Converts a text that contains expressions to one expression: the concatenation of quoted texts and of the
/// expressions in parentheses. Returns `None` if the text contains no expression.
pub fn interpolation(text: &str) -> Option<String> {
    let parts = parts(text);
    let escaped = |inside: &str| inside.starts_with('!');
    if !parts.iter().any(|part| matches!(part, Part::Inside(inside) if !escaped(inside))) {
        return None;
    }
    let mut out = String::new();
    let mut literal = String::new();
    for part in parts {
        match part {
            Part::Text(text) => literal.push_str(text),
            Part::Inside(inside) if escaped(inside) => {
                literal.push_str("((");
                literal.push_str(inside);
                literal.push_str("))");
            }
            Part::Inside(inside) => {
                push_literal(&mut out, &mut literal);
                if !out.is_empty() {
                    out.push(' ');
                }
                out.push_str("( ");
                out.push_str(inside.trim());
                out.push_str(" )");
            }
        }
    }
    push_literal(&mut out, &mut literal);
    Some(out)
}

fn push_literal(out: &mut String, literal: &mut String) {
    if literal.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(&json_quote(literal));
    literal.clear();
}

/// Splits a text at its expressions. For example, `a ((b)) c` has three parts: the plain text `a `, the expression `b`,
/// and the plain text ` c`.
///
/// An expression ends before the first `))` that is not part of its content (see [`end_of_expression`]). If this `))`
/// is missing, the rest of the text is plain text. If more than two opening parentheses are adjacent, the last two of
/// them begin the expression.
fn parts(text: &str) -> Vec<Part<'_>> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'(' {
            at += 1;
            continue;
        }
        let run = bytes[at..].iter().take_while(|b| **b == b'(').count();
        at += run;
        if run < 2 {
            continue;
        }
        let Some(end) = end_of_expression(bytes, at) else { break };
        if start < at - 2 {
            parts.push(Part::Text(&text[start..at - 2]));
        }
        parts.push(Part::Inside(&text[at..end]));
        at = end + 2;
        start = at;
    }
    if start < text.len() {
        parts.push(Part::Text(&text[start..]));
    }
    parts
}

/// Returns the offset of the `))` that ends an expression. The content of the expression begins at `begin`. Returns
/// `None` if this `))` is missing.
///
/// Closing parentheses in double quotes do not end the expression. Closing parentheses whose opening parenthesis is in
/// the content do not end the expression, either. The first character of the content is never read as a quote or as a
/// parenthesis.
fn end_of_expression(bytes: &[u8], begin: usize) -> Option<usize> {
    let (mut level, mut closing, mut quoted, mut masked) = (0_usize, 0, false, false);
    for (at, byte) in bytes.iter().enumerate().skip(begin) {
        if quoted {
            match byte {
                b'"' if !masked => quoted = false,
                b'\\' => {
                    masked = !masked;
                    continue;
                }
                _ => {}
            }
            masked = false;
            continue;
        }
        match byte {
            b'(' if at > begin => level += 1,
            b')' if at > begin && level > 0 => level -= 1,
            b')' if at > begin => {
                closing += 1;
                if closing == 2 {
                    return Some(at - 1);
                }
                continue;
            }
            b'"' if at > begin => quoted = true,
            _ => {}
        }
        closing = 0;
    }
    None
}
