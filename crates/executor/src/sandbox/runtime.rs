//! Implements [`Runtime`] for sandboxes. This runtime finds the image of a job, and plans the sandbox. The process
//! runtime then starts the job in this sandbox.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use tokio::task::spawn_blocking;

use crate::{
    Bounds, Capabilities, Capability, Events, Found, Job, JobError, JobId, JobProblem, Network, Outcome,
    Owner, Runtime, RuntimeError, StartFailure, VolumeName,
    bwrap::{
        advice,
        plan::{SandboxNetwork, SandboxPlan, TMP, WORK},
        probe::find,
    },
    cgroup::ControlGroups,
    confine::Confinement,
    image::{Image, ImageError, Reference, Store},
    process::{JobEnvironment, ProcessRuntime},
    sandbox::{SandboxOptions, settable},
};

/// The kind of this runtime. In `windlass.yaml`, a location (a place where scripts run) chooses the runtime
/// by this word.
const KIND: &str = "sandbox";

/// User id of a job if neither the job nor its image names a user id.
const NOBODY_IN_PARTICULAR: u32 = 1000;

/// Paths at which the runtime mounts folders in each sandbox. A volume at one of these paths, or below it, would hide
/// such a folder.
const RESERVED: [&str; 4] = [WORK, TMP, "/dev", "/proc"];

/// A runtime that runs jobs in images on this host, each in a sandbox of its own (see [the
/// module](crate::sandbox)).
#[derive(Debug)]
pub struct SandboxRuntime {
    jobs: ProcessRuntime,
    store: Arc<Store>,
    bwrap: PathBuf,
    tmp_bytes: u64,
    /// Default limits. Each of them applies to a job that does not set this limit itself.
    bounds: Bounds,
}

impl SandboxRuntime {
    /// Opens a runtime. The function also finds the jobs that other processes have submitted in the same folder.
    ///
    /// # Errors
    /// [`RuntimeError::Unavailable`] when `bwrap` is missing, or the image store can't be created;
    /// [`RuntimeError::Storage`] when the folder of the jobs can't be created. The function does not check
    /// whether the host allows sandboxes. [`probe`](crate::sandbox::probe) and the first job check that.
    pub fn open(options: SandboxOptions) -> Result<Self, RuntimeError> {
        let SandboxOptions { jobs, store, bwrap, tmp_bytes, bounds } = options;
        let bwrap = find(&bwrap).ok_or_else(|| unavailable(advice::missing(&bwrap)))?;
        let store = Store::open(store).map_err(|error| unavailable(error.to_string()))?;
        let jobs = ProcessRuntime::open_with(jobs).map_err(ours)?;
        Ok(Self { jobs, store: Arc::new(store), bwrap, tmp_bytes, bounds: settable(bounds) })
    }

    /// Returns the image store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Disconnects from the supervisor. [`ProcessRuntime::close`] describes the consequences for the jobs.
    ///
    /// # Errors
    /// [`RuntimeError::Storage`] when the folders can't be read.
    pub async fn close(&self) -> Result<(), RuntimeError> {
        self.jobs.close().await.map_err(ours)
    }

    /// Creates the environment of a job: the plan of its sandbox, the variables of its image, and the
    /// system-call filter.
    fn environment(&self, job: &Job, image: &Image) -> Result<JobEnvironment, RuntimeError> {
        let network = match &job.network {
            Network::Default | Network::None => SandboxNetwork::None,
            Network::Host => SandboxNetwork::Host,
            Network::Bridge | Network::Named(_) => {
                return Err(unavailable(
                    "it supports only the networks `none` and `host`; use one of them, or the runtime `docker`"
                        .to_owned(),
                ));
            }
        };
        for volume in &job.volumes {
            image.mount_point(&volume.path).map_err(|error| unavailable(error.to_string()))?;
        }
        let of_image = image.config.numeric_user();
        let user = job.user.map(|user| (user.uid, user.gid)).or(of_image);
        let (uid, gid) = user.unwrap_or((NOBODY_IN_PARTICULAR, None));
        let sandbox = SandboxPlan {
            bwrap: self.bwrap.clone(),
            image: image.folder().to_owned(),
            digest: image.id.clone(),
            network,
            uid,
            gid: gid.unwrap_or(uid),
            tmp_bytes: job.isolation.tmp_bytes.unwrap_or(self.tmp_bytes),
            volumes: Vec::new(),
        };
        let confinement = if Confinement::probe().seccomp {
            Confinement::none().filter_system_calls()
        } else {
            Confinement::none()
        };
        Ok(JobEnvironment { sandbox: Some(sandbox), env: image.config.env.clone(), confinement })
    }

