//! A complete engine with a simulated driver, runtime, store and clock.

pub(crate) mod puppet;
pub(crate) mod runtime;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use windlass_driver::{Binding, Bindings, Driver, Location, Package, Placement, Registry};
use windlass_engine::{
    Answer, Desired, Ended, Engine, EngineEnv, EngineError, JobSlots, Options, Places, Request, Stop,
    UpOptions,
};
use windlass_executor::Runtime;
use windlass_model::assembly::{
    Cluster, Element, ElementKind, Endpoint, Operation, OperationCall, Origin, Property, Relationship,
    Topology, Update,
};
use windlass_model::record::{Assumption, Effect, Intent, PackageFile, PairRecord};
use windlass_model::template::End;
use windlass_model::{
    AssemblyName, Clock, ElementName, Modifier, OperationName, Part, State, Template, Timestamp, Transition,
    Transitions,
};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::testing::{CountingEntropy, Cut, Graveyard, MemoryStore, SkewedClock};
use windlass_store::{Batch, Holder, Snapshot, Store};

use self::puppet::{Puppet, Strings};
use self::runtime::{Jobs, World};

/// A clock of tokio's time, which tests can pause.
struct TokioClock(tokio::time::Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.0.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(1_700_000_000_000).plus_millis(passed)
    }
}

/// One runtime for all locations. Locations whose name begins with `free` have no limit of concurrent jobs. The text is
/// the name of the location for a new part that names none.
struct OnePlace(Jobs, Option<NonZeroU32>, Reach, String);

/// The part of the locations that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Reach {
    #[default]
    All,
    /// No runtime can be opened.
    NoRuntime,
    /// No location is configured.
    Nothing,
}

#[async_trait::async_trait]
impl Places for OnePlace {
    fn location(&self, placement: &Placement) -> Result<Location, String> {
        if self.2 == Reach::Nothing {
            return Err("its location is not configured".to_owned());
        }
        let recorded = placement.recorded.as_ref().map(|recorded| &recorded.name);
        let location = Location::local(placement.location.as_ref().or(recorded).unwrap_or(&self.3));
        let max_jobs = self.1.filter(|_| !location.name.starts_with("free"));
        Ok(Location { max_jobs, ..location })
    }

    fn check(&self, _: &Location) -> Result<(), String> {
        Ok(())
    }

    async fn runtime(&self, _: &Location) -> Result<Arc<dyn Runtime>, String> {
        if self.2 == Reach::NoRuntime {
            return Err("its runtime can't be opened".to_owned());
        }
        Ok(Arc::new(self.0.clone()))
    }

    fn free_space(&self) -> Option<u64> {
        self.0.free_space()
    }

    async fn runtimes(&self) -> Result<Vec<Arc<dyn Runtime>>, String> {
        Ok(vec![Arc::new(self.0.clone())])
    }
}

/// A store, a runtime and a driver that outlive the engines that use them.
pub(crate) struct Rig {
    pub(crate) store: MemoryStore,
    pub(crate) jobs: Jobs,
    pub(crate) strings: Strings,
    drivers: Registry,
    graveyard: Arc<Graveyard>,
    clock: Arc<dyn Clock>,
    lives: std::sync::atomic::AtomicU32,
    pub(crate) options: Options,
    /// The limit of concurrent jobs at each location whose name doesn't begin with `free`.
    pub(crate) max_jobs: Option<NonZeroU32>,
    slots: JobSlots,
    pub(crate) home: String,
    /// The part of the locations that the next engines can use.
    pub(crate) reach: Reach,
    /// Whether each engine creates parts at another location.
    pub(crate) relocates: bool,
    /// The machine of the next engines: its name, and the error of its clock in milliseconds.
    pub(crate) machine: Option<(String, i64)>,
}

impl Rig {
    /// Creates a rig in which every action has the given effect.
    pub(crate) fn new(effect: Effect) -> Self {
        let strings = Strings::new(effect);
        Self::with(strings.clone(), Registry::new().with(Puppet(strings)), None)
    }

    /// Creates a rig with a given driver, whose jobs change a world.
    pub(crate) fn in_world(driver: impl Driver + 'static, world: Arc<dyn World>) -> Self {
        Self::with(Strings::new(Effect::Once), Registry::new().with(driver), Some(world))
    }

    /// Adds a driver to the rig.
    pub(crate) fn and(mut self, driver: impl Driver + 'static) -> Self {
        self.drivers = self.drivers.with(driver);
        self
    }

