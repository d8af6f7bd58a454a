//! Parses operands with their suffixes: calls, paths, indices, slices, projections.

use std::sync::Arc;

use super::super::ast::{Argument, Call, Child, Expr, Mapping, Reference};
use super::literal::{argument, arguments, bracketed, limits, list, map, range};
use super::mapping::{catch, mapping, sum, sync};
use super::reference::{more_steps, reference, step};
use super::state::Parser;
use super::tree::Tree;
use crate::path::steps;

pub(super) fn chained(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        let start = start(p)?;
        follow(p, start)
    })
}

fn start(p: &mut Parser<'_>) -> Option<Tree> {
    mapping(p, "map{", '}', Mapping::Map)
        .or_else(|| sync(p))
        .or_else(|| catch(p))
        .or_else(|| mapping(p, "map[", ']', Mapping::List))
        .or_else(|| mapping(p, "filter[", ']', Mapping::FilterList))
        .or_else(|| mapping(p, "filter{", '}', Mapping::FilterMap))
        .or_else(|| mapping(p, "select{", '}', Mapping::SelectMap))
        .or_else(|| mapping(p, "select[", ']', Mapping::SelectList))
        .or_else(|| sum(p))
        .or_else(|| list(p))
        .or_else(|| map(p))
        .or_else(|| range(p))
        .or_else(|| p.rule(group))
        .or_else(|| {
            let reference = reference(p)?;
            Some(Tree::leaf(Expr::Reference(reference)))
        })
        .or_else(|| {
            p.rule(|p| {
                p.take('.')?;
                let root = Reference { tag: None, path: Arc::from([Arc::from("")]) };
                index(p, &Tree::leaf(Expr::Reference(root)))
            })
        })
}

pub(super) fn group(p: &mut Parser<'_>) -> Option<Tree> {
    p.take('(')?;
    let inner = p.expression()?;
    p.take(')')?;
    Some(Tree::over(Expr::Group(inner.expr.clone()), &[&inner]))
}

fn follow(p: &mut Parser<'_>, start: Tree) -> Option<Tree> {
    let mut tree = start;
    while let Some(next) = p.rule(|p| follow_one(p, &tree)) {
        tree = next;
        p.check(&tree)?;
    }
    Some(tree)
}

fn follow_one(p: &mut Parser<'_>, base: &Tree) -> Option<Tree> {
    p.rule(|p| call(p, base, false))
        .or_else(|| {
            p.rule(|p| {
                p.take('*')?;
                p.rule(|p| call(p, base, true))
            })
        })
        .or_else(|| qualified(p, base))
        .or_else(|| {
            p.rule(|p| {
                let _ = p.take('.');
                index(p, base)
            })
        })
        .or_else(|| projection(p, base))
}

fn call(p: &mut Parser<'_>, base: &Tree, curry: bool) -> Option<Tree> {
    p.rule(|p| {
        p.take('(')?;
        p.ws();
        Some(())
    })?;
    let (mut named, mut arguments, mut depth) = (Vec::new(), Vec::new(), base.depth);
    p.rule(|p| named_arguments(p, &mut named, &mut arguments, &mut depth));
    p.take(')')?;
    let call = Call { function: base.expr.clone(), named, arguments, curry };
    Some(Tree { expr: Arc::new(Expr::Call(call)), depth: depth + 1 })
}

fn named_arguments(
    p: &mut Parser<'_>,
    named: &mut Vec<(Arc<str>, Child)>,
    positional: &mut Vec<Argument>,
    depth: &mut u32,
) -> Option<()> {
    let mut next = named_argument(p);
    if next.is_none() {
        return arguments(p, positional, depth);
    }
    while let Some((name, value)) = next {
        named.push((name, value.expr));
        *depth = value.depth.max(*depth);
        next = p.attempt(|p| {
            p.take(',')?;
            named_argument(p)
        });
    }
    while let Some((next, deep)) = p.attempt(|p| {
        p.take(',')?;
        argument(p)
    }) {
        positional.push(next);
        *depth = deep.max(*depth);
    }
    Some(())
}

fn named_argument(p: &mut Parser<'_>) -> Option<(Arc<str>, Tree)> {
    p.rule(|p| {
        p.ws();
        let name = p.name()?;
        p.ws();
        p.take('=')?;
        p.ws();
        let value = p.expression()?;
        p.ws();
        Some((name, value))
    })
}

fn qualified(p: &mut Parser<'_>, base: &Tree) -> Option<Tree> {
    let begin = p.at;
    p.rule(|p| {
        step(p)?;
        more_steps(p);
        Some(())
    })?;
    let path = steps(&p.slice(begin), false);
    Some(Tree::over(Expr::Qualified(base.expr.clone(), path.into()), &[base]))
}

fn index(p: &mut Parser<'_>, base: &Tree) -> Option<Tree> {
    let (index, depth) = p.rule(|p| bracketed(p, true))?;
    let depth = depth.max(base.depth) + 1;
    Some(Tree { expr: Arc::new(Expr::Index(base.expr.clone(), index)), depth })
}

fn projection(p: &mut Parser<'_>, base: &Tree) -> Option<Tree> {
    p.rule(|p| {
        let _ = p.take('.');
        let source = if p.word("[*]").is_some() { base.clone() } else { slice_of(p, base)? };
        let rest = follow(p, Tree::leaf(Expr::Item))?;
        Some(Tree::over(Expr::Projection(source.expr.clone(), rest.expr.clone()), &[&source, &rest]))
    })
}

fn slice_of(p: &mut Parser<'_>, base: &Tree) -> Option<Tree> {
    let (start, end) = p.rule(|p| p.rule(limits))?;
    let limit = |tree: &Option<Tree>| tree.as_ref().map(|tree| tree.expr.clone());
    let expr = Expr::Slice(base.expr.clone(), limit(&start), limit(&end));
    let mut children = vec![base];
    children.extend(start.iter().chain(end.iter()));
    Some(Tree::over(expr, &children))
}
