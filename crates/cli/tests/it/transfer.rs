//! `windlass export` and `import`: an assembly moves from one store to another, and is never in two stores.

use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use windlass_store::testing::server::Server;

use crate::env::{GATE, TestEnv, until};
use crate::small::{RESOURCE, SCRIPTS};

/// Returns a project with the assembly `small`, which has the property `password`. `install` is the script Install of
/// its component.
fn small(install: &str) -> TestEnv {
    let env = TestEnv::small(
        "effect: once",
        &[
            ("Install", install),
            ("Start", ""),
            ("Stop", ""),
            ("Uninstall", "case $input in *box-1*) ;; *) exit 9 ;; esac"),
        ],
    );
    env.edit(
        "small/assembly.yaml",
        "    quantity: 1\n",
        "    properties: {password: {value: '${password}'}}\nproperties:\n  password: {type: password}\n",
    );
    env.edit(
        RESOURCE,
        "lifecycle:",
        "properties: {password: {type: password}, url: {read-only: true}}\nlifecycle:",
    );
    env
}

/// The body of Install. It publishes an address and a secret, and chooses the natural id `box-1`.
const INSTALL: &str = r#"password=$(printf '%s\n' "$input" | sed -n 's/^ *properties.password: "\(.*\)"$/\1/p')
printf 'instances:\n  box-1:\n    instanceId: "%s"\n    interfaces: {properties: {signals: {url: "http://%s@box"}}}\n' "$id" "$password""#;

/// After an export, windlass must refuse to create the assembly again. This also holds if the last process before the
/// export created no version, for example a `heal`.
#[test]
fn an_exported_assembly_is_not_created_again() {
    for last in [&["up", "small"][..], &["heal", "small", "box"], &["ps"]] {
        let env = TestEnv::small(
            "effect: once",
            &[("Install", "answer"), ("Start", ""), ("Stop", ""), ("Uninstall", "")],
        );
        env.ok(&["up", "small"]);
        env.ok(last);
        env.ok(&["export", "small", "-o", "small.export"]);
        assert!(env.refuses(&["up", "small"]).contains("WL0547"), "after {last:?}");
        env.ok(&["import", "small.export"]);
        env.ok(&["up", "small"]);
    }
}

