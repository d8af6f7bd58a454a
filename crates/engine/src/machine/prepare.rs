//! Prepares calls: chooses the driver and the location, and resolves the values.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use windlass_driver::{Binding, Call, Driver, Input, Location, Package, Placement, Question, Registry};
use windlass_model::assembly::Referent;
use windlass_model::id::StoreId;
use windlass_model::instance::clear_complaint;
use windlass_model::record::{
    Advance, CallRecord, CallState, ElementRecord, Failure, FailureKind, PairKey, PairRecord,
};
use windlass_model::resolve::text_of;
use windlass_model::{
    Action, CallId, ElementName, InstanceId, ProcessId, PropertyName, Side, State, StepId, Timestamp,
    Transition,
};

use super::call_run::CallRun;
use super::queues::StepKey;
use crate::applied_inputs::given;
use crate::engine::ByQueries;
use crate::panic::described;
use crate::places::Places;
use crate::sealing::opened;
use crate::values::{self, Unknown, sensitive};
use crate::world::World;
use crate::{check_failure, command_arguments, commands};

/// The data from which a call is prepared.
pub(super) struct CallSeed {
    pub(super) id: CallId,
    pub(super) key: StepKey,
    pub(super) element: ElementName,
    pub(super) action: Action,
    pub(super) pair: Option<PairKey>,
    pub(super) then: Advance,
    pub(super) side: Side,
    pub(super) attempt: u32,
    /// See [`CallRecord::from`].
    pub(super) from: Option<String>,
    pub(super) started: Timestamp,
    /// Whether an earlier process has begun the call.
    pub(super) again: bool,
}

impl CallSeed {
    /// Returns the data from which a call of an earlier process is prepared again. `record` is the record of this
    /// call.
    pub(super) fn again(record: &CallRecord) -> Self {
        Self {
            id: record.id.clone(),
            key: (record.process, record.step),
            element: record.element.clone(),
            action: record.action.clone(),
            pair: record.pair.clone(),
            then: record.then,
            side: record.side,
            attempt: record.attempt,
            from: record.from.clone(),
            started: record.started,
            again: true,
        }
    }
}

/// A health check of one element.
pub(crate) struct Look {
    pub(crate) element: ElementName,
    pub(crate) state: State,
    /// Whether the last health check of the element has failed. Such an element is checked alone.
    pub(crate) is_suspect: bool,
    /// The prepared call of the health check, or the reason why the health check can't run.
    pub(crate) ready: Result<ReadyLook, Failure>,
}

/// The prepared call of a health check.
pub(crate) struct ReadyLook {
    pub(crate) call: Box<Call>,
    pub(crate) driver: Arc<dyn Driver>,
    /// The key of a batch of health checks. If several elements have the same key, the driver may check them
    /// together. `None` means that the driver checks this element alone.
    pub(crate) batch: Option<String>,
}

/// A prepared call that no driver performs, and the driver that the package chooses for this call. Functions that apply
/// a report need the call of the report. If a report comes from elsewhere, such as a search for instances, the engine
/// passes this call to them.
pub(crate) type Unasked = (Box<Call>, Arc<dyn Driver>);

/// Prepares calls from the records of an assembly.
pub(crate) struct Preparer {
    drivers: Registry,
    places: Arc<dyn Places>,
    /// The locations that were resolved already, by placement.
    locations: HashMap<Placement, Arc<Location>>,
}

impl Preparer {
    pub(crate) fn new(drivers: Registry, places: Arc<dyn Places>) -> Self {
        Self { drivers, places, locations: HashMap::new() }
    }

