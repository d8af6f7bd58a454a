//! Compares the results and errors of this crate with those of the original, the Go program spiff++. Both process the
//! same documents.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value as Json, json};
use windlass_source::Source;
use windlass_spiff::functions::FunctionError;
use windlass_spiff::value::number::float_text;
use windlass_spiff::value::{Node, Value};
use windlass_spiff::{Engine, Features, Outside, SpiffError, check, diff, discard_temporary, yaml};

use super::{Outcome, Tally, cases, id, text};

/// Returns a value in the notation of the corpus.
fn typed(value: &Value) -> Json {
    match value {
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Float(value) => json!({ "$float": float_text(*value) }),
        Value::String(text) => json!(**text),
        Value::Bytes(bytes) => json!({ "$bytes": bytes.len() }),
        Value::List(list) => list.iter().map(|node| typed(node)).collect(),
        Value::Map(map) => map.iter().map(|(key, node)| (key.to_string(), typed(node))).collect(),
        Value::Lambda(lambda) => json!({ "$lambda": lambda.source() }),
        Value::Template(template) => json!({ "$template": typed(template.original()) }),
        Value::Expression(expression) => json!({ "$expr": expression.text() }),
        _ => Json::Null,
    }
}

/// Reads a value in the notation of the corpus.
fn untyped(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| number.as_f64().unwrap_or(0.0).into(), Value::from)
        }
        Json::String(text) => text.as_str().into(),
        Json::Array(list) => Value::list(list.iter().map(untyped)),
        Json::Object(map) => Value::map(map.iter().map(|(key, json)| (key, untyped(json)))),
    }
}

pub(super) fn strings<'c>(case: &'c Json, key: &str) -> Vec<&'c str> {
    let all = case.get(key).and_then(Json::as_array);
    all.map(|all| all.iter().filter_map(Json::as_str).collect()).unwrap_or_default()
}

/// Returns the access to files, commands and variables with which the original processed a case.
pub(super) fn outside(case: &Json) -> Outside {
    static SEED: AtomicU64 = AtomicU64::new(0x2545_f491_4f6c_dd1d);
    // The clock advances by a second at each reading.
    static CLOCK: AtomicU64 = AtomicU64::new(1_795_000_000);
    let now = || Duration::from_secs(CLOCK.fetch_add(1, Ordering::Relaxed));
    let mut outside = Outside::none().with_clock(Arc::new(now)).with_random(Arc::new(|bytes| {
        for byte in bytes {
            let mut seed = SEED.load(Ordering::Relaxed);
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            SEED.store(seed, Ordering::Relaxed);
            *byte = seed.to_be_bytes()[3];
        }
    }));
    if case.get("mode").and_then(Json::as_i64) == Some(0) {
        return outside;
    }
    if let Some(variables) = case.get("env").and_then(Json::as_object) {
        let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
        outside =
            outside.allow_env(variables.iter().map(|(name, value)| (name.clone(), text(value))).collect());
    }
    let folder = std::env::temp_dir();
    outside.allow_exec().allow_read(folder.clone()).allow_write(folder)
}

fn engine(case: &Json) -> Engine {
    let features = Features::NONE.with_names(&strings(case, "flags").join(",")).expect("known features");
    let mut engine = Engine::new().with_features(features).with_ascii_only().with_outside(outside(case));
    if let Some(values) = case.get("values").and_then(Json::as_object) {
        for (name, value) in values {
            engine = engine.with_binding(name, untyped(value));
        }
    }
    if let Some(functions) = case.get("functions").and_then(Json::as_object) {
        for (name, value) in functions {
            let value = untyped(value);
            engine = engine.with_function(name.clone(), move |_, _| Ok(Node::new(value.clone())));
        }
    }
    if let Some(credentials) = case.get("credentials").and_then(Json::as_object) {
        let known: BTreeMap<String, BTreeMap<String, String>> = credentials
            .iter()
            .map(|(name, fields)| {
                let fields = fields.as_object().expect("properties");
                (
                    name.clone(),
                    fields.iter().map(|(k, v)| (k.clone(), v.as_str().expect("a text").to_owned())).collect(),
                )
            })
            .collect();
        let known = Arc::new(known);
        let also = known.clone();
        engine = engine
            .with_function("getCredentials", move |_, arguments| get_credentials(&known, arguments))
            .with_function("hasCredentials", move |_, arguments| Ok(has_credentials(&also, arguments)));
    }
    engine
}

type Credentials = BTreeMap<String, BTreeMap<String, String>>;

fn argument(arguments: &[Node], position: usize) -> Option<&str> {
    arguments.get(position).and_then(|node| node.as_str())
}

