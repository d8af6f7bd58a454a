//! Tests that no spelling of a secret survives, wherever the stream is split.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use windlass_secret::Redactor;

fn mask(secrets: &[&str], text: &str) -> String {
    Redactor::new(secrets).mask_str(text)
}

#[test]
fn overlapping_and_nested_values_leave_no_remainder() {
    assert_eq!(mask(&["abcdef", "defghi"], "xabcdefghix"), "x***x");
    assert_eq!(mask(&["pass", "password"], "password pass passw"), "*** *** ***w");
    assert_eq!(mask(&["abab"], "ababab"), "***");
    assert_eq!(mask(&["abcd"], "abcdabcd abcd"), "*** ***");
}

#[test]
fn escaped_spellings_are_masked() {
    let secret = "it's \"ü\"\n";
    let json = serde_json::json!({ "password": secret }).to_string();
    assert_eq!(mask(&[secret], &json), r#"{"password":"***\n"}"#);
    assert_eq!(mask(&[secret], r#""it's \"\u00fc\"""#), "\"***\"");
    assert_eq!(mask(&[secret], r#"password: 'it''s "ü"'"#), "password: '***'");
    assert_eq!(mask(&["p@ss/word"], "postgres://me:p%40ss%2Fword@db"), "postgres://me:***@db");
}

#[test]
fn base64_is_masked_at_every_alignment() {
    for before in ["", "u:", "me:", "user:"] {
        for after in ["", "!", "!!", "!!!"] {
            let text = format!("{before}s3cr3t-pass{after}");
            for encoded in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                let masked = mask(&["s3cr3t-pass"], &format!("Basic {encoded}."));
                // At most the characters that share bits with a neighbour are left.
                assert!(masked.contains("***"), "{encoded} -> {masked}");
                let left = masked.len() - "Basic ***.".len();
                assert!(left <= (before.len() + after.len()) * 8 / 6 + 6, "{encoded} -> {masked}");
            }
        }
    }
}

#[test]
fn each_line_of_a_long_value_is_masked() {
    let key = "-----BEGIN KEY-----\nMIIEvgIBADANBg\nend:\n-----END KEY-----\n";
    let logged = "  -----BEGIN KEY-----\n  MIIEvgIBADANBg\n  end:\n";
    assert_eq!(mask(&[key], logged), "  ***\n  ***\n  end:\n");
    assert_eq!(mask(&[key], key), "***\n");
    assert_eq!(mask(&[key], &key.replace('\n', "\\n")), "***\\n");
}

#[test]
fn short_values_are_not_masked() {
    let redactor = Redactor::new(["", "abc", "abc\n", "abcd"]);
    assert_eq!(redactor.mask_str("abc abcd"), "abc ***");
}

#[test]
fn nothing_is_held_back_without_need() {
    let mut stream = Redactor::new(["hunter22", &"x".repeat(10_000)]).stream();
    assert_eq!(stream.push(b"line 1\n"), b"line 1\n");
    assert_eq!(stream.push(b"line 2 h"), b"line 2 ");
    assert_eq!(stream.push(b"ello\n"), b"hello\n");
    assert_eq!(stream.finish(), b"");
}

#[test]
fn debug_shows_no_value() {
    let redactor = Redactor::new(["hunter22"]);
    let mut stream = redactor.stream();
    let _ = stream.push(b"hunter");
    assert_eq!(format!("{redactor:?} {stream:?}"), "Redactor { .. } RedactedStream { read: 6, .. }");
}

#[test]
fn hexadecimal_digits_are_masked() {
    assert_eq!(mask(&["hunter22"], "68756e7465723232 68756E7465723232"), "*** ***");
}

/// Returns for each byte whether it belongs to an occurrence of a value.
fn covered(secrets: &[Vec<u8>], text: &[u8]) -> Vec<bool> {
    let mut covered = vec![false; text.len()];
    for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
        for (at, _) in text.windows(secret.len()).enumerate().filter(|(_, window)| window == secret) {
            covered[at..at + secret.len()].fill(true);
        }
    }
    covered
}

/// Masks a text by the definition. Every byte of every occurrence of a secret is masked, and each sequence of adjacent
/// masked bytes becomes one `***`.
fn by_definition(secrets: &[Vec<u8>], text: &[u8]) -> Vec<u8> {
    let covered = covered(secrets, text);
    let mut out = Vec::new();
    for (at, &byte) in text.iter().enumerate() {
        match covered[at] {
            false => out.push(byte),
            true if at == 0 || !covered[at - 1] => out.extend_from_slice(b"***"),
            true => {}
        }
    }
    out
}

/// A small alphabet makes many overlaps. Escaping changes none of its characters.
fn letters(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![b'a', b'b', b'-']), length)
}

proptest! {
    #[test]
    fn chunks_of_any_size_give_what_the_definition_says(
        secrets in prop::collection::vec(letters(0..8), 0..5),
        text in letters(0..80),
        cuts in prop::collection::vec(0_usize..80, 0..8),
    ) {
        let redactor = Redactor::new(&secrets);
        let expected = by_definition(&secrets, &text);
        prop_assert_eq!(redactor.mask(&text), expected.clone());

        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut stream = redactor.stream();
        let mut out: Vec<u8> = cuts.windows(2).flat_map(|cut| stream.push(&text[cut[0]..cut[1]])).collect();
        out.extend(stream.finish());
        prop_assert_eq!(out, expected);
    }

    #[test]
    fn a_cut_leaves_no_byte_that_the_whole_stream_would_not_show(
        secrets in prop::collection::vec(letters(0..12), 1..4),
        text in letters(0..60),
        cut in (0_usize..60, 0_usize..60),
    ) {
        let redactor = Redactor::new(&secrets);
        let (start, end) = (cut.0.min(cut.1).min(text.len()), cut.0.max(cut.1).min(text.len()));
        let (head, tail) = redactor.mask_cut(&text[..start], &text[end..]);
        let shown = covered(&secrets, &text);
        let plain = |range: std::ops::Range<usize>| -> Vec<u8> {
            range.filter(|&at| !shown[at]).map(|at| text[at]).collect()
        };
        let kept = |masked: &[u8]| -> Vec<u8> { masked.iter().copied().filter(|byte| *byte != b'*').collect() };
        // Near the split, more bytes may be masked than in the whole text, but never fewer.
        prop_assert!(plain(0..start).starts_with(&kept(&head)), "{:?}", String::from_utf8_lossy(&head));
        prop_assert!(plain(end..text.len()).ends_with(&kept(&tail)), "{:?}", String::from_utf8_lossy(&tail));
    }

    #[test]
    fn no_spelling_of_any_value_survives(secret in "\\PC{4,20}", before in "\\PC{0,5}", after in "\\PC{0,5}") {
        let redactor = Redactor::new([&secret]);
        let json = serde_json::to_string(&secret).unwrap();
        let inner = &json[1..json.len() - 1];
        for spelling in [&secret, inner, &STANDARD.encode(&secret), &secret.replace('\'', "''")] {
            let masked = redactor.mask_str(&format!("{before}{spelling}{after}"));
            prop_assert!(masked.contains("***"), "{spelling} -> {masked}");
            let outside = before.contains(spelling) || after.contains(spelling);
            prop_assert!(outside || !masked.contains(spelling), "{spelling} -> {masked}");
        }
    }
}

#[test]
fn no_entry_is_lost_if_keys_are_masked_alike() {
    let mut data =
        serde_json::json!({"hunter22": {"hunter22": 0}, "68756e7465723232": 1, "aHVudGVyMjI=": [2]});
    Redactor::new(["hunter22"]).mask_value(&mut data);
    let data = data.as_object().unwrap();
    let keys: Vec<&String> = data.keys().collect();
    assert_eq!(keys, ["***", "*** (2)", "*** (3)"]);
    assert!(!serde_json::to_string(data).unwrap().contains("hunter22"));
}
