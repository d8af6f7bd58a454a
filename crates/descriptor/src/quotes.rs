//! Detects typographic quotes around a value. Office programs and web pages substitute them for straight
//! quotes.
//!
//! YAML reads typographic quotes as part of the text, so `“80”` has four characters. This is hardly ever
//! intended, and the resulting errors are misleading. So the quotes themselves are reported as the cause.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_source::{Diagnostic, Diagnostics, Fix, Kind, Node, Place, Source, Span, quote};

use crate::codes;
use crate::reader::canonical;

const QUOTES: [char; 10] = ['“', '”', '„', '‟', '‘', '’', '‚', '‛', '«', '»'];

const HELP: &str = "typographic quotes are part of the text; write `\"`, or none";

/// Maximum number of reported texts.
const MOST: usize = Diagnostics::MOST;

/// Warns of every text between typographic quotes that has no YAML quotes. If an error was already reported
/// at its place, the cause and the fix are added to this error. Descriptions are exempt.
pub(crate) fn warn(source: &Arc<Source>, root: &Node, diagnostics: &mut Diagnostics) {
    // Shortcut: nearly all descriptors have no such quotes.
    if source.text().is_ascii() || !source.text().contains(QUOTES) {
        return;
    }
    let mut quoted = BTreeMap::new();
    let mut open = vec![root];
    while let Some(node) = open.pop().filter(|_| quoted.len() < MOST) {
        match node.kind() {
            Kind::Scalar(scalar) => quoted.extend(between(source, node.span(), scalar.text())),
            Kind::Sequence(items) => open.extend(items),
            Kind::Mapping(mapping) => {
                for entry in mapping {
                    quoted.extend(between(source, entry.key.span(), entry.key.text()));
                    if canonical(entry.key.text()) != "description" {
                        open.push(&entry.value);
                    }
                }
            }
        }
    }
    if quoted.is_empty() {
        return;
    }
    let mut said = std::mem::take(diagnostics).into_vec();
    for known in &mut said {
        let Some(at) = known.place().map(Place::span) else { continue };
        if quoted.get(&at.start).is_none_or(|(span, _)| *span != at) {
            continue;
        }
        if let Some((_, fix)) = quoted.remove(&at.start) {
            known.fixes = vec![fix];
            known.help = Some(HELP.to_owned());
        }
    }
    let warnings = quoted.into_values().map(|(span, fix)| {
        let message = "this text stands between typographic quotes";
        Diagnostic::warning(codes::TYPOGRAPHIC, message).at(source.place(span)).help(HELP).fix(fix)
    });
    said.extend(warnings);
    *diagnostics = Diagnostics::from(said);
}

/// Returns the fix of a text between typographic quotes, with its offset. Returns `None` if the text differs
/// from its spelling in the source.
fn between(source: &Arc<Source>, span: Span, text: &str) -> Option<(u32, (Span, Fix))> {
    let inner = text.strip_prefix(QUOTES)?.strip_suffix(QUOTES)?;
    let written = source.slice(span) == text && !inner.contains(QUOTES);
    written.then(|| (span.start, (span, Fix::replace("write straight quotes", span, quote(inner)))))
}
