//! Runs scripts by hand, and runs the test cases of packages. In both cases, jobs run, and windlass records
//! nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use windlass_driver::case::{CaseAction, CaseInput, CaseResult};
use windlass_driver::{Context, Failure, JobFailure, Location, Package, Report, Unrecorded, texts};
use windlass_engine::Stop;
use windlass_executor::{Job, Outcome};
use windlass_model::record::PackageFile;
use windlass_model::{Action, InstanceId, Timestamp, Transition};
use windlass_project::disk;
use windlass_project::package::{TESTS, package_in};
use windlass_script::{KIND, Request, Style, single_script};
use windlass_secret::Redactor;
use windlass_source::{
    Diagnostic, EmitStyle, Entry, LoadOptions, Mapping, Node, Reading, Source, Span, emit_typed, files,
    load_one, suggest,
};

use crate::case_input::of_request;
use crate::codes;
use crate::error::Error;
use crate::open::Windlass;

/// Maximum duration of a script.
const LONGEST: Duration = Duration::from_secs(3600);

/// Maximum size of a script in bytes.
const MAX_SCRIPT: usize = 64 << 20;

/// The folder of the scripts in a package.
const SCRIPTS: &str = "Lifecycle/script/scripts";

/// The names that a user of `windlass script run` can write in place of transitions. For example, `launch` means
/// `Install`.
const KINDS: [(&str, Transition); 4] = [
    ("launch", Transition::Install),
    ("destroy", Transition::Uninstall),
    ("health-check", Transition::Integrity),
    ("reconfigure", Transition::Reconfigure),
];

/// The result of a script.
#[derive(Debug, Clone, Serialize)]
pub struct ScriptView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The result of the call.
    pub result: CaseResult,
    /// The messages that the script wrote on stderr, without secrets.
    pub stderr: String,
}

/// The results of the test cases of a package.
#[derive(Debug, Clone, Serialize)]
pub struct CasesView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The cases, in the order in which they ran.
    pub cases: Vec<CaseView>,
}

/// The result of a test case.
#[derive(Debug, Clone, Serialize)]
pub struct CaseView {
    /// The file of the case.
    pub file: PathBuf,
    /// Whether the case has passed. A case passes if the script had the expected result, or if the expected result in
    /// the file was replaced by the actual one.
    pub passed: bool,
    /// Whether the expected result in the file was replaced.
    pub updated: bool,
    /// The expected result of the case, as YAML.
    pub expected: String,
    /// The actual result of the case, as YAML.
    pub actual: String,
    /// The messages that the script wrote on stderr, without secrets. If the script wrote no message and
    /// failed, the text contains the details of the failure.
    pub stderr: String,
}

impl CasesView {
    /// Tells whether all cases have their expected results.
    pub fn passed(&self) -> bool {
        self.cases.iter().all(|case| case.passed)
    }
}

/// The content of a YAML file in the folder `tests` of a package.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    version: u32,
    /// A transition, an operation, a command, or `discover`.
    action: String,
    #[serde(default)]
    input: CaseInput,
    #[serde(default)]
    expect: CaseResult,
}

/// Reads the input of a script from a YAML file. The file contains any of the keys `id`, `properties`,
/// `secrets`, `arguments`, `location` and `document`. In place of these keys, the file may contain the
/// document that the script would read, for one instance: `instances: {i-1: {configuration: {properties.size:
/// 3}}}`.
///
/// # Errors
///
/// Fails if the file can't be read, or if its content is invalid.
pub fn read_input(file: &Path) -> Result<CaseInput, Error> {
    let source = disk::source(file).map_err(|found| problem(*found))?;
    match read_root(&source)? {
        Some(root) if Request::is_request(&root) => {
            let request = Request::of_root(&source, Some(&root)).map_err(Error::Input)?;
            of_request(&request).map_err(Error::Input)
        }
        Some(root) => root.parse(&source, Reading::Script).map_err(|found| problem(*found)),
        None => Ok(CaseInput::default()),
    }
}

