//! Prepares and deletes the folders of jobs in a staging folder. A complete folder moves by one rename to its final
//! path, which is in the jobs folder. So a folder at its final path is always complete. When a job is removed, its
//! folder first moves back into a staging folder.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

use crate::{
    Content, End, InputFile, Job, JobId, OutputKind, RuntimeError, Timestamp,
    bwrap::plan::{SandboxPlan, TMP, WORK},
    confine::Confinement,
    file_tree::remove_tree,
    outcome::Version,
    process::{
        layout::{JobFolder, StateDir, entries, storage},
        memory::Memory,
        procfs::{self, MARK},
        record::{Ending, JobRecord, create, line},
        wire::Input,
    },
};

/// Default `PATH` of every job.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Maximum length of a stdin that is sent to the supervisor. A longer stdin is written to a file.
const SHORT: usize = 16 * 1024;

/// Number of job folders that are created in advance, for many submissions in a short time.
const AHEAD: usize = 8;

/// Maximum number of attempts to create the staging folder. An attempt fails if another process removes the folder
/// before this process has locked it.
const TRIES: u32 = 10;

/// The folder in which one process prepares the folders of its jobs. The process holds a lock on its staging
/// folder. If no process holds a lock on a staging folder, the process that created the folder is dead. The
/// next process that opens the jobs folder removes such a staging folder.
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
    next: AtomicU64,
    /// Job folders that were created in advance. They contain only the subfolders that every job has.
    ahead: Mutex<Vec<JobFolder>>,
    memory: Memory,
    _lock: File,
}

/// The sandbox, the variables and the confinement of a job. The sandbox runtime adds all three to a job, and the
/// process runtime adds only the confinement.
#[derive(Debug, Default)]
pub(crate) struct JobEnvironment {
    /// Plan of the job's sandbox. The volumes of the job are added to the plan later.
    pub(crate) sandbox: Option<SandboxPlan>,
    /// Variables of the job's image.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) confinement: Confinement,
}

/// A job whose folder is in the staging folder. If the value is dropped before [`give`](Self::give) has set the
/// field `taken`, the job's folder is removed.
#[derive(Debug)]
pub(crate) struct Staged {
    folder: JobFolder,
    name: String,
    /// Stdin of the job, if it is short.
    stdin: Content,
    taken: bool,
}

impl Staging {
    /// Creates the staging folder, and removes the staging folders of dead processes.
    pub(crate) fn open(state: &StateDir) -> Result<Self, RuntimeError> {
        let root = state.staging();
        sweep(&root).map_err(storage("clean up", &root))?;
        let own =
            |attempt| root.join(format!("{}-{}-{attempt}", std::process::id(), Timestamp::now().as_millis()));
        for path in (0..TRIES).map(own) {
            // Another process may remove the folder between its creation and its lock.
            if let Some(lock) = locked(&path).map_err(storage("make", &path))? {
                // From the lock on, no other process removes the jobs folder. Before the lock, another
                // process may have removed the folder and created it again. So the memory folder, which
                // depends on the inode, is determined only now.
                let memory = Memory::of(state);
                memory.sweep(state).map_err(storage("clean up the memory of", state.path()))?;
                let (next, ahead) = (AtomicU64::new(0), Mutex::default());
                return Ok(Self { path, next, ahead, memory, _lock: lock });
            }
        }
        let swept = io::Error::other("other processes keep removing it");
        Err(storage("make", &root)(swept))
    }

    /// Creates the folder of a job in the staging folder, with all input of the job.
    pub(crate) fn stage(
        &self,
        id: &JobId,
        job: &Job,
        state: &StateDir,
        environment: JobEnvironment,
        volumes: &BTreeMap<String, String>,
    ) -> Result<Staged, RuntimeError> {
        let ahead = self.ahead().pop();
        let folder = match ahead {
            Some(folder) => folder,
            None => self.make_folder()?,
        };
        let stdin = if job.stdin.len() > SHORT { Content::default() } else { job.stdin.clone() };
        let staged = Staged { name: self.name_of(folder.path()), folder, stdin, taken: false };
        fill(&staged.folder, &record(job, &state.job(id), environment, volumes), job)?;
        Ok(staged)
    }

    /// Creates the folder of a future job, if fewer than `AHEAD` such folders exist.
    pub(crate) fn make_ahead(&self) {
        let there = self.ahead().len();
        if there < AHEAD
            && let Ok(folder) = self.make_folder()
        {
            self.ahead().push(folder);
        }
    }

    /// Removes the folders that were created for future jobs.
    pub(crate) fn forget_ahead(&self) {
        for folder in self.ahead().drain(..) {
            let _left_for_the_next = remove_tree(folder.path());
        }
    }

