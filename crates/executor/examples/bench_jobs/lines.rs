//! The contestants.

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
    image::{Store, build::ImageBuilder},
    process::{ProcessRuntime, SupervisorCommand},
    sandbox::{SandboxOptions, SandboxRuntime, probe},
};

use crate::{Contestant, Crowd, Failure, Phases};

const SCRIPT: &str = "read line; echo \"status: $line\"";
const INPUT: &str = "ok\n";
const OUTPUT: &str = "status: ok\n";

/// The image that sandboxes and engines run the script in.
const IMAGE: &str = "windlass-bench/busybox:1";

/// Who takes part.
#[derive(Default)]
pub(crate) struct Contestants {
    /// The first is bare fork and exec.
    pub(crate) running: Vec<Box<dyn Contestant>>,
    /// Who isn't there, and why.
    pub(crate) absent: Vec<(&'static str, String)>,
    pub(crate) crowds: Vec<Crowd>,
}

/// Finds out who takes part, with `dir` for their files.
pub(crate) fn contestants(dir: &Path) -> Result<Contestants, Failure> {
    let mut all = Contestants::default();
    all.running.push(Box::new(Program::new("bare", "sh", &["-c", SCRIPT], crate::ROUNDS)));
    let supervisor = SupervisorCommand::this_program(["--supervise-jobs"]);
    let process = Arc::new(ProcessRuntime::open(dir.join("jobs"), supervisor.clone())?);
    let job = Job::command("sh").args(["-c", SCRIPT]).stdin(INPUT);
    all.add("process", process.clone(), &job);
    all.crowds.push(("process", process.clone(), job.clone()));
    all.add("process, finish", process, &job.clone().on_owner_death(OnOwnerDeath::Finish));

    let busybox = ["/bin/busybox", "/usr/bin/busybox"].iter().map(Path::new).find(|path| path.exists());
    let Some(busybox) = busybox else {
        for name in ["sandbox", "docker run", "docker exec"] {
            all.absent.push((name, "there is no static busybox (package busybox-static)".to_owned()));
        }
        return Ok(all);
    };
    let archive = dir.join("busybox.tar");
    std::fs::write(&archive, ImageBuilder::new(IMAGE).busybox(busybox)?.build()?.archive())?;
    match probe(Path::new("bwrap")) {
        Ok(_) => {
            let options = SandboxOptions::new(dir.join("rooms"), dir.join("images"), supervisor);
            let sandbox = Arc::new(SandboxRuntime::open(options)?);
            Store::open(dir.join("images"))?.import(&archive, None)?;
            let job = job.image(IMAGE);
            all.add("sandbox", sandbox.clone(), &job);
            all.crowds.push(("sandbox", sandbox, job));
        }
        Err(why) => all.absent.push(("sandbox", why)),
    }
    all.add_docker(&archive);
    Ok(all)
}

impl Contestants {
    fn add(&mut self, name: &'static str, runtime: Arc<dyn Runtime>, job: &Job) {
        self.running.push(Box::new(OnRuntime { name, runtime, job: job.clone() }));
    }

    /// The command line of an engine, if one answers.
    fn add_docker(&mut self, archive: &Path) {
        let docker = |args: &[&str]| Command::new("docker").args(args).stdin(Stdio::null()).output();
        let load = docker(&["load", "-q", "-i", &archive.to_string_lossy()]);
        if !load.is_ok_and(|output| output.status.success()) {
            self.absent.push(("docker run, docker exec", "no Docker engine answers".to_owned()));
            return;
        }
        let run = |name, network: &'static [&'static str]| {
            let args = [&["run", "--rm", "-i"], network, &[IMAGE, "sh", "-c", SCRIPT]].concat();
            Box::new(Program::new(name, "docker", &args, 50))
        };
        self.running.push(run("docker run", &[]));
        self.running.push(run("docker run, no network", &["--network", "none"]));
        let started = docker(&["run", "-d", "--rm", "--network", "none", IMAGE, "sleep", "100000"]);
        if let Some(output) = started.ok().filter(|output| output.status.success()) {
            let container = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let mut exec =
                Program::new("docker exec", "docker", &["exec", "-i", &container, "sh", "-c", SCRIPT], 50);
            exec.container = Some(container);
            self.running.push(Box::new(exec));
        }
    }
}

/// A job on a runtime.
struct OnRuntime {
    name: &'static str,
    runtime: Arc<dyn Runtime>,
    job: Job,
}

#[async_trait(?Send)]
impl Contestant for OnRuntime {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn once(&mut self, round: usize) -> Result<Phases, Failure> {
        let id = format!("bench-{round}").parse()?;
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
}

/// A program that is started directly: bare, or the command line of an engine.
struct Program {
    name: &'static str,
    command: &'static str,
    args: Vec<String>,
    rounds: usize,
    /// Removed in the end.
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
