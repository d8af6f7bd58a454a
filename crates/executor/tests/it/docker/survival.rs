//! Tests deaths of clients, and clients that share an engine.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use windlass_executor::{End, Found, Job, JobId, OnOwnerDeath, Owner, Runtime, StartFailure};

use super::place::{IMAGE, Place, TURNS, ask, left, left_by, options, sh};
use crate::{
    attempts::{OF_ENGINES, are_held},
    place::until,
};

/// Returns a name that no other run of the tests uses.
fn unique(place: &Place, name: &str) -> String {
    format!("{name}-{}", place.runtime.client())
}

fn id(text: &str) -> JobId {
    text.parse().unwrap()
}

/// Starts another client with one job, and waits until that job has printed something.
fn client(place: &Place, name: &str, fate: &str, script: &str) -> Child {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_windlass-executor-test-docker-owner"))
        .arg(place.engine.endpoint().host.to_string())
        .args([IMAGE, name, name, fate, script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    owner
}

fn kill(mut owner: Child) {
    owner.kill().unwrap();
    owner.wait().unwrap();
}

/// Asserts that nothing is left of this client and of the other one.
async fn are_left_clean(place: &Place, other: &str) {
    place.runtime.close().await;
    until("nothing is left", async || place.left().is_empty() && left(&place.engine, other).is_empty()).await;
}

#[tokio::test]
async fn a_job_that_must_finish_does_so_without_its_client() {
    let Some(place) = Place::new("a_job_that_must_finish_does_so_without_its_client").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let name = unique(&place, "finish");
    kill(client(&place, &name, "finish", "echo ready; sleep 1; echo done >&2; echo 42 > file; exit 7"));
    let runtime = &place.runtime;
    assert_eq!(runtime.find(&id(&name)).await.unwrap(), Found::Running);
    assert!(runtime.list(&Owner::default()).await.unwrap().contains(&id(&name)));
    assert!(runtime.remove(&id(&name)).await.is_err());
    let outcome = runtime.wait(&id(&name)).await.unwrap();
    assert_eq!(outcome.end, End::Exited(7));
    assert_eq!([outcome.stdout.text(), outcome.stderr.text()], ["ready\n", "done\n"]);
    assert_eq!(runtime.find(&id(&name)).await.unwrap(), Found::Ended(Box::new(outcome)));
    // A repeated submit after doubt: the job ran once.
    runtime.submit(&id(&name), &sh("exit 1")).await.unwrap();
    assert_eq!(runtime.wait(&id(&name)).await.unwrap().end, End::Exited(7));
    runtime.remove(&id(&name)).await.unwrap();
    assert_eq!(runtime.find(&id(&name)).await.unwrap(), Found::Never);
    are_left_clean(&place, &name).await;
}

#[tokio::test]
async fn its_time_limit_holds_without_its_client_too() {
    let Some(place) = Place::new("its_time_limit_holds_without_its_client_too").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let other = Place::with(place.engine.clone(), options()).await;
    let name = unique(&place, "limit");
    let job =
        sh("echo ready; sleep 600").on_owner_death(OnOwnerDeath::Finish).timeout(Duration::from_millis(700));
    other.runtime.submit(&id(&name), &job).await.unwrap();
    let client = other.runtime.client().to_owned();
    drop(other);
    assert_eq!(place.runtime.wait(&id(&name)).await.unwrap().end, End::TimedOut);
    place.runtime.remove(&id(&name)).await.unwrap();
    are_left_clean(&place, &client).await;
}

#[tokio::test]
async fn a_job_that_must_not_outlive_its_client_is_ended() {
    let Some(place) = Place::new("a_job_that_must_not_outlive_its_client_is_ended").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let name = unique(&place, "kill");
    kill(client(&place, &name, "kill", "echo ready; sleep 600"));
    let outcome = place.runtime.wait(&id(&name)).await.unwrap();
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Cancelled, "ready\n"));
    place.runtime.remove(&id(&name)).await.unwrap();
    are_left_clean(&place, &name).await;
}

#[tokio::test]
async fn a_client_cancels_the_job_of_another() {
    let Some(place) = Place::new("a_client_cancels_the_job_of_another").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let other = Place::with(place.engine.clone(), options()).await;
    let name = unique(&place, "cancel");
    let polite = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done";
    other.runtime.submit(&id(&name), &sh(polite)).await.unwrap();
    let mut events = place.runtime.events(&id(&name)).await.unwrap();
    while !matches!(events.next().await, Some(windlass_executor::JobEvent::Output { .. }) | None) {}
    place.runtime.cancel(&id(&name), Duration::from_secs(600)).await.unwrap();
    let ours = place.runtime.wait(&id(&name)).await.unwrap();
    assert_eq!((ours.end.clone(), ours.stdout.text().as_str()), (End::Cancelled, "ready\nbye\n"));
    assert_eq!(other.runtime.wait(&id(&name)).await.unwrap(), ours);
    place.runtime.remove(&id(&name)).await.unwrap();
    other.runtime.close().await;
    are_left_clean(&place, other.runtime.client()).await;
}

