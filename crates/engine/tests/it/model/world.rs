//! The world that the jobs of a test change: the real state, and the permitted calls in that state.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use windlass_driver::{Call, Observation, Question};
use windlass_executor::Job;
use windlass_lifecycle::HalfMade;
use windlass_lifecycle::testing::{Ground, Luck};
use windlass_model::record::{Assumption, Effect, ElementRecord, PairKey, PairRecord};
use windlass_model::template::End;
use windlass_model::work::Direction;
use windlass_model::{Action, AssemblyName, ElementName, OperationName, Part, State, Topology, Transition};
use windlass_store::Snapshot;

use crate::support::runtime::{self, Ending};

/// The faults of a test, and the properties of its driver and of its location.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trouble {
    /// The failing calls, and the order in which jobs end.
    pub(super) luck: Luck,
    /// On average, one in `loses` jobs is lost; 0 means that no job is lost.
    pub(super) loses: u64,
    /// Whether lost jobs have done their work. The value applies to all lost jobs.
    pub(super) lost_did: bool,
    /// The effect of all actions; `None` means `once` for operations and `repeatable` for transitions.
    pub(super) effect: Option<Effect>,
    /// Whether the driver can observe.
    pub(super) observable: bool,
    /// Whether the driver panics after a failed job.
    pub(super) panics: bool,
    /// On average, one in `stumbles` calls makes the driver panic before the call runs a job; 0 means that no call
    /// does.
    pub(super) stumbles: u64,
    /// On average, the runtime can't start the job of one in `unstarted` calls; 0 means that it can start all jobs.
    pub(super) unstarted: u64,
    /// On average, one in `slow` launches and removals is slow: its instance is converging for some seconds; 0 means
    /// that none is slow.
    pub(super) slow: u64,
    /// The limit of concurrent jobs at the only location.
    pub(super) max_jobs: Option<NonZeroU32>,
}

/// The world. A clone shares its state.
#[derive(Clone)]
pub(super) struct World(Arc<Mutex<Inner>>);

struct Inner {
    ground: Ground,
    trouble: Trouble,
    /// The desired version of each assembly.
    desired: BTreeMap<AssemblyName, Topology>,
    /// The assemblies whose current process makes all parts Active.
    whole: BTreeSet<AssemblyName>,
    /// The elements that the engine considers unhealthy, and so removes regardless of their pairs.
    unwell: BTreeSet<ElementName>,
    /// The last completed transition of each resource, if the engine has not received the result of this transition.
    unheard: BTreeMap<ElementName, Transition>,
    /// The resources that are converging because their launch or removal is slow, with the time at which they are ready.
    converging: BTreeMap<ElementName, (Transition, Instant)>,
    /// The earlier outputs of parts that have published again without a re-installation.
    former: BTreeSet<String>,
    /// The resources that exist at least in part, and so must be removed.
    present: BTreeSet<ElementName>,
    /// The location of the last call on each resource.
    locations: BTreeMap<ElementName, String>,
    /// The resources in `present` whose id no script has reported. Their launch failed before a script reported the id.
    silent: BTreeSet<ElementName>,
    /// The resources that are not Active, but are possibly running, because their Start failed or was interrupted.
    started: BTreeSet<ElementName>,
    /// The resources that are possibly running, because the job of their Start was lost, or because their Start and
    /// then their Stop did not complete.
    doubtful: BTreeSet<ElementName>,
    /// The elements that have failed. Each has its state before the failure, and the time of the failure.
    failures: BTreeMap<ElementName, (State, Instant)>,
    /// The maximum time between a failure and the moment at which the engine learns of the failure. The engine learns
    /// of the failure late, because it waits until the record of the job is durable.
    notice: Duration,
    /// Elements whose last Stop has failed.
    unstopped: BTreeSet<ElementName>,
    /// Elements that a user has replaced explicitly. A failed Stop of such an element is not repeated.
    replaced: BTreeSet<ElementName>,
    /// Operations of pairs. The engine does not know the outcome of such an operation, because a job of the operation
    /// was lost.
    doubtful_ties: BTreeSet<(PairKey, u8)>,
    /// The resources that may be partly removed, because their removal failed or was interrupted.
    half_gone: BTreeSet<ElementName>,
    /// For each pair, the called operations that create it. The key is the number of an operation, and the value tells
    /// whether the operation has acted. An operation that the engine has reversed is removed from the map.
    joined: BTreeMap<PairKey, BTreeMap<u8, bool>>,
    /// The requested calls, by id.
    calls: BTreeMap<String, Known>,
    /// The calls whose jobs run now, by id.
    running: BTreeMap<String, Deed>,
    /// The number of jobs that run now.
    at_once: u32,
    /// The maximum number of jobs that ran at the same time.
    most_at_once: u32,
    /// The assemblies whose process is being stopped, with the time of the stop.
    stopped: BTreeMap<AssemblyName, Instant>,
    /// The number of questions that were asked, and the number of jobs that were started to answer questions.
    asked: [usize; 2],
    wrong: Vec<String>,
}

