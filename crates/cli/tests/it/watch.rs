//! The daemon: metrics arrive, policies act.

use insta::assert_snapshot;

use crate::env::{GATE, TestEnv, until};
use crate::small::{RESOURCE, SCRIPTS};

/// Three consecutive loads above the threshold must scale out the cluster. The daemon receives the loads at a socket,
/// which only the owner of the socket can use.
#[test]
fn policies_act_on_metrics() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "-p", "scale_smoothing=3"]);
    assert_snapshot!(env.run(&["metric", "push", "h_bta__A.load", "50"]), @"
    exit 1
    ----- stderr -----
    error[WL0566]: the metric was not delivered to `PROJECT/.windlass/metrics.sock`: no process listens there; run this command in the folder of a running `windlass run`, or start `windlass run` in this project's folder
    ");
    let watching = env.spawn(&["run", "--health", "0"]);
    let said = |text: &str| watching.stdout().contains(text);
    until("it watches", || said("watching"));
    let socket = std::fs::metadata(env.path(".windlass/metrics.sock")).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    let second = env.run(&["run"]);
    assert!(second.stderr.contains("another `windlass run` receives metrics"), "{second}");
    for load in ["95", "90", "20", "95", "95"] {
        env.ok(&["metric", "push", "h_bta__A.load", load]);
    }
    assert!(!said("scale out"), "two in a row are not three");
    env.ok(&["metric", "push", "h_bta__A.load", "99"]);
    until("it has scaled", || said("p2 completed"));
    assert!(env.ok(&["status"]).stdout.contains("2 Active"), "{}", env.ok(&["status"]));
    assert_snapshot!(env.ok(&["metric", "push", "h_bta__A.laod", "50"]).stderr, @"note: no policy reads `h_bta__A.laod`; did you mean `h_bta__A.load`?");
    assert_snapshot!(env.ok(&["metric", "push", "h_bta__A.load", "OK"]).stderr, @"note: `h_bta__A.load` is not counted: its policy reads a load from 0 to 100");
    assert_snapshot!(env.ok(&["metric", "push", "other__x.disk", "1"]).stderr, @"note: no policy reads `other__x.disk`; policies read `h_bta__A.load`");
    let refused = env.run(&["metric", "push", "h_bta__A.load", "101"]);
    assert!(refused.stderr.contains("`load` is a number from 0 to 100"), "{refused}");
    assert_eq!(refused.code(), Some(2), "{refused}");
    assert!(!refused.stderr.contains("start `windlass run`"), "{refused}");
    let refused = env.run(&["metric", "push", "nonsense", "1"]);
    assert!(refused.stderr.contains("`nonsense` has no `.` between"), "{refused}");
    let refused = env.run(&["metric", "push", "h_bta__A.integrity", "WELL"]);
    assert!(refused.stderr.contains("a load from 0 to 100, or `OK` or `BROKEN`, not `WELL`"), "{refused}");
    assert_eq!(refused.code(), Some(2), "{refused}");
    watching.signal(rustix::process::Signal::INT);
    let run = watching.end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(run.stdout.contains("scale out B"), "{run}");
    let mut told = run.stdout.lines().filter(|line| line.contains(" h_bta: "));
    assert!(told.all(|line| line.starts_with("20") && line.contains("Z h_bta: ")), "{run}");
    assert_eq!(run.stderr.trim(), "stopping", "nothing runs that could be waited for");
    assert!(!env.path(".windlass/metrics.sock").exists());
}

/// The daemon also works in a project with a long path, although the path of a socket has a short maximum
/// length.
#[test]
fn a_project_far_down_has_a_socket_too() {
    let env = TestEnv::bare();
    let folder = "a-folder-with-a-long-name/".repeat(8);
    env.write(&format!("{folder}windlass.yaml"), "version: 1\n");
    let run = |args: &[&str]| env.run_in(&folder, args);
    let mut command = env.command(&["run"]);
    command.current_dir(env.path(&folder));
    let watching = env.start(command);
    until("it listens", || env.path(&format!("{folder}.windlass/metrics.sock")).exists());
    until("it answers", || {
        run(&["metric", "push", "x.load", "1"]).stderr.contains("no policy reads `x.load`")
    });
    assert!(run(&["run"]).stderr.contains("another `windlass run` receives metrics"));
    watching.signal(rustix::process::Signal::INT);
    watching.end();
    assert!(!env.path(&format!("{folder}.windlass/metrics.sock")).exists());
}

