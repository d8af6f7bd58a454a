//! Parses binary operators. The first function handles the operators that bind the least.

use super::super::ast::{Expr, Operator};
use super::lambda::lambda;
use super::literal::scoped;
use super::memory::Slot;
use super::operand::primary;
use super::state::Parser;
use super::tree::Tree;

pub(super) fn expression(p: &mut Parser<'_>) -> Option<Tree> {
    p.remembered(Slot::Expression, |p| {
        let tree = scoped(p).or_else(|| lambda(p)).or_else(|| or(p))?;
        p.ws();
        Some(tree)
    })
}

pub(super) fn or(p: &mut Parser<'_>) -> Option<Tree> {
    p.remembered(Slot::Or, |p| {
        p.ws();
        let mut left = conditional(p)?;
        while let Some((operator, right)) = p.attempt(|p| {
            p.blank()?;
            p.rule(|p| {
                let operator = p.rule(|p| {
                    p.word("||").map(|()| Operator::Or).or_else(|| p.word("//").map(|()| Operator::ValidOr))
                })?;
                p.blank()?;
                Some((operator, conditional(p)?))
            })
        }) {
            left = binary(operator, &left, &right);
            p.check(&left)?;
        }
        Some(left)
    })
}

fn conditional(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.rule(|p| {
            let condition = concat(p)?;
            p.ws();
            p.take('?')?;
            let yes = expression(p)?;
            p.take(':')?;
            let no = expression(p)?;
            let expr = Expr::Conditional(condition.expr.clone(), yes.expr.clone(), no.expr.clone());
            Some(Tree::over(expr, &[&condition, &yes, &no]))
        })
        .or_else(|| concat(p))
    })
}

fn concat(p: &mut Parser<'_>) -> Option<Tree> {
    p.remembered(Slot::Concat, |p| {
        let mut left = logic(p)?;
        while let Some(right) = p.rule(|p| {
            p.blank()?;
            logic(p)
        }) {
            left = binary(Operator::Concat, &left, &right);
            p.check(&left)?;
        }
        Some(left)
    })
}

fn logic(p: &mut Parser<'_>) -> Option<Tree> {
    p.remembered(Slot::Logic, |p| chain(p, compare, &[("-or", Operator::LogOr), ("-and", Operator::LogAnd)]))
}

fn compare(p: &mut Parser<'_>) -> Option<Tree> {
    const OPERATORS: [(&str, Operator); 6] = [
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        (">", Operator::Greater),
        ("<", Operator::Less),
    ];
    p.remembered(Slot::Compare, |p| {
        let mut left = add(p)?;
        while let Some((operator, right)) = p.attempt(|p| {
            p.blank()?;
            p.rule(|p| {
                let operator = p.rule(|p| {
                    OPERATORS.iter().find_map(|(sign, operator)| p.word(sign).map(|()| *operator))
                })?;
                p.blank()?;
                Some((operator, add(p)?))
            })
        }) {
            left = binary(operator, &left, &right);
            p.check(&left)?;
        }
        Some(left)
    })
}

fn add(p: &mut Parser<'_>) -> Option<Tree> {
    p.remembered(Slot::Add, |p| chain(p, multiply, &[("+", Operator::Add), ("-", Operator::Subtract)]))
}

fn multiply(p: &mut Parser<'_>) -> Option<Tree> {
    p.remembered(Slot::Multiply, |p| {
        chain(p, primary, &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Modulo)])
    })
}

/// Parses operands with operators of equal precedence between them. White space must surround each operator.
pub(super) fn chain(
    p: &mut Parser<'_>,
    operand: fn(&mut Parser<'_>) -> Option<Tree>,
    operators: &[(&str, Operator)],
) -> Option<Tree> {
    let mut left = operand(p)?;
    while let Some((operator, right)) = p.attempt(|p| {
        p.blank()?;
        operators.iter().find_map(|(sign, operator)| {
            p.rule(|p| {
                p.word(sign)?;
                p.blank()?;
                Some((*operator, operand(p)?))
            })
        })
    }) {
        left = binary(operator, &left, &right);
        p.check(&left)?;
    }
    Some(left)
}

fn binary(operator: Operator, left: &Tree, right: &Tree) -> Tree {
    Tree::over(Expr::Binary(operator, left.expr.clone(), right.expr.clone()), &[left, right])
}
