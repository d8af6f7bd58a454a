//! Operands with a leading sign, and constants.

use super::super::ast::Expr;
use super::super::error::SyntaxError;
use super::super::quote::unquote;
use super::memory::Rule;
use super::state::Parser;
use super::tree::Tree;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Option<Tree> {
        self.remembered(Rule::Primary, |p| {
            p.ip()
                .or_else(|| p.string())
                .or_else(|| p.number())
                .or_else(|| p.rule(|p| p.word("true").map(|()| Tree::leaf(Expr::Bool(true)))))
                .or_else(|| p.rule(|p| p.word("false").map(|()| Tree::leaf(Expr::Bool(false)))))
                .or_else(|| p.rule(|p| p.word("~~").map(|()| Tree::leaf(Expr::Undefined))))
                .or_else(|| p.rule(|p| p.word("nil").or_else(|| p.take('~')).map(|()| Tree::leaf(Expr::Nil))))
                .or_else(|| p.symbol())
                .or_else(|| p.not())
                .or_else(|| p.substitution())
                .or_else(|| p.merge())
                .or_else(|| p.auto())
                .or_else(|| p.lambda_reference())
                .or_else(|| p.chained())
        })
    }

    fn ip(&mut self) -> Option<Tree> {
        self.rule(|p| {
            let begin = p.at;
            p.digits()?;
            for _ in 0..3 {
                p.take('.')?;
                p.digits()?;
            }
            Some(Tree::leaf(Expr::Str(p.slice(begin).into())))
        })
    }

    fn string(&mut self) -> Option<Tree> {
        let begin = self.at;
        self.rule(|p| {
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
        match unquote(&self.text[begin..self.at]) {
            Ok(text) => Some(Tree::leaf(Expr::Str(text.into()))),
            Err(reason) => {
                // The literal may be part of an alternative that fails, so only the whole parse decides.
                self.fatal.get_or_insert(SyntaxError::at(&self.text, (begin, self.at), Some(reason)));
                Some(Tree::leaf(Expr::Nil))
            }
        }
    }

    fn number(&mut self) -> Option<Tree> {
        let begin = self.at;
        let float = self.rule(|p| {
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
        let digits: String = self.text[begin..self.at].iter().filter(|c| **c != '_').collect();
        let expr = if float {
            digits.parse().ok().filter(|value: &f64| value.is_finite()).map(Expr::Float)
        } else {
            digits.parse().ok().map(Expr::Int)
        };
        Some(Tree::leaf(expr.unwrap_or_else(|| {
            let reason = Some("number out of range".to_owned());
            self.fatal.get_or_insert(SyntaxError::at(&self.text, (begin, self.at), reason));
            Expr::Nil
        })))
    }

    fn symbol(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.take('$')?;
            Some(Tree::leaf(Expr::Str(p.name()?)))
        })
    }

    fn not(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.take('!')?;
            p.ws();
            let inner = p.primary()?;
            Some(Tree::over(Expr::Not(inner.expr.clone()), &[&inner]))
        })
    }

    fn substitution(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.take('*')?;
            let inner = p.primary()?;
            Some(Tree::over(Expr::Substitution(inner.expr.clone()), &[&inner]))
        })
    }

    fn auto(&mut self) -> Option<Tree> {
        self.rule(|p| p.word("auto"))?;
        self.uses_place = true;
        Some(Tree::leaf(Expr::Auto(self.place.path.clone().into())))
    }
}
