//! The status of assemblies, with their elements and relationships.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;
use windlass_engine::check_failure;
use windlass_engine::monitor::Heals;
use windlass_lifecycle::surge_nodes;
use windlass_model::assembly::{Action, ElementKind, Endpoint, Referent};
use windlass_model::instance::InstanceView;
use windlass_model::record::{
    CallRecord, CallState, ElementRecord, Failure, PairKey, PairRecord, ProcessRecord, ProcessStatus,
};
use windlass_model::work::Batch;
use windlass_model::{
    AssemblyName, CallId, DescriptorName, Element, ElementName, InstanceId, ProcessId, PropertyName,
    Relationship, State, Timestamp,
};
use windlass_store::{Holder, Snapshot, Store};

use super::application::{self, ApplicationStatusView};
use super::rolling::{InProgress, PauseView};
use super::views::Views;
use crate::error::Error;
use crate::wiring::{Removal, Wiring};

/// The status of some assemblies.
#[derive(Debug, Clone, Serialize)]
pub struct StatusView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The assemblies, sorted by name.
    pub assemblies: Vec<AssemblyView>,
}

/// The status of an assembly.
#[derive(Debug, Clone, Serialize)]
pub struct AssemblyView {
    /// The name of the assembly.
    pub name: AssemblyName,
    /// The name of the descriptor from which the assembly was created.
    pub descriptor: DescriptorName,
    /// The state of the assembly: the lowest state of its parts. The order of the states is, from the lowest
    /// to the highest: Failed, Broken, Absent, Created, Installed, Inactive, Active.
    pub state: State,
    /// Whether the assembly lacks something: parts that should be Active are not Active, or relationships are not
    /// created or removed completely.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// The goal state of the assembly.
    pub goal: State,
    /// Whether the whole assembly is protected. If true, no intent removes or replaces any part of the
    /// assembly.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// The time at which the assembly was created.
    #[serde(serialize_with = "super::time::one")]
    pub created: Timestamp,
    /// The process that has not ended, if the assembly has one.
    pub process: Option<ProcessView>,
    /// The last process of the assembly, if it was cancelled before it had made all its changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<CancelledView>,
    /// The output properties of the assembly. The outputs of a factory include its instances: each natural id is
    /// listed with the name of the application that manages the instance.
    pub outputs: BTreeMap<PropertyName, Value>,
    /// The status of a launched application or a factory; absent for an assembly with a descriptor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationStatusView>,
    /// The calls with an unknown outcome, about which the user must decide.
    pub undecided: Vec<UndecidedView>,
    /// The relationships that have operations. Each entry contains the number of completely connected
    /// pairs, and lists the pairs that are partly connected, partly disconnected or missing.
    pub relationships: Vec<RelationshipView>,
    /// The assemblies that reference this assembly. References between applications are included only if the status
    /// was requested for a single assembly, by its name.
    pub referenced_by: Vec<AssemblyName>,
    /// The number of the assembly's active resources, and of all its resources.
    pub parts: PartsView,
    /// The elements directly inside the assembly.
    pub components: Vec<ElementView>,
    /// Additional nodes of groups. A rolling change creates such nodes, and removes them at its end. If no process
    /// is open, these nodes remain from a change that failed or was interrupted.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub additional: BTreeSet<ElementName>,
    /// Parts that are no longer desired and still exist. An upgrade is removing them, or has failed to remove
    /// them.
    pub leaving: Vec<LeavingView>,
}

/// A call that is running.
#[derive(Debug, Clone, Serialize)]
pub struct RunningView {
    /// The action of the call.
    #[serde(serialize_with = "action_word")]
    pub action: Action,
    /// The time at which the call started.
    #[serde(serialize_with = "super::time::one")]
    pub since: Timestamp,
}

fn action_word<S: serde::Serializer>(action: &Action, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(action.as_str())
}

/// The numbers of active, unhealthy and all resources of an assembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PartsView {
    /// Number of resources in the state Active.
    pub active: usize,
    /// Number of Active resources whose last health check by the daemon has failed. The failure of such a resource is in
    /// [`ElementView::failure`].
    #[serde(skip_serializing_if = "is_zero")]
    pub unhealthy: usize,
    /// Number of all resources, in any state. The parts in [`leaving`](AssemblyView::leaving) do not count.
    pub all: usize,
}