/// A call that the driver received.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, in any combination")]
#[derive(Clone)]
struct Known {
    call: Call,
    deed: Deed,
    /// Whether the call has done its work.
    done: bool,
    /// Whether the call has failed.
    failed: bool,
    /// Whether the endpoints of the relationship were in the required states when the driver was called.
    fit: bool,
    /// Whether the driver panicked before it ran a job. The engine may not have recorded this.
    stumbled: bool,
    /// Whether the driver panicked while the call's job ran, so that the engine stops the job and fails the
    /// call.
    panicked: bool,
    /// The number of the call's lost jobs.
    lost: u64,
}

/// The progress of a call, as an observer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    All,
    Half,
    Nothing,
}

/// The effect of a call.
#[derive(Debug, Clone)]
enum Deed {
    Move(ElementName, Transition),
    Tie(PairKey, Direction, u8),
}

/// Tells whether a transition creates an instance.
fn launches(transition: Transition) -> bool {
    matches!(transition, Transition::Create | Transition::Install)
}

impl World {
    pub(super) fn new(trouble: Trouble) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            ground: Ground::default(),
            trouble,
            desired: BTreeMap::new(),
            whole: BTreeSet::new(),
            unwell: BTreeSet::new(),
            unheard: BTreeMap::new(),
            converging: BTreeMap::new(),
            former: BTreeSet::new(),
            present: BTreeSet::new(),
            locations: BTreeMap::new(),
            silent: BTreeSet::new(),
            started: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            failures: BTreeMap::new(),
            notice: Duration::ZERO,
            unstopped: BTreeSet::new(),
            replaced: BTreeSet::new(),
            doubtful_ties: BTreeSet::new(),
            half_gone: BTreeSet::new(),
            joined: BTreeMap::new(),
            calls: BTreeMap::new(),
            running: BTreeMap::new(),
            at_once: 0,
            most_at_once: trouble.max_jobs.map_or(u32::MAX, NonZeroU32::get),
            stopped: BTreeMap::new(),
            asked: [0; 2],
            wrong: Vec::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no test panics with it")
    }

    /// Sets the rates of failed and lost jobs.
    pub(super) fn trouble(&self, fails: u64, loses: u64) {
        let trouble = &mut self.lock().trouble;
        (trouble.luck.fails, trouble.loses) = (fails, loses);
    }

    pub(super) fn effect(&self, action: &Action) -> Effect {
        let usual = match action {
            Action::Operation(_) => Effect::Once,
            _ => Effect::Repeatable,
        };
        self.lock().trouble.effect.unwrap_or(usual)
    }

    pub(super) fn panics(&self) -> bool {
        self.lock().trouble.panics
    }

    /// Tells whether the driver panics now, before it submits the job of a call. If so, the function fails the call.
    /// Even a failed call may have an effect in the world.
    pub(super) fn stumbles(&self, call: &Call) -> bool {
        let mut inner = self.lock();
        let one_of = inner.trouble.stumbles;
        let bad = inner.trouble.luck.fails > 0 && inner.trouble.luck.one_of(one_of);
        bad && inner.fails(call.id.as_str())
    }

    /// Tells whether the runtime can't start the job of a new call.
    pub(super) fn is_unstarted(&self) -> bool {
        let mut inner = self.lock();
        let one_of = inner.trouble.unstarted;
        inner.trouble.luck.fails > 0 && one_of > 0 && inner.trouble.luck.one_of(one_of)
    }

    /// Records the elements that a user replaces explicitly.
    pub(super) fn replaces(&self, elements: &BTreeSet<ElementName>) {
        self.lock().replaced.extend(elements.iter().cloned());
    }

    /// Records a question that a job answers.
    pub(super) fn asks(&self) {
        self.lock().asked[0] += 1;
    }

    /// Returns the number of questions that were asked, and the number of jobs that were started to answer questions.
    pub(super) fn asked(&self) -> [usize; 2] {
        self.lock().asked
    }

    /// Ignores the limit of concurrent jobs from now on. The jobs of a dead process may run beside the jobs of other
    /// processes, and exceed the limit.
    pub(super) fn allow_more_jobs(&self) {
        self.lock().most_at_once = u32::MAX;
    }

    /// Records a violation of the model.
    pub(super) fn complain(&self, wrong: String) {
        self.lock().wrong.push(wrong);
    }

    /// Sets the longest time after which a batch is durable.
    pub(super) fn durable_after(&self, latest: Duration) {
        // A batch may wait until the batch before it is durable.
        self.lock().notice = latest * 2;
    }

    /// Records that the process of an assembly is being stopped, or has ended.
    pub(super) fn stop(&self, name: &AssemblyName, since: Option<Instant>) {
        let stopped = &mut self.lock().stopped;
        match since {
            Some(since) => stopped.insert(name.clone(), since),
            None => stopped.remove(name),
        };
    }

    /// Decides whether the instance of a successful launch or removal is still converging. If so, the function returns
    /// `true`, and chooses a random time at which the instance is ready.
    pub(super) fn is_slow(&self, call: &Call) -> bool {
        let mut inner = self.lock();
        let Action::Transition(transition) = call.action else { return false };
        let slow = inner.trouble.slow;
        if !(launches(transition) || matches!(transition, Transition::Uninstall | Transition::Delete))
            || !inner.trouble.observable
            || slow == 0
            || !inner.trouble.luck.one_of(slow)
        {
            return false;
        }
        let ready = Instant::now() + Duration::from_millis(inner.trouble.luck.draw() % 5000);
        inner.converging.insert(call.element.clone(), (transition, ready));
        true
    }

    /// Tells whether an observer finds that a resource is converging.
    pub(super) fn is_converging(&self, element: &ElementName) -> bool {
        let mut inner = self.lock();
        let waits = inner.converging.get(element).is_some_and(|(_, ready)| Instant::now() < *ready);
        if !waits {
            inner.converging.remove(element);
        }
        waits
    }

    /// Returns the observation of an instance that is converging. If the call was not lost, the observation is a random
    /// one that does not end the call.
    pub(super) fn not_ready(&self, call: &Call) -> Observation {
        if call.question != Question::Settled {
            return Observation::Converging;
        }
        match self.lock().trouble.luck.draw() % 4 {
            0 => Observation::Converging,
            1 => Observation::Differs("it is not ready".to_owned()),
            2 => Observation::CannotTell("its state is unknown".to_owned()),
            _ => Observation::Unanswered,
        }
    }

    pub(super) fn observable(&self) -> bool {
        self.lock().trouble.observable
    }

    /// Records the start of a process. `records` contains the records of its assembly at this time. `whole` tells
    /// whether the process plans the whole assembly.
    pub(super) fn begin(&self, records: &Snapshot, whole: bool) {
        let mut inner = self.lock();
        let desired = &records.assembly.topology;
        let goes = records.assembly.goal == State::Absent;
        let name = desired.name().clone();
        // A failed launch without leftovers is forgotten as soon as the records know of it.
        let is_gone = |name: &ElementName| {
            records.elements.get(name).is_none_or(|record| record.state == State::Absent)
        };
        inner.tidy(|element| element.assembly() == name && is_gone(element));
        let recorded = |key: &PairKey| records.pairs.get(key).is_some_and(PairRecord::is_there);
        inner.ground.forget(name.as_str(), recorded);
        let Inner { joined, ground, .. } = &mut *inner;
        joined.retain(|key, _| ground.is_tied(key));
        inner.ground.begin(name.as_str(), (!goes).then_some(desired));
        let before = inner.desired.insert(name.clone(), desired.clone());
        if whole && records.assembly.goal == State::Active {
            inner.whole.insert(name);
        } else {
            inner.whole.remove(&name);
        }
        let unwell = |record: &&ElementRecord| matches!(record.state, State::Failed | State::Broken);
        let unwell = records.elements.values().filter(unwell).map(|record| record.name.clone());
        inner.unwell.retain(|other| other.assembly() != *desired.name());
        inner.unwell.extend(unwell);
        let Inner { converging, unwell, wrong, .. } = &mut *inner;
        // Only the removal or a change of a resource ends the wait for its instance.
        if goes || before.as_ref() != Some(desired) {
            converging.retain(|element, _| !unwell.contains(element));
        }
        for (element, (transition, _)) in &*converging {
            if launches(*transition) && unwell.contains(element) {
                wrong.push(format!("{element} has failed, and is only converging"));
            }
        }
    }

    /// Records that a process has completed.
    ///
    /// An earlier process may have been stopped after it called only one of the two operations of a pair. If the
    /// version of the completed process needs only this operation, the function records the pair as completely created.
    pub(super) fn complete(&self, name: &AssemblyName) {
        let mut inner = self.lock();
        let whole: Vec<PairKey> = inner
            .ground
            .half_made()
            .map(|(key, _)| key)
            .filter(|key| inner.has_joined_all(key))
            .cloned()
            .collect();
        for key in whole {
            inner.ground.tie(&key, Direction::Create, None);
        }
        inner.ground.complete(name.as_str());
    }

    /// Returns the real result of a call, whether or not the engine received it.
    pub(super) fn became(&self, call: &str) -> Assumption {
        let inner = self.lock();
        match inner.calls.get(call) {
            Some(Known { done: true, .. }) => Assumption::Done,
            Some(Known { failed: true, deed: Deed::Move(element, _), .. }) if inner.is_debris(element) => {
                Assumption::Failed
            }
            // A failed operation may have acted in part.
            Some(Known { failed: true, deed: Deed::Tie(..), .. }) => Assumption::Failed,
            _ => Assumption::NotDone,
        }
    }

    /// Observes a call: how much of it is done, the driver's id of its element, and the output of that element.
    pub(super) fn look(&self, call: &str) -> (Seen, Option<String>, Option<String>) {
        let inner = self.lock();
        let Some(known) = inner.calls.get(call) else { return (Seen::Nothing, None, None) };
        let element = &known.call.element;
        let natural = inner.present.contains(element).then(|| natural(element));
        let is_begun = match &known.deed {
            Deed::Move(..) => natural.is_some(),
            Deed::Tie(key, direction, number) => {
                inner.has_joined(key, *number) == Some(*direction == Direction::Create)
            }
        };
        let seen = match (known.done, is_begun) {
            (true, _) => Seen::All,
            (false, true) => Seen::Half,
            (false, false) => Seen::Nothing,
        };
        (seen, natural, published(&inner.ground, element))
    }

    /// Records a call before its job is submitted. Returns whether the call is new.
    pub(super) fn announce(&self, call: &Call) -> bool {
        let mut inner = self.lock();
        let (id, done) = (call.id.to_string(), false);
        let deed = match (&call.action, &call.pair) {
            (Action::Operation(operation), Some(pair)) => {
                let joins = operation.as_str().starts_with("Join");
                let direction = if joins { Direction::Create } else { Direction::Cease };
                Deed::Tie(pair.clone(), direction, number_of(operation))
            }
            (Action::Transition(transition), _) => Deed::Move(call.element.clone(), *transition),
            other => panic!("no plan asks for {other:?}"),
        };
        let fit = match &deed {
            Deed::Tie(key, direction, _) => inner.is_fit(key, *direction),
            Deed::Move(..) => false,
        };
        let is_new = !inner.calls.contains_key(&id);
        let known = inner.locations.insert(call.element.clone(), call.location.name.clone());
        if let Some(known) = known.filter(|known| *known != call.location.name)
            && inner.present.contains(&call.element)
        {
            let wrong =
                format!("{} is at {known}, and {deed:?} is called at {}", call.element, call.location.name);
            inner.wrong.push(wrong);
        }
        inner.calls.entry(id).or_insert_with(|| Known {
            call: call.clone(),
            deed,
            done,
            failed: false,
            fit,
            stumbled: false,
            panicked: false,
            lost: 0,
        });
        is_new
    }

    /// Returns the violations so far.
    pub(super) fn wrong(&self) -> Vec<String> {
        self.lock().wrong.clone()
    }

    /// Returns the real and the expected state of an assembly.
    pub(super) fn compare(&self, desired: &Topology) -> [impl PartialEq + std::fmt::Debug + use<>; 2] {
        let mut inner = self.lock();
        inner.tidy(|_| true);
        [inner.ground.seen(desired), Ground::expected(desired)]
    }

    /// Returns the existing resources and pairs of an assembly.
    pub(super) fn left(&self, root: &AssemblyName) -> (Vec<(ElementName, State)>, Vec<PairKey>) {
        let mut inner = self.lock();
        inner.tidy(|_| true);
        let things = inner.ground.things().iter().filter(|(name, _)| name.assembly() == *root);
        let half_made = inner.ground.half_made().map(|(key, _)| key);
        let pairs = inner.ground.pairs().chain(half_made).filter(|key| key.assembly.assembly() == *root);
        let things = things.map(|(name, thing)| (name.clone(), thing.state));
        let debris = inner.present.iter().filter(|name| name.assembly() == *root);
        let debris = debris.map(|name| (name.clone(), State::Failed));
        (things.chain(debris).collect(), pairs.cloned().collect())
    }
}

