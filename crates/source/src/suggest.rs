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

/// As [`suggest`], with whether no other candidate is as near: both in one search.
///
/// It takes a fraction of a microsecond a candidate, so that many wrong names among many right ones are told in time.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, bool)> {
    let wanted = Wanted::new(name);
    let length = wanted.length;
    let limit = if length <= 4 { 1 } else { length / 3 };
    let mut best: Option<((usize, usize), &str, bool)> = None;
    for candidate in candidates.into_iter().filter(|&candidate| candidate != name) {
        let least = best.as_ref().map_or(limit, |((least, _), ..)| *least);
        if wanted.fewest_edits(candidate) > least {
            continue;
        }
        let folded_distance = strsim::osa_distance(&wanted.folded, &fold(candidate));
        if folded_distance > least || folded_distance >= length {
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

/// The wrong name, made ready for many comparisons.
struct Wanted {
    folded: String,
    length: usize,
    /// How often each character is in it; characters that share a place count as one.
    counts: [u32; Self::PLACES],
}

impl Wanted {
    const PLACES: usize = 128;

    fn new(name: &str) -> Self {
        let folded = fold(name);
        let mut counts = [0; Self::PLACES];
        folded.chars().for_each(|c| counts[Self::place(c)] += 1);
        Self { length: folded.chars().count(), folded, counts }
    }

    fn place(c: char) -> usize {
        c as usize % Self::PLACES
    }

    /// Returns how many edits are needed at the least: each brings or takes one character at most, and a swap none. Most
    /// candidates are told apart by that, which costs far less than the distance.
    fn fewest_edits(&self, candidate: &str) -> usize {
        let mut left = self.counts;
        let (mut length, mut strange) = (0, 0);
        for c in folded(candidate) {
            length += 1;
            match &mut left[Self::place(c)] {
                0 => strange += 1,
                count => *count -= 1,
            }
        }
        let lacking = self.length - (length - strange);
        lacking.max(strange)
    }
}

fn fold(name: &str) -> String {
    folded(name).collect()
}

/// Returns the characters that count, in lower case.
fn folded(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, '-' | '_' | '.')).flat_map(char::to_lowercase)
}
