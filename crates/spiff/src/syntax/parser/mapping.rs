//! Expressions with a lambda for entries: mappings, sums, `catch` and `sync`.

use std::sync::Arc;

use super::super::ast::{Expr, Lambda, Mapping, Sync};
use super::state::Parser;
use super::tree::Tree;

impl Parser<'_> {
    pub(super) fn mapping(&mut self, open: &str, close: char, kind: Mapping) -> Option<Tree> {
        self.rule(|p| {
            p.word(open)?;
            let source = p.or()?;
            let lambda = p.lambda_or()?;
            p.take(close)?;
            let expr = Expr::Mapping(kind, source.expr.clone(), lambda.expr.clone());
            Some(Tree::over(expr, &[&source, &lambda]))
        })
    }

    pub(super) fn sum(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.word("sum[")?;
            let source = p.or()?;
            p.take('|')?;
            let initial = p.or()?;
            let lambda = p.lambda_or()?;
            p.take(']')?;
            let expr = Expr::Sum(source.expr.clone(), initial.expr.clone(), lambda.expr.clone());
            Some(Tree::over(expr, &[&source, &initial, &lambda]))
        })
    }

    pub(super) fn catch(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.word("catch[")?;
            let source = p.or()?;
            let lambda = p.lambda_or()?;
            p.take(']')?;
            Some(Tree::over(Expr::Catch(source.expr.clone(), Some(lambda.expr.clone())), &[&source, &lambda]))
        })
    }

    pub(super) fn sync(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.word("sync[")?;
            let source = p.or()?;
            let (condition, value, timeout) = p
                .attempt(|p| {
                    let (condition, value) = p
                        .attempt(Self::sync_with_value)
                        .or_else(|| p.attempt(|p| Some((p.lambda_or()?, p.lambda_or()?))))?;
                    Some((condition, Some(value), p.attempt(Self::barred)))
                })
                .or_else(|| p.lambda_or().map(|condition| (condition, None, None)))?;
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
    fn sync_with_value(&mut self) -> Option<(Tree, Tree)> {
        let condition = self.lambda()?;
        let value = self.rule(|p| {
            p.take(',')?;
            p.expression()
        })?;
        let Expr::Lambda(lambda) = &*condition.expr else { return None };
        let lambda = Lambda { body: value.expr.clone(), ..(**lambda).clone() };
        let value = Tree::over(Expr::Lambda(Arc::new(lambda)), &[&value]);
        Some((condition, value))
    }

    /// Parses an inline lambda, or an expression that yields one.
    fn lambda_or(&mut self) -> Option<Tree> {
        self.rule(|p| p.lambda().or_else(|| p.attempt(Self::barred)))
    }

    fn barred(&mut self) -> Option<Tree> {
        self.take('|')?;
        self.expression()
    }
}
