//! A layered layout: columns from left to right. The nodes of a column stand below each other.
//!
//! 1. The graph may have cycles, for example a graph of relationships. An edge that closes a cycle is treated
//!    as if it had the opposite direction.
//! 2. Each node is placed in the column after the last of its predecessors (longest path). Nodes without edges
//!    fill several columns, because one column for all of them would be too tall.
//! 3. An edge that crosses several columns gets a bend in each of them, so that it runs around the nodes there.
//! 4. The items of each column are sorted by the mean position of their neighbours (barycentre). Passes from
//!    the first to the last column and passes in the opposite direction alternate, a fixed number of times.
//! 5. The items of each column are moved so that edges are as horizontal as the order of the items allows.
//! 6. Columns get their widths, and nodes, edges and frames get their positions in pixels (module `pixels`).
//!
//! If the drawing has groups, steps 4 and 5 are done for each group separately. The groups are then stacked,
//! and each group gets a frame (module `lanes`).

use std::collections::BTreeMap;

use super::drawing::{Drawing, Edge};
use super::geometry::{CHAR, Item, LINE, PAD, number};
use super::lanes::{Frame, Lanes, lane};
use super::pixels::Columns;

pub use super::geometry::{Layout, Place};

/// The space between two boxes of a column, in pixels.
const GAP_Y: u32 = 12;
/// The number of passes that sort the items of each column. The same number of passes then moves the items up
/// or down, towards their neighbours. Two items are neighbours if an edge connects them.
const SWEEPS: usize = 6;
/// The minimum number of rows in which the nodes without edges are arranged.
const FEW: usize = 8;
/// The number of bends after which further edges get no bends.
const BENDS: usize = 100_000;

/// Computes the layout of a drawing.
pub fn layout(drawing: &Drawing) -> Layout {
    let lanes = Lanes::of(drawing);
    let turned = turned(drawing);
    let columns = columns(drawing, &turned);
    let mut items: Vec<Item> = drawing
        .nodes
        .iter()
        .zip(&columns)
        .map(|(node, column)| {
            let longest = node.label.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            let rows = node.label.lines().count().max(1);
            Item {
                lane: lane(node.group),
                column: *column,
                width: number(longest) * CHAR + 2 * PAD,
                height: number(rows) * LINE + PAD,
                before: Vec::new(),
                after: Vec::new(),
                y: 0,
            }
        })
        .collect();
    let chains = chains(drawing, &turned, &columns, &lanes, &mut items);
    let mut order: Vec<BTreeMap<usize, Vec<usize>>> = vec![BTreeMap::new(); lanes.count()];
    for (at, item) in items.iter().enumerate() {
        order[item.lane].entry(item.column).or_default().push(at);
    }
    for columns in order {
        let mut columns: Vec<Vec<usize>> = columns.into_values().collect();
        stack(&mut items, &columns);
        for sweep in 0..SWEEPS {
            sort(&mut items, &mut columns, sweep % 2 == 0);
        }
        for sweep in 0..SWEEPS {
            level(&mut items, &columns, sweep % 2 == 0);
        }
    }
    let frames = arrange(drawing, &lanes, &mut items);
    Columns::new(drawing, &items, &lanes, &frames).layout(&turned, &chains)
}

/// Stacks the lanes, moves the items together with their lanes, and returns the frame of each group. A lane is the
/// set of items that belong to one group, or to no group.
fn arrange(drawing: &Drawing, lanes: &Lanes<'_>, items: &mut [Item]) -> Vec<Option<Frame>> {
    let mut spans: Vec<BTreeMap<usize, (i64, i64)>> = vec![BTreeMap::new(); lanes.count()];
    for item in items.iter() {
        let (top, bottom) = (item.y - item.half(), item.y - item.half() + i64::from(item.height));
        let span = spans[item.lane].entry(item.column).or_insert((top, bottom));
        *span = (span.0.min(top), span.1.max(bottom));
    }
    let group = |node: usize| lane(drawing.nodes[node].group);
    let arranged = lanes.arrange(spans, drawing.edges.iter().map(|edge| (group(edge.from), group(edge.to))));
    for item in items {
        item.y += arranged.shifts[item.lane];
    }
    arranged.frames
}

