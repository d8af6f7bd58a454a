//! Tests warm containers on the engine that the Docker client would find. The tests run the conformance suite, and
//! check properties that only a pool has.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use windlass_executor::{
    End, Found, Isolation, Job, JobId, Limits, Root, Runtime, User,
    docker::WarmContainers,
    image::build::ImageBuilder,
    pool::PoolRuntime,
    testing::{Subject, leftovers::Leftovers},
};

use super::place::{IMAGE, Place, TURNS, ask, busybox, sh};

/// A pool of warm containers. The pool passes other jobs to the runtime of `place`, which runs each of them in a fresh
/// container.
struct World {
    place: Place,
    pool: Arc<PoolRuntime>,
    folder: tempfile::TempDir,
}

impl World {
    async fn new(test: &str, size: usize) -> Option<Self> {
        let place = Place::new(test).await?;
        let folder = tempfile::tempdir().unwrap();
        let pool = Arc::new(pool(&place, folder.path(), size));
        Some(Self { place, pool, folder })
    }

    fn scope(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("pool/scope")).unwrap()
    }

    /// Returns the warm containers. It asks the engine's own client program.
    fn containers(&self, scope: &str) -> std::collections::BTreeSet<String> {
        let label = format!("label=io.windlass.pool={scope}");
        ask(&self.place.engine, &["ps", "--all", "--quiet", "--filter", &label])
    }

    async fn run(&self, name: &str, job: Job) -> windlass_executor::Outcome {
        self.pool.run(&self.id(name), &job.image(IMAGE)).await.unwrap()
    }

    async fn printed(&self, name: &str, job: Job) -> String {
        self.run(name, job).await.stdout.text().trim().to_owned()
    }

    fn id(&self, name: &str) -> JobId {
        format!("{name}-{}", self.place.runtime.client()).parse().unwrap()
    }

    async fn close(self) {
        self.close_and(|_| ()).await;
    }

    /// Closes the pool, and then cleans up after the test.
    async fn close_and(self, clean_up: impl FnOnce(&Place)) {
        let scope = self.scope();
        self.pool.close().await;
        self.place.runtime.close().await;
        assert!(self.containers(&scope).is_empty());
        clean_up(&self.place);
        drop(self.pool);
        assert!(!self.folder.path().join("pool").exists(), "nothing is left of the pool's folder");
    }
}

fn pool(place: &Place, folder: &Path, size: usize) -> PoolRuntime {
    let warm = Arc::new(WarmContainers::open(place.engine.clone(), folder.join("pool")).unwrap());
    PoolRuntime::new(place.runtime.clone(), warm, size, folder.join("output"))
}

async fn check(case: &str, run: impl AsyncFnOnce(&Subject)) {
    let Some(world) = World::new(case, 4).await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let scope = world.scope();
    let look = async || &world.containers(&scope) | &world.place.left();
    let before = Leftovers::before(look).await;
    let name = format!("{case}-{}", world.place.runtime.client());
    Subject::new(world.pool.clone(), &name, Job::command("sh").image(IMAGE)).check(run).await;
    world.pool.close().await;
    world.place.runtime.close().await;
    before.after(look).await;
    let volumes = ask(&world.place.engine, &["volume", "ls", "--quiet", "--filter", "name=windlass-volume-"]);
    for volume in volumes.iter().filter(|volume| volume.ends_with(world.place.runtime.client())) {
        ask(&world.place.engine, &["volume", "rm", volume]);
    }
}

windlass_executor::conformance_tests!(check);

/// Everything a job leaves outside its own folders is removed too: processes, `/tmp`, `/dev/shm`.
#[tokio::test]
async fn jobs_follow_each_other_and_see_nothing_of_each_other() {
    let Some(world) = World::new("jobs_follow_each_other", 1).await else { return };
    let host =
        world.printed("first", sh("hostname; touch /tmp/left /dev/shm/left; setsid sleep 600 &")).await;
    let looks = sh("hostname; ls /tmp /dev/shm; ls -d /proc/[0-9]* | wc -l");
    // The runner, the shell, `ls` or `wc`, and the shell of the pipe.
    let seen = world.printed("second", looks).await;
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!((lines[0], lines[1], lines[2], lines[3]), (host.as_str(), "/dev/shm:", "", "/tmp:"), "{seen}");
    assert!(lines[4].parse::<u32>().unwrap() <= 4, "{seen}");
    world.close().await;
}

