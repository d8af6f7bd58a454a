//! Writes expressions as text in one canonical form. Reports and the texts of lambdas contain expressions in
//! this form.

use std::fmt::{self, Display, Formatter, Write};

use super::ast::{Argument, Call, Child, Expr, Lambda, Marker, Merge, Operator, Reference};
use super::quote::go_quote;
use crate::too_deep;
use crate::value::Value;
use crate::value::number::float_text;

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        too_deep::with_stack(|| print(self, f))
    }
}

fn print(expr: &Expr, f: &mut Formatter<'_>) -> fmt::Result {
    match expr {
        Expr::Known(value) => f.write_str(&known(value)),
        Expr::Int(value) => write!(f, "{value}"),
        Expr::Float(value) => f.write_str(&float_text(*value)),
        Expr::Str(text) => f.write_str(&go_quote(text)),
        Expr::Bool(value) => write!(f, "{value}"),
        Expr::Nil => f.write_str("nil"),
        Expr::Undefined => f.write_str("~~"),
        Expr::Reference(reference) => write!(f, "{reference}"),
        Expr::Binary(Operator::Concat, left, right) => write!(f, "{left} {right}"),
        Expr::Binary(operator, left, right) => write!(f, "{left} {} {right}", operator.sign()),
        Expr::Conditional(condition, yes, no) => write!(f, "{condition} ? {yes} : {no}"),
        Expr::Not(inner) => write!(f, "!({inner})"),
        Expr::Group(inner) => write!(f, "( {inner} )"),
        Expr::Call(call) => write!(f, "{call}"),
        Expr::List(items) => {
            f.write_char('[')?;
            separated(f, items)?;
            f.write_char(']')
        }
        Expr::Map(entries) => {
            f.write_str("{ ")?;
            assignments(f, entries)?;
            f.write_str(if entries.is_empty() { "}" } else { " }" })
        }
        Expr::Scope(entries, body) => {
            f.write_char('(')?;
            assignments(f, entries)?;
            write!(f, " ) {body}")
        }
        Expr::Range(start, end) => range(f, start.as_ref(), end.as_ref()),
        Expr::Qualified(base, path) => {
            write!(f, "({base}).")?;
            joined(f, path)
        }
        Expr::Index(base, index) => {
            write!(f, "{base}.[")?;
            separated(f, index)?;
            f.write_char(']')
        }
        Expr::Slice(base, start, end) => {
            write!(f, "{base}.[")?;
            range(f, start.as_ref(), end.as_ref())?;
            f.write_char(']')
        }
        Expr::Projection(source, rest) => write!(f, "{source}.[*] {rest}"),
        Expr::Item => Ok(()),
        Expr::Substitution(template) => write!(f, "*({template})"),
        Expr::Auto(_) => f.write_str("auto"),
        Expr::Merge(merge) => write!(f, "{merge}"),
        Expr::Lambda(lambda) => write!(f, "{lambda}"),
        Expr::LambdaRef(source, _) => write!(f, "lambda {source}"),
        Expr::Mapping(kind, source, lambda) => {
            let (keyword, brackets) = kind.parts();
            write!(f, "{keyword}{}{source}", &brackets[..1])?;
            body(f, lambda)?;
            f.write_str(&brackets[1..])
        }
        Expr::Sum(source, initial, lambda) => {
            write!(f, "sum[{source}|{initial}")?;
            body(f, lambda)?;
            f.write_char(']')
        }
        Expr::Catch(source, None) => write!(f, "catch({source})"),
        Expr::Catch(source, Some(lambda)) => {
            write!(f, "catch[{source}")?;
            body(f, lambda)?;
            f.write_char(']')
        }
        Expr::Sync(sync) => write!(f, "sync({})", sync.source),
        Expr::Prefer(inner) => write!(f, "prefer {inner}"),
        Expr::Marker(marker) => write!(f, "{marker}"),
    }
}

