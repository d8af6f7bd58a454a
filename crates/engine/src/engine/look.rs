//! Health checks, which observe the actual state of elements. A check changes nothing, so it needs no lease.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use windlass_driver::{Call, Driver, Location, Observation, Observed, Report, Stop, Unrecorded};
use windlass_executor::JobId;
use windlass_model::assembly::{ElementKind, PackageDigest};
use windlass_model::id::{Entropy, StoreId};
use windlass_model::instance::{InstanceView, LogEntry, shape};
use windlass_model::name::DriverKind;
use windlass_model::record::{AssemblyRecord, Failure, FailureKind, Intent, Severity};
use windlass_model::{Action, AssemblyName, ElementName, InstanceId, State, Timestamp, Transition};
use windlass_secret::Redactor;
use windlass_update_ops::Update;

use super::env::EngineEnv;
use crate::error::EngineError;
use crate::halving::{Group, GroupEnd, Halving, LARGEST_BATCH, is_unclear, too_many_hang};
use crate::machine::{Look, Preparer, ReadyLook};
use crate::panic::{as_many, caught};
use crate::recorder::{LastJob, Recorder};
use crate::recordings::{RecordedJob, Transcript};
use crate::slots::{JobSlot, JobSlots};
use crate::world::World;

/// The result of a health check.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The name of the checked element.
    pub element: ElementName,
    /// The recorded state of the element.
    pub state: State,
    /// The observation of the driver, or the reason why the driver made no observation.
    pub sight: Result<Observation, Failure>,
    /// The metrics that were measured during the check, by name.
    pub metrics: BTreeMap<String, Value>,
}

impl Seen {
    fn new(element: LookElement, answer: Result<Observed, Failure>) -> Self {
        let metrics = answer.as_ref().map(|seen| measured(&seen.report)).unwrap_or_default();
        let LookElement { name, state, .. } = element;
        Self { element: name, state, sight: answer.map(|seen| seen.observation), metrics }
    }

    /// Tells whether the check could not run. Such a check says nothing about the element.
    pub fn is_unseen(&self) -> bool {
        self.sight.as_ref().is_err_and(|failure| failure.kind.could_not_run())
    }

