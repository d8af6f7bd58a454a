//! The implementation of the trait `Runtime` on a container engine. Each job runs in a container of its own. This
//! module also finds and removes the containers of dead clients.

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bollard::{models::ContainerSummary, query_parameters::ListContainersOptionsBuilder};
use futures::StreamExt;
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, sleep, timeout},
};

use crate::{
    Capabilities, Events, Found, Job, JobId, Outcome, Owner, Runtime, RuntimeError, Timestamp,
    docker::{
        Description, DockerOptions, Engine, EngineChoice, EngineError, Environment, container,
        engine::{FIRST_PAUSE, LAST_PAUSE},
        error::{KIND, unavailable},
        follow::Follower,
        handle::Phase,
        inspect::{self, ExitedJob, Stage},
        labels, run,
        shared::{Shared, remove_in_background},
        tools::Tools,
    },
};

/// Maximum number of repetitions of the request for a list of containers, if the answer to the request is
/// malformed.
const LIST_TRIES: u32 = 10;

/// Minimum age at which a container that runs no job counts as abandoned. A younger container may belong to a
/// client that is just launching its first job.
const OLD: Duration = Duration::from_secs(60);

/// Maximum number of concurrent removals. Further removals wait.
const REMOVALS: u32 = 16;

/// Maximum number of buffered events for one receiver.
const EVENTS: usize = 16;

/// A runtime that runs each job in a container of its own.
///
/// Several clients may share a container engine. Each of them can find, wait for, cancel and remove the jobs
/// of all clients. If a `DockerRuntime` is dropped, the runtime disconnects from its jobs. Jobs with
/// [`OnOwnerDeath::Kill`](crate::OnOwnerDeath::Kill) then end, and other jobs continue.
/// [`close`](Self::close) also disconnects, and waits until the jobs with `Kill` have ended.
#[derive(Debug)]
pub struct DockerRuntime {
    shared: Arc<Shared>,
}

impl DockerRuntime {
    /// Connects to a container engine, and opens a runtime on it.
    ///
    /// # Errors
    /// [`EngineError`] when the engine doesn't answer.
    pub async fn connect(
        choice: &EngineChoice,
        environment: &Environment,
        options: DockerOptions,
    ) -> Result<Self, EngineError> {
        Self::open(Engine::connect(choice, environment).await?, options).await
    }

