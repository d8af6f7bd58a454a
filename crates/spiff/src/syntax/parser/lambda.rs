//! Parses lambdas and references to lambdas.

use std::sync::Arc;

use super::super::ast::{Expr, Lambda, Parameter};
use super::state::Parser;
use super::tree::Tree;

pub(super) fn lambda_reference(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.word("lambda")?;
        let by_reference = p.rule(|p| {
            p.blank()?;
            p.expression()
        });
        if let Some(source) = by_reference {
            if matches!(*source.expr, Expr::Lambda(_)) {
                return Some(source);
            }
            p.uses_place = true;
            return Some(Tree::over(Expr::LambdaRef(source.expr.clone(), p.place.clone()), &[&source]));
        }
        lambda(p)
    })
}

pub(super) fn lambda(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.ws();
        let (parameters, varargs, depth) = p.rule(|p| {
            p.take('|')?;
            p.ws();
            let names = p.rule(parameters).unwrap_or_default();
            p.take('|')?;
            Some(names)
        })?;
        p.ws();
        p.word("->")?;
        let body = p.expression()?;
        let depth = depth.max(body.depth) + 1;
        let lambda = Lambda { parameters, varargs, body: body.expr };
        Some(Tree { expr: Arc::new(Expr::Lambda(Arc::new(lambda))), depth })
    })
}

fn parameters(p: &mut Parser<'_>) -> Option<(Vec<Parameter>, bool, u32)> {
    let mut parameters = vec![parameter(p)?];
    let mut depth = 0;
    while let Some(parameter) = p.attempt(|p| {
        p.take(',')?;
        parameter(p)
    }) {
        parameters.push(parameter);
    }
    if let Some(default) = default_value(p) {
        depth = default.depth;
        if let Some(last) = parameters.last_mut() {
            last.default = Some(default.expr);
        }
    }
    while let Some((mut parameter, default)) = p.attempt(|p| {
        p.take(',')?;
        let parameter = parameter(p)?;
        Some((parameter, default_value(p)?))
    }) {
        depth = depth.max(default.depth);
        parameter.default = Some(default.expr);
        parameters.push(parameter);
    }
    let varargs = p
        .rule(|p| {
            p.word("...")?;
            p.ws();
            Some(())
        })
        .is_some();
    Some((parameters, varargs, depth))
}

fn parameter(p: &mut Parser<'_>) -> Option<Parameter> {
    p.rule(|p| {
        p.ws();
        let name = p.name()?;
        p.ws();
        Some(Parameter { name, default: None })
    })
}

fn default_value(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.take('=')?;
        p.expression()
    })
}