    /// Tells whether the element matches its record; `None` if that is unknown.
    pub fn is_well(&self) -> Option<bool> {
        match &self.sight {
            Ok(Observation::Reached) => Some(true),
            Ok(Observation::Absent | Observation::Differs(_)) => Some(false),
            _ => None,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct HealthChecks<'e> {
    pub(super) store: &'e StoreId,
    pub(super) env: &'e EngineEnv,
    /// The maximum number of concurrent checks.
    pub(super) parallelism: usize,
}

impl HealthChecks<'_> {
    /// Checks the health of those elements of an assembly that `scope` selects. `within` is the maximum time for
    /// all checks together. If a check is not complete after this time, the check counts as a check that could not
    /// run.
    ///
    /// `held` is the name of the assembly if the caller holds the lease of this assembly during the checks. If
    /// the program is killed, jobs of the checks may be left. If `held` was given, the next holder of the lease
    /// removes these jobs. If `held` was `None`, the jobs are removed after the expiry time that each job id
    /// contains.
    pub(super) async fn of(
        &self,
        world: World,
        scope: &CheckScope,
        within: Option<Duration>,
        held: Option<AssemblyName>,
        stop: &Stop,
    ) -> Result<Vec<Seen>, EngineError> {
        let mut preparer = Preparer::new(self.env.drivers.clone(), self.env.places.clone());
        let mut looks = preparer.looks(&world, self.store, self.env.clock.now());
        looks.retain(|look| scope.contains(&look.element));
        let (batches, mut seen) = batches(looks);
        let round = CheckRound::new(stop, within, held, self.parallelism);
        let checks = self.look_round(batches, &round);
        tokio::pin!(checks);
        let checked = match within {
            None => checks.await,
            Some(within) => tokio::select! {
                biased;
                checked = &mut checks => checked,
                () = tokio::time::sleep(within) => {
                    round.stop.request();
                    checks.await
                }
            },
        };
        if stop.is_requested() {
            return Err(EngineError::Stopped);
        }
        seen.extend(checked.into_iter().map(Asked::seen));
        seen.sort_by_key(|(position, _)| *position);
        Ok(seen.into_iter().map(|(_, seen)| seen).collect())
    }

    /// Performs the health checks `looks`, which may belong to several assemblies. Returns the answers in no particular
    /// order. The caller finds the assembly of an answer by the name of the checked element. The total time of the
    /// checks has no limit.
    pub(super) async fn answers(&self, looks: Vec<Look>, stop: &Stop) -> Checks {
        let (batches, unseen) = batches(looks);
        let round = CheckRound::new(stop, None, None, self.parallelism);
        let checked = self.look_round(batches, &round).await;
        let failed = unseen.into_iter().map(|(_, seen)| Answered::Failed(seen));
        let answered = checked.into_iter().map(|asked| match asked.answer {
            Ok(observed) => Answered::Observed {
                call: Box::new(asked.call),
                driver: asked.driver,
                observed: Box::new(observed),
            },
            Err(_) => Answered::Failed(asked.seen().1),
        });
        let seen = round.applications.into_inner().unwrap_or_else(PoisonError::into_inner);
        Checks { answers: failed.chain(answered).collect(), failed: seen.failed, lines: seen.lines }
    }

    /// Runs the checks of all batches (see [`LookBatch`]).
    async fn look_round(&self, batches: Vec<LookBatch>, round: &CheckRound) -> Vec<Asked> {
        // `ask` limits the number of simultaneous calls of drivers. A limit here would delay the batches of all
        // locations by the batches of a busy location.
        let checked: FuturesUnordered<_> =
            batches.into_iter().map(|batch| self.look_at(batch, round)).collect();
        let checked: Vec<Vec<Asked>> = checked.collect().await;
        checked.into_iter().flatten().collect()
    }

    /// Observes the elements of a batch of health checks together. Elements without a clear answer are then
    /// observed again in smaller groups.
    async fn look_at(&self, batch: LookBatch, round: &CheckRound) -> Vec<Asked> {
        let LookBatch { driver, elements, calls } = batch;
        let suspects = elements.iter().map(|(_, element)| element.is_suspect).collect();
        let mut halving = Halving::new(suspects);
        let mut answers: Vec<Result<Observed, Failure>> = calls.iter().map(|_| Err(round.ended())).collect();
        loop {
            let wave = halving.take_wave();
            if wave.is_empty() {
                break;
            }
            let asked = stream::iter(wave).map(|group| self.look_together(group, &calls, &*driver, round));
            let asked: Vec<GroupAnswer> = asked.buffer_unordered(self.parallelism).collect().await;
            for GroupAnswer { group, answers: answered, is_faulty } in asked {
                let end = GroupEnd::of(&answered);
                let mut unclear = Vec::new();
                for (element, answer) in group.iter().zip(answered) {
                    if is_faulty || is_unclear(&answer) {
                        unclear.push(*element);
                    }
                    answers[*element] = answer;
                }
                halving.answered(&group, unclear, end);
            }
        }
        for element in halving.unresolved() {
            answers[element] = Err(too_many_hang(&answers[element]));
        }
        let asked = elements.into_iter().zip(calls).zip(answers);
        asked
            .map(|((element, call), answer)| Asked { element, call, driver: driver.clone(), answer })
            .collect()
    }

    /// Checks the elements of `group` by running [`Driver::observe`] once. The elements are part of one batch. `all`
    /// contains one [`Call`] for each element of the batch, and `group` contains positions in `all`.
    async fn look_together(
        &self,
        group: Group,
        all: &[Call],
        driver: &dyn Driver,
        round: &CheckRound,
    ) -> GroupAnswer {
        let part: Vec<Call>;
        let calls = if group.len() == all.len() {
            all
        } else {
            part = group.iter().map(|element| all[*element].clone()).collect();
            &part
        };
        let (answers, is_faulty) = match self.ask(calls, driver, round).await {
            Ok(answers) => (answers, false),
            Err(fault) => (calls.iter().map(|_| Err(fault.clone())).collect(), true),
        };
        GroupAnswer { group, answers, is_faulty }
    }

    /// Runs [`Driver::observe`] once, with all `calls`. Each call checks the health of one element. Returns one answer
    /// for each call, in the same order.
    ///
    /// # Errors
    /// A failure if the driver has a fault, such as a panic. The kind of the failure is
    /// [`FailureKind::Infrastructure`], as for a check that could not run.
    async fn ask(
        &self,
        calls: &[Call],
        driver: &dyn Driver,
        round: &CheckRound,
    ) -> Result<Vec<Result<Observed, Failure>>, Failure> {
        let Some(first) = calls.first() else { return Ok(Vec::new()) };
        let not_run = |failure: Failure| Ok(calls.iter().map(|_| Err(failure.clone())).collect());
        // A check first waits for its location, and only then for a permit of the round. So checks that wait for a
        // busy location do not delay the checks of other locations.
        let turns = round.turns(&first.location);
        let _turn = turns.acquire().await;
        let _slot = match round.slot(&self.env.slots, &first.location).await {
            Ok(slot) => slot,
            Err(failure) => return not_run(failure),
        };
        // `running` limits the number of groups that are checked at the same time, in all batches of the round
        // together.
        let _permit = round.running.acquire().await;
        let runtime = tokio::select! {
            biased;
            () = round.stop.requested() => return not_run(round.ended()),
            runtime = self.env.places.runtime(&first.location) => match runtime {
                Ok(runtime) => runtime,
                Err(why) => return not_run(Failure::new(FailureKind::Infrastructure, why)),
            },
        };
        let now = self.env.clock.now();
        let longest = round.within.map_or(LONGEST, |within| within.min(LONGEST));
        let context = Recorder::new(Unrecorded {
            runtime,
            prefix: self::round(self.store, &*self.env.entropy, now, longest, round.held.as_ref()),
            owner: self.store.as_str().parse().ok(),
            clock: self.env.clock.clone(),
            longest,
            stop: round.stop.clone(),
        });
        let answers = tokio::select! {
            biased;
            answers = context.work().limit(longest, caught(driver.observe(&context, calls))) => answers.flatten(),
            () = round.is_overdue() => return not_run(round.ended()),
        };
        let mut answers = answers.and_then(|answers| as_many(answers, calls.len()));
        if first.package.pins().is_some() && !round.stop.is_requested() {
            round.keep(calls, &answers, context.take_last(), self.env.clock.now());
        }
        if round.stop.is_requested() {
            // The driver knows only that its job was stopped. `round` knows whether an operator or the time limit
            // stopped the job.
            for answer in answers.iter_mut().flatten().filter(|answer| answer.is_err()) {
                *answer = Err(round.ended());
            }
        }
        answers.map_err(|fault| Failure { kind: FailureKind::Infrastructure, ..fault })
    }
}

/// The elements whose health is checked before the plan of an intent is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckScope {
    /// All elements of the assembly.
    All,
    /// One resource.
    One(ElementName),
}

