//! The commands, each in a file of its own.

mod application;
mod change;
mod check;
mod consent;
mod cron;
mod doctor;
mod environment;
mod exec;
mod explain;
mod fmt;
mod forget;
mod graph;
mod history;
mod image;
mod init;
mod itself;
mod job;
mod launch;
mod log;
pub(crate) mod names;
mod outputs;
mod pairs;
mod plan;
mod process;
mod prune;
mod ps;
mod rename;
mod resolve;
mod rolling;
mod schema;
mod script;
mod simulate;
pub(crate) mod spiff;
mod status;
mod transfer;
mod up;
mod update;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use serde::Serialize;
use windlass::engine::{EngineError, Options};
use windlass::model::{AssemblyName, ProcessId};
use windlass::project::Overlay;
use windlass::project::codes::KNOWN_ELSEWHERE;
use windlass::source::files::MAX_SIZE;
use windlass::source::{Code, Diagnostics};
use windlass::{AssemblyInput, Error, Settings, Windlass};

use crate::args::{AssemblyArgs, Cli, Command, PartsArgs, RunArgs};
use crate::codes;
use crate::diagnostics;
use crate::exit;
use crate::failure::{self, fault};
use crate::output::{say, tell};
use crate::parameters::{ParameterError, Parameters, beside, collect};
use crate::size_limit::{self, max_size};

/// Runs a command.
pub(crate) fn run(cli: Cli) -> ExitCode {
    STATE.get_or_init(|| cli.state.or_else(|| environment("WINDLASS_STATE")?.into_string().ok()));
    size_limit::set_max_size(cli.max_size.unwrap_or(MAX_SIZE));
    match cli.command {
        Command::Up(args) => wait_for(up::run(args)),
        Command::Apply(args) => wait_for(up::apply(args)),
        Command::Adopt(args) => wait_for(up::adopt(args)),
        Command::Change(command) => wait_for(change::run(command)),
        Command::Export(args) => wait_for(transfer::export(args)),
        Command::Import(args) => wait_for(transfer::import(args)),
        Command::Rename(args) => wait_for(rename::run(args)),
        Command::Forget(args) => wait_for(forget::run(args)),
        Command::Cancel(args) => wait_for(change::cancel(args)),
        Command::Prune(args) => wait_for(prune::run(args)),
        Command::Ps(args) => wait_for(ps::run(args)),
        Command::Run(args) => wait_for(watch::run(args)),
        Command::Metric(args) => wait_for(watch::metric(args)),
        Command::History(args) => wait_for(history::run(args)),
        Command::Diff(args) => wait_for(history::diff(args)),
        Command::Status(args) => wait_for(status::run(args)),
        Command::Output(args) => wait_for(outputs::run(args)),
        Command::Log(args) => wait_for(log::run(args)),
        Command::Plan(args) => wait_for(plan::run(args)),
        Command::App(args) => wait_for(application::run(args)),
        Command::Env(args) => wait_for(environment::run(args)),
        Command::Simulate(args) => wait_for(simulate::run(args)),
        Command::Init(args) => init::run(&args),
        Command::Check(args) if args.image.is_some() => wait_for(check::with_image(args)),
        Command::Check(args) => check::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Graph(args) => wait_for(graph::run(&args)),
        Command::Resolve(args) => resolve::run(&args),
        Command::Script(args) => wait_for(script::run(args)),
        Command::Exec(args) => wait_for(exec::run(args)),
        Command::Job(args) => wait_for(job::run(args)),
        Command::Doctor(args) => wait_for(doctor::run(args)),
        Command::Schema(args) => schema::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Spiff(args) => spiff::run(&args),
        Command::Cron(args) => cron::run(&args),
        Command::Update(args) => update::run(&args),
        Command::Image(args) => wait_for(image::run(args)),
        Command::Completions(args) => itself::completions(&args),
        Command::Man(args) => itself::man(&args),
    }
}

/// Runs an asynchronous command on a Tokio runtime. Synchronous commands start faster without this runtime.
fn wait_for(command: impl Future<Output = ExitCode>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            fault!(codes::START, "can't start: {error}");
            return exit::FAILED;
        }
    };
    // `command` is a future (in the sense of Rust) with much data, so it is moved to the heap.
    let code = runtime.block_on(Box::pin(command));
    // Do not wait for tasks that are still blocked, for example reading a terminal.
    runtime.shutdown_background();
    code
}

/// Prints an error and returns its exit code.
fn fail(error: &Error) -> ExitCode {
    match error {
        Error::Input(problems) => return refuse(problems),
        error if error.is_stopped() => {
            if failure::is_json() {
                complain(error, error.code());
            } else {
                tell!("{error}");
            }
            return exit::interrupted();
        }
        error => complain(error, error.code()),
    }
    if let Error::Engine(EngineError::Unknown { name, .. }) | Error::NoState { name, .. } = error {
        note_process(name);
    }
    if error.is_input() { exit::wrong_input() } else { exit::FAILED }
}