impl Inner {
    /// Removes each failed resource that has no leftovers, if the records also show this. `known` tells for a resource
    /// whether its record shows that it has no leftovers.
    fn tidy(&mut self, known: impl Fn(&ElementName) -> bool) {
        let failed = self.ground.things().iter().filter(|(_, thing)| thing.state == State::Failed);
        let nothing =
            failed.map(|(name, _)| name.clone()).filter(|name| !self.present.contains(name) && known(name));
        for name in nothing.collect::<Vec<ElementName>>() {
            self.ground.clear(&name);
        }
    }

    fn begins(&mut self, id: &str) -> Result<(), String> {
        let Some(known) = self.calls.get(id) else { return Err(format!("nobody has called {id}")) };
        let Known { call, deed, done, failed, stumbled, .. } = known.clone();
        let by = call.pair.as_ref().map_or(&call.element, |pair| &pair.assembly).assembly();
        if self.stopped.get(&by).is_some_and(|since| Instant::now() > *since) {
            return Err(format!("{deed:?} begins after `{by}` was stopped"));
        }
        let repeats = self.trouble.effect != Some(Effect::Once)
            && (self.trouble.effect == Some(Effect::Repeatable) || matches!(deed, Deed::Move(..)));
        for (other, running) in &self.running {
            self.apart(&deed, running)?;
            let element = &self.calls[other].call.element;
            if *element == call.element {
                return Err(format!("{deed:?} begins while {running:?} runs on {element}"));
            }
        }
        let checked = match &deed {
            // A repeated call finds its work done.
            _ if done && repeats => Ok(()),
            _ if done => Err(format!("{deed:?} is done already, and made again")),
            // Its process died before it recorded the panic: the call has run no job.
            _ if stumbled => Ok(()),
            // The engine has not seen the failure. It repeats the call, or has observed that nothing changed.
            Deed::Move(..) if failed && repeats => Ok(()),
            Deed::Move(_, Transition::Stop) if failed && self.trouble.observable => Ok(()),
            Deed::Move(element, transition) => self.may_move(element, *transition, &call),
            // The engine has not seen the failure.
            Deed::Tie(..) if failed && repeats => Ok(()),
            // An observer has seen that it did nothing.
            Deed::Tie(key, Direction::Create, number)
                if failed && self.trouble.observable && self.has_joined(key, *number) == Some(false) =>
            {
                Ok(())
            }
            Deed::Tie(key, direction, number) => self.may_tie(key, *direction, *number, &call),
        };
        self.running.insert(id.to_owned(), deed);
        checked
    }

