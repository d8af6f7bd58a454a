//! Resource limits of a job.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Resource limits of a job. Every runtime enforces the time limit and the output limits. Each of the other
/// limits needs a capability of the runtime ([`Capability`](crate::Capability)). A runtime refuses a job with
/// a limit that it can't enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum run time, counted from the start, not from the submission. Default: one hour.
    pub timeout: Duration,
    /// Time between SIGTERM and SIGKILL for a job that exceeded its timeout. Default: 5 seconds.
    pub grace: Duration,
    /// Maximum number of bytes of stdout in the [`Outcome`](crate::Outcome). If stdout is longer, half of the bytes
    /// in the outcome are from the beginning of stdout, and half from its end. Default: 4 MiB.
    pub stdout_bytes: u64,
    /// Maximum number of bytes of stderr in the outcome. If stderr is longer, half of the bytes in the outcome are
    /// from the beginning of stderr, and half from its end. Default: 256 KiB.
    pub stderr_bytes: u64,
    /// Storage limit of each stream: the maximum number of bytes that the runtime stores from the beginning of the
    /// stream, until the job is removed. Default: 64 MiB. If `stdout_bytes` is larger than `spill_bytes`, the
    /// storage limit of stdout is `stdout_bytes`. If `stderr_bytes` is larger than `spill_bytes`, the storage limit
    /// of stderr is `stderr_bytes`.
    ///
    /// If a stream is longer than its storage limit, the runtime also stores the last bytes of the stream, because
    /// the outcome contains them. The runtime counts the bytes in between, but does not store them.
    pub spill_bytes: u64,
    /// Maximum memory of the job, in bytes.
    pub memory_bytes: Option<u64>,
    /// Maximum number of processes at a time.
    pub pids: Option<u32>,
    /// Maximum processor time, in thousandths of one processor. With 1500, the job gets at most 1.5 seconds
    /// of processor time per second.
    pub cpu_millis: Option<u32>,
    /// Maximum number of open files of each process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60 * 60),
            grace: Duration::from_secs(5),
            stdout_bytes: 4 << 20,
            stderr_bytes: 256 << 10,
            spill_bytes: 64 << 20,
            memory_bytes: None,
            pids: None,
            cpu_millis: None,
            open_files: None,
        }
    }
}

impl Limits {
    /// Applies `bounds` in addition to these limits. If both limit the same resource, the stricter value
    /// counts.
    pub fn within(mut self, bounds: &Bounds) -> Self {
        let Bounds { memory_bytes, pids, cpu_millis, open_files } = bounds;
        stricter(&mut self.memory_bytes, *memory_bytes);
        stricter(&mut self.pids, *pids);
        stricter(&mut self.cpu_millis, *cpu_millis);
        stricter(&mut self.open_files, *open_files);
        self
    }
}

fn stricter<T: Ord>(own: &mut Option<T>, other: Option<T>) {
    *own = own.take().into_iter().chain(other).min();
}

/// Resource bounds in the form that people write: `{memory: 512M, processes: 64, cpu: 1.5, open-files:
/// 1024}`.
///
/// ```
/// use windlass_executor::Bounds;
///
/// let mut bounds = Bounds::default();
/// bounds.set("memory", "512M")?;
/// bounds.set("cpu", "1.5")?;
/// assert_eq!((bounds.memory_bytes, bounds.cpu_millis), (Some(512 << 20), Some(1500)));
/// assert_eq!(bounds.set("memory", "much").unwrap_err().to_string(), "`memory` is an amount of bytes such as `512M` or `2G`, at least 4M, and this is `much`");
/// # Ok::<(), windlass_executor::BoundError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Maximum memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Maximum number of processes at a time.
    pub pids: Option<u32>,
    /// Maximum processor time, in thousandths of one processor. With 1500, a job gets at most 1.5 seconds of
    /// processor time per second.
    pub cpu_millis: Option<u32>,
    /// Maximum number of open files of each process.
    pub open_files: Option<u64>,
}

