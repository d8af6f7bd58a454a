//! Lifecycle states, the transitions between them, and the states after failed transitions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// The lifecycle state of an element.
///
/// The states from `Absent` to `Active` are ordered by rank. `Broken` and `Failed` have no rank, so the condition "at
/// least Installed" is never true for a failed element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum State {
    /// The element does not exist yet, or no longer exists. TNC-O calls this state `null`.
    #[default]
    Absent,
    /// The infrastructure of the element exists.
    Created,
    /// The element is installed.
    Installed,
    /// The element is configured and stopped.
    Inactive,
    /// The element does its work.
    Active,
    /// The element was Active, and no longer works.
    Broken,
    /// A transition failed, and the condition of the element is unknown.
    Failed,
}

impl State {
    /// All lifecycle states.
    pub const ALL: [Self; 7] = [
        Self::Absent,
        Self::Created,
        Self::Installed,
        Self::Inactive,
        Self::Active,
        Self::Broken,
        Self::Failed,
    ];

    /// The ordered states, lowest first.
    pub const LADDER: [Self; 5] =
        [Self::Absent, Self::Created, Self::Installed, Self::Inactive, Self::Active];

    /// Returns the rank from 0 (`Absent`) to 4 (`Active`); none for `Broken` and `Failed`.
    pub fn rank(self) -> Option<u8> {
        match self {
            Self::Absent => Some(0),
            Self::Created => Some(1),
            Self::Installed => Some(2),
            Self::Inactive => Some(3),
            Self::Active => Some(4),
            Self::Broken | Self::Failed => None,
        }
    }