    /// Returns a copy of the job with the default limits added. If the job itself sets a limit, this limit stays.
    /// The defaults that this host can't enforce are left out.
    fn bounded(&self, job: &Job) -> Job {
        let can = self.capabilities();
        let (mut job, bounds) = (job.clone(), self.bounds);
        let limits = &mut job.limits;
        if can.has(Capability::MemoryLimit) {
            limits.memory_bytes = limits.memory_bytes.or(bounds.memory_bytes);
        }
        if can.has(Capability::PidsLimit) {
            limits.pids = limits.pids.or(bounds.pids);
        }
        if can.has(Capability::CpuLimit) {
            limits.cpu_millis = limits.cpu_millis.or(bounds.cpu_millis);
        }
        limits.open_files = limits.open_files.or(bounds.open_files);
        job
    }

    /// Finds a job's image. If the image is missing or unusable, returns `Ok(Err(…))` with the reason why the job
    /// can't start. If the runtime itself fails, returns `Err`.
    async fn image(&self, name: &str) -> Result<Result<Image, StartFailure>, RuntimeError> {
        let missing = |why: String| StartFailure::ImageNotFound { image: name.to_owned(), why };
        let reference: Reference = match name.parse::<Reference>() {
            Ok(reference) => reference,
            Err(error) => return Ok(Err(missing(error.to_string()))),
        };
        let store = self.store.clone();
        let found = spawn_blocking(move || store.resolve(&reference)).await;
        match found.map_err(|_| unavailable("the tokio runtime is shutting down".to_owned()))? {
            Ok(image) => Ok(Ok(image)),
            Err(error @ ImageError::Io { .. }) if !name.starts_with(['/', '.']) => {
                Err(unavailable(error.to_string()))
            }
            // The error `ImageNotFound` names the image, so this text does not.
            Err(ImageError::Unknown { .. }) => Ok(Err(missing(
                "it is not in the image store; import it with `windlass image import FILE`".to_owned(),
            ))),
            Err(error) => Ok(Err(missing(error.to_string()))),
        }
    }
}

#[async_trait]
impl Runtime for SandboxRuntime {
    fn kind(&self) -> &str {
        KIND
    }

    fn capabilities(&self) -> Capabilities {
        let own = [
            Capability::Image,
            Capability::Network,
            Capability::User,
            Capability::TmpLimit,
            Capability::OpenFilesLimit,
        ];
        own.into_iter().chain(ControlGroups::probe().limits.iter()).collect()
    }

    async fn submit(&self, id: &JobId, job: &Job) -> Result<(), RuntimeError> {
        self.capabilities().check(KIND, job)?;
        check_volumes(job)?;
        let Some(image) = &job.image else {
            return Err(unavailable(
                "a job needs an image: set one, or use the runtime `process`".to_owned(),
            ));
        };
        match self.image(image).await? {
            Ok(image) => {
                let environment = self.environment(job, &image)?;
                self.jobs.submit_in(id, &self.bounded(job), environment).await.map_err(ours)
            }
            Err(missing) => self.jobs.submit_unstarted(id, job, missing).await.map_err(ours),
        }
    }

    async fn stored(&self, id: &JobId) -> bool {
        self.jobs.stored(id).await
    }

    async fn find(&self, id: &JobId) -> Result<Found, RuntimeError> {
        self.jobs.find(id).await.map_err(ours)
    }

    async fn events(&self, id: &JobId) -> Result<Events, RuntimeError> {
        self.jobs.events(id).await.map_err(ours)
    }

    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError> {
        self.jobs.wait(id).await.map_err(ours)
    }

    async fn cancel(&self, id: &JobId, grace: Duration) -> Result<(), RuntimeError> {
        self.jobs.cancel(id, grace).await.map_err(ours)
    }

    async fn remove(&self, id: &JobId) -> Result<(), RuntimeError> {
        self.jobs.remove(id).await.map_err(ours)
    }

    async fn list(&self, owner: &Owner) -> Result<Vec<JobId>, RuntimeError> {
        self.jobs.list(owner).await.map_err(ours)
    }
}

/// Returns a problem if the path of a volume is reserved for the runtime, or lies inside a reserved folder; otherwise
/// `None`. The runtime refuses jobs with such a volume.
pub fn volume_problem(name: &VolumeName, path: &str) -> Option<JobProblem> {
    let reserved = RESERVED.into_iter().find(|reserved| Path::new(path).starts_with(reserved))?;
    Some(JobProblem::ReservedVolumePath { name: name.clone(), path: path.to_owned(), reserved })
}

fn check_volumes(job: &Job) -> Result<(), JobError> {
    let problems: Vec<_> =
        job.volumes.iter().filter_map(|volume| volume_problem(&volume.name, &volume.path)).collect();
    if problems.is_empty() { Ok(()) } else { Err(JobError { problems }) }
}

fn unavailable(problem: String) -> RuntimeError {
    RuntimeError::Unavailable { runtime: KIND.to_owned(), problem }
}

/// Replaces the name of the process runtime in an error by the name of the sandbox runtime.
fn ours(error: RuntimeError) -> RuntimeError {
    match error {
        RuntimeError::Unavailable { problem, .. } => unavailable(problem),
        other => other,
    }
}
