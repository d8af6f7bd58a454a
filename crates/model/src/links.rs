//! Adjacency lists of graphs and trees, in compressed sparse rows.
//!
//! A list of lists would need one allocation for each node, and would scatter a large graph over the memory.
//! Here, one list contains the items of all nodes, node after node. A second list contains the position of
//! each node's first item.

/// A list of items for each node of a graph or a tree. Nodes are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links<T> {
    /// The position of each node's first item in `items`, followed by the number of all items.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for Links<T> {
    fn default() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }
}

impl<T> Links<T> {
    /// Adds an item to the list of the current node. The next call of [`close`](Self::close) ends this list.
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Ends the list of the current node. Items that are added later belong to the next node.
    ///
    /// # Panics
    ///
    /// When the nodes together have 2³² items or more.
    pub fn close(&mut self) {
        self.starts.push(u32::try_from(self.items.len()).expect("there are less than 2^32 items"));
    }

    /// Adds items to the list of the current node, and ends this list. Items that are added later belong to the
    /// next node.
    ///
    /// # Panics
    ///
    /// When the nodes together have 2³² items or more.
    pub fn add(&mut self, items: impl IntoIterator<Item = T>) {
        self.items.extend(items);
        self.close();
    }

    /// Appends all nodes of `other`, with their items, after the last node. The caller must [`close`](Self::close) the
    /// current node first. Otherwise, the items of the current node become items of the first appended node.
    ///
    /// # Panics
    ///
    /// When the nodes together have 2³² items or more.
    pub fn append(&mut self, other: Self) {
        let before = self.items.len();
        self.items.extend(other.items);
        let ends = other.starts.iter().skip(1).map(|end| u32::try_from(before + *end as usize));
        self.starts.extend(ends.map(|end| end.expect("there are less than 2^32 items")));
    }

    /// Returns the items of each node.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        self.starts.windows(2).map(|ends| &self.items[ends[0] as usize..ends[1] as usize])
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the items of a node; empty for a node that doesn't exist.
    pub fn of(&self, node: u32) -> &[T] {
        let at = node as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => &self.items[*start as usize..*end as usize],
            _ => &[],
        }
    }
}

impl<T: Copy> Links<T> {
    /// Groups items by their nodes. Each pair in `pairs` consists of an item and the number of the item's node. The
    /// numbers are from 0 to `nodes` - 1. The items of a node keep their order.
    ///
    /// The function iterates twice over `pairs` and sorts nothing, so its time is linear in the numbers of nodes
    /// and items.
    ///
    /// # Panics
    ///
    /// When the number of a node is not below `nodes`, or when there are 2³² items or more.
    pub fn group<I>(nodes: usize, pairs: I) -> Self
    where
        I: Iterator<Item = (u32, T)> + Clone,
    {
        let Some((_, first)) = pairs.clone().next() else {
            return Self { starts: vec![0; nodes + 1], items: Vec::new() };
        };
        // The entries of `starts` change their meaning in three steps:
        // 1. The items of each node are counted. Then `starts[n + 2]` is the number of items of node n.
        // 2. The counts are added up. Then `starts[n + 1]` is the position of the first item of node n.
        // 3. The items are placed. During this step, `starts[n + 1]` is the position of the next item of node n.
        //    At the end, `starts[n]` is the position of the first item of node n.
        let mut starts = vec![0_u32; nodes + 2];
        for (node, _) in pairs.clone() {
            starts[node as usize + 2] += 1;
        }
        let mut total = 0_u32;
        for start in &mut starts {
            total = total.checked_add(*start).expect("there are less than 2^32 items");
            *start = total;
        }
        let mut items = vec![first; total as usize];
        for (node, item) in pairs {
            let next = &mut starts[node as usize + 1];
            items[*next as usize] = item;
            *next += 1;
        }
        starts.pop();
        Self { starts, items }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_grouped_and_keep_their_order() {
        let links = Links::group(4, [(2, 'a'), (0, 'b'), (2, 'c'), (3, 'd')].into_iter());
        let all: Vec<String> = (0..5).map(|node| links.of(node).iter().collect()).collect();
        assert_eq!(all, ["b", "", "ac", "d", ""]);
    }

    #[test]
    fn nodes_in_order_need_no_grouping() {
        let mut links = Links::default();
        for items in ["ab", "", "c"] {
            items.chars().for_each(|item| links.push(item));
            links.close();
        }
        let all: Vec<String> = (0..3).map(|node| links.of(node).iter().collect()).collect();
        assert_eq!(all, ["ab", "", "c"]);
        assert_eq!(links.nodes(), 3);
    }

    #[test]
    fn lists_are_appended() {
        let mut links = Links::default();
        links.add([1, 2]);
        let mut other = Links::default();
        other.add([]);
        other.add([3]);
        links.append(other);
        links.append(Links::default());
        assert_eq!(links.iter().collect::<Vec<_>>(), [&[1, 2][..], &[], &[3]]);
    }

    #[test]
    fn nodes_may_have_nothing() {
        let links = Links::<u8>::group(2, std::iter::empty());
        assert!((0..3).all(|node| links.of(node).is_empty()));
        assert!(Links::<u8>::default().of(0).is_empty());
    }
}
