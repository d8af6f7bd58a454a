//! Starts the main process of a job.
//!
//! The child sets itself up between fork and exec: a new session, death with the supervisor, the working
//! folder. It then calls `execve` itself. The standard library calls `execvp`, which runs a file of unknown
//! format with `/bin/sh`. That would hide a missing `#!` line, on this host only.

use std::{
    ffi::{CString, NulError},
    fs::{self, File},
    io::{self, Seek, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::PathBuf,
    ptr,
    time::Duration,
};

use rustix::{
    fs::{MemfdFlags, Mode, OFlags, memfd_create},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{
        Pid, Resource, Rlimit, Signal, getpid, getppid, set_parent_process_death_signal, setrlimit, setsid,
        umask,
    },
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};
use tokio::time::sleep;

use crate::{
    StartFailure,
    cgroup::{Controller, Entrance, Group},
    confine::{self, Prepared},
    process::{
        layout::JobFolder,
        record::JobRecord,
        supervisor::{
            Context,
            fork::{self, Child, Failed, Stack},
            program::{self, View},
            room::{self, Room},
        },
    },
    sandbox::plan::WORK_FOLDER,
};

/// A started main process.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) pid: i32,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Starts a job's main process in its group, with pipes for its output. `input` is its stdin, unless that is
/// in the folder. `group` becomes `None` if the kernel could not use the group and the job needs none.
pub(crate) async fn start(
    folder: &JobFolder,
    record: &JobRecord,
    input: Option<Vec<u8>>,
    room: Option<&Room>,
    group: &mut Option<Group>,
    context: &Context,
) -> Result<Started, StartFailure> {
    let work =
        rustix::fs::open(folder.work(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|_| StartFailure::NoWorkingFolder)?;
    let view = View::of(folder, room);
    let program = program::find(&view, record)?;
    let image = Image::new(program.clone(), record)?;
    let other = |error: io::Error| StartFailure::Other(error.to_string());
    let stdin = stdin(folder, record, input).map_err(other)?;
    let (stdout, stdout_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| other(errno.into()))?;
    let (stderr, stderr_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| other(errno.into()))?;
    let setting = match room {
        None => Setting::Host { folder: Some(work), supervisor: getpid() },
        Some(_) => Setting::Room,
    };
    let streams = [stdin, stdout_end, stderr_end];
    let own = own_folders(folder, record);
    let confinement = record.confinement.prepare(&own).map_err(other)?;
    let open_files = record.limits.open_files;
    let launch = Launch { image, stdio: streams, extra: Vec::new(), setting, confinement, open_files };
    let mut started = start_when_written(&launch, room, group.as_ref()).await;
    if let (Err(Failed::Group(_)), true) = (&started, Controller::needed(&record.limits).is_empty())
        && let Some(unusable) = group.take()
    {
        context.groups.give_up(unusable);
        started = start_when_written(&launch, room, None).await;
    }
    match started {
        Ok(pid) => Ok(Started { pid, stdout, stderr }),
        Err(Failed::Group(error)) => {
            Err(other(io::Error::other(format!("it can't be put into its control group: {error}"))))
        }
        Err(Failed::Other(error)) => Err(program::why_not(&view, record, &program, &error)),
    }
}

/// Returns the folders that a job may always write to.
fn own_folders(folder: &JobFolder, record: &JobRecord) -> Vec<PathBuf> {
    let volumes = record.env.iter().filter(|(name, _)| name.starts_with("WINDLASS_VOLUME_"));
    [folder.work(), folder.tmp()].into_iter().chain(volumes.map(|(_, path)| PathBuf::from(path))).collect()
}

/// Opens the job's stdin. It is deleted from the folder at once, since the folder may be kept for long and
/// stdin may hold secrets.
fn stdin(folder: &JobFolder, record: &JobRecord, input: Option<Vec<u8>>) -> io::Result<OwnedFd> {
    if let Some(input) = input {
        let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
        file.write_all(&input)?;
        file.rewind()?;
        return Ok(file.into());
    }
    if !record.stdin {
        return File::open("/dev/null").map(OwnedFd::from);
    }
    let path = folder.stdin();
    let file = File::open(&path)?;
    fs::remove_file(path)?;
    Ok(file.into())
}

/// Starts the child, and retries for a short time while the program is open for writing. An embedding program
/// may fork processes of its own. For an instant these hold all its open descriptors, such as that of the
/// script that it just wrote.
async fn start_when_written(
    launch: &Launch,
    room: Option<&Room>,
    group: Option<&Group>,
) -> Result<i32, Failed> {
    let entrance = group.map_or(Ok(Entrance::default()), Group::entrance).map_err(Failed::Group)?;
    // Not cached between jobs: the memory is only mapped, and a job is started once.
    let mut stack = Stack::default();
    let mut start = || match room {
        None => fork::start(launch, &entrance, &mut stack),
        Some(room) => room.start(launch, &entrance, &mut stack),
    };
    for _ in 0..20 {
        match start() {
            Err(Failed::Other(error)) if error.raw_os_error() == Some(Errno::TXTBSY.raw_os_error()) => {
                sleep(Duration::from_millis(5)).await;
            }
            result => return result,
        }
    }
    start()
}

/// The parameters that a child needs to become the job, prepared before the fork.
pub(crate) struct Launch {
    pub(crate) image: Image,
    /// stdin, stdout, stderr.
    pub(crate) stdio: [OwnedFd; 3],
    /// Further descriptors, numbered from 3 on in the child. Here their numbers are above all of those.
    pub(crate) extra: Vec<OwnedFd>,
    pub(crate) setting: Setting,
    pub(crate) confinement: Prepared,
    /// Maximum number of open files.
    pub(crate) open_files: Option<u64>,
}

/// The environment of a child.
pub(crate) enum Setting {
    /// On the host, as a child of the supervisor, in this folder.
    Host { folder: Option<OwnedFd>, supervisor: Pid },
    /// In a room, which the child has entered.
    Room,
}

#[expect(unsafe_code, reason = "a child can be set up only between its making and its program")]
// SAFETY: `run` only makes system calls on values that were prepared before.
unsafe impl Child for Launch {
    /// Turns the child into the job; returns only on an error.
    fn run(&self) -> Result<(), Errno> {
        self.prepare()?;
        Err(self.image.execute())
    }
}

impl Launch {
    fn prepare(&self) -> rustix::io::Result<()> {
        setsid()?;
        umask(Mode::from_raw_mode(0o022));
        match &self.setting {
            Setting::Host { folder, supervisor } => {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // The supervisor may have died before the line above; then no death signal would come.
                if getppid() != Some(*supervisor) {
                    return Err(Errno::SRCH);
                }
                if let Some(folder) = folder {
                    rustix::process::fchdir(folder.as_fd())?;
                }
            }
            Setting::Room => {
                // By its path in the room: a descriptor from outside would lead out of the room.
                rustix::process::chdir(WORK_FOLDER)?;
                confine::leave_keyring();
                room::give_up_rights()?;
                // After the calls that clear it. If the supervisor has died before, the room dies with it.
                set_parent_process_death_signal(Some(Signal::KILL))?;
            }
        }
        let [stdin, stdout, stderr] = &self.stdio;
        dup2_stdin(stdin)?;
        dup2_stdout(stdout)?;
        dup2_stderr(stderr)?;
        for (number, file) in (3..).zip(&self.extra) {
            hand_over(file, number)?;
        }
        if let Some(files) = self.open_files {
            setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum: Some(files) })?;
        }
        fork::reset_signals();
        self.confinement.put_on()
    }
}

