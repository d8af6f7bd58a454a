//! Starts the main process of a job.
//!
//! Between fork and exec, the child starts a new session, and enters the working folder. The child also asks the
//! kernel to kill it at the death of the supervisor. Then the child calls `execve` itself. The standard library
//! would call `execvp`, which runs a file of unknown format with `/bin/sh` and so hides a missing `#!` line. Each
//! runtime must report a missing `#!` line.

use std::{
    fs::{self, File},
    io::{self, Seek, Write},
    os::fd::OwnedFd,
    path::PathBuf,
    time::Duration,
};

use rustix::{
    fs::{MemfdFlags, Mode, OFlags, memfd_create},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::getpid,
};
use tokio::time::sleep;

use crate::{
    StartFailure,
    cgroup::{Controller, Entrance, Group},
    process::{
        layout::JobFolder,
        record::JobRecord,
        supervisor::{
            fork::{self, Failed, Stack},
            groups::Groups,
            launch::{ChildSetup, Image, Launch},
            program::{self, View},
            sandbox::Sandbox,
        },
    },
};

/// A started main process, with the read ends of the pipes for its output.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) pid: i32,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Starts a job's main process in the control group `group`, with pipes for its output. `input` is the job's stdin;
/// `None` if the stdin is empty or is a file in `folder`.
///
/// It may be impossible to start the process in the group. If the job has no limits that need a group, the function
/// then starts the process without a group, and sets `group` to `None`.
pub(crate) async fn start(
    folder: &JobFolder,
    record: &JobRecord,
    input: Option<Vec<u8>>,
    sandbox: Option<&Sandbox>,
    group: &mut Option<Group>,
    groups: &Groups,
) -> Result<Started, StartFailure> {
    let work =
        rustix::fs::open(folder.work(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|_| StartFailure::NoWorkingFolder)?;
    let view = View::of(folder, sandbox);
    let program = program::find(&view, record)?;
    let image = Image::new(program.clone(), record)?;
    let other = |error: io::Error| StartFailure::Other(error.to_string());
    let stdin = stdin(folder, record, input).map_err(other)?;
    let (stdout, stdout_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| other(errno.into()))?;
    let (stderr, stderr_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| other(errno.into()))?;
    let setup = match sandbox {
        None => ChildSetup::Host { folder: Some(work), supervisor: getpid() },
        Some(_) => ChildSetup::Sandbox,
    };
    let streams = [stdin, stdout_end, stderr_end];
    let own = own_folders(folder, record);
    let confinement = record.confinement.prepare(&own).map_err(other)?;
    let open_files = record.limits.open_files;
    let launch = Launch { image, stdio: streams, extra: Vec::new(), setup, confinement, open_files };
    let mut started = start_when_written(&launch, sandbox, group.as_ref()).await;
    if let (Err(Failed::Group(_)), true) = (&started, Controller::needed(&record.limits).is_empty())
        && let Some(unusable) = group.take()
    {
        groups.give_up(unusable);
        started = start_when_written(&launch, sandbox, None).await;
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

/// Opens the job's stdin. If the stdin is a file in the folder, the function deletes the file at once. The
/// folder may be kept for long, and stdin may hold secrets.
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

/// Starts the main process of a job. If the program's file is open for writing, retries for a short time.
///
/// The process that submits a job also writes the job's program to a file. If the submitter forks during the write, the
/// new process inherits the open file. The file then stays open for writing until the new process calls exec.
async fn start_when_written(
    launch: &Launch,
    sandbox: Option<&Sandbox>,
    group: Option<&Group>,
) -> Result<i32, Failed> {
    let entrance = group.map_or(Ok(Entrance::default()), Group::entrance).map_err(Failed::Group)?;
    // The stack is not kept for later jobs: its creation only maps memory, and a job is started once.
    let mut stack = Stack::default();
    let mut start = || match sandbox {
        None => fork::start(launch, &entrance, &mut stack),
        Some(sandbox) => sandbox.start(launch, &entrance, &mut stack),
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
