//! Parses constants, and operands with a sign or word before them.

use super::super::ast::Expr;
use super::super::error::SyntaxError;
use super::super::quote::unquote;
use super::chain::chained;
use super::lambda::lambda_reference;
use super::memory::Slot;
use super::merge::merge;
use super::state::Parser;
use super::tree::Tree;

pub(super) fn primary(p: &mut Parser<'_>) -> Option<Tree> {
    p.remembered(Slot::Primary, |p| {
        ip(p)
            .or_else(|| string(p))
            .or_else(|| number(p))
            .or_else(|| p.rule(|p| p.word("true").map(|()| Tree::leaf(Expr::Bool(true)))))
            .or_else(|| p.rule(|p| p.word("false").map(|()| Tree::leaf(Expr::Bool(false)))))
            .or_else(|| p.rule(|p| p.word("~~").map(|()| Tree::leaf(Expr::Undefined))))
            .or_else(|| p.rule(|p| p.word("nil").or_else(|| p.take('~')).map(|()| Tree::leaf(Expr::Nil))))
            .or_else(|| symbol(p))
            .or_else(|| not(p))
            .or_else(|| substitution(p))
            .or_else(|| merge(p))
            .or_else(|| auto(p))
            .or_else(|| lambda_reference(p))
            .or_else(|| chained(p))
    })
}

fn ip(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        let begin = p.at;
        p.digits()?;
        for _ in 0..3 {
            p.take('.')?;
            p.digits()?;
        }
        Some(Tree::leaf(Expr::Str(p.slice(begin).into())))
    })
}

fn string(p: &mut Parser<'_>) -> Option<Tree> {
    let begin = p.at;
    p.rule(|p| {
        p.take('"')?;
        loop {
            match p.peek()? {
                '\\' if p.text.get(p.at + 1) == Some(&'"') => p.at += 2,
                '"' => break,
                _ => p.at += 1,
            }
        }
        p.at += 1;
        Some(())
    })?;
    match unquote(&p.text[begin..p.at]) {
        Ok(text) => Some(Tree::leaf(Expr::Str(text.into()))),
        Err(reason) => {
            // The error is stored. When the parser has finished, it returns this error. Until then, it
            // continues as if the text literal were valid.
            p.fatal.get_or_insert(SyntaxError::at(&p.text, (begin, p.at), Some(reason)));
            Some(Tree::leaf(Expr::Nil))
        }
    }
}

fn number(p: &mut Parser<'_>) -> Option<Tree> {
    let begin = p.at;
    let float = p.rule(|p| {
        let _ = p.take('-');
        p.take_any(|c| c.is_ascii_digit())?;
        p.skip(|c| c.is_ascii_digit() || c == '_');
        let mut float = p
            .attempt(|p| {
                p.take('.')?;
                p.digits()
            })
            .is_some();
        float |= p
            .attempt(|p| {
                p.take_any(|c| c == 'e' || c == 'E')?;
                let _ = p.take('-');
                p.digits()
            })
            .is_some();
        let tag_follows = p.text[p.at..].starts_with(&[':', ':']);
        (!tag_follows).then_some(float)
    })?;
    let digits: String = p.text[begin..p.at].iter().filter(|c| **c != '_').collect();
    let expr = if float {
        digits.parse().ok().filter(|value: &f64| value.is_finite()).map(Expr::Float)
    } else {
        digits.parse().ok().map(Expr::Int)
    };
    Some(Tree::leaf(expr.unwrap_or_else(|| {
        let reason = Some("number out of range".to_owned());
        p.fatal.get_or_insert(SyntaxError::at(&p.text, (begin, p.at), reason));
        Expr::Nil
    })))
}

fn symbol(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.take('$')?;
        Some(Tree::leaf(Expr::Str(p.name()?)))
    })
}

fn not(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.take('!')?;
        p.ws();
        let inner = primary(p)?;
        Some(Tree::over(Expr::Not(inner.expr.clone()), &[&inner]))
    })
}

fn substitution(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| {
        p.take('*')?;
        let inner = primary(p)?;
        Some(Tree::over(Expr::Substitution(inner.expr.clone()), &[&inner]))
    })
}

fn auto(p: &mut Parser<'_>) -> Option<Tree> {
    p.rule(|p| p.word("auto"))?;
    p.uses_place = true;
    Some(Tree::leaf(Expr::Auto(p.place.path.clone().into())))
}
