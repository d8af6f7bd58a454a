//! A program that embeds windlass and registers a kind of runtime and a driver of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use windlass::check::{CheckInput, check_over};
use windlass::doctor::{RuntimeView, look};
use windlass::driver::{
    Call, Context, Driver, Effect, Failure, Location, Nature, Observed, Package, PackageProblem, Query,
    Report, SettingError,
};
use windlass::engine::Stop;
use windlass::executor::process::{ProcessRuntime, SupervisorCommand};
use windlass::executor::{Capabilities, Events, Found, Job, JobId, Outcome, Owner, Runtime, RuntimeError};
use windlass::model::Action;
use windlass::model::name::DriverKind;
use windlass::model::record::ProcessStatus;
use windlass::project::{ImageUse, Overlay, RuntimeKind, Setting, SettingProblem};
use windlass::runtimes::{ProjectRuntimes, RuntimeContext, RuntimeFactory};
use windlass::schema::{Document, schema};
use windlass::source::Diagnostic;
use windlass::{AssemblyInput, RuntimeRegistry, Settings, Windlass, drivers};

use crate::env::TestEnv;

/// The runtime kind `marked`: jobs are processes of this host with the variable `MARK`, whose value is the
/// setting `mark`.
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
        let mark = json!({"type": "string", "pattern": "^[a-z]+$"});
        let weight = json!({"type": "integer", "maximum": 9, "description": "From 0 to 9."});
        vec![Setting { key: "mark", schema: mark }, Setting { key: "weight", schema: weight }]
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

/// Returns a project whose only location has the runtime `marked` and this mark.
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
    let drivers = drivers();
    let (folders, overlay, drivers) = (&[][..], &overlay, &drivers);
    let input = CheckInput { paths: &paths, folders, overlay, runtimes, drivers, scripts: None };
    let problems = check_over(input).unwrap().diagnostics;
    let at = |problem: &Diagnostic| problem.place().map_or(0, |place| place.start().line);
    problems.iter().map(|problem| format!("{} {}: {}", problem.code, at(problem), problem.message)).collect()
}

#[tokio::test]
async fn a_runtime_kind_of_an_embedding_program_serves_a_location() {
    let with_kind = RuntimeRegistry::default().with(Arc::new(Marked));
    let env = project("blue");
    let unknown =
        ["WL0315 4: there is no runtime `marked`", "WL0311 5: the location `here` has no key `mark`"];
    let mut found = check(&env, &RuntimeRegistry::default());
    found.sort();
    assert_eq!(found, [unknown[1], unknown[0]]);
    assert_eq!(check(&env, &with_kind), [""; 0]);
    assert_eq!(check(&project("B1"), &with_kind), ["WL0333 5: `mark` has letters only, and this is `B1`"]);
    let env_with_weight = |weight: &str| {
        let env = project("blue");
        env.edit("windlass.yaml", "    mark: blue\n", &format!("    mark: blue\n    weight: {weight}\n"));
        env
    };
    assert_eq!(check(&env_with_weight("7"), &with_kind), [""; 0]);
    let above = "WL0594 6: `locations.here.weight`: the value is greater than the maximum of 9";
    assert_eq!(check(&env_with_weight("10"), &with_kind), [above], "the kind leaves it to its schema");
    let schema = schema(Document::Project, &with_kind, &drivers());
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

    // The command line does not know the runtime `marked`. Commands that only read records need no runtime.
    for command in [&["status"][..], &["log", "small"], &["ps"], &["history", "small"]] {
        let run = env.ok(command);
        assert!(run.stdout.contains("small") || run.stdout.contains("Install"), "{run}");
        assert!(run.stderr.contains("warning[WL0315]: there is no runtime `marked`"), "{run}");
        assert!(run.stderr.contains("warning[WL0311]: the location `here` has no key `mark`"), "{run}");
    }
    let refused = env.refuses(&["up", "small"]);
    assert!(refused.contains("error[WL0315]: there is no runtime `marked`"), "{refused}");
}

/// The driver `talker`: its jobs print the words of its setting `words`, and their stdout is text for people.
#[derive(Default)]
struct Talker {
    words: String,
}

#[async_trait]
impl Driver for Talker {
    fn kind(&self) -> DriverKind {
        "talker".parse().unwrap()
    }

