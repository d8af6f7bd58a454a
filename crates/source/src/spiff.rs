//! Reads scalars by the rules of spiff, a template language for YAML documents. The rules are similar to YAML 1.1.

use crate::{Scalar, Style};

/// The value of a scalar by the rules of spiff, a template language for YAML documents.
///
/// The type represents more than JSON: infinities, NaN and bytes. It distinguishes integers from floats.
#[derive(Clone, Debug, PartialEq)]
pub enum SpiffScalar {
    /// The null value.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating point number, which may be infinite or NaN.
    Float(f64),
    /// A text.
    Text(String),
    /// Base64 text of `!!binary`, in its original spelling.
    Binary(String),
}

impl SpiffScalar {
    /// Reads a scalar. `tag` is its explicit tag.
    ///
    /// A plain scalar may be a number, a boolean or null. A scalar with a tag is read like a plain scalar,
    /// even if the scalar is quoted. Example: `!!str "5"` is an integer. Only the tags `!!binary` and
    /// `!binary` have a meaning of their own.
    ///
    /// ```
    /// use windlass_source::{Scalar, SpiffScalar, Style};
    ///
    /// let read = |text: &str| SpiffScalar::read(&Scalar::new(text, Style::Plain), None);
    /// assert_eq!(read("On"), SpiffScalar::Bool(true));
    /// assert_eq!(read("017"), SpiffScalar::Int(15));
    /// assert_eq!(read("089"), SpiffScalar::Float(89.0));
    /// assert_eq!(read("12:30:45"), SpiffScalar::Text("12:30:45".into()));
    /// ```
    pub fn read(scalar: &Scalar, tag: Option<&str>) -> Self {
        match tag {
            Some("!!binary" | "!binary") => Self::Binary(scalar.text().to_owned()),
            None if scalar.style() != Style::Plain => Self::Text(scalar.text().to_owned()),
            _ => Self::plain(scalar.text()),
        }
    }

    /// Reads the text of a plain scalar.
    pub fn plain(text: &str) -> Self {
        let typed = match text.bytes().next() {
            None => Some(Self::Null),
            Some(b'0'..=b'9' | b'+' | b'-') => integer(text)
                .map(Self::Int)
                .or_else(|| float(text).map(Self::Float))
                .or_else(|| date(text).map(Self::Text)),
            Some(b'.') => float(text).map(Self::Float),
            _ => word(text),
        };
        typed.unwrap_or_else(|| Self::Text(text.to_owned()))
    }
}

/// Returns the value of a word that means null or a boolean; none for other words.
fn word(text: &str) -> Option<SpiffScalar> {
    const TRUE: [&str; 4] = ["y", "yes", "true", "on"];
    const FALSE: [&str; 4] = ["n", "no", "false", "off"];
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match text {
        "~" | "null" | "Null" | "NULL" => Some(SpiffScalar::Null),
        _ if is(&TRUE) => Some(SpiffScalar::Bool(true)),
        _ if is(&FALSE) => Some(SpiffScalar::Bool(false)),
        _ => None,
    }
}

/// Returns whether a number is negative, and the number without its sign and underscores. The result for `-1_000` is
/// `(true, "1000")`.
fn unsigned(text: &str) -> (bool, String) {
    let negative = text.starts_with('-');
    (negative, text.strip_prefix(['+', '-']).unwrap_or(text).replace('_', ""))
}

/// Parses `12`, `-3`, `0x1F`, `0b11`, `0o17`, `017`, `1_000`, within the range of `i64`.
fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = unsigned(text);
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits.as_str()),
    };
    // `from_str_radix` would accept a second sign.
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let value = i128::from(u64::from_str_radix(digits, radix).ok()?);
    i64::try_from(if negative { -value } else { value }).ok()
}

/// Parses a number such as `1.5`, `1.`, `.5` or `1e3`, an infinity such as `.inf`, `-.inf` or `inf`, and `.nan`.
/// Returns `None` for a number that overflows.
fn float(text: &str) -> Option<f64> {
    let (negative, digits) = unsigned(text);
    let value = match digits.to_ascii_lowercase().as_str() {
        ".inf" | "inf" | "infinity" => f64::INFINITY,
        ".nan" | "nan" => f64::NAN,
        _ => digits.parse::<f64>().ok().filter(|value| value.is_finite())?,
    };
    Some(if negative { -value } else { value })
}

/// Formats a date, with or without a time. Returns `None` for any other text. The original spiff has a wrong format
/// string, which mixes up the digits. This function returns the same wrong text as the original: `2004-03-01` becomes
/// `1039-03-08T30:04:16Z`.
fn date(text: &str) -> Option<String> {
    let (year, rest) = digits(text, 4, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 1, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 1, 2)?;
    if !rest.is_empty() && !is_time(rest) {
        return None;
    }
    let (year, month, day) = normal(year, month, day);
    let short = year.rem_euclid(100);
    Some(format!("{day}{month:02}9-{month:02}-08T{month}0:{short:02}:{day}6Z"))
}

