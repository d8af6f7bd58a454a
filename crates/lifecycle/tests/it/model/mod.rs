//! Tests with random assemblies. An interpreter executes their plans. Steps may fail, and the process may be killed
//! before the end of the plan.

mod limited;
mod rolling;
mod run;
mod world;

use proptest::prelude::*;
use windlass_lifecycle::Options;
use windlass_lifecycle::testing::{Component, Ground, Luck, Spec, Tie, few, has_order, versions};
use windlass_model::assembly::Element;
use windlass_model::{ElementName, State, Topology};

use self::world::World;

/// The number of random cases of each test in CI.
const CASES: u32 = 80;

fn brought_up(topology: &Topology, seed: u64) -> World {
    let mut world = World::default();
    assert!(world.go(Some(topology), &Options::default(), Luck { seed, ..Luck::GOOD }));
    assert_eq!(world.ground.seen(topology), Ground::expected(topology));
    world
}

fn settles(world: &mut World, topology: &Topology) {
    assert!(world.go(Some(topology), &Options::default(), Luck::GOOD));
    assert_eq!(world.ground.seen(topology), Ground::expected(topology));
    let again = world.plan(Some(topology), &Options::default()).expect("there is a plan");
    assert!(again.plan.is_empty() && again.diff.is_empty(), "{}", again.diff);
}

fn goes(world: &mut World) {
    assert!(world.go(None, &Options::default(), Luck::GOOD));
    let tied = world.ground.pairs().count() + world.ground.half_made().count();
    assert_eq!((world.ground.things().len(), tied), (0, 0));
    assert!(world.debris.is_empty(), "{:?}", world.debris);
}

/// Upgrades from one version to another and back, first with failures and at last with success.
fn to_and_fro(a: &Spec, b: &Spec, options: &Options, luck: Luck) {
    let (a, b) = (a.topology(), b.topology());
    let mut world = brought_up(&a, luck.seed);
    world.go(Some(&b), options, luck);
    settles(&mut world, &b);
    world.go(Some(&a), options, luck);
    // This upgrade interrupts the rollback.
    world.go(Some(&b), options, luck);
    settles(&mut world, &a);
    goes(&mut world);
}

/// Creates a component that reads nothing.
fn plain(shape: u8, nodes: u8, value: u8, kind: u8) -> Component {
    let inner = joins(0, 0, (2, 2), (false, false), 0);
    Component { shape, nodes, value, kind, volatile: false, reads: None, inner }
}

fn joins(source: u8, target: u8, states: (u8, u8), modifiers: (bool, bool), operations: u8) -> Tie {
    Tie { source, target, states, modifiers, operations, reads: 0 }
}

/// A case that random tests found; the commit that added it contains the fix.
#[test]
fn regression_a_relationship_turned_round_twice() {
    let tie =
        |source, target, modifiers, operations| Some(joins(source, target, (2, 2), modifiers, operations));
    let a = Spec {
        components: vec![
            Some(plain(0, 1, 0, 0)),
            Some(plain(3, 1, 0, 2)),
            Some(plain(0, 1, 0, 0)),
            Some(plain(4, 2, 0, 1)),
            Some(plain(0, 1, 0, 0)),
        ],
        ties: vec![
            tie(44, 14, (false, true), 1),
            tie(0, 20, (false, true), 1),
            tie(43, 2, (false, false), 1),
        ],
    };
    let b = Spec {
        components: vec![
            Some(plain(0, 1, 0, 0)),
            Some(plain(0, 1, 0, 0)),
            Some(plain(0, 1, 0, 0)),
            Some(plain(4, 1, 1, 0)),
            Some(plain(0, 1, 0, 0)),
        ],
        ties: vec![tie(0, 0, (false, false), 0), None, tie(43, 2, (false, false), 1)],
    };
    to_and_fro(&a, &b, &Options::default(), Luck { seed: 1_907_708_846_037_879_591, fails: 2, cut: None });
}