/// Prints a note if the user has given a process id instead of the name of an assembly. The note names the
/// command that shows the process.
fn note_process(name: &AssemblyName) {
    if let Ok(process) = name.as_str().parse::<ProcessId>() {
        tell!("note: `windlass ps show {process}` shows a process");
    }
}

/// Prints an error about a descriptor file. If no such file exists, and the argument is the name of an
/// assembly, adds a note about that assembly.
async fn fail_of_file(error: &Error, file: &Path) -> ExitCode {
    let code = fail(error);
    let Some(name) = file.to_str().filter(|_| !file.exists()) else { return code };
    if let Ok(windlass) = open(None, None, "status")
        && let Ok(known) = windlass.views().status(None).await
        && known.assemblies.iter().any(|assembly| assembly.name.as_str() == name)
    {
        tell!(
            "note: this command expects a descriptor, and `{name}` is an existing assembly; `windlass status {name}` shows it"
        );
    }
    code
}

/// Prints an error with its causes.
fn complain(error: &dyn std::error::Error, code: Option<Code>) {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    failure::report(&without_numbers(&text), code);
}

/// Removes error numbers of the operating system from an error message. The number says nothing new, because
/// the words in front of the number already describe the error.
fn without_numbers(text: &str) -> String {
    let mut words = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        words.push_str(before);
        rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        rest = rest.strip_prefix(')').unwrap_or(rest);
    }
    words + rest
}

/// Prints problems of the input.
fn refuse(problems: &Diagnostics) -> ExitCode {
    let errors = problems.count(windlass::source::Severity::Error);
    failure::report_all(&format!("{}; nothing was changed", plural(errors, "error")), problems);
    exit::wrong_input()
}

/// Formats a count with its noun.
fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Prints a view as JSON.
fn print_json(view: &impl Serialize) -> ExitCode {
    match serde_json::to_string_pretty(view) {
        Ok(text) => {
            say!("{text}");
            exit::DONE
        }
        Err(error) => {
            fault!(codes::OUTPUT, "can't write JSON: {error}");
            exit::FAILED
        }
    }
}

/// The time that windlass waits after it has asked a job to end. Then windlass kills the job. windlass asks jobs to
/// end when the time of `--grace` is over, or after a second interrupt.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The address of the database in which windlass keeps the state: the value of `--state`, or else of the
/// environment variable `WINDLASS_STATE`. The value is set once, before a command runs.
static STATE: OnceLock<Option<String>> = OnceLock::new();

/// Returns the [`Overlay`] through which a command reads files. This overlay is empty, so all texts come from the
/// disk. The maximum size of a file is the value of `--max-size`.
fn disk() -> Overlay {
    Overlay::default().with_limit(max_size())
}

/// Reads an environment variable. An empty variable counts as not set.
#[expect(clippy::disallowed_methods, reason = "the one home of the environment")]
fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Reads all environment variables whose names and values are valid UTF-8.
fn environment_all() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Opens the project of `start`, which is a file or a folder. If `start` is `None`, opens the project of the
/// working folder.
///
/// `command` is the command line of this program. Other programs show this text while this program holds the lease
/// on an assembly. `command` must not contain the values of parameters, because these values may be secrets.
fn open(start: Option<&Path>, run: Option<&RunArgs>, command: &str) -> Result<Windlass, Error> {
    open_against(start, run, command, false)
}

/// Opens the project of the working folder for a command that only reads records. If `windlass.yaml` names a runtime or
/// a driver that this program does not know, prints a warning.
fn open_to_read(command: &str) -> Result<Windlass, Error> {
    let windlass = Windlass::open(settings(None, None, command, false).only_reading(true))?;
    let warnings = windlass.project().warnings().iter();
    diagnostics::print(warnings.filter(|warning| KNOWN_ELSEWHERE.contains(&warning.code)));
    Ok(windlass)
}

/// Opens a project as [`open`] does, and also sets the option `force`. Commands with the parameter `--force`
/// use this function.
fn open_against(
    start: Option<&Path>,
    run: Option<&RunArgs>,
    command: &str,
    force: bool,
) -> Result<Windlass, Error> {
    Windlass::open(settings(start, run, command, force))
}

