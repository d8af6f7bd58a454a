//! Suggestions for wrong names ("did you mean"): finds the nearest valid name, and lists the valid names.

/// Returns the candidate that is nearest to `name` by edit distance; none if no candidate is near enough. A
/// swap of adjacent characters counts as one edit.
///
/// The limit is one edit for names of up to 4 characters, and a third of the length for longer names. Changes
/// of the letter case, and of `-`, `_` and `.`, don't count as edits. So `read_only` is near to `read-only`. If
/// several candidates are equally near, the first is returned.
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

/// Returns the candidate that is nearest to `name`, like [`suggest`]. Returns `None` if two candidates are
/// equally near. Use this function for fixes that are applied without a question.
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

/// Maximum length of a compared name in bytes. A longer text is not taken for a misspelling.
const LONGEST: usize = 200;

/// Maximum effort of a search for the candidate that is nearest to a name. The search ends when its effort exceeds
/// this maximum. The effort is a rough measure of time:
///
/// - Each candidate costs [`BASE_EFFORT`], and 1 more for every 8 of its bytes.
/// - Each computation of an edit distance costs the length of the name in bytes times the length of the candidate in
///   bytes.
const EFFORT: usize = 1 << 16;

/// The effort that every candidate costs, regardless of the candidate's length; see [`EFFORT`].
const BASE_EFFORT: usize = 2;

/// Returns the candidate that is nearest to `name`, like [`suggest`], and whether the candidate is unique. The result
/// `false` means that another candidate is, or may be, equally near.
///
/// The search takes a fraction of a microsecond for each candidate. A search that would take more than a few
/// milliseconds ends early, and returns the nearest candidate so far with `false`. Names of more than 200 bytes have
/// no near candidates.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, bool)> {
    nearest_within(name, candidates, usize::MAX)
}

/// Returns the candidate that is nearest to `name`, like [`suggest`], but only if it is at most `edits` edits
/// away. With a low number, `name` is almost certainly a misspelling of the candidate.
///
/// ```
/// use windlass_source::suggest_within;
///
/// assert_eq!(suggest_within("quantitty", ["quantity"], 2), Some("quantity"));
/// assert_eq!(suggest_within("source-capable", ["source-capabilities"], 2), None);
/// ```
pub fn suggest_within<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    edits: usize,
) -> Option<&'a str> {
    nearest_within(name, candidates, edits).map(|(candidate, _)| candidate)
}

/// Returns the same as [`nearest`], but only if the candidate is at most `edits` edits away from `name`.
fn nearest_within<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    edits: usize,
) -> Option<(&'a str, bool)> {
    if name.len() > LONGEST {
        return None;
    }
    let mut effort = 0;
    let wanted = Wanted::new(name);
    let length = wanted.length;
    let near = if length <= 4 { 1 } else { length / 3 };
    let limit = near.min(edits);
    let mut best: Option<((usize, usize), &str, bool)> = None;
    for candidate in candidates {
        effort += BASE_EFFORT + candidate.len().min(LONGEST) / 8;
        if effort > EFFORT {
            return best.map(|(_, candidate, _)| (candidate, false));
        }
        if candidate.len() > LONGEST || candidate == name {
            continue;
        }
        let least = best.as_ref().map_or(limit, |((least, _), ..)| *least);
        if wanted.fewest_edits(candidate, least) > least {
            continue;
        }
        effort += name.len() * candidate.len();
        let folded_distance = strsim::osa_distance(&wanted.folded, &fold(candidate));
        if folded_distance > least || folded_distance >= length {
            continue;
        }
        // Changes of the letter case, and of `-`, `_` and `.`, don't count as edits. If two candidates are
        // equally near to `name` without these changes, the function prefers the candidate with fewer
        // changes of all kinds.
        let distance = (folded_distance, strsim::osa_distance(name, candidate));
        match &mut best {
            Some((least, found, unique)) if distance == *least => *unique &= candidate == *found,
            Some((least, ..)) if distance > *least => {}
            _ => best = Some((distance, candidate, true)),
        }
    }
    best.map(|(_, candidate, unique)| (candidate, unique))
}

/// Lists names for a message, in backticks. A long list contains only the first 8 names and the number of the
/// others. An empty list is written as `nothing`.
///
/// ```
/// use windlass_source::listed;
///
/// assert_eq!(listed(["a", "b", "c"]), "`a`, `b` and `c`");
/// assert_eq!(listed((1..=10).map(|n| n.to_string())), "`1`, `2`, `3`, `4`, `5`, `6`, `7`, `8` and 2 more");
/// assert_eq!(listed([""; 0]), "nothing");
/// ```
pub fn listed(names: impl IntoIterator<Item: AsRef<str>>) -> String {
    const SHOWN: usize = 8;
    let mut names = names.into_iter();
    let mut shown: Vec<String> =
        names.by_ref().take(SHOWN).map(|name| format!("`{}`", name.as_ref())).collect();
    match names.count() {
        0 => {}
        others => shown.push(format!("{others} more")),
    }
    match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// The name to which [`nearest`] compares all candidates. The name is prepared for many comparisons.
struct Wanted {
    folded: String,
    length: usize,
    /// Number of occurrences of each character in `folded`. There are fewer counters than characters.
    /// Characters with the same counter ([`Self::place`]) are counted together.
    counts: [u8; Self::PLACES],
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

    /// Returns a lower bound of the number of edits between the name and `candidate`. The method may stop counting when
    /// the bound exceeds `most`.
    ///
    /// The bound is the larger of two counts: the characters that only the name has, and the characters that only
    /// `candidate` has. For example, the bound for `ports` and `host` is 2, because only `ports` has `p` and `r`. Each
    /// edit lowers each count by at most 1. The bound rejects most candidates, and costs much less than the edit
    /// distance.
    fn fewest_edits(&self, candidate: &str, most: usize) -> usize {
        if candidate.is_ascii() {
            // Nearly all candidates are ASCII, and most are rejected here.
            let counted = candidate.bytes().filter(|byte| !matches!(byte, b'-' | b'_' | b'.'));
            self.fewest_of(counted.map(|byte| char::from(byte.to_ascii_lowercase())), most)
        } else {
            self.fewest_of(folded(candidate), most)
        }
    }

    fn fewest_of(&self, candidate: impl Iterator<Item = char>, most: usize) -> usize {
        let mut left = self.counts;
        let (mut length, mut strange) = (0, 0);
        for c in candidate {
            length += 1;
            match &mut left[Self::place(c)] {
                0 if strange == most => return most + 1,
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

/// Returns the characters of a name in lower case, without `-`, `_` and `.`. Comparisons ignore these
/// characters and the letter case.
fn folded(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, '-' | '_' | '.')).flat_map(char::to_lowercase)
}