/// Tells for each edge whether it closes a cycle. The function finds these edges by a depth-first search, with an
/// explicit stack.
fn turned(drawing: &Drawing) -> Vec<bool> {
    let count = drawing.nodes.len();
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, edge) in drawing.edges.iter().enumerate() {
        out[edge.from].push(at);
    }
    let mut turned = vec![false; drawing.edges.len()];
    // 0: not visited, 1: on the current path, 2: done.
    let mut state = vec![0_u8; count];
    for start in 0..count {
        let mut stack = vec![(start, 0)];
        while let Some((node, next)) = stack.pop() {
            if next == 0 && state[node] != 0 {
                continue;
            }
            state[node] = 1;
            let Some(edge) = out[node].get(next).copied() else {
                state[node] = 2;
                continue;
            };
            stack.push((node, next + 1));
            let to = drawing.edges[edge].to;
            match state[to] {
                0 => stack.push((to, 0)),
                1 => turned[edge] = true,
                _ => {}
            }
        }
    }
    turned
}

/// Returns the two nodes of an edge: first the node whose column is further to the left.
fn ends(drawing: &Drawing, turned: &[bool], edge: usize) -> (usize, usize) {
    let Edge { from, to, .. } = drawing.edges[edge];
    if turned[edge] { (to, from) } else { (from, to) }
}

/// Returns the column of each node.
///
/// A node with edges is one column to the right of its rightmost predecessor. Without a predecessor, it is in the first
/// column. In each group, the nodes without edges form a block of rows and columns. The nodes without edges outside of
/// all groups form another block.
fn columns(drawing: &Drawing, turned: &[bool]) -> Vec<usize> {
    let count = drawing.nodes.len();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut open = vec![0_usize; count];
    for edge in 0..drawing.edges.len() {
        let (from, to) = ends(drawing, turned, edge);
        if from != to {
            after[from].push(to);
            open[to] += 1;
        }
    }
    let mut columns = vec![0; count];
    let mut free: Vec<usize> = (0..count).filter(|at| open[*at] == 0).collect();
    while let Some(node) = free.pop() {
        for to in &after[node] {
            columns[*to] = columns[*to].max(columns[node] + 1);
            open[*to] -= 1;
            if open[*to] == 0 {
                free.push(*to);
            }
        }
    }
    let mut alone = vec![true; count];
    for edge in &drawing.edges {
        alone[edge.from] = false;
        alone[edge.to] = false;
    }
    let mut of_group: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for node in (0..count).filter(|at| alone[*at]) {
        of_group.entry(drawing.nodes[node].group).or_default().push(node);
    }
    let begins = begins(drawing, &alone, &columns);
    for (group, alone) in of_group {
        let rows = rows(alone.len());
        let first = group.and_then(|group| begins[group]).unwrap_or(0);
        for (place, node) in alone.into_iter().enumerate() {
            columns[node] = first + place / rows;
        }
    }
    columns
}

/// Returns for each group the first column that contains a connected node of the group. A node is connected if it has
/// edges. The other nodes of the group later form a block that begins in this column. `None` means that the group has
/// no connected node. A node of an inner group also counts as a node of the outer group.
fn begins(drawing: &Drawing, alone: &[bool], columns: &[usize]) -> Vec<Option<usize>> {
    let mut begins: Vec<Option<usize>> = vec![None; drawing.groups.len()];
    let earlier = |begin: &mut Option<usize>, column: usize| {
        *begin = Some(begin.map_or(column, |begin| begin.min(column)));
    };
    for (at, node) in drawing.nodes.iter().enumerate().filter(|(at, _)| !alone[*at]) {
        if let Some(group) = node.group {
            earlier(&mut begins[group], columns[at]);
        }
    }
    // A group that contains other groups comes before them.
    for group in (0..drawing.groups.len()).rev() {
        if let (Some(parent), Some(column)) = (drawing.groups[group].parent, begins[group]) {
            earlier(&mut begins[parent], column);
        }
    }
    begins
}

/// Returns the number of rows in which nodes without edges are arranged. `alone` is the number of these nodes.
///
/// With this number of rows, the block of all these nodes is about as wide as it is high. The function assumes that
/// the width of a single node is about five times its height.
fn rows(alone: usize) -> usize {
    (alone * 5).isqrt().max(FEW)
}

