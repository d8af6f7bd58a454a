//! Several daemons share one store. Only one of the daemons must do each task.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use windlass_store::testing::server::Server;

use crate::env::{TestEnv, until};
use crate::launching::{cloud_in, trace};

/// Returns the number of lines of a trace that begin with a word.
fn count(trace: &[String], word: &str) -> usize {
    trace.iter().filter(|line| line.split(' ').next() == Some(word)).count()
}

/// Two daemons manage the same factory. Exactly one daemon, no matter which, must run each scheduled discovery and each
/// periodic health check. The daemons must adopt each found machine once. If one daemon is killed, the other daemon
/// must do all the work.
#[test]
fn two_daemons_share_the_duties_of_a_factory() {
    let Some(server) = Server::own() else {
        println!("SKIPPED daemons::two_daemons_share_the_duties_of_a_factory: PostgreSQL is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let machine = || {
        let key = folder.path().join("key");
        TestEnv::bare().with_variable("WINDLASS_STATE", server.url()).with_variable("WINDLASS_KEY_FILE", key)
    };
    let here = cloud_in(machine(), "0/2 * * * * ? *");
    let there = machine();
    there.write("windlass.yaml", here.read("windlass.yaml"));
    here.ok(&["app", "launch", "VM", "-p", "configuration.id=i-own"]);
    let before = trace(&here).len();
    let since = || trace(&here).split_off(before);

    let begun = Instant::now();
    let daemons = [&here, &there].map(|env| env.spawn(&["run", "--health", "2"]));
    here.write("cloud/i-outside.new", r#"{"ip": "203.0.113.9", "size": "huge"}"#);
    std::fs::rename(here.path("cloud/i-outside.new"), here.path("cloud/i-outside")).unwrap();
    until("both duties were done often", || {
        count(&since(), "discovered") >= 6 && count(&since(), "check") >= 6
    });
    let (duties, elapsed) = (since(), begun.elapsed());
    for duty in ["discover", "check"] {
        let times = u32::try_from(count(&duties, duty)).unwrap();
        // The first run is at once, the last may have just begun, and a period may be 10 % shorter.
        let least = Duration::from_millis(1800) * times.saturating_sub(2);
        assert!(least < elapsed, "{duty}: {times} times in {elapsed:?}: {duties:?}");
    }
    let adoptions = |of: &crate::run::Running| of.stdout().matches("adopts i-outside").count();
    assert_eq!(daemons.iter().map(adoptions).sum::<usize>(), 1);
    let listed = here.ok(&["app", "discover", "factory", "--dry-run"]).out();
    assert_eq!(listed.matches("known, application").count(), 2, "{listed}");

    // Discoveries that take longer than their period do not overlap.
    here.write("cloud/slow", "");
    let before = trace(&here).len();
    let since = || trace(&here).split_off(before);
    until("several were slow", || count(&since(), "discovered") >= 4);
    let begins = since().into_iter().filter(|line| line.starts_with("discover")).collect::<Vec<_>>();
    assert!(begins.windows(2).all(|pair| pair[0] != pair[1]), "one runs beside another: {begins:?}");
    std::fs::remove_file(here.path("cloud/slow")).unwrap();

    let [killed, other] = daemons;
    killed.kill();
    let before = trace(&here).len();
    let since = || trace(&here).split_off(before);
    until("the other goes on", || count(&since(), "discovered") >= 2 && count(&since(), "check") >= 2);
    other.signal(Signal::TERM);
    let run = other.end();
    assert_eq!(run.code(), Some(0), "{run}");
    here.ok(&["app", "destroy", "vm", "machine-i-outside", "factory"]);
}