#[tokio::test]
async fn what_a_dead_client_left_is_reaped_but_for_what_is_wanted() {
    let Some(place) = Place::new("what_a_dead_client_left_is_reaped_but_for_what_is_wanted").await else {
        return;
    };
    let _turn = TURNS.acquire().await.unwrap();
    let owner: Owner = unique(&place, "reap").parse().unwrap();
    let other = Place::with(place.engine.clone(), options()).await;
    let (wanted, unwanted) = (id(&unique(&place, "wanted")), id(&unique(&place, "unwanted")));
    for name in [&wanted, &unwanted] {
        let job = sh("echo ready; sleep 600").owner(owner.clone()).on_owner_death(OnOwnerDeath::Finish);
        other.runtime.submit(name, &job).await.unwrap();
    }
    let client = other.runtime.client().to_owned();
    // While that client lives, nothing of it is touched.
    assert_eq!(place.runtime.reap(&owner, |_| false).await.unwrap(), []);
    other.runtime.close().await;
    drop(other);
    let reaped = place.runtime.reap(&owner, |id| *id == wanted).await.unwrap();
    assert_eq!(reaped, std::slice::from_ref(&unwanted));
    assert_eq!(place.runtime.find(&unwanted).await.unwrap(), Found::Never);
    assert_eq!(place.runtime.find(&wanted).await.unwrap(), Found::Running);
    assert_eq!(place.runtime.reap(&owner, |_| false).await.unwrap(), [wanted]);
    are_left_clean(&place, &client).await;
}

#[tokio::test]
async fn of_two_clients_with_one_id_one_runs_it() {
    let Some(place) = Place::new("of_two_clients_with_one_id_one_runs_it").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let other = Place::with(place.engine.clone(), options()).await;
    for round in 0..5 {
        let (id, job) =
            (id(&unique(&place, &format!("race-{round}"))), sh("echo $HOME; hostname; cat /proc/uptime"));
        let submitted = tokio::join!(place.runtime.submit(&id, &job), other.runtime.submit(&id, &job));
        submitted.0.and(submitted.1).unwrap();
        let outcomes = tokio::join!(place.runtime.wait(&id), other.runtime.wait(&id));
        let (one, two) = (outcomes.0.unwrap(), outcomes.1.unwrap());
        assert_eq!(one.end, End::Exited(0), "{}", one.stderr.text());
        assert_eq!(one, two);
        place.runtime.remove(&id).await.unwrap();
    }
    other.runtime.close().await;
    are_left_clean(&place, other.runtime.client()).await;
}

#[tokio::test]
async fn a_job_is_isolated_by_default_and_exceptions_are_recorded() {
    use windlass_executor::{Isolation, Network, Root, User};
    let Some(place) = Place::new("a_job_is_isolated_by_default_and_exceptions_are_recorded").await else {
        return;
    };
    let _turn = TURNS.acquire().await.unwrap();
    let look = "id -u; grep -E '^(Cap(Inh|Prm|Eff|Bnd)|NoNewPrivs|Seccomp):' /proc/self/status; ls /sys/class/net; touch /x 2>/dev/null || echo read-only";
    let strict = place.runtime.run(&id(&unique(&place, "strict")), &sh(look)).await.unwrap();
    let none = "0000000000000000";
    let expected = format!(
        "65534\nCapInh:\t{none}\nCapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}\nNoNewPrivs:\t1\nSeccomp:\t2\nlo\nread-only\n"
    );
    assert_eq!(strict.stdout.text(), expected);
    assert!(strict.image_digest.is_some_and(|digest| digest.starts_with("sha256:")));

    let mut isolation = Isolation::default();
    isolation.root = Root::Writable;
    isolation.capabilities.insert("CHOWN".to_owned());
    let job = sh(
        "id -u; grep CapEff /proc/self/status; : > /x && echo writable; [ -e /sys/class/net/eth0 ] && echo network",
    );
    let job = job.isolation(isolation).user(User::new(0, None)).network(Network::Bridge);
    let name = id(&unique(&place, "relaxed"));
    place.runtime.submit(&name, &job).await.unwrap();
    let relaxed = place.runtime.wait(&name).await.unwrap();
    assert_eq!(
        relaxed.stdout.text(),
        "0\nCapEff:\t0000000000000001\nwritable\nnetwork\n",
        "{}",
        relaxed.stderr.text()
    );
    let container = format!("windlass-{name}");
    let noted = ask(
        &place.engine,
        &["inspect", "--format", "{{index .Config.Labels \"io.windlass.relaxed\"}}", &container],
    );
    assert_eq!(
        noted.into_iter().collect::<Vec<_>>(),
        ["network=bridge,root=writable,user=0,capability=CHOWN"]
    );
    place.runtime.remove(&name).await.unwrap();
    are_left_clean(&place, "nobody").await;
}

