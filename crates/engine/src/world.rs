//! An assembly in memory: its desired version, its records and its values.
//!
//! Every change is made here first and yields the changes to commit, so memory and store can't differ.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use windlass_driver::{Input, Package, Placement, Registry};
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

/// Another assembly, on whose elements operations are called.
pub(crate) struct ForeignAssembly {
    pub(crate) lease: Lease,
    pub(crate) world: World,
}

/// The treatment of unknown values in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The call is refused.
    Refused,
    /// The values are omitted: teardown tolerates missing inputs.
    LeftOut,
}

impl Unknown {
    /// Returns the treatment for calls of a version. Calls of the installed version remove elements and cease
    /// relationships.
    pub(crate) fn of(side: Side) -> Self {
        match side {
            Side::Installed => Self::LeftOut,
            Side::Desired => Self::Refused,
        }
    }
}

/// The properties that read each output, with the version that declares them. An element that has not reached
/// the desired version yet reads as its own version declares.
pub(crate) type Readers = HashMap<(ElementName, PropertyName), Vec<(ElementName, PropertyName, Side)>>;

/// An assembly in memory.
pub(crate) struct World {
    pub(crate) assembly: AssemblyRecord,
    /// The topology that existing elements were created from, if it differs from the desired one.
    pub(crate) installed: Option<Topology>,
    /// The packages that existing elements were created from.
    pub(crate) previous: HashMap<PackageDigest, Arc<Package>>,
    pub(crate) elements: BTreeMap<ElementName, ElementRecord>,
    pub(crate) instances: BTreeMap<ElementName, InstanceRecord>,
    pub(crate) pairs: BTreeMap<PairKey, PairRecord>,
    /// Number of created or half-created relationships at each element.
    tied: HashMap<ElementName, usize>,
    /// The pairs that were dropped because an endpoint is gone, and whose drop is not recorded yet.
    parted: Vec<PairKey>,
    pub(crate) packages: HashMap<DescriptorName, Arc<Package>>,
    /// The changes of packages, from an installed to a desired one, after which drivers keep the instances.
    pub(crate) kept: BTreeSet<(PackageDigest, PackageDigest)>,
    /// Whether the plan is limited to some elements.
    pub(crate) limited: bool,
    /// Other assemblies on whose elements operations are called, each under its own lease.
    pub(crate) foreign_assemblies: BTreeMap<AssemblyName, ForeignAssembly>,
    /// The readers of each output, computed on first use.
    pub(crate) readers: Option<Readers>,
    secrets: BTreeMap<SecretRef, Sensitive<String>>,
}

impl World {
    /// Creates the world of an assembly that has no elements yet.
    pub(crate) fn new(assembly: AssemblyRecord) -> Self {
        Self {
            assembly,
            installed: None,
            previous: HashMap::new(),
            elements: BTreeMap::new(),
            instances: BTreeMap::new(),
            pairs: BTreeMap::new(),
            tied: HashMap::new(),
            parted: Vec::new(),
            packages: HashMap::new(),
            kept: BTreeSet::new(),
            limited: false,
            foreign_assemblies: BTreeMap::new(),
            readers: None,
            secrets: BTreeMap::new(),
        }
    }

    /// Creates the world of a recorded assembly.
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

    /// Drops the pairs of elements that are gone, whether or not these pairs could be ceased.
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

    /// Persists pairs that were dropped because an endpoint is gone. A re-created endpoint starts without them.
    pub(crate) fn note_parted(&mut self, batch: &mut Batch) {
        for key in std::mem::take(&mut self.parted) {
            self.forget_given(&key, batch);
            if let Some(record) = self.pairs.get(&key) {
                batch.push(windlass_store::Change::PutPair(Box::new(record.clone())));
            }
        }
    }

