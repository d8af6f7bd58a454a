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
    /// The created pairs, by the assembly that declares the relationship, and by the relationship's name.
    pairs: HashMap<ElementName, HashMap<String, Targets>>,
    /// The partly created pairs, by declaring assembly and relationship.
    half_made: HashMap<ElementName, HashMap<String, HalfMadeTargets>>,
    /// The pairs that were created with outdated values.
    ///
    /// The keys are the assembly that declares the relationship, and the name of the relationship.
    outdated: HashMap<ElementName, HashMap<String, OutdatedTargets>>,
}

/// The operations that undo a partly created pair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HalfMade {
    /// The operations that undo the pair completely, in order.
    pub undo: Vec<OperationCall>,
    /// The number of operations in `undo` that are called in any case, even if the pair is to be completed.
    ///
    /// These operations are the first ones in `undo`. Each of them undoes an operation that failed, or that was
    /// interrupted after its start.
    pub in_doubt: usize,
}

/// The partly created pairs of a relationship, by target.
type HalfMadeTargets = HashMap<ElementName, HalfMadeSources>;

/// The partly created pairs at one target, by source.
pub(crate) type HalfMadeSources = HashMap<ElementName, HalfMade>;

/// The created pairs of a relationship: for each target, its sources.
type Targets = HashMap<ElementName, HashSet<ElementName>>;

/// For each target of a relationship, its pairs whose values have changed since their creation.
pub(crate) type OutdatedTargets = HashMap<ElementName, OutdatedSources>;

/// The pairs of one target whose values have changed since their creation: for each source, the changes of the
/// values.
pub(crate) type OutdatedSources = HashMap<ElementName, Vec<ValueChange>>;

/// The recorded state of an element.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ElementNow {
    /// The recorded state of the element.
    pub state: State,
    /// Whether the driver of the element has reported an instance, or may have created one.
    pub present: bool,
    /// The transition that may have had effects although the step to which it belongs did not succeed.
    ///
    /// There are two cases:
    ///
    /// - The transition failed or was interrupted, and may have had effects before.
    /// - The transition succeeded, and a later transition of the same step failed or was interrupted.
    pub attempted: Option<Transition>,
    /// Whether a Reconfigure failed or was interrupted after it may have had effects. Then the values with
    /// which the instance works are unknown.
    pub values_in_doubt: bool,
    /// Whether a health check has found that the instance no longer exists. Such an element is Failed, and
    /// has nothing that could be removed.
    pub gone: bool,
    /// The package from which the element was installed; none if unknown.
    pub package: Option<PackageDigest>,
    /// The number of the process that installed the element; 0 if unknown. Later processes have higher
    /// numbers.
    pub installed_by: u64,
    /// The number of the process that last installed or reconfigured the element; 0 if unknown.
    ///
    /// If a part whose outputs the element reads was installed by a later process, the values of the element are
    /// outdated. This is the case if the later process ended before it gave the new values to the element.
    pub configured_by: u64,
    /// The properties whose values have changed since they were applied, each with the applied value.
    ///
    /// The value is `None` if it is secret. Such changes occur when a producer publishes new outputs without
    /// a re-installation.
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
    configured_by: 0,
    outdated: BTreeMap::new(),
};

impl ElementNow {
    /// Creates the record of an element in a state, with defaults for all other fields.
    pub fn new(state: State, present: bool) -> Self {
        Self { state, present, ..Self::default() }
    }

    /// Tells whether the element is Failed and may have an instance, or leftovers of one.
    pub fn has_remains(&self) -> bool {
        self.state == State::Failed && (self.present || self.attempted.is_some())
    }

    /// Tells whether an Inactive element is possibly running, because its Start or Integrity failed or was
    /// interrupted.
    pub fn may_run(&self) -> bool {
        self.state == State::Inactive
            && matches!(self.attempted, Some(Transition::Start | Transition::Integrity))
    }

    /// Tells whether the element may be partly removed, because its Uninstall or Delete failed or was interrupted.
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

    /// Records that a pair of a relationship is created.
    pub fn pair(&mut self, key: PairKey) {
        insert(&mut self.pairs, key);
    }

    /// Records that a pair of a relationship was partly created.
    ///
    /// The plan completes the pair if the pair is desired and its ends stay. In all other cases, the plan
    /// undoes the pair.
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

    /// Records that a pair of a relationship was created with values that have changed since.
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

    /// Tells whether a pair of a relationship is created.
    pub fn has_pair(&self, key: &PairKey) -> bool {
        self.sources_at(&key.assembly, key.relationship.as_str(), &key.target)
            .is_some_and(|sources| sources.contains(&key.source))
    }

    /// Returns the ends of all created pairs.
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

    /// Returns the pairs of a relationship that were created with outdated values.
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
