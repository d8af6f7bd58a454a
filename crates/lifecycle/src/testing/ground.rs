//! A simulation of the instances that a model check creates, changes and removes, and of the pairs between them. A
//! pair is one source and one target of a relationship.
//!
//! The simulation is independent of the engine's records. Its methods `check_…` report violated rules.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::assembly::ElementKind;
use windlass_model::record::PairKey;
use windlass_model::resolve::{Answer, Lookup, Output, Resolved, Resolver};
use windlass_model::work::Direction;
use windlass_model::{
    Element, ElementName, InstanceId, Modifier, Part, PropertyName, Relationship, State, Topology, template,
};
use windlass_secret::{SecretRef, Sensitive};

use super::names::property;
use crate::HalfMade;
use crate::rank::least;

/// An existing instance of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thing {
    /// The state of the instance.
    pub state: State,
    /// The name of the descriptor with which the instance was installed, for example `resource::k1::1.0`.
    pub kind: String,
    /// The value of the property named `in` that the instance last received; `None` if it has received none.
    pub input: Option<String>,
    /// The number of the instance's last publication of outputs; 0 if the instance has published nothing.
    ///
    /// All resources share one numbering: each new publication gets a higher number than all earlier publications.
    pub generation: u64,
}

/// The simulation of some assemblies: their versions, their instances, and the pairs between the instances. A pair is
/// one source and one target of a relationship.
///
/// The methods `check_…` return an error if the state violates a rule. The error describes the violation.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// The desired version of each process that has begun, the newest last; see [`begin`](Self::begin).
    versions: Vec<Topology>,
    things: BTreeMap<ElementName, Thing>,
    /// The created and partly created pairs.
    pairs: BTreeMap<PairKey, Bond>,
    /// The pairs that still exist although their source or target has left the required state.
    ///
    /// For example, the source failed before the plan removed the pair.
    loose: BTreeSet<PairKey>,
    /// The states of all resources at the start of the current process.
    before: BTreeMap<ElementName, State>,
    generation: u64,
}

/// A created or partly created pair of a relationship.
#[derive(Debug, Clone, Default)]
struct Bond {
    /// The position in [`Ground::versions`] of the version for which the pair was created.
    version: usize,
    /// The value that the property `peer` of the relationship had when the pair was created.
    ///
    /// `None` means that the relationship does not declare the property, or that its value was unknown.
    peer: Option<String>,
    /// The operations that undo a partly created pair; none for a completely created pair.
    half: Option<HalfMade>,
}

/// The source or the target of a pair, with the states that the relationship requires of it.
struct End {
    leaves: BTreeSet<ElementName>,
    /// The minimum rank (a state as a number) that the source or target must have.
    least: u8,
    /// The rank of the state that the relationship declares for this end. `None` if the versions of the assembly declare
    /// different states for this end.
    named: Option<u8>,
}

impl Ground {
    /// Records the start of a process that brings the assembly `root` to a desired version.
    pub fn begin(&mut self, root: &str, desired: Option<&Topology>) {
        let own = |name: &ElementName| name.assembly().as_str() == root;
        self.before.retain(|name, _| !own(name));
        let now = self.things.iter().filter(|(name, _)| own(name));
        self.before.extend(now.map(|(name, thing)| (name.clone(), thing.state)));
        if let Some(desired) = desired {
            self.versions.push(desired.clone());
        }
    }

    /// Records that a process of the assembly `root` has completed. From now on, all pairs of this assembly belong to
    /// the assembly's newest version.
    pub fn complete(&mut self, root: &str) {
        let Some(newest) = self.versions.iter().rposition(|version| version.name().as_str() == root) else {
            return;
        };
        let own = |key: &PairKey| key.assembly.assembly().as_str() == root;
        self.pairs.iter_mut().filter(|(key, _)| own(key)).for_each(|(_, bond)| bond.version = newest);
    }

    /// Returns the number of the newest version.
    ///
    /// The versions of all assemblies are numbered from 0, in the order of the calls of [`begin`](Self::begin).
    pub fn newest(&self) -> usize {
        self.versions.len().saturating_sub(1)
    }

    /// Returns the existing resources.
    pub fn things(&self) -> &BTreeMap<ElementName, Thing> {
        &self.things
    }