fn get_credentials(known: &Credentials, arguments: &[Node]) -> Result<Node, FunctionError> {
    let name = argument(arguments, 0).unwrap_or_default();
    let Some(fields) = known.get(name) else {
        return Err(format!("credential \"{name}\" not found").into());
    };
    Ok(match argument(arguments, 1) {
        None => Node::new(Value::map(fields.iter().map(|(k, v)| (k, Value::from(v.as_str()))))),
        Some("*" | "") => Node::new(fields.values().next().map(String::as_str).unwrap_or_default()),
        Some(field) => match fields.get(field) {
            Some(value) => Node::new(value.as_str()),
            None => return Err(format!("there is no credential property \"{field}\"").into()),
        },
    })
}

fn has_credentials(known: &Credentials, arguments: &[Node]) -> Node {
    let fields = known.get(argument(arguments, 0).unwrap_or_default());
    Node::new(match argument(arguments, 1) {
        None => fields.is_some(),
        Some("*" | "") => fields.is_some_and(|fields| fields.len() == 1),
        Some(field) => fields.is_some_and(|fields| fields.contains_key(field)),
    })
}

fn read(name: &str, text: &str) -> Result<Node, SpiffError> {
    Ok(yaml::read_document(&Source::new(name, text))?)
}

/// Returns the template and the stubs of a case.
fn documents(case: &Json) -> Result<(Node, Vec<Node>), SpiffError> {
    let name = text(case, "source_name").unwrap_or("test");
    let template = read(name, text(case, "source").unwrap_or_default())?;
    let names = strings(case, "stub_names");
    let stubs = strings(case, "stubs")
        .iter()
        .enumerate()
        .map(|(at, stub)| read(names.get(at).copied().unwrap_or(&format!("stub{}.yml", at + 1)), stub))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((template, stubs))
}

/// Processes the template and the stubs of a case as a cascade.
fn cascade(case: &Json) -> Result<Node, SpiffError> {
    let (template, stubs) = documents(case)?;
    Ok(engine(case).process(&template, &stubs)?.node().clone())
}

/// Processes a single document with unprocessed stubs, as most tests of the original do.
fn single(case: &Json) -> Result<Node, SpiffError> {
    let (template, stubs) = documents(case)?;
    let session = engine(case).session();
    let flowed = case.get("stub_flowed").and_then(Json::as_array);
    let mut ready = Vec::new();
    for (at, stub) in stubs.iter().enumerate() {
        let flow = flowed.and_then(|all| all.get(at)).and_then(Json::as_bool).unwrap_or(false);
        ready.push(if flow { session.process_bare(stub, &[])? } else { stub.clone() });
    }
    Ok(discard_temporary(&session.process_bare(&template, &ready)?))
}

/// Returns the parts of a report, sorted. A part is a line about one node, with its subordinate lines.
pub(super) fn blocks(error: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in error.lines() {
        let begins = line.starts_with('\t')
            && !line.starts_with("\t\t")
            && !line.starts_with("\t  ")
            && line != "\t))";
        match blocks.last_mut() {
            Some(last) if !begins => {
                last.push('\n');
                last.push_str(line);
            }
            _ => blocks.push(line.to_owned()),
        }
    }
    blocks.sort();
    blocks
}

/// Compares a result with the value and text, or with the error, that a case expects.
fn judge(
    result: &Result<Node, SpiffError>,
    value: Option<&Json>,
    yaml: Option<&str>,
    error: Option<&str>,
) -> Outcome {
    match (result, error) {
        (Ok(node), None) => {
            let found = typed(node);
            if let Some(value) = value
                && found != *value
            {
                return Outcome::Failed(format!("\n  found  {found}\n  wanted {value}"));
            }
            match yaml {
                Some(wanted) => Outcome::equal(&yaml::to_yaml(node).as_str(), &wanted),
                None => Outcome::Passed,
            }
        }
        (Ok(node), Some(error)) => {
            Outcome::Failed(format!("\n  found  {}\n  wanted error {error}", typed(node)))
        }
        (Err(found), None) => {
            Outcome::Failed(format!("\n  error  {found}\n  wanted {}", value.unwrap_or(&Json::Null)))
        }
        (Err(SpiffError::Read(found)), Some(wanted)) => {
            if wanted.contains("multi document") {
                Outcome::equal(&found.to_string().as_str(), &wanted)
            } else {
                // Messages of syntax errors differ from the original's on purpose.
                Outcome::Passed
            }
        }
        (Err(found), Some(wanted)) => {
            let found = found.to_string();
            if blocks(&found) == blocks(wanted) {
                Outcome::Passed
            } else {
                Outcome::Failed(format!("\n  found  {found}\n  wanted {wanted}"))
            }
        }
    }
}