#[tokio::test]
async fn a_container_is_limited_where_nothing_is_asked_for() {
    use windlass_executor::Capability;
    let Some(place) = Place::new("a_container_is_limited_where_nothing_is_asked_for").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let name = id(&unique(&place, "usual"));
    place.runtime.submit(&name, &sh("true")).await.unwrap();
    place.runtime.wait(&name).await.unwrap();
    let host = "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.PidsLimit}} {{.HostConfig.NanoCpus}}";
    let found = ask(&place.engine, &["inspect", "--format", host, &format!("windlass-{name}")]).pop_first();
    let found: Vec<u64> = found.unwrap().split(' ').map(|number| number.parse().unwrap_or(0)).collect();
    let engine = place.engine.describe().await.unwrap();
    let when = |can, most| if engine.capabilities.contains(&can) { most } else { 0 };
    let memory = when(Capability::MemoryLimit, 512 << 20);
    assert_eq!(found[..2], [memory, memory]);
    // The first process of the container has threads.
    assert_eq!(found[2], when(Capability::PidsLimit, 256 + 6));
    let processors = u64::try_from(engine.processors).unwrap().min(2);
    assert_eq!(found[3], when(Capability::CpuLimit, processors * 1_000_000_000));
    place.runtime.remove(&name).await.unwrap();
    are_left_clean(&place, "nobody").await;
}

#[tokio::test]
async fn what_a_job_is_given_is_on_no_label_and_in_no_log() {
    let Some(place) = Place::new("what_a_job_is_given_is_on_no_label_and_in_no_log").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let name = id(&unique(&place, "secret"));
    let job = sh("cat >/dev/null; cat key >/dev/null; echo done")
        .stdin("hunter2")
        .file("key".parse().unwrap(), "hunter2");
    place.runtime.submit(&name, &job).await.unwrap();
    assert_eq!(place.runtime.wait(&name).await.unwrap().stdout.text(), "done\n");
    let container = format!("windlass-{name}");
    for args in [&["inspect", &container][..], &["logs", &container], &["top", &container]] {
        let shown = Command::new("docker")
            .env("DOCKER_HOST", place.engine.endpoint().host.to_string())
            .args(args)
            .output()
            .unwrap();
        assert!(!String::from_utf8_lossy(&shown.stdout).contains("hunter2"), "{args:?}");
    }
    place.runtime.remove(&name).await.unwrap();
    are_left_clean(&place, "nobody").await;
}

#[tokio::test]
async fn what_no_container_can_be_made_of_is_refused() {
    let Some(place) = Place::new("what_no_container_can_be_made_of_is_refused").await else { return };
    let name = id(&unique(&place, "odd"));
    for path in ["relative", "/", "/tmp", "/windlass/work", "/.windlass", "/a/../b"] {
        let job = sh("true").volume("state".parse().unwrap(), path);
        let error = place.runtime.submit(&name, &job).await.unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("the job can't be run: the volume `state` can't be at `{path}`")),
            "{error}"
        );
    }
    let bare = Place::with(place.engine.clone(), windlass_executor::docker::DockerOptions::new()).await;
    let error = bare.runtime.submit(&name, &sh("true")).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the job can't be run: it has no image, and containers need one: set it in the job or in its location"
    );
}