impl CheckScope {
    /// Returns the elements whose health is checked before the plan of an intent is made. Returns `None` if the
    /// intent removes the assembly, because the plan of a removal does not depend on the health of the elements.
    pub(super) fn before(intent: &Intent, assembly: &AssemblyRecord) -> Option<Self> {
        let resumes_removal = *intent == Intent::Retry && assembly.goal == State::Absent;
        if *intent == Intent::Down || resumes_removal {
            return None;
        }
        let restarted = intent.restarts().and_then(|part| assembly.topology.get(part));
        let resource = restarted.filter(|element| element.kind == ElementKind::Resource);
        Some(resource.map_or(Self::All, |element| Self::One(element.name.clone())))
    }

    fn contains(&self, element: &ElementName) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == element,
        }
    }
}

/// A failed job of a health check, with the input and output of the job.
pub(super) type FailedJob = (RecordedJob, Transcript);

/// A warning or an error that a successful check of applications has written to stderr. The name is the name of the
/// first application that this check covered.
pub(super) type Line = (AssemblyName, LogEntry);

/// The output of jobs that have checked applications.
#[derive(Default)]
struct ApplicationJobs {
    failed: Vec<FailedJob>,
    lines: Vec<Line>,
}

/// The results of checks of several assemblies.
pub(super) struct Checks {
    /// The answers, in no particular order.
    pub(super) answers: Vec<Answered>,
    /// The failed jobs of checks of applications.
    pub(super) failed: Vec<FailedJob>,
    /// The warnings and errors that scripts have written to stderr during successful checks of applications.
    pub(super) lines: Vec<Line>,
}

