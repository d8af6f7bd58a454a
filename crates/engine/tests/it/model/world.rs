//! The world that the jobs of a test change: what really exists, and what may be done to it now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::json;
use windlass_driver::Call;
use windlass_executor::Job;
use windlass_lifecycle::testing::{Ground, Luck};
use windlass_model::record::{Assumption, Effect, ElementRecord, PairKey};
use windlass_model::template::End;
use windlass_model::{Action, AssemblyName, ElementName, Part, State, Topology, Transition};
use windlass_plan::Direction;
use windlass_store::Snapshot;

use crate::support::runtime::{self, Ending};

/// What goes wrong, and what a lost call means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trouble {
    /// Which calls fail, and in which order jobs end.
    pub(super) luck: Luck,
    /// Of how many jobs one is lost; 0 means none.
    pub(super) loses: u64,
    /// Whether a lost job has done what it should: one answer is true of all.
    pub(super) lost_did: bool,
    /// What all actions are; none means once for operations and repeatable for transitions.
    pub(super) effect: Option<Effect>,
    /// Whether the driver can look.
    pub(super) observable: bool,
}

/// The world. A clone is the same world.
#[derive(Clone)]
pub(super) struct World(Arc<Mutex<Inner>>);

struct Inner {
    ground: Ground,
    trouble: Trouble,
    /// What each assembly should be.
    desired: BTreeMap<AssemblyName, Topology>,
    /// The assemblies all parts of which are to be Active when the process that runs has ended.
    whole: BTreeSet<AssemblyName>,
    /// What the engine takes for broken, and so clears away whatever it is related to.
    unwell: BTreeSet<ElementName>,
    /// What parts that were not made anew had published before.
    former: BTreeSet<String>,
    /// What the driver has an id of.
    present: BTreeSet<ElementName>,
    /// The calls that were made, by id.
    calls: BTreeMap<String, Known>,
    /// The calls whose jobs run now, by id.
    running: BTreeMap<String, Deed>,
    wrong: Vec<String>,
}

/// A call that the driver was asked for.
#[derive(Clone)]
struct Known {
    call: Call,
    deed: Deed,
    /// Whether it has done what it should.
    done: bool,
    /// Whether it has tried to, and failed.
    failed: bool,
    /// How many of its jobs were lost.
    lost: u64,
}

/// What a call does.
#[derive(Debug, Clone)]
enum Deed {
    Move(ElementName, Transition),
    Tie(PairKey, Direction),
}

impl World {
    pub(super) fn new(trouble: Trouble) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            ground: Ground::default(),
            trouble,
            desired: BTreeMap::new(),
            whole: BTreeSet::new(),
            unwell: BTreeSet::new(),
            former: BTreeSet::new(),
            present: BTreeSet::new(),
            calls: BTreeMap::new(),
            running: BTreeMap::new(),
            wrong: Vec::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no test panics with it")
    }

    /// Sets what goes wrong from now on: of how many jobs one fails, and one is lost.
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

    pub(super) fn observable(&self) -> bool {
        self.lock().trouble.observable
    }

    /// Notes that a process begins, of whose assembly the records say this: whether it is to make all parts Active.
    pub(super) fn begin(&self, records: &Snapshot, whole: bool) {
        let mut inner = self.lock();
        let desired = &records.assembly.topology;
        let goes = records.assembly.goal == State::Absent;
        let name = desired.name().clone();
        // What came to nothing is forgotten when it is known to have.
        let is_gone = |name: &ElementName| {
            records.elements.get(name).is_none_or(|record| record.state == State::Absent)
        };
        inner.tidy(|element| element.assembly() == name && is_gone(element));
        inner.ground.forget(name.as_str());
        inner.ground.begin(name.as_str(), (!goes).then_some(desired));
        inner.desired.insert(name.clone(), desired.clone());
        if whole && records.assembly.goal == State::Active {
            inner.whole.insert(name);
        } else {
            inner.whole.remove(&name);
        }
        let unwell = |record: &&ElementRecord| matches!(record.state, State::Failed | State::Broken);
        let unwell = records.elements.values().filter(unwell).map(|record| record.name.clone());
        inner.unwell.retain(|other| other.assembly() != *desired.name());
        inner.unwell.extend(unwell);
    }

    /// Notes that a process has reached its end.
    pub(super) fn complete(&self, name: &AssemblyName) {
        self.lock().ground.complete(name.as_str());
    }

    /// Tells what became of a call, whoever was told.
    pub(super) fn became(&self, call: &str) -> Assumption {
        let inner = self.lock();
        match inner.calls.get(call) {
            Some(Known { done: true, .. }) => Assumption::Done,
            Some(Known { failed: true, deed: Deed::Move(element, _), .. }) if inner.is_debris(element) => {
                Assumption::Failed
            }
            _ => Assumption::NotDone,
        }
    }

    /// Looks whether a call has done what it should; and at its element: the driver's id of it, and what it publishes.
    pub(super) fn look(&self, call: &str) -> (bool, Option<String>, Option<String>) {
        let inner = self.lock();
        let Some(known) = inner.calls.get(call) else { return (false, None, None) };
        let element = &known.call.element;
        (known.done, inner.natural(element), published(&inner.ground, element))
    }

    /// Takes note of a call before its job is handed over.
    pub(super) fn announce(&self, call: &Call) {
        let mut inner = self.lock();
        let (id, done) = (call.id.to_string(), false);
        let deed = match (&call.action, &call.pair) {
            (Action::Operation(operation), Some(pair)) => {
                let joins = operation.as_str().starts_with("Join");
                let direction = if joins { Direction::Create } else { Direction::Cease };
                Deed::Tie(pair.clone(), direction)
            }
            (Action::Transition(transition), _) => Deed::Move(call.element.clone(), *transition),
            other => panic!("no plan asks for {other:?}"),
        };
        inner.calls.entry(id).or_insert_with(|| Known {
            call: call.clone(),
            deed,
            done,
            failed: false,
            lost: 0,
        });
    }

    /// Returns what was wrong so far.
    pub(super) fn wrong(&self) -> Vec<String> {
        self.lock().wrong.clone()
    }

    /// Returns what there is of an assembly, with what should be there.
    pub(super) fn compare(&self, desired: &Topology) -> [impl PartialEq + std::fmt::Debug + use<>; 2] {
        let mut inner = self.lock();
        inner.tidy(|_| true);
        [inner.ground.seen(desired), Ground::expected(desired)]
    }

    /// Returns what exists of an assembly: states and relationships.
    pub(super) fn left(&self, root: &AssemblyName) -> (Vec<(ElementName, State)>, Vec<PairKey>) {
        let mut inner = self.lock();
        inner.tidy(|_| true);
        let things = inner.ground.things().iter().filter(|(name, _)| name.assembly() == *root);
        let pairs = inner.ground.pairs().filter(|key| key.assembly.assembly() == *root);
        (things.map(|(name, thing)| (name.clone(), thing.state)).collect(), pairs.cloned().collect())
    }
}

