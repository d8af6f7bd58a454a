//! Cases that random runs have found.
#![expect(clippy::unnecessary_wraps, reason = "an entry of a specification may be missing")]

use windlass_lifecycle::testing::{Component, Luck, Spec, Tie};
use windlass_model::record::Effect;

use super::session::{Interruption, Session};
use super::world::Trouble;
use super::{What, Wish, on_virtual_time, to_and_fro};

const POST: (bool, bool) = (false, false);
const PRE_TARGET: (bool, bool) = (false, true);

fn tie(ends: (u8, u8), states: (u8, u8), modifiers: (bool, bool), operations: u8, reads: u8) -> Option<Tie> {
    Some(Tie::new(ends, states, modifiers, operations, reads))
}

/// Returns a component without a relationship inside.
fn part(shape: u8, nodes: u8, kind: u8, volatile: bool, reads: Option<u8>) -> Option<Component> {
    let inner = Tie::new((0, 0), (2, 2), POST, 0, 0);
    Some(Component { shape, nodes, value: 0, kind, volatile, reads, inner })
}

fn plain() -> Option<Component> {
    part(0, 1, 0, false, None)
}

/// Returns the faults of a case. On average, one in `fails` calls is unsuccessful; 0 means none. All calls have the
/// effect `once`.
pub(super) fn trouble(seed: u64, fails: u64) -> Trouble {
    Trouble {
        luck: Luck { seed, fails, cut: None },
        loses: 0,
        lost_did: false,
        effect: Some(Effect::Once),
        observable: false,
        panics: false,
        stumbles: 0,
        unstarted: 0,
        slow: 0,
        max_jobs: None,
    }
}

fn death(batch: u64) -> Option<Interruption> {
    Some(Interruption::Death { batch, keeps_last: false })
}

/// A node has failed in a group that changes in batches, and a relationship outside the group needs the node's output.
/// Windlass must repair the node immediately, and not in a later batch.
#[test]
fn a_repair_waits_for_no_batch() {
    let between = |source, target, operations| tie((source, target), (2, 2), POST, operations, 0);
    let odd = || {
        let inner = Tie::new((0, 0), (2, 4), POST, 1, 0);
        part(5, 3, 1, false, Some(5)).map(|odd| Component { inner, ..odd })
    };
    let a = Spec {
        components: vec![
            None,
            None,
            odd(),
            part(3, 2, 2, false, None),
            part(6, 1, 2, true, Some(234)),
            plain(),
            part(3, 3, 1, false, None),
        ],
        ties: vec![between(0, 191, 0), between(20, 33, 3), between(70, 107, 3)],
    };
    let b = Spec {
        components: vec![
            part(0, 1, 2, false, None),
            plain(),
            odd(),
            part(0, 1, 1, false, Some(29)),
            part(6, 1, 2, true, Some(234)),
            None,
            part(0, 1, 1, false, Some(4)),
        ],
        ties: vec![between(0, 191, 0), None, between(4, 1, 0)],
    };
    let trouble = trouble(9_493_031_380_769_014_328, 3);
    on_virtual_time(to_and_fro(&a, &b, trouble, false, [death(33), None, None]));
}

/// A plan creates a pair in one batch, and removes and re-creates the pair in a later batch. The pair must exist when
/// its target comes up. Therefore, the plan must not remove the pair before the target has come up.
#[test]
fn a_pair_lasts_until_its_target_has_come_up() {
    let reader = |reads| part(0, 1, 0, false, Some(reads));
    let group = || part(5, 2, 0, false, Some(134));
    let many = |count| std::iter::repeat_with(plain).take(count);
    let joined = || tie((250, 45), (3, 2), PRE_TARGET, 3, 1);
    let first = [plain(), plain(), None, plain(), plain(), reader(180), group(), plain(), reader(5)];
    let a = Spec {
        components: first.into_iter().chain(many(6)).collect(),
        ties: vec![tie((104, 108), (2, 4), PRE_TARGET, 2, 1), None, joined()],
    };
    let first = [part(3, 1, 0, false, None), None, plain(), None, plain(), plain(), group()];
    let b = Spec {
        components: first.into_iter().chain(many(3)).chain([None, None]).chain(many(3)).collect(),
        ties: vec![None, tie((116, 131), (2, 3), POST, 2, 2), joined()],
    };
    let trouble = Trouble { observable: true, panics: true, ..trouble(7_715_506_582_541_133_128, 10) };
    on_virtual_time(to_and_fro(&a, &b, trouble, false, [death(36), None, None]));
}

