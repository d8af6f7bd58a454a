//! An assembly in memory: what is wanted, how far everything has come, what values there are.
//!
//! Every change is made here first and answered with the changes to commit, so that memory and store can't drift.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use windlass_driver::{Input, Package, Placement};
use windlass_lifecycle::{Current, ElementNow, HalfMade};
use windlass_model::assembly::{ElementKind, OperationCall, PackageDigest};
use windlass_model::id::Entropy;
use windlass_model::instance::InstanceView;
use windlass_model::record::{
    AssemblyRecord, Begun, ElementRecord, Failure, FailureKind, InstanceRecord, PairKey, PairRecord,
};
use windlass_model::resolve::{Answer, Lookup, Output, ResolveError, Resolved, Resolver};
use windlass_model::template::{End, InstanceField};
use windlass_model::{
    AssemblyName, DescriptorName, Element, ElementName, InstanceId, OperationName, Part, PropertyName, Side,
    State, Template, Timestamp, Topology,
};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Lease, Snapshot};

use crate::stale::Readers;

/// Another assembly, on whose parts operations are called.
pub(crate) struct Guest {
    pub(crate) lease: Lease,
    pub(crate) world: World,
}

/// What becomes of a call some of whose values are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// It is not made.
    Refused,
    /// It is made without them: what goes may outlive what it has read from, and must still go.
    LeftOut,
}

impl Unknown {
    /// Says what is right for a call that is made with a version: with the installed one things go and are ended.
    pub(crate) fn of(side: Side) -> Self {
        match side {
            Side::Installed => Self::LeftOut,
            Side::Desired => Self::Refused,
        }
    }
}

/// An assembly in memory.
pub(crate) struct World {
    pub(crate) assembly: AssemblyRecord,
    /// What the things that are there were made from, where that is something else than what is wanted.
    pub(crate) installed: Option<Topology>,
    /// The packages that they were made from.
    pub(crate) former: HashMap<PackageDigest, Arc<Package>>,
    pub(crate) elements: BTreeMap<ElementName, ElementRecord>,
    pub(crate) instances: BTreeMap<ElementName, InstanceRecord>,
    pub(crate) pairs: BTreeMap<PairKey, PairRecord>,
    /// How many relationships each element is an end of that are made, or have been begun.
    tied: HashMap<ElementName, usize>,
    /// The relationships that are still on record and went with what is gone.
    parted: Vec<PairKey>,
    pub(crate) packages: HashMap<DescriptorName, Arc<Package>>,
    /// Whether the plan is about some of the parts only.
    pub(crate) limited: bool,
    /// Other assemblies on whose parts operations are called, each held by a lease of its own.
    pub(crate) guests: BTreeMap<AssemblyName, Guest>,
    /// Who reads which output; found when it is first needed.
    pub(crate) readers: Option<Readers>,
    secrets: BTreeMap<SecretRef, Sensitive<String>>,
}

impl World {
    /// Makes the world of an assembly that nothing is there of.
    pub(crate) fn new(assembly: AssemblyRecord) -> Self {
        Self {
            assembly,
            installed: None,
            former: HashMap::new(),
            elements: BTreeMap::new(),
            instances: BTreeMap::new(),
            pairs: BTreeMap::new(),
            tied: HashMap::new(),
            parted: Vec::new(),
            packages: HashMap::new(),
            limited: false,
            guests: BTreeMap::new(),
            readers: None,
            secrets: BTreeMap::new(),
        }
    }

    /// Makes the world that a store remembers.
    pub(crate) fn load(snapshot: Snapshot) -> Self {
        let mut world = Self {
            secrets: Self::texts(&snapshot),
            elements: snapshot.elements,
            instances: snapshot.instances,
            pairs: snapshot.pairs,
            ..Self::new(snapshot.assembly)
        };
        world.part_from_what_is_gone();
        world
    }

