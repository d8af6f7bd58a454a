//! Functions of texts: joining, splitting, trimming, searching and replacing.

use super::argument::{Outcome, done, fail, int, simple, text, texts};
use super::pattern::Pattern;
use super::{FunctionError, Host, Registry};
use crate::limits::ENTRY;
use crate::value::{Node, Value};

pub(super) fn register(registry: &mut Registry) {
    registry.add("join", join).add("split", split).add("split_match", split_match).add("trim", trim);
    registry.add("replace", replace).add("replace_match", replace_match).add("match", find);
    registry.add("substr", substr);
    registry.add("lower", |_, arguments| change_case("lower", str::to_lowercase, arguments));
    registry.add("upper", |_, arguments| change_case("upper", str::to_uppercase, arguments));
}

fn join(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let mut parts = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        match argument.value() {
            Value::List(_) if at == 0 => fail!("first argument for join must be a string"),
            Value::List(items) => {
                for item in items.iter() {
                    match simple(item) {
                        Some(text) => parts.push(text),
                        None => fail!("elements of list(arg {at}) to join must be simple values"),
                    }
                }
            }
            Value::Null | Value::Undefined => {}
            value => match simple(value) {
                Some(text) => parts.push(text),
                None => fail!("argument {at} to join must be simple value or list"),
            },
        }
    }
    match parts.split_first() {
        Some((separator, parts)) => {
            let length = parts.iter().map(|part| part.len().saturating_add(separator.len()));
            host.spend(length.fold(0_u64, |sum, length| sum.saturating_add(length as u64)))?;
            done(parts.join(separator))
        }
        None => fail!(""),
    }
}

/// Returns the third argument of `split` or `split_match`: the maximum number of parts. A negative number, or a
/// missing argument, means no limit.
fn count(arguments: &[Node]) -> Result<i64, FunctionError> {
    arguments.get(2).map_or(Ok(-1), |node| int(node, "third argument for split must be an integer"))
}

fn split(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(2..=3).contains(&arguments.len()) {
        fail!("split takes 2 or 3 arguments");
    }
    let subject = text(&arguments[1], "second argument for split must be a string")?;
    let count = count(arguments)?;
    let pieces = match arguments[0].value() {
        Value::String(separator) => subject.matches(&**separator).count(),
        Value::Int(length) => subject.len() / usize::try_from(*length).unwrap_or(1).max(1),
        _ => 0,
    };
    // Each part of the text is first in a temporary list, and then also in the resulting list. So the cost of an
    // entry is counted twice.
    host.spend((2 * ENTRY).saturating_mul(pieces as u64))?;
    match arguments[0].value() {
        Value::String(separator) => done(texts(split_text(subject, separator, count))),
        Value::Int(length) if *length <= 0 => fail!("max line length argument must be positive"),
        Value::Int(length) => done(texts(chunks(subject, *length, count))),
        _ => fail!("first argument for split must be a string"),
    }
}

/// Splits a text at a separator into at most `count` parts. If the text has more parts, the last part contains the rest
/// of the text. If `count` is negative, the number of parts has no limit. An empty separator splits the text into
/// characters.
fn split_text(subject: &str, separator: &str, count: i64) -> Vec<String> {
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    if limit == 0 {
        return Vec::new();
    }
    if !separator.is_empty() {
        return subject.splitn(limit, separator).map(str::to_owned).collect();
    }
    let mut starts: Vec<usize> = subject.char_indices().map(|(at, _)| at).take(limit).collect();
    starts.push(subject.len());
    starts.windows(2).map(|pair| subject[pair[0]..pair[1]].to_owned()).collect()
}

/// Splits a text into at most `count` parts of `length` characters. If the text is too long for these parts, the last
/// part contains the rest of the text. If `count` is negative, the number of parts has no limit. If `count` is 0, the
/// whole text is one part.
fn chunks(subject: &str, length: i64, mut count: i64) -> Vec<String> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let (mut part, mut size) = (String::new(), 0);
    for character in subject.chars() {
        if size >= length && !(0..=1).contains(&count) {
            parts.push(std::mem::take(&mut part));
            size = 0;
            count = count.saturating_sub(1);
        }
        part.push(character);
        size += 1;
    }
    if size > 0 {
        parts.push(part);
    }
    parts
}

