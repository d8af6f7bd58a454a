//! Lists the instances that the discovery script of a factory finds. Adopts unknown instances as applications,
//! and updates known applications.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;

use windlass_driver::contract::{Found, Purpose};
use windlass_driver::{Observation, Observed, Stop};
use windlass_model::assembly::PackageDigest;
use windlass_model::document::Expected;
use windlass_model::instance::LogEntry;
use windlass_model::record::{
    AssemblyRecord, Event as Happening, Failure, FailureKind, Intent, Made, PlanText, ProcessRecord,
    ProcessStatus,
};
use windlass_model::work::{Reason, Work};
use windlass_model::{AssemblyName, ElementName, ProcessId, Side, State, Timestamp};
use windlass_plan::PlanBuilder;
use windlass_store::{Claim, Claimant, Holder, StoreError};

use super::check::{CheckEnd, Revision, applied, previewed, without_check, without_news};
use super::core::Engine;
use super::discover::DiscoveryQuery;
use super::draft::{Draft, PreviousState};
use super::env::resources;
use super::look::{Answered, Seen};
use super::prepare::{beginning, event};
use super::previous::{Records, SharedRecords, lock};
use super::request::{Desired, Request};
use crate::claim::{Refusing, Sharers};
use crate::error::EngineError;
use crate::exported::ExportedInstance;
use crate::keeper::give_up;
use crate::machine::Preparer;
use crate::report;
use crate::values;
use crate::world::World;

/// Runs the discovery script of a factory with the configuration of the factory, and returns the instances that the
/// script finds.
///
/// # Errors
/// The outer error is [`EngineError::Unknown`] if there is no such assembly, [`EngineError::Stopped`] after a stop,
/// or an error of the store. The inner error is the reason why the instances are unknown, for example a failure of
/// the script.
pub async fn inventory(
    engine: &Engine,
    factory: &AssemblyName,
    stop: &Stop,
) -> Result<Result<Vec<Found>, Failure>, EngineError> {
    let Some(snapshot) = engine.store.load(factory).await? else {
        return Err(engine.unknown(factory).await?);
    };
    let configuration = match engine.records().configuration_of(factory).await? {
        Ok(configuration) => configuration,
        Err(failure) => return Ok(Err(failure)),
    };
    let world = engine.records().loaded(snapshot).await?;
    let Some(element) = resources(world.topology()).next() else { return Ok(Ok(Vec::new())) };
    let package = match world.package(element, Side::Desired) {
        Ok(package) => package,
        Err(failure) => return Ok(Err(failure)),
    };
    let query = DiscoveryQuery {
        placement: values::placement(&world, element, Side::Desired),
        package,
        properties: BTreeMap::new(),
        configuration: Some(configuration),
        purpose: Purpose::Inventory,
        store: Some(engine.store.id().clone()),
    };
    let found = engine.env.discover(&query, stop).await;
    if stop.is_requested() {
        return Err(EngineError::Stopped);
    }
    Ok(found)
}

/// Records the instances that a discovery has found. [`adopt`](Self::adopt) records an unknown instance as a new
/// application, and [`apply`](Self::apply) updates a known application. The methods may be called for several instances
/// at the same time.
pub struct FoundRecorder<'e> {
    engine: &'e Engine,
    holder: &'e Holder,
    shared: SharedRecords,
    /// The digests of the packages that this recorder has already stored for adopted applications. The recorder stores
    /// each package only once.
    stored: Mutex<BTreeSet<PackageDigest>>,
    /// The process ids that [`reserve`](Self::reserve) has reserved and that no adoption has used yet.
    reserved: Mutex<VecDeque<ProcessId>>,
}

impl<'e> FoundRecorder<'e> {
    /// Creates a recorder for the instances that one discovery finds. `holder` becomes the holder of the leases that
    /// the recorder takes.
    ///
    /// The recorder caches records of the store. A later discovery needs a new recorder, because the cached records may
    /// be out of date by then.
    pub fn new(engine: &'e Engine, holder: &'e Holder) -> Self {
        let (shared, stored, reserved) = (SharedRecords::default(), Mutex::default(), Mutex::default());
        Self { engine, holder, shared, stored, reserved }
    }

