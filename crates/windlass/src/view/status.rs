//! How assemblies are.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use serde_json::Value;
use windlass_engine::monitor::Heals;
use windlass_model::assembly::{ElementKind, Endpoint, Referent};
use windlass_model::instance::InstanceView;
use windlass_model::record::{CallState, ElementRecord, Failure, PairKey, PairRecord, ProcessRecord};
use windlass_model::{
    AssemblyName, DescriptorName, Element, ElementName, InstanceId, ProcessId, PropertyName, Relationship,
    State, Timestamp,
};
use windlass_store::{Holder, Snapshot};

use crate::error::Error;
use crate::open::Windlass;

/// How assemblies are.
#[derive(Debug, Clone, Serialize)]
pub struct StatusView {
    /// The version of this form.
    pub version: u32,
    /// The assemblies, by name.
    pub assemblies: Vec<AssemblyView>,
}

/// How an assembly is.
#[derive(Debug, Clone, Serialize)]
pub struct AssemblyView {
    /// Its name.
    pub name: AssemblyName,
    /// The descriptor it was made from.
    pub descriptor: DescriptorName,
    /// Its state: the lowest of its parts'.
    pub state: State,
    /// The state it should have.
    pub goal: State,
    /// When it was first asked for.
    #[serde(serialize_with = "super::time::one")]
    pub created: Timestamp,
    /// The process that has not ended, if there is one.
    pub process: Option<ProcessView>,
    /// Its output properties.
    pub outputs: BTreeMap<PropertyName, Value>,
    /// Calls of which a person must say whether they happened.
    pub undecided: Vec<UndecidedView>,
    /// The relationships that have been made.
    pub relationships: Vec<RelationshipView>,
    /// The assemblies that reference it.
    pub referenced_by: Vec<AssemblyName>,
    /// How many of its parts are Active.
    pub parts: PartsView,
    /// Its parts.
    pub components: Vec<ElementView>,
    /// Parts that it should no longer have and that are still there: an upgrade takes them down, or was kept from it.
    pub leaving: Vec<LeavingView>,
}

/// How many resources of an assembly are Active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PartsView {
    /// Those that are.
    pub active: usize,
    /// All that there should be.
    pub all: usize,
}

/// A part that an assembly should no longer have.
#[derive(Debug, Clone, Serialize)]
pub struct LeavingView {
    /// Its full name.
    pub name: ElementName,
    /// Its state.
    pub state: State,
    /// Since when it has that.
    pub since: Timestamp,
    /// Why its last step failed.
    pub failure: Option<Failure>,
}

/// A process that has not ended.
#[derive(Debug, Clone, Serialize)]
pub struct ProcessView {
    /// Its id.
    pub id: ProcessId,
    /// What was asked.
    pub intent: String,
    /// Since when.
    #[serde(serialize_with = "super::time::one")]
    pub since: Timestamp,
    /// Who runs it; none when whoever did is gone, and it waits for the next intent to settle what it has left.
    pub runs: Option<String>,
}

/// A call of which a person must say whether it happened.
#[derive(Debug, Clone, Serialize)]
pub struct UndecidedView {
    /// The element.
    pub element: ElementName,
    /// What was to be done.
    pub action: String,
    /// The relationship that it was to make or to end; none for a transition.
    pub relationship: Option<String>,
    /// The nodes that this is between.
    pub pair: Option<PairView>,
}

/// Two nodes that are related, or should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairView {
    /// The source.
    pub source: ElementName,
    /// The target.
    pub target: ElementName,
}

impl PairView {
    fn new(key: &PairKey) -> Self {
        Self { source: key.source.clone(), target: key.target.clone() }
    }
}

/// A relationship, and between how many nodes it has been made.
#[derive(Debug, Clone, Serialize)]
pub struct RelationshipView {
    /// Its name.
    pub name: String,
    /// Between how many pairs of nodes it has been made.
    pub made: usize,
    /// The nodes between which it has been made in part: what was called to make it failed, or was stopped.
    pub half_made: Vec<PairView>,
    /// The nodes between which it has been ended in part.
    pub half_ended: Vec<PairView>,
    /// The nodes between which it should be, as far as they have come, and is not.
    pub missing: Vec<PairView>,
}

