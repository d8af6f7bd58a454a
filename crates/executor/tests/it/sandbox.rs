//! Runs sandboxes through the conformance suite, and tests the properties that only sandboxes have.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    time::Duration,
};

use tempfile::TempDir;
use windlass_executor::{
    Bounds, Capability, End, Found, Isolation, Job, JobId, Limits, Network, OnOwnerDeath, Output, Runtime,
    RuntimeError, StartFailure, User,
    image::Store,
    sandbox::{SandboxOptions, SandboxRuntime, probe},
    testing::{
        Subject,
        leftovers::{self, Leftovers},
    },
};

use crate::{
    attempts::{PROGRAM, are_held, given},
    images::Made,
    place::{supervisor, until},
};

/// Name of the image that all of these tests run in.
const IMAGE: &str = "windlass-test/busybox:1";

/// A store with the image of these tests, or the reason why sandboxes can't run here. The store stays for the
/// next run.
static STORE: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    probe(Path::new("bwrap"))?;
    let made = Made::busybox().ok_or("there is no static busybox (package busybox-static)")?;
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("busybox.tar");
    made.docker_archive(&archive, IMAGE);
    let folder = given().unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    let place = folder.join("sandbox-store");
    Store::open(&place).unwrap().import(&archive, None).unwrap();
    Ok(place)
});

/// Returns the path of the store. Reports the test as skipped and returns `None` where sandboxes can't run.
fn store() -> Option<PathBuf> {
    match &*STORE {
        Ok(place) => Some(place.clone()),
        Err(why) => {
            assert!(!is_required(), "WINDLASS_REQUIRE_SANDBOX is set, but {why}");
            crate::skipped(why);
            None
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "tests are told by whoever runs them what they may skip")]
fn is_required() -> bool {
    std::env::var_os("WINDLASS_REQUIRE_SANDBOX").is_some_and(|value| value == "1")
}

/// A folder for the jobs of one test.
struct Place {
    folder: TempDir,
    store: PathBuf,
}

impl Place {
    fn new() -> Option<Self> {
        let store = store()?;
        Some(Self { folder: tempfile::tempdir().unwrap(), store })
    }

    fn options(&self) -> SandboxOptions {
        SandboxOptions::new(self.folder.path().join("jobs"), &self.store, supervisor())
    }

    fn runtime(&self) -> SandboxRuntime {
        SandboxRuntime::open(self.options()).unwrap()
    }

    fn host(&self) -> BTreeSet<String> {
        let mark = self.folder.path().to_str().unwrap();
        let seen = [
            leftovers::files(self.folder.path()),
            leftovers::processes(mark),
            leftovers::mounts(mark),
            leftovers::groups(&self.folder.path().join("jobs")),
        ];
        seen.into_iter().flatten().collect()
    }

    async fn is_left_clean(&self, runtime: SandboxRuntime) {
        runtime.close().await.unwrap();
        drop(runtime);
        until("nothing is left", async || self.host().is_empty()).await;
    }
}

async fn check(case: &str, run: impl AsyncFnOnce(&Subject)) {
    let Some(place) = Place::new() else { return };
    let runtime = Arc::new(place.runtime());
    let before = Leftovers::before(async || place.host()).await;
    Subject::new(runtime.clone(), case, Job::command("sh").image(IMAGE)).check(run).await;
    runtime.close().await.unwrap();
    drop(runtime);
    before.after(async || place.host()).await;
}

mod suite {
    use super::check;

    windlass_executor::conformance_tests!(check);
}

fn sh(script: &str) -> Job {
    Job::command("sh").args(["-c", script]).image(IMAGE)
}

fn id(text: &str) -> JobId {
    text.parse().unwrap()
}

async fn printed(runtime: &SandboxRuntime, job: &Job) -> String {
    let outcome = runtime.run(&id("job"), job).await.unwrap();
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr.text());
    outcome.stdout.text()
}

/// A job may choose the size of its `/tmp`.
#[tokio::test]
async fn a_job_has_the_size_of_tmp_that_it_requests() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let mut isolation = Isolation::default();
    isolation.tmp_bytes = Some(1 << 20);
    let fill = sh("head -c 2000000 /dev/zero > /tmp/file; wc -c < /tmp/file").isolation(isolation);
    assert_eq!(printed(&runtime, &fill).await, "1048576\n");
}