/// A job in a warm container leaves processes running. windlass must report the names of these processes. The runner,
/// which is the first process of the container, must find the names before it kills all other processes.
#[tokio::test]
async fn what_a_job_leaves_running_in_a_warm_container_is_named() {
    let Some(world) = World::new("what_a_job_leaves_running_in_a_warm", 1).await else { return };
    let first = world.printed("first", sh("hostname")).await;
    let outcome = world.run("left", sh("hostname; setsid sleep 600 & sleep 600 & exit 3")).await;
    assert_eq!(outcome.stdout.text().trim(), first);
    assert_eq!((outcome.end, outcome.left_behind), (End::Exited(3), vec!["sleep".to_owned()]));
    let outcome = world.run("waits", sh("hostname; sleep 0 & wait")).await;
    assert_eq!((outcome.stdout.text().trim(), outcome.left_behind), (first.as_str(), vec![]));
    let slow = sh("sleep 600 & sleep 600").timeout(Duration::from_millis(200));
    let outcome = world.run("slow", slow).await;
    assert_eq!((outcome.end, outcome.left_behind), (End::TimedOut, vec![]));
    world.close().await;
}

#[tokio::test]
async fn a_container_is_as_hard_as_a_fresh_one() {
    let Some(world) = World::new("a_container_is_as_hard", 1).await else { return };
    let script = "grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr '\\t' ' '; ip -o link | wc -l
        (: > /file); (: > /windlass/file); kill -9 1; cat /proc/1/environ >/dev/null; echo over";
    let outcome = world.run("hard", sh(script)).await;
    let expected = "Uid: 65534 65534 65534 65534\nCapBnd: 0000000000000000\nCapEff: 0000000000000000\n\
        NoNewPrivs: 1\nSeccomp: 2\n1\nover\n";
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&outcome.stdout.text()), sorted(expected), "{}", outcome.stderr.text());
    let refused = outcome.stderr.text();
    assert!(refused.contains("Read-only file system"), "{refused}");
    assert!(refused.matches("ermission denied").count() >= 2, "{refused}");
    world.close().await;
}

/// A job without limits runs in a warm container. The container must have the default limits of a fresh container, as
/// far as the engine enforces these limits.
#[tokio::test]
async fn a_warm_container_has_the_limits_of_a_fresh_one() {
    use windlass_executor::Capability;
    let Some(world) = World::new("a_warm_container_has_the_limits", 1).await else { return };
    assert_eq!(world.printed("first", sh("ulimit -c")).await, "0");
    let warm = world.containers(&world.scope()).pop_first().unwrap();
    let host = "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.PidsLimit}} {{.HostConfig.NanoCpus}}";
    let found = ask(&world.place.engine, &["inspect", "--format", host, &warm]).pop_first().unwrap();
    let found: Vec<u64> = found.split(' ').map(|number| number.parse().unwrap_or(0)).collect();
    let engine = world.place.engine.describe().await.unwrap();
    let when = |can, most| if engine.capabilities.contains(&can) { most } else { 0 };
    let memory = when(Capability::MemoryLimit, 512 << 20);
    let processors = u64::try_from(engine.processors).unwrap().min(2);
    // The runner is one more process.
    let pids = when(Capability::PidsLimit, 256 + 1);
    assert_eq!(found, [memory, memory, pids, when(Capability::CpuLimit, processors * 1_000_000_000)]);
    // A limit above the number of processors is lowered, because the engine would refuse the container.
    let mut limits = Limits::default();
    limits.cpu_millis = Some(1_000_000);
    assert_eq!(world.printed("many", sh("echo over").limits(limits)).await, "over");
    world.close().await;
}

