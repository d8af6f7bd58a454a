//! Intents on assemblies: up, and changes of existing ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use windlass_driver::Package;
use windlass_engine::{Answer, Ask, Desired, Ended, EngineError, Manner, Prepared, Preview, Stop, Told};
use windlass_lifecycle::Diff;
use windlass_lifecycle::Plan;
use windlass_model::assembly::ElementKind;
use windlass_model::instance::InstanceView;
use windlass_model::record::{CallRecord, EventRecord, InstanceRecord, ProcessRecord};
use windlass_model::{
    Action, AssemblyName, CallId, Element, ElementName, ProcessId, PropertyName, Seq, State, Topology,
    Transition,
};
use windlass_source::{Diagnostic, Diagnostics, Place};
use windlass_store::{Store, Watch};

use crate::desired::{self, Asked, desired, variable};
use crate::error::Error;
use crate::open::Windlass;
use crate::request::Theirs;
use crate::view::plan::{DriftView, PlanView};

/// An assembly to create or change, or to plan.
#[derive(Debug, Clone)]
#[must_use]
pub struct Order {
    pub(crate) file: PathBuf,
    pub(crate) name: Option<AssemblyName>,
    pub(crate) parameters: BTreeMap<String, Value>,
    pub(crate) places: BTreeMap<String, Place>,
    pub(crate) open: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) catalog: Vec<PathBuf>,
    pub(crate) goal: State,
    pub(crate) adopt: bool,
    pub(crate) replace: Vec<String>,
    pub(crate) target: Vec<String>,
}

impl Order {
    /// Creates an order for the descriptor in a file or folder.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            name: None,
            parameters: BTreeMap::new(),
            places: BTreeMap::new(),
            open: Vec::new(),
            environment: BTreeMap::new(),
            catalog: Vec::new(),
            goal: State::Active,
            adopt: false,
            replace: Vec::new(),
            target: Vec::new(),
        }
    }

    /// Sets the assembly's name. Default: the middle part of the descriptor's name.
    pub fn name(mut self, name: Option<AssemblyName>) -> Self {
        self.name = name;
        self
    }

    /// Sets the value of a property.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Sets the source location of a parameter name, for messages.
    pub fn parameter_at(mut self, name: impl Into<String>, place: Place) -> Self {
        self.places.insert(name.into(), place);
        self
    }

    /// Sets a property to a value that others could see, as on a command line. If the property is a secret,
    /// planning warns.
    pub fn open_parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        self.open.push(name.clone());
        self.parameter(name, value)
    }

    /// Sets values for properties that have no [`parameter`](Self::parameter). The variable of a property is
    /// its name in upper case with `_` for `-` and `.`: `NODE_COUNT` is `node-count`. Others could see these
    /// values, too.
    ///
    /// Variables without a matching property are ignored, because an environment serves many assemblies.
    /// Variables of properties that can't be set are ignored, too.
    pub fn environment(mut self, values: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(values);
        self
    }

    /// Tells whether the order has a value for a property, including values from the environment.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.parameters.contains_key(name) || self.environment.contains_key(&variable(name))
    }

    /// Copies the value that another order has for a property.
    pub(crate) fn parameter_of(mut self, given: &Self, name: &str) -> Self {
        if let Some(value) = given.parameters.get(name) {
            let is_open = given.open.iter().any(|open| open == name);
            let place = given.places.get(name).cloned();
            self = if is_open {
                self.open_parameter(name, value.clone())
            } else {
                self.parameter(name, value.clone())
            };
            return place.into_iter().fold(self, |order, place| order.parameter_at(name, place));
        }
        let variable = variable(name);
        let value = given.environment.get(&variable).cloned();
        self.environment(value.map(|value| (variable, value)))
    }

    /// Sets the goal state of all parts. Default: Active.
    pub fn goal(mut self, goal: State) -> Self {
        self.goal = goal;
        self
    }

    /// Adopts existing instances instead of creating new ones.
    pub fn adopt(mut self, adopt: bool) -> Self {
        self.adopt = adopt;
        self
    }

    /// Adds parts to be re-created even if they have not changed. Names are relative to the assembly: `B__1`.
    pub fn replace(mut self, parts: impl IntoIterator<Item = String>) -> Self {
        self.replace.extend(parts);
        self
    }

    /// Limits the plan to parts and their dependencies. Names are relative to the assembly: `B__1`.
    pub fn target(mut self, parts: impl IntoIterator<Item = String>) -> Self {
        self.target.extend(parts);
        self
    }

    /// Adds folders that are searched for descriptors.
    pub fn catalog(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.catalog.extend(folders);
        self
    }
}

