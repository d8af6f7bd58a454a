//! References: a path, with an optional tag.

use std::sync::Arc;

use super::super::ast::Reference;
use super::character::{is_key, is_name};
use super::state::Parser;
use crate::path::steps;

impl Parser<'_> {
    pub(super) fn reference(&mut self) -> Option<Reference> {
        self.rule(|p| {
            let (mut begin, mut tag) = (p.at, None);
            if let Some((behind, name)) = p.attempt(Self::tagged) {
                (begin, tag) = (behind, Some(name));
            } else {
                let _ = p.take('.');
                p.key()?;
            }
            p.more_steps();
            let mut path = steps(&p.slice(begin), true);
            if path.is_empty() {
                path.push(Arc::from(""));
            }
            Some(Reference { tag, path: path.into() })
        })
    }

    /// Parses `tag::` and the first step after it.
    fn tagged(&mut self) -> Option<(usize, Arc<str>)> {
        let start = self.at;
        self.rule(|p| {
            p.attempt(|p| {
                p.word("doc")?;
                p.take_any(|c| c == '.' || c == ':')?;
                let _ = p.take('-');
                p.digits()
            })
            .or_else(|| p.tag_name())?;
            p.word("::")
        })?;
        let tag: String = self.text[start..self.at - 2].iter().collect();
        let begin = self.at;
        self.take('.').or_else(|| self.key())?;
        Some((begin, Arc::from(tag)))
    }

    pub(super) fn more_steps(&mut self) {
        self.rule(|p| {
            while p.step().is_some() {}
            Some(())
        });
    }

    pub(super) fn step(&mut self) -> Option<()> {
        self.rule(|p| {
            p.attempt(|p| {
                p.take('.')?;
                p.key()
            })
            .or_else(|| {
                let _ = p.take('.');
                p.rule(|p| {
                    p.take('[')?;
                    let _ = p.take('-');
                    p.digits()?;
                    p.take(']')
                })
            })
        })
    }

    fn key(&mut self) -> Option<()> {
        self.rule(|p| {
            p.take_any(is_name)?;
            p.skip(is_key);
            p.attempt(|p| {
                p.take(':')?;
                p.take_any(is_name)?;
                p.skip(is_key);
                Some(())
            });
            Some(())
        })
    }
}
