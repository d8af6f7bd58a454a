//! Operands with what follows them: calls, paths, indices, slices, projections.

use std::sync::Arc;

use super::super::ast::{Argument, Call, Child, Expr, Mapping, Reference};
use super::state::Parser;
use super::tree::Tree;
use crate::path::steps;

impl Parser<'_> {
    pub(super) fn chained(&mut self) -> Option<Tree> {
        self.rule(|p| {
            let start = p.start()?;
            p.follow(start)
        })
    }

    fn start(&mut self) -> Option<Tree> {
        self.mapping("map{", '}', Mapping::Map)
            .or_else(|| self.sync())
            .or_else(|| self.catch())
            .or_else(|| self.mapping("map[", ']', Mapping::List))
            .or_else(|| self.mapping("filter[", ']', Mapping::FilterList))
            .or_else(|| self.mapping("filter{", '}', Mapping::FilterMap))
            .or_else(|| self.mapping("select{", '}', Mapping::SelectMap))
            .or_else(|| self.mapping("select[", ']', Mapping::SelectList))
            .or_else(|| self.sum())
            .or_else(|| self.list())
            .or_else(|| self.map())
            .or_else(|| self.range())
            .or_else(|| self.rule(Self::group))
            .or_else(|| {
                let reference = self.reference()?;
                Some(Tree::leaf(Expr::Reference(reference)))
            })
            .or_else(|| {
                self.rule(|p| {
                    p.take('.')?;
                    let root = Reference { tag: None, path: Arc::from([Arc::from("")]) };
                    p.index(&Tree::leaf(Expr::Reference(root)))
                })
            })
    }

    pub(super) fn group(&mut self) -> Option<Tree> {
        self.take('(')?;
        let inner = self.expression()?;
        self.take(')')?;
        Some(Tree::over(Expr::Group(inner.expr.clone()), &[&inner]))
    }

    fn follow(&mut self, start: Tree) -> Option<Tree> {
        let mut tree = start;
        while let Some(next) = self.rule(|p| p.follow_one(&tree)) {
            tree = next;
            self.check(&tree)?;
        }
        Some(tree)
    }

    fn follow_one(&mut self, base: &Tree) -> Option<Tree> {
        self.rule(|p| p.call(base, false))
            .or_else(|| {
                self.rule(|p| {
                    p.take('*')?;
                    p.rule(|p| p.call(base, true))
                })
            })
            .or_else(|| self.qualified(base))
            .or_else(|| {
                self.rule(|p| {
                    let _ = p.take('.');
                    p.index(base)
                })
            })
            .or_else(|| self.projection(base))
    }

    fn call(&mut self, base: &Tree, curry: bool) -> Option<Tree> {
        self.rule(|p| {
            p.take('(')?;
            p.ws();
            Some(())
        })?;
        let (mut named, mut arguments, mut depth) = (Vec::new(), Vec::new(), base.depth);
        self.rule(|p| p.named_arguments(&mut named, &mut arguments, &mut depth));
        self.take(')')?;
        let call = Call { function: base.expr.clone(), named, arguments, curry };
        Some(Tree { expr: Arc::new(Expr::Call(call)), depth: depth + 1 })
    }

    fn named_arguments(
        &mut self,
        named: &mut Vec<(Arc<str>, Child)>,
        arguments: &mut Vec<Argument>,
        depth: &mut u32,
    ) -> Option<()> {
        let mut next = self.named_argument();
        if next.is_none() {
            return self.arguments(arguments, depth);
        }
        while let Some((name, value)) = next {
            named.push((name, value.expr));
            *depth = value.depth.max(*depth);
            next = self.attempt(|p| {
                p.take(',')?;
                p.named_argument()
            });
        }
        while let Some((argument, deep)) = self.attempt(|p| {
            p.take(',')?;
            p.argument()
        }) {
            arguments.push(argument);
            *depth = deep.max(*depth);
        }
        Some(())
    }

    fn named_argument(&mut self) -> Option<(Arc<str>, Tree)> {
        self.rule(|p| {
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

    fn qualified(&mut self, base: &Tree) -> Option<Tree> {
        let begin = self.at;
        self.rule(|p| {
            p.step()?;
            p.more_steps();
            Some(())
        })?;
        let path = steps(&self.slice(begin), false);
        Some(Tree::over(Expr::Qualified(base.expr.clone(), path.into()), &[base]))
    }

    fn index(&mut self, base: &Tree) -> Option<Tree> {
        let (index, depth) = self.rule(|p| p.bracketed(true))?;
        let depth = depth.max(base.depth) + 1;
        Some(Tree { expr: Arc::new(Expr::Index(base.expr.clone(), index)), depth })
    }

    fn projection(&mut self, base: &Tree) -> Option<Tree> {
        self.rule(|p| {
            let _ = p.take('.');
            let source = if p.word("[*]").is_some() { base.clone() } else { p.slice_of(base)? };
            let rest = p.follow(Tree::leaf(Expr::Item))?;
            Some(Tree::over(Expr::Projection(source.expr.clone(), rest.expr.clone()), &[&source, &rest]))
        })
    }

    fn slice_of(&mut self, base: &Tree) -> Option<Tree> {
        let (start, end) = self.rule(|p| p.rule(Self::limits))?;
        let limit = |tree: &Option<Tree>| tree.as_ref().map(|tree| tree.expr.clone());
        let expr = Expr::Slice(base.expr.clone(), limit(&start), limit(&end));
        let mut children = vec![base];
        children.extend(start.iter().chain(end.iter()));
        Some(Tree::over(expr, &children))
    }
}