    fn family(&self) -> &'static str {
        "talker"
    }

    fn settings(&self) -> Vec<Setting> {
        vec![Setting { key: "words", schema: json!({"type": "string"}) }]
    }

    fn configured(
        &self,
        given: &BTreeMap<String, Value>,
    ) -> Result<Option<Arc<dyn Driver>>, Vec<SettingError>> {
        match given.get("words").and_then(Value::as_str) {
            Some(words) => Ok(Some(Arc::new(Self { words: words.to_owned() }))),
            None => Err(vec![SettingError { key: "words", message: "`words` is text".to_owned() }]),
        }
    }

    fn check(&self, _: &Package) -> Vec<PackageProblem> {
        Vec::new()
    }

    fn nature(&self, _: &Package, _: &Action) -> Option<Nature> {
        let timeout = Duration::from_secs(60);
        Some(Nature { effect: Effect::Repeatable, observable: false, batch: None, timeout, names: false })
    }

    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        let mut reports = Vec::new();
        for call in calls {
            let secret = call.location.properties["token"].as_str().unwrap_or_default();
            let said = format!("{} {}, {secret}", call.action, self.words);
            let job = |text: &str| Job::command("cat").stdin(text.as_bytes().to_vec());
            context.show_stdout("talk");
            let outcomes = [context.job("talk", job(&said)).await, context.job("answer", job("42")).await];
            let failure = outcomes.into_iter().find_map(Result::err);
            reports.push(failure.map_or_else(|| Ok(Report::settled()), |failure| Err(failure.into())));
        }
        reports
    }

    async fn observe(&self, _: &dyn Context, _: &[Call]) -> Vec<Result<Observed, Failure>> {
        Vec::new()
    }

    async fn discover(&self, _: &dyn Context, _: &Query) -> Result<Vec<windlass::driver::Found>, Failure> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn a_driver_of_an_embedding_program_has_settings_and_shows_its_stdout() {
    let env = TestEnv::new();
    env.write(
        "windlass.yaml",
        "version: 1\nlocations: {here: {properties: {token: hunter22}}}\ndrivers: {talker: {words: says hello}}\n",
    );
    env.write(
        "talk/assembly.yaml",
        "name: assembly::talk::1.0\ncomposition: {box: {type: 'resource::box::1.0'}}\n",
    );
    env.write(
        "talk/Contains/box/resource.yaml",
        "name: resource::box::1.0\nlifecycle: [Install]\ndefault-driver: {talker: {}}\n",
    );
    let supervisor = SupervisorCommand::new(env!("CARGO_BIN_EXE_windlass"), ["windlass-supervise"]);
    let settings = || Settings::new(env.path("")).supervisor(supervisor.clone());
    let Err(unknown) = Windlass::open(settings()) else { panic!("it has no such driver") };
    assert!(format!("{unknown:?}").contains("there is no driver `talker`"), "{unknown:?}");

    let windlass = Windlass::open(settings().driver(Talker::default())).unwrap();
    let stop = Stop::default();
    let started = windlass.up(AssemblyInput::new(env.path("talk")), &stop).await.unwrap();
    let ended = started.run(&stop).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Completed);
    let log = windlass
        .views()
        .log(&"talk".parse().unwrap(), &windlass::view::log::LogFilter::default())
        .await
        .unwrap();
    let jobs = log.processes[0].steps.iter().flat_map(|step| &step.jobs);
    let shown: Vec<_> = jobs.map(|job| job.stdout.as_deref()).collect();
    assert_eq!(shown, [Some("Install says hello, ***"), None]);
    windlass.close().await.unwrap();
    // The program that prints does not know the driver `talker`.
    env.edit("windlass.yaml", "drivers: {talker: {words: says hello}}\n", "");
    let printed = env.ok(&["log", "talk"]).stdout;
    assert!(printed.contains("      > Install says hello, ***\n"), "{printed}");

    env.write("windlass.yaml", "version: 1\ndrivers: {talker: {words: }}\n");
    let Err(wrong) = Windlass::open(settings().driver(Talker::default())) else { panic!("it has no words") };
    assert!(format!("{wrong:?}").contains("`words` is text"), "{wrong:?}");
}
