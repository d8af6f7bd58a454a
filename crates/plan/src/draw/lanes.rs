//! Lanes of items, and frames around groups.
//!
//! Each group has a *lane*, which is a set of items: nodes and bends of edges. Each node is in the lane of the
//! innermost group around it. Each edge has its bends in the lane of the innermost group that contains both
//! nodes of the edge. An additional lane contains the nodes and bends outside of all groups. So a drawing
//! without groups has one lane.
//!
//! The layout sorts and moves the items of each lane separately, as if no other lanes existed. It then stacks
//! the lanes without overlap. The content of a group consists of several parts: its lane, and a frame for each
//! inner group. Two parts are placed close to each other if an edge leads from a node in one part to a node in the
//! other part.
//!
//! Each part is moved up until it meets the part above it in some column. An inner group is moved as the whole
//! rectangle of its frame, so frames never overlap.

use std::collections::BTreeMap;

use super::drawing::{Drawing, Group};

/// The space between a frame and its content, and between nested frames, in pixels.
pub(super) const MARGIN: u32 = 10;
/// The height of a frame's label, in pixels.
const HEADER: i64 = 24;
/// The space between lanes, in pixels.
const GAP: i64 = 14;
const SWEEPS: usize = 4;

/// The lane of nodes without a group. The lane of the group with the index `g` is `g + 1`.
const OUTSIDE: usize = 0;

/// The lanes of a drawing, and the nesting of its groups.
pub(super) struct Lanes<'a> {
    groups: &'a [Group],
    children: Vec<Vec<usize>>,
}

/// The frame of a group: its first and last column, and its upper and lower edge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) top: i64,
    pub(super) bottom: i64,
}

/// The positions of lanes and frames in the picture.
pub(super) struct Arranged {
    /// The distance by which each lane is moved down.
    pub(super) shifts: Vec<i64>,
    /// The frame of each group; none for a group without content.
    pub(super) frames: Vec<Option<Frame>>,
}

/// A part that is moved as a whole: a lane, or a frame with its content.
#[derive(Default)]
struct Block {
    lanes: Vec<usize>,
    frames: Vec<usize>,
    /// For each column that this block occupies, the upper and the lower end of the block in the column.
    spans: BTreeMap<usize, (i64, i64)>,
}

impl<'a> Lanes<'a> {
    pub(super) fn of(drawing: &'a Drawing) -> Self {
        let mut children = vec![Vec::new(); drawing.groups.len() + 1];
        for (at, group) in drawing.groups.iter().enumerate() {
            children[lane(group.parent)].push(at + 1);
        }
        Self { groups: &drawing.groups, children }
    }

    /// Returns the number of lanes: one for each group, and one for the nodes without a group.
    pub(super) fn count(&self) -> usize {
        self.children.len()
    }

    fn parent(&self, lane: usize) -> Option<usize> {
        Some(self::lane(self.groups[lane.checked_sub(1)?].parent))
    }

    /// Returns `lane` and the lanes of all groups that enclose it. The order is from the outermost lane, [`OUTSIDE`],
    /// to `lane`.
    fn path(&self, lane: usize) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(Some(lane), |lane| self.parent(*lane)).collect();
        path.reverse();
        path
    }

    /// Compares the [`path`](Self::path)s of the lanes `a` and `b`. Returns three lanes:
    ///
    /// - The last lane that both paths share: the lane of the innermost group that contains both `a` and `b`, or
    ///   [`OUTSIDE`].
    /// - The next lane of the path of `a`. If `a` is the shared lane, `a` itself.
    /// - The next lane of the path of `b`. If `b` is the shared lane, `b` itself.
    ///
    /// For example, a group with the lane 1 contains two groups with the lanes 2 and 3. Then the result for `a = 2` and
    /// `b = 3` is `(1, 2, 3)`. The result for `a = 1` and `b = 3` is `(1, 1, 3)`.
    fn meet(&self, a: usize, b: usize) -> (usize, usize, usize) {
        let (path_a, path_b) = (self.path(a), self.path(b));
        let shared = path_a.iter().zip(&path_b).take_while(|(a, b)| a == b).count();
        let around = path_a[shared - 1];
        let part = |path: &[usize]| path.get(shared).copied().unwrap_or(around);
        (around, part(&path_a), part(&path_b))
    }

    /// Returns the lane that contains the bends of an edge between a node in lane `a` and a node in lane `b`. The
    /// edge can bend in each column between the two nodes. The result is the lane of the innermost group that
    /// contains both nodes, or [`OUTSIDE`] if no group contains both.
    pub(super) fn between(&self, a: usize, b: usize) -> usize {
        if a == b { a } else { self.meet(a, b).0 }
    }

    /// Returns the maximum number of nested frames in a group, including the frame of the group itself. The
    /// number is 1 for a group without inner groups.
    pub(super) fn depth(&self, group: usize) -> u32 {
        1 + self.children[group + 1].iter().map(|child| self.depth(child - 1)).max().unwrap_or(0)
    }

    /// Moves the lanes so that they lie below each other without overlap. `spans` contains the top and the bottom
    /// coordinate of each lane in each column. `edges` contains one pair of lanes for each edge of the drawing: the
    /// lanes of the two connected nodes.
    pub(super) fn arrange(
        &self,
        spans: Vec<BTreeMap<usize, (i64, i64)>>,
        edges: impl Iterator<Item = (usize, usize)>,
    ) -> Arranged {
        let mut links: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.count()];
        for (a, b) in edges.filter(|(a, b)| a != b) {
            let (around, a, b) = self.meet(a, b);
            links[around].push((a, b));
        }
        let frames = vec![None; self.groups.len()];
        let mut arranging = Arranging { lanes: self, links, spans, shifts: vec![0; self.count()], frames };
        arranging.block(OUTSIDE);
        Arranged { shifts: arranging.shifts, frames: arranging.frames }
    }
}

