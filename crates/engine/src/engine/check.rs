//! Health checks of applications. The reports of a check may change the records.
//!
//! One check covers several applications that have the same package, location and configuration. Each application is an
//! assembly of its own. A check needs no leases of the checked applications. If a daemon makes the check, it holds the
//! lease of the factory that owns the applications. So no other daemon checks them at the same time. A report that
//! changes the records of an assembly is applied under a short lease of that assembly. The report is dropped if the
//! records have changed since the check began. A report that changes nothing writes nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use windlass_driver::{Observation, Stop};
use windlass_model::instance::{LogEntry, Status};
use windlass_model::instance_changes::document_changes;
use windlass_model::record::{
    ElementRecord, Event as Happening, EventDraft, Failure, FailureKind, Intent, Severity,
};
use windlass_model::{AssemblyName, Element, ElementName, InstanceId, State, Timestamp};
use windlass_store::{Batch, Change, Holder, Lease, Snapshot};

use super::absence::{Absence, doubt_absence_of_all};
use super::core::Engine;
use super::env::resources;
use super::look::{Answered, Checks, FailedJob, Line, Seen};
use super::previous::{Records, SharedRecords};
use super::unfinished::is_converging;
use crate::error::EngineError;
use crate::keeper::give_up;
use crate::machine::Preparer;
use crate::recordings::{self, RecordedJob};
use crate::report;
use crate::world::World;
use crate::{check_failure, commands};

/// The number of assemblies that are read at once.
const PAGE: usize = 64;

/// The maximum number of assemblies whose records are written at once.
const AT_ONCE: usize = 64;

/// The result of the check of an assembly.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The name of the checked assembly.
    pub name: AssemblyName,
    /// The result of the check.
    pub end: CheckEnd,
}

/// The result of a check of one assembly.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CheckEnd {
    /// The check has reported on the instance, and the records of the assembly match the report now.
    Applied {
        /// The status after the check.
        status: Status,
        /// Whether the records have changed.
        changed: bool,
    },
    /// This check or an earlier one has found that the instance no longer exists. The element is recorded as
    /// Absent.
    Destroyed,
    /// The check did not run, or its report was not used. The text gives the reason: for example, a process of the
    /// assembly was interrupted, or the assembly was removed during the check.
    Dropped(String),
    /// The check could not run, its script has failed, or its result could not be recorded.
    Failed(Failure),
    /// The script has succeeded, but gave no answer about the instance. The records keep the last status and the last
    /// failure.
    Unanswered,
    /// The assembly has no instance that is recorded as Active, or no script for health checks. The text gives the
    /// reason.
    Unchecked(String),
}

/// Checks the health of assemblies. A script reports the condition of each instance, and the engine updates the records
/// of the assembly accordingly. The result contains no entry for an assembly that does not exist. `absence` tells how
/// to interpret a check that finds none of a factory's instances.
///
/// # Errors
/// [`EngineError::Stopped`], or an error of the store. Records that were updated before the error stay updated. An error
/// that concerns only one assembly is the result of this assembly: [`CheckEnd::Failed`].
pub async fn check(
    engine: &Engine,
    names: &[AssemblyName],
    absence: Absence,
    holder: &Holder,
    stop: &Stop,
) -> Result<Vec<Checked>, EngineError> {
    Writer { engine, holder, held: None, absence }.check(names, stop).await
}

/// Checks applications as [`check`] does, under the lease of their factory. If the checks find none of the factory's
/// instances, [`Absence::Doubted`] applies.
///
/// # Errors
/// The errors of [`check`].
pub async fn check_under(
    engine: &Engine,
    names: &[AssemblyName],
    factory: &Lease,
    stop: &Stop,
) -> Result<Vec<Checked>, EngineError> {
    Writer { engine, holder: &factory.holder, held: Some(factory), absence: Absence::Doubted }
        .check(names, stop)
        .await
}

/// Writes the results of checks to the records.
struct Writer<'a> {
    engine: &'a Engine,
    holder: &'a Holder,
    /// The lease of the factory that owns the checked applications; `None` if the caller does not hold this lease.
    held: Option<&'a Lease>,
    absence: Absence,
}

