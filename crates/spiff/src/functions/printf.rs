//! The functions `format` and `error`. They format values as Go's `Printf` does.

use std::fmt::Write as _;

use super::argument::{Outcome, done, fail};
use super::{FunctionError, Host, Registry};
use crate::value::{Node, Value, number};

pub(super) fn register(registry: &mut Registry) {
    registry
        .add("format", |host: &mut dyn Host, arguments: &[Node]| done(format(host, "format", arguments)?));
    registry.add("error", |host: &mut dyn Host, arguments: &[Node]| -> Outcome {
        Err(FunctionError::failed(format(host, "error", arguments)?))
    });
}

fn format(host: &mut dyn Host, name: &str, arguments: &[Node]) -> Result<String, FunctionError> {
    let Some((template, arguments)) = arguments.split_first() else {
        fail!("alt least one argument required for '{name}'");
    };
    let Some(template) = template.as_str() else { fail!("{name}: format must be string") };
    let arguments: Vec<Argument> = arguments.iter().map(|node| Argument::of(node)).collect();
    host.spend(most(template, &arguments))?;
    Ok(sprintf(template, &arguments))
}

/// Returns the approximate maximum size of the output in bytes. Each directive of the template, such as
/// `%5d`, adds the size of the longest argument. If the width of the directive may be large, the directive
/// adds at least [`WIDEST`] bytes.
fn most(template: &str, arguments: &[Argument]) -> u64 {
    let is_wide = |number: &str| number.bytes().take_while(u8::is_ascii_digit).count() > 3;
    let longest = arguments.iter().map(|argument| match argument {
        Argument::Text(text) => text.len(),
        _ => 32,
    });
    let longest = longest.max().unwrap_or(0);
    let mut most = 0_u64;
    for directive in template.split('%').skip(1) {
        let wide = directive.contains('*') || directive.split(['+', '-', '.', ' ', '#']).any(is_wide);
        most = most.saturating_add(longest.max(if wide { WIDEST } else { 0 }) as u64);
    }
    most
}

/// An argument that can be printed.
#[derive(Clone, Debug, PartialEq)]
enum Argument {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl Argument {
    fn of(value: &Value) -> Self {
        match value {
            Value::Undefined | Value::Null => Self::Nil,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Float(value) => Self::Float(*value),
            Value::String(text) => Self::Text(text.to_string()),
            Value::Bytes(bytes) => Self::Text(String::from_utf8_lossy(bytes).into_owned()),
            Value::Lambda(lambda) => Self::Text(lambda.text()),
            other => Self::Text(crate::yaml::value_to_yaml(other)),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int64",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
        }
    }
}

/// The flags, width and precision of a directive.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the five flags of a directive, each on or off")]
struct Spec {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Maximum width of a directive, as in Go.
const WIDEST: usize = 1_000_000;

/// Reads the directives of a template (such as `%5d`) one after the other, and formats the arguments for them.
struct Reader<'a> {
    /// The part of the template that is not read yet.
    rest: &'a str,
    arguments: &'a [Argument],
    /// Index of the argument that the next directive formats.
    next: usize,
    /// Whether a directive has selected an argument by its number. Unused arguments are then not reported.
    reordered: bool,
}

fn sprintf(template: &str, arguments: &[Argument]) -> String {
    let mut out = String::new();
    let mut reader = Reader { rest: template, arguments, next: 0, reordered: false };
    while let Some(at) = reader.rest.find('%') {
        out.push_str(&reader.rest[..at]);
        reader.rest = &reader.rest[at + 1..];
        reader.directive(&mut out);
    }
    out.push_str(reader.rest);
    if !reader.reordered && reader.next < arguments.len() {
        let extra: Vec<String> = arguments[reader.next..].iter().map(described).collect();
        let _ = write!(out, "%!(EXTRA {})", extra.join(", "));
    }
    out
}

/// Formats an argument with its type, such as `int64=1`. Null becomes `<nil>`.
fn described(argument: &Argument) -> String {
    match argument {
        Argument::Nil => "<nil>".into(),
        other => format!("{}={}", other.type_name(), print(other, 'v', Spec::default())),
    }
}

impl Reader<'_> {
    fn directive(&mut self, out: &mut String) {
        let mut spec = self.flags();
        let mut bad_index = !self.index();
        spec.width = self.number(&mut spec.minus, out, "%!(BADWIDTH)");
        if let Some(behind) = self.rest.strip_prefix('.') {
            self.rest = behind;
            bad_index |= !self.index();
            let mut negative = false;
            let precision = self.number(&mut negative, out, "%!(BADPREC)");
            spec.precision = if negative { None } else { Some(precision.unwrap_or(0)) };
        }
        bad_index |= !self.index();
        let Some(verb) = self.rest.chars().next() else {
            out.push_str("%!(NOVERB)");
            return;
        };
        self.rest = &self.rest[verb.len_utf8()..];
        if verb == '%' {
            out.push('%');
        } else if bad_index {
            let _ = write!(out, "%!{verb}(BADINDEX)");
        } else if let Some(argument) = self.arguments.get(self.next) {
            self.next += 1;
            out.push_str(&print(argument, verb, spec));
        } else {
            let _ = write!(out, "%!{verb}(MISSING)");
        }
    }

