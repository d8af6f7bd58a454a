//! How things are.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;
use windlass_model::assembly::{OperationCall, PackageDigest};
use windlass_model::record::PairKey;
use windlass_model::{ElementName, PropertyName, Relationship, State, Transition};

use crate::diff::ValueChange;

/// How far each element and relationship has come. What is not mentioned, is not there.
#[derive(Debug, Clone, Default)]
pub struct Current {
    elements: HashMap<ElementName, ElementNow>,
    /// By the assembly that declares a relationship and its name: the sources at each target.
    pairs: HashMap<ElementName, HashMap<String, Targets>>,
    /// Those that have been made in part, in the same way.
    half_made: HashMap<ElementName, HashMap<String, HalfMadeTargets>>,
    /// Those of them that were made with other values than there are, in the same way.
    outdated: HashMap<ElementName, HashMap<String, OutdatedTargets>>,
}

/// What is left to undo of a relationship that has been made in part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HalfMade {
    /// The operations that undo all of it, in order.
    pub undo: Vec<OperationCall>,
    /// How many of them, from the first on, undo what is in doubt: they are called also where the rest is to be made.
    pub in_doubt: usize,
}

/// The sources with which a relationship has been made in part, at each target.
type HalfMadeTargets = HashMap<ElementName, HalfMadeSources>;

/// The same at one target.
pub(crate) type HalfMadeSources = HashMap<ElementName, HalfMade>;

/// The sources of a relationship at each target.
type Targets = HashMap<ElementName, HashSet<ElementName>>;

/// The sources with which a relationship was made with other values than there are, with those, at each target.
pub(crate) type OutdatedTargets = HashMap<ElementName, OutdatedSources>;

/// The same at one target.
pub(crate) type OutdatedSources = HashMap<ElementName, Vec<ValueChange>>;

/// How far an element has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ElementNow {
    /// Its state.
    pub state: State,
    /// Whether its driver knows it: a launch has answered.
    pub present: bool,
    /// The last transition that failed or was cut after it may have begun to act, or that is done without the next that
    /// belongs to it: what it did may still be there.
    pub attempted: Option<Transition>,
    /// The package that it was installed from, where that is known.
    pub package: Option<PackageDigest>,
    /// A number that grows with every process: the one that installed it; 0 where that is not known.
    pub installed_by: u64,
    /// The process that installed or reconfigured it last; 0 where that is not known.
    ///
    /// An element that was given its values before a part was installed from which it reads, has stale ones. That is
    /// how a reader is found whose process ended between the two.
    pub configured_by: u64,
    /// The properties whose values have become others since it was given them, with the value that it has; none of a secret.
    ///
    /// That is how a reader is found of a part that publishes something else and was not installed anew.
    pub stale: BTreeMap<PropertyName, Option<Value>>,
}

/// What is known of an element that isn't there.
static NOTHING: ElementNow = ElementNow {
    state: State::Absent,
    present: false,
    attempted: None,
    package: None,
    installed_by: 0,
    configured_by: 0,
    stale: BTreeMap::new(),
};

impl ElementNow {
    /// Makes what is known of an element in a state, and nothing else of it.
    pub fn new(state: State, present: bool) -> Self {
        Self { state, present, ..Self::default() }
    }

    /// Tells whether a failed attempt may have left something that has to be cleaned up.
    pub fn has_remains(&self) -> bool {
        self.state == State::Failed && (self.present || self.attempted.is_some())
    }

    /// Tells whether it may be running although it is not Active: it was to start, and that failed or was cut.
    pub fn may_run(&self) -> bool {
        self.state == State::Inactive
            && matches!(self.attempted, Some(Transition::Start | Transition::Integrity))
    }

    /// Tells whether something of it may be gone: it was to be removed, and that failed or was cut.
    pub fn is_partly_removed(&self) -> bool {
        matches!(self.state, State::Created | State::Installed | State::Inactive)
            && matches!(self.attempted, Some(Transition::Uninstall | Transition::Delete))
    }
}

impl Current {
    /// Notes how far an element has come.
    pub fn element(&mut self, name: ElementName, now: ElementNow) {
        self.elements.insert(name, now);
    }

    /// Notes that a relationship between two nodes has been made.
    pub fn pair(&mut self, key: PairKey) {
        insert(&mut self.pairs, key);
    }

    /// Notes that a relationship between two nodes has been made in part: where it is wanted the rest is done, else what has
    /// been done is undone.
    pub fn half_made(&mut self, key: PairKey, half: HalfMade) {
        let of_assembly = self.half_made.entry(key.assembly).or_default();
        let targets = of_assembly.entry(key.relationship.as_str().to_owned()).or_default();
        targets.entry(key.target).or_default().insert(key.source, half);
    }

    /// Notes that a relationship between two nodes has been ended in part: the rest of that is done, and then it is made anew
    /// where it is wanted.
    pub fn half_ended(&mut self, key: PairKey) {
        self.outdated(key.clone(), Vec::new());
        self.pair(key);
    }

    /// Notes that a relationship between two nodes was made with values that are others by now: where it would stay, it is
    /// made anew with them.
    ///
    /// Who knows what it was made with finds these out, as far as they are known before the plan is carried out.
    pub fn outdated(&mut self, key: PairKey, values: Vec<ValueChange>) {
        let of_assembly = self.outdated.entry(key.assembly).or_default();
        let targets = of_assembly.entry(key.relationship.as_str().to_owned()).or_default();
        targets.entry(key.target).or_default().insert(key.source, values);
    }

    /// Returns how far an element has come.
    pub fn now(&self, name: &ElementName) -> &ElementNow {
        self.elements.get(name).unwrap_or(&NOTHING)
    }

    /// Tells whether a relationship between two nodes has been made.
    pub fn has_pair(&self, key: &PairKey) -> bool {
        self.sources_at(&key.assembly, key.relationship.as_str(), &key.target)
            .is_some_and(|sources| sources.contains(&key.source))
    }

    /// Returns the sources with which a relationship has been made at one target; none when there are none.
    pub(crate) fn made_at(
        &self,
        relationship: &Relationship,
        target: &ElementName,
    ) -> Option<&HashSet<ElementName>> {
        self.sources_at(&relationship.assembly, relationship.name.as_str(), target)
    }

    /// Returns the sources with which a relationship has been made in part at one target; none when there are none.
    pub(crate) fn half_made_at(
        &self,
        relationship: &Relationship,
        target: &ElementName,
    ) -> Option<&HalfMadeSources> {
        self.half_made.get(&relationship.assembly)?.get(relationship.name.as_str())?.get(target)
    }

    /// Returns where a relationship was made with other values than there are; none where it is nowhere.
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
