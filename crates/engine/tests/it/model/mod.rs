//! Random assemblies on the real engine with virtual time and random faults.
//!
//! Calls fail, drivers panic, jobs are lost, and processes die or are stopped. An outside observer checks
//! each call, and in the end the requested state.

mod checks;
mod driver;
mod kinds;
mod session;
mod two;
mod weather;
mod world;

use std::time::Duration;

use proptest::prelude::*;
use windlass_engine::{EngineError, Request};
use windlass_lifecycle::testing::{Component, Luck, Spec, Tie, few, has_order, versions};
use windlass_model::assembly::ElementKind;
use windlass_model::record::{Effect, Intent};
use windlass_model::{ElementName, State, Topology};
use windlass_store::Store as _;

use self::session::{Fate, Interruption, Session};
use self::world::Trouble;
use crate::support::assembly_name;

/// The number of cases of each kind that CI tests.
const CASES: u32 = 40;

/// The time limit of health checks before a plan. They find nothing, because nobody else changes the world.
const CHECKS: Duration = Duration::from_secs(30);

/// A random intent, and the interruption of its process.
#[derive(Debug, Clone)]
struct Wish {
    what: What,
    which: u8,
    cut: Option<Interruption>,
}

#[derive(Debug, Clone, Copy)]
enum What {
    One,
    Other,
    Down,
    Out,
    In,
    Heal,
    Back,
    Set(u8),
    Retry,
}

fn interruption() -> impl Strategy<Value = Option<Interruption>> {
    let death =
        (1..80_u64, any::<bool>()).prop_map(|(batch, keeps_last)| Interruption::Death { batch, keeps_last });
    let stop = (0..150_u64, proptest::option::of(0..30_u64))
        .prop_map(|(soon, now)| Interruption::Stop { soon, now });
    proptest::option::of(prop_oneof![death, stop])
}

fn wish() -> impl Strategy<Value = Wish> {
    wish_cut(interruption())
}

/// Generates an intent with one of the given interruptions.
fn wish_cut(cut: impl Strategy<Value = Option<Interruption>>) -> impl Strategy<Value = Wish> {
    let what = prop_oneof![
        3 => Just(What::One),
        3 => Just(What::Other),
        1 => Just(What::Down),
        2 => Just(What::Out),
        2 => Just(What::In),
        2 => Just(What::Heal),
        2 => Just(What::Back),
        2 => (2..=4_u8).prop_map(What::Set),
        1 => Just(What::Retry),
    ];
    (what, any::<u8>(), cut).prop_map(|(what, which, cut)| Wish { what, which, cut })
}

fn trouble() -> impl Strategy<Value = (Trouble, bool)> {
    let effect = prop_oneof![Just(Some(Effect::Once)), Just(Some(Effect::Repeatable)), Just(None)];
    let fails = prop_oneof![Just(0), 2..12_u64];
    let loses = prop_oneof![2 => Just(0), 1 => 3..20_u64];
    let rare = || proptest::bool::weighted(0.2);
    let max_jobs = proptest::option::of((1..4_u32).prop_map(|most| most.try_into().expect("it is not zero")));
    (any::<u64>(), fails, loses, any::<bool>(), effect, any::<bool>(), rare(), rare(), max_jobs).prop_map(
        |(seed, fails, loses, lost_did, effect, observable, panics, moves, max_jobs)| {
            let luck = Luck { seed, fails, cut: None };
            // Jobs on another machine cannot be looked up, so its running jobs count as lost anyway.
            let loses = if moves { 0 } else { loses };
            (Trouble { luck, loses, lost_did, effect, observable, panics, stumbles: 0, max_jobs }, moves)
        },
    )
}

/// Runs a test on virtual time.
fn on_virtual_time(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("there are threads").block_on(test);
}

/// Executes some intents with faults. Then brings the assembly up and down without faults.
async fn come_true(session: &mut Session, wishes: &[Wish], one: &Topology, other: &Topology) {
    session.luck(false);
    for wish in wishes {
        wished(session, wish, one, other).await;
    }
    session.settles(one).await;
    session.goes("t").await;
}