/// Returns the reason why a case is excluded. The reason is that the result of the original is a mistake, is random, or
/// is specific to the programming language Go.
fn excluded(case: &Json, error: Option<&str>) -> Option<String> {
    const BY_ID: [(&str, &str); 1] =
        [("doc#sort-mutates", "the original's `sort` and `reverse` change the list that others hold, too")];
    if let Some((_, why)) = BY_ID.iter().find(|(excluded, _)| *excluded == id(case)) {
        return Some((*why).to_owned());
    }
    let error = error?;
    let rests = ["%!", "(MISSING)", "0xc0", "\"}}}"];
    rests
        .iter()
        .find(|rest| error.contains(**rest) && !error.contains("%!s(<nil>)"))
        .map(|rest| format!("the message has rests of Go's formatting: {rest}"))
}

#[test]
fn corpus_expressions() {
    let mut tally = Tally::default();
    let mut prefix = String::new();
    for case in cases("spiff_expr_golden.jsonl") {
        if text(&case, "kind") == Some("fixture") {
            prefix = text(&case, "template_prefix").unwrap().to_owned();
            continue;
        }
        let expr = text(&case, "expr").unwrap();
        let source = format!("{prefix}result: |-\n  (( {expr} ))\n");
        let error = text(&case, "error");
        let outcome = if let Some(why) = excluded(&case, error) {
            Outcome::Excluded(why)
        } else {
            {
                let result = read("template.yml", &source)
                    .and_then(|template| Ok(engine(&case).process(&template, &[])?.node().clone()));
                match result {
                    Ok(root) if case.get("undefined").is_some() => {
                        Outcome::equal(&root.get("result").is_some(), &false)
                    }
                    Ok(root) => {
                        let node = root.get("result").cloned().unwrap_or_default();
                        judge(&Ok(node), case.get("value"), None, error)
                    }
                    Err(error_found) => judge(&Err(error_found), case.get("value"), None, error),
                }
            }
        };
        let feature = expr.split(['(', ' ', '[', '{']).next().unwrap_or_default();
        let feature = if feature.len() > 2 && feature.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            feature
        } else {
            "operators"
        };
        tally.add(id(&case), &[feature], outcome);
    }
    tally.finish("spiff expressions");
}

#[test]
fn corpus_flow_cases() {
    let oracle: BTreeMap<String, Json> =
        cases("spiff_oracle.jsonl").into_iter().map(|case| (id(&case).to_owned(), case)).collect();
    let mut tally = Tally::default();
    for case in cases("spiff_cases.jsonl") {
        let kind = text(&case, "kind").unwrap();
        let run: fn(&Json) -> Result<Node, SpiffError> = match kind {
            "flow" | "flow_error" | "flow_fails" => single,
            "cascade" => cascade,
            _ => continue,
        };
        let Some(wanted) = oracle.get(id(&case)) else { continue };
        let error = text(wanted, "error");
        let outcome = match excluded(&case, error) {
            Some(why) => Outcome::Excluded(why),
            None => judge(&run(&case), wanted.get("actual"), text(wanted, "text"), error),
        };
        let mut features = strings(&case, "features");
        features.extend(strings(&case, "functions"));
        tally.add(id(&case), &features, outcome);
    }
    tally.finish("spiff flow");
}

#[test]
fn corpus_other_cases() {
    let mut tally = Tally::default();
    for case in cases("spiff_cases.jsonl") {
        let kind = text(&case, "kind").unwrap();
        let outcome = match kind {
            "eval" | "eval_fails" => eval_case(&case),
            "find" | "find_from_root" | "find_reference" | "find_in_stubs" => find_case(&case),
            "process" => process_case(&case),
            "compile" | "compile_fails" => {
                let node = read("test", text(&case, "source").unwrap()).unwrap();
                let mut found: Vec<String> = check(&node, Features::NONE)
                    .iter()
                    .map(|(path, error)| format!("{path}: {error}"))
                    .collect();
                found.sort();
                let mut wanted: Vec<String> =
                    strings(&case, "errors").iter().map(ToString::to_string).collect();
                wanted.sort();
                Outcome::equal(&found, &wanted)
            }
            "diff" => diff_case(&case),
            _ => continue,
        };
        tally.add(id(&case), &[kind], outcome);
    }
    tally.finish("spiff evaluation, paths, differences");
}

