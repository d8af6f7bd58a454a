//! Conformance cases: the ends of jobs.
#![expect(clippy::missing_panics_doc, reason = "a case panics when it fails")]

use std::time::{Duration, Instant};

use super::{LONG_ENOUGH_TO_BEGIN, PATIENCE, Subject, path};
use crate::{Capability, End, Limits, RuntimeError, StartFailure};

/// Every exit code is reported unchanged, including codes with a special meaning for shells and container
/// engines.
pub async fn exit_codes(subject: &Subject) {
    for code in [0, 1, 2, 77, 125, 126, 127, 128, 137, 143, 255] {
        assert_eq!(subject.run(subject.sh(&format!("exit {code}"))).await.end, End::Exited(code));
    }
}

/// Each exit code from 0 to 255 is reported as [`End::Exited`] with this code.
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

/// If the image of a job is missing, the job is not started, and the failure names the image. The outcome
/// contains no exit code.
pub async fn missing_image(subject: &Subject) {
    // The domain `.invalid` never exists (RFC 6761), so no registry answers.
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

/// If a signal kills a job, the end is that signal, and not an exit code above 128.
pub async fn signalled(subject: &Subject) {
    for signal in [9, 11, 15] {
        let outcome = subject.run(subject.sh(&format!("kill -{signal} $$; sleep 60"))).await;
        assert_eq!(outcome.end, End::Signalled(signal));
    }
}

/// If the command of a job is missing, the job is not started, and the failure names the command. The outcome
/// contains no exit code.
pub async fn missing_command(subject: &Subject) {
    for program in ["no-such-command", "./no/such/file", "/no/such/file"] {
        let outcome = subject.run(subject.command(program)).await;
        assert_eq!(outcome.end, End::NotStarted(StartFailure::NotFound { program: program.to_owned() }));
        assert_eq!((outcome.started, outcome.stdout.total(), outcome.stderr.total()), (None, 0, 0));
    }
}

/// The missing interpreter of a script is distinguished from a missing script.
pub async fn missing_interpreter(subject: &Subject) {
    let job = subject.command("./run").script(path("run"), "#!/no/such/python3 -u\n");
    let expected = StartFailure::InterpreterNotFound {
        program: "./run".to_owned(),
        interpreter: "/no/such/python3".to_owned(),
    };
    assert_eq!(subject.run(job).await.end, End::NotStarted(expected));
}

/// A file without the permission to execute it can't be run. A folder can't be run either.
pub async fn not_executable(subject: &Subject) {
    let file = subject.command("./run").file(path("run"), "#!/bin/sh\n");
    let folder = subject.command("./dir").file(path("dir/file"), "");
    for job in [file, folder] {
        let end = subject.run(job).await.end;
        assert!(matches!(end, End::NotStarted(StartFailure::NotExecutable { .. })), "{end:?}");
    }
}

/// A script without a `#!` line is not run by a shell.
pub async fn no_format(subject: &Subject) {
    let end = subject.run(subject.command("./run").script(path("run"), "echo surprise\n")).await.end;
    assert!(matches!(end, End::NotStarted(StartFailure::NotExecutable { .. })), "{end:?}");
}

/// At its time limit, a job is killed with all its processes. These include processes that ignore SIGTERM or
/// have left the session.
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

/// A job at its time limit first gets SIGTERM. Output that the job writes after that is kept.
pub async fn timeout_is_graceful(subject: &Subject) {
    let script = "trap 'echo cleaned up; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done";
    let limits = Limits { timeout: LONG_ENOUGH_TO_BEGIN, ..Limits::default() };
    let outcome = subject.run(subject.sh(script).limits(limits)).await;
    assert_eq!(outcome.end, End::TimedOut);
    assert_eq!(outcome.stdout.text(), "ready\ncleaned up\n");
}

/// A job that needs a missing capability is refused before the runtime has done anything.
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
