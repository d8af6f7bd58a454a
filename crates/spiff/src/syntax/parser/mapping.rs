//! Parses expressions that contain a lambda: mappings, sums, `catch` and `sync`.

use std::sync::Arc;

use super::super::ast::{Expr, Lambda, Mapping, Sync};
use super::lambda::lambda;
use super::state::Parser;
use super::tree::Tree;

pub(super) fn mapping(p: &mut Parser<'_>, open: &str, close: char, kind: Mapping) -> Option<Tree> {
    p.rule(|p| {
        p.word(open)?;
        let source = p.or()?;
        let lambda = lambda_or(p)?;
        p.take(close)?;
        let expr = Expr::Mapping(kind, source.expr.clone(), lambda.expr.clone());
        Some(Tree::over(expr, &[&source, &lambda]))
    })
}

pub(super) fn sum(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.word("sum[")?;
        let source = p.or()?;
        p.take('|')?;
        let initial = p.or()?;
        let lambda = lambda_or(p)?;
        p.take(']')?;
        let expr = Expr::Sum(source.expr.clone(), initial.expr.clone(), lambda.expr.clone());
        Some(Tree::over(expr, &[&source, &initial, &lambda]))
    })
}

pub(super) fn catch(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.word("catch[")?;
        let source = p.or()?;
        let lambda = lambda_or(p)?;
        p.take(']')?;
        Some(Tree::over(Expr::Catch(source.expr.clone(), Some(lambda.expr.clone())), &[&source, &lambda]))
    })
}

pub(super) fn sync(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.word("sync[")?;
        let source = p.or()?;
        let (condition, value, timeout) = p
            .attempt(|p| {
                let (condition, value) = p
                    .attempt(sync_with_value)
                    .or_else(|| p.attempt(|p| Some((lambda_or(p)?, lambda_or(p)?))))?;
                Some((condition, Some(value), p.attempt(barred)))
            })
            .or_else(|| lambda_or(p).map(|condition| (condition, None, None)))?;
        p.take(']')?;
        let mut children = vec![&source, &condition];
        children.extend(value.iter().chain(timeout.iter()));
        let sync = Sync {
            source: source.expr.clone(),
            condition: condition.expr.clone(),
            value: value.as_ref().map(|tree| tree.expr.clone()),
            timeout: timeout.as_ref().map(|tree| tree.expr.clone()),
            function: false,
        };
        Some(Tree::over(Expr::Sync(Arc::new(sync)), &children))
    })
}

/// Parses `|x|->condition,value`: two lambdas with the same parameters.
fn sync_with_value(p: &mut Parser<'_>) -> Option<(Tree, Tree)> {
    let condition = lambda(p)?;
    let value = p.rule(|p| {
        p.take(',')?;
        p.expression()
    })?;
    let Expr::Lambda(lambda) = &*condition.expr else { return None };
    let lambda = Lambda { body: value.expr.clone(), ..(**lambda).clone() };
    let value = Tree::over(Expr::Lambda(Arc::new(lambda)), &[&value]);
    Some((condition, value))
}

/// Parses a lambda, or `|` and an expression whose value is a lambda.
fn lambda_or(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| lambda(p).or_else(|| p.attempt(barred)))
}

fn barred(p: &mut Parser<'_>) -> Option<Tree> {
    p.take('|')?;
    p.expression()
}