    /// Prepares a call. Returns `None` if the action needs no driver: the package does not declare the action, or the
    /// driver has nothing to do for the action.
    pub(super) fn prepare(&mut self, world: &World, seed: CallSeed) -> Result<Option<CallRun>, Failure> {
        let home = world.home(&seed.element);
        // A call on an element of another assembly uses the installed version of that assembly.
        let side = if world.is_foreign(&seed.element) { Side::Installed } else { seed.side };
        let element = home.element(&seed.element, side).ok_or_else(|| {
            Failure::new(FailureKind::NotFound, format!("there is no element `{}`", seed.element))
        })?;
        let package = home.package(element, side)?;
        if !package.bindings().declares(&seed.action) && !is_by_queries(&package, &seed.action) {
            return Ok(None);
        }
        let placement = values::placement(home, element, side);
        let location = self.location(placement)?;
        let (binding, driver) = self.choose(&package, &seed.action, &location)?;
        let nature = described(|| driver.nature(&package, &seed.action))?;
        let Some(nature) = nature else { return Ok(None) };
        let late_results = match &seed.action {
            Action::Command(command) => described(|| driver.late_results(&package, command))?,
            _ => None,
        };
        let again = seed.again;
        let record = CallRecord {
            id: seed.id,
            process: seed.key.0,
            step: seed.key.1,
            element: seed.element,
            pair: seed.pair,
            action: seed.action,
            side: seed.side,
            driver: binding.driver.clone(),
            effect: nature.effect,
            attempt: seed.attempt,
            from: seed.from,
            then: seed.then,
            state: CallState::Open,
            unknown: None,
            started: seed.started,
            ended: None,
        };
        let call = call(world, &record, driver.family(), Chosen { package, binding, location, again })?;
        Ok(Some(CallRun {
            record,
            call,
            driver,
            nature,
            late_results,
            taken_up: false,
            observed: false,
            lost: None,
            repeats: false,
            acted: false,
            untouched: false,
            polls: 0,
            not_ready: None,
            wipe: Vec::new(),
            hidden: Vec::new(),
        }))
    }

    /// Returns the elements that `calls` have launched, but whose natural ids are unknown. A natural id is the id of an
    /// instance outside of windlass, for example in a cloud.
    ///
    /// For some drivers, only the report of the launch call contains the natural id. If this report is lost, the
    /// natural id is unknown. The result contains the instance id of each element, too.
    pub(crate) fn unnamed(&mut self, world: &World, calls: &[CallRecord]) -> Vec<(ElementName, InstanceId)> {
        let mut unnamed = Vec::new();
        for record in calls {
            let prepared = self.prepare(world, CallSeed::again(record));
            if let Ok(Some(run)) = prepared
                && run.nature.names
                && run.call.natural.is_none()
            {
                unnamed.push((record.element.clone(), run.call.instance.clone()));
            }
        }
        unnamed
    }

    /// Prepares a health check for each Active element whose driver can observe its instance.
    pub(crate) fn looks(&mut self, world: &World, store: &StoreId, now: Timestamp) -> Vec<Look> {
        let up = world.elements.values().filter(|record| record.state == State::Active);
        let up: BTreeSet<ElementName> = up.map(|record| record.name.clone()).collect();
        let topology = world.version(Side::Installed);
        let actions: Vec<(ElementName, Action)> = topology
            .elements()
            .iter()
            .filter(|element| up.contains(&element.name))
            .filter_map(|element| {
                let by =
                    [Transition::Integrity, Transition::Start, Transition::Configure, Transition::Install];
                let action = by.into_iter().find(|transition| element.declares(*transition))?;
                Some((element.name.clone(), Action::Transition(action)))
            })
            .collect();
        (1..)
            .zip(actions)
            .filter_map(|(number, (element, action))| {
                let key = (ProcessId(0), StepId(number));
                let seed = CallSeed {
                    id: CallId::of(store, key.0, key.1, 0),
                    key,
                    element,
                    action,
                    pair: None,
                    then: Advance::State(State::Active),
                    side: Side::Installed,
                    attempt: 1,
                    from: None,
                    started: now,
                    again: false,
                };
                self.look(world, seed)
            })
            .collect()
    }

    /// Prepares a call that no driver performs; see [`Unasked`].
    pub(crate) fn unasked(
        &mut self,
        world: &World,
        store: &StoreId,
        element: ElementName,
        now: Timestamp,
    ) -> Result<Option<Unasked>, Failure> {
        let key = (ProcessId(0), StepId(0));
        let seed = CallSeed {
            id: CallId::of(store, key.0, key.1, 0),
            key,
            element,
            action: Action::Transition(Transition::Install),
            pair: None,
            then: Advance::Nothing,
            side: Side::Desired,
            attempt: 1,
            from: None,
            started: now,
            again: false,
        };
        Ok(self.prepare(world, seed)?.map(|run| (Box::new(run.call), run.driver)))
    }