/// A process that is ready to run, or that the daemon already runs.
#[must_use = "nothing happens before it is run"]
pub struct Started {
    work: Work,
    warnings: Diagnostics,
    store: Arc<dyn Store>,
    from: Seq,
}

/// The orchestrator of a process: this one, or another.
enum Work {
    Own(Box<Prepared>),
    Theirs(Box<Theirs>),
}

impl Started {
    pub(crate) fn own(prepared: Prepared, warnings: Diagnostics, store: Arc<dyn Store>, from: Seq) -> Self {
        Self { work: Work::Own(Box::new(prepared)), warnings, store, from }
    }

    pub(crate) fn theirs(theirs: Theirs, warnings: Diagnostics, store: Arc<dyn Store>, from: Seq) -> Self {
        Self { work: Work::Theirs(Box::new(theirs)), warnings, store, from }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        match &self.work {
            Work::Own(prepared) => prepared.plan(),
            Work::Theirs(theirs) => &theirs.plan,
        }
    }

    /// Returns the plan as a view. Its changes are known only for processes that run here.
    pub fn plan_view(&self) -> PlanView {
        let (changes, undone): (Diff, Diff) = match &self.work {
            Work::Own(prepared) => (prepared.diff().clone(), prepared.undone().clone()),
            Work::Theirs(_) => (Diff::default(), Diff::default()),
        };
        PlanView::new(self.process().assembly.clone(), self.plan(), changes).undone(undone)
    }

    /// Returns the process.
    pub fn process(&self) -> &ProcessRecord {
        match &self.work {
            Work::Own(prepared) => prepared.process(),
            Work::Theirs(theirs) => &theirs.process,
        }
    }

    /// Tells whether [`run`](Self::run) executes the process here. Otherwise another orchestrator already
    /// executes it.
    pub fn runs_here(&self) -> bool {
        matches!(self.work, Work::Own(_))
    }

    /// Returns warnings about the descriptors.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Follows the events of the assembly from now on. Events are reported only once they are durable.
    pub fn follow(&self) -> Following {
        let process = self.process();
        Following {
            store: self.store.clone(),
            watch: self.store.watch(self.from),
            seen: self.from,
            assembly: process.assembly.clone(),
            only: (!self.runs_here()).then_some(process.id),
        }
    }

    /// Runs the process to its end. For a process of another orchestrator, waits for its end.
    ///
    /// # Errors
    ///
    /// If the store fails, or the other orchestrator has exited. Committed work stays; the same intent
    /// resumes from there.
    pub async fn run(self, stop: &Stop) -> Result<Ended, Error> {
        match self.work {
            Work::Own(prepared) => Ok(prepared.run(stop).await?),
            Work::Theirs(theirs) => theirs.ended(self.from, stop).await,
        }
    }
}

/// A stream of an assembly's events, as they become durable.
pub struct Following {
    store: Arc<dyn Store>,
    watch: Watch,
    seen: Seq,
    assembly: AssemblyName,
    /// The process to follow; `None` for all events of the assembly.
    only: Option<ProcessId>,
}

impl Following {
    /// Waits for events and returns them in order. The future may be dropped while it waits; no event is
    /// missed.
    ///
    /// # Errors
    ///
    /// If the store can't be read.
    pub async fn next(&mut self) -> Result<Vec<EventRecord>, Error> {
        loop {
            self.watch.next().await?;
            let events = self.ready().await?;
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }

    /// Returns the events that were not returned yet.
    ///
    /// # Errors
    ///
    /// If the store can't be read.
    pub async fn ready(&mut self) -> Result<Vec<EventRecord>, Error> {
        let mut events = self.store.events_of(&self.assembly, self.seen, 10_000).await?;
        if let Some(last) = events.last() {
            self.seen = last.seq;
        }
        events.retain(|event| self.only.is_none_or(|only| event.draft.process == Some(only)));
        Ok(events)
    }
}

impl Windlass {
    /// Prepares to create an assembly, or to change or repair an existing one.
    ///
    /// # Errors
    ///
    /// All problems that prevent it. Nothing has been changed then.
    pub async fn up(&self, order: Order, stop: &Stop) -> Result<Started, Error> {
        let (desired, warnings) = self.desired(&order).await?;
        let name = desired.topology.name().clone();
        self.bring_up(&name, Ask::Up(Box::new(desired)), warnings, stop).await
    }