/// Returns the lane of a group. `None` stands for the outside of all groups: the function then returns the lane
/// of nodes without a group.
pub(super) fn lane(group: Option<usize>) -> usize {
    group.map_or(OUTSIDE, |group| group + 1)
}

struct Arranging<'a> {
    lanes: &'a Lanes<'a>,
    links: Vec<Vec<(usize, usize)>>,
    spans: Vec<BTreeMap<usize, (i64, i64)>>,
    shifts: Vec<i64>,
    frames: Vec<Option<Frame>>,
}

impl Arranging<'_> {
    /// Stacks the content of a group, and returns the content as one block. The content consists of the group's
    /// lane `lane` and of the inner groups. The function calls itself for each inner group. The recursion is not
    /// deep, because the nesting of assemblies is limited.
    fn block(&mut self, lane: usize) -> Block {
        let own =
            Block { lanes: vec![lane], frames: Vec::new(), spans: std::mem::take(&mut self.spans[lane]) };
        let inner: Vec<usize> = self.lanes.children[lane].clone();
        let mut parts: BTreeMap<usize, Block> =
            inner.iter().map(|child| (*child, self.block(*child))).collect();
        parts.insert(lane, own);
        let order = order(lane, &inner, &self.links[lane]);
        let mut whole = Block::default();
        for part in order {
            let Some(mut part) = parts.remove(&part) else { continue };
            let reach = |column: &usize, top: i64| {
                whole.spans.get(column).map_or(i64::MIN / 2, |(_, bottom)| bottom + GAP - top)
            };
            let below = part.spans.iter().map(|(column, (top, _))| reach(column, *top)).max();
            let highest = part.spans.values().map(|(top, _)| -top).max();
            // A part without a part above it starts at the upper edge of the group's content.
            self.shift(&mut part, below.unwrap_or(0).max(highest.unwrap_or(0)));
            for (column, (top, bottom)) in part.spans {
                let span = whole.spans.entry(column).or_insert((top, bottom));
                *span = (span.0.min(top), span.1.max(bottom));
            }
            whole.lanes.extend(part.lanes);
            whole.frames.extend(part.frames);
        }
        if let Some(group) = lane.checked_sub(1) {
            self.frame(group, &mut whole);
        }
        whole
    }

    fn shift(&mut self, block: &mut Block, by: i64) {
        for lane in &block.lanes {
            self.shifts[*lane] += by;
        }
        for frame in &block.frames {
            if let Some(frame) = &mut self.frames[*frame] {
                frame.top += by;
                frame.bottom += by;
            }
        }
        for (top, bottom) in block.spans.values_mut() {
            *top += by;
            *bottom += by;
        }
    }

    /// Adds a frame around `block`, which is the content of a group. Extends `block` to the whole rectangle of the
    /// frame, so that no other lane or frame is placed inside this rectangle.
    fn frame(&mut self, group: usize, block: &mut Block) {
        let (Some(first), Some(last)) = (block.spans.keys().next(), block.spans.keys().next_back()) else {
            return;
        };
        let (first, last) = (*first, *last);
        let top = block.spans.values().map(|(top, _)| *top).min().unwrap_or(0) - HEADER;
        let bottom = block.spans.values().map(|(_, bottom)| *bottom).max().unwrap_or(0) + i64::from(MARGIN);
        self.frames[group] = Some(Frame { first, last, top, bottom });
        block.frames.push(group);
        block.spans = (first..=last).map(|column| (column, (top, bottom))).collect();
    }
}

/// Returns the order in which the parts of a group are stacked. The parts are the group's own lane `lane` and the
/// groups inside the group (`inner`). `links` contains the pairs of parts that should be close to each other.
fn order(lane: usize, inner: &[usize], links: &[(usize, usize)]) -> Vec<usize> {
    let mut order: Vec<usize> = std::iter::once(lane).chain(inner.iter().copied()).collect();
    for _ in 0..SWEEPS {
        let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(at, part)| (*part, at)).collect();
        let mut near: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (a, b) in links {
            for (part, other) in [(a, b), (b, a)] {
                let sum = near.entry(*part).or_default();
                *sum = (sum.0 + place[other], sum.1 + 1);
            }
        }
        // A mean is an integer in thousandths, so that two means with a small difference remain different.
        let mean =
            |part: &usize| near.get(part).map_or(place[part] * 1000, |(sum, count)| sum * 1000 / count);
        let mut sorted = order.clone();
        sorted.sort_by_key(|part| (mean(part), place[part]));
        if sorted == order {
            break;
        }
        order = sorted;
    }
    order
}
