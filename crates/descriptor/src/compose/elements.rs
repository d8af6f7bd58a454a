//! The elements that a composition has created so far, found by name.

use std::collections::HashMap;

use windlass_model::ElementName;
use windlass_model::assembly::Element;

/// The elements that exist so far, in the order of their creation.
#[derive(Default)]
pub(super) struct Elements {
    all: Vec<Element>,
    positions: HashMap<ElementName, usize>,
    /// Groups whose nodes have keys in place of numbers. The value is the node with the lowest key; none if
    /// the group has no nodes.
    keyed: HashMap<ElementName, Option<ElementName>>,
}

impl Elements {
    pub(super) fn reserve(&mut self, more: usize) {
        self.all.reserve(more);
        self.positions.reserve(more);
    }

    pub(super) fn push(&mut self, element: Element) {
        self.positions.insert(element.name.clone(), self.all.len());
        self.all.push(element);
    }

    /// Records a group whose nodes have keys. `lowest` is the node with the lowest key; `None` if the group has
    /// no nodes.
    pub(super) fn push_keys(&mut self, group: ElementName, lowest: Option<ElementName>) {
        self.keyed.insert(group, lowest);
    }

    /// Returns the node with the lowest number or key in a group. A `${…}` that names the group reads this node.
    pub(super) fn lowest_node(&self, group: &ElementName) -> ElementName {
        self.keyed.get(group).cloned().flatten().unwrap_or_else(|| group.node(1))
    }

    /// Returns a map from wrong to right names of nodes, for groups whose nodes have keys. For example, the group
    /// `shop__web` has the nodes `shop__web__a` and `shop__web__b`. Then the map leads from `shop__web__1`, the
    /// name that the composition has assumed, to `shop__web__a`. Groups without nodes are left out.
    pub(super) fn lowest_keys(&self) -> HashMap<ElementName, ElementName> {
        self.keyed.iter().filter_map(|(group, node)| Some((group.node(1), node.clone()?))).collect()
    }

    pub(super) fn has_many_nodes(&self, group: &ElementName) -> bool {
        if self.keyed.contains_key(group) {
            self.all.iter().filter(|node| node.parent.as_ref() == Some(group)).count() > 1
        } else {
            self.contains(&group.node(2))
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn contains(&self, name: &ElementName) -> bool {
        self.positions.contains_key(name)
    }

    pub(super) fn position(&self, name: &ElementName) -> Option<usize> {
        self.positions.get(name).copied()
    }

    pub(super) fn find(&self, name: &ElementName) -> Option<&Element> {
        Some(&self.all[self.position(name)?])
    }

    pub(super) fn at_mut(&mut self, position: usize) -> &mut Element {
        &mut self.all[position]
    }

    pub(super) fn all(&self) -> &[Element] {
        &self.all
    }

    /// Returns the elements, and the index of each element by its name.
    pub(super) fn all_mut(&mut self) -> (&mut [Element], &HashMap<ElementName, usize>) {
        (&mut self.all, &self.positions)
    }

    pub(super) fn into_all(self) -> Vec<Element> {
        self.all
    }
}
