//! The warm containers of a [pool](crate::pool) on a container engine.
//!
//! A warm container is as hardened as a fresh container: no network, a read-only root, no capabilities, no
//! new privileges, an unprivileged user, limits. The runner is copied to a volume of the container, which
//! also contains the folders of the jobs. The client and the runner communicate by the container's stdin and
//! stdout, so the container engine may be on another machine.
//!
//! When a warm container ends, the container engine removes it at once, because its state is not needed afterwards.
//! (An ended fresh container remains until its job is removed.) If the client is killed, the runner's stdin closes,
//! and the runner exits. The warm container then ends, so a killed client leaves no warm container behind.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bollard::{
    container::LogOutput,
    models::{ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType},
    query_parameters::{AttachContainerOptions, ListContainersOptions, UploadToContainerOptions},
};
use futures::Stream;
use rustix::fs::{FlockOperation, flock};
use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::OnceCell,
};

use crate::{
    Job, Limits, Network, RuntimeError,
    docker::{
        Description, DockerOptions, Engine, EngineError, EngineImage,
        container::{self, mount_of, no_health_check, volume_name, volume_problems},
        error::unavailable,
    },
    pool::{Carrier, ContainerNeeds, EndContainer, Shape, StartError, WarmContainer},
    runner,
};

/// Mount point of the volume with the [runner](crate::runner) and the folders of the jobs.
const PLACE: &str = "/windlass";

/// Size in bytes of `/tmp`, which is the `TMPDIR` of all jobs.
const TMP_BYTES: u64 = 64 << 20;

/// Number of processes of a warm container that do not belong to a job: the runner, which is the first process.
const OWN_PROCESSES: i64 = 1;

/// Label of every warm container. The value is the name of the pool.
const POOL: &str = "io.windlass.pool";

/// Label of every warm container. The value is the name of the client that created the container.
const POOL_CLIENT: &str = "io.windlass.pool.client";

/// Maximum number of bytes that an error text quotes from the end of a [runner](crate::runner)'s stderr.
const LAST_WORDS: usize = 1000;

/// The time for which a found image stays in the cache. After this time, the client asks the engine again, because
/// the name may then refer to another image.
const IMAGE_AGE: Duration = Duration::from_secs(2);

/// The warm containers of one client on one container engine.
#[derive(Debug)]
pub struct WarmContainers {
    engine: Engine,
    client: Client,
    /// Description of the engine. It is read before the first container is created.
    description: OnceCell<Description>,
    /// The default limits and the default user of jobs. A default applies if the job sets no value of its own. Jobs in
    /// fresh containers have the same defaults.
    defaults: DockerOptions,
    /// Images that the engine has, by name, and the time when the engine was asked.
    images: Mutex<HashMap<String, (Instant, EngineImage)>>,
}

/// A client of a pool: one [`WarmContainers`] value. The client holds a lock on the file `<name>.lock` in `folder`. The
/// other clients of the pool count this client as alive as long as this file is locked.
#[derive(Debug)]
struct Client {
    folder: PathBuf,
    scope: String,
    name: String,
    _lock: File,
}

impl WarmContainers {
    /// Creates a new client of a pool. All clients that use the same `folder` belong to the same pool. Creates the
    /// folder if it does not exist. Sends no request to the container engine.
    ///
    /// # Errors
    /// [`RuntimeError::Storage`] when the folder can't be created or written.
    pub fn open(engine: Engine, folder: impl Into<PathBuf>) -> Result<Self, RuntimeError> {
        let folder = folder.into();
        let path = folder.clone();
        let client =
            Client::join(folder).map_err(|source| RuntimeError::Storage { action: "write", path, source })?;
        Ok(Self {
            engine,
            client,
            description: OnceCell::new(),
            defaults: DockerOptions::new(),
            images: Mutex::default(),
        })
    }

    fn images(&self) -> MutexGuard<'_, HashMap<String, (Instant, EngineImage)>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the image with this name. Returns `None` if the engine has no such image, or does not answer. A
    /// found image is cached for the time [`IMAGE_AGE`]. After this time, the name may refer to another image.
    async fn image(&self, name: &str) -> Option<EngineImage> {
        let known = self.images().get(name).filter(|(asked, _)| asked.elapsed() < IMAGE_AGE).cloned();
        if let Some((_, image)) = known {
            return Some(image);
        }
        let asked = Instant::now();
        let image = self.engine.image(name).await.ok().flatten()?;
        self.images().insert(name.to_owned(), (asked, image.clone()));
        Some(image)
    }

