//! Searches a stream for many patterns in one pass. After each byte, the automaton reports how many of the last
//! bytes may be the start of a match.
//!
//! The module implements an Aho-Corasick automaton. The crate `aho-corasick` also finds matches, but does not
//! report how many of the last bytes may be the start of a match. With this number, windlass holds back only these
//! bytes of a log. Without this number, a log would lag by the length of the longest secret.

use std::collections::VecDeque;

use zeroize::Zeroize;

/// The patterns as a trie. Each state represents a byte string with which at least one pattern begins. Other states
/// may represent proper suffixes of this byte string. [`State::suffix`] is the state for the longest of these
/// suffixes.
#[derive(Debug, Default)]
pub(crate) struct Automaton {
    states: Vec<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Next states by byte, sorted by byte.
    edges: Vec<(u8, u32)>,
    suffix: u32,
    /// Number of bytes on the path from the start to this state.
    depth: u32,
    /// Length of the longest pattern that ends in this state; 0 if no pattern does.
    longest: u32,
}

/// The state before the first byte.
pub(crate) const START: u32 = 0;

impl Automaton {
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut automaton = Self { states: vec![State::default()] };
        for pattern in patterns {
            automaton.insert(pattern);
        }
        automaton.link();
        automaton
    }

    fn insert(&mut self, pattern: &[u8]) {
        let mut at = START;
        for &byte in pattern {
            at = self.edge(at, byte).unwrap_or_else(|found| self.grow(at, byte, found));
        }
        self.states[at as usize].longest = self.states[at as usize].depth;
    }

    /// Returns the next state for a byte, or the index at which a new edge for that byte is to be inserted.
    fn edge(&self, at: u32, byte: u8) -> Result<u32, usize> {
        let edges = &self.states[at as usize].edges;
        edges.binary_search_by_key(&byte, |&(b, _)| b).map(|found| edges[found].1)
    }

    fn grow(&mut self, at: u32, byte: u8, place: usize) -> u32 {
        // Patterns of 4 GiB would not fit into memory, since the automaton takes several times their size.
        let new = u32::try_from(self.states.len()).expect("fewer than 2^32 bytes of patterns");
        let depth = self.states[at as usize].depth + 1;
        self.states[at as usize].edges.insert(place, (byte, new));
        self.states.push(State { depth, ..State::default() });
        new
    }

    /// Sets [`State::suffix`] of each state. The order is breadth-first, because the suffix of a state is computed
    /// from the suffixes of states with shorter byte strings.
    fn link(&mut self) {
        let mut queue = VecDeque::from([START]);
        while let Some(at) = queue.pop_front() {
            for (byte, child) in self.states[at as usize].edges.clone() {
                let suffix =
                    if at == START { START } else { self.next(self.states[at as usize].suffix, byte) };
                let inherited = self.states[suffix as usize].longest;
                let state = &mut self.states[child as usize];
                state.suffix = suffix;
                state.longest = state.longest.max(inherited);
                queue.push_back(child);
            }
        }
    }

    /// Returns the state after one more byte. A call takes amortised constant time.
    pub(crate) fn next(&self, mut at: u32, byte: u8) -> u32 {
        loop {
            match self.edge(at, byte) {
                Ok(next) => return next,
                Err(_) if at == START => return START,
                Err(_) => at = self.states[at as usize].suffix,
            }
        }
    }

    /// Returns the length of the byte string that the state `at` represents. In this state, the last bytes that were
    /// read are this byte string, and may be the start of a match.
    pub(crate) fn depth(&self, at: u32) -> usize {
        self.states[at as usize].depth as usize
    }

    /// Returns the length of the longest pattern that ends in a state; 0 if no pattern does.
    pub(crate) fn longest(&self, at: u32) -> usize {
        self.states[at as usize].longest as usize
    }
}

/// Wipes the edges, which spell the secrets.
impl Drop for Automaton {
    fn drop(&mut self) {
        for edge in self.states.iter_mut().flat_map(|state| &mut state.edges) {
            edge.0.zeroize();
        }
    }
}
