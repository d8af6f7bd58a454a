//! Random assemblies on the real engine with virtual time and random faults.
//!
//! Calls fail, drivers panic, jobs are lost, and processes die or are stopped. An outside observer checks
//! each call, and in the end the requested state.

mod cases;
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
use windlass_lifecycle::testing::{Luck, Spec, few, has_order, versions};
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
    /// An `up` that is limited to one resource.
    Limited,
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
        2 => Just(What::Retry),
        4 => Just(What::Limited),
    ];
    (what, any::<u8>(), cut).prop_map(|(what, which, cut)| Wish { what, which, cut })
}

fn trouble() -> impl Strategy<Value = (Trouble, bool)> {
    let effect = prop_oneof![Just(Some(Effect::Once)), Just(Some(Effect::Repeatable)), Just(None)];
    let fails = prop_oneof![Just(0), 2..12_u64];
    let loses = prop_oneof![2 => Just(0), 1 => 3..20_u64];
    let rare = || proptest::bool::weighted(0.2);
    let slow = prop_oneof![2 => Just(0), 1 => 1..4_u64];
    let max_jobs = proptest::option::of((1..4_u32).prop_map(|most| most.try_into().expect("it is not zero")));
    let unstarted = prop_oneof![2 => Just(0), 1 => 3..20_u64];
    let delays = (unstarted, max_jobs, slow);
    (any::<u64>(), fails, loses, any::<bool>(), effect, any::<bool>(), rare(), rare(), delays).prop_map(
        |(seed, fails, loses, lost_did, effect, observable, panics, moves, (unstarted, max_jobs, slow))| {
            let luck = Luck { seed, fails, cut: None };
            // Jobs on another machine cannot be looked up, so its running jobs count as lost anyway.
            let loses = if moves { 0 } else { loses };
            let stumbles = 0;
            let trouble = Trouble {
                luck,
                loses,
                lost_did,
                effect,
                observable,
                panics,
                stumbles,
                unstarted,
                slow,
                max_jobs,
            };
            (trouble, moves)
        },
    )
}

/// Runs a test on virtual time.
fn on_virtual_time(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("there are threads").block_on(test);
}

/// Executes intents while random faults occur. After some of the intents, removes old records. Then brings the assembly
/// up and takes it down without faults.
async fn come_true(session: &mut Session, wishes: &[Wish], one: &Topology, other: &Topology) {
    session.luck(false);
    for wish in wishes {
        wished(session, wish, one, other).await;
        if wish.which.is_multiple_of(3) {
            session.prune("t").await;
        }
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
    let limited = |topology, target: Option<ElementName>| {
        let mut desired = session.desired(topology);
        desired.options.target.extend(target);
        let request = Request::up(desired);
        if wish.which.is_multiple_of(2) { request.refreshed(Some(CHECKS)) } else { request }
    };
    let ask = match wish.what {
        What::One => limited(one, None),
        What::Other => limited(other, None),
        What::Limited => {
            let topology = if wish.which % 4 < 2 { one } else { other };
            match pick(ElementKind::Resource).filter(|part| topology.get(part).is_some()) {
                Some(part) => limited(topology, Some(part)),
                None => return,
            }
        }
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
            // A heal replaces no other parts.
            | EngineError::NotPermitted(_)
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

    /// A change of values may fail. Windlass must then be able to restore the earlier values, even if a failed
    /// Reconfigure has changed some of the values.
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

    /// If a change of a cluster fails, windlass must restore the last version that all parts have reached.
    #[test]
    fn clusters_roll_back((a, b) in versions(), (trouble, moves) in trouble(), wishes in proptest::collection::vec(wish(), 2..7), fails in 2..8_u64) {
        // Clusters with odd values demand a rollback. The values of the two versions differ.
        let clusters = |spec: &Spec, value: u8| {
            let mut spec = spec.clone();
            for component in spec.components.iter_mut().flatten() {
                component.shape = if component.shape < 3 { 3 } else { component.shape };
                component.value = value;
            }
            spec.topology()
        };
        let (one, other) = (clusters(&a, 1), clusters(&b, 3));
        prop_assume!(has_order(&one) && has_order(&other));
        let trouble = Trouble { luck: Luck { fails, ..trouble.luck }, ..trouble };
        on_virtual_time(async {
            let mut session = Session::new(trouble, moves);
            session.settles(&one).await;
            come_true(&mut session, &wishes, &one, &other).await;
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
