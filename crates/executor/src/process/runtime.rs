//! The type [`ProcessRuntime`], which submits, finds, cancels and removes jobs, and waits for their end.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::spawn_blocking,
    time::sleep,
};

use crate::{
    Capabilities, Capability, Events, Found, Job, JobId, Outcome, Owner, Runtime, RuntimeError,
    cgroup::ControlGroups,
    confine::Confinement,
    file_tree::remove_tree,
    process::{
        ProcessOptions, SupervisorCommand,
        disk::Disk,
        dispatch::{self, Settings},
        error::{KIND, unavailable},
        follow::Follower,
        inspect::FolderState,
        message::{Dispatch, JobMeta, Message, Progress, ResultNeeds, WakeReason},
        staging::JobEnvironment,
        wire::Request,
    },
};

/// First pause between two polls of a job that another process submitted.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LAST_PAUSE: Duration = Duration::from_millis(250);

/// Maximum number of concurrent removals; further removals wait.
const REMOVALS: u32 = 32;

/// Maximum number of buffered events for one receiver.
const EVENTS: usize = 16;

/// Maximum number of files of a small job. The thread that submits a small job also writes the job's folder,
/// because writing so few files to the kernel's cache takes only microseconds. Passing the work to another thread
/// would take tens of microseconds.
const FEW_FILES: usize = 8;

/// Maximum size in bytes of a small job: the sum of the sizes of its files and of its stdin.
const FEW_BYTES: usize = 64 * 1024;

/// A runtime that runs jobs as processes of this host.
///
/// Several programs may share one jobs folder. Each program can find, wait for, cancel and remove the jobs
/// of all these programs. The runtime is bound to the tokio runtime on which its first job is submitted.
///
/// Dropping a `ProcessRuntime` ends those of its jobs whose setting is
/// [`OnOwnerDeath::Kill`](crate::OnOwnerDeath::Kill), as if the submitting process died. [`close`](Self::close) ends
/// these jobs, too, and waits for their end.
#[derive(Debug)]
pub struct ProcessRuntime {
    disk: Arc<Disk>,
    settings: Settings,
    /// Sender to the dispatcher, set by the first submission.
    dispatch: OnceLock<Dispatch>,
    /// Semaphore that limits the number of concurrent removals. Each removal holds one permit until the job's folder is
    /// deleted.
    removals: Arc<Semaphore>,
    confinement: Confinement,
}

impl ProcessRuntime {
    /// Opens a runtime with the default [options](ProcessOptions::new).
    ///
    /// # Errors
    /// See [`open_with`](Self::open_with).
    pub fn open(
        state_dir: impl Into<std::path::PathBuf>,
        supervisor: SupervisorCommand,
    ) -> Result<Self, RuntimeError> {
        Self::open_with(ProcessOptions::new(state_dir, supervisor))
    }

    /// Opens a runtime, and starts no process. The runtime also finds the jobs that other processes have submitted in
    /// the same folder.
    ///
    /// This function also cleans up after dead processes. It removes the folders of jobs that a dead process has not
    /// completely submitted or not completely removed. It kills the processes in the control groups of dead
    /// supervisors, and removes these groups.
    ///
    /// # Errors
    /// [`RuntimeError::Unavailable`] when the kernel can't enforce the [confinement](ProcessOptions::confinement).
    /// [`RuntimeError::Storage`] when the folders can't be created or cleaned up, or when their paths are not UTF-8.
    /// The paths must be UTF-8, because environment variables of jobs contain them.
    pub fn open_with(options: ProcessOptions) -> Result<Self, RuntimeError> {
        options.confinement.check().map_err(|missing| unavailable(&missing.to_string()))?;
        let disk = Disk::open(&options)?;
        let ProcessOptions { supervisor, at_once, confinement, .. } = options;
        let settings = Settings { state: disk.state().clone(), supervisor, at_once };
        let removals = Arc::new(Semaphore::new(REMOVALS as usize));
        Ok(Self { disk: Arc::new(disk), settings, dispatch: OnceLock::new(), removals, confinement })
    }

