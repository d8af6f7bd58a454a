//! An engine that a test may damage, with its own data, network and control group.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use windlass_executor::{
    docker::{Endpoint, Engine, EngineChoice, Environment},
    image::build::ImageBuilder,
};

pub(crate) const IMAGE: &str = "windlass-test/busybox:1";

/// Maximum time for which a test waits for a condition.
const LIMIT: Duration = Duration::from_secs(60);

/// Settings in which an engine differs from the default.
#[derive(Clone, Copy, Default)]
pub(crate) struct Settings {
    /// Whether containers survive the engine's death.
    pub(crate) live_restore: bool,
    /// Size of the file system for the engine's data, in the notation of `mount`.
    pub(crate) space: Option<&'static str>,
    /// Whether the engine is reached over a network that can be cut.
    pub(crate) remote: bool,
}

pub(crate) struct Daemon {
    dir: TempDir,
    name: String,
    settings: Settings,
    dockerd: Child,
}

impl Daemon {
    /// Starts an engine. If the engine can't run on this host, the function reports the test as skipped, and returns
    /// `None`.
    pub(crate) async fn start(test: &str, settings: Settings) -> Option<Self> {
        if let Some(why) = missing() {
            skipped(test, why);
            return None;
        }
        // A short path: the paths of sockets below it have a limit of 108 bytes.
        let dir = tempfile::Builder::new().prefix("wl").rand_bytes(5).tempdir_in("/tmp").unwrap();
        let name = dir.path().file_name().unwrap().to_str().unwrap().to_owned();
        run("ip", &["netns", "add", &name]);
        run("ip", &["-n", &name, "link", "set", "lo", "up"]);
        fs::create_dir_all(dir.path().join("data")).unwrap();
        if let Some(space) = settings.space {
            let data = dir.path().join("data");
            run("mount", &["-t", "tmpfs", "-o", &format!("size={space}"), "tmpfs", data.to_str().unwrap()]);
        }
        if settings.remote {
            connect(&name);
        }
        let dockerd = spawn(dir.path(), &name, settings);
        let daemon = Self { dir, name, settings, dockerd };
        let engine = daemon.engine().await;
        let busybox = busybox().unwrap();
        let image = ImageBuilder::new(IMAGE).busybox(busybox).unwrap().build().unwrap();
        engine.load_image(image.archive().to_vec()).await.unwrap();
        Some(daemon)
    }

    fn endpoint(&self) -> Endpoint {
        let host = if self.settings.remote {
            format!("tcp://{}:2375", far_address(&self.name))
        } else {
            format!("unix://{}", self.dir.path().join("sock").display())
        };
        let choice: EngineChoice = host.parse().unwrap();
        Endpoint::resolve(&choice, &Environment::default()).unwrap()
    }

