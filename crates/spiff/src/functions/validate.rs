//! The functions `validate` and `check`. They check whether a value meets conditions. A condition is a lambda, or the
//! name of a built-in check. A condition with arguments is a list: first the lambda or the name, and then the
//! arguments.

use std::cmp::Ordering;

use super::argument::{Outcome, done, fail, go_type, is_nil, quoted, shown};
use super::network::{Net, parse_address};
use super::pattern::Pattern;
use super::{FunctionError, Host, Registry, dns, versions};
use crate::value::{Callable, Node, Value, equals};

pub(super) fn register(registry: &mut Registry) {
    registry.add("validate", |host: &mut dyn Host, arguments: &[Node]| -> Outcome {
        let [value, conditions @ ..] = arguments else {
            fail!("at least two arguments required for validate")
        };
        if conditions.is_empty() {
            fail!("at least two arguments required for validate");
        }
        match first_failure(host, value, conditions)? {
            None => Ok(value.clone()),
            Some((at, message)) => fail!("condition {at} failed: {message}"),
        }
    });
    registry.add("check", |host: &mut dyn Host, arguments: &[Node]| -> Outcome {
        let [value, conditions @ ..] = arguments else { fail!("at least two arguments required for check") };
        if conditions.is_empty() {
            fail!("at least two arguments required for check");
        }
        done(first_failure(host, value, conditions)?.is_none())
    });
}

/// Returns the position of the first condition that the value does not meet, and the message of the
/// condition. Positions are counted from 1.
fn first_failure(
    host: &mut dyn Host,
    value: &Node,
    conditions: &[Node],
) -> Result<Option<(usize, String)>, FunctionError> {
    for (at, condition) in conditions.iter().enumerate() {
        match judge(host, value, condition) {
            Ok(Verdict { holds: true, .. }) => {}
            Ok(Verdict { message, .. }) => return Ok(Some((at + 1, message))),
            Err(error) => {
                let error = error.prefixed(&format!("condition {} has problem: ", at + 1));
                return Err(error.without_causes());
            }
        }
    }
    Ok(None)
}

/// Whether a value meets a condition, with a message about this result.
struct Verdict {
    holds: bool,
    message: String,
}

type Judged = Result<Verdict, FunctionError>;

#[expect(clippy::unnecessary_wraps, reason = "it stands where a validator ends")]
fn verdict(holds: bool, message: impl Into<String>) -> Judged {
    Ok(Verdict { holds, message: message.into() })
}

fn either(holds: bool, yes: &str, no: impl Into<String>) -> Judged {
    verdict(holds, if holds { yes.to_owned() } else { no.into() })
}

fn judge(host: &mut dyn Host, value: &Node, condition: &Node) -> Judged {
    host.spend(1)?;
    match condition.value() {
        Value::Null | Value::Undefined => verdict(true, "no condition"),
        Value::String(name) => by_name(host, value, name, &[]),
        Value::Lambda(lambda) => by_lambda(host, value, lambda.as_ref(), &[]),
        Value::List(parts) => match parts.split_first() {
            None => fail!("validation type missing"),
            Some((first, arguments)) => match first.value() {
                Value::String(name) => by_name(host, value, name, arguments),
                Value::Lambda(lambda) => by_lambda(host, value, lambda.as_ref(), arguments),
                other => fail!("unexpected validation type {}", quoted(other.type_name())),
            },
        },
        other => fail!("invalid validation check type: {}", other.type_name()),
    }
}

fn by_lambda(host: &mut dyn Host, value: &Node, lambda: &dyn Callable, arguments: &[Node]) -> Judged {
    let (expected, found) = (lambda.parameters(), arguments.len() + 1);
    let name = lambda.text();
    if expected != found {
        fail!("argument count mismatch for lambda {name}: expected {expected}, found {found}");
    }
    let arguments: Vec<Node> = std::iter::once(value).chain(arguments).cloned().collect();
    let result = host.call(lambda, &arguments)?;
    let message = |node: &Node, at: usize| match node.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(FunctionError::failed(format!(
            "lambda validator result index {at}: lambda validator requires string, but got {}",
            node.type_name()
        ))),
    };
    let plain =
        |value: &Value| either(value.is_true(), &format!("{name} succeeded"), format!("{name} failed"));
    match result.as_list() {
        None => plain(&result),
        Some([holds]) => plain(holds),
        Some([holds, text]) => verdict(holds.is_true(), message(text, 2)?),
        Some([holds, yes, no]) => either(holds.is_true(), &message(yes, 2)?, message(no, 3)?),
        Some(other) => fail!("invalid result length of validator {name}, got {}", other.len()),
    }
}