    fn flags(&mut self) -> Spec {
        let mut spec = Spec::default();
        while let Some(flag) = self.rest.chars().next() {
            match flag {
                '-' => spec.minus = true,
                '+' => spec.plus = true,
                '#' => spec.sharp = true,
                ' ' => spec.space = true,
                '0' => spec.zero = true,
                _ => break,
            }
            self.rest = &self.rest[1..];
        }
        spec
    }

    /// Parses a number in brackets, if the text continues with a bracket. The number selects the next argument that
    /// the directive uses: `[2]` selects the second argument. Returns `false` if the number is invalid.
    fn index(&mut self) -> bool {
        let Some(behind) = self.rest.strip_prefix('[') else { return true };
        self.reordered = true;
        let Some((number, rest)) = behind.split_once(']') else {
            self.rest = behind;
            return false;
        };
        self.rest = rest;
        match number.parse::<usize>() {
            Ok(number) if (1..=self.arguments.len()).contains(&number) => {
                self.next = number - 1;
                true
            }
            _ => false,
        }
    }

    /// Parses a width or a precision. It consists of digits, or is `*`, which stands for the next argument.
    fn number(&mut self, negative: &mut bool, out: &mut String, bad: &str) -> Option<usize> {
        if let Some(behind) = self.rest.strip_prefix('*') {
            self.rest = behind;
            let argument = self.arguments.get(self.next);
            self.next += usize::from(argument.is_some());
            return match argument {
                Some(Argument::Int(value)) if value.unsigned_abs() <= WIDEST as u64 => {
                    *negative |= *value < 0;
                    usize::try_from(value.unsigned_abs()).ok()
                }
                _ => {
                    out.push_str(bad);
                    None
                }
            };
        }
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        digits.parse().ok().filter(|number| *number <= WIDEST)
    }
}

fn print(argument: &Argument, verb: char, spec: Spec) -> String {
    let printed = match (argument, verb) {
        (Argument::Nil, 'v') => Some(pad("<nil>", spec)),
        (_, 'T') => Some(pad(argument.type_name(), spec)),
        (Argument::Bool(value), 't' | 'v') => Some(pad(&value.to_string(), spec)),
        (Argument::Int(value), _) => int(*value, verb, spec),
        (Argument::Float(value), _) => float(*value, verb, spec),
        (Argument::Text(text), _) => text_as(text, verb, spec),
        _ => None,
    };
    printed.unwrap_or_else(|| match argument {
        Argument::Nil => format!("%!{verb}(<nil>)"),
        other => format!("%!{verb}({}={})", other.type_name(), print(other, 'v', spec)),
    })
}

