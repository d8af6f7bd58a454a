//! "did you mean": the valid name nearest to a wrong one.

/// The candidate nearest to `name` by edit distance (a swap of neighbours counts as one edit), if one is near
/// enough.
///
/// Near enough is one edit for names of up to 4 characters, else a third of the length. Case, `-`, `_` and
/// `.` don't count as edits, so `read_only` is near to `read-only`. Of equally near ones the first in order
/// of candidates is taken.
///
/// ```
/// use windlass_source::suggest;
///
/// assert_eq!(suggest("descripion", ["default", "description"]), Some("description"));
/// assert_eq!(suggest("colour", ["default", "description"]), None);
/// ```
pub fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(name, candidates).map(|(candidate, _)| candidate)
}

/// As [`suggest`], but `None` when two candidates are equally near: for fixes that are applied without
/// asking.
///
/// ```
/// use windlass_source::suggest_unique;
///
/// assert_eq!(suggest_unique("host", ["hosts", "hosted"]), Some("hosts"));
/// assert_eq!(suggest_unique("host", ["hosts", "ghost"]), None);
/// ```
pub fn suggest_unique<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(name, candidates).filter(|&(_, unique)| unique).map(|(candidate, _)| candidate)
}

/// The nearest candidate, and whether no other is as near.
fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, bool)> {
    let folded = fold(name);
    let length = folded.chars().count();
    let limit = if length <= 4 { 1 } else { length / 3 };
    let mut best: Option<((usize, usize), &str, bool)> = None;
    for candidate in candidates.into_iter().filter(|&candidate| candidate != name) {
        let other = fold(candidate);
        if other.chars().count().abs_diff(length) > limit {
            continue;
        }
        let folded_distance = strsim::osa_distance(&folded, &other);
        let is_worse = best.as_ref().is_some_and(|((least, _), ..)| folded_distance > *least);
        if folded_distance > limit || folded_distance >= length || is_worse {
            continue;
        }
        // Spelling decides between names that differ in nothing else.
        let distance = (folded_distance, strsim::osa_distance(name, candidate));
        match &mut best {
            Some((least, found, unique)) if distance == *least => *unique &= candidate == *found,
            Some((least, ..)) if distance > *least => {}
            _ => best = Some((distance, candidate, true)),
        }
    }
    best.map(|(_, candidate, unique)| (candidate, unique))
}

fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | '.')).flat_map(char::to_lowercase).collect()
}