/// The maximum number of lines of stderr that a check adds to the log.
const LINES: usize = 100;

/// A round: all health checks that one run of [`HealthChecks::of`] or [`HealthChecks::answers`] makes.
struct CheckRound {
    /// Is requested when the operator requests a stop, or when the time limit has passed. The checks of the round then
    /// end.
    stop: Stop,
    /// The maximum time for all checks; `None` if there is no limit.
    within: Option<Duration>,
    /// The assembly whose lease is held during the round; `None` if no lease is held.
    held: Option<AssemblyName>,
    /// The locations at which a check has waited for a slot, and got none.
    full: Mutex<BTreeSet<String>>,
    /// The output of jobs that have checked applications.
    applications: Mutex<ApplicationJobs>,
    /// For each location, a limit on the checks that wait for a job slot or hold a slot. Without this limit, checks
    /// that hold slots and wait for a permit of [`running`](Self::running) could block many slots. Intents would then
    /// wait for these slots.
    waiting: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// The limit on simultaneous calls of drivers. Each call holds one permit of this semaphore.
    running: Semaphore,
    /// The maximum number of simultaneous calls of drivers.
    parallelism: usize,
}

impl CheckRound {
    fn new(stop: &Stop, within: Option<Duration>, held: Option<AssemblyName>, parallelism: usize) -> Self {
        let running = Semaphore::new(parallelism);
        Self {
            stop: stop.child(),
            within,
            held,
            full: Mutex::default(),
            applications: Mutex::default(),
            waiting: Mutex::default(),
            running,
            parallelism,
        }
    }

    /// Returns the entry of a location in [`waiting`](Self::waiting). If the entry is missing, creates it.
    fn turns(&self, location: &Location) -> Arc<Semaphore> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = waiting.entry(location.name.clone());
        turns.or_insert_with(|| Arc::new(Semaphore::new(self.parallelism))).clone()
    }

    /// Keeps the output of `last`, the last job of a check of applications.
    ///
    /// If `answers` contains a failure, the function keeps the whole output and the input of the job. Otherwise, the
    /// function keeps only the warnings and errors on stderr.
    fn keep(
        &self,
        calls: &[Call],
        answers: &Result<Vec<Result<Observed, Failure>>, Failure>,
        last: Option<LastJob>,
        now: Timestamp,
    ) {
        let Some((job, input, outcome)) = last else { return };
        let secrets: Vec<String> = calls.iter().flat_map(Call::secrets).collect();
        let applications: Vec<AssemblyName> = calls.iter().map(|call| call.element.assembly()).collect();
        let failure = match answers {
            Ok(answers) => answers.iter().find_map(|answer| answer.as_ref().err()),
            Err(fault) => Some(fault),
        };
        let mut seen = self.applications.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(failure) = failure else {
            let stderr = outcome.stderr.masked(&Redactor::new(&secrets));
            let lines = stderr.lines().filter_map(Severity::of_line);
            let lines = lines.filter(|(severity, _)| *severity >= Severity::Warning).take(LINES);
            let entries = lines.map(|(severity, message)| LogEntry::new(severity, message));
            seen.lines.extend(entries.map(|entry| (applications[0].clone(), entry)));
            return;
        };
        let job = RecordedJob {
            job,
            call: None,
            process: None,
            action: Action::Transition(Transition::Integrity),
            applications,
            at: now,
            failure: Some(failure.message.clone()),
        };
        seen.failed.push((job, Transcript { input, outcome, secrets }));
    }

    /// Returns the failure of a check that was ended by a stop or by the time limit.
    fn ended(&self) -> Failure {
        let why = match self.within {
            Some(within) => format!("it gave no answer within {within:?}"),
            None => "it was stopped on request".to_owned(),
        };
        Failure::new(FailureKind::Infrastructure, why)
    }

    /// Waits until the round of checks is cancelled, and then waits for the time [`LAST_ANSWER`]. During this time,
    /// the drivers may still answer and remove their jobs.
    async fn is_overdue(&self) {
        self.stop.requested().await;
        tokio::time::sleep(LAST_ANSWER).await;
    }

    /// Waits for a free slot of a location. Returns `None` if the location has no limit.
    ///
    /// If no slot becomes free within [`SLOT_PATIENCE`], the function returns a failure. Later checks of the same round
    /// then do not wait at this location. They fail at once if no slot is free.
    async fn slot(&self, slots: &JobSlots, location: &Location) -> Result<Option<JobSlot>, Failure> {
        let full = || self.full.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = if full().contains(&location.name) { Duration::ZERO } else { SLOT_PATIENCE };
        tokio::select! {
            biased;
            () = self.stop.requested() => Err(self.ended()),
            slot = tokio::time::timeout(patience, slots.take_at(location)) => slot.map_err(|_| {
                full().insert(location.name.clone());
                let message = format!("`{}` runs as many jobs as its `max-jobs` permits", location.name);
                Failure::new(FailureKind::Capacity, message)
            }),
        }
    }
}

