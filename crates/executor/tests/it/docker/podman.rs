//! Tests Podman. The tests start the Podman service on a socket of their own, and run the suite and further
//! cases.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{LazyLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process};
use tokio::sync::OnceCell;
use windlass_executor::{
    Capability, End, Job, Runtime,
    docker::{Engine, EngineChoice, EngineKind, Environment},
    testing::{Subject, leftovers::Leftovers},
};

use crate::attempts::{OF_PODMAN, are_held};

use super::{
    engines::skipped,
    place::{IMAGE, Place, TURNS, busybox, left_by, load, options, sh},
};

/// Maximum duration until the service answers.
const LIMIT: Duration = Duration::from_secs(60);

/// The socket of the service, or the reason why there is none.
static SERVICE: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| start(&Who::Root));

/// The user of the service.
pub(super) enum Who {
    Root,
    /// A user with this name and user id.
    User(String, u32),
}

/// Starts the service. The kernel kills the service of root when the thread that has started the service ends. This
/// thread waits until the end of the program. The service of an ordinary user moves to a new process, which the kernel
/// does not kill. So this service ends after a minute without requests.
pub(super) fn start(who: &Who) -> Result<PathBuf, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("its service is started as root".to_owned());
    }
    for program in ["podman", "setpriv", "docker"] {
        let found = Command::new("sh").args(["-c", "command -v \"$0\"", program]).output();
        if !found.is_ok_and(|found| found.status.success()) {
            return Err(format!("there is no `{program}`: apt-get install podman util-linux docker.io"));
        }
    }
    // Two engines on one store don't know each other's containers, so each has its own.
    let all = Path::new("/run/windlass-test-podman");
    let pid = std::process::id();
    let run = match who {
        Who::Root => all.join(format!("{pid}-root")),
        Who::User(..) => all.join(format!("{pid}-user")),
    };
    let problem = |error: std::io::Error| error.to_string();
    remove_dead(all);
    fs::create_dir_all(&run).map_err(problem)?;
    fs::write(run.join("containers.conf"), configuration()).map_err(problem)?;
    if let Who::User(_, uid) = who {
        std::os::unix::fs::chown(&run, Some(*uid), Some(*uid)).map_err(problem)?;
    }
    let socket = run.join("sock");
    let log = File::create(run.join("log")).map_err(problem)?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if let Who::User(name, uid) = who {
        let uid = uid.to_string();
        command.args(["--reuid", &uid, "--regid", &uid, "--init-groups", "--reset-env"]);
        command.args(["env", &format!("USER={name}")]);
        for name in ["HOME", "XDG_RUNTIME_DIR"] {
            command.arg(format!("{name}={}", run.display()));
        }
        command.arg(format!("CONTAINERS_CONF={}", run.join("containers.conf").display()));
        command.current_dir("/");
    }
    command.args(["podman", "--storage-driver", "vfs"]);
    command.arg("--root").arg(run.join("root")).arg("--runroot").arg(run.join("run"));
    let patience = if matches!(who, Who::Root) { "0" } else { "60" };
    command.args(["system", "service", "--time", patience]).arg(format!("unix://{}", socket.display()));
    command.env("CONTAINERS_CONF", run.join("containers.conf")).stdin(Stdio::null());
    command.stdout(log.try_clone().map_err(problem)?).stderr(log);
    let (started, starting) = mpsc::channel();
    thread::spawn(move || {
        let child = command.spawn();
        let _told = started.send(child.as_ref().err().map(ToString::to_string));
        if let Ok(mut child) = child {
            let _ended = child.wait();
        }
    });
    if let Ok(Some(error)) = starting.recv() {
        return Err(error);
    }
    let begun = Instant::now();
    while !socket.exists() {
        if begun.elapsed() > LIMIT {
            return Err(format!(
                "it does not start: {}",
                fs::read_to_string(run.join("log")).unwrap_or_default()
            ));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(socket)
}

/// Removes files that services of earlier runs have left. Nothing reports the end of a run, so only a later run can
/// remove these files.
fn remove_dead(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.split('-').next());
        let lives = pid.is_some_and(|pid| Path::new("/proc").join(pid).exists());
        if !lives {
            end_keeper(&entry.path());
            let _busy = fs::remove_dir_all(entry.path());
        }
    }
}

/// Ends the process that keeps the namespaces of rootless Podman between commands.
fn end_keeper(run: &Path) {
    let noted = fs::read_to_string(run.join("libpod/tmp/pause.pid")).unwrap_or_default();
    let Some(keeper) = noted.trim().parse().ok().and_then(Pid::from_raw) else { return };
    let name = fs::read_to_string(format!("/proc/{}/comm", keeper.as_raw_nonzero())).unwrap_or_default();
    if name.starts_with("podman") {
        let _gone = kill_process(keeper, Signal::KILL);
    }
}

