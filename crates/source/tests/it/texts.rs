//! Tests sources from bytes, positions and places.

use insta::{assert_json_snapshot, assert_snapshot};
use rstest::rstest;
use windlass_source::{LoadOptions, Source, Span, load_one};

use crate::render::one;

#[test]
fn bytes_that_are_not_text() {
    let error = |bytes: &[u8]| one(&Source::from_bytes("f.bin", bytes.to_vec()).unwrap_err());
    assert_snapshot!(error(b"a: 1\nb: \xc3(\n"), @r#"
    f.bin:2:4: error[WL0002]: the text is not UTF-8: byte 0xc3 at offset 8
      ^ 2:4 `�` byte 0xc3 at offset 8
      = save the file as UTF-8; bytes that are not text can be given as base64
    "#);
    assert_snapshot!(error(b"\xff\xfea\x00:\x00"), @r#"
    f.bin:1:1: error[WL0002]: the text is not UTF-8: byte 0xff at offset 0
      ^ 1:1 `�` a UTF-16 byte-order mark
      = save the file as UTF-8
    "#);
    assert_snapshot!(error(b"cut \xf0\x9f\x98"), @r#"
    f.bin:1:5: error[WL0002]: the text is not UTF-8: byte 0xf0 at offset 4
      ^ 1:5 `�` byte 0xf0 at offset 4
      = save the file as UTF-8; bytes that are not text can be given as base64
    "#);
}

#[test]
fn a_byte_order_mark_and_crlf_are_fine() {
    let source = Source::from_bytes("f.yaml", b"\xef\xbb\xbfa: 1\r\nb: 2\r\n".to_vec()).unwrap();
    let loaded = load_one(&source, &LoadOptions::default());
    assert!(loaded.diagnostics.is_empty(), "{}", loaded.diagnostics);
    let root = loaded.root.unwrap();
    assert_eq!(source.place(root.get("a").unwrap().span()).to_string(), "f.yaml:1:4");
    assert_eq!(source.slice(source.line(2).unwrap()), "b: 2");
}

#[rstest]
#[case(0, "1:1")]
#[case(2, "1:2")]
#[case(3, "1:3")]
#[case(4, "2:1")]
#[case(5, "2:2")]
#[case(99, "2:2")]
fn positions(#[case] offset: u32, #[case] position: &str) {
    assert_eq!(Source::new("f", "äb\nc").position(offset).to_string(), position);
}

#[test]
fn an_offset_inside_a_character_is_its_start() {
    assert_eq!(Source::new("f", "äb").position(1).to_string(), "1:1");
}

#[test]
fn lines_count_from_one() {
    let source = Source::new("f", "a\nb\n");
    assert_eq!((source.line(0), source.line(1), source.line(4)), (None, Some(Span::new(0, 1)), None));
}

#[test]
fn a_place_is_data() {
    let source = Source::new("f.yaml", "a:\n  b: 1\n");
    assert_json_snapshot!(source.place(Span::new(5, 9)), @r#"
    {
      "file": "f.yaml",
      "line": 2,
      "column": 3,
      "end_line": 2,
      "end_column": 7
    }
    "#);
}

#[test]
fn spans_of_another_text_are_empty() {
    let source = Source::new("f", "ä");
    assert_eq!((source.slice(Span::new(0, 1)), source.slice(Span::new(5, 9))), ("", ""));
    assert_eq!(source.place(Span::new(5, 9)).to_string(), "f:1:2");
}
