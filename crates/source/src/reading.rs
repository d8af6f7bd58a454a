//! The conversion of scalars to data. A [`Reading`] selects the rules for plain scalars, for example whether
//! `1.10` is a number or a text.

use serde_json::{Number, Value};

use crate::{Scalar, SpiffScalar, Style};

/// The rules by which a scalar becomes data: null, a boolean, a number or a text.
///
/// Without a tag, only plain scalars can become null, booleans or numbers. With [`Reading::Text`], even these
/// scalars can only become null or text. Keys are always text.
///
/// With [`Reading::Script`] and [`Reading::Json`], a number stays text if its digits would change by the conversion
/// to `i64`, `u64` or `f64`. For example, `0.1` becomes a number, and `123456789012345678901` stays text. Zeros at
/// the end of a fraction don't count as a change: `1.10` becomes `1.1`. [`Reading::Spiff`] rounds a number whose
/// digits would change.
///
/// The table shows examples. In the column `Script`, a scalar is text if YAML 1.1 and YAML 1.2 disagree on its value.
/// An empty cell means that a strict JSON document can't contain the scalar. [`SpiffScalar`] defines the rules of
/// [`Reading::Spiff`], which is not in the table.
///
/// | plain scalar | `Text` | `Script` | `Json` |
/// |---|---|---|---|
/// | empty, `~`, `null` | null | null | null (`null` only) |
/// | `true`, `True`, `FALSE` | text | bool | bool (`true`, `false` only) |
/// | `yes`, `on`, `y` | text | text | |
/// | `12`, `+3`, `0x1F` | text | number | number (`12`) |
/// | `1.10` | text (`1.10`) | number | number |
/// | `012`, `08`, `0o14`, `1_000`, `22:22` | text | text | |
/// | `1.5e+3` | text | number | number |
/// | `1e10`, `56e1` | text | text | number |
/// | `.inf`, `2016-03-15`, `=` | text | text | |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reading {
    /// Every scalar keeps its spelling, except a plain null. This reading is for descriptors, in which `1.10`
    /// is a version.
    Text,
    /// A plain scalar is null, a boolean or a number only if two readers agree on the value: the core schema
    /// of YAML 1.2, and PyYAML, which reads YAML 1.1. All other scalars are text. This reading is for the
    /// input and output of scripts, because many scripts use PyYAML.
    Script,
    /// Scalars have the meaning of JSON. This reading is for documents of the dialect
    /// [`StrictJson`](crate::Dialect::StrictJson).
    Json,
    /// Scalars have the meaning of the template language spiff, which is close to YAML 1.1: see
    /// [`SpiffScalar`]. Values that JSON can't represent (bytes, infinities, NaN) stay text.
    Spiff,
}

impl Reading {
    /// Returns the data of a scalar. `tag` is its explicit tag. With `!!str` or `!`, the scalar is read as
    /// text. With `!!null`, `!!bool`, `!!int` or `!!float`, the scalar is read as if it were plain. All other
    /// tags have no effect. [`SpiffScalar::read`] defines the meaning of tags for [`Reading::Spiff`].
    pub(crate) fn resolve(self, scalar: &Scalar, tag: Option<&str>) -> Value {
        let text = scalar.text();
        if self == Self::Spiff {
            return spiff(SpiffScalar::read(scalar, tag), text);
        }
        let plain = match tag {
            Some("!!str" | "!") => false,
            Some("!!null" | "!!bool" | "!!int" | "!!float") => true,
            _ => scalar.style == Style::Plain,
        };
        let value = match self {
            _ if !plain => None,
            Self::Text => null(text),
            Self::Script => script(text),
            Self::Spiff => None,
            Self::Json => serde_json::from_str::<Value>(text).ok().filter(|_| exact(text)),
        };
        value.unwrap_or_else(|| Value::String(text.to_owned()))
    }
}

