//! Parsing of a script's output: one YAML document, converted into checked updates.

use std::collections::HashMap;
use std::sync::Arc;

use windlass_executor::Captured;
use windlass_model::instance::shape;
use windlass_source::{
    Diagnostic, Diagnostics, Entry, Key, LoadOptions, Mapping, Node, Reading, Source, Span,
    codes as text_codes, load_one, suggest,
};
use windlass_update_ops::{Notice, Problem, Shape, Update, UpdateError, Warning};

use crate::codes;
use crate::keys::{INSTANCE_ID, INSTANCES, RESULTS};
use crate::status::text_at;
use crate::style::Adapter;

/// The output of a script.
#[derive(Debug, Clone)]
pub struct Output {
    /// The source of the text, for messages.
    pub source: Arc<Source>,
    /// The instances, in the order of the text.
    pub instances: Vec<Said>,
    /// The positions of the instances, by their ids.
    places: HashMap<String, usize>,
}

/// The output of a script for one instance.
#[derive(Debug, Clone)]
pub struct Said {
    /// The natural id: the key below `instances`.
    pub id: String,
    /// The place of the id.
    pub span: Span,
    /// The update, or all problems of it.
    pub update: Result<Update, Vec<Diagnostic>>,
    /// The text of the field `instanceId`, even if the update has problems.
    pub(crate) instance_id: Option<String>,
    /// Warnings about output that was accepted, but is probably a mistake.
    pub notices: Vec<Diagnostic>,
}

impl Output {
    /// Parses the output of a job. `name` is the name of the source in messages.
    ///
    /// If the text is empty or `null`, or contains only blanks and comments, the output has no updates.
    ///
    /// # Errors
    /// All problems of the document as a whole. Problems in the update of one instance are in the field
    /// [`Said::update`] of that instance, because they do not affect other instances.
    ///
    /// ```
    /// use windlass_executor::Captured;
    /// use windlass_script::Output;
    ///
    /// let stdout = Captured::whole(*b"instances:\n  i-1:\n    $set: {status.flags.actve: true}\n");
    /// let output = Output::read("stdout of Start.sh", &stdout).unwrap();
    /// let problems = output.instances[0].update.as_ref().unwrap_err();
    /// assert_eq!(
    ///     problems[0].to_string(),
    ///     "stdout of Start.sh:3:12: error[WL0422]: instance `i-1`: `status.flags.actve`: no such path",
    /// );
    /// assert_eq!(problems[0].help.as_deref(), Some("did you mean `status.flags.active`?"));
    /// ```
    pub fn read(name: &str, stdout: &Captured) -> Result<Self, Vec<Diagnostic>> {
        Self::read_as(name, stdout, shape(), Adapter::Direct)
    }

    /// Parses the output of a job. `shape` contains the rules for updates of instance documents, such as the permitted
    /// paths. If `adapter` is [`Invoke`](Adapter::Invoke), the job usually prints a mapping with the key `results`. The
    /// method then parses the value of this key, which is the output document of the script. For another adapter, or if
    /// the key is missing, the method parses the whole output.
    pub(crate) fn read_as(
        name: &str,
        stdout: &Captured,
        shape: &Shape,
        adapter: Adapter,
    ) -> Result<Self, Vec<Diagnostic>> {
        let Some(bytes) = stdout.complete() else { return Err(vec![too_much(stdout)]) };
        let source = Source::from_bytes(name, bytes.into_owned()).map_err(|error| vec![not_text(*error)])?;
        let (root, _) = load_one(&source, &LoadOptions::default())
            .into_result()
            .map_err(|problems| not_yaml(problems.into_vec()))?;
        let results = root.as_ref().filter(|_| adapter == Adapter::Invoke).and_then(Node::as_mapping);
        let document = results.and_then(|output| output.get(RESULTS)).or(root.as_ref());
        let instances = match document {
            Some(root) if !root.is_null() => read_root(&source, root, shape)?,
            _ => Vec::new(),
        };
        Ok(Self::new(source, instances))
    }

    /// Creates the output that consists of one update.
    pub(crate) fn of_update(name: &str, id: &str, update: Update) -> Self {
        let instance_id = text_at(&update, INSTANCE_ID);
        let (id, span, update, notices) = (id.to_owned(), Span::empty(0), Ok(update), Vec::new());
        let said = Said { id, span, update, instance_id, notices };
        Self::new(Source::new(name, ""), vec![said])
    }

    fn new(source: Arc<Source>, instances: Vec<Said>) -> Self {
        let places = instances.iter().enumerate().map(|(at, said)| (said.id.clone(), at)).collect();
        Self { source, instances, places }
    }

    /// Finds an instance by its natural id.
    pub fn find(&self, id: &str) -> Option<&Said> {
        self.places.get(id).and_then(|at| self.instances.get(*at))
    }
}