/// Executes an intent, if it is applicable.
async fn wished(session: &mut Session, wish: &Wish, one: &Topology, other: &Topology) {
    let snapshot = session.rig.store.load(&assembly_name("t")).await.expect("the store is readable");
    let pick = |kind: ElementKind| -> Option<ElementName> {
        let topology = &snapshot.as_ref()?.assembly.topology;
        let found: Vec<_> = topology.elements().iter().filter(|element| element.kind == kind).collect();
        let at = usize::from(wish.which) % found.len().max(1);
        Some(found.get(at)?.name.clone())
    };
    let up = |topology| {
        let request = Request::up(session.desired(topology));
        if wish.which.is_multiple_of(2) { request.refreshed(Some(CHECKS)) } else { request }
    };
    let ask = match wish.what {
        What::One => up(one),
        What::Other => up(other),
        What::Down => Intent::Down.into(),
        What::Out | What::In => {
            let Some(cluster) = pick(ElementKind::Group) else { return };
            let out = matches!(wish.what, What::Out);
            if out { Intent::ScaleOut(cluster).into() } else { Intent::ScaleIn(cluster).into() }
        }
        What::Heal => match pick(ElementKind::Resource) {
            Some(resource) => Intent::Heal(resource).into(),
            None => return,
        },
        What::Back => Intent::Rollback(None).into(),
        What::Set(rank) => Intent::SetState(State::LADDER[usize::from(rank)]).into(),
        What::Retry => Intent::Retry.into(),
    };
    match session.ask_and_answer("t", &ask, wish.cut).await {
        Fate::Refused(
            EngineError::Unknown { .. }
            | EngineError::Scale(_)
            | EngineError::NoVersion { .. }
            | EngineError::GoingDown(_)
            | EngineError::Stopped,
        ) => {}
        Fate::Refused(error) if session.lost.is_empty() => panic!("{error}"),
        _ => {}
    }
}

proptest! {
    #![proptest_config(few(CASES))]

    /// After any intents, faults and interruptions, the assembly reaches its desired state, and then can be
    /// removed.
    #[test]
    fn any_wishes((a, b) in versions(), (trouble, moves) in trouble(), wishes in proptest::collection::vec(wish(), 1..6)) {
        let (one, other) = (a.topology(), b.topology());
        prop_assume!(has_order(&one) && has_order(&other));
        on_virtual_time(async {
            let mut session = Session::new(trouble, moves);
            come_true(&mut session, &wishes, &one, &other).await;
        });
    }

    /// A change of values that fails is taken back. A failed Reconfigure may have had effects.
    #[test]
    fn values_that_go_back((a, _) in versions(), (trouble, moves) in trouble(), fails in 1..5_u64) {
        let volatile = |other: u8| {
            let mut spec = a.clone();
            for component in spec.components.iter_mut().flatten() {
                (component.kind, component.volatile) = (2, true);
                component.value ^= other;
            }
            spec.topology()
        };
        let (one, other) = (volatile(0), volatile(1));
        prop_assume!(has_order(&one));
        let trouble = Trouble { luck: Luck { fails, ..trouble.luck }, ..trouble };
        on_virtual_time(async {
            let mut session = Session::new(trouble, moves);
            for _ in 0..3 {
                session.settles(&one).await;
                session.luck(false);
                let ask = Request::up(session.desired(&other));
                session.ask_and_answer("t", &ask, None).await;
            }
            session.settles(&one).await;
            session.goes("t").await;
        });
    }

    /// An upgrade and its rollback end in their desired states.
    #[test]
    fn an_upgrade_and_its_way_back((a, b) in versions(), (trouble, moves) in trouble(), cuts in [interruption(), interruption(), interruption()]) {
        let (one, other) = (a.topology(), b.topology());
        prop_assume!(has_order(&one) && has_order(&other));
        on_virtual_time(to_and_fro(&a, &b, trouble, moves, cuts));
    }
}

/// Upgrades from one version to another and back, with faults in between and none at the end.
async fn to_and_fro(a: &Spec, b: &Spec, trouble: Trouble, moves: bool, cuts: [Option<Interruption>; 3]) {
    let (one, other) = (a.topology(), b.topology());
    let mut session = Session::new(trouble, moves);
    session.settles(&one).await;
    for (round, cut) in cuts.into_iter().enumerate() {
        session.luck(false);
        // The last upgrade interrupts the rollback.
        let wanted = if round == 1 { &one } else { &other };
        let ask = Request::up(session.desired(wanted));
        session.ask_and_answer("t", &ask, cut).await;
        if round == 0 {
            session.settles(&other).await;
        }
    }
    session.settles(&one).await;
    session.goes("t").await;
}

/// A failed node of a group that changes in batches is repaired at once: a relationship elsewhere needs its output.
#[test]
fn a_repair_waits_for_no_batch() {
    let tie = |source, target, operations| Tie {
        source,
        target,
        states: (2, 2),
        modifiers: (false, false),
        operations,
        reads: 0,
    };
    let part = |shape, nodes, kind, volatile, reads| {
        Some(Component { shape, nodes, value: 0, kind, volatile, reads, inner: tie(0, 0, 0) })
    };
    let odd = || {
        let mut found = part(5, 3, 1, false, Some(5)).unwrap();
        found.inner.states = (2, 4);
        found.inner.operations = 1;
        Some(found)
    };
    let a = Spec {
        components: vec![
            None,
            None,
            odd(),
            part(3, 2, 2, false, None),
            part(6, 1, 2, true, Some(234)),
            part(0, 1, 0, false, None),
            part(3, 3, 1, false, None),
        ],
        ties: vec![Some(tie(0, 191, 0)), Some(tie(20, 33, 3)), Some(tie(70, 107, 3))],
    };
    let b = Spec {
        components: vec![
            part(0, 1, 2, false, None),
            part(0, 1, 0, false, None),
            odd(),
            part(0, 1, 1, false, Some(29)),
            part(6, 1, 2, true, Some(234)),
            None,
            part(0, 1, 1, false, Some(4)),
        ],
        ties: vec![Some(tie(0, 191, 0)), None, Some(tie(4, 1, 0))],
    };
    let trouble = Trouble {
        luck: Luck { seed: 9_493_031_380_769_014_328, fails: 3, cut: None },
        loses: 0,
        lost_did: false,
        effect: Some(Effect::Once),
        observable: false,
        panics: false,
        stumbles: 0,
        max_jobs: None,
    };
    on_virtual_time(to_and_fro(
        &a,
        &b,
        trouble,
        false,
        [Some(Interruption::Death { batch: 33, keeps_last: false }), None, None],
    ));
}