    /// Returns the secrets of a snapshot that are text.
    pub(crate) fn texts(snapshot: &Snapshot) -> BTreeMap<SecretRef, Sensitive<String>> {
        let texts = snapshot.secrets.iter().filter_map(|(secret, value)| {
            let text = String::from_utf8(value.expose().clone()).ok()?;
            Some((secret.clone(), Sensitive::new(text)))
        });
        texts.collect()
    }

    /// What is gone has no relationships, whether or not they could be ended before.
    fn part_from_what_is_gone(&mut self) {
        let mut tied: HashMap<ElementName, usize> = HashMap::new();
        for pair in self.pairs.values_mut().filter(|pair| pair.is_there()) {
            let PairKey { source, target, .. } = &pair.key;
            if is_gone(&self.elements, source) || is_gone(&self.elements, target) {
                *pair =
                    PairRecord { given: pair.given.take(), ..PairRecord::new(pair.key.clone(), pair.since) };
                self.parted.push(pair.key.clone());
            } else {
                for end in [source, target] {
                    *tied.entry(end.clone()).or_default() += 1;
                }
            }
        }
        self.tied = tied;
    }

    /// Writes the records down of what went with what is gone: an end that comes back has none of it.
    pub(crate) fn note_parted(&mut self, batch: &mut Batch) {
        for key in std::mem::take(&mut self.parted) {
            self.forget_given(&key, batch);
            if let Some(record) = self.pairs.get(&key) {
                batch.push(windlass_store::Change::PutPair(Box::new(record.clone())));
            }
        }
    }

    /// Puts the record of a relationship.
    pub(crate) fn put_pair(&mut self, record: PairRecord) {
        let PairKey { source, target, .. } = record.key.clone();
        let now = record.is_there();
        let before = self.pairs.insert(record.key.clone(), record).is_some_and(|pair| pair.is_there());
        for end in [source, target] {
            let tied = self.tied.entry(end).or_default();
            *tied = (*tied + usize::from(now)).saturating_sub(usize::from(before));
        }
    }

    /// Returns the relationships that go with a part that is gone: its own, and those of each assembly that is no longer
    /// whole without it.
    pub(crate) fn pairs_lost_with(&self, element: &ElementName) -> Vec<PairKey> {
        if !self.is_tied(element) {
            return Vec::new();
        }
        let mut ends: Vec<ElementName> =
            enclosing(element).filter(|whole| self.belongs(element, whole)).collect();
        ends.push(element.clone());
        let lost = |pair: &&PairRecord| {
            pair.is_there() && (ends.contains(&pair.key.source) || ends.contains(&pair.key.target))
        };
        self.pairs.values().filter(lost).map(|pair| pair.key.clone()).collect()
    }

    /// Tells whether an element, or what it is in, is an end of a relationship that is made, or has been begun.
    pub(crate) fn is_tied(&self, element: &ElementName) -> bool {
        let ends = || enclosing(element).chain([element.clone()]);
        ends().any(|end| self.tied.get(&end).is_some_and(|tied| *tied > 0))
    }

    /// Tells whether an assembly has a part, as the newest version says that has the assembly.
    fn belongs(&self, part: &ElementName, whole: &ElementName) -> bool {
        let is_assembly = |t: &&Topology| t.get(whole).is_some_and(|e| e.kind == ElementKind::Assembly);
        let described = [Side::Desired, Side::Installed].map(|side| self.version(side));
        described.into_iter().find(is_assembly).is_some_and(|topology| topology.get(part).is_some())
    }

    /// Parts with the other assemblies, and returns their leases.
    pub(crate) fn take_leases(&mut self) -> Vec<Lease> {
        std::mem::take(&mut self.guests).into_values().map(|guest| guest.lease).collect()
    }

    /// Tells whether an element is of another assembly.
    pub(crate) fn is_strange(&self, element: &ElementName) -> bool {
        element.assembly() != self.assembly.name
    }

