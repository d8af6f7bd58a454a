//! `merge` with its options.

use std::sync::Arc;

use super::super::ast::{Expr, Merge};
use super::state::Parser;
use super::tree::Tree;

impl Parser<'_> {
    pub(super) fn merge(&mut self) -> Option<Tree> {
        let merge = self.rule(|p| p.rule(Self::merge_reference).or_else(|| p.rule(Self::merge_simple)))?;
        self.uses_place = true;
        Some(Tree::leaf(Expr::Merge(merge)))
    }

    fn merge_reference(&mut self) -> Option<Merge> {
        self.word("merge")?;
        // `merge required` has no path.
        let begin = self.at;
        let required = self
            .attempt(|p| {
                p.blank()?;
                p.rule(|p| p.word("required"))
            })
            .is_some();
        self.at = begin;
        if required {
            return None;
        }
        let (mut replace, mut key) = (false, None);
        self.attempt(|p| {
            p.blank()?;
            key = p.on();
            if key.is_none() {
                p.rule(|p| p.word("replace"))?;
                replace = true;
            }
            Some(())
        });
        self.blank()?;
        let reference = self.reference()?;
        let none = reference.tag.is_none() && reference.path.len() == 1 && &*reference.path[0] == "none";
        let path = if none { Arc::from([]) } else { reference.path };
        Some(Merge { required: !none, redirect: true, path, replace, none, key })
    }

    fn on(&mut self) -> Option<Arc<str>> {
        self.rule(|p| {
            p.word("on")?;
            p.blank()?;
            p.name()
        })
    }

    fn merge_simple(&mut self) -> Option<Merge> {
        self.word("merge")?;
        if self.peek() == Some('(') {
            return None;
        }
        let (mut replace, mut required, mut key) = (false, false, None);
        self.attempt(|p| {
            p.blank()?;
            if p.rule(|p| p.word("replace")).is_some() {
                replace = true;
            } else if p.rule(|p| p.word("required")).is_some() {
                required = true;
            } else {
                key = Some(p.on()?);
            }
            Some(())
        });
        let redirect = self.place.path != self.place.stub_path;
        Some(Merge {
            path: self.place.stub_path.clone().into(),
            redirect,
            replace,
            required: replace || required || redirect,
            none: false,
            key,
        })
    }
}
