//! What there really is: what somebody sees who looks from outside, and what must hold of it.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::assembly::ElementKind;
use windlass_model::record::PairKey;
use windlass_model::resolve::{Answer, Lookup, Output, Resolved, Resolver};
use windlass_model::work::Direction;
use windlass_model::{
    Element, ElementName, InstanceId, Modifier, Part, PropertyName, Relationship, State, Topology, template,
};
use windlass_secret::{SecretRef, Sensitive};

use super::property;
use crate::HalfMade;
use crate::rank::least;

/// A resource that exists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thing {
    /// How far it has come.
    pub state: State,
    /// What it was installed as.
    pub kind: String,
    /// What its property `in` was when it was last given its values.
    pub input: Option<String>,
    /// How often anything was installed before it; 0 where it publishes nothing.
    pub generation: u64,
}

/// What there really is of some assemblies, and what they were asked to be.
///
/// Every check answers with what is wrong, for people.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    versions: Vec<Topology>,
    things: BTreeMap<ElementName, Thing>,
    /// The relationships that are made.
    pairs: BTreeMap<PairKey, Bond>,
    /// Those of what was cleared away before they could be ended: an end of them is lower than it must be.
    loose: BTreeSet<PairKey>,
    /// The states in which all was when the process began that runs now.
    before: BTreeMap<ElementName, State>,
    generation: u64,
}

/// A relationship that is made.
#[derive(Debug, Clone, Default)]
struct Bond {
    /// The version that it was made for.
    version: usize,
    /// What it was given as its property `peer`.
    peer: Option<String>,
    /// What is left to undo of it, where it is made in part only.
    half: Option<HalfMade>,
}

/// One end of a relationship.
struct End {
    leaves: BTreeSet<ElementName>,
    /// The rank that it must have.
    least: u8,
    /// The rank that the relationship names, where that is the same in all versions.
    named: Option<u8>,
}

impl Ground {
    /// Notes that a process begins that makes an assembly of this name like this.
    pub fn begin(&mut self, root: &str, desired: Option<&Topology>) {
        let own = |name: &ElementName| name.assembly().as_str() == root;
        self.before.retain(|name, _| !own(name));
        let now = self.things.iter().filter(|(name, _)| own(name));
        self.before.extend(now.map(|(name, thing)| (name.clone(), thing.state)));
        if let Some(desired) = desired {
            self.versions.push(desired.clone());
        }
    }

    /// Notes that a process has reached its end: from here on, everything of the assembly is what its newest version says.
    pub fn complete(&mut self, root: &str) {
        let Some(newest) = self.versions.iter().rposition(|version| version.name().as_str() == root) else {
            return;
        };
        let own = |key: &PairKey| key.assembly.assembly().as_str() == root;
        self.pairs.iter_mut().filter(|(key, _)| own(key)).for_each(|(_, bond)| bond.version = newest);
    }

    /// Returns how many versions there have been, less one.
    pub fn newest(&self) -> usize {
        self.versions.len().saturating_sub(1)
    }

    /// Returns what exists.
    pub fn things(&self) -> &BTreeMap<ElementName, Thing> {
        &self.things
    }

    /// Returns the relationships that are made.
    pub fn pairs(&self) -> impl Iterator<Item = &PairKey> {
        self.pairs.iter().filter(|(_, bond)| bond.half.is_none()).map(|(key, _)| key)
    }

    /// Returns the relationships that are made in part, with what is left to undo of each.
    pub fn half_made(&self) -> impl Iterator<Item = (&PairKey, &HalfMade)> {
        self.pairs.iter().filter_map(|(key, bond)| Some((key, bond.half.as_ref()?)))
    }

    /// Lets a relationship be made in part; it is begun with a value of its property `peer`.
    pub fn half_make(&mut self, key: &PairKey, half: HalfMade, peer: Option<String>) {
        if !self.pairs.contains_key(key) {
            self.tie(key, Direction::Create, peer);
        }
        self.pairs.entry(key.clone()).or_default().half = Some(half);
    }

    /// Returns how far a resource has come.
    pub fn state(&self, name: &ElementName) -> State {
        self.things.get(name).map(|thing| thing.state).unwrap_or_default()
    }

    /// Lets a resource be in a state. What is gone has no relationships, and an assembly is there as long as all is there
    /// that belongs to it.
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

    /// Forgets a resource that came to nothing. What was related to it before it came stays so: as far as it came, nothing has changed.
    pub fn clear(&mut self, name: &ElementName) {
        self.things.remove(name);
    }