    /// Returns the world that an element is of: this one, or that of another assembly.
    pub(crate) fn home(&self, element: &ElementName) -> &Self {
        match self.guests.get(&element.assembly()) {
            Some(guest) => &guest.world,
            None => self,
        }
    }

    /// Returns the world that an element is of, to change it.
    pub(crate) fn home_mut(&mut self, element: &ElementName) -> &mut Self {
        if !self.guests.contains_key(&element.assembly()) {
            return self;
        }
        &mut self.guests.get_mut(&element.assembly()).expect("it was just seen").world
    }

    /// Tells whether a part of another assembly is not there any more, so that nothing is left to do to it.
    pub(crate) fn is_missed(&self, element: &ElementName) -> bool {
        let there = |guest: &Guest| {
            guest.world.elements.get(element).is_some_and(|record| record.state != State::Absent)
        };
        self.is_strange(element) && !self.guests.get(&element.assembly()).is_some_and(there)
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.assembly.topology
    }

    /// Returns the topology of a version.
    pub(crate) fn version(&self, side: Side) -> &Topology {
        match (side, &self.installed) {
            (Side::Installed, Some(installed)) => installed,
            _ => &self.assembly.topology,
        }
    }

    /// Finds an element as a version describes it, else as the other does.
    pub(crate) fn element(&self, name: &ElementName, side: Side) -> Option<&Element> {
        let other = match side {
            Side::Installed => Side::Desired,
            Side::Desired => Side::Installed,
        };
        self.version(side).get(name).or_else(|| self.version(other).get(name))
    }

    pub(crate) fn add_secrets(&mut self, secrets: &BTreeMap<SecretRef, Sensitive<String>>) {
        self.secrets.extend(secrets.iter().map(|(secret, value)| (secret.clone(), value.clone())));
    }

    /// Returns a secret that may be opened.
    pub(crate) fn opened(&self, secret: &SecretRef) -> Option<&str> {
        self.secrets.get(secret).map(|value| value.expose().as_str())
    }

    /// Returns the driver's id of an instance, also where it is sealed.
    pub(crate) fn natural(&self, instance: &InstanceRecord) -> Option<String> {
        let sealed = || self.opened(instance.sealed_natural.as_ref()?).map(str::to_owned);
        instance.natural.clone().or_else(sealed)
    }

    /// Returns all secrets.
    pub(crate) fn all_opened(&self) -> Vec<String> {
        self.secrets.values().map(|secret| secret.expose().clone()).collect()
    }

    /// Keeps a secret, or forgets it.
    pub(crate) fn keep_secret(&mut self, secret: SecretRef, value: Option<Sensitive<String>>) {
        match value {
            Some(value) => drop(self.secrets.insert(secret, value)),
            None => drop(self.secrets.remove(&secret)),
        }
    }

    /// Gives every element without a record one, with a new id.
    pub(crate) fn enroll(&mut self, now: Timestamp, entropy: &dyn Entropy, batch: &mut Vec<ElementRecord>) {
        for element in self.assembly.topology.elements() {
            if element.kind == ElementKind::Reference || self.elements.contains_key(&element.name) {
                continue;
            }
            let record = ElementRecord {
                name: element.name.clone(),
                id: InstanceId::random(entropy),
                state: State::Absent,
                since: now,
                progress: 0,
                private: BTreeMap::new(),
                failure: None,
                attempted: None,
                made: None,
                stale: BTreeMap::new(),
                heals: 0,
            };
            batch.push(record.clone());
            self.elements.insert(element.name.clone(), record);
        }
    }

