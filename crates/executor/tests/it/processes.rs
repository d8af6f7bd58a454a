//! Tests the rights of a job's processes, and their end.

use std::{
    collections::BTreeMap,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use windlass_executor::{
    End, Found, Job, JobEvent, JobId, Limits, OnOwnerDeath, Runtime, RuntimeError, StartFailure,
    process::{Confinement, ControlGroups, ProcessOptions, ProcessRuntime, SupervisorCommand},
};

use crate::{
    attempts::Host,
    place::{Place, files, until},
};

fn sh(script: &str) -> Job {
    Job::command("sh").args(["-c", script])
}

fn id(text: &str) -> JobId {
    text.parse().unwrap()
}

#[tokio::test]
async fn the_environment_is_exactly_this() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let job = Job::command("env").env("GIVEN", "1").volume("my-state".parse().unwrap(), "/state");
    let printed = runtime.run(&id("env"), &job).await.unwrap().stdout.text();
    let seen: BTreeMap<&str, &str> = printed.lines().filter_map(|line| line.split_once('=')).collect();
    let folder = place.state().join("env").display().to_string();
    let volume = place.state().with_file_name("volumes").join("my-state").display().to_string();
    let (work, tmp) = (format!("{folder}/work"), format!("{folder}/tmp"));
    let expected = [
        ("GIVEN", "1"),
        ("HOME", &work),
        ("LANG", "C.UTF-8"),
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        ("TMPDIR", &tmp),
        ("WINDLASS_JOB", &folder),
        ("WINDLASS_VOLUME_MY_STATE", &volume),
    ];
    assert_eq!(seen, BTreeMap::from(expected));
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_job_gets_no_descriptor_of_its_owner() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    // `ls` itself opens the fourth descriptor.
    let printed = runtime.run(&id("fds"), &sh("ls /proc/self/fd")).await.unwrap().stdout.text();
    assert_eq!(printed, "0\n1\n2\n3\n");
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_script_sees_itself_called_as_the_job_calls_it() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let job = Job::command("scripts/../run").args(["a b", ""]);
    let job = job
        .script("run".parse().unwrap(), "#!/bin/sh\necho \"$0 $# $1\"")
        .file("scripts/x".parse().unwrap(), "");
    let printed = runtime.run(&id("name"), &job).await.unwrap().stdout.text();
    assert_eq!(printed, "scripts/../run 2 a b\n");
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn input_does_not_stay_on_the_disk() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let script = "mkfifo gate; echo ready; read go < gate; cat";
    seen(&runtime, &id("secret"), &sh(script).stdin("hunter2\nhunter3\n")).await;
    assert!(!place.state().join("secret/stdin").exists());
    fs::write(gate(&place, "secret"), "on\n").unwrap();
    assert_eq!(runtime.wait(&id("secret")).await.unwrap().stdout.text(), "ready\nhunter2\nhunter3\n");
    runtime.remove(&id("secret")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_daemon_does_not_outlive_its_job() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    // The process has forked twice, left its session and group, and closed the streams, as a daemon does.
    let script = "(setsid sh -c 'sleep 600 <&- >&- 2>&- & setsid sleep 600 <&- >&- 2>&- &' &) ; echo done";
    runtime.submit(&id("other"), &sh("sleep 600")).await.unwrap();
    let outcome = runtime.run(&id("daemon"), &sh(script)).await.unwrap();
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(0), "done\n"));
    let left = place.processes().into_iter().filter(|pid| {
        fs::read_to_string(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.contains("jobs/daemon/"))
    });
    assert_eq!(left.count(), 0);
    end(&runtime, &id("other")).await;
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn who_hides_from_us_is_ended_with_the_last_job() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    // Without its mark, its session and its parent, nothing shows which job the process belongs to.
    let script = "(setsid env -i sh -c 'sleep 601' >&- 2>&- &); echo done";
    runtime.run(&id("hides"), &sh(script)).await.unwrap();
    let sleeps = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter(|it| fs::read(it.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x00601\0"))
            .count()
    };
    assert_eq!(sleeps(), 0);
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn cleaning_up_is_not_disturbed() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let script =
        "trap 'sh -c \"sleep 0.3; echo clean\"; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done";
    seen(&runtime, &id("clean"), &sh(script)).await;
    runtime.cancel(&id("clean"), Duration::from_secs(600)).await.unwrap();
    assert_eq!(runtime.wait(&id("clean")).await.unwrap().stdout.text(), "ready\nclean\n");
    runtime.remove(&id("clean")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn the_queue_is_a_place_to_be_found_listed_and_cancelled_in() {
    let place = Place::new();
    let runtime = Arc::new(ProcessRuntime::open_with(place.options().at_once(NonZeroUsize::MIN)).unwrap());
    seen(&runtime, &id("first"), &sh("echo ready; sleep 600")).await;
    for waiting in ["second", "third"] {
        runtime.submit(&id(waiting), &sh("echo $0 ran")).await.unwrap();
        assert_eq!(runtime.find(&id(waiting)).await.unwrap(), Found::Running);
    }
    for (waiting, is_stored) in [("first", true), ("second", false), ("third", false)] {
        let stored = tokio::time::timeout(Duration::from_millis(50), runtime.stored(&id(waiting))).await;
        assert_eq!(stored.is_ok(), is_stored, "{waiting}");
    }
    let mut events = runtime.events(&id("third")).await.unwrap();
    let nobody = Job::command("x").owner;
    assert_eq!(runtime.list(&nobody).await.unwrap(), [id("first"), id("second"), id("third")]);
    assert!(matches!(runtime.remove(&id("second")).await, Err(RuntimeError::StillRunning { .. })));
    runtime.cancel(&id("second"), Duration::ZERO).await.unwrap();
    let outcome = runtime.wait(&id("second")).await.unwrap();
    assert_eq!((outcome.end, outcome.started), (End::Cancelled, None));
    let (first, third) = (id("first"), id("third"));
    let (stored, ()) = tokio::join!(runtime.stored(&third), end(&runtime, &first));
    assert!(stored);
    assert_eq!(runtime.wait(&id("third")).await.unwrap().stdout.text(), "sh ran\n");
    assert!(matches!(events.next().await, Some(JobEvent::Started { .. })));
    for job in ["second", "third"] {
        runtime.remove(&id(job)).await.unwrap();
    }
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn the_last_of_many_jobs_costs_what_the_first_did() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let supervisor = supervisor_of(&runtime).await;
    let open = || fs::read_dir(format!("/proc/{supervisor}/fd")).unwrap().count();
    let (before, memory) = (open(), memory_kib(supervisor));
    for number in 0..300 {
        let outcome = runtime.run(&id(&format!("n-{number}")), &sh("echo $$ >&2")).await.unwrap();
        assert!(outcome.success());
    }
    assert_eq!(open(), before);
    assert!(memory_kib(supervisor) < memory + 2048, "{} KiB, before {memory}", memory_kib(supervisor));
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_flood_doesnt_fill_the_memory() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let supervisor = supervisor_of(&runtime).await;
    let memory = memory_kib(supervisor);
    let mut limits = Limits::default();
    limits.stdout_bytes = 1 << 20;
    limits.spill_bytes = 1 << 20;
    let flood = sh("head -c 200000000 /dev/zero").limits(limits);
    assert_eq!(runtime.run(&id("flood"), &flood).await.unwrap().stdout.total(), 200_000_000);
    assert!(memory_kib(supervisor) < memory + 8192, "{} KiB, before {memory}", memory_kib(supervisor));
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_folder_that_is_not_empty_is_removed_whatever_its_modes() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let script = "mkdir -p a/b && echo > a/b/c && chmod 000 a/b/c && chmod 000 a/b && chmod 500 a";
    assert!(runtime.run(&id("modes"), &sh(script)).await.unwrap().success());
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_supervisor_that_is_none_is_named() {
    let place = Place::new();
    for (program, args, expected) in [
        (
            "/no/such/program",
            vec![],
            "the runtime `process` is not available: its supervisor `/no/such/program` can't be started: No such file or directory (os error 2)",
        ),
        (
            "echo",
            vec!["hi"],
            "the runtime `process` is not available: its supervisor's program doesn't call `supervise`",
        ),
        (
            "sh",
            vec!["-c", "echo oh no >&2; exit 3"],
            "the runtime `process` is not available: its supervisor exited immediately: exit status: 3, oh no",
        ),
        (
            "sh",
            vec!["-c", "echo '{\"hello\":{\"version\":4}}'"],
            "the runtime `process` is not available: its supervisor speaks version 4, this program 3: restart the older one",
        ),
    ] {
        let command = SupervisorCommand::new(program, args);
        let runtime = ProcessRuntime::open(place.state(), command).unwrap();
        let error = runtime.submit(&id("a"), &sh("true")).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(runtime.find(&id("a")).await.unwrap(), Found::Never);
    }
}

#[tokio::test]
async fn a_folder_that_cant_be_is_named() {
    let place = Place::new();
    fs::write(place.state(), "").unwrap();
    let options = ProcessOptions::new(place.state().join("jobs"), crate::place::supervisor());
    let error = ProcessRuntime::open_with(options).unwrap_err();
    assert_eq!(error.to_string(), format!("can't make `{}`", place.state().join("jobs").display()));
}

#[tokio::test]
async fn a_volume_with_something_in_it_is_kept() {
    let place = Place::new();
    let runtime = place.runtime();
    let job = sh("echo 1 > $WINDLASS_VOLUME_STATE/kept").volume("state".parse().unwrap(), "/state");
    runtime.run(&id("a"), &job).await.unwrap();
    runtime.close().await.unwrap();
    let kept = place.state().with_file_name("volumes").join("state/kept");
    assert_eq!(fs::read_to_string(kept).unwrap(), "1\n");
}

#[tokio::test]
async fn closing_ends_what_may_end_and_leaves_what_must_finish() {
    let place = Place::new();
    let runtime = place.runtime();
    seen(&runtime, &id("kill"), &sh("echo ready; sleep 600")).await;
    let finish = sh("mkfifo gate; echo ready; read go < gate; echo $go").on_owner_death(OnOwnerDeath::Finish);
    seen(&runtime, &id("finish"), &finish).await;
    runtime.close().await.unwrap();
    assert_eq!(runtime.wait(&id("kill")).await.unwrap().end, End::Cancelled);
    assert_eq!(runtime.find(&id("finish")).await.unwrap(), Found::Running);
    fs::write(gate(&place, "finish"), "on\n").unwrap();
    assert_eq!(runtime.wait(&id("finish")).await.unwrap().stdout.text(), "ready\non\n");
    // The runtime can be used again.
    assert!(runtime.run(&id("again"), &sh("exit 0")).await.unwrap().success());
    for job in ["kill", "finish"] {
        runtime.remove(&id(job)).await.unwrap();
    }
    place.is_left_clean(Arc::new(runtime)).await;
}

#[tokio::test]
async fn a_dropped_runtime_leaves_nothing() {
    let place = Place::new();
    let runtime = place.runtime();
    seen(&runtime, &id("a"), &sh("echo ready; sleep 600")).await;
    drop(runtime);
    until("the job is ended", async || place.processes().is_empty()).await;
    let runtime = Arc::new(place.runtime());
    assert_eq!(runtime.wait(&id("a")).await.unwrap().end, End::Cancelled);
    runtime.remove(&id("a")).await.unwrap();
    place.is_left_clean(runtime).await;
}

/// Submits a job, waits for its first output and returns it.
pub(crate) async fn seen(runtime: &ProcessRuntime, id: &JobId, job: &Job) -> String {
    runtime.submit(id, job).await.unwrap();
    let mut events = runtime.events(id).await.unwrap();
    while let Some(event) = events.next().await {
        if let JobEvent::Output { chunk, .. } = event {
            return String::from_utf8(chunk).unwrap();
        }
    }
    panic!("the job ended in silence");
}

pub(crate) async fn end(runtime: &ProcessRuntime, id: &JobId) {
    runtime.cancel(id, Duration::ZERO).await.unwrap();
    runtime.wait(id).await.unwrap();
    runtime.remove(id).await.unwrap();
}

/// Path of the named pipe that a job of these tests creates and waits at.
pub(crate) fn gate(place: &Place, job: &str) -> PathBuf {
    place.state().join(job).join("work/gate")
}

/// Returns the process id of the supervisor, the parent of the runtime's jobs.
pub(crate) async fn supervisor_of(runtime: &ProcessRuntime) -> i32 {
    let printed = runtime.run(&id("who"), &sh("echo $PPID")).await.unwrap().stdout.text();
    printed.trim().parse().unwrap()
}

fn memory_kib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn a_confined_job_writes_to_its_own_folders_only() {
    let confinement = Confinement::none().write_only_to([""; 0]).filter_system_calls();
    if let Err(missing) = confinement.check() {
        crate::skipped(&missing);
        return;
    }
    let (place, elsewhere) = (Place::new(), tempfile::tempdir().unwrap());
    let runtime = Arc::new(ProcessRuntime::open_with(place.options().confinement(confinement)).unwrap());
    let script = format!(
        "cat /etc/hostname > here; echo > $TMPDIR/x; echo > $WINDLASS_VOLUME_STATE/y; rm $WINDLASS_VOLUME_STATE/y
        echo > /dev/null; (echo > {}/evil) 2>/dev/null || echo refused; unshare -U true 2>/dev/null || echo refused",
        elsewhere.path().display()
    );
    let job = sh(&script).volume("state".parse().unwrap(), "/state");
    let outcome = runtime.run(&id("confined"), &job).await.unwrap();
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(outcome.stdout.text(), "refused\nrefused\n", "{}", outcome.stderr.text());
    assert_eq!(outcome.stderr.text(), "");
    place.is_left_clean(runtime).await;
}

/// Script that starts a process that leaves its session, loses its parent and clears its environment. It
/// prints the process id.
pub(crate) const HIDE: &str = "(setsid env -i sleep 4321 </dev/null >/dev/null 2>&1 & echo $!)";

/// Returns whether the process of [`HIDE`] exists.
pub(crate) fn hides(pid: &str) -> bool {
    pid.parse::<u32>().unwrap();
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep\x004321"))
}

/// A process of a job leaves its session, loses its parent and clears its environment. windlass must find the process
/// by the control group of the job, and end it with the job.
#[tokio::test]
async fn a_process_that_hides_ends_with_its_job() {
    if !ControlGroups::probe().ends_all {
        crate::skipped(&"no control group of version 2 may be made here");
        return;
    }
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    // While another job runs, an orphan could belong to that job.
    runtime.submit(&id("other"), &sh("sleep 600")).await.unwrap();
    let outcome = runtime.run(&id("hides"), &sh(HIDE)).await.unwrap();
    let hidden = outcome.stdout.text().trim().to_owned();
    until("the hidden process has ended", async || !hides(&hidden)).await;
    runtime.cancel(&id("other"), Duration::ZERO).await.unwrap();
    runtime.wait(&id("other")).await.unwrap();
    runtime.remove(&id("other")).await.unwrap();
    place.is_left_clean(runtime).await;
}

/// A job has the same user as the supervisor, its parent. So the job can read the environment and the arguments of the
/// supervisor. They must contain nothing from the program that started the supervisor.
#[tokio::test]
async fn a_job_reads_nothing_of_its_supervisor() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    // Cargo and the caller of the tests give them an environment.
    assert!(std::env::vars_os().count() > 0);
    let job = sh("tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline");
    let outcome = runtime.run(&id("look"), &job).await.unwrap();
    assert_eq!(outcome.stdout.text().trim_end(), "windlass-supervisor");
    // Root may access the memory in any case, so the job tries it without capabilities.
    if rustix::process::geteuid().is_root() {
        let job = sh("exec 2>&1; setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all sh -c \
                      'test -r /proc/$0/mem || echo closed; cat /proc/$0/environ; : > /proc/$0/mem' $PPID");
        let said = runtime.run(&id("look"), &job).await.unwrap().stdout.text();
        assert!(said.matches("ermission denied").count() >= 1, "{said}");
    }
    place.is_left_clean(runtime).await;
}

/// Jobs have no access to the keys of the session keyring of `windlass`.
#[tokio::test]
async fn a_process_has_no_key_of_its_owners_session() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let host = Host::new();
    let job = host.job().args(["read-session-keyring"]);
    let outcome = runtime.run(&id("keys"), &job).await.unwrap();
    let text = outcome.stdout.text();
    assert!(text.starts_with("held read-session-keyring"), "{text}{}", outcome.stderr.text());
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn what_a_job_leaves_running_is_named() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let outcome = runtime.run(&id("job"), &sh("setsid sleep 600 & sleep 600 & exit 3")).await.unwrap();
    assert_eq!((outcome.end, outcome.left_behind), (End::Exited(3), vec!["sleep".to_owned()]));
    // `find` returns the same outcome.
    runtime.submit(&id("job"), &sh("setsid sleep 600 & exit 0")).await.unwrap();
    let outcome = runtime.wait(&id("job")).await.unwrap();
    assert_eq!(runtime.find(&id("job")).await.unwrap(), Found::Ended(Box::new(outcome)));
    runtime.remove(&id("job")).await.unwrap();
    let outcome = runtime.run(&id("job"), &sh("sleep 0 & wait")).await.unwrap();
    assert_eq!(outcome.left_behind, [""; 0]);
    // A job that is ended from outside is expected to leave processes behind, so they are not reported.
    let job = sh("sleep 600 & sleep 600").timeout(Duration::from_millis(200));
    let outcome = runtime.run(&id("job"), &job).await.unwrap();
    assert_eq!((outcome.end, outcome.left_behind), (End::TimedOut, vec![]));
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_job_that_removes_its_own_folder_is_told_at_once() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    for job in [
        sh("rm -rf \"${HOME%/work}\"; cd /"),
        sh("rm -rf \"${HOME%/work}\"").output("x", "x".parse().unwrap(), 9),
    ] {
        let begun = std::time::Instant::now();
        let outcome = runtime.run(&id("job"), &job).await.unwrap();
        let End::Lost(why) = &outcome.end else { panic!("{:?}", outcome.end) };
        assert!(why.contains("it removed its own folder") && why.contains("exited with code 0"), "{why}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert_eq!(runtime.find(&id("job")).await.unwrap(), Found::Never);
        // The job may end before `wait` is called.
        runtime.submit(&id("job"), &job).await.unwrap();
        while runtime.find(&id("job")).await.unwrap() != Found::Never {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let outcome = runtime.wait(&id("job")).await.unwrap();
        assert!(matches!(outcome.end, End::Lost(_)), "{:?}", outcome.end);
    }
    place.is_left_clean(runtime).await;
}

/// The output of a job may be secret. Only the job's user may read the files that contain the output. This also applies
/// to `stdout.tail`, the file with the last bytes of a long output.
#[tokio::test]
async fn files_of_a_running_job_are_its_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let mut limits = Limits::default();
    (limits.spill_bytes, limits.stdout_bytes, limits.stderr_bytes) = (1000, 1000, 1000);
    let job = sh("umask 0; head -c 100000 /dev/zero; echo err >&2").stdin(vec![b'x'; 100_000]).limits(limits);
    runtime.submit(&id("job"), &job).await.unwrap();
    runtime.wait(&id("job")).await.unwrap();
    let folder = place.state().join("job");
    let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("."), 0o700);
    for file in ["job.json", "stdout", "stdout.tail", "stderr"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
    assert!(!folder.join("stdin").exists());
    runtime.remove(&id("job")).await.unwrap();
    place.is_left_clean(runtime).await;
}

/// Output may be secret. While it is short, it is kept in memory and never on a disk.
#[tokio::test]
async fn what_a_job_writes_is_in_memory_while_it_is_short() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let Some(memory) = place.memory() else { return crate::skipped(&"/dev/shm is not in memory") };
    let long = "head -c 2000000 /dev/zero | tr '\\0' x";
    let script =
        format!("mkfifo gate end; printf hunter2; printf err >&2; read go < gate; {long}; read go < end");
    let mut limits = Limits::default();
    limits.stdout_bytes = 4_000_000;
    let job = sh(&script).limits(limits).stdin("hunter2, too");
    runtime.submit(&id("job"), &job).await.unwrap();
    let (stdout, stderr) = (place.state().join("job/stdout"), place.state().join("job/stderr"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    until("it has written", async || {
        fs::read(&stdout).is_ok_and(|text| text == b"hunter2")
            && fs::read(&stderr).is_ok_and(|text| text == b"err")
    })
    .await;
    for stream in [&stdout, &stderr] {
        let kept = fs::read_link(stream).unwrap();
        assert_eq!((kept.parent(), mode(&kept), mode(&memory)), (Some(&*memory), 0o600, 0o700));
    }
    for file in files(place.folder()).iter().map(Path::new) {
        let found = file.symlink_metadata().unwrap();
        assert!(!found.is_file() || !fs::read_to_string(file).unwrap().contains("hunter2, too"), "{file:?}");
        assert!(!found.is_file() || file != stdout && file != stderr, "{file:?}");
    }
    // Output that gets long moves to the disk.
    fs::write(gate(&place, "job"), "on\n").unwrap();
    until("it has moved", async || fs::metadata(&stdout).is_ok_and(|found| found.len() == 2_000_007)).await;
    assert!(fs::read_link(&stdout).is_err() && mode(&stdout) == 0o600);
    assert_eq!(fs::read_dir(&memory).unwrap().count(), 1);
    // Another pipe than before, because the first writer may not have closed its pipe yet.
    fs::write(gate(&place, "job").with_file_name("end"), "on\n").unwrap();
    let outcome = runtime.wait(&id("job")).await.unwrap();
    let text = outcome.stdout.text();
    assert_eq!((text.len(), outcome.stderr.text(), outcome.end), (2_000_007, "err".into(), End::Exited(0)));
    assert!(text.starts_with("hunter2xxx"));
    // The output is removed with the job, also when the job has removed its own folder.
    runtime.remove(&id("job")).await.unwrap();
    assert!(!memory.exists() || fs::read_dir(&memory).unwrap().count() == 0);
    runtime.run(&id("job"), &sh("echo hunter2; sleep 0.1; rm -rf \"${HOME%/work}\"; cd /")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn open_files_are_limited() {
    let place = Place::new();
    let runtime = Arc::new(place.runtime());
    let mut limits = Limits::default();
    limits.open_files = Some(64);
    let job = sh("ulimit -n; ulimit -Hn").limits(limits.clone());
    assert_eq!(runtime.run(&id("job"), &job).await.unwrap().stdout.text(), "64\n64\n");
    // A limit above the maximum can't be set, and the job reports it.
    limits.open_files = Some(u64::MAX - 1);
    let outcome = runtime.run(&id("job"), &sh("true").limits(limits)).await.unwrap();
    let why = "its limit of open files can't be set: the host allows fewer".to_owned();
    assert_eq!(outcome.end, End::NotStarted(StartFailure::Other(why)));
    place.is_left_clean(runtime).await;
}
