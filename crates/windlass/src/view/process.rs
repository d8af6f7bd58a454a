//! Views of processes, and of the versions of an assembly.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use windlass_engine::Tally;
use windlass_lifecycle::{
    Current, Diff, ElementNow, Options, Plan, Situation, Version, declared_changes, plan,
};
use windlass_model::assembly::{ElementKind, PackageDigest};
use windlass_model::record::{ProcessRecord, ProcessStatus, StepRecord, StepState, VersionRecord};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::resolve::{Lookup, NothingYet, Output};
use windlass_model::work::Work;
use windlass_model::{
    AssemblyName, DescriptorName, ElementName, InstanceId, ProcessId, PropertyName, RequestId, Timestamp,
};
use windlass_plan::StepNumber;
use windlass_secret::{SecretRef, Sensitive};

use super::views::Views;
use crate::error::Error;
use crate::view::log::{LogFilter, LogView, MoveLog, OneProcessView};

/// A list of processes and pending requests.
#[derive(Debug, Clone, Serialize)]
pub struct ProcessesView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The processes, oldest first.
    pub processes: Vec<ProcessSummary>,
    /// The pending requests to the daemon, oldest first.
    pub requests: Vec<RequestSummary>,
}

/// A summary of a request.
#[derive(Debug, Clone, Serialize)]
pub struct RequestSummary {
    /// The id of the request.
    pub id: RequestId,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The intent of the request.
    pub intent: String,
    /// The program that submitted the request, for display.
    pub by: String,
    /// The time at which the request was submitted.
    #[serde(serialize_with = "super::time::one")]
    pub asked: Timestamp,
}

/// The status of one request, as a JSON document of its own.
#[derive(Debug, Clone, Serialize)]
pub struct OneRequestView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The summary of the request.
    pub request: RequestSummary,
    /// The status of the request: `pending`, `begun`, `refused` or `withdrawn`.
    pub status: String,
    /// The process that executes or executed the request.
    pub process: Option<ProcessId>,
    /// The reason why the request was refused.
    pub why: Option<String>,
}

/// A summary of a process.
#[derive(Debug, Clone, Serialize)]
pub struct ProcessSummary {
    /// The id of the process.
    pub id: ProcessId,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The intent of the process.
    pub intent: String,
    /// The status of the process.
    pub status: ProcessStatus,
    /// The program that executes the process; `None` if the process has ended or was interrupted.
    pub runs: Option<String>,
    /// Whether the process has not ended, and no program executes it.
    pub interrupted: bool,
    /// The reason why the process did not complete.
    pub reason: Option<String>,
    /// The earlier process that this process resumes.
    pub continues: Option<ProcessId>,
    /// The time at which the process was created.
    #[serde(serialize_with = "super::time::one")]
    pub started: Timestamp,
    /// The time at which the process ended.
    #[serde(serialize_with = "super::time::maybe")]
    pub ended: Option<Timestamp>,
}

/// The history of an assembly: its processes and its versions, oldest first.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The processes of the assembly, each with the results of its steps.
    pub processes: Vec<ProcessEndView>,
    /// The versions of the assembly.
    pub versions: Vec<VersionView>,
    /// Imports and exports of the assembly.
    pub moves: Vec<MoveLog>,
}

/// A process, with the number of its steps for each kind of end.
#[derive(Debug, Clone, Serialize)]
pub struct ProcessEndView {
    /// The id of the process.
    pub id: ProcessId,
    /// The intent of the process.
    pub intent: String,
    /// The status of the process.
    pub status: ProcessStatus,
    /// The reason for the status; `None` if the process has completed.
    pub reason: Option<String>,
    /// The earlier process that this process resumes.
    pub continues: Option<ProcessId>,
    /// The time at which the process started.
    #[serde(serialize_with = "super::time::one")]
    pub started: Timestamp,
    /// The time at which the process ended.
    #[serde(serialize_with = "super::time::maybe")]
    pub ended: Option<Timestamp>,
    /// Number of steps that succeeded.
    pub succeeded: u32,
    /// Number of steps that failed.
    pub failed: u32,
    /// Number of steps that did not start, because a step that they need did not succeed.
    pub skipped: u32,
    /// Number of steps that were cancelled by a stop.
    pub cancelled: u32,
    /// Number of steps with a call whose outcome only an operator can determine.
    pub undecided: u32,
}

