//! Tests of changes in batches: an observer counts the nodes that are down at each moment.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use windlass_lifecycle::testing::{Component, Ground, Luck, Spec, Tie, all_pairs, few, has_order, versions};
use windlass_lifecycle::{BatchSteps, Options, Plan, surge_nodes, surged};
use windlass_model::assembly::MaxUnavailable;
use windlass_model::record::PairKey;
use windlass_model::work::{Direction, Work};
use windlass_model::{ElementName, State, Topology};
use windlass_plan::StepNumber;

use super::world::World;
use super::{CASES, brought_up, goes, joins, plain, settles, to_and_fro};
use crate::intents::name;
use crate::support::assembly;

/// A watched group: the number of its nodes that are down at once must not exceed a maximum.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    nodes: Vec<ElementName>,
    pairs: Vec<PairKey>,
    max: usize,
    /// The watched exchange of nodes; none if the nodes stay.
    exchange: Option<Exchange>,
}

/// New nodes that replace old nodes. At each moment, enough of the old and new nodes together must work.
#[derive(Debug, Clone)]
struct Exchange {
    old: Vec<ElementName>,
    new: Vec<ElementName>,
    pairs: Vec<PairKey>,
    /// The minimum number of working nodes: old nodes that are Active, and new nodes that have their pairs.
    active: usize,
    /// The minimum number of created pairs.
    related: usize,
}

impl Watched {
    /// Watches the nodes of a group, and the pairs of sources and targets to which these nodes belong.
    fn of(topology: &Topology, group: &ElementName, max: usize) -> Self {
        let nodes: Vec<ElementName> = topology.children(group).map(|node| node.name.clone()).collect();
        let pairs = topology.relationships().iter().flat_map(|tie| all_pairs(topology, tie));
        let is_of_group = |key: &PairKey| nodes.contains(&key.source) || nodes.contains(&key.target);
        let pairs = pairs.filter(is_of_group).collect();
        Self { nodes, pairs, max, exchange: None }
    }

    /// Watches the exchange of all nodes of a group. A relationship pairs each node with another element. At each
    /// moment, at most `max` nodes may lack their pairs.
    fn exchange(old: &Topology, new: &Topology, group: &ElementName, max: usize) -> Self {
        let [a, b] = [old, new].map(|topology| Self::of(topology, group, max));
        let (active, related) = (a.nodes.len(), a.pairs.len() - max * a.pairs.len() / a.nodes.len());
        let pairs = [a.pairs, b.pairs].concat();
        let exchange = Some(Exchange { old: a.nodes, new: b.nodes, pairs, active, related });
        Self { nodes: Vec::new(), pairs: Vec::new(), max, exchange }
    }

    /// Watches a group with additional nodes. The number of working nodes must never fall below the size of the group
    /// without the additional nodes.
    fn surge(topology: &Topology, surged: &Topology, group: &ElementName) -> Self {
        let active = topology.children(group).count();
        let Self { nodes, pairs, .. } = Self::of(surged, group, 0);
        let exchange = Some(Exchange { old: Vec::new(), new: nodes, pairs, active, related: 0 });
        Self { nodes: Vec::new(), pairs: Vec::new(), max: 0, exchange }
    }

    /// Watches the nodes of several groups together, without their pairs.
    fn all(topology: &Topology, groups: &[ElementName], max: usize) -> Self {
        let nodes = groups.iter().flat_map(|group| topology.children(group));
        let nodes = nodes.map(|node| node.name.clone()).collect();
        Self { nodes, pairs: Vec::new(), max, exchange: None }
    }

