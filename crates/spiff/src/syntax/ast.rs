//! The syntax tree of an expression.

use std::sync::Arc;

use crate::value::Value;

/// The steps of a path: `a.[0].b` is `a`, `[0]`, `b`; a leading empty step means "from the root".
pub type Path = Arc<[Arc<str>]>;

/// A part of an expression, shared by all who hold it.
pub type Child = Arc<Expr>;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Expr {
    /// A value that is known already: a bound argument, a template to instantiate.
    Known(Value),
    /// `12`
    Int(i64),
    /// `1.5`
    Float(f64),
    /// `"text"`, `$name`, `10.0.0.1`
    Str(Arc<str>),
    /// `true`
    Bool(bool),
    /// `~`
    Nil,
    /// `~~`
    Undefined,
    /// `a.b`, `.a`, `tag::a`
    Reference(Reference),
    /// `a + b`, `a b`, `a || b` …
    Binary(Operator, Child, Child),
    /// `c ? t :f`
    Conditional(Child, Child, Child),
    /// `!a`
    Not(Child),
    /// `( a )`
    Group(Child),
    /// `f(a, b)`
    Call(Call),
    /// `[a, b...]`
    List(Vec<Argument>),
    /// `{ k = v }`
    Map(Vec<(Child, Child)>),
    /// `( k = v ) a`
    Scope(Vec<(Child, Child)>, Child),
    /// `[a..b]`
    Range(Option<Child>, Option<Child>),
    /// `(a).b.c`: a path below what an expression gives.
    Qualified(Child, Path),
    /// `a.[i]`
    Index(Child, Vec<Argument>),
    /// `a.[1..2]`, whose result is what the projection around it works on.
    Slice(Child, Option<Child>, Option<Child>),
    /// `a.[*].b`: the inner expression is evaluated for each [`Expr::Item`].
    Projection(Child, Child),
    /// The entry that a projection is about.
    Item,
    /// `*template`
    Substitution(Child),
    /// `auto`, and the path of the document where it stands.
    Auto(Path),
    /// `merge …`
    Merge(Merge),
    /// `|x|->e`
    Lambda(Arc<Lambda>),
    /// `lambda e`, and where it stands in the document.
    LambdaRef(Child, Place),
    /// `map[a|x|->e]` and its kin.
    Mapping(Mapping, Child, Child),
    /// `sum[a|i|s,x|->e]`
    Sum(Child, Child, Child),
    /// `catch[a|v,e|->r]`, or `catch(a)` without a lambda.
    Catch(Child, Option<Child>),
    /// `sync[…]`, `sync(…)`
    Sync(Arc<Sync>),
    /// `prefer e`
    Prefer(Child),
    /// `&temporary &template (e)`
    Marker(Marker),
}

