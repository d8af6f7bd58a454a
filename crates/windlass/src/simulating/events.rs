//! The timeline of a simulation, and its summary.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_model::record::Severity;
use windlass_model::{AssemblyName, Timestamp};

/// An event of a simulation, with secrets masked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SimulationEvent {
    /// The version of the layout of this event, for programs that read it as JSON.
    pub version: u32,
    /// The time since the beginning of the simulation, in milliseconds.
    pub offset_ms: u64,
    /// The virtual time of the event.
    #[serde(serialize_with = "crate::view::time::one")]
    pub at: Timestamp,
    /// The name of the application or factory.
    pub application: AssemblyName,
    /// The kind of event: `launched`, `adopted`, `destroyed`, `changed`, `command`, `log`, `fails`, `works`
    /// or `refused`.
    pub event: &'static str,
    /// The severity of the event.
    pub severity: Severity,
    /// A description of the event for people.
    pub text: String,
}

/// The number of a script's runs, and the number of failed runs among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Runs {
    /// Number of all runs.
    pub runs: u64,
    /// Number of runs that failed, or whose output can't be used.
    pub failed: u64,
}

impl Runs {
    pub(super) fn note(&mut self, has_failed: bool) {
        self.runs += 1;
        self.failed += u64::from(has_failed);
    }

    pub(super) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.failed += other.failed;
    }
}

/// The summary of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SimulationView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The virtual time at which the simulation begins.
    #[serde(serialize_with = "crate::view::time::one")]
    pub from: Timestamp,
    /// The virtual time at which the simulation ends.
    #[serde(serialize_with = "crate::view::time::one")]
    pub until: Timestamp,
    /// The runs of scripts by the kind of script: `launch`, `health-check`, `discover` and so on.
    pub scripts: BTreeMap<&'static str, Runs>,
    /// Number of answers of health checks. A health check gives one answer for each instance.
    pub checked: u64,
    /// Number of health checks and discoveries that did not start in time, because the previous run of the same duty
    /// had not ended.
    pub missed: u64,
    /// Number of applications that were launched.
    pub launched: u64,
    /// Number of instances that were adopted.
    pub adopted: u64,
    /// Number of applications that were destroyed.
    pub destroyed: u64,
    /// Number of changes that instances have reported. Each change of a status, of a signal or of a reference to
    /// another instance counts as one.
    pub changes: u64,
    /// Number of applications at the end, by status: `active`, `converging`, `degraded`, `failed`, `-` for no
    /// status, `launch failed` and `removal failed`.
    pub applications: BTreeMap<&'static str, u64>,
}

impl SimulationView {
    pub(super) fn new(from: Timestamp, until: Timestamp) -> Self {
        Self {
            version: 1,
            from,
            until,
            scripts: BTreeMap::new(),
            checked: 0,
            missed: 0,
            launched: 0,
            adopted: 0,
            destroyed: 0,
            changes: 0,
            applications: BTreeMap::new(),
        }
    }

    /// Tells whether a run of a script has failed.
    pub fn has_failed(&self) -> bool {
        self.scripts.values().any(|runs| runs.failed > 0)
    }
}

/// A collector of events, which also counts them.
#[derive(Debug)]
pub(super) struct Timeline {
    from: Timestamp,
    now: Timestamp,
    events: Vec<SimulationEvent>,
    pub(super) view: SimulationView,
}

impl Timeline {
    pub(super) fn new(from: Timestamp, until: Timestamp) -> Self {
        Self { from, now: from, events: Vec::new(), view: SimulationView::new(from, until) }
    }

    pub(super) fn tell(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Adds an event at the present virtual time.
    pub(super) fn add(
        &mut self,
        application: &AssemblyName,
        event: &'static str,
        severity: Severity,
        text: impl Into<String>,
    ) {
        self.events.push(SimulationEvent {
            version: 1,
            offset_ms: self.now.millis_since(self.from),
            at: self.now,
            application: application.clone(),
            event,
            severity,
            text: text.into(),
        });
    }

    /// Returns the events that were added since the last call, and removes them.
    pub(super) fn take(&mut self) -> Vec<SimulationEvent> {
        std::mem::take(&mut self.events)
    }
}