/// Converts the value of a scalar of spiff to JSON. `text` is the original text of the scalar. The function returns
/// `text` if JSON can't represent the value, such as an infinite number.
fn spiff(scalar: SpiffScalar, text: &str) -> Value {
    match scalar {
        SpiffScalar::Null => Value::Null,
        SpiffScalar::Bool(value) => Value::Bool(value),
        SpiffScalar::Int(value) => Value::from(value),
        SpiffScalar::Float(value) => Number::from_f64(value).map_or_else(|| text.into(), Value::Number),
        SpiffScalar::Text(text) | SpiffScalar::Binary(text) => Value::String(text),
    }
}

/// Tells whether a scalar is null by the rules of [`Reading::Text`]. For example, an unquoted `~` is null.
pub(crate) fn is_null(scalar: &Scalar, tag: Option<&str>) -> bool {
    Reading::Text.resolve(scalar, tag).is_null()
}

fn null(text: &str) -> Option<Value> {
    matches!(text, "" | "~" | "null" | "Null" | "NULL").then_some(Value::Null)
}

fn script(text: &str) -> Option<Value> {
    match text.bytes().next() {
        None | Some(b'~' | b'n' | b'N') => null(text),
        Some(b't' | b'T') => matches!(text, "true" | "True" | "TRUE").then_some(Value::Bool(true)),
        Some(b'f' | b'F') => matches!(text, "false" | "False" | "FALSE").then_some(Value::Bool(false)),
        Some(b'+' | b'-' | b'.' | b'0'..=b'9') => integer(text).or_else(|| float(text)).map(Value::Number),
        _ => None,
    }
}

/// Parses `12`, `-3`, `+3`, `0x1F`. Leading zeros are allowed only if octal notation (YAML 1.1) and decimal
/// notation (YAML 1.2) give the same number.
fn integer(text: &str) -> Option<Number> {
    if let Some(hex) = text.strip_prefix("0x") {
        let digits = !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit());
        return digits.then(|| u64::from_str_radix(hex, 16).ok().map(Number::from)).flatten();
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    let octal = significant.len() < digits.len() && !significant.is_empty();
    if octal && !matches!(significant.as_bytes(), [b'1'..=b'7']) {
        return None;
    }
    text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from)).ok()
}

/// Parses `1.5`, `1.`, `.5`, `-1.5e+3`. A point is required, and an exponent must have a sign, because PyYAML
/// reads other forms as text.
fn float(text: &str) -> Option<Number> {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
    if let Some(exponent) = exponent {
        let power = exponent.strip_prefix(['+', '-'])?;
        if power.is_empty() || !digits(power) {
            return None;
        }
    }
    let (whole, fraction) = mantissa.split_once('.')?;
    let unsigned = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    // PyYAML allows no sign before a leading point.
    let shape = if whole.is_empty() { !fraction.is_empty() } else { !unsigned.is_empty() };
    if !shape || !digits(unsigned) || !digits(fraction) || !exact(text) {
        return None;
    }
    Number::from_f64(text.parse().ok()?)
}

/// Tells whether the digits of a number stay the same if the number is converted to `i64`, `u64` or `f64` and formatted
/// again. Zeros at the end of a fraction don't count. For example, the result is true for `0.1` and `1.10`, and false
/// for `123456789012345678901`.
fn exact(text: &str) -> bool {
    if text.parse::<u64>().is_ok() || text.parse::<i64>().is_ok() {
        return true;
    }
    let Ok(number) = text.parse::<f64>() else { return true };
    Number::from_f64(number).is_some_and(|number| decimal(&number.to_string()) == decimal(text))
}

/// Returns the digits of a decimal number, and the power of ten of the last digit. The digits have no sign, and no
/// zeros at the start and the end. For example, the result for `-1.20e3` is `("12", 2)`. `None` if the power does not
/// fit into `i64`.
fn decimal(text: &str) -> Option<(String, i64)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, power) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.trim_start_matches('0').is_empty() {
        return Some((String::new(), 0));
    }
    let dropped = i64::try_from(digits.len() - significant.len()).ok()?;
    let power = power.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    Some((significant.trim_start_matches('0').to_owned(), power.checked_add(dropped)?))
}
