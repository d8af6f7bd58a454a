//! The public behaviour of plans: order, cycles, shape.

use insta::assert_snapshot;
use proptest::prelude::*;
use windlass_plan::{Draft, PlanBuilder, StepNumber, WaitKind};

mod draw;
mod why;

/// A plan whose work and reasons are text.
type Plan = windlass_plan::Plan<String, String>;

fn builder() -> PlanBuilder<String, String> {
    PlanBuilder::new()
}

fn add<const N: usize>(builder: &mut PlanBuilder<String, String>, work: [&str; N]) -> [Draft; N] {
    work.map(|work| builder.step(work.to_owned()))
}

fn show(plan: &Plan) -> String {
    let lines = plan.steps().map(|step| {
        let waits = step.waits().map(|wait| format!(" [{} {:?}: {}]", wait.on, wait.kind, wait.reason));
        format!("{} {}{}\n", step.number, step.task, waits.collect::<String>())
    });
    lines.collect()
}

#[test]
fn steps_keep_the_order_of_adding_where_waits_leave_a_choice() {
    let mut builder = builder();
    let [link, docs, compile] = add(&mut builder, ["link", "docs", "compile"]);
    let built = builder.barrier("all is built");
    for step in [link, docs, compile] {
        builder.wait(built, step, WaitKind::After, "it is a part".into());
    }
    builder.wait(link, compile, WaitKind::Needs, "objects".into());
    let plan = builder.build().unwrap();
    assert_snapshot!(show(&plan), @"
    s1 docs
    s2 compile
    s3 link [s2 Needs: objects]
    s4 all is built [s1 After: it is a part] [s2 After: it is a part] [s3 After: it is a part]
    ");
    assert_eq!(plan.critical_path(), [2, 3].map(StepNumber));
    assert_eq!(plan.widest(), 2);
    let work: Vec<String> = plan.work().map(|(number, work)| format!("{number} {work}")).collect();
    assert_eq!(work, ["s1 docs", "s2 compile", "s3 link"]);
}

#[test]
fn a_circle_is_the_shortest_one_edge_by_edge() {
    let mut builder = builder();
    let [a, b, c, d] = add(&mut builder, ["a", "b", "c", "d"]);
    let ready = builder.barrier("b is ready");
    builder.wait(a, ready, WaitKind::After, "a uses b".into());
    builder.wait(ready, b, WaitKind::Needs, "of b".into());
    builder.wait(b, a, WaitKind::Needs, "b uses a".into());
    builder.wait(c, a, WaitKind::Needs, "c uses a".into());
    builder.wait(d, c, WaitKind::Needs, "d uses c".into());
    builder.wait(a, d, WaitKind::Needs, "a uses d".into());
    builder.wait(ready, d, WaitKind::Needs, "of d".into());
    assert_snapshot!(builder.build().unwrap_err(), @"
    3 steps wait for each other
      a waits for d: a uses d
      d waits for c: d uses c
      c waits for a: c uses a
    ");
}

#[test]
fn a_step_that_waits_for_itself_is_a_circle() {
    let mut builder = builder();
    let [_, b] = add(&mut builder, ["a", "b"]);
    builder.wait(b, b, WaitKind::Needs, "it uses itself".into());
    assert_snapshot!(builder.build().unwrap_err(), @"
    a step waits for itself
      b waits for b: it uses itself
    ");
}

#[test]
fn of_several_waits_for_one_step_the_strongest_stays_with_its_first_reason() {
    let mut builder = builder();
    let [a, b] = add(&mut builder, ["a", "b"]);
    for (kind, reason) in [
        (WaitKind::After, "weak"),
        (WaitKind::Needs, "first"),
        (WaitKind::Needs, "second"),
        (WaitKind::After, "weak, too"),
    ] {
        builder.wait(b, a, kind, reason.into());
    }
    assert_snapshot!(show(&builder.build().unwrap()), @"
    s1 a
    s2 b [s1 Needs: first]
    ");
}

#[test]
fn waits_share_a_reason() {
    let mut builder = builder();
    let [a, b, c] = add(&mut builder, ["a", "b", "c"]);
    let why = builder.note("both use a".into());
    for step in [b, c] {
        builder.wait_because(step, a, WaitKind::Needs, why);
    }
    assert_snapshot!(show(&builder.build().unwrap()), @"
    s1 a
    s2 b [s1 Needs: both use a]
    s3 c [s1 Needs: both use a]
    ");
}

#[test]
fn a_plan_is_read_back_as_it_was_written() {
    let mut builder = builder();
    let [a, b] = add(&mut builder, ["a", "b"]);
    let ready = builder.barrier("a is ready");
    builder.wait(ready, a, WaitKind::After, "of a".into());
    builder.wait(b, ready, WaitKind::Needs, "b uses a".into());
    let plan = builder.build().unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_snapshot!(text, @r#"{"version":1,"steps":[{"id":1,"work":"a","waits":[]},{"id":2,"work":"b","waits":[{"on":3,"kind":"needs","reason":"b uses a"}]},{"id":3,"work":{"barrier":{"label":"a is ready"}},"waits":[{"on":1,"kind":"after","reason":"of a"}]}]}"#);
    let read: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(read, plan);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert_eq!((read.critical_path(), read.widest()), (plan.critical_path(), plan.widest()));
}

#[test]
fn a_document_that_is_no_plan_is_refused() {
    let read = |steps: &str| {
        let text = format!(r#"{{"version":1,"steps":[{steps}]}}"#);
        serde_json::from_str::<Plan>(&text).unwrap_err().to_string()
    };
    assert_eq!(read(r#"{"id":2,"work":"a","waits":[]}"#), "the step at place 1 of a plan has the number s2");
    assert_eq!(read(r#"{"id":0,"work":"a","waits":[]}"#), "the step at place 1 of a plan has the number s0");
    let newer = serde_json::from_str::<Plan>(r#"{"version":2,"steps":[]}"#).unwrap_err().to_string();
    assert_eq!(newer, "a plan of version 2 can't be read; this program reads version 1");
    let wait = |on: u32| format!(r#"[{{"on":{on},"kind":"after","reason":"x"}}]"#);
    let nowhere = read(&format!(r#"{{"id":1,"work":"a","waits":{}}}"#, wait(2)));
    assert_eq!(nowhere, "step s1 of a plan waits for s2, which is not there");
    let circle =
        format!(r#"{{"id":1,"work":"a","waits":{}}},{{"id":2,"work":"b","waits":{}}}"#, wait(2), wait(1));
    assert!(read(&circle).starts_with("the steps of a plan wait for each other in a circle with s"));
}

#[test]
fn numbers_go_back_along_waits_and_nowhere_in_a_circle() {
    let mut builder = builder();
    let [a, b, c] = add(&mut builder, ["a", "b", "c"]);
    builder.wait(b, a, WaitKind::Needs, "x".into());
    builder.wait(c, b, WaitKind::Needs, "x".into());
    assert_eq!(builder.least_of_dependents(vec![9, 7, 3]), Some(vec![3, 3, 3]));
    assert_eq!(builder.least_of_dependents(vec![1, 7, 3]), Some(vec![1, 3, 3]));
    builder.wait(a, c, WaitKind::Needs, "x".into());
    assert_eq!(builder.least_of_dependents(vec![9, 7, 3]), None);
}

proptest! {
    /// Each step waits only for steps that were added earlier. The builder must then return a plan. In this plan, each
    /// step must come after all steps that it waits for.
    #[test]
    fn acyclic_waits_are_ordered(edges in proptest::collection::vec((1_usize..40, 0_usize..40), 0..120)) {
        let mut builder = builder();
        let steps: Vec<Draft> = (0..40).map(|n| builder.step(format!("n{n}"))).collect();
        for (from, to) in edges {
            builder.wait(steps[from], steps[to % from], WaitKind::Needs, "x".into());
        }
        let plan = builder.build().unwrap();
        for step in plan.steps() {
            prop_assert!(step.waits().all(|wait| wait.on < step.number));
        }
        let path = plan.critical_path();
        for pair in path.windows(2) {
            prop_assert!(plan.step(pair[1]).unwrap().waits().any(|wait| wait.on == pair[0]));
        }
        prop_assert!(plan.widest() * path.len() >= 40);
        let read: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        prop_assert_eq!((read.widest(), read.critical_path()), (plan.widest(), path));
    }
}
