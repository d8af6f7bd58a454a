//! Parses `merge` with its options.

use std::sync::Arc;

use super::super::ast::{Expr, Merge};
use super::reference::reference;
use super::state::Parser;
use super::tree::Tree;

pub(super) fn merge(p: &mut Parser<'_>) -> Option<Tree> {
    let merge = p.rule(|p| p.rule(merge_reference).or_else(|| p.rule(merge_simple)))?;
    p.uses_place = true;
    Some(Tree::leaf(Expr::Merge(merge)))
}

fn merge_reference(p: &mut Parser<'_>) -> Option<Merge> {
    p.word("merge")?;
    // After `merge`, the word `required` is an option and no path.
    let begin = p.at;
    let required = p
        .attempt(|p| {
            p.blank()?;
            p.rule(|p| p.word("required"))
        })
        .is_some();
    p.at = begin;
    if required {
        return None;
    }
    let (mut replace, mut key) = (false, None);
    p.attempt(|p| {
        p.blank()?;
        key = on(p);
        if key.is_none() {
            p.rule(|p| p.word("replace"))?;
            replace = true;
        }
        Some(())
    });
    p.blank()?;
    let reference = reference(p)?;
    let none = reference.tag.is_none() && reference.path.len() == 1 && &*reference.path[0] == "none";
    let path = if none { Arc::from([]) } else { reference.path };
    Some(Merge { required: !none, redirect: true, path, replace, none, key })
}

fn on(p: &mut Parser<'_>) -> Option<Arc<str>> {
    p.rule(|p| {
        p.word("on")?;
        p.blank()?;
        p.name()
    })
}

fn merge_simple(p: &mut Parser<'_>) -> Option<Merge> {
    p.word("merge")?;
    if p.peek() == Some('(') {
        return None;
    }
    let (mut replace, mut required, mut key) = (false, false, None);
    p.attempt(|p| {
        p.blank()?;
        if p.rule(|p| p.word("replace")).is_some() {
            replace = true;
        } else if p.rule(|p| p.word("required")).is_some() {
            required = true;
        } else {
            key = Some(on(p)?);
        }
        Some(())
    });
    let redirect = p.place.path != p.place.stub_path;
    Some(Merge {
        path: p.place.stub_path.clone().into(),
        redirect,
        replace,
        required: replace || required || redirect,
        none: false,
        key,
    })
}
