//! Plans as JSON.
//!
//! ```json
//! { "version": 1, "steps": [
//!     { "id": 1, "work": …, "waits": [] },
//!     { "id": 2, "work": { "barrier": { "label": "all are built" } },
//!       "waits": [ { "on": 1, "kind": "after", "reason": … } ] } ] }
//! ```
//!
//! Deserialization checks three rules: the numbers of the steps have no gaps, each wait names a step of the
//! plan, and the waits form no cycle.

use petgraph::graph::{DiGraph, NodeIndex};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use crate::order::length;
use crate::plan::{Entry, Link, Plan, Step, StepNumber, Task, Wait, WaitKind};

/// The version of the JSON format.
const VERSION: u32 = 1;

impl<W: Serialize, R: Serialize> Serialize for Plan<W, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut plan = serializer.serialize_struct("Plan", 2)?;
        plan.serialize_field("version", &VERSION)?;
        plan.serialize_field("steps", &List(self.steps()))?;
        plan.end()
    }
}

impl<W: Serialize, R: Serialize> Serialize for Step<'_, W, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut step = serializer.serialize_struct("Step", 3)?;
        step.serialize_field("id", &self.number)?;
        step.serialize_field("work", self.task)?;
        step.serialize_field("waits", &List(self.waits()))?;
        step.end()
    }
}

impl<R: Serialize> Serialize for Wait<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wait = serializer.serialize_struct("Wait", 3)?;
        wait.serialize_field("on", &self.on)?;
        wait.serialize_field("kind", &self.kind)?;
        wait.serialize_field("reason", self.reason)?;
        wait.end()
    }
}

impl<W: Serialize> Serialize for Task<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Barrier(label) => Barrier { barrier: Label { label: label.clone() } }.serialize(serializer),
            Self::Work(work) => work.serialize(serializer),
        }
    }
}

impl<'de, W: DeserializeOwned> Deserialize<'de> for Task<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.get("barrier").is_some() {
            let Barrier { barrier } = Barrier::deserialize(value).map_err(D::Error::custom)?;
            return Ok(Self::Barrier(barrier.label));
        }
        W::deserialize(value).map(Self::Work).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
struct Barrier {
    barrier: Label,
}

#[derive(Serialize, Deserialize)]
struct Label {
    label: String,
}

/// Serializes the items of an iterator as a list.
struct List<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for List<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// A plan as the JSON contains it, before it is checked.
#[derive(Deserialize)]
#[serde(bound = "W: DeserializeOwned, R: DeserializeOwned")]
struct SavedPlan<W, R> {
    version: u32,
    steps: Vec<SavedStep<W, R>>,
}

#[derive(Deserialize)]
#[serde(bound = "W: DeserializeOwned, R: DeserializeOwned")]
struct SavedStep<W, R> {
    id: StepNumber,
    work: Task<W>,
    waits: Vec<SavedWait<R>>,
}

#[derive(Deserialize)]
#[serde(bound = "R: DeserializeOwned")]
struct SavedWait<R> {
    on: StepNumber,
    kind: WaitKind,
    reason: R,
}

/// The reason why a JSON document is not a valid plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum SavedError {
    /// The document has another version of the format.
    #[error("a plan of version {0} can't be read; this program reads version {VERSION}")]
    Version(u32),
    /// A number does not match the position of its step.
    #[error("the step at place {place} of a plan has the number {number}")]
    Number { place: usize, number: StepNumber },
    /// A wait names a step that is not in the document.
    #[error("step {step} of a plan waits for {on}, which is not there")]
    Wait { step: StepNumber, on: StepNumber },
    /// The waits form a cycle. `step` is one of the steps in the cycle.
    #[error("the steps of a plan wait for each other in a circle with {step}")]
    Cycle { step: StepNumber },
}

impl<'de, W: DeserializeOwned, R: DeserializeOwned> Deserialize<'de> for Plan<W, R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SavedPlan::deserialize(deserializer)?.check().map_err(D::Error::custom)
    }
}

impl<W, R> SavedPlan<W, R> {
    fn check(self) -> Result<Plan<W, R>, SavedError> {
        if self.version != VERSION {
            return Err(SavedError::Version(self.version));
        }
        let count = self.steps.len();
        let (mut steps, mut links, mut reasons) = (Vec::with_capacity(count), Vec::new(), Vec::new());
        let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(count, count);
        for _ in 0..count {
            graph.add_node(());
        }
        for (index, SavedStep { id, work, waits }) in self.steps.into_iter().enumerate() {
            if id.index() != Some(index) {
                return Err(SavedError::Number { place: index + 1, number: id });
            }
            let start = length(&links);
            for SavedWait { on, kind, reason } in waits {
                let Some(place) = on.index().filter(|place| *place < count) else {
                    return Err(SavedError::Wait { step: id, on });
                };
                graph.add_edge(NodeIndex::new(place), NodeIndex::new(index), ());
                links.push(Link { on, kind, reason: length(&links) });
                reasons.push(reason);
            }
            steps.push(Entry { task: work, waits: start..length(&links) });
        }
        let order = petgraph::algo::toposort(&graph, None)
            .map_err(|cycle| SavedError::Cycle { step: StepNumber::at(cycle.node_id().index()) })?;
        let order = order.into_iter().map(|step| StepNumber::at(step.index())).collect();
        Ok(Plan { steps, links, reasons, order })
    }
}
