//! Intents, and their execution: processes and steps.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Failure;
use crate::assembly::{MaxSurge, MaxUnavailable};
use crate::clock::Timestamp;
use crate::id::{CallId, ProcessId, RequestId, StepId};
use crate::name::{AssemblyName, CommandName, ElementName};
use crate::state::State;

/// A change that a person or a policy wants to make to an assembly, such as `Up` or `ScaleOut`.
///
/// The command line or a policy creates an intent, the engine executes it, and views show it. Queued requests, saved
/// plans and process records contain the intent.
///
/// An intent contains no large or secret inputs. The engine receives such inputs separately, for example the desired
/// topology. The enum is exhaustive, so an engine that does not handle a new intent does not compile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// Creates, updates or repairs the assembly.
    Up,
    /// Takes the assembly down, and removes it from the store.
    Down,
    /// Resumes the last intent: plans it again from the records. The new process is recorded as `Down`, `Adopt`,
    /// `Rollback` or `Up`.
    Retry,
    /// Moves all parts to this state. Parts in a lower state are moved up, and parts in a higher state are
    /// moved down.
    SetState(State),
    /// Adds nodes to a cluster. The descriptor declares their number as `scaling-increment`; the default is 1.
    ScaleOut(ElementName),
    /// Removes nodes from a cluster. The descriptor declares their number as `scaling-increment`; the default is 1.
    ScaleIn(ElementName),
    /// Sets the number of nodes of a cluster. The intent fails if the cluster would grow above its maximum or shrink
    /// below its minimum.
    ScaleTo {
        /// The name of the cluster.
        cluster: ElementName,
        /// The number of nodes.
        nodes: u32,
    },
    /// Restarts a resource, whatever its health is. In a group or an assembly, repairs the parts that are not
    /// up.
    Heal(ElementName),
    /// Creates the assembly from existing instances.
    Adopt,
    /// Restores an earlier version of the assembly. `Some(process)` restores the newest version that this process or an
    /// earlier process wrote. `None` restores the newest earlier version that differs from the current one.
    #[serde(with = "previous")]
    Rollback(Option<ProcessId>),
    /// Calls a command of a part.
    Call {
        /// The part whose command is called.
        part: ElementName,
        /// The name of the command.
        command: CommandName,
    },
}

/// The classification of intents. Each `match` lists all intents. If a new intent is added, the crate compiles only
/// after each method classifies this intent.
impl Intent {
    /// Tells whether the intent can change the desired topology of the assembly, or the desired state of its parts. The
    /// result is false for [`Heal`](Self::Heal), which repairs existing parts, and for [`Call`](Self::Call).
    pub fn concerns_assembly(&self) -> bool {
        match self {
            Self::Up | Self::Down | Self::Retry | Self::Adopt | Self::Rollback(_) => true,
            Self::SetState(_) | Self::ScaleOut(_) | Self::ScaleIn(_) | Self::ScaleTo { .. } => true,
            Self::Heal(_) | Self::Call { .. } => false,
        }
    }

    /// Tells whether the intent can replace or remove the whole desired topology. Such an intent may remove or
    /// re-create parts. The engine therefore checks first whether other assemblies refer to this assembly.
    pub fn replaces_assembly(&self) -> bool {
        match self {
            Self::Up | Self::Down | Self::Adopt | Self::Rollback(_) => true,
            Self::ScaleOut(_) | Self::ScaleIn(_) | Self::ScaleTo { .. } => false,
            Self::Retry | Self::SetState(_) | Self::Heal(_) | Self::Call { .. } => false,
        }
    }

    /// Tells whether the intent demands that all parts and relationships are up and have the current values of their
    /// inputs. Such an intent is complete only when this demand is met.
    pub fn updates_all(&self) -> bool {
        match self {
            Self::Up | Self::Rollback(_) => true,
            Self::Down | Self::Retry | Self::Adopt | Self::SetState(_) => false,
            Self::ScaleOut(_) | Self::ScaleIn(_) | Self::ScaleTo { .. } => false,
            Self::Heal(_) | Self::Call { .. } => false,
        }
    }

    /// Tells whether the assembly may be rolled back after a batch of nodes has failed during this intent. The group of
    /// the batch must also demand the rollback ([`OnFailure::Rollback`](crate::assembly::OnFailure::Rollback)).
    pub fn rolls_back(&self) -> bool {
        match self {
            Self::Up => true,
            Self::Down | Self::Retry | Self::Adopt | Self::Rollback(_) | Self::SetState(_) => false,
            Self::ScaleOut(_) | Self::ScaleIn(_) | Self::ScaleTo { .. } => false,
            Self::Heal(_) | Self::Call { .. } => false,
        }
    }

    /// Returns the part that an intent [`Heal`](Self::Heal) repairs; `None` for all other intents. `Heal` restarts a
    /// resource even if the resource is healthy. In a group or an assembly, `Heal` restarts only the parts that are
    /// not up.
    pub fn restarts(&self) -> Option<&ElementName> {
        match self {
            Self::Heal(part) => Some(part),
            Self::Up | Self::Down | Self::Retry | Self::Adopt | Self::Rollback(_) => None,
            Self::SetState(_) | Self::ScaleOut(_) | Self::ScaleIn(_) | Self::ScaleTo { .. } => None,
            Self::Call { .. } => None,
        }
    }