/// Returns an active part that is healed after `smoothing` consecutive broken samples.
fn healed_when_broken(smoothing: u32) -> TestEnv {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", ""), ("Stop", "")]);
    healed(env, smoothing)
}

/// Adds a policy that heals the part after `smoothing` consecutive broken samples, and creates the assembly.
fn healed(env: TestEnv, smoothing: u32) -> TestEnv {
    let heal = format!(
        "metrics: {{health: {{type: 'metric::integrity', publication-period: 3600}}}}\n\
         policies: {{heal: {{type: 'policy::heal', metric: health, properties: {{smoothing: {{value: {smoothing}}}}}}}}}\n\
         lifecycle:"
    );
    env.edit(RESOURCE, "lifecycle:", &heal);
    env.ok(&["up", "small"]);
    env
}

/// A failing part without a policy is reported once, and its recovery is reported too.
#[test]
fn unhealthy_parts_without_a_policy_are_reported() {
    let env = healed_when_broken(1);
    env.edit("small/assembly.yaml", "composition:\n", "composition:\n  db: {type: 'resource::db::1.0'}\n");
    env.write(
        "small/Contains/db/resource.yaml",
        "name: resource::db::1.0\nlifecycle: [Install, Integrity]\n\
         default-driver: {script: {properties: {effect: repeatable}}}\n",
    );
    let id = |below: &str| format!(r#"id=$(sed -n '/^{below}:$/{{n;s/^ *"*\([a-z0-9]*\).*/\1/p;}}')"#);
    let script = |name: &str, below: &str, line: &str| {
        let path = format!("small/Contains/db/Lifecycle/script/scripts/{name}.sh");
        env.script(&path, format!("#!/bin/sh\n{}\necho \"{line}\"\n", id(below)));
    };
    script("Install", "launch", "instances: {$id: {instanceId: $id}}");
    let is_there = r#"$([ -e "$WINDLASS_VOLUME_STATE/gone" ] && echo false || echo true)"#;
    script(
        "Integrity",
        "instances",
        &format!("instances: {{$id: {{$set: {{status.flags.active: {is_there}}}}}}}")
            .replace("$set", "\\$set"),
    );
    env.ok(&["up", "small"]);
    let watching = env.spawn(&["run", "--health", "1"]);
    let said = |text: &str| watching.stdout().contains(text);
    until("it watches", || said("watching"));
    env.write(".windlass/volumes/state/gone", "");
    until("it is reported", || said("db: it is not active"));
    assert!(said("small: db: it is not active; no policy heals it; repair it with `windlass heal small db`"));
    // The status shows it, too.
    let status = env.ok(&["status", "small"]).stdout;
    assert!(status.contains("  1 unhealthy\n"), "{status}");
    assert!(status.contains("the health check failed: it is not active"), "{status}");
    let json = env.json(&["status", "small"]);
    assert_eq!(json["assemblies"][0]["parts"], serde_json::json!({"active": 2, "unhealthy": 1, "all": 2}));
    assert!(env.ok(&["log", "small"]).stdout.contains("the health check failed: it is not active"));
    let plan = env.ok(&["plan", "small"]).stdout;
    let found = "  ! db: it is not active\n1 part checked, 0 as recorded\n  -/+ db replaced\n";
    assert!(plan.starts_with(found), "{plan}");
    std::fs::remove_file(env.path(".windlass/volumes/state/gone")).unwrap();
    until("it is well", || said("small: db: it is healthy again"));
    let status = env.ok(&["status", "small"]).stdout;
    assert!(!status.contains("unhealthy") && !status.contains("health check"), "{status}");
    watching.signal(rustix::process::Signal::INT);
    let run = watching.end();
    assert_eq!(run.stdout.matches("it is not active").count(), 1, "{run}");
}

/// If the checks of an assembly can't run, the daemon reports it once, and reports when they work again.
#[test]
fn a_check_that_can_not_run_is_reported() {
    let env = healed_when_broken(1);
    let shell = env.path("shell");
    std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
    env.edit("small/assembly.yaml", "composition:\n", "composition:\n  db: {type: 'resource::db::1.0'}\n");
    env.write(
        "small/Contains/db/resource.yaml",
        "name: resource::db::1.0\nlifecycle: [Install, Integrity]\n\
         default-driver: {script: {properties: {effect: repeatable, style: plain}}}\n",
    );
    let scripts = "small/Contains/db/Lifecycle/script/scripts";
    env.script(&format!("{scripts}/Install.sh"), "#!/bin/sh\n");
    env.script(&format!("{scripts}/Integrity.sh"), format!("#!{}\n", shell.display()));
    env.ok(&["up", "small"]);
    let watching = env.spawn(&["run", "--health", "1s"]);
    let said = |text: &str| watching.stdout().contains(text);
    until("it watches", || said("watching"));
    std::fs::remove_file(&shell).unwrap();
    until("it is reported", || said("the health check fails"));
    std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
    until("it works", || said("the health check works again"));
    watching.signal(rustix::process::Signal::INT);
    let run = watching.end();
    assert_eq!(
        run.stdout.matches("the health check fails: db: `Integrity.sh` could not be started").count(),
        1,
        "{run}"
    );
}

/// A part that does not recover is healed three times and then left alone, until the assembly is changed.
#[test]
fn a_part_that_heals_do_not_help_is_left_alone() {
    let env = healed_when_broken(1);
    let watching = env.spawn(&["run", "--health", "0"]);
    let said = |text: &str| watching.stdout().contains(text);
    let push = |reading: &str| env.ok(&["metric", "push", "small__box.health", reading]).stderr;
    until("it watches", || said("watching"));
    for process in ["p2 completed", "p3 completed", "p4 completed"] {
        assert_eq!(push("BROKEN"), "");
        until(process, || said(process));
    }
    push("BROKEN");
    push("BROKEN");
    assert_snapshot!(env.normal().text(&watching.stdout()), @"
    listening for metrics at PROJECT/.windlass/metrics.sock
    WHEN small: watching small__box.health
    WHEN small: heal box because box.health was broken once
    WHEN small: p2 completed
    WHEN small: heal box because box.health was broken once
    WHEN small: p3 completed
    WHEN small: heal box because box.health was broken once
    WHEN small: p4 completed
    WHEN small: no more heals of box: box.health was broken once, and 3 heals did not repair it; policies heal it again after its health check succeeds, or after a change such as `windlass heal small box`
    ");
    // After one good sample it is healed again.
    push("OK");
    push("BROKEN");
    until("it is healed again", || said("p5 completed"));
    // A manual heal also lets the daemon heal the part again.
    for process in ["p6 completed", "p7 completed"] {
        push("BROKEN");
        until(process, || said(process));
    }
    env.ok(&["heal", "small", "box"]);
    until("that is seen", || {
        push("BROKEN");
        said("p9 completed")
    });
    watching.signal(rustix::process::Signal::INT);
    watching.end();
    let told = env.run(&["metric", "push", "small__box.health", "OK"]);
    assert!(told.stderr.contains("start `windlass run`"), "{told}");
}

/// An idle cluster already has its minimum of nodes, so the daemon can't scale it in. The daemon must report this only
/// once, and again only after the assembly has changed.
#[test]
fn a_cluster_at_its_bound_is_reported_once() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "-p", "scale_smoothing=1"]);
    let watching = env.spawn(&["run", "--health", "0"]);
    let times = |text: &str| watching.stdout().matches(text).count();
    let push = |load: &str| assert_eq!(env.ok(&["metric", "push", "h_bta__A.load", load]).stderr, "");
    until("it watches", || times("watching") == 1);
    for _ in 0..3 {
        push("5");
    }
    until("it is told", || times("can't shrink by 1") == 1);
    push("95");
    until("it has grown", || times("p2 completed") == 1);
    until("it has shrunk again", || {
        env.ok(&["metric", "push", "h_bta__A.load", "5"]);
        times("p3 completed") == 1
    });
    until("it is told again", || {
        env.ok(&["metric", "push", "h_bta__A.load", "5"]);
        times("can't shrink by 1") == 2
    });
    watching.signal(rustix::process::Signal::INT);
    assert_snapshot!(env.normal().text(&watching.end().stdout), @"
    listening for metrics at PROJECT/.windlass/metrics.sock
    WHEN h_bta: watching h_bta__A.load
    WHEN h_bta: not done: scale in B: `h_bta__B` can't shrink by 1: nodes now 1, at least 1 (`minimum-nodes`)
    WHEN h_bta: scale out B because A.load was above 90 once
    WHEN h_bta: p2 completed
    WHEN h_bta: scale in B because A.load was below 10 once
    WHEN h_bta: p3 completed
    WHEN h_bta: not done: scale in B: `h_bta__B` can't shrink by 1: nodes now 1, at least 1 (`minimum-nodes`)
    ");
}

