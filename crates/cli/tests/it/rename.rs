//! `windlass rename` changes the name of an assembly, and calls no script.

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn a_renamed_assembly_goes_on_under_its_new_name() {
    let env = TestEnv::up();
    let before = env.json(&["status", "h_bta"]);
    let renamed = env.ok(&["rename", "h_bta", "shop"]);
    assert_snapshot!(renamed.out(), @"
    h_bta is now shop; nothing was called
      change it later with `windlass up FILE --name shop`; ${instance.name} keeps its values until then
    ");
    assert_eq!(env.trace(), [""; 0], "nothing is called");
    assert!(env.refuses(&["status", "h_bta"]).contains("there is no assembly `h_bta`; there is `shop`"));
    let after = env.json(&["status", "shop"]);
    assert_eq!(
        after.to_string().replace("shop", "h_bta"),
        before.to_string(),
        "the status differs in the name only"
    );
    let log = env.ok(&["log", "shop"]).stdout;
    assert!(log.contains("p1 up completed") && log.contains("renamed h_bta to shop"), "{log}");
    // Intents that need no descriptor work under the new name.
    env.ok(&["retry", "shop"]);
    assert_eq!(env.trace(), [""; 0], "nothing is called");
    env.ok(&["scale", "out", "shop", "B"]);
    env.ok(&["rollback", "shop", "--yes"]);
    // The descriptor uses `${instance.name}`, so the next `up` has other values.
    let refused = env.refuses(&["up", "h_bta", "--name", "shop"]);
    assert!(refused.contains("`B__1` (replaced: `server_name` changes)"), "{refused}");
    env.ok(&["up", "h_bta", "--name", "shop", "--yes"]);
    env.ok(&["down", "shop"]);
    // Another assembly can use the old name.
    env.ok(&["up", "h_bta"]);
}

/// An assembly was renamed. windlass must refuse an `up` under the old name, because this `up` would create the
/// components a second time.
#[test]
fn the_old_name_does_not_create_a_second_assembly() {
    let env = TestEnv::up();
    env.ok(&["rename", "h_bta", "shop"]);
    env.ok(&["rename", "shop", "store"]);
    let refused = env.refuses(&["up", "h_bta"]);
    assert_snapshot!(refused, @"error[WL0547]: `h_bta` was renamed to `store`, so this would create its components a second time; change it with `--name store`, or create another assembly with `--force`");
    for preview in [&["up", "h_bta", "--dry-run"][..], &["plan", "h_bta"]] {
        assert_eq!(env.refuses(preview), refused);
    }
    assert_eq!(env.trace(), [""; 0], "nothing is called");
    env.ok(&["up", "h_bta", "--force"]);
    env.ok(&["down", "h_bta"]);
    // The name has been used again, so the rename no longer matters.
    env.ok(&["up", "h_bta"]);
}

/// The assembly `h_bta` was renamed to `shop`, then to `store`, and was removed. Then another assembly got the name
/// `store`. windlass must not take this assembly for the renamed one, so a new `h_bta` is permitted.
#[test]
fn the_old_name_is_free_after_the_renamed_assembly_was_removed() {
    let env = TestEnv::up();
    env.ok(&["rename", "h_bta", "shop"]);
    env.ok(&["rename", "shop", "store"]);
    env.ok(&["down", "store"]);
    env.ok(&["up", "h_bta", "--name", "store"]);
    env.ok(&["up", "h_bta"]);
    // A renamed assembly is found, although another assembly has one of its earlier names.
    env.ok(&["rename", "h_bta", "first"]);
    env.ok(&["rename", "first", "last"]);
    env.ok(&["up", "h_bta", "--name", "first", "--force"]);
    let refused = env.refuses(&["up", "h_bta"]);
    assert!(refused.contains("`h_bta` was renamed to `last`"), "{refused}");
}

/// An assembly has two old names. A second assembly takes one of the old names, and is then renamed or exported.
/// windlass must still refuse to create an assembly under either old name.
#[test]
fn the_old_name_stays_protected_after_a_namesake_was_moved() {
    let env = TestEnv::up();
    env.ok(&["rename", "h_bta", "first"]);
    env.ok(&["rename", "first", "last"]);
    env.ok(&["up", "h_bta", "--name", "first", "--force"]);
    env.ok(&["rename", "first", "other"]);
    let refused = env.refuses(&["up", "h_bta"]);
    assert!(refused.contains("`h_bta` was renamed to `last`"), "{refused}");
    // The assembly that had this name last is named first.
    let refused = env.refuses(&["up", "h_bta", "--name", "first"]);
    assert!(refused.contains("`first` was renamed to `other`"), "{refused}");
    env.ok(&["down", "other"]);
    let refused = env.refuses(&["up", "h_bta", "--name", "first"]);
    assert!(refused.contains("`first` was renamed to `last`"), "{refused}");
    env.ok(&["up", "h_bta", "--name", "first", "--force"]);
    env.ok(&["export", "first"]);
    let refused = env.refuses(&["up", "h_bta"]);
    assert!(refused.contains("`h_bta` was renamed to `last`"), "{refused}");
    // The import of `first` says nothing about the assembly `last`.
    env.ok(&["import", "first.export"]);
    env.ok(&["down", "first"]);
    let refused = env.refuses(&["up", "h_bta"]);
    assert!(refused.contains("`h_bta` was renamed to `last`"), "{refused}");
    env.ok(&["down", "last"]);
    env.ok(&["up", "h_bta"]);
}

/// The assembly `small` was renamed to `shop`. A second assembly `small` is exported, imported, renamed and removed.
/// windlass must still refuse `up small`, and name `shop`.
#[test]
fn an_import_keeps_the_protection_of_an_earlier_export() {
    let env = TestEnv::small("effect: repeatable", &[]);
    env.ok(&["up", "small"]);
    env.ok(&["rename", "small", "shop"]);
    env.ok(&["up", "small", "--force"]);
    env.ok(&["export", "small"]);
    env.ok(&["import", "small.export"]);
    env.ok(&["rename", "small", "other"]);
    env.ok(&["down", "other"]);
    let refused = env.refuses(&["up", "small"]);
    assert!(refused.contains("`small` was renamed to `shop`"), "{refused}");
}

/// An `adopt` under the old name would give the components of the assembly a second owner.
#[test]
fn the_old_name_adopts_no_components_of_another_assembly() {
    let scripts = [("Adopt", "answer"), ("Install", "answer"), ("Uninstall", "")];
    let env = TestEnv::small("effect: repeatable", &scripts);
    env.ok(&["up", "small"]);
    env.ok(&["rename", "small", "shop"]);
    let refused = env.refuses(&["adopt", "small"]);
    assert_snapshot!(refused, @"error[WL0547]: `small` was renamed to `shop`, so this would give its components a second owner; change it with `--name shop`, or create another assembly with `--force`");
    assert_eq!(env.refuses(&["adopt", "small", "--dry-run"]), refused);
    env.ok(&["export", "shop"]);
    let refused = env.refuses(&["adopt", "small", "--name", "shop"]);
    assert_snapshot!(refused, @"error[WL0547]: `shop` was exported to `shop.export`, so this would give its components a second owner; import it with `windlass import shop.export`, or create another assembly with `--force`");
    assert!(env.refuses(&["adopt", "small"]).contains("WL0547"));
    env.ok(&["adopt", "small", "--force"]);
    assert_eq!(env.trace(), ["Install", "Adopt"]);
}

#[test]
fn the_log_names_each_rename_as_it_was() {
    let env = TestEnv::up();
    env.ok(&["rename", "h_bta", "shop"]);
    env.ok(&["rename", "shop", "h_bta"]);
    let log = env.ok(&["log", "h_bta"]).stdout;
    assert!(log.contains("renamed h_bta to shop") && log.contains("renamed shop to h_bta"), "{log}");
}

#[test]
fn a_name_in_use_is_refused() {
    let env = TestEnv::up();
    env.ok(&["up", "h_bta", "--name", "other"]);
    env.ok(&["down", "other"]);
    let refused = env.refuses(&["rename", "h_bta", "h_bta"]);
    assert_eq!(refused, "error[WL0548]: an assembly `h_bta` exists already; choose another name\n");
    let refused = env.refuses(&["rename", "h_bta", "other"]);
    assert!(refused.contains("an earlier assembly had the name `other`"), "{refused}");
    let refused = env.refuses(&["rename", "h_bta__B", "other"]);
    assert!(refused.contains("has `__`, which separates the parts"), "{refused}");
    env.ok(&["status", "h_bta"]);
    env.ok(&["prune", "other", "--keep", "0", "--older", "0s"]);
    env.ok(&["rename", "h_bta", "other"]);
}

/// Secrets can be decrypted after a renaming, although each is sealed under a name that begins with the name
/// of its assembly.
#[test]
fn secrets_are_opened_under_the_new_name() {
    let env = TestEnv::small("effect: repeatable", &[]);
    env.ok(&["up", "small"]);
    env.ok(&["rename", "small", "tiny"]);
    let json = env.json(&["rename", "tiny", "small"]);
    assert_eq!((&json["assembly"], &json["from"]), (&"small".into(), &"tiny".into()));
    env.ok(&["rename", "small", "tiny"]);
    env.ok(&["down", "tiny"]);
}
