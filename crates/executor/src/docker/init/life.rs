//! From the start of a job's main process to the moment when none of its processes is left.

use std::{
    collections::BTreeSet,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use crate::{
    processes::{Asked, kill_all_others, names},
    report::Report,
    spec::Spec,
};

/// How long somebody else may hold on to the output once the main process has ended.
const DRAIN: Duration = Duration::from_millis(250);

/// How long killed processes may take to go.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// How many names of processes that were left are told.
const NAMES: usize = 8;

/// Between two looks for processes that were not asked to end.
const LOOK: Duration = Duration::from_millis(20);

/// What the threads tell the main one.
pub(crate) enum Event {
    /// A process has ended, with this status.
    Reaped { pid: i32, status: i32 },
    /// No process is left.
    Alone,
    /// A stream has ended.
    Drained,
    /// Somebody wishes the job to end within this time.
    Cancel(Duration),
    /// The engine stops the container.
    Stopped,
    /// Nobody is connected any more.
    OwnerGone,
}

/// How the job ended, as the last line says it.
pub(crate) enum End {
    /// The status of its main process, as `waitpid` has it.
    Status(i32),
    TimedOut,
    Cancelled,
    Orphaned,
    Stopped,
    /// The words that say why.
    NotStarted(String),
}

/// Waits for the end of the main process, brings it about when its time is over or somebody wishes it, and sees to it that
/// nobody is left. Tells the names of those that were, where it had ended by itself.
pub(crate) fn run_to_end(spec: &Spec, main: i32, events: &Receiver<Event>, report: &Report) -> End {
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
            // The end of the main process was missed, and with everybody gone there is no other to tell.
            Ok(Event::Alone) | Err(RecvTimeoutError::Disconnected) => break (End::Status(0), None),
        }
    };
    let is_alone = match grace {
        None => drain(events, drained),
        Some(grace) => terminate(events, grace),
    };
    if !is_alone {
        let left = if grace.is_none() { names() } else { BTreeSet::new() };
        if !left.is_empty() {
            let left: Vec<String> = left.into_iter().take(NAMES).collect();
            report.say_bytes("L", left.join("\n").as_bytes());
        }
        kill(events);
    }
    end
}

fn next(events: &Receiver<Event>, until: Option<Instant>) -> Result<Event, RecvTimeoutError> {
    match until {
        Some(until) => events.recv_timeout(until.saturating_duration_since(Instant::now())),
        None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

/// Waits a moment for output that is still on its way. `true` when nobody is left.
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

/// Asks all to end and waits for it. `true` when nobody is left.
fn terminate(events: &Receiver<Event>, grace: Duration) -> bool {
    let mut until = Instant::now().checked_add(grace);
    let mut asked = Asked::default();
    asked.ask_all();
    loop {
        let look = Instant::now() + LOOK;
        match next(events, Some(until.map_or(look, |until| until.min(look)))) {
            Ok(Event::Alone) => return true,
            // The least patient of all wishes counts.
            Ok(Event::Cancel(grace)) => until = earlier(until, Instant::now().checked_add(grace)),
            Err(RecvTimeoutError::Disconnected) => return false,
            _ => {}
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            return false;
        }
        asked.ask_orphans();
    }
}

/// The earlier of two moments; `None` is never.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// Kills everybody else in this container until nobody is left.
fn kill(events: &Receiver<Event>) {
    let limit = Instant::now() + KILL_LIMIT;
    loop {
        kill_all_others();
        match next(events, Some(Instant::now() + LOOK)) {
            Ok(Event::Alone) | Err(RecvTimeoutError::Disconnected) => return,
            _ if Instant::now() > limit => return,
            _ => {}
        }
    }
}