    /// Returns how far everything has come, for the planner.
    pub(crate) fn current(&self) -> Current {
        let mut current = Current::default();
        for record in self.elements.values() {
            // Of a launch whose end nobody knows, something may be there that nobody knows the id of.
            let is_lost = record.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Lost);
            let present =
                is_lost || self.instances.get(&record.name).is_some_and(InstanceRecord::has_natural);
            let mut now = ElementNow::new(record.state, present);
            if let Some(made) = &record.made {
                now.package = Some(made.package.clone());
                now.installed_by = made.installed_by.0;
                now.configured_by = made.configured_by.0;
            }
            now.attempted = record.attempted;
            now.stale.clone_from(&record.stale);
            current.element(record.name.clone(), now);
        }
        for pair in self.pairs.values().filter(|pair| pair.is_there()) {
            let key = pair.key.clone();
            match pair {
                PairRecord { created: false, in_doubt, .. } => {
                    let begun = self.begun(&key);
                    let last = begun.last().filter(|_| *in_doubt);
                    let in_doubt = last.map_or(0, |last| last.undo.len());
                    let undo = begun.into_iter().rev().flat_map(|begun| begun.undo).collect();
                    current.half_made(key, HalfMade { undo, in_doubt });
                }
                pair if pair.is_half_ended() => current.half_ended(key),
                _ => current.pair(key),
            }
        }
        for (pair, values) in self.outdated() {
            current.outdated(pair, values);
        }
        current
    }

    /// Returns the pairs of a relationship at one target with some of its sources, in their order.
    pub(crate) fn pairs_at(
        &self,
        assembly: &ElementName,
        relationship: &str,
        target: &ElementName,
        sources: &[ElementName],
        side: Side,
    ) -> Vec<PairKey> {
        let topology = self.version(side);
        let Some(found) = topology.relationship(assembly, relationship) else { return Vec::new() };
        let sources = sources.iter().flat_map(|end| topology.nodes(end));
        let key = |source: &Element| PairKey {
            assembly: assembly.clone(),
            relationship: found.name.clone(),
            source: source.name.clone(),
            target: target.clone(),
        };
        sources.map(key).collect()
    }

    /// Returns what has been called to make a relationship that is not made, with what undoes it. An older windlass has noted
    /// only how many operations that were.
    pub(crate) fn begun(&self, key: &PairKey) -> Vec<Begun> {
        let Some(pair) = self.pairs.get(key).filter(|pair| pair.is_half_made()) else { return Vec::new() };
        if !pair.begun.is_empty() {
            return pair.begun.clone();
        }
        (0..pair.progress as usize).filter_map(|at| self.begins(key, at)).collect()
    }

    /// Returns the operation at a place among those that make a relationship, as the version has it that is wanted, with what
    /// undoes it.
    pub(crate) fn begins(&self, key: &PairKey, at: usize) -> Option<Begun> {
        let described = [Side::Desired, Side::Installed].map(|side| self.version(side));
        let mut found =
            described.into_iter().filter_map(|of| of.relationship(&key.assembly, key.relationship.as_str()));
        let relationship = found.next()?;
        Some(Begun { operation: relationship.create.get(at)?.clone(), undo: relationship.undo_of(at) })
    }

    /// Finds the resource that an operation of a pair runs on in the end.
    pub(crate) fn operation(
        &self,
        pair: &PairKey,
        call: &OperationCall,
        side: Side,
    ) -> Result<(ElementName, OperationName), Failure> {
        let end = match call.end {
            End::Source => &pair.source,
            End::Target => &pair.target,
        };
        let element = self.element(end, side);
        match element.and_then(|element| element.operations.get(&call.operation)) {
            Some(found) => Ok((found.element.clone(), found.operation.clone())),
            None => Err(Failure::new(
                FailureKind::Refused,
                format!("`{}` has no operation `{}`", end.local(), call.operation),
            )),
        }
    }

    /// Returns where an element is placed.
    pub(crate) fn placement(&self, element: &Element, side: Side) -> Placement {
        let mut resolver = Resolver::new(self.version(side), self);
        let mut value = |name: &str| {
            let name: PropertyName = name.parse().ok()?;
            match resolver.property(&element.name, &name) {
                Ok(Answer::Known(Resolved { value: Value::String(text), .. })) if !text.is_empty() => {
                    Some(text)
                }
                _ => None,
            }
        };
        Placement {
            location: value(windlass_driver::location::DEPLOYMENT_LOCATION),
            manager: value(windlass_driver::location::RESOURCE_MANAGER),
        }
    }

    /// Resolves the properties of an element for a call. What the element itself publishes and has not yet, is left out.
    pub(crate) fn properties(
        &self,
        element: &Element,
        side: Side,
        unknown: Unknown,
    ) -> Result<BTreeMap<PropertyName, Input>, Failure> {
        let opening = Opening::of(self);
        let mut resolver = Resolver::new(self.version(side), &opening);
        let mut properties = BTreeMap::new();
        for (name, property) in &element.properties {
            let answer = resolver.property(&element.name, name);
            match answer {
                Ok(_) if opening.has_failed() => match unknown {
                    Unknown::Refused => return Err(opening.refused(name)),
                    Unknown::LeftOut => resolver = opening.anew(self.version(side)),
                },
                Ok(Answer::Known(value)) => {
                    properties.insert(name.clone(), value);
                }
                // Its own output, or one that it never published.
                _ if property.value.is_none() || unknown == Unknown::LeftOut => {}
                Ok(Answer::Waiting(missing)) => return Err(not_known(name, &missing)),
                Err(error) => {
                    return Err(Failure::new(
                        FailureKind::Refused,
                        format!("its property `{name}`: {error}"),
                    ));
                }
            }
        }
        Ok(properties)
    }

    /// Resolves the properties of a relationship for one pair.
    pub(crate) fn arguments(
        &self,
        pair: &PairKey,
        side: Side,
        unknown: Unknown,
    ) -> Result<BTreeMap<PropertyName, Input>, Failure> {
        let topology = self.version(side);
        let Some(relationship) = topology.relationship(&pair.assembly, pair.relationship.as_str()) else {
            return Ok(BTreeMap::new());
        };
        let opening = Opening::of(self);
        let mut resolver = Resolver::new(topology, &opening);
        let mut arguments = BTreeMap::new();
        for (name, property) in &relationship.properties {
            let Some(template) = &property.value else { continue };
            match argument(&mut resolver, topology, pair, template) {
                Ok(_) if opening.has_failed() => match unknown {
                    Unknown::Refused => return Err(opening.refused(name)),
                    Unknown::LeftOut => resolver = opening.anew(topology),
                },
                Ok(Answer::Known(mut value)) => {
                    value.sensitive |= property.sensitive;
                    arguments.insert(name.clone(), value);
                }
                _ if unknown == Unknown::LeftOut => {}
                Ok(Answer::Waiting(missing)) => return Err(not_known(name, &missing)),
                Err(error) => {
                    return Err(Failure::new(
                        FailureKind::Refused,
                        format!("its property `{name}`: {error}"),
                    ));
                }
            }
        }
        Ok(arguments)
    }

    /// Returns the lowest state of its parts; none where it has no parts.
    pub(crate) fn lowest(&self) -> Option<State> {
        let resources = self.topology().elements().iter();
        let resources = resources.filter(|element| element.kind == ElementKind::Resource);
        let state = |name| self.elements.get(name).map(|record| record.state).unwrap_or_default();
        resources.map(|element| state(&element.name)).min_by_key(|state| state.rank())
    }

    /// Returns the state that all of its parts have reached; where it has none, what it should be.
    pub(crate) fn reached(&self) -> State {
        self.lowest().unwrap_or(self.assembly.goal)
    }

    /// Returns all output properties of the assembly, for people.
    pub(crate) fn outputs(&self) -> BTreeMap<PropertyName, Resolved> {
        let Some(root) = self.topology().root() else { return BTreeMap::new() };
        let mut resolver = Resolver::new(self.topology(), self);
        let read_only = root.properties.iter().filter(|(_, property)| property.read_only);
        let known = read_only.filter_map(|(name, _)| match resolver.property(&root.name, name) {
            Ok(Answer::Known(value)) => Some((name.clone(), value)),
            _ => None,
        });
        known.collect()
    }

    /// Returns all values that others may read of the assembly: those of its properties that are known.
    pub(crate) fn offered(&self) -> BTreeMap<PropertyName, Resolved> {
        let Some(root) = self.topology().root() else { return BTreeMap::new() };
        let mut resolver = Resolver::new(self.topology(), self);
        let public = root.properties.iter().filter(|(_, property)| !property.private);
        let known = public.filter_map(|(name, _)| match resolver.property(&root.name, name) {
            Ok(Answer::Known(value)) if !value.value.is_null() => Some((name.clone(), value)),
            _ => None,
        });
        known.collect()
    }

    /// Returns the package of an element.
    pub(crate) fn package(&self, element: &Element, side: Side) -> Result<Arc<Package>, Failure> {
        let former = match side {
            Side::Installed => {
                let made = self.elements.get(&element.name).and_then(|record| record.made.as_ref());
                made.and_then(|made| self.former.get(&made.package))
            }
            Side::Desired => None,
        };
        // Of what a reference stood for that is not wanted any more, no record says which package it had.
        let parted = || {
            let of_name = self.former.values().filter(|package| package.name() == &element.descriptor);
            of_name.min_by_key(|package| &package.digest().0)
        };
        former.or_else(|| self.packages.get(&element.descriptor)).or_else(parted).cloned().ok_or_else(|| {
            Failure::new(
                FailureKind::NotFound,
                format!("the package of `{}` is not there", element.descriptor),
            )
        })
    }

    /// Returns the packages that are pinned, by name.
    pub(crate) fn pinned(&self) -> HashMap<DescriptorName, Arc<Package>> {
        let pins = self.assembly.packages.iter();
        pins.filter_map(|(name, digest)| Some((name.clone(), self.former.get(digest)?.clone()))).collect()
    }
}