    /// Returns the completely created pairs.
    pub fn pairs(&self) -> impl Iterator<Item = &PairKey> {
        self.pairs.iter().filter(|(_, bond)| bond.half.is_none()).map(|(key, _)| key)
    }

    /// Returns the partly created pairs, each with the operations that undo it.
    pub fn half_made(&self) -> impl Iterator<Item = (&PairKey, &HalfMade)> {
        self.pairs.iter().filter_map(|(key, bond)| Some((key, bond.half.as_ref()?)))
    }

    /// Records a partly created relationship between two nodes.
    ///
    /// `peer` is the value of the relationship's property `peer`. If a relationship between the nodes is already
    /// recorded, `peer` is ignored.
    pub fn half_make(&mut self, key: &PairKey, half: HalfMade, peer: Option<String>) {
        if !self.pairs.contains_key(key) {
            self.tie(key, Direction::Create, peer);
        }
        self.pairs.entry(key.clone()).or_default().half = Some(half);
    }

    /// Returns the state of a resource.
    pub fn state(&self, name: &ElementName) -> State {
        self.things.get(name).map(|thing| thing.state).unwrap_or_default()
    }

    /// Sets the state of a resource.
    ///
    /// If the resource becomes Absent, the function removes each created pair whose source or target is the resource,
    /// or is an assembly that contains the resource.
    pub fn set(&mut self, name: &ElementName, state: State) {
        if state != State::Absent {
            self.things.entry(name.clone()).or_default().state = state;
            let is_low =
                |end: &End| end.leaves.contains(name) && self.rank(name) < Some(self.floor(name, end.least));
            let low = |key: &&PairKey| self.ends(key, Direction::Cease).iter().any(is_low);
            self.loose =
                self.pairs.keys().filter(|key| self.loose.contains(*key) || low(key)).cloned().collect();
            return;
        }
        self.things.remove(name);
        let gone: BTreeSet<PairKey> = self
            .pairs
            .keys()
            .filter(|key| [&key.source, &key.target].iter().any(|end| *end == name || self.is_in(name, end)))
            .cloned()
            .collect();
        self.pairs.retain(|key, _| !gone.contains(key));
    }

    /// Removes a Failed resource that has neither an instance nor leftovers of an instance.
    ///
    /// Unlike [`set`](Self::set) with the state Absent, the function keeps the pairs of the resource.
    pub fn clear(&mut self, name: &ElementName) {
        self.things.remove(name);
    }

    /// Removes each pair of the assembly `root` whose source or target does not exist.
    ///
    /// A source or target with several resources exists if at least one of its resources exists.
    ///
    /// If `recorded` returns `true` for such a pair, the function keeps the pair, and the next process removes it. For
    /// example, `recorded` returns `true` if an interrupted process has created the pair, but has not installed its
    /// source.
    pub fn forget(&mut self, root: &str, recorded: impl Fn(&PairKey) -> bool) {
        let (versions, things) = (&self.versions, &self.things);
        let gone = |end: &ElementName| {
            let Some(topology) = versions.iter().rev().find(|t| t.get(end).is_some()) else { return true };
            let leaves = topology.leaves(end);
            !leaves.is_empty() && leaves.iter().all(|leaf| !things.contains_key(&leaf.name))
        };
        let own = |key: &PairKey| key.assembly.assembly().as_str() == root;
        self.pairs.retain(|key, _| recorded(key) || !own(key) || !gone(&key.source) && !gone(&key.target));
    }

    /// Tells whether a resource is inside the assembly `whole`.
    ///
    /// `whole` may be a nested assembly. The function uses the newest version in `versions` that contains `whole`.
    fn is_in(&self, name: &ElementName, whole: &ElementName) -> bool {
        let is_assembly = |t: &&Topology| t.get(whole).is_some_and(|e| e.kind == ElementKind::Assembly);
        let newest = self.versions.iter().rev().find(is_assembly);
        newest.is_some_and(|t| t.leaves(whole).iter().any(|leaf| leaf.name == *name))
    }