    /// Tells whether a second request with the same intent continues the first request.
    ///
    /// This matters if the first request did not complete. If the result is true, the second request keeps the
    /// goal of the first one. For example, a second `ScaleOut` then adds no further nodes. If the result is false,
    /// the second request computes its goal again.
    pub fn resumes_itself(&self) -> bool {
        match self {
            Self::ScaleOut(_) | Self::ScaleIn(_) | Self::Rollback(None) => true,
            Self::Up | Self::Down | Self::Retry | Self::Adopt | Self::SetState(_) => false,
            Self::ScaleTo { .. } | Self::Rollback(Some(_)) | Self::Heal(_) | Self::Call { .. } => false,
        }
    }

    /// Tells what a repeated command line does after the intent has failed. If the result is true, the repeated command
    /// line executes the whole intent again. If the result is false, it resumes the failed intent.
    pub fn repeats(&self) -> bool {
        match self {
            Self::Call { .. } => true,
            Self::Up | Self::Down | Self::Retry | Self::Adopt | Self::Rollback(_) => false,
            Self::ScaleOut(_) | Self::ScaleIn(_) | Self::ScaleTo { .. } => false,
            Self::SetState(_) | Self::Heal(_) => false,
        }
    }

    /// Tells whether the intent can change a launched application. An application's scripts launch, reconfigure and
    /// destroy its instance. No script stops or starts the instance, so the intents `SetState` and `Heal` do not suit
    /// applications.
    pub fn suits_applications(&self) -> bool {
        match self {
            Self::Up | Self::Down | Self::Retry | Self::Rollback(_) | Self::Call { .. } => true,
            Self::Adopt | Self::SetState(_) | Self::Heal(_) => false,
            Self::ScaleOut(_) | Self::ScaleIn(_) | Self::ScaleTo { .. } => false,
        }
    }

    /// Returns the id of the process that the intent names; `None` if the intent names no process.
    pub fn process_mut(&mut self) -> Option<&mut ProcessId> {
        match self {
            Self::Rollback(process) => process.as_mut(),
            Self::Up | Self::Down | Self::Retry | Self::Adopt | Self::SetState(_) => None,
            Self::ScaleOut(_) | Self::ScaleIn(_) | Self::ScaleTo { .. } => None,
            Self::Heal(_) | Self::Call { .. } => None,
        }
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Retry => "retry",
            Self::Adopt => "adopt",
            Self::SetState(state) => return write!(f, "set-state {state}"),
            Self::ScaleOut(cluster) => return write!(f, "scale out {}", cluster.local()),
            Self::ScaleIn(cluster) => return write!(f, "scale in {}", cluster.local()),
            Self::ScaleTo { cluster, nodes } => return write!(f, "scale {}={nodes}", cluster.local()),
            Self::Heal(element) if element.as_str() == element.assembly().as_str() => "heal --all",
            Self::Heal(element) => return write!(f, "heal {}", element.local()),
            Self::Call { part, command } => return write!(f, "call {} {command}", part.local()),
            // The text names no process, because the version to restore is chosen only when the plan is
            // created.
            Self::Rollback(None) => "rollback",
            Self::Rollback(Some(process)) => return write!(f, "rollback to {process}"),
        })
    }
}

/// Serializes an optional process as its number, with 0 for none.
mod previous {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use crate::id::ProcessId;

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(
        process: &Option<ProcessId>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        process.unwrap_or(ProcessId(0)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ProcessId>, D::Error> {
        let process = ProcessId::deserialize(deserializer)?;
        Ok((process != ProcessId(0)).then_some(process))
    }
}

/// The execution of an intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// The id of the process.
    pub id: ProcessId,
    /// The name of the process's assembly.
    pub assembly: AssemblyName,
    /// The intent that the process executes.
    pub intent: Intent,
    /// The action of the process on an application: a launch, a reconfiguration or a destruction. None if the intent
    /// is neither `Up` nor `Down`, or if the assembly is not an application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationIntent>,
    /// The status of the process.
    pub status: ProcessStatus,
    /// The plan of the process, as JSON text.
    pub plan: PlanText,
    /// The unfinished process before this process. This process takes over the open calls of the unfinished process.
    pub continues: Option<ProcessId>,
    /// The host and the project folder of the windlass program that executes the process, as text. Another windlass
    /// program can find the jobs of the process only on the same host and in the same folder. None in records of an
    /// older windlass.
    #[serde(default)]
    pub from: Option<String>,
    /// The queued request that started the process; none if the process was started without the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// Whether the daemon executes the process. The daemon resumes only such processes after an interruption.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// The parts to which the process is limited. An empty set means all parts.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub target: BTreeSet<ElementName>,
    /// The parts that the process does not change.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub except: BTreeSet<ElementName>,
    /// The number of nodes that may be down at once in each group. `None` if each group follows its own rule in the
    /// descriptor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<MaxUnavailable>,
    /// The number of additional nodes that each group has while its nodes change. `None` if each group follows its own
    /// rule in the descriptor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<MaxSurge>,
    /// The installed parts that the process may remove or replace. If the daemon resumes the process after an
    /// interruption, the same limit holds. `None` means that the user permits every removal and replacement. Records of
    /// an older windlass contain `None`, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_destroy: Option<BTreeSet<ElementName>>,
    /// The time at which the process was created.
    pub created: Timestamp,
    /// The time at which the process ended; none before the end.
    pub ended: Option<Timestamp>,
    /// The reason why the process did not complete; none if it completed or still runs.
    pub reason: Option<String>,
    /// The rollback that a failed process demands. It begins without a further request. If windlass ends before the
    /// rollback has begun, the next retry executes the rollback. If a daemon executed the process, the next daemon can
    /// also do this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<Intent>,
}

impl ProcessRecord {
    /// Returns the intent for display. For an application, `up` is displayed as `launch` or `reconfigure`, and `down`
    /// as `destroy`.
    pub fn title(&self) -> String {
        ApplicationIntent::title(self.application, &self.intent)
    }

