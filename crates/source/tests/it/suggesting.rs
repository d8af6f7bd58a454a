//! Tests the search for the nearest valid name ("did you mean").

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
fn a_search_for_the_nearest_name_has_a_budget() {
    // Names with the same characters pass the cheap filter, so each is compared in full.
    let all: Vec<String> = (0..200_000).map(|n| format!("{}{n}", "ab".repeat(60))).collect();
    let start = std::time::Instant::now();
    let _ = windlass_source::nearest(&"ba".repeat(62), all.iter().map(String::as_str));
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
    // A text longer than any name is similar to nothing.
    let long = "x".repeat(1_000_000);
    assert_eq!(windlass_source::nearest(&long, [format!("{long}y").as_str()]), None);
}

#[test]
fn a_unique_suggestion_has_no_rival() {
    assert_eq!(suggest_unique("prot", ["port", "post"]), Some("port"));
    assert_eq!(suggest_unique("porp", ["port", "pork"]), None);
    assert_eq!(suggest("porp", ["port", "pork"]), Some("port"));
    assert_eq!(suggest_unique("porp", ["port", "port"]), Some("port"));
}

/// The cheap filters don't change the result. It is the same as if all names were compared by edit distance.
#[test]
fn the_nearest_is_the_one_that_the_distance_says() {
    let fold = |name: &str| {
        let kept = name.chars().filter(|c| !matches!(c, '-' | '_' | '.'));
        kept.flat_map(char::to_lowercase).collect::<String>()
    };
    let letters = ['a', 'b', '_', 'B', '1', 'é', '中'];
    let names: Vec<String> = (0..2401_usize)
        .map(|number| (0..4).map(|place| letters[number / 7_usize.pow(place) % 7]).collect())
        .map(|name: String| format!("{name}{}", &name[..name.chars().next().map_or(0, char::len_utf8)]))
        .collect();
    let wrong = ["ab1", "aB1aB", "bab_1", "éa1éb", "中中1中a", "x", "abcdefghi", "1_1_1"];
    for wrong in wrong {
        let length = fold(wrong).chars().count();
        let limit = if length <= 4 { 1 } else { length / 3 };
        let distance =
            |name: &str| (strsim::osa_distance(&fold(wrong), &fold(name)), strsim::osa_distance(wrong, name));
        let near = names.iter().filter(|name| *name != wrong).map(|name| (distance(name), name));
        let near = near.filter(|((folded, _), _)| *folded <= limit && *folded < length);
        let expected = near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name.as_str());
        assert_eq!(suggest(wrong, names.iter().map(String::as_str)), expected, "{wrong}");
    }
}