    /// Prepares an intent on an assembly that may not exist yet.
    pub(crate) async fn bring_up(
        &self,
        name: &AssemblyName,
        ask: Ask,
        warnings: Diagnostics,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let store = if let Some(store) = self.store(false).await? {
            store
        } else {
            // This may be the first assembly of the project: a refused intent must not leave a store behind.
            self.means().preview_new(ask.clone())?;
            self.store_or_new().await?
        };
        self.start(store, name, ask, warnings, stop).await
    }

    /// Prepares to change an existing assembly: take it down, retry, scale, heal, and so on.
    ///
    /// # Errors
    ///
    /// All problems that prevent it. Nothing has been changed then.
    pub async fn change(&self, name: &AssemblyName, ask: Ask, stop: &Stop) -> Result<Started, Error> {
        let store = self.store_of(name).await?;
        self.start(store, name, ask, Diagnostics::default(), stop).await
    }

    /// Reads the current packages of an existing assembly from disk, around its descriptor `file`. The result
    /// is the input of [`Ask::DownWith`].
    ///
    /// # Errors
    ///
    /// If there is no such assembly, or the file or a package can't be read.
    pub async fn current_packages(
        &self,
        name: &AssemblyName,
        file: &Path,
        catalog: &[PathBuf],
    ) -> Result<Vec<Package>, Error> {
        let store = self.store_of(name).await?;
        let known = || EngineError::Unknown { name: name.clone(), known: Vec::new() };
        let record = store.load(name).await?.ok_or_else(known)?.assembly;
        let opened = desired::open(&self.project, file, catalog)?;
        let mut problems = Diagnostics::default();
        let resources: Vec<_> = record.packages.keys().collect();
        let packages = desired::packages(&opened.catalog, resources, self.drivers(), &mut problems);
        if problems.has_errors() { Err(Error::Input(problems)) } else { Ok(packages) }
    }

    async fn start(
        &self,
        store: Arc<dyn Store>,
        name: &AssemblyName,
        ask: Ask,
        warnings: Diagnostics,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let from = store.last_event().await?;
        // Boxed: a future of this size would enlarge every future that awaits it.
        let prepared = Box::pin(self.engine(store.clone()).prepare(name, ask, &self.holder(), stop)).await?;
        Ok(Started::own(prepared, warnings, store, from))
    }

    /// Plans what [`up`](Self::up) would do, without changing anything.
    ///
    /// # Errors
    ///
    /// All problems that prevent it.
    pub async fn plan(&self, order: &Order) -> Result<(PlanView, Diagnostics), Error> {
        let (desired, warnings) = self.desired(order).await?;
        let name = desired.topology.name().clone();
        let preview = self.preview_up(&name, Ask::Up(Box::new(desired))).await?;
        Ok((PlanView::new(name, &preview.plan, preview.diff).undone(preview.undone), warnings))
    }

    /// Plans an intent on an assembly that may not exist yet.
    pub(crate) async fn preview_up(&self, name: &AssemblyName, ask: Ask) -> Result<Preview, Error> {
        Ok(match self.store(false).await? {
            Some(store) => Box::pin(self.engine(store).preview(name, ask)).await?,
            None => self.means().preview_new(ask)?,
        })
    }

