//! The parser: ordered choice without tokens, as the language is defined, but with a memory.
//!
//! The grammar is a parsing expression grammar: alternatives are tried in order, and white space matters around
//! binary operators. Each rule remembers per position what it found, so that text is read in linear time however
//! often alternatives start over. Rules also note how far they came; the farthest match is what an error names.

use std::sync::Arc;

use super::ast::{
    Argument, Call, Child, Expr, Lambda, Mapping, Marker, Merge, Operator, Parameter, Place, Reference, Sync,
    steps,
};
use super::quote::unquote;
use super::{MAX_DEPTH, SyntaxError, too_deep};

/// An expression and how deep it is.
#[derive(Clone, Debug)]
struct Tree {
    expr: Child,
    depth: u32,
}

impl Tree {
    fn leaf(expr: Expr) -> Self {
        Self { expr: Arc::new(expr), depth: 1 }
    }

    fn over(expr: Expr, children: &[&Tree]) -> Self {
        let depth = children.iter().map(|child| child.depth).max().unwrap_or(0) + 1;
        Self { expr: Arc::new(expr), depth }
    }
}

/// Rules whose results are remembered.
#[derive(Clone, Copy)]
enum Rule {
    Expression,
    Or,
    Concat,
    Logic,
    Compare,
    Add,
    Multiply,
    Primary,
}

const RULES: usize = 8;

#[derive(Clone, Debug)]
enum Memory {
    Unknown,
    Failed,
    Found(Tree, u32),
}

pub(super) struct Parser<'a> {
    text: Vec<char>,
    at: usize,
    farthest: (usize, usize),
    memory: Vec<[Memory; RULES]>,
    depth: u32,
    place: &'a Place,
    uses_place: bool,
    fatal: Option<SyntaxError>,
}

