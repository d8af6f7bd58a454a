//! Explanations.

use insta::assert_snapshot;
use windlass_model::StepId;
use windlass_plan::{PlanBuilder, Reason, WaitKind};

use crate::{reads, start};

#[test]
fn a_step_is_explained_as_far_back_as_asked_and_each_step_once() {
    let mut builder = PlanBuilder::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| start(&mut builder, name));
    let gate = builder.barrier("a and b are ready");
    builder.wait(gate, a, WaitKind::Needs, Reason::Phase { label: "ready".into() });
    builder.wait(gate, b, WaitKind::Needs, Reason::Phase { label: "ready".into() });
    builder.wait(b, a, WaitKind::Needs, reads("b", "a"));
    builder.wait(c, gate, WaitKind::After, Reason::Phase { label: "all are ready".into() });
    builder.wait(d, c, WaitKind::Needs, reads("d", "c"));
    let plan = builder.build().unwrap();
    let show = |depth| -> String {
        let all = plan.why(StepId(4), depth).expect("the step is there");
        let line = |because: &windlass_plan::Because<'_>| {
            let told = if because.told { " (see above)" } else { "" };
            format!(
                "{}{} for {}: {}{told}\n",
                "  ".repeat(because.depth),
                because.step.id,
                because.on.work,
                because.wait.reason()
            )
        };
        all.iter().map(line).collect()
    };
    assert_snapshot!(show(1), @"  s4 for c Start, Integrity: d reads `peer` from c (`address`), known once c is installed");
    assert_snapshot!(show(usize::MAX), @"
    s4 for c Start, Integrity: d reads `peer` from c (`address`), known once c is installed
      s3 for a and b are ready: all are ready
      s5 for a Start, Integrity: ready
      s5 for b Start, Integrity: ready
        s2 for a Start, Integrity: b reads `peer` from a (`address`), known once a is installed
    ");
    assert_eq!(plan.why(StepId(9), 1), None);
}
