//! Warm containers, which run one job after another, for short jobs that can be repeated.
//!
//! Starting a container takes a hundred milliseconds. Running a job in a container that already runs takes
//! two milliseconds. So a pool keeps up to `size` containers. The first process of each is a
//! [runner](crate::runner). A container runs one job at a time. When the job has ended, the runner kills the
//! job's remaining processes and empties the writable folders. Then the next job may follow.
//!
//! A job gets a warm container under three conditions. It has the setting [`OnOwnerDeath::Kill`], it does not
//! ask to be [alone](Job::alone), and a warm container can provide all that it needs. Each other job gets a
//! fresh container from another runtime, [`PoolRuntime::fresh`]. Two jobs can share a warm container if their
//! [`Shape`] is equal: image, network, user, limits, volumes.
//!
//! The jobs of a pool end when the process that submitted them ends, because this process holds the connection to
//! the runner. If the connection closes, the runner ends its job and exits. So a later process sees these jobs as
//! [`Never`](Found::Never): none of them runs, no outcome exists, and it is correct to submit them again.

mod carrier;
mod connection;
mod job;
#[cfg(feature = "testing")]
pub mod local;
mod slots;
mod stream_buffer;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{task::JoinSet, time::timeout};

pub use self::carrier::{Carrier, ContainerNeeds, EndContainer, Shape, StartError, WarmContainer};
use self::{
    job::PooledJob,
    slots::{Slot, Slots},
};
use crate::{
    Capabilities, End, Events, Found, Isolation, Job, JobId, OnOwnerDeath, Outcome, Owner, Runtime,
    RuntimeError, StartFailure, Timestamp,
};

/// Maximum number of buffered events for one receiver.
const EVENTS: usize = 16;

/// Maximum time to end all jobs when the pool is closed.
const CLOSE_LIMIT: Duration = Duration::from_secs(30);

/// A runtime that runs a job in a warm container if the job meets three conditions (see the [module](self)). The pool
/// passes all other jobs to another runtime, which runs each of them in a fresh container.
pub struct PoolRuntime {
    fresh: Arc<dyn Runtime>,
    slots: Arc<Slots>,
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Jobs that were submitted here and not removed.
    jobs: BTreeMap<JobId, Place>,
    running: JoinSet<()>,
}

/// The runtime that a job was assigned to.
enum Place {
    Pool(Arc<PooledJob>),
    Fresh,
}

impl State {
    fn pooled(&self) -> impl Iterator<Item = &Arc<PooledJob>> {
        self.jobs.values().filter_map(|place| if let Place::Pool(job) = place { Some(job) } else { None })
    }
}

impl PoolRuntime {
    /// Creates a pool of at most `size` warm containers. A `size` of 0 counts as 1. The pool passes the jobs
    /// that can't run in a warm container to the runtime `fresh`. `folder` will contain long output of the
    /// pool's jobs; it is created when it is needed.
    pub fn new(
        fresh: Arc<dyn Runtime>,
        carrier: Arc<dyn Carrier>,
        size: usize,
        folder: impl Into<PathBuf>,
    ) -> Self {
        let slots = Arc::new(Slots::new(carrier, fresh.kind(), size.max(1)));
        Self { fresh, slots, folder: folder.into(), state: Mutex::default() }
    }

    /// Returns the runtime to which the pool passes the jobs that can't run in a warm container. This runtime
    /// runs each of these jobs in a fresh container.
    pub fn fresh(&self) -> &Arc<dyn Runtime> {
        &self.fresh
    }

