//! Tests explanations of waits.

use insta::assert_snapshot;
use windlass_plan::{Because, StepNumber, WaitKind};

use crate::{add, builder};

#[test]
fn a_step_is_explained_as_far_back_as_asked_and_each_step_once() {
    let mut builder = builder();
    let [a, b, c, d] = add(&mut builder, ["a", "b", "c", "d"]);
    let gate = builder.barrier("a and b are ready");
    for step in [a, b] {
        builder.wait(gate, step, WaitKind::Needs, "ready".into());
    }
    builder.wait(b, a, WaitKind::Needs, "b uses a".into());
    builder.wait(c, gate, WaitKind::After, "all are ready".into());
    builder.wait(d, c, WaitKind::Needs, "d uses c".into());
    let plan = builder.build().unwrap();
    let show = |depth| -> String {
        let all = plan.why(StepNumber(4), depth).expect("the step is there");
        let line = |because: &Because<'_, String, String>| {
            let Because { depth, step, wait, on, is_repeated } = because;
            let repeated = if *is_repeated { " (see above)" } else { "" };
            format!("{}{} for {}: {}{repeated}\n", "  ".repeat(*depth), step.number, on.task, wait.reason)
        };
        all.iter().map(line).collect()
    };
    assert_snapshot!(show(1), @"  s4 for c: d uses c");
    assert_snapshot!(show(usize::MAX), @"
    s4 for c: d uses c
      s3 for a and b are ready: all are ready
      s5 for a: ready
      s5 for b: ready
        s2 for a: b uses a
    ");
    assert_eq!(plan.why(StepNumber(9), 1), None);
}

/// The explanation is limited to three levels. It lists the step `shared` first at level 3, and later at level 2. The
/// waits of `shared` must follow its entry at level 2. After the entry at level 3, they would exceed the limit.
#[test]
fn a_step_at_the_deepest_level_is_explained_later() {
    let mut builder = builder();
    let [deepest, shared, middle, long, short, last] =
        add(&mut builder, ["deepest", "shared", "middle", "long", "short", "last"]);
    let waits =
        [(shared, deepest), (middle, shared), (long, middle), (short, shared), (last, long), (last, short)];
    for (step, on) in waits {
        builder.wait(step, on, WaitKind::Needs, "it is used".into());
    }
    let plan = builder.build().unwrap();
    let all = plan.why(StepNumber(6), 3).expect("the step is there");
    let named: Vec<String> =
        all.iter().map(|because| format!("{} {}", because.depth, because.on.task)).collect();
    assert_eq!(named, ["1 long", "2 middle", "3 shared", "1 short", "2 shared", "3 deepest"]);
}