fn split_match(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(2..=3).contains(&arguments.len()) {
        fail!("split_match takes 2 or 3 arguments");
    }
    let pattern = text(&arguments[0], "first argument for split_match must be a string")?;
    let subject = text(&arguments[1], "second argument for split_match must be a string")?;
    let count = count(arguments)?;
    let pattern = Pattern::new(pattern).map_err(|error| format!("split_match: {error}"))?;
    done(texts(split_at(host, &pattern, subject, count)?))
}

fn split_at<'t>(
    host: &mut dyn Host,
    pattern: &Pattern,
    subject: &'t str,
    count: i64,
) -> Result<Vec<&'t str>, FunctionError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if subject.is_empty() && !pattern.is_empty() {
        return Ok(vec![""]);
    }
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let (mut parts, mut start, mut end) = (Vec::new(), 0, 0);
    for found in pattern.find_all(subject).take(limit) {
        if parts.len() == limit - 1 {
            break;
        }
        host.spend(2 * ENTRY)?;
        end = found.start;
        if found.end != 0 {
            parts.push(&subject[start..end]);
        }
        start = found.end;
    }
    if end != subject.len() {
        parts.push(&subject[start..]);
    }
    Ok(parts)
}

fn trim(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let Some(subject) = arguments.first().filter(|_| arguments.len() <= 2) else {
        fail!("split takes one or two arguments");
    };
    let cut: Vec<char> = match arguments.get(1) {
        Some(cut) => text(cut, "second argument of split must be a string")?.chars().collect(),
        None => vec![' ', '\t'],
    };
    match subject.value() {
        Value::String(text) => done(text.trim_matches(&cut[..])),
        Value::List(items) => {
            let mut trimmed = Vec::with_capacity(items.len());
            for item in items.iter() {
                trimmed
                    .push(text(item, "list elements must be strings to be trimmed")?.trim_matches(&cut[..]));
            }
            done(texts(trimmed))
        }
        _ => fail!("trim accepts only a string or list"),
    }
}

fn change_case(name: &str, change: fn(&str) -> String, arguments: &[Node]) -> Outcome {
    let [subject] = arguments else { fail!("{name} takes exactly one argument") };
    match subject.as_str() {
        Some(text) => done(change(text)),
        None => fail!("first argument for {name} must be a string"),
    }
}

fn substr(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(2..=3).contains(&arguments.len()) {
        fail!("substr takes two to three arguments");
    }
    let subject = text(&arguments[0], "first argument for substr must be a string")?;
    let length = i64::try_from(subject.len()).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { length.saturating_add(index) } else { index };
    let start = from_end(int(&arguments[1], "second argument for substr must be an intenger")?);
    let end = match arguments.get(2) {
        Some(end) => from_end(int(end, "third argument for substr must be an integer")?),
        None => length,
    };
    if length < end {
        fail!("substr effective end index ({end}) exceeds string length ({length})");
    }
    if start < 0 {
        fail!("negative substr effective start index ({start})");
    }
    if start > end {
        fail!("substr start index ({start}) aftsre end index ({end}) ");
    }
    let at = |index: i64| usize::try_from(index).unwrap_or(0);
    if start == end {
        return done("");
    }
    match subject.get(at(start)..at(end)) {
        Some(part) => done(part),
        None => fail!("substr would cut a character in two"),
    }
}

fn find(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(2..=3).contains(&arguments.len()) {
        fail!("match takes two or three arguments");
    }
    let pattern = text(&arguments[0], "pattern string for argument one of function match required")?;
    if super::argument::is_nil(&arguments[1]) {
        return done(false);
    }
    let simple_value = "simple value for argument two of function match required";
    let count = match arguments.get(2).map(Node::value) {
        None => None,
        Some(Value::Int(0)) => fail!("repetition count may not be zero"),
        Some(Value::Int(count)) => Some(usize::try_from(*count).unwrap_or(usize::MAX)),
        Some(Value::Bool(all)) => Some(if *all { usize::MAX } else { 1 }),
        Some(_) => fail!("{simple_value}"),
    };
    let Some(subject) = simple(&arguments[1]) else { fail!("{simple_value}") };
    let pattern = Pattern::new(pattern).map_err(|error| format!("match: {error}"))?;
    match count {
        None => done(pattern.groups(&subject).map_or_else(|| Value::list([]), texts)),
        Some(count) => {
            let mut matches = Vec::new();
            for groups in pattern.all_groups(&subject).take(count) {
                host.spend(ENTRY * (groups.len() as u64 + 2))?;
                matches.push(texts(groups));
            }
            done(Value::list(matches))
        }
    }
}

