//! The recorded versions of an assembly: which version describes an element, and which version a rollback restores.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use windlass_lifecycle::{describes, merged, unsurged};
use windlass_model::record::{AssemblyRecord, ElementRecord, Made, VersionRecord};
use windlass_model::{ElementName, ProcessId, State, Topology};
use windlass_store::Snapshot;

use crate::error::EngineError;
use crate::world::World;

/// Finds the version to roll back to. If `process` is given, this is the newest version that was written by
/// this process or by an earlier process. If `process` is `None`, this is the newest earlier version that
/// differs from the recorded assembly and is not in `unreached`. A difference in the additional nodes of rolling changes
/// does not count. Versions of a former assembly with the same name are ignored.
pub(super) fn earlier<'a>(
    versions: &'a [VersionRecord],
    record: &AssemblyRecord,
    process: Option<ProcessId>,
    unreached: &BTreeSet<ProcessId>,
) -> Result<&'a VersionRecord, EngineError> {
    let mut own = versions.iter().filter(|version| version.assembly.created == record.created);
    let found = match process {
        Some(process) => own.rfind(|version| version.process <= process),
        None => own.rfind(|version| {
            Some(version.process) < record.version
                && !unreached.contains(&version.process)
                && is_other(&closed(&version.assembly), &closed(record))
        }),
    };
    found.ok_or_else(|| EngineError::NoVersion { name: record.name.clone(), process })
}

/// Returns the record without the temporary nodes that a rolling change has added to groups.
pub(super) fn closed(record: &AssemblyRecord) -> Cow<'_, AssemblyRecord> {
    if record.surge.is_empty() {
        return Cow::Borrowed(record);
    }
    let topology = unsurged(&record.topology, &record.surge);
    Cow::Owned(AssemblyRecord { topology, surge: BTreeMap::new(), ..record.clone() })
}

/// Returns the installed topology. Its elements may belong to different `versions`; [`of_version`] determines the
/// version of an element. If `versions` is empty, all elements belong to the version in `record`.
pub(super) fn installed(record: &AssemblyRecord, versions: &[VersionRecord], world: &World) -> Topology {
    let newest = || record.topology.clone();
    if versions.is_empty() {
        return newest();
    }
    let topologies: Vec<&Topology> = versions.iter().map(|version| &version.assembly.topology).collect();
    let version_of = |name: &ElementName| {
        let element = world.elements.get(name).filter(|element| element.state != State::Absent)?;
        let made = element.made.as_ref()?;
        versions.iter().rposition(|version| version.process <= of_version(made, record))
    };
    let made = world.pairs.there().map(|pair| &pair.key);
    merged(&topologies, version_of, made).unwrap_or_else(newest)
}

/// Returns a process with which the caller finds the version that describes an element. This version is the newest one
/// that the returned process or an earlier process has written.
///
/// `made` comes from the record of the element, and `record` is the record of the assembly. The function returns
/// the later of two processes:
///
/// - `made.configured_by`: the process that last gave values to the element.
/// - [`AssemblyRecord::reached`]: the process with the newest version that all elements have reached. An element also
///   reaches the version of a process that did not need to change the element.
pub(super) fn of_version(made: &Made, record: &AssemblyRecord) -> ProcessId {
    made.configured_by.max(record.reached.unwrap_or(ProcessId(0)))
}

/// Tells whether older versions are needed to describe all existing elements and pairs. There are two cases:
///
/// - An existing element was made from an older version.
/// - An existing element or pair is missing from the newest version.
pub(super) fn is_mixed(snapshot: &Snapshot) -> bool {
    let Some(version) = snapshot.assembly.version else { return false };
    let mut pairs = snapshot.pairs.values().filter(|pair| pair.is_there());
    let topology = &snapshot.assembly.topology;
    let is_left =
        |record: &ElementRecord| record.state != State::Absent && topology.get(&record.name).is_none();
    let made = snapshot.elements.values().filter(|element| element.state != State::Absent);
    made.filter_map(|element| element.made.as_ref())
        .any(|made| of_version(made, &snapshot.assembly) < version)
        || snapshot.elements.values().any(is_left)
        || pairs.any(|pair| !describes(&snapshot.assembly.topology, &pair.key))
}

/// Tells whether the desired assembly differs from the recorded one.
pub(super) fn is_other(before: &AssemblyRecord, after: &AssemblyRecord) -> bool {
    before.topology != after.topology
        || before.descriptor != after.descriptor
        || before.parameters != after.parameters
        || before.packages != after.packages
        || before.scaled != after.scaled
        || before.goal != after.goal
}
