//! Flags of a node.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of flags of a node. Some flags are markers that the template contains, such as `&temporary`. The engine itself
/// sets the other flags.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// `&temporary`: the node is removed from the final result.
    pub const TEMPORARY: Self = Self(1);
    /// `&local`: the node is removed when its own document is finished.
    pub const LOCAL: Self = Self(1 << 1);
    /// `&inject`, a marker of a node in a stub. A stub supplies values to a document. If this document lacks the
    /// marked node, the engine adds the node to the document. If this document contains the node, the value in the
    /// stub overrides the value in the document.
    pub const INJECT: Self = Self(1 << 2);
    /// `&default`, a marker of a node in a stub. A stub supplies values to a document. If this document lacks the
    /// marked node, the engine adds the node to the document. If this document contains the node, the document
    /// keeps its own value.
    pub const DEFAULT: Self = Self(1 << 3);
    /// `&state`: the node is part of the document [`Processed::state`](crate::Processed::state).
    pub const STATE: Self = Self(1 << 4);
    /// `&dynamic`: the value of the node is a template, or was created from a template. If a document takes the node
    /// from a stub, the document gets a new value. The engine creates this value from the template.
    pub const DYNAMIC: Self = Self(1 << 5);
    /// The engine has added the node from a stub.
    pub const INJECTED: Self = Self(1 << 6);
    /// The node is part of a map with the marker `&default`. The fields of such a map have this flag. If one of
    /// these fields is a map, its fields also have this flag.
    pub const IMPLIED: Self = Self(1 << 7);
    /// In this list, no key field identifies the entries.
    pub const NO_MERGE: Self = Self(1 << 8);
    /// In this list, an entry without a key does not get the value of the stub's entry at the same position. The reason
    /// is that a merge can insert entries, so the positions can differ.
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

    /// Tells whether the flag [`INJECT`](Self::INJECT) or [`DEFAULT`](Self::DEFAULT) is set. A stub supplies values
    /// to a document. In a stub, these flags mark a node that the engine adds to this document if the document
    /// lacks the node.
    pub const fn is_inject(self) -> bool {
        self.has(Self::INJECT) || self.has(Self::DEFAULT)
    }

    /// Tells whether the node has the marker `&default`, but not `&inject`. Such a node overrides no other value.
    pub const fn is_default(self) -> bool {
        self.has(Self::DEFAULT) && !self.has(Self::INJECT)
    }

    /// Tells whether the node lacks the marker `&default`, but is part of a map that has this marker.
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
