//! Evaluates control structures, such as `<<if`. A control structure is a map in a document. The result of
//! the control structure replaces this map.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::issue::{with_issue_here, wrong};
use super::range::{Range, ranges};
use crate::eval::closure::{Closure, Template};
use crate::eval::resolved::{is_resolved_node, is_resolved_or_failed};
use crate::eval::short::{short, shorten};
use crate::eval::template::instantiate;
use crate::eval::{Env, Eval, Outcome, call_lambda};
use crate::limits::ENTRY;
use crate::syntax::ast::Expr;
use crate::value::{Issue, Map, Node, TemplateValue, Value};

/// The control structures, each with the options that it permits.
const CONTROLS: [(&str, &[&str]); 5] = [
    ("if", &["then", "else"]),
    ("switch", &["default", "cases"]),
    ("type", &["default"]),
    ("for", &["do", "mapkey"]),
    ("merge", &[]),
];

/// A control structure, split into its parts.
struct Control<'n> {
    name: &'static str,
    value: &'n Node,
    options: BTreeMap<&'n str, &'n Node>,
    fields: BTreeMap<&'n Arc<str>, &'n Node>,
    node: Node,
    env: &'n Env,
}

/// The node that replaces a control structure after a pass, and whether the evaluation of this node is complete. The
/// flag is false if a part of the node is not known yet, or if the node is an error message.
type Given = (Node, bool);

/// Tells whether the value of `key` becomes a template. This applies to `<<do` and `<<mapkey`, the options of `<<for`.
/// As in the Go program spiff++, their values become templates even if control structures are disabled.
pub(super) fn is_template_option(key: &str) -> bool {
    matches!(key, "<<do" | "<<mapkey")
}

/// Returns the text after `<<` in a key, such as `if` for the key `<<if`. In a valid key, this text is the name of
/// a control structure or of an option. Returns `None` for a key without `<<`, for an escaped key such as `<<!if`,
/// and for the merge keys `<<` and `<<<`.
fn keyword(key: &str) -> Option<&str> {
    let name = key.strip_prefix("<<")?;
    (!name.is_empty() && name != "<" && !name.starts_with('!')).then_some(name)
}

/// Tells whether a node is a control structure. If the node is a malformed control structure, the error is a
/// message about the fault.
pub(super) fn is_one(node: &Node, env: &Env) -> Result<bool, String> {
    if !env.state().features.control {
        return Ok(false);
    }
    let Some(map) = node.as_map() else { return Ok(false) };
    let from = (std::ops::Bound::Included("<<"), std::ops::Bound::Unbounded);
    let mut keys = map.range::<str, _>(from).take_while(|(key, _)| key.starts_with("<<"));
    if !keys.any(|(key, _)| keyword(key).is_some()) {
        return Ok(false);
    }
    parts(node, &Map::new(), env).map(|control| control.is_some())
}

/// Splits a control structure into its parts. `undefined` contains the fields that were removed from `node` because
/// their values are undefined.
///
/// Returns `None` if the node is no control structure. If the node is a malformed control structure, the error is a
/// message about the fault.
fn parts<'n>(node: &'n Node, undefined: &'n Map, env: &'n Env) -> Result<Option<Control<'n>>, String> {
    let Some(map) = node.as_map() else { return Ok(None) };
    let mut control: Option<(&'static str, &'static [&'static str], &'n Node)> = None;
    let (mut options, mut fields) = (BTreeMap::new(), BTreeMap::new());
    for (key, child) in map.iter().chain(undefined) {
        let Some(name) = keyword(key) else {
            if !key.starts_with("<<") {
                fields.insert(key, child);
            }
            continue;
        };
        if let Some((name, allowed)) = CONTROLS.iter().find(|(control, _)| *control == name) {
            if let Some((other, _, _)) = control {
                return Err(format!("multiple controls \"<<{other}\" and \"{key}\""));
            }
            control = Some((name, allowed, child));
        } else if CONTROLS.iter().any(|(_, options)| options.contains(&name)) {
            options.insert(name, child);
        } else {
            return Err(format!("unknown control or control option \"{key}\""));
        }
    }
    let Some((name, allowed, value)) = control else {
        if options.is_empty() {
            return Ok(None);
        }
        let names: Vec<&str> = options.keys().copied().collect();
        return Err(format!("control options [{}] without control", names.join(" ")));
    };
    if let Some(option) = options.keys().find(|option| !allowed.contains(option)) {
        return Err(format!("invalid option \"{option}\" for control \"{name}\""));
    }
    // As long as the control structure has no result, it keeps its undefined parts.
    let mut all = map.clone();
    all.extend(undefined.iter().map(|(key, node)| (key.clone(), node.clone())));
    let node = if undefined.is_empty() { node.clone() } else { node.with_value(Value::from(all)) };
    Ok(Some(Control { name, value, options, fields, node, env }))
}

