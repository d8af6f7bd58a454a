//! The recorded state of an assembly.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;
use windlass_model::assembly::{OperationCall, PackageDigest};
use windlass_model::record::PairKey;
use windlass_model::{ElementName, PropertyName, Relationship, State, Transition};

use super::shown::ValueChange;

/// The recorded state of each element and each relationship of an assembly. Elements without a record are
/// Absent.
#[derive(Debug, Clone, Default)]
pub struct Current {
    elements: HashMap<ElementName, ElementNow>,
    /// The created pairs: each pair is one source and one target of a relationship.
    ///
    /// The outer key is the assembly that declares the relationship. The inner key is the name of the relationship.
    pairs: HashMap<ElementName, HashMap<String, Targets>>,
    /// The partly created pairs. Both keys are the same as in `pairs`.
    half_made: HashMap<ElementName, HashMap<String, HalfMadeTargets>>,
    /// The outdated pairs. Both keys are the same as in `pairs`.
    ///
    /// A pair is outdated if its values have changed since the pair was created, or if its removal is incomplete.
    outdated: HashMap<ElementName, HashMap<String, OutdatedTargets>>,
}

/// The operations that undo a partly created pair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HalfMade {
    /// The operations that undo the pair completely, in order.
    pub undo: Vec<OperationCall>,
    /// The number of operations in `undo` that are called in any case, even if the plan completes the pair.
    ///
    /// These operations are the first ones in `undo`. Each of them undoes an operation that failed, or that was
    /// interrupted after its start.
    pub in_doubt: usize,
}

/// The partly created pairs of a relationship. A pair is one source and one target. The key is the target of the
/// pairs.
type HalfMadeTargets = HashMap<ElementName, HalfMadeSources>;

/// The partly created pairs at one target. The key is the source of the pair.
pub(crate) type HalfMadeSources = HashMap<ElementName, HalfMade>;

/// The created pairs of a relationship. The key is the target of the pairs, and the value contains their sources.
type Targets = HashMap<ElementName, HashSet<ElementName>>;

/// The outdated pairs of a relationship (pairs whose values have changed since their creation). The key is the target
/// of the pairs.
pub(crate) type OutdatedTargets = HashMap<ElementName, OutdatedSources>;

/// The outdated pairs at one target. The key is the source of the pair.
///
/// For each source, the list contains the values that have changed since the creation of the pair. A pair also counts
/// as outdated if its removal is incomplete. For such a pair, the list may be empty.
pub(crate) type OutdatedSources = HashMap<ElementName, Vec<ValueChange>>;

/// The recorded state of an element.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ElementNow {
    /// The recorded state of the element.
    pub state: State,
    /// Whether the driver of the element has reported an instance, or may have created one.
    pub present: bool,
    /// A transition that may have changed the instance, although its step did not succeed; `None` if there is none.
    ///
    /// There are two cases:
    ///
    /// - The transition failed or was interrupted. Its driver may already have changed the instance.
    /// - The transition succeeded, but a later transition of the same step failed or was interrupted.
    pub attempted: Option<Transition>,
    /// Whether the values that the instance uses are unknown.
    ///
    /// This is the case if a Reconfigure failed or was interrupted, but may have changed some values.
    pub values_in_doubt: bool,
    /// Whether a health check has found that the instance no longer exists. If true, the element is Failed, and
    /// has nothing that could be removed.
    pub gone: bool,
    /// The package from which the element was installed; none if unknown.
    pub package: Option<PackageDigest>,
    /// The number of the process that installed the element; 0 if unknown. Later processes have higher
    /// numbers.
    pub installed_by: u64,
    /// The outputs whose value did not change when the element was last re-created. Each output comes with the number
    /// of a process. Among the successive instances with the present value, this process installed the first one.
    pub unchanged_outputs: BTreeMap<PropertyName, u64>,
    /// The number of the process that last installed or reconfigured the element; 0 if unknown.
    ///
    /// The planner compares this number with [`published_by`](Self::published_by) of each output that the element reads.
    /// For example, process 5 configured the element, and process 7 installed a part with another output. Process 7 then
    /// failed before it could reconfigure the element. So the element still has the old output of that part.
    pub configured_by: u64,
    /// The properties of the element with a new value that its instance has not received yet. Each property comes with
    /// its old value, which the instance last received; `None` if the old value is secret.
    ///
    /// For example, a Reconfigure of another part has changed an output, and the element reads this output.
    pub outdated: BTreeMap<PropertyName, Option<Value>>,
}

/// The recorded state of an element that does not exist.
static NOTHING: ElementNow = ElementNow {
    state: State::Absent,
    present: false,
    attempted: None,
    values_in_doubt: false,
    gone: false,
    package: None,
    installed_by: 0,
    unchanged_outputs: BTreeMap::new(),
    configured_by: 0,
    outdated: BTreeMap::new(),
};

impl ElementNow {
    /// Creates the record of an element in a state, with defaults for all other fields.
    pub fn new(state: State, present: bool) -> Self {
        Self { state, present, ..Self::default() }
    }

    /// Returns the number of the process that published the present value of an output; 0 if unknown. The process
    /// published the value when it installed the element.
    pub fn published_by(&self, output: &PropertyName) -> u64 {
        self.unchanged_outputs.get(output).copied().unwrap_or(self.installed_by)
    }