#[test]
fn an_exported_assembly_goes_on_elsewhere() {
    let here = small(INSTALL);
    here.write("secret", "hunter22");
    here.ok(&["up", "small", "-p", "password=@secret"]);
    here.edit("small/assembly.yaml", "name: assembly::small::1.0", "name: assembly::small::1.1");
    here.ok(&["up", "small", "-p", "password=@secret"]);
    let dry = here.run(&["export", "small", "--key", "small.key", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(dry.code(), Some(3));
    assert_snapshot!(dry.stdout, @"
    small would move to small.export
      the file contains no volumes; they stay in .windlass/volumes or with the container engine
    ");
    assert!(!here.path("small.export").exists() && !here.path("small.key").exists(), "nothing is written");
    assert_snapshot!(here.ok(&["export", "small", "--key", "small.key"]).out(), @"
    small has moved to small.export; import it with `windlass import small.export --key small.key`
      the file contains no volumes; they stay in .windlass/volumes or with the container engine
    ");
    assert_snapshot!(here.ok(&["status"]).out(), @"there are no assemblies; `windlass up FILE` creates one");
    let text = here.read("small.export");
    assert!(!text.contains("hunter22") && !text.contains("68756e7465723232"), "secrets are sealed");
    for file in ["small.export", "small.key"] {
        assert_eq!(std::fs::metadata(here.path(file)).unwrap().permissions().mode() & 0o777, 0o600, "{file}");
    }

    // The other project has a store with processes, and does not contain the descriptor.
    let there = small("answer");
    there.ok(&["up", "small", "--name", "other"]);
    std::fs::remove_dir_all(there.path("small")).unwrap();
    there.clear_trace();
    there.write("small.export", &text);
    assert_snapshot!(there.refuses(&["import", "small.export"]), @"error[WL0579]: its secrets can't be opened: they were sealed with another key; pass the key of the export with `--key`");
    std::fs::copy(here.path("small.key"), there.path("small.key")).unwrap();
    there.write("damaged.export", text.replace("Uninstall", "Unimstall"));
    assert_snapshot!(there.refuses(&["import", "damaged.export", "--key", "small.key"]), @"error[WL0572]: `damaged.export` is damaged: its content does not match its digest; create it again");
    let import = ["import", "small.export", "--key", "small.key", "--dry-run"];
    let damaged = there.refuses(&["import", "damaged.export", "--key", "small.key", "--dry-run"]);
    assert!(damaged.contains("is damaged"), "{damaged}");
    assert_snapshot!(there.ok(&[&import[..], &["--format", "json"]].concat()).out(), @r#"
    {
      "version": 1,
      "assembly": "small",
      "file": "small.export",
      "done": false
    }
    "#);
    assert!(
        there.refuses(&["status", "small"]).contains("there is no assembly `small`"),
        "nothing was changed"
    );
    assert_snapshot!(there.ok(&["import", "small.export", "--key", "small.key"]).out(), @"
    small is imported; `windlass status small` shows it
    remove small.export now, and do not import it again
    ");
    let again = there.refuses(&["import", "small.export", "--key", "small.key"]);
    assert!(again.contains("was imported already") && again.contains("the assembly exists"), "{again}");
    assert!(there.refuses(&import).contains("was imported already"));
    assert_snapshot!(there.ok(&["status", "small"]).out(), @"
    small Active assembly::small::1.1, AGE
    └─ box Active AGE
         url: ***
    ");
    assert_snapshot!(there.ok(&["history", "small"]).out(), @"
    p2 up, completed WHEN assembly::small::1.0, 1 resource
      no steps on record
      password: ***
      changes to the desired assembly:
      + box added (resource::box::1.0)

    p3 up, completed WHEN assembly::small::1.1, 1 resource
      no steps on record
      password: ***
      changes to the desired assembly:
      ~ small descriptor: assembly::small::1.0 → assembly::small::1.1

    imported from small.export WHEN
    ");
    there.ok(&["heal", "small", "box"]);
    there.ok(&["down", "small"]);
    // The assembly was imported already, so the state in the file is outdated.
    let again = there.refuses(&["import", "small.export", "--key", "small.key"]);
    assert!(again.contains("was imported already") && again.contains("`windlass log` shows"), "{again}");
    for told in [there.ok(&["log", "small"]).out(), there.ok(&["history", "small"]).out()] {
        assert!(told.contains("imported from small.export"), "{told}");
    }
    assert!(here.ok(&["log", "small"]).out().contains("exported to small.export"));
    // The components belong to the other store now.
    assert_snapshot!(here.refuses(&["up", "small"]), @"error[WL0547]: `small` was exported to `small.export`, so this would create its components a second time; import it with `windlass import small.export`, or create another assembly with `--force`");
    here.ok(&["up", "small", "--force"]);
    here.ok(&["down", "small"]);
    here.ok(&["up", "small"]);
    // An import ends the rule, even if the assembly has no later process.
    here.ok(&["export", "small", "-o", "again.export"]);
    here.ok(&["import", "again.export"]);
    here.ok(&["forget", "small", "--yes"]);
    here.ok(&["up", "small"]);
    assert_eq!(here.json(&["history", "small"])["moves"][0]["way"], "exported");
    assert_eq!(there.trace(), ["Stop", "Start", "Stop", "Uninstall"]);
}

/// An export is imported only once, even if the assembly was renamed or removed since.
#[test]
fn a_renamed_assembly_is_not_imported_again() {
    let env = small(INSTALL);
    env.write("secret", "hunter22");
    env.ok(&["up", "small", "-p", "password=@secret"]);
    env.ok(&["export", "small"]);
    env.ok(&["import", "small.export"]);
    let refused = || {
        let refused = env.refuses(&["import", "small.export"]);
        assert_eq!(env.refuses(&["import", "small.export", "--dry-run"]), refused);
        assert!(refused.contains("WL0508"), "{refused}");
        refused.rsplit_once(": ").unwrap().1.to_owned()
    };
    assert_snapshot!(refused(), @"the assembly exists");
    env.ok(&["rename", "small", "shop"]);
    assert_snapshot!(refused(), @"the assembly is `shop` now");
    env.ok(&["rename", "shop", "store"]);
    assert_snapshot!(refused(), @"the assembly is `store` now");
    env.ok(&["down", "store"]);
    env.ok(&["prune", "store", "--keep", "0", "--older", "0s"]);
    assert_snapshot!(refused(), @"`windlass log` shows its history since");
}

/// An assembly moves several times. Its history must contain each process and each version exactly once.
#[test]
fn where_it_was_before_its_processes_are_known() {
    let here = TestEnv::new();
    here.write_small(
        "effect: repeatable",
        &[("Install", "[ -e \"$(dirname \"$trace\")/ready\" ] || exit 3\nanswer"), ("Uninstall", "")],
    );
    assert_eq!(here.run(&["up", "small"]).code(), Some(1));
    std::fs::write(here.path("../ready"), "").unwrap();
    here.ok(&["retry", "small"]);
    here.edit("small/assembly.yaml", "assembly::small::1.0", "assembly::small::1.1");
    here.ok(&["up", "small", "--replace", "box", "--yes"]);
    let (ps, history, log) =
        (here.ok(&["ps"]).stdout, here.json(&["history", "small"]), here.ok(&["log", "small"]).stdout);
    assert_eq!(ps.lines().count(), 3, "{ps}");
    let told_of = |env: &TestEnv, way: &str| {
        assert_eq!(env.ok(&["ps"]).stdout, ps, "{way}");
        assert_eq!(env.json(&["history", "small"])["versions"], history["versions"], "{way}");
    };

    here.ok(&["export", "small"]);
    here.ok(&["import", "small.export"]);
    told_of(&here, "within one store");
    assert!(here.ok(&["log", "small"]).stdout.starts_with(&log), "what was done in each is still told");

    // The assembly moves to another store, where a process runs, and back.
    let there = TestEnv::new();
    there.write_small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    there.ok(&["up", "small", "--name", "other"]);
    here.ok(&["export", "small", "-o", "second.export"]);
    there.write("second.export", here.read("second.export"));
    there.ok(&["import", "second.export", "--key", here.path(".windlass/key").to_str().unwrap()]);
    there.ok(&["heal", "small", "box"]);
    there.edit("small/assembly.yaml", "assembly::small::1.0", "assembly::small::1.2");
    there.ok(&["up", "small", "--replace", "box", "--yes"]);
    there.ok(&["export", "small", "-o", "third.export"]);
    here.write("third.export", there.read("third.export"));
    here.ok(&["import", "third.export"]);
    let after = here.ok(&["ps"]).stdout;
    assert!(after.starts_with(&ps) && after.lines().count() == 4, "{after}");
    let versions = here.json(&["history", "small"])["versions"].as_array().unwrap().clone();
    assert_eq!(versions[..versions.len() - 1], history["versions"].as_array().unwrap()[..], "{versions:#?}");
    assert!(!versions.is_empty() && versions.last().unwrap()["process"] == 4, "{versions:#?}");
    here.ok(&["rollback", "small", "--to", "p3", "--yes"]);
    here.ok(&["down", "small"]);
}

#[test]
fn an_assembly_moves_to_a_server_and_back() {
    let Some(server) = Server::own() else {
        println!("SKIPPED transfer::an_assembly_moves_to_a_server_and_back: PostgreSQL is not installed");
        return;
    };
    let env = small(INSTALL);
    env.write("secret", "hunter22");
    env.ok(&["up", "small", "-p", "password=@secret"]);
    env.ok(&["export", "small"]);
    let state = server.url();
    let there = |args: &[&str]| env.ok(&[&["--state", &state], args].concat());
    // Both stores use the key of this project.
    there(&["import", "small.export"]);
    let again = env.run(&["up", "small", "-p", "password=@secret", "--dry-run", "--state", &state]);
    assert!(again.stdout.contains("nothing to do"), "{again}");
    there(&["set-state", "small", "Inactive"]);
    there(&["export", "small", "-o", "back.export"]);
    assert!(there(&["status"]).stdout.contains("there are no assemblies"));
    env.ok(&["import", "back.export"]);
    // An export from this store and an import back into it is a new export with its own id.
    env.ok(&["export", "small", "-o", "third.export"]);
    env.ok(&["import", "third.export"]);
    let refused = env.refuses(&["import", "third.export"]);
    assert!(refused.contains("was imported already"), "{refused}");
    assert!(env.ok(&["status"]).stdout.starts_with("small Inactive"));
    env.ok(&["down", "small"]);
    assert_eq!(env.trace(), ["Install", "Start", "Stop", "Uninstall"]);
}

#[test]
fn files_in_use_stay() {
    let env = small(GATE);
    env.edit(&format!("{SCRIPTS}/Uninstall.sh"), "exit 9", "exit 0");
    let running = env.spawn(&["up", "small"]);
    until("the script has begun", || env.trace() == ["Install"]);
    assert_snapshot!(env.run(&["export", "small", "--dry-run"]), @"
    exit 1
    ----- stderr -----
    error[WL0200]: `small` is held by `windlass up small` (process PID on HOST); wait until it ends, or stop it, and try again
    ");
    assert_snapshot!(env.run(&["export", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0200]: `small` is held by `windlass up small` (process PID on HOST) since WHEN; wait until it ends, or stop it, and try again
    ");
    running.kill();
    assert_snapshot!(env.run(&["export", "small"]), @"
    exit 1
    ----- stderr -----
    error[WL0507]: `small` was interrupted; resume it first: `windlass retry small`
    ");
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["up", "small"]);
    env.write("small.export", "");
    assert_snapshot!(env.refuses(&["export", "small"]), @"error[WL0578]: `small.export` exists already; choose another name with `-o`");
    // A referenced assembly stays, and a referencing one can be imported only where its target exists.
    env.write(
        "user/assembly.yaml",
        "name: assembly::user::1.0\nreferences:\n  small: {type: assembly::small::1.0}\n",
    );
    env.ok(&["up", "user"]);
    assert_snapshot!(env.refuses(&["export", "small", "-o", "moved"]), @"error[WL0504]: `small` is referenced by `user`, and it would leave this store; export `user` first, or use `--force`");
    assert!(
        env.refuses(&["export", "small", "-o", "moved", "--dry-run"])
            .contains("`small` is referenced by `user`")
    );
    assert_snapshot!(env.ok(&["export", "user", "--format", "json"]).out(), @r#"
    {
      "version": 1,
      "assembly": "user",
      "file": "user.export",
      "done": true
    }
    "#);
    let there = TestEnv::new();
    there.write("user.export", env.read("user.export"));
    assert!(
        there
            .refuses(&["import", "user.export", "--dry-run"])
            .contains("`user` references `small`, which is not here")
    );
    assert!(!there.path(".windlass").exists(), "a dry run makes no store");
    let run = there.run(&["import", "user.export"]);
    assert_eq!(run.code(), Some(2), "{run}");
    assert_snapshot!(run.stderr, @"error[WL0511]: `user` references `small`, which is not here");
    assert!(!there.path(".windlass").exists(), "a refused import makes no store");
    env.ok(&["import", "user.export"]);
    env.ok(&["down", "user"]);
    env.ok(&["down", "small"]);
}

/// Creates `small`, and kills its export. At that time the file is complete, and the store still contains the
/// assembly.
fn killed_before_the_store_forgets() -> TestEnv {
    let env = small(INSTALL);
    env.write("secret", "hunter22");
    env.ok(&["up", "small", "-p", "password=@secret"]);
    // Deleting the assembly blocks forever.
    let store = rusqlite::Connection::open(env.path(".windlass/state.db")).unwrap();
    let forever =
        "CREATE VIEW forever AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n;
        CREATE TRIGGER stuck BEFORE DELETE ON assembly BEGIN SELECT count(*) FROM forever; END";
    store.execute_batch(forever).unwrap();
    let export = env.spawn(&["export", "small", "--key", "small.key"]);
    until("the file is there", || env.path("small.export").exists());
    export.kill();
    store.execute_batch("DROP TRIGGER stuck; DROP VIEW forever").unwrap();
    env
}

/// Returns the leftovers of an export, other than its file.
fn remains(env: &TestEnv) -> Vec<String> {
    let is_left = |file: &String| file.strip_suffix(".new").is_some() || file.contains("/exports");
    env.files().into_iter().filter(is_left).collect()
}

#[test]
fn an_export_that_was_killed_is_finished() {
    let env = killed_before_the_store_forgets();
    let note = env.read(".windlass/exports/small");
    let status = env.ok(&["status"]);
    assert!(
        status.stderr.contains("`small` to `") && status.stderr.contains("windlass completed"),
        "{status}"
    );
    assert!(status.stdout.contains("there are no assemblies"), "{status}");
    assert_eq!(remains(&env), [""; 0]);
    assert!(env.ok(&["log", "small"]).out().contains("exported to"));

    // A second crash may leave the note in the folder.
    env.write(".windlass/exports/small", note);
    let status = env.ok(&["status"]);
    assert!(status.stderr.contains("windlass completed"), "{status}");
    assert_eq!((remains(&env), env.path("small.export").exists()), (Vec::new(), true));

    env.ok(&["import", "small.export", "--key", "small.key"]);
    env.ok(&["down", "small"]);
    assert_eq!(env.trace(), ["Install", "Start", "Stop", "Uninstall"]);
}

/// A command with another store leaves the interrupted export alone.
#[test]
fn an_export_of_another_store_is_left_alone() {
    let env = killed_before_the_store_forgets();
    let other = small(INSTALL);
    other.write("secret", "hunter22");
    other.ok(&["up", "small", "-p", "password=@secret"]);
    other.write(".windlass/exports/small", env.read(".windlass/exports/small"));
    let status = other.ok(&["status"]);
    assert_eq!(status.stderr, "");
    assert!(status.stdout.contains("small Active"), "{status}");
    assert!(other.path(".windlass/exports/small").exists());
    assert!(env.ok(&["status"]).stderr.contains("windlass completed"));
}

/// If an interrupted export can't be completed at present, commands that only read still work.
#[test]
fn reading_works_beside_an_export_that_can_not_be_completed() {
    let env = killed_before_the_store_forgets();
    let store = rusqlite::Connection::open(env.path(".windlass/state.db")).unwrap();
    let full = "CREATE TRIGGER full BEFORE DELETE ON assembly BEGIN SELECT RAISE(FAIL, 'no space'); END";
    store.execute_batch(full).unwrap();
    let status = env.ok(&["status"]);
    assert!(status.stdout.contains("small Active"), "{status}");
    assert!(status.stderr.contains("an interrupted export is left to a later command"), "{status}");
    store.execute_batch("DROP TRIGGER full").unwrap();
    assert!(env.ok(&["status"]).stderr.contains("windlass completed"));
}

/// An export was killed, and its file is missing. There are three cases: only the draft of the file exists, no file
/// exists, or a file with other content has the name of the missing file. windlass must undo the export in each case.
#[test]
fn an_export_without_its_file_is_taken_back() {
    for state in ["draft", "none", "other"] {
        let env = killed_before_the_store_forgets();
        let note: serde_json::Value = serde_json::from_str(&env.read(".windlass/exports/small")).unwrap();
        let (file, draft) = (env.path("small.export"), note["content"]["draft"].as_str().unwrap());
        match state {
            "draft" => std::fs::rename(&file, draft).unwrap(),
            "none" => std::fs::remove_file(&file).unwrap(),
            _ => std::fs::write(&file, "mine").unwrap(),
        }
        let status = env.ok(&["status"]);
        assert!(status.stderr.contains("rolled back"), "{state}: {status}");
        assert!(status.stdout.contains("small Active"), "{state}: {status}");
        assert_eq!((remains(&env), file.exists()), (Vec::new(), state == "other"), "{state}");
        assert_eq!(env.ok(&["status"]).stderr, "");
        let _other = std::fs::remove_file(&file);
        env.ok(&["export", "small", "--key", "small.key"]);
    }
}

/// A killed export is undone if the assembly has changed since, because the file is then outdated.
#[test]
fn an_export_of_what_has_changed_since_is_taken_back() {
    let env = killed_before_the_store_forgets();
    let note = env.read(".windlass/exports/small");
    // Another machine with the same database does not have the note.
    std::fs::remove_file(env.path(".windlass/exports/small")).unwrap();
    env.ok(&["heal", "small", "box"]);
    env.write(".windlass/exports/small", note);
    let status = env.ok(&["status"]);
    assert!(status.stderr.contains("rolled back") && status.stdout.contains("small Active"), "{status}");
    assert_eq!((remains(&env), env.path("small.export").exists()), (Vec::new(), false));
}
