//! References to other assemblies: they are resolved in the store, stay bound, and protect the referenced
//! assembly.

use insta::assert_snapshot;

use crate::env::{TestEnv, until};

/// Returns a project with the assemblies `storage` and `app`. `storage` publishes an address and has a
/// secret. `app` references an assembly `storage`, and publishes the values that it reads.
fn shop() -> TestEnv {
    let env = TestEnv::new();
    write_storage(&env, "1.2");
    env.write(
        "app/assembly.yaml",
        "name: assembly::app::1.0
properties:
  region: {default: eu}
  address: {read-only: true, value: '${web.seen}'}
references:
  storage:
    type: assembly::storage::^1.0
    properties:
      region: {value: '${region}'}
composition:
  web:
    type: resource::web::1.0
    properties:
      address: {value: '${storage.address}'}
      password: {value: '${storage.password}'}
",
    );
    env.write(
        "app/Contains/web/resource.yaml",
        "name: resource::web::1.0
properties: {address: {}, password: {}, seen: {read-only: true}}
lifecycle: [Install, Start, Stop, Uninstall]
default-driver: {noop: {properties: {outputs: {seen: address}}}}
",
    );
    env
}

fn write_storage(env: &TestEnv, version: &str) {
    env.write(
        "storage/assembly.yaml",
        format!(
            "name: assembly::storage::{version}
properties:
  region: {{default: eu}}
  size: {{default: small}}
  password: {{type: password, default: hunter22}}
  address: {{read-only: true, value: '${{disk.address}}'}}
composition:
  disk:
    type: resource::disk::1.0
    properties:
      given: {{value: '${{instance.name}}.example.org'}}
      size: {{value: '${{size}}'}}
"
        ),
    );
    env.write(
        "storage/Contains/disk/resource.yaml",
        "name: resource::disk::1.0
properties: {given: {}, size: {}, address: {read-only: true}}
lifecycle: [Install, Uninstall]
default-driver: {noop: {properties: {outputs: {address: given}}}}
",
    );
}

