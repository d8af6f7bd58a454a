//! The cache of a resolver.

use std::collections::HashMap;

use super::answer::Answer;
use super::error::ResolveError;
use crate::references::Key;

/// The state of a property in the cache. The type is small, because the cache of a large assembly contains
/// one state for each property.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    /// The evaluation of the property has not begun.
    Nothing,
    /// The property is being evaluated.
    Open,
    /// The value of the property depends on one output that is not known yet. The key identifies this output. Most
    /// unknown values have this state.
    Awaits(Key),
    /// The evaluation is complete. The number is the index of the property's answer in the list of answers.
    Answer(u32),
}

/// The cache of a resolver: the state of each property, and a list of answers. An answer is the value or the error
/// of an evaluated property. A state [`Found::Answer`] contains the index of an answer in this list. The methods
/// identify a property by its number (`References::number`).
pub(super) struct Known {
    found: ByNumber,
    answers: Vec<Result<Answer, ResolveError>>,
}

enum ByNumber {
    /// The states of the properties whose evaluation has begun. The key is the number of the property. A resolver
    /// that reads few properties uses this variant.
    Few(HashMap<u32, Found>),
    /// The states of all properties of the topology. The index is the number of the property. A resolver that reads
    /// most properties uses this variant.
    All(Vec<Found>),
}

impl Known {
    pub(super) fn few() -> Self {
        Self { found: ByNumber::Few(HashMap::new()), answers: Vec::new() }
    }

    /// Creates a cache for `count` properties.
    pub(super) fn all(count: usize) -> Self {
        Self { found: ByNumber::All(vec![Found::Nothing; count]), answers: Vec::new() }
    }

    pub(super) fn get(&self, number: u32) -> Found {
        match &self.found {
            ByNumber::Few(found) => found.get(&number).copied().unwrap_or(Found::Nothing),
            ByNumber::All(found) => found[number as usize],
        }
    }

    pub(super) fn set(&mut self, number: u32, found: Found) {
        match &mut self.found {
            ByNumber::Few(all) => drop(all.insert(number, found)),
            ByNumber::All(all) => all[number as usize] = found,
        }
    }

    /// Stores the answer of a property, which is a value or an error. Returns the state [`Found::Answer`] with
    /// the index of the stored answer.
    pub(super) fn keep(&mut self, answer: Result<Answer, ResolveError>) -> Found {
        self.answers.push(answer);
        Found::Answer(u32::try_from(self.answers.len() - 1).expect("there are less than 2^32 properties"))
    }

    pub(super) fn answer(&self, place: u32) -> &Result<Answer, ResolveError> {
        &self.answers[place as usize]
    }
}