    fn with(strings: Strings, drivers: Registry, world: Option<Arc<dyn World>>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock(tokio::time::Instant::now()));
        let graveyard = Arc::new(Graveyard::default());
        let store =
            MemoryStore::new(clock.clone(), &CountingEntropy::seeded(1)).with_processes(graveyard.clone());
        let jobs = Jobs::new(clock.clone());
        Self {
            jobs: match world {
                Some(world) => jobs.in_world(world),
                None => jobs,
            },
            strings,
            drivers,
            store,
            graveyard,
            clock,
            lives: std::sync::atomic::AtomicU32::new(1),
            options: Options { parallelism: 8, ..Options::default() },
            max_jobs: None,
            slots: JobSlots::default(),
            home: "here:/project".to_owned(),
            relocates: false,
            reach: Reach::All,
            machine: None,
        }
    }

    /// Moves the rig to another machine. The engines of the new machine do not find the jobs of the old machine.
    /// Returns the jobs of the old machine.
    pub(crate) fn move_to(&mut self, home: &str, jobs: Option<Jobs>) -> Jobs {
        home.clone_into(&mut self.home);
        let jobs = jobs.unwrap_or_else(|| Jobs::new(self.clock.clone()));
        std::mem::replace(&mut self.jobs, jobs)
    }

    /// Creates an engine, as a new process would.
    pub(crate) fn engine(&self) -> (Engine, Holder) {
        self.engine_of(self.store.clone(), self.jobs.clone())
    }

    /// Returns the store as seen from a machine whose clock is wrong by `millis` milliseconds.
    pub(crate) fn store_at(&self, millis: i64) -> MemoryStore {
        self.store.clone().with_clock(Arc::new(SkewedClock::new(self.clock.clone(), millis)))
    }

    /// Creates an engine that dies at the given batch.
    pub(crate) fn mortal(&self, batch: u64, keeps_last: bool) -> (Engine, Holder, Cut) {
        let (store, cut) = self.store.cut(batch, keeps_last);
        let (engine, holder) = self.engine_of(store, self.jobs.of(cut.clone()));
        (engine, holder, cut)
    }

    fn engine_of(&self, store: MemoryStore, jobs: Jobs) -> (Engine, Holder) {
        let life = self.lives.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let mut holder = Holder::current("test");
        holder.pid = life;
        let mut clock = self.clock.clone();
        if let Some((name, millis)) = &self.machine {
            (holder.host, holder.realm) = (name.clone(), name.clone());
            clock = Arc::new(SkewedClock::new(clock, *millis));
        }
        let place = if self.relocates { format!("here {life}") } else { "here".to_owned() };
        let engine = Engine {
            store: Arc::new(store.with_clock(clock.clone())),
            env: EngineEnv {
                drivers: self.drivers.clone(),
                places: Arc::new(OnePlace(jobs, self.max_jobs, self.reach, place)),
                slots: self.slots.clone(),
                clock,
                entropy: Arc::new(CountingEntropy::seeded(u64::from(life))),
                home: self.home.clone(),
            },
            options: self.options,
        };
        (engine, holder)
    }

    pub(crate) async fn up(&self, desired: Desired) -> Result<Ended, EngineError> {
        let name = desired.topology.name().to_string();
        self.ask(&name, Request::up(desired)).await
    }

    /// Executes an intent to its end.
    pub(crate) async fn ask(&self, name: &str, request: impl Into<Request>) -> Result<Ended, EngineError> {
        self.ask_until(name, request, &Stop::default()).await
    }

    /// Executes an intent until it ends or is stopped.
    pub(crate) async fn ask_until(
        &self,
        name: &str,
        request: impl Into<Request>,
        stop: &Stop,
    ) -> Result<Ended, EngineError> {
        let (engine, holder) = self.engine();
        let prepared = engine.prepare(&assembly_name(name), request, &holder, stop).await?;
        // Boxed because of its size.
        Box::pin(prepared.run(stop)).await
    }

    /// Executes `up` in a process. If the process has not ended after the time `after`, the function kills the process.
    /// Returns whether the process was killed.
    pub(crate) async fn up_until_killed(&self, desired: Desired, after: Duration) -> bool {
        let name = desired.topology.name().to_string();
        self.ask_until_killed(&name, Request::up(desired), after).await
    }

    /// Executes an intent in a process. If the process has not ended after the time `after`, the function kills the
    /// process. Returns whether the process was killed.
    pub(crate) async fn ask_until_killed(
        &self,
        name: &str,
        request: impl Into<Request>,
        after: Duration,
    ) -> bool {
        let (engine, holder, life) = self.mortal(u64::MAX, true);
        let stop = Stop::default();
        let name = assembly_name(name);
        // Boxed because of its size.
        let whole =
            Box::pin(async { engine.prepare(&name, request, &holder, &stop).await?.run(&stop).await });
        let killed = tokio::time::timeout(after, whole).await.is_err();
        life.kill();
        self.graveyard.bury(&holder);
        killed
    }

    pub(crate) async fn down(&self, name: &str) -> Result<Ended, EngineError> {
        self.ask(name, Intent::Down).await
    }

    pub(crate) async fn retry(&self, name: &str, assume: Option<Assumption>) -> Result<Ended, EngineError> {
        match assume {
            Some(what) => self.ask(name, Request::retry(Answer::of_all(what))).await,
            None => self.ask(name, Intent::Retry).await,
        }
    }

    /// Removes the values with which the pairs of an assembly were created. The records of an older windlass do not
    /// contain these values.
    pub(crate) async fn forget_given(&self, name: &str) {
        let holder = Holder::current("test");
        let lease = self.store.lease(&assembly_name(name), &holder).await.expect("nobody has it");
        let mut batch = Batch::new();
        for pair in self.look(name).await.pairs.into_values() {
            batch = batch.put_pair(PairRecord { given: None, ..pair });
        }
        self.store.commit(&lease, batch).await.expect("the store is well");
        self.store.release(lease).await.expect("the store is well");
    }

    /// Marks a holder as dead.
    pub(crate) fn bury(&self, holder: &Holder) {
        self.graveyard.bury(holder);
    }

    /// Returns the records of an assembly.
    pub(crate) async fn look(&self, name: &str) -> Snapshot {
        self.store
            .load(&assembly_name(name))
            .await
            .expect("the store is readable")
            .expect("the assembly is there")
    }

    /// Returns the states of all resources in one line.
    pub(crate) async fn states(&self, name: &str) -> String {
        let snapshot = self.look(name).await;
        let elements = snapshot.assembly.topology.elements().iter();
        let resources = elements.filter(|element| element.kind == ElementKind::Resource);
        let line: Vec<String> = resources
            .map(|element| format!("{} {}", element.name.local(), snapshot.elements[&element.name].state))
            .collect();
        line.join(", ")
    }
}

