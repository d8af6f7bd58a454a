//! Exports and imports of applications.

use insta::assert_snapshot;

use super::discoveries::second_factory;
use super::{cloud, machines, publish};

/// The arguments of a command are not in alphabetical order. An export and an import must not change the application.
#[test]
fn an_application_is_exported_and_imported() {
    let env = cloud();
    env.edit(
        "vm.yaml",
        "receive-command(string key => string phase => string file)",
        "receive-command(string to, int keep => string file)",
    );
    publish(&env);
    env.ok(&["app", "launch", "VM", "-p", "configuration.size=small"]);
    let before = env.json(&["status", "vm"]);
    env.ok(&["export", "vm"]);
    env.ok(&["import", "vm.export"]);
    assert_eq!(env.json(&["status", "vm"]), before);
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    env.ok(&["app", "destroy", "vm"]);
    assert_eq!(machines(&env), 0);
}

/// Another store may manage an exported application. So a discovery must adopt the instance of this application only
/// with `--exported`.
#[test]
fn the_instance_of_an_exported_application_is_not_adopted() {
    let env = cloud();
    for (id, file) in [("i-one", "vm.export"), ("i-two", "second.export")] {
        env.ok(&["app", "launch", "VM", "-p", &format!("configuration.id={id}")]);
        // Both applications have the name `vm`, one after the other.
        env.ok(&["export", "vm", "-o", file]);
    }
    second_factory(&env, "staging", "cloud");
    assert_snapshot!(env.ok(&["app", "discover", "factory"]).out(), @"
    i-one: exported: it is the instance of `vm`, which was exported to `vm.export`; take it back with `windlass import vm.export`, or, if no other store manages it, adopt it with `windlass app discover factory --exported`
    i-two: exported: it is the instance of `vm`, which was exported to `second.export`; take it back with `windlass import second.export`, or, if no other store manages it, adopt it with `windlass app discover factory --exported`
    ");
    let twin = env.ok(&["app", "discover", "staging"]).out();
    assert_eq!(twin.matches(": exported: ").count(), 2, "{twin}");

    env.ok(&["import", "vm.export"]);
    let found = env.ok(&["app", "discover", "factory"]).out();
    assert!(found.contains("i-one: known, application `vm`\n"), "{found}");
    env.ok(&["app", "forget", "vm", "--yes"]);

    env.ok(&["rename", "factory", "machines"]);
    let found = env.ok(&["app", "discover", "machines"]).out();
    assert!(found.contains("i-one: adopted, application `machine-i-one`\ni-two: exported: "), "{found}");
    let asked = ["app", "discover", "machines", "--exported"];
    assert_snapshot!(env.ok(&[&asked[..], &["--dry-run"]].concat()).out(), @"
    i-one: known, application `machine-i-one`
    i-two: new
    ");
    assert_snapshot!(env.ok(&asked).out(), @"
    i-one: known, application `machine-i-one`
    i-two: adopted, application `machine-i-two`
    ");
    env.ok(&["app", "forget", "machine-i-two", "--yes"]);
    let found = env.ok(&["app", "discover", "machines"]).out();
    assert!(found.contains("i-two: adopted, application `machine-i-two`"), "{found}");
}

/// The applications of a factory are exported, and then the factory is removed. Another factory with the same manifest
/// may find their instances, and must not adopt them.
#[test]
fn an_exported_instance_outlives_its_factory() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    env.ok(&["export", "vm"]);
    second_factory(&env, "staging", "cloud");
    env.write("cloud2/trace", "");
    env.write("cloud2/i-one", r#"{"ip": "203.0.113.9", "size": "huge"}"#);
    second_factory(&env, "other", "cloud2");
    assert_snapshot!(env.ok(&["app", "discover", "other", "--dry-run"]).out(), @"i-one: exported: the instance of `vm`, an application of the factory `factory`, has the same natural id, and was exported to `vm.export`; if no other store manages this instance, adopt it with `windlass app discover other --exported`");
    env.ok(&["env", "service", "rm", "default", "factory"]);
    env.ok(&["app", "destroy", "factory"]);
    let found = env.ok(&["app", "discover", "staging"]).out();
    assert_snapshot!(found, @"i-one: exported: it is the instance of `vm`, which was exported to `vm.export`, and its factory `factory` no longer exists; if no other store manages it, adopt it with `windlass app discover staging --exported`");
    // Another factory with the name of the removed one makes no difference.
    second_factory(&env, "factory", "cloud2");
    assert_eq!(env.ok(&["app", "discover", "staging"]).out(), found);
    assert_snapshot!(env.ok(&["app", "discover", "staging", "--exported"]).out(), @"i-one: adopted, application `machine-i-one`");
    env.ok(&["app", "forget", "machine-i-one", "--yes"]);
    assert_snapshot!(env.ok(&["app", "discover", "staging"]).out(), @"i-one: adopted, application `machine-i-one`");
}

/// Two factories have the same configuration. An application of the first factory is exported, and then this factory
/// gets another configuration. The second factory still finds the instance, and must not adopt it.
#[test]
fn an_exported_instance_does_not_depend_on_configurations() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    second_factory(&env, "staging", "cloud");
    env.ok(&["export", "vm"]);
    env.write("cloud2/trace", "");
    let elsewhere = format!("configuration.cloud={}", env.path("cloud2").display());
    env.ok(&["app", "reconfigure", "factory", "-p", &elsewhere]);
    let found = env.ok(&["app", "discover", "staging"]).out();
    assert!(found.starts_with("i-one: exported: "), "{found}");
    // The statement of the user concerns this discovery only: the factory may get its old configuration again.
    env.ok(&["app", "discover", "staging", "--exported"]);
    env.ok(&["app", "forget", "machine-i-one", "--yes"]);
    assert_eq!(env.ok(&["app", "discover", "staging"]).out(), found);
}

/// A launch gives the instance of an exported application to a new application, which is then forgotten. The next
/// discovery must adopt the instance, despite the export.
#[test]
fn a_launch_takes_over_an_exported_instance() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    env.ok(&["export", "vm"]);
    env.ok(&["app", "launch", "VM", "--name", "second", "-p", "configuration.id=i-one"]);
    env.ok(&["app", "forget", "second", "--yes"]);
    assert_snapshot!(env.ok(&["app", "discover", "factory"]).out(), @"i-one: adopted, application `machine-i-one`");
}

/// An import finds the factory of an application after the factory was renamed, even if another factory now has the old
/// name.
#[test]
fn an_application_is_imported_after_its_factory_was_renamed() {
    let env = cloud();
    env.ok(&["app", "launch", "VM", "-p", "configuration.id=i-one"]);
    env.ok(&["export", "vm"]);
    env.ok(&["rename", "factory", "machines"]);
    second_factory(&env, "factory", "cloud2");
    env.ok(&["import", "vm.export", "--dry-run"]);
    env.ok(&["import", "vm.export"]);
    assert_snapshot!(env.ok(&["app", "discover", "machines"]).out(), @"i-one: known, application `vm`");
    env.ok(&["app", "reconfigure", "vm", "-p", "configuration.size=large"]);
    env.ok(&["app", "destroy", "vm"]);
    assert_eq!(machines(&env), 0);
}
