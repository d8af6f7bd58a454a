//! The operations of the process runtime on the disk. They run on threads that may block.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, io::Errno};

use crate::{
    Found, Job, JobId, Outcome, Owner, RuntimeError, Volume,
    bwrap::plan::SandboxVolume,
    process::{
        groups,
        inspect::{self, FolderState},
        layout::{JobFolder, StateDir, entries, storage},
        options::ProcessOptions,
        record,
        staging::{JobEnvironment, Staged, Staging},
        wire::{Request, line},
    },
};

/// A text for people: the reason why a job is lost.
const LOST: &str = "its supervisor died before it ended";

/// The folders of one runtime.
#[derive(Debug)]
pub(crate) struct Disk {
    state: StateDir,
    volumes: PathBuf,
    staging: Staging,
}

impl Disk {
    /// Creates the jobs folder, and a staging folder in it. Removes the staging folders and the control groups of
    /// dead processes.
    pub(crate) fn open(options: &ProcessOptions) -> Result<Self, RuntimeError> {
        let path = absolute(&options.state_dir)?;
        let volumes = absolute(&options.volumes_dir)?;
        make(&path).map_err(storage("make", &path))?;
        let state = StateDir::new(path);
        groups::sweep(&state).map_err(storage("end the control groups noted in", &state.control()))?;
        Ok(Self { staging: Staging::open(&state)?, state, volumes })
    }

    pub(crate) fn state(&self) -> &StateDir {
        &self.state
    }

    pub(crate) fn folder(&self, id: &JobId) -> JobFolder {
        self.state.job(id)
    }

    pub(crate) fn inspect(&self, id: &JobId) -> Result<FolderState, RuntimeError> {
        let folder = self.folder(id);
        inspect::inspect(&folder).map_err(storage("look at", folder.path()))
    }

    /// Creates the folder of a job in the staging folder. Returns `None` if a job with this id exists
    /// already.
    pub(crate) fn stage(
        &self,
        id: &JobId,
        job: &Job,
        mut environment: JobEnvironment,
    ) -> Result<Option<Staged>, RuntimeError> {
        if self.inspect(id)? != FolderState::Absent {
            return Ok(None);
        }
        let mut volumes = BTreeMap::new();
        for volume in &job.volumes {
            let host = self.volume(volume)?;
            let seen = match &mut environment.sandbox {
                Some(sandbox) => {
                    sandbox.volumes.push(SandboxVolume { host, path: volume.path.clone() });
                    volume.path.clone()
                }
                None => host.to_string_lossy().into_owned(),
            };
            volumes.insert(volume.variable(), seen);
        }
        self.staging.stage(id, job, &self.state, environment, &volumes).map(Some)
    }

    /// Creates the folder of a job that can't be started, and records the reason `why` in it. Callers that look up the
    /// job then find a job that has ended with [`End::NotStarted`](crate::End::NotStarted).
    #[cfg(feature = "sandbox")]
    pub(crate) fn put_unstarted(
        &self,
        id: &JobId,
        job: &Job,
        why: crate::StartFailure,
    ) -> Result<(), RuntimeError> {
        let Some(staged) = self.stage(id, job, JobEnvironment::default())? else { return Ok(()) };
        let place = self.folder(id);
        match staged.end_unstarted(crate::End::NotStarted(why), &place) {
            // Another submission of the same id was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            put => put.map_err(storage("make", place.path())),
        }
    }

    /// Returns the folder of a volume. Creates the folder if it does not exist.
    fn volume(&self, volume: &Volume) -> Result<PathBuf, RuntimeError> {
        let path = self.volumes.join(volume.name.as_str());
        make(&path).map_err(storage("make the volume", &path))?;
        Ok(path)
    }

    pub(crate) fn find(&self, id: &JobId) -> Result<Found, RuntimeError> {
        match self.inspect(id)? {
            FolderState::Absent => Ok(Found::Never),
            FolderState::Running => Ok(Found::Running),
            FolderState::Ended(_) => {
                self.outcome(id).map(|outcome| outcome.map_or(Found::Never, |o| Found::Ended(Box::new(o))))
            }
            FolderState::Gone => self.end_leftovers(id).map(|()| Found::Gone),
        }
    }

    /// Returns the outcome of a job; `None` as long as the job runs.
    pub(crate) fn outcome(&self, id: &JobId) -> Result<Option<Outcome>, RuntimeError> {
        let folder = self.folder(id);
        let outcome = match self.inspect(id)? {
            FolderState::Absent => return Err(RuntimeError::UnknownJob { id: id.clone() }),
            FolderState::Running => return Ok(None),
            FolderState::Ended(ending) => inspect::outcome(&folder, &ending),
            FolderState::Gone => {
                self.end_leftovers(id)?;
                inspect::lost(&folder, LOST)
            }
        };
        outcome.map(Some).map_err(storage("read the outcome in", folder.path()))
    }