    /// Returns the volumes of a job with their mount points. Returns `None` if one of the volumes does not
    /// exist. The job then needs a fresh container, whose launch creates the volume and gives it to the job's user.
    async fn volumes(&self, job: &Job) -> Option<Vec<(String, String)>> {
        if !volume_problems(job).is_empty() {
            return None;
        }
        let docker = self.engine.client();
        let mut volumes = Vec::new();
        for volume in &job.volumes {
            let name = volume_name(&job.owner, volume);
            self.engine.call("look for a volume", docker.inspect_volume(&name)).await.ok()?;
            volumes.push((name, volume.path.clone()));
        }
        Some(volumes)
    }

    async fn create(&self, shape: &Shape) -> Result<String, EngineError> {
        let docker = self.engine.client();
        let engine = self.description.get_or_try_init(|| self.engine.describe()).await?;
        let host = self.host(shape, engine);
        let body = body(shape, &self.client, host);
        let created =
            self.engine.call("create a warm container", docker.create_container(None, body)).await?;
        Ok(created.id)
    }

    /// Returns the isolation, the limits and the volumes of a warm container.
    fn host(&self, shape: &Shape, engine: &Description) -> HostConfig {
        let own = Mount { target: Some(PLACE.to_owned()), typ: Some(MountType::VOLUME), ..Mount::default() };
        let volumes = shape.volumes.iter().map(|(name, path)| mount_of(name.clone(), path.clone()));
        let mut host = HostConfig {
            auto_remove: Some(true),
            network_mode: Some(shape.network.clone()),
            tmpfs: Some(container::tmp(TMP_BYTES)),
            mounts: Some([own].into_iter().chain(volumes).collect()),
            shm_size: Some(16 << 20),
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            ..container::strict(engine)
        };
        let mut limits = Limits::default();
        (limits.memory_bytes, limits.pids, limits.cpu_millis) =
            (shape.memory_bytes, shape.pids, shape.cpu_millis);
        container::limit(&mut host, &limits, &self.defaults, engine, OWN_PROCESSES);
        host
    }

    /// Copies the [runner](crate::runner) into a container, attaches to the container, and starts the container.
    async fn wake(&self, id: &str, program: &[u8]) -> Result<(Output, Input), EngineError> {
        let docker = self.engine.client();
        let options =
            UploadToContainerOptions { path: PLACE.to_owned(), ..UploadToContainerOptions::default() };
        let upload =
            docker.upload_to_container(id, Some(options), bollard::body_full(archive(program).into()));
        self.engine.call("copy the runner into a container", upload).await?;
        let options = AttachContainerOptions {
            stream: true,
            stdin: true,
            stdout: true,
            stderr: true,
            ..AttachContainerOptions::default()
        };
        let attach = docker.attach_container(id, Some(options));
        let attached = self.engine.call("attach to a container", attach).await?;
        self.engine.call("start a container", docker.start_container(id, None)).await?;
        Ok((attached.output, attached.input))
    }

    async fn remove(&self, id: &str) -> Result<(), EngineError> {
        self.engine.remove_container(id, true).await
    }
}

type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>;
type Input = Pin<Box<dyn tokio::io::AsyncWrite + Send>>;

#[async_trait]
impl Carrier for WarmContainers {
    async fn needs(&self, job: &Job) -> Option<ContainerNeeds> {
        runner::program()?;
        // The runner (the program that runs jobs in a warm container) enforces no limit on open files.
        if job.limits.open_files.is_some() {
            return None;
        }
        let volumes = self.volumes(job).await?;
        let name = job.image.clone()?;
        let image = self.image(&name).await?;
        let network = match &job.network {
            Network::Default | Network::None => "none".to_owned(),
            Network::Bridge => "bridge".to_owned(),
            Network::Host => "host".to_owned(),
            Network::Named(name) => name.clone(),
        };
        let user = container::user(job.user.unwrap_or(self.defaults.user));
        let Limits { memory_bytes, pids, cpu_millis, .. } = job.limits;
        let (image_id, image_env) = (Some(image.id), image.env);
        let image = Some(name);
        let shape = Shape { image, image_id, network, user, memory_bytes, pids, cpu_millis, volumes };
        Some(ContainerNeeds { shape, image_env })
    }

