//! `windlass exec`: runs one job by hand, and copies its output.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use windlass::driver::Location;
use windlass::engine::Stop;
use windlass::executor::{
    End, Events, Job, JobEvent, JobId, Network, Outcome, Runtime, RuntimeError, Stream,
};
use windlass::project::Misfit;
use windlass::runtimes::exec_job_id;
use windlass::{Error, RuntimeRegistry, Windlass};

use super::{complain, fail, open};
use crate::args::ExecArgs;
use crate::codes;
use crate::exit;
use crate::failure::fault;
use crate::output::{VisibleStream, tell};
use crate::signals;

/// Maximum size of standard input in bytes. The whole input is read into memory before the job starts.
const INPUT_LIMIT: u64 = 256 << 20;

/// The time after which an interrupted job is killed, if the job has not ended by itself.
const GRACE: Duration = Duration::from_secs(10);

pub(crate) async fn run(args: ExecArgs) -> ExitCode {
    let (location, job) = match location(&args).and_then(|location| Ok((location, job(&args)?))) {
        Ok(read) => read,
        Err(why) => {
            fault!(codes::COMMAND_LINE, "{why}");
            return exit::wrong_input();
        }
    };
    let windlass = match open(None, None, "exec") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let code = match execute(&windlass, &location, &job).await {
        Ok((outcome, copied)) => ended(&outcome, &copied, &job),
        Err(error) => fail(&error),
    };
    if let Err(error) = windlass.close().await {
        complain(&error, error.code());
        return exit::FAILED;
    }
    code
}

/// Creates the location of the job from `--image`, `--runtime`, `--engine` and `--setting`. The error is a message for
/// the user.
fn location(args: &ExecArgs) -> Result<Location, String> {
    let mut location = Location::local("exec");
    location.image.clone_from(&args.image);
    let mut settings: BTreeMap<String, String> = BTreeMap::new();
    for setting in &args.setting {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("`--setting {setting}` is not of the form KEY=VALUE"))?;
        settings.insert(key.to_owned(), value.to_owned());
    }
    settings.extend(args.engine.clone().map(|engine| ("engine".to_owned(), engine)));
    fitted(location, args.runtime.as_deref(), settings)
}

/// Sets the runtime and the settings of a location. If `runtime` is `None`, the function chooses the kind of
/// runtime that accepts the largest number of the settings.
pub(super) fn fitted(
    mut location: Location,
    runtime: Option<&str>,
    settings: BTreeMap<String, String>,
) -> Result<Location, String> {
    let kinds = RuntimeRegistry::default().kinds();
    let misfits = kinds.fit(&mut location, runtime, settings);
    match misfits.into_iter().next() {
        Some(misfit) => Err(words(misfit)),
        None => Ok(location),
    }
}

/// Describes why the runtime and the settings do not match. Where possible, the text names the options of the command,
/// such as `--image`.
fn words(misfit: Misfit) -> String {
    match misfit {
        Misfit::Key { key, runtime, others } if others.is_empty() => {
            format!("no runtime has a setting `{key}`; the chosen one is `{runtime}`")
        }
        Misfit::Key { key, runtime, others } => {
            let others: Vec<String> = others.iter().map(|name| format!("`--runtime {name}`")).collect();
            format!("the runtime `{runtime}` has no `{key}`: omit it, or use {}", others.join(" or "))
        }
        Misfit::NoImage { runtime, .. } => format!("the runtime `{runtime}` needs an image: pass `--image`"),
        Misfit::Setting(problem) => match problem.diagnostic.help {
            Some(help) => format!("{}; {help}", problem.diagnostic.message),
            None => problem.diagnostic.message,
        },
        Misfit::Unknown(_) => misfit.to_string(),
    }
}

fn job(args: &ExecArgs) -> Result<Job, String> {
    let (program, rest) = args.command.split_first().ok_or("there is no command")?;
    let mut job = Job::command(program).args(rest.iter().cloned()).stdin(input()?);
    if let Some(image) = &args.image {
        job = job.image(image);
    }
    if let Some(timeout) = args.timeout {
        job = job.timeout(timeout);
    }
    job = job.network(match args.network.as_deref() {
        None => Network::Default,
        Some("none") => Network::None,
        Some("bridge") => Network::Bridge,
        Some("host") => Network::Host,
        Some(name) => Network::Named(name.to_owned()),
    });
    for variable in &args.env {
        let (name, value) = variable
            .split_once('=')
            .ok_or_else(|| format!("`--env {variable}` is not of the form NAME=VALUE"))?;
        job = job.env(name, value);
    }
    job.check().map_err(|error| error.to_string())?;
    Ok(job)
}

