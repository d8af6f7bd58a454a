//! Finds the program of a job, and tells why a program can't be executed.

use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, CWD, FileType, Mode, OFlags, ResolveFlags, access, openat, openat2};

use crate::{
    StartFailure,
    bwrap::plan::WORK,
    process::{layout::JobFolder, record::JobRecord, supervisor::sandbox::Sandbox},
    refusal::{Found, Refusal, refusal},
};

/// The file system as a job sees it.
pub(crate) struct View<'a> {
    /// Working folder, as the job sees it.
    work: PathBuf,
    /// Root of the sandbox in which the job runs. No link leads out of this root. `None` if the job runs on the
    /// host.
    root: Option<&'a OwnedFd>,
}

impl<'a> View<'a> {
    pub(crate) fn of(folder: &JobFolder, sandbox: Option<&'a Sandbox>) -> Self {
        match sandbox {
            None => Self { work: folder.work(), root: None },
            Some(sandbox) => Self { work: PathBuf::from(WORK), root: Some(&sandbox.root) },
        }
    }

    fn open(&self, path: &Path, flags: OFlags) -> Option<File> {
        let (path, flags) = (self.work.join(path), flags | OFlags::CLOEXEC);
        let file = match self.root {
            None => openat(CWD, path, flags, Mode::empty()),
            Some(root) => {
                let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
                openat2(root, path, flags, Mode::empty(), within)
            }
        };
        file.ok().map(File::from)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        Some(rustix::fs::fstat(self.open(path, OFlags::PATH)?).ok()?.st_mode)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.mode(path).is_some_and(|mode| FileType::from_raw_mode(mode).is_file())
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.mode(path).is_some_and(|mode| FileType::from_raw_mode(mode).is_dir())
    }

    fn may_be_run(&self, path: &Path) -> bool {
        match self.root {
            None => access(self.work.join(path), Access::EXEC_OK).is_ok(),
            // In a sandbox, all files belong to the job's user, so the permission of the file's owner counts.
            Some(_) => self.mode(path).is_some_and(|mode| mode & 0o100 != 0),
        }
    }
}

/// Returns the path of a job's program file:
///
/// - If the program's name contains `/`, the name is a path. The function returns this path unchanged, so that a
///   script sees it in `$0`. A relative path starts at the job's working folder.
/// - Otherwise, the function looks for a file with this name in the folders of the job's own `PATH`, as `execvp`
///   does.
pub(crate) fn find(view: &View<'_>, record: &JobRecord) -> Result<PathBuf, StartFailure> {
    if record.program.contains('/') {
        return Ok(PathBuf::from(&record.program));
    }
    let candidates = || {
        let path = record.env.get("PATH").map_or("", String::as_str);
        let files = path.split(':').map(|dir| view.work.join(dir).join(&record.program));
        files.filter(|file| view.is_file(file))
    };
    candidates()
        .find(|file| view.may_be_run(file))
        .or_else(|| candidates().next())
        .ok_or_else(|| StartFailure::NotFound { program: record.program.clone() })
}

/// Returns the reason why a program could not be started. The function derives the reason from the kernel's
/// error and from the program's file.
pub(crate) fn why_not(view: &View<'_>, record: &JobRecord, path: &Path, error: &io::Error) -> StartFailure {
    let program = record.program.clone();
    let file = view.is_file(path).then(|| view.open(path, OFlags::RDONLY)).flatten();
    let found = Found::new(view.is_folder(path), file);
    match refusal(error, found, |interpreter| view.mode(Path::new(interpreter)).is_some()) {
        Refusal::NotFound => StartFailure::NotFound { program },
        Refusal::InterpreterNotFound(interpreter) => {
            StartFailure::InterpreterNotFound { program, interpreter }
        }
        Refusal::NotExecutable(why) => StartFailure::NotExecutable { program, why: why.to_owned() },
        Refusal::Other(why) => StartFailure::Other(why),
    }
}
