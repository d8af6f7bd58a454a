//! Grouping of similar items for short output.
//!
//! A cluster of hundreds of nodes has hundreds of parts, steps and changes that differ only in a number.
//! Output for people shows such items as one line that names all of them, such as `web__1–300`. An item that
//! also differs in something else has a separate line, so nothing is omitted. JSON output is not grouped.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;

use windlass::model::ElementName;

/// Maximum number of similar items that are listed one by one.
pub(crate) const FEW: usize = 10;

/// Groups items with the same key if more than [`FEW`] items have this key. Each other item is a group of its
/// own. The order of the input is kept: a group has the position of its first item.
pub(crate) fn put_together<T, K: Eq + Hash>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> Option<K>,
) -> Vec<Vec<T>> {
    let mut classes: Vec<Vec<(usize, T)>> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (at, item) in items.into_iter().enumerate() {
        let class = key(&item).map_or(classes.len(), |key| *places.entry(key).or_insert(classes.len()));
        if class == classes.len() {
            classes.push(Vec::new());
        }
        classes[class].push((at, item));
    }
    let mut together: Vec<(usize, Vec<T>)> = Vec::new();
    for class in classes {
        if class.len() > FEW {
            let first = class[0].0;
            together.push((first, class.into_iter().map(|(_, item)| item).collect()));
        } else {
            together.extend(class.into_iter().map(|(at, item)| (at, vec![item])));
        }
    }
    together.sort_by_key(|(at, _)| *at);
    together.into_iter().map(|(_, items)| items).collect()
}

/// Groups items with the same key, as [`put_together`] does. If `whole` is set, each item is a group of its own,
/// because the user wants to see the whole list.
pub(crate) fn put_together_unless<T, K: Eq + Hash>(
    whole: bool,
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> Option<K>,
) -> Vec<Vec<T>> {
    if whole { items.into_iter().map(|item| vec![item]).collect() } else { put_together(items, key) }
}

/// Returns the name of a part with node numbers replaced by `*`: `web__17` and `web__18` both become
/// `web__*`.
pub(crate) fn pattern(name: &str) -> String {
    let parts: Vec<&str> =
        name.split(SEPARATOR).map(|part| if is_number(part) { "*" } else { part }).collect();
    parts.join(SEPARATOR)
}

/// Tells whether the name of a part contains a node number. Parts without a number are not grouped.
pub(crate) fn is_numbered(name: &str) -> bool {
    name.split(SEPARATOR).any(is_number)
}

/// Replaces the node numbers in the name of `part` by `*`, wherever a text contains the name. For example, the name
/// `web__17` becomes `web__*` (see [`pattern`]). So the texts about similar parts become equal.
pub(crate) fn nameless(text: &str, part: &ElementName) -> String {
    let (full, local) = (part.as_str(), part.local());
    replace_name(&replace_name(text, full, &pattern(full)), local, &pattern(local))
}

/// Replaces a name in a text wherever it is a whole word.
pub(crate) fn replace_name(text: &str, name: &str, by: &str) -> String {
    let is_word_char = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name).filter(|_| !name.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        out.push_str(before);
        let is_word = !out.ends_with(is_word_char) && !after.starts_with(is_word_char);
        out.push_str(if is_word { by } else { name });
        rest = after;
    }
    out + rest
}

/// Formats the names of parts in short form. The number of parts follows, unless there is only one part.
pub(crate) fn named<'n>(parts: impl IntoIterator<Item = &'n ElementName>) -> String {
    let parts: Vec<&str> = parts.into_iter().map(ElementName::local).collect();
    if let [part] = parts.as_slice() {
        return (*part).to_owned();
    }
    let short = names(parts.iter().copied());
    format!("{short} ({})", parts.len())
}

/// Formats names of parts in short form: `lb, web__1–16,18–300`. No name is omitted.
pub(crate) fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    // Each name is split at its separators. A part that is a number becomes a set with this number, so that
    // `united` can add the numbers of other names.
    let mut rows: Vec<Vec<Part>> = names.into_iter().map(row).collect();
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    for place in (0..longest).rev() {
        rows = united(rows, place);
    }
    let written = rows.iter().map(|row| row.iter().map(Part::to_string).collect::<Vec<_>>().join(SEPARATOR));
    written.collect::<Vec<_>>().join(", ")
}