    /// Stores the record of a pair.
    pub(crate) fn put_pair(&mut self, record: PairRecord) {
        let PairKey { source, target, .. } = record.key.clone();
        let now = record.is_there();
        let before = self.pairs.insert(record.key.clone(), record).is_some_and(|pair| pair.is_there());
        for end in [source, target] {
            let tied = self.tied.entry(end).or_default();
            *tied = (*tied + usize::from(now)).saturating_sub(usize::from(before));
        }
    }

    /// Returns the pairs that a removed element takes with it: its own, and those of each assembly that is
    /// incomplete without it.
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

    /// Tells whether an element, or an enclosing one, is an end of a created or half-created relationship.
    pub(crate) fn is_tied(&self, element: &ElementName) -> bool {
        let ends = || enclosing(element).chain([element.clone()]);
        ends().any(|end| self.tied.get(&end).is_some_and(|tied| *tied > 0))
    }

    /// Tells whether an element belongs to an assembly, in the newest version that has this assembly.
    fn belongs(&self, part: &ElementName, whole: &ElementName) -> bool {
        let is_assembly = |t: &&Topology| t.get(whole).is_some_and(|e| e.kind == ElementKind::Assembly);
        let described = [Side::Desired, Side::Installed].map(|side| self.version(side));
        described.into_iter().find(is_assembly).is_some_and(|topology| topology.get(part).is_some())
    }

    /// Drops the other assemblies, and returns their leases.
    pub(crate) fn take_leases(&mut self) -> Vec<Lease> {
        std::mem::take(&mut self.foreign_assemblies).into_values().map(|foreign| foreign.lease).collect()
    }

    /// Tells whether an element belongs to another assembly.
    pub(crate) fn is_foreign(&self, element: &ElementName) -> bool {
        element.assembly() != self.assembly.name
    }

    /// Returns the world of an element: this one, or that of another assembly.
    pub(crate) fn home(&self, element: &ElementName) -> &Self {
        match self.foreign_assemblies.get(&element.assembly()) {
            Some(foreign) => &foreign.world,
            None => self,
        }
    }

    /// Returns the world of an element, for changes.
    pub(crate) fn home_mut(&mut self, element: &ElementName) -> &mut Self {
        if !self.foreign_assemblies.contains_key(&element.assembly()) {
            return self;
        }
        &mut self.foreign_assemblies.get_mut(&element.assembly()).expect("it was just seen").world
    }