/// The maximum time that a check waits for a slot. The checks provide samples for heal policies, and a heal policy
/// expects one sample in each period of its metric. The wait is shorter than the default period, so that no sample
/// counts as missing.
const SLOT_PATIENCE: Duration = Duration::from_secs(20);

/// The time within which a driver may still answer after its health check or its search was cancelled.
pub(super) const LAST_ANSWER: Duration = Duration::from_secs(6);

/// Groups health checks into batches. A driver can make all checks of a batch by one call of [`Driver::observe`].
/// Also returns the results of the checks that can't run, each with the position of the check in `looks`.
fn batches(looks: Vec<Look>) -> (Vec<LookBatch>, Vec<(usize, Seen)>) {
    let mut batches: Vec<LookBatch> = Vec::new();
    let mut last: HashMap<BatchKey, usize> = HashMap::new();
    let mut unseen = Vec::new();
    for (position, Look { element, state, is_suspect, ready }) in looks.into_iter().enumerate() {
        let element = LookElement { name: element, state, is_suspect };
        let ReadyLook { call, driver, batch } = match ready {
            Ok(ready) => ready,
            Err(failure) => {
                unseen.push((position, Seen::new(element, Err(failure))));
                continue;
            }
        };
        let key = batch.map(|batch| {
            let package = call.package.digest().clone();
            (batch, call.binding.driver.clone(), package, call.action.to_string(), call.location.name.clone())
        });
        let open = key.as_ref().and_then(|key| last.get(key)).copied();
        let fits = |at: &usize| {
            let first = &batches[*at].calls[0];
            batches[*at].calls.len() < LARGEST_BATCH
                && first.location == call.location
                && first.configuration == call.configuration
        };
        let at = open.filter(fits).unwrap_or_else(|| {
            batches.push(LookBatch { driver, elements: Vec::new(), calls: Vec::new() });
            batches.len() - 1
        });
        batches[at].elements.push((position, element));
        batches[at].calls.push(*call);
        last.extend(key.map(|key| (key, at)));
    }
    (batches, unseen)
}

/// The key of a batch of health checks. Two checks are in the same batch only if these values are equal: the
/// batch key of the driver (`Nature::batch`), the kind of the driver, the digest of the package, the action,
/// and the name of the location.
type BatchKey = (String, DriverKind, PackageDigest, String, String);

/// A batch: health checks that a driver can make by one call of [`Driver::observe`].
struct LookBatch {
    driver: Arc<dyn Driver>,
    /// The elements to check, each with the index of its check in the list of all checks of the round.
    elements: Vec<(usize, LookElement)>,
    /// The calls that check the elements, in the order of `elements`.
    calls: Vec<Call>,
}

/// An element whose health is checked, with its recorded state.
struct LookElement {
    name: ElementName,
    state: State,
    /// Whether the last check of the element has failed because of the element itself. Such an element is checked
    /// alone.
    is_suspect: bool,
}

