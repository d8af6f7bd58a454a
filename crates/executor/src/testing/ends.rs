//! How jobs end.
#![expect(clippy::missing_panics_doc, reason = "a case panics when it fails")]

use std::time::{Duration, Instant};

use super::{LONG_ENOUGH_TO_BEGIN, PATIENCE, Subject, path};
use crate::{Capability, End, Limits, RuntimeError, StartFailure};

/// Every exit code is handed on as it is, also those that shells and engines give a meaning.
pub async fn exit_codes(subject: &Subject) {
    for code in [0, 1, 2, 77, 125, 126, 127, 128, 137, 143, 255] {
        assert_eq!(subject.run(subject.sh(&format!("exit {code}"))).await.end, End::Exited(code));
    }
}

/// There is no exit code that is taken for something else.
pub async fn every_exit_code(subject: &Subject) {
    let mut ids = Vec::new();
    for code in 0..=255 {
        ids.push((code, subject.submit(subject.sh(&format!("exit {code}"))).await));
    }
    for (code, id) in ids {
        assert_eq!(subject.wait(&id).await.end, End::Exited(code));
        subject.remove(&id).await;
    }
}

/// An image that isn't there is no exit code, and the error names it.
pub async fn missing_image(subject: &Subject) {
    // `.invalid` is a domain that never is (RFC 6761), so that nobody can be asked for it.
    let image = "registry.invalid/windlass/no-such-image:1";
    let job = subject.sh("exit 0").image(image);
    if !subject.can(Capability::Image, job.clone()).await {
        return;
    }
    match subject.run(job).await.end {
        End::NotStarted(StartFailure::ImageNotFound { image: named, .. }) => assert_eq!(named, image),
        other => panic!("expected a missing image, got {other:?}"),
    }
}

/// A job that a signal ended says so, which is not the same as an exit code above 128.
pub async fn signalled(subject: &Subject) {
    for signal in [9, 11, 15] {
        let outcome = subject.run(subject.sh(&format!("kill -{signal} $$; sleep 60"))).await;
        assert_eq!(outcome.end, End::Signalled(signal));
    }
}

/// A command that isn't there is no exit code, and the error names it.
pub async fn missing_command(subject: &Subject) {
    for program in ["no-such-command", "./no/such/file", "/no/such/file"] {
        let outcome = subject.run(subject.command(program)).await;
        assert_eq!(outcome.end, End::NotStarted(StartFailure::NotFound { program: program.to_owned() }));
        assert_eq!((outcome.started, outcome.stdout.total(), outcome.stderr.total()), (None, 0, 0));
    }
}

/// A script whose interpreter isn't there is not confused with a missing script.
pub async fn missing_interpreter(subject: &Subject) {
    let job = subject.command("./run").script(path("run"), "#!/no/such/python3 -u\n");
    let expected = StartFailure::InterpreterNotFound {
        program: "./run".to_owned(),
        interpreter: "/no/such/python3".to_owned(),
    };
    assert_eq!(subject.run(job).await.end, End::NotStarted(expected));
}

/// A file that may not be run, and a folder, are no commands.
pub async fn not_executable(subject: &Subject) {
    let file = subject.command("./run").file(path("run"), "#!/bin/sh\n");
    let folder = subject.command("./dir").file(path("dir/file"), "");
    for job in [file, folder] {
        let end = subject.run(job).await.end;
        assert!(matches!(end, End::NotStarted(StartFailure::NotExecutable { .. })), "{end:?}");
    }
}

/// A script without a `#!` line is not run by a shell that happens to be there.
pub async fn no_format(subject: &Subject) {
    let end = subject.run(subject.command("./run").script(path("run"), "echo surprise\n")).await.end;
    assert!(matches!(end, End::NotStarted(StartFailure::NotExecutable { .. })), "{end:?}");
}

/// When its time is over a job is ended with everybody in it: who ignores SIGTERM, and who has left its session.
pub async fn timeout_ends_all_processes(subject: &Subject) {
    let script = "
        setsid sh -c 'trap \"\" TERM; sleep 600' &
        (trap '' TERM; while :; do sleep 600; done) &
        echo ready
        trap '' TERM
        while :; do sleep 600; done";
    let mut limits = Limits { timeout: LONG_ENOUGH_TO_BEGIN, ..Limits::default() };
    limits.grace = Duration::from_millis(200);
    let begun = Instant::now();
    let outcome = subject.run(subject.sh(script).limits(limits)).await;
    assert_eq!(outcome.end, End::TimedOut);
    assert_eq!(outcome.stdout.text(), "ready\n");
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
}

/// A job that runs out of time is asked to end first, and what it then says is kept.
pub async fn timeout_is_graceful(subject: &Subject) {
    let script = "trap 'echo cleaned up; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done";
    let limits = Limits { timeout: LONG_ENOUGH_TO_BEGIN, ..Limits::default() };
    let outcome = subject.run(subject.sh(script).limits(limits)).await;
    assert_eq!(outcome.end, End::TimedOut);
    assert_eq!(outcome.stdout.text(), "ready\ncleaned up\n");
}

/// What a runtime can't do is refused before anything is done.
pub async fn unsupported_is_refused(subject: &Subject) {
    let runtime = subject.runtime();
    let can = runtime.capabilities();
    let mut job = subject.sh("exit 0").image("demo:1");
    job.limits.memory_bytes = Some(1 << 30);
    job.limits.pids = Some(100);
    job.limits.cpu_millis = Some(500);
    let asked = [Capability::Image, Capability::MemoryLimit, Capability::PidsLimit, Capability::CpuLimit];
    let expected: Vec<_> = asked.into_iter().filter(|capability| !can.has(*capability)).collect();
    if expected.is_empty() {
        return;
    }
    let id = subject.id();
    match runtime.submit(&id, &job).await {
        Err(RuntimeError::Unsupported { missing, .. }) => assert_eq!(missing, expected),
        other => panic!("expected a refusal, got {other:?}"),
    }
    let invalid = runtime.submit(&id, &subject.sh("exit 0").env("A=B", "")).await;
    assert!(matches!(invalid, Err(RuntimeError::Invalid(_))), "{invalid:?}");
    assert_eq!(runtime.find(&id).await.expect("find answers"), crate::Found::Never);
}
