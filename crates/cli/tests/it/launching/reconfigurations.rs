//! Reconfigurations, and corrected scripts.

use insta::assert_snapshot;

use super::launches::daemon_until;
use super::{cloud, machines, publish, trace};

/// The scripts of a published revision have mistakes. After a correction, `app destroy --latest` runs the corrected
/// scripts. The advice after a failure names commands for applications, whatever command has failed.
#[test]
fn a_mistake_in_published_scripts_is_corrected() {
    let env = cloud();
    let (launch, destroy) = (env.read("scripts/vm/launch.py"), env.read("scripts/vm/destroy.py"));
    env.edit("scripts/vm/destroy.py", "import", "import sys; sys.exit(3)\nimport");
    publish(&env);
    env.ok(&["app", "launch", "VM", "--name", "a"]);
    env.edit("scripts/vm/launch.py", "import", "import sys; sys.exit(3)\nimport");
    publish(&env);
    let failed = env.run(&["app", "launch", "VM", "--name", "b"]);
    assert_eq!(failed.code(), Some(1), "{failed}");
    let advice = "`windlass app destroy b --latest` removes it; then launch it again";
    assert!(failed.stdout.contains("not done: launch of b failed: "), "{failed}");
    assert!(failed.stdout.contains(advice), "{failed}");
    assert!(env.run(&["retry", "b"]).stdout.contains(advice));
    for command in [&["app", "destroy", "a"][..], &["retry", "a"], &["down", "a"]] {
        let failed = env.run(command);
        assert_eq!(failed.code(), Some(1), "{failed}");
        assert!(failed.stdout.contains("not done: destroy of a failed: "), "{failed}");
        assert!(
            failed.stdout.contains("`windlass app destroy a --latest` runs them instead")
                && !failed.stdout.contains("FILE"),
            "{failed}"
        );
    }
    let still = env.run(&["app", "destroy", "a", "--latest"]);
    assert_eq!(still.code(), Some(1), "the latest revision has the mistake, too: {still}");
    assert!(still.stdout.contains("`windlass app destroy a --latest` resumes the process"), "{still}");

    env.write("scripts/vm/launch.py", launch);
    env.write("scripts/vm/destroy.py", destroy);
    publish(&env);
    assert_eq!(env.run(&["app", "destroy", "a"]).code(), Some(1), "its own revision has the mistake");
    let dry = env.ok(&["app", "destroy", "a", "--latest", "--dry-run"]);
    assert!(dry.out().contains("- vm removed"), "{dry}");
    env.ok(&["app", "destroy", "b", "a", "--latest"]);
    assert_eq!(machines(&env), 0);
    env.ok(&["app", "launch", "VM", "--name", "b"]);
}

/// After a failed reconfiguration, the status names the command that applies the values again.
#[test]
fn a_failed_reconfiguration_is_retried() {
    let env = cloud();
    env.edit(
        "scripts/vm/reconfigure.py",
        "    trace(\"reconfigure",
        "    os.path.exists(path(\"bad\")) and sys.exit(\"no space\")\n    trace(\"reconfigure",
    );
    publish(&env);
    env.ok(&["app", "launch", "VM"]);
    env.write("cloud/bad", "");
    let failed = env.run(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    assert_eq!(failed.code(), Some(1), "{failed}");
    assert!(failed.stdout.contains("not done: reconfigure of vm failed: "), "{failed}");
    for command in [&["status", "vm"][..], &["status"]] {
        let status = env.ok(command).out();
        assert!(status.contains("uncertain; `windlass retry vm` applies them again"), "{status}");
    }
    std::fs::remove_file(env.path("cloud/bad")).unwrap();
    env.ok(&["retry", "vm"]);
    env.ok(&["app", "check"]);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "large");
}