/// A version of an assembly: the desired state for which one process was started.
#[derive(Debug, Clone, Serialize)]
pub struct VersionView {
    /// The process that created the version.
    pub process: ProcessId,
    /// The intent of the process that created the version; `None` if the store has no record of this process.
    pub intent: Option<String>,
    /// The status of the process that created the version; `None` if the store has no record of this process.
    pub status: Option<ProcessStatus>,
    /// The time at which the version was created.
    #[serde(serialize_with = "super::time::one")]
    pub at: Timestamp,
    /// The name of the assembly's descriptor.
    pub descriptor: DescriptorName,
    /// The parameters of the assembly, with secrets masked.
    pub parameters: BTreeMap<PropertyName, Value>,
    /// Number of resources of the assembly.
    pub resources: usize,
    /// The differences from the assembly's previous version to this version. The process that created this version
    /// planned these changes, but may have failed before it made them.
    pub changes: Diff,
}

/// The differences between two versions of an assembly.
#[derive(Debug, Clone, Serialize)]
pub struct DiffView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The process that created the older version.
    pub from: ProcessId,
    /// The process that created the newer version.
    pub to: ProcessId,
    /// The differences from the older to the newer version.
    pub changes: Diff,
}

impl Views<'_> {
    /// Lists the processes of one assembly, or of all assemblies. Includes processes of deleted assemblies.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read. Also fails if the assembly `name` has no process and no request. For all
    /// assemblies, the result is empty if there is no store.
    pub async fn processes(&self, name: Option<&AssemblyName>) -> Result<ProcessesView, Error> {
        let (mut processes, mut requests) = (Vec::new(), Vec::new());
        let store = match name {
            Some(name) => Some(self.windlass.store_of(name).await?),
            None => self.windlass.store(false).await?,
        };
        if let Some(store) = store {
            let found = match name {
                Some(name) => {
                    let newest_first = store.processes_of(name, None, usize::MAX).await?;
                    newest_first.into_iter().rev().collect()
                }
                None => store.processes().await?,
            };
            for process in found {
                let holder =
                    if process.status.is_final() { None } else { store.holder(&process.assembly).await? };
                processes.push(ProcessSummary::new(process, holder.map(|holder| holder.to_string())));
            }
            let pending = store.requests().await?.into_iter().map(RequestSummary::new);
            requests = pending.filter(|request| name.is_none_or(|name| *name == request.assembly)).collect();
            if let Some(name) = name.filter(|_| processes.is_empty() && requests.is_empty()) {
                return Err(self.windlass.unknown(store, name).await);
            }
        }
        Ok(ProcessesView { version: 1, processes, requests })
    }

    /// Returns the status of a request to the daemon.
    ///
    /// # Errors
    ///
    /// Fails if there is no such request, or if the store can't be read.
    pub async fn request(&self, id: RequestId) -> Result<OneRequestView, Error> {
        let store = self.windlass.store(false).await?;
        let found = match &store {
            Some(store) => store.request(id).await?,
            None => None,
        };
        let found = found.ok_or(Error::UnknownRequest { request: id })?;
        let (process, why) = match &found.status {
            RequestStatus::Begun(process) => (Some(*process), None),
            RequestStatus::Refused { why, .. } => (None, Some(why.clone())),
            _ => (None, None),
        };
        let status = match &found.status {
            RequestStatus::Begun(_) => "begun".to_owned(),
            status => status.to_string(),
        };
        Ok(OneRequestView { version: 1, request: RequestSummary::new(found), status, process, why })
    }

    /// Returns the history of one process.
    ///
    /// # Errors
    ///
    /// Fails if there is no such process, or if the store can't be read.
    pub async fn process(&self, id: ProcessId) -> Result<OneProcessView, Error> {
        let found = match self.windlass.store(false).await? {
            Some(store) => store.process(id).await?,
            None => None,
        };
        let Some(found) = found else {
            let last = self.processes(None).await?.processes.last().map(|last| last.id);
            return Err(Error::NoProcess { process: id, last });
        };
        let LogView { processes, .. } = self.log(&found.assembly, &LogFilter::default()).await?;
        let unknown = || Error::NoProcess { process: id, last: None };
        let log = processes.into_iter().find(|process| process.id == id).ok_or_else(unknown)?;
        Ok(OneProcessView { version: 1, assembly: found.assembly.clone(), process: log })
    }

    /// Lists the processes and the versions of an assembly, even after its deletion.
    ///
    /// # Errors
    ///
    /// Fails if there never was such an assembly, or if the store can't be read.
    pub async fn history(&self, name: &AssemblyName) -> Result<HistoryView, Error> {
        let versions = self.versions(name).await?;
        let processes = self.processes(Some(name)).await?.processes;
        let ids: Vec<ProcessId> = processes.iter().map(|process| process.id).collect();
        let intents: BTreeMap<ProcessId, (String, ProcessStatus)> =
            processes.into_iter().map(|process| (process.id, (process.intent, process.status))).collect();
        let mut shown: Vec<VersionView> = Vec::new();
        for (at, version) in versions.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &versions[before]);
            shown.push(VersionView::new(version, before, intents.get(&version.process))?);
        }
        let store = self.windlass.store_of(name).await?;
        let mut ends = Vec::new();
        for id in ids {
            // The process may have been pruned in the meantime.
            let found = store.process_history(id).await?;
            ends.extend(found.map(|found| ProcessEndView::new(found.process, &found.steps)));
        }
        let moves = super::log::moves(&*store, name).await?;
        Ok(HistoryView { version: 1, assembly: name.clone(), processes: ends, versions: shown, moves })
    }

    /// Returns the differences between the versions of an assembly at two processes. The version at a process
    /// is the newest version that this process or an earlier process created.
    ///
    /// # Errors
    ///
    /// Fails if there never was such an assembly or process, or if no version of the assembly existed yet at
    /// one of the processes.
    pub async fn diff(&self, name: &AssemblyName, from: ProcessId, to: ProcessId) -> Result<DiffView, Error> {
        let versions = self.versions(name).await?;
        for process in [from, to] {
            self.know_process(name, process).await?;
        }
        let at = |process: ProcessId| {
            let found = versions.iter().rfind(|version| version.process <= process);
            found.ok_or_else(|| windlass_engine::EngineError::NoVersion {
                name: name.clone(),
                process: Some(process),
            })
        };
        let changes = difference(Some(at(from)?), at(to)?)?;
        Ok(DiffView { version: 1, assembly: name.clone(), from, to, changes })
    }

    /// Checks that a process belongs to an assembly.
    ///
    /// # Errors
    ///
    /// Fails if the process does not belong to the assembly.
    pub async fn know_process(&self, name: &AssemblyName, process: ProcessId) -> Result<(), Error> {
        let known = self.windlass.store_of(name).await?.process(process).await?;
        if known.is_some_and(|known| known.assembly == *name) {
            return Ok(());
        }
        Err(windlass_store::StoreError::NoProcess { scope: name.clone(), process }.into())
    }

    async fn versions(&self, name: &AssemblyName) -> Result<Vec<VersionRecord>, Error> {
        let store = self.windlass.store_of(name).await?;
        let versions = store.versions(name).await?;
        if versions.is_empty() && store.assembly(name).await?.is_none() {
            return Err(self.windlass.unknown(store, name).await);
        }
        Ok(versions)
    }
}