/// An upgrade is stopped between the two operations of a pair, and windlass then restores the earlier version. The
/// earlier version needs only the operation that was already called. Therefore, the pair must count as complete.
#[test]
fn a_half_made_pair_is_whole_for_a_version_with_fewer_operations() {
    let parts = || vec![plain(), part(5, 3, 0, false, None)];
    let second = tie((205, 202), (3, 2), PRE_TARGET, 1, 1);
    let third = tie((68, 55), (4, 4), POST, 0, 0);
    let a = Spec {
        components: parts(),
        ties: vec![
            tie((224, 220), (2, 2), PRE_TARGET, 1, 1),
            second,
            third,
            tie((117, 250), (4, 3), PRE_TARGET, 3, 2),
            tie((91, 213), (4, 3), POST, 1, 2),
            tie((138, 218), (3, 4), PRE_TARGET, 2, 1),
            tie((253, 143), (3, 2), PRE_TARGET, 2, 2),
            tie((127, 152), (3, 4), POST, 1, 0),
            tie((219, 224), (3, 2), PRE_TARGET, 3, 0),
        ],
    };
    let b = Spec {
        components: parts(),
        ties: vec![
            None,
            second,
            third,
            None,
            tie((76, 197), (3, 3), POST, 1, 2),
            tie((123, 61), (3, 4), POST, 2, 0),
            None,
            tie((14, 69), (2, 2), POST, 3, 0),
            None,
        ],
    };
    let trouble = Trouble {
        lost_did: true,
        effect: None,
        observable: true,
        panics: true,
        ..trouble(13_742_566_459_450_376_988, 0)
    };
    let stop = Some(Interruption::Stop { soon: 128, now: None });
    on_virtual_time(to_and_fro(&a, &b, trouble, true, [death(17), None, stop]));
}

/// A pair with the modifier `pre` may be created before its source and its target exist. If one of these two parts is
/// Broken, the creation of the pair must nevertheless wait until this part has stopped.
#[test]
fn a_pair_waits_for_the_stop_of_a_broken_end() {
    let inner = |ends, states, modifiers, operations| Tie::new(ends, states, modifiers, operations, 0);
    let last = || part(5, 2, 1, false, Some(188));
    let ties = || {
        vec![
            tie((0, 20), (4, 4), (true, false), 0, 0),
            tie((89, 11), (2, 4), PRE_TARGET, 1, 0),
            tie((151, 19), (2, 2), POST, 2, 0),
        ]
    };
    let with = |inner, part: Option<Component>| part.map(|part| Component { inner, ..part });
    let a = Spec {
        components: vec![
            with(inner((0, 0), (3, 3), PRE_TARGET, 1), part(6, 1, 1, false, None)),
            with(inner((0, 0), (2, 2), POST, 3), part(5, 2, 2, true, Some(0))),
            None,
            last(),
        ],
        ties: ties(),
    };
    let b = Spec {
        components: vec![
            None,
            part(5, 3, 0, false, None),
            with(inner((0, 0), (4, 2), (true, true), 1), part(5, 1, 2, false, Some(0))),
            last(),
        ],
        ties: ties(),
    };
    let trouble = Trouble {
        lost_did: true,
        effect: None,
        observable: true,
        max_jobs: std::num::NonZeroU32::new(3),
        ..trouble(1_773_411_956_567_430_254, 11)
    };
    let stop = Some(Interruption::Stop { soon: 82, now: None });
    on_virtual_time(to_and_fro(&a, &b, trouble, false, [None, None, stop]));
}

/// A pair with the modifier `pre` waits until the Stop of its source has been repeated.
#[test]
fn a_pair_waits_for_the_repeated_stop_of_its_source() {
    let join = || vec![tie((0, 0), (2, 2), (true, true), 1, 0)];
    let a = Spec { components: vec![plain(), part(0, 1, 2, false, None)], ties: join() };
    let b = Spec { components: vec![plain(), plain()], ties: join() };
    let trouble = Trouble { panics: true, stumbles: 5, ..trouble(1_204_886_918_299_467_020, 6) };
    let wishes =
        [What::One, What::Set(4), What::Down, What::Retry].map(|what| Wish { what, which: 0, cut: None });
    on_virtual_time(async {
        let mut session = Session::new(trouble, false);
        super::come_true(&mut session, &wishes, &a.topology(), &b.topology()).await;
    });
}
