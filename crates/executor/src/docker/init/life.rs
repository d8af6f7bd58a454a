//! The course of a job, from the start of its main process until none of its processes is left.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use crate::{
    processes::{Terminated, kill_all_others, names},
    report::Report,
    spec::Spec,
};

/// Maximum time to read the output after the main process has ended, if other processes hold the output open.
const DRAIN: Duration = Duration::from_millis(250);

/// Maximum time for killed processes to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// Pause between two searches for processes that were not signalled yet.
const LOOK: Duration = Duration::from_millis(20);

/// Status that this program assumes for the main process if the real status is unknown. The value means exit code 255,
/// so the job counts as failed.
const LOST_STATUS: i32 = 255 << 8;

/// The events that other threads send to the main thread.
pub(crate) enum Event {
    /// A child of this program has ended: the main process of the job, or a process whose parent had ended before.
    /// `status` is the number that `waitpid` returned.
    Reaped { pid: i32, status: i32 },
    /// No other process is left in the container.
    Alone,
    /// Stdout or stderr of the job has been read to its end.
    Drained,
    /// A caller requests the end of the job. The duration is the time between SIGTERM and SIGKILL.
    Cancel(Duration),
    /// The container engine stops the container.
    Stopped,
    /// The client has closed its connection to this container, or the client is dead.
    OwnerGone,
}

/// The way in which the job ended. This program writes it to the last line of its output, in the field `end`
/// (see `main.rs`).
pub(crate) enum End {
    /// Status of the main process, as `waitpid` returns it.
    Status(i32),
    TimedOut,
    Cancelled,
    Orphaned,
    Stopped,
    /// The job could not be started. The text is the reason that this program reports, for example `notfound`.
    NotStarted(String),
}

/// Waits for the end of the main process. Ends the job at its time limit, or when its end is requested. Then
/// kills all remaining processes. If the main process has ended by itself, reports the names of the remaining
/// processes.
///
/// Also returns whether all processes are gone. A process that waits for a broken disk can't be killed.
pub(crate) fn run_to_end(spec: &Spec, main: i32, events: &Receiver<Event>, report: &Report) -> (End, bool) {
    let over = Instant::now().checked_add(spec.timeout);
    let mut drained = 0;
    let (end, grace) = loop {
        match next(events, over) {
            Ok(Event::Reaped { pid, status }) if pid == main => break (End::Status(status), None),
            Ok(Event::Drained) => drained += 1,
            Ok(Event::Cancel(grace)) => break (End::Cancelled, Some(grace)),
            Ok(Event::Stopped) => break (End::Stopped, Some(spec.grace)),
            Ok(Event::OwnerGone) => break (End::Orphaned, Some(spec.grace)),
            Ok(Event::Reaped { .. }) => {}
            Err(RecvTimeoutError::Timeout) => break (End::TimedOut, Some(spec.grace)),
            // No process is left, so the end of the main process was missed. Its status is lost.
            Ok(Event::Alone) | Err(RecvTimeoutError::Disconnected) => break (End::Status(LOST_STATUS), None),
        }
    };
    let is_alone = match grace {
        None => drain(events, drained),
        Some(grace) => terminate(events, grace),
    };
    let are_gone = is_alone || {
        let left = if grace.is_none() { names() } else { Vec::new() };
        if !left.is_empty() {
            report.say_bytes("L", left.join("\n").as_bytes());
        }
        kill(events)
    };
    (end, are_gone)
}

fn next(events: &Receiver<Event>, until: Option<Instant>) -> Result<Event, RecvTimeoutError> {
    match until {
        Some(until) => events.recv_timeout(until.saturating_duration_since(Instant::now())),
        None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

/// Waits for the rest of the output after the main process has ended. `drained` is the number of streams that have
/// already ended. The wait is over when both streams have ended, when no process is left, or after the time [`DRAIN`].
/// Returns `true` only if no process is left.
fn drain(events: &Receiver<Event>, mut drained: u32) -> bool {
    let until = Some(Instant::now() + DRAIN);
    while drained < 2 {
        match next(events, until) {
            Ok(Event::Alone) => return true,
            Ok(Event::Drained) => drained += 1,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}

/// Sends SIGTERM to all processes, and waits until no process is left or `grace` has passed. Returns `true`
/// when no process is left.
fn terminate(events: &Receiver<Event>, grace: Duration) -> bool {
    let mut until = Instant::now().checked_add(grace);
    let mut terminated = Terminated::default();
    terminated.terminate_all();
    loop {
        let look = Instant::now() + LOOK;
        match next(events, Some(until.map_or(look, |until| until.min(look)))) {
            Ok(Event::Alone) => return true,
            // If the end is requested several times, the earliest deadline counts.
            Ok(Event::Cancel(grace)) => until = earlier(until, Instant::now().checked_add(grace)),
            Err(RecvTimeoutError::Disconnected) => return false,
            _ => {}
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            return false;
        }
        terminated.terminate_orphans();
    }
}

/// Returns the earlier of two times. `None` means never.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// Kills all other processes of this container until none is left, or until the time [`KILL_LIMIT`] has passed. Returns
/// whether no process is left.
fn kill(events: &Receiver<Event>) -> bool {
    let limit = Instant::now() + KILL_LIMIT;
    loop {
        kill_all_others();
        match next(events, Some(Instant::now() + LOOK)) {
            Ok(Event::Alone) | Err(RecvTimeoutError::Disconnected) => return true,
            _ if Instant::now() > limit => return false,
            _ => {}
        }
    }
}
