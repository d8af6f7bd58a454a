//! Suggestions in diagnostics: the nearest valid name.

use crate::{Diagnostic, Fix, Place, Span, nearest};

/// Adds the nearest valid name to a diagnostic, if a valid name is near. Also adds a fix if two conditions hold: no
/// other valid name is as near, and the wrong name occurs exactly once at the diagnostic's place. Set the place of
/// the diagnostic before this call, because the fix needs the place.
pub fn did_you_mean<'a>(
    diagnostic: Diagnostic,
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let Some((near, unique)) = nearest(name, candidates) else { return diagnostic };
    let diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    match diagnostic.place().and_then(|place| word_in(place, name)).filter(|_| unique) {
        Some(span) => diagnostic.fix(Fix::replace(format!("write `{near}`"), span, near)),
        None => diagnostic,
    }
}

/// Returns the span of a word in the text of a place, if the word occurs there exactly once.
fn word_in(place: &Place, word: &str) -> Option<Span> {
    let text = place.text();
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut found = text.match_indices(word).filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    });
    let (at, _) = found.next().filter(|_| !word.is_empty())?;
    if found.next().is_some() {
        return None;
    }
    let start = place.span().start + u32::try_from(at).ok()?;
    Some(Span::new(start, start + u32::try_from(word.len()).ok()?))
}
