//! A started program ([`Running`]), and the result of its run ([`Run`]).

use std::{
    fmt, fs,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{Child, ExitStatus},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{env::until, normal::Normal};

/// A program that was started.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    normal: Normal,
}

impl Running {
    pub(crate) fn new(child: Child, stdout: PathBuf, stderr: PathBuf, normal: Normal) -> Self {
        Self { child, stdout, stderr, normal }
    }

    /// Waits until the program exits.
    pub(crate) fn end(mut self) -> Run {
        let mut status = None;
        until("windlass ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        Run {
            status: status.unwrap(),
            stdout: String::from_utf8(fs::read(&self.stdout).unwrap()).unwrap(),
            stderr: String::from_utf8(fs::read(&self.stderr).unwrap()).unwrap(),
            normal: self.normal.clone(),
        }
    }

    /// Tells whether the program has exited by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Returns the standard output so far.
    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap()
    }

    /// Returns the standard error so far.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills the program, and returns its result so far.
    pub(crate) fn kill(mut self) -> Run {
        self.child.kill().unwrap();
        self.end()
    }
}

/// The result of a program run. Its text form is the exit code and the normalized output.
pub(crate) struct Run {
    status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    normal: Normal,
}

impl Run {
    /// Returns the exit code; `None` if a signal killed the program.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Parses the standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// Returns the normalized standard output, for a snapshot.
    pub(crate) fn out(&self) -> String {
        self.normal.text(&self.stdout)
    }

    fn end(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => code.to_string(),
            (None, Some(signal)) => format!("by signal {signal}"),
            (None, None) => "unknown".to_owned(),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit {}", self.end())?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let text = self.normal.text(text);
            if !text.is_empty() {
                write!(f, "----- {name} -----\n{text}")?;
            }
        }
        Ok(())
    }
}