    /// Tells whether the element is Failed and may have an instance, or leftovers of one.
    pub fn has_remains(&self) -> bool {
        self.state == State::Failed && (self.present || self.attempted.is_some())
    }

    /// Tells whether the element is Failed because its Stop failed. The element may still run.
    ///
    /// Such an element was Active before, so its instance may contain data that only exists there.
    pub fn could_not_be_stopped(&self) -> bool {
        self.state == State::Failed && self.attempted == Some(Transition::Stop)
    }

    /// Tells whether an Inactive element may be running.
    ///
    /// This is the case if its Start, or the check after the Start (Integrity), failed or was interrupted.
    pub fn may_run(&self) -> bool {
        self.state == State::Inactive
            && matches!(self.attempted, Some(Transition::Start | Transition::Integrity))
    }

    /// Tells whether an Uninstall or Delete of a Created, Installed or Inactive element failed or was interrupted.
    ///
    /// The instance of such an element may be incomplete. For example, the Uninstall has deleted some files of the
    /// instance.
    pub fn is_partly_removed(&self) -> bool {
        matches!(self.state, State::Created | State::Installed | State::Inactive)
            && matches!(self.attempted, Some(Transition::Uninstall | Transition::Delete))
    }
}

impl Current {
    /// Records the state of an element.
    pub fn element(&mut self, name: ElementName, now: ElementNow) {
        self.elements.insert(name, now);
    }

    /// Records that a pair exists. A pair is one source and one target of a relationship.
    pub fn pair(&mut self, key: PairKey) {
        insert(&mut self.pairs, key);
    }

    /// Records that a pair of a relationship was partly created.
    ///
    /// The plan completes the pair if the pair is desired, and if its source and target stay. In all other cases,
    /// the plan undoes the pair.
    pub fn half_made(&mut self, key: PairKey, half: HalfMade) {
        let of_assembly = self.half_made.entry(key.assembly).or_default();
        let targets = of_assembly.entry(key.relationship.as_str().to_owned()).or_default();
        targets.entry(key.target).or_default().insert(key.source, half);
    }

    /// Records that the removal of a relationship between two nodes has begun, but is incomplete.
    ///
    /// The plan completes the removal. If the relationship is desired, the plan then creates it again.
    pub fn half_ended(&mut self, key: PairKey) {
        self.outdated(key.clone(), Vec::new());
        self.pair(key);
    }

    /// Records that a pair (one source and one target of a relationship) was created with values that have changed
    /// since.
    ///
    /// The plan re-creates such a pair even if it would otherwise stay. `values` are the changed values that
    /// are known before the plan is executed.
    pub fn outdated(&mut self, key: PairKey, values: Vec<ValueChange>) {
        let of_assembly = self.outdated.entry(key.assembly).or_default();
        let targets = of_assembly.entry(key.relationship.as_str().to_owned()).or_default();
        targets.entry(key.target).or_default().insert(key.source, values);
    }

    /// Returns the recorded state of an element. An element without a record is Absent.
    pub fn now(&self, name: &ElementName) -> &ElementNow {
        self.elements.get(name).unwrap_or(&NOTHING)
    }

    /// Tells whether a pair of a relationship exists, according to the records.
    pub fn has_pair(&self, key: &PairKey) -> bool {
        self.sources_at(&key.assembly, key.relationship.as_str(), &key.target)
            .is_some_and(|sources| sources.contains(&key.source))
    }

    /// Returns the sources and targets of all created pairs.
    pub(crate) fn related(&self) -> HashSet<&ElementName> {
        let targets = self.pairs.values().flat_map(HashMap::values).flatten();
        targets.flat_map(|(target, sources)| sources.iter().chain([target])).collect()
    }

    /// Returns the sources of the created pairs at one target.
    pub(crate) fn made_at(
        &self,
        relationship: &Relationship,
        target: &ElementName,
    ) -> Option<&HashSet<ElementName>> {
        self.sources_at(&relationship.assembly, relationship.name.as_str(), target)
    }

    /// Returns the partly created pairs at one target, by source.
    pub(crate) fn half_made_at(
        &self,
        relationship: &Relationship,
        target: &ElementName,
    ) -> Option<&HalfMadeSources> {
        self.half_made.get(&relationship.assembly)?.get(relationship.name.as_str())?.get(target)
    }

    /// Returns the outdated pairs of a relationship by target; `None` if the relationship has no outdated pair.
    ///
    /// A pair is outdated if its values have changed since the pair was created, or if its removal is incomplete.
    pub(crate) fn outdated_of(&self, relationship: &Relationship) -> Option<&OutdatedTargets> {
        self.outdated.get(&relationship.assembly)?.get(relationship.name.as_str())
    }

    fn sources_at(
        &self,
        assembly: &ElementName,
        name: &str,
        target: &ElementName,
    ) -> Option<&HashSet<ElementName>> {
        self.pairs.get(assembly)?.get(name)?.get(target)
    }
}

fn insert(pairs: &mut HashMap<ElementName, HashMap<String, Targets>>, key: PairKey) {
    let of_assembly = pairs.entry(key.assembly).or_default();
    let targets = of_assembly.entry(key.relationship.as_str().to_owned()).or_default();
    targets.entry(key.target).or_default().insert(key.source);
}
