//! The limits on the size of a composition.
//!
//! Without these limits, a file of a few lines could create any number of elements. One of the limits is for
//! *copied elements*; [`MAX_NODES`](super::MAX_NODES) explains this term.

use std::collections::HashSet;

use windlass_model::DescriptorName;

use super::request::MAX_ELEMENTS;

/// Basic limit in bytes for the total size of all copied properties; see [`Room::copy`]. Each element of the assembly
/// raises the limit by [`COPIED_EACH`].
const COPIED: usize = 64 << 20;

/// Number of bytes by which each element of the assembly raises the limit [`COPIED`].
const COPIED_EACH: usize = 4096;

/// The error for an exceeded limit.
pub(super) struct Excess {
    pub(super) message: String,
    pub(super) help: String,
}

/// Counts the copied elements of a composition and the bytes of copied properties, and checks both numbers against
/// their limits.
pub(super) struct Room {
    /// Maximum number of copied elements; see [`MAX_NODES`](super::MAX_NODES).
    nodes: usize,
    /// Whether the composition has refused an element because of a limit. Then the composition creates no further
    /// components and nodes.
    full: bool,
    /// Number of copied elements so far. The field `nodes` is the limit for this number.
    multiplied: usize,
    /// Total size in bytes of all copied properties so far; see [`copy`](Self::copy).
    copied: usize,
    /// Names of the descriptors from which elements were created.
    used: HashSet<DescriptorName>,
    /// Names of the descriptors from which nested assemblies were created.
    nested: HashSet<DescriptorName>,
    /// Number of copies (nodes and nested assemblies) whose composition has begun and not ended.
    repeated: usize,
}

impl Room {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            nodes,
            full: false,
            multiplied: 0,
            copied: 0,
            used: HashSet::new(),
            nested: HashSet::new(),
            repeated: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Records that the composition of a node of a group begins. `index` is the number of the node, from 1. Each
    /// node after the first node counts as a copy. When the composition of the node ends, the caller passes the
    /// returned value to [`leave`](Self::leave).
    pub(super) fn enter_node(&mut self, index: u32) -> usize {
        self.enter(index > 1)
    }

    /// Records that the composition of a nested assembly begins. If an assembly with the same descriptor was nested
    /// before, the new one counts as a copy. When the composition of the assembly ends, the caller passes the
    /// returned value to [`leave`](Self::leave).
    pub(super) fn enter_assembly(&mut self, descriptor: &DescriptorName) -> usize {
        let again = !self.nested.insert(descriptor.clone());
        self.enter(again)
    }

    fn enter(&mut self, again: bool) -> usize {
        self.repeated += usize::from(again);
        usize::from(again)
    }

    pub(super) fn leave(&mut self, entered: usize) {
        self.repeated -= entered;
    }

    /// Checks whether the limits permit `count` more elements, and returns an error if not. `elements` is the present
    /// number of elements of the assembly.
    ///
    /// Only the first error is reported: if this method or [`copy`](Self::copy) has already returned an error, the
    /// result is `None`.
    pub(super) fn fits(&mut self, elements: usize, count: u32) -> Option<Excess> {
        let more = usize::try_from(count).unwrap_or(usize::MAX);
        let multiplied = if self.repeated > 0 { more } else { more.saturating_sub(1) };
        let excess = if elements.saturating_add(more) > MAX_ELEMENTS {
            let message = format!("the assembly would have more than {MAX_ELEMENTS} elements");
            Excess { message, help: String::new() }
        } else if self.multiplied.saturating_add(multiplied) > self.nodes {
            let message = format!(
                "`quantity`, `cluster` and nested assemblies would make more than {} elements",
                self.nodes
            );
            let help = format!("allow up to {MAX_ELEMENTS} by `limits: {{nodes: …}}` in `windlass.yaml`");
            Excess { message, help }
        } else {
            return None;
        };
        self.exceeded(excess)
    }

    /// Counts a new element. `weight` is the total size of its properties in bytes.
    ///
    /// Returns an error if the total size of all copied properties exceeds the limit. Only the first error is reported:
    /// if this method or [`fits`](Self::fits) has already returned an error, the result is `None`.
    ///
    /// The properties of an element count as copied in two cases:
    ///
    /// - An earlier element has the same descriptor.
    /// - The element is inside a copy of a [node](Self::enter_node), or inside a copy of a
    ///   [nested assembly](Self::enter_assembly).
    pub(super) fn copy(
        &mut self,
        elements: usize,
        descriptor: Option<&DescriptorName>,
        weight: usize,
    ) -> Option<Excess> {
        self.multiplied += usize::from(self.repeated > 0);
        let is_new = descriptor.is_none_or(|name| self.used.insert(name.clone()));
        if is_new && self.repeated == 0 {
            return None;
        }
        self.copied = self.copied.saturating_add(weight);
        let allowed = COPIED.saturating_add(elements.saturating_mul(COPIED_EACH));
        if self.copied <= allowed {
            return None;
        }
        let message = format!("the elements would have more than {} MiB of properties", allowed >> 20);
        let help = "make fewer of them, or give them shorter values".to_owned();
        self.exceeded(Excess { message, help })
    }

    fn exceeded(&mut self, excess: Excess) -> Option<Excess> {
        let first = !std::mem::replace(&mut self.full, true);
        first.then_some(excess)
    }
}
