//! Formats and parses numbers as Go's `strconv` does, because documents and messages must be equal to those
//! of the Go program spiff++.

/// Formats a float with as few digits as possible. If the absolute value is below `1e-4`, or at least `1e6`,
/// the form has an exponent of at least two digits. The form of 0 is `0`.
///
/// ```
/// use windlass_spiff::value::number::float_text;
///
/// assert_eq!(float_text(1.0), "1");
/// assert_eq!(float_text(1_234_567.8), "1.2345678e+06");
/// assert_eq!(float_text(0.00001), "1e-05");
/// assert_eq!(float_text(f64::INFINITY), "+Inf");
/// ```
pub fn float_text(value: f64) -> String {
    shortest(value, -4, 6, 2)
}

/// Formats a float as in JSON. If the absolute value is below `1e-6`, or at least `1e21`, the form has an
/// exponent. The form of 0 is `0`.
pub fn float_json(value: f64) -> String {
    shortest(value, -6, 21, 1)
}

fn shortest(value: f64, low: i32, high: i32, exponent_digits: usize) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    // `1.2345e6`: the shortest digits, then the decimal exponent.
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent < low || exponent >= high {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:0exponent_digits$}", exponent.unsigned_abs());
    }
    format!("{value}")
}

/// Parses a decimal integer with an optional sign.
pub fn parse_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// Parses a boolean as Go's `ParseBool` does. The words are `1`, `t`, `T`, `true`, `TRUE`, `True`, and the
/// corresponding words for false.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_go_writes_them() {
        let cases = [
            (0.0, "0", "0"),
            (-0.0, "-0", "-0"),
            (2.5, "2.5", "2.5"),
            (1000.0, "1000", "1000"),
            (123_456.7, "123456.7", "123456.7"),
            (999_999.0, "999999", "999999"),
            (1e6, "1e+06", "1000000"),
            (0.0001, "0.0001", "0.0001"),
            (0.000_01, "1e-05", "0.00001"),
            (1e-7, "1e-07", "1e-7"),
            (1e21, "1e+21", "1e+21"),
            (1.5e300, "1.5e+300", "1.5e+300"),
        ];
        for (value, text, json) in cases {
            assert_eq!((float_text(value).as_str(), float_json(value).as_str()), (text, json));
        }
    }
}