impl RequestSummary {
    fn new(request: RequestRecord) -> Self {
        let intent = request.title();
        let RequestRecord { id, assembly, by, created, .. } = request;
        Self { id, assembly, intent, by, asked: created }
    }
}

impl ProcessSummary {
    fn new(process: ProcessRecord, runs: Option<String>) -> Self {
        Self {
            id: process.id,
            intent: process.title(),
            continues: process.resumes(),
            assembly: process.assembly,
            status: process.status,
            interrupted: !process.status.is_final() && runs.is_none(),
            runs,
            reason: process.reason,
            started: process.created,
            ended: process.ended,
        }
    }
}

impl ProcessEndView {
    fn new(process: ProcessRecord, steps: &[StepRecord]) -> Self {
        let plan: Option<Plan> = serde_json::from_str(process.plan.as_str()).ok();
        let mut tally = Tally::default();
        for step in steps {
            let planned = plan.as_ref().and_then(|plan| plan.step(StepNumber(step.step.0)));
            let work = planned.and_then(|planned| planned.task.work());
            // Steps without a call are not counted. The view of a plan does not count them, either.
            if let StepState::Done(end) = &step.state
                && work.is_none_or(Work::has_calls)
            {
                tally.count(end, work);
            }
        }
        let Tally { succeeded, failed, skipped, cancelled, undecided, .. } = tally;
        Self {
            id: process.id,
            intent: process.title(),
            continues: process.resumes(),
            status: process.status,
            reason: process.reason,
            started: process.created,
            ended: process.ended,
            succeeded,
            failed,
            skipped,
            cancelled,
            undecided,
        }
    }
}