/// A checked element, with its check and the answer of the driver. A driver can check all elements of a batch by one
/// call of [`Driver::observe`]; this type is for a single element of the batch.
struct Asked {
    element: (usize, LookElement),
    call: Call,
    driver: Arc<dyn Driver>,
    answer: Result<Observed, Failure>,
}

/// The result of one call of [`Driver::observe`]. The call checks a [group](Group): some elements of a batch, or
/// all of them.
struct GroupAnswer {
    group: Group,
    /// One answer for each element, in the order of `group`.
    answers: Vec<Result<Observed, Failure>>,
    /// Whether the driver had a fault, such as a panic.
    is_faulty: bool,
}

impl Asked {
    /// Returns the result of the health check, with the position of the check among all checks.
    fn seen(self) -> (usize, Seen) {
        let (position, element) = self.element;
        (position, Seen::new(element, self.answer))
    }
}

/// The answer to a health check or a discovery, about one element.
pub(super) enum Answered {
    /// The driver has observed the instance. `observed` contains the observation and the driver's report. The engine
    /// needs `call` and `driver` to apply the report to the records.
    Observed { call: Box<Call>, driver: Arc<dyn Driver>, observed: Box<Observed> },
    /// The check could not run, or its script has failed.
    Failed(Seen),
}

impl Answered {
    /// Returns the element that was checked.
    pub(super) fn element(&self) -> &ElementName {
        match self {
            Self::Observed { call, .. } => &call.element,
            Self::Failed(seen) => &seen.element,
        }
    }
}

/// Returns a unique prefix for the ids of the jobs of a health check or a discovery. The prefix contains the expiry
/// time, in seconds: after this time, no program waits for these jobs. If the check runs under the lease of an
/// assembly, the prefix also contains a short [`mark`] of that assembly.
pub(super) fn round(
    store: &StoreId,
    entropy: &dyn Entropy,
    now: Timestamp,
    longest: Duration,
    held: Option<&AssemblyName>,
) -> String {
    let over = now.plus_millis(i64::try_from((longest + SLACK).as_millis()).unwrap_or(i64::MAX));
    let random = InstanceId::random(entropy);
    let (held, letters) = match held {
        Some(name) => (format!("{}-", mark(name)), LETTERS_BESIDE_MARK),
        None => (String::new(), LETTERS),
    };
    format!("{store}-w{}-{held}{}", over.as_millis() / 1000, &random.as_str()[..letters])
}

/// Returns a short mark of an assembly, such as `ofb9evfqdwjzbs55`. If a check runs under the lease of the assembly,
/// the function [`round`] writes the mark into the ids of the check's jobs. Other versions of windlass read the mark,
/// so the mark of an assembly never changes.
///
/// A mark has 16 characters: `of`, and 14 characters of a hash of the assembly's name. The first of these 14 characters
/// contains 4 bits of the hash, and each of the other 13 contains 5 bits. With these 69 bits, it is practically
/// impossible that two assemblies of a store have the same mark.
///
/// If a check runs under no lease, the ids of its jobs contain [`LETTERS`] (12) random characters in place of the mark.
/// The random characters are never equal to a mark, because a mark is longer.
fn mark(assembly: &AssemblyName) -> String {
    format!("of{}", &InstanceId::of(assembly.as_str()).as_str()[..14])
}

/// Tells whether a job is left over from an earlier health check or discovery. No program waits for such a job any
/// more. There are two cases:
///
/// - The expiry time in the job id has passed.
/// - The job id contains the [`mark`] of the assembly with the name `held`. The caller holds the lease of this assembly
///   now, so the program that held the lease before no longer waits for the job.
pub(super) fn is_forgotten(job: &JobId, store: &StoreId, now: Timestamp, held: &AssemblyName) -> bool {
    let rest = job.as_str().strip_prefix(store.as_str()).and_then(|rest| rest.strip_prefix("-w"));
    let Some((over, rest)) = rest.and_then(|rest| rest.split_once('-')) else { return false };
    let is_over = over.parse::<i64>().is_ok_and(|over| over < now.as_millis() / 1000);
    is_over || rest.split('-').next() == Some(mark(held).as_str())
}

/// The time between the time limit of a job and the expiry time in the id of the job (see [`round`]). During this
/// time, the engine stops and removes a job that has reached its time limit.
const SLACK: Duration = Duration::from_secs(60);