pub(crate) fn too_much(stdout: &Captured) -> Diagnostic {
    let message =
        format!("the script printed {} bytes, of which {} were discarded", stdout.total(), stdout.omitted());
    Diagnostic::error(codes::TOO_MUCH, message).help("print the document alone, and messages on stderr")
}

fn not_text(problem: Diagnostic) -> Diagnostic {
    problem.help("print UTF-8 only")
}

/// Replaces the help texts of two kinds of YAML errors: a syntax error, and a second document. The new help texts tell
/// the author of a script what the script must print. The help texts of the YAML loader tell how to change a file, and
/// the output of a script is not a file.
fn not_yaml(problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let advise = |problem: Diagnostic| match problem.code {
        text_codes::EXTRA_DOCUMENT => problem.help("print all instances below one `instances`"),
        text_codes::SYNTAX => problem.help("print the document alone, and messages on stderr"),
        _ => problem,
    };
    problems.into_iter().map(advise).collect()
}

fn read_root(source: &Arc<Source>, root: &Node, shape: &Shape) -> Result<Vec<Said>, Vec<Diagnostic>> {
    let top = mapping(source, root, "a mapping with `instances`")?;
    let unknown: Vec<_> = top
        .entries()
        .iter()
        .filter(|entry| entry.key.text() != INSTANCES)
        .map(|entry| stray(source, entry))
        .collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    match top.get(INSTANCES) {
        Some(instances) if !instances.is_null() => {
            let instances = mapping(source, instances, "a mapping of instances")?;
            Ok(instances.entries().iter().map(|entry| said(source, entry, shape)).collect())
        }
        _ => Ok(Vec::new()),
    }
}

fn mapping<'n>(source: &Arc<Source>, node: &'n Node, expected: &str) -> Result<&'n Mapping, Vec<Diagnostic>> {
    node.as_mapping().ok_or_else(|| {
        let message = format!("expected {expected}, found {}", node.describe());
        vec![
            Diagnostic::error(codes::NOT_UPDATES, message)
                .at(source.place(node.span()))
                .help("print the document alone, and messages on stderr"),
        ]
    })
}

fn stray(source: &Arc<Source>, entry: &Entry) -> Diagnostic {
    let key = entry.key.text();
    let problem = Diagnostic::error(codes::UNKNOWN_KEY, format!("unknown key `{key}` beside `instances`"))
        .at(source.place(entry.key.span()));
    match suggest(key, [INSTANCES]) {
        Some(_) => problem.help("did you mean `instances`?"),
        None => problem.help("put updates below `instances` and the id of their instance"),
    }
}

fn said(source: &Arc<Source>, entry: &Entry, shape: &Shape) -> Said {
    let id = entry.key.text();
    let place = |at: &windlass_update_ops::Place, of_value: bool| {
        let found = entry.value.locate(&at.to_string());
        let key = if at.steps().is_empty() { Some(&entry.key) } else { found.key };
        source.place(key.filter(|_| !of_value).map_or(found.node.span(), Key::span))
    };
    let describe = |error: &UpdateError| {
        let problem = Diagnostic::error(codes::BAD_UPDATE, format!("instance `{id}`: {error}"))
            .at(place(&error.place, is_about_value(&error.problem)));
        let problem = match &error.problem {
            Problem::Conflict { other_place, .. } => {
                problem.related(place(other_place, false), "the other one")
            }
            _ => problem,
        };
        match error.help() {
            Some(help) => problem.help(help),
            None => problem,
        }
    };
    let remark = |warning: &Warning| {
        Diagnostic::warning(codes::NOTICE, format!("instance `{id}`: {warning}"))
            .at(place(&warning.place, matches!(warning.notice, Notice::Spelling { .. })))
    };
    let value = entry.value.to_value(Reading::Script);
    let (update, notices) = match Update::parse(&value, shape) {
        Ok(parsed) => (Ok(parsed.update), parsed.warnings.iter().map(remark).collect()),
        Err(errors) => {
            let mut problems: Diagnostics = errors.iter().map(describe).collect();
            problems.sort();
            (Err(problems.into_vec()), Vec::new())
        }
    };
    let instance_id = if let Ok(update) = &update {
        text_at(update, INSTANCE_ID)
    } else {
        let mut fields = [Some(&value), value.get("$set")].into_iter().flatten();
        fields.find_map(|fields| fields.get(INSTANCE_ID)?.as_str()).map(str::to_owned)
    };
    Said { id: id.to_owned(), span: entry.key.span(), update, instance_id, notices }
}

/// Tells whether a problem concerns a value, not the path of the value.
fn is_about_value(problem: &Problem) -> bool {
    matches!(problem, Problem::WrongSort { .. } | Problem::TooDeep | Problem::Missing)
}
