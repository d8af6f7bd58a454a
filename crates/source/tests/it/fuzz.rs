//! Tests arbitrary input: no panic occurs, all places are inside the text, and all fixes can be applied.

use proptest::prelude::*;
use windlass_source::{Diagnostics, Kind, LoadOptions, Node, Reading, Source, apply_fixes, load};

use crate::campaign::fuzz;

fn check(text: &str, options: &LoadOptions) -> Result<(), TestCaseError> {
    let source = Source::new("f", text);
    let loaded = load(&source, options);
    for document in &loaded.documents {
        inside(text, document)?;
        let _ = (document.to_value(Reading::Text), document.to_value(Reading::Script));
    }
    places(text, &loaded.diagnostics)?;
    fixed_once(&loaded.diagnostics)?;
    let _ = apply_fixes(text, loaded.diagnostics.fixes());
    Ok(())
}

fn inside(text: &str, node: &Node) -> Result<(), TestCaseError> {
    prop_assert!(text.get(node.span().range()).is_some(), "{:?}", node.span());
    let _ = node.inside(&Source::new("f", text)).span(0..1);
    match node.kind() {
        Kind::Scalar(_) => Ok(()),
        Kind::Sequence(items) => items.iter().try_for_each(|item| inside(text, item)),
        Kind::Mapping(mapping) => mapping.iter().try_for_each(|entry| {
            prop_assert!(text.get(entry.key.span().range()).is_some());
            inside(text, &entry.value)
        }),
    }
}

fn places(text: &str, diagnostics: &Diagnostics) -> Result<(), TestCaseError> {
    for diagnostic in diagnostics {
        let labels = diagnostic.primary.iter().chain(&diagnostic.related);
        for label in labels {
            prop_assert!(
                text.get(label.place.span().range()).is_some(),
                "{diagnostic}: {:?}",
                label.place.span()
            );
        }
        for edit in diagnostic.fixes.iter().flat_map(|fix| &fix.edits) {
            prop_assert!(text.get(edit.span.range()).is_some(), "{diagnostic}: {edit:?}");
        }
    }
    Ok(())
}

/// Checks that each fix repairs its error. The loader reads the repaired text again. If a fix did not repair its error,
/// the loader would report the same error at the same place a second time.
fn fixed_once(diagnostics: &Diagnostics) -> Result<(), TestCaseError> {
    let mut fixed = std::collections::BTreeSet::new();
    for diagnostic in diagnostics.iter().filter(|diagnostic| !diagnostic.fixes.is_empty()) {
        let Some(label) = &diagnostic.primary else { continue };
        let place = (diagnostic.code.as_str(), label.place.span().range().start);
        prop_assert!(fixed.insert(place), "{diagnostic} is reported twice");
    }
    Ok(())
}

/// Fragments that have a meaning in YAML, or in the search for the cause of a syntax error.
const PIECES: [&str; 53] = [
    "a",
    "b: ",
    "key:",
    ": ",
    ":",
    "- ",
    "-",
    "? ",
    "\n",
    "\n",
    "\n  ",
    "\n    ",
    "\n\t",
    "\t",
    " ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "''",
    "\\",
    "\\#",
    "\\q",
    "\\u00e9",
    "# c",
    "#",
    "&x ",
    "*x",
    "!t ",
    "!!str ",
    "|",
    ">",
    "|2-\n",
    "...",
    "---\n",
    "%",
    "@",
    "`",
    "${x}",
    "<<: ",
    "é",
    "\u{200b}",
    "\u{a0}",
    "\u{feff}",
    "\r\n",
    "~",
    "x:: y",
    "\"a # b\"",
    "'[ # '",
    "[\"",
];

/// Documents as people write them, which the tests damage.
const DOCUMENTS: [&str; 3] = [
    include_str!("../../../../fixtures/assemblies/h_bta/assembly.yaml"),
    include_str!("../../../../fixtures/assemblies/streamer_cluster/assembly.yaml"),
    include_str!("../../../../fixtures/negative/streamer_cluster_as_printed.yaml"),
];

/// Generates a document in which fragments are inserted or replace other text.
fn damaged() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(&PIECES[..]);
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..30_usize, piece), 1..8);
    (prop::sample::select(&DOCUMENTS[..]), edits).prop_map(|(document, edits)| {
        let mut text: Vec<char> = document.chars().collect();
        for (at, gone, comes) in edits {
            let start = at.index(text.len());
            let end = (start + gone).min(text.len());
            text.splice(start..end, comes.chars());
        }
        text.into_iter().collect()
    })
}

#[test]
fn any_text() {
    fuzz("source any_text", &any::<String>(), |text| {
        check(&text, &LoadOptions::default())?;
        check(&text, &LoadOptions::json())
    });
}

#[test]
fn any_pieces() {
    let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40);
    fuzz("source any_pieces", &pieces, |pieces| {
        let text = pieces.concat();
        check(&text, &LoadOptions::default())?;
        check(&text, &LoadOptions::default().last_key_wins())?;
        check(&text, &LoadOptions::json())
    });
}

#[test]
fn any_bytes() {
    let bytes = prop::collection::vec(any::<u8>(), 0..64);
    fuzz("source any_bytes", &bytes, |bytes| match Source::from_bytes("f", bytes) {
        Ok(source) => check(source.text(), &LoadOptions::default()),
        Err(diagnostic) => {
            prop_assert!(diagnostic.to_string().contains("WL0002"));
            Ok(())
        }
    });
}

#[test]
fn damaged_documents() {
    fuzz("source damaged_documents", &damaged(), |text| check(&text, &LoadOptions::default()));
}