impl<'a> Writer<'a> {
    async fn check(&self, names: &[AssemblyName], stop: &Stop) -> Result<Vec<Checked>, EngineError> {
        let engine = self.engine;
        let mut preparer = Preparer::new(engine.env.drivers.clone(), engine.env.places.clone());
        let mut ends: BTreeMap<AssemblyName, CheckEnd> = BTreeMap::new();
        let (mut looks, mut read) = (Vec::new(), BTreeMap::new());
        let mut owners: BTreeMap<AssemblyName, AssemblyName> = BTreeMap::new();
        let shared = SharedRecords::default();
        let records = Records { shared: Some(&shared), ..engine.records() };
        // While one page of assemblies is handled, the store reads the next page.
        let pages: Vec<_> = names.chunks(PAGE).map(|page| engine.store.load_all(page)).collect();
        let mut pages = stream::iter(pages).buffered(2);
        while let Some(page) = pages.try_next().await? {
            for snapshot in page {
                let name = snapshot.assembly.name.clone();
                owners.extend(snapshot.assembly.owner.clone().map(|owner| (name.clone(), owner)));
                let revision = Revision::of(&snapshot);
                ends.insert(name.clone(), unchecked(&snapshot, &revision));
                if revision.open.is_some() {
                    continue;
                }
                let world = match records.loaded(snapshot).await {
                    Ok(world) => world,
                    Err(error @ EngineError::Store(_)) => return Err(error),
                    // For example, a package of this assembly is damaged. The other assemblies are still checked.
                    Err(error) => {
                        ends.insert(name, failed_by(&error));
                        continue;
                    }
                };
                looks.extend(preparer.looks(&world, engine.store.id(), engine.env.clock.now()));
                read.insert(name, (revision, world));
            }
        }
        let Checks { mut answers, failed, lines } = engine.checks().answers(looks, stop).await;
        if stop.is_requested() {
            return Err(EngineError::Stopped);
        }
        if self.absence == Absence::Doubted {
            doubt_absence_of_all(&*engine.store, &mut answers, &owners).await?;
        }
        let mut news: BTreeMap<AssemblyName, Vec<Answered>> = BTreeMap::new();
        for answer in answers {
            let name = answer.element().assembly();
            let Some((revision, world)) = read.get_mut(&name) else { continue };
            match without_news(engine, revision, world, &answer) {
                Some(end) => drop(ends.insert(name, end)),
                None => news.entry(name).or_default().push(answer),
            }
        }
        // The store writes the records of concurrent changes together.
        let written: Vec<_> =
            news.into_iter().map(|(name, answers)| self.write(&read[&name].0, name, answers)).collect();
        // All writes run to their end, because a dropped write would not release its lease.
        let written: Vec<_> = stream::iter(written).buffered(AT_ONCE).collect().await;
        ends.extend(written);
        self.keep_failed(failed, &owners).await?;
        self.log_lines(lines, &owners).await?;
        Ok(ends.into_iter().map(|(name, end)| Checked { name, end }).collect())
    }

    /// Takes the lease of the assembly `name`, and updates the records of the assembly. `answers` are answers to health
    /// checks of the assembly's elements. The function applies the answers in the order of the list. Returns `name`,
    /// and the result for the last answer.
    ///
    /// If the lease can't be taken, the result is [`CheckEnd::Dropped`]. If the records can't be updated, the result is
    /// [`CheckEnd::Failed`].
    async fn write(
        &self,
        before: &Revision,
        name: AssemblyName,
        answers: Vec<Answered>,
    ) -> (AssemblyName, CheckEnd) {
        let store = &self.engine.store;
        let lease = match store.lease(&name, self.holder).await {
            Ok(lease) => lease,
            Err(error) => return (name, CheckEnd::Dropped(error.to_string())),
        };
        let mut end = Ok(without_check());
        for answer in answers {
            end = applied(self.engine, &lease, &answer, before).await;
            if end.is_err() {
                break;
            }
        }
        give_up(store, lease).await;
        (name, end.unwrap_or_else(|error| failed_by(&error)))
    }