/// Pads a text to the width of a directive. With the flag `-`, the function adds spaces on the right. With the flag
/// `0`, but without `-`, the function adds zeros on the left. With neither flag, the function adds spaces on the
/// left. A text that is longer than the width stays unchanged.
fn pad(text: &str, spec: Spec) -> String {
    let fill = spec.width.unwrap_or(0).saturating_sub(text.chars().count());
    match (spec.minus, spec.zero) {
        (true, _) => format!("{text}{}", " ".repeat(fill)),
        (false, true) => format!("{}{text}", "0".repeat(fill)),
        (false, false) => format!("{}{text}", " ".repeat(fill)),
    }
}

/// Pads a number to the width of a directive. If zeros are requested, they stand after the sign.
fn pad_number(sign: &str, digits: &str, spec: Spec) -> String {
    let length = sign.len() + digits.chars().count();
    let fill = spec.width.unwrap_or(0).saturating_sub(length);
    if spec.zero && !spec.minus {
        return format!("{sign}{}{digits}", "0".repeat(fill));
    }
    pad(&format!("{sign}{digits}"), Spec { zero: false, ..spec })
}

fn sign(negative: bool, spec: Spec) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

fn int(value: i64, verb: char, spec: Spec) -> Option<String> {
    let size = value.unsigned_abs();
    let (prefix, digits) = match verb {
        'd' | 'v' => ("", size.to_string()),
        'b' => (if spec.sharp { "0b" } else { "" }, format!("{size:b}")),
        'o' => (if spec.sharp { "0" } else { "" }, format!("{size:o}")),
        'O' => ("0o", format!("{size:o}")),
        'x' => (if spec.sharp { "0x" } else { "" }, format!("{size:x}")),
        'X' => (if spec.sharp { "0X" } else { "" }, format!("{size:X}")),
        'c' => return Some(pad(&character(value).to_string(), spec)),
        'q' => {
            // The character is escaped as in a string in double quotes, with two exceptions: `'` is escaped,
            // and `"` is not escaped.
            let quoted = match character(value) {
                '\'' => "\\'".to_owned(),
                '"' => "\"".to_owned(),
                other => super::argument::quoted(&other.to_string()).trim_matches('"').to_owned(),
            };
            return Some(pad(&format!("'{quoted}'"), spec));
        }
        'U' => ("U+", format!("{size:04X}")),
        _ => return None,
    };
    let (mut digits, mut spec) = (digits, spec);
    if let Some(precision) = spec.precision {
        spec.zero = false;
        digits = format!("{}{digits}", "0".repeat(precision.saturating_sub(digits.len())));
        if precision == 0 && value == 0 {
            digits.clear();
        }
    }
    Some(pad_number(&format!("{}{prefix}", sign(value < 0, spec)), &digits, spec))
}

