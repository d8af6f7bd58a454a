//! Tests trees: places, notations, duplicate and merge keys, anchors, several documents.

use std::fmt::Write as _;

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::json;
use windlass_source::{
    DuplicateKeys, Kind, LoadOptions, MergeKeys, Node, Reading, Source, Span, Style, load, load_one,
};

use crate::render::{document, full, lines, report};

fn places(text: &str) -> String {
    let (source, root) = document(text);
    let mut out = String::new();
    walk(&root, &mut |node| {
        let place = source.place(node.span());
        let _ = writeln!(
            out,
            "{}-{} {} `{}`",
            place.start(),
            place.end(),
            node.describe(),
            place.text().escape_debug()
        );
    });
    out
}

fn walk(node: &Node, visit: &mut impl FnMut(&Node)) {
    visit(node);
    match node.kind() {
        Kind::Scalar(_) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| walk(item, visit)),
        Kind::Mapping(mapping) => mapping.iter().for_each(|entry| walk(&entry.value, visit)),
    }
}

#[test]
fn every_node_knows_its_place() {
    assert_snapshot!(places("a:\n  - 'x'\n  - [1, {b: ~}]\nc: |\n  text\n  more\n\n# end\nd:\n"), @r#"
    1:1-9:3 a mapping `a:\n  - \'x\'\n  - [1, {b: ~}]\nc: |\n  text\n  more\n\n# end\nd:`
    2:3-3:16 a list `- \'x\'\n  - [1, {b: ~}]`
    2:5-2:8 text `\'x\'`
    3:5-3:16 a list `[1, {b: ~}]`
    3:6-3:7 text `1`
    3:9-3:15 a mapping `{b: ~}`
    3:13-3:14 null `~`
    5:3-6:7 text `text\n  more`
    9:3-9:3 null ``
    "#);
}

#[test]
fn columns_are_characters_and_lines_end_in_any_way() {
    assert_snapshot!(places("\u{feff}ä: ö\r\nb: 'ü'\r\n"), @r#"
    1:1-2:7 a mapping `ä: ö\r\nb: \'ü\'`
    1:4-1:5 text `ö`
    2:4-2:7 text `\'ü\'`
    "#);
}

#[test]
fn keys_keep_order_spelling_and_place() {
    let (source, root) = document("z: 1\n\"y y\": 2\n10: 3\ntrue: 4\n? x\n: 5\n");
    let mapping = root.as_mapping().unwrap();
    assert_eq!(mapping.keys().collect::<Vec<_>>(), ["z", "y y", "10", "true", "x"]);
    let key = &mapping.entry("y y").unwrap().key;
    assert_eq!((source.slice(key.span()), key.style()), ("\"y y\"", Style::DoubleQuoted));
}

#[test]
fn large_mappings_find_their_keys() {
    let text = lines(1000, |i| format!("key{i}: {i}"));
    let (_, root) = document(&text);
    for i in 0..1000 {
        assert_eq!(root.get(&format!("key{i}")).and_then(Node::as_str), Some(i.to_string().as_str()));
    }
    assert_eq!(root.get("key1000"), None);
}

#[rstest]
#[case("a:", true)]
#[case("a: ~", true)]
#[case("a: null", true)]
#[case("a: NULL", true)]
#[case("a: 'null'", false)]
#[case("a: ''", false)]
#[case("a: nULL", false)]
#[case("a: !!str", false)]
#[case("a: {}", false)]
fn null_is_plain(#[case] text: &str, #[case] null: bool) {
    assert_eq!(document(text).1.get("a").unwrap().is_null(), null);
}

#[test]
fn a_value_left_out_is_null_without_text() {
    let (source, root) = document("a:   # nothing\nb: 1\n");
    let a = root.get("a").unwrap();
    assert_eq!(a.as_str(), Some(""));
    assert_eq!(source.place(a.span()).to_string(), "f.yaml:1:3");
}

#[test]
fn tags_are_kept() {
    let (_, root) = document("a: !!binary aGk=\nb: !Ref [x]\nc: !!str 1\nd: !<tag:example.com,2000:x> {}\n");
    let tag = |key| root.get(key).and_then(Node::tag);
    assert_eq!([tag("a"), tag("b"), tag("c")], [Some("!!binary"), Some("!Ref"), Some("!!str")]);
    assert_eq!(tag("d"), Some("tag:example.com,2000:x"));
}

#[test]
fn duplicate_keys_are_refused_with_both_places() {
    assert_snapshot!(report("a: 1\nb: {x: 1, \"x\": 2}\na: 3\n"), @r#"
    f.yaml:2:11: error[WL0010]: key `x` is given twice
      ^ 2:11 `\"x\"` given again here
      - 2:5 `x` first given here
      = remove or rename one of the two
    f.yaml:3:1: error[WL0010]: key `a` is given twice
      ^ 3:1 `a` given again here
      - 1:1 `a` first given here
      = remove or rename one of the two
    read: {"a":"1","b":{"x":"1"}}
    "#);
}

#[test]
fn the_last_of_duplicate_keys_can_win() {
    let options = LoadOptions { duplicate_keys: DuplicateKeys::LastWins, ..LoadOptions::default() };
    let loaded = load(&Source::new("f.yaml", "a: 1\nb: 2\na: 3\na: 4\n"), &options);
    assert_eq!(loaded.documents[0].to_value(Reading::Script), json!({"a": 4, "b": 2}));
    assert_eq!(loaded.documents[0].as_mapping().unwrap().keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_snapshot!(full(&loaded.diagnostics), @r#"
    f.yaml:3:1: warning[WL0010]: key `a` is given twice
      ^ 3:1 `a` this one counts
      - 1:1 `a` first given here
      = remove or rename one of the two
    f.yaml:4:1: warning[WL0010]: key `a` is given twice
      ^ 4:1 `a` this one counts
      - 3:1 `a` first given here
      = remove or rename one of the two
    "#);
}

#[test]
fn merge_keys_add_only_missing_keys() {
    let text = "base: &base {a: 1, b: 1}\nmore: &more {b: 2, c: 2}\nx:\n  <<: *base\n  b: 3\ny:\n  <<: [*more, *base]\n";
    let (_, root) = document(text);
    assert_eq!(root.get("x").unwrap().to_value(Reading::Script), json!({"a": 1, "b": 3}));
    assert_eq!(root.get("y").unwrap().to_value(Reading::Script), json!({"a": 1, "b": 2, "c": 2}));
}

#[test]
fn merge_keys_can_be_kept_or_refused() {
    let read = |merge_keys| {
        let source = Source::new("f.yaml", "a: {<<: {b: 1}}\n");
        load_one(&source, &LoadOptions { merge_keys, ..LoadOptions::default() })
    };
    let kept = read(MergeKeys::Keep);
    assert_eq!(kept.root.unwrap().to_value(Reading::Script), json!({"a": {"<<": {"b": 1}}}));
    assert_snapshot!(full(&read(MergeKeys::Refuse).diagnostics), @r#"
    f.yaml:1:5: error[WL0012]: merge keys (`<<`) are not taken here
      ^ 1:5 `<<` 
      = write the entries out, or quote the key if it is meant as text
    "#);
}

#[test]
fn a_merge_key_takes_mappings_only() {
    assert_snapshot!(report("a:\n  <<: 1\n  b: 2\n"), @r#"
    f.yaml:2:3: error[WL0012]: a merge key (`<<`) takes a mapping or a list of mappings
      ^ 2:3 `<<` 
      = quote the key if it is meant as text
    read: {"a":{"b":"2"}}
    "#);
    let (_, quoted) = document("'<<': 1\n");
    assert_eq!(quoted.get("<<").and_then(Node::as_str), Some("1"));
}

#[test]
fn aliases_are_copies_with_the_place_of_the_original() {
    let (source, root) = document("a: &x {k: v}\nb: *x\n");
    let copy = root.get("b").unwrap();
    assert_eq!(copy, root.get("a").unwrap());
    assert_eq!(source.place(copy.span()).to_string(), "f.yaml:1:7");
}

#[test]
fn broken_aliases() {
    assert_snapshot!(report("a: &base 1\nb: *bse\nc: *.example.com\nd: &d [*d]\n"), @r#"
    f.yaml:2:4: error[WL0013]: no anchor `&bse` stands before this alias
      ^ 2:4 `*bse` 
      - 1:4 `&base` a similar anchor
      = did you mean `*base`?
    f.yaml:3:4: error[WL0013]: no anchor `&.example.com` stands before this alias
      ^ 3:4 `*.example.com` 
      = text that begins with `*` must be quoted
    f.yaml:4:8: error[WL0015]: an alias stands inside what it stands for
      ^ 4:8 `*d` part of the node that it refers to
    read: {"a":"1","b":null,"c":null,"d":[null]}
    "#);
}

#[test]
fn redefined_anchors_are_a_warning() {
    assert_snapshot!(report("a: &x 1\nb: &x 2\nc: *x\n"), @r#"
    f.yaml:2:4: warning[WL0014]: anchor `&x` is defined again
      ^ 2:4 `&x` aliases from here on mean this one
      - 1:4 `&x` first defined here
    read: {"a":"1","b":"2","c":"2"}
    "#);
}

#[test]
fn anchors_end_with_their_document() {
    let (_, loaded) = crate::render::read("a: &x 1\n---\nb: &x 2\n---\nc: *x\n");
    assert_eq!(loaded.documents.len(), 3);
    assert_snapshot!(full(&loaded.diagnostics), @r#"
    f.yaml:5:4: error[WL0013]: no anchor `&x` stands before this alias
      ^ 5:4 `*x` 
      = text that begins with `*` must be quoted
    "#);
}

#[test]
fn collections_are_no_keys() {
    assert_snapshot!(report("{a: b}: c\n? [1]\n: d\ne: f\n"), @r#"
    f.yaml:1:1: error[WL0011]: a key must be text, found a mapping
      ^ 1:1 `{a: b}` 
      = quote it if it is meant as text
    f.yaml:2:3: error[WL0011]: a key must be text, found a list
      ^ 2:3 `[1]` 
      = quote it if it is meant as text
    read: {"e":"f"}
    "#);
}

#[test]
fn a_second_document_is_reported_where_it_starts() {
    let source = Source::new("f.yaml", "---\na: 1\n---\n# two\nb: 2\n...\n");
    let loaded = load_one(&source, &LoadOptions::default());
    assert_eq!(loaded.root.as_ref().unwrap().to_value(Reading::Script), json!({"a": 1}));
    assert_snapshot!(full(&loaded.diagnostics), @r#"
    f.yaml:5:1: error[WL0004]: expected one document, found a second
      ^ 5:1 `b: 2` the second begins here
      = put each document into a file of its own
    "#);
    assert!(loaded.into_result().is_err());
}

#[rstest]
#[case("")]
#[case("\n\n# only a comment\n")]
#[case("\u{feff}")]
fn a_text_without_a_document_has_none(#[case] text: &str) {
    let loaded = load_one(&Source::new("f.yaml", text), &LoadOptions::default());
    assert!(loaded.root.is_none());
    assert!(loaded.diagnostics.is_empty());
}

#[test]
fn spans_join() {
    assert_eq!(Span::new(3, 5).to(Span::new(1, 2)), Span::new(1, 5));
    assert_eq!(Span::new(5, 3), Span::empty(5));
}
