//! The contestants of the benchmark.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Instant,
};

use async_trait::async_trait;
use windlass_executor::{
    Job, OnOwnerDeath, Runtime,
    docker::{DockerOptions, DockerRuntime, Engine, EngineChoice, Environment, WarmContainers},
    image::{Store, build::ImageBuilder},
    pool::PoolRuntime,
    process::{ProcessRuntime, SupervisorCommand},
    sandbox::{SandboxOptions, SandboxRuntime, probe},
};

use crate::{CROWD, Contestant, Crowd, Failure, Phases};

const SCRIPT: &str = "read line; echo \"status: $line\"";
const INPUT: &str = "ok\n";
const OUTPUT: &str = "status: ok\n";

/// Number of measured runs of a contestant whose run takes a tenth of a second or more.
const SLOW: usize = 50;

/// Image in which sandboxes and containers run the script.
const IMAGE: &str = "windlass-bench/busybox:1";

/// The contestants that can run on this host, and the names of the contestants that can't.
#[derive(Default)]
pub(crate) struct Contestants {
    /// Contestants to measure. The first contestant starts the shell directly, without a runtime.
    pub(crate) running: Vec<Box<dyn Contestant>>,
    /// Name of each contestant that can't run, and the reason.
    pub(crate) absent: Vec<(&'static str, String)>,
    pub(crate) crowds: Vec<Crowd>,
    pool: Option<(Arc<PoolRuntime>, Arc<DockerRuntime>)>,
}

/// Returns the contestants. `dir` is for their files.
pub(crate) async fn contestants(dir: &Path) -> Result<Contestants, Failure> {
    let mut all = Contestants::default();
    all.running.push(Box::new(Program::new("bare", "sh", &["-c", SCRIPT], crate::ROUNDS)));
    let supervisor = SupervisorCommand::this_program(["--supervise-jobs"]);
    let process = Arc::new(ProcessRuntime::open(dir.join("jobs"), supervisor.clone())?);
    let job = Job::command("sh").args(["-c", SCRIPT]).stdin(INPUT);
    all.add("process", &process, &job);
    all.crowd("process", &process, &job, CROWD);
    all.add("process, finish", &process, &job.clone().on_owner_death(OnOwnerDeath::Finish));

    let busybox = ["/bin/busybox", "/usr/bin/busybox"].iter().map(Path::new).find(|path| path.exists());
    let Some(busybox) = busybox else {
        for name in ["sandbox", "docker", "pool", "docker run", "docker exec"] {
            all.absent.push((name, "there is no static busybox (package busybox-static)".to_owned()));
        }
        return Ok(all);
    };
    let archive = dir.join("busybox.tar");
    let image = ImageBuilder::new(IMAGE).busybox(busybox)?.build()?;
    std::fs::write(&archive, image.archive())?;
    let job = job.image(IMAGE);
    match probe(Path::new("bwrap")) {
        Ok(_) => {
            let options = SandboxOptions::new(dir.join("sandboxes"), dir.join("images"), supervisor);
            let sandbox = Arc::new(SandboxRuntime::open(options)?);
            Store::open(dir.join("images"))?.import(&archive, None)?;
            all.add("sandbox", &sandbox, &job);
            all.crowd("sandbox", &sandbox, &job, CROWD);
        }
        Err(why) => all.absent.push(("sandbox", why)),
    }
    match engine().await {
        Ok(engine) => {
            engine.load_image(image.archive().to_vec()).await?;
            all.add_containers(engine, dir, &job).await?;
            all.add_docker();
        }
        Err(why) => all.absent.push(("docker, pool, docker run, docker exec", why.to_string())),
    }
    Ok(all)
}

/// Connects to the same container engine as the command `docker`.
async fn engine() -> Result<Engine, Failure> {
    #[expect(clippy::disallowed_methods, reason = "it is the program that reads the environment")]
    let variables = Environment::READ.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
    Ok(Engine::connect(&"docker".parse::<EngineChoice>()?, &variables.collect()).await?)
}

impl Contestants {
    fn add<R: Runtime + 'static>(&mut self, name: &'static str, runtime: &Arc<R>, job: &Job) {
        self.running.push(Box::new(OnRuntime::new(name, runtime, job)));
    }