impl Inner {
    /// Forgets what came to nothing.
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
        let Known { call, deed, done, failed, .. } = known.clone();
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
            // It is made again, and finds its work done.
            _ if done && repeats => Ok(()),
            _ if done => Err(format!("{deed:?} is done already, and made again")),
            // Nobody has seen it fail: it may be made twice, or was looked at and is as it was.
            Deed::Move(..) if failed && repeats => Ok(()),
            Deed::Move(_, Transition::Stop) if failed && self.trouble.observable => Ok(()),
            Deed::Move(element, transition) => self.may_move(element, *transition, &call),
            Deed::Tie(key, direction) => self.may_tie(key, *direction, &call),
        };
        self.running.insert(id.to_owned(), deed);
        checked
    }

    /// Checks that two deeds may be done at once.
    fn apart(&self, one: &Deed, other: &Deed) -> Result<(), String> {
        match (one, other) {
            (Deed::Move(element, transition), Deed::Tie(key, direction))
            | (Deed::Tie(key, direction), Deed::Move(element, transition)) => {
                let from = self.state(element);
                let to = self.after(element, *transition);
                self.ground.check_beside((element, from, to), key, *direction)
            }
            (Deed::Tie(a, _), Deed::Tie(b, _)) if a == b => Err(format!("{one:?} beside {other:?}")),
            _ => Ok(()),
        }
    }

    /// Tells whether a resource has failed and something of it is there.
    fn is_debris(&self, element: &ElementName) -> bool {
        self.ground.state(element) == State::Failed && self.present.contains(element)
    }

    /// Returns the state of a resource as the engine sees it.
    fn state(&self, name: &ElementName) -> State {
        if self.unwell.contains(name) { State::Broken } else { self.ground.state(name) }
    }

    /// Returns the state in which a transition leaves a resource.
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
        let state = self.ground.state(element);
        let has_created = call.package.name().to_string() == CREATED;
        let nothing = state == State::Absent || state == State::Failed && !self.present.contains(element);
        let debris = self.is_debris(element);
        let fits = match transition {
            Transition::Create => nothing,
            Transition::Install if has_created => state == State::Created,
            Transition::Install => nothing,
            Transition::Configure => state == State::Installed,
            Transition::Start => state == State::Inactive,
            Transition::Stop | Transition::Reconfigure => state == State::Active,
            // Whether the job that was to install it has begun to, nobody knows.
            Transition::Uninstall if state == State::Created => self.unwell.contains(element),
            Transition::Uninstall => debris || matches!(state, State::Installed | State::Inactive),
            Transition::Delete => debris || state == State::Created,
            _ => false,
        };
        if !fits {
            return Err(format!("{element} is {state}, and {transition} is called"));
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
        // What is published anew while a call is on its way is given when the process goes on, or when a
        // person who knows no better has it made anew.
        let is_former = |given: &String| self.former.iter().any(|former| given.contains(former));
        if given.as_ref() != Some(&value) && !given.as_ref().is_some_and(is_former) {
            return Err(format!("{element} {transition} is given {given:?}, not {value}"));
        }
        if self.whole.contains(&element.assembly()) && transition != Transition::Reconfigure {
            self.ground.check_arrival(desired, element, to)?;
        }
        Ok(())
    }

    fn may_tie(&self, key: &PairKey, direction: Direction, call: &Call) -> Result<(), String> {
        let made = direction == Direction::Create;
        if self.ground.is_made(key) == made && !self.ground.hangs(key) {
            return Err(format!("{direction:?} of {key:?}, which is so already"));
        }
        self.ground.check_tie(key, direction)?;
        if made && call.element.assembly() != key.assembly.assembly() {
            let state = self.ground.state(&call.element);
            if state == State::Absent {
                return Err(format!("{key:?} is made with {}, which is {state}", call.element));
            }
        }
        let peer = peer_of(call);
        if !made && self.ground.made_with(key) != peer.as_ref() {
            let before = self.ground.made_with(key);
            return Err(format!("{key:?} is ended with {peer:?}, and was made with {before:?}"));
        }
        // A source that waits for a newer value is related anew when it has it.
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

    /// Tells whether a relationship that is wanted reads a property of its source.
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

    /// Returns the driver's id of a resource, if there is anything of it.
    fn natural(&self, element: &ElementName) -> Option<String> {
        self.present.contains(element).then(|| format!("n-{}", element.local()))
    }

    /// Lets a call come to its end.
    fn ends(&mut self, id: &str) -> Ending {
        self.running.remove(id);
        let fails = self.trouble.luck.fails();
        let lost = self.trouble.luck.one_of(self.trouble.loses);
        let did = self.trouble.lost_did;
        let Some(known) = self.calls.get_mut(id) else { return Ending::Lost };
        // One that is lost each time counts as failed, whatever it has done.
        let lost = lost && known.lost < 3;
        known.lost += u64::from(lost);
        if lost && !did {
            return Ending::Lost;
        }
        let (deed, done) = (known.deed.clone(), known.done);
        // Made again, it finds its work done.
        let well = done || lost || !fails;
        let out = match deed {
            Deed::Move(element, transition) if !done => self.moves(&element, transition, id, well),
            Deed::Tie(key, direction) if !done && well => {
                let peer = peer_of(&known.call);
                self.ground.tie(&key, direction, peer);
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

    /// Does a transition, or fails to. Returns what it publishes.
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
            let launches = matches!(transition, Transition::Create | Transition::Install);
            self.ground.set(element, to);
            if launches && self.trouble.luck.one_of(2) {
                self.present.insert(element.clone());
                self.ground.know(element, &call.package.name().to_string());
            }
            if to == State::Failed {
                self.unwell.insert(element.clone());
            }
            return None;
        }
        let to = match transition {
            // What a failure has left is there until all of it is cleared away.
            Transition::Uninstall
                if from == State::Failed && self.after(element, transition) != State::Absent =>
            {
                State::Failed
            }
            _ => self.after(element, transition),
        };
        self.ground.set(element, to);
        if to == State::Absent {
            self.present.remove(element);
            self.unwell.remove(element);
            return None;
        }
        // What is cleared away is so all the way down, whatever it is related to.
        if !matches!(transition, Transition::Stop | Transition::Uninstall) {
            self.unwell.remove(element);
        }
        let desired = self.desired.get(&element.assembly())?.clone();
        if matches!(transition, Transition::Create | Transition::Install) {
            self.present.insert(element.clone());
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

/// Returns what an operation of a relationship is given as `peer`.
fn peer_of(call: &Call) -> Option<String> {
    let peer = call.arguments.iter().find(|(name, _)| name.as_str() == "peer");
    peer.map(|(_, input)| input.value.to_string())
}

/// The kind of resource that declares Create.
const CREATED: &str = "resource::k1::1.0";

/// Returns what a resource publishes.
fn published(ground: &Ground, element: &ElementName) -> Option<String> {
    use windlass_model::resolve::{Lookup as _, Output};
    match ground.output(element, &"out".parse().expect("valid")) {
        Output::Published(value) => value.value.as_str().map(ToOwned::to_owned),
        _ => None,
    }
}

impl runtime::World for World {
    fn begins(&self, job: &Job) -> Duration {
        let mut inner = self.lock();
        if let Err(wrong) = inner.begins(&job.program) {
            inner.wrong.push(wrong);
        }
        Duration::from_millis(1 + inner.trouble.luck.draw() % 20)
    }

    fn ends(&self, job: &Job) -> Ending {
        self.lock().ends(&job.program)
    }
}