/// Returns which of its properties an element declares to be sensitive.
pub(crate) fn sensitive(element: &Element) -> BTreeSet<PropertyName> {
    let sensitive = element.properties.iter().filter(|(_, property)| property.sensitive);
    sensitive.map(|(name, _)| name.clone()).collect()
}

/// Tells whether nothing is there of an element, nor of what is in it.
fn is_gone(elements: &BTreeMap<ElementName, ElementRecord>, name: &ElementName) -> bool {
    let behind = elements.range(name..).take_while(|(other, _)| other.as_str().starts_with(name.as_str()));
    let mut own = behind.filter(|(other, _)| *other == name || enclosing(other).any(|whole| whole == *name));
    let mut known = false;
    own.all(|(_, record)| {
        known = true;
        record.state == State::Absent
    }) && known
}

/// Returns the assemblies and groups that an element is in, by their names; the whole assembly last.
fn enclosing(name: &ElementName) -> impl Iterator<Item = ElementName> {
    let parent = |name: &str| name.rfind("__").map(|at| name[..at].to_owned());
    let names = std::iter::successors(parent(name.as_str()), move |name| parent(name));
    names.filter_map(|name| name.parse().ok())
}

/// Resolves a value of a relationship for one pair.
pub(crate) fn argument(
    resolver: &mut Resolver<'_>,
    topology: &Topology,
    pair: &PairKey,
    template: &Template,
) -> Result<Answer, ResolveError> {
    resolver.template(&template.bind_ends(&|end, property| bind_end(topology, pair, end, property)))
}

