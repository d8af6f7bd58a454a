//! The long-running mode: metrics come in, policies act.

use insta::assert_snapshot;

use crate::env::{TestEnv, until};

/// Three loads above the threshold let the cluster grow; a broken part is healed; the socket is its owner's alone.
#[test]
fn policies_act_on_metrics() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "-p", "scale_smoothing=3"]);
    assert_snapshot!(env.run(&["metric", "push", "h_bta__A.load", "50"]), @"
    exit 1
    ----- stderr -----
    error: the metric was not taken at `PROJECT/.windlass/metrics.sock`: No such file or directory (os error 2); is `windlass run` running in this project?
    ");
    let watching = env.spawn(&["run", "--health", "0"]);
    let said = |text: &str| watching.stdout().contains(text);
    until("it watches", || said("watching what"));
    let socket = std::fs::metadata(env.path(".windlass/metrics.sock")).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    let second = env.run(&["run"]);
    assert!(second.stderr.contains("another `windlass run` takes metrics"), "{second}");
    for load in ["95", "90", "20", "95", "95"] {
        env.ok(&["metric", "push", "h_bta__A.load", load]);
    }
    assert!(!said("scale out"), "two in a row are not three");
    env.ok(&["metric", "push", "h_bta__A.load", "99"]);
    until("it has scaled", || said("p2 completed"));
    assert!(env.ok(&["status"]).stdout.contains("2 Active"), "{}", env.ok(&["status"]));
    let refused = env.run(&["metric", "push", "h_bta__A.load", "101"]);
    assert!(refused.stderr.contains("`load` is a number from 0 to 100"), "{refused}");
    assert_eq!(refused.code(), Some(2), "{refused}");
    assert!(!refused.stderr.contains("is `windlass run` running"), "{refused}");
    let refused = env.run(&["metric", "push", "nonsense", "1"]);
    assert!(refused.stderr.contains("`metricKey` and `metricName` are needed"), "{refused}");
    let refused = env.run(&["metric", "push", "h_bta__A.integrity", "WELL"]);
    assert!(refused.stderr.contains("`integrity` is `OK` or `BROKEN`"), "{refused}");
    watching.signal(rustix::process::Signal::INT);
    let run = watching.end();
    assert_eq!(run.code(), Some(130), "{run}");
    assert!(run.stdout.contains("scale out B"), "{run}");
    assert!(!env.path(".windlass/metrics.sock").exists());
}