    /// Installs a resource with the descriptor of `kind`. The resource publishes a new output.
    pub fn launch(&mut self, name: &ElementName, kind: &Element) {
        self.generation += 1;
        let generation = self.generation;
        let thing = self.things.entry(name.clone()).or_default();
        (thing.generation, thing.kind) = (generation, kind.descriptor.to_string());
    }

    /// Makes a resource publish a new output without a re-installation. Returns the previous output.
    pub fn republish(&mut self, name: &ElementName) -> Option<String> {
        let thing = self.things.get_mut(name).filter(|thing| thing.generation > 0)?;
        let before = output(name, thing.generation);
        self.generation += 1;
        thing.generation = self.generation;
        Some(before)
    }

    /// Records the descriptor of a resource whose Create or Install has been called, even if the call failed.
    ///
    /// `kind` is the name of the descriptor, as in [`Thing::kind`].
    pub fn know(&mut self, name: &ElementName, kind: &str) {
        kind.clone_into(&mut self.things.entry(name.clone()).or_default().kind);
    }

    /// Records that a resource has received `input` as the value of its property named `in`.
    pub fn give(&mut self, name: &ElementName, input: String) {
        self.things.entry(name.clone()).or_default().input = Some(input);
    }

    /// Returns the current value of the property named `in` of a resource.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not known yet.
    pub fn value(&self, topology: &Topology, name: &ElementName) -> Result<String, String> {
        match Resolver::new(topology, self).property(name, &property("in")) {
            Ok(Answer::Known(known)) => Ok(known.value.to_string()),
            other => Err(format!("{name} is called before its values are known: {other:?}")),
        }
    }

    /// Tells whether a pair is completely created.
    pub fn is_made(&self, key: &PairKey) -> bool {
        self.pairs.get(key).is_some_and(|bond| bond.half.is_none())
    }

    /// Tells whether a pair is created, at least in part.
    pub fn is_tied(&self, key: &PairKey) -> bool {
        self.pairs.contains_key(key)
    }

    /// Returns the value that the property `peer` of a relationship had when the pair was created.
    ///
    /// Returns `None` if the pair does not exist, or if `peer` had no value when the pair was created.
    pub fn made_with(&self, key: &PairKey) -> Option<&String> {
        self.pairs.get(key)?.peer.as_ref()
    }

    /// Tells whether the relationship of a pair declares the property `peer`.
    pub fn has_peer(topology: &Topology, key: &PairKey) -> bool {
        let relationship = topology.relationship(&key.assembly, key.relationship.as_str());
        relationship.is_some_and(|relationship| !relationship.properties.is_empty())
    }

    /// Returns the current value of the property `peer` of a pair. Returns `None` if the property is not declared, or
    /// its value is unknown.
    pub fn peer(&self, topology: &Topology, key: &PairKey) -> Option<String> {
        let relationship = topology.relationship(&key.assembly, key.relationship.as_str())?;
        let mut read = None;
        relationship.properties.get(&property("peer"))?.value.as_ref()?.for_each_part(&mut |part| {
            if let Part::End { end, property } = part {
                read = Some((*end, property.clone()));
            }
        });
        let (end, property) = read?;
        let of = if end == template::End::Source { &key.source } else { &key.target };
        match Resolver::new(topology, self).property(of, &property) {
            Ok(Answer::Known(known)) => Some(known.value.to_string()),
            _ => None,
        }
    }

    /// Creates or removes a pair, as `direction` demands.
    ///
    /// `peer` is the current value of the relationship's property `peer`. A newly created pair stores this value.
    /// `None` means that the property is not declared, or that its value is unknown.
    pub fn tie(&mut self, key: &PairKey, direction: Direction, peer: Option<String>) {
        match direction {
            Direction::Create => {
                let root = key.assembly.assembly();
                let of = self.versions.iter().rposition(|version| *version.name() == root);
                // A partly created pair is completed with the value with which its creation began.
                let peer = self.pairs.remove(key).map_or(peer, |bond| bond.peer);
                self.pairs.insert(key.clone(), Bond { version: of.unwrap_or_default(), peer, half: None });
            }
            Direction::Cease | Direction::Undo => drop(self.pairs.remove(key)),
        }
        self.loose.remove(key);
    }

