//! The limits of a composition. Without them, a file of a few lines could create any number of elements.

use std::collections::HashSet;

use windlass_model::DescriptorName;

use super::request::MAX_ELEMENTS;

/// Maximum bytes of copied properties, to which [`COPIED_EACH`] is added for each multiplied element.
const COPIED: usize = 64 << 20;

/// Additional bytes of copied properties for each multiplied element.
const COPIED_EACH: usize = 4096;

/// The error for an exceeded limit.
pub(super) struct Excess {
    pub(super) message: String,
    pub(super) help: String,
}

/// The elements and copies that were counted against the limits.
pub(super) struct Room {
    /// Maximum number of multiplied elements.
    nodes: usize,
    /// Whether a limit is exceeded.
    full: bool,
    /// Number of elements without a declaration of their own: nodes after the first, and the content of an
    /// assembly that is nested again.
    multiplied: usize,
    /// Bytes of properties that were copied, because their descriptor was used before.
    copied: usize,
    /// Descriptors that were used.
    used: HashSet<DescriptorName>,
    /// Assemblies that were nested.
    nested: HashSet<DescriptorName>,
    /// Number of enclosing nodes and nested assemblies that are repetitions.
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

    /// Enters a node of a group. All nodes except the first are repetitions. Returns the argument of `leave`.
    pub(super) fn enter_node(&mut self, index: u32) -> usize {
        self.enter(index > 1)
    }

    /// Enters a nested assembly. All assemblies of a descriptor except the first are repetitions. Returns the
    /// argument of `leave`.
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

    /// Checks that `count` more elements are allowed in addition to the existing `elements`. Returns the
    /// first limit that is exceeded.
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

    /// Counts the use of a descriptor with properties of `weight` bytes. From the second use on, the
    /// properties are copies. Returns the first limit that is exceeded.
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