/// A part that is no longer desired and still exists.
#[derive(Debug, Clone, Serialize)]
pub struct LeavingView {
    /// The full name of the part.
    pub name: ElementName,
    /// The state of the part.
    pub state: State,
    /// The time at which the state of the part changed last.
    pub since: Timestamp,
    /// The failure of the part's last step.
    pub failure: Option<Failure>,
}

/// A process that has not ended.
#[derive(Debug, Clone, Serialize)]
pub struct ProcessView {
    /// The id of the process.
    pub id: ProcessId,
    /// The intent of the process.
    pub intent: String,
    /// The time at which the process was created.
    #[serde(serialize_with = "super::time::one")]
    pub since: Timestamp,
    /// The program that executes the process. `None` if this program has exited. In this case, the next
    /// intent first finds out the results of the open calls.
    pub runs: Option<String>,
    /// The batches of nodes that are changing now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<Batch>,
    /// The running pauses between two batches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<PauseView>,
}

/// A call with an unknown outcome, about which the user must decide.
#[derive(Debug, Clone, Serialize)]
pub struct UndecidedView {
    /// The element on which the call acted.
    pub element: ElementName,
    /// The id of the call, for the option `--of`.
    pub call: CallId,
    /// The action of the call.
    pub action: String,
    /// The relationship for which the call was to execute an operation; `None` for other calls.
    pub relationship: Option<String>,
    /// The two nodes that the operation of the call connects or separates. `None` if the call belongs to no
    /// relationship.
    pub pair: Option<PairView>,
}

/// One source node and one target node of a relationship. A relationship between three web servers and one load
/// balancer has three pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairView {
    /// The source node.
    pub source: ElementName,
    /// The target node.
    pub target: ElementName,
}

impl PairView {
    pub(crate) fn new(key: &PairKey) -> Self {
        Self { source: key.source.clone(), target: key.target.clone() }
    }
}

/// Returns the pairs of nodes on which calls act, in the order of the calls. If several calls act on a pair, the
/// result contains the pair only once.
pub(crate) fn pairs_of(calls: &[&CallRecord]) -> Vec<PairView> {
    let mut seen = HashSet::new();
    let pairs = calls.iter().filter_map(|call| call.pair.as_ref());
    pairs.filter(|pair| seen.insert(*pair)).map(PairView::new).collect()
}

/// A relationship, and the pairs of nodes that it connects.
#[derive(Debug, Clone, Serialize)]
pub struct RelationshipView {
    /// The name of the relationship.
    pub name: String,
    /// Number of completely connected pairs.
    pub made: usize,
    /// The partly connected pairs. Some operations of the creation have run or may have run, and the creation is not
    /// complete.
    pub half_made: Vec<PairView>,
    /// The partly disconnected pairs. Some operations of the removal have run or may have run, and the removal is not
    /// complete.
    pub half_ended: Vec<PairView>,
    /// The pairs that the relationship does not connect, although both nodes have reached the states that the
    /// relationship requires.
    pub missing: Vec<PairView>,
}

/// The status of an element.
#[derive(Debug, Clone, Serialize)]
pub struct ElementView {
    /// The full name of the element.
    pub name: ElementName,
    /// The kind of the element.
    pub kind: ElementKind,
    /// The name of the element's descriptor.
    pub descriptor: DescriptorName,
    /// The state of the element. The state of a group or a nested assembly is the lowest state of its parts.
    /// The field [`AssemblyView::state`] describes the order of the states.
    pub state: State,
    /// The status that the instance reports, as one word such as `active`. `None` if the instance reports no
    /// status.
    pub status: Option<String>,
    /// The message that the instance reports with its status.
    pub message: Option<String>,
    /// The call that is running on the element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningView>,
    /// The time at which the state changed last; `None` for an element without a state of its own.
    #[serde(serialize_with = "super::time::maybe")]
    pub since: Option<Timestamp>,
    /// The instance id of the element.
    pub id: Option<InstanceId>,
    /// The natural id of the element's instance.
    pub natural: Option<String>,
    /// The instance that a reference refers to; `None` for other elements.
    pub referent: Option<Referent>,
    /// The outputs that the driver publishes for the element.
    pub outputs: BTreeMap<String, Value>,
    /// The failure of the element's last step, or of its last health check by the daemon.
    pub failure: Option<Failure>,
    /// Whether the last Reconfigure of the element did not succeed. If true, it is unknown which values are
    /// in effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub values_in_doubt: bool,
    /// Whether policies no longer try to heal the element. Policies stop after
    /// [`MOST_HEALS`](windlass_engine::monitor::MOST_HEALS) attempts without success.
    pub left_alone: bool,
    /// Whether the element itself is protected. If true, no intent removes or replaces the element, or any
    /// element inside it. If false, an element around this element may still be protected, and then protects
    /// this element, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// The elements directly inside the element.
    pub components: Vec<ElementView>,
}