    /// Ends the jobs of the pool and removes its containers. Afterwards the pool accepts no job for a warm
    /// container, but it still returns the outcomes of ended jobs.
    pub async fn close(&self) {
        let mut running = {
            let mut state = self.state();
            state.pooled().for_each(|job| job.cancel(Duration::ZERO));
            std::mem::take(&mut state.running)
        };
        if timeout(CLOSE_LIMIT, async { while running.join_next().await.is_some() {} }).await.is_err() {
            // These tasks wait for a container that does not respond. They record no end, but callers wait for one.
            running.abort_all();
            for job in self.state().pooled().filter(|job| job.outcome().is_none()) {
                let why = "the pool was closed, and its warm container does not respond".to_owned();
                job.has_ended(Outcome::new(End::Lost(why), Timestamp::now()), None);
            }
        }
        self.slots.close().await;
        let _in_use = std::fs::remove_dir(&self.folder);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn job(&self, id: &JobId) -> Option<Arc<PooledJob>> {
        match self.state().jobs.get(id) {
            Some(Place::Pool(job)) => Some(job.clone()),
            _ => None,
        }
    }

    /// Decides whether a job may run in a warm container. If so, returns the environment variables of the job, and its
    /// [`Shape`]: the properties that the container must have. Otherwise returns `None`.
    async fn shape(&self, id: &JobId, job: &Job) -> Option<(Shape, Vec<(String, String)>)> {
        // Warm containers have the default isolation.
        let is_isolated_otherwise = job.isolation != Isolation::default();
        if job.on_owner_death != OnOwnerDeath::Kill || job.alone || is_isolated_otherwise {
            return None;
        }
        let carrier = self.slots.carrier();
        let ContainerNeeds { shape, image_env } = carrier.needs(job).await?;
        let volumes = job.volumes.iter().map(|volume| (volume.variable(), volume.path.clone()));
        let env = connection::environment(job, &image_env, carrier.tmp(), volumes);
        connection::fits(job, id.as_str(), env.clone()).then_some((shape, env))
    }
}

/// Runs one job in a warm container. In every case, the function records an end of the job.
async fn run(job: Arc<PooledJob>, shape: Shape, env: Vec<(String, String)>, slots: Arc<Slots>) {
    let ended = |end: End| job.has_ended(Outcome::new(end, Timestamp::now()), None);
    let mut slot = match acquire_slot(&job, shape, &slots).await {
        Ok(slot) => slot,
        Err(end) => return ended(end),
    };
    match slot.connection.run(&job, env).await {
        Ok(outcome) => {
            let is_reusable = matches!(outcome.end, End::Exited(_) | End::Signalled(_) | End::NotStarted(_));
            // The container is returned to the pool before the end is recorded. A caller that waits for the
            // end may submit its next job at once, and that job then finds the container.
            slots.give(slot, is_reusable);
            outcome.record(&job);
        }
        Err(broken) => {
            let why = slots.lose(slot).await.map(|why| format!(" ({why})")).unwrap_or_default();
            if job.is_cancelled() {
                ended(End::Cancelled);
            } else {
                ended(End::Lost(format!("its warm container does not respond: {}{why}", broken.0)));
            }
        }
    }
}

/// Waits for a warm container for a job. If the job gets no container, the error is the [`End`] that the caller
/// records for the job.
async fn acquire_slot(job: &PooledJob, shape: Shape, slots: &Arc<Slots>) -> Result<Slot, End> {
    let not_started = |error: &dyn std::fmt::Display| End::NotStarted(StartFailure::Other(error.to_string()));
    let mut cancellation = job.cancellation();
    let permit = tokio::select! {
        biased;
        _ = cancellation.wait_for(Option::is_some) => return Err(End::Cancelled),
        permit = slots.permit() => permit.map_err(|error| not_started(&error))?,
    };
    let mut taking = tokio::spawn(slots.clone().take(permit, shape));
    let taken = tokio::select! {
        biased;
        taken = &mut taking => taken,
        _ = cancellation.wait_for(Option::is_some) => {
            // The container is still starting. The next job of its shape can use it.
            slots.adopt(taking);
            return Err(End::Cancelled);
        }
    };
    match taken {
        Ok(Ok(slot)) => Ok(slot),
        Ok(Err(StartError::Image { image, why })) => {
            Err(End::NotStarted(StartFailure::ImageNotFound { image, why }))
        }
        Ok(Err(StartError::Runtime(error))) => Err(not_started(&error)),
        Err(_) => Err(End::Lost("the tokio runtime is shutting down".to_owned())),
    }
}

#[async_trait]
impl Runtime for PoolRuntime {
    fn kind(&self) -> &str {
        self.fresh.kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.fresh.capabilities()
    }