    /// Reserves one process id for each of several adoptions, all by a single request to the store. `adoptions`
    /// is the number of adoptions.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn reserve(&self, adoptions: usize) -> Result<(), EngineError> {
        if adoptions == 0 {
            // A dry run adopts nothing, and must not write.
            return Ok(());
        }
        let count = u32::try_from(adoptions).unwrap_or(u32::MAX);
        let ids = self.engine.store.reserve_processes(count).await?;
        lock(&self.reserved).extend(ids);
        Ok(())
    }

    fn records(&self) -> Records<'_> {
        Records { shared: Some(&self.shared), ..self.engine.records() }
    }

    /// Records a found instance as a new application. Also records a completed process that has no steps. No script
    /// runs. `exported` contains the recorded exports of the instance. The function deletes the records of these
    /// exports, so the store no longer treats the instance as exported. If `same_id` is true, an application of a
    /// [sibling](crate::Kinship::Siblings) of the factory may have the same natural id.
    ///
    /// # Errors
    /// The outer error is an error of the engine or the store. The inner failure is the reason why this instance can't
    /// become an application. For example, the instance already belongs to another application, or the properties that
    /// the discovery has reported are not valid.
    pub async fn adopt(
        &self,
        desired: Desired,
        found: Found,
        exported: &[ExportedInstance],
        same_id: bool,
    ) -> Result<Result<(), Failure>, EngineError> {
        let Self { engine, .. } = self;
        let report = match found.report {
            Ok(report) => report,
            Err(failure) => return Ok(Err(failure)),
        };
        let name = desired.topology.name().clone();
        let mut draft = engine.env.draft(Request::up(desired), None, PreviousState::default(), None)?;
        let digests: Vec<PackageDigest> =
            draft.packages.iter().map(|package| package.digest().clone()).collect();
        draft.packages.retain(|package| !lock(&self.stored).contains(package.digest()));
        draft.world.configuration = Box::pin(self.records().configuration(&draft.world.assembly)).await?;
        let reserved = lock(&self.reserved).pop_front();
        let id = match reserved {
            Some(id) => id,
            None => engine.store.reserve_process().await?,
        };
        let now = engine.env.clock.now();
        let parts = made(&mut draft, id);
        let process = completed(engine, &draft, id, now);
        let mut batch = beginning(&mut draft, &process);
        let mut world = draft.world;
        let mut preparer = Preparer::new(engine.env.drivers.clone(), engine.env.places.clone());
        for part in &parts {
            let (call, driver) = match preparer.unasked(&world, engine.store.id(), part.clone(), now) {
                Ok(Some(unasked)) => unasked,
                Ok(None) => continue,
                Err(failure) => return Ok(Err(failure)),
            };
            let answered = report::Answered { call: &call, family: driver.family(), hidden: &[], now };
            let log = match world.apply(answered, report.clone(), &mut batch) {
                Ok(applied) => applied.all(),
                Err(failure) => return Ok(Err(failure)),
            };
            for LogEntry { severity, message, data } in log {
                let body = Happening::Logged { element: part.clone(), severity, message, data };
                batch = batch.event(event(&world, Some(id), now, body));
            }
            let body =
                Happening::StateChanged { element: part.clone(), from: State::Absent, to: State::Active };
            batch = batch.event(event(&world, Some(id), now, body));
        }
        let ended = Happening::ProcessEnded { status: ProcessStatus::Completed, reason: None };
        let claim = match self.claim(&world.assembly, &found.natural, same_id).await? {
            Ok(claim) => claim,
            Err(failure) => return Ok(Err(failure)),
        };
        batch = batch.event(event(&world, Some(id), now, ended)).claim(claim);
        for instance in exported {
            batch = batch.drop_document(instance.key.clone(), Expected::Any);
        }
        match engine.store.create(&name, self.holder, batch).await {
            Ok(true) => {
                lock(&self.stored).extend(digests);
                Ok(Ok(()))
            }
            Ok(false) => {
                let message = format!("an assembly or a queued request has the name `{name}`");
                Ok(Err(Failure::new(FailureKind::AlreadyExists, message)))
            }
            Err(error @ StoreError::Refused { .. }) => {
                // Another command may have claimed the natural id at the same time.
                match self.claim(&world.assembly, &found.natural, same_id).await? {
                    Err(failure) => Ok(Err(failure)),
                    Ok(_) => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the claim of a found instance for its new application. The inner failure names an application that has the
    /// instance.
    async fn claim(
        &self,
        application: &AssemblyRecord,
        natural_id: &str,
        same_id: bool,
    ) -> Result<Result<Claim, Failure>, EngineError> {
        let claim = Claim::from(natural_id);
        let Some(owner) = &application.owner else { return Ok(Ok(claim)) };
        let sharers = Sharers::of_factory(&*self.engine.store, &application.name, owner, natural_id).await?;
        let by = match sharers {
            Ok(Sharers { siblings, .. }) if !same_id && !siblings.is_empty() => siblings[0].assembly.clone(),
            Ok(sharers) => return Ok(Ok(claim.shared_with(sharers.names()))),
            Err(Refusing::Own(by) | Refusing::OfTwin(Claimant { assembly: by, .. })) => by,
        };
        Ok(Err(Failure::new(FailureKind::AlreadyExists, format!("`{by}` has it already"))))
    }

    /// Returns the result that [`apply`](Self::apply) would have, and changes nothing in the store.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn preview(&self, name: &AssemblyName, found: Found) -> Result<CheckEnd, EngineError> {
        match self.answered(name, found).await? {
            Ok(FoundAnswer { before, mut world, answer }) => {
                Ok(previewed(self.engine, &before, &mut world, &answer))
            }
            Err(end) => Ok(end),
        }
    }

    /// Updates the records of a known application. `found` is what a discovery reported about the application's
    /// instance. The name in `found` is ignored, because a known application keeps its name. The function takes the
    /// lease of the application only if it may have to change records.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn apply(&self, name: &AssemblyName, found: Found) -> Result<CheckEnd, EngineError> {
        let Self { engine, .. } = self;
        let FoundAnswer { before, mut world, answer } = match self.answered(name, found).await? {
            Ok(answered) => answered,
            Err(end) => return Ok(end),
        };
        if let Some(end) = without_news(engine, &before, &mut world, &answer) {
            return Ok(end);
        }
        let lease = match engine.store.lease(name, self.holder).await {
            Ok(lease) => lease,
            Err(error) => return Ok(CheckEnd::Dropped(error.to_string())),
        };
        let end = Box::pin(applied(engine, &lease, &answer, &before)).await;
        give_up(&engine.store, lease).await;
        end
    }

    /// Reads the records of a known application, and converts the report of a discovery about its instance to the
    /// answer of a health check. If the report can't be used, returns the result of the check instead.
    async fn answered(
        &self,
        name: &AssemblyName,
        found: Found,
    ) -> Result<Result<FoundAnswer, CheckEnd>, EngineError> {
        let Self { engine, .. } = self;
        let Some(snapshot) = engine.store.load(name).await? else {
            return Ok(Err(CheckEnd::Dropped("it was removed meanwhile".to_owned())));
        };
        let before = Revision::of(&snapshot);
        let world = self.records().loaded(snapshot).await?;
        let Some(element) = resources(world.topology()).next().map(|element| element.name.clone()) else {
            return Ok(Err(without_check()));
        };
        let mut preparer = Preparer::new(engine.env.drivers.clone(), engine.env.places.clone());
        let now = engine.env.clock.now();
        let (call, driver) = match preparer.unasked(&world, engine.store.id(), element, now) {
            Ok(Some(unasked)) => unasked,
            Ok(None) => return Ok(Err(without_check())),
            Err(failure) => return Ok(Err(CheckEnd::Failed(failure))),
        };
        let observation = if found.is_gone() { Observation::Absent } else { Observation::Reached };
        let answer = match found.without_name().report {
            Ok(report) => {
                let observed = Box::new(Observed { observation, report });
                Answered::Observed { call, driver, observed }
            }
            Err(failure) => {
                let (element, state) = (call.element, State::Active);
                Answered::Failed(Seen { element, state, sight: Err(failure), metrics: BTreeMap::new() })
            }
        };
        Ok(Ok(FoundAnswer { before, world, answer }))
    }
}

/// A discovery has found the instance of a known application. The value contains the report about the instance, and the
/// records of the application.
struct FoundAnswer {
    before: Revision,
    world: World,
    answer: Answered,
}

/// Changes the draft of a new assembly, so that the parts of the assembly count as existing. The plan then has no
/// steps. Returns the names of the resources of the assembly.
fn made(draft: &mut Draft, process: ProcessId) -> Vec<ElementName> {
    draft.intent = Intent::Adopt;
    draft.plan = PlanBuilder::<Work, Reason>::new().build().expect("no step waits for anything");
    let assembly = &mut draft.world.assembly;
    (assembly.version, assembly.reached) = (Some(process), Some(process));
    let package = assembly.packages.values().next().cloned();
    let parts: Vec<ElementName> =
        resources(draft.world.topology()).map(|element| element.name.clone()).collect();
    for record in draft.world.elements.values_mut().filter(|record| parts.contains(&record.name)) {
        record.enter(State::Active, record.since);
        record.made = package.clone().map(|package| Made {
            package,
            installed_by: process,
            configured_by: process,
            location: None,
        });
        let mut enrolled = draft.enrolled.iter_mut();
        if let Some(enrolled) = enrolled.find(|enrolled| enrolled.name == record.name) {
            enrolled.clone_from(record);
        }
    }
    parts
}

fn completed(engine: &Engine, draft: &Draft, id: ProcessId, now: Timestamp) -> ProcessRecord {
    ProcessRecord {
        id,
        assembly: draft.world.assembly.name.clone(),
        intent: Intent::Adopt,
        application: None,
        status: ProcessStatus::Completed,
        plan: PlanText::new(&draft.plan).expect("a plan is plain data"),
        continues: None,
        from: Some(engine.env.home.clone()),
        request: None,
        unattended: false,
        target: BTreeSet::new(),
        except: BTreeSet::new(),
        max_unavailable: None,
        max_surge: None,
        may_destroy: None,
        created: now,
        ended: Some(now),
        reason: None,
        follow_up: None,
    }
}