    fn ahead(&self) -> MutexGuard<'_, Vec<JobFolder>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make_folder(&self) -> Result<JobFolder, RuntimeError> {
        let folder = JobFolder::at(self.fresh());
        for path in [folder.path(), &folder.work(), &folder.tmp()] {
            folder_builder().create(path).map_err(storage("make", path))?;
        }
        Ok(folder)
    }

    /// Removes a job's output from `/dev/shm`, and moves the job's folder into the staging folder. Returns the new
    /// path of the job's folder.
    pub(crate) fn take_away(&self, folder: &JobFolder) -> io::Result<PathBuf> {
        let away = self.fresh();
        // The output in `/dev/shm` is removed first, because the links to it are in the job's folder. After the
        // rename, another process may delete this folder with the links.
        self.memory.forget(folder);
        fs::rename(folder.path(), &away)?;
        Ok(away)
    }

    /// Returns an unused path in the staging folder.
    pub(crate) fn fresh(&self) -> PathBuf {
        self.path.join(self.next.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// Returns the path of a folder, relative to the folder that contains the staging folders of all
    /// processes.
    fn name_of(&self, path: &Path) -> String {
        let parts = [self.path.file_name(), path.file_name()];
        parts.into_iter().flatten().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.forget_ahead();
        // The staging folder of a dead process may still be locked for a moment: by a child that has not
        // executed its program yet. So this sweep may find folders that earlier sweeps have left.
        let _left_for_the_next = self.path.parent().map(sweep);
        // The folders of jobs that the supervisor has not taken yet may still be here. The next process that
        // opens the jobs folder removes them. The last process also removes the parent folders.
        self.memory.leave();
        let empty = |path: &Path| fs::remove_dir(path).is_ok();
        let _last = self.path.ancestors().take(3).all(empty);
    }
}

impl Staged {
    /// Returns the name by which the supervisor finds the folder.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the job's stdin if the stdin is short. Returns `None` for an empty stdin, and for a long stdin, which is
    /// a file in the job's folder.
    pub(crate) fn stdin(&self) -> Option<Input> {
        (!self.stdin.is_empty()).then(|| Input(self.stdin.expose().to_vec()))
    }

    /// Moves the folder to the final path `place`. Fails if a folder exists there.
    pub(crate) fn put(self, place: &JobFolder) -> io::Result<()> {
        renameat_with(CWD, self.folder.path(), CWD, place.path(), RenameFlags::NOREPLACE)?;
        self.give();
        Ok(())
    }

    /// Writes the end of a job that was never started, and moves its folder to the final path `place`.
    pub(crate) fn end_unstarted(self, end: End, place: &JobFolder) -> io::Result<()> {
        let end_at = fs::metadata(self.folder.record())?.len();
        Ending::unstarted(end).write(&self.folder, end_at, false)?;
        self.put(place)
    }

    /// Marks the folder as taken, so that dropping this value does not remove the folder.
    pub(crate) fn give(mut self) {
        self.taken = true;
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.taken {
            let _left_for_the_sweep = fs::remove_dir_all(self.folder.path());
        }
    }
}

/// Removes the staging folders of dead processes. A dead process may be a supervisor that created prewarmed
/// sandboxes in its staging folder. If the supervisor died while it created a sandbox, the sandbox may still run.
/// So the function kills the processes of such sandboxes before it removes a folder.
fn sweep(root: &Path) -> io::Result<()> {
    for name in entries(root)? {
        let path = root.join(name);
        match File::open(&path) {
            Ok(folder) if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() => {
                if !entries(&path)?.is_empty() {
                    procfs::end_marked(|mark| mark.starts_with(&path))?;
                }
                remove_tree(&path)?;
            }
            Ok(_alive) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Creates a folder and locks it. Returns `None` if another process has locked or removed the folder first.
fn locked(path: &Path) -> io::Result<Option<File>> {
    folder_builder().recursive(true).create(path)?;
    let lock = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let is_ours = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() && path.exists();
    Ok(is_ours.then_some(lock))
}

fn record(
    job: &Job,
    place: &JobFolder,
    environment: JobEnvironment,
    volumes: &BTreeMap<String, String>,
) -> JobRecord {
    JobRecord {
        version: Version,
        program: job.program.clone(),
        args: job.args.clone(),
        env: variables(job, place, &environment, volumes),
        stdin: job.stdin.len() > SHORT,
        outputs: job.outputs.clone(),
        limits: job.limits.clone(),
        labels: job.labels.clone(),
        owner: job.owner.clone(),
        on_owner_death: job.on_owner_death,
        confinement: environment.confinement,
        sandbox: environment.sandbox,
    }
}

fn variables(
    job: &Job,
    place: &JobFolder,
    environment: &JobEnvironment,
    volumes: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (home, tmp) = match environment.sandbox {
        Some(_) => (WORK.to_owned(), TMP.to_owned()),
        None => (text(&place.work()), text(&place.tmp())),
    };
    let paths = job.path_env.iter().map(|(name, path)| (name.clone(), format!("{home}/{path}")));
    let paths: BTreeMap<_, _> = paths.collect();
    let given = [("PATH", PATH.to_owned()), ("LANG", "C.UTF-8".to_owned()), ("HOME", home), ("TMPDIR", tmp)];
    let mut env: BTreeMap<_, _> = given.map(|(name, value)| (name.to_owned(), value)).into();
    env.extend(environment.env.clone());
    env.extend(job.env.clone());
    env.extend(paths);
    env.insert(MARK.to_owned(), text(place.path()));
    env.extend(volumes.clone());
    env
}

fn fill(folder: &JobFolder, record: &JobRecord, job: &Job) -> Result<(), RuntimeError> {
    if record.stdin {
        let path = folder.stdin();
        write(&path, 0o600, job.stdin.expose()).map_err(storage("write", &path))?;
    }
    for file in &job.files {
        let path = folder.work().join(file.path.as_path());
        place(file, &path).map_err(storage("write", &path))?;
    }
    for output in job.outputs.iter().filter(|output| output.kind == OutputKind::Folder) {
        let path = folder.work().join(output.path.as_path());
        folder_builder().recursive(true).create(&path).map_err(storage("make", &path))?;
    }
    let path = folder.record();
    line(record).and_then(|json| write(&path, 0o600, &json)).map_err(storage("write", &path))
}

fn place(file: &InputFile, path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        folder_builder().recursive(true).create(parent)?;
    }
    write(path, file.mode, file.content.expose())
}

/// Writes a file with exactly this mode, independent of the umask.
fn write(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let mut file = create(path, mode)?;
    if mode & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.write_all(bytes)
}

fn folder_builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}
