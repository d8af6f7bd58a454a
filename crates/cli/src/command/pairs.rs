//! Pairs of nodes of a relationship, as text.

use windlass::view::status::PairView;

/// Returns the names of the two nodes of a pair, as text.
pub(super) fn between_two(pair: &PairView) -> String {
    format!("{} → {}", pair.source.local(), pair.target.local())
}

/// Returns the first pairs and the number of the remaining pairs, as text; `None` if there are no pairs.
pub(super) fn between(pairs: &[PairView]) -> Option<String> {
    const MOST: usize = 5;
    let mut named: Vec<String> = pairs.iter().take(MOST).map(between_two).collect();
    if pairs.len() > MOST {
        named.push(format!("{} more", pairs.len() - MOST));
    }
    (!named.is_empty()).then(|| named.join(", "))
}
