//! Publishing of applications, and environments with services, markers and properties.

use std::path::Path;

use insta::assert_snapshot;

use crate::env::TestEnv;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/applications");

/// Returns a project with the example manifests, their scripts and a location for them.
fn project() -> TestEnv {
    let env = TestEnv::bare();
    env.write(
        "windlass.yaml",
        "version: 1\nlocations: {scripts: {runtime: process}, spare: {runtime: process}}\n",
    );
    copy(&env, Path::new(EXAMPLES), "");
    env
}

fn copy(env: &TestEnv, folder: &Path, below: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            copy(env, &entry.path(), &format!("{path}/"));
        } else {
            std::fs::create_dir_all(env.path(&path).parent().unwrap()).unwrap();
            std::fs::copy(entry.path(), env.path(&path)).unwrap();
        }
    }
}

fn publish(env: &TestEnv) {
    env.ok(&["app", "publish", "vm-factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    env.ok(&["app", "publish", "vm.yaml", "--name", "VM", "--scripts", "scripts"]);
}

/// Only a changed text or script creates a new revision.
#[test]
fn a_published_manifest_has_numbered_revisions() {
    let env = project();
    publish(&env);
    let again = ["app", "publish", "vm.yaml", "--name", "VM", "--scripts", "scripts"];
    assert_eq!(env.ok(&again).stdout, "VM has not changed since revision 1\n");
    env.edit("scripts/vm/launch.py", "m1.small", "m1.tiny");
    assert_eq!(env.ok(&again).stdout, "VM revision 2 is published, an application\n");
    env.edit("vm.yaml", "instance-type: m1.small", "instance-type: m3.large");
    let third = env.json(&again);
    assert_eq!(
        (&third["revision"], &third["new"], &third["role"]),
        (&3.into(), &true.into(), &"application".into())
    );
    let shown = env.json(&["app", "show", "vm", "--revision", "2"]);
    assert_eq!((&shown["revision"], shown["revisions"].as_array().unwrap().len()), (&2.into(), 3));
    let refused = env.refuses(&["app", "show", "VM", "--revision", "4"]);
    assert!(refused.contains("error[WL0650]: `VM` has no revision 4; the latest is 3"), "{refused}");
    let listed = env.json(&["app", "ls"]);
    assert_eq!(listed["applications"][0]["name"], "vm");
    assert_eq!(
        env.ok(&["app", "unpublish", "VM"]).stdout,
        "VM is no longer published; 3 revisions removed\n"
    );
    let gone = env.refuses(&["app", "show", "VM"]);
    assert!(
        gone.contains("error[WL0650]: no application or factory `VM` is published; there are `VM Factory`"),
        "{gone}"
    );
    assert_eq!(env.json(&["app", "ls"])["applications"].as_array().unwrap().len(), 1);
    // A revision number is never used again, because records of instances may contain it.
    assert_eq!(env.json(&again)["revision"], 4);
    assert_eq!(env.json(&["app", "show", "VM"])["revisions"].as_array().unwrap().len(), 1);
}

#[test]
fn show_prints_pins_scripts_and_the_schedule() {
    let env = project();
    publish(&env);
    assert_snapshot!(env.ok(&["app", "show", "VM"]).stdout, @"
    VM application revision 1
      factory: VM Factory
    scripts:
      launch          /vm/launch.py
      destroy         /vm/destroy.py
      health-check    /vm/healthCheck.py
      reconfigure     /vm/reconfigure.py
      control.reboot  /vm/reboot.py
    pins:
      compute.ip                    publish-signal(string)
      configuration.disks           configuration(list<int>)
      configuration.instance-type   configuration(string)
      configuration.login-password  configuration(string)  (secret)
      control.reboot                receive-command(bool force => string phase => string result)
    ");
    let run = env.ok(&["app", "publish", "vm-factory.yaml", "--name", "VM Factory"]);
    assert_snapshot!(run.stderr, @r"
    warning[WL0642]: no `--scripts DIR` was given, so the image of the scripting service must have all scripts of the manifest
      --> vm-factory.yaml:15:36
       |
    15 |         component.discoveryScript: /vm/discover.py
       |                                    ^^^^^^^^^^^^^^^
    ");
    assert_snapshot!(env.ok(&["app", "show", "vm-factory"]).stdout, @"
    VM Factory factory revision 2
      application: VM
      schedule: 0 0/5 * * * ? *
    scripts:
      discover  /vm/discover.py  (in the image)
    pins:
      configuration.cloud-secret  configuration(string)  (secret)
      configuration.region        configuration(string)
      factory.instances           publish-signal(map<string, string>)  (exposed as vms.vm-by-id)
    ");
}

#[test]
fn show_prints_the_services_that_a_factory_needs() {
    let env = project();
    env.ok(&["app", "publish", "petclinic-factory.yaml", "--name", "PetClinic Factory"]);
    let shown = env.ok(&["app", "show", "petclinic-factory"]).stdout;
    assert!(shown.ends_with("services:\n  vm-factory  vms.vm-by-id\n"), "{shown}");
    let needed = &env.json(&["app", "show", "petclinic-factory"])["services"][0];
    assert_eq!(needed["pins"]["vms.vm-by-id"], "publish-signal(map<string, string>)");
    assert_eq!((&needed["component"], &needed["required"]), (&"vm-factory".into(), &false.into()));
}

/// A manifest that is refused leaves nothing in the store.
#[test]
fn wrong_manifests_are_not_published() {
    let env = project();
    publish(&env);
    env.write("none.yaml", "application: {components: {a: {type: reference.Service}}}");
    let none = env.refuses(&["app", "publish", "none.yaml"]);
    assert!(none.contains("error[WL0641]: the manifest has no scripted component"), "{none}");
    let role = env.refuses(&["app", "publish", "vm.yaml", "--name", "Disk"]);
    assert!(
        role.contains("error[WL0635]: the factory `VM Factory` manages `VM`, and this is `Disk`"),
        "{role}"
    );
    let taken = env.refuses(&["app", "publish", "petclinic.yaml", "--name", "VM_Factory"]);
    assert!(taken.contains("error[WL0651]: `VM_Factory` has the short name `vm-factory`"), "{taken}");
    assert!(env.refuses(&["app", "publish", "vm.yaml", "--name", "42"]).contains("error[WL0651]"));
    std::fs::remove_file(env.path("scripts/vm/launch.py")).unwrap();
    env.write("scripts/vm/destroy.py", "#!/bin/sh\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(env.path("scripts/vm/destroy.py"), mode).unwrap();
    assert_snapshot!(env.refuses(&["app", "publish", "vm.yaml", "--name", "VM", "--scripts", "scripts"]), @"
    warning[WL0642]: the folder has no `vm/launch.py`, so the image of the scripting service must have it
      --> vm.yaml:17:31
       |
    17 |         factory.launchScript: /vm/launch.py
       |                               ^^^^^^^^^^^^^

    error[WL0643]: the script `vm/destroy.py` may not be executed
      --> vm.yaml:18:32
       |
    18 |         factory.destroyScript: /vm/destroy.py
       |                                ^^^^^^^^^^^^^^
       |
       = help: make it executable: `chmod +x vm/destroy.py` in the folder of scripts

    1 error; nothing was changed
    ");
    assert_eq!(env.json(&["app", "show", "VM"])["revision"], 1);
}

#[test]
fn an_environment_has_services_markers_and_properties() {
    let env = project();
    assert_snapshot!(env.ok(&["env", "show"]).stdout, @"
    default
      no scripting service; add a location with `windlass env service add default --location LOC`
    ");
    env.ok(&["env", "service", "add", "default", "--location", "scripts"]);
    env.ok(&["env", "service", "add", "default", "--location", "scripts"]);
    let second = env.refuses(&["env", "service", "add", "default", "--location", "spare"]);
    assert!(
        second.contains("error[WL0654]: environment `default`: `scripts` is the scripting service already"),
        "{second}"
    );
    env.ok(&["env", "service", "add", "default", "--location", "spare", "--replace"]);
    env.ok(&["env", "marker", "set", "default", "eu"]);
    env.ok(&["env", "property", "set", "default", "zones=[a, b]", "--type", "list<string>"]);
    env.write(
        "more.yaml",
        "markers: [big]\nproperties: {size: {type: int, value: 3}, key: {value: hunter2, secret: yes}}",
    );
    assert_snapshot!(env.ok(&["env", "import", "default", "more.yaml"]).stdout, @r#"
    default
      scripting service: spare
      marker big
      marker eu
      property key = *** string
      property size = 3 int
      property zones = ["a","b"] list<string>
    "#);
    env.ok(&["env", "marker", "rm", "default", "eu"]);
    env.ok(&["env", "property", "rm", "default", "zones"]);
    env.ok(&["env", "service", "rm", "default", "--location", "spare"]);
    let shown = env.json(&["env", "show"]);
    assert_eq!((shown["markers"].to_string(), &shown["scripting"]), (r#"["big"]"#.to_owned(), &().into()));
    assert_eq!(shown["properties"].as_array().unwrap().len(), 2);
}

/// A secret of an environment is sealed: no output and no file contains it.
#[test]
fn a_secret_property_is_nowhere_to_be_read() {
    let env = project();
    env.write("key.txt", "correct horse\n");
    let set = env.ok(&["env", "property", "set", "default", "key=@key.txt", "--secret"]);
    assert!(set.stdout.contains("property key = *** string") && set.stderr.is_empty(), "{set}");
    let open = env.ok(&["env", "property", "set", "default", "other=battery staple", "--secret"]);
    assert!(open.stderr.contains("warning: the value of `other` is visible"), "{open}");
    let wrong = env.refuses(&["env", "property", "set", "default", "key=@key.txt", "--type", "int"]);
    assert!(wrong.contains("the value of `key` does not fit: `int` is expected"), "{wrong}");
    let json = env.ok(&["env", "show", "--format", "json"]).stdout;
    for entry in std::fs::read_dir(env.path(".windlass")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        for secret in ["correct horse", "battery staple"] {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{}", path.display());
            assert!(!json.contains(secret) && !wrong.contains(secret));
        }
    }
}

#[test]
fn wrong_environments_are_refused() {
    let env = project();
    // The project has no state.
    let missing = env.refuses(&["env", "rm", "staging"]);
    assert!(
        missing.contains("error[WL0652]: there is no environment `staging`; there are `default`"),
        "{missing}"
    );
    env.ok(&["env", "create", "staging"]);
    for (line, message) in [
        (&["env", "create", "staging"][..], "error[WL0658]: the environment `staging` exists already"),
        (&["env", "create", "default"], "error[WL0658]: the environment `default` exists already"),
        (
            &["env", "show", "stagin"],
            "error[WL0652]: there is no environment `stagin`; did you mean `staging`?",
        ),
        (&["env", "rm", "default"], "error[WL0655]: the environment `default` always exists"),
        (
            &["env", "service", "add", "staging", "--location", "scrpts"],
            "error[WL0653]: `windlass.yaml` has no location `scrpts`; did you mean `scripts`?",
        ),
        (&["env", "service", "add", "staging", "vms"], "there is no assembly `vms`"),
        (
            &["env", "service", "rm", "staging", "vms"],
            "error[WL0653]: environment `staging`: the environment has no service `vms`",
        ),
        (
            &["env", "property", "set", "staging", "size=x", "--type", "intt"],
            "error[WL0657]: environment `staging`: `intt` is not the type of a property: there is no type `intt`",
        ),
        (
            &["env", "marker", "rm", "staging", "eu"],
            "error[WL0656]: environment `staging`: the environment has no marker `eu`",
        ),
    ] {
        let refused = env.refuses(line);
        assert!(refused.contains(message), "{line:?}: {refused}");
    }
    assert_eq!(env.ok(&["env", "rm", "staging"]).stdout, "staging is removed\n");
    assert_eq!(env.json(&["env", "ls"])["environments"].as_array().unwrap().len(), 1);
}

/// An assembly that was not launched from an application is no service.
#[test]
fn a_plain_assembly_is_no_service() {
    let env = TestEnv::up();
    let refused = env.refuses(&["env", "service", "add", "default", "h_bta"]);
    assert!(
        refused.contains("error[WL0653]: `h_bta` was not launched from a published application"),
        "{refused}"
    );
}

/// A stored record is damaged. The error must say so, and must not advise the use of a newer windlass. That advice is
/// only for a record that a newer windlass has stored.
#[test]
fn a_damaged_document_is_reported_as_damaged() {
    let env = project();
    publish(&env);
    env.ok(&["env", "create", "staging"]);
    let damage = |set: &str| {
        let store = rusqlite::Connection::open(env.path(".windlass/state.db")).unwrap();
        let kinds = "kind IN ('application', 'environment')";
        store.execute(&format!("UPDATE document SET {set} WHERE {kinds}"), []).unwrap();
    };
    let fails = |code: i32, args: &[&str]| {
        let run = env.run(args);
        assert_eq!(run.code(), Some(code), "{run}");
        run.stderr
    };
    damage("body = '7'");
    assert_snapshot!(fails(1, &["app", "ls"]), @"error[WL0213]: the stored record of `vm` is damaged: a field is missing or has a wrong value; keep a copy of the store, then restore a backup");
    assert_snapshot!(fails(1, &["env", "show", "staging"]), @"error[WL0213]: the stored record of `staging` is damaged: a field is missing or has a wrong value; keep a copy of the store, then restore a backup");
    damage("version = 9");
    assert_snapshot!(fails(2, &["app", "ls"]), @"error[WL0208]: a newer windlass has stored `vm`; use that version");
    assert_snapshot!(fails(2, &["env", "show", "staging"]), @"error[WL0208]: a newer windlass has stored `staging`; use that version");
}