/// Parses the kind of a script: `launch`, `destroy`, `health-check`, `reconfigure`, `discover`, `command`, or the
/// name of a transition. For `command`, the name of the script file is the name of the command.
///
/// # Errors
///
/// Fails if there is no such kind of script.
pub fn parse_kind(kind: &str, script: &Path) -> Result<CaseAction, Error> {
    if let Some((_, transition)) = KINDS.iter().find(|(name, _)| *name == kind) {
        return Ok(CaseAction::Perform(Action::Transition(*transition)));
    }
    if let Ok(transition) = kind.parse::<Transition>() {
        return Ok(CaseAction::Perform(Action::Transition(transition)));
    }
    match kind {
        "discover" => Ok(CaseAction::Discover),
        "command" => {
            let stem = script.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            Ok(CaseAction::Perform(Action::Command(stem.parse()?)))
        }
        _ => {
            let known = KINDS.iter().map(|(name, _)| *name).chain(["discover", "command"]);
            let known: Vec<&str> = known.chain(Transition::ALL.iter().map(|it| it.as_str())).collect();
            let help = match suggest(kind, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are `{}`", known.join("`, `")),
            };
            let message = format!("there is no kind of script `{kind}`");
            Err(Error::Input(vec![Diagnostic::error(codes::SCRIPT, message).help(help)].into()))
        }
    }
}

/// Creates a package whose only action is `action`, which the given script performs.
///
/// If the script is in the folder `Lifecycle/script/scripts` of an existing package, the new package also gets the
/// other files and the driver properties of the existing package. `style` is the style in which the script runs.
/// Without `style`, the style comes from the driver properties.
///
/// # Errors
///
/// Fails if the script or its package can't be read.
pub fn script_package(script: &Path, action: &CaseAction, style: Option<Style>) -> Result<Package, Error> {
    let failed = |source| Error::File { path: script.to_owned(), source };
    let absolute = script.canonicalize().map_err(failed)?;
    let metadata = absolute.metadata().map_err(failed)?;
    let content = files::read(&absolute, MAX_SCRIPT).map_err(|error| failed(error.into()))?;
    let name = absolute.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let executable = metadata.permissions().mode() & 0o111 != 0;
    let file = PackageFile { path: name, executable, content };
    let root = absolute.parent().filter(|folder| folder.ends_with(SCRIPTS));
    let package = match root.and_then(|folder| folder.ancestors().nth(3)) {
        Some(root) => package_in(root).map_err(Error::Input)?,
        None => None,
    };
    let mut properties = BTreeMap::new();
    let mut others = Vec::new();
    if let Some(package) = package {
        let bindings = package.bindings();
        let binding = match action {
            CaseAction::Perform(action) => bindings.of_driver(KIND, action),
            CaseAction::Discover => bindings.queries.iter().find(|binding| binding.driver.as_str() == KIND),
        };
        let binding = binding.or_else(|| bindings.default.iter().find(|it| it.driver.as_str() == KIND));
        properties.extend(binding.into_iter().flat_map(|binding| binding.properties.clone()));
        others = package.files().to_vec();
    }
    if let Some(style) = style {
        properties.insert("style".to_owned(), style.as_str().into());
    }
    Ok(single_script(action, file, others, properties))
}

/// A runner with which a person runs the scripts of packages directly, without an assembly. It records
/// nothing.
#[derive(Clone, Copy)]
pub struct ScriptRunner<'w> {
    windlass: &'w Windlass,
    stop: &'w Stop,
}

impl<'w> ScriptRunner<'w> {
    /// Creates a runner with the drivers and runtimes of a project. `stop` ends a running script.
    pub fn new(windlass: &'w Windlass, stop: &'w Stop) -> Self {
        Self { windlass, stop }
    }

    /// Runs the script of a package for an action. Nothing is recorded. A failure of the script is a result,
    /// not an error.
    ///
    /// # Errors
    ///
    /// Fails if the package has problems or does not declare the action, or if the location has no runtime.
    pub async fn run(
        &self,
        package: Arc<Package>,
        action: &CaseAction,
        input: &CaseInput,
        location: Location,
    ) -> Result<ScriptView, Error> {
        let bindings = package.bindings();
        let binding = match action {
            CaseAction::Perform(action) => bindings.find(action, &location.infrastructure),
            CaseAction::Discover => bindings.query(&location.infrastructure),
        };
        let driver =
            binding.and_then(|binding| self.windlass.drivers().get(&binding.driver)).ok_or_else(|| {
                let message = format!("`{}` names no driver for this action", package.name());
                refusal(message, "declare the action in `resource.yaml`, with a driver or a `default-driver`")
            })?;
        let problems = driver.check(&package).into_iter().map(|problem| problem.diagnostic);
        let problems: Vec<Diagnostic> = problems.filter(Diagnostic::is_error).collect();
        if !problems.is_empty() {
            return Err(Error::Input(problems.into()));
        }
        let runtime = self.windlass.runtime(&location).await?;
        let context = Watched {
            inner: Unrecorded {
                runtime,
                prefix: format!("script-{}", InstanceId::random(&*self.windlass.settings.entropy)),
                owner: None,
                clock: self.windlass.settings.clock.clone(),
                longest: LONGEST,
                stop: self.stop.clone(),
            },
            stderr: Mutex::default(),
            secrets: Mutex::new(input.secrets.values().flat_map(texts).collect()),
        };
        let run = input.run(&**driver, &context, package, action, location).await;
        let result =
            run.map_err(|message| Error::Input(vec![Diagnostic::error(codes::SCRIPT, message)].into()))?;
        Ok(ScriptView { version: 1, stderr: context.shown(), result })
    }