    /// Checks that two calls may run at the same time.
    fn apart(&self, one: &Deed, other: &Deed) -> Result<(), String> {
        match (one, other) {
            (Deed::Move(element, transition), Deed::Tie(key, direction, _))
            | (Deed::Tie(key, direction, _), Deed::Move(element, transition)) => {
                let from = self.state(element);
                let to = self.after(element, *transition);
                self.ground.check_beside((element, from, to), key, *direction)
            }
            (Deed::Tie(a, ..), Deed::Tie(b, ..)) if a == b => Err(format!("{one:?} beside {other:?}")),
            _ => Ok(()),
        }
    }

    /// Tells whether the ends of a pair are in the states that the engine requires. An end that has just failed counts
    /// with its state before the failure, because the engine may not know of the failure yet.
    fn is_fit(&self, key: &PairKey, direction: Direction) -> bool {
        if self.ground.check_tie(key, direction).is_ok() {
            return true;
        }
        let mut known = self.ground.clone();
        for (element, (before, since)) in &self.failures {
            if since.elapsed() < self.notice && self.ground.state(element) == State::Failed {
                known.set(element, *before);
            }
        }
        known.check_tie(key, direction).is_ok()
    }

    /// Tells whether a failed launch, start or removal has leftovers.
    fn is_debris(&self, element: &ElementName) -> bool {
        let is_half_done = self.started.contains(element) || self.half_gone.contains(element);
        is_half_done || self.ground.state(element) == State::Failed && self.present.contains(element)
    }

