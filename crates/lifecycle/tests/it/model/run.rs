//! An interpreter of plans. It takes the steps in any order that their waits allow, and checks each step.

use std::collections::HashSet;

use windlass_lifecycle::HalfMade;
use windlass_lifecycle::Plan;
use windlass_lifecycle::testing::{Ground, Luck};
use windlass_model::Side;
use windlass_model::assembly::{Element, OperationCall};
use windlass_model::record::PairKey;
use windlass_model::template::End;
use windlass_model::work::{Direction, Reason, Relate, Work};
use windlass_model::{ElementName, State, Topology, Transition, Transitions};
use windlass_plan::{Step, StepNumber, WaitKind};

use super::world::World;

/// One execution of a plan.
pub(super) struct Run<'a> {
    world: &'a mut World,
    plan: &'a Plan,
    installed: Option<Topology>,
    desired: Option<Topology>,
    luck: Luck,
    /// The elements that failed during this execution. Like the engine, the interpreter creates no pairs with
    /// these elements.
    fallen: Vec<ElementName>,
    /// The elements that did not reach the state of a step. If a relationship has several sources, it may be created
    /// without the sources in this set.
    stuck: HashSet<ElementName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fared {
    Open,
    Running,
    Well,
    Badly,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        world: &'a mut World,
        plan: &'a Plan,
        (installed, desired): (Option<Topology>, Option<Topology>),
        luck: Luck,
    ) -> Self {
        Self { world, plan, installed, desired, luck, fallen: Vec::new(), stuck: HashSet::new() }
    }

    /// Takes all steps. Returns whether all of them succeeded.
    pub(super) fn run(mut self) -> bool {
        let plan = self.plan;
        let count = plan.steps().len();
        let mut fared = vec![Fared::Open; count];
        let mut ended = 0;
        loop {
            let ready: Vec<usize> = (0..count).filter(|at| self.is_ready(*at, &fared)).collect();
            let running: Vec<usize> = (0..count).filter(|at| fared[*at] == Fared::Running).collect();
            if self.luck.cut == Some(ended) {
                // After a kill, recovery finds some of the running steps completed, and the others not
                // started.
                for at in running {
                    if self.luck.one_of(2) {
                        self.end(at, true);
                    }
                }
                return false;
            }
            let choices = ready.len() + running.len();
            if choices == 0 {
                break;
            }
            let choice = usize::try_from(self.luck.draw()).unwrap_or(0) % choices;
            if let Some(at) = ready.get(choice) {
                fared[*at] = self.start(*at, &fared);
                self.check_watched(&fared);
            } else {
                let at = running[choice - ready.len()];
                let well = !self.luck.fails() && !self.leaves_some_out(work(plan, at));
                self.end(at, well);
                fared[at] = if well { Fared::Well } else { Fared::Badly };
                ended += 1;
            }
        }
        fared.iter().all(|fared| *fared == Fared::Well)
    }

    fn is_ready(&self, at: usize, fared: &[Fared]) -> bool {
        fared[at] == Fared::Open
            && step(self.plan, at)
                .waits()
                .all(|wait| matches!(fared[place(wait.on)], Fared::Well | Fared::Badly))
    }

    fn start(&mut self, at: usize, fared: &[Fared]) -> Fared {
        let step = step(self.plan, at);
        let needs = step.waits().filter(|wait| wait.kind == WaitKind::Needs);
        if needs.into_iter().any(|wait| fared[place(wait.on)] == Fared::Badly) {
            if let Some(work) = step.task.work() {
                self.note_stuck(work);
            }
            return Fared::Badly;
        }
        let Some(work) = step.task.work() else { return Fared::Well };
        for (other, _) in fared.iter().enumerate().filter(|(_, fared)| **fared == Fared::Running) {
            self.check_apart(work, self::work(self.plan, other));
        }
        match work {
            Work::Transition { element, from, to, side, .. } => {
                if *from == State::Broken && self.world.ground.state(element) == State::Active {
                    self.world.ground.set(element, State::Broken);
                }
                let now = self.world.ground.state(element);
                let climbs_from_nothing = now == State::Failed && *from == State::Absent;
                assert!(now == *from || climbs_from_nothing, "{work} starts from {now}");
                assert!(self.topology(*side).get(element).is_some(), "{element} is in no {side:?} version");
                holds(self.world.ground.check_step(element, *from, *to));
            }
            Work::Relate(_) if self.meets_the_fallen(work) => return Fared::Badly,
            Work::Relate(relate) => {
                self.check_ends(work);
                self.check_half_made(relate);
            }
            _ => {}
        }
        Fared::Running
    }

    /// Asserts that not too many nodes are down while some steps run.
    fn check_watched(&self, fared: &[Fared]) {
        let (Some(watched), Some(desired)) = (&self.world.watched, &self.desired) else { return };
        let running = fared.iter().enumerate().filter(|(_, fared)| **fared == Fared::Running);
        let running: Vec<&Work> = running.map(|(at, _)| work(self.plan, at)).collect();
        watched.check(&self.world.ground, desired, &running);
    }

    fn topology(&self, side: Side) -> &Topology {
        let topology = match side {
            Side::Installed => self.installed.as_ref().or(self.desired.as_ref()),
            Side::Desired => self.desired.as_ref(),
        };
        topology.expect("the step's version is there")
    }

    /// Asserts that two concurrent steps change different elements and pairs.
    fn check_apart(&self, one: &Work, other: &Work) {
        match (one, other) {
            (Work::Transition { element: a, .. }, Work::Transition { element: b, .. }) => {
                assert_ne!(a, b, "{one} beside {other}");
            }
            (Work::Relate(_), Work::Relate(_)) => {
                let ((_, a), (_, b)) = (self.keys(one), self.keys(other));
                assert!(a.iter().all(|key| !b.contains(key)), "{one} beside {other}");
            }
            (Work::Transition { element, from, to, .. }, relate @ Work::Relate(_))
            | (relate @ Work::Relate(_), Work::Transition { element, from, to, .. }) => {
                let (direction, keys) = self.keys(relate);
                for key in keys {
                    holds(self.world.ground.check_beside((element, *from, *to), &key, direction));
                }
            }
            _ => {}
        }
    }

    /// Returns the pairs that a step still has to create or cease.
    fn keys(&self, work: &Work) -> (Direction, Vec<PairKey>) {
        let Work::Relate(relate) = work else { return (Direction::Create, Vec::new()) };
        let Relate { direction, assembly, relationship, target, sources, side, .. } = &**relate;
        let sources = sources.iter().flat_map(|source| self.topology(*side).nodes(source));
        let key = |source: &Element| PairKey {
            assembly: assembly.clone(),
            relationship: relationship.clone(),
            source: source.name.clone(),
            target: target.clone(),
        };
        let ground = &self.world.ground;
        let is_open = |key: &PairKey| match direction {
            Direction::Create => !ground.is_made(key) && !self.is_stuck(key),
            Direction::Cease => ground.is_tied(key),
            Direction::Undo => ground.is_tied(key) && !ground.is_made(key),
        };
        (*direction, sources.map(key).filter(is_open).collect())
    }

    /// Asserts two rules for a partly created pair. Operations in doubt must be undone before the pair is completed. A
    /// step that removes the pair must undo all its operations.
    fn check_half_made(&self, relate: &Relate) {
        let (direction, keys) = self.keys(&Work::Relate(Box::new(relate.clone())));
        let half_made = self.world.ground.half_made().filter(|(key, _)| keys.contains(key));
        for (key, half) in half_made {
            match direction {
                Direction::Create => assert_eq!(half.in_doubt, 0, "{key:?} is resumed in doubt"),
                Direction::Cease => assert_eq!(relate.operations, half.undo, "{key:?}"),
                Direction::Undo => assert_eq!(relate.operations, half.undo[..half.in_doubt], "{key:?}"),
            }
        }
    }

    /// Simulates a failed operation, which may leave a pair partly created or partly ceased.
    fn fail_to_tie(&mut self, key: &PairKey, direction: Direction, peer: Option<String>) {
        match direction {
            Direction::Create if self.luck.one_of(2) => {
                let call = |number: u8| OperationCall {
                    end: End::Target,
                    operation: format!("Leave{number}").parse().expect("valid"),
                };
                let many = self.luck.draw() % 3;
                let undo: Vec<OperationCall> =
                    (1..=2).take(usize::try_from(many).unwrap_or(0)).map(call).collect();
                let in_doubt = usize::from(self.luck.one_of(2)).min(undo.len());
                self.world.ground.half_make(key, HalfMade { undo, in_doubt }, peer);
            }
            Direction::Cease if self.world.ground.is_made(key) && self.luck.one_of(2) => {
                self.world.half_ended.insert(key.clone());
            }
            _ => {}
        }
    }

    /// Creates or removes a pair. For [`Direction::Undo`], undoes only those operations of the pair that are in doubt.
    fn tie(&mut self, key: &PairKey, direction: Direction, peer: Option<String>) {
        self.world.half_ended.remove(key);
        let half = self.world.ground.half_made().find(|(known, _)| *known == key);
        let half = half.map(|(_, half)| half.clone()).filter(|_| direction == Direction::Undo);
        match half {
            Some(HalfMade { undo, in_doubt }) if in_doubt < undo.len() => {
                let half = HalfMade { undo: undo[in_doubt..].to_vec(), in_doubt: 0 };
                self.world.ground.half_make(key, half, peer);
            }
            _ => self.world.ground.tie(key, direction, peer),
        }
    }

    /// Tells whether the engine would refuse a pair because of its source.
    ///
    /// The engine refuses a pair only if two conditions hold. First, an earlier step of the source has failed or was
    /// skipped. Second, the source or the target does not have its required state, or a value that the pair reads is
    /// missing.
    fn is_stuck(&self, key: &PairKey) -> bool {
        let ground = &self.world.ground;
        let lacks = || {
            self.desired
                .as_ref()
                .is_some_and(|it| Ground::has_peer(it, key) && ground.peer(it, key).is_none())
        };
        self.stuck.contains(&key.source) && (ground.check_tie(key, Direction::Create).is_err() || lacks())
    }

    /// Tells whether a step leaves out some of its sources, because it can't create their pairs.
    fn leaves_some_out(&self, work: &Work) -> bool {
        let Work::Relate(relate) = work else { return false };
        let Relate { direction, assembly, relationship, target, sources, side, .. } = &**relate;
        let mut sources = sources.iter().flat_map(|source| self.topology(*side).nodes(source));
        *direction == Direction::Create
            && sources.any(|source| {
                self.is_stuck(&PairKey {
                    assembly: assembly.clone(),
                    relationship: relationship.clone(),
                    source: source.name.clone(),
                    target: target.clone(),
                })
            })
    }

    fn note_stuck(&mut self, work: &Work) {
        if let Work::Transition { element, .. } = work {
            self.stuck.insert(element.clone());
        }
    }

    /// Tells whether a step creates a pair with an element that failed during this execution.
    fn meets_the_fallen(&self, work: &Work) -> bool {
        let (direction, keys) = self.keys(work);
        let has_fallen = |end: &ElementName| {
            let leaves = self.desired.as_ref().map(|desired| desired.leaves(end)).unwrap_or_default();
            leaves.iter().any(|leaf| self.fallen.contains(&leaf.name))
        };
        direction == Direction::Create
            && keys.iter().any(|key| has_fallen(&key.source) || has_fallen(&key.target))
    }

    /// Asserts that the source and the target have their required states when a step creates or ceases a pair. If the
    /// creation calls an operation of an element, also asserts that the values of this element are known.
    fn check_ends(&self, work: &Work) {
        let (direction, keys) = self.keys(work);
        for key in &keys {
            holds(self.world.ground.check_tie(key, direction));
        }
        let (Work::Relate(relate), Some(desired)) = (work, &self.desired) else { return };
        if direction != Direction::Create {
            return;
        }
        for (key, call) in keys.iter().flat_map(|key| relate.operations.iter().map(move |call| (key, call))) {
            let end = if call.end == End::Source { &key.source } else { &key.target };
            let called = desired.get(end).and_then(|end| end.operations.get(&call.operation));
            if let Some(called) = called.filter(|called| !self.stuck.contains(&called.element)) {
                holds(self.world.ground.value(desired, &called.element).map(drop));
            }
        }
    }

    fn end(&mut self, at: usize, well: bool) {
        match work(self.plan, at) {
            Work::Transition { element, from, to, calls, side } => {
                self.move_element(element, (*from, *to), *calls, *side, well);
                if !well {
                    self.stuck.insert(element.clone());
                }
                if self.world.ground.state(element) == State::Failed {
                    self.fallen.push(element.clone());
                }
            }
            work @ Work::Relate(_) => {
                if !self.meets_the_fallen(work) {
                    self.check_ends(work);
                }
                let (direction, keys) = self.keys(work);
                let some_are_left = self.leaves_some_out(work);
                let met = self.meets_the_fallen(work);
                for key in keys {
                    let peer = if met { None } else { self.peer(&key, direction) };
                    if well || some_are_left {
                        self.tie(&key, direction, peer);
                    } else if !met {
                        self.fail_to_tie(&key, direction, peer);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the value of the property `peer` for a new pair. Panics if the relationship declares this property, but
    /// the value is not known yet.
    fn peer(&self, key: &PairKey, direction: Direction) -> Option<String> {
        let desired = self.desired.as_ref().filter(|_| direction == Direction::Create)?;
        let peer = self.world.ground.peer(desired, key);
        assert_eq!(
            peer.is_some(),
            Ground::has_peer(desired, key),
            "{key:?} is made before its values are known"
        );
        peer
    }

    fn move_element(
        &mut self,
        element: &ElementName,
        (from, to): (State, State),
        calls: Transitions,
        side: Side,
        well: bool,
    ) {
        let version = self.world.versions.len().saturating_sub(1);
        let process = self.world.process;
        let failed = (!well).then(|| calls.iter().next().map_or(from, |call| call.on_failure(from)));
        let launch = calls.iter().find(|call| matches!(call, Transition::Create | Transition::Install));
        if let Some(launch) = launch {
            assert!(!self.world.debris.contains(element), "{launch} of {element} on what the last has left");
            let record = self.world.records.entry(element.clone()).or_default();
            let acted = !well && !self.luck.one_of(4);
            record.attempted = acted.then_some(launch);
            if acted && self.luck.one_of(2) {
                self.world.debris.insert(element.clone());
            }
        }
        if well && to == State::Absent && from == State::Failed && !calls.is_empty() {
            self.world.debris.remove(element);
        }
        if well && side == Side::Desired {
            let topology = self.desired.as_ref().expect("the step's version is there");
            // The value must be known at this time, even if this step does not apply it.
            let input = self.world.ground.value(topology, element).unwrap_or_else(|why| panic!("{why}"));
            let launches = to.rank() == Some(2) || calls.contains(Transition::Adopt);
            let record = self.world.records.entry(element.clone()).or_default();
            if from.rank() <= Some(1) {
                record.version = version;
            }
            if launches {
                (record.present, record.installed_by, record.configured_by) = (true, process, process);
                self.world.ground.launch(element, topology.get(element).expect("it is described"));
                self.world.ground.give(element, input);
            } else if calls.contains(Transition::Reconfigure) {
                (record.configured_by, record.version) = (process, version);
                self.world.ground.give(element, input);
                if self.luck.one_of(2) {
                    self.world.ground.republish(element);
                }
            }
        }
        let state = failed.unwrap_or(to);
        self.world.ground.set(element, state);
        if state == State::Absent {
            self.world.records.remove(element);
        }
    }
}

/// Fails the test if a check has found a violation.
#[track_caller]
fn holds(checked: Result<(), String>) {
    if let Err(wrong) = checked {
        panic!("{wrong}");
    }
}

fn step(plan: &Plan, at: usize) -> Step<'_, Work, Reason> {
    let number = u32::try_from(at + 1).expect("a small number");
    plan.step(StepNumber(number)).expect("it is there")
}

/// Returns the work of a running step, which is never a barrier.
fn work(plan: &Plan, at: usize) -> &Work {
    step(plan, at).task.work().expect("it is no barrier")
}

fn place(step: StepNumber) -> usize {
    usize::try_from(step.0).expect("a small number") - 1
}