    /// Observes the active parts of an assembly, and compares them with the records.
    ///
    /// # Errors
    ///
    /// If the store can't be read.
    pub async fn drift(&self, name: &AssemblyName) -> Result<Vec<DriftView>, Error> {
        let Some(store) = self.store(false).await? else { return Ok(Vec::new()) };
        match self.engine(store).look(name).await {
            Ok(seen) => Ok(seen.into_iter().map(DriftView::new).collect()),
            Err(EngineError::Unknown { .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Plans what [`change`](Self::change) would do, without changing anything.
    ///
    /// # Errors
    ///
    /// All problems that prevent it.
    pub async fn preview(&self, name: &AssemblyName, ask: Ask) -> Result<PlanView, Error> {
        let store = self.store_of(name).await?;
        let preview = Box::pin(self.engine(store).preview(name, ask)).await?;
        Ok(PlanView::new(name.clone(), &preview.plan, preview.diff).undone(preview.undone))
    }

    /// Requests that a process stops. Running calls may finish; no further call is started.
    ///
    /// # Errors
    ///
    /// If the assembly has no such process, the process has ended, or no orchestrator runs it.
    pub async fn cancel(&self, name: &AssemblyName, process: ProcessId) -> Result<(), Error> {
        self.can_cancel(name, process).await?;
        Ok(self.store_of(name).await?.ask_to_stop(name, process).await?)
    }

    /// Checks whether a process can be [cancelled](Self::cancel).
    ///
    /// # Errors
    ///
    /// If the assembly has no such process, the process has ended, or no orchestrator runs it.
    pub async fn can_cancel(&self, name: &AssemblyName, process: ProcessId) -> Result<(), Error> {
        let store = self.store_of(name).await?;
        let found = store.process(process).await?.filter(|found| found.assembly == *name);
        match found.map(|found| found.status) {
            Some(status) if status.is_final() => Err(Error::Ended { process, status }),
            Some(_) if store.holder(name).await?.is_none() => {
                Err(Error::NobodyRuns { assembly: name.clone(), process })
            }
            Some(_) => Ok(()),
            None => Err(windlass_store::StoreError::NoProcess { scope: name.clone(), process }.into()),
        }
    }

    /// Finds a part of an existing assembly. `part` is its name relative to the assembly (`B__1`), its full
    /// name, its instance id, or the id that its driver uses.
    ///
    /// # Errors
    ///
    /// If there is no such assembly or part.
    pub async fn part(&self, name: &AssemblyName, part: &str) -> Result<ElementName, Error> {
        let store = self.store_of(name).await?;
        let Some(snapshot) = store.load(name).await? else {
            let known = store.assembly_names().await?;
            return Err(windlass_engine::EngineError::Unknown { name: name.clone(), known }.into());
        };
        let topology = &snapshot.assembly.topology;
        let by_name = |element: &&ElementName| element.local() == part || element.as_str() == part;
        // Parts that are to be removed exist only in the records.
        let described = topology.elements().iter().map(|element| &element.name);
        if let Some(found) = described.chain(snapshot.elements.keys()).find(by_name) {
            return Ok(found.clone());
        }
        let by_id = snapshot.elements.values().find(|record| record.id.as_str() == part).map(|r| &r.name);
        let natural = |record: &&InstanceRecord| record.natural.as_deref() == Some(part);
        let by_natural = || snapshot.instances.values().find(natural).map(|record| &record.element);
        by_id.or_else(by_natural).cloned().ok_or_else(|| Error::NoPart {
            assembly: name.clone(),
            part: part.to_owned(),
            known: topology.elements().iter().skip(1).map(|e| e.name.local().to_owned()).collect(),
        })
    }

    /// Returns the undecided call with an id; `None` if the text is no such id.
    ///
    /// # Errors
    /// The store can't be read.
    pub async fn undecided_call(&self, name: &AssemblyName, id: &str) -> Result<Option<CallId>, Error> {
        let Ok(id) = id.parse::<CallId>() else { return Ok(None) };
        let snapshot = self.store_of(name).await?.load(name).await?;
        let calls = snapshot.map(|snapshot| snapshot.calls).unwrap_or_default();
        Ok(calls.iter().any(|call| call.id == id && call.state.is_open()).then_some(id))
    }

    /// Parses the outputs that a user provides for a part, for
    /// [`Answer::published`](windlass_engine::Answer::published). `open` lists the outputs whose values were
    /// on the command line; secrets among them cause a warning.
    ///
    /// # Errors
    ///
    /// If a name can't be a property name, or there is no such assembly.
    pub async fn published(
        &self,
        name: &AssemblyName,
        given: BTreeMap<String, Value>,
        open: &[String],
    ) -> Result<(Told, Vec<Diagnostic>), Error> {
        let mut published = Told::default();
        for (property, value) in given {
            let property: PropertyName = property
                .parse()
                .map_err(|error| EngineError::NotPublished(format!("`{property}`: {error}")))?;
            published.0.insert(property, value);
        }
        let snapshot = self.store_of(name).await?.load(name).await?;
        let elements = snapshot.iter().flat_map(|snapshot| snapshot.assembly.topology.elements());
        let sensitive: BTreeSet<&str> = elements
            .flat_map(|element| element.properties.iter().filter(|(_, property)| property.sensitive))
            .map(|(property, _)| property.as_str())
            .collect();
        let warning = |name: &&String| {
            let message = format!("`{name}` is a secret, and its value was passed on the command line");
            Diagnostic::warning(windlass_descriptor::codes::OPEN_SECRET, message).help(format!(
                "use `--published {name}=@FILE`, `--published {name}=-` or `--published-from FILE`"
            ))
        };
        let warnings =
            open.iter().filter(|name| sensitive.contains(name.as_str())).map(|name| warning(&name));
        Ok((published, warnings.collect()))
    }

    /// Finds the outputs that would stay unknown if `answer` declared the open calls as done. An output is
    /// unknown if it is neither part of the answer nor on record. For a part that was installed again,
    /// recorded outputs belong to the previous instance and do not count.
    ///
    /// A call whose report may still be found is included, because that is known only when the call is
    /// settled. The result is empty if the answer contains an output that no part publishes, because such an
    /// answer is refused.
    ///
    /// # Errors
    ///
    /// If the store can't be read.
    pub async fn unknown_outputs(
        &self,
        name: &AssemblyName,
        answer: &Answer,
    ) -> Result<Vec<(ElementName, Vec<PropertyName>)>, Error> {
        use Transition::{Adopt, Install, Reconfigure};
        let Some(snapshot) = self.store_of(name).await?.load(name).await? else { return Ok(Vec::new()) };
        let reports = |call: &&CallRecord| {
            let of = [Install, Reconfigure, Adopt].map(Action::Transition).contains(&call.action);
            of && call.state.is_open() && answer.is_about(call)
        };
        let unknown = |call: &CallRecord| {
            let element = snapshot.assembly.topology.get(&call.element)?;
            let document = snapshot.instances.get(&call.element).map(|instance| &instance.document);
            let anew = call.action == Action::Transition(Install);
            let is_known = |output: &PropertyName| {
                let published =
                    document.and_then(|document| InstanceView::new(document).output(output.as_str()));
                (published.is_some() && !anew) || answer.published.0.contains_key(output)
            };
            let outputs = element.properties.iter().filter(|(_, property)| property.read_only);
            let unknown = outputs.map(|(output, _)| output.clone()).filter(|output| !is_known(output));
            Some((call.element.clone(), unknown.collect::<Vec<_>>()))
        };
        let calls: Vec<&CallRecord> = snapshot.calls.iter().filter(reports).collect();
        let is_declared = |told: &PropertyName| {
            let mut elements = calls.iter().filter_map(|call| snapshot.assembly.topology.get(&call.element));
            elements.any(|element| element.properties.get(told).is_some_and(|property| property.read_only))
        };
        if !answer.published.0.keys().all(is_declared) {
            return Ok(Vec::new());
        }
        Ok(calls.into_iter().filter_map(unknown).filter(|(_, outputs)| !outputs.is_empty()).collect())
    }

    pub(crate) async fn desired(&self, order: &Order) -> Result<(Desired, Diagnostics), Error> {
        let store = self.store(false).await?;
        let means = self.means();
        let asked = Asked {
            project: &self.project,
            means: &means,
            file: &order.file,
            name: order.name.as_ref(),
            parameters: &order.parameters,
            places: &order.places,
            open: &order.open,
            environment: &order.environment,
            catalog: &order.catalog,
        };
        // Boxed because of its size.
        let (mut desired, warnings) = Box::pin(desired(&asked, store.clone())).await?;
        let topology = &desired.topology;
        // A scaled cluster has nodes that the descriptor does not list.
        let is_partial = !(order.replace.is_empty() && order.target.is_empty());
        let before = match store.filter(|_| is_partial) {
            Some(store) => store.load(topology.name()).await?.map(|snapshot| snapshot.assembly.topology),
            None => None,
        };
        let names = |parts: &[String]| -> Result<_, Error> {
            parts.iter().map(|part| part_of(topology, before.as_ref(), part)).collect()
        };
        let (replace, target) = (names(&order.replace)?, names(&order.target)?);
        desired.manner = Manner { goal: order.goal, adopt: order.adopt, replace, target };
        Ok((desired, warnings))
    }

    pub(crate) async fn store_or_new(&self) -> Result<Arc<dyn Store>, Error> {
        match self.store(true).await? {
            Some(store) => Ok(store),
            None => Err(Error::Store(windlass_store::StoreError::Closed)),
        }
    }

    /// Returns the store, which must exist if the assembly does.
    pub(crate) async fn store_of(&self, name: &AssemblyName) -> Result<Arc<dyn Store>, Error> {
        let unknown = || windlass_engine::EngineError::Unknown { name: name.clone(), known: Vec::new() };
        Ok(self.store(false).await?.ok_or_else(unknown)?)
    }
}

/// Finds a part in the new or in the current topology of an assembly.
fn part_of<'a>(
    topology: &'a Topology,
    before: Option<&'a Topology>,
    part: &str,
) -> Result<ElementName, Error> {
    let named = |element: &&Element| element.name.local() == part || element.name.as_str() == part;
    let find = |topology: &'a Topology| topology.elements().iter().find(named);
    let found = find(topology).or_else(|| before.and_then(find)).ok_or_else(|| Error::NoPart {
        assembly: topology.name().clone(),
        part: part.to_owned(),
        known: topology.elements().iter().skip(1).map(|e| e.name.local().to_owned()).collect(),
    })?;
    match found.kind {
        ElementKind::Reference => Err(Error::NotMadeHere { part: part.to_owned() }),
        _ => Ok(found.name.clone()),
    }
}