    /// Forgets the relationships that an assembly has with what is not there: one that is made before its end is installed may be left of a
    /// process that got no further.
    pub fn forget(&mut self, root: &str) {
        let (versions, things) = (&self.versions, &self.things);
        let gone = |end: &ElementName| {
            let Some(topology) = versions.iter().rev().find(|t| t.get(end).is_some()) else { return true };
            let leaves = topology.leaves(end);
            !leaves.is_empty() && leaves.iter().all(|leaf| !things.contains_key(&leaf.name))
        };
        let own = |key: &PairKey| key.assembly.assembly().as_str() == root;
        self.pairs.retain(|key, _| !own(key) || !gone(&key.source) && !gone(&key.target));
    }

    /// Tells whether a resource is in an assembly, as the newest version says that has that assembly.
    fn is_in(&self, name: &ElementName, whole: &ElementName) -> bool {
        let is_assembly = |t: &&Topology| t.get(whole).is_some_and(|e| e.kind == ElementKind::Assembly);
        let newest = self.versions.iter().rev().find(is_assembly);
        newest.is_some_and(|t| t.leaves(whole).iter().any(|leaf| leaf.name == *name))
    }

    /// Lets a resource publish anew, as one of this kind.
    pub fn launch(&mut self, name: &ElementName, kind: &Element) {
        self.generation += 1;
        let generation = self.generation;
        let thing = self.things.entry(name.clone()).or_default();
        (thing.generation, thing.kind) = (generation, kind.descriptor.to_string());
    }

    /// Lets a resource publish something else, without being made anew. Returns what it has published before.
    pub fn republish(&mut self, name: &ElementName) -> Option<String> {
        let thing = self.things.get_mut(name).filter(|thing| thing.generation > 0)?;
        let before = output(name, thing.generation);
        self.generation += 1;
        thing.generation = self.generation;
        Some(before)
    }

    /// Notes what a resource is being made as.
    pub fn know(&mut self, name: &ElementName, kind: &str) {
        kind.clone_into(&mut self.things.entry(name.clone()).or_default().kind);
    }

    /// Gives a resource its values.
    pub fn give(&mut self, name: &ElementName, input: String) {
        self.things.entry(name.clone()).or_default().input = Some(input);
    }

    /// Returns what a resource's property `in` is by now.
    ///
    /// # Errors
    ///
    /// It is not known yet.
    pub fn value(&self, topology: &Topology, name: &ElementName) -> Result<String, String> {
        match Resolver::new(topology, self).property(name, &property("in")) {
            Ok(Answer::Known(known)) => Ok(known.value.to_string()),
            other => Err(format!("{name} is called before its values are known: {other:?}")),
        }
    }

    /// Tells whether a relationship is made.
    pub fn is_made(&self, key: &PairKey) -> bool {
        self.pairs.get(key).is_some_and(|bond| bond.half.is_none())
    }

    /// Tells whether a relationship is made, or made in part.
    pub fn is_tied(&self, key: &PairKey) -> bool {
        self.pairs.contains_key(key)
    }

    /// Returns what a relationship that is made was given as its property `peer`.
    pub fn made_with(&self, key: &PairKey) -> Option<&String> {
        self.pairs.get(key)?.peer.as_ref()
    }

    /// Tells whether a relationship is described as having the property `peer`.
    pub fn has_peer(topology: &Topology, key: &PairKey) -> bool {
        let relationship = topology.relationship(&key.assembly, key.relationship.as_str());
        relationship.is_some_and(|relationship| !relationship.properties.is_empty())
    }

    /// Returns what a relationship would be given as its property `peer` by now; none where it has none, or it is not known.
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

    /// Makes or ends a relationship; it is made with a value of its property `peer`.
    pub fn tie(&mut self, key: &PairKey, direction: Direction, peer: Option<String>) {
        match direction {
            Direction::Create => {
                let root = key.assembly.assembly();
                let of = self.versions.iter().rposition(|version| *version.name() == root);
                // What was begun with a value is finished with it.
                let peer = self.pairs.remove(key).map_or(peer, |bond| bond.peer);
                self.pairs.insert(key.clone(), Bond { version: of.unwrap_or_default(), peer, half: None });
            }
            Direction::Cease | Direction::Undo => drop(self.pairs.remove(key)),
        }
        self.loose.remove(key);
    }

    /// Checks that a relationship may be made or ended now: both ends are in their least states.
    ///
    /// # Errors
    ///
    /// An end is not.
    pub fn check_tie(&self, key: &PairKey, direction: Direction) -> Result<(), String> {
        if direction != Direction::Create && self.loose.contains(key) {
            return Ok(());
        }
        for end in self.ends(key, direction) {
            for leaf in &end.leaves {
                let state = self.state(leaf);
                // What is not well is cleared away, whatever it was related to.
                let unwell = matches!(state, State::Failed | State::Broken) && direction != Direction::Create;
                if !unwell && self.rank(leaf) < Some(self.floor(leaf, end.least)) {
                    return Err(format!("{direction:?} of {key:?}: {leaf} is {state}, not {}", end.least));
                }
            }
        }
        Ok(())
    }

