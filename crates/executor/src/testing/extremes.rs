//! Conformance cases: jobs that use as many resources as they can.
#![expect(clippy::missing_panics_doc, reason = "a case panics when it fails")]

use std::time::{Duration, Instant};

use super::{LONG_ENOUGH_TO_BEGIN, PATIENCE, Subject};
use crate::{Capability, End, Limits, Outcome};

/// One mebibyte in bytes.
const MB: u64 = 1 << 20;

/// A job that never stops writing is ended at its time limit, and the output in its outcome is limited.
pub async fn endless_output(subject: &Subject) {
    let mut limits = Limits { timeout: LONG_ENOUGH_TO_BEGIN, grace: Duration::ZERO, ..Limits::default() };
    (limits.stdout_bytes, limits.spill_bytes) = (64 << 10, MB);
    let begun = Instant::now();
    let outcome = subject.run(subject.sh("while :; do cat /etc/passwd; yes; done").limits(limits)).await;
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.stdout.total() > MB, "{:?}", outcome.stdout);
    assert_eq!(outcome.stdout.head().len() + outcome.stdout.tail().len(), 64 << 10);
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
}

/// A flood of output on stderr is limited separately, and does not affect stdout.
pub async fn stderr_flood(subject: &Subject) {
    let script = "echo before; head -c 20000000 /dev/zero | tr '\\000' e >&2; echo after; exit 4";
    let limits = Limits { stderr_bytes: 1000, spill_bytes: MB, ..Limits::default() };
    let outcome = subject.run(subject.sh(script).limits(limits)).await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(4), "before\nafter\n"));
    assert_eq!(outcome.stderr.total(), 20_000_000);
    assert_eq!(outcome.stderr.head().len() + outcome.stderr.tail().len(), 1000);
}

/// A fork bomb is limited and ends in time. Other jobs can run after it.
pub async fn fork_bomb(subject: &Subject) {
    let mut limits = Limits { timeout: Duration::from_secs(2), grace: Duration::ZERO, ..Limits::default() };
    limits.pids = Some(32);
    let job = subject.sh("bomb() { bomb | bomb & bomb; }; bomb 2>/dev/null").limits(limits);
    if !subject.can(Capability::PidsLimit, job.clone()).await {
        return;
    }
    let begun = Instant::now();
    let outcome = subject.run(job).await;
    let is_known = matches!(outcome.end, End::Exited(_) | End::Signalled(_) | End::TimedOut);
    assert!(is_known, "{:?}", outcome.end);
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
    assert_eq!(subject.printed(subject.sh("echo next")).await, "next\n");
}

/// A job can start about as many processes as its limit allows, and not more.
pub async fn processes_are_limited(subject: &Subject) {
    let script = "n=0; while [ $n -lt 100 ]; do sleep 600 & n=$((n+1)); echo $n; done";
    let limits = Limits { pids: Some(20), timeout: Duration::from_secs(10), ..Limits::default() };
    let job = subject.sh(script).limits(Limits { grace: Duration::ZERO, ..limits });
    if !subject.can(Capability::PidsLimit, job.clone()).await {
        return;
    }
    let printed = subject.run(job).await.stdout.text();
    let started = printed.lines().count();
    // The shell counts as one process. A process of the runtime may count as another one.
    assert!((15..=20).contains(&started), "{started} processes were started");
}

/// A job that exceeds its memory limit is killed, and its end is `OutOfMemory`.
pub async fn memory_is_limited(subject: &Subject) {
    // A shell variable grows in the shell itself, which is the main process.
    let script = "x=0123456789abcdef; while :; do x=$x$x; done";
    let limits =
        Limits { memory_bytes: Some(32 * MB), timeout: Duration::from_secs(60), ..Limits::default() };
    let job = subject.sh(script).limits(limits);
    if !subject.can(Capability::MemoryLimit, job.clone()).await {
        return;
    }
    assert_eq!(subject.run(job).await.end, End::OutOfMemory);
    assert_eq!(subject.printed(subject.sh("echo next")).await, "next\n");
}