    /// Disconnects from the supervisor. Ends the jobs whose setting is
    /// [`OnOwnerDeath::Kill`](crate::OnOwnerDeath::Kill), and waits for their end. Jobs whose setting is
    /// [`Finish`](crate::OnOwnerDeath::Finish) continue without this process. Queued jobs are dropped. Finally
    /// [tidies up](Self::tidy). The runtime can be used again afterwards.
    ///
    /// # Errors
    /// [`RuntimeError::Storage`] when the folders can't be read.
    pub async fn close(&self) -> Result<(), RuntimeError> {
        let _done = self.ask(|reply| Message::Disconnect { reply }).await;
        self.removed_all().await;
        self.disk.forget_ahead();
        self.tidy().await
    }

    /// Removes the named pipes and control groups of dead supervisors. Volumes are kept, even if they are
    /// empty: a job may be about to use them.
    ///
    /// # Errors
    /// [`RuntimeError::Storage`] when the folders can't be read.
    pub async fn tidy(&self) -> Result<(), RuntimeError> {
        self.on_disk(Disk::tidy).await
    }

    /// Sends a message to the dispatcher, and returns the answer. Returns `None` if the dispatcher does not
    /// run.
    async fn ask<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.dispatch.get()?.send(message(reply)).await.ok()?;
        answer.await.ok()
    }

    /// Submits a job. Adds the sandbox, the variables and the confinement of `environment` to the job. The caller has
    /// already checked that the runtime has the capabilities that the job needs.
    pub(crate) async fn submit_in(
        &self,
        id: &JobId,
        job: &Job,
        environment: JobEnvironment,
    ) -> Result<(), RuntimeError> {
        let image = environment.sandbox.as_ref().map(|sandbox| sandbox.digest.to_string());
        let staged = if is_small(job) {
            self.disk.stage(id, job, environment)?
        } else {
            let (id, job) = (id.clone(), job.clone());
            self.on_disk(move |disk| disk.stage(&id, &job, environment)).await?
        };
        let Some(staged) = staged else { return Ok(()) };
        self.dispatch.get_or_init(|| dispatch::start(self.settings.clone()));
        let needs = if job.outputs.is_empty() { ResultNeeds::Streams } else { ResultNeeds::Files };
        let (owner, on_owner_death) = (job.owner.clone(), job.on_owner_death);
        let (id, meta) = (id.clone(), JobMeta { owner, on_owner_death, needs, image });
        let submitted = self.ask(|reply| Message::Submit { id, meta, staged, reply }).await;
        submitted.unwrap_or_else(|| Err(unavailable("the tokio runtime it was used on first is gone")))
    }

    /// Accepts a job that can't be started. Records that the job has ended without a start, and the reason `why`.
    #[cfg(feature = "sandbox")]
    pub(crate) async fn submit_unstarted(
        &self,
        id: &JobId,
        job: &Job,
        why: crate::StartFailure,
    ) -> Result<(), RuntimeError> {
        let (id, job) = (id.clone(), job.clone());
        self.on_disk(move |disk| disk.put_unstarted(&id, &job, why)).await
    }

    /// Moves a job's folder into the staging folder, so that no caller finds the job any more. Deletes the
    /// folder in the background. Returns `false` if no folder was moved.
    async fn put_away(&self, id: &JobId) -> Result<bool, RuntimeError> {
        let gone = || unavailable("the tokio runtime is shutting down");
        let permit = self.removals.clone().acquire_owned().await.map_err(|_| gone())?;
        let mut away = self.disk.put_away_ended(id)?;
        if away.is_none() {
            // The job may be lost. Then its remaining processes are ended first, which takes longer.
            let id = id.clone();
            away = self.on_disk(move |disk| disk.put_away(&id)).await?;
        }
        let Some(path) = away else { return Ok(false) };
        let disk = self.disk.clone();
        spawn_blocking(move || {
            // Files that can't be removed now are removed when the jobs folder is opened next.
            let _left = remove_tree(&path);
            disk.make_ahead();
            drop(permit);
        });
        Ok(true)
    }

    /// Waits until the folders of all removed jobs are deleted from the disk.
    async fn removed_all(&self) {
        let _all = self.removals.acquire_many(REMOVALS).await;
    }

    /// Runs a disk operation on a blocking thread.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Disk) -> Result<T, RuntimeError> + Send + 'static,
    ) -> Result<T, RuntimeError> {
        let disk = self.disk.clone();
        match spawn_blocking(move || work(&disk)).await {
            Ok(result) => result,
            Err(_) => Err(unavailable("the tokio runtime is shutting down")),
        }
    }

    /// Returns `true` if this runtime has submitted the job and the job has not ended.
    async fn has(&self, id: &JobId) -> bool {
        self.ask(|reply| Message::Has { id: id.clone(), reply }).await.unwrap_or(false)
    }

    async fn progress(&self, id: &JobId) -> Option<mpsc::Receiver<Progress>> {
        self.ask(|reply| Message::Watch { id: id.clone(), reply }).await.flatten()
    }
}

