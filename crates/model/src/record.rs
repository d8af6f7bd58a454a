//! What the store keeps, and what the engine reads back after a crash.
//!
//! One word for each level: a user's [`Intent`] is executed by a *process*; each edge of its plan is a *step*; a
//! step makes driver *calls*; a call runs *jobs*. A step may have many calls and jobs, and a job may serve many calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_secret::SecretRef;

use crate::assembly::{Action, PackageDigest, Side, Topology};
use crate::clock::Timestamp;
use crate::id::{CallId, InstanceId, ProcessId, RequestId, Seq, StepId, TransferId};
use crate::name::{AssemblyName, DescriptorName, DriverKind, ElementName, PropertyName, RelationshipName};
use crate::state::State;

/// An assembly in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssemblyRecord {
    /// Its name.
    pub name: AssemblyName,
    /// The descriptor it was made from.
    pub descriptor: DescriptorName,
    /// What it should be.
    pub topology: Topology,
    /// The state it should be in; `Absent` once it is being taken down.
    pub goal: State,
    /// The parameters it was asked with; sensitive ones are markers of secrets.
    pub parameters: BTreeMap<PropertyName, Value>,
    /// The packages pinned for it, by descriptor.
    pub packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The process that asked for it to be so; none where that was not recorded.
    #[serde(default)]
    pub version: Option<ProcessId>,
    /// The newest version that a process has seen through: whatever is there is of it or of a later one, also what had
    /// nothing to do for it. None where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<ProcessId>,
    /// The clusters that have another size than the descriptor gives them.
    #[serde(default)]
    pub scaled: BTreeMap<ElementName, Scaled>,
    /// The other assemblies that it references, and those that an unfinished change parts from.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub references: BTreeSet<AssemblyName>,
    /// When it was first asked for.
    pub created: Timestamp,
    /// When it was last asked for.
    pub updated: Timestamp,
}

/// A cluster that was scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scaled {
    /// How many nodes the descriptor gave it then.
    pub described: u32,
    /// How many it was scaled to. It keeps them as long as the descriptor gives it the same number.
    pub nodes: u32,
}

/// An assembly as one process was asked to make it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The process that was asked.
    pub process: ProcessId,
    /// The assembly as it was to be.
    pub assembly: AssemblyRecord,
}

/// An element's record: how far it has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElementRecord {
    /// Its full name.
    pub name: ElementName,
    /// The engine's id of its instance.
    pub id: InstanceId,
    /// How far it has come. Only resources have a state of their own; others take their parts'.
    pub state: State,
    /// Since when.
    pub since: Timestamp,
    /// The calls of its next transition that have ended well already: Start before Integrity.
    pub progress: u32,
    /// The drivers' own notes, by family; sensitive parts are markers of secrets.
    pub private: BTreeMap<String, Value>,
    /// Why its last step failed, until one succeeds.
    pub failure: Option<Failure>,
    /// What it was made from; none for what is not there.
    #[serde(default)]
    pub made: Option<Made>,
    /// The properties whose values have become others since they were given to it, because of what another part publishes,
    /// with the value that it has; none of a secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stale: BTreeMap<PropertyName, Option<Value>>,
}

/// What an element was made from, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Its package.
    pub package: PackageDigest,
    /// The process that began to make it.
    pub installed_by: ProcessId,
    /// The process that gave it its values last.
    pub configured_by: ProcessId,
}

/// The instance document of an element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    /// The element it belongs to.
    pub element: ElementName,
    /// The driver's id of it, once the driver has chosen one.
    pub natural: Option<String>,
    /// The document; see [`crate::instance`]. Sensitive values are markers of secrets.
    pub document: Value,
    /// How often it has changed.
    pub revision: u64,
}

/// Which two elements a relationship joins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PairKey {
    /// The assembly element that declares the relationship.
    pub assembly: ElementName,
    /// The relationship.
    pub relationship: RelationshipName,
    /// The source node.
    pub source: ElementName,
    /// The target node.
    pub target: ElementName,
}