/// Adds items for the bends of edges. Returns for each edge its first node, its bends and its last node, from
/// left to right.
fn chains(
    drawing: &Drawing,
    turned: &[bool],
    columns: &[usize],
    lanes: &Lanes<'_>,
    items: &mut Vec<Item>,
) -> Vec<Vec<usize>> {
    let mut chains = Vec::with_capacity(drawing.edges.len());
    let mut bends = 0;
    for edge in 0..drawing.edges.len() {
        let (from, to) = ends(drawing, turned, edge);
        let mut chain = vec![from];
        if bends < BENDS {
            let lane = lanes.between(items[from].lane, items[to].lane);
            for column in columns[from] + 1..columns[to] {
                let (before, after) = (Vec::new(), Vec::new());
                items.push(Item { lane, column, width: 0, height: 4, before, after, y: 0 });
                chain.push(items.len() - 1);
                bends += 1;
            }
        }
        chain.push(to);
        // Items of different lanes are not neighbours here, because the lanes are stacked later.
        let near = |pair: &&[usize]| pair[0] != pair[1] && items[pair[0]].lane == items[pair[1]].lane;
        let pairs: Vec<[usize; 2]> = chain.windows(2).filter(near).map(|pair| [pair[0], pair[1]]).collect();
        for pair in pairs {
            items[pair[0]].after.push(pair[1]);
            items[pair[1]].before.push(pair[0]);
        }
        chains.push(chain);
    }
    chains
}

/// Sets the vertical position of each item to an initial value: the items of a column lie directly below each other.
/// The functions [`sort`] and [`level`] improve the positions later. `order` contains for each column its items from
/// top to bottom.
fn stack(items: &mut [Item], order: &[Vec<usize>]) {
    for column in order {
        stack_column(items, column);
    }
}

fn stack_column(items: &mut [Item], column: &[usize]) {
    let mut top = 0;
    for at in column {
        items[*at].y = top + items[*at].half();
        top += i64::from(items[*at].height + GAP_Y);
    }
}

/// Returns the mean position of an item's neighbours in the previous columns (`before`) or in the following
/// columns; none if the item has no such neighbour.
fn mean(items: &[Item], at: usize, before: bool) -> Option<i64> {
    let item = &items[at];
    let neighbours = if before { &item.before } else { &item.after };
    let sum: i64 = neighbours.iter().map(|at| items[*at].y).sum();
    sum.checked_div(i64::try_from(neighbours.len()).unwrap_or(i64::MAX))
}

/// Sorts the items of each column by the mean position of their neighbours. If `forward` is true, the function
/// considers the neighbours in the previous columns. Otherwise, it considers the neighbours in the following
/// columns.
fn sort(items: &mut [Item], order: &mut [Vec<usize>], forward: bool) {
    let count = order.len();
    for step in 0..count {
        let column = if forward { step } else { count - 1 - step };
        let mut keyed: Vec<(i64, usize)> =
            order[column].iter().map(|at| (mean(items, *at, forward).unwrap_or(items[*at].y), *at)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        order[column] = keyed.into_iter().map(|(_, at)| at).collect();
        stack_column(items, &order[column]);
    }
}

/// Moves each item towards the mean position of the items to which edges connect it, so that the edges become flat. The
/// order of the items in a column does not change.
///
/// If `forward` is true, the function considers the items of the previous columns. Otherwise, it considers the
/// items of the following columns.
fn level(items: &mut [Item], order: &[Vec<usize>], forward: bool) {
    let count = order.len();
    for step in 0..count {
        let column = &order[if forward { step } else { count - 1 - step }];
        let wanted: Vec<i64> =
            column.iter().map(|at| mean(items, *at, forward).unwrap_or(items[*at].y)).collect();
        // One pass moves items down so that no item overlaps the item above it. The other pass moves items up
        // so that no item overlaps the item below it. The positions from both passes keep the order, and so
        // does their mean.
        let mut lower = Vec::with_capacity(column.len());
        let mut bottom = i64::MIN / 2;
        for (at, wanted) in column.iter().zip(&wanted) {
            let y = (*wanted).max(bottom + items[*at].half());
            bottom = y + i64::from(items[*at].height) - items[*at].half() + i64::from(GAP_Y);
            lower.push(y);
        }
        let mut top = i64::MAX / 2;
        for ((at, wanted), lower) in column.iter().zip(&wanted).zip(&lower).rev() {
            let item = &mut items[*at];
            let y = (*wanted).min(top - i64::from(item.height) + item.half());
            top = y - item.half() - i64::from(GAP_Y);
            item.y = (lower + y).div_euclid(2);
        }
    }
}