/// A declared property comes first; else `name`, `id` and `index` are the instance's own.
fn bind_end(topology: &Topology, pair: &PairKey, end: End, property: &PropertyName) -> Part {
    let element = match end {
        End::Source => &pair.source,
        End::Target => &pair.target,
    };
    let declared = topology.get(element).is_some_and(|e| e.properties.contains_key(property));
    match InstanceField::from_word(property.as_str()) {
        Some(field) if !declared => Part::Instance { element: element.clone(), field },
        _ => Part::Property { element: element.clone(), property: property.clone() },
    }
}

fn not_known(name: &PropertyName, missing: &windlass_model::resolve::Awaited) -> Failure {
    let what: Vec<String> = missing
        .iter()
        .map(|missing| match missing {
            windlass_model::resolve::Missing::Output { element, property, .. } => {
                format!("`{property}` of `{}`", element.local())
            }
            windlass_model::resolve::Missing::InstanceId(element) => {
                format!("the id of `{}`", element.local())
            }
            _ => "a value".to_owned(),
        })
        .collect();
    Failure::new(
        FailureKind::Refused,
        format!("its property `{name}` needs {}, which is unknown", what.join(" and ")),
    )
}

/// Reads of a world for a call, and notes the secrets that it does not have: none is handed out as the text that stands for it.
struct Opening<'w> {
    world: &'w World,
    missing: RefCell<BTreeSet<SecretRef>>,
}

