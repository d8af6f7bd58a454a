//! The text under repair, and the way back to the original offsets.

use std::borrow::Cow;

use crate::{Edit, Source, Span};

/// A text with edits, and what each of its offsets was before them.
pub(super) struct Draft<'s> {
    original: &'s str,
    text: Cow<'s, str>,
    /// Edits in original offsets, in order, apart from one another.
    edits: Vec<Edit>,
    /// For each edit: where the text behind it starts in the draft, and in the original.
    behind: Vec<(usize, usize)>,
}

impl<'s> Draft<'s> {
    pub(super) fn new(source: &'s Source) -> Self {
        let original = source.text();
        Self { original, text: Cow::Borrowed(original), edits: Vec::new(), behind: Vec::new() }
    }

    /// The text as repaired so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Makes repairs, given in offsets of the draft. Says whether the text has changed, without which reading it
    /// again would lead to the same error.
    pub(super) fn apply(&mut self, repair: Vec<Edit>) -> bool {
        let before = std::mem::take(&mut self.text);
        for edit in repair {
            let span = self.span(edit.span.range());
            self.insert(Edit { span, ..edit });
        }
        self.rebuild();
        self.text != before
    }

    /// Adds an edit; those that it covers or cuts are replaced by it.
    fn insert(&mut self, edit: Edit) {
        let meets = |old: &Edit| {
            let cuts = old.span.start < edit.span.end && edit.span.start < old.span.end;
            cuts || edit.span.start <= old.span.start && old.span.end <= edit.span.end
        };
        let (met, mut apart): (Vec<_>, Vec<_>) = self.edits.drain(..).partition(meets);
        let span = met.iter().fold(edit.span, |span, old| span.to(old.span));
        apart.push(Edit { span, ..edit });
        apart.sort_by_key(|edit| edit.span);
        self.edits = apart;
    }

    fn rebuild(&mut self) {
        let mut text = String::with_capacity(self.original.len());
        let mut done = 0;
        self.behind.clear();
        for edit in &self.edits {
            let range = edit.span.range();
            text.push_str(&self.original[done..range.start]);
            text.push_str(&edit.replacement);
            done = range.end;
            self.behind.push((text.len(), done));
        }
        text.push_str(&self.original[done..]);
        self.text = Cow::Owned(text);
    }

    /// A range of the draft as a span of the original.
    pub(super) fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span::from(self.back(range.start)..self.back(range.end))
    }

    /// An offset of the draft in the original; one inside a replacement is where the replaced text starts.
    fn back(&self, at: usize) -> usize {
        let passed = self.behind.partition_point(|&(draft, _)| draft <= at);
        let (draft, original) = match passed.checked_sub(1) {
            Some(last) => self.behind[last],
            None => (0, 0),
        };
        let plain = original + (at - draft);
        match self.edits.get(passed) {
            Some(next) => plain.min(next.span.start as usize),
            None => plain.min(self.original.len()),
        }
    }
}
