//! Finds cycles of nodes that wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::report::{Reason, UnresolvedNode};

/// Returns the cycles of nodes that wait for each other. A cycle is a list of paths. Its first path is
/// repeated at its end.
///
/// The function follows a trail from each waiting node: each node leads to the node that it awaits (see [`target`]).
/// If a trail returns to one of its own nodes, it contains a cycle. A trail ends at a node that an earlier trail has
/// visited, so the function finds each cycle once.
pub(crate) fn cycles(nodes: &[UnresolvedNode]) -> Vec<Vec<String>> {
    let waiting: BTreeMap<String, &UnresolvedNode> = nodes
        .iter()
        .filter(|node| node.reason == Reason::Pending)
        .map(|node| (node.path.join("."), node))
        .collect();
    let next: BTreeMap<&str, &str> =
        waiting.iter().filter_map(|(path, node)| Some((path.as_str(), target(node, &waiting)?))).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut cycles = Vec::new();
    for start in next.keys() {
        let mut trail: Vec<&str> = Vec::new();
        let mut here = *start;
        while !seen.contains(here) {
            seen.insert(here);
            trail.push(here);
            match next.get(here) {
                Some(then) => here = then,
                None => break,
            }
        }
        if let Some(begin) = trail.iter().position(|path| *path == here)
            && next.contains_key(here)
        {
            let mut cycle: Vec<String> = trail[begin..].iter().map(ToString::to_string).collect();
            cycle.push(here.to_owned());
            cycles.push(cycle);
        }
    }
    cycles
}

/// Returns the path of the awaited node: the node for which `node` waits. The parameter `waiting` contains all
/// waiting nodes by their paths. Returns `None` if `waiting` does not contain the awaited node.
///
/// The message of `node` contains the name of the awaited node. This name is looked up like a reference: first in
/// the map that contains `node`, and then in the maps around this map. A name with a leading dot is looked up at
/// the root of the document.
fn target<'n>(node: &UnresolvedNode, waiting: &'n BTreeMap<String, &UnresolvedNode>) -> Option<&'n str> {
    let name = node.issue.message.strip_prefix('\'')?.split('\'').next()?;
    let known = |path: String| waiting.get_key_value(&path).map(|(path, _)| path.as_str());
    if let Some(absolute) = name.strip_prefix('.') {
        return known(absolute.to_owned());
    }
    let around: &[Arc<str>] = &node.path;
    (0..around.len()).rev().find_map(|depth| {
        let mut path = around[..depth].join(".");
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        known(path)
    })
}
