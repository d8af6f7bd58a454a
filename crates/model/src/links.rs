//! Many short lists in two long ones: who follows whom in a graph, who is inside whom in a tree.
//!
//! A list of lists costs an allocation a node and scatters a large graph over the memory. Here the items of all nodes
//! lie behind each other in one list, and a second one says where those of each node begin.

/// For each of some nodes, numbered from 0, the items that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links<T> {
    /// Where the items of each node begin; one more than there are nodes.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for Links<T> {
    fn default() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }
}

impl<T> Links<T> {
    /// Adds an item to the node behind the last one that was closed.
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Ends the list of a node: what is pushed from now on belongs to the next.
    ///
    /// # Panics
    ///
    /// When there are 2³² items.
    pub fn close(&mut self) {
        self.starts.push(u32::try_from(self.items.len()).expect("there are less than 2^32 items"));
    }

    /// Returns how many nodes there are.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the items of a node; none for a node that isn't there.
    pub fn of(&self, node: u32) -> &[T] {
        let at = node as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => &self.items[*start as usize..*end as usize],
            _ => &[],
        }
    }
}

impl<T: Copy> Links<T> {
    /// Groups items by their nodes, of which there are `nodes`. The items of a node keep their order.
    ///
    /// The pairs are gone through twice, and nothing is sorted: it takes as long as there are nodes and items.
    ///
    /// # Panics
    ///
    /// When a node is not below `nodes`, or when there are 2³² items.
    pub fn group<I>(nodes: usize, pairs: I) -> Self
    where
        I: Iterator<Item = (u32, T)> + Clone,
    {
        let Some((_, first)) = pairs.clone().next() else {
            return Self { starts: vec![0; nodes + 1], items: Vec::new() };
        };
        // Each count stands two places behind its node, so that sums of them are where the node's next item goes, one
        // place behind it. When all items are there, these are the ends of the nodes, and so the starts of the next.
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
    fn nodes_may_have_nothing() {
        let links = Links::<u8>::group(2, std::iter::empty());
        assert!((0..3).all(|node| links.of(node).is_empty()));
        assert!(Links::<u8>::default().of(0).is_empty());
    }
}