    /// Asserts that not too many nodes are down while some steps run.
    ///
    /// A node is down if a part of it is not Active or is in a transition, or if a pair of it is missing.
    pub(super) fn check(&self, ground: &Ground, topology: &Topology, running: &[&Work]) {
        let is_down = |node: &ElementName| {
            let leaves = topology.leaves(node);
            let moves = |work: &&Work| match work {
                Work::Transition { element, .. } => leaves.iter().any(|leaf| leaf.name == *element),
                Work::Relate(relate) if relate.direction == Direction::Cease => {
                    let ends =
                        |key: &&PairKey| relate.target == key.target && relate.sources.contains(&key.source);
                    self.pairs.iter().filter(ends).any(|key| key.source == *node || key.target == *node)
                }
                _ => false,
            };
            let missing =
                |key: &&PairKey| (key.source == *node || key.target == *node) && !ground.is_made(key);
            let is_up = |end: &ElementName| {
                topology.leaves(end).iter().all(|leaf| ground.state(&leaf.name) == State::Active)
            };
            leaves.iter().any(|leaf| ground.state(&leaf.name) != State::Active)
                || running.iter().any(moves)
                || self.pairs.iter().any(|key| missing(&key) && is_up(&key.source) && is_up(&key.target))
        };
        let down: Vec<&ElementName> = self.nodes.iter().filter(|node| is_down(node)).collect();
        assert!(down.len() <= self.max, "{down:?} are down at once");
        if let Some(Exchange { old, new, pairs, active, related }) = &self.exchange {
            let works = |node: &&ElementName| {
                let moves =
                    |work: &&Work| matches!(work, Work::Transition { element, .. } if element == *node);
                ground.state(node) == State::Active && !running.iter().any(moves)
            };
            let has_pairs = |node: &&ElementName| {
                let mut own = pairs.iter().filter(|key| key.source == **node || key.target == **node);
                own.all(|key| ground.is_made(key))
            };
            let working =
                old.iter().filter(works).count() + new.iter().filter(works).filter(has_pairs).count();
            assert!(working >= *active, "{working} nodes work");
            let is_ceased = |key: &PairKey, work: &&Work| match work {
                Work::Relate(relate) => {
                    relate.direction == Direction::Cease
                        && relate.target == key.target
                        && relate.sources.contains(&key.source)
                }
                _ => false,
            };
            let is_there =
                |key: &&PairKey| ground.is_made(key) && !running.iter().any(|work| is_ceased(key, work));
            let there = pairs.iter().filter(is_there).count();
            assert!(there >= *related, "{there} pairs");
        }
    }
}

/// Returns a service with a group of nodes between a balancer and a database.
fn service(nodes: u32, value: &str, modifier: &str) -> Topology {
    updated_service(nodes, value, modifier, "{}")
}

/// Returns a service with rules for changes of its group.
fn updated_service(nodes: u32, value: &str, modifier: &str, update: &str) -> Topology {
    let tie = |name: &str, source: &str, target: &str| {
        format!(
            "  {name}:
    source-capabilities: [{source}.cap]
    target-requirements: [{target}.req]
    source-state: Active
    target-state: Active
    target-state-modifier: {modifier}
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
"
        )
    };
    assembly(
        &[
            ("web", "[Install, Configure, Start, Stop, Uninstall]"),
            ("one", "[Install, Start, Stop, Uninstall]"),
        ],
        &format!(
            "composition:
  db: {{type: resource::one::1.0, properties: {{in: {{value: x}}}}}}
  web: {{type: resource::web::1.0, quantity: {nodes}, update: {update}, properties: {{in: {{value: {value}}}}}}}
  lb: {{type: resource::one::1.0, properties: {{in: {{value: x}}}}}}
relationships:
{}{}",
            tie("reads", "db", "web"),
            tie("serves", "web", "lb"),
        ),
    )
}

/// Returns a service whose nodes have keys.
fn keyed_service(keys: &[String]) -> Topology {
    let hosts = keys.iter().map(|key| format!("{{name: {key}}}")).collect::<Vec<_>>().join(", ");
    let tie = |name: &str, source: &str, target: &str| {
        format!(
            "  {name}:
    source-capabilities: [{source}.cap]
    target-requirements: [{target}.req]
    source-state: Active
    target-state: Active
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
"
        )
    };
    let (reads, serves) = (tie("reads", "db", "web"), tie("serves", "web", "lb"));
    assembly(
        &[("web", "[Install, Start, Stop, Uninstall]"), ("one", "[Install, Start, Stop, Uninstall]")],
        &format!(
            "properties:
  hosts: {{type: list, default: [{hosts}]}}
composition:
  db: {{type: resource::one::1.0, properties: {{in: {{value: x}}}}}}
  web: {{type: resource::web::1.0, cluster: {{each: '${{hosts}}', key: name}}, properties: {{in: {{value: x}}}}}}
  lb: {{type: resource::one::1.0, properties: {{in: {{value: x}}}}}}
relationships:
{reads}{serves}"
        ),
    )
}

