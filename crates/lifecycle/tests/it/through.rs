//! Tests of the order between parts that depend on each other through parts without steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use insta::assert_snapshot;
use proptest::prelude::*;
use windlass_lifecycle::testing::few;
use windlass_lifecycle::{Current, ElementNow, Options, Plan, Situation, Version, plan};
use windlass_model::resolve::{Lookup, NothingYet, Output, Resolved};
use windlass_model::work::Work;
use windlass_model::{ElementName, InstanceId, PropertyName, Side, State, Topology, Transition};
use windlass_plan::StepNumber;
use windlass_secret::{SecretRef, Sensitive};

use crate::support::{USUAL, all_up, assembly, waves};

fn name(name: &str) -> ElementName {
    format!("t__{name}").parse().expect("valid")
}

/// Returns an assembly of parts `p0`, `p1` and so on. `on` contains for each part the parts on which it
/// depends. Parts without a value are left out.
fn dependent(on: &[Vec<usize>], values: &[Option<u8>]) -> Topology {
    let mut sections = "composition:\n".to_owned();
    for (at, on) in on.iter().enumerate() {
        let Some(value) = values[at] else { continue };
        let on: Vec<String> =
            on.iter().filter(|on| values[**on].is_some()).map(|on| format!("p{on}")).collect();
        let _ = writeln!(
            sections,
            "  p{at}: {{type: resource::r::1.0, depends-on: [{}], properties: {{in: {{value: v{value}}}}}}}",
            on.join(", ")
        );
    }
    assembly(&[("r", USUAL)], &sections)
}

fn change(current: &Current, before: &Topology, after: Option<&Topology>) -> Plan {
    let version = |topology| Version { topology, lookup: &NothingYet };
    let situation = Situation { current, installed: Some(version(before)), desired: after.map(version) };
    plan(&situation, &Options::default()).expect("there is a plan").plan
}

/// `a` depends on `b`, and `b` on `c`.
const CHAIN: &str = "composition:
  a: {type: resource::r::1.0, depends-on: [b], properties: {in: {value: V}}}
  b: {type: resource::r::1.0, depends-on: [c]}
  c: {type: resource::r::1.0, properties: {in: {value: V}}}
";

fn chain(value: &str) -> Topology {
    assembly(&[("r", USUAL)], &CHAIN.replace('V', value))
}