#[tokio::test]
async fn a_job_sees_its_image_and_nothing_of_the_host() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let dir = tempfile::tempdir().unwrap();
    // The test has its own store, since other tests add mount points to the shared image.
    let runtime = {
        drop(runtime);
        Made::busybox().unwrap().docker_archive(&dir.path().join("busybox.tar"), IMAGE);
        let store = Store::open(dir.path().join("store")).unwrap();
        store.import(&dir.path().join("busybox.tar"), None).unwrap();
        let jobs = place.folder.path().join("jobs");
        SandboxRuntime::open(SandboxOptions::new(jobs, dir.path().join("store"), supervisor())).unwrap()
    };
    let seen = printed(&runtime, &sh("ls /; ls /work /tmp; pwd; hostname; echo $PATH $FROM_IMAGE")).await;
    assert_eq!(seen, "bin\ndev\netc\nproc\ntmp\nwork\n/tmp:\n\n/work:\n/work\nsandbox\n/bin yes\n");
    // The first process, the shell, `ls` and `wc`.
    assert_eq!(printed(&runtime, &sh("ls -d /proc/[0-9]* | wc -l")).await, "4\n");
    assert_eq!(printed(&runtime, &sh("ip -o link | cut -d: -f2")).await, " lo\n");
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_job_has_no_rights_and_gets_none() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let seen = printed(&runtime, &sh("id -u; id -g; grep -E 'Cap|NoNew|^Seccomp:' /proc/self/status")).await;
    let zero = "0000000000000000";
    let expected = format!(
        "1000\n1000\nCapInh:\t{zero}\nCapPrm:\t{zero}\nCapEff:\t{zero}\nCapBnd:\t{zero}\nCapAmb:\t{zero}\nNoNewPrivs:\t1\nSeccomp:\t2\n"
    );
    assert_eq!(seen, expected);
    let root = sh("id -u; grep CapEff /proc/self/status").user(User::new(0, None));
    assert_eq!(printed(&runtime, &root).await, format!("0\nCapEff:\t{zero}\n"));
    for forbidden in [
        "touch /new",
        "touch /bin/busybox",
        "mount -t tmpfs none /tmp",
        "unshare -U true",
        "chroot / true",
        "mknod /tmp/null c 1 3",
        "echo x > /proc/sys/kernel/domainname",
        "test -e /proc/sysrq-trigger && echo h > /proc/sysrq-trigger",
        "test -s /proc/keys",
        "touch /dev/new",
        "hostname other",
        "kill -9 1; kill -0 1 && exit 1",
    ] {
        let outcome =
            runtime.run(&id("job"), &sh(&format!("{forbidden} 2>&1")).user(User::new(0, None))).await;
        let outcome = outcome.unwrap();
        assert!(
            matches!(outcome.end, End::Exited(1..) | End::Signalled(_)),
            "{forbidden}: {:?}",
            outcome.end
        );
    }
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn the_network_is_none_or_the_hosts() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let interfaces = "tail -n +3 /proc/net/dev | wc -l";
    let here = fs::read_to_string("/proc/net/dev").unwrap().lines().count() - 2;
    assert_eq!(printed(&runtime, &sh(interfaces)).await, "1\n");
    let host = sh(interfaces).network(Network::Host);
    assert_eq!(printed(&runtime, &host).await, format!("{here}\n"));
    let error = runtime.submit(&id("bridge"), &sh("true").network(Network::Bridge)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the runtime `sandbox` is not available: it supports only the networks `none` and `host`; use one of them, or \
         the runtime `docker`"
    );
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_job_needs_an_image() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let error = runtime.submit(&id("job"), &Job::command("true")).await.unwrap_err();
    assert!(error.to_string().contains("a job needs an image"), "{error}");
    assert_eq!(runtime.find(&id("job")).await.unwrap(), Found::Never);
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn the_outcome_names_the_image_by_its_digest() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let digest = Some(Made::busybox().unwrap().id().to_string());
    runtime.submit(&id("job"), &sh("exit 3")).await.unwrap();
    let outcome = runtime.wait(&id("job")).await.unwrap();
    assert_eq!((outcome.end.clone(), outcome.image_digest.clone()), (End::Exited(3), digest));
    // `find` returns the same outcome after it was reported and read.
    assert_eq!(runtime.find(&id("job")).await.unwrap(), Found::Ended(Box::new(outcome)));
    runtime.remove(&id("job")).await.unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_volume_is_mounted_where_the_job_says() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let job = |script: &str| sh(script).volume("state".parse().unwrap(), "/var/lib/demo");
    assert_eq!(printed(&runtime, &job("echo kept > $WINDLASS_VOLUME_STATE/file; pwd")).await, "/work\n");
    assert_eq!(printed(&runtime, &job("cat /var/lib/demo/file; rm /var/lib/demo/file")).await, "kept\n");
    for path in ["/work", "/tmp/", "/tmp/cache", "/dev/shm", "/proc", "//work", "/./work"] {
        let job = sh("true").volume("state".parse().unwrap(), path);
        let error = runtime.submit(&id("job"), &job).await.unwrap_err().to_string();
        assert!(error.contains(&format!("the volume `state` can't be at `{path}`")), "{error}");
    }
    for (path, why) in [
        ("var", "it is no absolute path below `/`"),
        ("/bin/sh", "`/bin/sh` is not a folder"),
        ("/a/../b", "it leads out of the image"),
    ] {
        let job = sh("true").volume("state".parse().unwrap(), path);
        let error = runtime.submit(&id("job"), &job).await.unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("nothing can be mounted at `{path}` of the image: {why}")),
            "{error}"
        );
    }
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn an_image_in_use_is_not_pruned() {
    let Some(place) = Place::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    Made::busybox().unwrap().docker_archive(&dir.path().join("busybox.tar"), IMAGE);
    let options =
        SandboxOptions::new(place.folder.path().join("jobs"), dir.path().join("store"), supervisor());
    let runtime = SandboxRuntime::open(options).unwrap();
    let image = dir.path().join("busybox.tar").display().to_string();
    let job = Job::command("sleep").arg("600").image(image);
    runtime.submit(&id("job"), &job).await.unwrap();
    let mut events = runtime.events(&id("job")).await.unwrap();
    assert!(events.next().await.is_some());
    let prune = || runtime.store().prune(windlass_executor::image::Prune::Unused).unwrap();
    assert_eq!((prune().removed.len(), prune().in_use.len()), (0, 1));
    runtime.cancel(&id("job"), Duration::ZERO).await.unwrap();
    runtime.wait(&id("job")).await.unwrap();
    runtime.remove(&id("job")).await.unwrap();
    assert_eq!(prune().removed.len(), 1);
    place.is_left_clean(runtime).await;
}

