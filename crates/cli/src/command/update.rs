//! `windlass update`: applies, combines and compares updates of instance documents.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use windlass::model::instance;
use windlass::source::files::{self, ReadError};
use windlass::source::{
    Diagnostic, Diagnostics, EmitStyle, LoadOptions, Node, Reading, Source, emit, load_one,
};
use windlass_update_ops::{Place, Shape, Update, UpdateError};

use super::{print_json, refuse};
use crate::args::{
    Format, PrintArgs, RulesArgs, UpdateApplyArgs, UpdateArgs, UpdateCommand, UpdateComposeArgs,
    UpdateConflictsArgs, UpdateDiffArgs, UpdateInvertArgs,
};
use crate::codes;
use crate::exit;
use crate::failure::{fault, report_problems};
use crate::output::{print_document, say, tell};
use crate::size_limit::{larger, max_size};

/// The conflicts of two updates as JSON.
#[derive(Serialize)]
struct ConflictsView {
    /// The version of the layout of this view, for programs that read it as JSON.
    version: u32,
    conflicts: Vec<ConflictView>,
}

#[derive(Serialize)]
struct ConflictView {
    /// The conflicting path of the first update.
    first: String,
    /// The conflicting path of the second update.
    second: String,
}

pub(crate) fn run(args: &UpdateArgs) -> ExitCode {
    let done = match &args.command {
        UpdateCommand::Apply(args) => apply(args),
        UpdateCommand::Compose(args) => compose(args),
        UpdateCommand::Diff(args) => diff(args),
        UpdateCommand::Invert(args) => invert(args),
        UpdateCommand::Conflicts(args) => conflicts(args),
    };
    done.unwrap_or_else(|code| code)
}

fn apply(args: &UpdateApplyArgs) -> Result<ExitCode, ExitCode> {
    let mut files = Files::default();
    let shape = shape(args.rules);
    let mut document = files.document(&args.document, &shape)?;
    for path in &args.updates {
        let update = files.update(path, &shape)?;
        update.apply(&mut document).map_err(|error| wrong(path, &error))?;
    }
    Ok(print("document", &document, args.print))
}

fn compose(args: &UpdateComposeArgs) -> Result<ExitCode, ExitCode> {
    let mut files = Files::default();
    let shape = shape(args.rules);
    let mut composed = Update::new();
    for path in &args.updates {
        let update = files.update(path, &shape)?;
        composed = composed.then(&update).map_err(|error| wrong(path, &error))?;
    }
    Ok(print("update", &composed.to_value(), args.print))
}

fn diff(args: &UpdateDiffArgs) -> Result<ExitCode, ExitCode> {
    let mut files = Files::default();
    let shape = shape(RulesArgs { untyped: args.untyped, trusted: !args.untyped });
    let (from, to) = (files.document(&args.from, &shape)?, files.document(&args.to, &shape)?);
    Ok(print("update", &Update::diff(&from, &to, &shape).to_value(), args.print))
}

fn invert(args: &UpdateInvertArgs) -> Result<ExitCode, ExitCode> {
    let mut files = Files::default();
    let shape = shape(args.rules);
    let document = files.document(&args.document, &shape)?;
    let update = files.update(&args.update, &shape)?;
    update.apply(&mut document.clone()).map_err(|error| wrong(&args.update, &error))?;
    let inverse = update.inverse(&document).map_err(|error| wrong(&args.update, &error))?;
    Ok(print("update", &inverse.to_value(), args.print))
}

fn conflicts(args: &UpdateConflictsArgs) -> Result<ExitCode, ExitCode> {
    let mut files = Files::default();
    let shape = shape(args.rules);
    let (first, second) = (files.update(&args.first, &shape)?, files.update(&args.second, &shape)?);
    let mut found = first.conflicts(&second).peekable();
    if args.print.format == Format::Json {
        let view = |conflict: windlass_update_ops::Conflict<'_>| ConflictView {
            first: conflict.path.to_string(),
            second: conflict.other.to_string(),
        };
        return Ok(print_json(&ConflictsView { version: 1, conflicts: found.map(view).collect() }));
    }
    if found.peek().is_none() {
        tell!("no conflicts: both orders have the same result");
    }
    for conflict in found {
        say!("{conflict}");
    }
    Ok(exit::DONE)
}

