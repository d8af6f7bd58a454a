//! An assembly in memory: its desired version, its records and its values.
//!
//! Each change is applied to the world in memory, and is at the same time added to a batch for the store. When the
//! batch is written, the store contains the same records as the world.
//!
//! [`World`] itself contains the topologies and the states of elements. The types [`Pairs`], [`Instances`],
//! [`Packages`], [`Secrets`] and [`Readers`] contain the other data of an assembly.

mod instances;
mod packages;
mod pairs;
mod readers;
mod secrets;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::Value;
use windlass_driver::Package;
use windlass_model::assembly::{ElementKind, OperationCall, PackageDigest};
use windlass_model::id::Entropy;
use windlass_model::record::{
    AssemblyRecord, Begun, CommandRecord, ElementRecord, Failure, FailureKind, PairKey,
};
use windlass_model::resolve::{Lookup, Output, Resolved};
use windlass_model::template::End;
use windlass_model::{
    AssemblyName, CommandId, Element, ElementName, InstanceId, OperationName, PropertyName, Side, State,
    Timestamp, Topology,
};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Lease, Snapshot};

pub(crate) use self::instances::Instances;
pub(crate) use self::packages::Packages;
pub(crate) use self::pairs::Pairs;
pub(crate) use self::readers::{Reader, Readers};
pub(crate) use self::secrets::Secrets;
use crate::sealing::{is_of_instance, secrets_of};

/// An assembly that the process of another assembly uses. For example, the process of the assembly `shop` calls the
/// operation `AddBackend` on a load balancer of the assembly `gateway`. A `ForeignAssembly` then contains `gateway`
/// and the lease of `gateway`.
pub(crate) struct ForeignAssembly {
    pub(crate) lease: Lease,
    pub(crate) world: World,
}

/// The commands of an assembly that have not ended.
pub(crate) type Commands = BTreeMap<CommandId, CommandRecord>;

/// The configuration of a factory, which the calls of the factory's applications use. Each key is the id of a value
/// that the factory's manifest declares, such as `cloud.region`. A [`Failure`] gives the reason why the
/// configuration can't be read.
pub(crate) type Configuration = Result<BTreeMap<String, Resolved>, Failure>;

/// An assembly in memory.
pub(crate) struct World {
    pub(crate) assembly: AssemblyRecord,
    /// The topology of the installed version, if it differs from the desired topology.
    pub(crate) installed: Option<Topology>,
    pub(crate) elements: BTreeMap<ElementName, ElementRecord>,
    pub(crate) instances: Instances,
    pub(crate) pairs: Pairs,
    pub(crate) packages: Packages,
    pub(crate) secrets: Secrets,
    pub(crate) readers: Readers,
    /// The configuration of the factory of an application; `None` for other assemblies.
    pub(crate) configuration: Option<Configuration>,
    /// The commands that have not ended.
    pub(crate) commands: Commands,
    /// Whether the plan is limited to some elements of the assembly.
    pub(crate) limited: bool,
    /// The elements of the calls that this process leaves open. These calls belong to earlier processes. The process
    /// does not change these elements.
    pub(crate) left_open: BTreeSet<ElementName>,
    /// Other assemblies that the process also needs, by assembly name. The process calls operations on elements of
    /// these assemblies, and holds their leases.
    pub(crate) foreign_assemblies: BTreeMap<AssemblyName, ForeignAssembly>,
}

impl World {
    /// Creates the world of an assembly that has no elements yet.
    pub(crate) fn new(assembly: AssemblyRecord) -> Self {
        Self {
            assembly,
            installed: None,
            elements: BTreeMap::new(),
            instances: Instances::default(),
            pairs: Pairs::default(),
            packages: Packages::default(),
            secrets: Secrets::default(),
            readers: Readers::default(),
            configuration: None,
            commands: Commands::new(),
            limited: false,
            left_open: BTreeSet::new(),
            foreign_assemblies: BTreeMap::new(),
        }
    }

    /// Creates the world of a recorded assembly.
    pub(crate) fn load(snapshot: Snapshot) -> Self {
        Self {
            secrets: Secrets::of(&snapshot),
            pairs: Pairs::of(snapshot.pairs, &snapshot.elements),
            elements: snapshot.elements,
            instances: Instances::new(snapshot.instances),
            ..Self::new(snapshot.assembly)
        }
    }