/// The number of random characters at the end of the prefix that [`round`] returns.
///
/// The prefix also contains an expiry time, in seconds. Two checks that begin in the same second may have the same
/// expiry time, but they have different random characters. The first character is one of 16 letters, and each further
/// character is one of 32 letters and digits. So 12 characters contain 4 + 11 × 5 = 59 random bits.
const LETTERS: usize = 12;

/// The number of random characters at the end of the prefix that [`round`] returns, if the prefix contains a [`mark`].
/// The mark already distinguishes the assemblies, and the random characters only distinguish the checks of one
/// assembly. So fewer characters than [`LETTERS`] are sufficient. With more characters, the job ids could exceed the 63
/// characters of a [`JobId`].
const LETTERS_BESIDE_MARK: usize = 8;

/// Returns the metrics that a report contains, by name. If the report is not valid, returns no metrics.
fn measured(report: &Report) -> BTreeMap<String, Value> {
    let mut document = json!({});
    let applied = Update::parse(&report.updates, shape()).map(|parsed| parsed.update.apply(&mut document));
    let metrics = InstanceView::new(&document).metrics().filter(|_| matches!(applied, Ok(Ok(()))));
    metrics.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The maximum duration of a job of a check.
const LONGEST: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use windlass_store::testing::CountingEntropy;

    use super::*;

    /// The job ids of 1000 health checks differ, even if all of them begin at the same time. The test also covers
    /// [`is_forgotten`]: a job is forgotten if the expiry time in its id has passed, or if the lease under which the
    /// job ran has a new holder.
    #[test]
    fn no_two_looks_have_the_same_jobs() {
        let (store, now) = ("shop".parse().unwrap(), Timestamp::from_millis(1_700_000_000_123));
        let one = CountingEntropy::seeded(1);
        let rounds: Vec<String> = (0..1000).map(|_| round(&store, &one, now, LONGEST, None)).collect();
        let apart: std::collections::BTreeSet<&String> = rounds.iter().collect();
        assert_eq!(apart.len(), rounds.len());
        let job: JobId = format!("{}-health-check", rounds[0]).parse().unwrap();
        let (name, other) = ("shop".parse().unwrap(), "office".parse().unwrap());
        assert!(!is_forgotten(&job, &store, now.plus_millis(180_000), &name));
        assert!(is_forgotten(&job, &store, now.plus_millis(182_000), &name));
        assert!(!is_forgotten(&job, &"other".parse().unwrap(), now.plus_millis(182_000), &name));
        let of_a_call: JobId = "shop-p1-s1-c0-a1-run".parse().unwrap();
        assert!(!is_forgotten(&of_a_call, &store, now.plus_millis(182_000), &name));
        let held = round(&store, &one, now, LONGEST, Some(&name));
        let held: JobId = format!("{held}-health-check").parse().unwrap();
        assert!(is_forgotten(&held, &store, now, &name), "its process held the lease that is held now");
        assert!(!is_forgotten(&held, &store, now, &other));
        assert!(is_forgotten(&held, &store, now.plus_millis(182_000), &other));
    }

    /// Job ids contain the marks of assemblies. Other versions of windlass read these marks, so the mark of an assembly
    /// must not change.
    #[test]
    fn marks_of_assemblies_are_stable_and_different() {
        assert_eq!(mark(&"shop".parse().unwrap()), "ofb9evfqdwjzbs55");
        let marks: std::collections::BTreeSet<String> =
            (0..20_000).map(|number| mark(&format!("shop-{number}").parse().unwrap())).collect();
        assert_eq!(marks.len(), 20_000);
    }

    #[test]
    fn the_longest_job_of_a_check_has_a_valid_id() {
        let entropy = CountingEntropy::seeded(1);
        let (store, name) = (StoreId::random(&entropy), "a".repeat(40).parse().unwrap());
        let prefix = round(&store, &entropy, Timestamp::from_millis(1_700_000_000_123), LONGEST, Some(&name));
        assert!(format!("{prefix}-health-check-999").parse::<JobId>().is_ok(), "{prefix}");
    }
}
