//! What a user asks for, and its execution: a process and its steps.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Failure;
use crate::clock::Timestamp;
use crate::id::{CallId, ProcessId, RequestId, StepId};
use crate::name::{AssemblyName, ElementName};
use crate::state::State;

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
    /// The parts that it is limited to; empty means all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub target: BTreeSet<ElementName>,
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
        // Records that were read as data have the same plan.
        let data: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(data["steps"][1], "a");
        assert!(serde_json::from_value::<PlanText>(data).is_ok());
    }
}
