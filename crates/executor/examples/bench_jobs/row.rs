//! Runs a thousand jobs in sequence. Checks whether the last jobs cost as much as the first, and whether
//! memory or the number of open file descriptors grows.

use std::{
    fs,
    io::Write,
    time::{Duration, Instant},
};

use crate::{
    Crowd, Failure,
    goals::{Goal, at_most},
    quantile,
};

/// Number of jobs in the sequence.
const ROW: usize = 1000;

/// Number of jobs that are measured at the beginning of the sequence, and at its end.
const PART: usize = 100;

/// Tolerated growth of memory in KiB: an allocator keeps memory that was freed.
const SLACK: f64 = 1024.0;

/// Tolerated growth of the number of open file descriptors. For example, a client may keep a connection open.
const FEW: f64 = 4.0;

/// Resources that a job may leave behind.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// Memory of this process and its children, in KiB.
    memory: u32,
    /// Number of open file descriptors.
    descriptors: u32,
}

/// Runs the job of `crowd` [`ROW`] times in sequence. Returns three goals: one for the duration of a job, one
/// for memory, and one for open file descriptors.
pub(crate) async fn row(out: &mut impl Write, crowd: &Crowd) -> Result<Vec<Goal>, Failure> {
    let name = crowd.name;
    let mut times = Vec::with_capacity(ROW);
    let mut before = Held::default();
    for number in 0..ROW {
        if number == PART {
            before = held();
        }
        let begun = Instant::now();
        crowd.runtime.run(&format!("row-{name}-{number}").parse()?, &crowd.job).await?;
        times.push(begun.elapsed());
    }
    let after = held();
    let p95 = |times: &[Duration]| quantile(times.to_vec(), 95);
    let (first, last) = (p95(&times[..PART]), p95(&times[ROW - PART..]));
    writeln!(
        out,
        "{name}: p95 of the first {PART} of {ROW} {first:.2?}, of the last {PART} {last:.2?}; memory {} and {} KiB, \
         descriptors {} and {}",
        before.memory, after.memory, before.descriptors, after.descriptors
    )?;
    let ratio = last.as_secs_f64() / first.as_secs_f64();
    let descriptors = f64::from(after.descriptors) - f64::from(before.descriptors);
    let memory = f64::from(after.memory) - f64::from(before.memory);
    Ok(vec![
        at_most(&format!("{name}: p95 after {ROW} jobs, as before"), ratio, 1.2),
        at_most(&format!("{name}: KiB more after {ROW} jobs"), memory, SLACK),
        at_most(&format!("{name}: descriptors more after {ROW} jobs"), descriptors, FEW),
    ])
}

/// Returns the resources that this process and its children hold. The children are the supervisors of the
/// jobs.
fn held() -> Held {
    let me = std::process::id();
    let below = fs::read_to_string(format!("/proc/self/task/{me}/children")).unwrap_or_default();
    let all_tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = all_tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children = others.chain([below]).collect::<Vec<_>>().join(" ");
    let mut pids: Vec<u32> =
        children.split_whitespace().filter_map(|pid| pid.parse().ok()).chain([me]).collect();
    pids.sort_unstable();
    pids.dedup();
    pids.iter().fold(Held::default(), |held, pid| Held {
        memory: held.memory + memory(*pid).unwrap_or(0),
        descriptors: held.descriptors + descriptors(*pid),
    })
}

/// Returns the anonymous memory of a process in KiB. Pages of files don't count, because the kernel decides
/// how many of them stay in memory.
fn memory(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse().ok())
}

fn descriptors(pid: u32) -> u32 {
    let listed = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().count();
    u32::try_from(listed).unwrap_or(u32::MAX)
}
