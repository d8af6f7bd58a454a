//! Parses lists, maps, ranges, and expressions with local values, such as `( k = v ) a`.

use std::sync::Arc;

use super::super::ast::{Argument, Child, Expr};
use super::state::Parser;
use super::tree::Tree;

pub(super) fn scoped(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.ws();
        let (entries, depth) = p.rule(|p| {
            p.rule(|p| p.take('('))?;
            p.ws();
            let entries = assignments(p);
            p.take(')')?;
            Some(entries)
        })?;
        p.ws();
        let body = p.expression()?;
        let depth = depth.max(body.depth) + 1;
        Some(Tree { expr: Arc::new(Expr::Scope(entries, body.expr)), depth })
    })
}

fn assignments(p: &mut Parser<'_>) -> (Vec<(Child, Child)>, u32) {
    let mut entries = Vec::new();
    let mut depth = 0;
    p.rule(|p| {
        let (entry, deep) = assignment(p)?;
        entries.push(entry);
        depth = depth.max(deep);
        while let Some((entry, deep)) = p.attempt(|p| {
            p.take(',')?;
            assignment(p)
        }) {
            entries.push(entry);
            depth = depth.max(deep);
        }
        Some(())
    });
    (entries, depth)
}

fn assignment(p: &mut Parser<'_>) -> Option<((Child, Child), u32)> {
    p.rule(|p| {
        let key = p.expression()?;
        p.take('=')?;
        let value = p.expression()?;
        let depth = key.depth.max(value.depth);
        Some(((key.expr, value.expr), depth))
    })
}

pub(super) fn list(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        let (items, depth) = bracketed(p, false)?;
        Some(Tree { expr: Arc::new(Expr::List(items)), depth: depth + 1 })
    })
}

/// Parses `[ a, b... ]`. If `filled` is true, as for an index, an empty list is refused.
pub(super) fn bracketed(p: &mut Parser<'_>, filled: bool) -> Option<(Vec<Argument>, u32)> {
    p.rule(|p| {
        p.take('[')?;
        p.ws();
        Some(())
    })?;
    let mut items = Vec::new();
    let mut depth = 0;
    let found = p.rule(|p| arguments(p, &mut items, &mut depth));
    if filled {
        found?;
    }
    p.take(']')?;
    Some((items, depth))
}

pub(super) fn arguments(p: &mut Parser<'_>, items: &mut Vec<Argument>, depth: &mut u32) -> Option<()> {
    let mut next = argument(p);
    next.as_ref()?;
    while let Some((item, deep)) = next {
        items.push(item);
        *depth = deep.max(*depth);
        next = p.attempt(|p| {
            p.take(',')?;
            argument(p)
        });
    }
    Some(())
}

pub(super) fn argument(p: &mut Parser<'_>) -> Option<(Argument, u32)> {
    p.rule(|p| {
        let tree = p.expression()?;
        let expand = p
            .rule(|p| {
                p.word("...")?;
                p.ws();
                Some(())
            })
            .is_some();
        Some((Argument { expr: tree.expr, expand }, tree.depth))
    })
}

pub(super) fn map(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.rule(|p| p.take('{'))?;
        p.ws();
        let (entries, depth) = assignments(p);
        p.take('}')?;
        Some(Tree { expr: Arc::new(Expr::Map(entries)), depth: depth + 1 })
    })
}

pub(super) fn range(p: &mut Parser<'_>) -> Option<Tree> {
    let (start, end) = p.rule(limits)?;
    let children: Vec<&Tree> = start.iter().chain(end.iter()).collect();
    let expr = Expr::Range(start.as_ref().map(|t| t.expr.clone()), end.as_ref().map(|t| t.expr.clone()));
    Some(Tree::over(expr, &children))
}

pub(super) fn limits(p: &mut Parser<'_>) -> Option<(Option<Tree>, Option<Tree>)> {
    p.rule(|p| p.take('['))?;
    let start = p.expression();
    p.rule(|p| p.word(".."))?;
    let end = p.expression();
    p.take(']')?;
    Some((start, end))
}