    /// Returns the state of a resource as the engine sees it.
    fn state(&self, name: &ElementName) -> State {
        if self.unwell.contains(name) { State::Broken } else { self.ground.state(name) }
    }

    /// Returns the state of a resource after a transition.
    fn after(&self, element: &ElementName, transition: Transition) -> State {
        let kind = self.ground.things().get(element).map(|thing| thing.kind.as_str());
        match transition {
            Transition::Create => State::Created,
            Transition::Install => State::Installed,
            Transition::Configure | Transition::Stop => State::Inactive,
            Transition::Uninstall if kind == Some(CREATED) => State::Created,
            Transition::Uninstall | Transition::Delete => State::Absent,
            _ => State::Active,
        }
    }

    fn may_move(&self, element: &ElementName, transition: Transition, call: &Call) -> Result<(), String> {
        if self.unheard.get(element) == Some(&transition) {
            // A stop came before the lost job was investigated, so the transition is called again.
            return Ok(());
        }
        let state = self.ground.state(element);
        let has_created = call.package.name().to_string() == CREATED;
        let nothing = state == State::Absent || state == State::Failed && !self.present.contains(element);
        // The engine may not know whether a failed or stopped launch has leftovers.
        let failed = state == State::Failed || state == State::Absent && self.unwell.contains(element);
        let fits = match transition {
            Transition::Create => nothing,
            Transition::Install if has_created => state == State::Created,
            Transition::Install => nothing,
            Transition::Configure => state == State::Installed,
            Transition::Start => state == State::Inactive,
            // An interrupted Stop is called again, whether or not it was complete.
            Transition::Stop if state == State::Inactive => {
                [&self.unwell, &self.started, &self.doubtful].iter().any(|known| known.contains(element))
            }
            // A failed Stop is repeated, so that no data is removed.
            Transition::Stop if state == State::Failed => self.unstopped.contains(element),
            Transition::Stop | Transition::Reconfigure => state == State::Active,
            // The engine may not know whether the job of the Install has started.
            Transition::Uninstall if state == State::Created => self.unwell.contains(element),
            Transition::Uninstall => failed || matches!(state, State::Installed | State::Inactive),
            Transition::Delete => failed || state == State::Created,
            _ => false,
        };
        if !fits {
            return Err(format!("{element} is {state}, and {transition} is called"));
        }
        match transition {
            Transition::Uninstall if self.started.contains(element) => {
                return Err(format!("{element} may run, and is uninstalled without a Stop"));
            }
            Transition::Uninstall | Transition::Delete
                if state == State::Failed
                    && self.unstopped.contains(element)
                    && !self.replaced.contains(element) =>
            {
                return Err(format!("the Stop of {element} has failed, and {transition} is called"));
            }
            Transition::Install | Transition::Configure | Transition::Start
                if self.half_gone.contains(element) =>
            {
                return Err(format!("of {element} some may be gone, and {transition} is called"));
            }
            _ => {}
        }
        let to = self.after(element, transition);
        let from = if self.unwell.contains(element) { State::Broken } else { state };
        self.ground.check_step(element, from, to)?;
        if matches!(transition, Transition::Stop | Transition::Uninstall | Transition::Delete) {
            return Ok(());
        }
        let desired = self.desired.get(&element.assembly()).ok_or("nobody wants anything")?;
        let value = self.ground.value(desired, element)?;
        let given = call.properties.iter().find(|(name, _)| name.as_str() == "in");
        let given = given.map(|(_, input)| input.value.to_string());
        // A call may be given an output that has changed since the call was made. The reader gets the new
        // output when the process continues, or when an operator has it re-created.
        let is_former = |given: &String| self.former.iter().any(|former| given.contains(former));
        if given.as_ref() != Some(&value) && !given.as_ref().is_some_and(is_former) {
            return Err(format!("{element} {transition} is given {given:?}, not {value}"));
        }
        if self.whole.contains(&element.assembly()) && transition != Transition::Reconfigure {
            self.ground.check_arrival(desired, element, to)?;
        }
        Ok(())
    }

