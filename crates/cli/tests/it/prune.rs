//! Old processes and versions are removed from the state, and needed processes and versions stay.

use rustix::process::Signal;

use crate::env::{TestEnv, until};

const NOTHING: &str = "nothing to prune: windlass keeps the newest # and all that are younger than @\n";

/// Returns an assembly of one part that was changed several times. Each change made a process and a version.
fn changed(times: u32, retention: &str) -> TestEnv {
    let env = TestEnv::bare();
    env.write("windlass.yaml", format!("version: 1\n{retention}"));
    env.write(
        "shop/assembly.yaml",
        "name: assembly::shop::1.0
properties: {size: {default: none}}
composition:
  a: {type: resource::part::1.0, properties: {size: {value: '${size}'}}}
",
    );
    env.write(
        "shop/Contains/part/resource.yaml",
        "name: resource::part::1.0
properties: {size: {type: string}}
lifecycle: [Install, Reconfigure]
default-driver: {noop: {properties: {effect: repeatable}}}
",
    );
    for time in 1..=times {
        env.ok(&["up", "shop", "-p", &format!("size=v{time}"), "--yes"]);
    }
    env
}

fn processes(env: &TestEnv) -> Vec<String> {
    let listed = env.json(&["ps", "shop"]);
    let ids = listed["processes"].as_array().unwrap().iter().map(|process| &process["id"]);
    ids.map(|id| id.to_string().trim_matches('"').trim_start_matches('p').to_owned()).collect()
}

fn versions(env: &TestEnv) -> usize {
    env.json(&["history", "shop"])["versions"].as_array().unwrap().len()
}

/// Returns the parameter of the assembly's last version.
fn size(env: &TestEnv) -> String {
    let history = env.json(&["history", "shop"]);
    let last = history["versions"].as_array().unwrap().last().unwrap();
    last["parameters"]["size"].as_str().unwrap().to_owned()
}

/// All but the newest processes are removed, and a rollback to the remaining versions works.
#[test]
fn old_records_are_pruned_and_kept_versions_can_be_rolled_back_to() {
    let env = changed(5, "");
    assert_eq!(env.ok(&["prune"]).out(), NOTHING.replace('#', "50").replace('@', "90d"));
    assert_eq!(
        env.ok(&["prune", "shop", "--keep", "2"]).out(),
        NOTHING.replace('#', "2").replace('@', "90d")
    );
    let looked = env.ok(&["prune", "shop", "--keep", "2", "--older", "0s", "--dry-run"]);
    assert_eq!(looked.out(), "shop: would remove 3 processes and 3 versions\n");
    assert_eq!((processes(&env).len(), versions(&env)), (5, 5), "it was only looked at");
    let pruned = env.ok(&["prune", "shop", "--keep", "2", "--older", "0s"]);
    assert_eq!(pruned.out(), "shop: removed 3 processes and 3 versions\n");
    assert_eq!(processes(&env), ["4", "5"]);
    assert_eq!(versions(&env), 2);
    env.ok(&["prune", "--keep", "2", "--older", "0s"]);
    env.ok(&["log", "shop"]);
    let refused = env.run(&["rollback", "shop", "--to", "p2"]);
    assert_ne!(refused.code(), Some(0), "{refused}");
    env.ok(&["rollback", "shop", "--yes"]);
    assert_eq!(size(&env), "v4");
    // The version of the newest process and the current state stay, even if the retention is zero.
    env.ok(&["prune", "--keep", "0", "--older", "0s"]);
    assert_eq!(processes(&env).len(), 1);
    env.ok(&["up", "shop", "-p", "size=v9", "--yes"]);
    assert_eq!(size(&env), "v9");
    // The history of a deleted assembly is removed, too.
    env.ok(&["down", "shop"]);
    env.ok(&["prune", "shop", "--keep", "0", "--older", "0s"]);
    let gone = env.run(&["prune", "shop"]);
    assert_eq!(gone.code(), Some(2), "{gone}");
}

/// An unknown name and invalid limits are refused.
#[test]
fn mistakes_are_told() {
    let env = changed(1, "");
    for (arguments, word) in [
        (&["prune", "shopp"][..], "did you mean `shop`"),
        (&["prune", "--older", "90"], "expected a number with a unit, such as 90d, 12h, 30m or 10s"),
    ] {
        let run = env.run(arguments);
        assert_eq!(run.code(), Some(2), "{run}");
        assert!(run.stderr.contains(word), "{run}");
    }
    env.write("windlass.yaml", "version: 1\nretention: {keep: many, older: 1w, newest: 3}\n");
    let run = env.run(&["prune"]);
    assert_eq!(run.code(), Some(2), "{run}");
    for word in
        ["`keep` is a number, and this is `many`", "`older` is a number with a unit", "no key `newest`"]
    {
        assert!(run.stderr.contains(word), "{word}: {run}");
    }
}

/// If the records of one assembly are damaged, the other assemblies are pruned.
#[test]
fn a_damaged_assembly_does_not_prevent_the_prune_of_others() {
    let env = changed(3, "");
    env.ok(&["up", "shop", "--name", "bad"]);
    let store = rusqlite::Connection::open(env.path(".windlass/state.db")).unwrap();
    store.execute("UPDATE process SET record = '{}' WHERE assembly = 'bad'", []).unwrap();
    drop(store);
    let run = env.run(&["prune", "--keep", "1", "--older", "0s"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert_eq!(run.stdout, "shop: removed 2 processes and 2 versions\n");
    assert!(run.stderr.contains("error: can't prune `bad`: the store `"), "{run}");
    let alone = env.run(&["prune", "bad", "--keep", "1", "--older", "0s"]);
    assert_eq!(alone.code(), Some(1), "{alone}");
}

/// The daemon applies the retention of the project.
#[test]
fn the_daemon_prunes() {
    let env = changed(4, "retention: {keep: 1, older: 0s}\n");
    let daemon = env.spawn(&["run"]);
    until("the daemon has pruned", || processes(&env).len() == 1);
    assert_eq!(versions(&env), 1);
    daemon.signal(Signal::TERM);
    let ended = daemon.end();
    assert_eq!(ended.code(), Some(0), "a daemon that is asked to stop has done its work: {ended}");
}
