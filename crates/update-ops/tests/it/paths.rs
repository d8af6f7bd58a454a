//! Tests paths: their text form, their escapes, their order.

use proptest::prelude::*;
use rstest::rstest;
use windlass_update_ops::{Path, PathError};

#[rstest]
#[case("a", &["a"])]
#[case("status.flags.active", &["status", "flags", "active"])]
#[case(r"components.10\.0\.0\.1.reference", &["components", "10.0.0.1", "reference"])]
#[case(r"a\\.b", &[r"a\", "b"])]
#[case(r"a\\\.b", &[r"a\.b"])]
#[case("log.0", &["log", "0"])]
#[case("commands.cmd-1 $x", &["commands", "cmd-1 $x"])]
#[case("ключ.值", &["ключ", "值"])]
fn reads(#[case] text: &str, #[case] keys: &[&str]) {
    let path: Path = text.parse().unwrap();
    assert_eq!(path.keys().collect::<Vec<_>>(), keys);
    assert_eq!(path.to_string(), text);
}

#[rstest]
#[case("", PathError::Empty)]
#[case(".", PathError::EmptyKey(".".into()))]
#[case("a..b", PathError::EmptyKey("a..b".into()))]
#[case(".a", PathError::EmptyKey(".a".into()))]
#[case("a.", PathError::EmptyKey("a.".into()))]
#[case(r"a\b", PathError::Escape(r"a\b".into()))]
#[case(r"a\", PathError::Escape(r"a\".into()))]
fn refuses(#[case] text: &str, #[case] error: PathError) {
    assert_eq!(text.parse::<Path>(), Err(error));
}

#[test]
fn the_depth_of_paths_is_limited() {
    let text = |keys: usize| vec!["a"; keys].join(".");
    assert!(text(Path::MAX_KEYS).parse::<Path>().is_ok());
    assert_eq!(text(Path::MAX_KEYS + 1).parse::<Path>(), Err(PathError::TooDeep(Path::MAX_KEYS + 1)));
    assert_eq!("a".parse::<Path>().unwrap().join(""), Err(PathError::EmptyKey("a.".into())));
}

#[rstest]
#[case("a", "a", true)]
#[case("a.b", "a", true)]
#[case("a", "a.b", true)]
#[case("ab", "a", false)]
#[case("a.b", "a.c", false)]
fn compares(#[case] one: Path, #[case] other: Path, #[case] comparable: bool) {
    assert_eq!(one.is_comparable(&other), comparable);
}

proptest! {
    #[test]
    fn a_displayed_path_parses_to_the_same_path(keys in prop::collection::vec(r"[a.\\\$é ]{1,4}", 1..5)) {
        let path = Path::from_keys(keys.clone()).unwrap();
        let back: Path = path.to_string().parse().unwrap();
        prop_assert_eq!(back.keys().map(str::to_owned).collect::<Vec<_>>(), keys);
    }

    #[test]
    fn reading_never_panics(text in ".*") {
        if let Ok(path) = text.parse::<Path>() {
            prop_assert_eq!(path.to_string(), text);
        }
    }

    /// In sorted order, a path lies between `a` and a path below `a`. The path must be below `a`, too. The search for
    /// conflicts and ancestors relies on this rule.
    #[test]
    fn paths_between_an_ancestor_and_a_descendant_descend_from_the_ancestor(
        a in "[ab.]{1,6}", b in "[ab.]{1,6}", c in "[ab.]{1,6}"
    ) {
        if let (Ok(a), Ok(b), Ok(c)) = (a.parse::<Path>(), b.parse::<Path>(), c.parse::<Path>())
            && c.starts_with(&a) && a <= b && b <= c
        {
            prop_assert!(b.starts_with(&a));
        }
    }
}
