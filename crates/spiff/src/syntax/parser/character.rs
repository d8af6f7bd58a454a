//! Parses characters and words.

use std::sync::Arc;

use super::state::Parser;

impl Parser<'_> {
    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    pub(super) fn take(&mut self, c: char) -> Option<()> {
        (self.peek()? == c).then(|| self.at += 1)
    }

    pub(super) fn take_any(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        let c = self.peek().filter(|c| wanted(*c))?;
        self.at += 1;
        Some(c)
    }

    pub(super) fn skip(&mut self, wanted: impl Fn(char) -> bool) -> usize {
        let begin = self.at;
        while self.take_any(&wanted).is_some() {}
        self.at - begin
    }

    pub(super) fn word(&mut self, word: &str) -> Option<()> {
        let end =
            word.chars().try_fold(self.at, |at, c| (self.text.get(at) == Some(&c)).then_some(at + 1))?;
        self.at = end;
        Some(())
    }

    pub(super) fn slice(&self, begin: usize) -> String {
        self.text[begin..self.at].iter().collect()
    }

    /// Parses optional whitespace.
    pub(super) fn ws(&mut self) {
        let begin = self.at;
        self.skip(is_blank);
        self.note(begin);
    }

    /// Parses one or more whitespace characters. Returns `None` if there are none.
    pub(super) fn blank(&mut self) -> Option<()> {
        let begin = self.at;
        (self.skip(is_blank) > 0).then(|| self.note(begin))
    }

    pub(super) fn digits(&mut self) -> Option<()> {
        (self.skip(|c| c.is_ascii_digit()) > 0).then_some(())
    }

    pub(super) fn name(&mut self) -> Option<Arc<str>> {
        let begin = self.at;
        self.rule(|p| (p.skip(is_name) > 0).then(|| Arc::from(p.slice(begin))))
    }
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

pub(super) fn is_key(c: char) -> bool {
    is_name(c) || c == '-'
}
