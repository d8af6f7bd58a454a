//! A program that embeds windlass and registers a kind of runtime of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use windlass::check::{CheckInput, check_over};
use windlass::doctor::{RuntimeView, look};
use windlass::driver::Location;
use windlass::engine::Stop;
use windlass::executor::process::{ProcessRuntime, SupervisorCommand};
use windlass::executor::{Capabilities, Events, Found, Job, JobId, Outcome, Owner, Runtime, RuntimeError};
use windlass::model::record::ProcessStatus;
use windlass::project::{ImageUse, Overlay, RuntimeKind, Setting, SettingProblem};
use windlass::runtimes::{ProjectRuntimes, RuntimeContext, RuntimeFactory};
use windlass::schema::{Document, schema};
use windlass::{AssemblyInput, RuntimeRegistry, Settings, Windlass};

use crate::env::TestEnv;

/// The kind `marked`: processes of this host with a variable `MARK`, which the setting `mark` has.
struct Marked;

impl RuntimeKind for Marked {
    fn name(&self) -> &'static str {
        "marked"
    }

    fn summary(&self) -> &'static str {
        "processes with a mark"
    }

    fn image(&self) -> ImageUse {
        ImageUse::None
    }

    fn settings(&self) -> Vec<Setting> {
        vec![Setting { key: "mark", schema: json!({"type": "string", "pattern": "^[a-z]+$"}) }]
    }

    fn check(&self, location: &mut Location) -> Vec<SettingProblem> {
        let wrong = |mark: &&String| !mark.chars().all(|c| c.is_ascii_lowercase());
        let problem =
            |mark| SettingProblem::error("mark", format!("`mark` has letters only, and this is `{mark}`"));
        location.settings.get("mark").filter(wrong).map(problem).into_iter().collect()
    }
}

#[async_trait]
impl RuntimeFactory for Marked {
    fn project(&self, context: &RuntimeContext) -> Arc<dyn ProjectRuntimes> {
        let opened = ProcessRuntime::open(context.state.join("marked"), context.supervisor.clone());
        Arc::new(InProject(Arc::new(opened.unwrap())))
    }

    async fn doctor(&self, _: &RuntimeContext, locations: &[Location]) -> Vec<RuntimeView> {
        vec![RuntimeView::new("marked", true, format!("{} locations", locations.len()))]
    }
}

struct InProject(Arc<ProcessRuntime>);

#[async_trait]
impl ProjectRuntimes for InProject {
    async fn at(&self, location: &Location) -> Result<Arc<dyn Runtime>, String> {
        let mark = location.settings.get("mark").cloned().unwrap_or_default();
        Ok(Arc::new(WithMark { processes: self.0.clone(), mark }))
    }

    async fn with_jobs(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        Ok(vec![self.0.clone()])
    }

    async fn close(&self) -> Result<(), RuntimeError> {
        self.0.close().await
    }
}

struct WithMark {
    processes: Arc<ProcessRuntime>,
    mark: String,
}

#[async_trait]
impl Runtime for WithMark {
    fn kind(&self) -> &'static str {
        "marked"
    }

    fn capabilities(&self) -> Capabilities {
        self.processes.capabilities()
    }

    async fn submit(&self, id: &JobId, job: &Job) -> Result<(), RuntimeError> {
        self.processes.submit(id, &job.clone().env("MARK", &self.mark)).await
    }

    async fn find(&self, id: &JobId) -> Result<Found, RuntimeError> {
        self.processes.find(id).await
    }

    async fn events(&self, id: &JobId) -> Result<Events, RuntimeError> {
        self.processes.events(id).await
    }

    async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError> {
        self.processes.wait(id).await
    }

    async fn cancel(&self, id: &JobId, grace: Duration) -> Result<(), RuntimeError> {
        self.processes.cancel(id, grace).await
    }

    async fn remove(&self, id: &JobId) -> Result<(), RuntimeError> {
        self.processes.remove(id).await
    }

    async fn list(&self, owner: &Owner) -> Result<Vec<JobId>, RuntimeError> {
        self.processes.list(owner).await
    }
}

/// Writes the project, whose only location has the kind and a mark.
fn project(mark: &str) -> TestEnv {
    let env = TestEnv::small("", &[("Install", "echo \"$MARK\" >>\"$trace\"; answer")]);
    let trace = env.path("trace");
    let text = format!(
        "version: 1\nlocations:\n  here:\n    runtime: marked\n    mark: {mark}\n    properties: {{trace: {}}}\n",
        trace.display()
    );
    env.write("windlass.yaml", text);
    env
}

/// Returns the problems of a check.
fn check(env: &TestEnv, runtimes: &RuntimeRegistry) -> Vec<String> {
    let (paths, overlay) = ([env.path("small")], Overlay::default());
    let input = CheckInput { paths: &paths, folders: &[], overlay: &overlay, runtimes };
    let problems = check_over(input).unwrap().diagnostics;
    problems.iter().map(|problem| format!("{} {}", problem.code, problem.message)).collect()
}

#[tokio::test]
async fn a_runtime_kind_of_an_embedding_program_serves_a_location() {
    let with_kind = RuntimeRegistry::default().with(Arc::new(Marked));
    let env = project("blue");
    let unknown = ["WL0315 there is no runtime `marked`", "WL0311 the location `here` has no key `mark`"];
    let mut found = check(&env, &RuntimeRegistry::default());
    found.sort();
    assert_eq!(found, [unknown[1], unknown[0]]);
    assert_eq!(check(&env, &with_kind), [""; 0]);
    assert_eq!(check(&project("B1"), &with_kind), ["WL0333 `mark` has letters only, and this is `B1`"]);
    let schema = schema(Document::Project, &with_kind);
    assert_eq!(schema["$defs"]["Location"]["properties"]["mark"]["pattern"], "^[a-z]+$");

    let supervisor = SupervisorCommand::new(env!("CARGO_BIN_EXE_windlass"), ["windlass-supervise"]);
    let settings = Settings::new(env.path("")).supervisor(supervisor).runtime_kind(Arc::new(Marked));
    let windlass = Windlass::open(settings).unwrap();
    let doctor = look(&windlass).await;
    let inspected: BTreeMap<_, _> =
        doctor.runtimes.iter().map(|view| (view.runtime.as_str(), view.what.as_str())).collect();
    assert_eq!(inspected["marked"], "1 locations");

    let stop = Stop::default();
    let started = windlass.up(AssemblyInput::new(env.path("small")), &stop).await.unwrap();
    let ended = started.run(&stop).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    assert_eq!(env.read("trace"), "Install\nblue\n");
    windlass.close().await.unwrap();
}