fn by_name(host: &mut dyn Host, value: &Node, name: &str, arguments: &[Node]) -> Judged {
    let (negated, name) = name.strip_prefix('!').map_or((false, name), |name| (true, name));
    if name.is_empty() && !negated {
        fail!("empty validator type");
    }
    let Verdict { holds, message } = validator(host, value, name, arguments)?;
    verdict(holds != (negated != (name == "not")), message)
}

fn validator(host: &mut dyn Host, value: &Node, name: &str, arguments: &[Node]) -> Judged {
    match name {
        "list" => each_entry(host, value, arguments),
        "map" => each_field(host, value, arguments),
        "mapfield" | "optionalfield" => field(host, value, name, arguments),
        "and" | "not" | "" => all(host, value, arguments),
        "or" => any(host, value, arguments),
        "empty" => empty(value),
        "valueset" => value_set(value, arguments),
        "value" | "=" => same_value(value, arguments),
        "gt" | ">" => ordered(value, arguments, "gt", Ordering::is_gt, ["greater than", "less or equal to"]),
        "lt" | "<" => ordered(value, arguments, "lt", Ordering::is_lt, ["less or equal to", "greater than"]),
        "ge" | ">=" => ordered(value, arguments, "ge", Ordering::is_ge, ["greater or equal to", "less than"]),
        "le" | "<=" => ordered(value, arguments, "lt", Ordering::is_le, ["less than", "greater or equal to"]),
        "match" | "~=" => matches(value, arguments),
        "type" => of_type(value, arguments),
        "dnsname" => {
            let text = text(value, name)?;
            let problem = dns::wildcard_domain(text).or_else(|_| dns::domain(text)).err();
            either(
                problem.is_none(),
                "is dns name",
                format!("is no dns name: {}", problem.unwrap_or_default()),
            )
        }
        "dnslabel" => named(dns::label(text(value, name)?), "dns label"),
        "dnsdomain" => named(dns::domain(text(value, name)?), "dns domain"),
        "wildcarddnsdomain" => named(dns::wildcard_domain(text(value, name)?), "wildcard dns domain"),
        "ip" => {
            let text = text(value, name)?;
            either(parse_address(text).is_some(), "is ip address", format!("is no ip address: {text}"))
        }
        "cidr" => {
            let text = text(value, name)?;
            either(Net::parse(text).is_some(), "is CIDR", format!("is no CIDR: invalid CIDR address: {text}"))
        }
        "semver" => match versions::version("semver", value) {
            Err(error) => verdict(false, error.to_string()),
            Ok(version) => match versions::fits("semver", &version, arguments)? {
                Err(problem) => verdict(false, problem),
                Ok(()) => verdict(
                    true,
                    if arguments.is_empty() { "is semantic version" } else { "matches contraint" },
                ),
            },
        },
        "privatekey" | "publickey" | "certificate" | "ca" => key_material(value, name),
        _ => fail!("unknown validation operator {}", quoted(name)),
    }
}

/// Returns the text of a value. If the value has another type, the error states that the condition `name` requires a
/// text.
fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str, FunctionError> {
    match value.as_str() {
        Some(text) => Ok(text),
        None => fail!("{name}: {name} requires string, but got {}", value.type_name()),
    }
}

fn named(checked: Result<(), String>, what: &str) -> Judged {
    match checked {
        Ok(()) => verdict(true, format!("is {what}")),
        Err(problem) => verdict(false, format!("is no {what}: {problem}")),
    }
}