    fn end_leftovers(&self, id: &JobId) -> Result<(), RuntimeError> {
        groups::sweep(&self.state)
            .map_err(storage("end the control groups noted in", &self.state.control()))?;
        inspect::end_leftovers(&self.folder(id)).map_err(storage("list processes in", Path::new("/proc")))
    }

    /// Creates the folders of a future job in advance, so that the submission of the job takes less time.
    pub(crate) fn make_ahead(&self) {
        self.staging.make_ahead();
    }

    /// Removes the folders that were created for future jobs.
    pub(crate) fn forget_ahead(&self) {
        self.staging.forget_ahead();
    }

    /// Moves the folder of an ended job into the staging folder by one rename, and returns its new path.
    /// Returns `None` if no job with this id has ended.
    pub(crate) fn put_away_ended(&self, id: &JobId) -> Result<Option<PathBuf>, RuntimeError> {
        match self.inspect(id)? {
            FolderState::Ended(_) => self.move_away(id),
            FolderState::Absent | FolderState::Running | FolderState::Gone => Ok(None),
        }
    }

    /// Moves the folder of an ended or lost job into the staging folder, and returns its new path. Returns
    /// `None` if no job has this id.
    pub(crate) fn put_away(&self, id: &JobId) -> Result<Option<PathBuf>, RuntimeError> {
        match self.inspect(id)? {
            FolderState::Absent => return Ok(None),
            FolderState::Running => return Err(RuntimeError::StillRunning { id: id.clone() }),
            FolderState::Ended(_) => {}
            FolderState::Gone => self.end_leftovers(id)?,
        }
        self.move_away(id)
    }

    fn move_away(&self, id: &JobId) -> Result<Option<PathBuf>, RuntimeError> {
        let folder = self.folder(id);
        match self.staging.take_away(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            moved => moved.map(Some).map_err(storage("remove", folder.path())),
        }
    }

    pub(crate) fn list(&self, owner: &Owner) -> Result<Vec<JobId>, RuntimeError> {
        let mut own = Vec::new();
        for id in self.state.jobs().map_err(storage("list", self.state.path()))? {
            if self.is_of(&id, owner)? {
                own.push(id);
            }
        }
        Ok(own)
    }

    /// Tells whether a job belongs to `owner`. Returns false if `job.json` is not valid JSON, for example because a
    /// power cut has truncated it. Returns an error if `job.json` can't be read for another reason, or if a later
    /// version of this program has written it.
    fn is_of(&self, id: &JobId, owner: &Owner) -> Result<bool, RuntimeError> {
        let folder = self.folder(id);
        match record::read(&folder) {
            Ok(record) => Ok(record.is_some_and(|record| record.job.owner == *owner)),
            Err(error) if error.kind() == ErrorKind::InvalidData => Ok(false),
            Err(error) => Err(storage("read", &folder.record())(error)),
        }
    }

    /// Sends a request about one job to every supervisor. Only the supervisor that runs this job acts on the request.
    pub(crate) fn ask_all(&self, request: &Request) -> Result<(), RuntimeError> {
        self.each_control(|mut pipe| pipe.write_all(&line(request)))
    }

    pub(crate) fn tidy(&self) -> Result<(), RuntimeError> {
        self.each_control(|_| Ok(()))?;
        groups::sweep(&self.state)
            .map_err(storage("end the control groups noted in", &self.state.control()))?;
        let _not_empty = fs::remove_dir(self.state.control());
        Ok(())
    }

    /// Opens the named pipe of each living supervisor, and calls `visit` with the opened pipe. Removes the pipes of
    /// dead supervisors.
    fn each_control(&self, mut visit: impl FnMut(File) -> io::Result<()>) -> Result<(), RuntimeError> {
        let control = self.state.control();
        let names = entries(&control).map_err(storage("list", &control))?;
        // A name that starts with a dot belongs to a pipe that is still being created, or to a list of control groups
        // (see [`groups::note`]).
        for path in names.iter().filter(|name| !name.starts_with('.')).map(|name| control.join(name)) {
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            match File::options().write(true).custom_flags(flags).open(&path).and_then(&mut visit) {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
                    let _somebody_else_did = fs::remove_file(&path);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                visited => visited.map_err(storage("write to", &path))?,
            }
        }
        Ok(())
    }
}

/// Returns the absolute form of a path, which is valid in any working folder. Returns an error if the absolute path
/// is not UTF-8, because environment variables of jobs contain paths below this path.
fn absolute(path: &Path) -> Result<PathBuf, RuntimeError> {
    let absolute = std::path::absolute(path).map_err(storage("find", path))?;
    if absolute.to_str().is_none() {
        return Err(storage("use", path)(io::Error::other("its path is not UTF-8")));
    }
    Ok(absolute)
}

fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
