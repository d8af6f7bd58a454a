//! "did you mean".

use rstest::rstest;
use windlass_source::{suggest, suggest_unique};

#[rstest]
#[case("descripion", &["default", "description"], Some("description"))]
#[case("descriptiomn", &["default", "description"], Some("description"))]
#[case("read_only", &["required", "read-only"], Some("read-only"))]
#[case("readOnly", &["required", "read-only"], Some("read-only"))]
#[case("require", &["required", "read-only"], Some("required"))]
#[case("actvie", &["Active", "Inactive"], Some("Active"))]
#[case("tpye", &["name", "type"], Some("type"))]
#[case("type", &["type"], None)]
#[case("x", &["y"], None)]
#[case("", &["y"], None)]
#[case("colour", &["default", "type"], None)]
fn nearest_name(#[case] name: &str, #[case] candidates: &[&str], #[case] expected: Option<&str>) {
    assert_eq!(suggest(name, candidates.iter().copied()), expected);
}

#[test]
fn a_unique_suggestion_has_no_rival() {
    assert_eq!(suggest_unique("prot", ["port", "post"]), Some("port"));
    assert_eq!(suggest_unique("porp", ["port", "pork"]), None);
    assert_eq!(suggest("porp", ["port", "pork"]), Some("port"));
    assert_eq!(suggest_unique("porp", ["port", "port"]), Some("port"));
}