fn replace(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let call = Replace::new("replace", arguments)?;
    let found = |text: &str| text.find(call.what).map(|at| vec![Some((at, at + call.what.len()))]);
    match call.with.value() {
        Value::String(with) => {
            let count = usize::try_from(call.count).unwrap_or(usize::MAX);
            let matches = call.subject.matches(call.what).count().min(count) as u64;
            host.spend(
                matches.saturating_mul(with.len() as u64).saturating_add(call.subject.len() as u64 + 1),
            )?;
            done(call.subject.replacen(call.what, with, count))
        }
        _ => call.run(host, found, |_, _| None),
    }
}

fn replace_match(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let call = Replace::new("replace_match", arguments)?;
    let pattern = Pattern::new(call.what).map_err(|error| format!("replace_match: {error}"))?;
    let template = call.with.as_str();
    call.run(host, |text| pattern.spans(text), |text, spans| Some(pattern.expand(template?, text, spans)))
}

/// The byte ranges of a match and its groups, each as a start and an end. The first entry is the whole match. Each
/// further entry is a group; `None` if the group is not part of the match.
type Spans = Vec<Option<(usize, usize)>>;

/// A call of `replace` or `replace_match`.
struct Replace<'a> {
    name: &'a str,
    subject: &'a str,
    what: &'a str,
    with: &'a Node,
    count: i64,
}

impl<'a> Replace<'a> {
    fn new(name: &'a str, arguments: &'a [Node]) -> Result<Self, FunctionError> {
        if arguments.len() < 3 {
            fail!("{name} requires at least 3 arguments");
        }
        if arguments.len() > 4 {
            fail!("{name} does not take more than 4 arguments");
        }
        let subject = text(&arguments[0], &format!("first argument for {name} must be a string"))?;
        let what = text(&arguments[1], &format!("second argument for {name} must be a string"))?;
        let count = match arguments.get(3) {
            Some(count) => int(count, &format!("fourth argument for {name} must be an integer"))?,
            None => -1,
        };
        if !matches!(arguments[2].value(), Value::String(_) | Value::Lambda(_)) {
            fail!("{name}: replace substitution must be string or lambda");
        }
        Ok(Self { name, subject, what, with: &arguments[2], count })
    }

    /// Replaces the matches one after the other. After an empty match, the next search begins one character
    /// later.
    fn run(
        &self,
        host: &mut dyn Host,
        find: impl Fn(&str) -> Option<Spans>,
        expand: impl Fn(&str, &Spans) -> Option<String>,
    ) -> Outcome {
        let (mut rest, mut out, mut left) = (self.subject, String::new(), self.count);
        let mut after_empty = true;
        while left != 0 {
            host.spend(rest.len() as u64 + 1)?;
            let Some(spans) = find(rest) else { break };
            let (start, end) = spans.first().copied().flatten().unwrap_or_default();
            left = if left > 0 { left - 1 } else { left };
            out.push_str(&rest[..start]);
            // An empty match directly after another match is skipped.
            if after_empty || end > 0 {
                match expand(rest, &spans) {
                    Some(text) => {
                        host.spend(text.len() as u64)?;
                        out.push_str(&text);
                    }
                    None => out.push_str(&self.call(host, rest, &spans)?),
                }
            }
            rest = &rest[end..];
            after_empty = start == end;
            if after_empty {
                let Some(character) = rest.chars().next() else { break };
                out.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
        out.push_str(rest);
        done(out)
    }

    /// Returns the result of the lambda for a match and its groups.
    fn call(&self, host: &mut dyn Host, subject: &str, spans: &Spans) -> Result<String, FunctionError> {
        let Value::Lambda(lambda) = self.with.value() else { return Ok(String::new()) };
        let groups = texts(spans.iter().map(|span| span.map_or("", |(start, end)| &subject[start..end])));
        let name = self.name;
        match host.call(lambda.as_ref(), &[Node::new(groups)]) {
            Ok(result) => match result.as_str() {
                Some(text) => Ok(text.to_owned()),
                None => fail!("{name}: replace: lambda must return a string"),
            },
            Err(FunctionError::Failed { message, causes }) => {
                Err(FunctionError::Failed { message: format!("{name}: replace: {message}"), causes })
            }
            Err(other) => Err(other),
        }
    }
}
