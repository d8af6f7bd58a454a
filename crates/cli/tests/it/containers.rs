//! Assemblies whose scripts run in containers of a container engine, jobs run by hand, and the output of
//! `doctor`.
//!
//! If no engine answers, these tests print `SKIPPED` and pass. With `WINDLASS_REQUIRE_DOCKER=1` they fail.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Once;

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::json;
use windlass::executor::image::build::ImageBuilder;

use crate::env::{TestEnv, say, until};
use crate::kill::life::{Act, Checks, Kills, Life, Random, seed};
use crate::kill::servers;

pub(crate) const IMAGE: &str = "windlass-test/cli-busybox:1";

/// Runs the engine's own client program.
pub(crate) fn docker(args: &[&str]) -> Option<String> {
    let output = Command::new("docker").args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Ensures that an engine with the image of these tests is available. Returns `false` if not.
pub(crate) fn engine(test: &str) -> bool {
    static LOADED: Once = Once::new();
    let busybox = ["/bin/busybox", "/usr/bin/busybox"].map(Path::new).into_iter().find(|path| path.exists());
    let answers = docker(&["version", "--format", "{{.Server.Version}}"]).is_some();
    let (Some(busybox), true) = (busybox, answers) else {
        #[expect(clippy::disallowed_methods, reason = "a test is told so by who runs it")]
        let required = std::env::var("WINDLASS_REQUIRE_DOCKER").is_ok_and(|value| value == "1");
        assert!(!required, "{test} needs an engine, its client `docker` and a static busybox");
        say(&format!("SKIPPED {test}: there is no engine, no `docker`, or no static busybox"));
        return false;
    };
    LOADED.call_once(|| load(&ImageBuilder::new(IMAGE).busybox(busybox).unwrap()));
    true
}

/// Loads an image into the engine.
fn load(image: &ImageBuilder) {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("image.tar");
    std::fs::write(&archive, image.build().unwrap().archive()).unwrap();
    docker(&["load", "--input", archive.to_str().unwrap()]).unwrap();
}

/// Returns a project whose scripts run in containers.
fn project(assembly: &str, pool: &str) -> TestEnv {
    let env = TestEnv::with(assembly);
    let image = format!("image: {IMAGE}");
    env.runtime(&["runtime: docker", &image, pool]);
    env
}

/// Returns a project whose scripts run in sandboxes, with an image in the user's image store.
fn sandboxed(assembly: &str) -> Option<TestEnv> {
    let busybox = ["/bin/busybox", "/usr/bin/busybox"].map(Path::new).into_iter().find(|path| path.exists());
    let works = windlass::executor::sandbox::probe(Path::new("bwrap"));
    let (Some(busybox), Ok(_)) = (busybox, &works) else {
        #[expect(clippy::disallowed_methods, reason = "a test is told so by who runs it")]
        let required = std::env::var("WINDLASS_REQUIRE_SANDBOX").is_ok_and(|value| value == "1");
        assert!(!required, "the test needs sandboxes and a static busybox: {works:?}");
        say(&format!("SKIPPED up in sandboxes: {works:?}, static busybox: {}", busybox.is_some()));
        return None;
    };
    let env = TestEnv::with(assembly);
    let image = ImageBuilder::new(IMAGE).busybox(busybox).unwrap().build().unwrap();
    env.write("image.tar", image.archive());
    let store = windlass::executor::image::Store::open(env.home().join(".cache/windlass/images")).unwrap();
    store.import(&env.path("image.tar"), None).unwrap();
    env.runtime(&["runtime: sandbox", &format!("image: {IMAGE}")]);
    Some(env)
}

#[rstest]
#[case::h_bta("h_bta")]
#[case::streamer_cluster("streamer_cluster")]
fn up_and_down_in_sandboxes(#[case] assembly: &str) {
    let Some(env) = sandboxed(assembly) else { return };
    env.ok(&up(assembly));
    assert_eq!(env.json(&["status", "demo"])["assemblies"][0]["state"], "Active");
    assert!(!env.path(".windlass/jobs").exists(), "nothing ran outside of a sandbox");
    env.ok(&["down", "demo"]);
    assert!(!env.path(".windlass/rooms").exists(), "nothing is left of the jobs");
    let run = env.run(&["exec", "--image", IMAGE, "--", "sh", "-c", "pwd; exit 4"]);
    assert_eq!((run.code(), run.stdout.as_str()), (Some(1), "/work\n"), "{run}");
}

/// The folders of each job hide a volume at the same path, so such a path is refused.
#[rstest]
#[case::work("/work", "/work")]
#[case::below("/tmp/cache", "/tmp")]
fn a_volume_over_the_folders_of_a_sandbox_is_refused(#[case] path: &str, #[case] reserved: &str) {
    let env = TestEnv::with("h_bta");
    env.runtime(&["runtime: sandbox", "image: demo:1"]);
    env.edit("windlass.yaml", "state: /state", &format!("state: {path}"));
    let problem =
        format!("the volume `state` can't be at `{path}`: `{reserved}` is reserved for the runtime");
    for args in [&["check", "h_bta"] as &[&str], &up("h_bta")] {
        let error = env.refuses(args);
        assert!(error.contains(&problem), "{error}");
    }
}

/// A command contacts a container engine only if jobs of the project may still run there.
#[test]
fn a_command_asks_no_engine_on_which_nothing_is_left() {
    if !engine("a_command_asks_no_engine_on_which_nothing_is_left") {
        return;
    }
    let env = project("h_bta", "");
    env.ok(&up("h_bta"));
    assert!(!env.path(".windlass/clients").exists());
    let without_engine = |args: &[&str]| {
        let mut command = env.command(args);
        command.env("DOCKER_HOST", "unix:///no/such/engine.sock");
        env.start(command).end()
    };
    for args in [up("h_bta").as_slice(), &["status", "demo"], &["plan", "h_bta", "--name", "demo"]] {
        let run = without_engine(args);
        assert_eq!(run.code(), Some(0), "{args:?}: {run}");
        assert!(!run.stderr.contains("waiting for jobs"), "{args:?}: {run}");
    }
    let down = without_engine(&["down", "demo"]);
    assert_eq!(down.code(), Some(1), "{down}");
    assert!(
        down.stderr.contains("/no/such/engine.sock") || down.stdout.contains("/no/such/engine.sock"),
        "{down}"
    );
    env.ok(&["down", "demo"]);
}

/// A container engine that can't be reached is an error, if it may still run jobs of a killed command.
#[test]
fn an_engine_that_may_run_jobs_and_does_not_answer_is_an_error() {
    let env = TestEnv::small("effect: once", &[("Install", "answer"), ("Uninstall", "")]);
    env.write(".windlass/clients/c-1", "unix:///no/such/engine.sock");
    let run = env.run(&["up", "small"]);
    assert_ne!(run.code(), Some(0), "{run}");
    let advice = "it may still run jobs of this project. If `unix:///no/such/engine.sock` is gone for good, remove the file \
                  that names it from `";
    assert!(run.stderr.contains(advice), "{run}");
    assert_eq!(env.trace(), [""; 0]);
    std::fs::remove_file(env.path(".windlass/clients/c-1")).unwrap();
    env.ok(&["up", "small"]);
}

/// Lists the job containers of a project, by the id of its store.
pub(crate) fn containers(env: &TestEnv) -> Vec<String> {
    let label = format!("label=io.windlass.owner={}", store(env));
    let listed = docker(&["ps", "--all", "--filter", &label, "--format", "{{.Names}}"]).unwrap();
    listed.lines().map(str::to_owned).collect()
}

/// Returns the id of a project's store.
fn store(env: &TestEnv) -> String {
    made_store(env).unwrap()
}

/// Returns the id of a project's store, if the store exists.
pub(crate) fn made_store(env: &TestEnv) -> Option<String> {
    let file = Some(env.path(".windlass/state.db")).filter(|file| file.exists())?;
    let store = rusqlite::Connection::open(file).unwrap();
    store.query_row("SELECT id FROM store", [], |row| row.get(0)).ok()
}

/// Returns the command that creates an assembly, with its parameters if it has any.
fn up(assembly: &str) -> Vec<&str> {
    let parameters: &[&str] = match assembly {
        "streamer_cluster" => &["--params", "streamer_cluster/params.yaml"],
        _ => &[],
    };
    [&["up", assembly, "--name", "demo"], parameters].concat()
}

#[rstest]
#[case::h_bta("h_bta", "")]
#[case::h_bta_with_a_pool("h_bta", "pool: 2")]
#[case::streamer_cluster("streamer_cluster", "pool: 2")]
fn up_and_down_in_containers(#[case] assembly: &str, #[case] pool: &str) {
    if !engine("up_and_down_in_containers") {
        return;
    }
    let env = project(assembly, pool);
    env.ok(&up(assembly));
    let status = env.json(&["status", "demo"]);
    assert_eq!(status["assemblies"][0]["state"], "Active");
    assert!(!env.path(".windlass/jobs").exists(), "nothing ran on the host");
    env.ok(&["down", "demo"]);
    assert_eq!(containers(&env), [""; 0]);
    assert!(!env.path(".windlass/clients").exists(), "no engine has to be asked any more");
    assert!(!env.path(".windlass/pool").exists(), "nothing is left of the pool");
}

/// Returns the total number of kills: `WINDLASS_TEST_CONTAINER_KILLS`, or a default.
fn kills(usual: u32) -> u32 {
    #[expect(clippy::disallowed_methods, reason = "how a test is run is no setting of the program")]
    let given = std::env::var("WINDLASS_TEST_CONTAINER_KILLS").ok();
    given.map_or(usual, |given| given.parse().expect("a number of kills"))
}

/// The commands of the life of `h_bta`: up, scale out, scale in, down.
const LIFE: [Act; 4] = [
    Act { args: &["up", "h_bta", "-p", "pause=0.1", "--no-refresh"], kills: 3 },
    Act { args: &["scale", "out", "h_bta", "B"], kills: 2 },
    Act { args: &["scale", "in", "h_bta", "B", "--yes"], kills: 2 },
    Act { args: &["down", "h_bta"], kills: 2 },
];

/// Configures a location whose scripts write their trace into a volume, the only place where they can write.
fn traced(env: &TestEnv, runtime: &str) {
    let trace = format!("  trace: /state/{}", trace_of(env));
    env.runtime(&[&format!("runtime: {runtime}"), &format!("image: {IMAGE}"), "properties:", &trace]);
}

/// Returns the name of a project's trace.
fn trace_of(env: &TestEnv) -> String {
    let root = env.path("").canonicalize().unwrap();
    let folder = root.parent().and_then(Path::file_name).unwrap().to_str().unwrap();
    format!("trace-{}", folder.trim_start_matches('.'))
}

/// Repeats the commands of [`LIFE`] until enough of them were killed, and prints the number of kills.
fn killed(what: &str, env: TestEnv, checks: Checks, usual: u32) {
    let seed = seed();
    say(&format!("kill {what}: seed {seed} (again with WINDLASS_TEST_SEED={seed})"));
    let killed = Life::new(env, "h_bta", &LIFE, checks, Random(seed)).live(kills(usual));
    let Kills(by_act) = &killed;
    say(&format!("kill {what}: {} times: up, scale out, scale in, down {by_act:?}", killed.all()));
}

/// Runs a program on the files of a project's volume. If the volume does not exist yet, prints nothing.
fn on_volume(env: &TestEnv, command: &[&str]) -> Vec<String> {
    let volume = format!("windlass-volume-{}-state", store(env));
    // `docker run` would create a missing volume, to which the scripts could not write.
    if docker(&["volume", "inspect", &volume]).is_none() {
        return Vec::new();
    }
    let mount = format!("type=volume,source={volume},target=/state");
    let said = docker(&[&["run", "--rm", "--network=none", "--mount", &mount, IMAGE], command].concat());
    said.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The command is killed while its jobs run in containers. The next command finds the jobs by their ids, and
/// no job runs twice.
#[test]
fn killed_it_takes_its_containers_over() {
    if !engine("killed_it_takes_its_containers_over") {
        return;
    }
    let env = TestEnv::with("h_bta");
    traced(&env, "docker");
    let trace = |env: &TestEnv| on_volume(env, &["cat", &format!("/state/{}", trace_of(env))]);
    let up = |env: &TestEnv| {
        let folders: BTreeSet<String> = on_volume(env, &["ls", "/state"]).into_iter().collect();
        let missing: Vec<String> = servers(env).into_iter().filter(|id| !folders.contains(id)).collect();
        assert_eq!(missing, [""; 0], "each instance has a folder: {folders:?}");
    };
    let down = |env: &TestEnv| {
        until("its containers are gone", || containers(env).is_empty());
        docker(&["volume", "rm", &format!("windlass-volume-{}-state", store(env))]).unwrap();
    };
    killed("containers", env, Checks { trace, up, down }, 6);
}

/// The command is killed while its jobs run in sandboxes. No job runs twice.
#[test]
fn killed_it_takes_its_sandboxes_over() {
    let Some(env) = sandboxed("h_bta") else { return };
    traced(&env, "sandbox");
    let trace = |env: &TestEnv| {
        let file = env.path(&format!(".windlass/volumes/state/{}", trace_of(env)));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let up = |env: &TestEnv| {
        let volume = std::fs::read_dir(env.path(".windlass/volumes/state")).unwrap();
        let folders = volume.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let with_trace = servers(env).into_iter().chain([trace_of(env)]);
        assert_eq!(folders.collect::<BTreeSet<_>>(), with_trace.collect(), "one folder an instance");
    };
    let down = |env: &TestEnv| {
        // The folder contains a note about the control groups of the jobs, which is removed last.
        until("nothing is left of the jobs", || !env.path(".windlass/rooms").exists());
        until("no process is left", || processes(&env.path(".windlass")).is_empty());
    };
    killed("sandboxes", env, Checks { trace, up, down }, 12);
}

/// Lists the processes whose environment contains this folder.
fn processes(folder: &Path) -> Vec<String> {
    let mark = folder.to_str().unwrap().as_bytes();
    let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let named = all.filter(|path| {
        let environ = std::fs::read(path.join("environ")).unwrap_or_default();
        environ.windows(mark.len()).any(|window| window == mark)
    });
    named.map(|path| path.display().to_string()).collect()
}

#[test]
fn one_job_by_hand_in_a_container() {
    if !engine("one_job_by_hand_in_a_container") {
        return;
    }
    let env = TestEnv::bare();
    let run = env.run_with(
        &[
            "exec",
            "--image",
            IMAGE,
            "--runtime",
            "docker",
            "--env",
            "A=1",
            "--",
            "sh",
            "-c",
            "cat; echo $A; pwd; echo err >&2; exit 9",
        ],
        "in\n",
    );
    assert_eq!((run.code(), run.stdout.as_str()), (Some(1), "in\n1\n/windlass/work\n"), "{run}");
    assert!(run.stderr.ends_with("err\nerror[WL0812]: the job exited with code 9\n"), "{run}");
    let run = env.run(&["exec", "--image", "registry.invalid/none:1", "--runtime", "docker", "--", "true"]);
    assert_eq!(run.code(), Some(1));
    let said = &run.stderr;
    assert!(
        said.contains("there is no image `registry.invalid/none:1`: the engine doesn't have it"),
        "{run}"
    );
    assert!(
        said.contains("with `docker pull registry.invalid/none:1`, `docker load -i FILE` or a build"),
        "{run}"
    );
    let run = env.run(&["exec", "--image", "No Name", "--runtime", "docker", "--", "true"]);
    assert!(run.stderr.contains("it is not a valid image name"), "{run}");
}

/// A fresh container and a warm container give a job the same variables of its image.
#[rstest]
#[case::fresh(&[])]
#[case::warm(&["--setting", "pool=1"])]
fn a_job_has_the_variables_of_its_image(#[case] settings: &[&str]) {
    if !engine("a_job_has_the_variables_of_its_image") {
        return;
    }
    let name = "windlass-test/cli-variables:1";
    let tool =
        "#!/bin/sh\necho $GREETING $LANG $OWN $TMPDIR; [ $HOME = $PWD ] && echo home; echo $WINDLASS_JOB";
    let image = ImageBuilder::new(name).busybox("/bin/busybox".as_ref()).unwrap();
    let image = image.file("opt/tool/mytool", 0o755, tool).env("PATH", "/opt/tool:/bin");
    let image = image.env("GREETING", "hello").env("LANG", "C").env("OWN", "image").env("TMPDIR", "/none");
    load(&image.env("HOME", "/root").env("WINDLASS_JOB", "none"));
    let env = TestEnv::bare();
    let args = ["exec", "--engine", "docker", "--image", name, "--env", "OWN=job"];
    let run = env.ok(&[&args, settings, &["--", "mytool"]].concat());
    let [variables, home, job] = run.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{run}") };
    assert_eq!((variables, home), ("hello C.UTF-8 job /tmp", "home"), "{run}");
    assert!(job.starts_with("exec-"), "{run}");
}

/// An `exec` was killed, and its container still exists. The next command must remove the container and the note about
/// the engine. Later commands then do not query the engine.
#[test]
fn a_killed_job_by_hand_leaves_nothing_in_containers() {
    if !engine("a_killed_job_by_hand_leaves_nothing_in_containers") {
        return;
    }
    let env = TestEnv::bare();
    let exec = ["exec", "--engine", "docker", "--image", IMAGE, "--"];
    let killed = env.spawn(&[&exec[..], &["sh", "-c", "echo $WINDLASS_JOB; exec sleep 600"]].concat());
    until("the job runs", || killed.stdout().ends_with('\n'));
    let container = format!("name=windlass-{}", killed.stdout().trim());
    killed.signal(rustix::process::Signal::KILL);
    killed.end();
    assert!(env.path(".windlass/clients").exists(), "the next command finds the engine");
    env.ok(&[&exec[..], &["true"]].concat());
    assert_eq!(docker(&["ps", "--all", "--quiet", "--filter", &container]).unwrap(), "");
    assert!(!env.path(".windlass/clients").exists(), "no engine has to be asked any more");
}

/// The default limit of open files is above the hard limit of the windlass process. windlass must lower the default to
/// the hard limit.
#[test]
fn a_low_maximum_of_open_files_lowers_the_default() {
    let Some(env) = sandboxed("h_bta") else { return };
    let limited = |script: &str| {
        let mut command = std::process::Command::new("sh");
        env.settle(&mut command);
        let windlass = env!("CARGO_BIN_EXE_windlass");
        command.args(["-c", &format!("ulimit -n 1024; exec {windlass} {script}")]);
        env.start(command).end()
    };
    let run = limited(&format!("exec --runtime sandbox --image {IMAGE} -- sh -c 'ulimit -n; ulimit -Hn'"));
    assert_eq!((run.code(), run.stdout.as_str()), (Some(0), "1024\n1024\n"), "{run}");
    let doctor = limited("doctor --format json").json();
    let hardening = doctor["runtimes"][1]["hardening"].to_string();
    assert!(hardening.contains("1024 open files") && !hardening.contains("4096"), "{hardening}");
}

#[test]
fn one_job_by_hand() {
    let env = TestEnv::bare();
    let run = env.run_with(&["exec", "--", "sh", "-c", "cat; echo err >&2"], "in\n");
    assert_eq!((run.code(), run.stdout.as_str(), run.stderr.as_str()), (Some(0), "in\n", "err\n"));
    let run = env.run(&["exec", "--timeout", "200ms", "--", "sleep", "600"]);
    let late = "error[WL0812]: the job ran out of time (it had 200ms)\n";
    assert_eq!((run.code(), run.stderr.as_str()), (Some(1), late));
    let run = env.run(&["exec", "--", "no-such-program"]);
    let missing = "the job could not be started: there is no program `no-such-program`";
    assert_eq!(run.stderr, format!("error[WL0812]: {missing}\n"));
    let error = env.run(&["exec", "--format", "json", "--", "no-such-program"]).json();
    assert_eq!(error["error"], serde_json::json!({"code": "WL0812", "message": missing}));
    let run = env.run(&["exec", "--network", "none", "--", "true"]);
    assert_eq!(run.code(), Some(1));
    assert!(run.stderr.contains("the runtime `process` can't give the job a network"), "{run}");
    assert!(env.refuses(&["exec", "--env", "A", "--", "true"]).contains("`--env A` is not of the form"));
    assert!(env.refuses(&["exec", "--timeout", "5", "--", "true"]).contains("a number with a unit"));
    assert!(env.refuses(&["exec"]).contains("required"));
    for (arguments, why) in [
        (&["--runtime", "sandbox"][..], "the runtime `sandbox` needs an image: pass `--image`"),
        (&["--runtime", "process", "--image", "x"], "has no `image`: omit it, or use `--runtime sandbox`"),
        (&["--image", "x", "--engine", "dcoker"], "is not a container engine; did you mean `docker`?"),
        (&["--image", "x", "--setting", "pool=0"], "`pool` is a number from 1 to 256"),
        (&["--setting", "pol=1"], "no runtime has a setting `pol`"),
        (&["--setting", "pool"], "`--setting pool` is not of the form KEY=VALUE"),
        (&["--runtime", "vm"], "process"),
    ] {
        let refused = env.refuses(&[&["exec"], arguments, &["--", "true"]].concat());
        assert!(refused.contains(why), "{arguments:?}: {refused}");
    }
    assert!(!env.files().iter().any(|file| file.starts_with(".windlass")), "{:?}", env.files());
}

/// A program that uses the output of a job must notice if a part of the output is missing. Therefore `exec` must fail
/// if it can't write the output. If the reader closes the pipe early, the reader has all that it needs, and `exec` must
/// succeed.
#[test]
fn lost_output_of_a_job_by_hand_is_a_failure() {
    let env = TestEnv::bare();
    let shell = |script: &str| {
        let mut shell = std::process::Command::new("sh");
        env.settle(&mut shell);
        shell.args(["-c", script, env!("CARGO_BIN_EXE_windlass")]);
        env.start(shell).end()
    };
    assert_snapshot!(shell(r#""$0" exec -- echo hi >/dev/full"#), @"
    exit 1
    ----- stderr -----
    error[WL0802]: can't write the output of the job: No space left on device (os error 28)
    ");
    assert_eq!(shell(r#""$0" exec -- sh -c 'echo hi >&2' 2>/dev/full"#).code(), Some(1));
    let closed = shell(r#"{ "$0" exec -- sh -c 'sleep 0.2; echo hi'; echo "exit $?" >&2; } | true"#);
    assert_eq!(closed.stderr, "exit 0\n");
}

#[test]
fn an_interrupt_cancels_a_job_by_hand() {
    let env = TestEnv::bare();
    let running = env.spawn(&[
        "exec",
        "--",
        "sh",
        "-c",
        "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done",
    ]);
    until("the job runs", || running.stdout().contains("ready"));
    running.signal(rustix::process::Signal::INT);
    let run = running.end();
    assert_eq!((run.code(), run.stdout.as_str()), (Some(130), "ready\nbye\n"), "{run}");
    let told = "\nstopping: running jobs have 10 s to end; interrupt again to stop them now\nthe job was cancelled\n";
    assert_eq!(run.stderr, told);
}

#[test]
fn doctor_says_what_is_here() {
    let env = TestEnv::bare();
    env.write(
        "windlass.yaml",
        "version: 1\nlocations:\n  a: {runtime: docker, engine: 'unix:///no/such.sock', image: x}\n",
    );
    let found = env.json(&["doctor"]);
    assert_eq!(found["version"], 1);
    let runtimes = found["runtimes"].as_array().unwrap();
    let names: Vec<_> = runtimes
        .iter()
        .map(|runtime| runtime["engine"].as_str().or(runtime["runtime"].as_str()).unwrap())
        .collect();
    assert_eq!(names, ["process", "sandbox", "docker", "podman", "unix:///no/such.sock"]);
    assert_eq!(runtimes[0]["ready"], true);
    assert_eq!(runtimes[4]["ready"], false);
    assert!(runtimes[4]["what"].as_str().unwrap().contains("/no/such.sock"), "{}", runtimes[4]);
    let state = &found["state"];
    assert_eq!(
        (&state["kind"], &state["exists"], &state["problem"]),
        (&json!("SQLite"), &json!(false), &json!(null))
    );
    assert!(state["place"].as_str().unwrap().ends_with("/.windlass/state.db"), "{state}");
    let other = env.json(&["doctor", "--state", "postgres://me:hunter2@localhost:1/none"]);
    let state = &other["state"];
    assert_eq!(
        (&state["kind"], &state["place"]),
        (&json!("PostgreSQL"), &json!("postgres://me@localhost:1/none"))
    );
    assert!(state["problem"].as_str().unwrap().contains("Connection refused"), "{state}");
    let none = env.json(&["doctor", "--state", "mysql://me:hunter2@db/x"]);
    let problem = none["state"]["problem"].as_str().unwrap();
    assert!(
        problem.contains("`mysql` is not a supported scheme") && !problem.contains("hunter2"),
        "{problem}"
    );
    let text = env.ok(&["doctor"]).stdout;
    assert!(text.contains("state: SQLite, not created yet"), "{text}");
    assert!(text.contains("process ready") && text.contains("not available"), "{text}");
    if engine("doctor_says_what_is_here") {
        assert_eq!(runtimes[2]["ready"], true);
        assert!(runtimes[2]["hardening"].as_array().unwrap().iter().any(|it| it == "read-only root"));
    }
}

/// `check --image` reads the files of a container engine's image without creating a container.
#[test]
fn scripts_of_a_manifest_are_files_of_an_image_of_an_engine() {
    if !engine("scripts_of_a_manifest_are_files_of_an_image_of_an_engine") {
        return;
    }
    let env = TestEnv::bare();
    let manifest = "\
application:
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /bin/busybox
        factory.destroyScript: /bin/destroy.py
";
    env.write("vm.yaml", manifest);
    let refused = env.refuses(&["check", "vm.yaml", "--image", IMAGE]);
    assert!(refused.contains("error[WL0642]: the image has no `/bin/destroy.py`"), "{refused}");
    assert!(!refused.contains("launch"), "{refused}");
    assert_eq!(env.ok(&["image", "ls"]).stdout, "", "the image was imported");
    env.write("vm.yaml", manifest.replace("destroy.py", "busybox"));
    env.ok(&["check", "vm.yaml", "--image", IMAGE]);
}