    /// Records one failed job for each factory. A failed check is repeated with smaller groups of applications, and the
    /// function records the failed job of the smallest group. A failure that is already recorded is not written again.
    /// If another program holds the lease of a factory, the factory keeps its earlier record.
    async fn keep_failed(
        &self,
        mut failed: Vec<FailedJob>,
        owners: &BTreeMap<AssemblyName, AssemblyName>,
    ) -> Result<(), EngineError> {
        let engine = self.engine;
        // For each factory, the failed job with the fewest applications is recorded, no matter in which order
        // the jobs have ended.
        failed.sort_by_key(|(job, _)| std::cmp::Reverse((job.applications.len(), job.applications.clone())));
        let owner = |job: &RecordedJob| job.applications.iter().find_map(|name| owners.get(name)).cloned();
        let by_factory: BTreeMap<AssemblyName, FailedJob> =
            failed.into_iter().filter_map(|failed| Some((owner(&failed.0)?, failed))).collect();
        for (factory, (job, transcript)) in by_factory {
            let known = recordings::recorded_jobs(&*engine.store, &factory).await?;
            let is_same = |known: &RecordedJob| {
                (&known.failure, &known.applications) == (&job.failure, &job.applications)
            };
            if known.iter().any(is_same) {
                continue;
            }
            // Everything is read before the lease is taken, so that a failed read leaves no lease behind.
            let snapshot = engine.store.load_sealed(&factory).await?;
            let Some(lease) = self.lease_of(&factory).await else { continue };
            let failure = job.failure.as_deref().unwrap_or_default();
            let message = match &job.applications[..] {
                [one] => format!("the health check of `{one}` failed: {failure}"),
                all => format!("the health check of {} applications failed: {failure}", all.len()),
            };
            let element = snapshot.and_then(|snapshot| snapshot.elements.into_keys().next());
            let mut batch: Batch = [recordings::put(&factory, &job, &transcript)].into_iter().collect();
            if let Some(element) = &element {
                batch = batch.event(logged(engine, element, LogEntry::new(Severity::Error, message)));
            }
            let kept = engine.store.commit(&lease, batch).await;
            self.release(lease).await;
            kept?;
        }
        Ok(())
    }

    /// Adds messages of health checks to the activity logs of the factories. `lines` contains these messages: warnings
    /// and errors that the scripts of successful checks have written to stderr. `owners` contains the factory of each
    /// application. If the lease of a factory can't be taken, the messages for this factory are dropped.
    async fn log_lines(
        &self,
        lines: Vec<Line>,
        owners: &BTreeMap<AssemblyName, AssemblyName>,
    ) -> Result<(), EngineError> {
        let engine = self.engine;
        let mut by_factory: BTreeMap<&AssemblyName, Vec<LogEntry>> = BTreeMap::new();
        for (name, entry) in lines {
            if let Some(owner) = owners.get(&name) {
                by_factory.entry(owner).or_default().push(entry);
            }
        }
        for (factory, entries) in by_factory {
            let snapshot = engine.store.load_sealed(factory).await?;
            let Some(lease) = self.lease_of(factory).await else { continue };
            let mut batch = Batch::new();
            if let Some(element) = snapshot.and_then(|snapshot| snapshot.elements.into_keys().next()) {
                for entry in entries {
                    batch = batch.event(logged(engine, &element, entry));
                }
            }
            let written = engine.store.commit(&lease, batch).await;
            self.release(lease).await;
            written?;
        }
        Ok(())
    }

    /// Returns the lease of a factory. If the caller of the check already [holds](Self::held) this lease, the function
    /// returns the same lease. Otherwise, the function takes a new lease. `None` means that the new lease can't be
    /// taken, for example because another program holds the lease.
    async fn lease_of(&self, factory: &AssemblyName) -> Option<Cow<'a, Lease>> {
        if let Some(held) = self.held.filter(|held| held.scope == *factory) {
            return Some(Cow::Borrowed(held));
        }
        self.engine.store.lease(factory, self.holder).await.ok().map(Cow::Owned)
    }

    /// Releases a lease that [`lease_of`](Self::lease_of) has newly taken. The lease that the caller of the check
    /// [holds](Self::held) stays with the caller.
    async fn release(&self, lease: Cow<'_, Lease>) {
        if let Cow::Owned(lease) = lease {
            give_up(&self.engine.store, lease).await;
        }
    }
}