/// One relationship between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairRecord {
    /// Which.
    pub key: PairKey,
    /// Whether it has been made.
    pub created: bool,
    /// How many operations of the next create or cease have ended well already.
    pub progress: u32,
    /// Since when.
    pub since: Timestamp,
}

/// What a user asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Intent {
    /// Bring the assembly up, change it, or repair it.
    Up,
    /// Take it down and forget it.
    Down,
    /// Take all parts to a state, from above or below.
    SetState(State),
    /// Add nodes to a cluster, by its increment.
    ScaleOut(ElementName),
    /// Remove nodes from a cluster, by its increment.
    ScaleIn(ElementName),
    /// Stop and start something that does not do its work.
    Heal(ElementName),
    /// Bring the assembly up of parts that exist already.
    Adopt,
    /// Make the assembly again what the named process had made it.
    Rollback(ProcessId),
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Adopt => "adopt",
            Self::SetState(state) => return write!(f, "set-state {state}"),
            Self::ScaleOut(cluster) => return write!(f, "scale out {}", cluster.local()),
            Self::ScaleIn(cluster) => return write!(f, "scale in {}", cluster.local()),
            Self::Heal(element) => return write!(f, "heal {}", element.local()),
            // Not planned yet: back to what it was before.
            Self::Rollback(ProcessId(0)) => "rollback",
            Self::Rollback(process) => return write!(f, "rollback to {process}"),
        })
    }
}

/// The execution of an intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its id.
    pub id: ProcessId,
    /// The assembly.
    pub assembly: AssemblyName,
    /// What was asked.
    pub intent: Intent,
    /// How far it is.
    pub status: ProcessStatus,
    /// The plan, as data of the crate that made it.
    pub plan: PlanText,
    /// The process that this one goes on from.
    pub continues: Option<ProcessId>,
    /// The machine and the folder that it runs from, where alone its jobs can be found.
    #[serde(default)]
    pub from: Option<String>,
    /// The request that it carries out; none where who asked runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// Whether the long-running mode runs it, which then also goes on with it when it was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// When it was asked for.
    pub created: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Why it did not complete.
    pub reason: Option<String>,
}

/// A plan as its JSON text: nobody but the crate that made it looks inside, and a large one is not copied with every
/// copy of its process.
#[derive(Debug, Clone)]
pub struct PlanText(Arc<RawValue>);

impl PlanText {
    /// Writes a plan down.
    ///
    /// # Errors
    ///
    /// When it can't be told as JSON.
    pub fn new(plan: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self(serde_json::value::to_raw_value(plan)?.into()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for PlanText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Serialize for PlanText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PlanText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<RawValue>::deserialize(deserializer)?.into()))
    }
}

/// How far a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessStatus {
    /// Its plan is made.
    Planned,
    /// It waits for the lease.
    Pending,
    /// It runs, or ran when its owner died.
    InProgress,
    /// It has reached what was asked.
    Completed,
    /// It was stopped on request.
    Cancelled,
    /// It ended short of what was asked.
    Failed,
}

impl ProcessStatus {
    /// Tells whether the process has ended.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Failed)
    }
}

impl fmt::Display for ProcessStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Planned => "planned",
            Self::Pending => "pending",
            Self::InProgress => "in progress",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        })
    }
}

/// A step of a process: one node of its plan that does something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The process.
    pub process: ProcessId,
    /// The step.
    pub step: StepId,
    /// What it does, for people: `h_bta__B__1 Configure`.
    pub title: String,
    /// How far it is.
    pub state: StepState,
    /// When it started.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

/// How far a step is. `Done` is final: a retry is a new process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StepState {
    /// It waits for others.
    Pending,
    /// A call of it runs.
    Running,
    /// Its calls have ended, and the part is still on its way until this deadline.
    Converging {
        /// When it fails.
        deadline: Timestamp,
    },
    /// A job of it was lost, and what it did is being found out.
    Unknown,
    /// It has ended.
    Done(StepEnd),
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StepEnd {
    /// It did what it should.
    Succeeded,
    /// It failed.
    Failed(Failure),
    /// It was never started.
    Skipped {
        /// Why, as a sentence fragment.
        because: String,
    },
    /// It was stopped on request.
    Cancelled,
    /// Nobody but a person can tell whether it happened.
    NeedsDecision {
        /// The call in question.
        call: CallId,
    },
}