pub(crate) fn assembly_name(name: &str) -> AssemblyName {
    name.parse().expect("valid")
}

pub(crate) fn element(name: &str) -> ElementName {
    name.parse().expect("valid")
}

/// A builder of an assembly `t` whose resources have the usual lifecycle.
pub(crate) struct Sketch {
    elements: Vec<Element>,
    relationships: Vec<Relationship>,
    secrets: BTreeMap<SecretRef, Sensitive<String>>,
}

impl Sketch {
    pub(crate) fn new(resources: &[&str]) -> Self {
        let mut elements = vec![part("t", ElementKind::Assembly, "assembly::t::1.0")];
        for resource in resources {
            let name = format!("t__{resource}");
            let mut element = part(&name, ElementKind::Resource, "resource::r::1.0");
            element.parent = Some(self::element("t"));
            element.component = Some(resource.parse().expect("valid"));
            element.transitions = TRANSITIONS.into();
            for operation in ["Join", "Leave"] {
                let target =
                    Operation { element: element.name.clone(), operation: operation.parse().expect("valid") };
                element.operations.insert(operation.parse().expect("valid"), target);
            }
            elements.push(element);
        }
        Self { elements, relationships: Vec::new(), secrets: BTreeMap::new() }
    }

    fn resource(&mut self, resource: &str) -> &mut Element {
        self.elements.iter_mut().find(|e| e.name.local() == resource).expect("it is there")
    }

    /// Sets the type of a resource.
    pub(crate) fn of_type(mut self, resource: &str, descriptor: &str) -> Self {
        self.resource(resource).descriptor = descriptor.parse().expect("valid");
        self
    }

    /// Adds Reconfigure to a resource.
    pub(crate) fn reconfigurable(mut self, resource: &str) -> Self {
        self.resource(resource).transitions.insert(Transition::Reconfigure);
        self
    }

    /// Protects a resource from removal and replacement.
    pub(crate) fn protected(mut self, resource: &str) -> Self {
        self.resource(resource).protected = true;
        self
    }

    /// Adds Create and Delete to a resource.
    pub(crate) fn creatable(mut self, resource: &str) -> Self {
        self.resource(resource).transitions.extend([Transition::Create, Transition::Delete]);
        self
    }

    /// Adds Adopt to all resources.
    pub(crate) fn adoptable(mut self) -> Self {
        let resources = self.elements.iter_mut().filter(|e| e.kind == ElementKind::Resource);
        resources.for_each(|element| element.transitions.insert(Transition::Adopt));
        self
    }