/// A process that was cancelled before it had made all its changes.
#[derive(Debug, Clone, Serialize)]
pub struct CancelledView {
    /// The id of the process.
    pub id: ProcessId,
    /// The intent of the process.
    pub intent: String,
}

impl Views<'_> {
    /// Returns the status of one assembly, or of all assemblies.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly, or if the store can't be read.
    pub async fn status(&self, name: Option<&AssemblyName>) -> Result<StatusView, Error> {
        let mut assemblies = Vec::new();
        let mut wiring = None;
        let wanted = match name {
            Some(name) => vec![name.clone()],
            None => self.assemblies().await?,
        };
        for found in &wanted {
            let store = self.windlass.store_of(found).await?;
            let snapshot = match store.load_sealed(found).await? {
                Some(snapshot) => snapshot,
                None if name.is_some() => return Err(self.windlass.unknown(store, found).await),
                // The assembly was removed in the meantime.
                None => continue,
            };
            let holder = store.holder(found).await?;
            let rolling = snapshot.processes.last().filter(|process| InProgress::is_possible(process));
            let rolling = match rolling.map(|process| process.id) {
                Some(process) => store.process_history(process).await?,
                None => None,
            };
            let wiring = wiring.get_or_insert_with(|| Wiring::new(store.clone()));
            let application = ApplicationStatusView::of(wiring, &snapshot).await?;
            let instances = application::instances(wiring, &snapshot).await?;
            let cancelled = CancelledView::of(&*store, &snapshot).await?;
            let mut view = AssemblyView::new(snapshot, holder.as_ref());
            view.cancelled = cancelled;
            view.application = application;
            view.outputs.extend(instances);
            if let (Some(process), Some(history)) = (&mut view.process, rolling) {
                let InProgress { batches, pauses } = InProgress::of(&history);
                process.batches = batches;
                // The pause of an interrupted process never ends, because no program executes the process.
                process.pauses = if process.runs.is_some() { pauses } else { Vec::new() };
            }
            view.referenced_by = store.referrers(found).await?;
            // References between applications are searched only if the status of one assembly was requested.
            // The search reads every application that may have such a reference.
            if name.is_some() {
                view.referenced_by.extend(Removal::of(&store, found).await?.into_referrers());
                view.referenced_by.sort();
                view.referenced_by.dedup();
            }
            assemblies.push(view);
        }
        Ok(StatusView { version: 1, assemblies })
    }

    /// Returns the names of all assemblies, sorted.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read.
    pub async fn assemblies(&self) -> Result<Vec<AssemblyName>, Error> {
        let Some(store) = self.windlass.store(false).await? else { return Ok(Vec::new()) };
        Ok(store.assembly_names().await?)
    }

    /// Returns the names of launched applications and factories, sorted. The flag is true for a factory.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read.
    pub async fn launched(&self) -> Result<Vec<(AssemblyName, bool)>, Error> {
        let Some(store) = self.windlass.store(false).await? else { return Ok(Vec::new()) };
        let all = store.assemblies(None, usize::MAX).await?.into_iter();
        let launched = all.filter(|record| record.application.is_some());
        Ok(launched.map(|record| (record.name, record.owner.is_none())).collect())
    }

    /// Returns the names of an assembly's parts, in the order of declaration.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly, or if the store can't be read.
    pub async fn parts(&self, name: &AssemblyName) -> Result<Vec<ElementName>, Error> {
        let store = self.windlass.store_of(name).await?;
        let Some(assembly) = store.assembly(name).await? else {
            return Err(self.windlass.unknown(store, name).await);
        };
        // The first element is the assembly itself.
        Ok(assembly.topology.elements().iter().skip(1).map(|element| element.name.clone()).collect())
    }

    /// Returns the names of an assembly's clusters, in the order of declaration.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly, or if the store can't be read.
    pub async fn clusters(&self, name: &AssemblyName) -> Result<Vec<ElementName>, Error> {
        let store = self.windlass.store_of(name).await?;
        let Some(assembly) = store.assembly(name).await? else {
            return Err(self.windlass.unknown(store, name).await);
        };
        let clusters = assembly.topology.elements().iter().filter(|element| element.cluster.is_some());
        Ok(clusters.map(|element| element.name.clone()).collect())
    }

    /// Returns the status of one part of an assembly, in the form of [`status`](Self::status). Four lists of the
    /// result are limited to this part and the elements inside it. These lists are
    /// [`components`](AssemblyView::components), [`undecided`](AssemblyView::undecided),
    /// [`additional`](AssemblyView::additional) and [`leaving`](AssemblyView::leaving). The other fields describe
    /// the whole assembly. `part` is the part's name relative to the assembly (`B__1`), its full name, or an id.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly or part, or if the store can't be read.
    pub async fn status_of_part(&self, name: &AssemblyName, part: &str) -> Result<StatusView, Error> {
        let part = self.windlass.part(name, part).await?;
        let mut status = self.status(Some(name)).await?;
        for assembly in &mut status.assemblies {
            assembly.keep(&part);
        }
        Ok(status)
    }
}

