//! The example applications with their Python scripts, from publishing to removal. The scripts run as
//! processes of this machine, or in containers. Their simulated cloud is a folder, or a volume.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use serde_json::{Value, json};
use windlass::executor::image::build::ImageBuilder;

use crate::containers::{containers, docker, engine, made_store};
use crate::env::{TestEnv, copy, say, until};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/applications");

/// The image of the scripts. It contains this machine's Python with its library, and the programs that the
/// tests use to inspect the cloud.
const IMAGE: &str = "windlass-test/cli-python:1";

/// The place of the simulated cloud.
#[derive(Clone, Copy)]
enum Cloud {
    /// The folder `cloud` of the project.
    Folder,
    /// The volume `cloud` of an engine.
    Volume,
}

impl Cloud {
    fn location(self, env: &TestEnv) -> Value {
        match self {
            Self::Folder => {
                let cloud = env.path("cloud").display().to_string();
                json!({"runtime": "process", "input": "json", "environment": {"CLOUD": cloud}})
            }
            Self::Volume => json!({
                "runtime": "docker", "image": IMAGE, "input": "json", "volumes": {"cloud": "/cloud"},
                "pool": 2, "pool-secrets": "shared",
            }),
        }
    }

    /// Runs a shell command in the cloud, and returns its output.
    fn sh(self, env: &TestEnv, command: &str) -> String {
        match self {
            Self::Folder => {
                std::fs::create_dir_all(env.path("cloud")).unwrap();
                let output =
                    Command::new("sh").args(["-ec", command]).current_dir(env.path("cloud")).output();
                let output = output.unwrap();
                assert!(output.status.success(), "{command}: {output:?}");
                String::from_utf8(output.stdout).unwrap()
            }
            Self::Volume => {
                let volume = volume(env);
                let mount = format!("type=volume,source={volume},target=/cloud");
                let run = ["run", "--rm", "--network=none", "--mount", &mount, "--workdir", "/cloud", IMAGE];
                docker(&[&run[..], &["sh", "-ec", command]].concat()).expect(command)
            }
        }
    }

    /// Creates a machine that windlass does not know.
    fn make(self, env: &TestEnv, id: &str) {
        let machine = json!({"ip": "203.0.113.1", "size": "m1.small"});
        self.sh(env, &format!("mkdir -p vms; echo '{machine}' >{id}.new; mv {id}.new vms/{id}.json"));
    }

    fn machine(self, env: &TestEnv, id: &str) -> Value {
        serde_json::from_str(&self.sh(env, &format!("cat vms/{id}.json"))).unwrap()
    }

    /// Returns the ids of all machines, sorted.
    fn machines(self, env: &TestEnv) -> Vec<String> {
        let mut ids: Vec<String> = self
            .sh(env, "ls vms")
            .lines()
            .filter_map(|file| file.strip_suffix(".json").map(str::to_owned))
            .collect();
        ids.sort();
        ids
    }
}

/// Returns the name of the volume `cloud` on the engine.
fn volume(env: &TestEnv) -> String {
    format!("windlass-volume-{}-cloud", made_store(env).unwrap())
}

/// Ensures that the container engine has the image. Returns `false` if this machine has no engine or no
/// Python.
fn image(test: &str) -> bool {
    static LOADED: Once = Once::new();
    if !engine(test) {
        return false;
    }
    let Some((python, library)) = python() else {
        say(&format!("SKIPPED {test}: there is no /usr/bin/python3"));
        return false;
    };
    LOADED.call_once(|| {
        let programs =
            ["env", "dash", "cat", "ls", "mkdir", "mv", "rm", "sed"].map(|name| format!("/usr/bin/{name}"));
        let files = programs.iter().map(PathBuf::from).chain([python.clone()]).chain(modules(&library));
        let image = ImageBuilder::new(IMAGE)
            .link("bin", "usr/bin")
            .link("usr/bin/sh", "dash")
            .link("usr/bin/python3", python.file_name().unwrap())
            .folder("tmp", 0o1777)
            .file("etc/passwd", 0o644, *b"root:x:0:0:root:/:/bin/sh\n")
            .env("PATH", "/usr/bin")
            .host_files(files)
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("image.tar");
        std::fs::write(&archive, image.build().unwrap().archive()).unwrap();
        docker(&["load", "--input", archive.to_str().unwrap()]).unwrap();
    });
    true
}