fn character(value: i64) -> char {
    u32::try_from(value).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn float(value: f64, verb: char, spec: Spec) -> Option<String> {
    let size = value.abs();
    let digits = if value.is_finite() {
        match verb {
            'v' | 'g' | 'G' if spec.precision.is_none() => number::float_text(size),
            'v' | 'g' | 'G' => general(size, spec.precision.unwrap_or(6)),
            'e' | 'E' => exponent(size, spec.precision.unwrap_or(6)),
            'f' | 'F' => format!("{size:.*}", spec.precision.unwrap_or(6)),
            _ => return None,
        }
    } else if matches!(verb, 'v' | 'g' | 'G' | 'e' | 'E' | 'f' | 'F') {
        number::float_text(size).trim_start_matches('+').to_owned()
    } else {
        return None;
    };
    let digits = if matches!(verb, 'E' | 'G') { digits.to_uppercase() } else { digits };
    let negative = value.is_sign_negative() && !value.is_nan();
    let always = value.is_infinite() && !negative;
    let spec = Spec { zero: spec.zero && value.is_finite(), plus: spec.plus || always, ..spec };
    Some(pad_number(sign(negative, spec), &digits, spec))
}

/// Formats a number in the form `1.500000e+06`.
fn exponent(size: f64, precision: usize) -> String {
    let text = format!("{size:.precision$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or_default();
    format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.unsigned_abs())
}

/// Formats a number as `%g` does, with `precision` significant digits and without trailing zeros. A very
/// small or large number has an exponent.
fn general(size: f64, precision: usize) -> String {
    let precision = precision.max(1);
    let rounded = format!("{size:.*e}", precision - 1);
    let (digits, power) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let power: i64 = power.parse().unwrap_or_default();
    let trimmed =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    let significant = trimmed.bytes().filter(u8::is_ascii_digit).count();
    let limit = if precision > significant && i64::try_from(significant).unwrap_or(0) > power {
        significant
    } else {
        precision
    };
    if power < -4 || power >= i64::try_from(limit).unwrap_or(i64::MAX) {
        return format!("{trimmed}e{}{:02}", if power < 0 { '-' } else { '+' }, power.unsigned_abs());
    }
    let decimals = i64::try_from(significant).unwrap_or(0) - 1 - power;
    format!("{size:.*}", usize::try_from(decimals).unwrap_or(0))
}

fn text_as(text: &str, verb: char, spec: Spec) -> Option<String> {
    let cut = || match spec.precision {
        Some(most) => text.chars().take(most).collect::<String>(),
        None => text.to_owned(),
    };
    Some(match verb {
        'v' | 's' => pad(&cut(), spec),
        'q' if spec.sharp && !text.contains('`') => pad(&format!("`{}`", cut()), spec),
        'q' => pad(&super::argument::quoted(&cut()), spec),
        'x' | 'X' => {
            let bytes = &text.as_bytes()[..spec.precision.unwrap_or(text.len()).min(text.len())];
            let digits = if verb == 'x' { hex::encode(bytes) } else { hex::encode_upper(bytes) };
            let prefix =
                if spec.sharp && !bytes.is_empty() { if verb == 'x' { "0x" } else { "0X" } } else { "" };
            pad(&format!("{prefix}{digits}"), spec)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_those_of_go() {
        use Argument::{Bool, Float, Int, Nil, Text};
        let text = |text: &str| Text(text.into());
        let cases: &[(&str, &[Argument], &str)] = &[
            ("%s and %d", &[text("a"), Int(2)], "a and 2"),
            ("%d", &[text("x")], "%!d(string=x)"),
            ("%5d|", &[text("x")], "%!d(string=    x)|"),
            ("%s", &[], "%!s(MISSING)"),
            ("x", &[Int(1), Nil], "x%!(EXTRA int64=1, <nil>)"),
            ("%v %s", &[Nil, Nil], "<nil> %!s(<nil>)"),
            ("100%% %", &[], "100% %!(NOVERB)"),
            ("%t %v", &[Bool(true), Bool(false)], "true false"),
            (
                "%+d % d %05d %-5d| %x %X %#x %o %b",
                &[Int(1), Int(2), Int(-42), Int(3), Int(255), Int(255), Int(255), Int(8), Int(5)],
                "+1  2 -0042 3    | ff FF 0xff 10 101",
            ),
            ("%.3d|%.0d|%c|%U|%q", &[Int(7), Int(0), Int(65), Int(0x20ac), Int(65)], "007||A|U+20AC|'A'"),
            (
                "%f %.2f %e %g %.3g %8.3f|%-8.1f|%+.1f",
                &[
                    Float(1.5),
                    Float(2.345),
                    Float(1_500_000.0),
                    Float(1e21),
                    Float(1234.5),
                    Float(1.0),
                    Float(2.0),
                    Float(3.0),
                ],
                "1.500000 2.35 1.500000e+06 1e+21 1.23e+03    1.000|2.0     |+3.0",
            ),
            ("%6.2f|%06.2f", &[Float(-1.5), Float(-1.5)], " -1.50|-01.50"),
            (
                "%q %5s|%-5s|%.2s %x",
                &[text("a\"b"), text("ab"), text("ab"), text("abc"), text("hi")],
                "\"a\\\"b\"    ab|ab   |ab 6869",
            ),
            ("%[2]s %[1]s", &[text("a"), text("b")], "b a"),
            ("%*d %T", &[Int(4), Int(7), Float(1.0)], "   7 float64"),
        ];
        for (template, arguments, expected) in cases {
            assert_eq!(&sprintf(template, arguments), expected, "{template}");
        }
    }
}
