//! The items that a layout arranges, and the resulting positions in pixels.

/// The width of a character, in pixels. `LINE` is the height of a line of text.
pub(super) const CHAR: u32 = 7;
pub(super) const LINE: u32 = 17;
/// The width of a character of small text, in pixels.
pub(super) const SMALL_CHAR: u32 = 6;
/// The space between a box and its text, and around the content of the picture, in pixels.
pub(super) const PAD: u32 = 10;
/// The minimum space between two columns, in pixels.
pub(super) const GAP_X: u32 = 70;

/// The positions of nodes, edges and frames, in pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The width of the picture.
    pub width: u32,
    /// The height of the picture.
    pub height: u32,
    /// The box of each node.
    pub nodes: Vec<Place>,
    /// The points of each edge of the graph, from its first node to its second node.
    pub edges: Vec<Vec<(u32, u32)>>,
    /// The frame of each group; none for a group without content.
    pub frames: Vec<Option<Place>>,
}

/// The rectangle of a node or of a group's frame, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The left edge of the rectangle.
    pub x: u32,
    /// The upper edge of the rectangle.
    pub y: u32,
    /// The width of the rectangle.
    pub width: u32,
    /// The height of the rectangle.
    pub height: u32,
}

/// An item that the layout arranges: a node of the drawing, or a bend of an edge. Each item is in one column.
pub(super) struct Item {
    /// The number of the item's lane. A lane is the set of items that belong to one group; see the module
    /// `lanes`.
    pub(super) lane: usize,
    /// The number of the item's column, from 0 on the left.
    pub(super) column: usize,
    pub(super) width: u32,
    pub(super) height: u32,
    /// The neighbours of this item in previous columns, as indices in the list of items. Two items are
    /// neighbours if an edge runs directly from one to the other, and both have the same lane. `after` contains
    /// the neighbours in following columns.
    pub(super) before: Vec<usize>,
    pub(super) after: Vec<usize>,
    /// The vertical position of the item's middle, in pixels. Positions increase downwards from an arbitrary
    /// origin. The module `pixels` later computes the distances from the upper edge of the picture.
    pub(super) y: i64,
}

impl Item {
    /// Returns half of the item's height.
    pub(super) fn half(&self) -> i64 {
        i64::from(self.height / 2)
    }
}

/// Converts a count of characters or lines to `u32`. For a count above `u32::MAX`, the result is `u32::MAX / 1024`. The
/// product of this number and a size in pixels does not overflow. The counts of a real drawing are far below both
/// numbers.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX / 1024)
}
