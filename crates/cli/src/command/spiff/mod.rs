//! `windlass spiff`: processing of templates, without assemblies.

mod args;
mod fetch;
mod inputs;
mod stop;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use windlass::source::Source;
use windlass_spiff::syntax::{Place, parse};
use windlass_spiff::value::{Map, Node, Value};
use windlass_spiff::{Output, OutputError, Preserve, Session, SpiffError, TraceStep, diff, locate, yaml};

use args::{ConvertArgs, DiffArgs, EvalArgs, MergeArgs, ParseArgs};
pub(crate) use args::{SpiffArgs, SpiffCommand};
use inputs::{Inputs, engine};
use stop::Stop;

use crate::codes;
use crate::diagnostics;
use crate::exit;
use crate::failure::fault;
use crate::output::{print_document, say, tell};

pub(crate) fn run(args: &SpiffArgs) -> ExitCode {
    let result = match &args.command {
        SpiffCommand::Merge(args) => merge(args),
        SpiffCommand::Eval(args) => eval(args),
        SpiffCommand::Parse(args) => parse_expression(args),
        SpiffCommand::Convert(args) => convert(args),
        SpiffCommand::Diff(args) => compare(args),
    };
    match result {
        Ok(code) => code,
        Err(Stop { code, message, is_input, causes }) => {
            diagnostics::print(&causes);
            fault!(code, "{message}");
            if is_input { exit::wrong_input() } else { exit::FAILED }
        }
    }
}

const LEGEND: &str = "\
\nerror classification:
 *: error in local dynaml expression
 @: dependent of or involved in a cycle
 -: depending on a node with an error";

/// Returns the failure of a template. The places of its causes are in `sources`. `document` is the index of the document
/// in a template with several documents, from 0.
fn failed_at(what: &str, error: &SpiffError, sources: &[Arc<Source>], document: usize) -> Stop {
    let causes = match error {
        SpiffError::Unresolved(unresolved) => locate(unresolved, sources, document),
        _ => Vec::new(),
    };
    Stop { causes, ..failed(what, error) }
}

fn failed(what: &str, error: &SpiffError) -> Stop {
    let mut message = format!("{what}: {error}");
    if let SpiffError::Unresolved(unresolved) = error {
        for cycle in &unresolved.cycles {
            message.push_str("\ncycle: ");
            message.push_str(&cycle.join(" -> "));
        }
        message.push_str(LEGEND);
    }
    Stop::failed(error.code(), message)
}

fn merge(args: &MergeArgs) -> Result<ExitCode, Stop> {
    let mut inputs = Inputs::default();
    let mut engine = engine(&args.access)?;
    engine = engine.with_preserved(Preserve {
        partial: args.partial,
        escapes: args.preserve_escapes,
        temporary: args.preserve_temporary,
    });
    for (name, value) in inputs.bindings(args.bindings.as_deref(), &args.define)? {
        engine = engine.with_binding(&name, value.into_value());
    }
    for tag in &args.tags {
        let (name, file) = tag
            .split_once(':')
            .ok_or_else(|| Stop::input(codes::COMMAND_LINE, format!("tag `{tag}` is not NAME:FILE")))?;
        engine = engine.with_tag(name, inputs.document("tag", file)?);
    }
    if let Some(path) = &args.trace {
        engine = engine.with_trace(path);
    }
    let templates = inputs.documents("template", &args.template)?;
    let mut stubs =
        args.stubs.iter().map(|stub| inputs.document("stub", stub)).collect::<Result<Vec<_>, _>>()?;
    if let Some(state) = &args.state {
        if templates.len() > 1 {
            let message = "state handling not supported for multi documents";
            return Err(Stop::input(codes::COMMAND_LINE, message));
        }
        if Path::new(state).exists() {
            stubs.push(inputs.document("state", state)?);
        }
    }
    let session = if templates.len() > 1 { engine.stream() } else { engine.session() };
    let prepared =
        session.prepare(&stubs).map_err(|error| traced(&session, &error, None, (args, &inputs)))?;
    let (output, mut results) = (output(args), Vec::new());
    for (at, template) in templates.iter().enumerate() {
        if matches!(template.value(), Value::Null) {
            // An empty document is not processed, but printed as an empty document.
            results.push(None);
            continue;
        }
        let number = (templates.len() > 1).then_some(at + 1);
        let processed = session
            .apply(template, &prepared)
            .map_err(|error| traced(&session, &error, number, (args, &inputs)))?;
        if let Some(state) = &args.state {
            inputs::keep_state(Path::new(state), processed.state(), args.json)?;
        }
        let chosen = output.choose(&session, processed.node()).map_err(|error| unprinted(&error))?;
        results.extend(chosen.into_iter().map(Some));
    }
    show_trace(&session.steps(), args);
    write(&results, &output)
}