/// Reads standard input. If standard input is a terminal, it counts as empty.
fn input() -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return Ok(bytes);
    }
    stdin
        .take(INPUT_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("can't read standard input: {error}"))?;
    if bytes.len() as u64 > INPUT_LIMIT {
        return Err(format!("standard input has more than {} MiB", INPUT_LIMIT >> 20));
    }
    Ok(bytes)
}

/// Runs the job. Returns its outcome, and the result of copying its output. If the reader of the output exits early,
/// the result is not an error.
async fn execute(
    windlass: &Windlass,
    location: &Location,
    job: &Job,
) -> Result<(Outcome, io::Result<()>), Error> {
    let runtime = windlass.runtime(location).await?;
    let id = exec_job_id(std::process::id(), windlass.now());
    runtime.submit(&id, job).await?;
    let canceller = tokio::spawn(cancel_when_stopped(runtime.clone(), id.clone(), signals::listen(GRACE)));
    let copied = match follow(runtime.events(&id).await?).await {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        copied => copied,
    };
    let outcome = runtime.wait(&id).await?;
    canceller.abort();
    runtime.remove(&id).await?;
    Ok((outcome, copied))
}

/// Cancels the job when a stop is requested: the job is first asked to end, and later killed.
async fn cancel_when_stopped(runtime: Arc<dyn Runtime>, id: JobId, stop: Stop) -> Result<(), RuntimeError> {
    stop.requested().await;
    runtime.cancel(&id, GRACE).await?;
    stop.requested_now().await;
    runtime.cancel(&id, Duration::ZERO).await
}

/// Copies the job's output to stdout and stderr as it arrives. On a terminal, control characters are escaped. In a
/// pipe or file, the output is unchanged.
async fn follow(mut events: Events) -> io::Result<()> {
    let mut stdout = Printer::new(io::stdout(), io::stdout().is_terminal());
    let mut stderr = Printer::new(io::stderr(), io::stderr().is_terminal());
    while let Some(event) = events.next().await {
        match event {
            JobEvent::Output { stream: Stream::Stdout, chunk, .. } => stdout.print(&chunk)?,
            JobEvent::Output { stream: Stream::Stderr, chunk, .. } => stderr.print(&chunk)?,
            JobEvent::Omitted { stream, bytes } => {
                tell!("windlass: {bytes} bytes of {stream:?} were not kept");
            }
            _ => {}
        }
    }
    stdout.end()?;
    stderr.end()
}

/// The destination of one output stream of the job.
struct Printer<W> {
    out: W,
    /// The escaping for a terminal; `None` for a pipe or file.
    visible: Option<VisibleStream>,
}

impl<W: io::Write> Printer<W> {
    fn new(out: W, is_terminal: bool) -> Self {
        Self { out, visible: is_terminal.then(VisibleStream::default) }
    }

    fn print(&mut self, chunk: &[u8]) -> io::Result<()> {
        match &mut self.visible {
            Some(visible) => self.out.write_all(visible.next(chunk).as_bytes())?,
            None => self.out.write_all(chunk)?,
        }
        self.out.flush()
    }

    fn end(mut self) -> io::Result<()> {
        match self.visible.take() {
            Some(visible) => self.out.write_all(visible.end().as_bytes()),
            None => Ok(()),
        }
    }
}

/// Reports the end of the job, and returns the exit code. `copied` is the result of copying the output.
fn ended(outcome: &Outcome, copied: &io::Result<()>, job: &Job) -> ExitCode {
    if let Err(error) = copied {
        fault!(codes::OUTPUT, "can't write the output of the job: {error}");
    }
    match &outcome.end {
        End::Exited(0) if copied.is_err() => exit::FAILED,
        End::Exited(0) => exit::DONE,
        End::Cancelled => {
            tell!("the job was cancelled");
            exit::interrupted()
        }
        end => {
            fault!(codes::JOB, "the job {}", end.under(&job.limits));
            exit::FAILED
        }
    }
}