/// An error for a bound that can't be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundError {
    /// The name of the bound is unknown.
    #[error("there is no limit `{0}`: expected `memory`, `processes`, `cpu` or `open-files`")]
    Unknown(String),
    /// The value is malformed or too small.
    #[error("`{key}` is {expected}, and this is `{found}`")]
    Value {
        /// The name of the bound.
        key: &'static str,
        /// Description of a valid value.
        expected: &'static str,
        /// The value as given.
        found: String,
    },
}

impl Bounds {
    /// The names of the bounds.
    pub const KEYS: [&'static str; 4] = ["memory", "processes", "cpu", "open-files"];

    /// Parses `text`, and sets the bound with the name `key`.
    ///
    /// # Errors
    /// [`BoundError`] when no bound has this name, when the text can't be parsed, or when the value is below
    /// the minimum of the bound.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), BoundError> {
        let value = |key, expected| BoundError::Value { key, expected, found: text.to_owned() };
        match key {
            "memory" => {
                let bytes = bytes(text).filter(|bytes| *bytes >= 4 << 20);
                let wrong = || value("memory", "an amount of bytes such as `512M` or `2G`, at least 4M");
                self.memory_bytes = Some(bytes.ok_or_else(wrong)?);
            }
            "processes" => {
                let pids = text.parse().ok().filter(|pids| *pids >= 1);
                self.pids = Some(pids.ok_or_else(|| value("processes", "a number from 1 on"))?);
            }
            "cpu" => {
                let wrong = || value("cpu", "a number of processors such as `2` or `0.5`, at least 0.01");
                self.cpu_millis = Some(millis(text).filter(|millis| *millis >= 10).ok_or_else(wrong)?);
            }
            "open-files" => {
                let files = text.parse().ok().filter(|files| *files >= 16);
                self.open_files = Some(files.ok_or_else(|| value("open-files", "a number from 16 on"))?);
            }
            other => return Err(BoundError::Unknown(other.to_owned())),
        }
        Ok(())
    }
}

/// Parses a number of bytes, such as `1048576`, `512K`, `2Gi` or `2GiB`. Each of the units K, M, G and T is
/// 1024 times the unit before it.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let power = match unit.trim_end_matches('B').trim_end_matches('i') {
        "" => 0,
        "K" | "k" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1024_u64.pow(power))
}

/// Parses a number such as `2` or `0.5`, and returns it in thousandths.
fn millis(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 3 {
        return None;
    }
    let part: u32 = format!("{part:0<3}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_people_write_them() {
        for (text, expected) in [("4194304", 4 << 20), ("64M", 64 << 20), ("2Gi", 2 << 30), ("1GiB", 1 << 30)]
        {
            assert_eq!(bytes(text), Some(expected), "{text}");
        }
        for (text, expected) in [("2", 2000), ("0.5", 500), ("1.25", 1250), ("0.010", 10)] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        let mut bounds = Bounds::default();
        for (key, text) in [
            ("memory", "1M"),
            ("memory", "-1"),
            ("memory", "99999999999T"),
            ("processes", "0"),
            ("cpu", "0.001"),
            ("cpu", ".5"),
            ("cpu", "1e3"),
            ("open-files", "3"),
            ("swap", "1G"),
        ] {
            assert!(bounds.set(key, text).is_err(), "{key} {text}");
        }
        assert_eq!(bounds, Bounds::default());
    }

    #[test]
    fn of_two_bounds_the_stricter_counts() {
        let bounds = Bounds { memory_bytes: Some(5), pids: None, cpu_millis: Some(7), open_files: Some(9) };
        let limits =
            Limits { memory_bytes: Some(4), pids: Some(3), cpu_millis: Some(8), ..Limits::default() };
        let both = limits.within(&bounds);
        assert_eq!((both.memory_bytes, both.pids), (Some(4), Some(3)));
        assert_eq!((both.cpu_millis, both.open_files), (Some(7), Some(9)));
    }
}