/// Returns `count` keys, each of a letter and a number.
fn keys(letter: char, count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("{letter}{number}")).collect()
}

/// Returns an assembly with two groups that are related to each other.
fn two_groups(value: &str) -> Topology {
    assembly(
        &[("web", "[Install, Configure, Start, Stop, Uninstall]")],
        &format!(
            "composition:
  back: {{type: resource::web::1.0, quantity: 3, properties: {{in: {{value: {value}}}}}}}
  front: {{type: resource::web::1.0, quantity: 2, properties: {{in: {{value: {value}}}}}}}
relationships:
  asks:
    source-capabilities: [back.cap]
    target-requirements: [front.req]
    source-state: Active
    target-state: Active
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
"
        ),
    )
}

fn rolling(max: &str) -> Options {
    Options { max_unavailable: Some(max.parse().expect("valid")), ..Options::default() }
}

/// Returns the nodes of each batch.
fn batches(world: &World, topology: &Topology, options: &Options) -> Vec<Vec<String>> {
    let planned = world.plan(Some(topology), options).expect("there is a plan");
    let groups = planned.diff.batches.iter().flat_map(|group| &group.nodes);
    groups.map(|batch| batch.iter().map(|node| node.local().to_owned()).collect()).collect()
}

#[test]
fn batches_have_as_many_nodes_as_may_be_down() {
    let (old, new) = (service(5, "a", "pre"), service(5, "b", "pre"));
    let world = brought_up(&old, 1);
    let sizes =
        |max: &str| -> Vec<usize> { batches(&world, &new, &rolling(max)).iter().map(Vec::len).collect() };
    assert_eq!(sizes("1"), [1; 5]);
    assert_eq!(sizes("2"), [2, 2, 1]);
    assert_eq!(sizes("40%"), [2, 2, 1]);
    assert_eq!(sizes("10%"), [1; 5]);
    assert_eq!((sizes("all"), sizes("5")), (vec![], vec![]));
    // One node at a time is the default for groups that others depend on.
    let default = Options { max_unavailable: None, ..Options::default() };
    assert_eq!(batches(&world, &new, &default).len(), 5);
}

#[test]
fn first_installation_scaling_and_removal_do_not_roll() {
    let (five, seven) = (service(5, "a", "pre"), service(7, "a", "pre"));
    let none: Vec<Vec<String>> = Vec::new();
    assert_eq!(batches(&World::default(), &five, &rolling("1")), none);
    assert_eq!(batches(&brought_up(&five, 1), &seven, &rolling("1")), none);
    assert_eq!(batches(&brought_up(&seven, 1), &five, &rolling("1")), none);
    // A new node belongs to no batch.
    let both = batches(&brought_up(&five, 1), &service(6, "b", "pre"), &rolling("1"));
    assert_eq!(both.concat(), ["web__1", "web__2", "web__3", "web__4", "web__5"]);
}

/// A change is killed in its second batch. The next plan must begin with the batch of the node that is down. The next
/// plan must have no batch for the node that has already changed.
#[test]
fn a_killed_change_resumes_at_its_batch() {
    let (old, new) = (service(4, "a", "pre"), service(4, "b", "pre"));
    let mut world = brought_up(&old, 1);
    // Each node takes nine steps and a barrier, so the cut is in the second batch.
    world.go(Some(&new), &rolling("1"), Luck { cut: Some(14), ..Luck::GOOD });
    assert_eq!(batches(&world, &new, &rolling("1")).concat(), ["web__2", "web__3", "web__4"]);
    settles(&mut world, &new);
}

