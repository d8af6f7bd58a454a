//! Sample records: small, complete, and identical for the same arguments.

#![expect(clippy::missing_panics_doc, reason = "all of these panic for a bad name, and say so once")]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use windlass_model::assembly::{PackageDigest, Topology};
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentScope, Expected};
use windlass_model::record::{
    AssemblyRecord, CallRecord, CallState, Effect, ElementRecord, Event, EventDraft, Given, InstanceRecord,
    Intent, JobRecord, PackageFile, PackageRecord, PairKey, PairRecord, PlanText, ProcessRecord,
    ProcessStatus, Severity, StepRecord, StepState, VersionRecord,
};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{
    Action, AssemblyName, CallId, ElementName, InstanceId, ProcessId, RequestId, State, StepId, Timestamp,
    Transition,
};
use windlass_secret::{SecretRef, Sensitive};

use crate::holder::Holder;

/// The timestamp of all samples.
pub const TIME: Timestamp = Timestamp::from_millis(1_769_847_330_000);

const VALID: &str = "samples have valid names";

/// Parses an assembly name.
///
/// # Panics
/// If the name is invalid. All functions of this module that take names panic likewise.
pub fn name(name: &str) -> AssemblyName {
    name.parse().expect(VALID)
}

/// Returns the element name of a component, such as `shop__web` for the component `web` of the assembly `shop`.
pub fn part(assembly: &AssemblyName, component: &str) -> ElementName {
    ElementName::from(assembly).child(&component.parse().expect(VALID))
}

/// Returns a holder on another machine, about which the local kernel knows nothing.
pub fn holder(pid: u32) -> Holder {
    Holder {
        host: "box".into(),
        realm: "test".into(),
        pid,
        started: 1,
        command: format!("test {pid}"),
        serves: false,
    }
}

/// Returns an assembly that pins `packages` and has no elements.
pub fn assembly(name: &AssemblyName, packages: &[&PackageRecord]) -> AssemblyRecord {
    AssemblyRecord {
        name: name.clone(),
        descriptor: format!("assembly::{name}::1.0").parse().expect(VALID),
        topology: Topology::new(name.clone(), Vec::new(), Vec::new()),
        goal: State::Active,
        parameters: BTreeMap::new(),
        packages: packages.iter().map(|package| (package.name.clone(), package.digest.clone())).collect(),
        version: None,
        reached: None,
        scaled: BTreeMap::new(),
        surge: BTreeMap::new(),
        references: BTreeSet::new(),
        owner: None,
        application: None,
        created: TIME,
        updated: TIME,
    }
}

/// Returns a version of an assembly, created by a process.
pub fn version(name: &AssemblyName, process: u64, packages: &[&PackageRecord]) -> VersionRecord {
    let updated = TIME.plus_millis(process.cast_signed());
    VersionRecord {
        process: ProcessId(process),
        assembly: AssemblyRecord { updated, ..assembly(name, packages) },
    }
}

/// Returns an element with `progress` completed calls.
pub fn element(name: &ElementName, progress: u32) -> ElementRecord {
    let id = "abcdefghijkmnpqrstuvwxyz".parse::<InstanceId>().expect(VALID);
    ElementRecord { state: State::Installed, progress, ..ElementRecord::new(name.clone(), id, TIME) }
}

/// Returns an instance at a revision.
pub fn instance(element: &ElementName, revision: u64) -> InstanceRecord {
    InstanceRecord {
        element: element.clone(),
        natural: None,
        sealed_natural: None,
        former_outputs: BTreeMap::new(),
        document: json!({"n": revision}),
        revision,
    }
}

/// Returns a pair of two components.
pub fn pair(assembly: &AssemblyName, source: &str, target: &str) -> PairRecord {
    let key = PairKey {
        assembly: ElementName::from(assembly),
        relationship: "joins".parse().expect(VALID),
        source: part(assembly, source),
        target: part(assembly, target),
    };
    let secret: SecretRef = format!("{assembly}:given/{source}-{target}").parse().expect(VALID);
    let given = [("at", Given::Plain(json!("10.0.0.5"))), ("token", Given::Secret(secret))];
    let given = given.map(|(name, value)| (name.parse().expect(VALID), value));
    PairRecord { given: Some(given.into()), ..PairRecord::new(key, TIME) }
}

/// Returns a pending request.
pub fn request(assembly: &AssemblyName, id: u64) -> RequestRecord {
    RequestRecord {
        id: RequestId(id),
        assembly: assembly.clone(),
        intent: Intent::Down,
        application: None,
        by: holder(7).to_string(),
        created: TIME,
        status: RequestStatus::Pending,
    }
}