/// Tells whether an application no longer exists, but still has records. In this case, all its parts are recorded
/// as Absent, and the process that was to remove the records has not completed.
pub fn is_destroyed(snapshot: &Snapshot) -> bool {
    let assembly = &snapshot.assembly;
    let mut resources = resources(&assembly.topology);
    let is_absent = |record: &ElementRecord| record.state == State::Absent;
    // The records of an application that never came up are kept, with the failure of its launch.
    assembly.application.is_some()
        && assembly.reached.is_some()
        && snapshot.processes.iter().all(|process| process.intent == Intent::Down)
        && resources.all(|element| snapshot.elements.get(&element.name).is_some_and(is_absent))
}

/// Returns the result for an assembly if the check of its health is skipped or gives no answer.
fn unchecked(snapshot: &Snapshot, revision: &Revision) -> CheckEnd {
    if is_destroyed(snapshot) {
        return CheckEnd::Destroyed;
    }
    if let Some(why) = &revision.open {
        return CheckEnd::Dropped(why.clone());
    }
    let state = |element: &Element| snapshot.elements.get(&element.name).map(|record| record.state);
    let states = resources(&snapshot.assembly.topology).filter_map(state);
    match states.min_by_key(|state| state.rank()) {
        Some(state) if state != State::Active => {
            let name = &snapshot.assembly.name;
            CheckEnd::Unchecked(format!("it is {state}; `windlass retry {name}` resumes its last process"))
        }
        _ => without_check(),
    }
}

/// Returns the result of a check that ended with an error of the engine or the store.
fn failed_by(error: &EngineError) -> CheckEnd {
    CheckEnd::Failed(Failure::new(FailureKind::Infrastructure, error.to_string()))
}

/// Returns the result of a check for an assembly without a health check.
pub(super) fn without_check() -> CheckEnd {
    CheckEnd::Unchecked("it has no health check".to_owned())
}

/// Returns the reason why a check must not change the records of an assembly. The reason is that a process or a call
/// of the assembly has not ended. Returns `None` if there is no such process or call.
fn open(snapshot: &Snapshot) -> Option<String> {
    let name = &snapshot.assembly.name;
    match snapshot.processes.first() {
        Some(process) => Some(format!(
            "{} {} has not ended; if it was interrupted, `windlass retry {name}` resumes it",
            process.id,
            process.title()
        )),
        None if snapshot.calls.is_empty() => None,
        None if is_converging(snapshot) => Some(format!(
            "a change of its instance has not ended, and the next command waits for it; `windlass status {name}` shows \
             the call"
        )),
        None => Some(format!("the outcome of a call is unknown; `windlass status {name}` shows the call")),
    }
}

/// The part of an assembly's records that must not change during a check. If it has changed, the report of the check is
/// not used.
#[derive(PartialEq)]
pub(super) struct Revision {
    identity: Identity,
    /// The number of changes of each instance since the assembly was created.
    instances: BTreeMap<ElementName, u64>,
    /// The reason why a check must not change the records; `None` if a check may change them. The reason is a process
    /// or a call that has not ended. The function [`open`] determines this reason.
    open: Option<String>,
}

impl Revision {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let instances = snapshot.instances.iter().map(|(name, record)| (name.clone(), record.revision));
        Self { identity: Identity::of(snapshot), instances: instances.collect(), open: open(snapshot) }
    }
}

/// The identity of an assembly and its instances. An assembly that was removed and created again has the same name, but
/// another identity.
#[derive(PartialEq)]
struct Identity {
    created: Timestamp,
    instances: BTreeMap<ElementName, InstanceId>,
}

impl Identity {
    fn of(snapshot: &Snapshot) -> Self {
        let instances = snapshot.elements.iter().map(|(name, record)| (name.clone(), record.id.clone()));
        Self { created: snapshot.assembly.created, instances: instances.collect() }
    }
}

