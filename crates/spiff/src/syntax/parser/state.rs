//! The state of the parser, and the functions that combine rules.

use super::super::ast::Place;
use super::super::error::{MAX_DEPTH, SyntaxError};
use super::memory::{Memory, SLOTS, Slot};
use super::tree::Tree;
use crate::too_deep;

/// Maximum number of nested calls of [`Parser::remembered`] that parse one level of an expression.
const RULES_PER_LEVEL: u32 = 9;

/// A function that parses one rule of the grammar at the current position. Returns `None` if the rule does not match.
pub(super) type Rule = fn(&mut Parser<'_>) -> Option<Tree>;

/// The recursive rules of the grammar. [`Parser`] stores these rules. So other modules can call the rules without
/// importing them.
pub(super) struct Recursive {
    pub(super) expression: Rule,
    pub(super) or: Rule,
}

/// The state of the parser. A rule is a function that gets this state.
pub(super) struct Parser<'a> {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) farthest: (usize, usize),
    pub(super) memory: Vec<[Memory; SLOTS]>,
    pub(super) depth: u32,
    pub(super) place: &'a Place,
    pub(super) uses_place: bool,
    pub(super) fatal: Option<SyntaxError>,
    recursive: Recursive,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &str, place: &'a Place, recursive: Recursive) -> Self {
        let text: Vec<char> = text.chars().collect();
        let memory = vec![const { [const { Memory::Unknown }; SLOTS] }; text.len() + 1];
        Self {
            text,
            at: 0,
            farthest: (0, 0),
            memory,
            depth: 0,
            place,
            uses_place: false,
            fatal: None,
            recursive,
        }
    }

    pub(super) fn expression(&mut self) -> Option<Tree> {
        (self.recursive.expression)(self)
    }

    /// Parses operands separated by `||` and `//`.
    pub(super) fn or(&mut self) -> Option<Tree> {
        (self.recursive.or)(self)
    }

    /// Runs a rule. If the rule fails, restores the position. If it succeeds, records the match for error
    /// messages.
    pub(super) fn rule<T>(&mut self, body: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let begin = self.at;
        let found = body(self);
        match found {
            Some(_) => self.note(begin),
            None => self.at = begin,
        }
        found
    }

    pub(super) fn note(&mut self, begin: usize) {
        if begin != self.at && self.at > self.farthest.1 {
            self.farthest = (begin, self.at);
        }
    }

    /// Runs a parser function. If the function fails, restores the position.
    pub(super) fn attempt<T>(&mut self, body: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let begin = self.at;
        let found = body(self);
        if found.is_none() {
            self.at = begin;
        }
        found
    }

    pub(super) fn remembered(
        &mut self,
        slot: Slot,
        body: impl FnOnce(&mut Self) -> Option<Tree>,
    ) -> Option<Tree> {
        let begin = self.at;
        match &self.memory[begin][slot as usize] {
            Memory::Unknown => {}
            Memory::Failed => return None,
            Memory::Found(tree, end) => {
                self.at = *end as usize;
                return Some(tree.clone());
            }
        }
        if self.fatal.is_some() {
            return None;
        }
        self.depth += 1;
        let found = if self.depth > MAX_DEPTH * RULES_PER_LEVEL {
            self.fatal = Some(SyntaxError::TooDeep);
            None
        } else {
            too_deep::with_stack(|| self.rule(body))
        };
        self.depth -= 1;
        if let Some(tree) = &found
            && tree.depth > MAX_DEPTH
        {
            self.fatal = Some(SyntaxError::TooDeep);
            self.at = begin;
            return None;
        }
        self.memory[begin][slot as usize] = match &found {
            // A position fits into 32 bits, because the text is a scalar of a document, and the size of
            // documents is limited.
            Some(tree) => Memory::Found(tree.clone(), u32::try_from(self.at).unwrap_or(u32::MAX)),
            None => Memory::Failed,
        };
        found
    }

    pub(super) fn check(&mut self, tree: &Tree) -> Option<()> {
        if tree.depth > MAX_DEPTH {
            self.fatal = Some(SyntaxError::TooDeep);
            return None;
        }
        Some(())
    }
}
