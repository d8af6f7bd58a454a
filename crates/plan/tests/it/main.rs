//! Plans as a reader sees them: order, circles, shape.

use insta::assert_snapshot;
use proptest::prelude::*;
use windlass_model::{ElementName, State, StepId, Transition};
use windlass_plan::{Draft, Plan, PlanBuilder, PlanError, Read, Reason, WaitKind, Why, Work};

fn element(name: &str) -> ElementName {
    format!("shop__{name}").parse().expect("the name is valid")
}

fn start(builder: &mut PlanBuilder, name: &str) -> Draft {
    builder.step(Work::Transition {
        element: element(name),
        from: State::Inactive,
        to: State::Active,
        calls: [Transition::Start, Transition::Integrity].into(),
        side: windlass_plan::Side::Desired,
    })
}

fn reads(reader: &str, producer: &str) -> Reason {
    Reason::Property {
        reader: element(reader),
        property: "peer".parse().expect("valid"),
        producer: element(producer),
        output: "address".parse().expect("valid"),
        origin: Some(windlass_model::Origin { file: "shop.yaml".into(), line: 7, column: 5 }),
    }
}

fn show(plan: &Plan) -> String {
    let lines = plan.steps().map(|step| {
        let waits = step.waits().map(|w| format!(" [{} {:?}: {}]", w.on, w.kind, w.reason()));
        format!("{} {}{}\n", step.id, step.work, waits.collect::<String>())
    });
    lines.collect()
}

