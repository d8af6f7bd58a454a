//! The main job: an assembly comes up, is looked at, and goes down.

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn h_bta_comes_up_in_its_order() {
    let env = TestEnv::with("h_bta");
    let run = env.ok(&["up", "h_bta", "--parallelism", "1"]);
    assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
    h_bta: 7 steps, up to 2 at once (p1 up)
       s1 A    Install
       s2 B__1 Install
       s3 A    Configure
       s4 B__1 Configure
       s5 A    Start, Integrity
       s6 B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
       s7 B__1 Start, Integrity

    ok        A Install LONG
    ok        B__1 Install LONG
    ok        A Configure LONG
    ok        B__1 Configure LONG
    ok        A Start, Integrity LONG
    info      B__1: h_bta__A and h_bta__B__1 are related
    info      A: h_bta__A and h_bta__B__1 are related
    ok        B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 LONG
    ok        B__1 Start, Integrity LONG

    done: h_bta is Active (LONG)
      output: A_output
    ----- stderr -----
    warning[WL0170]: `B` may have several nodes; the value of the lowest one, `B__1`, is taken
      --> h_bta/assembly.yaml:18:12
       |
    18 |     value: ${B.output}
       |            ^^^^^^^^^^^
    ");
    assert_snapshot!(env.trace().join("\n"), @"
    Install h_bta__A
    Install h_bta__B__1
    Configure h_bta__A
    Configure h_bta__B__1
    Start h_bta__A
    Integrity h_bta__A
    CreateRelationship3 h_bta__B__1 source=h_bta__A target=h_bta__B__1
    CreateRelationship3 h_bta__A source=h_bta__A target=h_bta__B__1
    Start h_bta__B__1
    Integrity h_bta__B__1
    ");
}