    /// Returns the unfinished process that this process resumes. A process resumes nothing if its intent begins again
    /// each time; see [`Intent::repeats`].
    pub fn resumes(&self) -> Option<ProcessId> {
        self.continues.filter(|_| !self.intent.repeats())
    }
}

/// The action of an [`Intent::Up`] or an [`Intent::Down`] on an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationIntent {
    /// The application is launched, or its launch is resumed.
    Launch,
    /// The application was launched before, and is reconfigured.
    Reconfigure,
    /// The application is destroyed.
    Destroy,
}

impl ApplicationIntent {
    /// Returns a text that displays the intent of a process or of a request. The text is the name of the action on the
    /// application. If there is no such action, the text describes `intent`.
    pub fn title(action: Option<Self>, intent: &Intent) -> String {
        match action {
            Some(Self::Launch) => "launch".to_owned(),
            Some(Self::Reconfigure) => "reconfigure".to_owned(),
            Some(Self::Destroy) => "destroy".to_owned(),
            None => intent.to_string(),
        }
    }
}

/// A plan as JSON text. This crate does not interpret the text. Copies share the text.
#[derive(Debug, Clone)]
pub struct PlanText(Arc<RawValue>);

impl PlanText {
    /// Serializes a plan.
    ///
    /// # Errors
    ///
    /// When the plan can't be represented as JSON.
    pub fn new(plan: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self(serde_json::value::to_raw_value(plan)?.into()))
    }

    /// Returns the text of the plan.
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

/// The status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessStatus {
    /// No end of the process is recorded. Either the process is running, or the program that executed the
    /// process was killed.
    InProgress,
    /// The process reached its goal.
    Completed,
    /// The process was stopped on request.
    Cancelled,
    /// The process ended and did not reach its goal.
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
            Self::InProgress => "in progress",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        })
    }
}

/// The record of a step of a process. A barrier (a step without work) has no record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The id of the process that the step belongs to.
    pub process: ProcessId,
    /// The id of the step.
    pub step: StepId,
    /// The title for display: `h_bta__B__1 Configure`.
    pub title: String,
    /// The state of the step.
    pub state: StepState,
    /// The time at which the step started; none before the start.
    pub started: Option<Timestamp>,
    /// The time at which a later process resumed the step; none if it was not resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Timestamp>,
    /// The time at which the step ended; none before the end.
    pub ended: Option<Timestamp>,
}

impl StepRecord {
    /// Returns the time from which the duration of the step is counted. A resumed step is counted from its
    /// resumption.
    pub fn runs_since(&self) -> Option<Timestamp> {
        self.resumed.or(self.started)
    }
}

/// The state of a step. If a step is `Done`, its state never changes again. A later process may repeat the work of the
/// step, but in a step of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StepState {
    /// The work of the step is in progress.
    Running,
    /// The calls of the step have ended, and the instance is still changing.
    Converging {
        /// The time at which the step fails if the instance is still changing.
        deadline: Timestamp,
    },
    /// A job of the step was lost, and the engine is determining the outcome.
    Unknown,
    /// The step has ended.
    Done(StepEnd),
}

/// The end of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StepEnd {
    /// The step succeeded.
    Succeeded,
    /// The step failed.
    Failed(Failure),
    /// The step did not start.
    Skipped {
        /// The reason, as a sentence fragment.
        because: String,
    },
    /// The step was stopped on request.
    Cancelled,
    /// Only a person can tell whether the action was done.
    NeedsDecision {
        /// The id of the call that may or may not have been executed.
        call: CallId,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_plan_is_read_back_as_it_was_written() {
        let plan = PlanText::new(&serde_json::json!({"version": 1, "steps": [1, "a"]})).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(text, plan.as_str());
        assert_eq!(serde_json::from_str::<PlanText>(&text).unwrap(), plan);
        // A plan can be read from a parsed JSON value, not only from text.
        let data: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(data["steps"][1], "a");
        assert!(serde_json::from_value::<PlanText>(data).is_ok());
    }
}
