//! Parses lists, maps, ranges, and the scope that a map before an expression forms.

use std::sync::Arc;

use super::super::ast::{Argument, Child, Expr};
use super::state::Parser;
use super::tree::Tree;

impl Parser<'_> {
    pub(super) fn scoped(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.ws();
            let (entries, depth) = p.rule(|p| {
                p.rule(|p| p.take('('))?;
                p.ws();
                let entries = p.assignments();
                p.take(')')?;
                Some(entries)
            })?;
            p.ws();
            let body = p.expression()?;
            let depth = depth.max(body.depth) + 1;
            Some(Tree { expr: Arc::new(Expr::Scope(entries, body.expr)), depth })
        })
    }

    fn assignments(&mut self) -> (Vec<(Child, Child)>, u32) {
        let mut entries = Vec::new();
        let mut depth = 0;
        self.rule(|p| {
            let (entry, deep) = p.assignment()?;
            entries.push(entry);
            depth = depth.max(deep);
            while let Some((entry, deep)) = p.attempt(|p| {
                p.take(',')?;
                p.assignment()
            }) {
                entries.push(entry);
                depth = depth.max(deep);
            }
            Some(())
        });
        (entries, depth)
    }

    fn assignment(&mut self) -> Option<((Child, Child), u32)> {
        self.rule(|p| {
            let key = p.expression()?;
            p.take('=')?;
            let value = p.expression()?;
            let depth = key.depth.max(value.depth);
            Some(((key.expr, value.expr), depth))
        })
    }

    pub(super) fn list(&mut self) -> Option<Tree> {
        self.rule(|p| {
            let (items, depth) = p.bracketed(false)?;
            Some(Tree { expr: Arc::new(Expr::List(items)), depth: depth + 1 })
        })
    }

    /// Parses `[ a, b... ]`; with `filled` it must not be empty, as for an index.
    pub(super) fn bracketed(&mut self, filled: bool) -> Option<(Vec<Argument>, u32)> {
        self.rule(|p| {
            p.take('[')?;
            p.ws();
            Some(())
        })?;
        let mut items = Vec::new();
        let mut depth = 0;
        let found = self.rule(|p| p.arguments(&mut items, &mut depth));
        if filled {
            found?;
        }
        self.take(']')?;
        Some((items, depth))
    }

    pub(super) fn arguments(&mut self, items: &mut Vec<Argument>, depth: &mut u32) -> Option<()> {
        let mut next = self.argument();
        next.as_ref()?;
        while let Some((argument, deep)) = next {
            items.push(argument);
            *depth = deep.max(*depth);
            next = self.attempt(|p| {
                p.take(',')?;
                p.argument()
            });
        }
        Some(())
    }

    pub(super) fn argument(&mut self) -> Option<(Argument, u32)> {
        self.rule(|p| {
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

    pub(super) fn map(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.rule(|p| p.take('{'))?;
            p.ws();
            let (entries, depth) = p.assignments();
            p.take('}')?;
            Some(Tree { expr: Arc::new(Expr::Map(entries)), depth: depth + 1 })
        })
    }

    pub(super) fn range(&mut self) -> Option<Tree> {
        let (start, end) = self.rule(Self::limits)?;
        let children: Vec<&Tree> = start.iter().chain(end.iter()).collect();
        let expr = Expr::Range(start.as_ref().map(|t| t.expr.clone()), end.as_ref().map(|t| t.expr.clone()));
        Some(Tree::over(expr, &children))
    }

    pub(super) fn limits(&mut self) -> Option<(Option<Tree>, Option<Tree>)> {
        self.rule(|p| p.take('['))?;
        let start = self.expression();
        self.rule(|p| p.word(".."))?;
        let end = self.expression();
        self.take(']')?;
        Some((start, end))
    }
}