/// Projects share an engine, and each has its own volumes.
#[tokio::test]
async fn volumes_of_two_owners_are_two() {
    let Some(place) = Place::new("volumes_of_two_owners_are_two").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let volume = unique(&place, "state");
    let job = |owner: &str, script: &str| {
        sh(script).volume(volume.parse().unwrap(), "/state").owner(owner.parse().unwrap())
    };
    let printed = async |job: Job| {
        let outcome = place.runtime.run(&id(&unique(&place, "volumes")), &job).await.unwrap();
        assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr.text());
        outcome.stdout.text()
    };
    assert_eq!(printed(job("one", "echo mine > /state/file")).await, "");
    assert_eq!(printed(job("other", "ls /state")).await, "");
    assert_eq!(printed(job("one", "cat /state/file")).await, "mine\n");
    // The name of this owner can't be part of a volume's name.
    assert_eq!(printed(job("a/b", "ls /state")).await, "");
    place.runtime.close().await;
    left_by(&place);
    // A volume of a former version may belong to any owner.
    let former = format!("windlass-volume-{volume}");
    ask(&place.engine, &["volume", "create", &former]);
    let refused = place.runtime.run(&id(&unique(&place, "volumes")), &job("one", "true")).await.unwrap();
    let End::NotStarted(why) = refused.end else { panic!("{:?}", refused.end) };
    let why = why.to_string();
    assert!(why.contains(&format!("needs `windlass-volume-one-{volume}`, which does not exist")), "{why}");
    assert!(why.contains(&format!("docker volume rm {former}")), "{why}");
    ask(&place.engine, &["volume", "rm", &former]);
    assert_eq!(printed(job("one", "ls /state")).await, "");
    place.runtime.close().await;
    left_by(&place);
    are_left_clean(&place, "nobody").await;
}

/// A process that is killed while the engine prepares a volume leaves the volume unprepared. The marker volume tells
/// this to the next process.
#[tokio::test]
async fn an_interrupted_preparation_of_a_volume_is_repeated() {
    let Some(place) = Place::new("an_interrupted_preparation_of_a_volume_is_repeated").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let volume = unique(&place, "state");
    let [unprepared, marker] =
        ["volume", "preparing"].map(|role| format!("windlass-{role}-interrupted-{volume}"));
    ask(&place.engine, &["volume", "create", &unprepared]);
    ask(&place.engine, &["volume", "create", &marker]);
    let job = sh("echo mine > /state/file")
        .volume(volume.parse().unwrap(), "/state")
        .owner("interrupted".parse().unwrap());
    let outcome = place.runtime.run(&id(&unique(&place, "volumes")), &job).await.unwrap();
    place.runtime.close().await;
    left_by(&place);
    let listed = ask(&place.engine, &["volume", "ls", "-q"]);
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr.text());
    assert!(!listed.contains(&marker), "{listed:?}");
    are_left_clean(&place, "nobody").await;
}

#[tokio::test]
async fn what_a_job_leaves_running_in_its_container_is_named() {
    let Some(place) = Place::new("what_a_job_leaves_running_in_its_container_is_named").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let name = id(&unique(&place, "left"));
    let job = sh("setsid sleep 600 & sleep 600 & exit 3").image(IMAGE);
    let outcome = place.runtime.run(&name, &job).await.unwrap();
    assert_eq!((outcome.end, outcome.left_behind), (End::Exited(3), vec!["sleep".to_owned()]));
    let outcome = place.runtime.run(&name, &sh("sleep 0 & wait").image(IMAGE)).await.unwrap();
    assert_eq!(outcome.left_behind, [""; 0]);
    are_left_clean(&place, "nobody").await;
}

/// Each attempt of a job to leave its container must fail, unless the profile of the engine may allow the attempt.
/// `docs/security.md` lists these exceptions.
#[tokio::test]
async fn no_attack_of_a_job_leaves_its_container() {
    let Some(place) = Place::new("no_attack_of_a_job_leaves_its_container").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let name = id(&unique(&place, "attempts"));
    are_held(&*place.runtime, &name, &sh("true").image(IMAGE), &OF_ENGINES).await;
    are_left_clean(&place, "nobody").await;
}

#[tokio::test]
async fn open_files_of_a_container_are_limited() {
    let Some(place) = Place::new("open_files_of_a_container_are_limited").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let mut job = sh("ulimit -n; ulimit -Hn").image(IMAGE);
    job.limits.open_files = Some(64);
    let outcome = place.runtime.run(&id(&unique(&place, "files")), &job).await.unwrap();
    assert_eq!(outcome.stdout.text(), "64\n64\n");
    // A limit above the maximum can't be set, and the job reports it.
    job.limits.open_files = Some(u64::MAX - 1);
    let outcome = place.runtime.run(&id(&unique(&place, "more-files")), &job).await.unwrap();
    let why = "its limit of open files can't be set: the host allows fewer".to_owned();
    assert_eq!(outcome.end, End::NotStarted(StartFailure::Other(why)));
    are_left_clean(&place, "nobody").await;
}