/// Sets the state of a node to Inactive, which is the state after a failed start.
fn break_node(world: &mut World, node: &str) {
    world.ground.set(&name(node), State::Inactive);
}

/// Nodes that are down are in the first batch, and count towards the number of nodes that may be down.
#[test]
fn nodes_that_are_down_are_in_the_first_batch() {
    let (old, new) = (service(5, "a", "pre"), service(5, "b", "pre"));
    let mut world = brought_up(&old, 1);
    break_node(&mut world, "t__web__4");
    let one = |batch: &str| vec![batch.to_owned()];
    let by_one = batches(&world, &new, &rolling("1"));
    assert_eq!(by_one, ["web__4", "web__1", "web__2", "web__3", "web__5"].map(one));
    let by_two = batches(&world, &new, &rolling("2"));
    assert_eq!(
        by_two.iter().map(|batch| batch.join(" ")).collect::<Vec<_>>(),
        ["web__4 web__1", "web__2 web__3", "web__5"]
    );
    break_node(&mut world, "t__web__2");
    assert_eq!(batches(&world, &new, &rolling("1"))[0], ["web__2", "web__4"]);
    settles(&mut world, &new);
}

/// A repaired batch is followed by the pause too.
#[test]
fn a_pause_follows_the_repair_of_a_batch() {
    let rules = "{pause: 10s}";
    let (old, new) = (updated_service(3, "a", "pre", rules), updated_service(3, "b", "pre", rules));
    let mut world = brought_up(&old, 1);
    let plan = world.plan(Some(&new), &rolling("1")).expect("there is a plan").plan;
    let pauses = |plan: &Plan| -> Vec<String> {
        let pauses = plan.work().filter(|(_, work)| matches!(work, Work::Pause { .. }));
        pauses.map(|(_, work)| work.to_string()).collect()
    };
    assert_eq!(
        pauses(&plan),
        ["web pause of 10s before batch 2 of 3", "web pause of 10s before batch 3 of 3"]
    );
    break_node(&mut world, "t__web__1");
    let plan = world.plan(Some(&new), &rolling("1")).expect("there is a plan").plan;
    assert_eq!(
        pauses(&plan),
        ["web pause of 10s before batch 2 of 3", "web pause of 10s before batch 3 of 3"]
    );
    // The node works again, and only its pairs are missing.
    let mut world = brought_up(&new, 1);
    let again = Options { replace: [name("t__web__2"), name("t__web__3")].into(), ..rolling("1") };
    let pair = world.ground.pairs().find(|key| key.source == name("t__web__1")).cloned();
    world.ground.tie(&pair.expect("it is related"), Direction::Cease, None);
    let plan = world.plan(Some(&new), &again).expect("there is a plan").plan;
    assert_eq!(
        pauses(&plan),
        ["web pause of 10s before batch 1 of 2", "web pause of 10s before batch 2 of 2"]
    );
}

#[test]
fn new_nodes_replace_removed_ones_in_batches() {
    let [old, new] = [keyed_service(&keys('a', 3)), keyed_service(&keys('b', 3))];
    let world = brought_up(&old, 1);
    let found = batches(&world, &new, &rolling("1"));
    let expected = (1..4).map(|at| vec![format!("web__a{at}"), format!("web__b{at}")]).collect::<Vec<_>>();
    assert_eq!(found, expected);
    // Scaling has no batches.
    for keys in [keys('a', 1), keys('a', 5)] {
        assert_eq!(batches(&world, &keyed_service(&keys), &rolling("1")), Vec::<Vec<String>>::new());
    }
}