impl AssemblyView {
    /// Limits four lists of the status to one part and the elements inside it. These lists are `components`,
    /// `undecided`, `additional` and `leaving`. The other fields stay.
    fn keep(&mut self, part: &ElementName) {
        let mut parts = std::mem::take(&mut self.components);
        while let Some(at) = parts.iter().position(|element| part.is_in(&element.name)) {
            let found = parts.swap_remove(at);
            if found.name == *part {
                self.components = vec![found];
                break;
            }
            parts = found.components;
        }
        self.undecided.retain(|call| call.element.is_in(part));
        self.additional.retain(|node| node.is_in(part));
        self.leaving.retain(|leaving| leaving.name.is_in(part));
    }

    fn new(snapshot: Snapshot, holder: Option<&Holder>) -> Self {
        let topology = &snapshot.assembly.topology;
        let root = ElementName::from(&snapshot.assembly.name);
        let running = running(&snapshot, holder);
        let components: Vec<ElementView> =
            topology.children(&root).map(|element| ElementView::new(&snapshot, element, &running)).collect();
        let undecided = snapshot.calls.iter().filter(|call| call.state == CallState::Undecided);
        let (parts, relationships) = (PartsView::new(&snapshot), relationships(&snapshot));
        Self {
            name: snapshot.assembly.name.clone(),
            descriptor: snapshot.assembly.descriptor.clone(),
            state: lowest(components.iter().filter(|c| c.kind != ElementKind::Reference).map(|c| c.state)),
            incomplete: match snapshot.assembly.goal {
                State::Absent => false,
                State::Active if parts.active < parts.all => true,
                _ => !relationships.iter().all(RelationshipView::is_complete),
            },
            goal: snapshot.assembly.goal,
            protected: topology.root().is_some_and(|root| root.protected),
            additional: surge_nodes(topology, &snapshot.assembly.surge),
            created: snapshot.assembly.created,
            process: snapshot.processes.last().map(|process| ProcessView::new(process, holder)),
            cancelled: None,
            undecided: undecided
                .map(|call| UndecidedView {
                    element: call.element.clone(),
                    call: call.id.clone(),
                    action: call.action.to_string(),
                    relationship: call.pair.as_ref().map(|pair| pair.relationship.to_string()),
                    pair: call.pair.as_ref().map(PairView::new),
                })
                .collect(),
            application: None,
            relationships,
            referenced_by: Vec::new(),
            parts,
            leaving: leaving(&snapshot),
            components,
            outputs: windlass_engine::outputs(snapshot)
                .into_iter()
                .map(|(name, value)| (name, value.shown()))
                .collect(),
        }
    }
}

