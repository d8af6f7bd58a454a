//! Shows diagnostics in full, for snapshots.

use std::fmt::Write as _;
use std::sync::Arc;

use windlass_source::{
    Diagnostic, Diagnostics, LoadOptions, Loaded, Node, Place, Reading, Source, apply_fixes, load,
};

/// Prints a line that the test harness does not capture, so that a skipped test is visible.
pub(crate) fn print(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes());
}

/// Reads a text with the default options.
pub(crate) fn read(text: &str) -> (Arc<Source>, Loaded) {
    let source = Source::new("f.yaml", text);
    let loaded = load(&source, &LoadOptions::default());
    (source, loaded)
}

/// Returns a text of `count` lines, each made from its number.
pub(crate) fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|i| line(i) + "\n").collect()
}

/// Returns the only document of a text without diagnostics.
pub(crate) fn document(text: &str) -> (Arc<Source>, Node) {
    let (source, mut loaded) = read(text);
    assert!(loaded.diagnostics.is_empty(), "{}", loaded.diagnostics);
    assert_eq!(loaded.documents.len(), 1);
    (source, loaded.documents.remove(0))
}

/// Returns a report about a text: the diagnostics with all their parts, the data that was read, and the text
/// after all fixes.
pub(crate) fn report(text: &str) -> String {
    let (_, loaded) = read(text);
    let mut out = full(&loaded.diagnostics);
    for document in &loaded.documents {
        let data = document.to_value(Reading::Text).to_string().replace('\u{200b}', "\\u200b");
        let _ = writeln!(out, "read: {data}");
    }
    let fixed = apply_fixes(text, loaded.diagnostics.fixes());
    if fixed != text {
        let _ = writeln!(out, "fixed: {fixed:?}");
        let again = read(&fixed).1.diagnostics;
        assert!(again.is_empty() || loaded.diagnostics.iter().any(|d| d.fixes.is_empty()), "{again}");
    }
    out
}

pub(crate) fn full(diagnostics: &Diagnostics) -> String {
    diagnostics.iter().map(one).collect()
}

pub(crate) fn one(diagnostic: &Diagnostic) -> String {
    let mut out = format!("{diagnostic}\n");
    let mut label = |sign: char, place: &Place, text: &str| {
        let _ = writeln!(out, "  {sign} {} `{}` {text}", place.start(), place.text().escape_debug());
    };
    if let Some(primary) = &diagnostic.primary {
        label('^', &primary.place, &primary.text);
    }
    for related in &diagnostic.related {
        label('-', &related.place, &related.text);
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "  = {help}");
    }
    out
}
