//! What a resolver has found so far.

use std::collections::HashMap;

use super::{Answer, ResolveError};
use crate::references::Key;

/// What is known of a property, in a few bytes: there may be one for each property of a large assembly.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    /// Nothing yet.
    Nothing,
    /// It is being looked for.
    Open,
    /// It waits for what a driver has still to publish, and for nothing else. Most that waits at all does.
    Awaits(Key),
    /// What is at this place among the answers.
    Answer(u32),
}

/// What is known of the properties that were asked for, by their numbers.
pub(super) struct Known {
    found: ByNumber,
    answers: Vec<Result<Answer, ResolveError>>,
}

enum ByNumber {
    /// For who asks for a few of many.
    Few(HashMap<u32, Found>),
    /// For who asks for most of them.
    All(Vec<Found>),
}

impl Known {
    pub(super) fn few() -> Self {
        Self { found: ByNumber::Few(HashMap::new()), answers: Vec::new() }
    }

    /// Makes room for so many properties.
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

    /// Keeps a value, or why there is none.
    pub(super) fn keep(&mut self, answer: Result<Answer, ResolveError>) -> Found {
        self.answers.push(answer);
        Found::Answer(u32::try_from(self.answers.len() - 1).expect("there are less than 2^32 properties"))
    }

    pub(super) fn answer(&self, place: u32) -> &Result<Answer, ResolveError> {
        &self.answers[place as usize]
    }
}