    /// Tells whether an operation that was called to create a relationship has acted. Returns `None` if it
    /// was not called.
    fn has_joined(&self, key: &PairKey, number: u8) -> Option<bool> {
        self.joined.get(key)?.get(&number).copied()
    }

    /// Tells whether the called operations of a pair are exactly those that create the pair in the desired version. If
    /// one of these operations has had no effect, for example because its call failed, the function returns `false`.
    fn has_joined_all(&self, key: &PairKey) -> bool {
        let desired = self.desired.get(&key.assembly.assembly());
        let found = desired.and_then(|it| it.relationship(&key.assembly, key.relationship.as_str()));
        let called =
            found.map(|found| found.create.iter().map(|call| (number_of(&call.operation), true)).collect());
        called.is_some() && called.as_ref() == self.joined.get(key)
    }

    fn may_tie(&self, key: &PairKey, direction: Direction, number: u8, call: &Call) -> Result<(), String> {
        let made = direction == Direction::Create;
        let called = self.has_joined(key, number);
        // The engine does not know that nothing is related: a job was lost, or an endpoint never came to be.
        let is_unknown = self.doubtful_ties.contains(&(key.clone(), number))
            || self.ground.hangs(key) && !self.ground.is_tied(key);
        if !made && called.is_none() && is_unknown {
            return Ok(());
        }
        if called.is_some() == made && !self.ground.hangs(key) {
            return Err(format!("{direction:?} {number} of {key:?}, which is so already: {called:?}"));
        }
        // An endpoint may fail between the driver's call and the start of its job.
        if !self.calls.get(call.id.as_str()).is_some_and(|known| known.fit) {
            self.ground.check_tie(key, direction)?;
        }
        if made && call.element.assembly() != key.assembly.assembly() {
            let state = self.ground.state(&call.element);
            if state == State::Absent {
                return Err(format!("{key:?} is made with {}, which is {state}", call.element));
            }
        }
        let peer = peer_of(call);
        let has_begun = self.ground.is_tied(key) && !self.ground.hangs(key);
        if (!made || has_begun) && self.ground.made_with(key) != peer.as_ref() {
            let before = self.ground.made_with(key);
            return Err(format!("{direction:?} of {key:?} with {peer:?}, and it was begun with {before:?}"));
        }
        if has_begun {
            return Ok(());
        }
        // A source that waits for a newer value gets its pairs again after it has that value.
        let newest = |input: &&String| {
            let desired = self.desired.get(&key.source.assembly());
            desired
                .is_some_and(|desired| self.ground.value(desired, &key.source).ok().as_ref() == Some(input))
        };
        let source = self.ground.things().get(&key.source).and_then(|thing| thing.input.as_ref());
        let source = source.filter(newest);
        match (peer, source) {
            (Some(given), Some(input)) if made && self.reads(key, "in") && given != *input => {
                Err(format!("{key:?} is made with {given}, and its source has {input}"))
            }
            _ => Ok(()),
        }
    }

    /// Tells whether a desired relationship reads a property of its source.
    fn reads(&self, key: &PairKey, property: &str) -> bool {
        let desired = self.desired.get(&key.assembly.assembly());
        let found = desired.and_then(|it| it.relationship(&key.assembly, key.relationship.as_str()));
        let mut reads = false;
        for template in
            found.iter().flat_map(|found| found.properties.values()).filter_map(|p| p.value.as_ref())
        {
            template.for_each_part(&mut |part| {
                let source = End::Source;
                reads |= matches!(part, Part::End { end, property: read } if *end == source && read.as_str() == property);
            });
        }
        reads
    }

    /// Returns the id that a script reports for a resource, if the resource exists.
    fn natural(&self, element: &ElementName) -> Option<String> {
        (self.present.contains(element) && !self.silent.contains(element)).then(|| natural(element))
    }