/// A case that random tests found: an upgrade adds a part to an assembly, but the process is killed before the part
/// exists.
///
/// In the first version, a relationship with the assembly was created. After the interrupted upgrade, a third version
/// removes the relationship and the new part. windlass must still cease the relationship.
#[test]
fn regression_a_relationship_with_an_incomplete_assembly() {
    let tie = Some(joins(0, 0, (4, 4), (false, false), 1));
    let spec = |parts, ties| {
        let components = vec![Some(plain(0, 1, 0, 0)), Some(plain(4, parts, 0, 0))];
        Spec { components, ties }.topology()
    };
    let (one, two, loose) = (spec(1, vec![tie]), spec(2, vec![tie]), spec(1, vec![None]));
    let mut world = brought_up(&one, 1);
    world.go(Some(&two), &Options::default(), Luck { cut: Some(0), ..Luck::GOOD });
    settles(&mut world, &loose);
    goes(&mut world);
}

/// A case that random tests found: a new version of a relationship has no operations, and the step that ceases the old
/// relationship fails.
///
/// When this step fails, both ends of the relationship already have the values of the new version. windlass must still
/// cease the old relationship.
#[test]
fn regression_a_relationship_whose_operations_were_removed() {
    let nested = |kind, operations, value| {
        let inner = joins(0, 0, (2, 2), (false, false), operations);
        let components = vec![Some(Component { volatile: true, inner, ..plain(6, 1, value, kind) })];
        Spec { components, ties: Vec::new() }.topology()
    };
    let (a, b) = (nested(2, 1, 0), nested(2, 0, 1));
    for seed in 0..50 {
        let mut world = brought_up(&a, seed);
        world.go(Some(&b), &Options::default(), Luck { seed, fails: 3, cut: None });
        settles(&mut world, &b);
        goes(&mut world);
    }
}

/// Executes a plan whose target is one part of a new version. Returns `false` if the new version has no parts.
fn touches_one(a: &Spec, b: &Spec, which: u8, luck: Luck, replaces: bool) -> bool {
    let (a, b) = (a.topology(), b.topology());
    let mut world = World::default();
    world.go(Some(&a), &Options::default(), luck);
    let parts: Vec<&Element> = b.elements().iter().filter(|part| part.parent.is_some()).collect();
    let Some(one) = parts.get(usize::from(which) % parts.len().max(1)).map(|part| part.name.clone()) else {
        return false;
    };
    let replace = if replaces { [one.clone()].into() } else { [].into() };
    let options = Options { target: [one.clone()].into(), replace, ..Options::default() };
    let planned = world.plan(Some(&b), &options).expect("there is a plan");
    world.check_limited(&planned, &b, &one);
    let whole = world.clone();
    assert!(world.go(Some(&b), &options, Luck { seed: luck.seed, ..Luck::GOOD }));
    world.check_undone(&planned, &b);
    settles(&mut world, &b);
    // The same plan is executed again with failures.
    let mut world = whole;
    world.go(Some(&b), &options, Luck { fails: 3, ..luck });
    settles(&mut world, &b);
    goes(&mut world);
    true
}

/// A case that random tests found: a new relationship reads an output of a new part that is not in the plan.
#[test]
fn regression_a_relationship_whose_value_is_not_in_the_plan() {
    let reader = || Some(Component { reads: Some(0), ..plain(0, 1, 0, 0) });
    let a = Spec { components: vec![None, reader(), None], ties: vec![None, None] };
    let b = Spec {
        components: vec![Some(plain(3, 1, 0, 0)), reader(), Some(plain(0, 1, 0, 0))],
        ties: vec![
            Some(Tie { reads: 1, ..joins(137, 155, (2, 2), (false, false), 1) }),
            Some(joins(19, 155, (2, 2), (false, true), 0)),
        ],
    };
    assert!(touches_one(&a, &b, 127, Luck::GOOD, false));
}

