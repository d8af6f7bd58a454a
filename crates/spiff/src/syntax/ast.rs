//! The syntax tree of an expression.

use std::sync::Arc;

pub use crate::path::Path;
use crate::value::Value;

/// A shared subexpression.
pub type Child = Arc<Expr>;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Expr {
    /// A known value, such as an argument that is already evaluated.
    Known(Value),
    /// An integer such as `12`.
    Int(i64),
    /// A floating point number such as `1.5`.
    Float(f64),
    /// A text: `"text"`, `$name` or `10.0.0.1`.
    Str(Arc<str>),
    /// A boolean such as `true`.
    Bool(bool),
    /// The null value `~`.
    Nil,
    /// The undefined value `~~`.
    Undefined,
    /// A reference: `a.b`, `.a` or `tag::a`.
    Reference(Reference),
    /// The operation of a binary operator, such as `a + b`, `a b` or `a || b`.
    Binary(Operator, Child, Child),
    /// The conditional expression `c ? t : f`.
    Conditional(Child, Child, Child),
    /// The negation `!a`.
    Not(Child),
    /// The parenthesized expression `( a )`.
    Group(Child),
    /// The call `f(a, b)`.
    Call(Call),
    /// The list `[a, b...]`.
    List(Vec<Argument>),
    /// The map `{ k = v }`.
    Map(Vec<(Child, Child)>),
    /// The expression `a` with local values: `( k = v ) a`.
    Scope(Vec<(Child, Child)>, Child),
    /// The range `[a..b]`.
    Range(Option<Child>, Option<Child>),
    /// The path `b.c` below the value of an expression: `(a).b.c`.
    Qualified(Child, Path),
    /// The indexed access `a.[i]`.
    Index(Child, Vec<Argument>),
    /// The slice `a.[1..2]`. It occurs only as the first expression of a projection.
    Slice(Child, Option<Child>, Option<Child>),
    /// The projection `a.[*].b`. The first expression has a list or map as its value. The second expression
    /// is evaluated for each entry of this value, and contains [`Expr::Item`] in place of the entry.
    Projection(Child, Child),
    /// The list entry for which a projection such as `list.[*].name` is evaluated at the moment.
    Item,
    /// The substitution `*template`.
    Substitution(Child),
    /// The word `auto`, with the path of its node in the document.
    Auto(Path),
    /// A merge expression: `merge …`.
    Merge(Merge),
    /// The lambda `|x|->e`.
    Lambda(Arc<Lambda>),
    /// The expression `lambda e`, with its place in the document.
    LambdaRef(Child, Place),
    /// A mapping such as `map[a|x|->e]`.
    Mapping(Mapping, Child, Child),
    /// The sum `sum[a|i|s,x|->e]`.
    Sum(Child, Child, Child),
    /// The expression `catch[a|v,e|->r]`, or `catch(a)` without a lambda.
    Catch(Child, Option<Child>),
    /// A synchronization: `sync[…]` or `sync(…)`.
    Sync(Arc<Sync>),
    /// The expression `prefer e`. No stub overrides the value of `e`.
    Prefer(Child),
    /// The marked expression `&temporary &template (e)`.
    Marker(Marker),
}

/// A reference by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Tag at which the reference starts.
    pub tag: Option<Arc<str>>,
    /// The path of the reference. A path with a single, empty step stands for the whole document.
    pub path: Path,
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// The concatenation `a b`.
    Concat,
    /// The operator `||`.
    Or,
    /// The operator `//`.
    ValidOr,
    /// The operator `-or`.
    LogOr,
    /// The operator `-and`.
    LogAnd,
    /// The operator `==`.
    Equal,
    /// The operator `!=`.
    NotEqual,
    /// The operator `<=`.
    LessEqual,
    /// The operator `>=`.
    GreaterEqual,
    /// The operator `<`.
    Less,
    /// The operator `>`.
    Greater,
    /// The operator `+`.
    Add,
    /// The operator `-`.
    Subtract,
    /// The operator `*`.
    Multiply,
    /// The operator `/`.
    Divide,
    /// The operator `%`.
    Modulo,
}

impl Operator {
    /// Returns the sign of the operator. The sign of the concatenation is empty.
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
    /// The function or lambda that is called.
    pub function: Child,
    /// Named arguments, which are evaluated first.
    pub named: Vec<(Arc<str>, Child)>,
    /// The positional arguments of the call.
    pub arguments: Vec<Argument>,
    /// Whether the result is a lambda that takes the remaining arguments: `f*(…)`.
    pub curry: bool,
}