/// Gives a child a descriptor under this number. The originals are closed when it executes its program.
fn hand_over(file: &OwnedFd, number: i32) -> rustix::io::Result<()> {
    #[expect(unsafe_code, reason = "rustix copies descriptors only to numbers that it owns")]
    // SAFETY: the child has a descriptor table of its own, and no code uses the replaced number after this.
    // All `extra` descriptors have numbers above those that are assigned.
    let copied = unsafe { libc::dup3(file.as_raw_fd(), number, 0) };
    if copied == number { Ok(()) } else { Err(Errno::BADF) }
}

/// The arguments of `execve`.
pub(crate) struct Image {
    path: CString,
    /// Texts that the two tables point to.
    _texts: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
}

impl Image {
    fn new(path: PathBuf, record: &JobRecord) -> Result<Self, StartFailure> {
        let argv = [&record.program].into_iter().chain(&record.args).cloned();
        let envp = record.env.iter().map(|(name, value)| format!("{name}={value}"));
        Self::of(path.into_os_string().into_vec(), argv, envp)
            .map_err(|error| StartFailure::Other(error.to_string()))
    }

    /// Creates the arguments from a path, arguments and an environment.
    ///
    /// # Errors
    /// When one of them contains a NUL byte.
    pub(crate) fn of(
        path: impl Into<Vec<u8>>,
        argv: impl IntoIterator<Item = String>,
        envp: impl IntoIterator<Item = String>,
    ) -> Result<Self, NulError> {
        let path = CString::new(path)?;
        let argv = argv.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>()?;
        let envp = envp.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            path,
            argv: table(&argv),
            envp: table(&envp),
            _texts: argv.into_iter().chain(envp).collect(),
        })
    }

    /// Replaces this process with the image; returns only on an error.
    fn execute(&self) -> Errno {
        #[expect(unsafe_code, reason = "`std` has no plain execve")]
        // SAFETY: the path is a C string; both tables end with a null pointer. They point to buffers owned by
        // `_texts`, which stay in place when the vector is moved.
        unsafe {
            libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr());
        }
        Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
    }
}

fn table(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}