/// How an element is.
#[derive(Debug, Clone, Serialize)]
pub struct ElementView {
    /// Its full name.
    pub name: ElementName,
    /// What it is.
    pub kind: ElementKind,
    /// The name of its descriptor.
    pub descriptor: DescriptorName,
    /// Its state; of groups and nested assemblies the lowest of their parts'.
    pub state: State,
    /// What it reports of itself, in a word; none when it reports nothing.
    pub status: Option<String>,
    /// What it says to that.
    pub message: Option<String>,
    /// Since when it has its state; none for what has no state of its own.
    #[serde(serialize_with = "super::time::maybe")]
    pub since: Option<Timestamp>,
    /// The engine's id of it.
    pub id: Option<InstanceId>,
    /// The driver's id of it.
    pub natural: Option<String>,
    /// What a reference stands for; none for all else.
    pub referent: Option<Referent>,
    /// What its driver publishes.
    pub outputs: BTreeMap<String, Value>,
    /// Why its last step failed.
    pub failure: Option<Failure>,
    /// Whether policies heal it no more, since [that many](windlass_engine::monitor::MOST_HEALS) heals have not helped.
    pub left_alone: bool,
    /// What is inside it.
    pub components: Vec<ElementView>,
}

impl Windlass {
    /// Says how all assemblies are, or one of them.
    ///
    /// # Errors
    ///
    /// When there is no such assembly, or the store can't be read.
    pub async fn status(&self, name: Option<&AssemblyName>) -> Result<StatusView, Error> {
        let mut assemblies = Vec::new();
        let store = match name {
            Some(name) => Some(self.store_of(name).await?),
            None => self.store(false).await?,
        };
        if let Some(store) = store {
            let wanted = match name {
                Some(name) => vec![name.clone()],
                None => store.assembly_names().await?,
            };
            for found in &wanted {
                if let Some(snapshot) = store.load(found).await? {
                    let holder = store.holder(found).await?;
                    let mut view = AssemblyView::new(snapshot, holder.as_ref());
                    view.referenced_by = store.referrers(found).await?;
                    assemblies.push(view);
                }
            }
            if let Some(name) = name.filter(|_| assemblies.is_empty()) {
                let known = store.assembly_names().await?;
                return Err(windlass_engine::EngineError::Unknown { name: name.clone(), known }.into());
            }
        }
        Ok(StatusView { version: 1, assemblies })
    }
}

impl Windlass {
    /// Returns the names of the assemblies that there are, in their order.
    ///
    /// # Errors
    ///
    /// When the store can't be read.
    pub async fn assemblies(&self) -> Result<Vec<AssemblyName>, Error> {
        let Some(store) = self.store(false).await? else { return Ok(Vec::new()) };
        Ok(store.assembly_names().await?)
    }

    /// Returns the names of an assembly's parts, as they were declared.
    ///
    /// # Errors
    ///
    /// When there is no such assembly, or the store can't be read.
    pub async fn parts(&self, name: &AssemblyName) -> Result<Vec<ElementName>, Error> {
        let store = self.store_of(name).await?;
        let Some(assembly) = store.assembly(name).await? else {
            let known = store.assembly_names().await?;
            return Err(windlass_engine::EngineError::Unknown { name: name.clone(), known }.into());
        };
        // The first is the assembly itself.
        Ok(assembly.topology.elements().iter().skip(1).map(|element| element.name.clone()).collect())
    }

    /// Says how one part of an assembly is, as [`status`](Self::status) does for the whole: `components` has that part
    /// alone, with all that is in it. It is given by its name below the assembly (`B__1`), its full name or an id.
    ///
    /// # Errors
    ///
    /// When there is no such assembly or part, or the store can't be read.
    pub async fn status_of_part(&self, name: &AssemblyName, part: &str) -> Result<StatusView, Error> {
        let part = self.part(name, part).await?;
        let mut status = self.status(Some(name)).await?;
        for assembly in &mut status.assemblies {
            assembly.keep(&part);
        }
        Ok(status)
    }
}