/// The revision of an application is no longer published. The errors must name the command that switches the
/// application to the latest revision.
#[test]
fn an_application_of_an_unpublished_revision_gets_the_latest() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    env.ok(&["app", "unpublish", "VM"]);
    publish(&env);
    env.ok(&["app", "unpublish", "VM Factory"]);
    env.ok(&["app", "publish", "factory.yaml", "--name", "VM Factory", "--scripts", "scripts"]);
    let larger = ["app", "reconfigure", "vm", "-p", "configuration.size=large"];
    assert_snapshot!(env.refuses(&larger), @"error[WL0650]: `vm` belongs to revision 1 of `VM`, which is no longer published; `windlass app reconfigure vm --latest` switches it to revision 2");
    assert_snapshot!(env.refuses(&["app", "discover", "factory"]), @"error[WL0650]: `factory` belongs to revision 1 of `VM Factory`, which is no longer published; `windlass app reconfigure factory --latest` switches it to revision 2");
    env.ok(&[&larger[..], &["--latest"]].concat());
    env.ok(&["app", "reconfigure", "factory", "--latest"]);
    env.ok(&["app", "discover", "factory"]);
}

/// A queued reconfiguration contains all values of the application. If a value changes before it runs, the daemon
/// refuses it, because it would restore the old value.
#[test]
fn a_queued_reconfiguration_undoes_no_other_change() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let [large, huge] = ["configuration.size=large", "configuration.size=huge"];
    let vm = ["app", "reconfigure", "vm"];
    env.ok(&[&vm[..], &["-p", large, "--queue"]].concat());
    let refused = env.refuses(&[&vm[..], &["-p", "configuration.id=i-2", "--queue"]].concat());
    assert_snapshot!(refused, @"error[WL0762]: q3 of `vm` is pending, and this reconfiguration would undo its change; execute q3 with `windlass run`, or withdraw it with `windlass cancel vm q3`, and repeat the command");
    env.ok(&[&vm[..], &["-p", "configuration.id=i-3"]].concat());
    let refused = "`vm` has changed since this reconfiguration was requested";
    daemon_until(&env, refused, 1);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "small");
    env.ok(&[&vm[..], &["-p", large]].concat());
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "large");

    // The next revision differs only in a comment.
    env.ok(&[&vm[..], &["-p", huge, "--queue"]].concat());
    env.edit("vm.yaml", "application:\n", "application: # the second one\n");
    publish(&env);
    env.ok(&[&vm[..], &["--latest"]].concat());
    daemon_until(&env, refused, 1);
    let status = &env.json(&["status", "vm"])["assemblies"][0];
    let found = (&status["application"]["revision"], &status["outputs"]["compute.size"]);
    assert_eq!(found, (&2.into(), &"large".into()));

    // Nothing has changed since this request.
    env.ok(&[&vm[..], &["-p", huge, "--queue"]].concat());
    env.ok(&["app", "check"]);
    daemon_until(&env, " completed", 1);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "huge");
}

/// An application has no script for changes. windlass must refuse a new value, and must not launch the application
/// again with this value.
#[test]
fn a_value_that_no_script_changes_is_refused() {
    let env = cloud();
    env.edit("vm.yaml", "        factory.reconfigurationScript: /vm/reconfigure.py\n", "");
    publish(&env);
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    assert_snapshot!(env.refuses(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]), @"error[WL0754]: `vm` has no reconfiguration script, so `configuration.size` can't change; destroy it and launch it with the new value, or add `factory.reconfigurationScript` to its manifest");
    env.edit(
        "vm.yaml",
        "/vm/check.py\n",
        "/vm/check.py\n        factory.reconfigurationScript: /vm/reconfigure.py\n",
    );
    publish(&env);
    env.ok(&["app", "reconfigure", "vm", "--latest", "-p", "configuration.size=large"]);
    assert_eq!(trace(&env).iter().filter(|line| line.starts_with("launch")).count(), 1);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "large");
}

