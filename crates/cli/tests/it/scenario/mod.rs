//! A system of six real servers changes while a client uses it: no request fails.
//!
//! A database, a cache, three web nodes and a balancer are processes. A supervisor in this test manages them,
//! as systemd does on a host. Servers are stopped by a kill, so a request fails if the balancer still knows a
//! stopped node.

mod supervisor;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::env::{TestEnv, say, until};
use supervisor::Supervisor;

const ASSEMBLY: &str = "name: assembly::shop::1.0
properties:
  greeting: {default: hello}
  address: {read-only: true, value: '${balancer.address}'}
composition:
  db: {type: 'resource::store::1.0', properties: {text: {value: db}}}
  cache: {type: 'resource::store::1.0', properties: {text: {value: cache}}}
  web:
    type: resource::web::1.0
    quantity: 3
    depends-on: [db, cache]
    update: {max-unavailable: 1, on-failure: rollback}
    properties:
      name: {value: '${instance.name}'}
      greeting: {value: '${greeting}'}
      stores: {value: '${db.address} ${cache.address}'}
  balancer: {type: 'resource::balancer::1.0'}
relationships:
  balances:
    source-capabilities: [web.Http]
    target-requirements: [balancer.Backend]
    source-state: Active
    target-state: Active
    properties: {name: {value: '${source.name}'}, address: {value: '${source.address}'}}
    lifecycle: {Create: [target.AddBackend], Cease: [target.RemoveBackend]}
";

/// The script that sends a request to the supervisor, and prints its answer.
const ASK: &str = r#"#!/bin/sh
set -eu
id=$(cat "$WINDLASS_ID_FILE")
ask() {
    mkfifo reply
    echo "$PWD/reply $*" >"$WINDLASS_VOLUME_RUN/control"
    cat reply
    rm reply
}
"#;

const INSTALL: &str = r#"ask address >"$WINDLASS_OUT/address""#;

const STOP: &str = r#"ask stop "$id""#;

const INTEGRITY: &str = r#"[ "$(ask is-up "$id")" = yes ] || exit 104
curl --fail --silent --show-error "http://$(cat "$WINDLASS_IN/address")/health" >&2"#;

const START_STORE: &str = r#"[ "$(ask start "$id" store "$id" "$(cat "$WINDLASS_IN/address")" "$(cat "$WINDLASS_IN/text")")" = up ]"#;

const START_WEB: &str = r#"text="$(cat "$WINDLASS_IN/greeting"), $(cat lib/page)"
[ "$(ask start "$id" web "$(cat "$WINDLASS_IN/name")" "$(cat "$WINDLASS_IN/address")" \
    "$text|$(tr ' ' '|' <"$WINDLASS_IN/stores")")" = up ]"#;

const START_BALANCER: &str = r#"mkdir -p "$WINDLASS_VOLUME_RUN/$id"
[ "$(ask start "$id" balancer "$id" "$(cat "$WINDLASS_IN/address")" "$WINDLASS_VOLUME_RUN/$id")" = up ]"#;

const ADD: &str = r#"mkdir -p "$WINDLASS_VOLUME_RUN/$id"
printf %s "$(cat "$WINDLASS_ARGUMENTS/address")" >backend
mv backend "$WINDLASS_VOLUME_RUN/$id/$(cat "$WINDLASS_ARGUMENTS/name")""#;

/// The script that removes a node from the balancer. After it, the node gets no further request, and its
/// requests have ended.
const REMOVE: &str = r#"name=$(cat "$WINDLASS_ARGUMENTS/name")
rm -f "$WINDLASS_VOLUME_RUN/$id/$name"
[ "$(ask is-up "$id")" = no ] || curl --fail --silent "http://$(cat "$WINDLASS_IN/address")/drain/$name" >&2"#;

const LIFE: [(&str, &str); 4] =
    [("Install", INSTALL), ("Integrity", INTEGRITY), ("Stop", STOP), ("Uninstall", "")];

/// Writes a package of plain scripts.
fn package(env: &TestEnv, name: &str, lines: &str, scripts: &[(&str, &str)]) {
    let folder = format!("shop/Contains/{name}");
    env.write(
        &format!("{folder}/resource.yaml"),
        format!(
            "name: resource::{name}::1.0
lifecycle: [Install, Start, Integrity, Stop, Uninstall]
on-package-change: replace
default-driver: {{script: {{properties: {{style: plain, effect: repeatable, timeout: 1m}}}}}}
{lines}"
        ),
    );
    for (script, body) in LIFE.iter().chain(scripts) {
        env.script(&format!("{folder}/Lifecycle/script/scripts/{script}.sh"), format!("{ASK}{body}\n"));
    }
}

fn shop() -> TestEnv {
    let env = TestEnv::bare();
    env.write("windlass.yaml", "version: 1\nlocations: {here: {runtime: process, volumes: {run: /run}}}\n");
    env.write("shop/assembly.yaml", ASSEMBLY);
    let properties = "properties: {text: {}, address: {read-only: true}}\n";
    package(&env, "store", properties, &[("Start", START_STORE)]);
    let properties = "properties: {name: {}, greeting: {}, stores: {}, address: {read-only: true}}
capabilities: {Http: {type: http}}\n";
    package(&env, "web", properties, &[("Start", START_WEB)]);
    env.write(PAGE, "first page");
    let properties = "properties: {address: {read-only: true}}
requirements: {Backend: {type: http}}
operations:
  AddBackend: {properties: {name: {}, address: {}}}
  RemoveBackend: {properties: {name: {}, address: {}}}\n";
    let scripts = [("Start", START_BALANCER), ("AddBackend", ADD), ("RemoveBackend", REMOVE)];
    package(&env, "balancer", properties, &scripts);
    env
}