#[cfg(feature = "x509")]
fn key_material(value: &Value, name: &str) -> Judged {
    use super::x509;
    let Some(text) = value.as_str() else { fail!("{name} requires string, but got {}", value.type_name()) };
    let (what, checked) = match name {
        "privatekey" => ("private key", x509::is_private_key(text)),
        "publickey" => ("public key", x509::is_public_key(text)),
        "certificate" => ("certificate", x509::is_certificate(text)),
        _ => ("ca", x509::is_ca(text)),
    };
    match checked {
        Ok(()) => verdict(true, format!("is {what}")),
        Err(problem) => verdict(false, problem),
    }
}

#[cfg(not(feature = "x509"))]
fn key_material(_: &Value, name: &str) -> Judged {
    Err(super::left_out::error(&format!("validator '{name}'"), "x509"))
}

fn each_entry(host: &mut dyn Host, value: &Node, conditions: &[Node]) -> Judged {
    let Some(items) = value.as_list() else { return verdict(false, "is no list") };
    if conditions.is_empty() {
        return verdict(true, "is a list");
    }
    for (i, item) in items.iter().enumerate() {
        for (j, condition) in conditions.iter().enumerate() {
            let judged = judge(host, item, condition)
                .map_err(|error| error.prefixed(&format!("list entry {i} condition {j}: ")))?;
            if !judged.holds {
                return verdict(false, format!("entry {i} condition {j} {}", judged.message));
            }
        }
    }
    verdict(true, "all entries match all conditions")
}

fn each_field(host: &mut dyn Host, value: &Node, conditions: &[Node]) -> Judged {
    let Some(map) = value.as_map() else { return verdict(false, "is no map") };
    let (of_key, of_value) = match conditions {
        [] => return verdict(true, "is a map"),
        [of_value] => (None, of_value),
        [of_key, of_value] => (Some(of_key), of_value),
        _ => fail!("map validator takes a maximum of two arguments, got {}", conditions.len()),
    };
    for (key, item) in map {
        let shown = quoted(key);
        if let Some(condition) = of_key {
            let judged = judge(host, &Node::new(key.as_ref()), condition)
                .map_err(|error| error.prefixed(&format!("map key {shown} ")))?;
            if !judged.holds {
                return verdict(false, format!("map key {shown} {}", judged.message));
            }
        }
        let judged =
            judge(host, item, of_value).map_err(|error| error.prefixed(&format!("map entry {shown}: ")))?;
        if !judged.holds {
            return verdict(false, format!("map entry {shown} {}", judged.message));
        }
    }
    verdict(true, "all map entries and keys match")
}

fn field(host: &mut dyn Host, value: &Node, name: &str, arguments: &[Node]) -> Judged {
    let Some(map) = value.as_map() else { return verdict(false, "is no map") };
    let (field, condition) = match arguments {
        [field] => (field, None),
        [field, condition] => (field, Some(condition)),
        _ => fail!("{name} reqires one or two arguments"),
    };
    let Some(field) = field.as_str() else { fail!("field name must be string") };
    let shown = quoted(field);
    let Some(item) = map.get(field) else {
        let optional = name == "optionalfield";
        return either(optional, &format!("has no optional field {shown}"), format!("has no field {shown}"));
    };
    let Some(condition) = condition else { return verdict(true, format!("map entry {shown} exists")) };
    let judged =
        judge(host, item, condition).map_err(|error| error.prefixed(&format!("map entry {shown} ")))?;
    verdict(judged.holds, format!("map entry {shown} {}", judged.message))
}

/// Joins the messages of conditions. For example, `is a map` and `is not empty` become `(is a map and is not empty)`. A
/// single message stays unchanged.
fn reasons(messages: &[String]) -> String {
    match messages {
        [one] => one.clone(),
        all => format!("({})", all.join(" and ")),
    }
}

fn all(host: &mut dyn Host, value: &Node, conditions: &[Node]) -> Judged {
    if conditions.is_empty() {
        fail!("validator argument required");
    }
    let mut messages = Vec::new();
    for condition in conditions {
        let judged = judge(host, value, condition)?;
        if !judged.holds {
            return Ok(judged);
        }
        messages.push(judged.message);
    }
    verdict(true, reasons(&messages))
}

