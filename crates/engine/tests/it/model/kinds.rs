//! Single kinds of faults at a higher rate: stops, slow or failing stores, wrong clocks, panics, and failed
//! launches.

use std::time::Duration;

use proptest::prelude::*;
use windlass_engine::{EngineError, Request};
use windlass_lifecycle::testing::{Component, Luck, Spec, Tie, few, has_order, versions};
use windlass_store::Store as _;

use super::session::{Fate, Interruption, Session};
use super::weather::{Weather, weather};
use super::world::Trouble;
use super::{What, Wish, come_true, interruption, on_virtual_time, trouble, wish, wish_cut, wished};
use crate::support::assembly_name;

/// The number of cases of each kind that CI tests.
const CASES: u32 = 20;

/// Generates a stop at any moment: by signals, which may coincide, or by a request in the store.
fn stop() -> impl Strategy<Value = Option<Interruption>> {
    let signals = (0..400_u64, proptest::option::of(0..60_u64))
        .prop_map(|(soon, now)| Interruption::Stop { soon, now });
    let first = proptest::option::of(0..2_u64).prop_map(|now| Interruption::Stop { soon: 0, now });
    let note = (0..4000_u64).prop_map(|after| Interruption::Note { after });
    prop_oneof![5 => signals, 1 => first, 2 => note].prop_map(Some)
}

/// Generates a driver that panics after failed jobs and before jobs.
fn panics() -> impl Strategy<Value = (Trouble, bool)> {
    let often = (2..12_u64, 2..12_u64);
    (trouble(), often).prop_map(|((trouble, moves), (fails, stumbles))| {
        let luck = Luck { fails, ..trouble.luck };
        (Trouble { luck, stumbles, panics: true, ..trouble }, moves)
    })
}

/// Generates a failure rate of a half, a third or a quarter of all jobs.
fn failures() -> impl Strategy<Value = (Trouble, bool)> {
    (trouble(), 2..5_u64).prop_map(|((trouble, moves), fails)| {
        (Trouble { luck: Luck { fails, ..trouble.luck }, loses: 0, ..trouble }, moves)
    })
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    proptest::collection::vec(wish(), 1..6)
}

proptest! {
    #![proptest_config(few(CASES))]

    /// Each stop ends the process and prevents new jobs. The next intents repair the assembly.
    #[test]
    fn stops_at_any_moment(
        (a, b) in versions(),
        (trouble, moves) in trouble(),
        wishes in proptest::collection::vec(wish_cut(stop()), 1..6),
        late in prop_oneof![Just(0), 1..300_u64],
    ) {
        let (one, other) = (a.topology(), b.topology());
        prop_assume!(has_order(&one) && has_order(&other));
        on_virtual_time(async {
            let mut session = Session::new(trouble, moves);
            session.weather = if late == 0 { Weather::default() } else { Weather::late(late) };
            come_true(&mut session, &wishes, &one, &other).await;
        });
    }

    /// A slow or briefly unreachable store ends no process, and a failing store loses nothing.
    #[test]
    fn late_and_failing_stores(
        (a, b) in versions(),
        (trouble, moves) in trouble(),
        wishes in proptest::collection::vec((wish(), weather()), 1..6),
    ) {
        let (one, other) = (a.topology(), b.topology());
        prop_assume!(has_order(&one) && has_order(&other));
        on_virtual_time(async {
            let mut session = Session::new(trouble, moves);
            session.luck(false);
            for (wish, weather) in &wishes {
                session.weather = weather.clone();
                wished(&mut session, wish, &one, &other).await;
            }
            session.settles(&one).await;
            session.goes("t").await;
        });
    }

    /// Each intent comes from another machine, whose clock is wrong by up to a day. Rivals request the lease
    /// all the time.
    #[test]
    fn clocks_that_differ(
        (a, b) in versions(),
        (trouble, _) in trouble(),
        wishes in proptest::collection::vec((wish(), -86_400_000..86_400_000_i64), 1..6),
        late in 0..2000_u64,
    ) {
        let (one, other) = (a.topology(), b.topology());
        prop_assume!(has_order(&one) && has_order(&other));
        on_virtual_time(async {
            // The jobs of another machine cannot be looked up, so none are lost.
            let mut session = Session::new(Trouble { loses: 0, ..trouble }, true);
            session.luck(false);
            for (number, (wish, millis)) in wishes.iter().enumerate() {
                session.rig.machine = Some((format!("machine {number}"), *millis));
                session.weather = Weather::late(late);
                let rival = rivals(&session, -millis);
                tokio::select! {
                    biased;
                    () = rival => unreachable!("they ask for ever"),
                    () = wished(&mut session, wish, &one, &other) => {}
                }
            }
            session.settles(&one).await;
            session.goes("t").await;
        });
    }

    /// A panic of the driver in any call ends no process.
    #[test]
    fn panicking_drivers((a, b) in versions(), (trouble, moves) in panics(), wishes in wishes()) {
        let (one, other) = (a.topology(), b.topology());
        prop_assume!(has_order(&one) && has_order(&other));
        on_virtual_time(async {
            let mut session = Session::new(trouble, moves);
            come_true(&mut session, &wishes, &one, &other).await;
        });
    }

    /// `down` removes the leftovers of failed launches, whether or not the assembly was ever Active.
    #[test]
    fn failed_installs((a, b) in versions(), (trouble, moves) in failures(), cuts in proptest::collection::vec(interruption(), 1..5)) {
        let (one, other) = (a.topology(), b.topology());
        prop_assume!(has_order(&one) && has_order(&other));
        on_virtual_time(async {
            let mut session = Session::new(trouble, moves);
            session.luck(false);
            for (round, cut) in cuts.into_iter().enumerate() {
                let wanted = if round % 2 == 0 { &one } else { &other };
                let ask = Request::up(session.desired(wanted));
                match session.ask_and_answer("t", &ask, cut).await {
                    Fate::Refused(EngineError::Stopped) => {}
                    Fate::Refused(error) if session.lost.is_empty() => panic!("{error}"),
                    _ => {}
                }
            }
            session.goes("t").await;
        });
    }
}