    pub(crate) fn group(mut self, name: &str, nodes: u32, cluster: Cluster) -> Self {
        let mut group = part(&format!("t__{name}"), ElementKind::Group, "resource::r::1.0");
        group.parent = Some(element("t"));
        group.component = Some(name.parse().expect("valid"));
        group.cluster = Some(cluster);
        let group_name = group.name.clone();
        self.elements.push(group);
        for index in 1..=nodes {
            let mut node = part(group_name.node(index).as_str(), ElementKind::Resource, "resource::r::1.0");
            node.parent = Some(group_name.clone());
            node.index = Some(index);
            node.transitions = TRANSITIONS.into();
            for operation in ["Join", "Leave"] {
                let operation: OperationName = operation.parse().expect("valid");
                let own = Operation { element: node.name.clone(), operation: operation.clone() };
                node.operations.insert(operation, own);
            }
            self.elements.push(node);
        }
        self
    }

    /// Sets the rules for updates of a group.
    pub(crate) fn updated(mut self, group: &str, update: Update) -> Self {
        self.resource(group).update = Some(update);
        self
    }

    /// Adds a nested assembly of resources. The nested assembly promotes the operations of its first resource.
    pub(crate) fn nested(mut self, name: &str, resources: &[&str]) -> Self {
        let mut whole = part(&format!("t__{name}"), ElementKind::Assembly, "assembly::n::1.0");
        whole.parent = Some(element("t"));
        whole.component = Some(name.parse().expect("valid"));
        for resource in resources {
            let mut within =
                part(&format!("t__{name}__{resource}"), ElementKind::Resource, "resource::r::1.0");
            within.parent = Some(whole.name.clone());
            within.component = Some(resource.parse().expect("valid"));
            within.transitions = TRANSITIONS.into();
            for operation in ["Join", "Leave"] {
                let operation: OperationName = operation.parse().expect("valid");
                let target = Operation { element: within.name.clone(), operation: operation.clone() };
                whole.operations.entry(operation.clone()).or_insert_with(|| target.clone());
                within.operations.insert(operation, target);
            }
            self.elements.push(within);
        }
        self.elements.push(whole);
        self.elements.sort_by(|one, other| one.name.cmp(&other.name));
        self
    }

    /// Sets a property of a resource to a secret value.
    pub(crate) fn secret(mut self, resource: &str, name: &str, value: &str) -> Self {
        let secret: SecretRef = format!("t:{}", self.secrets.len() + 1).parse().expect("valid");
        self.secrets.insert(secret.clone(), Sensitive::new(value.to_owned()));
        let value = Some(Template::Text(vec![Part::Secret(secret)]));
        self.property(resource, name, Property { value, sensitive: true, ..Property::default() })
    }

    /// Sets a property of a resource or of the assembly (`t`).
    pub(crate) fn property(mut self, element: &str, name: &str, property: Property) -> Self {
        let element = self.elements.iter_mut().find(|e| e.name.local() == element).expect("it is there");
        element.properties.insert(name.parse().expect("valid"), property);
        self
    }

    /// Adds a relationship that is created after the source is Active and before the target is Active.
    pub(crate) fn relate(mut self, source: &str, target: &str) -> Self {
        let endpoint = |name: &str| {
            vec![Endpoint { element: element(&format!("t__{name}")), capability: Some("c".into()) }]
        };
        let call = |end, operation: &str| OperationCall { end, operation: operation.parse().expect("valid") };
        self.relationships.push(Relationship {
            name: format!("{source}-{target}").parse().expect("valid"),
            assembly: element("t"),
            sources: endpoint(source),
            targets: endpoint(target),
            source_state: State::Active,
            source_modifier: Modifier::Post,
            target_state: State::Active,
            target_modifier: Modifier::Pre,
            properties: IndexMap::new(),
            create: vec![call(End::Target, "Join"), call(End::Source, "Join")],
            cease: vec![call(End::Target, "Leave")],
            origin: None,
        });
        self
    }

    /// Makes a resource depend on another one, as `depends-on` does.
    pub(crate) fn depends(mut self, dependent: &str, on: &str) -> Self {
        let (dependent, on) = (dependent.parse().expect("valid"), on.parse().expect("valid"));
        let origin = Origin { file: "t.yaml".into(), line: 1, column: 1 };
        self.relationships.push(Relationship::dependency(element("t"), &dependent, &on, origin));
        self
    }

    /// Makes both ends of the last relationship run an operation when windlass removes the relationship.
    pub(crate) fn left_by_both(mut self) -> Self {
        let leave = |end| OperationCall { end, operation: "Leave".parse().expect("valid") };
        let last = self.relationships.last_mut().expect("there is one");
        last.cease = vec![leave(End::Target), leave(End::Source)];
        self
    }

