//! `windlass forget`: records are removed without a call.

use crate::env::TestEnv;

#[test]
fn a_forgotten_assembly_is_history() {
    let env = TestEnv::up();
    let dry = env.run(&["forget", "h_bta", "--dry-run", "--detailed-exitcode"]);
    assert!(
        dry.code() == Some(3) && dry.stdout.contains("would no longer manage 2 parts and 1 relationship\n"),
        "{dry}"
    );
    let refused = env.refuses(&["forget", "h_bta"]);
    assert!(refused.contains("WL0811") && refused.contains("(2 parts)"), "{refused}");
    let gone = env.ok(&["forget", "h_bta", "--yes"]);
    assert!(gone.stdout.contains("  B__1 Active") && gone.stdout.contains("h_bta is forgotten"), "{gone}");
    assert_eq!(env.trace(), [""; 0], "nothing is called");
    assert!(env.refuses(&["status", "h_bta"]).contains("there is no assembly `h_bta`"));
    let log = env.ok(&["log", "h_bta"]);
    assert!(log.stdout.contains("p1 up completed") && log.stdout.contains("forgot h_bta"), "{log}");
    // The name of the forgotten assembly can be used again.
    env.ok(&["up", "h_bta"]);
}

#[test]
fn a_forgotten_part_is_created_anew() {
    let env = TestEnv::up();
    let json = &env.json(&["forget", "h_bta", "B__1", "--yes"]);
    assert_eq!((&json["part"], &json["resources"][0]["state"]), (&"h_bta__B__1".into(), &"Active".into()));
    assert_eq!(env.trace(), [""; 0], "nothing is called");
    let plan = env.ok(&["up", "h_bta", "--dry-run"]);
    assert!(plan.stdout.contains("+ B__1 added") && plan.stdout.contains("1 to add"), "{plan}");
    env.ok(&["up", "h_bta"]);
    let again = env.ok(&["up", "h_bta"]);
    assert!(again.stdout.contains("nothing to call"), "{again}");
    env.ok(&["down", "h_bta"]);
}

/// An assembly with an interrupted process is forgotten only with `--force`, because its jobs may still run.
#[test]
fn an_interrupted_assembly_is_forgotten_by_force() {
    let env = TestEnv::small("effect: once", &[("Install", "exec sleep 5")]);
    env.cut_when(&["up", "small"], &["Install"]);
    for line in [&["forget", "small", "--yes"][..], &["forget", "small", "box", "--yes", "--force"]] {
        let refused = env.run(line);
        assert!(
            refused.code() == Some(1) && refused.stderr.contains("was interrupted; resume it first"),
            "{refused}"
        );
    }
    env.ok(&["forget", "small", "--yes", "--force"]);
    let ps = env.ok(&["ps", "small"]);
    assert!(ps.stdout.contains("cancelled") && !ps.stdout.contains("in progress"), "{ps}");
}
