//! Parses references: a path, with an optional tag.

use std::sync::Arc;

use super::super::ast::Reference;
use super::character::{is_key, is_name};
use super::state::Parser;
use crate::path::steps;

pub(super) fn reference(p: &mut Parser<'_>) -> Option<Reference> {
    p.rule(|p| {
        let (mut begin, mut tag) = (p.at, None);
        if let Some((behind, name)) = p.attempt(tagged) {
            (begin, tag) = (behind, Some(name));
        } else {
            let _ = p.take('.');
            key(p)?;
        }
        more_steps(p);
        let mut path = steps(&p.slice(begin), true);
        if path.is_empty() {
            path.push(Arc::from(""));
        }
        Some(Reference { tag, path: path.into() })
    })
}

/// Parses `tag::` and the first step after it.
fn tagged(p: &mut Parser<'_>) -> Option<(usize, Arc<str>)> {
    let start = p.at;
    p.rule(|p| {
        p.attempt(|p| {
            p.word("doc")?;
            p.take_any(|c| c == '.' || c == ':')?;
            let _ = p.take('-');
            p.digits()
        })
        .or_else(|| tag_name(p))?;
        p.word("::")
    })?;
    let tag: String = p.text[start..p.at - 2].iter().collect();
    let begin = p.at;
    p.take('.').or_else(|| key(p))?;
    Some((begin, Arc::from(tag)))
}

pub(super) fn more_steps(p: &mut Parser<'_>) {
    p.rule(|p| {
        while step(p).is_some() {}
        Some(())
    });
}

pub(super) fn step(p: &mut Parser<'_>) -> Option<()> {
    p.rule(|p| {
        p.attempt(|p| {
            p.take('.')?;
            key(p)
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

fn key(p: &mut Parser<'_>) -> Option<()> {
    p.rule(|p| {
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

/// Parses a tag name: `a.b:c`.
pub(super) fn tag_name(p: &mut Parser<'_>) -> Option<()> {
    p.rule(|p| {
        tag_part(p)?;
        while p
            .attempt(|p| {
                p.take_any(|c| c == '.' || c == ':')?;
                tag_part(p)
            })
            .is_some()
        {}
        Some(())
    })
}

fn tag_part(p: &mut Parser<'_>) -> Option<()> {
    p.rule(|p| {
        p.take_any(|c| c.is_ascii_alphabetic() || c == '_')?;
        p.skip(is_name);
        Some(())
    })
}