fn kill_supervisors(place: &Place) {
    let control = fs::read_dir(place.folder.path().join("jobs/.control")).unwrap();
    for name in control.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        // The file of a control group has another form of name.
        let Some(pid) = name.split('-').next().and_then(|pid| pid.parse().ok()) else { continue };
        let _gone = rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).unwrap(),
            rustix::process::Signal::KILL,
        );
    }
}

#[tokio::test]
async fn it_finishes_without_its_owner_and_dies_with_its_supervisor() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let job =
        sh("mkfifo gate; echo ready; read go < gate; echo $go; exit 7").on_owner_death(OnOwnerDeath::Finish);
    runtime.submit(&id("finish"), &job).await.unwrap();
    let gate = place.folder.path().join("jobs/finish/work/gate");
    until("it runs", async || gate.exists()).await;
    drop(runtime);
    let runtime = place.runtime();
    assert_eq!(runtime.find(&id("finish")).await.unwrap(), Found::Running);
    fs::write(gate, "on\n").unwrap();
    let outcome = runtime.wait(&id("finish")).await.unwrap();
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(7), "ready\non\n"));
    runtime.remove(&id("finish")).await.unwrap();

    runtime.submit(&id("lost"), &sh("setsid sleep 600 & touch here; sleep 600")).await.unwrap();
    until("it runs", async || place.folder.path().join("jobs/lost/work/here").exists()).await;
    kill_supervisors(&place);
    let outcome = runtime.wait(&id("lost")).await.unwrap();
    assert!(matches!(outcome.end, End::Lost(_)), "{:?}", outcome.end);
    runtime.remove(&id("lost")).await.unwrap();
    place.is_left_clean(runtime).await;
}

/// Returns whether a job has a prewarmed sandbox.
fn has_prewarmed_sandbox(place: &Place, id: &JobId) -> bool {
    place.folder.path().join("jobs").join(id.as_str()).join("room").is_symlink()
}

