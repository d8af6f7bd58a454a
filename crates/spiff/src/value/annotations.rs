//! Information about a node in addition to its value.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};
use std::sync::Arc;

use super::TemplateValue;
use crate::syntax::Path;

/// The information that processing needs about a node. It is dropped before the document is written.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a node")]
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    /// Markers.
    pub flags: Flags,
    /// Path in the stubs at which its fields are looked up.
    pub redirect: Redirect,
    /// Whether it is the result of `merge replace`, which is taken unchanged.
    pub replace: bool,
    /// Whether a merge expression took the value from a stub, so that it is not overridden again.
    pub merged: bool,
    /// Whether it was marked by `prefer`.
    pub preferred: bool,
    /// Key field of a list (`key:id` of its entries).
    pub key_name: Option<Arc<str>>,
    /// Name given by `&tag:`; a leading `*` makes it global.
    pub tag: Option<Arc<str>>,
    /// Whether the value is `~~`, so that the node is removed from its map or list.
    pub undefined: bool,
    /// Whether the problem is the node's own, not that of a node it depends on.
    pub error: bool,
    /// Whether the problem is final.
    pub failed: bool,
    /// Problem, if there is one.
    pub issue: Option<Arc<Issue>>,
    /// Template that created the value of a `&dynamic` node; the next level creates a new value from it.
    pub template: Option<Arc<dyn TemplateValue>>,
}

impl PartialEq for Annotations {
    fn eq(&self, other: &Self) -> bool {
        let template = match (&self.template, &other.template) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a.original().value() == b.original().value(),
            _ => false,
        };
        template
            && self.flags == other.flags
            && self.redirect == other.redirect
            && (self.replace, self.merged, self.preferred) == (other.replace, other.merged, other.preferred)
            && (self.undefined, self.error, self.failed) == (other.undefined, other.error, other.failed)
            && self.key_name == other.key_name
            && self.tag == other.tag
            && self.issue == other.issue
    }
}

/// A problem of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issue {
    /// Message.
    pub message: String,
    /// Problems that caused it.
    pub nested: Vec<Issue>,
    /// Whether the nested problems are a chain of calls, not nodes of an inner document.
    pub chain: bool,
    /// Path at which it occurred.
    pub path: Option<Path>,
}

impl Issue {
    /// Creates a problem with only a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

impl Annotations {
    /// The annotations of a plain node.
    pub const NONE: Self = Self {
        flags: Flags::NONE,
        redirect: Redirect::None,
        replace: false,
        merged: false,
        preferred: false,
        key_name: None,
        tag: None,
        undefined: false,
        error: false,
        failed: false,
        issue: None,
        template: None,
    };
}

/// The place in the stubs at which the content of a node is looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Redirect {
    /// At the node's own path.
    #[default]
    None,
    /// Nowhere: there is no merging below the node.
    Nowhere,
    /// At this path.
    To(Arc<[Arc<str>]>),
}

/// A set of markers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// No marker.
    pub const NONE: Self = Self(0);
    /// `&temporary`: removed from the final result.
    pub const TEMPORARY: Self = Self(1);
    /// `&local`: removed when its document is finished.
    pub const LOCAL: Self = Self(1 << 1);
    /// `&inject`: added to the next level.
    pub const INJECT: Self = Self(1 << 2);
    /// `&default`: added to the next level where it is absent.
    pub const DEFAULT: Self = Self(1 << 3);
    /// `&state`: part of the state document.
    pub const STATE: Self = Self(1 << 4);
    /// `&dynamic`: a template that is instantiated at every level.
    pub const DYNAMIC: Self = Self(1 << 5);
    /// The node was injected by a stub.
    pub const INJECTED: Self = Self(1 << 6);
    /// The node is part of a default.
    pub const IMPLIED: Self = Self(1 << 7);
    /// The entries of the list have no key.
    pub const NO_MERGE: Self = Self(1 << 8);
    /// Entries of the list without a key don't merge by their position: others were inserted between them.
    pub const NO_POSITION: Self = Self(1 << 9);

    const NAMES: [(Self, &'static str); 10] = [
        (Self::TEMPORARY, "temporary"),
        (Self::LOCAL, "local"),
        (Self::INJECT, "inject"),
        (Self::DEFAULT, "default"),
        (Self::STATE, "state"),
        (Self::DYNAMIC, "dynamic"),
        (Self::INJECTED, "injected"),
        (Self::IMPLIED, "implied"),
        (Self::NO_MERGE, "nomerge"),
        (Self::NO_POSITION, "noposition"),
    ];

    /// Tells whether all flags of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns this set without the flags of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the flags that are in both sets.
    pub const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Tells whether no flag is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Tells whether the node is injected into the next level, also as a default.
    pub const fn is_inject(self) -> bool {
        self.has(Self::INJECT) || self.has(Self::DEFAULT)
    }

    /// Tells whether the node is a default that never overrides.
    pub const fn is_default(self) -> bool {
        self.has(Self::DEFAULT) && !self.has(Self::INJECT)
    }

    /// Tells whether the node is part of a default, but not one itself.
    pub const fn is_implied(self) -> bool {
        self.has(Self::IMPLIED) && !self.has(Self::DEFAULT)
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Self::NAMES.iter().filter(|(flag, _)| self.has(*flag)).map(|(_, n)| n)).finish()
    }
}
