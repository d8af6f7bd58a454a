//! Texts about pairs. A pair is a relationship between one source node and one target node.

use windlass::view::status::PairView;

/// Formats a pair, such as `web__1 → lb`: the source node, and then the target node.
pub(super) fn between_two(pair: &PairView) -> String {
    format!("{} → {}", pair.source.local(), pair.target.local())
}

/// Formats a list of pairs, such as `web__1 → lb, web__2 → lb`. After the first five pairs, only the number of the
/// remaining pairs follows: `3 more`. Returns `None` for an empty list.
pub(super) fn between(pairs: &[PairView]) -> Option<String> {
    const MOST: usize = 5;
    let mut named: Vec<String> = pairs.iter().take(MOST).map(between_two).collect();
    if pairs.len() > MOST {
        named.push(format!("{} more", pairs.len() - MOST));
    }
    (!named.is_empty()).then(|| named.join(", "))
}