/// Whether doing something twice does harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing is done.
    None,
    /// Doing it again does no harm.
    Repeatable,
    /// It must be done once.
    #[default]
    Once,
}

/// One call of a driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Its id; a repeated attempt keeps it.
    pub id: CallId,
    /// The process.
    pub process: ProcessId,
    /// The step.
    pub step: StepId,
    /// The element that the driver acts on.
    pub element: ElementName,
    /// The relationship that it is made for.
    pub pair: Option<PairKey>,
    /// What is done.
    pub action: Action,
    /// The version of the assembly whose values and package it is done with.
    #[serde(default)]
    pub side: Side,
    /// Who does it.
    pub driver: DriverKind,
    /// Whether doing it twice does harm.
    pub effect: Effect,
    /// How often it was started, from 1.
    pub attempt: u32,
    /// What its success means.
    pub then: Advance,
    /// How far it is.
    pub state: CallState,
    /// When it started.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

/// What a call's success means for what it acts on. It is written down before the call is made, so that whoever finds
/// out later how the call ended knows it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advance {
    /// The element takes this state.
    State(State),
    /// The element's transition has more calls, and this many of them are done.
    Progress(u32),
    /// The relationship has more operations, and this many of them are done.
    PairProgress(u32),
    /// The relationship is made (true) or ended (false).
    Pair(bool),
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallState {
    /// It was started, and its end is not recorded.
    Open,
    /// The driver has done its part, and the instance is on its way until this deadline.
    Converging {
        /// When it fails.
        deadline: Timestamp,
    },
    /// It did what it should.
    Succeeded,
    /// It failed.
    Failed(Failure),
    /// Its job was lost and nobody but a person can tell whether it happened.
    Undecided,
    /// A person said that it happened.
    AssumedDone,
    /// A person said that it did not happen.
    AssumedNotDone,
}

/// What a person says became of a call that nobody else can tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// It was done.
    Done,
    /// It was not done, and nothing of it is there.
    NotDone,
    /// It was begun and has failed: something of it may be there.
    Failed,
}

impl CallState {
    /// Tells whether the call still has to be settled.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open | Self::Converging { .. } | Self::Undecided)
    }
}

/// One execution on a runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Its id on the runtime.
    pub id: String,
    /// The calls that it serves.
    pub calls: Vec<CallId>,
    /// Its name within its call.
    pub name: String,
    /// What it runs, for people; without values.
    pub command: String,
    /// The runtime.
    pub runtime: String,
    /// The location.
    pub location: String,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// How it ended.
    pub end: Option<JobEnd>,
}

/// How a job ended, with secrets masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnd {
    /// When.
    pub at: Timestamp,
    /// How, for people: `exit 0`, `signal 9`, `timeout`.
    pub how: String,
    /// The exit code, if it exited.
    pub exit: Option<i32>,
    /// The last of what it wrote to stderr.
    pub stderr: String,
    /// The last of what it wrote to stdout; kept for failed jobs only.
    pub stdout: Option<String>,
    /// The whole outcome, sealed, until its calls have ended.
    pub outcome: Option<SecretRef>,
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// A lower-case sentence fragment that says what failed.
    pub message: String,
    /// More of it: the end of a script's stderr, masked.
    pub detail: Option<String>,
}

impl Failure {
    /// Makes a failure without details.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), detail: None }
    }

    /// Adds details, unless they are blank.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        self.detail = (!detail.trim().is_empty()).then_some(detail);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The request can't be served as it is.
    Refused,
    /// What should be made is there already.
    AlreadyExists,
    /// What should be acted on is not there.
    NotFound,
    /// There is no room for it.
    Capacity,
    /// What it runs on failed.
    Infrastructure,
    /// It took too long.
    Timeout,
    /// Its end can't be known.
    Lost,
    /// The answer breaks the protocol.
    Protocol,
    /// It said that it failed.
    Failed,
}

