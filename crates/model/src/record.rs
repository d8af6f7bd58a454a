//! The records of the store. After a crash, the engine continues from these records.
//!
//! A *process* executes an [`Intent`]. The plan of the process is a graph of *steps*. To execute a step, the engine
//! makes *calls*: each call requests one action from a driver. To execute a call, the driver runs *jobs*, such as
//! scripts. A step may have many calls, and a call may have many jobs. The records also allow one job that serves
//! several calls.

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
    UnknownOutcome,
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
    /// The parameters that the user gave. A sensitive value is replaced by the marker of a secret.
    pub parameters: BTreeMap<PropertyName, Value>,
    /// The pinned packages, by descriptor.
    pub packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The desired version, as the id of the process that first tried to establish this version. None if this process
    /// was not recorded.
    #[serde(default)]
    pub version: Option<ProcessId>,
    /// The newest version that all parts of the assembly have reached, as the id of a process; see
    /// [`version`](Self::version). All parts reach the desired version when a process for the whole assembly
    /// completes. `None` if no version was ever reached by all parts, or if that version was not recorded.
    ///
    /// A part reaches a version even if the process did not need to change the part. If a later process has failed,
    /// some parts may already have the version of this later process. The field then still contains the version that
    /// all parts have reached before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<ProcessId>,
    /// The clusters that were scaled to a size other than the size in the descriptor.
    #[serde(default)]
    pub scaled: BTreeMap<ElementName, Scaled>,
    /// The groups with additional nodes, and how many additional nodes each group has. The additional nodes
    /// exist only while the nodes of the group change. They are the nodes with the highest node numbers of
    /// the group in `topology`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub surge: BTreeMap<ElementName, u32>,
    /// The assemblies to which the references of this assembly resolve, and the [`owner`](Self::owner). If a change
    /// removes a reference, the assembly to which the reference resolved stays in this set until the change is
    /// complete.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub references: BTreeSet<AssemblyName>,
    /// The assembly that owns this assembly, such as the factory of an application. The owner never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<AssemblyName>,
    /// The published application that was launched as this assembly; none for an assembly that was created
    /// from a descriptor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<LaunchedFrom>,
    /// The time at which the assembly was first recorded.
    pub created: Timestamp,
    /// The time of the last intent for the assembly.
    pub updated: Timestamp,
}

/// The published application that was launched as an assembly, and the environment of the assembly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchedFrom {
    /// The title of the application.
    pub title: String,
    /// The number of the application's revision, from 1.
    pub revision: u32,
    /// The name of the environment into which the application was launched.
    pub environment: String,
    /// Tells whether a discovery has adopted the instance. The configuration of an adopted instance is unknown. Only
    /// the values that were set after the adoption are known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
}

/// A cluster that was scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scaled {
    /// The number of nodes that the descriptor declared at the time of scaling.
    pub described: u32,
    /// The number of nodes after scaling. If the number in the descriptor is still equal to
    /// [`described`](Self::described), the next `up` keeps the number after scaling. Otherwise, the number in the
    /// descriptor applies.
    pub nodes: u32,
}

/// A version of an assembly: the topology and the parameters that one process tried to establish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The id of the process that first tried to establish the version. This id also identifies the version.
    pub process: ProcessId,
    /// The record of the assembly at the beginning of the process [`process`](Self::process). This record contains the
    /// topology and the parameters of the version.
    pub assembly: AssemblyRecord,
}