/// Returns the Python of this machine, and the folder of its library.
fn python() -> Option<(PathBuf, PathBuf)> {
    let python = Path::new("/usr/bin/python3").canonicalize().ok()?;
    let asked = Command::new(&python)
        .args(["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"])
        .output()
        .ok()?;
    Some((python, PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim())))
}

/// Lists the modules of a Python library that scripts may need: files in Python, without tests and tools.
fn modules(folder: &Path) -> Vec<PathBuf> {
    const LEFT_OUT: [&str; 7] = ["test", "tests", "idlelib", "lib2to3", "ensurepip", "distutils", "tkinter"];
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && !LEFT_OUT.contains(&name.as_str()) {
            found.extend(modules(&path));
        } else if path.extension().is_some_and(|extension| extension == "py") {
            found.push(path);
        }
    }
    found
}

/// Returns a project in which both applications are published, and both factories are services.
fn project(cloud: Cloud) -> TestEnv {
    let env = TestEnv::bare();
    copy(Path::new(EXAMPLES), &env.path(""));
    env.write(
        "windlass.yaml",
        json!({"version": 1, "locations": {"here": cloud.location(&env)}}).to_string(),
    );
    env.write("secret", "hunter2");
    for (file, title) in [
        ("vm-factory", "VM Factory"),
        ("vm", "VM"),
        ("petclinic-factory", "PetClinic Factory"),
        ("petclinic", "PetClinic"),
    ] {
        env.ok(&["app", "publish", &format!("{file}.yaml"), "--name", title, "--scripts", "scripts"]);
    }
    env.ok(&["env", "service", "add", "default", "--location", "here"]);
    let secret = "configuration.cloud-secret=@secret";
    env.ok(&["app", "launch", "VM Factory", "--name", "vms", "-p", secret]);
    env.ok(&["app", "launch", "PetClinic Factory", "--name", "pets"]);
    for factory in ["vms", "pets"] {
        env.ok(&["env", "service", "add", "default", factory]);
    }
    env
}

fn status(env: &TestEnv, name: &str) -> Value {
    env.json(&["status", name])["assemblies"][0].clone()
}

fn natural(env: &TestEnv, name: &str) -> String {
    status(env, name)["application"]["natural_id"].as_str().unwrap().to_owned()
}

/// Returns the natural ids of all applications that are machines, sorted. An id occurs twice if two
/// applications have it.
fn adopted(env: &TestEnv) -> Vec<String> {
    let output = env.json(&["status"]);
    let of_factory = output["assemblies"].as_array().unwrap().iter().map(|assembly| &assembly["application"]);
    let of_factory = of_factory.filter(|application| application["title"] == "VM");
    let mut ids: Vec<String> = of_factory
        .map(|application| application["natural_id"].as_str().unwrap_or("none").to_owned())
        .collect();
    ids.sort();
    ids
}

/// Launches an application, and runs discoveries during the launch. The launch must succeed. The caller checks that no
/// discovery has adopted the new machine as a second application.
fn race(env: &TestEnv) {
    let mut launch = env.spawn(&["app", "launch", "VM", "--name", "racer"]);
    while !launch.has_ended() {
        // The discovery may fail, because the launch holds an assembly that the discovery would change.
        env.run(&["app", "discover", "vms"]);
    }
    let launched = launch.end();
    assert_eq!(launched.code(), Some(0), "{launched}");
}