/// Something that happened. Events are numbered in the order in which they became durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Its number.
    pub seq: Seq,
    /// The event.
    #[serde(rename = "event")]
    pub draft: EventDraft,
}

/// An event that has no number yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventDraft {
    /// When.
    pub at: Timestamp,
    /// The assembly it concerns.
    pub assembly: AssemblyName,
    /// The process it happened in.
    pub process: Option<ProcessId>,
    /// What happened.
    pub body: Event,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// Somebody left an intent for another process to carry out.
    Asked {
        /// The request.
        request: RequestId,
        /// What is asked.
        intent: Intent,
        /// Who asks.
        by: String,
    },
    /// A request will not be carried out.
    Dismissed {
        /// The request.
        request: RequestId,
        /// What was asked.
        intent: Intent,
        /// Why not; none when who asked has taken it back.
        why: Option<String>,
    },
    /// The assembly was written to a file, and this store has forgotten it.
    Exported {
        /// Which export it was.
        transfer: TransferId,
        /// The file, as it was named.
        file: String,
    },
    /// The assembly was taken over from a file that another store has written.
    Imported {
        /// Which export it was; none of one whose writer gave it no id.
        transfer: Option<TransferId>,
        /// The file, as it was named.
        file: String,
    },
    /// A process began.
    ProcessStarted {
        /// What was asked.
        intent: Intent,
        /// How many steps its plan has.
        steps: u32,
    },
    /// A process ended.
    ProcessEnded {
        /// How.
        status: ProcessStatus,
        /// Why it did not complete.
        reason: Option<String>,
    },
    /// A step began.
    StepStarted {
        /// The step.
        step: StepId,
        /// What it does.
        title: String,
    },
    /// A step ended.
    StepEnded {
        /// The step.
        step: StepId,
        /// What it does.
        title: String,
        /// How it ended.
        end: StepEnd,
        /// How long it took, in milliseconds.
        millis: u64,
    },
    /// An element took a state.
    StateChanged {
        /// The element.
        element: ElementName,
        /// The state it had.
        from: State,
        /// The state it has.
        to: State,
    },
    /// Something was written to an element's activity log.
    Logged {
        /// The element.
        element: ElementName,
        /// How serious it is.
        severity: Severity,
        /// What was written.
        message: String,
    },
}

/// How serious a log entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Every detail.
    Trace,
    /// For finding faults.
    Debug,
    /// Worth knowing.
    #[default]
    Info,
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
}

impl Severity {
    /// Reads a word in any case; what is no severity is [`Severity::Info`].
    pub fn from_word(word: &str) -> Self {
        match word.to_ascii_uppercase().as_str() {
            "TRACE" => Self::Trace,
            "DEBUG" => Self::Debug,
            "WARNING" => Self::Warning,
            "ERROR" => Self::Error,
            _ => Self::Info,
        }
    }

    /// Returns the word for the severity.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A package as the store keeps it: everything that is needed to run it without its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    /// The digest of its content.
    pub digest: PackageDigest,
    /// The descriptor's name.
    pub name: DescriptorName,
    /// What the driver contract says of it, as data of the crate that made it.
    pub manifest: Value,
    /// Its files, sorted by path.
    pub files: Vec<PackageFile>,
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageFile {
    /// The path within the package, with `/` between its parts.
    pub path: String,
    /// Whether it may be executed.
    pub executable: bool,
    /// Its bytes.
    pub content: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_back_as_it_was_written() {
        let plan = PlanText::new(&serde_json::json!({"version": 1, "steps": [1, "a"]})).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(text, plan.as_str());
        assert_eq!(serde_json::from_str::<PlanText>(&text).unwrap(), plan);
        // Records that were read as data have the same plan.
        let data: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(data["steps"][1], "a");
        assert!(serde_json::from_value::<PlanText>(data).is_ok());
    }
}