/// Returns the result of a health check or a discovery, if its `answer` changes no record in the store. A discovery
/// finds all instances of a factory.
///
/// Returns `None` if the answer changes a record in the store. Also returns `None` if the assembly has an open
/// process or an open call. The function may change `world`, which contains the records in memory, even if the
/// function returns `None`.
pub(super) fn without_news(
    engine: &Engine,
    before: &Revision,
    world: &mut World,
    answer: &Answered,
) -> Option<CheckEnd> {
    if before.open.is_some() {
        return None;
    }
    let Verdict { end, batch } = verdict(engine, world, answer);
    batch.is_empty().then_some(end)
}

/// Returns the result that [`applied`] would have if the records in the store did not change anymore. The function may
/// change `world`, which contains the records in memory.
pub(super) fn previewed(
    engine: &Engine,
    before: &Revision,
    world: &mut World,
    answer: &Answered,
) -> CheckEnd {
    match &before.open {
        Some(why) => not_applied(answer, why),
        None => verdict(engine, world, answer).end,
    }
}

/// Returns the result of an answer that is not recorded, because the records have changed or a process is open. `why` is
/// the reason.
fn not_applied(answer: &Answered, why: &str) -> CheckEnd {
    match answer {
        Answered::Observed { .. } => CheckEnd::Dropped(why.to_owned()),
        Answered::Failed(seen) => not_recorded(seen),
    }
}

/// Updates the records of an assembly with the answer from a health check or a discovery. `lease` is the lease of
/// this assembly. `before` describes the records of the assembly at the beginning of the check.
///
/// The answer is an *observation* of the instance by the driver, or the failure of the check. The records in the store
/// may have changed since the beginning of the check:
///
/// - If the assembly was removed, or if a process or a call of the assembly is open, the function records no answer.
///   The same holds if the assembly was removed and created again, or if one of its parts was created again.
/// - After any other change, the function still records a failure. It does not record an observation, because the
///   observation is out of date.
///
/// If the answer is an observation that the function does not record, the function returns [`CheckEnd::Dropped`]. If
/// the answer is a failure that the function does not record, it returns the result of [`not_recorded`], normally
/// [`CheckEnd::Failed`].
pub(super) async fn applied(
    engine: &Engine,
    lease: &Lease,
    answer: &Answered,
    before: &Revision,
) -> Result<CheckEnd, EngineError> {
    let dropped = |why: &str| Ok(not_applied(answer, why));
    let Some(snapshot) = engine.store.load(&lease.scope).await? else {
        return dropped("it was removed meanwhile");
    };
    let now = Revision::of(&snapshot);
    if let Some(why) = &now.open {
        return dropped(why);
    }
    if before.identity != now.identity {
        return dropped("it was created again meanwhile");
    }
    if *before != now && matches!(answer, Answered::Observed { .. }) {
        return dropped("it has changed meanwhile");
    }
    let mut world = engine.records().loaded(snapshot).await?;
    let Verdict { end, batch } = verdict(engine, &mut world, answer);
    if !batch.is_empty() {
        engine.store.commit(lease, batch).await?;
    }
    Ok(end)
}

/// The result of a check, with the changes that the result causes in the records.
struct Verdict {
    end: CheckEnd,
    /// The changes of the records; an empty batch if the answer changes nothing.
    batch: Batch,
}