/// While another command changes an assembly, the samples of the assembly's parts do not count. Afterwards, the daemon
/// counts again from zero.
#[test]
fn nothing_counts_while_another_command_changes_it() {
    let gate = r#"until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done"#;
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", ""), ("Stop", gate)]);
    let env = healed(env, 2);
    let watching = env.spawn(&["run", "--health", "0"]);
    let said = |text: &str| watching.stdout().contains(text);
    let push = || env.ok(&["metric", "push", "small__box.health", "BROKEN"]).stderr;
    until("it watches", || said("watching"));
    assert_eq!(push(), "", "one of two");
    let other = env.spawn(&["up", "small", "--replace", "box", "--yes"]);
    until("the other one is at work", || env.trace() == ["Install", "Start", "Stop"]);
    until("that is seen", || push().contains("is ignored while a process changes `small`"));
    push();
    env.write(".windlass/volumes/state/go", "");
    assert_eq!(other.end().code(), Some(0));
    until("that is seen, too", || push().is_empty());
    env.ok(&["metric", "push", "small__box.health", "OK"]);
    watching.signal(rustix::process::Signal::INT);
    assert_snapshot!(env.normal().text(&watching.end().stdout), @"
    listening for metrics at PROJECT/.windlass/metrics.sock
    WHEN small: watching small__box.health
    ");
}

/// The number of heals is kept when `windlass run` is killed and restarted. Otherwise a daemon that crashes
/// again and again would heal a part forever.
#[test]
fn heals_that_do_not_help_are_counted_over_restarts() {
    let env = healed_when_broken(2);
    let push = |readings: &[&str]| {
        for reading in readings {
            assert_eq!(env.ok(&["metric", "push", "small__box.health", reading]).stderr, "");
        }
    };
    // Starts a new daemon, sends samples to it, and kills it after the expected output.
    let life = |readings: &[&str], says: &str| {
        let watching = env.spawn(&["run", "--health", "0"]);
        until("it watches", || watching.stdout().contains("watching"));
        push(readings);
        until(says, || watching.stdout().contains(says));
        watching.signal(rustix::process::Signal::KILL);
        watching.end().stdout
    };
    let broken = ["BROKEN", "BROKEN"];
    for process in ["p2 completed", "p3 completed", "p4 completed"] {
        life(&broken, process);
    }
    let said = life(&broken, "small: no more heals of box");
    assert!(said.contains("3 heals did not repair it") && !said.contains("heal box because"), "{said}");
    let status = env.ok(&["status"]).stdout;
    assert!(status.contains("3 heals did not repair it; no policy heals it"), "{status}");
    // A single good sample does not reset the count of heals. As many good samples in a row as the smoothing
    // do reset it, even after a restart.
    life(&["OK", "BROKEN", "BROKEN"], "small: no more heals of box");
    life(&["OK", "OK", "BROKEN", "BROKEN"], "p5 completed");
    assert!(!env.ok(&["status"]).stdout.contains("heals"));
    life(&broken, "p6 completed");
    life(&broken, "p7 completed");
    // A manual heal while no daemon runs also resets the count.
    env.ok(&["heal", "small", "box"]);
    life(&broken, "p9 completed");
}

/// A check whose script can't be started says nothing about the part, so the part is not healed.
#[test]
fn a_check_that_cannot_run_heals_nothing() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", ""), ("Stop", "")]);
    let interpreter = env.path("interpreter");
    let there = |there: bool| {
        if there {
            std::os::unix::fs::symlink("/bin/sh", &interpreter).unwrap();
        } else {
            std::fs::remove_file(&interpreter).unwrap();
        }
    };
    there(true);
    env.edit(RESOURCE, "lifecycle:\n", "lifecycle:\n  Integrity: {}\n");
    let check = "cat >/dev/null\n[ ! -e \"$WINDLASS_VOLUME_STATE/broken\" ]\n";
    env.script(&format!("{SCRIPTS}/Integrity.sh"), format!("#!{}\n{check}", interpreter.display()));
    let heal = "metrics: {health: {type: 'metric::integrity', publication-period: 1}}\n\
                policies: {heal: {type: 'policy::heal', metric: health, properties: {smoothing: {value: 2}}}}\n\
                lifecycle:";
    env.edit(RESOURCE, "lifecycle:", heal);
    env.ok(&["up", "small"]);
    there(false);
    let watching = env.spawn(&["run", "--health", "1"]);
    let said = |text: &str| watching.stdout().contains(text) || watching.stderr().contains(text);
    until("it watches", || said("watching"));
    // This time is enough for several rounds of checks, and for a metric to count as silent.
    std::thread::sleep(std::time::Duration::from_secs(5));
    assert!(!said("heal box"), "{}", watching.stdout());
    // From now on the checks run and fail.
    env.write(".windlass/volumes/state/broken", "");
    there(true);
    until("it heals", || said("heal box"));
    watching.signal(rustix::process::Signal::INT);
    watching.end();
}