/// Parses a number of `least` to `most` digits at the start of a text. Returns the number and the rest of the
/// text.
fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if length < least {
        return None;
    }
    Some((text[..length].parse().ok()?, &text[length..]))
}

/// Tells whether a text is the time part of a timestamp, for example `T21:59:43.10-05:00` or ` 2:59:43 Z`.
fn is_time(text: &str) -> bool {
    let blanks = |text: &str| text.trim_start_matches([' ', '\t']).len();
    let behind = match text.bytes().next() {
        Some(b'T' | b't') => &text[1..],
        _ if blanks(text) < text.len() => &text[text.len() - blanks(text)..],
        _ => return false,
    };
    let clock = || {
        let (_, rest) = digits(behind, 1, 2)?;
        let (_, rest) = digits(rest.strip_prefix(':')?, 2, 2)?;
        let (_, rest) = digits(rest.strip_prefix(':')?, 2, 2)?;
        Some(
            rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit())),
        )
    };
    clock().is_some_and(is_zone)
}

/// Tells whether a text is a time zone or empty. A time zone is `Z`, or an offset such as `-5` or ` +05:30`.
fn is_zone(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '\t']);
    if text.is_empty() || text == "Z" {
        return true;
    }
    let zone = || {
        let (_, rest) = digits(text.strip_prefix(['+', '-'])?, 1, 2)?;
        match rest.strip_prefix(':') {
            None => Some(rest),
            Some(minutes) if minutes.is_empty() => Some(minutes),
            Some(minutes) => digits(minutes, 2, 2).map(|(_, rest)| rest),
        }
    };
    zone().is_some_and(str::is_empty)
}

/// Normalises a date whose month and day may be too large or zero.
fn normal(year: i64, month: i64, day: i64) -> (i64, i64, i64) {
    let months = year * 12 + month - 1;
    // Converts to days since 1 March of year 0 and back, by the common algorithm for the civil calendar.
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let shifted = if month <= 2 { year - 1 } else { year };
    let index = (month + 9) % 12;
    let days = 365 * shifted + shifted.div_euclid(4) - shifted.div_euclid(100)
        + shifted.div_euclid(400)
        + (153 * index + 2) / 5
        + day
        - 1;
    let era = days.div_euclid(146_097);
    let in_era = days.rem_euclid(146_097);
    let of_era = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
    let of_year = in_era - (365 * of_era + of_era / 4 - of_era / 100);
    let index = (5 * of_year + 2) / 153;
    let month = if index < 10 { index + 3 } else { index - 9 };
    let year = of_era + era * 400 + i64::from(month <= 2);
    (year, month, of_year - (153 * index + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> SpiffScalar {
        SpiffScalar::Text(text.to_owned())
    }

    #[test]
    fn plain_scalars() {
        use SpiffScalar::{Bool, Float, Int, Null};
        let cases = [
            ("", Null),
            ("~", Null),
            ("nULL", text("nULL")),
            ("oFF", Bool(false)),
            ("Y", Bool(true)),
            ("-0", Int(0)),
            ("+12", Int(12)),
            ("0X1f", Int(31)),
            ("-0b101", Int(-5)),
            ("0o17", Int(15)),
            ("1_0_0", Int(100)),
            ("-9223372036854775808", Int(i64::MIN)),
            ("9223372036854775808", Float(9_223_372_036_854_775_808.0)),
            ("0815", Float(815.0)),
            ("1e400", text("1e400")),
            ("1.", Float(1.0)),
            ("-infinity", Float(f64::NEG_INFINITY)),
            ("infinity", text("infinity")),
            ("0x", text("0x")),
            ("--1", Float(1.0)),
            ("+-1", Float(-1.0)),
            ("2004-02-30", text("1039-03-08T30:04:16Z")),
            ("2004-2-3x", text("2004-2-3x")),
            ("1:20", text("1:20")),
        ];
        for (spelled, expected) in cases {
            assert_eq!(SpiffScalar::plain(spelled), expected, "{spelled}");
        }
    }

    #[test]
    fn quotes_keep_text_unless_there_is_a_tag() {
        let quoted = Scalar::new("5", Style::DoubleQuoted);
        assert_eq!(SpiffScalar::read(&quoted, None), text("5"));
        assert_eq!(SpiffScalar::read(&quoted, Some("!!str")), SpiffScalar::Int(5));
        assert_eq!(SpiffScalar::read(&quoted, Some("!binary")), SpiffScalar::Binary("5".into()));
    }
}
