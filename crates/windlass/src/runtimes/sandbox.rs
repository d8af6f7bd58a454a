//! The kind of runtime that runs jobs in sandboxes with an image, without a container engine.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_driver::Location;
use windlass_executor::process::ControlGroups;
use windlass_executor::sandbox::{
    DEFAULT_BOUNDS, SandboxOptions, SandboxRuntime, probe, settable, volume_problem,
};
use windlass_executor::{Bounds, Capability};
use windlass_project::{ImageUse, RuntimeKind, SettingProblem};

use super::factory::{ProjectRuntimes, RuntimeContext, RuntimeFactory, RuntimeView};
use super::host::{texts, with_groups};
use super::local::Local;
use super::volumes::refused_volumes;
use crate::blocking::blocking;

const NAME: &str = "sandbox";

pub(super) struct Sandbox;

impl RuntimeKind for Sandbox {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "sandboxes with an image, without an engine"
    }

    fn image(&self) -> ImageUse {
        ImageUse::Required
    }

    fn check(&self, location: &mut Location) -> Vec<SettingProblem> {
        refused_volumes(location, volume_problem)
    }
}

#[async_trait]
impl RuntimeFactory for Sandbox {
    fn project(&self, context: &RuntimeContext) -> Arc<dyn ProjectRuntimes> {
        let folder = context.state.join("rooms");
        let (rooms, volumes) = (folder.clone(), context.state.join("volumes"));
        let (images, supervisor) = (context.images.clone(), context.supervisor.clone());
        let open = move || {
            let options = SandboxOptions::new(&rooms, &images, supervisor.clone());
            SandboxRuntime::open(options.volumes_dir(volumes.clone()))
        };
        Arc::new(Local::new(folder, open, |runtime| Box::pin(runtime.close())))
    }

    async fn doctor(&self, _: &RuntimeContext, _: &[Location]) -> Vec<RuntimeView> {
        vec![blocking(inspect).await]
    }
}

fn inspect() -> RuntimeView {
    let view = |ready, what| RuntimeView::new(NAME, ready, what);
    match probe(Path::new("bwrap")) {
        Err(why) => view(false, why),
        Ok(found) => {
            let what = format!(
                "images without an engine, by bubblewrap {} at {}",
                found.version,
                found.bwrap.display()
            );
            let mut view = view(true, what);
            view.limits = texts(&["time", "output kept", "temporary files", "open files"]);
            let groups = ControlGroups::probe();
            with_groups(&mut view, &groups);
            view.hardening = texts(&["no network", "read-only root", "no capabilities", "own namespaces"]);
            with_defaults(&mut view, &groups);
            if found.seccomp {
                view.hardening.push("seccomp".to_owned());
            } else {
                view.caveats.push("the kernel filters no system calls (seccomp)".to_owned());
            }
            view.caveats
                .push("it shares the host's kernel and user: weaker than a virtual machine".to_owned());
            view
        }
    }
}

/// Adds the default limits of sandbox jobs to a view. If this machine can enforce a default limit, adds the
/// limit to the view's hardening. If this machine can't enforce a default limit, adds the limit to the view's
/// caveats.
fn with_defaults(view: &mut RuntimeView, groups: &ControlGroups) {
    let Bounds { memory_bytes, pids, open_files, .. } = settable(DEFAULT_BOUNDS);
    let defaults = [
        (Some(Capability::MemoryLimit), memory_bytes.map(|bytes| format!("{} MiB of memory", bytes >> 20))),
        (Some(Capability::PidsLimit), pids.map(|pids| format!("{pids} processes"))),
        (None, open_files.map(|files| format!("{files} open files"))),
    ];
    let mut enforced = Vec::new();
    for (capability, default) in defaults {
        let Some(default) = default else { continue };
        if capability.is_none_or(|capability| groups.limits.has(capability)) {
            enforced.push(default);
        } else {
            view.caveats.push(format!("the default limit of {default} is not enforced"));
        }
    }
    view.hardening.push(format!("by default {}", enforced.join(", ")));
}