/// Returns the rules for documents and updates ([`Shape`]) that the arguments select.
fn shape(rules: RulesArgs) -> Shape {
    match rules {
        RulesArgs { untyped: true, .. } => Shape::untyped(),
        RulesArgs { trusted: true, .. } => instance::shape().trusting(),
        _ => instance::shape().clone(),
    }
}

/// Prints a document or an update: as YAML, or as JSON with the version of the format.
fn print(name: &str, value: &Value, print: PrintArgs) -> ExitCode {
    if print.format == Format::Json {
        return print_json(&json!({"version": 1, name: value}));
    }
    print_document(&emit(value, EmitStyle::Block));
    exit::DONE
}

/// Prints an error about a file.
fn wrong(path: &Path, error: &dyn std::error::Error) -> ExitCode {
    fault!(codes::UPDATE, "{}: {error}", path.display());
    exit::wrong_input()
}

/// A reader of a command's files. Only one of the files may be standard input.
#[derive(Default)]
struct Files {
    has_read_stdin: bool,
}

impl Files {
    /// Reads and checks a document.
    fn document(&mut self, path: &Path, shape: &Shape) -> Result<Value, ExitCode> {
        let file = self.read(path)?;
        let document = match file.value() {
            Value::Null => json!({}),
            document @ Value::Object(_) => document,
            _ => {
                fault!(codes::UPDATE, "{}: expected a map of fields", path.display());
                return Err(exit::wrong_input());
            }
        };
        shape.check(&document).map_err(|errors| file.refuse(&errors))?;
        Ok(document)
    }

    /// Reads and checks an update.
    fn update(&mut self, path: &Path, shape: &Shape) -> Result<Update, ExitCode> {
        let file = self.read(path)?;
        let parsed = Update::parse(&file.value(), shape).map_err(|errors| file.refuse(&errors))?;
        for warning in &parsed.warnings {
            tell!("warning: {}: {warning}", path.display());
        }
        Ok(parsed.update)
    }

    fn read(&mut self, path: &Path) -> Result<File, ExitCode> {
        let fails = |error: &ReadError, name: &str| {
            fault!(codes::INPUT, "can't read {name}: {error}{}", larger(error));
            exit::wrong_input()
        };
        let (name, bytes) = if path.as_os_str() == "-" {
            if std::mem::replace(&mut self.has_read_stdin, true) {
                fault!(codes::COMMAND_LINE, "`-` (standard input) can be given once");
                return Err(exit::wrong_input());
            }
            let bytes = files::read_from(std::io::stdin(), max_size());
            ("<stdin>".to_owned(), bytes.map_err(|error| fails(&error, "standard input"))?)
        } else {
            let name = path.display().to_string();
            let bytes = files::read(path, max_size()).map_err(|error| fails(&error, &format!("`{name}`")))?;
            (name, bytes)
        };
        let source = Source::from_bytes_with_limit(name, bytes, max_size())
            .map_err(|problem| refuse(&vec![*problem].into()))?;
        let loaded = load_one(&source, &LoadOptions::default()).into_result();
        let (root, _) = loaded.map_err(|problems| refuse(&problems))?;
        Ok(File { source, root })
    }
}

/// A file in YAML or JSON.
struct File {
    source: Arc<Source>,
    root: Option<Node>,
}

impl File {
    fn value(&self) -> Value {
        self.root.as_ref().map_or(Value::Null, |root| root.to_value(Reading::Script))
    }

    /// Prints errors at their places in the file.
    fn refuse(&self, errors: &[UpdateError]) -> ExitCode {
        let problem = |error: &UpdateError| {
            let problem = Diagnostic::error(codes::UPDATE, error.to_string()).at(self.place(&error.place));
            match error.help() {
                Some(help) => problem.help(help),
                None => problem,
            }
        };
        let mut problems: Diagnostics = errors.iter().map(problem).collect();
        problems.sort();
        report_problems(&problems);
        exit::wrong_input()
    }

    /// Returns the place in the file at which a value of the document stands. If the value is in a map, the
    /// returned place is that of its key. If the value is in a list, the returned place is that of the value
    /// itself.
    fn place(&self, at: &Place) -> windlass::source::Place {
        let span = self.root.as_ref().map_or(windlass::source::Span::empty(0), |root| {
            let found = root.locate(&at.to_string());
            found.key.map_or(found.node.span(), windlass::source::Key::span)
        });
        self.source.place(span)
    }
}