    fn tmp(&self) -> Option<&str> {
        Some("/tmp")
    }

    async fn start(&self, shape: &Shape) -> Result<WarmContainer, StartError> {
        let program =
            runner::program().ok_or_else(|| unavailable("there is no runner for warm containers"))?;
        let image = shape.image.as_deref().unwrap_or_default();
        let id = match self.create(shape).await {
            Err(EngineError::Refused { status: 404, message, .. }) => {
                self.images().remove(image);
                return Err(StartError::Image { image: image.to_owned(), why: message });
            }
            created => created.map_err(RuntimeError::from)?,
        };
        let (output, input) = match self.wake(&id, program).await {
            Ok(streams) => streams,
            Err(error) => {
                let _reaped_later = self.remove(&id).await;
                return Err(RuntimeError::from(error).into());
            }
        };
        let words = Arc::new(Mutex::new(Vec::new()));
        let output = RunnerOutput::new(output, words.clone());
        let end = Box::new(EndWarmContainer { engine: self.engine.clone(), id, words });
        Ok(WarmContainer { input: Box::new(input), output: Box::new(output), image_digest: None, end })
    }

    async fn reap(&self) -> Result<(), RuntimeError> {
        let label = format!("{POOL}={}", self.client.scope);
        let filters = HashMap::from([("label".to_owned(), vec![label])]);
        let options =
            ListContainersOptions { all: true, filters: Some(filters), ..ListContainersOptions::default() };
        let list = self.engine.client().list_containers(Some(options));
        for container in self.engine.call("list containers", list).await? {
            let client = container.labels.as_ref().and_then(|labels| labels.get(POOL_CLIENT));
            if let (Some(id), Some(client)) = (container.id, client)
                && !self.client.is_alive(client)
            {
                self.remove(&id).await?;
            }
        }
        self.client.tidy();
        Ok(())
    }
}

/// Returns the definition of a warm container, for the request that creates it.
fn body(shape: &Shape, client: &Client, host: HostConfig) -> ContainerCreateBody {
    let command = [&format!("{PLACE}/runner"), "serve", &format!("{PLACE}/jobs"), "/tmp", "/dev/shm"];
    let labels = [(POOL, client.scope.as_str()), (POOL_CLIENT, client.name.as_str())];
    ContainerCreateBody {
        image: shape.image_id.clone(),
        entrypoint: Some(command.map(str::to_owned).to_vec()),
        cmd: Some(Vec::new()),
        user: Some(shape.user.clone()),
        working_dir: Some("/".to_owned()),
        labels: Some(labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        tty: Some(false),
        healthcheck: Some(no_health_check()),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    }
}

/// Creates a tar archive that contains the [runner](crate::runner), and a folder in which any user can create
/// folders for jobs.
fn archive(program: &[u8]) -> Vec<u8> {
    let mut tar = Vec::with_capacity(program.len() + 4096);
    tar.extend_from_slice(&header("jobs/", 0o1777, 0, b'5'));
    tar.extend_from_slice(&header("runner", 0o755, program.len(), b'0'));
    tar.extend_from_slice(program);
    tar.resize(tar.len().next_multiple_of(512) + 1024, 0);
    tar
}

/// Creates a header of the format `ustar`: name, mode, owner, group, length, time, checksum, type.
fn header(name: &str, mode: u32, length: usize, kind: u8) -> [u8; 512] {
    let mut header = [0; 512];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{length:011o}"));
    put(136, "00000000000");
    put(148, "        ");
    put(257, "ustar\u{0}00");
    header[156] = kind;
    let sum: u32 = header.iter().copied().map(u32::from).sum();
    let sum = format!("{sum:06o}\u{0} ");
    header[148..156].copy_from_slice(sum.as_bytes());
    header
}

/// A [runner](crate::runner)'s stdout, extracted from a stream that also contains the runner's stderr. The last
/// bytes of the stderr are kept for error texts.
struct RunnerOutput {
    stream: Output,
    /// Received bytes that were not read yet.
    rest: Vec<u8>,
    from: usize,
    words: Arc<Mutex<Vec<u8>>>,
}

impl RunnerOutput {
    fn new(stream: Output, words: Arc<Mutex<Vec<u8>>>) -> Self {
        Self { stream, rest: Vec::new(), from: 0, words }
    }
}

impl AsyncRead for RunnerOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.from == self.rest.len() {
            match ready!(self.stream.as_mut().poll_next(context)) {
                Some(Ok(LogOutput::StdOut { message })) => {
                    self.rest = message.into();
                    self.from = 0;
                }
                Some(Ok(LogOutput::StdErr { message })) => {
                    let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
                    words.extend_from_slice(&message);
                    let extra = words.len().saturating_sub(LAST_WORDS);
                    words.drain(..extra);
                }
                // The container has no terminal. For such a container, the client library returns another
                // variant only if the stream broke in the middle of a message.
                Some(Ok(_)) => return Poll::Ready(Err(io::Error::other("the stream was cut"))),
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error.to_string()))),
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = into.remaining().min(self.rest.len() - self.from);
        into.put_slice(&self.rest[self.from..self.from + length]);
        self.from += length;
        Poll::Ready(Ok(()))
    }
}