    /// Returns the word for the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "Absent",
            Self::Created => "Created",
            Self::Installed => "Installed",
            Self::Inactive => "Inactive",
            Self::Active => "Active",
            Self::Broken => "Broken",
            Self::Failed => "Failed",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for a word that is not a valid state, transition or modifier.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{word}` is no {kind}: one of {expected}")]
pub struct WordError {
    /// The word as given.
    pub word: String,
    /// The expected kind of word.
    pub kind: &'static str,
    /// The valid words, joined by commas.
    pub expected: &'static str,
}

/// Parses a state that a user may request, or that a relationship may require.
impl FromStr for State {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        match word {
            "Installed" => Ok(Self::Installed),
            "Inactive" => Ok(Self::Inactive),
            "Active" => Ok(Self::Active),
            _ => Err(WordError {
                word: word.to_owned(),
                kind: "state that can be asked for",
                expected: "Installed, Inactive, Active",
            }),
        }
    }
}

/// The order of two events: windlass creates a relationship, and an end of the relationship reaches a state. The ends
/// are the source and the target. The relationship declares a state and a modifier for each end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Modifier {
    /// windlass creates the relationship first. Then the source or target reaches its declared state.
    Pre,
    /// The source or target reaches its declared state first. Then windlass creates the relationship.
    Post,
}

impl fmt::Display for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pre => "pre",
            Self::Post => "post",
        })
    }
}

impl FromStr for Modifier {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        match word {
            "pre" => Ok(Self::Pre),
            "post" => Ok(Self::Post),
            _ => Err(WordError { word: word.to_owned(), kind: "state modifier", expected: "pre, post" }),
        }
    }
}

/// A lifecycle transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Transition {
    /// The transition Absent → Created.
    Create,
    /// The transition Created → Installed.
    Install,
    /// The transition Installed → Inactive.
    Configure,
    /// The transition Inactive → Active.
    Start,
    /// A check after Start. Start and Integrity together lead from Inactive to Active.
    Integrity,
    /// The transition Active → Active: gives the element new values of volatile properties, or a new package.
    Reconfigure,
    /// The transition Active → Inactive.
    Stop,
    /// The transition from Inactive or Installed to Created.
    Uninstall,
    /// The transition Created → Absent.
    Delete,
    /// The transition Absent → Active: takes over an existing instance. Adopt replaces Create, Install, Configure,
    /// Start and Integrity.
    Adopt,
}

impl Transition {
    /// All transitions, in lifecycle order.
    pub const ALL: [Self; 10] = [
        Self::Create,
        Self::Install,
        Self::Configure,
        Self::Start,
        Self::Integrity,
        Self::Reconfigure,
        Self::Stop,
        Self::Uninstall,
        Self::Delete,
        Self::Adopt,
    ];

    /// Returns the word for the transition, as descriptors write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Install => "Install",
            Self::Configure => "Configure",
            Self::Start => "Start",
            Self::Integrity => "Integrity",
            Self::Reconfigure => "Reconfigure",
            Self::Stop => "Stop",
            Self::Uninstall => "Uninstall",
            Self::Delete => "Delete",
            Self::Adopt => "Adopt",
        }
    }

    /// Returns the state of an element after the transition has succeeded.
    pub fn target(self) -> State {
        match self {
            Self::Create | Self::Uninstall => State::Created,
            Self::Install => State::Installed,
            Self::Configure | Self::Stop => State::Inactive,
            Self::Start | Self::Integrity | Self::Reconfigure | Self::Adopt => State::Active,
            Self::Delete => State::Absent,
        }
    }

    /// Returns the state of an element after the transition has failed. `from` is the state before the
    /// transition.
    pub fn on_failure(self, from: State) -> State {
        match self {
            Self::Create | Self::Install | Self::Stop => State::Failed,
            Self::Configure => State::Installed,
            Self::Start | Self::Integrity => State::Inactive,
            Self::Reconfigure => State::Active,
            Self::Uninstall | Self::Delete | Self::Adopt => from,
        }
    }

    /// Returns the transition that leads from the next lower state to `state`; none for `Absent`, `Broken`
    /// and `Failed`.
    pub fn up_into(state: State) -> Option<Self> {
        match state {
            State::Created => Some(Self::Create),
            State::Installed => Some(Self::Install),
            State::Inactive => Some(Self::Configure),
            State::Active => Some(Self::Start),
            State::Absent | State::Broken | State::Failed => None,
        }
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Transition {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        Self::ALL.into_iter().find(|t| t.as_str() == word).ok_or_else(|| WordError {
            word: word.to_owned(),
            kind: "transition",
            expected: "Create, Install, Configure, Start, Integrity, Reconfigure, Stop, Uninstall, Delete, Adopt",
        })
    }
}

/// A set of transitions, in lifecycle order. Copies are cheap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Transitions(u16);

impl Transitions {
    /// Tells whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of transitions.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Tells whether the set contains a transition.
    pub fn contains(self, transition: Transition) -> bool {
        self.0 & 1 << transition as u16 != 0
    }

    /// Tells whether the lifecycle of a resource with these transitions includes the state `Created`. The
    /// lifecycle includes this state if the set contains Create or Delete.
    pub fn has_created(self) -> bool {
        self.contains(Transition::Create) || self.contains(Transition::Delete)
    }

    /// Adds a transition to the set.
    pub fn insert(&mut self, transition: Transition) {
        self.0 |= 1 << transition as u16;
    }

    /// Returns the intersection with another set.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Returns the transitions, in lifecycle order.
    pub fn iter(self) -> impl Iterator<Item = Transition> {
        Transition::ALL.into_iter().filter(move |transition| self.contains(*transition))
    }
}

impl Extend<Transition> for Transitions {
    fn extend<I: IntoIterator<Item = Transition>>(&mut self, transitions: I) {
        for transition in transitions {
            self.insert(transition);
        }
    }
}

impl FromIterator<Transition> for Transitions {
    fn from_iter<I: IntoIterator<Item = Transition>>(transitions: I) -> Self {
        let mut all = Self::default();
        all.extend(transitions);
        all
    }
}

impl<const N: usize> From<[Transition; N]> for Transitions {
    fn from(transitions: [Transition; N]) -> Self {
        transitions.into_iter().collect()
    }
}

impl Serialize for Transitions {
    /// Serializes the transitions as a list.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Transitions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_is_climbed_by_transitions() {
        let ladder = State::LADDER.into_iter().filter_map(Transition::up_into);
        for (rank, transition) in (1..).zip(ladder) {
            assert_eq!(transition.target().rank(), Some(rank));
        }
    }

    #[test]
    fn only_three_states_can_be_asked_for() {
        assert_eq!("Active".parse(), Ok(State::Active));
        assert_eq!(
            "active".parse::<State>().unwrap_err().to_string(),
            "`active` is no state that can be asked for: one of Installed, Inactive, Active"
        );
        assert!("Created".parse::<State>().is_err());
    }

    #[test]
    fn a_set_of_transitions_is_in_the_order_of_a_life() {
        let set = Transitions::from([Transition::Adopt, Transition::Integrity, Transition::Start]);
        let all: Vec<Transition> = set.iter().collect();
        assert_eq!(all, [Transition::Start, Transition::Integrity, Transition::Adopt]);
        assert_eq!(set.len(), 3);
        assert!(set.contains(Transition::Adopt) && !set.contains(Transition::Create));
        assert!(Transition::ALL.into_iter().all(|one| Transitions::from([one]).iter().eq([one])));
    }

    #[test]
    fn words_round_trip() {
        for transition in Transition::ALL {
            assert_eq!(transition.as_str().parse(), Ok(transition));
        }
    }
}