    fn look(&mut self, world: &World, seed: CallSeed) -> Option<Look> {
        let element = seed.element.clone();
        let prepared = self.prepare(world, seed);
        let ready = match prepared {
            Ok(Some(run)) if run.nature.observable => {
                Ok(ReadyLook { call: Box::new(run.call), driver: run.driver, batch: run.nature.batch })
            }
            Ok(_) => return None,
            Err(failure) => Err(failure),
        };
        let failure = world.elements.get(&element).and_then(check_failure::recorded);
        let is_suspect = failure.is_some_and(check_failure::is_suspect);
        Some(Look { element, state: State::Active, is_suspect, ready })
    }

    /// Returns the location of a placement. Each placement is resolved once.
    fn location(&mut self, placement: Placement) -> Result<Arc<Location>, Failure> {
        if let Some(known) = self.locations.get(&placement) {
            return Ok(known.clone());
        }
        let refused = |why| Failure::new(FailureKind::Refused, why);
        let location = Arc::new(self.places.location(&placement).map_err(refused)?);
        self.locations.insert(placement, location.clone());
        Ok(location)
    }

    /// Returns the driver that performs an action at a location, and the binding of this driver. A *binding* is an
    /// entry in a descriptor. The entry chooses the driver for an action. The choice may depend on the
    /// infrastructure type of the location, such as `Local`.
    fn choose(
        &self,
        package: &Package,
        action: &Action,
        location: &Location,
    ) -> Result<(Binding, Arc<dyn Driver>), Failure> {
        let refused = |message| Failure::new(FailureKind::Refused, message);
        let infrastructure = &location.infrastructure;
        let by_queries = is_by_queries(package, action);
        let bindings = package.bindings();
        let binding =
            if by_queries { bindings.query(infrastructure) } else { bindings.find(action, infrastructure) };
        let binding = binding.ok_or_else(|| {
            let name = package.name();
            refused(format!(
                "`{name}` names no driver for {action} at infrastructure type `{infrastructure}`"
            ))
        })?;
        let driver = self.drivers.get(&binding.driver).ok_or_else(|| {
            let known: Vec<String> = self.drivers.kinds().map(|kind| format!("`{kind}`")).collect();
            refused(format!("there is no driver `{}`; there are {}", binding.driver, known.join(", ")))
        })?;
        let driver: Arc<dyn Driver> =
            if by_queries { Arc::new(ByQueries(driver.clone())) } else { driver.clone() };
        Ok((binding.clone(), driver))
    }
}

fn call(world: &World, record: &CallRecord, family: &str, chosen: Chosen) -> Result<Call, Failure> {
    let missing =
        |element: &ElementName| Failure::new(FailureKind::NotFound, format!("`{element}` has no record"));
    let home = world.home(&record.element);
    let unknown = Unknown::of(&record.action, record.side);
    let side = if world.is_foreign(&record.element) { Side::Installed } else { record.side };
    let element = home.element(&record.element, side).ok_or_else(|| missing(&record.element))?;
    let known = home.elements.get(&record.element);
    // The instance that a reference resolves to was not created by this assembly. It has no record here, and
    // its instance id follows from the name of the element.
    let foreign = element.referent.as_ref().filter(|_| known.is_none());
    let id = match (known, foreign) {
        (Some(known), _) => known.id.clone(),
        (None, Some(_)) => InstanceId::of(home.version(side).instance_name(&record.element).as_str()),
        (None, None) => return Err(missing(&record.element)),
    };
    let instance = home.instances.get(&record.element);
    let natural = instance.and_then(|instance| home.secrets.natural(instance));
    let mut properties = values::properties(home, element, side, unknown)?;
    if matches!(
        record.action,
        Action::Transition(Transition::Stop | Transition::Uninstall | Transition::Delete)
    ) {
        keep_inputs(&mut properties, known);
    }
    let private = known.and_then(|known| known.private.get(family)).cloned().unwrap_or_default();
    let (private, missing) = opened(private, &|secret| home.secrets.text(secret));
    if let Some(secret) = missing.first().filter(|_| unknown == Unknown::Refused) {
        let message = format!(
            "its private state needs `{secret}`, which the store does not have; re-create it with `windlass up --replace {}`",
            element.name.local()
        );
        return Err(Failure::new(FailureKind::Refused, message));
    }
    let mut document = instance.map(|instance| instance.document.clone()).unwrap_or_default();
    if record.state == CallState::Open {
        clear_complaint(&mut document);
    }
    let arguments = match (&record.action, &record.pair) {
        (_, Some(pair)) => arguments(world, pair, unknown, record.side, chosen.again)?,
        (Action::Command(_), None) => command_arguments::open(world, record.process)?,
        (_, None) => BTreeMap::new(),
    };
    let configuration = match &home.configuration {
        Some(configuration) => configuration.clone()?,
        None => chosen.location.configuration(),
    };
    Ok(Call {
        id: record.id.clone(),
        attempt: record.attempt,
        action: record.action.clone(),
        element: record.element.clone(),
        instance: id,
        natural: natural.or_else(|| foreign.map(|referent| natural_of(referent, &properties))),
        document,
        properties,
        sensitive: sensitive(element),
        configuration,
        arguments,
        pair: record.pair.clone(),
        open_commands: commands::awaited(home, &record.element),
        question: Question::Health,
        private,
        package: chosen.package,
        binding: chosen.binding,
        location: chosen.location,
    })
}