    /// Runs the test cases of a package: the `.yaml` files in its folder `tests`, in the order of their
    /// names. With `update`, replaces the `expect` of each failed case by the actual result. A failed case is
    /// a result, not an error.
    ///
    /// # Errors
    ///
    /// Fails if the folder contains no package or no cases, or if a case can't be read or run.
    pub async fn test(&self, folder: &Path, update: bool) -> Result<CasesView, Error> {
        let package = package_in(folder).map_err(Error::Input)?;
        let package = Arc::new(package.ok_or_else(|| {
            let message = format!("`{}` has no `resource.yaml`, so it is no package", disk::shown(folder));
            refusal(message, "name the folder of a resource's package")
        })?);
        let mut view = CasesView { version: 1, cases: Vec::new() };
        for file in case_files(&folder.join(TESTS))? {
            let case = self.test_case(package.clone(), file, update).await?;
            view.cases.push(case);
        }
        Ok(view)
    }

    async fn test_case(&self, package: Arc<Package>, file: PathBuf, update: bool) -> Result<CaseView, Error> {
        let source = disk::source(&file).map_err(|found| problem(*found))?;
        let root = read_root(&source)?.ok_or_else(|| {
            refusal(format!("`{}` is empty", disk::shown(&file)), "write a case, or remove it")
        })?;
        let case: CaseFile = root.parse(&source, Reading::Script).map_err(|found| problem(*found))?;
        if case.version != 1 {
            let message = format!("`{}` has version {}", disk::shown(&file), case.version);
            return Err(refusal(message, "this windlass reads cases of version 1"));
        }
        let action = action_of(&package, &case.action, &source, &root)?;
        let CaseFile { input, expect: expected, .. } = case;
        let ran = self.run(package, &action, &input, Location::local("case")).await?;
        let passed = ran.result.matches(&expected);
        let actual = yaml(&ran.result);
        let updated = update && !passed;
        if updated {
            rewrite(&file, &source, &root, &actual)?;
        }
        let detail = ran.result.error.and_then(|error| error.detail);
        let stderr = detail.filter(|_| ran.stderr.is_empty()).unwrap_or(ran.stderr);
        Ok(CaseView { file, passed: passed || updated, updated, expected: yaml(&expected), actual, stderr })
    }
}

/// A driver context that collects the messages that the scripts write on stderr.
struct Watched {
    inner: Unrecorded,
    stderr: Mutex<String>,
    secrets: Mutex<Vec<String>>,
}

impl Watched {
    /// Returns the collected messages, without secrets.
    fn shown(&self) -> String {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        Redactor::new(&*secrets).mask_str(&self.stderr.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Context for Watched {
    async fn job(&self, name: &str, job: Job) -> Result<Outcome, JobFailure> {
        let outcome = self.inner.job(name, job).await?;
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).push_str(&outcome.stderr.text());
        Ok(outcome)
    }

    async fn checkpoint(&self, call: usize, report: Report) -> Result<(), Failure> {
        self.inner.checkpoint(call, report).await
    }

    fn hide(&self, secrets: &[String]) {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(secrets);
    }

    fn cancelled(&self) -> bool {
        self.inner.cancelled()
    }

    fn now(&self) -> Timestamp {
        self.inner.now()
    }
}

/// Returns the case files of a folder, sorted by name.
fn case_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::File { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        let message = format!("`{}` has no test cases", disk::shown(folder));
        return Err(refusal(message, "add files such as `install.yaml`; docs/scripts.md describes them"));
    }
    Ok(files)
}

/// Returns the action that a test case names. The name is `discover`, or the name of an action that the package
/// declares. If the package declares no such action, the error points at the key `action` of the test case.
fn action_of(package: &Package, name: &str, source: &Arc<Source>, root: &Node) -> Result<CaseAction, Error> {
    if name == "discover" {
        return Ok(CaseAction::Discover);
    }
    if let Some(action) = package.bindings().actions().find(|action| action.as_str() == name) {
        return Ok(CaseAction::Perform(action));
    }
    let names: Vec<String> = package.bindings().actions().map(|action| action.as_str().to_owned()).collect();
    let problem = Diagnostic::error(codes::SCRIPT, format!("`{}` declares no `{name}`", package.name()))
        .at(source.place(root.locate("/action").node.span()));
    let help = match suggest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it declares `{}`", names.join("`, `")),
    };
    Err(Error::Input(vec![problem.help(help)].into()))
}

