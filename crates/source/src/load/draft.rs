//! The draft of a text: the text with its repairs, and a mapping to the original offsets.

use std::borrow::Cow;

use crate::{Edit, Source, Span};

/// A text with edits, and a mapping from its offsets to the offsets of the original text.
pub(super) struct Draft<'s> {
    original: &'s str,
    text: Cow<'s, str>,
    /// The edits in order, without overlaps. Their offsets are those of the original text.
    edits: Vec<Edit>,
    /// For each edit, two offsets: the end of the replacement in `text`, and the end of the replaced text in
    /// `original`.
    behind: Vec<(usize, usize)>,
}

impl<'s> Draft<'s> {
    pub(super) fn new(source: &'s Source) -> Self {
        let original = source.text();
        Self { original, text: Cow::Borrowed(original), edits: Vec::new(), behind: Vec::new() }
    }

    /// Returns the text as repaired so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Applies repairs. The spans of `repairs` are byte offsets in [`text`](Self::text) before this call. Returns
    /// whether the text has changed. If the text has not changed, a second reading would stop at the same error.
    pub(super) fn apply(&mut self, repairs: Vec<Edit>) -> bool {
        let new = repairs.into_iter().map(|edit| self.mapped(edit)).collect();
        let before = std::mem::take(&mut self.text);
        self.insert(new);
        self.rebuild();
        self.text != before
    }

    /// Tells whether a repair would change an earlier repair. The spans of `repair` are byte offsets in
    /// [`text`](Self::text).
    pub(super) fn repairs_again(&self, repair: &[Edit]) -> bool {
        let mapped = repair.iter().map(|edit| self.span(edit.span.range()));
        mapped.into_iter().any(|span| self.edits.iter().any(|old| meet(old.span, span)))
    }

    fn mapped(&self, edit: Edit) -> Edit {
        Edit { span: self.span(edit.span.range()), ..edit }
    }

    /// Adds edits. If a new edit covers or overlaps an earlier edit, the new edit replaces the earlier one. The range
    /// of the new edit is then extended to the whole range of the earlier edit.
    fn insert(&mut self, new: Vec<Edit>) {
        let mut new = apart(new);
        for old in std::mem::take(&mut self.edits) {
            let first = new.partition_point(|edit| edit.span.end < old.span.start);
            let near = new[first..].iter_mut().take_while(|edit| edit.span.start <= old.span.end);
            match near.into_iter().find(|edit| meet(old.span, edit.span)) {
                Some(edit) => edit.span = edit.span.to(old.span),
                None => self.edits.push(old),
            }
        }
        self.edits.append(&mut new);
        self.edits = apart(std::mem::take(&mut self.edits));
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

    /// Converts a range of the draft to a span of the original text.
    pub(super) fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span::from(self.back(range.start)..self.back(range.end))
    }

    /// Converts an offset of the draft to an offset of the original text. An offset inside a replacement
    /// becomes the start of the replaced text.
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

/// Sorts edits, and drops one of two edits that overlap. The edit with the earlier start is kept. If both have the same
/// start, the longer edit is kept.
fn apart(mut edits: Vec<Edit>) -> Vec<Edit> {
    edits.sort_by_key(|edit| (edit.span.start, std::cmp::Reverse(edit.span.end)));
    edits.dedup_by(|later, earlier| later.span.start < earlier.span.end || later.span == earlier.span);
    edits
}

/// Tells whether a new edit covers or overlaps an earlier edit.
fn meet(old: Span, new: Span) -> bool {
    let cuts = old.start < new.end && new.start < old.end;
    cuts || new.start <= old.start && old.end <= new.end
}
