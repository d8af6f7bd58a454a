//! Detects typographic quotes around a value, such as `“80”`.
//!
//! Office programs and web pages often replace straight quotes by typographic ones. A YAML parser reads
//! typographic quotes as part of the text, so `“80”` has four characters. An author hardly ever intends this,
//! and the resulting errors do not show the cause. So this module reports the quotes.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_source::{Diagnostic, Diagnostics, Fix, Kind, Node, Place, Source, Span, quote};

use crate::codes;
use crate::reader::canonical;

const QUOTES: [char; 10] = ['“', '”', '„', '‟', '‘', '’', '‚', '‛', '«', '»'];

const HELP: &str = "typographic quotes are part of the text; write `\"`, or none";

/// Number of texts in typographic quotes after which [`warn`] stops its search, because [`Diagnostics`] keeps no
/// more warnings.
const MOST: usize = Diagnostics::MOST;

/// Warns of every text that stands between typographic quotes and has no YAML quotes. Each warning contains a help
/// message, and a fix that writes straight quotes. If `diagnostics` already contains a diagnostic with exactly the
/// same place, the function adds no warning. Instead, the existing diagnostic gets the help message and the fix. The
/// function skips the values of all keys `description`.
pub(crate) fn warn(source: &Arc<Source>, root: &Node, diagnostics: &mut Diagnostics) {
    // Nearly all descriptors contain no typographic quotes, so a fast test comes first.
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

/// Returns a fix that writes straight quotes, if the text stands between two typographic quotes. The result is an
/// entry for a map in [`warn`]. The key is the start of `span`, and the value consists of `span` and the fix.
/// Returns `None` for any other text, and for a text that contains YAML quotes, escapes or further typographic
/// quotes.
fn between(source: &Arc<Source>, span: Span, text: &str) -> Option<(u32, (Span, Fix))> {
    let inner = text.strip_prefix(QUOTES)?.strip_suffix(QUOTES)?;
    let written = source.slice(span) == text && !inner.contains(QUOTES);
    written.then(|| (span.start, (span, Fix::replace("write straight quotes", span, quote(inner)))))
}
