//! Writes the report, which consists of the output lines of this program.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{NO_EXIT_CODE, life::End};

/// Maximum number of output bytes that one line of the report contains. In base64, they are 16 000 characters. The log
/// of a container engine splits lines of more than 16 KiB.
pub(crate) const PIECE: usize = 12_000;

/// The writer of the report. The report consists of the output lines of this program (see `main.rs`). All clones of
/// a `Report` write to the same output, so each thread can use a clone.
#[derive(Clone)]
pub(crate) struct Report(Arc<Mutex<Out>>);

struct Out {
    stdout: io::Stdout,
    /// File in the job's volume that contains a copy of all lines. `None` if the file can't be created, or if the job
    /// ends when its client has gone (`kill` in `main.rs`). Such a job needs no copy.
    copy: Option<File>,
}

impl Report {
    /// Creates a report that is written to stdout, which the container engine reads.
    pub(crate) fn to_stdout() -> Self {
        Self(Arc::new(Mutex::new(Out { stdout: io::stdout(), copy: None })))
    }

    /// Also writes all further lines to a file. Without the file, the lines that are written while the
    /// container engine is down would be lost.
    pub(crate) fn copy_to(&mut self, path: &Path) {
        let copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).copy = copy.ok();
    }

    /// Writes a line to the report.
    pub(crate) fn say(&self, line: &str) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = format!("{line}\n");
        if let Some(copy) = &mut out.copy {
            let _full = copy.write_all(line.as_bytes());
        }
        // A write error means that the container engine has closed the pipe, so no reader is left.
        let _nobody = out.stdout.write_all(line.as_bytes()).and_then(|()| out.stdout.flush());
    }

    /// Writes a line that consists of `letter`, a space, and the bytes in base64. Example: `o aGkK`.
    pub(crate) fn say_bytes(&self, letter: &str, bytes: &[u8]) {
        self.say(&format!("{letter} {}", base64(bytes)));
    }

    /// Writes the last line of the report, and returns the exit code of this program.
    pub(crate) fn say_end(&self, end: &End, started: Option<u64>, totals: [u64; 2]) -> i32 {
        let (words, code) = match end {
            End::Status(status) => status_words(*status),
            End::TimedOut => ("timeout".to_owned(), NO_EXIT_CODE),
            End::Cancelled => ("cancelled".to_owned(), NO_EXIT_CODE),
            End::Orphaned => ("orphaned".to_owned(), NO_EXIT_CODE),
            End::Stopped => ("stopped".to_owned(), NO_EXIT_CODE),
            End::NotStarted(why) => (why.clone(), NO_EXIT_CODE),
        };
        let started = started.map_or_else(|| "-".to_owned(), |at| at.to_string());
        // The end is the last field of the line, so it may consist of several words.
        self.say(&format!("X {started} {} {} {} {words}", now(), totals[0], totals[1]));
        code
    }
}

fn status_words(status: i32) -> (String, i32) {
    let (signal, code) = (status & 0x7f, (status >> 8) & 0xff);
    // A shell exits with 137 when its child was killed.
    if matches!((signal, code), (9, _) | (0, 137)) && was_out_of_memory() {
        return ("memory".to_owned(), 137);
    }
    if signal == 0 { (format!("exit {code}"), code) } else { (format!("signal {signal}"), 128 + signal) }
}

/// Tells whether the kernel has killed a process of this container for lack of memory. The function works with both
/// versions of control groups.
fn was_out_of_memory() -> bool {
    ["/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"].iter().any(|path| {
        let counts = fs::read_to_string(path).unwrap_or_default();
        counts.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    })
}

/// Returns the time, in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Writes bytes as base64, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize] as char;
            text.push(if place > three.len() { '=' } else { letter });
        }
    }
    text
}