    /// Checks that the source and the target of a pair have the states that are required to create or remove the
    /// pair.
    ///
    /// # Errors
    ///
    /// Returns an error if the source or the target is below its required state.
    pub fn check_tie(&self, key: &PairKey, direction: Direction) -> Result<(), String> {
        if direction != Direction::Create && self.loose.contains(key) {
            return Ok(());
        }
        for end in self.ends(key, direction) {
            for leaf in &end.leaves {
                let state = self.state(leaf);
                // An unhealthy resource is removed regardless of its pairs.
                let unwell = matches!(state, State::Failed | State::Broken) && direction != Direction::Create;
                if !unwell && self.rank(leaf) < Some(self.floor(leaf, end.least)) {
                    return Err(format!("{direction:?} of {key:?}: {leaf} is {state}, not {}", end.least));
                }
            }
        }
        Ok(())
    }

    /// Tells whether at least one resource of a pair's source or target does not exist. The engine may repeat the
    /// operations of such a pair.
    pub fn hangs(&self, key: &PairKey) -> bool {
        let ends = self.ends(key, Direction::Create);
        ends.iter().any(|end| end.leaves.iter().any(|leaf| self.rank(leaf) == Some(0)))
    }

    /// Checks that a resource has the necessary pairs before the resource reaches the state `to`.
    ///
    /// A pair is necessary if its relationship declares this state and the modifier `pre` for the resource. The check
    /// applies to processes that make the whole assembly Active.
    ///
    /// # Errors
    ///
    /// Returns an error if a pair is missing.
    pub fn check_arrival(&self, desired: &Topology, name: &ElementName, to: State) -> Result<(), String> {
        for relationship in desired.relationships().iter().filter(|of| !of.create.is_empty()) {
            let pre = |modifier: Modifier, state: State| modifier == Modifier::Pre && state == to;
            let (source, target) = (
                pre(relationship.source_modifier, relationship.source_state),
                pre(relationship.target_modifier, relationship.target_state),
            );
            let concerns = |key: &PairKey| source && key.source == *name || target && key.target == *name;
            if !source && !target {
                continue;
            }
            for key in all_pairs(desired, relationship).iter().filter(|key| concerns(key)) {
                if !self.is_made(key) {
                    return Err(format!("{name} becomes {to} before {key:?} is made"));
                }
            }
        }
        Ok(())
    }

    /// Checks that two steps may run at the same time.
    ///
    /// The first step brings the resource `name` from the state `from` to the state `to`. The second step creates
    /// or removes the pair `key`. The check concerns only resources that belong to a node of the pair.
    ///
    /// # Errors
    ///
    /// Returns an error in two cases:
    ///
    /// - The first step takes the resource below the state that the pair requires.
    /// - The second step creates the pair, and the relationship has the modifier `pre` for the resource's node. The
    ///   first step brings the resource to a state that it may reach only after the creation of the pair.
    ///
    /// The second case has an exception for a part of an assembly. For example, the part `shop__db` may become Active
    /// before the creation if another part of `shop` is still Inactive. The assembly `shop` is then not Active yet.
    ///
    /// If the resource is Failed or Broken before the first step, the function returns no error.
    pub fn check_beside(
        &self,
        (name, from, to): (&ElementName, State, State),
        key: &PairKey,
        direction: Direction,
    ) -> Result<(), String> {
        let loose = direction != Direction::Create && self.loose.contains(key);
        // A repeated step changes nothing if its work is already done.
        if loose || from == to || matches!(from, State::Failed | State::Broken) {
            return Ok(());
        }
        for end in self.ends(key, direction).iter().filter(|end| end.leaves.contains(name)) {
            if to.rank() < Some(end.least) {
                return Err(format!("{name} leaves {from} beside {direction:?} of {key:?}"));
            }
            // The modifier `pre` only restricts steps while the relationship is created. While the relationship
            // is removed, a part may reach the state that the relationship declares.
            let is_held = direction == Direction::Create;
            let Some(named) = end.named.filter(|named| is_held && *named != end.least) else { continue };
            let enters = from.rank() < Some(named) && to.rank() >= Some(named);
            if enters && !(end.leaves.len() > 1 && self.may_arrive_early(name, &end.leaves, named)) {
                return Err(format!("{name} becomes {to} beside {direction:?} of {key:?}"));
            }
        }
        Ok(())
    }