fn from_publishing_to_removal(cloud: Cloud) -> TestEnv {
    let env = project(cloud);
    env.ok(&["app", "launch", "VM"]);
    let vm = natural(&env, "vm");
    assert_eq!(cloud.machines(&env), [vm.as_str()]);

    cloud.make(&env, "i-outside");
    let found = env.ok(&["app", "discover", "vms"]).out();
    assert!(found.contains("i-outside: adopted, application `i-outside`"), "{found}");
    race(&env);
    let found = env.ok(&["app", "discover", "vms"]).out();
    assert_eq!(found.matches(": known, application").count(), 3, "{found}");
    assert_eq!(adopted(&env), cloud.machines(&env));

    // The first check records the address of the found machine.
    env.ok(&["app", "check"]);
    let checked = env.ok(&["app", "check"]).out();
    assert_eq!(checked.matches(": unchanged, active").count(), 3, "{checked}");
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.instance-type=m3.large"]);
    assert_eq!(cloud.machine(&env, &vm)["size"], "m3.large");
    let rebooted = env.ok(&["app", "command", "vm", "control.reboot", "-a", "force=true"]).out();
    assert!(rebooted.ends_with("result: boot 2\n"), "{rebooted}");
    assert_eq!(cloud.machine(&env, &vm)["boots"], 2);

    env.ok(&["app", "launch", "PetClinic"]);
    let references = status(&env, "petclinic")["application"]["references"].clone();
    let first: Vec<String> = cloud.machines(&env).into_iter().take(2).collect();
    for (reference, machine) in references.as_array().unwrap().iter().zip(&first) {
        let of = (&reference["mapping"], &reference["key"], &reference["state"]);
        assert_eq!(of, (&json!("vms.vm-by-id"), &json!(machine), &json!("resolved")), "{references}");
    }
    assert_eq!(references.as_array().unwrap().len(), 2, "{references}");

    env.ok(&["app", "destroy", "petclinic"]);
    env.ok(&["app", "destroy", "vm", "racer", "i-outside"]);
    assert_eq!(cloud.machines(&env), [""; 0]);
    env.ok(&["app", "destroy", "pets", "vms"]);
    env
}

#[test]
fn the_examples_run_as_processes() {
    let env = from_publishing_to_removal(Cloud::Folder);
    assert!(!env.path(".windlass/jobs").exists(), "nothing is left of the jobs");
}

#[test]
fn the_examples_run_in_containers() {
    if !image("the_examples_run_in_containers") {
        return;
    }
    let env = from_publishing_to_removal(Cloud::Volume);
    assert!(!env.path(".windlass/jobs").exists(), "nothing ran on the host");
    until("its containers are gone", || containers(&env).is_empty());
    docker(&["volume", "rm", &volume(&env)]).unwrap();
}

/// A volume of the engine contains the files that simulate a cloud. The daemon must run the health checks in a warm
/// container that has this volume. The container must end with the daemon.
#[test]
fn checks_run_in_warm_containers_with_volumes() {
    if !image("checks_run_in_warm_containers_with_volumes") {
        return;
    }
    let cloud = Cloud::Volume;
    let env = project(cloud);
    env.ok(&["app", "launch", "VM", "--name", "vm"]);
    let (vm, volume) = (natural(&env, "vm"), volume(&env));
    let warm = || {
        let volume = format!("volume={volume}");
        let listed =
            ["ps", "--filter", "label=io.windlass.pool", "--filter", &volume, "--format", "{{.Names}}"];
        docker(&listed).unwrap().lines().count()
    };
    let daemon = env.spawn(&["run", "--health", "1"]);
    until("a warm container has the volume", || warm() > 0);
    cloud.sh(
        &env,
        &format!(
            "sed 's/\"ip\": \"[0-9.]*\"/\"ip\": \"203.0.113.9\"/' vms/{vm}.json >new; mv new vms/{vm}.json"
        ),
    );
    until("the check reads it", || status(&env, "vm")["outputs"]["compute.ip"] == "203.0.113.9");
    daemon.signal(rustix::process::Signal::TERM);
    let run = daemon.end();
    assert_eq!(run.code(), Some(0), "{run}");
    until("it ends with the daemon", || warm() == 0);
    env.ok(&["app", "destroy", "vm", "pets", "vms"]);
    until("its containers are gone", || containers(&env).is_empty());
    docker(&["volume", "rm", &volume]).unwrap();
}