#[test]
fn steps_keep_the_order_of_adding_where_waits_leave_a_choice() {
    let mut builder = PlanBuilder::new();
    let c = start(&mut builder, "c");
    let b = start(&mut builder, "b");
    let a = start(&mut builder, "a");
    let all = builder.barrier("all parts are Active");
    for step in [c, b, a] {
        builder.wait(all, step, WaitKind::After, Reason::Phase { label: "Active".into() });
    }
    builder.wait(c, a, WaitKind::Needs, reads("c", "a"));
    let plan = builder.build().unwrap();
    assert_snapshot!(show(&plan), @r"
    s1 b Start, Integrity
    s2 a Start, Integrity
    s3 c Start, Integrity [s2 Needs: c reads `peer` from a (`address`), known once a is installed]
    s4 all parts are Active [s1 After: Active] [s2 After: Active] [s3 After: Active]
    ");
    assert_eq!(plan.critical_path().iter().map(ToString::to_string).collect::<Vec<_>>(), ["s2", "s3"]);
    assert_eq!(plan.widest(), 2);
}

#[test]
fn a_circle_is_printed_edge_by_edge() {
    let mut builder = PlanBuilder::new();
    let a = start(&mut builder, "a");
    let b = start(&mut builder, "b");
    let c = start(&mut builder, "c");
    builder.wait(a, b, WaitKind::Needs, reads("a", "b"));
    builder.wait(b, a, WaitKind::Needs, reads("b", "a"));
    builder.wait(c, a, WaitKind::Needs, reads("c", "a"));
    let PlanError::Cycle(edges) = builder.build().unwrap_err() else { panic!("a circle was expected") };
    let text = edges.iter().map(|edge| format!("{edge}\n")).collect::<Vec<_>>().concat();
    assert_snapshot!(text, @r"
    a Start, Integrity waits for b Start, Integrity: a reads `peer` from b (`address`), known once b is installed (shop.yaml:7:5)
    b Start, Integrity waits for a Start, Integrity: b reads `peer` from a (`address`), known once a is installed (shop.yaml:7:5)
    ");
}

#[test]
fn the_stronger_of_two_waits_stays() {
    let mut builder = PlanBuilder::new();
    let a = start(&mut builder, "a");
    let b = start(&mut builder, "b");
    builder.wait(b, a, WaitKind::After, Reason::Phase { label: "x".into() });
    builder.wait(b, a, WaitKind::Needs, reads("b", "a"));
    let plan = builder.build().unwrap();
    let waits: Vec<WaitKind> = plan.step(StepId(2)).unwrap().waits().map(|wait| wait.kind).collect();
    assert_eq!(waits, [WaitKind::Needs]);
}

#[test]
fn a_plan_is_read_back_as_it_was_written() {
    let mut builder = PlanBuilder::new();
    let a = start(&mut builder, "a");
    let b = start(&mut builder, "b");
    builder.wait(b, a, WaitKind::Needs, reads("b", "a"));
    let plan = builder.build().unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(read, plan);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn a_plan_with_holes_is_not_read() {
    let read = |text: &str| serde_json::from_str::<Plan>(text).unwrap_err().to_string();
    let barrier = r#""work":{"barrier":{"label":"x"}}"#;
    let second = format!(r#"{{"version":1,"steps":[{{"id":2,{barrier},"waits":[]}}]}}"#);
    assert_eq!(read(&second), "the step at place 1 of a plan has the number s2");
    let wait = r#"{"on":2,"kind":"after","reason":{"phase":{"label":"y"}}}"#;
    let nowhere = format!(r#"{{"version":1,"steps":[{{"id":1,{barrier},"waits":[{wait}]}}]}}"#);
    assert_eq!(read(&nowhere), "step s1 of a plan waits for s2, which is not there");
}

#[test]
fn steps_of_one_element_share_the_reason_of_their_order() {
    let mut builder = PlanBuilder::new();
    let a = start(&mut builder, "a");
    let b = start(&mut builder, "b");
    builder.wait_because(b, a, WaitKind::Needs, Why::order(State::Inactive));
    let plan = builder.build().unwrap();
    assert_snapshot!(show(&plan), @r"
    s1 a Start, Integrity
    s2 b Start, Integrity [s1 Needs: b is Inactive first]
    ");
}

fn work(name: &str) -> Work {
    let (from, to) = (State::Inactive, State::Active);
    let (calls, side) = ([Transition::Start].into(), windlass_plan::Side::Desired);
    Work::Transition { element: element(name), from, to, calls, side }
}

#[test]
fn a_step_may_need_the_one_before_it_and_no_longer_does_without_it() {
    let mut builder = PlanBuilder::new();
    builder.step(work("a"));
    builder.next_step(work("a"), State::Inactive);
    builder.step(work("b"));
    builder.next_step(work("b"), State::Inactive);
    assert_eq!(
        builder.waits().map(|(step, on)| (step.place(), on.place())).collect::<Vec<_>>(),
        [(1, 0), (3, 2)]
    );
    builder.retain(|step| step.place() != 2);
    assert_eq!(builder.waits().map(|(step, on)| (step.place(), on.place())).collect::<Vec<_>>(), [(1, 0)]);
    assert_snapshot!(show(&builder.build().unwrap()), @r"
    s1 a Start
    s2 a Start [s1 Needs: a is Inactive first]
    s3 b Start
    ");
}

#[test]
fn the_first_step_needs_nothing() {
    let mut builder = PlanBuilder::new();
    builder.next_step(work("a"), State::Inactive);
    assert_eq!(builder.waits().count(), 0);
}

#[test]
fn what_is_read_is_told_by_the_two_steps() {
    let mut builder = PlanBuilder::new();
    let [b, a] = ["b", "a"].map(|name| start(&mut builder, name));
    let (property, output) = ("peer".parse().expect("valid"), "address".parse().expect("valid"));
    let why = builder.note_read(Read { property, output, origin: None });
    builder.wait_because(b, a, WaitKind::Needs, why);
    assert_snapshot!(show(&builder.build().unwrap()), @r"
    s1 a Start, Integrity
    s2 b Start, Integrity [s1 Needs: b reads `peer` from a (`address`), known once a is installed]
    ");
}

#[test]
fn numbers_go_back_along_waits_and_nowhere_in_a_circle() {
    let mut builder = PlanBuilder::new();
    let a = builder.step(work("a"));
    let then = builder.next_step(work("a"), State::Inactive);
    let b = builder.step(work("b"));
    builder.wait(b, then, WaitKind::Needs, reads("b", "a"));
    assert_eq!(builder.least_of_dependents(vec![9, 7, 3]), Some(vec![3, 3, 3]));
    assert_eq!(builder.least_of_dependents(vec![1, 7, 3]), Some(vec![1, 3, 3]));
    builder.wait(a, b, WaitKind::Needs, reads("a", "b"));
    assert_eq!(builder.least_of_dependents(vec![9, 7, 3]), None);
}

#[test]
fn a_gate_is_a_barrier_that_each_step_is_told_of_once() {
    let mut builder = PlanBuilder::new();
    let [d, c, b, a] = ["d", "c", "b", "a"].map(|name| start(&mut builder, name));
    let why = builder.note(Reason::Phase { label: "both are up".into() });
    let gate = builder.gate("a and b are up", WaitKind::After, why).unwrap();
    for step in [a, b] {
        builder.before(step, gate);
    }
    for step in [c, d] {
        builder.behind(step, gate);
    }
    builder.wait(b, a, WaitKind::Needs, reads("b", "a"));
    builder.wait(c, d, WaitKind::Needs, reads("c", "d"));
    assert_snapshot!(show(&builder.build().unwrap()), @r"
    s1 a Start, Integrity
    s2 b Start, Integrity [s1 Needs: b reads `peer` from a (`address`), known once a is installed]
    s3 d Start, Integrity [s5 After: both are up]
    s4 c Start, Integrity [s3 Needs: c reads `peer` from d (`address`), known once d is installed] [s5 After: both are up]
    s5 a and b are up [s1 After: both are up] [s2 After: both are up]
    ");
}

#[test]
fn a_circle_through_a_gate_is_told() {
    let mut builder = PlanBuilder::new();
    let [a, b] = ["a", "b"].map(|name| start(&mut builder, name));
    let why = builder.note(Reason::Phase { label: "all are up".into() });
    let gate = builder.gate("a is up", WaitKind::After, why).unwrap();
    builder.before(a, gate);
    builder.behind(b, gate);
    builder.wait(a, b, WaitKind::Needs, reads("a", "b"));
    assert_snapshot!(builder.build().unwrap_err(), @"
    there is no order in which this can be done: 3 steps wait for each other
      a Start, Integrity waits for b Start, Integrity: a reads `peer` from b (`address`), known once b is installed (shop.yaml:7:5)
      b Start, Integrity waits for a is up: all are up
      a is up waits for a Start, Integrity: all are up
    help: give `peer` of a a value that is known beforehand
    ");
}

#[test]
fn steps_that_are_dropped_take_their_waits_along() {
    let mut builder = PlanBuilder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| start(&mut builder, name));
    builder.wait(b, a, WaitKind::Needs, reads("b", "a"));
    builder.wait(c, a, WaitKind::Needs, reads("c", "a"));
    builder.wait(c, b, WaitKind::Needs, reads("c", "b"));
    let why = builder.note(Reason::Phase { label: "ready".into() });
    let gate = builder.gate("a and b are ready", WaitKind::After, why).unwrap();
    builder.before(a, gate);
    builder.before(b, gate);
    builder.behind(c, gate);
    builder.retain(|draft| draft != b);
    assert_snapshot!(show(&builder.build().unwrap()), @"
    s1 a Start, Integrity
    s2 c Start, Integrity [s1 Needs: c reads `peer` from a (`address`), known once a is installed] [s3 After: ready]
    s3 a and b are ready [s1 After: ready]
    ");
}

proptest! {
    /// Waits that only point backwards always give a plan, in which nothing comes before what it waits for.
    #[test]
    fn acyclic_waits_are_ordered(edges in proptest::collection::vec((1_usize..40, 0_usize..40), 0..120)) {
        let mut builder = PlanBuilder::new();
        let steps: Vec<Draft> = (0..40).map(|n| start(&mut builder, &format!("n{n}"))).collect();
        for (from, to) in edges {
            builder.wait(steps[from], steps[to % from], WaitKind::Needs, reads("a", "b"));
        }
        let plan = builder.build().unwrap();
        for step in plan.steps() {
            prop_assert!(step.waits().all(|wait| wait.on < step.id));
        }
        let path = plan.critical_path();
        for pair in path.windows(2) {
            prop_assert!(plan.step(pair[1]).unwrap().waits().any(|wait| wait.on == pair[0]));
        }
        prop_assert!(plan.widest() * path.len() >= 40);
    }
}

mod draw;
mod why;