    /// Checks a step that brings the resource `name` from the state `from` to the state `to`.
    ///
    /// # Errors
    ///
    /// Returns an error if `to` is lower than `from`, and an existing pair requires a higher state of the resource than
    /// `to`. A pair is one source and one target of a relationship.
    pub fn check_step(&self, name: &ElementName, from: State, to: State) -> Result<(), String> {
        if matches!(from, State::Failed | State::Broken) || to.rank() >= from.rank() {
            return Ok(());
        }
        for key in self.pairs.keys().filter(|key| !self.loose.contains(*key)) {
            for end in self.ends(key, Direction::Cease).iter().filter(|end| end.leaves.contains(name)) {
                if to.rank() < Some(end.least) {
                    return Err(format!("{name} goes from {from} to {to}, and {key:?} is not ended"));
                }
            }
        }
        Ok(())
    }

    /// Tells whether the part `part` of an assembly may reach the rank `rank` before a pair of the assembly is
    /// created. A rank is a state as a number. `whole` contains all parts of the assembly.
    ///
    /// The relationship of the pair has the modifier `pre`: the assembly as a whole may reach the rank only after
    /// the creation of the pair. The assembly reaches the rank when the last of its parts reaches the rank.
    ///
    /// `part` may reach the rank before the creation in two cases:
    ///
    /// - Another part is still below the rank. Then the assembly is below the rank, too.
    /// - Another part already had the rank when the process began, and so has no step that could wait for the creation.
    ///   In this case, the planner does not guarantee the order.
    fn may_arrive_early(&self, part: &ElementName, whole: &BTreeSet<ElementName>, rank: u8) -> bool {
        let before = |name: &ElementName| self.before.get(name).and_then(|state| state.rank());
        whole
            .iter()
            .filter(|other| *other != part)
            .any(|other| self.state(other).rank() < Some(rank) || before(other) >= Some(rank))
    }

    /// Returns the state of a resource as a number (its rank), from 0 for Absent to 4 for Active.
    ///
    /// A resource counts as Absent if it does not exist, or if it is Failed and has never been installed. The result is
    /// `None` if the resource is Broken, or Failed after an installation.
    fn rank(&self, name: &ElementName) -> Option<u8> {
        let thing = self.things.get(name);
        let nothing = thing.is_none_or(|thing| thing.state == State::Failed && thing.generation == 0);
        if nothing { Some(0) } else { self.state(name).rank() }
    }

    /// Returns the minimum rank (a state as a number) that a resource must have to satisfy the requirement
    /// `least`.
    ///
    /// The result is `least`, with one exception. If `least` is Created and the resource has no state Created,
    /// the result is the rank of Absent.
    fn floor(&self, leaf: &ElementName, least: u8) -> u8 {
        let has_created = self.versions.iter().filter_map(|t| t.get(leaf)).all(Element::has_created);
        if least == 1 && !has_created { 0 } else { least }
    }

    /// Returns the source and the target of a pair, each with its minimum state and its declared state.
    ///
    /// For the creation of the pair, both states come from the newest version of the assembly. For the removal, the
    /// minimum state is the lowest one of all versions, and the declared state is `None` if the versions differ.
    fn ends(&self, key: &PairKey, direction: Direction) -> [End; 2] {
        let root = key.assembly.assembly();
        let find = |at: &usize| self.versions[*at].relationship(&key.assembly, key.relationship.as_str());
        let known = (0..self.versions.len()).rev().filter(|at| *self.versions[*at].name() == root);
        let of: Vec<usize> = match direction {
            Direction::Create => known.take(1).collect(),
            Direction::Cease | Direction::Undo => known.filter(|at| find(at).is_some()).collect(),
        };
        let declared: Vec<&Relationship> = of.iter().filter_map(find).collect();
        // The parts of an end are those of the version in which the relationship was created. Parts that were
        // added to the end later had no role in the creation.
        let made = self.pairs.get(key).filter(|_| direction != Direction::Create).map(|bond| &bond.version);
        let made = made.or(of.first());
        let leaves = |end: &ElementName| -> BTreeSet<ElementName> {
            let all = made.map(|at| self.versions[*at].leaves(end)).unwrap_or_default();
            all.into_iter().map(|leaf| leaf.name.clone()).collect()
        };
        let end = |end: &ElementName, ranks: Vec<(u8, u8)>| End {
            leaves: leaves(end),
            least: ranks.iter().map(|(least, _)| *least).min().unwrap_or_default(),
            named: ranks
                .first()
                .filter(|one| ranks.iter().all(|other| other == *one))
                .map(|(_, named)| *named),
        };
        let rank = |state: State| state.rank().unwrap_or(4);
        let sources =
            declared.iter().map(|of| (least(of.source_state, of.source_modifier), rank(of.source_state)));
        let targets =
            declared.iter().map(|of| (least(of.target_state, of.target_modifier), rank(of.target_state)));
        [end(&key.source, sources.collect()), end(&key.target, targets.collect())]
    }

