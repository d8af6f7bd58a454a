//! Conformance cases: the streams of a job.
#![expect(clippy::missing_panics_doc, reason = "a case panics when it fails")]

use std::time::Instant;

use super::{PATIENCE, Subject};
use crate::{End, JobEvent, Limits, Stream};

/// Stdin reaches the job unchanged, and the job sees the end of stdin.
pub async fn echo(subject: &Subject) {
    let outcome = subject.run(subject.sh("cat").stdin("hello\nno newline")).await;
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(outcome.stdout.complete().as_deref(), Some(&b"hello\nno newline"[..]));
    assert_eq!(outcome.stderr.total(), 0);
}

/// A job that doesn't read its input neither hangs nor fails.
pub async fn unread_input(subject: &Subject) {
    let job = subject.sh("exec <&-; echo done").stdin(vec![b'x'; 1 << 20]);
    assert_eq!(subject.printed(job).await, "done\n");
}

/// A job that ignores its input doesn't block the runtime. Its input of eight megabytes exceeds the capacity
/// of any pipe.
pub async fn ignored_input(subject: &Subject) {
    let begun = Instant::now();
    let job = subject.sh("sleep 0.1; echo done; exit 3").stdin(vec![b'x'; 8 << 20]);
    let outcome = subject.run(job).await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(3), "done\n"));
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
}

/// Fifty megabytes pass through a job unchanged.
pub async fn large_echo(subject: &Subject) {
    let input: Vec<u8> = (0..50_000_000_u32).map(|at| (at ^ (at >> 7)).to_le_bytes()[0]).collect();
    let mut limits = Limits { stdout_bytes: 64 << 20, ..Limits::default() };
    limits.spill_bytes = 64 << 20;
    let outcome = subject.run(subject.sh("cat").stdin(input.clone()).limits(limits)).await;
    assert_eq!((outcome.end, outcome.stdout.total()), (End::Exited(0), 50_000_000));
    assert!(outcome.stdout.complete().as_deref() == Some(&*input), "what came back is not what was given");
}

/// A job that closes its streams does not count as ended.
pub async fn closed_early(subject: &Subject) {
    let outcome = subject.run(subject.sh("echo said; exec >&- 2>&-; sleep 0.3; exit 3")).await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(3), "said\n"));
}

/// A large input arrives completely.
pub async fn large_input(subject: &Subject) {
    let printed = subject.printed(subject.sh("wc -c").stdin(vec![b'x'; (5 << 20) + 1])).await;
    assert_eq!(printed.trim(), "5242881");
}

/// If a job writes 50 MB to stdout, its outcome contains the length of the whole output, the first bytes and the last
/// bytes. The first and the last bytes together are as many as the limit for stdout allows.
pub async fn flood(subject: &Subject) {
    let script = "printf first; head -c 50000000 /dev/zero | tr '\\000' x; printf last";
    let mut limits = Limits { stdout_bytes: 64 << 10, ..Limits::default() };
    limits.spill_bytes = 1 << 20;
    let stdout = subject.run(subject.sh(script).limits(limits)).await.stdout;
    assert_eq!(stdout.total(), 50_000_009);
    assert_eq!(stdout.head().len() + stdout.tail().len(), 64 << 10);
    assert!(stdout.head().starts_with(b"firstxxx") && stdout.tail().ends_with(b"xxxlast"));
    assert_eq!(stdout.complete(), None);
}

/// A job without output has empty streams.
pub async fn silent(subject: &Subject) {
    let outcome = subject.run(subject.sh(":")).await;
    assert_eq!((outcome.stdout.total(), outcome.stderr.total()), (0, 0));
    assert_eq!(outcome.stdout.complete().as_deref(), Some(&b""[..]));
}