/// Evaluates a control structure. Returns `None` if the node is no control structure. For `undefined`, see [`parts`].
pub(super) fn run(node: &Node, undefined: &Map, env: &Env) -> Option<Given> {
    if !env.state().features.control {
        return None;
    }
    match parts(node, undefined, env) {
        Ok(None) => None,
        Ok(Some(control)) => Some(match control.name {
            "if" => control.run_if(),
            "switch" => control.run_switch(),
            "type" => control.run_type(),
            "for" => control.run_for(),
            _ => control.run_merge(),
        }),
        Err(message) => {
            let shown = Node::new("<control>").with_source(node.source());
            Some((wrong(shown, message), false))
        }
    }
}

impl Control<'_> {
    fn made(&self, value: impl Into<Value>) -> Node {
        Node::new(value).with_source(self.node.source())
    }

    fn undefined(&self) -> Given {
        (self.made(Value::Null).annotate(|annotations| annotations.undefined = true), true)
    }

    fn issue(&self, message: impl Into<String>) -> Given {
        (wrong(self.made(format!("<{} control>", self.name)), message), false)
    }

    fn resolved(&self, node: &Node) -> bool {
        let control = self.env.state().features.control;
        is_resolved_node(node, control)
    }

    /// Checks whether this pass can evaluate the control structure. If not, `Err` contains the result of the control
    /// structure in this pass:
    ///
    /// - If a part of the control structure is not known yet, the result is the unchanged control structure.
    /// - If `accept_fields` is false, and the control structure has regular fields, the result is an error message.
    ///   Regular fields are fields whose keys do not begin with `<<`.
    fn ready(&self, accept_fields: bool) -> Result<(), Given> {
        if !accept_fields && !self.fields.is_empty() {
            let names: Vec<&str> = self.fields.keys().map(|name| &***name).collect();
            return Err(self.issue(format!("no regular fields [{}] allowed", names.join(" "))));
        }
        let control = self.env.state().features.control;
        let settled = |node: &&Node| {
            let annotations = node.annotations();
            annotations.failed || annotations.error || is_resolved_or_failed(node, true, control)
        };
        let known = self.value.annotations().undefined || self.resolved(self.value);
        if known && self.options.values().all(settled) && self.fields.values().all(settled) {
            return Ok(());
        }
        Err((self.node.clone(), false))
    }

    /// Returns the given node as the result of the control structure. The result is complete if the node is completely
    /// evaluated or undefined.
    fn result(&self, node: &Node) -> Given {
        (node.clone(), node.annotations().undefined || self.resolved(node))
    }

    fn option(&self, name: &str) -> Option<&Node> {
        self.options.get(name).copied()
    }

    fn field(&self, name: &str) -> Option<&Node> {
        self.fields.iter().find(|(field, _)| &****field == name).map(|(_, node)| *node)
    }

    fn run_if(&self) -> Given {
        if let Err(given) = self.ready(false) {
            return given;
        }
        let branch = match self.value.value() {
            Value::Bool(true) => "then",
            Value::Bool(false) | Value::Null => "else",
            other => return self.issue(format!("invalid condition value type: {}", other.type_name())),
        };
        match self.option(branch) {
            Some(node) => self.result(node),
            None => self.undefined(),
        }
    }

    fn run_type(&self) -> Given {
        if let Err(given) = self.ready(true) {
            return given;
        }
        let name = if self.value.annotations().undefined { "undef" } else { self.value.value().type_name() };
        match self.field(name).or_else(|| self.option("default")) {
            Some(node) => self.result(node),
            None => self.issue(format!("invalid switch value: \"{name}\"")),
        }
    }

    fn run_switch(&self) -> Given {
        if self.value.annotations().undefined {
            return self.undefined();
        }
        let cases = self.option("cases");
        if let Err(given) = self.ready(cases.is_none()) {
            return given;
        }
        if let Some(cases) = cases {
            return self.run_cases(cases);
        }
        let selected = match self.value.value() {
            Value::Null => None,
            Value::String(name) => self.field(name),
            other => return self.issue(format!("invalid switch value type: {}", other.type_name())),
        };
        match selected.or_else(|| self.option("default")) {
            Some(node) => self.result(node),
            None => self.issue(match self.value.value() {
                Value::String(name) => format!("invalid switch value: \"{name}\""),
                _ => "invalid switch value: %!q(<nil>)".to_owned(),
            }),
        }
    }

    fn run_cases(&self, cases: &Node) -> Given {
        let Some(cases) = cases.as_list() else { return self.issue("cases must be a list") };
        for (at, case) in cases.iter().enumerate() {
            let Some(fields) = case.as_map() else {
                return self.issue(format!("case {at} requires field 'case'"));
            };
            let (mut found, mut rejected, mut value) = (false, false, None);
            for (key, node) in fields {
                match &**key {
                    "case" => {
                        found = true;
                        rejected |= node.value() != self.value.value();
                    }
                    "match" => {
                        found = true;
                        match self.matches(node) {
                            Ok(matches) => rejected |= !matches,
                            Err(None) => return (self.node.clone(), false),
                            Err(Some(kind)) => {
                                return self.issue(format!(
                                    "case {at} boolean match result required, but got {kind}"
                                ));
                            }
                        }
                    }
                    "value" => value = Some(node),
                    other => return self.issue(format!("case {at} invalid field \"{other}\"")),
                }
            }
            if !found {
                return self.issue(format!("case {at} requires 'case' or `'match' field"));
            }
            if !rejected {
                return value.map_or_else(|| self.undefined(), |value| self.result(value));
            }
        }
        match self.option("default") {
            Some(node) => self.result(node),
            None => self.issue(format!("invalid switch value: {}", shorten(&short(self.value)))),
        }
    }

    /// Tells whether a case matches the value of the control structure. `node` is the field `match` of the case.
    ///
    /// If `node` is a lambda, the method calls the lambda with the value:
    ///
    /// - If the lambda returns a boolean, the boolean is the result.
    /// - If the lambda fails, the case does not match.
    /// - If the lambda's result is not known yet, the method returns `Err(None)`.
    /// - If the lambda's result has another type, the method returns `Err` with the name of this type.
    ///
    /// If `node` is not a lambda, the case matches every value.
    fn matches(&self, node: &Node) -> Result<bool, Option<&'static str>> {
        let Value::Lambda(lambda) = node.value() else { return Ok(true) };
        let Some(closure) = Closure::of(lambda) else { return Ok(false) };
        let Eval { outcome, .. } = call_lambda(closure, &[Node::new(self.value.value().clone())], self.env);
        match outcome {
            Outcome::Failed => Ok(false),
            Outcome::Later(_) => Err(None),
            Outcome::Value(Value::Bool(matches)) => Ok(matches),
            Outcome::Value(other) => Err(Some(other.type_name())),
        }
    }

    fn run_merge(&self) -> Given {
        if let Err(given) = self.ready(true) {
            return given;
        }
        let mut fields: Map = self
            .fields
            .iter()
            .filter(|(_, node)| !node.annotations().undefined)
            .map(|(key, node)| ((*key).clone(), (*node).clone()))
            .collect();
        let mut add = |map: &Map| fields.extend(map.iter().map(|(key, node)| (key.clone(), node.clone())));
        match self.value.value() {
            Value::Null => {}
            Value::Map(map) => add(map),
            Value::List(list) => {
                for (at, entry) in list.iter().enumerate() {
                    match entry.value() {
                        Value::Null => {}
                        Value::Map(map) => add(map),
                        // As in the Go program spiff++, the message names the type of the list, and not the
                        // type of the entry.
                        _ => return self.issue(format!("entry {at}: invalid entry type: list")),
                    }
                }
            }
            other => return self.issue(format!("invalid value type: {}", other.type_name())),
        }
        (self.made(Value::from(fields)), true)
    }

    fn run_for(&self) -> Given {
        if let Err(given) = self.ready(false) {
            return given;
        }
        let Some(body) = self.option("do") else { return self.issue("do field required") };
        if self.value.annotations().undefined {
            return self.undefined();
        }
        let key = match self.option("mapkey").map(Node::value) {
            None => None,
            Some(Value::Template(template)) => Some(template.clone()),
            Some(_) => return self.issue("mapkey must be an expression"),
        };
        let ranges = match ranges(self.value) {
            Ok(ranges) => ranges,
            Err(message) => return self.issue(message),
        };
        let total = ranges.iter().try_fold(1_usize, |total, range| total.checked_mul(range.entries.len()));
        let Some(total) = total else { return self.issue("too many combinations of control variables") };
        if self.env.state().spend((total as u64).saturating_mul(ENTRY)).is_err() {
            return (self.node.clone(), false);
        }
        let mut results = Results { list: Vec::new(), map: Map::new(), problems: Vec::new(), done: true };
        for number in 0..total {
            self.turn(number, &ranges, body, key.as_ref(), &mut results);
            if self.env.state().exhausted().is_some() {
                return (self.node.clone(), false);
            }
        }
        if !results.problems.is_empty() {
            let issue = Issue {
                message: "error evaluating body".into(),
                nested: results.problems,
                chain: false,
                path: None,
            };
            return (with_issue_here(self.node.clone(), true, true, Some(Arc::new(issue))), false);
        }
        if !results.done {
            return (self.node.clone(), false);
        }
        let value = if key.is_some() { Value::from(results.map) } else { Value::from(results.list) };
        (self.made(value), true)
    }

    /// Evaluates the body and the key of `<<for` for one combination of values of the variables.
    fn turn(
        &self,
        number: usize,
        ranges: &[Range],
        body: &Node,
        key: Option<&Arc<dyn TemplateValue>>,
        results: &mut Results,
    ) {
        let mut locals = Map::new();
        let mut shown = Vec::new();
        let mut rest = number;
        // From one combination to the next, the value of the last variable changes first.
        for range in ranges.iter().rev() {
            let (index, node) = &range.entries[rest % range.entries.len()];
            rest /= range.entries.len();
            locals.insert(range.name.clone(), node.clone());
            locals.insert(range.index.clone(), Node::new(index.clone()));
            let index = index.as_str().map_or_else(|| short(index), str::to_owned);
            shown.push(format!(" {}[{index}]={}", range.name, shorten(&short(node))));
        }
        let problem = |issue: Option<&Issue>, message: Option<String>| {
            let mut issue = issue.cloned().unwrap_or_default();
            let text = message.unwrap_or_else(|| issue.message.clone());
            issue.message = format!("control variables: {}: {text}", shown.join(";"));
            issue
        };
        let env = self.env.with_locals(locals);
        // The body is evaluated even if the key is undefined, so that its problems are reported.
        let (mut name, mut skip) = (None, false);
        if let Some(key) = key {
            let Eval { outcome, info } = evaluate(&Value::Template(key.clone()), &env);
            match outcome {
                Outcome::Failed => {
                    results.problems.push(problem(info.issue.as_deref(), None));
                    skip = true;
                }
                Outcome::Later(_) => {
                    results.done = false;
                    skip = true;
                }
                Outcome::Value(Value::Null) => skip = true,
                Outcome::Value(_) if info.undefined => skip = true,
                Outcome::Value(Value::String(key)) => name = Some(key),
                Outcome::Value(other) => {
                    let message = format!("map key must be string, but found {}", other.type_name());
                    results.problems.push(problem(None, Some(message)));
                    skip = true;
                }
            }
        }
        let node = if matches!(body.value(), Value::Template(_)) {
            let Eval { outcome, info } = evaluate(body.value(), &env);
            match outcome {
                Outcome::Failed => {
                    results.problems.push(problem(info.issue.as_deref(), None));
                    return;
                }
                Outcome::Later(_) => {
                    results.done = false;
                    return;
                }
                Outcome::Value(_) if info.undefined => return,
                Outcome::Value(value) => self.made(value),
            }
        } else {
            // The body is not a template, so the body itself is the result. If the control structure declares a
            // key for the result, but the key has no value, the result gets the empty key.
            skip = false;
            name = name.or_else(|| key.map(|_| "".into()));
            body.clone()
        };
        match name {
            _ if skip => {}
            Some(name) => {
                results.map.insert(name, node);
            }
            None => results.list.push(node),
        }
    }
}

struct Results {
    list: Vec<Node>,
    map: Map,
    problems: Vec<Issue>,
    done: bool,
}

/// Instantiates the template in `value`. If `value` is no template, the evaluation fails.
fn evaluate(value: &Value, env: &Env) -> Eval {
    let expr = Arc::new(Expr::Known(value.clone()));
    match value {
        Value::Template(template) => match Template::of(template) {
            Some(template) => instantiate(&expr, value, template, env),
            None => Eval::error("template value required"),
        },
        _ => Eval::error("template value required"),
    }
}
