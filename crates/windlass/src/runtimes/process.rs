//! The kind of runtime that runs jobs as processes of this host.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_driver::Location;
use windlass_executor::process::{Confinement, ControlGroups, ProcessOptions, ProcessRuntime, finds_program};
use windlass_project::codes::OTHER_RUNTIME;
use windlass_project::{ImageUse, RuntimeKind, SettingProblem};
use windlass_source::Diagnostic;

use super::factory::{ProjectRuntimes, RuntimeContext, RuntimeFactory, RuntimeView};
use super::host::{texts, with_groups};
use super::local::Local;
use crate::blocking::blocking;

const NAME: &str = "process";
const SUMMARY: &str = "processes of this host";

pub(super) struct Process;

impl RuntimeKind for Process {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        SUMMARY
    }

    fn image(&self) -> ImageUse {
        ImageUse::None
    }

    fn check(&self, location: &mut Location) -> Vec<SettingProblem> {
        if location.network.as_deref().is_none_or(|network| network == "host") {
            return Vec::new();
        }
        let message = "the runtime `process` can't give `network`: scripts run on this host as they are";
        let diagnostic = Diagnostic::error(OTHER_RUNTIME, message)
            .help("set a `runtime` that isolates jobs, or remove it");
        vec![SettingProblem { key: Some("network"), entry: None, diagnostic }]
    }
}

#[async_trait]
impl RuntimeFactory for Process {
    fn project(&self, context: &RuntimeContext) -> Arc<dyn ProjectRuntimes> {
        let folder = context.state.join("jobs");
        let (jobs, volumes) = (folder.clone(), context.state.join("volumes"));
        let supervisor = context.supervisor.clone();
        let open = move || {
            let options = ProcessOptions::new(&jobs, supervisor.clone()).volumes_dir(volumes.clone());
            ProcessRuntime::open_with(options)
        };
        Arc::new(Local::new(folder, open, |runtime| Box::pin(runtime.close())))
    }

    async fn doctor(&self, _: &RuntimeContext, _: &[Location]) -> Vec<RuntimeView> {
        vec![blocking(inspect).await]
    }

    fn lacks(&self, location: &Location, program: &str) -> bool {
        !finds_program(program, &location.environment)
    }
}

fn inspect() -> RuntimeView {
    let groups = ControlGroups::probe();
    let mut hardening = Vec::new();
    let mut caveats =
        texts(&["jobs can access the host's files, processes and network: run only trusted scripts"]);
    if groups.ends_all {
        hardening.push("terminated as a control group".to_owned());
    } else {
        caveats.push(
            "control groups can't be created: a process that leaves its session and clears its environment \
             outlives its job until no other job runs"
                .to_owned(),
        );
    }
    let there = Confinement::probe();
    let landlock =
        there.landlock.map_or_else(|| "no Landlock".to_owned(), |version| format!("Landlock {version}"));
    let seccomp = if there.seccomp { "seccomp" } else { "no seccomp" };
    caveats.push(format!(
        "not confined unless the embedding program asks for it; this kernel has {seccomp}, {landlock}"
    ));
    let mut view = RuntimeView {
        limits: texts(&["time", "output kept", "open files"]),
        hardening,
        caveats,
        ..RuntimeView::new(NAME, true, SUMMARY)
    };
    with_groups(&mut view, &groups);
    view
}