/// The record of an element, with its progress in the lifecycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElementRecord {
    /// The full name of the element.
    pub name: ElementName,
    /// The instance id of the element.
    pub id: InstanceId,
    /// The lifecycle state, if the element is a resource. For an assembly or a group, the field has no meaning: the
    /// state of such an element follows from the resources inside it.
    pub state: State,
    /// The time at which the state last changed.
    pub since: Timestamp,
    /// The number of completed calls on the way to the next state. For example, an Inactive resource becomes Active by
    /// the calls Start and Integrity (a health check). Between these two calls, the number is 1.
    pub progress: u32,
    /// The private data of the element's drivers. Each key is the name of a driver family, which the drivers'
    /// method `family` returns. The drivers of one family share the data under this key. A sensitive value is
    /// replaced by the marker of a secret.
    pub private: BTreeMap<String, Value>,
    /// The failure of the element's last step or health check. It is removed when a step of the element succeeds.
    ///
    /// The methods [`note_failure`](Self::note_failure) and [`note_failed_check`](Self::note_failed_check) change the
    /// failure.
    pub failure: Option<Failure>,
    /// Whether [`failure`](Self::failure) comes from a health check. `None` if there is no failure, or if an older
    /// version of windlass recorded it: such a version did not store this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_check: Option<bool>,
    /// The transition that is not complete, but may have had effects. The transition has failed, was interrupted,
    /// or needs more calls. Later plans take these effects into account: for example, `down` also stops a part
    /// whose Start failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted: Option<Transition>,
    /// Whether a Reconfigure has failed or was interrupted, and may have changed the instance. The values with
    /// which the instance works are then unknown. They are known again after the element is reconfigured or
    /// installed successfully.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub values_in_doubt: bool,
    /// The package of the instance, and the processes that created and configured the instance. `None` if the
    /// element is Absent and its creation has not begun.
    #[serde(default)]
    pub made: Option<Made>,
    /// The outdated inputs of the instance: the properties whose old values the instance still uses. A property
    /// becomes outdated if it reads an output of another part, and that part publishes a new value. The map
    /// contains the old value of each such property, or `None` if the old value is secret or unknown.
    #[serde(rename = "stale", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outdated: BTreeMap<PropertyName, Option<Value>>,
    /// How many times policies have healed the element. The count begins again when the element recovers, and
    /// when a person changes its assembly.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub heals: u32,
    /// The commands of the element that have not ended. The store keeps the record of each command as a
    /// document of the assembly.
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
            of_check: None,
            attempted: None,
            values_in_doubt: false,
            made: None,
            outdated: BTreeMap::new(),
            heals: 0,
            commands: BTreeSet::new(),
        }
    }

    /// Records that the element has reached a state. If the element was already in this state, the time
    /// [`since`](Self::since) does not change.
    pub fn enter(&mut self, state: State, now: Timestamp) {
        if self.state != state {
            self.since = now;
        }
        self.state = state;
        self.progress = 0;
    }

    /// Records the failure of a step of the element. `None` removes the recorded failure.
    pub fn note_failure(&mut self, failure: Option<Failure>) {
        self.of_check = failure.as_ref().map(|_| false);
        self.failure = failure;
    }

    /// Records the failure of a health check of the element.
    pub fn note_failed_check(&mut self, failure: Failure) {
        (self.failure, self.of_check) = (Some(failure), Some(true));
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The package of an element, and the processes that created and configured the element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The digest of the element's package.
    pub package: PackageDigest,
    /// The process that created the instance of the element, or adopted an existing instance. The engine records this
    /// process before the first call, so the instance may be incomplete.
    pub installed_by: ProcessId,
    /// The process that last gave values to the element.
    pub configured_by: ProcessId,
    /// The location at which the instance was created. If a later transition, such as Reconfigure, has succeeded at
    /// another location, the field contains this other location. `None` if no driver was called yet, or if an older
    /// version of windlass created the instance: such a version did not store this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationRecord>,
}

/// A location, as the record of an instance names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LocationRecord {
    /// The name of the location.
    pub name: String,
    /// Whether `windlass.yaml` declared the location. The jobs of an undeclared location are local processes.
    pub is_declared: bool,
}

/// The instance document of an element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    /// The element to which the instance belongs.
    pub element: ElementName,
    /// The natural id: the id of the instance outside of windlass, such as the id of a virtual machine in its cloud.
    /// None if no driver has reported an id, if the instance is gone, or if the id is in `sealed_natural`.
    pub natural: Option<String>,
    /// The name under which the store keeps the encrypted natural id (the id of the instance outside of windlass).
    /// A natural id is encrypted only if it contains a secret. In this case, [`natural`](Self::natural) is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_natural: Option<SecretRef>,
    /// The document; see [`crate::instance`]. A sensitive value is replaced by the marker of a secret.
    pub document: Value,
    /// The outputs of earlier instances of the element. If the present instance publishes the same value again, then the
    /// inputs that were computed from this output are not outdated. Sealed outputs are omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub former_outputs: BTreeMap<PropertyName, FormerOutput>,
    /// How many times the document has changed.
    pub revision: u64,
}

/// The last value of an output that an earlier instance of an element has published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerOutput {
    /// The value.
    pub value: Value,
    /// The process that created the instance with this value. If several consecutive instances have published the
    /// value, `since` is the process that created the first of them.
    pub since: ProcessId,
}

impl InstanceRecord {
    /// Tells whether the natural id of the instance is recorded, either in [`natural`](Self::natural) or in
    /// [`sealed_natural`](Self::sealed_natural).
    pub fn has_natural(&self) -> bool {
        self.natural.is_some() || self.sealed_natural.is_some()
    }
}

/// A package in the store. Its scripts can run even if the folder of the package no longer exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    /// The digest of the package's content.
    pub digest: PackageDigest,
    /// The name of the package's descriptor.
    pub name: DescriptorName,
    /// The bindings of the resource descriptor, which choose the driver for each action. If the package belongs to
    /// an application, the value also contains the pins of the application. Only the crate `windlass-driver` writes
    /// and reads this value; all other crates only store it.
    pub manifest: Value,
    /// The files of the package, sorted by path.
    pub files: Vec<PackageFile>,
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageFile {
    /// The path within the package. A `/` stands between the names of folders and files.
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