/// Prints the trace that `--trace` requests, and returns the failure of the template.
fn traced(
    session: &Session,
    error: &SpiffError,
    document: Option<usize>,
    (args, inputs): (&MergeArgs, &Inputs),
) -> Stop {
    show_trace(&session.steps(), args);
    let what = match document {
        Some(number) => format!("error generating manifest (document {number})"),
        None => "error generating manifest".to_owned(),
    };
    failed_at(&what, error, inputs.sources(), document.map_or(0, |number| number - 1))
}

fn show_trace(steps: &[TraceStep], args: &MergeArgs) {
    let Some(path) = &args.trace else { return };
    tell!("trace of {path}:");
    if steps.is_empty() {
        tell!("  no step: there is no node of that path, or nothing was done with it");
    }
    for step in steps {
        tell!("  {} pass {}: {}: {}", step.document, step.pass, step.event, step.value);
    }
}

/// Returns the output options that the arguments select.
fn output(args: &MergeArgs) -> Output {
    Output {
        path: args.path.clone(),
        evaluate: args.evaluate.clone(),
        select: args.select.clone(),
        split: args.split,
        json: args.json,
    }
}

fn unprinted(error: &OutputError) -> Stop {
    match error {
        OutputError::Expression { expression, error } => {
            failed(&format!("expression \"{expression}\" failed"), error)
        }
        error => Stop::failed(error.code(), error),
    }
}

/// Prints documents as YAML or JSON, as `output` selects. An entry `None` is an empty document.
fn write(results: &[Option<Node>], output: &Output) -> Result<ExitCode, Stop> {
    print_document(&output.print(results).map_err(|error| unprinted(&error))?);
    Ok(exit::DONE)
}

fn eval(args: &EvalArgs) -> Result<ExitCode, Stop> {
    let mut inputs = Inputs::default();
    let mut engine = engine(&args.access)?;
    for (name, value) in inputs.bindings(args.bindings.as_deref(), &args.define)? {
        engine = engine.with_binding(&name, value.into_value());
    }
    let document = match &args.document {
        Some(file) => inputs.document("document", file)?,
        None => Node::new(Value::from(Map::new())),
    };
    let node = engine
        .evaluate(&args.expression, &document)
        .map_err(|error| failed_at("error evaluating expression", &error, inputs.sources(), 0))?;
    write(&[Some(node)], &Output { json: args.json, ..Output::default() })
}

fn parse_expression(args: &ParseArgs) -> Result<ExitCode, Stop> {
    let expr = parse(&args.expression, &Place::default())
        .map_err(|error| Stop::input(windlass_spiff::codes::EXPRESSION, error))?;
    say!("{expr}");
    Ok(exit::DONE)
}

fn convert(args: &ConvertArgs) -> Result<ExitCode, Stop> {
    let mut results = Vec::new();
    for node in Inputs::default().documents("document", &args.file)? {
        let node = match &args.path {
            Some(path) => node.at(path).ok_or_else(|| unprinted(&OutputError::NotFound(path.clone())))?,
            None => node,
        };
        match node.value() {
            Value::List(list) if args.split => results.extend(list.iter().cloned().map(Some)),
            _ => results.push(Some(node)),
        }
    }
    write(&results, &Output { json: args.json, ..Output::default() })
}

fn compare(args: &DiffArgs) -> Result<ExitCode, Stop> {
    let mut inputs = Inputs::default();
    let (a, b) = (inputs.documents("document", &args.a)?, inputs.documents("document", &args.b)?);
    if a.len() != b.len() {
        say!("different number of documents ({} != {})", a.len(), b.len());
        return Ok(exit::FAILED);
    }
    let mut different = false;
    for (a, b) in a.iter().zip(&b) {
        for difference in diff(a, b) {
            different = true;
            say!("Difference in {}:", difference.path.join("."));
            let side = |name: &str, node: Option<&Node>| match node {
                Some(node) => {
                    say!("  {name}:");
                    for line in yaml::to_yaml(node).lines() {
                        say!("    {line}");
                    }
                }
                None => say!("  {name}: nothing there"),
            };
            side(&args.a, difference.a.as_ref());
            side(&args.b, difference.b.as_ref());
        }
    }
    if !different {
        say!("no differences!");
    }
    Ok(if different { exit::FAILED } else { exit::DONE })
}