/// Updates the records in memory with the answer from a health check or a discovery about one element. Returns the
/// result for this element, and a batch with the same changes for the store.
fn verdict(engine: &Engine, world: &mut World, answer: &Answered) -> Verdict {
    let (call, driver, observed) = match answer {
        Answered::Observed { call, driver, observed } => (call, driver, observed),
        Answered::Failed(seen) => return failed(engine, world, &seen.element, seen.sight.clone().err()),
    };
    let mut batch = Batch::new();
    let element = call.element.clone();
    let is_gone = observed.observation == Observation::Absent;
    let is_answered = observed.observation != Observation::Unanswered;
    let now = engine.env.clock.now();
    let answered = report::Answered { call, family: driver.family(), hidden: &[], now };
    let report::Applied { mut log, results, old, resealed } =
        match world.apply(answered, observed.report.clone(), &mut batch) {
            Ok(applied) => applied,
            Err(failure) => return failed(engine, world, &element, Some(failure)),
        };
    log.retain(|entry| entry.severity >= Severity::Warning);
    let mut of_commands = results;
    of_commands.extend(commands::expire(world, &element, now, &mut batch));
    let has_results = !of_commands.is_empty();
    log.extend(of_commands);
    let mut changed = has_results || resealed;
    if let Some(new) = world.instances.get(&element) {
        log.extend(document_changes(&old.document, &new.document));
        changed |= (&old.document, &old.natural) != (&new.document, &new.natural);
    }
    let failing = world.elements.get_mut(&element).filter(|_| is_answered);
    let failing = failing.filter(|record| check_failure::recorded(record).is_some());
    if let Some(record) = failing {
        changed = true;
        record.note_failure(None);
        batch.push(Change::PutElement(Box::new(record.clone())));
    }
    let end = match observed.observation {
        Observation::Absent => CheckEnd::Destroyed,
        Observation::Unanswered => CheckEnd::Unanswered,
        _ => CheckEnd::Applied { status: world.instances.status(&element), changed },
    };
    if !is_gone && !changed && log.is_empty() {
        // A check that changes nothing writes nothing.
        return Verdict { end, batch: Batch::new() };
    }
    if is_gone {
        gone(engine, world, &element, &mut batch);
    }
    for entry in log {
        batch = batch.event(logged(engine, &element, entry));
    }
    Verdict { end, batch }
}

/// Records that an element no longer exists.
fn gone(engine: &Engine, world: &mut World, element: &ElementName, batch: &mut Batch) {
    world.drop_private(element, |_| true, batch);
    world.instances.empty(element, batch);
    let now = engine.env.clock.now();
    let Some(record) = world.elements.get_mut(element) else { return };
    let from = std::mem::replace(&mut record.state, State::Absent);
    (record.since, record.progress, record.made) = (now, 0, None);
    (record.attempted, record.values_in_doubt) = (None, false);
    record.note_failure(None);
    record.outdated.clear();
    batch.push(Change::PutElement(Box::new(record.clone())));
    let body = Happening::StateChanged { element: element.clone(), from, to: State::Absent };
    batch.push(Change::Event(Box::new(EventDraft {
        at: now,
        assembly: element.assembly(),
        process: None,
        body,
    })));
}

/// Returns the result of a check that made no observation, or whose observation can't be applied to the records.
/// `failure` is the reason; `None` if the element has no health check.
///
/// The batch in the result records the failure. The batch is empty if `failure` is `None`, or if the element's record
/// already contains this failure.
fn failed(engine: &Engine, world: &World, element: &ElementName, failure: Option<Failure>) -> Verdict {
    let mut batch = Batch::new();
    let Some(failure) = failure else { return Verdict { end: without_check(), batch } };
    let recorded = check_failure::of(&failure);
    let is_known = |record: &&ElementRecord| {
        check_failure::recorded(record).is_some_and(|known| known.message == recorded.message)
    };
    if let Some(record) = world.elements.get(element).filter(|record| !is_known(record)) {
        let entry = LogEntry::new(Severity::Error, recorded.message.clone());
        batch = batch.event(logged(engine, element, entry));
        let mut record = record.clone();
        record.note_failed_check(recorded);
        batch.push(Change::PutElement(Box::new(record)));
    }
    Verdict { end: CheckEnd::Failed(failure), batch }
}

/// Returns the result of a check that gave no observation and is not recorded in the store. If `seen` contains a
/// failure, the result is [`CheckEnd::Failed`] with this failure. Otherwise, the result is [`CheckEnd::Unchecked`].
fn not_recorded(seen: &Seen) -> CheckEnd {
    seen.sight.clone().err().map_or_else(without_check, CheckEnd::Failed)
}

fn logged(engine: &Engine, element: &ElementName, entry: LogEntry) -> EventDraft {
    let LogEntry { severity, message, data } = entry;
    let body = Happening::Logged { element: element.clone(), severity, message, data };
    EventDraft { at: engine.env.clock.now(), assembly: element.assembly(), process: None, body }
}