    fn crowd<R: Runtime + 'static>(&mut self, name: &'static str, runtime: &Arc<R>, job: &Job, jobs: usize) {
        self.crowds.push(Crowd { name, runtime: runtime.clone(), job: job.clone(), jobs });
    }

    /// Adds a contestant with fresh containers (`docker`) and a contestant with warm containers (`pool`).
    async fn add_containers(&mut self, engine: Engine, dir: &Path, job: &Job) -> Result<(), Failure> {
        let fresh = Arc::new(DockerRuntime::open(engine.clone(), DockerOptions::new()).await?);
        self.running.push(Box::new(OnRuntime { rounds: SLOW, ..OnRuntime::new("docker", &fresh, job) }));
        let warm = Arc::new(WarmContainers::open(engine, dir.join("pool"))?);
        let size = std::thread::available_parallelism()?.get();
        let pool = Arc::new(PoolRuntime::new(fresh.clone(), warm, size, dir.join("pool-output")));
        self.add("pool", &pool, job);
        self.crowd("pool", &pool, job, CROWD);
        self.crowd("docker", &fresh, job, CROWD / 2);
        self.pool = Some((pool, fresh));
        Ok(())
    }

    /// Adds `docker run` and `docker exec` as contestants, if the command `docker` finds the image.
    fn add_docker(&mut self) {
        let docker = |args: &[&str]| Command::new("docker").args(args).stdin(Stdio::null()).output();
        if !docker(&["image", "inspect", IMAGE]).is_ok_and(|output| output.status.success()) {
            self.absent
                .push(("docker run, docker exec", "there is no `docker` command for this engine".to_owned()));
            return;
        }
        let run = |name, network: &'static [&'static str]| {
            let args = [&["run", "--rm", "-i"], network, &[IMAGE, "sh", "-c", SCRIPT]].concat();
            Box::new(Program::new(name, "docker", &args, SLOW))
        };
        self.running.push(run("docker run", &[]));
        self.running.push(run("docker run, no network", &["--network", "none"]));
        let started = docker(&["run", "-d", "--rm", "--network", "none", IMAGE, "sleep", "100000"]);
        if let Some(output) = started.ok().filter(|output| output.status.success()) {
            let container = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let mut exec =
                Program::new("docker exec", "docker", &["exec", "-i", &container, "sh", "-c", SCRIPT], SLOW);
            exec.container = Some(container);
            self.running.push(Box::new(exec));
        }
    }

    /// Removes everything that was created for the contestants.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        for contestant in self.running {
            contestant.close().await?;
        }
        if let Some((pool, fresh)) = self.pool {
            pool.close().await;
            fresh.close().await;
        }
        Ok(())
    }
}

/// A contestant that runs the job on a runtime.
struct OnRuntime {
    name: &'static str,
    runtime: Arc<dyn Runtime>,
    job: Job,
    rounds: usize,
}

impl OnRuntime {
    fn new<R: Runtime + 'static>(name: &'static str, runtime: &Arc<R>, job: &Job) -> Self {
        Self { name, runtime: runtime.clone(), job: job.clone(), rounds: crate::ROUNDS }
    }
}

#[async_trait(?Send)]
impl Contestant for OnRuntime {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn once(&mut self, round: usize) -> Result<Phases, Failure> {
        let id = format!("bench-{}-{round}", self.name.replace([' ', ','], "-")).parse()?;
        let begun = Instant::now();
        self.runtime.submit(&id, &self.job).await?;
        let submitted = Instant::now();
        let outcome = self.runtime.wait(&id).await?;
        let waited = Instant::now();
        self.runtime.remove(&id).await?;
        let removed = Instant::now();
        if outcome.stdout.text() != OUTPUT {
            return Err(format!("{}: {:?} {}", self.name, outcome.end, outcome.stderr.text()).into());
        }
        Ok(Phases([submitted - begun, waited - submitted, removed - waited]))
    }

    fn rounds(&self) -> usize {
        self.rounds
    }
}

/// A contestant that starts a program without a runtime of this crate: the shell, or the command `docker`.
struct Program {
    name: &'static str,
    command: &'static str,
    args: Vec<String>,
    rounds: usize,
    /// Container that [`close`](Contestant::close) removes.
    container: Option<String>,
}

impl Program {
    fn new(name: &'static str, program: &'static str, args: &[&str], rounds: usize) -> Self {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self { name, command: program, args, rounds, container: None }
    }
}

#[async_trait(?Send)]
impl Contestant for Program {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn once(&mut self, _: usize) -> Result<Phases, Failure> {
        let begun = Instant::now();
        let mut child = Command::new(self.command)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(INPUT.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        let took = begun.elapsed();
        if output.stdout != OUTPUT.as_bytes() {
            return Err(format!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(Phases([std::time::Duration::ZERO, took, std::time::Duration::ZERO]))
    }

    fn rounds(&self) -> usize {
        self.rounds
    }

    async fn close(self: Box<Self>) -> Result<(), Failure> {
        if let Some(container) = &self.container {
            Command::new("docker").args(["rm", "-f", container]).output()?;
        }
        Ok(())
    }
}