    /// Tells whether an element of another assembly no longer exists.
    pub(crate) fn is_missed(&self, element: &ElementName) -> bool {
        let there = |foreign: &ForeignAssembly| {
            foreign.world.elements.get(element).is_some_and(|record| record.state != State::Absent)
        };
        self.is_foreign(element) && !self.foreign_assemblies.get(&element.assembly()).is_some_and(there)
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

    /// Returns an element as described by a version, or else by the other version.
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

    /// Returns the text of a secret, if the secret could be opened.
    pub(crate) fn opened(&self, secret: &SecretRef) -> Option<&str> {
        self.secrets.get(secret).map(|value| value.expose().as_str())
    }

    /// Returns the natural id of an instance, even if it is sealed.
    pub(crate) fn natural(&self, instance: &InstanceRecord) -> Option<String> {
        let sealed = || self.opened(instance.sealed_natural.as_ref()?).map(str::to_owned);
        instance.natural.clone().or_else(sealed)
    }

    /// Returns the texts of all secrets.
    pub(crate) fn all_opened(&self) -> Vec<String> {
        self.secrets.values().map(|secret| secret.expose().clone()).collect()
    }

    /// Stores a secret, or drops it.
    pub(crate) fn keep_secret(&mut self, secret: SecretRef, value: Option<Sensitive<String>>) {
        match value {
            Some(value) => drop(self.secrets.insert(secret, value)),
            None => drop(self.secrets.remove(&secret)),
        }
    }

    /// Creates a record with a new id for each element that has none.
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
                outdated: BTreeMap::new(),
                heals: 0,
            };
            batch.push(record.clone());
            self.elements.insert(element.name.clone(), record);
        }
    }

    /// Returns the present state of everything, for the planner.
    pub(crate) fn current(&self) -> Current {
        let mut current = Current::default();
        for record in self.elements.values() {
            // A launch whose end is unknown may have left an instance with an unknown natural id.
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
            now.outdated.clone_from(&record.outdated);
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
        for (pair, values) in self.outdated_pairs() {
            current.outdated(pair, values);
        }
        current
    }

    /// Returns the pairs of a relationship between one target and some of its sources, in their order.
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

    /// Returns the operations that were called for a half-created relationship, with their undo calls. Older
    /// records have only the number of these operations.
    pub(crate) fn begun(&self, key: &PairKey) -> Vec<Begun> {
        let Some(pair) = self.pairs.get(key).filter(|pair| pair.is_half_made()) else { return Vec::new() };
        if !pair.begun.is_empty() {
            return pair.begun.clone();
        }
        (0..pair.progress as usize).filter_map(|at| self.begins(key, at)).collect()
    }

    /// Returns a creating operation of a relationship by its index, with its undo calls. The desired version
    /// has precedence over the installed one.
    pub(crate) fn begins(&self, key: &PairKey, at: usize) -> Option<Begun> {
        let described = [Side::Desired, Side::Installed].map(|side| self.version(side));
        let mut found =
            described.into_iter().filter_map(|of| of.relationship(&key.assembly, key.relationship.as_str()));
        let relationship = found.next()?;
        Some(Begun { operation: relationship.create.get(at)?.clone(), undo: relationship.undo_of(at) })
    }

    /// Resolves an operation of a pair to the resource that has it.
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

    /// Returns the placement of an element.
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

    /// Resolves the properties of an element for a call. Own outputs that are not published yet are omitted.
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
                // The property is an own output without a value, or the call tolerates missing values.
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

    /// Returns the lowest state of the resources; `None` if there are none.
    pub(crate) fn lowest(&self) -> Option<State> {
        let resources = self.topology().elements().iter();
        let resources = resources.filter(|element| element.kind == ElementKind::Resource);
        let state = |name| self.elements.get(name).map(|record| record.state).unwrap_or_default();
        resources.map(|element| state(&element.name)).min_by_key(|state| state.rank())
    }

    /// Returns the state that all resources have reached; the goal if there are none.
    pub(crate) fn reached(&self) -> State {
        self.lowest().unwrap_or(self.assembly.goal)
    }

    /// Returns the known output properties of the assembly.
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

    /// Returns the known public properties of the assembly, which other assemblies may read.
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

    /// Returns the package of an element. An instance that its driver does not keep after a change of its package
    /// uses the old one, also for the desired version.
    pub(crate) fn package(&self, element: &Element, side: Side) -> Result<Arc<Package>, Failure> {
        let made = self.elements.get(&element.name).and_then(|record| record.made.as_ref());
        let previous = made.and_then(|made| self.previous.get(&made.package));
        let previous = previous.filter(|_| side == Side::Installed || self.has_outdated_package(element));
        // A reference that is no longer desired has no record of its package, so a former one of that name is
        // used.
        let parted = || {
            let of_name = self.previous.values().filter(|package| package.name() == &element.descriptor);
            of_name.min_by_key(|package| &package.digest().0)
        };
        previous.or_else(|| self.packages.get(&element.descriptor)).or_else(parted).cloned().ok_or_else(
            || {
                Failure::new(
                    FailureKind::NotFound,
                    format!("the package of `{}` is not there", element.descriptor),
                )
            },
        )
    }

    /// Tells whether an element exists and can't use the desired package of its type.
    fn has_outdated_package(&self, element: &Element) -> bool {
        let there = |record: &&ElementRecord| !matches!(record.state, State::Absent | State::Failed);
        let made = self.elements.get(&element.name).filter(there).and_then(|record| record.made.as_ref());
        let known = made.and_then(|made| self.previous.get(&made.package));
        // An element of another type is re-created.
        let (Some(old), Some(new)) = (known, self.packages.get(&element.descriptor)) else { return false };
        let change = (old.digest().clone(), new.digest().clone());
        old.name() == new.name() && change.0 != change.1 && !self.kept.contains(&change)
    }

    /// Returns the desired package of an element, if its instance can use it and does not yet.
    pub(crate) fn new_package(&self, element: &ElementName) -> Option<PackageDigest> {
        let made = self.elements.get(element)?.made.as_ref()?;
        let described = self.element(element, Side::Desired)?;
        let desired = self.assembly.packages.get(&described.descriptor)?;
        self.kept.contains(&(made.package.clone(), desired.clone())).then(|| desired.clone())
    }

    /// Asks the drivers for the changes of packages after which they keep the instances.
    pub(crate) fn ask_what_is_kept(&mut self, drivers: &Registry) {
        let made = self.elements.values().filter_map(|record| Some(&record.made.as_ref()?.package));
        let made: BTreeSet<&PackageDigest> = made.collect();
        let old = made.into_iter().filter_map(|digest| self.previous.get(digest));
        let changes = old.filter_map(|old| Some((old, self.packages.get(old.name())?)));
        let kept = changes.filter(|(old, new)| old.digest() != new.digest() && keeps(drivers, old, new));
        self.kept = kept.map(|(old, new)| (old.digest().clone(), new.digest().clone())).collect();
    }

    /// Returns the pinned packages.
    pub(crate) fn pinned(&self) -> HashMap<DescriptorName, Arc<Package>> {
        let pins = self.assembly.packages.iter();
        pins.filter_map(|(name, digest)| Some((name.clone(), self.previous.get(digest)?.clone()))).collect()
    }
}