#[async_trait]
impl Runtime for ProcessRuntime {
    fn kind(&self) -> &str {
        KIND
    }

    fn capabilities(&self) -> Capabilities {
        ControlGroups::probe().limits.iter().chain([Capability::OpenFilesLimit]).collect()
    }

    async fn submit(&self, id: &JobId, job: &Job) -> Result<(), RuntimeError> {
        self.capabilities().check(KIND, job)?;
        let environment =
            JobEnvironment { confinement: self.confinement.clone(), ..JobEnvironment::default() };
        self.submit_in(id, job, environment).await
    }

    async fn stored(&self, id: &JobId) -> bool {
        self.ask(|reply| Message::Stored { id: id.clone(), reply }).await.unwrap_or(true)
    }

    async fn find(&self, id: &JobId) -> Result<Found, RuntimeError> {
        // The dispatcher is asked before the folder is read. A job leaves the dispatcher only after its
        // folder is complete, so no job is missed.
        if self.has(id).await {
            return Ok(Found::Running);
        }
        let id = id.clone();
        self.on_disk(move |disk| disk.find(&id)).await
    }

    async fn events(&self, id: &JobId) -> Result<Events, RuntimeError> {
        let progress = self.progress(id).await;
        let (sender, events) = Events::channel(EVENTS);
        let follower = Follower::new(self.disk.folder(id), sender);
        if let Some(progress) = progress {
            tokio::spawn(follower.by_progress(progress));
            return Ok(events);
        }
        let job = id.clone();
        if self.on_disk(move |disk| disk.inspect(&job)).await? == FolderState::Absent {
            return Err(RuntimeError::UnknownJob { id: id.clone() });
        }
        tokio::spawn(follower.by_polling());
        Ok(events)
    }

    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let reason = match self.ask(|waiter| Message::Wait { id: id.clone(), waiter }).await {
                Some(WakeReason::Ended(outcome)) => return Ok(*outcome),
                reason => reason,
            };
            let job = id.clone();
            match (self.on_disk(move |disk| disk.outcome(&job)).await, reason) {
                (Ok(Some(outcome)), _) => return Ok(outcome),
                (Ok(None), _) => sleep(pause).await,
                (Err(RuntimeError::UnknownJob { .. }), Some(WakeReason::Failed { problem })) => {
                    return Err(unavailable(&problem));
                }
                (Err(error), _) => return Err(error),
            }
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    async fn cancel(&self, id: &JobId, grace: Duration) -> Result<(), RuntimeError> {
        if self.ask(|reply| Message::Cancel { id: id.clone(), grace, reply }).await == Some(true) {
            return Ok(());
        }
        let id = id.clone();
        self.on_disk(move |disk| match disk.inspect(&id)? {
            FolderState::Absent => Err(RuntimeError::UnknownJob { id }),
            FolderState::Ended(_) | FolderState::Gone => Ok(()),
            FolderState::Running => disk.ask_all(&Request::cancel(id, grace)),
        })
        .await
    }

    async fn remove(&self, id: &JobId) -> Result<(), RuntimeError> {
        let removed = self.put_away(id).await?;
        if !removed && self.has(id).await {
            return Err(RuntimeError::StillRunning { id: id.clone() });
        }
        Ok(())
    }

    async fn list(&self, owner: &Owner) -> Result<Vec<JobId>, RuntimeError> {
        let queued = self.ask(|reply| Message::Queued { owner: owner.clone(), reply }).await;
        let owner = owner.clone();
        let mut ids = self.on_disk(move |disk| disk.list(&owner)).await?;
        ids.extend(queued.unwrap_or_default());
        ids.sort();
        ids.dedup();
        Ok(ids)
    }
}

fn is_small(job: &Job) -> bool {
    let files = job.files.iter().map(|file| file.content.len()).sum::<usize>();
    job.files.len() <= FEW_FILES && files + job.stdin.len() <= FEW_BYTES
}
