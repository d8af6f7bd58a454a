//! Handling of signals such as Ctrl-C. After the first signal, no new work is started, and running jobs have a
//! limited time to end. When this time is over, or on a second signal, the jobs are stopped. The program then waits
//! until the ends of the jobs are recorded. This wait can be long, for example if the store does not answer. On a
//! further signal, the program exits without waiting. The next command then finds the jobs. It also finds the jobs
//! of a program that was killed.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use windlass::engine::Stop;

use crate::exit;
use crate::output::{is_closed, tell};

/// The time between stopping the jobs and the message `still waiting`. If the program still runs after this time, the
/// program prints the message. The message tells the user how to exit at once.
const SLOW: Duration = Duration::from_secs(5);

/// Starts to listen for SIGINT, SIGTERM and SIGHUP. After the first signal, running jobs have the time
/// `grace` to end. A second signal, or the end of this time, stops the jobs.
pub(crate) fn listen(grace: Duration) -> Stop {
    listen_and(grace, move |stop| {
        // Cancel before printing, so that nothing starts after the message.
        stop.request();
        match grace.as_secs() {
            0 => tell!("\nstopping"),
            seconds => {
                tell!("\nstopping: running jobs have {seconds} s to end; interrupt again to stop them now");
            }
        }
    })
}

/// Starts to listen for SIGINT, SIGTERM and SIGHUP as [`listen`] does, for a command that may be idle. Only the
/// message after the first signal differs: the function prints `stopping`, and the command itself then reports the
/// jobs for which it waits.
pub(crate) fn listen_idle(grace: Duration) -> Stop {
    listen_and(grace, |stop| {
        // Print before cancelling, so that the command's own report follows.
        tell!("\nstopping");
        stop.request();
    })
}

/// Starts to listen for SIGINT, SIGTERM and SIGHUP. This function is for commands that run no jobs. Such a command ends
/// at the first signal.
pub(crate) fn listen_quietly() -> Stop {
    listen_and(Duration::ZERO, Stop::request)
}

/// Waits until the program that reads standard output has closed it.
pub(crate) async fn reader_is_gone() {
    const PAUSE: Duration = Duration::from_millis(500);
    while !is_closed() {
        tokio::time::sleep(PAUSE).await;
    }
}

fn listen_and(grace: Duration, begin: impl Fn(&Stop) + Send + 'static) -> Stop {
    let stop = Stop::default();
    let Ok(mut signals) = Signals::new() else { return stop };
    let signalled = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        begin(&signalled);
        tokio::select! {
            () = signals.second() => {}
            () = tokio::time::sleep(grace) => {}
        }
        signalled.request_now();
        tokio::select! {
            () = signals.second() => {}
            () = tokio::time::sleep(SLOW) => {
                tell!("still waiting; interrupt again to exit at once");
                signals.next().await;
            }
        }
        exit_at_once();
    });
    stop
}

#[expect(clippy::exit, reason = "the main task may wait for the store, and nothing else can end it")]
fn exit_at_once() {
    tell!("exited without waiting; run the same command again to resume the work");
    std::process::exit(exit::INTERRUPTED.into());
}

/// The signals that ask for a stop.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal or the ssh connection was closed. `None` under `nohup`.
    hang_up: Option<Signal>,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// Waits for a second request to stop. A signal within 100 ms after the first signal belongs to the first request.
    /// For example, a wrapper such as `timeout` sends two signals: one to the process, and one to the process group.
    async fn second(&mut self) {
        const ECHO: Duration = Duration::from_millis(100);
        let first = tokio::time::Instant::now();
        while first.elapsed() < ECHO {
            self.next().await;
        }
    }

    async fn next(&mut self) {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hang_up => {}
        }
    }
}

/// Tells whether the program was started with SIGHUP ignored, for example by `nohup`. `/proc/self/status` has
/// the mask of ignored signals (proc_pid_status(5)), and SIGHUP is its lowest bit.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
