//! Prefixes of an expression: `prefer`, markers and their tags.

use std::sync::Arc;

use super::super::ast::{Expr, Marker};
use super::character::is_name;
use super::state::Parser;
use super::tree::Tree;

impl Parser<'_> {
    pub(super) fn prefer(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.ws();
            p.word("prefer")?;
            p.blank()?;
            let inner = p.expression()?;
            Some(Tree::over(Expr::Prefer(inner.expr.clone()), &[&inner]))
        })
    }

    pub(super) fn marked(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.ws();
            let mut names = vec![p.marker()?];
            while let Some(name) = p.attempt(|p| {
                p.blank()?;
                p.rule(Self::marker)
            }) {
                names.push(name);
            }
            p.ws();
            let begin = p.at;
            let grouped = p.rule(|p| p.rule(Self::group));
            let text = p.slice(begin);
            p.ws();
            let expr = grouped.as_ref().map(|tree| (Arc::from(text), tree.expr.clone()));
            let children: Vec<&Tree> = grouped.iter().collect();
            Some(Tree::over(Expr::Marker(Marker { names, expr }), &children))
        })
    }

    fn marker(&mut self) -> Option<Arc<str>> {
        const NAMES: [&str; 7] = ["template", "temporary", "local", "inject", "state", "default", "dynamic"];
        let begin = self.at;
        self.rule(|p| {
            p.take('&')?;
            if !NAMES.iter().any(|name| p.word(name).is_some()) {
                p.rule(|p| {
                    p.word("tag:")?;
                    let _ = p.take('*');
                    p.tag_name()
                })?;
            }
            Some(Arc::from(p.slice(begin)))
        })
    }

    /// Parses a tag name: `a.b:c`.
    pub(super) fn tag_name(&mut self) -> Option<()> {
        self.rule(|p| {
            p.tag_part()?;
            while p
                .attempt(|p| {
                    p.take_any(|c| c == '.' || c == ':')?;
                    p.tag_part()
                })
                .is_some()
            {}
            Some(())
        })
    }

    fn tag_part(&mut self) -> Option<()> {
        self.rule(|p| {
            p.take_any(|c| c.is_ascii_alphabetic() || c == '_')?;
            p.skip(is_name);
            Some(())
        })
    }
}