impl AssemblyView {
    /// Leaves out what does not concern a part.
    fn keep(&mut self, part: &ElementName) {
        let mut parts = std::mem::take(&mut self.components);
        while let Some(at) = parts.iter().position(|element| is_within(part, &element.name)) {
            let found = parts.swap_remove(at);
            if found.name == *part {
                self.components = vec![found];
                break;
            }
            parts = found.components;
        }
        self.undecided.retain(|call| is_within(&call.element, part));
        self.leaving.retain(|leaving| is_within(&leaving.name, part));
    }

    fn new(snapshot: Snapshot, holder: Option<&Holder>) -> Self {
        let topology = &snapshot.assembly.topology;
        let root = ElementName::from(&snapshot.assembly.name);
        let components: Vec<ElementView> =
            topology.children(&root).map(|element| ElementView::new(&snapshot, element)).collect();
        let undecided = snapshot.calls.iter().filter(|call| call.state == CallState::Undecided);
        Self {
            name: snapshot.assembly.name.clone(),
            descriptor: snapshot.assembly.descriptor.clone(),
            state: lowest(components.iter().filter(|c| c.kind != ElementKind::Reference).map(|c| c.state)),
            goal: snapshot.assembly.goal,
            created: snapshot.assembly.created,
            process: snapshot.processes.last().map(|process| ProcessView::new(process, holder)),
            undecided: undecided
                .map(|call| UndecidedView {
                    element: call.element.clone(),
                    action: call.action.to_string(),
                    relationship: call.pair.as_ref().map(|pair| pair.relationship.to_string()),
                    pair: call.pair.as_ref().map(PairView::new),
                })
                .collect(),
            relationships: relationships(&snapshot),
            referenced_by: Vec::new(),
            parts: PartsView::new(&snapshot),
            leaving: leaving(&snapshot),
            components,
            outputs: windlass_engine::outputs(snapshot)
                .into_iter()
                .map(|(name, value)| (name, value.shown()))
                .collect(),
        }
    }
}

/// Tells whether an element is another one, or is inside it.
fn is_within(element: &ElementName, outer: &ElementName) -> bool {
    let rest = element.as_str().strip_prefix(outer.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
}

impl PartsView {
    fn new(snapshot: &Snapshot) -> Self {
        let elements = snapshot.assembly.topology.elements().iter();
        let resources = elements.filter(|element| element.kind == ElementKind::Resource);
        let states = resources.map(|element| snapshot.elements.get(&element.name).map(|record| record.state));
        let states: Vec<State> = states.map(Option::unwrap_or_default).collect();
        Self { active: states.iter().filter(|state| **state == State::Active).count(), all: states.len() }
    }
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
            intent: process.intent.to_string(),
            since: process.created,
            runs: holder.map(Holder::to_string),
        }
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
}

/// Returns the nodes that have come as far as a relationship between them asks for, and that are not related.
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
    fn new(snapshot: &Snapshot, element: &Element) -> Self {
        let topology = &snapshot.assembly.topology;
        let components: Vec<Self> =
            topology.children(&element.name).map(|child| Self::new(snapshot, child)).collect();
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
            since: record.filter(|_| own).map(|record| record.since),
            id: record.map(|record| record.id.clone()),
            natural: instance.and_then(|instance| instance.natural.clone()),
            referent: element.referent.clone(),
            outputs: view.and_then(InstanceView::outputs).into_iter().flatten().map(shown).collect(),
            failure: record.and_then(|record| record.failure.clone()),
            left_alone: Heals::of(record).is_left_alone(&element.name),
            components,
        }
    }
}

/// The word of an instance that reports nothing of itself.
const NO_STATUS: &str = "-";

/// Masks what is kept as a secret.
fn shown((name, value): (&String, &Value)) -> (String, Value) {
    let secret = windlass_secret::SecretRef::from_value(value).is_some();
    (name.clone(), if secret { Value::from("***") } else { value.clone() })
}

/// Returns the lowest of some states. What has failed or broken is below everything; of nothing all is Active.
fn lowest(states: impl Iterator<Item = State>) -> State {
    let place = |state: &State| match state {
        State::Failed => -2,
        State::Broken => -1,
        other => other.rank().map_or(0, i32::from),
    };
    states.min_by_key(place).unwrap_or(State::Active)
}