    /// Returns the pairs that no longer exist after an element is removed. A pair is a relationship between two
    /// nodes.
    ///
    /// The result contains each pair of the element itself. It also contains each pair of an assembly to which the
    /// element belongs, because this assembly is incomplete without the element.
    pub(crate) fn pairs_lost_with(&self, element: &ElementName) -> Vec<PairKey> {
        if !self.pairs.is_tied(element) {
            return Vec::new();
        }
        let mut ends: Vec<ElementName> =
            pairs::enclosing(element).filter(|whole| self.belongs(element, whole)).collect();
        ends.push(element.clone());
        let keys = self.pairs.there().map(|pair| &pair.key);
        keys.filter(|key| ends.contains(&key.source) || ends.contains(&key.target)).cloned().collect()
    }

    /// Tells whether `part` belongs to the assembly `whole`, according to the newest version that contains
    /// `whole`.
    fn belongs(&self, part: &ElementName, whole: &ElementName) -> bool {
        let is_assembly = |t: &&Topology| t.get(whole).is_some_and(|e| e.kind == ElementKind::Assembly);
        let described = [Side::Desired, Side::Installed].map(|side| self.version(side));
        described.into_iter().find(is_assembly).is_some_and(|topology| topology.get(part).is_some())
    }

    /// Drops the secrets that no instance has any more: sealed outputs and sealed natural ids. For example, an
    /// instance was removed, or a newer report has replaced a secret output.
    ///
    /// The function is called at the end of a process, and not at the removal of an instance. Until the end of the
    /// process, calls may still run, and windlass masks their output with the secrets of the store.
    ///
    /// For an application, this function drops nothing: an application keeps its secrets until it is removed. The
    /// recorded jobs of the application may contain old secrets, and windlass masks these jobs with the secrets of the
    /// store.
    pub(crate) fn forget_unused_secrets(&mut self, batch: &mut Batch) {
        if self.assembly.application.is_some() {
            return;
        }
        let of_instances = self.secrets.names().filter(|secret| is_of_instance(secret, &self.assembly.name));
        let mut unused: BTreeSet<SecretRef> = of_instances.cloned().collect();
        if unused.is_empty() {
            return;
        }
        for secret in self.instances.iter().flat_map(secrets_of) {
            unused.remove(&secret);
        }
        for secret in unused {
            self.secrets.forget(secret, batch);
        }
    }

    /// Empties `foreign_assemblies`, and returns the leases of these assemblies.
    pub(crate) fn take_leases(&mut self) -> Vec<Lease> {
        std::mem::take(&mut self.foreign_assemblies).into_values().map(|foreign| foreign.lease).collect()
    }

    /// Tells whether an element belongs to another assembly.
    pub(crate) fn is_foreign(&self, element: &ElementName) -> bool {
        element.assembly() != self.assembly.name
    }

    /// Returns the world that contains an element: this world, or the world of another assembly.
    pub(crate) fn home(&self, element: &ElementName) -> &Self {
        match self.foreign_assemblies.get(&element.assembly()) {
            Some(foreign) => &foreign.world,
            None => self,
        }
    }

    /// Returns a mutable reference to the world that contains an element: this world, or the world of another
    /// assembly.
    pub(crate) fn home_mut(&mut self, element: &ElementName) -> &mut Self {
        if !self.foreign_assemblies.contains_key(&element.assembly()) {
            return self;
        }
        &mut self.foreign_assemblies.get_mut(&element.assembly()).expect("it was just seen").world
    }

    /// Tells whether an element belongs to another assembly and no longer exists.
    pub(crate) fn is_missed(&self, element: &ElementName) -> bool {
        let there = |foreign: &ForeignAssembly| {
            foreign.world.elements.get(element).is_some_and(|record| record.state != State::Absent)
        };
        self.is_foreign(element) && !self.foreign_assemblies.get(&element.assembly()).is_some_and(there)
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.assembly.topology
    }

    /// Returns the topology of the installed or the desired version.
    pub(crate) fn version(&self, side: Side) -> &Topology {
        match (side, &self.installed) {
            (Side::Installed, Some(installed)) => installed,
            _ => &self.assembly.topology,
        }
    }

    /// Returns an element as version `side` describes it. If that version does not contain the element, the
    /// other version is used.
    pub(crate) fn element(&self, name: &ElementName, side: Side) -> Option<&Element> {
        let other = match side {
            Side::Installed => Side::Desired,
            Side::Desired => Side::Installed,
        };
        self.version(side).get(name).or_else(|| self.version(other).get(name))
    }