/// Nodes that read an output of a changed part go down together with this part, and the plan lists them.
#[test]
fn nodes_that_go_down_with_a_producer_are_named() {
    let service = |value: &str| {
        assembly(
            &[("web", "[Install, Start, Stop, Uninstall]")],
            &format!(
                "composition:
  db: {{type: resource::web::1.0, properties: {{in: {{value: {value}}}}}}}
  web: {{type: resource::web::1.0, quantity: 3, properties: {{in: {{value: '${{db.out}}'}}}}}}
  lb: {{type: resource::web::1.0, properties: {{in: {{value: x}}}}}}
relationships:
  serves:
    source-capabilities: [web.cap]
    target-requirements: [lb.req]
    source-state: Active
    target-state: Active
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
"
            ),
        )
    };
    let (old, new) = (service("a"), service("b"));
    let planned = brought_up(&old, 1).plan(Some(&new), &rolling("1")).expect("there is a plan");
    let notes: Vec<String> = planned.diff.notes().collect();
    assert_eq!(notes, ["web changes 3 nodes at once: they read outputs of `db`"]);
}

/// The size of a plan with batches is linear in the number of nodes, and hardly larger than without batches.
#[test]
fn a_rolling_plan_is_linear() {
    let size = |nodes: u32, max: &str| {
        let (old, new) = (service(nodes, "a", "pre"), service(nodes, "b", "pre"));
        let world = brought_up(&old, 1);
        let plan = world.plan(Some(&new), &rolling(max)).expect("there is a plan").plan;
        let waits: usize = plan.steps().map(|step| step.waits().len()).sum();
        (plan.steps().len(), waits)
    };
    let [(few, few_waits), (more, more_waits), (most, most_waits)] =
        [10, 20, 30].map(|nodes| size(nodes, "1"));
    assert_eq!((more - few, more_waits - few_waits), (most - more, most_waits - more_waits));
    let (at_once, at_once_waits) = size(30, "all");
    assert!(
        10 * most <= 15 * at_once && 10 * most_waits <= 15 * at_once_waits,
        "{most} {most_waits} / {at_once} {at_once_waits}"
    );
}

/// Two related groups change one after the other. At no time is more than one node of the two groups down.
#[test]
fn related_groups_roll_one_after_the_other() {
    let (old, new) = (two_groups("a"), two_groups("b"));
    for seed in 0..20 {
        let mut world = brought_up(&old, 1);
        world.watched = Some(Watched::all(&new, &["t__back", "t__front"].map(name), 1));
        assert!(world.go(Some(&new), &rolling("1"), Luck { seed, ..Luck::GOOD }));
        settles(&mut world, &new);
        goes(&mut world);
    }
}