/// `app reconfigure` never launches an application again, even after a failed launch or a failed destruction.
#[test]
fn without_an_instance_nothing_is_reconfigured() {
    let env = cloud();
    env.run(&["app", "launch", "VM", "--name", "a", "-p", "configuration.size=refused"]);
    env.ok(&["app", "launch", "VM", "--name", "b", "-p", "configuration.size=small"]);
    env.ok(&["app", "launch", "VM", "--name", "c", "-p", "configuration.size=small"]);
    env.edit("scripts/vm/destroy.py", "import", "import sys; sys.exit(3)\nimport");
    publish(&env);
    env.ok(&["app", "reconfigure", "b", "--latest"]);
    assert_eq!(env.run(&["app", "destroy", "b"]).code(), Some(1));
    assert!(env.ok(&["status", "b"]).out().starts_with("b Inactive (not destroyed) "), "nothing was removed");
    let checked = env.run(&["app", "check", "a"]);
    assert_eq!(checked.code(), Some(1), "a named application must be checked: {checked}");
    assert_snapshot!(checked.out(), @"a: unchecked: it is Failed; `windlass retry a` resumes its last process");
    env.ok(&["app", "check"]);
    let before = trace(&env);
    let reconfigure =
        |name: &str, args: &[&str]| env.refuses(&[&["app", "reconfigure", name][..], args].concat());
    let larger = ["-p", "configuration.size=large"];
    assert_snapshot!(reconfigure("a", &larger), @"error[WL0762]: the launch of `a` has not succeeded, so it can't be reconfigured; repeat the launch with `windlass retry a`, or remove it with `windlass app destroy a` (`--latest` runs the scripts of the latest revision)");
    assert_snapshot!(reconfigure("b", &larger), @"error[WL0762]: `b` is being destroyed; finish that with `windlass app destroy b` (`--latest` runs the scripts of the latest revision)");
    env.edit("vm.yaml", "        factory.reconfigurationScript: /vm/reconfigure.py\n", "");
    env.edit("vm.yaml", "{size: configuration(string), ", "{");
    publish(&env);
    assert_snapshot!(reconfigure("c", &["--latest"]), @"error[WL0762]: the change would replace the instance of `c`; destroy it with `windlass app destroy c`, and launch it again");
    assert_eq!(trace(&env), before);
}

/// A dry run of a reconfiguration shows the change, and a queued reconfiguration waits for the daemon. Both run no
/// script.
#[test]
fn a_reconfiguration_is_planned_and_queued() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let before = trace(&env);
    let larger = ["app", "reconfigure", "vm", "-p", "configuration.size=large"];
    let planned = env.run(&[&larger[..], &["--dry-run", "--detailed-exitcode"]].concat());
    assert_eq!(planned.code(), Some(3), "{planned}");
    assert_snapshot!(planned.out(), @r"
      ~ vm changed
          configuration.size: small → large
    1 to change
    vm: 1 step, up to 1 at once
       s1 vm Reconfigure
    longest chain: s1
    ");
    let queued = env.ok(&[&larger[..], &["--queue"]].concat());
    assert!(queued.out().starts_with("vm: reconfigure is queued for `windlass run`"), "{queued}");
    assert!(
        env.refuses(&[&larger[..], &["--dry-run", "-o", "plan"]].concat())
            .contains("can't be saved as a plan")
    );
    assert_eq!(trace(&env), before);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "small");
}

/// A later revision of a manifest may have other configuration values. The instance stays.
#[test]
fn a_revision_with_another_configuration_is_applied() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    env.edit("vm.yaml", "{size: configuration(string), ", "{flavour: configuration(string), ");
    env.edit("scripts/vm/reconfigure.py", "configuration.size", "configuration.flavour");
    publish(&env);
    let run = env.ok(&["app", "reconfigure", "vm", "--latest", "-p", "configuration.flavour=large"]);
    let dropped =
        "warning[WL0640]: revision 2 has no parameter `configuration.size`, so its value is dropped\n";
    assert!(run.stderr.contains(dropped), "{run}");
    assert_eq!(trace(&env).iter().filter(|line| line.starts_with("launch")).count(), 1);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["outputs"]["compute.size"], "large");
}

/// `app reconfigure --latest` runs the reconfiguration script only if a value or this script has changed.
#[test]
fn a_revision_with_the_same_reconfiguration_runs_no_script() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let runs = || trace(&env).iter().filter(|line| line.starts_with("reconfigure ")).count();
    let latest = || {
        publish(&env);
        env.ok(&["app", "reconfigure", "vm", "--latest"]);
        runs()
    };
    env.edit("vm.yaml", "application:\n", "application: # the second one\n");
    env.edit("scripts/vm/destroy.py", "import", "import re\nimport");
    assert_eq!(latest(), 0);
    assert_eq!(env.json(&["status", "vm"])["assemblies"][0]["application"]["revision"], 2);
    env.edit("scripts/vm/reconfigure.py", "import", "import re\nimport");
    assert_eq!(latest(), 1);
    assert_eq!(latest(), 1);
    env.edit("vm.yaml", "application: # the second one\n", "application:\n");
    publish(&env);
    env.ok(&["app", "reconfigure", "vm", "--latest", "-p", "configuration.size=large"]);
    assert_eq!(runs(), 2);
}

