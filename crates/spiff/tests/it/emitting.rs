//! Tests that the written form of a value reads back as the same value.

use proptest::prelude::*;
use windlass_source::Source;
use windlass_spiff::value::Value;
use windlass_spiff::yaml::{read_document, value_to_yaml};

/// Any value that YAML can express: text that looks like another type, floats, bytes, nested and empty
/// collections.
fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "\\PC{0,12}",
        any::<String>(),
        "[a-z ]{60,120}",
        "[ -~\n\t]{0,20}",
        prop::sample::select(vec![
            "yes",
            "~",
            "1e3",
            "2004-02-30",
            "- a",
            "a: b",
            "# c",
            "\u{2028}",
            "<<",
            "=",
            "---"
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter_map("a whole number is no float in YAML, and NaN equals nothing", |float| {
            (float.fract() != 0.0 && !float.is_nan()).then_some(Value::Float(float))
        }),
        text.clone().prop_map(|text| Value::from(text.as_str())),
        prop::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| Value::Bytes(bytes.into())),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::list),
            prop::collection::vec((text.clone(), inner), 0..5).prop_map(|entries| {
                Value::map(entries.iter().map(|(key, value)| (key.as_str(), value.clone())))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn an_emitted_value_reads_back_as_the_same_value(value in value()) {
        let text = value_to_yaml(&value);
        let read = read_document(&Source::new("emitted.yaml", text.as_str()));
        let read = read.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(read.value(), &value, "{}", text);
    }
}