    /// Creates a record with a new instance id for each element of the desired topology that has no record.
    pub(crate) fn enroll(&mut self, now: Timestamp, entropy: &dyn Entropy, batch: &mut Vec<ElementRecord>) {
        for element in self.assembly.topology.elements() {
            if element.kind == ElementKind::Reference || self.elements.contains_key(&element.name) {
                continue;
            }
            let record = ElementRecord::new(element.name.clone(), InstanceId::random(entropy), now);
            batch.push(record.clone());
            self.elements.insert(element.name.clone(), record);
        }
    }

    /// Returns the pairs of a relationship that connect the nodes of `sources` to `target`, in the order of `sources`.
    ///
    /// A node may occur several times in `sources`, because plans of earlier builds list a source once for each of its
    /// capabilities. The result contains no duplicates.
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
        let mut seen = HashSet::new();
        let sources = sources.iter().flat_map(|end| topology.nodes(end));
        let sources = sources.filter(|source| seen.insert(&source.name));
        let key = |source: &Element| PairKey {
            assembly: assembly.clone(),
            relationship: found.name.clone(),
            source: source.name.clone(),
            target: target.clone(),
        };
        sources.map(key).collect()
    }

    /// Returns the operations that were called so far to create a half-created pair. Each operation comes with the
    /// operations that undo it.
    ///
    /// A pair is a relationship between two nodes. It is half-created if operations that create it were called,
    /// but not all of them have succeeded. For other pairs, the result is empty.
    ///
    /// Older versions of windlass recorded only how many operations were called, and not which. For such a record, the
    /// function takes this number of operations from the beginning of the relationship's list of operations.
    pub(crate) fn begun(&self, key: &PairKey) -> Vec<Begun> {
        let Some(pair) = self.pairs.get(key).filter(|pair| pair.is_half_made()) else { return Vec::new() };
        if !pair.begun.is_empty() {
            return pair.begun.clone();
        }
        (0..pair.progress as usize).filter_map(|at| self.begins(key, at)).collect()
    }

    /// Returns one of the operations that create a pair, and the operations that undo this operation. A pair is a
    /// relationship between two nodes.
    ///
    /// Each relationship has a list of the operations that create its pairs. `at` is an index in this list. The method
    /// uses the relationship of the desired version, or else of the installed version. The result is `None` if neither
    /// version contains the relationship, or if the list has no entry `at`.
    pub(crate) fn begins(&self, key: &PairKey, at: usize) -> Option<Begun> {
        let described = [Side::Desired, Side::Installed].map(|side| self.version(side));
        let mut found =
            described.into_iter().filter_map(|of| of.relationship(&key.assembly, key.relationship.as_str()));
        let relationship = found.next()?;
        Some(Begun { operation: relationship.create.get(at)?.clone(), undo: relationship.undo_of(at) })
    }

    /// Returns the resource that executes an operation of a pair, and the name of the operation in that resource. A
    /// pair is one source and one target of a relationship. `call` tells which operation of the source or the target is
    /// meant.
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

    /// Returns the lowest state of all resources; `None` if the assembly has no resources.
    pub(crate) fn lowest(&self) -> Option<State> {
        let resources = self.topology().elements().iter();
        let resources = resources.filter(|element| element.kind == ElementKind::Resource);
        let state = |name| self.elements.get(name).map(|record| record.state).unwrap_or_default();
        resources.map(|element| state(&element.name)).min_by_key(|state| state.rank())
    }

    /// Returns the state that the assembly as a whole has reached, which is the lowest state of its resources.
    ///
    /// If the assembly has no resources, the result is the desired state of the assembly.
    pub(crate) fn reached(&self) -> State {
        self.lowest().unwrap_or(self.assembly.goal)
    }

    /// Returns the package that the calls on an element use. `side` is the version of the assembly from which these
    /// calls take their values.
    pub(crate) fn package(&self, element: &Element, side: Side) -> Result<Arc<Package>, Failure> {
        self.packages.of(element, self.elements.get(&element.name), side)
    }

    /// Returns the desired package of an element, if its instance can use that package but does not use it
    /// yet.
    pub(crate) fn new_package(&self, element: &ElementName) -> Option<&PackageDigest> {
        let made = self.elements.get(element)?.made.as_ref()?;
        let described = self.element(element, Side::Desired)?;
        let desired = self.assembly.packages.get(&described.descriptor)?;
        self.packages.is_kept(&made.package, desired).then_some(desired)
    }
}

impl Lookup for World {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        match self.instances.output(element, property) {
            Some(value) => Output::Published(match SecretRef::from_value(value) {
                Some(secret) => {
                    let text = self.secrets.text(&secret).unwrap_or("***");
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