/// What a parse gives beside the expression.
pub(super) struct Parsed {
    pub(super) expr: Child,
    /// Whether it depends on where it stands.
    pub(super) uses_place: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &str, place: &'a Place) -> Self {
        let text: Vec<char> = text.chars().collect();
        let memory = vec![const { [const { Memory::Unknown }; RULES] }; text.len() + 1];
        Self { text, at: 0, farthest: (0, 0), memory, depth: 0, place, uses_place: false, fatal: None }
    }

    /// The whole text as an expression.
    pub(super) fn run(mut self) -> Result<Parsed, SyntaxError> {
        let tree = self.prefer().or_else(|| self.marked()).or_else(|| self.expression());
        if let Some(fatal) = self.fatal {
            return Err(fatal);
        }
        match tree {
            Some(tree) if self.at == self.text.len() => {
                Ok(Parsed { expr: tree.expr, uses_place: self.uses_place })
            }
            _ => Err(SyntaxError::at(&self.text, self.farthest, None)),
        }
    }

    // ---- the machine -------------------------------------------------------------------------------------------

    /// Runs a rule: on failure the position is as before, on success its match is noted.
    fn rule<T>(&mut self, body: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let begin = self.at;
        let found = body(self);
        match found {
            Some(_) => self.note(begin),
            None => self.at = begin,
        }
        found
    }

    fn note(&mut self, begin: usize) {
        if begin != self.at && self.at > self.farthest.1 {
            self.farthest = (begin, self.at);
        }
    }

    /// Runs something that leaves the position alone when it fails.
    fn attempt<T>(&mut self, body: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let begin = self.at;
        let found = body(self);
        if found.is_none() {
            self.at = begin;
        }
        found
    }

    fn remembered(&mut self, rule: Rule, body: impl FnOnce(&mut Self) -> Option<Tree>) -> Option<Tree> {
        let begin = self.at;
        match &self.memory[begin][rule as usize] {
            Memory::Unknown => {}
            Memory::Failed => return None,
            Memory::Found(tree, end) => {
                self.at = *end as usize;
                return Some(tree.clone());
            }
        }
        if self.fatal.is_some() {
            return None;
        }
        self.depth += 1;
        let found = if self.depth > MAX_DEPTH * RULES_PER_LEVEL {
            self.fatal = Some(SyntaxError::TooDeep);
            None
        } else {
            too_deep::with_stack(|| self.rule(body))
        };
        self.depth -= 1;
        if let Some(tree) = &found
            && tree.depth > MAX_DEPTH
        {
            self.fatal = Some(SyntaxError::TooDeep);
            self.at = begin;
            return None;
        }
        self.memory[begin][rule as usize] = match &found {
            // Positions fit: a text is a scalar of a document, whose size is limited.
            Some(tree) => Memory::Found(tree.clone(), u32::try_from(self.at).unwrap_or(u32::MAX)),
            None => Memory::Failed,
        };
        found
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, c: char) -> Option<()> {
        (self.peek()? == c).then(|| self.at += 1)
    }

    fn take_any(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        let c = self.peek().filter(|c| wanted(*c))?;
        self.at += 1;
        Some(c)
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) -> usize {
        let begin = self.at;
        while self.take_any(&wanted).is_some() {}
        self.at - begin
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let end =
            word.chars().try_fold(self.at, |at, c| (self.text.get(at) == Some(&c)).then_some(at + 1))?;
        self.at = end;
        Some(())
    }

    fn slice(&self, begin: usize) -> String {
        self.text[begin..self.at].iter().collect()
    }

    /// Optional white space.
    fn ws(&mut self) {
        let begin = self.at;
        self.skip(is_blank);
        self.note(begin);
    }

    /// White space.
    fn blank(&mut self) -> Option<()> {
        let begin = self.at;
        (self.skip(is_blank) > 0).then(|| self.note(begin))
    }

    // ---- documents ---------------------------------------------------------------------------------------------

    fn prefer(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.ws();
            p.word("prefer")?;
            p.blank()?;
            let inner = p.expression()?;
            Some(Tree::over(Expr::Prefer(inner.expr.clone()), &[&inner]))
        })
    }

    fn marked(&mut self) -> Option<Tree> {
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

    /// `a.b:c`
    fn tag_name(&mut self) -> Option<()> {
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

    // ---- operators, weakest first ------------------------------------------------------------------------------

    fn expression(&mut self) -> Option<Tree> {
        self.remembered(Rule::Expression, |p| {
            let tree = p.scoped().or_else(|| p.lambda()).or_else(|| p.or())?;
            p.ws();
            Some(tree)
        })
    }

    fn scoped(&mut self) -> Option<Tree> {
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

    fn or(&mut self) -> Option<Tree> {
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

    /// Operands with operators of one level between them, each with white space around it.
    fn chain(
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

    fn check(&mut self, tree: &Tree) -> Option<()> {
        if tree.depth > MAX_DEPTH {
            self.fatal = Some(SyntaxError::TooDeep);
            return None;
        }
        Some(())
    }

    // ---- operands ----------------------------------------------------------------------------------------------

    fn primary(&mut self) -> Option<Tree> {
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

    fn digits(&mut self) -> Option<()> {
        (self.skip(|c| c.is_ascii_digit()) > 0).then_some(())
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
                // The literal may still be part of an alternative that fails: the parse as a whole decides.
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

    fn name(&mut self) -> Option<Arc<str>> {
        let begin = self.at;
        self.rule(|p| (p.skip(is_name) > 0).then(|| Arc::from(p.slice(begin))))
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

    fn merge(&mut self) -> Option<Tree> {
        let merge = self.rule(|p| p.rule(Self::merge_reference).or_else(|| p.rule(Self::merge_simple)))?;
        self.uses_place = true;
        Some(Tree::leaf(Expr::Merge(merge)))
    }

    fn merge_reference(&mut self) -> Option<Merge> {
        self.word("merge")?;
        // `merge required` has no path.
        let begin = self.at;
        let required = self
            .attempt(|p| {
                p.blank()?;
                p.rule(|p| p.word("required"))
            })
            .is_some();
        self.at = begin;
        if required {
            return None;
        }
        let (mut replace, mut key) = (false, None);
        self.attempt(|p| {
            p.blank()?;
            key = p.on();
            if key.is_none() {
                p.rule(|p| p.word("replace"))?;
                replace = true;
            }
            Some(())
        });
        self.blank()?;
        let reference = self.reference()?;
        let none = reference.tag.is_none() && reference.path.len() == 1 && &*reference.path[0] == "none";
        let path = if none { Arc::from([]) } else { reference.path };
        Some(Merge { required: !none, redirect: true, path, replace, none, key })
    }

    fn on(&mut self) -> Option<Arc<str>> {
        self.rule(|p| {
            p.word("on")?;
            p.blank()?;
            p.name()
        })
    }

    fn merge_simple(&mut self) -> Option<Merge> {
        self.word("merge")?;
        if self.peek() == Some('(') {
            return None;
        }
        let (mut replace, mut required, mut key) = (false, false, None);
        self.attempt(|p| {
            p.blank()?;
            if p.rule(|p| p.word("replace")).is_some() {
                replace = true;
            } else if p.rule(|p| p.word("required")).is_some() {
                required = true;
            } else {
                key = Some(p.on()?);
            }
            Some(())
        });
        let redirect = self.place.path != self.place.stub_path;
        Some(Merge {
            path: self.place.stub_path.clone().into(),
            redirect,
            replace,
            required: replace || required || redirect,
            none: false,
            key,
        })
    }

    fn lambda_reference(&mut self) -> Option<Tree> {
        self.rule(|p| {
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
            p.lambda()
        })
    }

    fn lambda(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.ws();
            let (parameters, varargs, depth) = p.rule(|p| {
                p.take('|')?;
                p.ws();
                let names = p.rule(Self::parameters).unwrap_or_default();
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

    fn parameters(&mut self) -> Option<(Vec<Parameter>, bool, u32)> {
        let mut parameters = vec![self.parameter()?];
        let mut depth = 0;
        while let Some(parameter) = self.attempt(|p| {
            p.take(',')?;
            p.parameter()
        }) {
            parameters.push(parameter);
        }
        if let Some(default) = self.default_value() {
            depth = default.depth;
            if let Some(last) = parameters.last_mut() {
                last.default = Some(default.expr);
            }
        }
        while let Some((mut parameter, default)) = self.attempt(|p| {
            p.take(',')?;
            let parameter = p.parameter()?;
            Some((parameter, p.default_value()?))
        }) {
            depth = depth.max(default.depth);
            parameter.default = Some(default.expr);
            parameters.push(parameter);
        }
        let varargs = self
            .rule(|p| {
                p.word("...")?;
                p.ws();
                Some(())
            })
            .is_some();
        Some((parameters, varargs, depth))
    }

    fn parameter(&mut self) -> Option<Parameter> {
        self.rule(|p| {
            p.ws();
            let name = p.name()?;
            p.ws();
            Some(Parameter { name, default: None })
        })
    }

    fn default_value(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.take('=')?;
            p.expression()
        })
    }

    // ---- chains ------------------------------------------------------------------------------------------------

    fn chained(&mut self) -> Option<Tree> {
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

    fn group(&mut self) -> Option<Tree> {
        self.take('(')?;
        let inner = self.expression()?;
        self.take(')')?;
        Some(Tree::over(Expr::Group(inner.expr.clone()), &[&inner]))
    }

    /// An inline lambda, or an expression that gives one.
    fn lambda_or(&mut self) -> Option<Tree> {
        self.rule(|p| p.lambda().or_else(|| p.attempt(Self::barred)))
    }

    fn barred(&mut self) -> Option<Tree> {
        self.take('|')?;
        self.expression()
    }

    fn mapping(&mut self, open: &str, close: char, kind: Mapping) -> Option<Tree> {
        self.rule(|p| {
            p.word(open)?;
            let source = p.or()?;
            let lambda = p.lambda_or()?;
            p.take(close)?;
            let expr = Expr::Mapping(kind, source.expr.clone(), lambda.expr.clone());
            Some(Tree::over(expr, &[&source, &lambda]))
        })
    }

    fn sum(&mut self) -> Option<Tree> {
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

    fn catch(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.word("catch[")?;
            let source = p.or()?;
            let lambda = p.lambda_or()?;
            p.take(']')?;
            Some(Tree::over(Expr::Catch(source.expr.clone(), Some(lambda.expr.clone())), &[&source, &lambda]))
        })
    }

    fn sync(&mut self) -> Option<Tree> {
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

    /// `|x|->condition,value`: a lambda whose parameters the value has, too.
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

    fn list(&mut self) -> Option<Tree> {
        self.rule(|p| {
            let (items, depth) = p.bracketed(false)?;
            Some(Tree { expr: Arc::new(Expr::List(items)), depth: depth + 1 })
        })
    }

    /// `[ a, b... ]`; an index is not empty.
    fn bracketed(&mut self, filled: bool) -> Option<(Vec<Argument>, u32)> {
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

    fn arguments(&mut self, items: &mut Vec<Argument>, depth: &mut u32) -> Option<()> {
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

    fn argument(&mut self) -> Option<(Argument, u32)> {
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

    fn map(&mut self) -> Option<Tree> {
        self.rule(|p| {
            p.rule(|p| p.take('{'))?;
            p.ws();
            let (entries, depth) = p.assignments();
            p.take('}')?;
            Some(Tree { expr: Arc::new(Expr::Map(entries)), depth: depth + 1 })
        })
    }

    fn range(&mut self) -> Option<Tree> {
        let (start, end) = self.rule(Self::limits)?;
        let children: Vec<&Tree> = start.iter().chain(end.iter()).collect();
        let expr = Expr::Range(start.as_ref().map(|t| t.expr.clone()), end.as_ref().map(|t| t.expr.clone()));
        Some(Tree::over(expr, &children))
    }

    fn limits(&mut self) -> Option<(Option<Tree>, Option<Tree>)> {
        self.rule(|p| p.take('['))?;
        let start = self.expression();
        self.rule(|p| p.word(".."))?;
        let end = self.expression();
        self.take(']')?;
        Some((start, end))
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

    // ---- references --------------------------------------------------------------------------------------------

    fn reference(&mut self) -> Option<Reference> {
        self.rule(|p| {
            let (mut begin, mut tag) = (p.at, None);
            if let Some((behind, name)) = p.attempt(Self::tagged) {
                (begin, tag) = (behind, Some(name));
            } else {
                let _ = p.take('.');
                p.key()?;
            }
            p.more_steps();
            let mut path = steps(&p.slice(begin), true);
            if path.is_empty() {
                path.push(Arc::from(""));
            }
            Some(Reference { tag, path: path.into() })
        })
    }

    /// `tag::` and the first step behind it.
    fn tagged(&mut self) -> Option<(usize, Arc<str>)> {
        let start = self.at;
        self.rule(|p| {
            p.attempt(|p| {
                p.word("doc")?;
                p.take_any(|c| c == '.' || c == ':')?;
                let _ = p.take('-');
                p.digits()
            })
            .or_else(|| p.tag_name())?;
            p.word("::")
        })?;
        let tag: String = self.text[start..self.at - 2].iter().collect();
        let begin = self.at;
        self.take('.').or_else(|| self.key())?;
        Some((begin, Arc::from(tag)))
    }

    fn more_steps(&mut self) {
        self.rule(|p| {
            while p.step().is_some() {}
            Some(())
        });
    }

    fn step(&mut self) -> Option<()> {
        self.rule(|p| {
            p.attempt(|p| {
                p.take('.')?;
                p.key()
            })
            .or_else(|| {
                let _ = p.take('.');
                p.rule(|p| {
                    p.take('[')?;
                    let _ = p.take('-');
                    p.digits()?;
                    p.take(']')
                })
            })
        })
    }

    fn key(&mut self) -> Option<()> {
        self.rule(|p| {
            p.take_any(is_name)?;
            p.skip(is_key);
            p.attempt(|p| {
                p.take(':')?;
                p.take_any(is_name)?;
                p.skip(is_key);
                Some(())
            });
            Some(())
        })
    }
}

/// How many remembered rules one level of nesting takes, at most.
const RULES_PER_LEVEL: u32 = 9;

fn binary(operator: Operator, left: &Tree, right: &Tree) -> Tree {
    Tree::over(Expr::Binary(operator, left.expr.clone(), right.expr.clone()), &[left, right])
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_key(c: char) -> bool {
    is_name(c) || c == '-'
}
