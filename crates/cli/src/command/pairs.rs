//! Pairs of nodes of a relationship, as text.

use windlass::view::status::PairView;

/// Names the two nodes of a pair.
pub(super) fn between_two(pair: &PairView) -> String {
    format!("{} → {}", pair.source.local(), pair.target.local())
}

/// Names the first pairs, and counts the rest; `None` if there are no pairs.
pub(super) fn between(pairs: &[PairView]) -> Option<String> {
    const MOST: usize = 5;
    let mut named: Vec<String> = pairs.iter().take(MOST).map(between_two).collect();
    if pairs.len() > MOST {
        named.push(format!("{} more", pairs.len() - MOST));
    }
    (!named.is_empty()).then(|| named.join(", "))
}