    /// Tells whether nothing is there of an end of a relationship that is made: it may be made once more.
    pub fn hangs(&self, key: &PairKey) -> bool {
        let ends = self.ends(key, Direction::Create);
        ends.iter().any(|end| end.leaves.iter().any(|leaf| self.rank(leaf) == Some(0)))
    }

    /// Checks that a resource may reach a state: what is to be made before that is made. For processes that make all of an
    /// assembly Active.
    ///
    /// # Errors
    ///
    /// It is not made.
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

    /// Checks that a resource may take a step while a relationship of it is being made or ended.
    ///
    /// # Errors
    ///
    /// It may not.
    pub fn check_beside(
        &self,
        (name, from, to): (&ElementName, State, State),
        key: &PairKey,
        direction: Direction,
    ) -> Result<(), String> {
        let loose = direction != Direction::Create && self.loose.contains(key);
        // A step that is made again finds its work done, and moves nothing.
        if loose || from == to || matches!(from, State::Failed | State::Broken) {
            return Ok(());
        }
        for end in self.ends(key, direction).iter().filter(|end| end.leaves.contains(name)) {
            if to.rank() < Some(end.least) {
                return Err(format!("{name} leaves {from} beside {direction:?} of {key:?}"));
            }
            // Modifiers are about making it: while it is ended, an end may come to the state that it names.
            let is_held = direction == Direction::Create;
            let Some(named) = end.named.filter(|named| is_held && *named != end.least) else { continue };
            let enters = from.rank() < Some(named) && to.rank() >= Some(named);
            if enters && !(end.leaves.len() > 1 && self.is_not_the_last(name, &end.leaves, named)) {
                return Err(format!("{name} becomes {to} beside {direction:?} of {key:?}"));
            }
        }
        Ok(())
    }

    /// Checks that a resource may take a step: no relationship of it needs it where it is.
    ///
    /// # Errors
    ///
    /// One does.
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

    /// Tells whether an assembly is below a rank also when this part of it is there, or was there before.
    fn is_not_the_last(&self, part: &ElementName, whole: &BTreeSet<ElementName>, rank: u8) -> bool {
        let before = |name: &ElementName| self.before.get(name).and_then(|state| state.rank());
        whole
            .iter()
            .filter(|other| *other != part)
            .any(|other| self.state(other).rank() < Some(rank) || before(other) >= Some(rank))
    }

    /// Returns the rank of a resource: where making it has failed before it was there, nothing is there.
    fn rank(&self, name: &ElementName) -> Option<u8> {
        let thing = self.things.get(name);
        let nothing = thing.is_none_or(|thing| thing.state == State::Failed && thing.generation == 0);
        if nothing { Some(0) } else { self.state(name).rank() }
    }

    /// Returns the least rank of a resource: without Created there is nothing below Installed.
    fn floor(&self, leaf: &ElementName, least: u8) -> u8 {
        let has_created = self.versions.iter().filter_map(|t| t.get(leaf)).all(Element::has_created);
        if least == 1 && !has_created { 0 } else { least }
    }

    /// Returns the ends of a relationship that is to be made, or that was. It is ended as any version of it allows.
    fn ends(&self, key: &PairKey, direction: Direction) -> [End; 2] {
        let root = key.assembly.assembly();
        let find = |at: &usize| self.versions[*at].relationship(&key.assembly, key.relationship.as_str());
        let known = (0..self.versions.len()).rev().filter(|at| *self.versions[*at].name() == root);
        let of: Vec<usize> = match direction {
            Direction::Create => known.take(1).collect(),
            Direction::Cease | Direction::Undo => known.filter(|at| find(at).is_some()).collect(),
        };
        let declared: Vec<&Relationship> = of.iter().filter_map(find).collect();
        // What came to an end later had no part in what was made before.
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

    /// Returns what is seen from outside of an assembly, that should be as `desired`: states, whether values are up to
    /// date, types; relationships, and whether they were made with the values that there are.
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

    /// Returns what should be seen once everything has gone well.
    pub fn expected(desired: &Topology) -> (BTreeMap<String, String>, BTreeMap<PairKey, &'static str>) {
        let resources = desired.elements().iter().filter(|e| e.kind == ElementKind::Resource);
        let things = resources.map(|e| (e.name.to_string(), format!("Active up to date {}", e.descriptor)));
        let calling = desired.relationships().iter().filter(|relationship| !relationship.create.is_empty());
        let pairs = calling.flat_map(|relationship| all_pairs(desired, relationship));
        (things.collect(), pairs.map(|key| (key, "up to date")).collect())
    }
}

/// Returns what a relationship relates: each source with each target.
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

/// Returns what a resource publishes.
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