/// A location is renamed in `windlass.yaml`, but an environment and an application still use the old name. The errors
/// of later commands must tell how to correct this.
#[test]
fn a_renamed_location_is_declared_again() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "--name", "a", "-p", "configuration.size=small"]);
    let before = env.read("windlass.yaml");
    env.edit("windlass.yaml", "  here:", "  there:");
    assert_snapshot!(env.refuses(&["app", "launch", "VM", "--dry-run"]), @"error[WL0751]: scripts of the environment `default` run at the location `here`, which `windlass.yaml` does not declare (there are `there`); choose another by `windlass env service add default --location NAME --replace`");
    env.ok(&["env", "service", "add", "default", "--location", "there", "--replace"]);
    let larger = ["app", "reconfigure", "a", "-p", "configuration.size=large"];
    assert_snapshot!(env.refuses(&larger), @"error[WL0513]: `vm` can't be placed: `windlass.yaml` declares no location `here`; did you mean `there`? Existing parts keep their location: if it was removed or renamed, declare `here` again");
    let destroyed = env.run(&["app", "destroy", "a"]);
    assert!(destroyed.stdout.contains("declare `here` again"), "{destroyed}");
    env.write(
        "windlass.yaml",
        format!("{before}{}", before.replace("version: 1\nlocations:\n  here:", "  there:")),
    );
    env.ok(&["app", "destroy", "a"]);
    assert_eq!(machines(&env), 0);
}

/// A secret may be a map or a list. A reconfiguration of another value keeps it.
#[test]
fn a_reconfiguration_keeps_secret_maps_and_lists() {
    let env = cloud();
    env.edit(
        "vm.yaml",
        "id: configuration(string)}",
        "id: configuration(string), login: {type: configuration(object), sensitive: true}, \
         keys: {type: configuration(list<string>), sensitive: true}}",
    );
    let keep = "size=request[\"configuration\"][\"configuration.size\"]";
    env.edit("scripts/vm/reconfigure.py", keep, "last=request[\"configuration\"]");
    publish(&env);
    env.write(
        "secrets.yaml",
        "configuration.login: {user: me, password: hunter22}\nconfiguration.keys: [first-key, second-key]\n",
    );
    env.ok(&["app", "launch", "VM", "--params", "secrets.yaml", "-p", "configuration.id=i-1"]);
    let last = || {
        let machine: serde_json::Value = serde_json::from_str(&env.read("cloud/i-1")).unwrap();
        machine["last"].to_string()
    };
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    assert_snapshot!(last(), @r#"{"configuration.id":"i-1","configuration.keys":["first-key","second-key"],"configuration.login":{"password":"hunter22","user":"me"},"configuration.size":"large"}"#);
    env.write("secrets.yaml", "configuration.login: {user: me, password: hunter33}\n");
    env.ok(&["app", "reconfigure", "vm", "--params", "secrets.yaml"]);
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=huge"]);
    assert_snapshot!(last(), @r#"{"configuration.id":"i-1","configuration.keys":["first-key","second-key"],"configuration.login":{"password":"hunter33","user":"me"},"configuration.size":"huge"}"#);
    for command in [&["history", "vm", "--format", "json"][..], &["status", "vm", "--format", "json"]] {
        let run = env.ok(command);
        assert!(!run.stdout.contains("hunter") && !run.stdout.contains("first-key"), "{run}");
    }
}

/// A changed secret stays changed: later reconfigurations keep its last value.
#[test]
fn a_changed_secret_stays_changed() {
    let env = cloud();
    for script in ["launch", "check"] {
        env.edit(&format!("scripts/vm/{script}.py"), "== \"s3cr3t-token\"", "== \"third\"");
    }
    publish(&env);
    for token in ["second", "third"] {
        env.write("token", token);
        env.ok(&["app", "reconfigure", "factory", "-p", "configuration.token=@token"]);
        env.ok(&["app", "reconfigure", "factory", "--latest"]);
    }
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
}