#[test]
fn parts_are_repaired_in_the_order_of_their_dependencies() {
    let topology = chain("1");
    let mut current = all_up(&topology);
    for part in ["a", "c"] {
        current.element(name(part), ElementNow { gone: true, ..ElementNow::new(State::Failed, false) });
    }
    assert_snapshot!(waves(&change(&current, &topology, Some(&topology))), @"
    a (Absent)
    c (Absent)
    c Install
    c Configure
    c Start
    a Install
    a Configure
    a Start
    ");
}

#[test]
fn parts_are_changed_in_the_order_of_their_dependencies() {
    let (before, after) = (chain("1"), chain("2"));
    assert_snapshot!(waves(&change(&all_up(&before), &before, Some(&after))), @"
    a Stop
    a Uninstall
    c Stop
    c Uninstall
    c Install
    c Configure
    c Start
    a Install
    a Configure
    a Start
    ");
}

#[test]
fn relationships_pass_the_order_on_too() {
    let related = |value: &str| {
        let sections = CHAIN.replace("depends-on: [b], ", "").replace("depends-on: [c]", "quantity: 2");
        let sections = sections.replace('V', value)
            + "relationships:
  first:
    source-capabilities: [c.cap]
    target-requirements: [b.req]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [target.Join], Cease: [target.Leave]}
  then:
    source-capabilities: [b.cap]
    target-requirements: [a.req]
    source-state: Active
    target-state: Installed
    lifecycle: {Create: [], Cease: []}
";
        assembly(&[("r", USUAL)], &sections)
    };
    let (before, after) = (related("1"), related("2"));
    assert_snapshot!(waves(&change(&all_up(&before), &before, Some(&after))), @"
    a Stop | b__1 Cease first: target.Leave | b__2 Cease first: target.Leave
    c Stop
    a Uninstall | c Uninstall
    c Install
    c Configure
    c Start
    b__1 Create first: target.Join | b__2 Create first: target.Join
    a Install
    a Configure
    a Start
    ");
}

/// Returns an assembly with a group. The group reads an output of `db`, and its nodes change in batches.
fn readers() -> Topology {
    assembly(
        &[("r", USUAL)],
        "composition:
  db: {type: resource::r::1.0, properties: {in: {value: '1'}}}
  web: {type: resource::r::1.0, quantity: 3, update: {max-unavailable: 1}, properties: {in: {value: '${db.out}'}}}
",
    )
}

/// A database that was lost is created again before its readers change in batches.
#[test]
fn readers_of_a_lost_part_take_turns() {
    let topology = readers();
    let mut current = all_up(&topology);
    current.element(name("db"), ElementNow { gone: true, ..ElementNow::new(State::Failed, false) });
    let version = Some(Version { topology: &topology, lookup: &NothingYet });
    let situation = Situation { current: &current, installed: version, desired: version };
    let planned = plan(&situation, &Options { max_unavailable: None, ..Options::default() }).unwrap();
    assert_eq!(planned.diff.batches.len(), 1, "{}", planned.diff);
    assert_snapshot!(waves(&planned.plan), @"
    db (Absent)
    db Install
    db Configure
    db Start
    web__1 Stop
    web__1 Uninstall
    web__1 Install
    web__1 Configure
    web__1 Start
    web__2 Stop
    web__2 Uninstall
    web__2 Install
    web__2 Configure
    web__2 Start
    web__3 Stop
    web__3 Uninstall
    web__3 Install
    web__3 Configure
    web__3 Start
    ");
}

/// An earlier process has created `db` again, so the readers of its output are outdated. The new output is known, and
/// `db` stays up. So the readers change in batches.
#[test]
fn readers_of_a_known_new_output_take_turns() {
    struct Published;
    impl Lookup for Published {
        fn output(&self, _: &ElementName, _: &PropertyName) -> Output {
            Output::Published(Resolved::plain("new"))
        }

        fn instance_id(&self, _: &ElementName) -> Option<InstanceId> {
            None
        }

        fn secret(&self, _: &SecretRef) -> Option<Sensitive<String>> {
            None
        }
    }
    let topology = readers();
    let mut current = all_up(&topology);
    let now = |process| ElementNow {
        installed_by: process,
        configured_by: process,
        ..ElementNow::new(State::Active, true)
    };
    for node in 1..=3 {
        current.element(name(&format!("web__{node}")), now(1));
    }
    current.element(name("db"), now(2));
    let version = Some(Version { topology: &topology, lookup: &Published });
    let situation = Situation { current: &current, installed: version, desired: version };
    let planned = plan(&situation, &Options { max_unavailable: None, ..Options::default() }).unwrap();
    assert_eq!(planned.diff.batches.len(), 1, "{}", planned.diff);
    assert_snapshot!(planned.diff, @"
    -/+ web__1 replaced
        in: (unknown) → new
    -/+ web__2 replaced
        in: (unknown) → new
    -/+ web__3 replaced
        in: (unknown) → new
    web changes in 3 batches of at most 1 node
    ");
    assert_snapshot!(waves(&planned.plan), @"
    web__1 Stop
    web__1 Uninstall
    web__1 Install
    web__1 Configure
    web__1 Start
    web__2 Stop
    web__2 Uninstall
    web__2 Install
    web__2 Configure
    web__2 Start
    web__3 Stop
    web__3 Uninstall
    web__3 Install
    web__3 Configure
    web__3 Start
    ");
}

/// The values of a part that no longer exists are compared too.
#[test]
fn a_lost_part_with_other_values_shows_both() {
    let (before, after) = (chain("1"), chain("2"));
    let mut current = all_up(&before);
    current.element(name("c"), ElementNow { gone: true, ..ElementNow::new(State::Failed, false) });
    let version = |topology| Some(Version { topology, lookup: &NothingYet });
    let situation = Situation { current: &current, installed: version(&before), desired: version(&after) };
    let planned = plan(&situation, &Options::default()).unwrap();
    let lost = planned.diff.elements.iter().find(|change| change.element == name("c")).unwrap();
    assert_snapshot!(lost, @"
    + c added again, it no longer exists
        in: 1 → 2
    ");
}

/// Steps without calls are not listed. They have the last numbers, so that the numbers of listed steps have
/// no gaps.
#[test]
fn listed_steps_have_numbers_without_gaps() {
    let topology = chain("1");
    let mut current = all_up(&topology);
    current.element(name("c"), ElementNow { gone: true, ..ElementNow::new(State::Failed, false) });
    let plan = change(&current, &topology, Some(&topology));
    let listed: Vec<u32> =
        plan.work().filter(|(_, work)| work.has_calls()).map(|(number, _)| number.0).collect();
    assert_eq!(listed, [1, 2, 3]);
    assert!(plan.work().any(|(_, work)| !work.has_calls()));
}

/// Steps by part and direction; true means up.
type Found = BTreeMap<(ElementName, bool), StepNumber>;

/// Returns the first (`first`) or the last step of each part in each direction.
fn steps(plan: &Plan, first: bool) -> Found {
    let mut found = Found::new();
    for (number, work) in plan.work() {
        let Work::Transition { element, side, .. } = work else { continue };
        let up = *side == Side::Desired;
        let known = found.entry((element.clone(), up)).or_insert(number);
        *known = if first { (*known).min(number) } else { (*known).max(number) };
    }
    found
}

/// Returns for each step all steps for which it waits, directly or through other steps.
fn waited(plan: &Plan) -> BTreeMap<StepNumber, BTreeSet<StepNumber>> {
    let direct: BTreeMap<StepNumber, Vec<StepNumber>> =
        plan.steps().map(|step| (step.number, step.waits().map(|wait| wait.on).collect())).collect();
    let mut all = BTreeMap::new();
    for start in direct.keys() {
        let mut found = BTreeSet::new();
        let mut open = vec![*start];
        while let Some(step) = open.pop() {
            open.extend(direct[&step].iter().filter(|on| found.insert(**on)).copied());
        }
        all.insert(*start, found);
    }
    all
}

/// Returns all pairs of a part and a part on which it depends, directly or through other parts.
fn reachable(on: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for start in 0..on.len() {
        let mut found = BTreeSet::new();
        let mut open = vec![start];
        while let Some(part) = open.pop() {
            open.extend(on[part].iter().filter(|on| found.insert(**on)).copied());
        }
        pairs.extend(found.into_iter().map(|target| (start, target)));
    }
    pairs
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Well,
    New,
    Gone,
    Fails,
    Changes,
    Goes,
}

fn graph() -> impl Strategy<Value = (Vec<Vec<usize>>, Vec<Fate>)> {
    let fate = prop_oneof![
        4 => Just(Fate::Well),
        1 => Just(Fate::New),
        1 => Just(Fate::Gone),
        1 => Just(Fate::Fails),
        2 => Just(Fate::Changes),
        1 => Just(Fate::Goes),
    ];
    (2..8_usize).prop_flat_map(move |count| {
        let on = proptest::collection::vec(
            proptest::collection::vec(any::<proptest::sample::Index>(), 0..3),
            count,
        );
        (on, proptest::collection::vec(fate.clone(), count)).prop_map(|(on, fates)| {
            // A part depends only on later parts, so there is no cycle.
            let count = on.len();
            let later = |at: usize, on: Vec<proptest::sample::Index>| -> Vec<usize> {
                let rest = count - at - 1;
                let on: BTreeSet<usize> =
                    on.into_iter().filter(|_| rest > 0).map(|on| at + 1 + on.index(rest.max(1))).collect();
                on.into_iter().collect()
            };
            (on.into_iter().enumerate().map(|(at, on)| later(at, on)).collect(), fates)
        })
    })
}

proptest! {
    #![proptest_config(few(300))]

    /// A part is raised after all parts on which it depends, and lowered before them. The same order holds if the part
    /// depends on another part only through parts that stay.
    #[test]
    fn dependencies_order_parts_through_others((on, fates) in graph()) {
        let before = dependent(&on, &vec![Some(0); on.len()]);
        let value = |fate: &Fate| (*fate != Fate::Goes).then_some(u8::from(*fate == Fate::Changes));
        let values: Vec<Option<u8>> = fates.iter().map(value).collect();
        let after = dependent(&on, &values);
        let mut current = all_up(&before);
        for (at, fate) in fates.iter().enumerate() {
            let now = match fate {
                Fate::Well | Fate::Changes | Fate::Goes => continue,
                Fate::New => ElementNow::new(State::Absent, false),
                Fate::Gone => ElementNow { gone: true, ..ElementNow::new(State::Failed, false) },
                Fate::Fails => {
                    ElementNow { attempted: Some(Transition::Stop), ..ElementNow::new(State::Failed, true) }
                }
            };
            current.element(name(&format!("p{at}")), now);
        }
        let staying: Vec<Vec<usize>> =
            on.iter().map(|on| on.iter().copied().filter(|on| values[*on].is_some()).collect()).collect();
        for (plan, now) in [
            (change(&current, &before, Some(&after)), &staying),
            (change(&current, &before, None), &on),
        ] {
            let (firsts, lasts, waited) = (steps(&plan, true), steps(&plan, false), waited(&plan));
            let part = |at: usize, up: bool| (name(&format!("p{at}")), up);
            for (dependent, on) in reachable(now) {
                let ends = (firsts.get(&part(dependent, true)), lasts.get(&part(on, true)));
                if let (Some(first), Some(last)) = ends {
                    let said = waves(&plan);
                    prop_assert!(waited[first].contains(last), "p{dependent} is up before p{on}:\n{said}");
                }
            }
            for (dependent, on) in reachable(&on) {
                let well = |at: usize| matches!(fates[at], Fate::Well | Fate::Changes | Fate::Goes);
                if !well(dependent) || !well(on) {
                    // Leftovers of failures are removed without waiting for dependents.
                    continue;
                }
                let ends = (firsts.get(&part(dependent, false)), firsts.get(&part(on, false)));
                if let (Some(last), Some(first)) = ends {
                    let said = waves(&plan);
                    prop_assert!(waited[first].contains(last), "p{on} stops before p{dependent}:\n{said}");
                }
            }
        }
    }
}
