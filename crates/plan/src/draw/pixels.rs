//! Positions in pixels: the last step of the [layout](super::layout).

use super::drawing::Drawing;
use super::geometry::{CHAR, GAP_X, Item, Layout, PAD, Place, SMALL_CHAR, number};
use super::lanes::{Frame, Lanes, MARGIN};

/// The items of the layout, and the positions and sizes of the columns.
pub(super) struct Columns<'a> {
    drawing: &'a Drawing,
    items: &'a [Item],
    frames: &'a [Option<Frame>],
    /// The space between the left edge of each frame and its first column. The space on the right is the same.
    margins: Vec<u32>,
    /// The left edge of each column. `widths` contains the width of each column.
    lefts: Vec<u32>,
    widths: Vec<u32>,
    /// The right edge of the last column, including the margins of frames.
    right: u32,
    /// The upper edge of the highest item or frame. This position has the same origin as [`Item::y`].
    top: i64,
}

impl<'a> Columns<'a> {
    /// Computes the positions and widths of the columns.
    pub(super) fn new(
        drawing: &'a Drawing,
        items: &'a [Item],
        lanes: &Lanes<'_>,
        frames: &'a [Option<Frame>],
    ) -> Self {
        let margins: Vec<u32> = (0..frames.len()).map(|group| lanes.depth(group) * MARGIN).collect();
        let margin = margins.iter().copied().max().unwrap_or(0);
        let gap = GAP_X.max(2 * margin + GAP_X / 2).max(room_for_names(drawing));
        let widths = widths(drawing, items, frames, &margins, gap);
        let mut lefts = Vec::with_capacity(widths.len());
        let mut x = PAD + margin;
        for width in &widths {
            lefts.push(x);
            x += width + gap;
        }
        let right = (x + margin).saturating_sub(gap);
        let tops = frames.iter().flatten().map(|frame| frame.top);
        let top = items.iter().map(|item| item.y - item.half()).chain(tops).min().unwrap_or(0);
        Self { drawing, items, frames, margins, lefts, widths, right, top }
    }

    /// Computes the positions of nodes, edges and frames.
    ///
    /// `chains` contains for each edge its nodes and bends from left to right. `turned` is true for an edge that closes
    /// a cycle: the chain of such an edge begins at the edge's second node. The result contains the points of each edge
    /// from the edge's first node to its second node.
    pub(super) fn layout(&self, turned: &[bool], chains: &[Vec<usize>]) -> Layout {
        let nodes = self.items[..self.drawing.nodes.len()].iter().map(|item| self.node(item)).collect();
        let edges = chains.iter().zip(turned).map(|(chain, turned)| {
            let mut points = self.edge(chain);
            if *turned {
                points.reverse();
            }
            points
        });
        let bottoms = self.frames.iter().flatten().map(|frame| self.down(frame.bottom));
        let lowest = self.items.iter().map(|item| self.down(item.y - item.half()) + item.height);
        Layout {
            width: self.right + PAD,
            height: lowest.chain(bottoms).max().unwrap_or(PAD) + PAD,
            nodes,
            edges: edges.collect(),
            frames: (0..self.frames.len()).map(|group| self.frame(group)).collect(),
        }
    }

    /// Converts the vertical position of an item to a position in the picture.
    fn down(&self, y: i64) -> u32 {
        PAD + u32::try_from(y - self.top).unwrap_or(u32::MAX / 1024)
    }

    fn node(&self, item: &Item) -> Place {
        Place {
            x: self.lefts[item.column],
            y: self.down(item.y - item.half()),
            width: item.width,
            height: item.height,
        }
    }

    /// Returns the points of an edge, from the right side of its first node to the left side of its last node.
    /// If the edge has a bend in a column, the edge runs horizontally through this column. Between columns, the
    /// edge may be inclined.
    fn edge(&self, chain: &[usize]) -> Vec<(u32, u32)> {
        let last = chain.len() - 1;
        let mut points = Vec::with_capacity(chain.len() + 1);
        for (number, at) in chain.iter().enumerate() {
            let item = &self.items[*at];
            let (left, y) = (self.lefts[item.column], self.down(item.y));
            if number == 0 {
                points.push((left + item.width, y));
            } else if number == last {
                points.push((left, y));
            } else {
                points.push((left, y));
                points.push((left + self.widths[item.column], y));
            }
        }
        points
    }

    fn frame(&self, group: usize) -> Option<Place> {
        let Frame { first, last, top, bottom } = self.frames[group]?;
        let margin = self.margins[group];
        let (left, right) = (self.lefts[first] - margin, self.lefts[last] + self.widths[last] + margin);
        let (y, height) = (self.down(top), self.down(bottom) - self.down(top));
        Some(Place { x: left, y, width: right - left, height })
    }
}

/// Returns the width of each column: the width of its widest item, or more if the label of a frame is wider
/// than the frame.
fn widths(
    drawing: &Drawing,
    items: &[Item],
    frames: &[Option<Frame>],
    margins: &[u32],
    gap: u32,
) -> Vec<u32> {
    let count = items.iter().map(|item| item.column + 1).max().unwrap_or(0);
    let mut widths = vec![0_u32; count];
    for item in items {
        widths[item.column] = widths[item.column].max(item.width);
    }
    // In reverse order, inner frames come first.
    for (group, frame) in frames.iter().enumerate().rev() {
        let Some(Frame { first, last, .. }) = frame else { continue };
        let inside: u32 = widths[*first..=*last].iter().sum();
        let has = inside + gap * number(last - first) + 2 * margins[group];
        let needs = number(drawing.groups[group].label.chars().count()) * CHAR + 2 * PAD;
        widths[*last] += needs.saturating_sub(has);
    }
    widths
}

/// Returns the space that the names of edges need between two columns.
fn room_for_names(drawing: &Drawing) -> u32 {
    if !drawing.shows_names() {
        return 0;
    }
    let longest = drawing.edges.iter().map(|edge| edge.shown_name().chars().count()).max().unwrap_or(0);
    if longest == 0 { 0 } else { number(longest) * SMALL_CHAR + 2 * PAD }
}
