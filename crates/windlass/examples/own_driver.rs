//! A program that embeds windlass and registers a driver of its own: [`Folder`] creates a folder, and publishes its
//! path. The first argument of the program is the folder of an assembly. A resource for the driver is:
//!
//! ```yaml
//! name: resource::folder::1.0
//! properties:
//!   root: {default: /tmp}
//!   path: {read-only: true}
//! lifecycle: [Install, Uninstall]
//! default-driver: {folder: {}}
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints its results")]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use windlass::driver::{
    Call, Context, Driver, Effect, Failure, FailureKind, Found, Nature, Observation, Observed, Package,
    PackageProblem, Query, Report,
};
use windlass::engine::Stop;
use windlass::executor::Job;
use windlass::model::name::DriverKind;
use windlass::model::record::ProcessStatus;
use windlass::model::{Action, Transition};
use windlass::{AssemblyInput, Settings, Windlass};

/// The driver `folder`. Install creates a folder below the property `root`, and Uninstall removes it.
struct Folder;

impl Folder {
    async fn one(context: &dyn Context, call: &Call) -> Result<Report, Failure> {
        let root = call.properties.get("root").and_then(|root| root.value.as_str());
        let root = root.ok_or_else(|| Failure::new(FailureKind::Refused, "`root` is not a path"))?;
        let path = format!("{root}/{}", call.instance);
        let (name, job) = match call.action {
            Action::Transition(Transition::Install) => ("make", Job::command("mkdir").args(["-p", &path])),
            Action::Transition(Transition::Uninstall) => ("drop", Job::command("rm").args(["-rf", &path])),
            _ => return Ok(Report::settled()),
        };
        let outcome = context.job(name, job).await?;
        if !outcome.success() {
            return Err(Failure::new(FailureKind::Failed, outcome.stderr.text()));
        }
        match name {
            "make" => Ok(Report::settled().publish("path", path)),
            _ => Ok(Report::settled()),
        }
    }
}

#[async_trait::async_trait]
impl Driver for Folder {
    fn kind(&self) -> DriverKind {
        "folder".parse().expect("a word")
    }

    fn family(&self) -> &'static str {
        "folder"
    }

    fn check(&self, _: &Package) -> Vec<PackageProblem> {
        Vec::new()
    }

    fn nature(&self, package: &Package, action: &Action) -> Option<Nature> {
        let timeout = Duration::from_secs(60);
        let nature =
            Nature { effect: Effect::Repeatable, observable: false, batch: None, timeout, names: false };
        package.bindings().declares(action).then_some(nature)
    }

    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        let mut answers = Vec::new();
        for call in calls {
            answers.push(Self::one(context, call).await);
        }
        answers
    }

    async fn observe(&self, _: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        let observation = Observation::CannotTell("the driver does not look for folders".to_owned());
        calls
            .iter()
            .map(|_| Ok(Observed { observation: observation.clone(), report: Report::settled() }))
            .collect()
    }

    async fn discover(&self, _: &dyn Context, _: &Query) -> Result<Vec<Found>, Failure> {
        Ok(Vec::new())
    }
}

fn main() -> ExitCode {
    // The program starts itself again as the supervisor of its jobs.
    if let Some(code) = windlass::supervise() {
        return code;
    }
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("the first argument is the folder of an assembly");
        return ExitCode::FAILURE;
    };
    match up(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn up(folder: &str) -> Result<(), Box<dyn Error>> {
    let windlass = Windlass::open(Settings::new(folder).driver(Folder))?;
    let stop = Stop::default();
    let started = windlass.up(AssemblyInput::new(folder), &stop).await?;
    let ended = windlass.complete(started, &stop).await?;
    for (name, output) in &ended.outputs {
        println!("{name}: {}", output.value);
    }
    windlass.close().await?;
    match ended.process.status {
        ProcessStatus::Completed => Ok(()),
        status => Err(format!("{} {status}", ended.process.id).into()),
    }
}