impl<'w> Opening<'w> {
    fn of(world: &'w World) -> Self {
        Self { world, missing: RefCell::default() }
    }

    fn has_failed(&self) -> bool {
        !self.missing.borrow().is_empty()
    }

    /// Starts over with the next value, and with nothing read: what reads the same secret misses it, too.
    fn anew<'a>(&'a self, topology: &'a Topology) -> Resolver<'a> {
        self.missing.borrow_mut().clear();
        Resolver::new(topology, self)
    }

    fn refused(&self, name: &PropertyName) -> Failure {
        let missing: Vec<String> = self.missing.borrow().iter().map(|secret| format!("`{secret}`")).collect();
        secret_gone(name, &missing.join(" and "))
    }
}

/// Says that a value needs a secret that the store does not have.
pub(crate) fn secret_gone(name: &PropertyName, secret: &str) -> Failure {
    let message = format!(
        "its property `{name}` needs the secret {secret}, which the store does not have; pass the value again to `windlass up`"
    );
    Failure::new(FailureKind::Refused, message)
}

impl Lookup for Opening<'_> {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        let published = self.world.output_of(element, property);
        if let Some(secret) = published.and_then(SecretRef::from_value) {
            // Noted where it is not there.
            let _ = self.secret(&secret);
        }
        self.world.output(element, property)
    }

    fn instance_id(&self, element: &ElementName) -> Option<InstanceId> {
        self.world.instance_id(element)
    }

    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>> {
        let found = self.world.secret(secret);
        if found.is_none() {
            self.missing.borrow_mut().insert(secret.clone());
        }
        found
    }
}

impl World {
    /// Returns what an element has published, secrets as their markers.
    fn output_of(&self, element: &ElementName, property: &PropertyName) -> Option<&Value> {
        let instance = self.instances.get(element)?;
        InstanceView::new(&instance.document).output(property.as_str())
    }
}

impl Lookup for World {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        match self.output_of(element, property) {
            Some(value) => Output::Published(match SecretRef::from_value(value) {
                Some(secret) => {
                    let text = self.secrets.get(&secret).map_or("***", |secret| secret.expose().as_str());
                    Resolved { value: Value::from(text), sensitive: true }
                }
                None => Resolved::plain(value.clone()),
            }),
            None => match self.elements.get(element).and_then(|record| record.state.rank()) {
                Some(rank) if State::Installed.rank().is_some_and(|installed| rank >= installed) => {
                    Output::Nothing
                }
                _ => Output::NotYet,
            },
        }
    }

    fn instance_id(&self, element: &ElementName) -> Option<InstanceId> {
        self.elements.get(element).map(|record| record.id.clone())
    }

    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>> {
        self.secrets.get(secret).cloned()
    }
}