/// A pair that is re-created in two batches lasts, the first time, until the target that it precedes has come up.
#[test]
fn a_pair_lasts_until_its_target_has_come_up() {
    let tie = |source, target, states, modifiers, operations, reads| Tie {
        source,
        target,
        states,
        modifiers,
        operations,
        reads,
    };
    let part = |shape, nodes, reads| {
        let inner = tie(0, 0, (2, 2), (false, false), 0, 0);
        Some(Component { shape, nodes, value: 0, kind: 0, volatile: false, reads, inner })
    };
    let plain = || part(0, 1, None);
    let joined = || Some(tie(250, 45, (3, 2), (false, true), 3, 1));
    let a = Spec {
        components: vec![
            plain(),
            plain(),
            None,
            plain(),
            plain(),
            part(0, 1, Some(180)),
            part(5, 2, Some(134)),
            plain(),
            part(0, 1, Some(5)),
            plain(),
            plain(),
            plain(),
            plain(),
            plain(),
            plain(),
        ],
        ties: vec![Some(tie(104, 108, (2, 4), (false, true), 2, 1)), None, joined()],
    };
    let b = Spec {
        components: vec![
            part(3, 1, None),
            None,
            plain(),
            None,
            plain(),
            plain(),
            part(5, 2, Some(134)),
            plain(),
            plain(),
            plain(),
            None,
            None,
            plain(),
            plain(),
            plain(),
        ],
        ties: vec![None, Some(tie(116, 131, (2, 3), (false, false), 2, 2)), joined()],
    };
    let trouble = Trouble {
        luck: Luck { seed: 7_715_506_582_541_133_128, fails: 10, cut: None },
        loses: 0,
        lost_did: false,
        effect: Some(Effect::Once),
        observable: true,
        panics: true,
        stumbles: 0,
        max_jobs: None,
    };
    on_virtual_time(to_and_fro(
        &a,
        &b,
        trouble,
        false,
        [Some(Interruption::Death { batch: 36, keeps_last: false }), None, None],
    ));
}

/// A change that stops between the two operations of a pair is taken back, and one of them is enough for the version
/// before.
#[test]
fn a_half_made_pair_is_whole_for_a_version_with_fewer_operations() {
    let tie = |source, target, states, modifiers, operations, reads| {
        Some(Tie { source, target, states, modifiers, operations, reads })
    };
    let inner = tie(0, 0, (2, 2), (false, false), 0, 0).unwrap();
    let part = |shape, nodes| {
        Some(Component { shape, nodes, value: 0, kind: 0, volatile: false, reads: None, inner })
    };
    let parts = || vec![part(0, 1), part(5, 3)];
    let (post, pre) = ((false, false), (false, true));
    let (second, third) = (tie(205, 202, (3, 2), pre, 1, 1), tie(68, 55, (4, 4), post, 0, 0));
    let a = Spec {
        components: parts(),
        ties: vec![
            tie(224, 220, (2, 2), pre, 1, 1),
            second,
            third,
            tie(117, 250, (4, 3), pre, 3, 2),
            tie(91, 213, (4, 3), post, 1, 2),
            tie(138, 218, (3, 4), pre, 2, 1),
            tie(253, 143, (3, 2), pre, 2, 2),
            tie(127, 152, (3, 4), post, 1, 0),
            tie(219, 224, (3, 2), pre, 3, 0),
        ],
    };
    let b = Spec {
        components: parts(),
        ties: vec![
            None,
            second,
            third,
            None,
            tie(76, 197, (3, 3), post, 1, 2),
            tie(123, 61, (3, 4), post, 2, 0),
            None,
            tie(14, 69, (2, 2), post, 3, 0),
            None,
        ],
    };
    let trouble = Trouble {
        luck: Luck { seed: 13_742_566_459_450_376_988, fails: 0, cut: None },
        loses: 0,
        lost_did: true,
        effect: None,
        observable: true,
        panics: true,
        stumbles: 0,
        max_jobs: None,
    };
    on_virtual_time(to_and_fro(
        &a,
        &b,
        trouble,
        true,
        [
            Some(Interruption::Death { batch: 17, keeps_last: false }),
            None,
            Some(Interruption::Stop { soon: 128, now: None }),
        ],
    ));
}
