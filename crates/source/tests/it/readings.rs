//! Tests the meaning of plain scalars.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use windlass_source::{LoadOptions, Reading, Source, load_one};

use crate::render::document;

fn read(text: &str, reading: Reading) -> Value {
    document(&format!("- {text}\n")).1.to_value(reading)[0].clone()
}

#[rstest]
#[case("", json!(null))]
#[case("~", json!(null))]
#[case("Null", json!(null))]
#[case("true", json!(true))]
#[case("FALSE", json!(false))]
#[case("tRUE", json!("tRUE"))]
#[case("yes", json!("yes"))]
#[case("n", json!("n"))]
#[case("on", json!("on"))]
#[case("0", json!(0))]
#[case("-0", json!(0))]
#[case("+3", json!(3))]
#[case("-12", json!(-12))]
#[case("0x1F", json!(31))]
#[case("-0x1F", json!("-0x1F"))]
#[case("0xg", json!("0xg"))]
#[case("0x", json!("0x"))]
#[case("007", json!(7))]
#[case("012", json!("012"))]
#[case("08", json!("08"))]
#[case("0o14", json!("0o14"))]
#[case("0b11", json!("0b11"))]
#[case("1_000", json!("1_000"))]
#[case("22:22", json!("22:22"))]
#[case("18446744073709551615", json!(18_446_744_073_709_551_615_u64))]
#[case("18446744073709551616", json!("18446744073709551616"))]
#[case("-9223372036854775808", json!(-9_223_372_036_854_775_808_i64))]
#[case("1.5", json!(1.5))]
#[case("1.10", json!(1.1))]
#[case("1.", json!(1.0))]
#[case(".5", json!(0.5))]
#[case("-.5", json!("-.5"))]
#[case("1.5e+3", json!(1500.0))]
#[case("1.5e3", json!("1.5e3"))]
#[case("1e10", json!("1e10"))]
#[case("12e03", json!("12e03"))]
#[case("1.5E-3", json!(0.0015))]
#[case("0.1000000000000000055", json!("0.1000000000000000055"))]
#[case("1.0e+999", json!("1.0e+999"))]
#[case(".inf", json!(".inf"))]
#[case(".nan", json!(".nan"))]
#[case("2016-03-15", json!("2016-03-15"))]
#[case("1.2.3", json!("1.2.3"))]
#[case(".", json!("."))]
#[case("+", json!("+"))]
#[case("'12'", json!("12"))]
#[case("\"true\"", json!("true"))]
#[case("!!str 12", json!("12"))]
#[case("!!int '12'", json!(12))]
#[case("!!float x", json!("x"))]
#[case("!own 12", json!(12))]
fn as_script(#[case] text: &str, #[case] value: Value) {
    assert_eq!(read(text, Reading::Script), value);
}

#[rstest]
#[case("", json!(null))]
#[case("~", json!(null))]
#[case("'~'", json!("~"))]
#[case("1.10", json!("1.10"))]
#[case("true", json!("true"))]
#[case("0x1F", json!("0x1F"))]
#[case("!!int 12", json!("12"))]
fn as_text(#[case] text: &str, #[case] value: Value) {
    assert_eq!(read(text, Reading::Text), value);
}

#[rstest]
#[case("1e10", json!(1e10))]
#[case("-0.0", json!(-0.0))]
#[case("1E400", json!("1E400"))]
#[case("123456789012345678901", json!("123456789012345678901"))]
#[case("null", json!(null))]
#[case("\"1\"", json!("1"))]
fn as_json(#[case] text: &str, #[case] value: Value) {
    let source = Source::new("f.json", format!("[{text}]"));
    let loaded = load_one(&source, &LoadOptions::json());
    assert_eq!(loaded.root.expect("it is JSON").to_value(Reading::Json)[0], value);
}

#[test]
fn keys_are_text_in_every_reading() {
    let (_, root) = document("1: a\ntrue: b\n~: c\n1.0: d\n");
    for reading in [Reading::Text, Reading::Script] {
        assert_eq!(root.to_value(reading), json!({"1": "a", "true": "b", "~": "c", "1.0": "d"}));
    }
}

proptest! {
    /// The text looks like a number. If the crate reads the text as a number, the number must be written with the same
    /// decimal value.
    #[test]
    fn a_number_is_written_as_it_was_read(text in "-?[0-9]{1,25}(\\.[0-9]{1,25})?") {
        let value = read(&text, Reading::Script);
        if let Value::Number(number) = value {
            prop_assert_eq!(normal(&number.to_string()), normal(&text));
        }
    }
}

fn count(digits: &str) -> i64 {
    i64::try_from(digits.len()).expect("few digits")
}

/// Returns a decimal number without insignificant zeros.
fn normal(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, power) = digits.split_once('e').unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let scale = power.parse::<i64>().expect("a power of ten") - count(fraction);
    let trimmed = all.trim_end_matches('0');
    let scale = scale + count(&all) - count(trimmed);
    match trimmed.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => format!("{sign}{digits}e{scale}"),
    }
}