fn any(host: &mut dyn Host, value: &Node, conditions: &[Node]) -> Judged {
    if conditions.is_empty() {
        fail!("validator argument required");
    }
    let mut messages = Vec::new();
    for condition in conditions {
        let judged = judge(host, value, condition)?;
        if judged.holds {
            return Ok(judged);
        }
        messages.push(judged.message);
    }
    // As in the Go program spiff++, the condition `or` with a single alternative always holds.
    verdict(conditions.len() == 1, reasons(&messages))
}

fn empty(value: &Value) -> Judged {
    let empty = match value {
        Value::String(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        other => fail!("invalid type for empty: {}", other.type_name()),
    };
    either(empty, "is empty", "is not empty")
}

fn value_set(value: &Value, arguments: &[Node]) -> Judged {
    let allowed = match arguments {
        [allowed] => allowed.as_list(),
        _ => None,
    };
    let Some(allowed) = allowed else { fail!("valueset requires a list argument with possible values") };
    if allowed.iter().any(|other| equals(value, other).unwrap_or(false)) {
        return verdict(true, "matches valueset");
    }
    verdict(
        false,
        match value {
            Value::String(text) => format!("invalid value {}", quoted(text)),
            Value::Int(value) => format!("invalid value {value}"),
            _ => "invalid value".into(),
        },
    )
}

fn same_value(value: &Value, arguments: &[Node]) -> Judged {
    let [wanted] = arguments else { fail!("value requires a value argument") };
    let shown = value.as_str().map(|text| format!(" {}", quoted(text))).unwrap_or_default();
    let holds = equals(wanted, value).unwrap_or(false);
    either(holds, &format!("valid value{shown}"), format!("invalid value{shown}"))
}

fn ordered(
    value: &Value,
    arguments: &[Node],
    name: &str,
    holds: fn(Ordering) -> bool,
    messages: [&str; 2],
) -> Judged {
    let [limit] = arguments else { fail!("{name} requires a value argument") };
    let number = |value: &Value| match value {
        #[expect(clippy::cast_precision_loss, reason = "compared with a float")]
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    };
    let order = match (value, limit.value()) {
        (Value::String(value), Value::String(limit)) => Some(value.cmp(limit)),
        (_, Value::String(_)) => fail!("must be string to compare to string"),
        (Value::Int(value), Value::Int(limit)) => Some(value.cmp(limit)),
        (value, limit @ (Value::Int(_) | Value::Float(_))) => match (number(value), number(limit)) {
            (Some(value), Some(limit)) => value.partial_cmp(&limit),
            _ => fail!("must be number to compare to number"),
        },
        (_, limit) => fail!("invalid type {}", go_type(limit)),
    };
    let [yes, no] = messages;
    let limit = shown(limit);
    either(order.is_some_and(holds), &format!("{yes} {limit}"), format!("{no} {limit}"))
}

fn matches(value: &Value, arguments: &[Node]) -> Judged {
    let pattern = match arguments {
        [pattern] => pattern.as_str(),
        _ => None,
    };
    let Some(pattern) = pattern else { fail!("match requires a regexp argument") };
    let compiled = Pattern::new(pattern).map_err(|error| format!("regexp {pattern}: {error}"))?;
    let Some(text) = value.as_str() else { fail!("no string to match regexp") };
    let shown = quoted(text);
    either(compiled.is_match(text), &format!("valid value {shown}"), format!("invalid value {shown}"))
}

fn of_type(value: &Value, arguments: &[Node]) -> Judged {
    let found = if is_nil(value) { "nil" } else { value.type_name() };
    let mut messages = Vec::new();
    for argument in arguments {
        let Some(wanted) = argument.as_str() else {
            fail!("type: type arg requires string, but got {}", argument.type_name());
        };
        if wanted == found {
            return verdict(true, format!("is of type {wanted}"));
        }
        messages.push(format!("is not of type {wanted}"));
    }
    verdict(false, reasons(&messages))
}