/// The daemon is suspended for a time in which samples are due. After the suspension, the daemon must not heal a part
/// because of the missing samples.
#[test]
fn a_suspended_daemon_heals_nothing() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Start", ""), ("Stop", "")]);
    env.edit(RESOURCE, "lifecycle:\n", "lifecycle:\n  Integrity: {}\n");
    env.script(&format!("{SCRIPTS}/Integrity.sh"), "#!/bin/sh\ncat >/dev/null\n");
    let heal = "metrics: {health: {type: 'metric::integrity', publication-period: 2}}\n\
                policies: {heal: {type: 'policy::heal', metric: health, properties: {smoothing: {value: 1}}}}\n\
                lifecycle:";
    env.edit(RESOURCE, "lifecycle:", heal);
    env.ok(&["up", "small"]);
    let watching = env.spawn(&["run", "--health", "1"]);
    let said = |text: &str| watching.stdout().contains(text) || watching.stderr().contains(text);
    until("it watches", || said("watching"));
    for _ in 0..2 {
        std::thread::sleep(std::time::Duration::from_secs(2));
        watching.signal(rustix::process::Signal::STOP);
        std::thread::sleep(std::time::Duration::from_secs(5));
        watching.signal(rustix::process::Signal::CONT);
    }
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(!said("heal box"), "{}", watching.stdout());
    watching.signal(rustix::process::Signal::INT);
    watching.end();
}