/// A reference by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The tag it starts from.
    pub tag: Option<Arc<str>>,
    /// The path; a single empty step is the whole.
    pub path: Path,
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// `a b`
    Concat,
    /// `||`
    Or,
    /// `//`
    ValidOr,
    /// `-or`
    LogOr,
    /// `-and`
    LogAnd,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<=`
    LessEqual,
    /// `>=`
    GreaterEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

impl Operator {
    /// How it is written; concatenation has no sign.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Concat => "",
            Self::Or => "||",
            Self::ValidOr => "//",
            Self::LogOr => "-or",
            Self::LogAnd => "-and",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::LessEqual => "<=",
            Self::GreaterEqual => ">=",
            Self::Less => "<",
            Self::Greater => ">",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }
}

/// A call of a function or a lambda.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function or lambda.
    pub function: Child,
    /// Named arguments, first as they are evaluated first.
    pub named: Vec<(Arc<str>, Child)>,
    /// Positional arguments.
    pub arguments: Vec<Argument>,
    /// `f*(…)`: the result is a lambda that takes the remaining arguments.
    pub curry: bool,
}

/// An element of a list or an argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The expression.
    pub expr: Child,
    /// `e...`: the entries of the list that the expression gives.
    pub expand: bool,
}

/// `merge` in its forms.
#[expect(clippy::struct_excessive_bools, reason = "four independent words of the language")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// Where in the stubs; empty for `merge none`.
    pub path: Path,
    /// The content below is looked for at that path, too.
    pub redirect: bool,
    /// `merge replace`
    pub replace: bool,
    /// The stubs must have it.
    pub required: bool,
    /// `merge none`
    pub none: bool,
    /// `merge on key`
    pub key: Option<Arc<str>>,
}

/// A lambda expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Lambda {
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The last parameter takes all further arguments.
    pub varargs: bool,
    /// Its body.
    pub body: Child,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: Arc<str>,
    /// Its value where no argument is given.
    pub default: Option<Child>,
}

/// Where in the document an expression stands, as far as some expressions depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The path in the document.
    pub path: Vec<Arc<str>>,
    /// The path in the stubs.
    pub stub_path: Vec<Arc<str>>,
}

/// The kind of result that a mapping makes of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mapping {
    /// `map[…]`: a list of the results.
    List,
    /// `map{…}`: a map of the results.
    Map,
    /// `select[…]`: a list of those for which it holds.
    SelectList,
    /// `select{…}`: a map of those for which it holds.
    SelectMap,
    /// `filter[…]`
    FilterList,
    /// `filter{…}`
    FilterMap,
}

impl Mapping {
    /// Its keyword and brackets.
    pub const fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::List => ("map", "[]"),
            Self::Map => ("map", "{}"),
            Self::SelectList => ("select", "[]"),
            Self::SelectMap => ("select", "{}"),
            Self::FilterList => ("filter", "[]"),
            Self::FilterMap => ("filter", "{}"),
        }
    }
}

/// `sync[e|condition|value|timeout]`, `sync(e, condition, value, timeout)`
#[derive(Clone, Debug, PartialEq)]
pub struct Sync {
    /// The expression that is tried.
    pub source: Child,
    /// Whether it is as it should be.
    pub condition: Child,
    /// The lambda that makes the result.
    pub value: Option<Child>,
    /// Seconds until it is given up.
    pub timeout: Option<Child>,
    /// The form of a function, whose condition and value are no lambdas but see `value`, `error` and `valid`.
    pub function: bool,
}

/// Markers and the expression they mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// As written: `&temporary`, `&tag:name`.
    pub names: Vec<Arc<str>>,
    /// The expression with its parentheses as text, and parsed.
    pub expr: Option<(Arc<str>, Child)>,
}

impl Marker {
    /// The name given by `&tag:`.
    pub fn tag(&self) -> Option<&str> {
        self.names.iter().find_map(|name| name.strip_prefix("&tag:"))
    }

    /// Whether a marker is among them.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|marker| &**marker == name)
    }
}

impl Expr {
    /// Whether a merge without path is an operand at the top of the expression.
    pub fn includes_direct_merge(&self) -> bool {
        match self {
            Self::Merge(merge) => !merge.redirect,
            Self::Binary(Operator::Concat | Operator::Or | Operator::ValidOr, left, right) => {
                left.includes_direct_merge() || right.includes_direct_merge()
            }
            Self::Conditional(_, yes, no) => yes.includes_direct_merge() || no.includes_direct_merge(),
            Self::Group(inner) | Self::Prefer(inner) | Self::Catch(inner, _) => inner.includes_direct_merge(),
            Self::Marker(Marker { expr: Some((_, inner)), .. }) => inner.includes_direct_merge(),
            _ => false,
        }
    }
}

/// Splits the text of a reference at its dots and before its brackets. `leading`: a leading dot gives an empty step.
pub(crate) fn steps(text: &str, leading: bool) -> Vec<Arc<str>> {
    let mut path: Vec<Arc<str>> = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match c {
            '.' => {
                if at > start || (leading && path.is_empty()) {
                    path.push(Arc::from(&text[start..at]));
                }
                start = at + 1;
            }
            '[' => {
                if at > start {
                    path.push(Arc::from(&text[start..at]));
                }
                start = at;
            }
            _ => {}
        }
    }
    if start < text.len() {
        path.push(Arc::from(&text[start..]));
    }
    path
}