    /// Returns the observable state of an assembly: a text for each resource, by name, and a text for each pair.
    ///
    /// The text of a resource contains its state, its type, and whether its values are those of `desired`. The text of
    /// a pair is `up to date`, `stale` (created with outdated values), or `half-made` (only partly created).
    pub fn seen(&self, desired: &Topology) -> (BTreeMap<String, String>, BTreeMap<PairKey, &'static str>) {
        let own = |name: &ElementName| name.assembly() == *desired.name();
        let mut things = BTreeMap::new();
        for (name, thing) in self.things.iter().filter(|(name, _)| own(name)) {
            let now = self.value(desired, name).ok();
            let fresh = if now.is_some() && now == thing.input { "up to date" } else { "stale" };
            things.insert(name.to_string(), format!("{} {fresh} {}", thing.state, thing.kind));
        }
        let pairs = self.pairs.iter().filter(|(key, _)| own(&key.assembly)).map(|(key, bond)| {
            let fresh = if self.peer(desired, key) == bond.peer { "up to date" } else { "stale" };
            (key.clone(), if bond.half.is_some() { "half-made" } else { fresh })
        });
        (things, pairs.collect())
    }

    /// Returns the result that [`seen`](Self::seen) should have after a successful process.
    ///
    /// In this result, all resources of the assembly `desired` are Active, all pairs exist, and everything is up to
    /// date.
    pub fn expected(desired: &Topology) -> (BTreeMap<String, String>, BTreeMap<PairKey, &'static str>) {
        let resources = desired.elements().iter().filter(|e| e.kind == ElementKind::Resource);
        let things = resources.map(|e| (e.name.to_string(), format!("Active up to date {}", e.descriptor)));
        let calling = desired.relationships().iter().filter(|relationship| !relationship.create.is_empty());
        let pairs = calling.flat_map(|relationship| all_pairs(desired, relationship));
        (things.collect(), pairs.map(|key| (key, "up to date")).collect())
    }
}

/// Returns all pairs of a relationship: each source with each target.
pub fn all_pairs(topology: &Topology, relationship: &Relationship) -> Vec<PairKey> {
    let mut pairs = Vec::new();
    for source in relationship.sources.iter().flat_map(|end| topology.nodes(&end.element)) {
        for target in relationship.targets.iter().flat_map(|end| topology.nodes(&end.element)) {
            pairs.push(PairKey {
                assembly: relationship.assembly.clone(),
                relationship: relationship.name.clone(),
                source: source.name.clone(),
                target: target.name.clone(),
            });
        }
    }
    pairs
}

/// Returns the output of a resource, for example `t__c1#5`. `generation` identifies the publication; see
/// [`Thing::generation`].
fn output(name: &ElementName, generation: u64) -> String {
    format!("{name}#{generation}")
}

impl Lookup for Ground {
    fn output(&self, element: &ElementName, _: &PropertyName) -> Output {
        match self.things.get(element).map(|thing| thing.generation) {
            Some(generation @ 1..) => Output::Published(Resolved::plain(output(element, generation))),
            _ => Output::NotYet,
        }
    }

    fn instance_id(&self, _: &ElementName) -> Option<InstanceId> {
        None
    }

    fn secret(&self, _: &SecretRef) -> Option<Sensitive<String>> {
        None
    }
}