/// Warm containers have the default isolation, so a job that requests another one gets a fresh container.
#[tokio::test]
async fn a_job_with_its_own_isolation_gets_a_fresh_container() {
    let Some(world) = World::new("a_job_with_its_own_isolation", 1).await else { return };
    let first = world.printed("first", sh("hostname")).await;
    let mut isolation = Isolation::default();
    isolation.root = Root::Writable;
    isolation.tmp_bytes = Some(1 << 20);
    let script =
        "echo x > /file && cat /file; head -c 2000000 /dev/zero > /tmp/file; wc -c < /tmp/file; hostname";
    let own = sh(script).isolation(isolation).user(User::new(0, None));
    let printed = world.printed("own", own).await;
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines.len() == 3 && lines[..2] == ["x", "1048576"] && lines[2] != first, "{printed}");
    assert_eq!(world.printed("last", sh("hostname")).await, first);
    world.close().await;
}

/// A warm container runs the image that the job's tag refers to now.
#[tokio::test]
async fn a_warm_container_follows_the_tag_of_its_image() {
    let Some(world) = World::new("a_warm_container_follows_the_tag", 1).await else { return };
    let name = format!("windlass-test/moved:{}", world.place.runtime.client());
    let load = async |version: &str| {
        let image = ImageBuilder::new(&name).busybox(busybox().unwrap()).unwrap();
        let image = image.file("version", 0o644, version).build().unwrap();
        world.place.engine.load_image(image.archive().to_vec()).await.unwrap();
        image.id().to_owned()
    };
    let printed = async |number: u32| {
        let job = sh("cat /version; hostname").image(&name);
        let outcome = world.pool.run(&world.id(&format!("moved-{number}")), &job).await.unwrap();
        outcome.stdout.text()
    };
    let first = load("1 ").await;
    let before = printed(1).await;
    assert_eq!((&before[..2], printed(2).await), ("1 ", before.clone()), "one container runs both jobs");
    let second = load("2 ").await;
    let follows = async {
        let mut number = 3;
        while !printed(number).await.starts_with("2 ") {
            number += 1;
            // A pool also replaces a container that has run several hundred jobs. This test runs fewer.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), follows).await.expect("the tag is followed");
    world.close_and(|place| drop(ask(&place.engine, &["rmi", "--force", &first, &second]))).await;
}

#[tokio::test]
async fn who_runs_out_of_memory_costs_its_container() {
    let Some(world) = World::new("who_runs_out_of_memory", 1).await else { return };
    let mut limits = Limits::default();
    limits.memory_bytes = Some(32 << 20);
    let host = sh("hostname").limits(limits.clone());
    let first = world.printed("first", host.clone()).await;
    assert_eq!(world.printed("second", host.clone()).await, first);
    let hungry = sh("x=0123456789abcdef; while :; do x=$x$x; done").limits(limits);
    assert_eq!(world.run("hungry", hungry).await.end, End::OutOfMemory);
    assert_ne!(world.printed("third", host).await, first);
    world.close().await;
}

/// A client is killed. No job and no container of this client must remain: the death of the client closes the stdin of
/// the runner, so the runner ends. To the next client, the job must look like a job that never existed.
#[tokio::test]
async fn a_killed_client_leaves_nothing() {
    let Some(world) = World::new("a_killed_client", 1).await else { return };
    let scope = world.scope();
    let mut client = Command::new(env!("CARGO_BIN_EXE_windlass-executor-test-warm-owner"))
        .arg(world.folder.path().join("pool"))
        .args([world.id("job").as_str(), IMAGE])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert_eq!(world.containers(&scope).len(), 1);
    client.kill().unwrap();
    client.wait().unwrap();
    let (pool, id) = (&world.pool, world.id("job"));
    assert_eq!(pool.find(&id).await.unwrap(), Found::Never);
    let gone = async {
        while !world.containers(&scope).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.expect("its container goes");
    world.close().await;
}
