//! The connection between callers and a tokio task. Each job has one such task, which runs the job. Callers read the
//! phase of the job, and send requests to the task.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{Outcome, Owner};

/// The phase of a job that this client has submitted.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    /// The job is queued.
    Waiting,
    Running,
    Ended(Arc<Outcome>),
    /// The launch failed, and no caller has received the reason yet.
    Failed(String),
}

/// The requests of callers to the task that runs a job.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JobRequests {
    /// Deadline after which the job is killed; `None` until the end of the job is requested.
    pub(crate) end_by: Option<Instant>,
    /// Whether the tokio task that runs the job must stop, because the client has closed or dropped the runtime. If the
    /// setting of the job is [`OnOwnerDeath::Kill`](crate::OnOwnerDeath::Kill), the task first ends the job.
    pub(crate) disconnect: bool,
}

/// The connection between callers and the tokio task that runs one job.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    pub(crate) owner: Owner,
    pub(crate) phase: watch::Receiver<Phase>,
    pub(crate) requests: watch::Sender<JobRequests>,
    /// Time since which the container engine has not answered; `None` while it answers.
    pub(crate) silent: watch::Receiver<Option<Instant>>,
}

impl Handle {
    pub(crate) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }

    pub(crate) fn is_of(&self, owner: &Owner) -> bool {
        self.owner == *owner
    }

    /// Requests the end of the job. If callers request the end several times, the earliest deadline applies.
    pub(crate) fn cancel(&self, grace: Duration) {
        let now = Instant::now();
        let until = now.checked_add(grace).unwrap_or(now + Duration::from_secs(1 << 30));
        self.requests.send_modify(|requests| {
            requests.end_by = Some(requests.end_by.map_or(until, |by| by.min(until)));
        });
    }

    pub(crate) fn disconnect(&self) {
        self.requests.send_modify(|requests| requests.disconnect = true);
    }

    /// Waits until the task that runs the job has ended.
    pub(crate) async fn disconnected(&self) {
        let mut phase = self.phase.clone();
        while phase.changed().await.is_ok() {}
    }

    /// Waits for the end of the job. `Err(Some)` means that the job failed to launch, or that the container
    /// engine has not answered for too long. `Err(None)` means that the job belongs to another client.
    pub(crate) async fn end(&self, patience: Duration) -> Result<Arc<Outcome>, Option<String>> {
        let (mut phase, mut silent) = (self.phase.clone(), self.silent.clone());
        loop {
            match &*phase.borrow_and_update() {
                Phase::Ended(outcome) => return Ok(outcome.clone()),
                Phase::Failed(problem) => return Err(Some(problem.clone())),
                Phase::Waiting | Phase::Running => {}
            }
            let give_up = silent.borrow_and_update().map(|since| since + patience);
            tokio::select! {
                changed = phase.changed() => {
                    if changed.is_err() && matches!(&*phase.borrow(), Phase::Waiting | Phase::Running) {
                        return Err(None);
                    }
                }
                Ok(()) = silent.changed() => {}
                () = until(give_up) => {
                    return Err(Some(format!("the engine has not answered for {patience:?}; the job may go on")));
                }
            }
        }
    }
}

/// Waits until this moment. Waits forever if the moment is `None`.
pub(crate) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