/// An entry of a list, or an argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The expression of the entry or argument.
    pub expr: Child,
    /// Whether the expression has the suffix `...`. The value of the expression must then be a list. Each entry of
    /// this list becomes a separate entry or argument.
    pub expand: bool,
}

/// A merge expression: `merge`, with its path and its options.
#[expect(clippy::struct_excessive_bools, reason = "four independent words of the language")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// Path in the stubs; empty for `merge none`.
    pub path: Path,
    /// Whether `path` also applies to the nodes below the merged node.
    ///
    /// If true, the values of these nodes are looked up below `path` in the stubs. If false, the values are looked up
    /// below the path of the merged node.
    pub redirect: bool,
    /// Whether the merge is `merge replace`. The engine does not process the value of such a merge further.
    pub replace: bool,
    /// Whether it is an error if the stubs contain no value.
    pub required: bool,
    /// Whether the merge is `merge none`. Such a merge reads no stub, and its value is null. If a node contains such a
    /// merge, no stub overrides the nodes below this node.
    pub none: bool,
    /// The name of the key field in `merge on FIELD`. The key field identifies the entries of a list.
    pub key: Option<Arc<str>>,
}

/// A lambda expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Lambda {
    /// The parameters of the lambda.
    pub parameters: Vec<Parameter>,
    /// Whether the last parameter takes all further arguments.
    pub varargs: bool,
    /// The body of the lambda.
    pub body: Child,
}

/// A parameter of a lambda.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name of the parameter.
    pub name: Arc<str>,
    /// The default value of the parameter.
    pub default: Option<Child>,
}

/// The place of an expression in the document. If the value of an expression depends on the place, the syntax
/// tree contains the place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Path of the expression's node in the document.
    pub path: Vec<Arc<str>>,
    /// Path at which the stubs contain the values for this node.
    pub stub_path: Vec<Arc<str>>,
}

/// The kind of result that a mapping creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mapping {
    /// The expression `map[…]`. The result is a list of the values that the lambda returns.
    List,
    /// The expression `map{…}`. The result is a map of the values that the lambda returns.
    Map,
    /// The expression `select[…]`, applied to a list or a map. The result is a list of the values of those entries
    /// that meet the condition.
    SelectList,
    /// The expression `select{…}`, applied to a map. The result is a map of those entries that meet the condition.
    SelectMap,
    /// The expression `filter[…]`, applied to a list. The result is a list of those entries that meet the condition.
    FilterList,
    /// The expression `filter{…}`, applied to a map. The result is a map of those entries that meet the condition.
    FilterMap,
}

impl Mapping {
    /// Returns the keyword of the mapping and its pair of brackets. For `map[…]`, they are `map` and `[]`.
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

/// The expression `sync[e|condition|value|timeout]` or `sync(e, condition, value, timeout)`. It evaluates `e`
/// repeatedly until `condition` is true, and then returns `value`. It fails after the timeout.
#[derive(Clone, Debug, PartialEq)]
pub struct Sync {
    /// Expression that is evaluated until the condition holds.
    pub source: Child,
    /// Condition on the value of the expression.
    pub condition: Child,
    /// Lambda or expression that creates the result.
    pub value: Option<Child>,
    /// The timeout in seconds.
    pub timeout: Option<Child>,
    /// Whether the expression has the form `sync(…)`. In this form, the condition and the expression for the result
    /// need not be lambdas. They can refer to the outcome of [`source`](Self::source) by the names `value`, `error`
    /// and `valid`.
    pub function: bool,
}

/// Markers, with the expression that they mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Markers as the template contains them, such as `&temporary` and `&tag:name`.
    pub names: Vec<Arc<str>>,
    /// The marked expression: its text with parentheses, and the parsed expression.
    pub expr: Option<(Arc<str>, Child)>,
}

impl Marker {
    /// Returns the name that a marker `&tag:` contains.
    pub fn tag(&self) -> Option<&str> {
        self.names.iter().find_map(|name| name.strip_prefix("&tag:"))
    }

    /// Tells whether the markers include `name`.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|marker| &**marker == name)
    }
}

impl Expr {
    /// Tells whether the expression is a merge without a path, such as `merge`. Also returns `true` if the
    /// expression joins such a merge to other expressions, for example by `||`: `merge || a`.
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
