//! The set-up of a child between fork and exec, and the arguments of its `execve`.

use std::{
    ffi::{CString, NulError},
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::PathBuf,
    ptr,
};

use rustix::{
    fs::Mode,
    io::Errno,
    process::{
        Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit, setsid, umask,
    },
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};

use crate::{
    StartFailure,
    bwrap::plan::WORK_FOLDER,
    confine::{self, Prepared},
    process::{
        record::JobRecord,
        supervisor::fork::{self, Child},
    },
    refusal::OPEN_FILES,
};

/// The parameters with which a child becomes the main process of a job. They are prepared before the fork.
pub(crate) struct Launch {
    pub(crate) image: Image,
    /// Descriptors of stdin, stdout and stderr.
    pub(crate) stdio: [OwnedFd; 3],
    /// Further descriptors for the child. The child copies the first of them to the number 3, the second to the
    /// number 4, and so on. The originals have higher numbers than all copies, so no copy overwrites an original.
    pub(crate) extra: Vec<OwnedFd>,
    pub(crate) setup: ChildSetup,
    pub(crate) confinement: Prepared,
    /// Maximum number of open files.
    pub(crate) open_files: Option<u64>,
}

/// The set-up of a child: on the host, or in a sandbox.
pub(crate) enum ChildSetup {
    /// The child runs on the host. `supervisor` is the process id of its parent. The child changes its working
    /// folder to `folder`. If `folder` is `None`, the child keeps the supervisor's working folder.
    Host { folder: Option<OwnedFd>, supervisor: Pid },
    /// The child runs in a sandbox, which it has already entered.
    Sandbox,
}

#[expect(unsafe_code, reason = "a child can be set up only between its making and its program")]
// SAFETY: `run` only makes system calls on values that were prepared before.
unsafe impl Child for Launch {
    /// Turns the child into the main process of the job. Returns only after an error.
    fn run(&self) -> Result<(), Errno> {
        self.prepare()?;
        Err(self.image.execute())
    }
}

impl Launch {
    fn prepare(&self) -> rustix::io::Result<()> {
        setsid()?;
        umask(Mode::from_raw_mode(0o022));
        match &self.setup {
            ChildSetup::Host { folder, supervisor } => {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // The supervisor may have died before the call above. Then no death signal will come.
                if getppid() != Some(*supervisor) {
                    return Err(Errno::SRCH);
                }
                if let Some(folder) = folder {
                    rustix::process::fchdir(folder.as_fd())?;
                }
            }
            ChildSetup::Sandbox => {
                // The folder is given by its path in the sandbox. A descriptor from outside would lead out of
                // the sandbox.
                rustix::process::chdir(WORK_FOLDER)?;
                confine::leave_keyring();
                give_up_rights()?;
                // The death signal is set after the calls that clear it. If the supervisor has already died,
                // the sandbox ends anyway.
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
            let limit = Rlimit { current: Some(files), maximum: Some(files) };
            setrlimit(Resource::Nofile, limit).map_err(|_| Errno::from_raw_os_error(OPEN_FILES))?;
        }
        fork::reset_signals();
        self.confinement.put_on()
    }
}

/// Duplicates the file descriptor `file` in a child. The duplicate gets the number `number`, and the program of the
/// child inherits it. The original is closed when the child executes its program.
fn hand_over(file: &OwnedFd, number: i32) -> rustix::io::Result<()> {
    #[expect(unsafe_code, reason = "rustix copies descriptors only to numbers that it owns")]
    // SAFETY: the child has a descriptor table of its own, and no code uses the replaced number after this.
    // All `extra` descriptors have numbers above those that are assigned.
    let copied = unsafe { libc::dup3(file.as_raw_fd(), number, 0) };
    if copied == number { Ok(()) } else { Err(Errno::BADF) }
}

/// The arguments of `execve`: a program with its arguments and its environment.
pub(crate) struct Image {
    path: CString,
    /// Texts to which the pointers in `argv` and `envp` refer.
    _texts: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
}

impl Image {
    pub(crate) fn new(path: PathBuf, record: &JobRecord) -> Result<Self, StartFailure> {
        let argv = [&record.program].into_iter().chain(&record.args).cloned();
        let envp = record.env.iter().map(|(name, value)| format!("{name}={value}"));
        Self::of(path.into_os_string().into_vec(), argv, envp)
            .map_err(|error| StartFailure::Other(error.to_string()))
    }

    /// Converts the arguments of `execve` to C strings: the path of a program, its arguments and its environment.
    ///
    /// # Errors
    /// When one of these texts contains a NUL byte.
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

    /// Replaces this process by the program. Returns only after an error.
    fn execute(&self) -> Errno {
        #[expect(unsafe_code, reason = "`std` has no plain execve")]
        // SAFETY: the path is a C string; both tables end with a null pointer. The tables point to buffers
        // owned by `_texts`, which stay in place when the vector is moved.
        unsafe {
            libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr());
        }
        Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
    }
}

fn table(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

/// Removes all capabilities of this process permanently, and disables its core dumps. Each child that has entered a
/// sandbox calls this function, even if the child runs as an ordinary user.
pub(crate) fn give_up_rights() -> Result<(), Errno> {
    /// Latest version of the `capset` call. In this version, each set of capabilities has 64 bits: two numbers of 32
    /// bits each.
    const VERSION: u32 = 0x2008_0522;
    let header = [VERSION, 0];
    let none = [0u32; 6];
    #[expect(unsafe_code, reason = "rustix has no call that empties the bounding set in one go")]
    // SAFETY: plain numbers and two arrays of the size that the kernel reads.
    unsafe {
        for capability in 0..64 {
            // The call fails after the last capability that the kernel knows.
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                break;
            }
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) != 0
        {
            return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::PERM));
        }
        let core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const core);
    }
    Ok(())
}