/// Returns the configuration of Podman. With this configuration, Podman also works on a host that does not permit
/// Podman to raise limits. Podman then works with control groups of version 1 and with those of version 2.
fn configuration() -> String {
    let hard = |resource| getrlimit(resource).maximum.unwrap_or(1 << 20).min(1 << 20);
    let (files, processes) = (hard(Resource::Nofile), hard(Resource::Nproc).min(4096));
    format!(
        "[containers]\ndefault_ulimits = [\"nofile={files}:{files}\", \"nproc={processes}:{processes}\"]\n\
         [engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n"
    )
}

/// Returns the engine. If the test can't run, the function reports the test as skipped and returns `None`.
async fn podman(test: &str) -> Option<Engine> {
    static LOADED: OnceCell<()> = OnceCell::const_new();
    connected(test, &SERVICE, &LOADED).await
}

/// Returns the engine of a service, with the image loaded.
pub(super) async fn connected(
    test: &str,
    service: &Result<PathBuf, String>,
    loaded: &OnceCell<()>,
) -> Option<Engine> {
    let socket = match service {
        Ok(socket) => socket,
        Err(why) => {
            skipped(test, &format!("Podman: {why}"));
            return None;
        }
    };
    if busybox().is_none() {
        skipped(test, "there is no static busybox: apt-get install busybox-static");
        return None;
    }
    let choice: EngineChoice = format!("unix://{}", socket.display()).parse().unwrap();
    let begun = Instant::now();
    let engine = loop {
        match Engine::connect(&choice, &Environment::default()).await {
            Ok(engine) => break engine,
            Err(error) => assert!(begun.elapsed() < LIMIT, "{error}"),
        }
    };
    loaded.get_or_init(async || load(&engine).await).await;
    Some(engine)
}

async fn check(case: &str, run: impl AsyncFnOnce(&Subject)) {
    let Some(engine) = podman(case).await else { return };
    check_on(engine, case, run).await;
}

/// Runs a case of the suite on an engine.
pub(super) async fn check_on(engine: Engine, case: &str, run: impl AsyncFnOnce(&Subject)) {
    // Podman copies the image for each container. On a busy machine this exceeds the usual limit of a call.
    let _turns = TURNS.acquire_many(2).await.unwrap();
    let place = Place::with(engine, options().call_limit(Duration::from_secs(120))).await;
    let before = Leftovers::before(async || place.left()).await;
    let name = format!("{case}-{}", place.runtime.client());
    Subject::new(place.runtime.clone(), &name, Job::command("sh")).check(run).await;
    place.runtime.close().await;
    before.after(async || place.left()).await;
    left_by(&place);
}

mod suite {
    use super::check;

    // Three kinds of cases are left out. Cases with many containers in sequence take too long: Podman needs
    // some tenths of a second for each container. Cases about memory need a report that Podman doesn't give
    // here. For the fork bomb, Podman sometimes loses the end.
    windlass_executor::conformance_tests! { check;
        ends {
            exit_codes signalled missing_command missing_interpreter not_executable no_format
            timeout_ends_all_processes timeout_is_graceful unsupported_is_refused missing_image
        }
        extremes { endless_output processes_are_limited temporary_folder_is_flooded }
        files {
            environment_is_cleared files_are_placed outputs_are_brought_back outputs_of_a_failed_job
            volumes_outlive_jobs odd_names device_node output_limits
        }
        life {
            submitted_twice_runs_once found_at_each_stage removed_leaves_nothing running_is_not_removed
            cancelled_while_running cancelled_at_once cancelled_when_over listed_by_owner unknown_is_said
        }
        streams { echo unread_input large_echo closed_early silent garbage stderr_apart leftover_holds_output events_of_the_past }
    }
}

#[tokio::test]
async fn it_is_known_for_what_it_is() {
    let Some(engine) = podman("it_is_known_for_what_it_is").await else { return };
    let description = engine.describe().await.unwrap();
    assert_eq!(description.kind, EngineKind::Podman);
    assert!(!description.rootless && description.tested, "{description:?}");
    assert!(description.capabilities.contains(&Capability::PidsLimit));
}

#[tokio::test]
async fn another_client_finds_its_job() {
    let Some(engine) = podman("another_client_finds_its_job").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let (one, other) = (Place::with(engine.clone(), options()).await, Place::with(engine, options()).await);
    let id = format!("found-{}", one.runtime.client()).parse().unwrap();
    one.runtime.submit(&id, &sh("sleep 1; echo done; exit 7").image(IMAGE)).await.unwrap();
    let outcome = other.runtime.wait(&id).await.unwrap();
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(7), "done\n"));
    one.runtime.wait(&id).await.unwrap();
    one.runtime.remove(&id).await.unwrap();
    for place in [one, other] {
        place.runtime.close().await;
        assert!(place.left().is_empty());
    }
}

#[tokio::test]
async fn no_attack_of_a_job_leaves_its_container() {
    let Some(engine) = podman("no_attack_of_a_job_leaves_its_container").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    let place = Place::with(engine, options()).await;
    let name = format!("attempts-{}", place.runtime.client()).parse().unwrap();
    are_held(&*place.runtime, &name, &sh("true").image(IMAGE), &OF_PODMAN).await;
    place.runtime.close().await;
}