/// The memory limit covers all processes of a job. If the kernel kills only a child of the main process, the exit code
/// of the main process determines the end of the job. Code 137 means out of memory: if the main process is a shell, it
/// exits with this code after its child was killed. Any other code is reported unchanged.
pub async fn memory_of_all_is_limited(subject: &Subject) {
    let limits = Limits { memory_bytes: Some(32 * MB), grace: Duration::ZERO, ..Limits::default() };
    let job = |holders, code| subject.sh(&hold(holders, code)).limits(limits.clone());
    if !subject.can(Capability::MemoryLimit, job(1, 3)).await {
        return;
    }
    assert_eq!(subject.printed(job(1, 3)).await, "all\n");
    let outcome = subject.run(job(8, 137)).await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::OutOfMemory, ""));
    let outcome = subject.run(job(8, 3)).await;
    // If the kernel kills all processes of the job at once, the main process can't exit with code 3.
    assert!(matches!(outcome.end, End::Exited(3) | End::OutOfMemory), "{:?}", outcome.end);
    assert_eq!(outcome.stdout.text(), "");
}

/// Returns a script that starts `holders` processes, each of which holds five megabytes. If all these
/// processes run at the same time, the script prints `all`. If one of them is killed, the script exits with
/// `code`.
///
/// Each process is a shell that reads a text of five megabytes into a variable. While the shell reads the text, it
/// briefly holds two copies of the text. The script starts the shells one after the other, so that only one shell holds
/// two copies at a time. Each shell then runs `sleep`, followed by `:`. Without the `:`, the shell would replace itself
/// by `sleep` and so release the text.
fn hold(holders: u32, code: u8) -> String {
    let holder = "x=$(head -c 5000000 /dev/zero | tr \"\\000\" x); echo full >&3; sleep 600; :";
    format!(
        "mkfifo \"$TMPDIR/news\"; exec 3<>\"$TMPDIR/news\"
         for holder in $(seq {holders}); do
             (sh -c '{holder}'; echo gone >&3) &
             read -r news <&3; [ $news = full ] || exit {code}
         done
         echo all"
    )
}

/// A job gets no more processor time than its limit.
pub async fn processor_time_is_limited(subject: &Subject) {
    let limits = Limits {
        cpu_millis: Some(100),
        timeout: Duration::from_secs(2),
        grace: Duration::from_secs(30),
        ..Limits::default()
    };
    let job = subject.sh("trap 'times; exit' TERM; while :; do :; done").limits(limits);
    if !subject.can(Capability::CpuLimit, job.clone()).await {
        return;
    }
    let outcome = subject.run(job).await;
    assert_eq!(outcome.end, End::TimedOut);
    // `0m0.21s 0m0.03s`: user time, then system time.
    let printed = outcome.stdout.text();
    let used: f64 = printed.split_whitespace().take(2).filter_map(seconds).sum();
    assert!(
        used > 0.0 && used < 1.2,
        "a tenth of a processor for two seconds, and it used {used} s: {printed}"
    );
}

fn seconds(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}

/// If the runtime limits the size of the folder for temporary files, a job that fills this folder fails. The job gets
/// the error of a full disk, or is killed for lack of memory if the folder is in memory. The next job can create
/// temporary files. On a runtime without this limit, a job that writes 16 MiB succeeds.
pub async fn temporary_folder_is_flooded(subject: &Subject) {
    let flood = |megabytes: u32| {
        subject.sh(&format!("dd if=/dev/zero of=\"$TMPDIR/flood\" bs=1048576 count={megabytes} 2>/dev/null"))
    };
    if !subject.runtime().capabilities().has(Capability::TmpLimit) {
        assert_eq!(subject.run(flood(16)).await.end, End::Exited(0));
        return;
    }
    let Outcome { end, .. } = subject.run(flood(16 << 10)).await;
    assert!(matches!(end, End::Exited(1..) | End::Signalled(_) | End::OutOfMemory), "{end:?}");
    assert_eq!(subject.printed(subject.sh("echo next > \"$TMPDIR/x\"; cat \"$TMPDIR/x\"")).await, "next\n");
}