struct EndWarmContainer {
    engine: Engine,
    id: String,
    words: Arc<Mutex<Vec<u8>>>,
}

#[async_trait]
impl EndContainer for EndWarmContainer {
    async fn end(self: Box<Self>) -> Option<String> {
        let _reaped_later = self.engine.wait_and_remove(&self.id).await;
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let words = String::from_utf8_lossy(&words).trim().to_owned();
        (!words.is_empty()).then_some(words)
    }
}

impl Client {
    fn join(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let name = random()?;
        let lock = File::create(folder.join(format!("{name}.lock")))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let scope = scope(&folder)?;
        Ok(Self { folder, scope, name, _lock: lock })
    }

    /// Tells whether a client of this pool is alive. `name` is the name of that client. The client may be
    /// `self`.
    fn is_alive(&self, name: &str) -> bool {
        name == self.name || is_locked(&self.folder.join(format!("{name}.lock")))
    }

    /// Removes the files of dead clients.
    fn tidy(&self) {
        for path in locks(&self.folder).into_iter().filter(|path| !is_locked(path)) {
            let _gone = fs::remove_file(path);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _gone = fs::remove_file(self.folder.join(format!("{}.lock", self.name)));
        // The last client removes the folder.
        if locks(&self.folder).is_empty() {
            let _gone = fs::remove_file(self.folder.join(SCOPE));
            let _in_use = fs::remove_dir(&self.folder);
        }
    }
}

/// Name of the file that contains the name of the pool.
const SCOPE: &str = "scope";

fn locks(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "lock")).collect()
}

fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

/// Returns the name of the pool whose clients use `folder`, and creates the name if it does not exist. The name
/// distinguishes the containers of this pool from those of other pools on the same container engine, which
/// several machines may share.
fn scope(folder: &Path) -> io::Result<String> {
    let path = folder.join(SCOPE);
    match fs::read_to_string(&path) {
        Ok(scope) if !scope.is_empty() => Ok(scope),
        _ => {
            // The complete file gets its name by a hard link. If two clients create the file at the same
            // time, the second link fails, and both clients use the first file.
            let (scope, fresh) = (random()?, folder.join(format!(".{SCOPE}.{}", random()?)));
            fs::write(&fresh, &scope)?;
            let linked = fs::hard_link(&fresh, &path);
            fs::remove_file(&fresh)?;
            match linked {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::read_to_string(&path),
                linked => linked.map(|()| scope),
            }
        }
    }
}

fn random() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_one_folder_know_who_lives() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("pool");
        let first = Client::join(folder.clone()).unwrap();
        let second = Client::join(folder.clone()).unwrap();
        assert_eq!(first.scope, second.scope);
        assert!(first.is_alive(&second.name) && first.is_alive(&first.name) && !first.is_alive("other"));
        let name = second.name.clone();
        drop(second);
        assert!(!first.is_alive(&name));
        // This is the file of a killed client.
        fs::write(folder.join("dead.lock"), "").unwrap();
        assert!(!first.is_alive("dead"));
        first.tidy();
        assert_eq!(locks(&folder).len(), 1);
        drop(first);
        assert!(!folder.exists());
    }

    #[test]
    fn the_archive_is_one_that_others_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x.tar"), archive(b"#!/bin/sh\n")).unwrap();
        let listed =
            std::process::Command::new("tar").arg("-tvf").arg(dir.path().join("x.tar")).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!((lines[0][0], lines[0][5]), ("drwxrwxrwt", "jobs/"));
        assert_eq!((lines[1][0], lines[1][2], lines[1][5]), ("-rwxr-xr-x", "10", "runner"));
    }
}