/// A heal installs a part again whose instance no longer exists.
#[test]
fn a_policy_installs_a_lost_instance_again() {
    let env = TestEnv::new();
    env.write("assembly.yaml", "name: assembly::lost::1.0\ncomposition: {a: {type: 'resource::a::1.0'}}\n");
    env.write(
        "Contains/a/resource.yaml",
        "name: resource::a::1.0\nlifecycle: [Install, Start, Integrity, Stop]\n\
         metrics: {health: {type: 'metric::integrity', publication-period: 1}}\n\
         policies: {mend: {type: 'policy::heal', metric: health, properties: {smoothing: {value: 2}}}}\n\
         default-driver: {script: {properties: {style: plain, effect: repeatable}}}\n",
    );
    let thing = "thing=\"$WINDLASS_VOLUME_STATE/thing\"";
    for (name, line) in [
        ("Install", "mkdir -p \"$thing\""),
        ("Start", ": >\"$thing/runs\""),
        ("Stop", "rm -f \"$thing/runs\""),
        ("Integrity", "[ -d \"$thing\" ] || exit 104; [ -e \"$thing/runs\" ]"),
    ] {
        let path = format!("Contains/a/Lifecycle/script/scripts/{name}.sh");
        env.script(&path, format!("#!/bin/sh\n{thing}\n{line}\n"));
    }
    env.ok(&["up"]);
    let thing = env.path(".windlass/volumes/state/thing");
    for heal in ["lost a", "the policy"] {
        std::fs::remove_dir_all(&thing).unwrap();
        if heal == "the policy" {
            let watching = env.spawn(&["run", "--health", "1"]);
            until("it heals", || watching.stdout().contains("p3 completed"));
            watching.signal(rustix::process::Signal::INT);
            watching.end();
        } else {
            env.ok(&["heal", "lost", "a"]);
        }
        assert!(thing.join("runs").exists(), "{heal}");
    }
}