    /// Opens a runtime on a container engine, and starts no container. The opened runtime also finds the jobs that
    /// other clients have submitted to this engine.
    ///
    /// # Errors
    /// [`EngineError`] when the engine doesn't answer, or when this program was built without the static
    /// program that runs in containers.
    pub async fn open(engine: Engine, options: DockerOptions) -> Result<Self, EngineError> {
        let engine = engine.with_call_limit(options.call_limit);
        let description = engine.describe().await?;
        let client = match &options.client {
            Some(client) => client.clone(),
            None => drawn()?,
        };
        let two_each = NonZeroUsize::new(description.processors.max(1) * 2).unwrap_or(NonZeroUsize::MIN);
        let slots = Arc::new(Semaphore::new(options.at_once.unwrap_or(two_each).get()));
        let tools = Arc::new(Tools::new(engine.clone(), client.clone(), options.cgroup_parent.clone())?);
        let (jobs, leaving) = (Mutex::default(), watch::Sender::default());
        let removals = Arc::new(Semaphore::new(REMOVALS as usize));
        let shared = Shared { engine, description, options, client, tools, slots, jobs, leaving, removals };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the properties of the engine and the limits that it enforces.
    pub fn description(&self) -> &Description {
        &self.shared.description
    }

    /// Returns the name of this client. The label `io.windlass.client` of all its containers contains this
    /// name.
    pub fn client(&self) -> &str {
        &self.shared.client
    }

    /// Disconnects from the container engine. Ends the jobs whose setting is
    /// [`OnOwnerDeath::Kill`](crate::OnOwnerDeath::Kill), and waits for their end. Jobs whose setting is
    /// [`Finish`](crate::OnOwnerDeath::Finish) continue without this client. Queued jobs are dropped. The
    /// runtime can be used again afterwards.
    pub async fn close(&self) {
        let handles: Vec<_> = self.shared.jobs().drain().map(|(_, handle)| handle).collect();
        for handle in &handles {
            handle.disconnect();
        }
        for handle in &handles {
            handle.disconnected().await;
        }
        let all = self.shared.removals.acquire_many(REMOVALS);
        let _or_what_any_dead_client_leaves = timeout(self.shared.options.patience, all).await;
        self.shared.tools.close().await;
        self.sweep().await;
    }

    /// Removes those containers of this client in which no job ever ran. Such a container is left over, for example, if
    /// the container engine created it, but the connection broke before the answer arrived. Also removes containers
    /// of dead clients, if these containers are older than [`OLD`] and run no job.
    async fn sweep(&self) {
        let own = self.containers(labels::CLIENT, Some(&self.shared.client)).await.unwrap_or_default();
        let never_ran = |container: &&ContainerSummary| {
            let is_job = container.labels.as_ref().is_some_and(|labels| labels.contains_key(labels::JOB));
            !is_job || state_of(container) == "created"
        };
        for id in own.iter().filter(never_ran).filter_map(|container| container.id.as_deref()) {
            self.shared.tools.remove(id).await;
        }
        // A client that is killed while it launches a job can't remove the containers that it created for the
        // launch. So this client removes such containers of dead clients. It removes only containers that run
        // no job.
        let others = self.containers(labels::ROLE, None).await.unwrap_or_default();
        self.remove_abandoned(&others, &self.living(&others)).await;
    }

    /// Removes containers that dead clients have left behind, and returns the removed jobs. A client is dead if its
    /// process no longer runs.
    ///
    /// The function removes two kinds of containers of dead clients:
    ///
    /// - containers of any owner that run no job and are older than a minute;
    /// - containers with jobs of `owner`, even if a job still runs.
    ///
    /// If `keep` returns true for a job, the function does not remove the job. [`find`](Runtime::find) and
    /// [`wait`](Runtime::wait) still find this job.
    ///
    /// # Errors
    /// [`RuntimeError::Unavailable`] when the container engine doesn't answer.
    pub async fn reap(
        &self,
        owner: &Owner,
        keep: impl Fn(&JobId) -> bool + Send + Sync,
    ) -> Result<Vec<JobId>, RuntimeError> {
        // A client is alive if its anchor runs. The anchor is a container that ends when its client dies (see
        // `tools`). The jobs are listed first. If the anchors were listed first, a client could start an anchor
        // and a job between the two requests. The job would then be listed without its anchor, and would seem
        // to belong to a dead client.
        let jobs = self.containers(labels::OWNER, Some(owner.as_str())).await?;
        let others = self.containers(labels::ROLE, None).await?;
        let alive = self.living(&others);
        self.remove_abandoned(&others, &alive).await;
        let mut reaped = Vec::new();
        for container in jobs.iter().filter(|job| !alive.contains(client_of(job))) {
            let job = container.labels.as_ref().and_then(labels::job_of);
            if let Some((id, _)) = job.filter(|(id, _)| !keep(id)) {
                self.shared.force_remove(&id).await?;
                reaped.push(id);
            }
        }
        reaped.sort();
        Ok(reaped)
    }

    /// Tells whether the container engine still has a container of the client with the name `client`. If `client` is
    /// `None`, tells whether the engine still has a job whose client no longer runs.
    ///
    /// # Errors
    /// [`RuntimeError::Unavailable`] when the container engine doesn't answer.
    pub async fn has_left(&self, client: Option<&str>) -> Result<bool, RuntimeError> {
        if let Some(client) = client {
            return Ok(!self.containers(labels::CLIENT, Some(client)).await?.is_empty());
        }
        let jobs = self.containers(labels::JOB, None).await?;
        let others = self.containers(labels::ROLE, None).await?;
        let alive = self.living(&others);
        Ok(jobs.iter().any(|job| !alive.contains(client_of(job))))
    }

    /// Removes the containers that run no job and whose clients are dead.
    async fn remove_abandoned(&self, others: &[ContainerSummary], alive: &BTreeSet<&str>) {
        for container in others.iter().filter(|other| is_old(other) && !alive.contains(client_of(other))) {
            if let Some(id) = &container.id {
                self.shared.tools.remove(id).await;
            }
        }
    }

    /// Returns the names of this client and of all other living clients. A client is alive if its anchor runs.
    /// The anchor is a container that ends when its client dies (see [`tools`](crate::docker::tools)).
    async fn living_clients(&self) -> Result<BTreeSet<String>, EngineError> {
        let anchors = self.containers(labels::ROLE, Some("anchor")).await?;
        Ok(self.living(&anchors).into_iter().map(str::to_owned).collect())
    }

    fn living<'a>(&'a self, others: &'a [ContainerSummary]) -> BTreeSet<&'a str> {
        let running = others.iter().filter(|other| is_running(other)).map(client_of);
        running.chain([self.shared.client.as_str()]).collect()
    }

    async fn containers(
        &self,
        label: &str,
        value: Option<&str>,
    ) -> Result<Vec<ContainerSummary>, EngineError> {
        let filter = value.map_or_else(|| label.to_owned(), |value| format!("{label}={value}"));
        let filters: HashMap<String, Vec<String>> = [("label".to_owned(), vec![filter])].into();
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let mut pause = FIRST_PAUSE;
        let mut tries = LIST_TRIES;
        loop {
            let list = self.shared.engine.client().list_containers(Some(options.clone()));
            match self.shared.engine.call("list containers", list).await {
                // For a moment, Podman reports an ending container in a state that the API doesn't have.
                Err(EngineError::Protocol { .. }) if tries > 0 => {
                    tries -= 1;
                    sleep(pause).await;
                    pause = (pause * 2).min(LAST_PAUSE);
                }
                listed => return listed,
            }
        }
    }

    /// Inspects a job that another client has submitted.
    async fn find_foreign(&self, id: &JobId) -> Result<ForeignJob, EngineError> {
        if self.shared.is_leaving(id) {
            return Ok(ForeignJob::Absent);
        }
        let Some(inspected) = inspect::inspect(&self.shared.engine, id).await? else {
            return Ok(ForeignJob::Absent);
        };
        match inspected.stage {
            // The living client of the container may be about to start it, or to send the job to it.
            Stage::Running | Stage::Made
                if inspected.client != self.shared.client
                    && self.living_clients().await?.contains(&inspected.client) =>
            {
                Ok(ForeignJob::Running)
            }
            Stage::Running | Stage::Made => {
                if inspect::never_began(&self.shared.engine, id, inspected).await? {
                    self.shared.force_remove(id).await?;
                    return Ok(ForeignJob::Absent);
                }
                Ok(ForeignJob::Running)
            }
            Stage::Exited => match inspect::exited_job(&self.shared.engine, id, &inspected).await? {
                ExitedJob::NeverBegan => {
                    self.shared.force_remove(id).await?;
                    Ok(ForeignJob::Absent)
                }
                ExitedJob::Ended(outcome) => Ok(ForeignJob::Ended(outcome)),
                ExitedJob::Gone(outcome) => Ok(ForeignJob::Gone(outcome)),
            },
        }
    }

    async fn wait_foreign(&self, id: &JobId) -> Result<Outcome, RuntimeError> {
        let mut pause = FIRST_PAUSE;
        let mut silent_since: Option<Instant> = None;
        loop {
            match self.find_foreign(id).await {
                Ok(ForeignJob::Absent) => return Err(RuntimeError::UnknownJob { id: id.clone() }),
                Ok(ForeignJob::Ended(outcome) | ForeignJob::Gone(outcome)) => return Ok(*outcome),
                Ok(ForeignJob::Running) => {
                    silent_since = None;
                    // This stream of log lines ends when the container ends.
                    let mut lines = inspect::logged(&self.shared.engine, id, true);
                    while let Some(Ok(_)) = lines.next().await {}
                }
                Err(error) if error.is_outage() => {
                    let since = *silent_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > self.shared.options.patience {
                        return Err(error.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
            sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }
}

impl Drop for DockerRuntime {
    /// Closes the connections to the jobs. Jobs with `OnOwnerDeath::Kill` then end, and other jobs continue.
    fn drop(&mut self) {
        self.shared.jobs().drain().for_each(|(_, handle)| handle.disconnect());
    }
}

/// The state of a job that another client has submitted.
enum ForeignJob {
    Absent,
    Running,
    Ended(Box<Outcome>),
    Gone(Box<Outcome>),
}

fn client_of(container: &ContainerSummary) -> &str {
    container.labels.as_ref().and_then(|labels| labels.get(labels::CLIENT)).map_or("", String::as_str)
}

/// Tells whether a container is older than [`OLD`]. A client needs less time than [`OLD`] to launch a job, so no
/// client is still using an older container to launch a job.
fn is_old(container: &ContainerSummary) -> bool {
    let now = Timestamp::now().as_millis() / 1000;
    container.created.and_then(|at| u64::try_from(at).ok()).is_some_and(|at| at + OLD.as_secs() < now)
}

fn is_running(container: &ContainerSummary) -> bool {
    state_of(container) == "running"
}

fn state_of(container: &ContainerSummary) -> String {
    container.state.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// Returns a random name for this client. The names of all clients on all machines must differ.
fn drawn() -> Result<String, EngineError> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(|error| EngineError::Protocol {
        action: "run jobs".to_owned(),
        problem: format!("a name for this client can't be generated: {error}"),
    })?;
    Ok(hex::encode(bytes))
}

#[async_trait]
impl Runtime for DockerRuntime {
    fn kind(&self) -> &str {
        KIND
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.description.capabilities.iter().copied().collect()
    }

    async fn submit(&self, id: &JobId, job: &Job) -> Result<(), RuntimeError> {
        self.capabilities().check(KIND, job)?;
        container::check(job, &self.shared.options)?;
        self.shared.has_left(id).await?;
        let Some(accepted) = run::start(&self.shared, id, job) else { return Ok(()) };
        match accepted.await {
            Ok(result) => result,
            Err(_) => Err(unavailable("the tokio runtime it was used on is shutting down")),
        }
    }

    async fn stored(&self, id: &JobId) -> bool {
        let Some(handle) = self.shared.handle(id) else { return true };
        let mut phase = handle.watch();
        // The task of a job ends early if the job belongs to another client, or if the runtime is closed.
        let left = phase.wait_for(|phase| !matches!(phase, Phase::Waiting)).await;
        left.is_ok_and(|phase| !matches!(*phase, Phase::Failed(_)))
    }

    async fn find(&self, id: &JobId) -> Result<Found, RuntimeError> {
        if let Some(handle) = self.shared.handle(id) {
            match handle.phase() {
                Phase::Waiting | Phase::Running => return Ok(Found::Running),
                Phase::Ended(outcome) => return Ok(Found::of(&outcome)),
                Phase::Failed(_) => {}
            }
        }
        Ok(match self.find_foreign(id).await? {
            ForeignJob::Absent => Found::Never,
            ForeignJob::Running => Found::Running,
            ForeignJob::Ended(outcome) => Found::Ended(outcome),
            ForeignJob::Gone(_) => Found::Gone,
        })
    }

    async fn events(&self, id: &JobId) -> Result<Events, RuntimeError> {
        let handle = self.shared.handle(id);
        if handle.is_none() && matches!(self.find_foreign(id).await?, ForeignJob::Absent) {
            return Err(RuntimeError::UnknownJob { id: id.clone() });
        }
        let (sender, events) = Events::channel(EVENTS);
        let follower = Follower::new(self.shared.engine.clone(), id.clone(), sender);
        let phase: Option<watch::Receiver<Phase>> = handle.map(|handle| handle.watch());
        tokio::spawn(follower.follow(phase));
        Ok(events)
    }

    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError> {
        if let Some(handle) = self.shared.handle(id) {
            match handle.end(self.shared.options.patience).await {
                Ok(outcome) => return Ok((*outcome).clone()),
                Err(Some(problem)) => {
                    return Err(unavailable(&problem));
                }
                Err(None) => {}
            }
        }
        self.wait_foreign(id).await
    }

    async fn cancel(&self, id: &JobId, grace: Duration) -> Result<(), RuntimeError> {
        if let Some(handle) = self.shared.handle(id) {
            handle.cancel(grace);
            return Ok(());
        }
        if self.shared.is_leaving(id) {
            return Err(RuntimeError::UnknownJob { id: id.clone() });
        }
        match inspect::inspect(&self.shared.engine, id).await? {
            None => Err(RuntimeError::UnknownJob { id: id.clone() }),
            Some(_) => Ok(inspect::ask_to_end(&self.shared.engine, id, grace).await?),
        }
    }

    async fn remove(&self, id: &JobId) -> Result<(), RuntimeError> {
        let still_running = || RuntimeError::StillRunning { id: id.clone() };
        match self.shared.handle(id).map(|handle| handle.phase()) {
            Some(Phase::Waiting | Phase::Running) => return Err(still_running()),
            Some(Phase::Ended(_) | Phase::Failed(_)) => {}
            None if self.shared.is_leaving(id) => return Ok(()),
            None if matches!(self.find_foreign(id).await?, ForeignJob::Running) => {
                return Err(still_running());
            }
            None => return Ok(self.shared.force_remove(id).await?),
        }
        // Deleting a container takes longer than a short job, so the deletion happens in the background. From
        // now on, this runtime reports the job as unknown. If this process dies before the deletion, another
        // client removes the container later (`reap`).
        let removal = self.shared.removal().await?;
        self.shared.leaving.send_modify(|leaving| {
            let _is_new = leaving.insert(id.clone());
        });
        self.shared.jobs().remove(id);
        let (shared, id) = (Arc::downgrade(&self.shared), id.clone());
        tokio::spawn(async move {
            remove_in_background(shared, id).await;
            drop(removal);
        });
        Ok(())
    }

    async fn list(&self, owner: &Owner) -> Result<Vec<JobId>, RuntimeError> {
        let containers = self.containers(labels::OWNER, Some(owner.as_str())).await?;
        let jobs = containers.into_iter().filter_map(|container| labels::job_of(&container.labels?));
        let mut ids: Vec<JobId> = jobs.map(|(id, _)| id).collect();
        ids.extend(
            self.shared.jobs().iter().filter(|(_, handle)| handle.is_of(owner)).map(|(id, _)| id.clone()),
        );
        ids.retain(|id| !self.shared.is_leaving(id));
        ids.sort();
        ids.dedup();
        Ok(ids)
    }
}
