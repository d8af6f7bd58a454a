//! Runs a schedule in a task of its own.

use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use windlass_driver::Stop;
use windlass_model::Clock;

use crate::host::{Dispatcher, Host, Incoming, Work};
use crate::schedule::{Change, Schedule, Started, Timing};

/// The capacity of each of two channels. One channel carries changes from the program to the schedule. Through the
/// other channel, the schedule tells the program which duties (repeated tasks) have started.
const QUEUE: usize = 64;

/// A [`Schedule`] that a [`Host`] runs until a stop. If the `Scheduler` is dropped, the schedule ends, too.
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use windlass_engine::schedule::Timing;
/// # use windlass_engine::{Scheduler, Stop};
/// # use windlass_model::clock::SystemClock;
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let (scheduler, mut started) = Scheduler::start(Arc::new(SystemClock), Stop::default());
/// scheduler.set("prune", Timing::every(Duration::from_secs(3600))).await;
/// assert_eq!(started.recv().await.map(|started| started.duty), Some("prune"));
/// scheduler.ended("prune").await;
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Scheduler<K> {
    changes: mpsc::Sender<Change<K>>,
    /// The task that runs the schedule. If this field is dropped, the task ends.
    _task: JoinSet<()>,
}

impl<K: Ord + Clone + Hash + Send + 'static> Scheduler<K> {
    /// Starts an empty schedule. The receiver gets the duties that start. When the run of a duty has ended, the
    /// program calls [`ended`](Self::ended).
    pub fn start(clock: Arc<dyn Clock>, stop: Stop) -> (Self, mpsc::Receiver<Started<K>>) {
        let (sender, changes) = mpsc::channel(QUEUE);
        let (started, receiver) = mpsc::channel(QUEUE);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut dispatcher = Starter { started, changes };
            let host = Host::new(clock, stop);
            // The work of the dispatcher cannot fail, and there is no lease.
            let _ = host.run(&mut Schedule::default(), &mut dispatcher, std::future::pending()).await;
        });
        (Self { changes: sender, _task: task }, receiver)
    }

    /// Adds a duty, or changes its timing. If the duty has this timing already, nothing changes.
    pub async fn set(&self, duty: K, timing: Timing) {
        self.change(Change::Set(duty, Box::new(timing))).await;
    }

    /// Removes a duty. If a running duty is removed and added again, it starts again after its run has ended.
    pub async fn remove(&self, duty: K) {
        self.change(Change::Remove(duty)).await;
    }

    /// Records that a run of a duty has ended. A *duty* is a repeated task, and a *fire time* is a time at which the
    /// duty should start. If a fire time has passed during the run, the next run starts at once.
    pub async fn ended(&self, duty: K) {
        self.change(Change::Ended(duty)).await;
    }

    async fn change(&self, change: Change<K>) {
        // The send fails after a stop.
        let _ = self.changes.send(change).await;
    }
}

/// Connects a [`Schedule`] with the program, while a [`Host`] runs the schedule. When a duty starts, the `Starter`
/// notifies the program. If the program changes the schedule, the `Starter` passes the change to the host.
struct Starter<K> {
    started: mpsc::Sender<Started<K>>,
    changes: mpsc::Receiver<Change<K>>,
}

impl<K: Ord + Clone + Hash + Send + 'static> Dispatcher<Schedule<K>> for Starter<K> {
    fn dispatch(&mut self, duty: Started<K>) -> Option<Work<Change<K>>> {
        let started = self.started.clone();
        Some(Box::pin(async move {
            // The send fails if nobody receives duties any more.
            let _ = started.send(duty).await;
            Ok(None)
        }))
    }

    async fn incoming(&mut self) -> Incoming<Change<K>> {
        match self.changes.recv().await {
            Some(change) => Incoming::Event(change),
            None => std::future::pending().await,
        }
    }
}
