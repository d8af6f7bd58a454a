//! The connection between a process and the supervisor of its jobs.

use std::{process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::process::{
    SupervisorCommand,
    layout::StateDir,
    wire::{Reply, Request, VERSION, line},
};

/// Maximum time until a new supervisor sends its greeting. Also the maximum time until a supervisor without work
/// exits.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of bytes that are quoted from the stderr of a supervisor that has ended.
const STDERR_LIMIT: u64 = 4096;

/// A text for people: the reason why there is no supervisor.
pub(crate) type Problem = String;

/// A connection to a supervisor that has sent its greeting.
#[derive(Debug)]
pub(crate) struct Connection {
    child: Child,
    /// Writer to the supervisor's stdin, for requests. `None` after [`disconnect`](Self::disconnect) has closed the
    /// stdin.
    stdin: Option<ChildStdin>,
    replies: Lines<BufReader<ChildStdout>>,
    stderr: ChildStderr,
}

impl Connection {
    /// Starts a supervisor and waits for its greeting.
    pub(crate) async fn open(command: &SupervisorCommand, state: &StateDir) -> Result<Self, Problem> {
        let mut child = Command::new(&command.program)
            .arg0("windlass-supervisor")
            .args(&command.args)
            // Jobs might read the supervisor's environment, and the variables of this process may contain
            // secrets.
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
        // The path is not an argument, since every user of the host can read arguments. If the send fails,
        // the greeting fails too and reports the reason.
        let _sent = connection.send(&Request::Open { state: state.path().to_owned() }).await;
        match connection.handshake().await {
            Ok(()) => Ok(connection),
            Err(error) => {
                let _ended_before = connection.child.kill().await;
                Err(error)
            }
        }
    }

    async fn handshake(&mut self) -> Result<(), Problem> {
        match timeout(PATIENCE, self.replies.next_line()).await {
            Ok(Ok(Some(hello))) => match serde_json::from_str(&hello) {
                Ok(Reply::Hello { version: VERSION }) => Ok(()),
                Ok(Reply::Hello { version }) => Err(format!(
                    "its supervisor speaks version {version}, this program {VERSION}: restart the older one"
                )),
                _ => Err("its supervisor's program doesn't call `supervise`".to_owned()),
            },
            Ok(Ok(None) | Err(_)) => {
                Err(format!("its supervisor exited immediately: {}", self.exit_report().await))
            }
            Err(_) => Err("its supervisor doesn't respond".to_owned()),
        }
    }

    /// Sends a request. Returns `false` when the supervisor is gone.
    pub(crate) async fn send(&mut self, request: &Request) -> bool {
        match &mut self.stdin {
            Some(stdin) => stdin.write_all(&line(request)).await.is_ok(),
            None => false,
        }
    }

    /// Waits for the next reply; `None` when the supervisor is gone. The function is cancel-safe.
    pub(crate) async fn receive(&mut self) -> Option<Reply> {
        let reply = self.replies.next_line().await.ok()??;
        // Supervisor and client have the same version, as the greeting has shown. A correct supervisor
        // therefore sends no malformed reply. After a malformed reply, the supervisor counts as gone.
        serde_json::from_str(&reply).ok()
    }

    /// Closes the supervisor's stdin. The supervisor treats this as the death of its owner, the process that
    /// submits the jobs.
    pub(crate) fn disconnect(&mut self) {
        self.stdin = None;
    }

    /// Closes the supervisor's stdin, waits until the supervisor has exited, and returns its exit status and its error
    /// output. After a time limit, the function waits no longer, and returns `it doesn't respond` as the status.
    pub(crate) async fn exit_report(&mut self) -> String {
        self.disconnect();
        let mut stderr = Vec::new();
        let ended = async {
            let _what_there_is = (&mut self.stderr).take(STDERR_LIMIT).read_to_end(&mut stderr).await;
            self.child.wait().await
        };
        let status = match timeout(PATIENCE, ended).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it doesn't respond".to_owned(),
        };
        let stderr = String::from_utf8_lossy(&stderr);
        if stderr.trim().is_empty() { status } else { format!("{status}, {}", stderr.trim()) }
    }
}