/// Bytes that are not UTF-8 are reported unchanged.
pub async fn garbage(subject: &Subject) {
    let outcome = subject.run(subject.sh("printf 'a\\000\\377\\376\\r\\n\\033['")).await;
    assert_eq!(outcome.stdout.complete().as_deref(), Some(&b"a\0\xff\xfe\r\n\x1b["[..]));
    assert_eq!(outcome.stdout.text(), "a\0\u{fffd}\u{fffd}\r\n\u{1b}[");
}

/// stdout and stderr are separate.
pub async fn stderr_apart(subject: &Subject) {
    let outcome = subject.run(subject.sh("echo one; echo two >&2; echo three")).await;
    assert_eq!([outcome.stdout.text(), outcome.stderr.text()], ["one\nthree\n", "two\n"]);
}

/// If a leftover process holds the job's output open, the end of the job is not delayed. The job's own output
/// is complete.
pub async fn leftover_holds_output(subject: &Subject) {
    let begun = Instant::now();
    let printed = subject.printed(subject.sh("sleep 600 & setsid sleep 600 & echo done")).await;
    assert_eq!(printed, "done\n");
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
}

/// Events come in their order, and contain the whole output.
pub async fn events_in_order(subject: &Subject) {
    let id = subject.submit(subject.sh("echo one; echo two >&2; echo three")).await;
    let seen = watch(subject, &id).await;
    assert_eq!(seen, ["started", "stdout one\nthree\n", "stderr two\n", "ended"]);
    subject.remove(&id).await;
}

/// A caller may request the events of a job after the job has ended. This caller gets the same events as a caller
/// that requests the events while the job runs.
pub async fn events_of_the_past(subject: &Subject) {
    let mut limits = Limits { stdout_bytes: 1000, stderr_bytes: 1000, ..Limits::default() };
    limits.spill_bytes = 1000;
    let script = "head -c 3000 /dev/zero | tr '\\000' x; echo err >&2";
    let id = subject.submit(subject.sh(script).limits(limits)).await;
    subject.wait(&id).await;
    let shown = format!("stdout {}", "x".repeat(1000));
    assert_eq!(watch(subject, &id).await, ["started", &shown, "stderr err\n", "omitted 2000", "ended"]);
    subject.remove(&id).await;
}

/// A receiver that doesn't take its events blocks neither the job nor other receivers.
pub async fn unread_events_stall_nobody(subject: &Subject) {
    let script = "head -c 20000000 /dev/zero | tr '\\000' x";
    let id = subject.submit(subject.sh(script)).await;
    let idle = subject.events(&id).await;
    assert_eq!(subject.wait(&id).await.stdout.total(), 20_000_000);
    let seen = watch(subject, &id).await;
    assert_eq!(seen.get(1).map(String::len), Some("stdout ".len() + 20_000_000));
    drop(idle);
    subject.remove(&id).await;
}

/// Receives all events of a job, and joins the chunks of each stream.
async fn watch(subject: &Subject, id: &crate::JobId) -> Vec<String> {
    let (mut events, mut seen) = (subject.events(id).await, Vec::new());
    let (mut stdout, mut stderr, mut omitted) = (Vec::new(), Vec::new(), 0);
    while let Some(event) = events.next().await {
        match event {
            JobEvent::Started { .. } => seen.push("started".to_owned()),
            JobEvent::Output { stream: Stream::Stdout, chunk, .. } => stdout.extend(chunk),
            JobEvent::Output { stream: Stream::Stderr, chunk, .. } => stderr.extend(chunk),
            JobEvent::Omitted { bytes, .. } => omitted += bytes,
            JobEvent::Ended => break,
        }
    }
    assert!(events.next().await.is_none(), "nothing follows the end");
    for (name, bytes) in [("stdout", stdout), ("stderr", stderr)] {
        if !bytes.is_empty() {
            seen.push(format!("{name} {}", String::from_utf8_lossy(&bytes)));
        }
    }
    if omitted > 0 {
        seen.push(format!("omitted {omitted}"));
    }
    seen.push("ended".to_owned());
    seen
}
