//! Starts the main process of a job.
//!
//! The child sets itself up between fork and exec: a session of its own, death with the supervisor, the working
//! folder. It then calls `execve` itself: what the standard library calls (`execvp`) runs a file of no known format
//! with `/bin/sh`, which hides from people that their script has no `#!` line, on this host only.

use std::{
    ffi::CString,
    fs::{self, File},
    io::{self, Seek, Write},
    os::{
        fd::{AsFd, OwnedFd},
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
    process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal, setsid, umask},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};
use tokio::time::sleep;

use crate::{
    StartFailure,
    process::{
        layout::JobFolder,
        record::JobRecord,
        supervisor::{
            fork::{self, Child, Stack},
            program,
        },
    },
};

/// A started main process.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) pid: i32,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Starts a job's main process, with its outputs as pipes. `input` is what it reads, unless its folder has that.
pub(crate) async fn start(
    folder: &JobFolder,
    record: &JobRecord,
    input: Option<Vec<u8>>,
) -> Result<Started, StartFailure> {
    let work =
        rustix::fs::open(folder.work(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|_| StartFailure::NoWorkingFolder)?;
    let program = program::find(folder, record)?;
    let image = Image::new(program.clone(), record)?;
    let other = |error: io::Error| StartFailure::Other(error.to_string());
    let stdin = stdin(folder, record, input).map_err(other)?;
    let (stdout, stdout_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| other(errno.into()))?;
    let (stderr, stderr_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| other(errno.into()))?;
    let launch = Launch { image, work, stdio: [stdin, stdout_end, stderr_end], supervisor: getpid() };
    match start_when_written(&launch).await {
        Ok(pid) => Ok(Started { pid, stdout, stderr }),
        Err(error) => Err(program::why_not(folder, record, &program, &error)),
    }
}

/// Opens what the job reads. It is taken out of the folder at once: the job may be kept for long, and secrets need not.
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

/// Starts it, and tries again for a moment while somebody has the program open for writing: a program that embeds
/// us may start processes of its own, which for an instant hold whatever it had open, such as the script it was
/// about to hand to us.
async fn start_when_written(launch: &Launch) -> io::Result<i32> {
    // Not kept between jobs: it is mapped, not filled, and a job is started once.
    let mut stack = Stack::default();
    for _ in 0..20 {
        match fork::start(launch, 0, &mut stack) {
            Err(error) if error.raw_os_error() == Some(Errno::TXTBSY.raw_os_error()) => {
                sleep(Duration::from_millis(5)).await;
            }
            result => return result,
        }
    }
    fork::start(launch, 0, &mut stack)
}

/// All that a child needs to become the job, made before it is.
struct Launch {
    image: Image,
    work: OwnedFd,
    /// stdin, stdout, stderr
    stdio: [OwnedFd; 3],
    supervisor: Pid,
}

#[expect(unsafe_code, reason = "a child can be set up only between its making and its program")]
// SAFETY: `run` makes system calls on values that were made before, and nothing else.
unsafe impl Child for Launch {
    /// Turns the child into the job; returns only with the reason why it couldn't.
    fn run(&self) -> Errno {
        match self.prepare() {
            Ok(()) => self.image.execute(),
            Err(errno) => errno,
        }
    }
}

impl Launch {
    fn prepare(&self) -> rustix::io::Result<()> {
        setsid()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have died before the line above; then nobody would tell.
        if getppid() != Some(self.supervisor) {
            return Err(Errno::SRCH);
        }
        umask(Mode::from_raw_mode(0o022));
        rustix::process::fchdir(self.work.as_fd())?;
        let [stdin, stdout, stderr] = &self.stdio;
        dup2_stdin(stdin)?;
        dup2_stdout(stdout)?;
        dup2_stderr(stderr)?;
        fork::reset_signals();
        Ok(())
    }
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
    fn execute(&self) -> Errno {
        #[expect(unsafe_code, reason = "`std` has no plain execve")]
        // SAFETY: the path is a C string; both tables end with a null pointer, and what they point to lives in
        // `_texts`, whose buffers stay where they are when the vector that holds them is moved.
        unsafe {
            libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr());
        }
        Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
    }
}

fn table(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}