/// Gives a call the [outdated inputs](ElementRecord::outdated) of the instance. An instance is stopped and removed with
/// the values that it uses, even if the outputs that it reads have changed. A secret value is not recorded, so a secret
/// input keeps its present value.
fn keep_inputs(properties: &mut BTreeMap<PropertyName, Input>, record: Option<&ElementRecord>) {
    let outdated = record.into_iter().flat_map(|record| &record.outdated);
    for (name, used) in outdated {
        if let (Some(input), Some(used)) = (properties.get_mut(name), used) {
            *input = Input::plain(used.clone());
        }
    }
}

/// Returns the values for an operation of a pair.
///
/// The first operation of a pair gets the present values, which are then recorded. Later operations and repeated calls
/// get the recorded values, even if these are outdated. A pair may have no recorded values, for example because an
/// older version of windlass created the pair. All its operations then get the present values.
fn arguments(
    world: &World,
    pair: &PairKey,
    unknown: Unknown,
    side: Side,
    again: bool,
) -> Result<BTreeMap<PropertyName, Input>, Failure> {
    let has_begun = |known: &PairRecord| again || known.is_there();
    let applied = match world.pairs.get(pair).filter(|known| has_begun(known)) {
        Some(_) => given(world, pair, unknown)?,
        None => None,
    };
    match applied {
        Some(applied) => Ok(applied),
        None => values::arguments(world, pair, side, unknown),
    }
}

/// Returns the natural id of the thing that a reference resolves to. For an instance that a driver has found,
/// this is the id that the driver found. For an assembly, it is the name of the assembly. For an entry of
/// `existing:`, it is the property `id`, or the name of the entry if there is no such property.
fn natural_of(referent: &Referent, properties: &BTreeMap<PropertyName, Input>) -> String {
    let id = properties.get("id").map(|id| text_of(&id.value));
    match referent {
        Referent::Found(natural) => natural.clone(),
        Referent::Assembly(name) => name.to_string(),
        Referent::Listed(name) => id.unwrap_or_else(|| name.clone()),
        other => id.unwrap_or_else(|| other.to_string()),
    }
}

/// Tells whether the engine must search for an existing instance in order to adopt it.
///
/// This is the case if the package has no driver for the transition Adopt, but names drivers in `queries`. These
/// drivers search for instances.
fn is_by_queries(package: &Package, action: &Action) -> bool {
    let bindings = package.bindings();
    *action == Action::Transition(Transition::Adopt)
        && !bindings.declares(action)
        && !bindings.queries.is_empty()
}

/// The package, the driver binding and the location that [`Preparer::prepare`] has chosen for a call.
struct Chosen {
    package: Arc<Package>,
    binding: Binding,
    location: Arc<Location>,
    /// Whether an earlier process has begun the call.
    again: bool,
}
