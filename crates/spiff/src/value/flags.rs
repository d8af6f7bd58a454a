//! Markers of a node.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of markers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// The flags without any marker.
    pub const NONE: Self = Self(0);
    /// `&temporary`: removed from the final result.
    pub const TEMPORARY: Self = Self(1);
    /// `&local`: removed when its document is finished.
    pub const LOCAL: Self = Self(1 << 1);
    /// `&inject`: added to the next document of the cascade.
    pub const INJECT: Self = Self(1 << 2);
    /// `&default`: added to the next document of the cascade where it is absent.
    pub const DEFAULT: Self = Self(1 << 3);
    /// `&state`: part of the state document.
    pub const STATE: Self = Self(1 << 4);
    /// `&dynamic`: a template that is instantiated in every document of the cascade.
    pub const DYNAMIC: Self = Self(1 << 5);
    /// The node was injected by a stub.
    pub const INJECTED: Self = Self(1 << 6);
    /// The node is part of a default.
    pub const IMPLIED: Self = Self(1 << 7);
    /// The entries of the list have no key.
    pub const NO_MERGE: Self = Self(1 << 8);
    /// List entries without a key don't merge by their position, because other entries were inserted between
    /// them.
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

    /// Tells whether the node is injected into the next document of the cascade, also as a default.
    pub const fn is_inject(self) -> bool {
        self.has(Self::INJECT) || self.has(Self::DEFAULT)
    }

    /// Tells whether the node is a default that never overrides.
    pub const fn is_default(self) -> bool {
        self.has(Self::DEFAULT) && !self.has(Self::INJECT)
    }

    /// Tells whether the node is inside of a default, but not the default itself.
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