    async fn submit(&self, id: &JobId, job: &Job) -> Result<(), RuntimeError> {
        self.capabilities().check(self.kind(), job)?;
        let warm = self.shape(id, job).await;
        {
            let mut state = self.state();
            // The first submission of a job decides whether the job runs in the pool or in `self.fresh`. If the
            // job is submitted again, this decision stays. `warm` may differ at that time, for example because
            // the image exists now.
            match (state.jobs.get(id), warm) {
                (Some(Place::Pool(_)), _) => return Ok(()),
                (None, Some((shape, env))) => {
                    let job = Arc::new(PooledJob::new(id.clone(), job.clone(), &self.folder));
                    state.jobs.insert(id.clone(), Place::Pool(job.clone()));
                    while state.running.try_join_next().is_some() {}
                    state.running.spawn(run(job, shape, env, self.slots.clone()));
                    return Ok(());
                }
                (None, None) => drop(state.jobs.insert(id.clone(), Place::Fresh)),
                (Some(Place::Fresh), _) => {}
            }
        }
        self.fresh.submit(id, job).await
    }

    async fn stored(&self, id: &JobId) -> bool {
        // A job of the pool depends on this process until its end.
        self.job(id).is_some() || self.fresh.stored(id).await
    }

    async fn find(&self, id: &JobId) -> Result<Found, RuntimeError> {
        if let Some(job) = self.job(id) {
            return Ok(job.outcome().map_or(Found::Running, |outcome| Found::of(&outcome)));
        }
        let found = self.fresh.find(id).await?;
        if found == Found::Never {
            // The job may belong to the pool of an earlier process, and its container may still run.
            self.slots.reap().await?;
        }
        Ok(found)
    }

    async fn events(&self, id: &JobId) -> Result<Events, RuntimeError> {
        let Some(job) = self.job(id) else { return self.fresh.events(id).await };
        let (sender, events) = Events::channel(EVENTS);
        tokio::spawn(job.follow(sender));
        Ok(events)
    }

    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError> {
        let Some(job) = self.job(id) else { return self.fresh.wait(id).await };
        match job.wait().await {
            Some(outcome) => Ok((*outcome).clone()),
            None => Err(RuntimeError::UnknownJob { id: id.clone() }),
        }
    }

    async fn cancel(&self, id: &JobId, grace: Duration) -> Result<(), RuntimeError> {
        let Some(job) = self.job(id) else { return self.fresh.cancel(id, grace).await };
        job.cancel(grace);
        Ok(())
    }

    async fn remove(&self, id: &JobId) -> Result<(), RuntimeError> {
        let Some(job) = self.job(id) else {
            self.fresh.remove(id).await?;
            self.state().jobs.remove(id);
            return Ok(());
        };
        if job.outcome().is_none() {
            return Err(RuntimeError::StillRunning { id: id.clone() });
        }
        self.state().jobs.remove(id);
        Ok(())
    }

    async fn list(&self, owner: &Owner) -> Result<Vec<JobId>, RuntimeError> {
        let mut ids = self.fresh.list(owner).await?;
        let state = self.state();
        ids.extend(state.pooled().filter(|job| job.owner() == owner).map(|job| job.id.clone()));
        ids.sort();
        Ok(ids)
    }
}

impl std::fmt::Debug for PoolRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolRuntime").field("folder", &self.folder).finish_non_exhaustive()
    }
}