/// Tells whether the drivers of a package keep its instances for another package: the same drivers, and each
/// of them agrees.
fn keeps(drivers: &Registry, old: &Package, new: &Package) -> bool {
    let named = old.bindings().drivers();
    let agrees = |kind| {
        let driver = drivers.get(kind);
        driver
            .is_some_and(|driver| catch_unwind(AssertUnwindSafe(|| driver.keeps(old, new))).unwrap_or(false))
    };
    named == new.bindings().drivers() && named.into_iter().all(agrees)
}

/// Returns the names of an element's sensitive properties.
pub(crate) fn sensitive(element: &Element) -> BTreeSet<PropertyName> {
    let sensitive = element.properties.iter().filter(|(_, property)| property.sensitive);
    sensitive.map(|(name, _)| name.clone()).collect()
}

/// Tells whether an element and all elements in it are Absent; `false` if there are no records of them.
fn is_gone(elements: &BTreeMap<ElementName, ElementRecord>, name: &ElementName) -> bool {
    let behind = elements.range(name..).take_while(|(other, _)| other.as_str().starts_with(name.as_str()));
    let mut own = behind.filter(|(other, _)| *other == name || enclosing(other).any(|whole| whole == *name));
    let mut known = false;
    own.all(|(_, record)| {
        known = true;
        record.state == State::Absent
    }) && known
}

/// Returns the names of the enclosing groups and assemblies, the innermost first.
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

/// Binds a property of an end. A declared property has precedence over the instance's own `name`, `id` and
/// `index`.
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

/// A view of the world for one call, which records missing secrets. No call may receive the mask of a secret as
/// its value.
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

    /// Returns a new resolver for the next value, without recorded secrets. A value that reads the same secret
    /// records it again.
    fn anew<'a>(&'a self, topology: &'a Topology) -> Resolver<'a> {
        self.missing.borrow_mut().clear();
        Resolver::new(topology, self)
    }

    fn refused(&self, name: &PropertyName) -> Failure {
        let missing: Vec<String> = self.missing.borrow().iter().map(|secret| format!("`{secret}`")).collect();
        secret_gone(name, &missing.join(" and "))
    }
}

/// Returns the failure for a property that needs a secret which the store doesn't have.
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
            // The call records the secret if it is missing.
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
    /// Returns a published output of an element. A secret is its marker.
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