/// Returns a process.
pub fn process(assembly: &AssemblyName, id: u64, status: ProcessStatus) -> ProcessRecord {
    ProcessRecord {
        id: ProcessId(id),
        assembly: assembly.clone(),
        intent: Intent::Up,
        application: None,
        status,
        plan: PlanText::new(&json!({"version": 1})).expect(VALID),
        continues: None,
        from: Some("box:/srv/shop".into()),
        request: None,
        unattended: false,
        target: BTreeSet::new(),
        except: BTreeSet::new(),
        max_unavailable: None,
        max_surge: None,
        may_destroy: None,
        created: TIME,
        ended: status.is_final().then_some(TIME),
        reason: None,
        follow_up: None,
    }
}

/// Returns a running step.
pub fn step(process: u64, step: u32) -> StepRecord {
    StepRecord {
        process: ProcessId(process),
        step: StepId(step),
        title: format!("step {step}"),
        state: StepState::Running,
        started: Some(TIME),
        resumed: None,
        ended: None,
    }
}

/// Returns the id of the only call of a step.
pub fn call_id(process: u64, step: u32) -> CallId {
    CallId::of(&"samples".parse().expect(VALID), ProcessId(process), StepId(step), 1)
}

/// Returns the only call of a step.
pub fn call(assembly: &AssemblyName, process: u64, step: u32, state: CallState) -> CallRecord {
    CallRecord {
        id: call_id(process, step),
        process: ProcessId(process),
        step: StepId(step),
        element: part(assembly, "A"),
        pair: None,
        action: Action::Transition(Transition::Install),
        side: windlass_model::Side::Desired,
        driver: "script".parse().expect(VALID),
        effect: Effect::Once,
        attempt: 1,
        from: None,
        then: windlass_model::record::Advance::Progress(1),
        ended: (!state.is_open()).then_some(TIME),
        state,
        unknown: None,
        started: TIME,
    }
}

/// Returns a job that serves calls.
pub fn job(id: &str, calls: &[CallId]) -> JobRecord {
    JobRecord {
        id: id.to_owned(),
        calls: calls.to_vec(),
        name: "launch".into(),
        command: "scripts/launch.sh".into(),
        runtime: "process".into(),
        location: "admin@local".into(),
        submitted: TIME,
        accepted: false,
        end: None,
    }
}

/// Returns a package with two files. Packages with different labels differ.
pub fn package(label: &str) -> PackageRecord {
    let file = |path: &str, executable, content: &str| PackageFile {
        path: path.to_owned(),
        executable,
        content: content.as_bytes().to_vec(),
    };
    PackageRecord {
        digest: PackageDigest(format!("sha256:{label}")),
        name: format!("resource::{label}::1.0").parse().expect(VALID),
        manifest: json!({"label": label}),
        files: vec![file("Install.sh", true, "#!/bin/sh\n"), file("resource.yaml", false, label)],
    }
}

/// Returns an event with a message.
pub fn event(assembly: &AssemblyName, message: impl Into<String>) -> EventDraft {
    let element = ElementName::from(assembly);
    let body = Event::Logged { element, severity: Severity::Info, message: message.into(), data: None };
    EventDraft { at: TIME, assembly: assembly.clone(), process: None, body }
}

/// Returns an event of a process with a message.
pub fn event_of(assembly: &AssemblyName, process: u64, message: impl Into<String>) -> EventDraft {
    EventDraft { process: Some(ProcessId(process)), ..event(assembly, message) }
}

/// Returns the message of a sample event.
pub fn message(draft: &EventDraft) -> &str {
    match &draft.body {
        Event::Logged { message, .. } => message,
        _ => "",
    }
}

/// Parses the name of a secret.
pub fn secret(id: &str) -> SecretRef {
    id.parse().expect(VALID)
}

/// Returns the value of a secret.
pub fn value(text: &str) -> Sensitive<Vec<u8>> {
    Sensitive::new(text.as_bytes().to_vec())
}

/// Returns the key of a document of kind `note`.
pub fn document_key(scope: &DocumentScope, name: &str) -> DocumentKey {
    DocumentKey { scope: scope.clone(), kind: "note".parse().expect(VALID), name: name.parse().expect(VALID) }
}

/// Returns a document with a text. The store accepts this document even if it already contains a revision of the
/// document.
pub fn document(scope: &DocumentScope, name: &str, text: &str) -> DocumentDraft {
    DocumentDraft {
        key: document_key(scope, name),
        expected: Expected::Any,
        version: 1,
        body: text.into(),
        secrets: None,
        packages: BTreeSet::new(),
    }
}