    /// Ends the job of a call.
    fn ends(&mut self, id: &str) -> Ending {
        self.running.remove(id);
        let fails = self.trouble.luck.fails();
        let lost = self.trouble.luck.one_of(self.trouble.loses);
        let did = self.trouble.lost_did;
        let Some(known) = self.calls.get_mut(id) else { return Ending::Lost };
        // The engine fails a call whose jobs are always lost, so the world loses at most three of them.
        let lost = lost && known.lost < 3;
        known.lost += u64::from(lost);
        if let Deed::Tie(key, _, number) = &known.deed {
            let tie = (key.clone(), *number);
            match (lost, fails) {
                (true, _) => drop(self.doubtful_ties.insert(tie)),
                (false, false) => drop(self.doubtful_ties.remove(&tie)),
                (false, true) => {}
            }
        }
        if lost && !did {
            if let Deed::Move(element, Transition::Start) = &known.deed {
                self.doubtful.insert(element.clone());
            }
            return Ending::Lost;
        }
        let (deed, done) = (known.deed.clone(), known.done);
        // A repeated call finds its work done.
        let well = done || lost || !fails;
        let out = match deed {
            Deed::Move(element, transition) if !done => {
                // A failed repetition tells the engine nothing about the call before.
                if lost {
                    self.unheard.insert(element.clone(), transition);
                } else if well || self.unheard.get(&element) != Some(&transition) {
                    self.unheard.remove(&element);
                }
                self.moves(&element, transition, id, well)
            }
            Deed::Tie(key, direction, number) if !done => {
                let peer = peer_of(&known.call);
                self.ties(&key, direction, number, well, peer);
                None
            }
            _ => None,
        };
        let known = self.calls.get_mut(id).expect("it was just seen");
        (known.done, known.failed) = (well, !well);
        if lost {
            return Ending::Lost;
        }
        let element = known.call.element.clone();
        let out = out.or_else(|| published(&self.ground, &element));
        let natural = self.natural(&element);
        Ending::Exited(i32::from(!well), json!({ "natural": natural, "out": out }).to_string())
    }

    /// Fails a call whose driver panics. If a job of the call runs, the call fails when the engine stops the job;
    /// otherwise, at once. Returns false if the call has ended before.
    fn fails(&mut self, id: &str) -> bool {
        let runs = self.running.contains_key(id);
        let Some(known) = self.calls.get_mut(id).filter(|known| !known.done && !known.failed) else {
            return false;
        };
        if runs {
            known.panicked = true;
            return true;
        }
        (known.failed, known.stumbled) = (true, true);
        self.fails_now(id);
        true
    }

    /// Applies the failure of a call.
    fn fails_now(&mut self, id: &str) {
        let Known { call, deed, .. } = self.calls[id].clone();
        match deed {
            Deed::Move(element, transition) => drop(self.moves(&element, transition, id, false)),
            Deed::Tie(key, direction, number) => self.ties(&key, direction, number, false, peer_of(&call)),
        }
    }

    /// Stops the job of a call. A stopped launch leaves part of the resource.
    fn stops(&mut self, id: &str) {
        self.running.remove(id);
        let Some(known) = self.calls.get_mut(id).filter(|known| !known.done) else { return };
        known.failed = true;
        if known.panicked {
            return self.fails_now(id);
        }
        let (call, deed) = (known.call.clone(), known.deed.clone());
        if let Deed::Tie(key, direction, number) = &deed {
            return self.ties(key, *direction, *number, false, peer_of(&call));
        }
        let element = match deed {
            Deed::Move(element, Transition::Create | Transition::Install) => element,
            Deed::Move(element, transition) => return self.half_does(&element, transition),
            Deed::Tie(..) => return,
        };
        let package = call.package.name().to_string();
        self.ground.set(&element, State::Failed);
        self.ground.know(&element, &package);
        self.unwell.insert(element.clone());
        self.present.insert(element);
    }

    /// Records the possible effects of a failed or cut transition. Only effects that the state of the element does not
    /// show are recorded.
    fn half_does(&mut self, element: &ElementName, transition: Transition) {
        let state = self.ground.state(element);
        if transition == Transition::Stop {
            self.unstopped.insert(element.clone());
        }
        match transition {
            Transition::Start if state == State::Inactive => drop(self.started.insert(element.clone())),
            Transition::Uninstall | Transition::Delete if state.rank() > Some(0) => {
                self.half_gone.insert(element.clone());
            }
            // The element may have some of the old values and some of the new ones.
            Transition::Reconfigure => self.ground.give(element, "half of the values".to_owned()),
            // The resource has received a Stop.
            Transition::Stop if self.started.remove(element) => drop(self.doubtful.insert(element.clone())),
            _ => {}
        }
    }

    /// Executes an operation of a relationship, or fails it. A failed operation may still have acted.
    fn ties(&mut self, key: &PairKey, direction: Direction, number: u8, well: bool, peer: Option<String>) {
        let acts = well || self.trouble.luck.one_of(2);
        let desired = self.desired.get(&key.assembly.assembly());
        let found = desired.and_then(|it| it.relationship(&key.assembly, key.relationship.as_str()));
        let all = found.map_or(1, |relationship| relationship.create.len());
        let first = found.and_then(|relationship| relationship.create.first());
        let is_first = first.is_none_or(|first| number_of(&first.operation) == number);
        if is_first && self.ground.hangs(key) && !self.ground.is_tied(key) {
            self.joined.remove(key);
        }
        let joined = self.joined.entry(key.clone()).or_default();
        match direction {
            Direction::Create => drop(joined.insert(number, acts)),
            _ if well => drop(joined.remove(&number)),
            _ => {
                joined.entry(number).and_modify(|joined| *joined &= !acts);
            }
        }
        let is_whole = direction == Direction::Create && well && joined.len() >= all;
        if joined.is_empty() {
            self.joined.remove(key);
            self.ground.tie(key, Direction::Cease, None);
        } else if is_whole {
            self.ground.tie(key, Direction::Create, peer);
        } else {
            self.ground.half_make(key, HalfMade::default(), peer);
        }
    }

