//! The tree of an assembly's parts.
//!
//! Similar nodes of a large cluster share a line. A node that differs from all other nodes has a separate line. The
//! lines are sorted by state, with the worst state first. Among lines with the same state, unhealthy nodes come
//! first. Among lines that are still equal, the line with the fewest nodes comes first.

use std::collections::{BTreeSet, HashMap};

use windlass::model::assembly::ElementKind;
use windlass::model::{State, Timestamp};
use windlass::view::status::ElementView;

use super::node::{self, Alike};
use crate::alike::{self, FEW};
use crate::output::{ODD, say, styled};

/// Options for printing a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree {
    /// The current time, from which the displayed ages are computed.
    pub(super) now: Timestamp,
    /// Whether each node of a large cluster is listed.
    pub(super) whole: bool,
    /// Whether the parts belong to a launched application.
    pub(super) is_application: bool,
}

/// A line of the tree. It shows one part, or several similar parts with a common name, such as `1–6, 8`.
struct Line<'v> {
    name: String,
    nodes: Vec<&'v ElementView>,
}

impl Tree {
    /// Returns the options for an assembly with a descriptor.
    pub(super) fn new(now: Timestamp, whole: bool) -> Self {
        Self { now, whole, is_application: false }
    }

    /// Prints the parts of an assembly as a tree. Each part is shown by the last segment of its name: `2` for `web__2`.
    pub(super) fn print(self, parts: &[ElementView]) {
        let lines = parts.iter().map(|part| Line { name: last_segment(part).to_owned(), nodes: vec![part] });
        self.print_lines(lines.collect(), "");
    }

    /// Prints some parts without the tree around them. Each part is shown with its complete name inside the
    /// assembly.
    pub(super) fn print_alone(self, parts: &[ElementView]) {
        let lines = parts.iter().map(|part| Line { name: part.name.local().to_owned(), nodes: vec![part] });
        self.print_lines(lines.collect(), "");
    }

    fn print_lines(self, lines: Vec<Line<'_>>, lead: &str) {
        let count = lines.len();
        for (at, Line { name, nodes }) in lines.into_iter().enumerate() {
            let (branch, below) = if at + 1 == count { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let below = format!("{lead}{below}");
            let active = active(&nodes).map(|active| format!(" {}", styled(ODD, active)));
            let count = if nodes.len() > 1 { format!(" ({})", nodes.len()) } else { String::new() };
            let alike = Alike::new(self.now, &nodes, self.is_application);
            say!("{lead}{branch}{name}{count} {}{}", alike.said(), active.unwrap_or_default());
            alike.print_more(&below);
            self.print_lines(self.below(&nodes), &below);
        }
    }

    /// Returns the lines for the parts inside `nodes`. The elements of `nodes` are similar parts, so all of them
    /// contain similar inner parts in the same order. The first inner parts of all elements share a line, the
    /// second inner parts share the next line, and so on.
    ///
    /// If the elements are clusters with more than [`FEW`] inner parts, similar inner parts of one cluster also
    /// share a line, such as `1–6`. If `self.whole` is set, these inner parts have separate lines.
    fn below<'v>(self, nodes: &[&'v ElementView]) -> Vec<Line<'v>> {
        let Some(first) = nodes.first() else { return Vec::new() };
        let line = |places: &[usize]| {
            let numbers: Option<BTreeSet<u64>> =
                places.iter().map(|at| last_segment(&first.components[*at]).parse().ok()).collect();
            let name = match (numbers, places) {
                (Some(numbers), _) => name_of(&numbers, first.components.len()),
                (None, [at]) => last_segment(&first.components[*at]).to_owned(),
                (None, _) => alike::names(places.iter().map(|at| last_segment(&first.components[*at]))),
            };
            let nodes = nodes.iter().flat_map(|node| places.iter().filter_map(|at| node.components.get(*at)));
            Line { name, nodes: nodes.collect() }
        };
        let classes = if is_large(first) && !self.whole {
            classes(&first.components)
        } else {
            (0..first.components.len()).map(|at| vec![at]).collect()
        };
        classes.iter().map(|places| line(places)).collect()
    }
}

/// Tells whether a part is a large cluster: a cluster with more than [`FEW`] nodes.
fn is_large(element: &ElementView) -> bool {
    element.kind == ElementKind::Group && element.components.len() > FEW
}

/// If a line of the tree shows one large cluster, returns the number of Active nodes, such as `95 of 100 Active`. The
/// argument `nodes` contains the parts of the line.
///
/// Returns `None` for other lines, and for clusters whose nodes are all Active.
fn active(nodes: &[&ElementView]) -> Option<String> {
    let [node] = nodes else { return None };
    let all = node.components.len();
    let active = node.components.iter().filter(|node| node.state == State::Active).count();
    (is_large(node) && active < all).then(|| format!("{active} of {all} Active"))
}

/// The maximum number of ranges in the result of [`name_of`], if this result names more than half of a cluster's nodes.
/// If there are more ranges, the result is "the others". A result for fewer nodes can have any number of ranges.
const RANGES: usize = 8;

/// Returns a text that names some nodes of a cluster by the ranges of their numbers, such as `1–6, 8`. `numbers`
/// contains the numbers of these nodes, and `all` is the number of all nodes of the cluster.
///
/// The text is "the others" if two conditions hold: there are more than [`RANGES`] ranges, and `numbers` contains
/// more than half of all nodes.
fn name_of(numbers: &BTreeSet<u64>, all: usize) -> String {
    let ranges = alike::ranges(numbers);
    if ranges.len() > RANGES && numbers.len() * 2 > all { "the others".to_owned() } else { ranges.join(", ") }
}

/// Groups similar nodes. For each group, returns the positions of its nodes in the list `nodes`. The groups are
/// sorted by state, with the worst state first. Among groups of the same state, unhealthy groups come first; see
/// [`node::has_failed`]. Among the groups that are still equal, the smallest group comes first.
fn classes(nodes: &[ElementView]) -> Vec<Vec<usize>> {
    let mut classes: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, element) in nodes.iter().enumerate() {
        classes.entry(node::likeness(element)).or_default().push(at);
    }
    let mut classes: Vec<Vec<usize>> = classes.into_values().collect();
    classes.sort_by_key(|class| {
        let first = &nodes[class[0]];
        (order(first.state), !node::has_failed(first), class.len(), class[0])
    });
    classes
}

/// Returns the rank of a state in the listing: the worst state has the lowest rank.
fn order(state: State) -> i8 {
    match state {
        State::Failed => -2,
        State::Broken => -1,
        state => state.rank().and_then(|rank| i8::try_from(rank).ok()).unwrap_or(0),
    }
}

fn last_segment(element: &ElementView) -> &str {
    element.name.local().rsplit("__").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_a_cluster_in_many_pieces_is_the_others() {
        let every_second: BTreeSet<u64> = (1..=40).filter(|number| number % 2 == 0).collect();
        let but_every_fourth: BTreeSet<u64> = (1..=40).filter(|number| number % 4 != 0).collect();
        assert_eq!(name_of(&but_every_fourth, 40), "the others");
        // Half of the nodes are not a majority, so they are named by their numbers.
        assert!(name_of(&every_second, 40).starts_with("2, 4, 6, "));
        let but_two: BTreeSet<u64> = (1..=40).filter(|number| ![7, 21].contains(number)).collect();
        assert_eq!(name_of(&but_two, 40), "1–6, 8–20, 22–40");
    }
}
