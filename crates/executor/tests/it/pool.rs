//! Tests the pool and its runner without containers. In these tests, the runners are child processes of the test. The
//! pool must pass the same conformance suite as all runtimes.

use std::{collections::BTreeSet, os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

use async_trait::async_trait;
use windlass_executor::{
    End, Found, Job, JobEvent, JobId, Runtime, RuntimeError,
    pool::{
        Carrier, ContainerNeeds, EndContainer, PoolRuntime, Shape, StartError, WarmContainer,
        local::LocalCarrier,
    },
    runner,
    testing::{
        Subject,
        leftovers::{self, Leftovers},
    },
};

use crate::place::Place;

/// A pool whose runners are child processes of the test. The pool passes jobs that its runners can't run to the process
/// runtime `fresh`.
struct World {
    place: Place,
    fresh: Arc<windlass_executor::process::ProcessRuntime>,
    pool: Arc<PoolRuntime>,
}

impl World {
    fn new(size: usize) -> Self {
        let place = Place::new();
        let fresh = Arc::new(place.runtime());
        let runners = place.folder().join("runners");
        std::fs::create_dir(&runners).unwrap();
        let carrier = Arc::new(LocalCarrier::new(runners));
        let pool = PoolRuntime::new(fresh.clone(), carrier, size, place.folder().join("output"));
        Self { place, fresh, pool: Arc::new(pool) }
    }

    fn host(&self) -> BTreeSet<String> {
        let mark = self.place.folder().to_str().unwrap();
        let files = leftovers::files(self.place.folder()).into_iter();
        let files = files.filter(|file| !file.ends_with("/runners") && !file.ends_with("/windlass-runner"));
        files.chain(leftovers::processes(mark)).collect()
    }

    async fn close(self) {
        self.pool.close().await;
        self.fresh.close().await.unwrap();
    }
}

async fn check(case: &str, run: impl AsyncFnOnce(&Subject)) {
    assert!(runner::program().is_some(), "the runner was not built: is there a static C library?");
    let world = World::new(4);
    let before = Leftovers::before(async || world.host()).await;
    Subject::new(world.pool.clone(), case, Job::command("sh")).check(run).await;
    world.pool.close().await;
    world.fresh.close().await.unwrap();
    before.after(async || world.host()).await;
}

windlass_executor::conformance_tests!(check);

fn id(text: &str) -> JobId {
    text.parse().unwrap()
}

fn sh(script: &str) -> Job {
    Job::command("sh").args(["-c", script])
}

async fn printed(world: &World, name: &str, job: &Job) -> String {
    world.pool.run(&id(name), job).await.unwrap().stdout.text().trim().to_owned()
}

#[tokio::test]
async fn jobs_follow_each_other_in_one_container_until_one_is_ended_by_force() {
    let world = World::new(1);
    // The parent of the job is the runner.
    let parent = sh("echo $PPID");
    let first = printed(&world, "first", &parent).await;
    assert_eq!(printed(&world, "second", &parent).await, first);
    assert_eq!(world.pool.run(&id("fails"), &sh("kill -9 $$")).await.unwrap().end, End::Signalled(9));
    assert_eq!(printed(&world, "third", &parent).await, first);
    let slow = sh("sleep 600").timeout(Duration::from_millis(50));
    assert_eq!(world.pool.run(&id("slow"), &slow).await.unwrap().end, End::TimedOut);
    assert_ne!(printed(&world, "fourth", &parent).await, first);
    world.close().await;
}

#[tokio::test]
async fn who_must_be_alone_or_finish_gets_a_fresh_one() {
    let world = World::new(1);
    let parent = sh("echo $PPID");
    let warm = printed(&world, "warm", &parent).await;
    let fate = windlass_executor::OnOwnerDeath::Finish;
    assert_ne!(printed(&world, "finish", &parent.clone().on_owner_death(fate)).await, warm);
    assert_ne!(printed(&world, "alone", &parent.clone().alone()).await, warm);
    assert_eq!(printed(&world, "again", &parent).await, warm);
    world.close().await;
}

#[tokio::test]
async fn what_a_job_leaves_is_gone_before_the_next_begins() {
    let world = World::new(1);
    let leaves = "setsid sleep 600 & echo left > left; echo left > $TMPDIR/left; pwd";
    let folder = printed(&world, "leaves", &sh(leaves)).await;
    let looks = format!("ls {folder} {folder}/../tmp | grep left; pgrep -P $PPID sleep; pwd");
    assert_eq!(printed(&world, "looks", &sh(&looks)).await, folder);
    world.close().await;
}

#[tokio::test]
async fn what_a_job_leaves_running_is_named() {
    let world = World::new(1);
    let left = sh("setsid sleep 600 & sleep 600 & exit 3");
    let outcome = world.pool.run(&id("left"), &left).await.unwrap();
    assert_eq!((outcome.end, outcome.left_behind), (End::Exited(3), vec!["sleep".to_owned()]));
    let waits = world.pool.run(&id("waits"), &sh("sleep 0 & wait")).await.unwrap();
    assert_eq!(waits.left_behind, [""; 0]);
    // A job that is ended from outside is expected to leave processes behind, so they are not reported.
    let slow = sh("sleep 600 & sleep 600").timeout(Duration::from_millis(200));
    let outcome = world.pool.run(&id("slow"), &slow).await.unwrap();
    assert_eq!((outcome.end, outcome.left_behind), (End::TimedOut, vec![]));
    world.close().await;
}

#[tokio::test]
async fn a_runner_that_dies_loses_its_job_and_nothing_else() {
    let world = World::new(1);
    world.pool.submit(&id("kills"), &sh("echo said; sleep 0.1; kill -9 $PPID; sleep 2")).await.unwrap();
    let outcome = world.pool.wait(&id("kills")).await.unwrap();
    assert_eq!(world.pool.find(&id("kills")).await.unwrap(), Found::Gone);
    assert!(
        matches!(&outcome.end, End::Lost(why) if why.contains("its runner has exited")),
        "{:?}",
        outcome.end
    );
    assert_eq!(outcome.stdout.text(), "said\n");
    assert_eq!(printed(&world, "next", &sh("echo next")).await, "next");
    world.close().await;
}

#[tokio::test]
async fn a_closed_pool_has_ended_its_jobs_and_takes_no_more() {
    let world = World::new(1);
    world.pool.submit(&id("runs"), &sh("sleep 600")).await.unwrap();
    world.pool.submit(&id("waits"), &sh("sleep 600")).await.unwrap();
    world.pool.close().await;
    for job in ["runs", "waits"] {
        assert_eq!(world.pool.wait(&id(job)).await.unwrap().end, End::Cancelled);
        world.pool.remove(&id(job)).await.unwrap();
        assert_eq!(world.pool.find(&id(job)).await.unwrap(), Found::Never);
    }
    let late = world.pool.run(&id("late"), &sh(":")).await.unwrap();
    assert!(matches!(late.end, End::NotStarted(_)), "{:?}", late.end);
    let unknown = world.pool.wait(&id("unknown")).await;
    assert!(matches!(unknown, Err(RuntimeError::UnknownJob { .. })));
    world.close().await;
}

/// A carrier whose containers never end.
struct Deaf(LocalCarrier);

struct NeverEnds {
    _container: Box<dyn EndContainer>,
}

#[async_trait]
impl EndContainer for NeverEnds {
    async fn end(self: Box<Self>) -> Option<String> {
        std::future::pending().await
    }
}

#[async_trait]
impl Carrier for Deaf {
    async fn needs(&self, job: &Job) -> Option<ContainerNeeds> {
        self.0.needs(job).await
    }

    async fn start(&self, shape: &Shape) -> Result<WarmContainer, StartError> {
        let mut container = self.0.start(shape).await?;
        container.end = Box::new(NeverEnds { _container: container.end });
        Ok(container)
    }

    async fn reap(&self) -> Result<(), RuntimeError> {
        self.0.reap().await
    }
}

#[tokio::test]
async fn a_job_ends_even_if_its_main_process_cannot_be_killed() {
    if !rustix::process::geteuid().is_root() {
        return crate::skipped(&"it needs root");
    }
    let world = World::new(1);
    let runners = world.place.folder().join("runners");
    let write = |name: &str, content: &[u8]| {
        let path = runners.join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("real", runner::program().unwrap());
    // The runner has no right to kill the processes of another user.
    let wrapper = "#!/bin/sh\nexec setpriv --inh-caps -kill --bounding-set -kill \"${0%/*}/real\" \"$@\"\n";
    write("windlass-runner", wrapper.as_bytes());
    let script = "trap '' TERM; echo $$; while :; do sleep 600; done";
    let stuck = Job::command("setpriv").args(["--reuid", "65534", "--clear-groups", "sh", "-c", script]);
    let mut stuck = stuck.timeout(Duration::from_millis(500));
    stuck.limits.grace = Duration::from_millis(100);
    let (job, limit) = (id("stuck"), Duration::from_secs(120));
    let ended = tokio::time::timeout(limit, world.pool.run(&job, &stuck)).await;
    let outcome = ended.expect("the job does not end").unwrap();
    assert_eq!(outcome.end, End::TimedOut);
    // The session of the main process.
    let main = rustix::process::Pid::from_raw(outcome.stdout.text().trim().parse().unwrap()).unwrap();
    rustix::process::kill_process_group(main, rustix::process::Signal::KILL).unwrap();
    world.close().await;
}

#[tokio::test]
async fn a_job_whose_container_does_not_respond_is_lost_when_the_pool_is_closed() {
    let World { place, fresh, pool: _ } = World::new(1);
    let carrier = Arc::new(Deaf(LocalCarrier::new(place.folder().join("runners"))));
    let pool = PoolRuntime::new(fresh.clone(), carrier, 1, place.folder().join("output"));
    let lost = id("lost");
    pool.submit(&lost, &sh("echo said; sleep 0.1; kill -9 $PPID; sleep 2")).await.unwrap();
    let mut events = pool.events(&lost).await.unwrap();
    while !matches!(events.next().await, Some(JobEvent::Output { .. })) {}
    // The limit of `close` passes at once.
    tokio::time::pause();
    pool.close().await;
    tokio::time::resume();
    let outcome = pool.wait(&lost).await.unwrap();
    assert!(matches!(&outcome.end, End::Lost(why) if why.contains("the pool was closed")), "{outcome:?}");
    assert_eq!(outcome.stdout.text(), "said\n");
    fresh.close().await.unwrap();
}