/// Returns a value in the form of an expression. As in the Go program spiff++, quotes in texts are not
/// escaped.
fn known(value: &Value) -> String {
    let text = |text: &str| format!("\"{text}\"");
    match value {
        Value::String(value) => text(value),
        Value::Int(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Float(value) => float_text(*value),
        Value::Lambda(lambda) => lambda.text(),
        Value::Null | Value::Undefined => "nil".to_owned(),
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(|item| known(item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let fields: Vec<String> =
                map.iter().map(|(key, item)| format!("{}={}", text(key), known(item))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => format!("<{}>", other.type_name()),
    }
}

/// Writes the last part of an expression such as `map[list|x|->e]`. The last part is a lambda, such as `|x|->e`,
/// or an expression whose value is a lambda.
fn body(f: &mut Formatter<'_>, lambda: &Child) -> fmt::Result {
    match &**lambda {
        Expr::Lambda(lambda) => signature(f, lambda),
        other => write!(f, "|{other}"),
    }
}

fn signature(f: &mut Formatter<'_>, lambda: &Lambda) -> fmt::Result {
    f.write_char('|')?;
    for (position, parameter) in lambda.parameters.iter().enumerate() {
        if position > 0 {
            f.write_char(',')?;
        }
        f.write_str(&parameter.name)?;
        if let Some(default) = &parameter.default {
            write!(f, "={default}")?;
        }
    }
    if lambda.varargs {
        f.write_str("...")?;
    }
    write!(f, "|->{}", lambda.body)
}

fn separated<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

fn assignments(f: &mut Formatter<'_>, entries: &[(Child, Child)]) -> fmt::Result {
    for (position, (key, value)) in entries.iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{key} = {value}")?;
    }
    Ok(())
}

fn range(f: &mut Formatter<'_>, start: Option<&Child>, end: Option<&Child>) -> fmt::Result {
    // If the start or the end of the range is missing, `MISSING` stands in its place, as in the reports of
    // the Go program spiff++.
    const MISSING: &str = "%!s(<nil>)";
    f.write_char('[')?;
    match start {
        Some(start) => write!(f, "{start}")?,
        None => f.write_str(MISSING)?,
    }
    f.write_str("..")?;
    match end {
        Some(end) => write!(f, "{end}")?,
        None => f.write_str(MISSING)?,
    }
    f.write_char(']')
}

fn joined<T: AsRef<str>>(f: &mut Formatter<'_>, path: &[T]) -> fmt::Result {
    for (position, step) in path.iter().enumerate() {
        if position > 0 {
            f.write_char('.')?;
        }
        f.write_str(step.as_ref())?;
    }
    Ok(())
}

impl Display for Reference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(tag) = &self.tag {
            write!(f, "{tag}::")?;
        }
        match &*self.path {
            [only] if only.is_empty() => f.write_char('.'),
            path => joined(f, path),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}(", self.function, if self.curry { "*" } else { "" })?;
        for (position, (name, value)) in self.named.iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{name}={value}")?;
        }
        if !self.named.is_empty() && !self.arguments.is_empty() {
            f.write_str(", ")?;
        }
        separated(f, &self.arguments)?;
        f.write_char(')')
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.expr, if self.expand { "..." } else { "" })
    }
}

impl Display for Lambda {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("lambda")?;
        too_deep::with_stack(|| signature(f, self))
    }
}

impl Display for Merge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("merge")?;
        let qualified = self.replace || self.key.is_some();
        if self.required && !self.redirect && qualified {
            // As in the Go program spiff++, `merge replace` and `merge on key` without a path are written
            // with the word `required`.
            f.write_str(" required")?;
        } else {
            if self.replace {
                f.write_str(" replace")?;
            }
            if let Some(key) = &self.key {
                write!(f, " on {key}")?;
            }
        }
        if self.redirect {
            f.write_char(' ')?;
            joined(f, &self.path)?;
        }
        Ok(())
    }
}

impl Display for Marker {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (position, name) in self.names.iter().enumerate() {
            if position > 0 {
                f.write_char(' ')?;
            }
            f.write_str(name)?;
        }
        match &self.expr {
            Some((text, _)) => write!(f, " ({text})"),
            None => Ok(()),
        }
    }
}