/// Requests the lease of an assembly repeatedly from another machine, and releases it immediately. Never
/// returns.
///
/// The store must refuse each request that arrives while a process holds the lease.
fn rivals(session: &Session, millis: i64) -> impl Future<Output = ()> + use<> {
    let store = session.rig.store_at(millis);
    let mut holder = windlass_store::Holder::current("rival");
    (holder.host, holder.realm) = ("rival".to_owned(), "rival".to_owned());
    async move {
        loop {
            tokio::time::sleep(Duration::from_millis(170)).await;
            if let Ok(lease) = store.lease(&assembly_name("t"), &holder).await {
                let _of_nobody_else = store.release(lease).await;
            }
        }
    }
}

/// If the Stop of a part fails, the same process must not create relationships of this part.
#[test]
fn a_broken_part_whose_stop_fails_is_not_related() {
    let none =
        || Tie { source: 0, target: 0, states: (2, 2), modifiers: (false, false), operations: 0, reads: 0 };
    let part = |shape, nodes, kind| {
        Some(Component { shape, nodes, value: 0, kind, volatile: false, reads: None, inner: none() })
    };
    let tie = || vec![Some(Tie { modifiers: (false, true), operations: 1, ..none() })];
    let (a, b) = (
        Spec { components: vec![part(3, 2, 2), part(3, 3, 2)], ties: tie() },
        Spec { components: vec![part(0, 1, 0), part(3, 3, 2)], ties: tie() },
    );
    let trouble =
        Trouble { max_jobs: 1.try_into().ok(), ..super::cases::trouble(17_149_927_103_857_226_056, 3) };
    let wishes = [
        (What::One, 0, None),
        (What::Other, 0, Some(Interruption::Stop { soon: 1, now: None })),
        (What::In, 0, Some(Interruption::Stop { soon: 1, now: None })),
        (What::Out, 0, None),
        (What::Heal, 117, None),
    ];
    let (one, other) = (a.topology(), b.topology());
    on_virtual_time(async {
        let mut session = Session::new(trouble, true);
        session.luck(false);
        for (number, (what, which, cut)) in wishes.into_iter().enumerate() {
            session.rig.machine = Some((format!("machine {number}"), 0));
            let wish = Wish { what, which, cut };
            let rival = rivals(&session, 0);
            tokio::select! {
                biased;
                () = rival => unreachable!("they ask for ever"),
                () = wished(&mut session, &wish, &one, &other) => {}
            }
        }
        session.settles(&one).await;
        session.goes("t").await;
    });
}