impl PartsView {
    fn new(snapshot: &Snapshot) -> Self {
        let active = states(snapshot).filter(|state| *state == State::Active).count();
        let is_unhealthy = |record: &&ElementRecord| {
            record.state == State::Active && check_failure::recorded(record).is_some()
        };
        let unhealthy = snapshot.elements.values().filter(is_unhealthy).count();
        Self { active, unhealthy, all: states(snapshot).count() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Returns the state of each desired resource.
fn states(snapshot: &Snapshot) -> impl Iterator<Item = State> {
    let elements = snapshot.assembly.topology.elements().iter();
    let resources = elements.filter(|element| element.kind == ElementKind::Resource);
    let state = |element: &Element| snapshot.elements.get(&element.name).map(|record| record.state);
    resources.map(move |element| state(element).unwrap_or_default())
}

/// Returns the running call of each element. If no program holds the lease of the assembly, no call counts as
/// running.
fn running(snapshot: &Snapshot, holder: Option<&Holder>) -> HashMap<ElementName, RunningView> {
    let calls = snapshot.calls.iter().filter(|call| holder.is_some() && call.state != CallState::Undecided);
    let view = |call: &CallRecord| RunningView { action: call.action.clone(), since: call.started };
    calls.map(|call| (call.element.clone(), view(call))).collect()
}

fn leaving(snapshot: &Snapshot) -> Vec<LeavingView> {
    let unwanted = snapshot.elements.values().filter(|record| {
        record.state != State::Absent && snapshot.assembly.topology.get(&record.name).is_none()
    });
    let view = |record: &ElementRecord| LeavingView {
        name: record.name.clone(),
        state: record.state,
        since: record.since,
        failure: record.failure.clone(),
    };
    unwanted.map(view).collect()
}

impl ProcessView {
    fn new(process: &ProcessRecord, holder: Option<&Holder>) -> Self {
        Self {
            id: process.id,
            intent: process.title(),
            since: process.created,
            runs: holder.map(Holder::to_string),
            batches: Vec::new(),
            pauses: Vec::new(),
        }
    }
}

impl CancelledView {
    /// Returns the last process of the assembly if this process was cancelled and its work may be incomplete. There are
    /// two such cases:
    ///
    /// - The assembly has not reached its goal state.
    /// - The process was to apply a new version of the assembly. Some parts may still have their old values.
    ///
    /// Returns `None` if the assembly has a process that has not ended.
    async fn of(store: &dyn Store, snapshot: &Snapshot) -> Result<Option<Self>, Error> {
        let goal = snapshot.assembly.goal;
        let has_reached = states(snapshot).all(|state| state == goal) && leaving(snapshot).is_empty();
        if !snapshot.processes.is_empty() {
            return Ok(None);
        }
        let last = store.processes_of(&snapshot.assembly.name, None, 1).await?.pop();
        let is_open = |last: &ProcessRecord| !has_reached || snapshot.assembly.version == Some(last.id);
        let cancelled = last.filter(|last| last.status == ProcessStatus::Cancelled && is_open(last));
        Ok(cancelled.map(|process| Self { id: process.id, intent: process.title() }))
    }
}

fn relationships(snapshot: &Snapshot) -> Vec<RelationshipView> {
    let declared = snapshot.assembly.topology.relationships().iter();
    let with_operations = declared.filter(|r| !r.create.is_empty() || !r.cease.is_empty());
    with_operations.map(|relationship| RelationshipView::new(snapshot, relationship)).collect()
}

impl RelationshipView {
    fn new(snapshot: &Snapshot, relationship: &Relationship) -> Self {
        let own = snapshot.pairs.values().filter(|pair| {
            pair.key.relationship == relationship.name && pair.key.assembly == relationship.assembly
        });
        let own: Vec<&PairRecord> = own.filter(|pair| pair.is_there()).collect();
        let of = |is: fn(&PairRecord) -> bool| -> Vec<PairView> {
            own.iter().filter(|pair| is(pair)).map(|pair| PairView::new(&pair.key)).collect()
        };
        Self {
            name: relationship.name.to_string(),
            made: own.iter().filter(|pair| pair.created && !pair.is_half_ended()).count(),
            half_made: of(PairRecord::is_half_made),
            half_ended: of(PairRecord::is_half_ended),
            missing: missing(snapshot, relationship, &own),
        }
    }

    fn is_complete(&self) -> bool {
        self.half_made.is_empty() && self.half_ended.is_empty() && self.missing.is_empty()
    }
}

/// Returns the pairs of nodes that a relationship does not connect, although both nodes have reached the states
/// that the relationship requires. The result is empty if the assembly is to be removed.
fn missing(snapshot: &Snapshot, relationship: &Relationship, there: &[&PairRecord]) -> Vec<PairView> {
    if snapshot.assembly.goal == State::Absent {
        return Vec::new();
    }
    let topology = &snapshot.assembly.topology;
    let has_come = |node: &Element, least: State| {
        let state =
            |leaf: &&Element| snapshot.elements.get(&leaf.name).and_then(|record| record.state.rank());
        node.kind == ElementKind::Reference
            || topology.leaves(&node.name).iter().all(|leaf| state(leaf) >= least.rank())
    };
    let ready = |ends: &[Endpoint], least: State| -> Vec<ElementName> {
        let nodes = ends.iter().flat_map(|end| topology.nodes(&end.element));
        nodes.filter(|node| has_come(node, least)).map(|node| node.name.clone()).collect()
    };
    let sources = ready(&relationship.sources, relationship.source_state);
    let targets = ready(&relationship.targets, relationship.target_state);
    let there: HashSet<(&ElementName, &ElementName)> =
        there.iter().map(|pair| (&pair.key.source, &pair.key.target)).collect();
    let all = targets.iter().flat_map(|target| sources.iter().map(move |source| (source, target)));
    let missing = all.filter(|pair| !there.contains(pair));
    missing.map(|(source, target)| PairView { source: source.clone(), target: target.clone() }).collect()
}

impl ElementView {
    fn new(snapshot: &Snapshot, element: &Element, running: &HashMap<ElementName, RunningView>) -> Self {
        let topology = &snapshot.assembly.topology;
        let components: Vec<Self> =
            topology.children(&element.name).map(|child| Self::new(snapshot, child, running)).collect();
        let record = snapshot.elements.get(&element.name);
        let instance = snapshot.instances.get(&element.name);
        let view = instance.map(|instance| InstanceView::new(&instance.document));
        let status = view.map(InstanceView::status);
        let own = element.kind == ElementKind::Resource;
        let state = match element.kind {
            ElementKind::Reference => State::Active,
            ElementKind::Resource => record.map(|record| record.state).unwrap_or_default(),
            ElementKind::Group | ElementKind::Assembly => lowest(components.iter().map(|c| c.state)),
        };
        Self {
            name: element.name.clone(),
            kind: element.kind,
            descriptor: element.descriptor.clone(),
            state,
            status: status
                .as_ref()
                .filter(|_| own)
                .map(windlass_model::instance::Status::word)
                .filter(|word| *word != NO_STATUS)
                .map(str::to_owned),
            message: status.and_then(|status| status.message).filter(|message| !message.trim().is_empty()),
            running: running.get(&element.name).cloned(),
            since: record.filter(|_| own).map(|record| record.since),
            id: record.map(|record| record.id.clone()),
            natural: instance.and_then(|instance| instance.natural.clone()),
            referent: element.referent.clone(),
            outputs: view.and_then(InstanceView::outputs).into_iter().flatten().map(shown).collect(),
            failure: record.and_then(|record| record.failure.clone()),
            values_in_doubt: record.is_some_and(|record| record.values_in_doubt),
            left_alone: Heals::of(record).is_left_alone(&element.name),
            protected: element.protected,
            components,
        }
    }
}

/// The word that `Status::word` returns if none of the flags active, converging and failed is set. Example: the
/// instance has reported no status yet.
const NO_STATUS: &str = "-";

/// Returns a property for display. If the value is stored as a secret, the result contains `***` in place of the
/// value.
fn shown((name, value): (&String, &Value)) -> (String, Value) {
    let secret = windlass_secret::SecretRef::from_value(value).is_some();
    (name.clone(), if secret { Value::from("***") } else { value.clone() })
}

/// Returns the lowest of some states. The order of the states is, from the lowest to the highest: Failed,
/// Broken, Absent, Created, Installed, Inactive, Active. If `states` is empty, returns Active.
pub(crate) fn lowest(states: impl Iterator<Item = State>) -> State {
    let place = |state: &State| match state {
        State::Failed => -2,
        State::Broken => -1,
        other => other.rank().map_or(0, i32::from),
    };
    states.min_by_key(place).unwrap_or(State::Active)
}
