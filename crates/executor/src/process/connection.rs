//! The owner's end of the line to its supervisor.

use std::{ffi::OsString, path::PathBuf, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{
    RuntimeError,
    process::{
        KIND,
        layout::StateDir,
        wire::{Reply, Request, VERSION, line},
    },
};

/// How long a supervisor may take to say hello, and to go when it has nothing to do any more.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much of a dying supervisor's stderr is quoted.
const LAST_WORDS: u64 = 4096;

/// How to start the supervisor: a program whose `main` calls [`supervise`](super::supervise) when it gets these
/// arguments, and nothing else.
///
/// Mostly that is the embedding program itself, with a hidden argument:
///
/// ```no_run
/// use std::{env, process::ExitCode};
/// use windlass_executor::process::{SupervisorCommand, supervise};
///
/// fn main() -> ExitCode {
///     if env::args_os().nth(1).is_some_and(|first| first == "--supervise-jobs") {
///         return supervise();
///     }
///     let command = SupervisorCommand::this_program(["--supervise-jobs"]);
///     // … ProcessRuntime::open("state", command) …
///     # drop(command);
///     ExitCode::SUCCESS
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupervisorCommand {
    program: PathBuf,
    args: Vec<OsString>,
}

impl SupervisorCommand {
    /// Names a program and the arguments that make it a supervisor.
    pub fn new<A: Into<OsString>>(program: impl Into<PathBuf>, args: impl IntoIterator<Item = A>) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// Names the program that is running, with the arguments that make it a supervisor. It is the same program even
    /// when its file was replaced or removed meanwhile.
    pub fn this_program<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Self {
        Self::new("/proc/self/exe", args)
    }
}

/// Why there is no supervisor, for people.
pub(crate) type Problem = String;

/// A supervisor that has said hello.
#[derive(Debug)]
pub(crate) struct Connection {
    child: Child,
    /// Closing it is our death, as the supervisor sees it.
    stdin: Option<ChildStdin>,
    replies: Lines<BufReader<ChildStdout>>,
    stderr: ChildStderr,
}

impl Connection {
    /// Starts a supervisor and waits for its hello.
    pub(crate) async fn open(command: &SupervisorCommand, state: &StateDir) -> Result<Self, Problem> {
        let mut child = Command::new(&command.program)
            .arg0("windlass-supervisor")
            .args(&command.args)
            // Jobs can read it, or could: what stands in ours is not for them.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                let program = command.program.display();
                format!("its supervisor `{program}` can't be started: {error}")
            })?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("its supervisor has no streams".to_owned());
        };
        let replies = BufReader::new(stdout).lines();
        let mut connection = Self { stdin: child.stdin.take(), child, replies, stderr };
        // Not an argument: everybody on the host reads those. One that doesn't hear it says why, or nothing.
        let _heard = connection.say(&Request::Open { state: state.path().to_owned() }).await;
        match connection.greet().await {
            Ok(()) => Ok(connection),
            Err(error) => {
                let _ended_before = connection.child.kill().await;
                Err(error)
            }
        }
    }

    async fn greet(&mut self) -> Result<(), Problem> {
        match timeout(PATIENCE, self.replies.next_line()).await {
            Ok(Ok(Some(hello))) => match serde_json::from_str(&hello) {
                Ok(Reply::Hello { version: VERSION }) => Ok(()),
                Ok(Reply::Hello { version }) => Err(format!(
                    "its supervisor speaks version {version}, this program {VERSION}: restart the older one"
                )),
                _ => Err("its supervisor's program doesn't call `supervise`".to_owned()),
            },
            Ok(Ok(None) | Err(_)) => {
                Err(format!("its supervisor ended at once: {}", self.last_words().await))
            }
            Err(_) => Err("its supervisor doesn't say hello".to_owned()),
        }
    }

    /// Says something; `false` when nobody hears it.
    pub(crate) async fn say(&mut self, request: &Request) -> bool {
        match &mut self.stdin {
            Some(stdin) => stdin.write_all(&line(request)).await.is_ok(),
            None => false,
        }
    }

    /// Waits for the next reply; `None` when there will be no more. Cancelling loses nothing.
    pub(crate) async fn hear(&mut self) -> Option<Reply> {
        let reply = self.replies.next_line().await.ok()??;
        // Hello has settled that we understand each other; what is not understood is the end of it.
        serde_json::from_str(&reply).ok()
    }

    /// Tells the supervisor that no more requests come.
    pub(crate) fn part(&mut self) {
        self.stdin = None;
    }

    /// Waits for the supervisor to be gone and returns what it said of the reason.
    pub(crate) async fn last_words(&mut self) -> String {
        self.part();
        let mut words = Vec::new();
        let ended = async {
            let _what_there_is = (&mut self.stderr).take(LAST_WORDS).read_to_end(&mut words).await;
            self.child.wait().await
        };
        let status = match timeout(PATIENCE, ended).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it hangs".to_owned(),
        };
        let words = String::from_utf8_lossy(&words);
        if words.trim().is_empty() { status } else { format!("{status}, {}", words.trim()) }
    }
}

pub(crate) fn unavailable(problem: &str) -> RuntimeError {
    RuntimeError::Unavailable { runtime: KIND.to_owned(), problem: problem.to_owned() }
}