#[test]
fn another_assembly_is_found_read_and_kept() {
    let env = shop();
    assert_snapshot!(env.refuses(&["up", "app"]), @"
    error[WL0160]: the reference `storage` fits nothing: there is no `assembly::storage::^1.0` with region `eu`
     --> app/assembly.yaml:7:11
      |
    7 |     type: assembly::storage::^1.0
      |           ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: bring one up, or declare it under `existing:` in `windlass.yaml`

    1 error; nothing was changed
    ");
    env.ok(&["up", "storage", "--name", "s1"]);
    env.ok(&["up", "storage", "--name", "us", "-p", "region=us"]);
    let up = env.ok(&["up", "app"]);
    assert!(up.stdout.contains("address: s1__disk.example.org"), "{up}");
    assert_snapshot!(env.ok(&["status", "app"]).out(), @"
    app Active assembly::app::1.0, AGE
    ├─ storage is the assembly s1
    └─ web Active AGE
         seen: s1__disk.example.org
      address: s1__disk.example.org
    ");
    assert_snapshot!(env.ok(&["status", "s1"]).out(), @"
    s1 Active assembly::storage::1.2, AGE
    └─ disk Active AGE
         address: s1__disk.example.org
      referenced by app
      address: s1__disk.example.org
    ");
    let json = env.json(&["status", "app"]);
    assert_eq!(json["assemblies"][0]["components"][0]["referent"]["assembly"], "s1");
    assert_eq!(env.json(&["status", "s1"])["assemblies"][0]["referenced_by"][0], "app");
    assert!(env.ok(&["graph", "app"]).stdout.contains("storage → s1"));

    // An existing reference stays bound even if another assembly fits as well. A new reference with several
    // candidates is ambiguous.
    env.ok(&["up", "storage", "--name", "s2"]);
    let again = env.run(&["up", "app", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(again.code(), Some(0), "{again}");
    assert_snapshot!(env.refuses(&["up", "app", "--name", "app2"]), @"
    error[WL0161]: the reference `storage` fits 2 things with region `eu`: `s1` and `s2`
     --> app/assembly.yaml:7:11
      |
    7 |     type: assembly::storage::^1.0
      |           ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: give more of its properties, until one is left

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["up", "app", "--name", "app2", "-p", "region=asia"]), @"
    error[WL0160]: the reference `storage` fits nothing: there is no `assembly::storage::^1.0` with region `asia`
     --> app/assembly.yaml:7:11
      |
    7 |     type: assembly::storage::^1.0
      |           ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: these exist, but do not fit: `s1` 1.2 (its `region` is `eu`); `s2` 1.2 (its `region` is `eu`); `us` 1.2 (its `region` is `us`)

    1 error; nothing was changed
    ");

    // A secret of the referenced assembly stays secret for the referencing assembly.
    let secret = env.run(&["plan", "app", "--name", "third", "-p", "region=us", "--format", "json"]);
    assert!(!secret.stdout.contains("hunter22"), "{secret}");
    let files: Vec<u8> = ["state.db", "state.db-wal"]
        .iter()
        .filter_map(|file| std::fs::read(env.path(".windlass").join(file)).ok())
        .flatten()
        .collect();
    assert!(!files.windows(8).any(|bytes| bytes == b"hunter22"), "it is sealed");
}

#[test]
fn referenced_assemblies_stay() {
    let env = shop();
    env.ok(&["up", "storage", "--name", "s1"]);
    env.ok(&["up", "app"]);
    env.ok(&["up", "app", "--name", "other"]);
    assert_snapshot!(env.refuses(&["down", "s1"]), @"error[WL0504]: `s1` is referenced by `app` and `other`, and it would be removed; take `app` and `other` down first, or use `--force`");
    assert_snapshot!(env.refuses(&["down", "s1", "--dry-run"]), @"error[WL0504]: `s1` is referenced by `app` and `other`, and it would be removed; take `app` and `other` down first, or use `--force`");
    assert_snapshot!(env.refuses(&["up", "storage", "--name", "s1", "-p", "size=large"]), @"error[WL0504]: `s1` is referenced by `app` and `other`, and `disk` would be re-created; take `app` and `other` down first, or use `--force`");
    write_storage(&env, "1.3");
    assert_snapshot!(env.refuses(&["up", "storage", "--name", "s1"]), @"error[WL0504]: `s1` is referenced by `app` and `other`, and it would become a `assembly::storage::1.3`; take `app` and `other` down first, or use `--force`");
    // Intents that remove nothing are allowed for a referenced assembly.
    env.ok(&["set-state", "s1", "Active"]);
    env.ok(&["down", "other"]);
    env.ok(&["up", "storage", "--name", "s1", "--force"]);
    let again = env.run(&["up", "app", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(again.code(), Some(0), "it still fits, and says the same: {again}");
    env.ok(&["down", "app"]);
    env.ok(&["down", "s1"]);
}

/// A referenced assembly is renamed. The reference must follow the new name, and the published values must stay.
#[test]
fn a_renamed_reference_stays_bound() {
    let env = shop();
    env.ok(&["up", "storage", "--name", "s1"]);
    env.ok(&["up", "app"]);
    assert_snapshot!(env.ok(&["rename", "s1", "store"]).out(), @"
    s1 is now store; nothing was called
      the records of app have the new name
      change it later with `windlass up FILE --name store`; ${instance.name} keeps its values until then
    ");
    assert_snapshot!(env.ok(&["status", "app"]).out(), @"
    app Active assembly::app::1.0, AGE
    ├─ storage is the assembly store
    └─ web Active AGE
         seen: s1__disk.example.org
      address: s1__disk.example.org
    ");
    let again = env.run(&["up", "app", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(again.code(), Some(0), "{again}");
    // The secret of the renamed assembly can be decrypted, and the assembly is still protected by the
    // reference.
    env.ok(&["up", "app", "--replace", "web", "--yes"]);
    assert!(env.refuses(&["down", "store"]).contains("`store` is referenced by `app`"));
    // The new name is a changed value in the next version.
    let plan = env.ok(&["up", "storage", "--name", "store", "--dry-run", "--force"]);
    assert!(plan.stdout.contains("given: s1__disk.example.org → store__disk.example.org"), "{plan}");
    env.ok(&["rename", "app", "web"]);
    env.ok(&["down", "web"]);
    env.ok(&["down", "store"]);
}

/// Only an earlier version of `app` references the renamed assembly. A rollback to this version finds the assembly.
#[test]
fn a_rollback_finds_a_renamed_reference() {
    let env = shop();
    env.ok(&["up", "storage", "--name", "s1"]);
    env.ok(&["up", "app"]);
    let with_reference = env.read("app/assembly.yaml");
    let (before, rest) = with_reference.split_once("references:").unwrap();
    let composition = rest.split_once("composition:").unwrap().1;
    let composition =
        composition.replace("${storage.address}", "none").replace("${storage.password}", "none");
    env.write("app/assembly.yaml", format!("{before}composition:{composition}"));
    env.ok(&["up", "app", "--yes"]);
    let rename = env.ok(&["rename", "s1", "disks"]).out();
    assert!(rename.contains("the records of app have the new name"), "{rename}");
    env.ok(&["rollback", "app", "--yes"]);
    let status = env.ok(&["status", "app"]).out();
    assert!(status.contains("storage is the assembly disks"), "{status}");
}

#[test]
fn a_forcibly_removed_reference_is_reported() {
    let env = shop();
    env.ok(&["up", "storage", "--name", "s1"]);
    env.ok(&["up", "app"]);
    env.ok(&["down", "s1", "--force"]);
    assert_snapshot!(env.refuses(&["up", "app"]), @"
    error[WL0160]: the reference `storage` fits nothing: there is no `assembly::storage::^1.0` with region `eu`
     --> app/assembly.yaml:7:11
      |
    7 |     type: assembly::storage::^1.0
      |           ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: bring one up, or declare it under `existing:` in `windlass.yaml`

    1 error; nothing was changed
    ");
    env.ok(&["up", "storage", "--name", "s2"]);
    let up = env.ok(&["up", "app", "--yes"]);
    assert!(up.stdout.contains("address: s2__disk.example.org"), "{up}");
    env.ok(&["down", "s2", "--force"]);
    env.ok(&["down", "app"]);
}

#[test]
fn references_in_a_circle_are_refused() {
    let env = shop();
    env.ok(&["up", "storage", "--name", "s1"]);
    env.ok(&["up", "app"]);
    env.edit(
        "storage/assembly.yaml",
        "composition:",
        "references:\n  app: {type: assembly::app::1.0}\ncomposition:",
    );
    assert_snapshot!(env.refuses(&["up", "storage", "--name", "s1"]), @"
    error[WL0160]: the reference `app` fits nothing: there is no `assembly::app::1.0`
     --> storage/assembly.yaml:8:15
      |
    8 |   app: {type: assembly::app::1.0}
      |               ^^^^^^^^^^^^^^^^^^
      |
      = help: these exist, but do not fit: `app` 1.0 (it references this assembly itself: `app` -> `s1`)

    1 error; nothing was changed
    ");
}

/// Returns a project with the assembly `lab`, which references a network that a script finds.
fn lab(discover: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "lab/assembly.yaml",
        "name: assembly::lab::1.0
properties:
  network: {default: VIDEO}
  cidr: {read-only: true, value: '${probe.seen}'}
references:
  net:
    type: resource::net::^1.0
    properties:
      name: {value: '${network}'}
      deploymentLocation: {value: admin@local}
composition:
  probe:
    type: resource::probe::1.0
    properties: {cidr: {value: '${net.cidr}'}, net: {value: '${net.id}'}}
",
    );
    env.write(
        "lab/Contains/probe/resource.yaml",
        "name: resource::probe::1.0
properties: {cidr: {}, net: {}, seen: {read-only: true}}
lifecycle: [Install, Uninstall]
default-driver: {noop: {properties: {outputs: {seen: cidr}}}}
",
    );
    env.write(
        "lab/Contains/net/resource.yaml",
        "name: resource::net::1.3
properties: {name: {}, cidr: {}}
queries: {drivers: {script: {selector: {infrastructure-type: ['*']}}}}
",
    );
    env.script("lab/Contains/net/Lifecycle/script/scripts/discover.sh", format!("#!/bin/sh\n{discover}\n"));
    env
}

const NETWORKS: &str = "cat >/dev/null
cat <<ANSWER
instances:
  net-1: {interfaces: {properties: {signals: {name: VIDEO, cidr: 10.0.0.0/24}}}}
  net-2: {interfaces: {properties: {signals: {name: AUDIO, cidr: 10.0.1.0/24}}}}
  net-3: {interfaces: {properties: {signals: {name: AUDIO, cidr: 10.0.2.0/24}}}}
ANSWER";

#[test]
fn a_driver_finds_what_is_referenced() {
    let env = lab(NETWORKS);
    let up = env.ok(&["up", "lab"]);
    assert!(up.stdout.contains("cidr: 10.0.0.0/24"), "{up}");
    assert_snapshot!(env.ok(&["status", "lab"]).out(), @"
    lab Active assembly::lab::1.0, AGE
    ├─ net exists, found as net-1
    └─ probe Active AGE
         seen: 10.0.0.0/24
      cidr: 10.0.0.0/24
    ");
    let again = env.run(&["up", "lab", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(again.code(), Some(0), "{again}");
    assert_snapshot!(env.refuses(&["up", "lab", "-p", "network=AUDIO"]), @"
    error[WL0161]: the reference `net` fits 2 things with deploymentLocation `admin@local`, name `AUDIO`: `AUDIO (net-2)` and `AUDIO (net-3)`
     --> lab/assembly.yaml:7:11
      |
    7 |     type: resource::net::^1.0
      |           ^^^^^^^^^^^^^^^^^^^
      |
      = help: give more of its properties, until one is left

    note[WL0144]: the reference `net` doesn't say where to look: it has no `resourceManager`
     --> lab/assembly.yaml:7:11
      |
    7 |     type: resource::net::^1.0
      |           ^^^^^^^^^^^^^^^^^^^
      |
      = help: an instance at any location fits

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["plan", "lab", "-p", "network=RADIO"]), @"
    error[WL0160]: the reference `net` fits nothing: there is no `resource::net::^1.0` with deploymentLocation `admin@local`, name `RADIO`
     --> lab/assembly.yaml:7:11
      |
    7 |     type: resource::net::^1.0
      |           ^^^^^^^^^^^^^^^^^^^
      |
      = help: `queries` of `resource::net::1.3` have found nothing; look whether it is there

    note[WL0144]: the reference `net` doesn't say where to look: it has no `resourceManager`
     --> lab/assembly.yaml:7:11
      |
    7 |     type: resource::net::^1.0
      |           ^^^^^^^^^^^^^^^^^^^
      |
      = help: an instance at any location fits

    1 error; nothing was changed
    ");
    env.ok(&["down", "lab"]);
}

#[test]
fn a_search_that_fails_says_why() {
    let env = lab("echo 'the cloud is away' >&2; exit 3");
    assert_snapshot!(env.refuses(&["up", "lab"]), @"
    error[WL0162]: the search for the reference `net` failed: `queries` of `resource::net::1.3`: `discover.sh` exited with code 3: the cloud is away
     --> lab/assembly.yaml:7:11
      |
    7 |     type: resource::net::^1.0
      |           ^^^^^^^^^^^^^^^^^^^
      |
      = help: correct the cause and repeat the command, or declare the thing under `existing:` in `windlass.yaml`

    note[WL0144]: the reference `net` doesn't say where to look: it has no `resourceManager`
     --> lab/assembly.yaml:7:11
      |
    7 |     type: resource::net::^1.0
      |           ^^^^^^^^^^^^^^^^^^^
      |
      = help: an instance at any location fits

    1 error; nothing was changed
    ");
    let env = lab(NETWORKS);
    let resource = "lab/Contains/net/resource.yaml";
    env.edit(resource, "{drivers: {script: {selector: {infrastructure-type: ['*']}}}}", "{script: {}}");
    let checked = env.ok(&["check", "lab"]);
    assert!(
        checked.stderr.contains("warning[WL0103]: `queries` has no `script`; it is ignored"),
        "{checked}"
    );
    env.edit(resource, "{script: {}}", "{drivers: {script: {}}}");
    std::fs::remove_dir_all(env.path("lab/Contains/net/Lifecycle")).unwrap();
    let checked = env.run(&["check", "lab"]);
    assert!(checked.stderr.contains("error[WL0400]: `resource::net::1.3` has `queries`"), "{checked}");
    assert_snapshot!(env.refuses(&["up", "lab"]), @"
    error[WL0400]: `resource::net::1.3` has `queries`, and no script for them
     --> lab/Contains/net/resource.yaml:3:21
      |
    3 | queries: {drivers: {script: {}}}
      |                     ^^^^^^
      |
      = help: add `Lifecycle/script/scripts/discover`, with any extension

    1 error; nothing was changed
    ");
}

/// The search for a reference hangs. An interrupt ends the command and the script.
#[test]
fn a_stop_ends_a_search_that_hangs() {
    let env = lab("touch \"$BEGUN\"; exec sleep 300");
    let begun = env.path("begun");
    let script = "lab/Contains/net/Lifecycle/script/scripts/discover.sh";
    env.edit(script, "$BEGUN", begun.to_str().unwrap());
    for command in [&["up", "lab"][..], &["up", "lab", "--queue"]] {
        let up = env.spawn(command);
        until("it searches", || begun.exists());
        up.signal(rustix::process::Signal::INT);
        let run = up.end();
        assert_eq!(run.code(), Some(130), "{run}");
        std::fs::remove_file(&begun).unwrap();
    }
}

/// A package has no Adopt transition. windlass must find and adopt an existing instance with the `queries` of the
/// package instead.
#[test]
fn existing_parts_are_adopted_by_queries() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    let resource = crate::small::RESOURCE;
    env.edit(
        resource,
        "lifecycle:",
        "properties: {size: {}, address: {read-only: true}}\nqueries: {drivers: {script: {}}}\nlifecycle:",
    );
    env.edit(
        "small/assembly.yaml",
        "    quantity: 1\n",
        "    properties: {size: {value: '${size}'}}\nproperties:\n  size: {default: large}\n  address: {read-only: true, value: '${box.address}'}\n",
    );
    let found = "#!/bin/sh
cat >/dev/null
cat <<ANSWER
instances:
  box-1: {interfaces: {properties: {signals: {size: small, address: 203.0.113.1}}}}
  box-2: {interfaces: {properties: {signals: {size: large, address: 203.0.113.2}}}}
  box-3: {interfaces: {properties: {signals: {size: huge, address: 203.0.113.3}}}}
  box-4: {interfaces: {properties: {signals: {size: huge, address: 203.0.113.4}}}}
ANSWER
";
    env.script(&format!("{}/discover.sh", crate::small::SCRIPTS), found);
    assert_snapshot!(env.ok(&["adopt", "small"]).out(), @"
      + box adopted
    1 to add
    small: 1 step, up to 1 at once (p1 adopt)
       s1 box Adopt

    ok        box Adopt LONG

    done: small is Active (LONG)
      address: 203.0.113.2
    ");
    let status = env.json(&["status", "small"]);
    assert_eq!(status["assemblies"][0]["components"][0]["natural"], "box-2");
    assert_eq!(env.trace(), [""; 0], "nothing was installed");
    env.ok(&["down", "small"]);
    assert_eq!(env.trace(), ["Uninstall"]);
    for (size, why) in [
        ("tiny", "`queries` found no matching instance; check that it exists"),
        ("huge", "`queries` found 2 matching instances: `box-3`, `box-4`; set more of its properties"),
    ] {
        let run = env.run(&["adopt", "small", "-p", &format!("size={size}")]);
        assert_eq!(run.code(), Some(1), "{run}");
        assert!(run.stdout.contains(why), "{run}");
        env.ok(&["down", "small"]);
    }
}

/// Returns a project with the assemblies `pool` and `user`. The part of `pool` has the operations Grant and
/// Revoke, promoted through a nested assembly. The relationship of `user` calls these operations. The scripts
/// write to the trace; `grant` is the body of the script Grant.
fn pool(grant: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "pool/assembly.yaml",
        "name: assembly::pool::2.1
properties: {token: {type: password, default: t0ps3cret}}
composition:
  inner:
    type: assembly::inner::1.0
    properties: {token: {value: '${token}'}}
operations:
  Admit: {source-operation: inner.Let}
  Expel: {source-operation: inner.Out}
",
    );
    env.write(
        "pool/Contains/inner/assembly.yaml",
        "name: assembly::inner::1.0
properties: {token: {type: password}}
composition:
  gate: {type: resource::gate::1.0, properties: {token: {value: '${token}'}}}
operations:
  Let: {source-operation: gate.Grant}
  Out: {source-operation: gate.Revoke}
",
    );
    env.write(
        "pool/Contains/gate/resource.yaml",
        "name: resource::gate::1.0
properties: {token: {type: password}, last: {read-only: true}}
lifecycle: [Install, Uninstall]
operations: {Grant: {}, Revoke: {}}
default-driver: {script: {properties: {effect: once}}}
",
    );
    env.write(
        "user/assembly.yaml",
        "name: assembly::user::1.0
properties: {who: {default: ann}}
references:
  pool: {type: 'assembly::pool::~2.1'}
composition:
  app: {type: resource::app::1.0}
relationships:
  access:
    source-capabilities: [pool]
    target-requirements: [app.access]
    source-state: Active
    target-state: Active
    target-state-modifier: pre
    properties: {who: {value: '${who}'}, pool: {value: '${source.name}'}}
    lifecycle: {Create: [source.Admit], Cease: [source.Expel]}
",
    );
    env.write(
        "user/Contains/app/resource.yaml",
        "name: resource::app::1.0
lifecycle: [Install, Start, Stop, Uninstall]
default-driver: {noop: {}}
",
    );
    let head = r#"#!/bin/sh
set -eu
input=$(cat)
trace=$(printf '%s\n' "$input" | sed -n 's/^ *location.trace: "\(.*\)"$/\1/p')
id=$(printf '%s\n' "$input" | sed -n '/^launch:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;}')
gate=$(printf '%s\n' "$input" | sed -n '/^instances:$/{n;s/^ *"\{0,1\}\([a-z0-9-]*\)"\{0,1\}:.*/\1/p;}')
who=$(printf '%s\n' "$input" | sed -n 's/^ *who: "\(.*\)"$/\1/p')
name=${0##*/}
"#;
    let scripts = "pool/Contains/gate/Lifecycle/script/scripts";
    let note = "echo \"${name%.sh} $gate $who\" >>\"$trace\"\n";
    env.script(
        &format!("{scripts}/Install.sh"),
        format!("{head}echo Install >>\"$trace\"\nprintf 'instances:\\n  \"gate-7\": {{instanceId: \"%s\"}}\\n' \"$id\"\n"),
    );
    env.script(&format!("{scripts}/Uninstall.sh"), format!("{head}{note}"));
    let answer = "printf 'instances:\\n  \"%s\":\\n    $set: {interfaces.properties.signals.last: \"%s\"}\\n    $pushAll: {activityLog: [{severity: INFO, message: \"%s has access\"}]}\\n' \"$gate\" \"$who\" \"$who\"\n";
    env.script(&format!("{scripts}/Grant.sh"), format!("{head}{note}{grant}\n{answer}"));
    env.script(&format!("{scripts}/Revoke.sh"), format!("{head}{note}"));
    env
}

#[test]
fn operations_run_on_parts_of_the_other_assembly() {
    let env = pool("");
    env.ok(&["up", "pool"]);
    assert_snapshot!(env.ok(&["up", "user"]).out(), @"
      + app added (resource::app::1.0)
    1 to add
    user: 3 steps, up to 1 at once (p2 up)
       s1 app Install
       s2 app Create access: source.Admit
       s3 app Start

    info      pool__inner__gate: ann has access
    ok        app Create access: source.Admit LONG
    ok        app Install nothing to call
    ok        app Start nothing to call

    done: user is Active (LONG)
    ");
    env.ok(&["up", "user", "--name", "second", "-p", "who=bob"]);
    assert_eq!(env.trace(), ["Install", "Grant gate-7 ann", "Grant gate-7 bob"]);
    assert_snapshot!(env.ok(&["status"]).out(), @"
    pool Active assembly::pool::2.1, AGE
    └─ inner Active
       └─ gate Active AGE
            last: bob
      referenced by second, user

    second Active assembly::user::1.0, AGE
    ├─ pool is the assembly pool
    └─ app Active AGE
      access created × 1

    user Active assembly::user::1.0, AGE
    ├─ pool is the assembly pool
    └─ app Active AGE
      access created × 1
    ");
    assert_snapshot!(env.refuses(&["down", "pool"]), @"error[WL0504]: `pool` is referenced by `second` and `user`, and it would be removed; take `second` and `user` down first, or use `--force`");
    env.clear_trace();
    env.ok(&["down", "user"]);
    assert_eq!(env.trace(), ["Revoke gate-7 ann"]);
    // Relationships to an assembly that was removed by force are not revoked.
    env.ok(&["down", "pool", "--force"]);
    env.clear_trace();
    env.ok(&["down", "second"]);
    assert_eq!(env.trace(), [""; 0]);
    env.edit("user/assembly.yaml", "source.Admit", "source.Admitt");
    env.ok(&["up", "pool"]);
    assert_snapshot!(env.refuses(&["up", "user"]), @"
    error[WL0132]: the reference `pool` is the assembly `pool`, which has no operation `Admitt`
      --> user/assembly.yaml:15:26
       |
    15 |     lifecycle: {Create: [source.Admitt], Cease: [source.Expel]}
       |                          ^^^^^^^^^^^^^
       |
       = help: it has `Admit` and `Expel`

    1 error; nothing was changed
    ");
}

/// As long as an operation may run on a part of a referenced assembly, windlass must refuse other changes of that
/// assembly. After a crash, the next `up` must recover the result of the operation, and must not call the operation
/// again.
#[test]
fn a_crash_in_an_operation_is_recovered() {
    let env = pool(r#"until [ -e "${trace%/*}/project/go" ]; do sleep 0.01; done"#);
    env.ok(&["up", "pool"]);
    let running = env.spawn(&["up", "user"]);
    crate::env::until("the operation has begun", || env.trace().len() == 2);
    assert_snapshot!(env.run(&["set-state", "pool", "Installed"]), @"
    exit 1
    ----- stderr -----
    error[WL0200]: `pool` is held by `windlass up user` (process PID on HOST) since WHEN; wait until it ends, or stop it, and try again
    ");
    running.kill();
    // The operation may still run, so no other call on that part is made.
    assert_snapshot!(env.run(&["set-state", "pool", "Installed"]), @"
    exit 1
    ----- stderr -----
    error[WL0505]: an interrupted process of `user` may still work on parts of `pool`; resume it first: `windlass retry user`
    ");
    env.write("go", "");
    env.ok(&["up", "user"]);
    assert_eq!(env.trace(), ["Install", "Grant gate-7 ann"], "it was not called again");
    assert_eq!(
        env.json(&["status", "pool"])["assemblies"][0]["components"][0]["components"][0]["outputs"]["last"],
        "ann"
    );
    let log = env.ok(&["log", "user"]);
    assert_eq!(log.stdout.matches("ann has access").count(), 1, "{log}");
    env.ok(&["set-state", "pool", "Installed", "--yes"]);
    env.ok(&["down", "user"]);
    env.ok(&["down", "pool"]);
}

/// Each part of a chain doubles the length of the value that it reads from the part before. When a value exceeds the
/// limit, windlass must report one clear error.
#[test]
fn values_that_double_each_other_are_bounded() {
    let env = TestEnv::new();
    let mut composition = String::new();
    for at in 1..=30 {
        let before = match at {
            1 => "0123456789abcdef".to_owned(),
            at => format!("${{c{0}.out}}${{c{0}.out}}", at - 1),
        };
        composition += &[
            format!("  c{at}: {{type: resource::echo::1.0, "),
            format!("properties: {{in: {{value: '{before}'}}}}}}\n"),
        ]
        .concat();
    }
    env.write("twice/assembly.yaml", format!("name: assembly::twice::1.0\ncomposition:\n{composition}"));
    env.write(
        "twice/Contains/echo/resource.yaml",
        "name: resource::echo::1.0\nproperties: {in: {}, out: {read-only: true}}\nlifecycle: [Install, Uninstall]\ndefault-driver: {noop: {properties: {outputs: {out: in}}}}\n",
    );
    let run = env.run(&["up", "twice"]);
    assert_eq!(run.code(), Some(1), "{run}");
    let failed: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("failed")).collect();
    assert_eq!(
        failed,
        [
            "failed    c20 Install: its property `in`: the value would have more than 4 MiB, with all that it reads"
        ],
        "{run}"
    );
    env.ok(&["down", "twice"]);
}
