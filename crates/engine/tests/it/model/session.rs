//! A user who repeats intents in processes that may die, until the desired state is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windlass_engine::{Answer, Desired, Ended, Engine, EngineError, Preview, Request, Stop, UpOptions};
use windlass_lifecycle::LifecycleError;
use windlass_model::assembly::ElementKind;
use windlass_model::record::{Assumption, CallRecord, CallState, Intent, ProcessStatus, StepEnd, StepState};
use windlass_model::retention::{Age, Retention};
use windlass_model::{Action, AssemblyName, ElementName, State, Topology, Transition};
use windlass_store::{LeaseTerms, Store as _, StoreError};

use super::driver::{Hand, KIND};
use super::weather::Weather;
use super::world::{Trouble, World};
use crate::support::{Rig, assembly_name, package_of};

/// The interruption of a process.
#[derive(Debug, Clone, Copy)]
pub(super) enum Interruption {
    /// The process dies at this batch, just before or just after it is written.
    Death { batch: u64, keeps_last: bool },
    /// The process is stopped after `soon` milliseconds. If `now` is given, the jobs of the process are stopped after
    /// another `now` milliseconds.
    Stop { soon: u64, now: Option<u64> },
    /// Another process requests the stop through the store after `after` milliseconds.
    Note { after: u64 },
}

/// The result of an intent.
#[derive(Debug)]
pub(super) enum Fate {
    Ended(ProcessStatus, Option<String>),
    Died,
    /// The store has failed.
    Failed(String),
    /// An operator must decide on these calls.
    Undecided(Vec<CallRecord>),
    /// The engine refuses the intent.
    Refused(EngineError),
}

pub(super) struct Session {
    pub(super) rig: Rig,
    pub(super) world: World,
    trouble: Trouble,
    /// Whether each process runs on a machine of its own. A process cannot look up the jobs of other machines.
    moves: bool,
    asked: AtomicU32,
    /// The faults of the store during each intent.
    pub(super) weather: Weather,
    /// The elements with unknown outputs, whose publishing call was lost and could not be observed.
    ///
    /// They must be replaced.
    pub(super) lost: BTreeSet<ElementName>,
    /// The desired version of the last completed process of the whole assembly; `None` if there is none.
    good: Mutex<Option<Topology>>,
}

impl Session {
    pub(super) fn new(trouble: Trouble, moves: bool) -> Self {
        let world = World::new(trouble);
        let mut rig = Rig::in_world(Hand(world.clone()), std::sync::Arc::new(world.clone()));
        rig.max_jobs = trouble.max_jobs;
        // The limit of concurrent jobs holds at each location.
        rig.relocates = trouble.max_jobs.is_none();
        if moves {
            world.allow_more_jobs();
        }
        Self {
            rig,
            world,
            trouble,
            moves,
            asked: AtomicU32::new(0),
            weather: Weather::default(),
            lost: BTreeSet::new(),
            good: Mutex::default(),
        }
    }

    /// Disables all faults (`good`), or restores their initial rates.
    pub(super) fn luck(&self, good: bool) {
        let Trouble { luck, loses, .. } = self.trouble;
        if good { self.world.trouble(0, 0) } else { self.world.trouble(luck.fails, loses) }
    }

    /// Returns the desired version of an assembly.
    pub(super) fn desired(&self, topology: &Topology) -> Desired {
        let kinds = ["resource::k0::1.0", "resource::k1::1.0"];
        let operations = ["Join1", "Leave1", "Join2", "Leave2"];
        let replace = self.lost.iter().filter(|name| topology.get(name).is_some()).cloned().collect();
        self.world.replaces(&replace);
        Desired {
            topology: topology.clone(),
            descriptor: "assembly::any::1.0".parse().expect("valid"),
            owner: None,
            application: None,
            parameters: BTreeMap::new(),
            secrets: BTreeMap::new(),
            packages: kinds.map(|kind| package_of(kind, KIND, &operations)).into(),
            options: UpOptions { replace, ..UpOptions::default() },
        }
    }

