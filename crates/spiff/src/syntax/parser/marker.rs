//! Parses prefixes of an expression: `prefer`, markers and their tags.

use std::sync::Arc;

use super::super::ast::{Expr, Marker};
use super::chain::group;
use super::reference::tag_name;
use super::state::Parser;
use super::tree::Tree;

pub(super) fn prefer(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.ws();
        p.word("prefer")?;
        p.blank()?;
        let inner = p.expression()?;
        Some(Tree::over(Expr::Prefer(inner.expr.clone()), &[&inner]))
    })
}

pub(super) fn marked(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.ws();
        let mut names = vec![marker(p)?];
        while let Some(name) = p.attempt(|p| {
            p.blank()?;
            p.rule(marker)
        }) {
            names.push(name);
        }
        p.ws();
        let begin = p.at;
        let grouped = p.rule(|p| p.rule(group));
        let text = p.slice(begin);
        p.ws();
        let expr = grouped.as_ref().map(|tree| (Arc::from(text), tree.expr.clone()));
        let children: Vec<&Tree> = grouped.iter().collect();
        Some(Tree::over(Expr::Marker(Marker { names, expr }), &children))
    })
}

fn marker(p: &mut Parser<'_>) -> Option<Arc<str>> {
    const NAMES: [&str; 7] = ["template", "temporary", "local", "inject", "state", "default", "dynamic"];
    let begin = p.at;
    p.rule(|p| {
        p.take('&')?;
        if !NAMES.iter().any(|name| p.word(name).is_some()) {
            p.rule(|p| {
                p.word("tag:")?;
                let _ = p.take('*');
                tag_name(p)
            })?;
        }
        Some(Arc::from(p.slice(begin)))
    })
}