/// Simulates the execution of a plan, one step after another. If several steps may begin, the step with the lowest
/// number is next. Returns the batches in progress during each of the first `ran` steps that do work. If consecutive
/// entries are equal, returns only one of them.
fn progress(plan: &Plan, ran: usize) -> Vec<String> {
    let batches = BatchSteps::of(plan);
    let (mut done, mut works) = (BTreeSet::new(), Vec::new());
    let next = |done: &BTreeSet<StepNumber>| {
        let may_begin = |number: &StepNumber| {
            let step = plan.step(*number).expect("it is a step of the plan");
            !done.contains(number) && step.waits().all(|wait| done.contains(&wait.on))
        };
        plan.steps().map(|step| step.number).find(may_begin)
    };
    while let Some(number) = next(&done) {
        done.insert(number);
        works.extend(plan.step(number).and_then(|step| step.task.work()).map(|_| number));
    }
    let after = |ran: usize| {
        let begun = works[..=ran].iter().map(|step| (*step, *step != works[ran]));
        batches.in_progress(plan, begun)
    };
    let mut seen: Vec<String> = (0..ran)
        .map(|ran| after(ran).iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        .collect();
    seen.dedup();
    seen
}

#[test]
fn a_plan_tells_which_batch_is_in_progress() {
    let rules = "{pause: 10s}";
    let (old, new) = (updated_service(3, "a", "pre", rules), updated_service(3, "b", "pre", rules));
    let plan = brought_up(&old, 1).plan(Some(&new), &rolling("1")).expect("there is a plan").plan;
    let pauses: Vec<String> = plan
        .work()
        .filter(|(_, work)| matches!(work, Work::Pause { .. }))
        .map(|(_, work)| work.to_string())
        .collect();
    assert_eq!(pauses, ["web pause of 10s before batch 2 of 3", "web pause of 10s before batch 3 of 3"]);
    let seen = progress(&plan, plan.work().count());
    let batch = |number: u32| format!("batch {number} of 3 of web");
    assert_eq!(seen, [batch(1), String::new(), batch(2), String::new(), batch(3)]);
    // A change in a single batch has no pause, and neither has a change of all nodes at once.
    for max in ["3", "all"] {
        let plan = brought_up(&old, 1).plan(Some(&new), &rolling(max)).expect("there is a plan").plan;
        assert!(plan.work().all(|(_, work)| !matches!(work, Work::Pause { .. })));
    }
}

/// A case that random tests found: the relationship `r1` connects a part with a group. The part is re-installed, and
/// the group changes in two batches.
///
/// The new relationship `r0` connects the same part and group. Because of its modifier `pre`, `r0` must exist with all
/// nodes before the part is installed again. So the part is missing until the last batch. `r1` requires an installed
/// part, so the first batch can't re-create `r1`. windlass must remove `r1` before the first batch, and create `r1`
/// again after the last batch.
#[test]
fn a_relationship_that_no_batch_can_create_is_suspended() {
    let version = |reads, kind, turns: Option<Tie>| {
        let reader = Component { reads, ..plain(0, 1, 0, 0) };
        let components = vec![reads.map(|_| plain(0, 1, 0, 0)), Some(reader), Some(plain(3, 2, 0, kind))];
        let held = Some(joins(5, 125, (2, 2), (false, false), 1));
        Spec { components, ties: vec![turns, held] }.topology()
    };
    let old = version(Some(0), 2, None);
    let new = version(None, 1, Some(joins(0, 0, (2, 2), (true, false), 1)));
    let mut world = brought_up(&old, 1);
    let planned = world.plan(Some(&new), &rolling("1")).expect("there is a plan");
    let notes: Vec<String> = planned.diff.notes().collect();
    assert_eq!(
        notes,
        [
            "s2 changes in 2 batches of at most 1 node",
            "r1 is ceased before the first batch and created again after the last one"
        ]
    );
    assert!(world.go(Some(&new), &rolling("1"), Luck::GOOD));
    settles(&mut world, &new);
    goes(&mut world);
}

/// A case that random tests found: a new pair outside of batches reads the output of a node that is re-created.
///
/// The target has the modifier `pre`, so windlass must create the pair before the target is installed. But windlass
/// must not create the pair before the node has published the output again.
#[test]
fn a_new_pair_waits_for_a_rolling_producer() {
    let version = |kind, joined: Option<Tie>| {
        let reader = joined.as_ref().map(|_| Component { reads: Some(0), ..plain(0, 1, 0, 0) });
        let components = vec![Some(plain(3, 2, 0, kind)), reader, Some(plain(0, 1, 0, kind))];
        Spec { components, ties: vec![joined] }.topology()
    };
    let joined = Tie { reads: 1, ..joins(1, 1, (2, 2), (true, true), 1) };
    let (old, new) = (version(0, None), version(1, Some(joined)));
    for seed in 0..20 {
        let mut world = brought_up(&old, seed);
        assert!(world.go(Some(&new), &rolling("1"), Luck { seed, ..Luck::GOOD }));
        settles(&mut world, &new);
        goes(&mut world);
    }
}

/// A case that random tests found: an assembly loses a part. The assembly forms a pair with each node of a group, and
/// the nodes change in batches. windlass must cease each of these pairs only once in a batch.
#[test]
fn pairs_of_an_assembly_that_loses_a_part_are_ceased_once_a_turn() {
    let version = |nodes, is_old: bool| {
        let components = vec![
            Some(plain(4, nodes, 0, 2)),
            is_old.then(|| plain(4, 2, 0, 0)),
            (!is_old).then(|| plain(0, 1, 0, 0)),
            Some(Component { reads: Some(31), ..plain(3, 2, 0, 0) }),
            Some(plain(0, 1, 0, 0)),
        ];
        Spec { components, ties: vec![Some(joins(44, 169, (2, 2), (false, true), 1))] }.topology()
    };
    let (old, new) = (version(2, true), version(1, false));
    for seed in 0..20 {
        let mut world = brought_up(&old, seed);
        assert!(world.go(Some(&new), &rolling("1"), Luck { seed, ..Luck::GOOD }));
        settles(&mut world, &new);
        goes(&mut world);
    }
}

/// A case that random tests found: a relationship calls an operation of a node. The node belongs to a later batch, and
/// reads a new output. windlass must call the operation only after the output is known.
#[test]
fn the_values_of_called_nodes_are_known() {
    let version = |value, is_old: bool| {
        let group = Component { reads: Some(0), ..plain(5, 1, 0, 0) };
        let components = vec![
            Some(plain(0, 1, value, 0)),
            Some(if is_old { group } else { plain(0, 1, 0, 0) }),
            Some(Component { reads: Some(89), ..plain(3, 2, 0, 0) }),
            is_old.then(|| plain(0, 1, 0, 0)),
            Some(plain(0, 1, 0, 0)),
        ];
        Spec { components, ties: vec![Some(joins(44, 229, (2, 3), (false, false), 1))] }.topology()
    };
    let (old, new) = (version(0, true), version(1, false));
    for seed in 0..20 {
        let mut world = brought_up(&old, seed);
        for desired in [&new, &old] {
            assert!(world.go(Some(desired), &rolling("1"), Luck { seed, ..Luck::GOOD }));
            settles(&mut world, desired);
        }
        goes(&mut world);
    }
}

/// A case that random tests found: a group with `pre` is the source of a new relationship. To create a pair, the
/// relationship calls an operation of its target. The target reads a new output of the same group. Because of `pre`,
/// the operation must be called before the source is ready. Because of the output, the source must be ready before the
/// operation is called. No order of the batches meets both requirements.
#[test]
fn the_values_of_called_nodes_are_known_if_batches_contradict() {
    let group = |kind, volatile| Some(Component { reads: Some(0), volatile, ..plain(5, 2, 0, kind) });
    let version = |producer, tie| {
        let components = vec![producer, group(0, false), group(2, true)];
        Spec { components, ties: vec![tie] }.topology()
    };
    let old = version(Some(plain(0, 1, 0, 0)), None);
    let new = version(None, Some(joins(0, 0, (2, 2), (true, false), 1)));
    let mut world = brought_up(&old, 0);
    for desired in [&new, &old] {
        assert!(world.go(Some(desired), &rolling("1"), Luck::GOOD));
        settles(&mut world, desired);
    }
    goes(&mut world);
}

proptest! {
    #![proptest_config(few(CASES))]

    /// Despite any number of failures and kills, not too many nodes are down, and in the end all nodes have
    /// changed.
    #[test]
    fn never_more_nodes_are_down_than_may_be(
        nodes in 2..6_u32,
        max in 1..4_usize,
        modifier in prop_oneof![Just("pre"), Just("post")],
        replaces in any::<bool>(),
        pause in prop_oneof![Just("{}"), Just("{pause: 10s}")],
        lucks in proptest::collection::vec(
            (any::<u64>(), prop_oneof![Just(0), 3..12_u64], proptest::option::of(0..60_usize)), 1..4),
    ) {
        let old = updated_service(nodes, "a", modifier, pause);
        let new = if replaces { old.clone() } else { updated_service(nodes, "b", modifier, pause) };
        let mut world = brought_up(&old, 1);
        world.watched = Some(Watched::of(&new, &name("t__web"), max));
        let mut options = rolling(&max.to_string());
        if replaces {
            options.replace = [name("t__web")].into();
        }
        for (seed, fails, cut) in lucks {
            world.go(Some(&new), &options, Luck { seed, fails, cut });
            options.replace = BTreeSet::new();
        }
        prop_assert!(world.go(Some(&new), &options, Luck::GOOD));
        settles(&mut world, &new);
        goes(&mut world);
    }

    /// New nodes replace all nodes of a group. Despite any number of failures and kills, enough nodes must work at each
    /// moment.
    #[test]
    fn enough_nodes_work_while_new_ones_replace_them(
        nodes in 2..6_usize,
        max in 1..3_usize,
        lucks in proptest::collection::vec(
            (any::<u64>(), prop_oneof![Just(0), 3..12_u64], proptest::option::of(0..60_usize)), 1..4),
    ) {
        let (old, new) = (keyed_service(&keys('a', nodes)), keyed_service(&keys('b', nodes)));
        let mut world = brought_up(&old, 1);
        world.watched = Some(Watched::exchange(&old, &new, &name("t__web"), max));
        for (seed, fails, cut) in lucks {
            world.go(Some(&new), &rolling(&max.to_string()), Luck { seed, fails, cut });
        }
        prop_assert!(world.go(Some(&new), &rolling(&max.to_string()), Luck::GOOD));
        world.watched = None;
        settles(&mut world, &new);
        goes(&mut world);
    }

    /// During a change, additional nodes replace the nodes that are down. Despite failures and kills, enough nodes must
    /// work at each moment. In the end, windlass must remove the additional nodes.
    #[test]
    fn additional_nodes_replace_those_that_are_down(
        nodes in 2..5_u32,
        max in 1..3_u32,
        lucks in proptest::collection::vec(
            (any::<u64>(), prop_oneof![Just(0), 3..12_u64], proptest::option::of(0..60_usize)), 1..4),
    ) {
        let rules = format!("{{max-unavailable: {max}, max-surge: {max}}}");
        let [old, new] = ["a", "b"].map(|value| updated_service(nodes, value, "post", &rules));
        let group = name("t__web");
        let mut world = brought_up(&old, 1);
        world.watched = Some(Watched::surge(&new, &surged(&new, &[(group.clone(), max)].into()), &group));
        let mut open = BTreeMap::new();
        let go = |world: &mut World, open: &mut BTreeMap<_, _>, luck| {
            let mut options = Options { max_unavailable: None, open_surge: open.clone(), ..Options::default() };
            let planned = world.plan(Some(&new), &options).expect("there is a plan");
            let desired = surged(&new, &planned.surge);
            options.surge = surge_nodes(&desired, &planned.surge);
            *open = planned.surge;
            world.go(Some(&desired), &options, luck)
        };
        for (seed, fails, cut) in lucks {
            go(&mut world, &mut open, Luck { seed, fails, cut });
        }
        prop_assert!(go(&mut world, &mut open, Luck::GOOD));
        prop_assert!(go(&mut world, &mut open, Luck::GOOD) && open.is_empty());
        world.watched = None;
        settles(&mut world, &new);
        goes(&mut world);
    }

    /// An upgrade that is possible without batches is also possible with batches.
    #[test]
    fn each_change_that_has_a_plan_has_one_with_batches(
        (a, b) in versions(),
        seed in any::<u64>(),
        fails in prop_oneof![Just(0), 2..8_u64],
        cut in proptest::option::of(0..60_usize),
        max in prop_oneof![2 => Just("1"), 1 => Just("2")],
    ) {
        let (a, b) = (a.topology(), b.topology());
        prop_assume!(has_order(&a) && has_order(&b));
        let mut world = brought_up(&a, seed);
        for desired in [&b, &a] {
            prop_assert!(world.plan(Some(desired), &Options::default()).is_ok());
            let planned = world.plan(Some(desired), &rolling(max));
            prop_assert!(planned.is_ok(), "{}", planned.err().map(|error| error.to_string()).unwrap_or_default());
            world.go(Some(desired), &rolling(max), Luck { seed, fails, cut });
        }
    }

    /// All rules of plans hold for random assemblies whose groups change in batches.
    #[test]
    fn a_rolling_upgrade_and_its_way_back(
        (a, b) in versions(),
        seed in any::<u64>(),
        fails in prop_oneof![Just(0), 2..8_u64],
        cut in proptest::option::of(0..60_usize),
    ) {
        prop_assume!(has_order(&a.topology()) && has_order(&b.topology()));
        let options = Options { max_unavailable: Some(MaxUnavailable::ONE), ..Options::default() };
        to_and_fro(&a, &b, &options, Luck { seed, fails, cut });
    }
}