impl VersionView {
    fn new(
        version: &VersionRecord,
        before: Option<&VersionRecord>,
        process: Option<&(String, ProcessStatus)>,
    ) -> Result<Self, Error> {
        let assembly = &version.assembly;
        let resources = assembly.topology.elements().iter().filter(|e| e.kind == ElementKind::Resource);
        Ok(Self {
            process: version.process,
            intent: process.map(|(intent, _)| intent.clone()),
            status: process.map(|(_, status)| *status),
            at: assembly.updated,
            descriptor: assembly.descriptor.clone(),
            parameters: assembly
                .parameters
                .iter()
                .map(|(name, value)| (name.clone(), shown(value)))
                .collect(),
            resources: resources.count(),
            changes: difference(before, version)?,
        })
    }
}

fn shown(value: &Value) -> Value {
    if SecretRef::from_value(value).is_some() { Value::from("***") } else { value.clone() }
}

/// Returns the differences between two versions of an assembly. If `before` is `None`, all resources of `after` are
/// new.
///
/// To find the differences, the function makes a plan that changes an assembly from `before` to `after`. The plan
/// assumes that each resource has reached the goal state of the version `before`.
fn difference(before: Option<&VersionRecord>, after: &VersionRecord) -> Result<Diff, Error> {
    let mut current = Current::default();
    if let Some(before) = before {
        for element in before.assembly.topology.elements() {
            if element.kind == ElementKind::Resource {
                let mut now = ElementNow::new(before.assembly.goal, true);
                now.package = before.assembly.packages.get(&element.descriptor).cloned();
                current.element(element.name.clone(), now);
            }
        }
    }
    let situation = Situation { current: &current, installed: before.map(side), desired: Some(side(after)) };
    let (packages, goal) = (after.assembly.packages.clone(), after.assembly.goal);
    // Here, windlass does not know whether a driver keeps an instance when the package of the instance
    // changes. Most drivers do, so this function assumes it.
    let of_descriptor = |(name, old): (_, &PackageDigest)| Some((old.clone(), packages.get(name)?.clone()));
    let kept =
        before.iter().flat_map(|before| before.assembly.packages.iter().filter_map(of_descriptor)).collect();
    let options = Options { packages: packages.clone(), kept, goal, ..Options::default() };
    let planned = plan(&situation, &options).map_err(windlass_engine::EngineError::from)?;
    let declared = before.map(|before| declared_changes(side(before), side(after))).unwrap_or_default();
    Ok(Diff { declared, ..planned.diff })
}

fn side(version: &VersionRecord) -> Version<'_> {
    Version { topology: &version.assembly.topology, lookup: &ByName }
}

/// A resolver that returns the id of a secret in place of its value. Different values have different ids, so
/// changed secrets are visible.
struct ByName;

impl Lookup for ByName {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        NothingYet.output(element, property)
    }

    fn instance_id(&self, element: &ElementName) -> Option<InstanceId> {
        NothingYet.instance_id(element)
    }

    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>> {
        Some(Sensitive::new(secret.id().to_owned()))
    }
}
