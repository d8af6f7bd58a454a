//! Starts the main process of a job.
//!
//! The child sets itself up between fork and exec: a session of its own, death with the supervisor, the working
//! folder. It then calls `execve` itself: what the standard library calls (`execvp`) runs a file of no known format
//! with `/bin/sh`, which hides from people that their script has no `#!` line, on this host only.

use std::{
    ffi::CString,
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStringExt, process::CommandExt},
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    ptr,
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal, setsid, umask},
};
use tokio::time::sleep;

use crate::{
    StartFailure,
    process::{layout::JobFolder, record::JobRecord, supervisor::program},
};

/// Starts a job's main process, with its outputs as pipes.
pub(crate) async fn start(folder: &JobFolder, record: &JobRecord) -> Result<Child, StartFailure> {
    let work =
        rustix::fs::open(folder.work(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|_| StartFailure::NoWorkingFolder)?;
    let program = program::find(folder, record)?;
    let image = Image::new(program.clone(), record)?;
    let stdin = stdin(folder, record).map_err(|error| StartFailure::Other(error.to_string()))?;
    spawn_when_written(image, work, stdin)
        .await
        .map_err(|error| program::why_not(folder, record, &program, &error))
}

/// Opens what the job reads. It is taken out of the folder at once: the job may be kept for long, and secrets need not.
fn stdin(folder: &JobFolder, record: &JobRecord) -> io::Result<Stdio> {
    if !record.stdin {
        return Ok(Stdio::null());
    }
    let path = folder.stdin();
    let file = File::open(&path)?;
    fs::remove_file(path)?;
    Ok(file.into())
}

/// Starts it, and tries again for a moment while somebody has the program open for writing: a program that embeds
/// us may start processes of its own, which for an instant hold whatever it had open, such as the script it was
/// about to hand to us.
async fn spawn_when_written(image: Image, work: OwnedFd, stdin: Stdio) -> io::Result<Child> {
    let mut command = command(image, work, stdin);
    for _ in 0..20 {
        match command.spawn() {
            Err(error) if error.raw_os_error() == Some(Errno::TXTBSY.raw_os_error()) => {
                sleep(Duration::from_millis(5)).await;
            }
            result => return result,
        }
    }
    command.spawn()
}

fn command(image: Image, work: OwnedFd, stdin: Stdio) -> Command {
    let supervisor = getpid();
    // The child replaces itself with the image; this name is never looked at.
    let mut command = Command::new("job");
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[expect(unsafe_code, reason = "a child can be set up only between fork and exec")]
    // SAFETY: between fork and exec only calls that are safe in a signal handler may be made, and nothing may be
    // allocated. `become_job` makes system calls on values that were made before the fork.
    unsafe {
        command.pre_exec(move || Err(become_job(&image, &work, supervisor)));
    }
    command
}

/// Turns the child into the job; returns only with the reason why it couldn't.
fn become_job(image: &Image, work: &OwnedFd, supervisor: Pid) -> io::Error {
    match prepare(work, supervisor) {
        Ok(()) => image.execute(),
        Err(errno) => errno.into(),
    }
}

fn prepare(work: &OwnedFd, supervisor: Pid) -> rustix::io::Result<()> {
    setsid()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before the line above; then nobody would tell.
    if getppid() != Some(supervisor) {
        return Err(Errno::SRCH);
    }
    umask(Mode::from_raw_mode(0o022));
    rustix::process::fchdir(work.as_fd())
}

/// What `execve` takes.
struct Image {
    path: CString,
    /// The texts that the two tables point into.
    _texts: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
}

impl Image {
    fn new(path: PathBuf, record: &JobRecord) -> Result<Self, StartFailure> {
        let text =
            |bytes: Vec<u8>| CString::new(bytes).map_err(|error| StartFailure::Other(error.to_string()));
        let path = text(path.into_os_string().into_vec())?;
        let argv =
            [&record.program].into_iter().chain(&record.args).map(|arg| text(arg.clone().into_bytes()));
        let argv = argv.collect::<Result<Vec<_>, _>>()?;
        let envp = record.env.iter().map(|(name, value)| text(format!("{name}={value}").into_bytes()));
        let envp = envp.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            path,
            argv: table(&argv),
            envp: table(&envp),
            _texts: argv.into_iter().chain(envp).collect(),
        })
    }

    /// Replaces this process with the image; returns only with the reason why it couldn't.
    fn execute(&self) -> io::Error {
        #[expect(unsafe_code, reason = "`std` has no plain execve")]
        // SAFETY: the path is a C string; both tables end with a null pointer, and what they point to lives in
        // `_texts`, whose buffers stay where they are when the vector that holds them is moved.
        unsafe {
            libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr());
        }
        io::Error::last_os_error()
    }
}

#[expect(unsafe_code, reason = "raw pointers are not sent between threads by default")]
// SAFETY: the pointers lead into the texts that are sent along, and nobody changes these.
unsafe impl Send for Image {}

#[expect(unsafe_code, reason = "raw pointers are not shared between threads by default")]
// SAFETY: as above: nothing is ever changed.
unsafe impl Sync for Image {}

fn table(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}