    /// Returns a connection as soon as the engine answers.
    pub(crate) async fn engine(&self) -> Engine {
        let begun = Instant::now();
        loop {
            match Engine::connect_to(self.endpoint()).await {
                Ok(engine) => return engine,
                Err(error) => {
                    let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
                    assert!(begun.elapsed() < LIMIT, "{error}\n{log}");
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("sock")
    }

    /// Returns the path of a socket for a `Line`, which is a proxy to the engine. The `Line` listens at this socket.
    pub(crate) fn near_socket(&self) -> PathBuf {
        self.dir.path().join("line")
    }

    /// Returns a connection through the `Line` at [`near_socket`](Self::near_socket).
    pub(crate) async fn engine_at_the_line(&self) -> Engine {
        let choice: EngineChoice = format!("unix://{}", self.near_socket().display()).parse().unwrap();
        let endpoint = Endpoint::resolve(&choice, &Environment::default()).unwrap();
        Engine::connect_to(endpoint).await.unwrap()
    }

    pub(crate) fn process(&self) -> Pid {
        Pid::from_child(&self.dockerd)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Sends SIGKILL to `dockerd` alone.
    pub(crate) fn kill(&mut self) {
        self.dockerd.kill().unwrap();
        self.dockerd.wait().unwrap();
    }

    /// Starts the engine again, and repeats the start until the engine stays up, as a service manager would.
    /// The containerd of the killed engine dies a moment later, and until then a new one can't start.
    pub(crate) async fn start_again(&mut self) {
        let begun = Instant::now();
        let is_containerd = |pid: &Pid| {
            let name = fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero())).unwrap_or_default();
            name.trim() == "containerd"
        };
        while let Some(left) = self.processes().into_iter().find(is_containerd) {
            let _gone = kill_process(left, Signal::KILL);
            assert!(begun.elapsed() < LIMIT, "containerd doesn't die");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        loop {
            // These files name processes that are dead, or process ids that are in use again. The engine
            // would wait for a dead process that was not reaped yet.
            for file in ["pid", "exec/containerd/containerd.pid"] {
                let _or_it_was_not_written = fs::remove_file(self.dir.path().join(file));
            }
            self.dockerd = spawn(self.dir.path(), &self.name, self.settings);
            while self.dockerd.try_wait().unwrap().is_none() {
                if Engine::connect_to(self.endpoint()).await.is_ok() {
                    return;
                }
                assert!(begun.elapsed() < LIMIT, "it doesn't start again");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let signal = if name == "STOP" { Signal::STOP } else { Signal::CONT };
        kill_process(Pid::from_child(&self.dockerd), signal).unwrap();
    }

    /// Cuts the network between the test and the engine. Packets are lost, and neither side is notified. The function
    /// disables the network device on the engine's side. If the function disabled the device on the test's side
    /// instead, packets would take another route.
    pub(crate) fn cut(&self) {
        run("ip", &["-n", &self.name, "link", "set", &far_device(&self.name), "down"]);
    }

    pub(crate) fn mend(&self) {
        run("ip", &["-n", &self.name, "link", "set", &far_device(&self.name), "up"]);
    }

    /// Asserts that nothing is left but the volume in which jobs count their runs.
    pub(crate) async fn is_left_clean(&self) {
        self.is_left_clean_but_for(0).await;
    }

    /// Asserts the same as [`is_left_clean`](Self::is_left_clean), but permits volumes without a name, one for each
    /// time the engine was killed while it created a container. Before its death, the engine may have created the
    /// container's volume without recording the container.
    pub(crate) async fn is_left_clean_but_for(&self, volumes_without_a_name: usize) {
        let begun = Instant::now();
        loop {
            let containers = self.ask(&["ps", "--all", "--format", "{{.Names}} {{.Status}}"]);
            let volumes = self.ask(&["volume", "ls", "--quiet"]);
            let (named, others): (Vec<_>, Vec<_>) =
                volumes.lines().partition(|name| name.starts_with("windlass-"));
            let is_clean =
                named == ["windlass-volume-nobody-count"] && others.len() <= volumes_without_a_name;
            if containers.is_empty() && is_clean {
                return;
            }
            assert!(begun.elapsed() < LIMIT, "this is left:\n{containers}{volumes}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn ask(&self, args: &[&str]) -> String {
        let host = format!("unix://{}", self.dir.path().join("sock").display());
        let output = Command::new("docker").env("DOCKER_HOST", host).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the processes of this engine: those whose command line names its folder.
    fn processes(&self) -> Vec<Pid> {
        let mark = self.dir.path().to_str().unwrap().as_bytes().to_vec();
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let is_ours = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.windows(mark.len()).any(|window| window == mark)
        };
        numbers.filter(is_ours).filter_map(Pid::from_raw).collect()
    }
}

impl Drop for Daemon {
    /// Removes everything of the engine, also after a failed test.
    fn drop(&mut self) {
        let _continued = kill_process(Pid::from_child(&self.dockerd), Signal::CONT);
        let _ended = kill_process(Pid::from_child(&self.dockerd), Signal::TERM);
        let begun = Instant::now();
        while self.dockerd.try_wait().is_ok_and(|ended| ended.is_none())
            && begun.elapsed() < Duration::from_secs(15)
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        for _ in 0..100 {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            for pid in left {
                let _gone = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _reaped = self.dockerd.wait();
        end_groups(Path::new("/sys/fs/cgroup"), &self.name);
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let below = |line: &&str| {
            line.split(' ').nth(1).is_some_and(|path| path.starts_with(self.dir.path().to_str().unwrap()))
        };
        for line in mounts.lines().filter(below).collect::<Vec<_>>().into_iter().rev() {
            let _gone = Command::new("umount").arg("-l").arg(line.split(' ').nth(1).unwrap()).output();
        }
        let _gone = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

/// Ends the processes in the control groups of this name below a folder, and removes the groups.
fn end_groups(below: &Path, name: &str) {
    for folder in fs::read_dir(below).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()) {
        let path = folder.path();
        if path.file_name().is_some_and(|own| own == name) {
            empty_group(&path);
        } else if below.components().count() < 5 {
            end_groups(&path, name);
        }
    }
}

fn empty_group(path: &Path) {
    for folder in fs::read_dir(path).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()) {
        empty_group(&folder.path());
    }
    let members = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    for pid in members.lines().filter_map(|line| line.parse().ok()).filter_map(Pid::from_raw) {
        let _gone = kill_process(pid, Signal::KILL);
    }
    // Killed processes take a moment to end.
    for _ in 0..100 {
        if fs::remove_dir(path).is_ok() || !path.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root can start an engine");
    }
    if busybox().is_none() {
        return Some("there is no static busybox: apt-get install busybox-static");
    }
    let there = |program: &str| {
        ["/usr/bin", "/usr/sbin", "/sbin"].iter().any(|dir| Path::new(dir).join(program).exists())
    };
    if !["dockerd", "ip", "nsenter"].iter().all(|program| there(program)) {
        return Some("dockerd, ip or nsenter is missing: apt-get install docker.io iproute2");
    }
    let namespace = Command::new("ip").args(["netns", "list"]).output();
    namespace.is_err().then_some("`ip netns` can't be run")
}

fn busybox() -> Option<&'static Path> {
    ["/bin/busybox", "/usr/bin/busybox"].into_iter().map(Path::new).find(|path| path.exists())
}

#[expect(clippy::disallowed_methods, reason = "a test is told so by who runs it")]
fn skipped(test: &str, why: &str) {
    let is_required = std::env::var("WINDLASS_REQUIRE_DOCKER").is_ok_and(|value| value == "1");
    assert!(!is_required, "{test} can't run here, and WINDLASS_REQUIRE_DOCKER=1 demands it: {why}");
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(format!("SKIPPED an engine that is {test}: {why}\n").as_bytes()).unwrap();
}

/// Connects the engine's network namespace with that of the test. The connection is a veth pair: a network device in
/// each of the two namespaces.
fn connect(name: &str) {
    let (near, far) = (near_device(name), far_device(name));
    run("ip", &["link", "add", &near, "type", "veth", "peer", "name", &far]);
    run("ip", &["link", "set", &far, "netns", name]);
    run("ip", &["addr", "add", &format!("{}/30", near_address(name)), "dev", &near]);
    run("ip", &["-n", name, "addr", "add", &format!("{}/30", far_address(name)), "dev", &far]);
    run("ip", &["link", "set", &near, "up"]);
    run("ip", &["-n", name, "link", "set", &far, "up"]);
}

fn far_device(name: &str) -> String {
    format!("{name}f")
}

fn near_device(name: &str) -> String {
    format!("{name}n")
}

/// Returns the last two octets of the address of the network between the test and the engine. The network has four
/// addresses in 198.18.0.0/15, a range that is reserved for tests (RFC 2544).
fn subnet(name: &str) -> [u8; 2] {
    let sum = name.bytes().fold(7_u16, |sum, byte| sum.wrapping_mul(31).wrapping_add(u16::from(byte)));
    let [high, low] = sum.to_be_bytes();
    [high, low & 0xfc]
}

fn near_address(name: &str) -> String {
    let [high, low] = subnet(name);
    format!("198.18.{high}.{}", low + 1)
}

fn far_address(name: &str) -> String {
    let [high, low] = subnet(name);
    format!("198.18.{high}.{}", low + 2)
}

/// Starts `dockerd` in a network namespace of its own, so that nothing it does there affects the host.
fn spawn(dir: &Path, name: &str, settings: Settings) -> Child {
    let path = |part: &str| dir.join(part).display().to_string();
    let log = File::options().create(true).append(true).open(dir.join("log")).unwrap();
    let mut command = Command::new("nsenter");
    // `nsenter` replaces itself, so that its process id is the engine's.
    command.arg(format!("--net=/run/netns/{name}")).args(["dockerd", "--bridge=none", "--iptables=false"]);
    command.args(["--ip-forward=false", "--ip-masq=false", "--host", &format!("unix://{}", path("sock"))]);
    command.args(["--data-root", &path("data"), "--exec-root", &path("exec"), "--pidfile", &path("pid")]);
    command.arg(format!("--cgroup-parent=/{name}"));
    if settings.live_restore {
        command.arg("--live-restore");
    }
    if settings.remote {
        command.args(["--host", &format!("tcp://{}:2375", far_address(name)), "--tls=false"]);
    }
    let streams = log.try_clone().unwrap();
    command.stdin(Stdio::null()).stdout(streams).stderr(log).spawn().unwrap()
}

fn run(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