const PAGE: &str = "shop/Contains/web/Lifecycle/script/lib/page";

/// Sends a request. Returns the body of the answer.
fn get(address: &str) -> Result<String, String> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().map_err(|error| error.to_string())?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.0 200") => Ok(body.to_owned()),
        _ => Err(answer),
    }
}

/// A client that sends one request after the other.
struct Client {
    ends: Arc<AtomicBool>,
    answers: Arc<Mutex<Vec<Result<String, String>>>>,
    thread: JoinHandle<()>,
}

impl Client {
    fn of(address: String) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let answers = Arc::new(Mutex::new(Vec::new()));
        let (asks, notes) = (Arc::clone(&ends), Arc::clone(&answers));
        let thread = thread::spawn(move || {
            while !asks.load(Ordering::Relaxed) {
                notes.lock().unwrap().push(get(&address));
                // The pause leaves processor time for the servers and windlass.
                thread::sleep(Duration::from_millis(5));
            }
        });
        Self { ends, answers, thread }
    }

    /// Waits until each node has answered, and returns the different answers since the last call. Panics if a request
    /// has failed.
    fn answers(&self) -> BTreeSet<String> {
        let count = || self.answers.lock().unwrap().len();
        let before = count();
        until("the client has asked each node", || count() > before + 3);
        let answers = std::mem::take(&mut *self.answers.lock().unwrap());
        let failed: Vec<_> = answers.iter().filter(|answer| answer.is_err()).collect();
        assert!(failed.is_empty(), "{} of {} requests failed: {:?}", failed.len(), answers.len(), failed[0]);
        answers.into_iter().map(Result::unwrap).collect()
    }

    fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

fn set<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.map(|text| format!("{text} db cache")).into()
}

#[test]
fn no_request_fails_while_the_system_changes() {
    if !Supervisor::can_run() {
        say("SKIPPED no_request_fails_while_the_system_changes: it needs python3 and curl");
        return;
    }
    let env = shop();
    let supervisor = Supervisor::start(&env);
    let up = |args: &[&str]| env.ok(&[&["up", "shop"], args].concat());
    up(&[]);
    let client = Client::of(env.ok(&["output", "shop", "address", "--raw"]).stdout);
    assert_eq!(client.answers(), set(["hello, first page"]));

    // The first change is a new value of a property.
    let greeting = ["-p", "greeting=welcome", "--yes"];
    let run = up(&greeting);
    assert!(run.stdout.contains("web changes in 3 batches of at most 1 node"), "{run}");
    assert_eq!(client.answers(), set(["hello, first page", "welcome, first page"]));
    assert_eq!(client.answers(), set(["welcome, first page"]));

    // The second change is a changed package of the same version.
    env.write(PAGE, "second page");
    up(&greeting);
    assert_eq!(client.answers(), set(["welcome, first page", "welcome, second page"]));
    assert_eq!(client.answers(), set(["welcome, second page"]));

    // The third change is a new version.
    let version = |from: &str, to: &str| {
        for file in ["shop/assembly.yaml", "shop/Contains/web/resource.yaml"] {
            env.edit(file, &format!("resource::web::{from}"), &format!("resource::web::{to}"));
        }
    };
    version("1.0", "2.0");
    env.write(PAGE, "third page");
    up(&greeting);
    assert_eq!(client.answers(), set(["welcome, second page", "welcome, third page"]));
    assert_eq!(client.answers(), set(["welcome, third page"]));

    // The second node of a new version does not start, so the first node is rolled back too.
    version("2.0", "3.0");
    env.write(PAGE, "no page, it fails at shop__web__2");
    let failed = env.run(&[&["up", "shop"], &greeting[..]].concat());
    assert_eq!(failed.code(), Some(1), "{failed}");
    assert!(failed.stdout.contains("\nrolling back: a node of `web` has failed\n"), "{failed}");
    let both = ["welcome, no page, it fails at shop__web__2", "welcome, third page"];
    assert_eq!(client.answers(), set(both));
    assert_eq!(client.answers(), set(["welcome, third page"]));
    assert!(env.ok(&["status", "shop"]).stdout.starts_with("shop Active"));
    client.end();

    // All six servers are killed.
    version("3.0", "2.0");
    env.write(PAGE, "third page");
    assert_eq!(supervisor.kill_all(), 6);
    up(&greeting);
    let client = Client::of(env.ok(&["output", "shop", "address", "--raw"]).stdout);
    assert_eq!(client.answers(), set(["welcome, third page"]));
    client.end();
    assert!(env.ok(&["status", "shop"]).stdout.starts_with("shop Active"));
    env.ok(&["down", "shop"]);
    assert_eq!(supervisor.kill_all(), 0);
}