/// In the file of a test case, sets the key `expect` to the actual result. If the file has no such key, adds the key at
/// the end. The rest of the file stays as it is.
///
/// # Errors
///
/// Fails if another key follows `expect`, or if the file can't be replaced. Also fails if the new text would be no test
/// case, or would change a key other than `expect`.
fn rewrite(file: &Path, source: &Arc<Source>, root: &Node, actual: &str) -> Result<(), Error> {
    let entries = root.as_mapping().map(Mapping::entries).unwrap_or_default();
    let at = entries.iter().position(|entry| entry.key.text() == "expect");
    if let Some(at) = at.filter(|at| at + 1 < entries.len()) {
        let message = "`expect` is not the last entry of the case, so it can't be rewritten";
        let place = source.place(entries[at].key.span());
        return Err(problem(Diagnostic::error(codes::SCRIPT, message).at(place).help("move it to the end")));
    }
    let text = rewritten(source, entries, at, actual);
    if !is_same_case(source, root, &text) {
        let message = "the result can't be written behind the other entries of the case";
        let help = "write each key of the case on a line of its own, without `{` around the keys";
        return Err(problem(
            Diagnostic::error(codes::SCRIPT, message).at(source.place(root.span())).help(help),
        ));
    }
    // The file may be a link, so its target is replaced.
    let target = file.canonicalize().map_err(|source| Error::File { path: file.to_owned(), source })?;
    disk::replace(&target, source.text(), &text).map_err(|found| problem(*found))
}

/// Returns the text of a test case with a new `expect` at its end. `at` is the position of the present `expect` in
/// `entries`. The new key has the same indentation as the first key of the case.
fn rewritten(source: &Source, entries: &[Entry], at: Option<usize>, actual: &str) -> String {
    let line_of = |entry: &Entry| {
        let before = source.slice(Span::new(0, entry.key.span().start));
        before.rfind('\n').map_or(0, |end| end + 1)
    };
    let indent = entries.first().map_or("", |first| {
        let line = &source.text()[line_of(first)..];
        &line[..line.len() - line.trim_start_matches(' ').len()]
    });
    let kept = at.map_or(source.text(), |at| &source.text()[..line_of(&entries[at])]);
    let end = if kept.is_empty() || kept.ends_with('\n') { "" } else { "\n" };
    if actual.trim() == "{}" {
        return format!("{kept}{end}{indent}expect: {{}}\n");
    }
    let lines: Vec<String> = actual.lines().map(|line| format!("{indent}  {line}\n")).collect();
    format!("{kept}{end}{indent}expect:\n{}", lines.concat())
}

/// Tells whether a text is a test case whose keys other than `expect` have the same values as in `root`.
fn is_same_case(source: &Source, root: &Node, text: &str) -> bool {
    let source = Source::new(source.name(), text);
    let Ok(Some(new)) = read_root(&source) else { return false };
    let others = |root: &Node| {
        let entries = root.as_mapping().map(Mapping::entries).unwrap_or_default();
        let others = entries.iter().filter(|entry| entry.key.text() != "expect");
        let value = |entry: &Entry| (entry.key.text().to_owned(), entry.value.to_value(Reading::Script));
        others.map(value).collect::<Vec<_>>()
    };
    others(&new) == others(root) && new.parse::<CaseFile>(&source, Reading::Script).is_ok()
}

fn read_root(source: &Arc<Source>) -> Result<Option<Node>, Error> {
    let (root, _) = load_one(source, &LoadOptions::default()).into_result().map_err(Error::Input)?;
    Ok(root.filter(|root| !root.is_null()))
}

/// Formats a result as YAML.
#[expect(clippy::missing_panics_doc, reason = "JSON data has text keys and finite numbers")]
pub fn yaml(result: &CaseResult) -> String {
    emit_typed(result, EmitStyle::Block).expect("a result is JSON data")
}

fn problem(diagnostic: Diagnostic) -> Error {
    Error::Input(vec![diagnostic].into())
}

fn refusal(message: String, help: &str) -> Error {
    problem(Diagnostic::error(codes::SCRIPT, message).help(help))
}