    /// Removes all old records of an assembly.
    pub(super) async fn prune(&self, root: &str) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (engine, holder) = self.rig.engine();
        let keep = Retention { keep: 0, older: Age(Duration::ZERO) };
        let pruned = engine.upkeep().prune(&assembly_name(root), keep, &holder).await;
        pruned.expect("no process runs");
    }

    /// Checks which version an automatic rollback has restored. It must be the version of the last completed process
    /// that was not limited to some parts.
    async fn note_end(&self, ended: &Ended) {
        let topology = self.rig.store.load(&ended.process.assembly).await.expect("the store is readable");
        let topology = topology.map(|snapshot| snapshot.assembly.topology);
        let mut good = self.good.lock().expect("no test has panicked");
        let is_rollback = matches!(ended.process.intent, Intent::Rollback(_));
        if is_rollback && ended.rolled_back.is_some() && good.is_some() {
            assert_eq!(topology, *good, "the automatic rollback {}", ended.process.id);
        }
        if ended.process.status == ProcessStatus::Completed && !ended.limited {
            *good = topology;
        }
    }

    /// Executes an intent in a process that may die.
    pub(super) async fn ask(&self, root: &str, ask: Request, cut: Option<Interruption>) -> Fate {
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let (batch, keeps_last) = match cut {
            Some(Interruption::Death { batch, keeps_last }) => (batch, keeps_last),
            _ => (u64::MAX, true),
        };
        let (mut engine, holder, life) = self.rig.mortal(batch, keeps_last);
        if self.moves {
            engine.env.home = format!("home {number}");
        }
        let (name, stop) = (assembly_name(root), Stop::default());
        self.world.durable_after(self.weather.latest());
        let heals = matches!(ask.intent(), Intent::Heal(_));
        let whole = Box::pin(async {
            let one = async |ask: Request| {
                let preview = self.preview(&engine, &name, &ask).await;
                let prepared = match engine.prepare(&name, ask, &holder, &stop).await {
                    Ok(prepared) => prepared,
                    Err(EngineError::NeedsDecision { calls, .. }) => return Err(Fate::Undecided(calls)),
                    Err(error) => return Err(Fate::Refused(error)),
                };
                let snapshot = self.rig.look(root).await;
                if let Some((calls, preview)) = preview {
                    self.is_previewed(&calls, &preview).await;
                }
                let is_whole = !heals && prepared.process().target.is_empty();
                if let Intent::Heal(part) = &prepared.process().intent {
                    let mut destroyed =
                        prepared.diff().elements.iter().filter(|change| change.effect().is_destructive());
                    assert!(destroyed.all(|change| change.element.is_in(part)), "{}", prepared.diff());
                }
                self.world.begin(&snapshot, is_whole);
                let ended = prepared.run(&stop).await.map_err(|error| Fate::Failed(error.to_string()))?;
                if ended.process.status == ProcessStatus::Completed && !heals && !ended.limited {
                    self.world.complete(&name);
                }
                Ok(ended)
            };
            let ended = match Box::pin(one(ask)).await {
                Ok(first) => Box::pin(first.continued(|_, request| one(request))).await,
                Err(fate) => Err(fate),
            };
            if let Ok(ended) = &ended {
                self.note_end(ended).await;
            }
            ended.map_or_else(|fate| fate, |ended| Fate::Ended(ended.process.status, ended.process.reason))
        });
        let fate = tokio::select! {
            biased;
            () = life.dead() => Fate::Died,
            fate = self.stopping(&name, &stop, cut) => fate,
            fate = self.weather.passes(&self.rig.store) => fate,
            fate = whole => fate,
        };
        let fate = match fate {
            Fate::Refused(EngineError::Store(error)) if !matches!(error, StoreError::Held { .. }) => {
                Fate::Failed(error.to_string())
            }
            fate => fate,
        };
        self.world.stop(&name, None);
        if !self.weather.is_calm() && self.weather.is_of_one() {
            self.rig.store.recover();
        }
        if let Fate::Failed(error) = &fate {
            assert!(self.weather.ends_processes(), "at request {number} it ends too early: {error}");
        }
        if !self.weather.is_calm() && self.rig.machine.is_none() {
            // The program exits after each intent. An outage may have prevented the release of its lease.
            self.rig.bury(&holder);
        }
        if matches!(fate, Fate::Died | Fate::Failed(_)) {
            if self.rig.machine.is_some() {
                // Another machine does not see that the holder is dead, so the lease has to expire.
                tokio::time::sleep(LeaseTerms::default().expire_after).await;
            } else {
                self.rig.bury(&holder);
            }
            if self.moves {
                // Another machine does not see running jobs, so they have to end.
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        assert_eq!(self.world.wrong(), [""; 0], "at request {number}");
        fate
    }

    /// Previews an intent if calls of the assembly are converging. Returns these calls and the preview.
    async fn preview(
        &self,
        engine: &Engine,
        name: &AssemblyName,
        ask: &Request,
    ) -> Option<(Vec<CallRecord>, Preview)> {
        let mut calls = self.rig.store.load(name).await.ok()??.calls;
        calls.retain(|call| matches!(call.state, CallState::Converging { .. }));
        if calls.is_empty() {
            return None;
        }
        let preview = engine.preview(name, ask.clone().refreshed(None)).await.ok()?;
        Some((calls, preview))
    }

    /// A process has begun, and has ended some of the converging `calls`. Asserts that the preview of the process
    /// contained the changes of the parts of these calls.
    async fn is_previewed(&self, calls: &[CallRecord], preview: &Preview) {
        for call in calls {
            let history = self.rig.store.process_history(call.process).await.expect("it is readable");
            let mut known = history.into_iter().flat_map(|history| history.calls);
            let ended = known.find(|known| known.id == call.id).map(|known| known.state);
            let Some(CallState::Failed(failure)) = ended else { continue };
            if failure.message == "its instance was not ready when its removal began" {
                let mut changes = preview.diff.elements.iter();
                assert!(changes.any(|change| change.element == call.element), "{}", call.element);
            }
        }
    }

    /// Stops the process at the time that `cut` contains. The jobs of the tests are short, so a stopped process must
    /// end soon. Otherwise, the function fails the test.
    async fn stopping(&self, name: &AssemblyName, stop: &Stop, cut: Option<Interruption>) -> Fate {
        // A stop request in the store is noticed within a second. The jobs have their grace period.
        const NOTED: Duration = Duration::from_secs(120);
        let limit = Duration::from_secs(1) + self.weather.latest() * 20;
        let (soon, now) = match cut {
            Some(Interruption::Stop { soon, now }) => (soon, now),
            Some(Interruption::Note { after }) => {
                tokio::time::sleep(Duration::from_millis(after)).await;
                let open = self.rig.store.open_processes().await.expect("the store is readable");
                let Some(process) = open.iter().find(|process| process.assembly == *name) else {
                    return std::future::pending().await;
                };
                self.rig.store.ask_to_stop(name, process.id).await.expect("it is there");
                tokio::time::sleep(NOTED + limit).await;
                panic!("a requested stop does not end");
            }
            _ => return std::future::pending().await,
        };
        tokio::time::sleep(Duration::from_millis(soon)).await;
        self.world.stop(name, Some(tokio::time::Instant::now()));
        stop.request();
        if let Some(now) = now {
            tokio::time::sleep(Duration::from_millis(now)).await;
            stop.request_now();
        }
        tokio::time::sleep(limit).await;
        panic!("stopping does not end");
    }

    /// Executes an intent, and answers the questions to the operator.
    pub(super) async fn ask_and_answer(
        &mut self,
        root: &str,
        ask: &Request,
        cut: Option<Interruption>,
    ) -> Fate {
        // Repeated faults may cause repeated questions.
        const MOST: u32 = 20;
        let mut fate = self.ask(root, ask.clone(), cut).await;
        for _ in 0..MOST {
            let Fate::Undecided(calls) = &fate else { break };
            tokio::time::sleep(Duration::from_secs(1)).await;
            let became = |call: &&CallRecord| self.world.became(call.id.as_str());
            let what = calls.first().as_ref().map(became).expect("there is a question");
            let same: Vec<&CallRecord> = calls.iter().filter(|call| became(call) == what).collect();
            let publish = [Transition::Create, Transition::Install, Transition::Reconfigure];
            let publishes = |call: &&&CallRecord| publish.map(Action::Transition).contains(&call.action);
            if what == Assumption::Done {
                self.lost.extend(same.iter().filter(publishes).map(|call| call.element.clone()));
            }
            let answer =
                Answer { calls: same.iter().map(|call| call.id.clone()).collect(), ..Answer::of_all(what) };
            match self.ask(root, Request::retry(answer), None).await {
                undecided @ Fate::Undecided(_) => fate = undecided,
                Fate::Refused(error) if self.lost.is_empty() => return Fate::Refused(error),
                _ => fate = self.ask(root, ask.clone(), None).await,
            }
        }
        fate
    }

    /// Brings an assembly up, whatever its state is, and checks the result. No faults occur.
    pub(super) async fn settles(&mut self, topology: &Topology) {
        self.luck(true);
        self.weather = Weather::default();
        let root = topology.name().to_string();
        let mut rounds = 0;
        loop {
            let mut lost = self.lost.clone();
            let ask = Request::up(self.desired(topology));
            let fate = self.ask_and_answer(&root, &ask, None).await;
            // A removed node of a cluster cannot be replaced, and need not be.
            if let Fate::Refused(EngineError::Lifecycle(LifecycleError::Unknown { name, .. })) = &fate
                && lost.remove(name)
            {
                self.lost = lost;
                continue;
            }
            // A request that was refused has replaced nothing.
            if !matches!(fate, Fate::Refused(_)) {
                self.lost = self.lost.difference(&lost).cloned().collect();
            }
            match fate {
                Fate::Ended(ProcessStatus::Completed, _) if self.lost.is_empty() => break,
                // The outputs of a lost launch are known after the replacement.
                _ if !self.lost.is_empty() && rounds < 5 => rounds += 1,
                Fate::Ended(status, why) => panic!("{status:?}, {why:?}: {:?}", self.failures(&root).await),
                other => panic!("{other:?}"),
            }
        }
        self.is_as_asked(topology).await;
        self.stopped_processes_are_cancelled().await;
    }

    /// Asserts that no process is recorded as interrupted if a stop of the process was requested.
    async fn stopped_processes_are_cancelled(&self) {
        for process in self.rig.store.processes().await.expect("the store is readable") {
            let is_interrupted =
                process.reason.as_ref().is_some_and(|reason| reason.starts_with("it was interrupted"));
            let is_asked = self.rig.store.is_asked_to_stop(process.id).await.expect("the store is readable");
            assert!(!(is_interrupted && is_asked), "{}", process.id);
        }
    }

    /// Asserts that an assembly is in its desired state, really and in the records, and that a new plan is
    /// empty.
    pub(super) async fn is_as_asked(&self, topology: &Topology) {
        let root = topology.name().to_string();
        let snapshot = self.rig.look(&root).await;
        let desired = &snapshot.assembly.topology;
        let [seen, expected] = self.world.compare(desired);
        assert_eq!(seen, expected);
        let resources = desired.elements().iter().filter(|element| element.kind == ElementKind::Resource);
        let states: BTreeMap<&ElementName, State> =
            resources.map(|element| (&element.name, snapshot.elements[&element.name].state)).collect();
        assert!(states.values().all(|state| *state == State::Active), "{states:?}");
        let made: BTreeSet<_> =
            snapshot.pairs.values().filter(|pair| pair.created).map(|pair| pair.key.clone()).collect();
        let calling = desired.relationships().iter().filter(|of| !of.create.is_empty());
        let pairs = calling.flat_map(|of| windlass_lifecycle::testing::all_pairs(desired, of));
        assert!(pairs.into_iter().all(|key| made.contains(&key)), "{made:?}");
        let again = Request::up(self.desired(topology));
        let preview =
            self.rig.engine().0.preview(&assembly_name(&root), again).await.expect("there is a plan");
        assert!(preview.plan.is_empty() && preview.diff.is_empty(), "{}", preview.diff);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(self.rig.jobs.left(), 0);
    }

    /// Empties `lost`, the set of elements that must be replaced. Returns whether the set was already empty.
    pub(super) fn replaced_all(&mut self) -> bool {
        std::mem::take(&mut self.lost).is_empty()
    }

    /// Returns the failed steps of the last process with their failures.
    async fn failures(&self, root: &str) -> Vec<String> {
        let history = self.rig.store.history(&assembly_name(root)).await.expect("it is readable");
        let steps = history.processes.last().map(|process| process.steps.clone()).unwrap_or_default();
        let failed = steps.into_iter().filter_map(|step| match step.state {
            StepState::Done(StepEnd::Failed(failure)) => Some(format!("{}: {failure}", step.title)),
            _ => None,
        });
        failed.collect()
    }

    /// Takes an assembly down without faults, and asserts that nothing is left of it.
    pub(super) async fn goes(&mut self, root: &str) {
        self.luck(true);
        self.weather = Weather::default();
        let fate = self.ask_and_answer(root, &Intent::Down.into(), None).await;
        match fate {
            Fate::Ended(ProcessStatus::Completed, _) | Fate::Refused(EngineError::Unknown { .. }) => {}
            other => panic!("{other:?}: {:?}", self.failures(root).await),
        }
        assert!(self.rig.store.load(&assembly_name(root)).await.expect("it is readable").is_none());
        let (states, pairs) = self.world.left(&assembly_name(root));
        assert!(states.is_empty() && pairs.is_empty(), "{states:?}, {pairs:?}");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(self.rig.jobs.left(), 0);
    }
}