#[tokio::test]
async fn a_series_of_jobs_gets_prewarmed_sandboxes() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let job = |text: &str| {
        let script = "ls; cat given; cat below/it; echo $$ > out; ls /tmp; touch /tmp/mine";
        sh(script).file("given".parse().unwrap(), text).file("below/it".parse().unwrap(), "it\n")
    };
    let mut ahead = 0;
    for number in 0..200 {
        let (id, text) = (id("next"), format!("{number}\n"));
        let job = job(&text).output("out", "out".parse().unwrap(), 99);
        runtime.submit(&id, &job).await.unwrap();
        let outcome = runtime.wait(&id).await.unwrap();
        let expected = format!("below\ngiven\n{text}it\n");
        assert_eq!(outcome.stdout.text(), expected, "{}", outcome.stderr.text());
        assert!(matches!(&outcome.outputs["out"], Output::Content(_)), "{:?}", outcome.outputs);
        ahead += u32::from(has_prewarmed_sandbox(&place, &id));
        runtime.remove(&id).await.unwrap();
    }
    assert!(ahead > 20, "only {ahead} sandboxes were prewarmed");
    // Another user needs another sandbox.
    assert_eq!(printed(&runtime, &sh("id -u").user(User::new(7, None))).await, "7\n");
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_prewarmed_sandbox_dies_with_its_supervisor() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let lost = id("lost");
    until("a job gets a prewarmed sandbox", async || {
        runtime.submit(&lost, &sh("setsid env -i sleep 600 & touch here; sleep 600")).await.unwrap();
        let here = place.folder.path().join("jobs/lost/work/here");
        until("it runs", async || here.exists()).await;
        if has_prewarmed_sandbox(&place, &lost) {
            return true;
        }
        runtime.cancel(&lost, Duration::ZERO).await.unwrap();
        runtime.wait(&lost).await.unwrap();
        runtime.remove(&lost).await.unwrap();
        false
    })
    .await;
    kill_supervisors(&place);
    let outcome = runtime.wait(&lost).await.unwrap();
    assert!(matches!(outcome.end, End::Lost(_)), "{:?}", outcome.end);
    runtime.remove(&lost).await.unwrap();
    assert_eq!(printed(&runtime, &sh("echo again")).await, "again\n");
    runtime.close().await.unwrap();
    drop(runtime);
    // The next owner ends a sandbox that was just being made, and removes what a dying process held.
    until("nothing is left", async || {
        place.runtime().close().await.unwrap();
        place.host().is_empty()
    })
    .await;
}