/// A health check can report signals of the interface `metrics`. windlass must use these signals as samples of the load
/// and the integrity.
#[test]
fn policies_act_on_what_health_checks_say() {
    let env = TestEnv::new();
    env.write(
        "farm/assembly.yaml",
        "name: assembly::farm::1.0
composition:
  web:
    type: resource::web::1.0
    cluster: {initial-quantity: 1, minimum-nodes: 1, maximum-nodes: 2}
policies:
  grow:
    type: policy::scale
    metric: web.load
    target: web
    properties:
      scaleOut_threshold: {value: 80}
      scaleIn_threshold: {value: 10}
      smoothing: {value: 2}
",
    );
    env.write(
        "farm/Contains/web/resource.yaml",
        "name: resource::web::1.0
lifecycle: [Install, Start, Integrity, Stop, Uninstall]
default-driver: {script: {properties: {effect: repeatable}}}
metrics:
  load: {type: metric::load, publication-period: 0}
  well: {type: metric::integrity, publication-period: 0}
policies:
  mend:
    type: policy::heal
    metric: well
    properties: {smoothing: {value: 2}}
",
    );
    let scripts = "farm/Contains/web/Lifecycle/script/scripts";
    let head = r#"#!/bin/sh
set -eu
input=$(cat)
trace=$(printf '%s\n' "$input" | sed -n 's/^ *location.trace: "\(.*\)"$/\1/p')
id=$(printf '%s\n' "$input" | sed -n '/^launch:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;};/^instances:$/{n;s/^ *"\{0,1\}\([a-z0-9]*\)"\{0,1\}:.*/\1/p;}')
"#;
    env.script(
        &format!("{scripts}/Install.sh"),
        format!("{head}printf 'instances:\\n  \"%s\":\\n    instanceId: \"%s\"\\n' \"$id\" \"$id\"\n"),
    );
    for transition in ["Start", "Stop", "Uninstall"] {
        env.script(&format!("{scripts}/{transition}.sh"), format!("{head}echo {transition} >>\"$trace\"\n"));
    }
    let check = r#"printf 'instances:\n  "%s":\n    status:\n      flags: {active: true, converging: false, failed: false}\n    interfaces:\n      metrics:\n        signals:\n' "$id"
cat "$WINDLASS_VOLUME_STATE/says"
"#;
    env.script(&format!("{scripts}/Integrity.sh"), format!("{head}{check}"));
    let says = |load: &str, well: &str| {
        let text = format!("          load: {load}\n          well: {well}\n");
        // The file is replaced atomically, because a check may read it at any time.
        env.write(".windlass/volumes/state/next", text);
        let volume = env.path(".windlass/volumes/state");
        std::fs::rename(volume.join("next"), volume.join("says")).unwrap();
    };
    says("50", "OK");
    env.ok(&["up", "farm"]);
    env.clear_trace();
    let watching = env.spawn(&["run", "--health", "1"]);
    let said = |text: &str| watching.stdout().contains(text);
    says("\"much\"", "OK");
    until("it is told what is no load", || watching.stderr().contains("not `much`") || said("not `much`"));
    says("95", "OK");
    until("it has scaled out", || said("p2 completed"));
    says("50", "BROKEN");
    until("it heals", || said("heal web__1"));
    says("50", "OK");
    until("it is stopped and started", || env.trace().contains(&"Stop".to_owned()));
    watching.signal(rustix::process::Signal::INT);
    let run = watching.end();
    assert!(run.stdout.contains("scale out web"), "{run}");
}

/// When the daemon is stopped while it works, it names the processes that it waits for.
#[test]
fn the_daemon_names_the_processes_that_it_waits_for() {
    let env = TestEnv::small("effect: repeatable", &[("Install", GATE), ("Uninstall", "")]);
    env.ok(&["up", "small", "--queue"]);
    let watching = env.spawn(&["run", "--health", "0"]);
    until("the script has begun", || env.trace() == ["Install"]);
    watching.signal(rustix::process::Signal::INT);
    let told = " the jobs of small have 10 s to end; interrupt again to stop them now\n";
    until("it is told", || watching.stderr().contains(told));
    env.write(".windlass/volumes/state/go", "");
    let run = watching.end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(
        run.stdout.contains("small: p2 completed") || run.stdout.contains("small: p2 is interrupted"),
        "{run}"
    );
}