fn settings(start: Option<&Path>, run: Option<&RunArgs>, command: &str, force: bool) -> Settings {
    let mut options =
        Options { parallelism: cores().saturating_mul(4), grace: LAST_WORDS, force, ..Options::default() };
    if let Some(run) = run {
        options.patience = grace(run);
    }
    if let Some(parallelism) = run.and_then(|run| run.parallelism) {
        options.parallelism = usize::from(parallelism);
    }
    Settings::new(start.unwrap_or(Path::new(".")))
        .options(options)
        .key_file(environment("WINDLASS_KEY_FILE").map(PathBuf::from))
        .images(images())
        .state(STATE.get().cloned().flatten())
        .max_size(max_size())
        .serving(command == "run")
        .variables(|name| environment(name)?.into_string().ok())
        .notices(|notice| tell!("note: {notice}"))
        .command(format!("windlass {command}"))
}

/// Returns the folder of the user's images.
fn images() -> Option<PathBuf> {
    let cache = environment("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| environment("HOME").map(|home| PathBuf::from(home).join(".cache")));
    cache.map(|cache| cache.join("windlass/images"))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn grace(run: &RunArgs) -> Duration {
    Duration::from_secs(run.grace.into())
}

/// Collects parameters from the arguments. On an error, prints it and returns the exit code.
fn collected(
    flag: &str,
    given: &[String],
    files: &[PathBuf],
    inventories: &[String],
) -> Result<Parameters, ExitCode> {
    collect(flag, given, files, inventories).map_err(|error| match error {
        ParameterError::Form { code, message } => {
            fault!(code, "{message}");
            exit::wrong_input()
        }
        ParameterError::File(error) => fail(&error),
    })
}

/// Creates the input of a plan from the arguments. On an error, prints it and returns the exit code.
fn input(args: &AssemblyArgs) -> Result<AssemblyInput, ExitCode> {
    let input = AssemblyInput::new(&args.file).name(args.name.clone()).catalog(args.catalog.iter().cloned());
    let mut files = beside(&args.file);
    let is_given = |file: &PathBuf| {
        args.params.iter().any(|given| given.canonicalize().ok() == file.canonicalize().ok())
    };
    files.retain(|file| !is_given(file));
    for file in &files {
        tell!("note: parameters are read from `{}`", file.display());
    }
    files.extend(args.params.iter().cloned());
    with_parameters(input, &args.parameters, &files, &args.inventory)
}

/// Tells whether an `up` has a part both in `--except` and in `--target` or `--replace`, and prints an error about the
/// first such part.
fn parts_contradict(parts: &PartsArgs) -> bool {
    let PartsArgs { target, replace, except, .. } = parts;
    contradict("--target", target, except) || contradict("--replace", replace, except)
}

/// Tells whether one of `parts` is in `except`, or inside a part in `except`. `parts` contains the values of the option
/// `option`. Prints an error about the first such part.
fn contradict(option: &str, parts: &[String], except: &[String]) -> bool {
    let is_in = |part: &str, outer: &str| {
        part.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
    };
    let mut pairs = parts.iter().flat_map(|part| except.iter().map(move |outer| (part, outer)));
    let Some((part, outer)) = pairs.find(|(part, outer)| is_in(part, outer)) else { return false };
    let message = "contradict each other; remove one of them";
    fault!(codes::COMMAND_LINE, "`{option} {part}` and `--except {outer}` {message}");
    true
}

/// Adds parameters to an input. They come from the arguments `given`, from files, from inventories, and from
/// environment variables.
fn with_parameters(
    mut input: AssemblyInput,
    given: &[String],
    files: &[PathBuf],
    inventories: &[String],
) -> Result<AssemblyInput, ExitCode> {
    let Parameters { values, places, entries, left_out, files, open } =
        collected("-p ", given, files, inventories)?;
    for (name, value) in values {
        input = if open.contains(&name) {
            input.open_parameter(name, value)
        } else {
            input.parameter(name, value)
        };
    }
    for (name, place) in places {
        input = input.parameter_at(name, place);
    }
    for (name, places) in entries {
        input = input.entries_at(name, places);
    }
    for (name, fields) in left_out {
        input = input.fields_left_out(name, fields);
    }
    for (name, file) in files {
        input = input.parameter_from(name, file.display().to_string());
    }
    for (name, _) in given.iter().filter_map(|argument| argument.split_once('=')) {
        input = input.parameter_source(name, format!("by `-p {name}`"));
    }
    Ok(input.environment(variables()))
}

/// Returns the names and values of the environment variables that set parameters. The returned names do not contain the
/// prefix `WINDLASS_PARAM_`.
///
/// windlass ignores a variable that names no property of the assembly, because a user may set variables for several
/// assemblies in one shell.
fn variables() -> impl Iterator<Item = (String, String)> {
    environment_all()
        .filter_map(|(name, value)| Some((name.strip_prefix("WINDLASS_PARAM_")?.to_owned(), value)))
}