    /// Makes the last relationship be created after both ends have reached a state.
    pub(crate) fn made_at(mut self, state: State) -> Self {
        let last = self.relationships.last_mut().expect("there is one");
        (last.source_state, last.target_state, last.target_modifier) = (state, state, Modifier::Post);
        self
    }

    /// Makes the last relationship be created before its source is Installed and after its target is Active.
    pub(crate) fn made_before_source(mut self) -> Self {
        let last = self.relationships.last_mut().expect("there is one");
        (last.source_state, last.source_modifier) = (State::Installed, Modifier::Pre);
        last.target_modifier = Modifier::Post;
        self
    }

    /// Makes the last relationship be created after its source is Installed and before its target is Installed.
    pub(crate) fn made_before_target(mut self) -> Self {
        let last = self.relationships.last_mut().expect("there is one");
        (last.source_state, last.source_modifier) = (State::Installed, Modifier::Post);
        (last.target_state, last.target_modifier) = (State::Installed, Modifier::Pre);
        self
    }

    /// Passes a property of the source to the operations of the last relationship.
    pub(crate) fn told(mut self, property: &str) -> Self {
        let part = Part::End { end: End::Source, property: property.parse().expect("valid") };
        let value = Some(Template::Text(vec![part]));
        let last = self.relationships.last_mut().expect("there is one");
        last.properties.insert("peer".parse().expect("valid"), Property { value, ..Property::default() });
        self
    }

    /// Returns the desired assembly with another version of a file in its package.
    pub(crate) fn repackaged(&self, content: &str) -> Desired {
        let package = package();
        let file = PackageFile { path: "script".to_owned(), executable: true, content: content.into() };
        let package = Package::new(package.name().clone(), package.bindings().clone(), vec![file]);
        Desired { packages: vec![Arc::new(package)], ..self.desired() }
    }

    pub(crate) fn desired(&self) -> Desired {
        let name = assembly_name("t");
        Desired {
            topology: Topology::new(name, self.elements.clone(), self.relationships.clone()),
            descriptor: "assembly::t::1.0".parse().expect("valid"),
            owner: None,
            application: None,
            parameters: BTreeMap::new(),
            secrets: self.secrets.clone(),
            packages: vec![package()],
            options: UpOptions::default(),
        }
    }
}

/// Returns a property with a fixed value.
pub(crate) fn literal(text: &str) -> Property {
    Property { value: Some(Template::literal(text)), ..Property::default() }
}

const TRANSITIONS: [Transition; 5] =
    [Transition::Install, Transition::Configure, Transition::Start, Transition::Stop, Transition::Uninstall];

fn part(name: &str, kind: ElementKind, descriptor: &str) -> Element {
    Element {
        name: element(name),
        kind,
        parent: None,
        component: None,
        index: None,
        key: None,
        descriptor: descriptor.parse().expect("valid"),
        properties: IndexMap::new(),
        transitions: Transitions::default(),
        operations: IndexMap::new(),
        metrics: IndexMap::new(),
        cluster: None,
        referent: None,
        protected: false,
        on_package_change: None,
        update: None,
        origin: None,
    }
}

fn package() -> Arc<Package> {
    package_of("resource::r::1.0", "puppet", &["Join", "Leave"])
}

/// Returns a package that binds all transitions and the given operations to one driver.
pub(crate) fn package_of(name: &str, driver: &str, operations: &[&str]) -> Arc<Package> {
    let binding = Binding {
        driver: driver.parse().expect("valid"),
        infrastructure: vec!["*".to_owned()],
        properties: BTreeMap::new(),
    };
    let bindings = Bindings {
        transitions: TRANSITIONS
            .iter()
            .chain(&[Transition::Create, Transition::Delete, Transition::Reconfigure, Transition::Adopt])
            .map(|transition| (*transition, Vec::new()))
            .collect(),
        operations: operations.iter().map(|name| ((*name).to_owned(), Vec::new())).collect(),
        commands: BTreeMap::from([("Backup".to_owned(), Vec::new())]),
        default: vec![binding],
        ..Bindings::default()
    };
    Arc::new(Package::new(name.parse().expect("valid"), bindings, Vec::new()))
}

/// Returns a package without operations whose instances can be searched for.
pub(crate) fn finder(driver: &str) -> Package {
    let package = package_of("resource::found::1.0", driver, &[]);
    let queries = package.bindings().default.clone();
    Package::new(package.name().clone(), Bindings { queries, ..package.bindings().clone() }, Vec::new())
}
