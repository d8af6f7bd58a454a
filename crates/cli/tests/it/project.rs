//! `windlass.yaml`, and the placement of parts.

use insta::assert_snapshot;

use crate::env::TestEnv;

/// Returns the error of `up` for this `windlass.yaml`.
fn up_with(file: &str) -> String {
    let env = TestEnv::with("h_bta");
    env.write("windlass.yaml", file);
    env.refuses(&["up", "h_bta"])
}

/// A location has a volume at a reserved path. `windlass check` must refuse this volume by the same rule as the runtime
/// that runs the jobs.
#[test]
fn a_volume_at_a_reserved_path() {
    let env = TestEnv::with("h_bta");
    let file = "version: 1
locations:
  box: {runtime: sandbox, image: 'demo:1', volumes: {fine: /data, state: /proc/x}}
  engine: {runtime: docker, image: 'demo:1', volumes: {cache: /tmp/cache, dev: /dev/x}}
  here: {runtime: process, volumes: {state: /tmp}}
";
    env.write("windlass.yaml", file);
    assert_snapshot!(env.refuses(&["check", "h_bta"]), @"
    error[WL0316]: the volume `state` can't be at `/proc/x`: `/proc` is reserved for the runtime
     --> windlass.yaml:3:74
      |
    3 |   box: {runtime: sandbox, image: 'demo:1', volumes: {fine: /data, state: /proc/x}}
      |                                                                          ^^^^^^^
      |
      = help: use another path, such as `/var/lib/state`

    error[WL0316]: the volume `cache` can't be at `/tmp/cache`: expected an absolute path other than /, /tmp and /windlass
     --> windlass.yaml:4:63
      |
    4 |   engine: {runtime: docker, image: 'demo:1', volumes: {cache: /tmp/cache, dev: /dev/x}}
      |                                                               ^^^^^^^^^^
      |
      = help: use another path, such as `/var/lib/cache`

    2 errors, 0 warnings
    `windlass explain CODE` explains a code
    ");
    assert_snapshot!(env.refuses(&["up", "h_bta"]).lines().last().unwrap(), @"2 errors; nothing was changed");
}

/// Only a location whose jobs are processes of this machine needs the interpreter here.
#[test]
fn a_missing_interpreter() {
    let env = TestEnv::with("h_bta");
    env.runtime(&["runtime: process"]);
    env.ok(&["check", "h_bta", "--deny", "warnings"]);
    let scripts = "h_bta/Contains/h_simple/Lifecycle/script/scripts";
    env.edit(&format!("{scripts}/Stop.sh"), "#!/bin/sh", "#!/usr/bin/env no-python9");
    env.edit(&format!("{scripts}/Install.sh"), "#!/bin/sh", "#!/usr/bin/env sh -eu");
    let run = env.ok(&["check", "h_bta"]);
    assert_snapshot!(env.normal().text(&run.stderr), @"
    warning[WL0407]: the script `Install.sh` needs `sh -eu`, and this machine has no such program
     --> h_bta/Contains/h_simple/Lifecycle/script/scripts/Install.sh:1:1
      |
    1 | #!/usr/bin/env sh -eu
      | ^^^^^^^^^^^^^^^^^^^^^
      |
      = help: write `#!/usr/bin/env -S sh -eu`: without `-S`, the whole text is the name of a program

    warning[WL0407]: the script `Stop.sh` needs `no-python9`, and this machine has no such program
     --> h_bta/Contains/h_simple/Lifecycle/script/scripts/Stop.sh:1:1
      |
    1 | #!/usr/bin/env no-python9
      | ^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: install the program, or let the location use a runtime with an image that contains it

    0 errors, 2 warnings
    `windlass explain CODE` explains a code
    ");
    for lines in
        [&["runtime: process", "environment: {PATH: .}"] as &[&str], &["runtime: docker", "image: 'demo:1'"]]
    {
        env.runtime(lines);
        env.ok(&["check", "h_bta", "--deny", "warnings"]);
    }
}

#[test]
fn a_file_with_mistakes() {
    assert_snapshot!(up_with("locations: {}\n"), @"
    error[WL0310]: `windlass.yaml` has no `version`
     --> windlass.yaml:1:1
      |
    1 | locations: {}
      | ^^^^^^^^^
      |
      = help: begin it with a line `version: 1`

    1 error; nothing was changed
    ");
    assert_snapshot!(up_with("version: 2\n"), @"
    error[WL0310]: the document's version is `2`, and this windlass reads version `1`
     --> windlass.yaml:1:10
      |
    1 | version: 2
      |          ^
      |
      = help: use the windlass that it was written for

    1 error; nothing was changed
    ");
    assert_snapshot!(up_with("version: 1\nlocation:\n  here: {}\n"), @"
    error[WL0311]: `windlass.yaml` has no key `location`
     --> windlass.yaml:2:1
      |
    2 | location:
      | ^^^^^^^^
      |
      = help: did you mean `locations`?

    1 error; nothing was changed
    ");
    assert_snapshot!(up_with("version: 1\nlocations:\n  here:\n    resourcemanager: x\n    runtime: proces\n"), @"
    error[WL0311]: the location `here` has no key `resourcemanager`
     --> windlass.yaml:4:5
      |
    4 |     resourcemanager: x
      |     ^^^^^^^^^^^^^^^
      |
      = help: did you mean `resource-manager`?

    error[WL0315]: there is no runtime `proces`
     --> windlass.yaml:5:14
      |
    5 |     runtime: proces
      |              ^^^^^^
      |
      = help: did you mean `process`?

    2 errors; nothing was changed
    ");
    assert_snapshot!(up_with(""), @"
    error[WL0310]: `windlass.yaml` has no `version`
     --> windlass.yaml:1:1
      |
    1 |
      | ^
      |
      = help: begin it with a line `version: 1`

    1 error; nothing was changed
    ");
    assert_snapshot!(up_with("version: 1\nlocations: [\n"), @"
    error[WL0019]: `[` is never closed
     --> windlass.yaml:2:12
      |
    2 | locations: [
      |            ^ opened here
      |
      = help: close it with `]`, or quote the text

    error[WL0312]: `locations` must be a mapping, and this is a list
     --> windlass.yaml:2:12
      |
    2 | locations: [
      |            ^

    2 errors; nothing was changed
    ");
}

#[test]
fn every_command_reads_it() {
    let env = TestEnv::with("h_bta");
    env.write("windlass.yaml", "version: 1\nlocatoins: {}\n");
    for args in [&["down", "h_bta"][..], &["plan", "h_bta"], &["check", "h_bta"]] {
        let run = env.run(args);
        assert_eq!(run.code(), Some(2), "{run}");
        assert!(run.stderr.contains("error[WL0311]"), "{run}");
        assert!(run.stderr.contains("did you mean `locations`?"), "{run}");
    }
    // Commands that only read records warn of the key.
    for args in [&["status"][..], &["history", "h_bta"]] {
        let run = env.run(args);
        assert!(run.stderr.contains("warning[WL0311]"), "{run}");
        assert!(run.stderr.contains("did you mean `locations`?"), "{run}");
    }
}

/// A refused first `up` leaves no state behind.
#[test]
fn a_first_up_that_is_refused_leaves_nothing() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    env.write(
        "small/assembly.yaml",
        "name: assembly::small::1.0\ncomposition:\n  box:\n    type: resource::box::1.0\n    properties:\n      deploymentLocation:\n        value: nowhere\n",
    );
    for command in [&["plan", "small"], &["up", "small"]] {
        let message = env.refuses(command);
        assert!(message.contains("small/assembly.yaml:7:16: `box` can't be placed"), "{message}");
        assert!(!env.path(".windlass").exists());
    }
}

#[test]
fn a_place_that_is_not_there() {
    let env = TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    env.ok(&["up", "small", "--name", "before"]);
    let placed = |properties: &str| {
        env.write(
            "small/assembly.yaml",
            format!("name: assembly::small::1.0\ncomposition:\n  box:\n    type: resource::box::1.0\n    quantity: 2\n    properties:\n{properties}"),
        );
        env.refuses(&["up", "small"])
    };
    // `check` finds a literal location that does not exist, too.
    placed("      deploymentLocation: {value: admin@locla}\n");
    assert_snapshot!(env.refuses(&["check", "small"]), @"
    error[WL0320]: `windlass.yaml` declares no location `admin@locla`
     --> small/assembly.yaml:7:35
      |
    7 |       deploymentLocation: {value: admin@locla}
      |                                   ^^^^^^^^^^^
      |
      = help: did you mean `admin@local`?

    1 error, 0 warnings
    `windlass explain CODE` explains a code
    ");
    assert_eq!(env.refuses(&["check", "."]), env.refuses(&["check", "small"]));
    placed("      resourceManager: {value: other-rm}\n");
    assert!(
        env.refuses(&["check", "small"])
            .contains("belongs to the resource manager `test-rm`, not to `other-rm`")
    );
    assert_snapshot!(placed("      deploymentLocation:\n        value: admin@locla\n"), @"error[WL0513]: small/assembly.yaml:8:16: `box__1`, `box__2` can't be placed: `windlass.yaml` declares no location `admin@locla`; did you mean `admin@local`? Existing parts keep their location: if it was removed or renamed, declare `admin@locla` again");
    assert_snapshot!(placed("      resourceManager:\n        value: other-rm\n"), @"error[WL0513]: small/assembly.yaml:8:16: `box__1`, `box__2` can't be placed: the location `admin@local` belongs to the resource manager `test-rm`, not to `other-rm`; set the component's `resourceManager` to `test-rm`");
    env.edit("windlass.yaml", "runtime: process", "runtime: docker");
    assert_snapshot!(placed("      deploymentLocation:\n        value: admin@local\n"), @"error[WL0513]: small/assembly.yaml:8:16: `box__1`, `box__2` can't be placed: the location `admin@local` has the runtime `docker` and no `image`, which scripts need; set `image` of the location");
}

/// A reference is resolved at the location that it requests.
#[test]
fn references_elsewhere() {
    let env = TestEnv::with("h_bta");
    assert_snapshot!(env.refuses(&["up", "h_bta", "-p", "deploymentLocation=admin@locla"]), @"
    error[WL0160]: the reference `internal-network` fits nothing: there is no `resource::openstack_neutron_network::1.0` with deploymentLocation `admin@locla`, name `VIDEO`, resourceManager `test-rm`
       --> h_bta/assembly.yaml:119:11
        |
    119 |     type: resource::openstack_neutron_network::1.0
        |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        |
        = help: these exist, but do not fit: `VIDEO` 1.0 (its `deploymentLocation` is `admin@local`); `public` 1.0 (its `deploymentLocation` is `admin@local`, another name)

    error[WL0160]: the reference `public-network` fits nothing: there is no `resource::openstack_neutron_network::1.0` with deploymentLocation `admin@locla`, name `public`, resourceManager `test-rm`
       --> h_bta/assembly.yaml:129:11
        |
    129 |     type: resource::openstack_neutron_network::1.0
        |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        |
        = help: these exist, but do not fit: `VIDEO` 1.0 (its `deploymentLocation` is `admin@local`, another name); `public` 1.0 (its `deploymentLocation` is `admin@local`)

    error[WL0160]: the reference `xenial-image` fits nothing: there is no `resource::openstack_glance_image::1.0` with deploymentLocation `admin@locla`, name `xenial`, resourceManager `test-rm`
       --> h_bta/assembly.yaml:139:11
        |
    139 |     type: resource::openstack_glance_image::1.0
        |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        |
        = help: these exist, but do not fit: `xenial` 1.0 (its `deploymentLocation` is `admin@local`)

    3 errors; nothing was changed
    ");
}

/// At most `max-jobs` jobs run at once at a location. Without a limit, the jobs of a cluster's nodes overlap.
#[test]
fn a_location_limits_its_concurrent_jobs() {
    let body = "mkdir \"$WINDLASS_VOLUME_STATE/job\" || echo overlap >>\"$trace\"\nsleep 0.1\nrmdir \"$WINDLASS_VOLUME_STATE/job\"\n[ \"$name\" != Install.sh ] || answer";
    let env = TestEnv::small("effect: repeatable", &[("Install", body), ("Uninstall", body)]);
    env.edit("small/assembly.yaml", "quantity: 1", "quantity: 6");
    env.edit("windlass.yaml", "    runtime: process\n", "    runtime: process\n    max-jobs: 1\n");
    env.ok(&["up", "small"]);
    assert_eq!(env.trace(), ["Install"; 6]);
    env.ok(&["down", "small"]);
    assert_eq!(env.trace()[6..], ["Uninstall"; 6]);

    env.edit("windlass.yaml", "max-jobs: 1", "max-jobs: 0");
    assert_snapshot!(env.refuses(&["up", "small"]), @"
    error[WL0328]: `max-jobs` is a whole number from 1 to 4294967295, not `0`
      --> windlass.yaml:11:15
       |
    11 |     max-jobs: 0
       |               ^

    1 error; nothing was changed
    ");
}

/// A new assembly of `init` works in each language and style: `check`, `up`, health checks and `down`
/// succeed.
#[rstest::rstest]
fn a_new_assembly_works(#[values("sh", "python")] language: &str, #[values("plain", "full")] style: &str) {
    let env = TestEnv::bare();
    let made = env.ok(&["init", "hello", "--lang", language, "--style", style]);
    assert!(made.stdout.contains("hello/Contains/greeter/resource.yaml\n"), "{made}");
    assert!(made.stdout.ends_with("\nnext: `cd hello`, then `windlass up`; `windlass status` shows it, `windlass down hello` removes it\n"), "{made}");
    env.ok(&["check", "hello", "--deny", "warnings"]);
    let run = |args: &[&str]| {
        let run = env.run_in("hello", args);
        assert_eq!(run.code(), Some(0), "{args:?}: {run}");
        run.stdout
    };
    run(&["up", "-p", "greeting=ahoy"]);
    let file = run(&["output", "hello", "file", "--raw"]);
    assert!(std::fs::read_to_string(&file).unwrap().contains("ahoy"), "{file}");
    let well = || {
        let plan = env.run_in("hello", &["plan", "--format", "json"]).json();
        plan["drift"].as_array().unwrap().iter().filter(|part| part["well"] == true).count()
    };
    assert_eq!(well(), 1);
    let more = "  other:\n    type: resource::greeter::1.0\n    quantity: 3\n    properties: {greeting: {value: hi}}\n";
    env.write("hello/assembly.yaml", env.read("hello/assembly.yaml") + more);
    run(&["up", "-p", "greeting=ahoy"]);
    assert_eq!(well(), 4);
    std::fs::remove_file(&file).unwrap();
    assert!(run(&["plan"]).contains("4 parts checked, 3 as recorded"));
    run(&["up", "-p", "greeting=ahoy"]);
    let file = run(&["output", "hello", "file", "--raw"]);
    assert!(std::path::Path::new(&file).exists(), "{file}");
    run(&["down", "hello"]);
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn init_changes_no_file_that_exists() {
    let env = TestEnv::bare();
    env.write("shop/Contains/greeter/resource.yaml", "mine");
    assert_snapshot!(env.refuses(&["init", "shop"]), @"error[WL0569]: can't write `shop/Contains/greeter/resource.yaml`: it exists already; name another folder");
    assert_snapshot!(env.refuses(&["init", "shop", "--name", "my shop"]), @"error[WL0550]: the assembly name `my shop` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`");
    env.write("windlass.yaml", "version: 1\nlocations: {here: {runtime: process}}\n");
    let files = env.json(&["init", "inside", "--name", "other"])["files"].clone();
    assert_eq!(files[0], "assembly.yaml", "the project has a windlass.yaml: {files}");
    assert!(env.read("inside/assembly.yaml").starts_with("name: assembly::other::1.0\n"));
}

/// The jobs of a location get the variables that the location sets. They also get those variables of windlass's own
/// environment that the location inherits.
#[test]
fn a_location_has_variables_of_its_own() {
    let install = "echo \"$REGION ${PASSED-none} ${OTHER-none} ${UNSET-none}\" >>\"$trace\"\nanswer";
    let env = TestEnv::small("effect: repeatable", &[("Install", install)]);
    let lines = "    runtime: process\n    environment: {REGION: 7, OTHER: mine}\n    inherit-environment: [PASSED, OTHER, UNSET]\n";
    env.edit("windlass.yaml", "    runtime: process\n", lines);
    let mut up = env.command(&["up", "small"]);
    up.env("PASSED", "passed on").env("OTHER", "theirs").env("HIDDEN", "x");
    let up = env.start(up).end();
    assert_eq!(up.code(), Some(0), "{up}");
    assert_eq!(env.trace(), ["Install", "7 passed on mine none"]);

    let wrong = "    environment: {1st: a, TOKEN: {env: TOKEN}}\n    inherit-environment: [WINDLASS_JOB]\n";
    env.edit("windlass.yaml", lines, &format!("    runtime: process\n{wrong}"));
    assert_snapshot!(env.refuses(&["up", "small"]), @"
    error[WL0336]: `1st` can't be the name of a variable
      --> windlass.yaml:11:19
       |
    11 |     environment: {1st: a, TOKEN: {env: *****}}
       |                   ^^^
       |
       = help: a name has letters, digits and `_`, such as `HTTPS_PROXY`

    error[WL0336]: the variable `***` is not a text
      --> windlass.yaml:11:34
       |
    11 |     environment: {1st: a, TOKEN: {env: *****}}
       |                                  ^^^^^^^^^^^^
       |
       = help: an environment has no secrets; write `{file: PATH}` or `{env: VARIABLE}` in `properties`

    error[WL0336]: `WINDLASS_JOB` can't be the name of a variable
      --> windlass.yaml:12:27
       |
    12 |     inherit-environment: [WINDLASS_JOB]
       |                           ^^^^^^^^^^^^
       |
       = help: windlass sets the variables that begin with `WINDLASS_`

    3 errors; nothing was changed
    ");
}

/// If the name of the folder is no valid assembly name, `init` names the option for another name.
#[test]
fn init_in_a_folder_with_another_name_tells_the_option() {
    let env = TestEnv::bare();
    assert_snapshot!(env.refuses(&["init", "my app"]), @"
    error[WL0550]: the assembly name `my app` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`
    note: the name is that of the folder; `windlass init --name NAME` gives another
    ");
    env.ok(&["init", "my app", "--name", "my-app"]);
}
