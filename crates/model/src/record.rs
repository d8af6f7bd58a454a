//! The records of the store, which the engine reads after a crash.
//!
//! A *process* executes a user's [`Intent`]. Its plan is a graph, in which each node with work is a *step*. A
//! step makes driver *calls*, and a call runs *jobs*. A step may have many calls and jobs, and a job may
//! serve many calls.

mod call;
mod command;
mod event;
mod pair;
mod process;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_secret::SecretRef;

pub use self::call::{
    Advance, Assumption, CallRecord, CallState, Effect, Failure, FailureKind, JobEnd, JobRecord,
};
pub use self::command::{CommandRecord, CommandState};
pub use self::event::{Event, EventDraft, EventRecord, Severity};
pub use self::pair::{Begun, Given, PairKey, PairRecord};
pub use self::process::{
    ApplicationIntent, Intent, PlanText, ProcessRecord, ProcessStatus, StepEnd, StepRecord, StepState,
};
use crate::assembly::{PackageDigest, Topology};
use crate::clock::Timestamp;
use crate::id::{CommandId, InstanceId, ProcessId};
use crate::name::{AssemblyName, DescriptorName, ElementName, PropertyName};
use crate::state::{State, Transition};

/// An assembly in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssemblyRecord {
    /// The name of the assembly.
    pub name: AssemblyName,
    /// The descriptor of the assembly.
    pub descriptor: DescriptorName,
    /// The desired elements and relationships.
    pub topology: Topology,
    /// The desired state; `Absent` once `down` has begun.
    pub goal: State,
    /// The given parameters. A sensitive value is replaced by the marker of a secret.
    pub parameters: BTreeMap<PropertyName, Value>,
    /// The pinned packages, by descriptor.
    pub packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The process that requested this version; none if it was not recorded.
    #[serde(default)]
    pub version: Option<ProcessId>,
    /// The newest version that a process completed; none if it was not recorded. Every part has this version
    /// or a later one. A part that did not change has it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<ProcessId>,
    /// The clusters whose size differs from the descriptor's.
    #[serde(default)]
    pub scaled: BTreeMap<ElementName, Scaled>,
    /// The numbers of additional nodes that groups have while their nodes change. The additional nodes have
    /// the highest numbers in `topology`, and are removed after the change.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub surge: BTreeMap<ElementName, u32>,
    /// The referenced assemblies. They include assemblies whose references are removed by a change that is
    /// not finished.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub references: BTreeSet<AssemblyName>,
    /// The assembly that owns this assembly, such as the factory of an application. The owner never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AssemblyName>,
    /// The published application that was launched as this assembly; `None` for an assembly that no
    /// application describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<LaunchedFrom>,
    /// The time of the first request.
    pub created: Timestamp,
    /// The time of the last request.
    pub updated: Timestamp,
}

/// The revision of a published application that an assembly was launched from, and the environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchedFrom {
    /// The title of the application.
    pub title: String,
    /// The number of the application's revision, from 1.
    pub revision: u32,
    /// The name of the environment.
    pub environment: String,
}

/// A cluster that was scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scaled {
    /// The number of nodes in the descriptor at the time of scaling.
    pub described: u32,
    /// The number of nodes after scaling. It applies as long as the number in the descriptor is
    /// [`described`](Self::described).
    pub nodes: u32,
}

/// A version of an assembly: the desired assembly of one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The id of the process that the version was desired for.
    pub process: ProcessId,
    /// The desired assembly of the process.
    pub assembly: AssemblyRecord,
}

/// The record of an element, with its progress in the lifecycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElementRecord {
    /// The full name of the element.
    pub name: ElementName,
    /// The engine's id of its instance.
    pub id: InstanceId,
    /// The lifecycle state. Only resources have their own; the state of other elements follows from their
    /// parts.
    pub state: State,
    /// The time of the last change of the state.
    pub since: Timestamp,
    /// The number of completed calls of the next transition. For example, it is 1 after Start and before
    /// Integrity.
    pub progress: u32,
    /// The private state of its drivers, by driver family. A sensitive value is replaced by the marker of a
    /// secret.
    pub private: BTreeMap<String, Value>,
    /// The failure of its last step, until a step succeeds.
    pub failure: Option<Failure>,
    /// The transition that may have had effects but is not complete: it failed, was interrupted, or has calls
    /// left. The next attempt or `down` undoes these effects first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted: Option<Transition>,
    /// Whether a Reconfigure failed or was interrupted after it may have had effects. Then the values with
    /// which the instance works are unknown, until the element is reconfigured successfully or installed
    /// again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub values_in_doubt: bool,
    /// The package and the processes that created the instance; none if no part of the instance exists.
    #[serde(default)]
    pub made: Option<Made>,
    /// The outdated inputs: properties whose values changed because another part published new outputs. Each
    /// property is stored with its applied value, or without it if the value is secret or unknown.
    #[serde(rename = "stale", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outdated: BTreeMap<PropertyName, Option<Value>>,
    /// The number of heals by policies since the element last recovered, or since a person changed its
    /// assembly.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub heals: u32,
    /// The commands of the element that have not ended. Their records are documents of the assembly.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub commands: BTreeSet<CommandId>,
}

impl ElementRecord {
    /// Creates the record of an element that is Absent.
    pub fn new(name: ElementName, id: InstanceId, since: Timestamp) -> Self {
        Self {
            name,
            id,
            state: State::Absent,
            since,
            progress: 0,
            private: BTreeMap::new(),
            failure: None,
            attempted: None,
            values_in_doubt: false,
            made: None,
            outdated: BTreeMap::new(),
            heals: 0,
            commands: BTreeSet::new(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The package of an element, and the processes that created it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The digest of the element's package.
    pub package: PackageDigest,
    /// The process that began to create the element.
    pub installed_by: ProcessId,
    /// The process that last gave values to the element.
    pub configured_by: ProcessId,
}

/// The instance document of an element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    /// The element it belongs to.
    pub element: ElementName,
    /// The natural id, once the driver has chosen one.
    pub natural: Option<String>,
    /// The sealed natural id, if the id contains a secret. Then [`natural`](Self::natural) is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_natural: Option<SecretRef>,
    /// The document; see [`crate::instance`]. A sensitive value is replaced by the marker of a secret.
    pub document: Value,
    /// The number of changes of the document.
    pub revision: u64,
}

impl InstanceRecord {
    /// Tells whether the driver of the instance has chosen a natural id.
    pub fn has_natural(&self) -> bool {
        self.natural.is_some() || self.sealed_natural.is_some()
    }
}

/// A stored package, which can run without its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    /// The digest of its content.
    pub digest: PackageDigest,
    /// The name of the package's descriptor.
    pub name: DescriptorName,
    /// The package's manifest. Only the crate that wrote it reads its content.
    pub manifest: Value,
    /// The files of the package, sorted by path.
    pub files: Vec<PackageFile>,
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageFile {
    /// The path within the package, with `/` between its parts.
    pub path: String,
    /// Whether the file may be executed.
    pub executable: bool,
    /// The bytes of the file.
    pub content: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_element_of_an_older_windlass_is_read_and_has_attempted_nothing() {
        let old = json!({
            "name": "t__a", "id": "abcdefghijkmnpqrstuvwxyz", "state": "Failed", "since": 0, "progress": 0,
            "private": {}, "failure": null, "made": null,
        });
        let element: ElementRecord = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(element.attempted, None);
        assert_eq!(serde_json::to_value(&element).unwrap(), old);
    }
}