#[tokio::test]
async fn orphans_in_a_sandbox_are_reaped() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let script = "for i in 1 2 3 4 5 6 7 8; do (sh -c 'sleep 0.05' &) ; done; sleep 0.3; \
                  grep -l '(zombie)' /proc/[0-9]*/status | wc -l";
    assert_eq!(printed(&runtime, &sh(script)).await, "0\n");
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn what_cant_make_a_sandbox_is_said() {
    let Some(place) = Place::new() else { return };
    let error = SandboxRuntime::open(place.options().bwrap("/no/such/bwrap")).unwrap_err();
    let expected =
        "the runtime `sandbox` is not available: there is no `/no/such/bwrap`: install bubblewrap 0.8";
    assert!(error.to_string().starts_with(expected), "{error}");
    // A program that fails as `bwrap` does where namespaces are forbidden.
    let refuses = place.folder.path().join("refuses");
    let script = "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n";
    fs::write(&refuses, script).unwrap();
    fs::set_permissions(&refuses, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let runtime = SandboxRuntime::open(place.options().bwrap(&refuses)).unwrap();
    let End::NotStarted(StartFailure::Other(why)) = runtime.run(&id("job"), &sh("true")).await.unwrap().end
    else {
        panic!("the job ran");
    };
    assert!(why.contains("No permissions") && why.contains("kernel.unprivileged_userns_clone=1"), "{why}");
    fs::remove_file(refuses).unwrap();
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_store_is_needed() {
    let Some(place) = Place::new() else { return };
    let file = place.folder.path().join("file");
    fs::write(&file, "").unwrap();
    let options = SandboxOptions::new(place.folder.path().join("jobs"), file.join("store"), supervisor());
    assert!(matches!(SandboxRuntime::open(options), Err(RuntimeError::Unavailable { .. })));
}

/// User that runs the tests that must not run as root. Tests create no users; `.ci/run` does.
const USER: &str = "windlass-test";

/// Windlass mostly runs as an ordinary user, and sandboxes are set up differently then.
#[test]
fn no_attack_of_a_job_leaves_the_sandbox_of_an_ordinary_user() {
    if store().is_none() || given().is_some() {
        return;
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let line = passwd.lines().find(|line| line.starts_with(&format!("{USER}:")));
    let user: Option<u32> = line.and_then(|line| line.split(':').nth(2)?.parse().ok());
    // Without root, the general test covers this case.
    let (true, Some(user)) = (rustix::process::geteuid().is_root(), user) else {
        assert!(!is_required() || !rustix::process::geteuid().is_root(), "there is no user `{USER}`");
        return crate::skipped(&format!("it is root who becomes the user `{USER}`, where there is one"));
    };
    let folder = tempfile::Builder::new().prefix("windlass-user-").tempdir_in("/tmp").unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::copy(std::env::current_exe().unwrap(), path("tests")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_windlass-supervisor"), path("supervisor")).unwrap();
    fs::write(path("attempts"), PROGRAM.as_slice()).unwrap();
    for name in ["", "tests", "supervisor", "attempts"] {
        std::os::unix::fs::chown(path(name), Some(user), Some(user)).unwrap();
    }
    let ran = std::process::Command::new("setpriv")
        .args(["--reuid", USER, "--regid", USER, "--init-groups", "--reset-env", "env"])
        .args(
            ["HOME", "TMPDIR", "WINDLASS_TEST_FOLDER"]
                .map(|name| format!("{name}={}", folder.path().display())),
        )
        .arg("WINDLASS_REQUIRE_SANDBOX=1")
        .arg(path("tests"))
        .args(["--exact", "sandbox::no_attack_of_a_job_leaves_its_sandbox"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}{errors}");
}

#[tokio::test]
async fn no_attack_of_a_job_leaves_its_sandbox() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    // The result does not depend on the job's user, nor on whether its sandbox was prewarmed.
    for user in [None, Some(User::new(0, None))] {
        for _ in 0..4 {
            let mut job = sh("true");
            job.user = user;
            are_held(&runtime, &id("attempts"), &job, &[]).await;
        }
    }
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn what_a_job_leaves_running_in_its_sandbox_is_named() {
    let Some(place) = Place::new() else { return };
    let runtime = place.runtime();
    let outcome = runtime.run(&id("job"), &sh("setsid sleep 600 & sleep 600 & exit 3")).await.unwrap();
    assert_eq!((outcome.end, outcome.left_behind), (End::Exited(3), vec!["sleep".to_owned()]));
    let outcome = runtime.run(&id("job"), &sh("sleep 0 & wait")).await.unwrap();
    assert_eq!(outcome.left_behind, [""; 0]);
    place.is_left_clean(runtime).await;
}

#[tokio::test]
async fn a_sandbox_is_limited_where_nothing_is_asked_for() {
    let Some(place) = Place::new() else { return };
    let bounds =
        Bounds { memory_bytes: Some(64 << 20), pids: Some(20), cpu_millis: None, open_files: Some(100) };
    let runtime = SandboxRuntime::open(place.options().bounds(bounds)).unwrap();
    assert_eq!(printed(&runtime, &sh("ulimit -n; ulimit -Hn")).await, "100\n100\n");
    let can = runtime.capabilities();
    let flood = sh("i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done 2>&1; wait");
    let memory = sh("head -c 200000000 /dev/zero | tail -c 200000000 | wc -c");
    for _ in 0..3 {
        if can.has(Capability::PidsLimit) {
            let outcome =
                runtime.run(&id("job"), &flood.clone().timeout(Duration::from_secs(20))).await.unwrap();
            let said = format!("{}{}", outcome.stdout.text(), outcome.stderr.text());
            assert!(said.contains("fork"), "{:?}: {said}", outcome.end);
        }
        if can.has(Capability::MemoryLimit) {
            let outcome = runtime.run(&id("job"), &memory).await.unwrap();
            assert!(outcome.stdout.text() != "200000000\n", "{:?}", outcome.end);
        }
        // A failure of one job does not affect the next in its group.
        assert_eq!(printed(&runtime, &sh("echo well")).await, "well\n");
    }
    // A job that asks for too much learns the reason.
    let mut limits = Limits::default();
    limits.open_files = Some(u64::MAX - 1);
    let outcome = runtime.run(&id("job"), &sh("true").limits(limits)).await.unwrap();
    let why = "its limit of open files can't be set: the host allows fewer".to_owned();
    assert_eq!(outcome.end, End::NotStarted(StartFailure::Other(why)));
    // A job may ask for more than the default, not only for less.
    let mut limits = Limits::default();
    limits.open_files = Some(200);
    assert_eq!(printed(&runtime, &sh("ulimit -n").limits(limits)).await, "200\n");
    place.is_left_clean(runtime).await;
}
