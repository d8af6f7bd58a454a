//! Operators, weakest first.

use super::super::ast::{Expr, Operator};
use super::memory::Rule;
use super::state::Parser;
use super::tree::Tree;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Option<Tree> {
        self.remembered(Rule::Expression, |p| {
            let tree = p.scoped().or_else(|| p.lambda()).or_else(|| p.or())?;
            p.ws();
            Some(tree)
        })
    }

    pub(super) fn or(&mut self) -> Option<Tree> {
        self.remembered(Rule::Or, |p| {
            p.ws();
            let mut left = p.conditional()?;
            while let Some((operator, right)) = p.attempt(|p| {
                p.blank()?;
                p.rule(|p| {
                    let operator = p.rule(|p| {
                        p.word("||")
                            .map(|()| Operator::Or)
                            .or_else(|| p.word("//").map(|()| Operator::ValidOr))
                    })?;
                    p.blank()?;
                    Some((operator, p.conditional()?))
                })
            }) {
                left = binary(operator, &left, &right);
                p.check(&left)?;
            }
            Some(left)
        })
    }

    fn conditional(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.rule(|p| {
                let condition = p.concat()?;
                p.ws();
                p.take('?')?;
                let yes = p.expression()?;
                p.take(':')?;
                let no = p.expression()?;
                let expr = Expr::Conditional(condition.expr.clone(), yes.expr.clone(), no.expr.clone());
                Some(Tree::over(expr, &[&condition, &yes, &no]))
            })
            .or_else(|| p.concat())
        })
    }

    fn concat(&mut self) -> Option<Tree> {
        self.remembered(Rule::Concat, |p| {
            let mut left = p.logic()?;
            while let Some(right) = p.rule(|p| {
                p.blank()?;
                p.logic()
            }) {
                left = binary(Operator::Concat, &left, &right);
                p.check(&left)?;
            }
            Some(left)
        })
    }

    fn logic(&mut self) -> Option<Tree> {
        self.remembered(Rule::Logic, |p| {
            p.chain(Self::compare, &[("-or", Operator::LogOr), ("-and", Operator::LogAnd)])
        })
    }

    fn compare(&mut self) -> Option<Tree> {
        const OPERATORS: [(&str, Operator); 6] = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessEqual),
            (">=", Operator::GreaterEqual),
            (">", Operator::Greater),
            ("<", Operator::Less),
        ];
        self.remembered(Rule::Compare, |p| {
            let mut left = p.add()?;
            while let Some((operator, right)) = p.attempt(|p| {
                p.blank()?;
                p.rule(|p| {
                    let operator = p.rule(|p| {
                        OPERATORS.iter().find_map(|(sign, operator)| p.word(sign).map(|()| *operator))
                    })?;
                    p.blank()?;
                    Some((operator, p.add()?))
                })
            }) {
                left = binary(operator, &left, &right);
                p.check(&left)?;
            }
            Some(left)
        })
    }

    fn add(&mut self) -> Option<Tree> {
        self.remembered(Rule::Add, |p| {
            p.chain(Self::multiply, &[("+", Operator::Add), ("-", Operator::Subtract)])
        })
    }

    fn multiply(&mut self) -> Option<Tree> {
        self.remembered(Rule::Multiply, |p| {
            p.chain(
                Self::primary,
                &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Modulo)],
            )
        })
    }

    /// Parses operands separated by operators of one level, each surrounded by whitespace.
    pub(super) fn chain(
        &mut self,
        operand: fn(&mut Self) -> Option<Tree>,
        operators: &[(&str, Operator)],
    ) -> Option<Tree> {
        let mut left = operand(self)?;
        while let Some((operator, right)) = self.attempt(|p| {
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
            self.check(&left)?;
        }
        Some(left)
    }
}

fn binary(operator: Operator, left: &Tree, right: &Tree) -> Tree {
    Tree::over(Expr::Binary(operator, left.expr.clone(), right.expr.clone()), &[left, right])
}