fn eval_case(case: &Json) -> Outcome {
    let made = made_document(case);
    let document = case.get("as_document").unwrap_or(&made);
    let mut with_features = document.clone();
    with_features["flags"] = case.get("flags").cloned().unwrap_or(json!([]));
    let result = single(&with_features);
    if text(case, "kind") == Some("eval_fails") {
        return match result {
            Err(_) => Outcome::Passed,
            Ok(node) => Outcome::Failed(format!("became {}", typed(&node))),
        };
    }
    let path = strings(document, "result_path");
    match result {
        Err(error) => Outcome::Failed(error.to_string()),
        Ok(root) => {
            let node = path.iter().try_fold(root, |node, step| node.get(step).cloned());
            let found = node.map_or(Json::Null, |node| typed(&node));
            match case.get("expected_value") {
                Some(wanted) => Outcome::equal(&number(found), wanted),
                None => Outcome::Passed,
            }
        }
    }
}

/// Returns a document for a case that has no document of its own. The stub gets the values in `stub_values` of the
/// case. The template gets the values in `refs`, and the expression of the case. The path of the expression is
/// `ast.Path` for `merge`, and `the-result` for any other expression.
fn made_document(case: &Json) -> Json {
    let expression = |json: &Json| match json.get("$expr").map(|tree| (tree["node"].as_str(), tree)) {
        None => json.clone(),
        Some((Some("MergeExpr"), _)) => json!("(( merge ))"),
        Some((_, tree)) => tree.get("Value").cloned().unwrap_or(json!("(( nothing ))")),
    };
    let placed = |root: &mut Json, path: &[&str], value: Json| {
        let mut here = root;
        for step in path {
            if !here.is_object() {
                *here = json!({});
            }
            here = &mut here[*step];
        }
        *here = value;
    };
    let (mut template, mut stub) = (json!({}), json!({}));
    let fields = |key: &str| case.get(key).and_then(Json::as_object).cloned().unwrap_or_default();
    for (name, value) in fields("refs") {
        placed(&mut template, &name.split('.').collect::<Vec<_>>(), expression(&value));
    }
    for (name, value) in fields("stub_values") {
        placed(&mut stub, &name.split('.').collect::<Vec<_>>(), expression(&value));
    }
    let path: Vec<&str> =
        case["ast"]["Path"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let path = if path.is_empty() || text(case, "expr") != Some("merge") { vec!["the-result"] } else { path };
    placed(&mut template, &path, json!(format!("(( {} ))", text(case, "expr").unwrap_or_default())));
    // JSON is valid YAML.
    json!({ "source": template.to_string(), "stubs": [stub.to_string()], "result_path": path })
}

/// Converts a float from the notation with `$float` to a JSON number, because the expected value of a case is a JSON
/// number.
fn number(json: Json) -> Json {
    match json.get("$float").and_then(Json::as_str).and_then(|text| text.parse::<f64>().ok()) {
        Some(float) => json!(float),
        None => json,
    }
}

fn find_case(case: &Json) -> Outcome {
    let path = strings(case, "path");
    let found = case.get("found").and_then(Json::as_bool).unwrap_or(true);
    let kind = text(case, "kind").expect("a case");
    let mut template = read("test", text(case, "source").unwrap_or("{}")).expect("a case");
    let expression = match kind {
        "find_in_stubs" => {
            let steps: Vec<String> = path.iter().map(|step| format!("\"{step}\"")).collect();
            format!("stub([{}])", steps.join(", "))
        }
        "find" | "find_from_root" => format!(".{}", path.join(".")),
        _ => path.join("."),
    };
    // The scopes of the case, innermost last. The reference is in the last scope.
    let scopes = case.get("scopes").and_then(Json::as_array);
    let place: Vec<&str> = scopes
        .and_then(|scopes| scopes.last())
        .and_then(Json::as_array)
        .map(|steps| steps.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    template = put(&template, &place, &format!("(( {expression} ))"));
    let stubs: Vec<Node> =
        strings(case, "stubs").iter().map(|stub| read("stub", stub).expect("a case")).collect();
    let result = Engine::new().session().process_bare(&template, &stubs);
    let typed_find = text(case, "method").unwrap_or("Find");
    match (result, found) {
        (Err(_), false) => Outcome::Passed,
        (Err(error), true) => Outcome::Failed(error.to_string()),
        (Ok(root), _) => {
            let mut node = Some(root);
            for step in place.iter().chain(&["the-result"]) {
                node = node.and_then(|node| node.get(step).cloned());
            }
            let value = node.map_or(Json::Null, |node| typed(&node));
            let right_type = match typed_find {
                "FindString" => value.is_string(),
                "FindInt" => value.is_i64(),
                _ => true,
            };
            if !found {
                return Outcome::equal(&right_type, &false);
            }
            match case.get("expected_value") {
                Some(wanted) => Outcome::equal(&value, wanted),
                None => Outcome::Passed,
            }
        }
    }
}

/// Returns a document with one more field at a place.
fn put(node: &Node, place: &[&str], value: &str) -> Node {
    let mut map = node.as_map().cloned().unwrap_or_default();
    match place {
        [] => {
            map.insert("the-result".into(), Node::new(value).with_source("test"));
        }
        [first, rest @ ..] => {
            let inner = map.get(*first).cloned().unwrap_or_default();
            map.insert((*first).into(), put(&inner, rest, value));
        }
    }
    Node::new(Value::from(map)).with_source("test")
}

fn process_case(case: &Json) -> Outcome {
    let wanted = text(case, "expected_text");
    match text(case, "expr") {
        Some(expr) => match engine(case).evaluate(expr, &Node::new(Value::map::<&str>([]))) {
            Ok(node) => Outcome::equal(&yaml::to_yaml(&node).trim_end(), &wanted.unwrap_or_default()),
            Err(error) => Outcome::Failed(error.to_string()),
        },
        None => judge(&cascade(case), None, wanted, None),
    }
}

fn diff_case(case: &Json) -> Outcome {
    let a = read("a", text(case, "a").expect("a case")).expect("a case");
    let b = read("b", text(case, "b").expect("a case")).expect("a case");
    let found: Vec<Json> = diff(&a, &b)
        .iter()
        .map(|difference| {
            let side = |node: &Option<Node>| match node {
                Some(node) => json!(yaml::to_yaml(node).trim_end()),
                None => Json::Null,
            };
            json!({ "a": side(&difference.a), "b": side(&difference.b), "path": difference.path })
        })
        .collect();
    let normal = |diffs: &[Json]| {
        let mut all: Vec<String> = diffs
            .iter()
            .map(|diff| {
                let side = |key: &str| diff[key].as_str().map(|text| text.trim().to_owned());
                format!("{:?} {:?} {}", side("a"), side("b"), diff["path"])
            })
            .collect();
        all.sort();
        all
    };
    let array = |key: &str| case.get(key).and_then(Json::as_array).cloned();
    if let Some(count) = case.get("count").and_then(Json::as_u64)
        && count != found.len() as u64
    {
        return Outcome::Failed(format!("found {} differences, wanted {count}", found.len()));
    }
    match (array("diffs"), array("contains").or_else(|| case.get("contains").map(|one| vec![one.clone()]))) {
        (Some(wanted), _) => Outcome::equal(&normal(&found), &normal(&wanted)),
        (None, Some(wanted)) => {
            let found = normal(&found);
            let missing: Vec<String> =
                normal(&wanted).into_iter().filter(|one| !found.contains(one)).collect();
            Outcome::equal(&missing, &Vec::new())
        }
        (None, None) => Outcome::Passed,
    }
}

#[test]
fn corpus_documents() {
    let mut tally = Tally::default();
    for name in ["spiff_doc_golden.jsonl", "spiff_ocm_cases.jsonl"] {
        for case in cases(name) {
            let error = text(&case, "error");
            let outcome = if case.get("panic").is_some() || case.get("hangs").is_some() {
                // The original crashes or never ends. The test demands only that processing returns.
                let _ = cascade(&case);
                Outcome::Passed
            } else if let Some(why) = excluded(&case, error) {
                Outcome::Excluded(why)
            } else {
                let result = cascade(&case);
                judge(&result, case.get("value"), text(&case, "text"), error)
            };
            let feature = id(&case).split(['#', '-']).nth(1).unwrap_or_default().to_owned();
            tally.add(id(&case), &[&feature], outcome);
        }
    }
    tally.finish("spiff documents");
}

#[test]
fn corpus_readme() {
    let mut tally = Tally::default();
    for case in cases("spiff_readme_cases.jsonl") {
        let error =
            ["spiff_error", "spiff_source_error", "spiff_stub_error"].iter().find_map(|key| text(&case, key));
        let outcome = match excluded(&case, error) {
            Some(why) => Outcome::Excluded(why),
            None => judge(&cascade(&case), case.get("spiff_actual"), text(&case, "spiff_text"), error),
        };
        let outcome = match outcome {
            // Only cases that the corpus itself marks as not deterministic are excluded.
            Outcome::Failed(_) if case.get("deterministic").and_then(Json::as_bool) == Some(false) => {
                Outcome::Excluded("the result depends on chance or time".into())
            }
            outcome => outcome,
        };
        tally.add(id(&case), &[], outcome);
    }
    tally.finish("spiff readme");
}