    /// Executes a transition, or fails it. Returns the output of the element.
    fn moves(
        &mut self,
        element: &ElementName,
        transition: Transition,
        id: &str,
        well: bool,
    ) -> Option<String> {
        let call = self.calls[id].call.clone();
        let from = self.ground.state(element);
        if !well {
            let to = transition.on_failure(from);
            self.failures.insert(element.clone(), (from, Instant::now()));
            let launches = matches!(transition, Transition::Create | Transition::Install);
            self.ground.set(element, to);
            self.half_does(element, transition);
            if launches && self.trouble.luck.one_of(2) {
                if self.present.insert(element.clone()) && self.trouble.luck.one_of(2) {
                    self.silent.insert(element.clone());
                }
                self.ground.know(element, &call.package.name().to_string());
            }
            if to == State::Failed {
                self.unwell.insert(element.clone());
            }
            return None;
        }
        if from == State::Absent && matches!(transition, Transition::Uninstall | Transition::Delete) {
            // A launch was lost, and the engine does not know that it left nothing. The pairs go with the
            // part.
            self.ground.set(element, State::Absent);
            self.joined.retain(|key, _| self.ground.is_tied(key));
            return None;
        }
        let to = match transition {
            // A failed resource stays Failed until all its leftovers are removed.
            Transition::Uninstall
                if from == State::Failed && self.after(element, transition) != State::Absent =>
            {
                State::Failed
            }
            _ => self.after(element, transition),
        };
        self.ground.set(element, to);
        for known in [&mut self.started, &mut self.doubtful, &mut self.unstopped, &mut self.half_gone] {
            known.remove(element);
        }
        let ground = &self.ground;
        self.joined.retain(|key, _| ground.is_tied(key));
        if to == State::Absent {
            self.present.remove(element);
            self.silent.remove(element);
            self.unwell.remove(element);
            return None;
        }
        // A removed part counts as unhealthy on its whole path down.
        if !matches!(transition, Transition::Stop | Transition::Uninstall) {
            self.unwell.remove(element);
        }
        let desired = self.desired.get(&element.assembly())?.clone();
        if matches!(transition, Transition::Create | Transition::Install) {
            self.present.insert(element.clone());
            self.silent.remove(element);
            self.ground.know(element, &call.package.name().to_string());
        }
        if matches!(transition, Transition::Install | Transition::Reconfigure) {
            let given = call.properties.iter().find(|(name, _)| name.as_str() == "in");
            self.ground.give(element, given.map(|(_, input)| input.value.to_string()).unwrap_or_default());
        }
        if transition == Transition::Install {
            self.ground.launch(element, desired.get(element)?);
        }
        if transition == Transition::Reconfigure && self.trouble.luck.one_of(2) {
            self.former.extend(self.ground.republish(element));
        }
        published(&self.ground, element)
    }
}

/// Returns the number of an operation, the last character of its name.
fn number_of(operation: &OperationName) -> u8 {
    operation.as_str().as_bytes().last().map_or(0, |digit| digit - b'0')
}

/// Returns the driver's id of a resource.
fn natural(element: &ElementName) -> String {
    format!("n-{}", element.local())
}

/// Returns the argument `peer` of an operation.
fn peer_of(call: &Call) -> Option<String> {
    let peer = call.arguments.iter().find(|(name, _)| name.as_str() == "peer");
    peer.map(|(_, input)| input.value.to_string())
}

/// The type of the resources that declare Create.
const CREATED: &str = "resource::k1::1.0";

/// Returns the output of a resource.
fn published(ground: &Ground, element: &ElementName) -> Option<String> {
    use windlass_model::resolve::{Lookup as _, Output};
    match ground.output(element, &"out".parse().expect("valid")) {
        Output::Published(value) => value.value.as_str().map(ToOwned::to_owned),
        _ => None,
    }
}

/// Some jobs answer a question about an object. Returns the name of this object. Returns `None` for any other job.
fn question(job: &Job) -> Option<&str> {
    job.program.strip_prefix("look ").or_else(|| job.program.strip_prefix("find "))
}

impl runtime::World for World {
    fn begins(&self, job: &Job) -> Duration {
        let mut inner = self.lock();
        inner.at_once += 1;
        if inner.at_once > inner.most_at_once {
            let wrong = format!("{} begins, and {} jobs run at once", job.program, inner.at_once);
            inner.wrong.push(wrong);
        }
        if question(job).is_some() {
            inner.asked[1] += 1;
            return Duration::from_millis(1 + inner.trouble.luck.draw() % 300);
        }
        if let Err(wrong) = inner.begins(&job.program) {
            inner.wrong.push(wrong);
        }
        Duration::from_millis(1 + inner.trouble.luck.draw() % 20)
    }

    fn ends(&self, job: &Job) -> Ending {
        let mut inner = self.lock();
        inner.at_once -= 1;
        match question(job) {
            Some(of) => {
                let state = of.parse().map(|element: ElementName| inner.ground.state(&element).to_string());
                Ending::Exited(0, json!({ "of": of, "state": state.unwrap_or_default() }).to_string())
            }
            None => inner.ends(&job.program),
        }
    }

    fn stops(&self, job: &Job) {
        let mut inner = self.lock();
        inner.at_once -= 1;
        if question(job).is_none() {
            inner.stops(&job.program);
        }
    }
}