proptest! {
    #![proptest_config(few(CASES))]

    /// A second `up` has no steps, and `down` leaves nothing.
    #[test]
    fn down_after_up_leaves_no_element((a, _) in versions(), seed in any::<u64>()) {
        let topology = a.topology();
        prop_assume!(has_order(&topology));
        let mut world = brought_up(&topology, seed);
        settles(&mut world, &topology);
        goes(&mut world);
    }

    /// Steps fail, or processes are killed. The next process without failures must reach the same state as if nothing
    /// had failed before.
    #[test]
    fn any_failure_can_be_repaired(
        (a, _) in versions(),
        seed in any::<u64>(),
        fails in 2..8_u64,
        cut in proptest::option::of(0..40_usize),
    ) {
        let topology = a.topology();
        prop_assume!(has_order(&topology));
        let mut world = World::default();
        for round in 0..3 {
            let luck = Luck { seed: seed.wrapping_add(round), fails, cut };
            world.go(Some(&topology), &Options::default(), luck);
        }
        settles(&mut world, &topology);
        world.go(None, &Options::default(), Luck { seed, fails, cut });
        goes(&mut world);
    }

    /// An upgrade and its rollback, each interrupted or not, end in their desired states.
    #[test]
    fn an_upgrade_and_its_way_back(
        (a, b) in versions(),
        seed in any::<u64>(),
        fails in prop_oneof![Just(0), 2..8_u64],
        cut in proptest::option::of(0..60_usize),
    ) {
        prop_assume!(has_order(&a.topology()) && has_order(&b.topology()));
        to_and_fro(&a, &b, &Options::default(), Luck { seed, fails, cut });
    }

    /// A plan with a target has steps only for the target and for missing parts that the target needs. All other
    /// changes are in the list `undone`: the changes that the plan does not make.
    #[test]
    fn a_target_touches_what_it_needs_and_nothing_else(
        (a, b) in versions(),
        seed in any::<u64>(),
        which in any::<u8>(),
        cut in proptest::option::of(0..60_usize),
        fails in prop_oneof![Just(0), 2..8_u64],
        replaces in any::<bool>(),
    ) {
        prop_assume!(has_order(&a.topology()) && has_order(&b.topology()));
        prop_assume!(touches_one(&a, &b, which, Luck { seed, fails, cut }, replaces));
    }

    /// Each goal is reachable from each state. Replacements and heals end in the state where they began.
    #[test]
    fn goals_heals_and_replacements(
        (a, _) in versions(),
        seed in any::<u64>(),
        goals in proptest::collection::vec(2..=4_u8, 1..4),
        which in any::<u8>(),
        cut in proptest::option::of(0..20_usize),
    ) {
        let topology = a.topology();
        prop_assume!(has_order(&topology));
        let mut world = World::default();
        for goal in goals {
            let goal = State::LADDER[usize::from(goal)];
            let luck = Luck { seed, ..Luck::GOOD };
            prop_assert!(world.go(Some(&topology), &Options::goal(goal), luck));
            let low = world.ground.things().values().all(|thing| thing.state.rank() >= goal.rank());
            prop_assert!(low, "{:?}", world.ground.things());
            prop_assert!(world.plan(Some(&topology), &Options::goal(goal)).unwrap().plan.is_empty());
        }
        settles(&mut world, &topology);
        let resources: Vec<ElementName> = world.ground.things().keys().cloned().collect();
        prop_assume!(!resources.is_empty());
        let one = resources[usize::from(which) % resources.len()].clone();
        world.go(Some(&topology), &Options::heal([one.clone()]), Luck { seed, fails: 0, cut });
        settles(&mut world, &topology);
        let replace = Options { replace: [one.clone()].into(), ..Options::default() };
        world.go(Some(&topology), &replace, Luck { seed, fails: 0, cut });
        settles(&mut world, &topology);
        let target = Options { target: [one.clone()].into(), ..replace };
        let luck = Luck { seed, ..Luck::GOOD };
        prop_assert!(world.go(Some(&topology), &target, luck));
        settles(&mut world, &topology);
    }
}