/// Formats numbers as ranges: `1–16`, `18–300`.
pub(crate) fn ranges(numbers: &BTreeSet<u64>) -> Vec<String> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let written = |(first, last): (u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}–{last}") }
    };
    spans.into_iter().map(written).collect()
}

const SEPARATOR: &str = "__";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text(String),
    Numbers(BTreeSet<u64>),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Numbers(numbers) => f.write_str(&ranges(numbers).join(",")),
        }
    }
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
}

fn row(name: &str) -> Vec<Part> {
    let part = |part: &str| match part.parse() {
        Ok(number) if is_number(part) => Part::Numbers(BTreeSet::from([number])),
        _ => Part::Text(part.to_owned()),
    };
    name.split(SEPARATOR).map(part).collect()
}

/// Merges rows that differ only in the numbers at position `place`. A row contains the segments of a name, such as
/// `web` and `17`. A merged row has the position of the first row that it contains.
fn united(rows: Vec<Vec<Part>>, place: usize) -> Vec<Vec<Part>> {
    let mut out: Vec<Vec<Part>> = Vec::new();
    let mut known: BTreeMap<Vec<Part>, usize> = BTreeMap::new();
    for mut row in rows {
        let Some(Part::Numbers(numbers)) = row.get_mut(place) else {
            out.push(row);
            continue;
        };
        let numbers = std::mem::take(numbers);
        let at = *known.entry(row.clone()).or_insert(out.len());
        if at == out.len() {
            out.push(row);
        }
        if let Some(Part::Numbers(all)) = out[at].get_mut(place) {
            all.extend(numbers);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_in_short() {
        for (given, short) in [
            ("", ""),
            ("lb", "lb"),
            ("web__7", "web__7"),
            ("web__1 web__2", "web__1–2"),
            ("web__1 web__2 web__3 web__5", "web__1–3,5"),
            ("web__3 lb web__1 web__2", "web__1–3, lb"),
            ("web__9 web__10 web__11", "web__9–11"),
            ("cell__1__web__1 cell__1__web__2 cell__2__web__1 cell__2__web__2", "cell__1–2__web__1–2"),
            ("cell__1__web__1 cell__1__web__2 cell__2__web__2", "cell__1__web__1–2, cell__2__web__2"),
            ("web2 web3 web4", "web2, web3, web4"),
        ] {
            let given: Vec<&str> = given.split_whitespace().collect();
            assert_eq!(names(given.iter().copied()), short, "{given:?}");
        }
    }

    #[test]
    fn a_few_are_listed_one_by_one() {
        let few: Vec<usize> = (0..FEW).collect();
        assert_eq!(put_together(few.clone(), |_| Some('a')).len(), FEW);
        assert_eq!(put_together(0..=FEW, |_| Some('a')).len(), 1);
    }

    #[test]
    fn the_odd_one_stays_in_its_place() {
        let together = put_together(0..40, |number| Some(if *number == 17 { "odd" } else { "alike" }));
        assert_eq!(together.len(), 2);
        assert_eq!((together[0].len(), &together[1]), (39, &vec![17]));
        let together = put_together(0..40, |number| (*number >= 3).then_some("alike"));
        let firsts: Vec<i32> = together.iter().map(|class| class[0]).collect();
        assert_eq!(firsts, [0, 1, 2, 3]);
    }

    #[test]
    fn a_name_is_replaced_as_a_word() {
        for (text, replaced) in [
            ("needs web__1 is Installed first", "needs web__* is Installed first"),
            ("web__1", "web__*"),
            ("web__10 and web__1__disk", "web__10 and web__1__disk"),
            ("farm__web__1", "farm__web__1"),
            ("(web__1, web__1)", "(web__*, web__*)"),
        ] {
            assert_eq!(replace_name(text, "web__1", "web__*"), replaced);
        }
        assert_eq!(replace_name("as it is", "", "x"), "as it is");
    }

    #[test]
    fn patterns_have_no_numbers_of_nodes() {
        assert_eq!(pattern("web__17"), "web__*");
        assert_eq!(pattern("cell__2__web2__3"), "cell__*__web2__*");
        assert_eq!(pattern("lb"), "lb");
    }
}
