//! `windlass check` of application manifests.

use insta::assert_snapshot;

use crate::env::TestEnv;

const MANIFEST: &str = "\
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        factory.application: VM
        component.discoveryScript: /vm/discover.py
        component.discoverySchedule: 0/30 * * * * ? *
        access.pin: [hunter2]
      interfaces:
        access: {pin: {type: configuration(string), sensitive: true}}
";

#[test]
fn a_manifest_is_known_by_its_key_and_checked() {
    let env = TestEnv::bare();
    env.write("factory.yaml", MANIFEST);
    let run = env.run(&["check", "factory.yaml"]);
    assert_eq!(run.code(), Some(2), "{run}");
    assert_snapshot!(run.stderr, @"
    warning[WL0628]: `factory.application` is read as `component.application`
     --> factory.yaml:8:9
      |
    8 |         factory.application: VM
      |         ^^^^^^^^^^^^^^^^^^^
      |
      = help: write `component.application`

    warning[WL0630]: discovery runs more than once a minute
      --> factory.yaml:10:38
       |
    10 |         component.discoverySchedule: 0/30 * * * * ? *
       |                                      ^^^^^^^^^^^^^^^^
       |
       = help: each run starts a script; `0 0/5 * * * ? *` is every five minutes

    error[WL0615]: the value of `access.pin` does not fit: `string` is expected, and this is a list
      --> factory.yaml:11:21
       |
    11 |         access.pin: *********
       |                     ^^^^^^^^^

    1 error, 2 warnings
    `windlass explain CODE` explains a code
    ");
    let stdin = env.run_with(&["check", "-"], MANIFEST);
    assert_eq!(stdin.stderr, run.stderr.replace("factory.yaml", "<stdin>"));
    let explained = env.ok(&["explain", "WL0628"]).stdout;
    assert!(explained.starts_with("WL0628: old id of a pin\n"), "{explained}");
}

#[test]
fn a_manifest_is_repaired() {
    let env = TestEnv::bare();
    env.write("factory.yaml", MANIFEST.replace("[hunter2]", "hunter2"));
    let run = env.ok(&["check", "factory.yaml", "--fix"]);
    assert!(run.stdout.contains("write `component.application` (WL0628)"), "{run}");
    assert!(env.read("factory.yaml").contains("        component.application: VM\n"), "{run}");
}

#[test]
fn a_manifest_is_no_assembly() {
    let env = TestEnv::bare();
    env.write("factory.yaml", MANIFEST);
    assert_snapshot!(env.refuses(&["plan", "factory.yaml"]), @"
    error[WL0100]: this is not a descriptor: it looks like an application manifest
     --> factory.yaml:1:1
      |
    1 | application:
      | ^^^^^^^^^^^
      |
      = help: `windlass check` checks it; an assembly is needed here

    1 error; nothing was changed
    ");
}

/// Returns a project with a manifest and its scripts, of which two have a mistake.
fn with_scripts() -> TestEnv {
    let env = TestEnv::bare();
    env.write(
        "vm.yaml",
        "\
application:
  interfaces: {compute: {'*': bind(vm#compute.*)}}
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /vm/launch.py
        factory.destroyScript: /vm/destroy.py
      interfaces:
        compute: {ip: publish-signal(string)}
",
    );
    env.script("scripts/vm/lunch.py", "#!/bin/sh\n");
    env.write("scripts/vm/destroy.py", "#!/bin/sh\n");
    env
}

#[test]
fn scripts_are_files_of_a_folder() {
    let env = with_scripts();
    let run = env.run(&["check", "vm.yaml", "--scripts", "scripts"]);
    assert_eq!(run.code(), Some(2), "{run}");
    assert_snapshot!(run.stderr, @"
    error[WL0642]: the folder has no `vm/launch.py`
     --> vm.yaml:8:31
      |
    8 |         factory.launchScript: /vm/launch.py
      |                               ^^^^^^^^^^^^^
      |
      = help: did you mean `/vm/lunch.py`?

    error[WL0643]: the script `vm/destroy.py` may not be executed
     --> vm.yaml:9:32
      |
    9 |         factory.destroyScript: /vm/destroy.py
      |                                ^^^^^^^^^^^^^^
      |
      = help: make it executable: `chmod +x vm/destroy.py` in the folder of scripts

    2 errors, 0 warnings
    `windlass explain CODE` explains a code
    ");
    let stdin = env.run_with(&["check", "-", "--scripts", "scripts"], &env.read("vm.yaml"));
    assert_eq!(stdin.stderr, run.stderr.replace("vm.yaml", "<stdin>"));
    env.script("scripts/vm/launch.py", "#!/bin/sh\n");
    env.script("scripts/vm/destroy.py", "#!/bin/sh\n");
    env.ok(&["check", "vm.yaml", "--scripts", "scripts"]);
    assert_snapshot!(env.run(&["check", "vm.yaml", "--scripts", "none"]).stderr, @"
    error[WL0300]: there is no file or folder `none`

    1 error; nothing was changed
    ");
}

/// `check --image` accepts the path of an image file, or the name of an image in the store. windlass must not run an
/// image that it reads from a file, and must not import the image into the store.
#[test]
fn scripts_are_files_of_an_image() {
    let env = with_scripts();
    std::os::unix::fs::symlink("/opt/none", env.path("scripts/vm/launch.py")).unwrap();
    env.ok(&["image", "build", "scripts", "-t", "vm:1", "-o", "vm.tar"]);
    let stored = env.run(&["check", "vm.yaml", "--image", "vm:1"]);
    env.ok(&["image", "prune", "--all"]);
    let run = env.run(&["check", "vm.yaml", "--image", "./vm.tar"]);
    assert_eq!(run.code(), Some(2), "{run}");
    assert_snapshot!(run.stderr, @"
    error[WL0642]: `/vm/launch.py` of the image leads to `/opt/none`, which does not exist
     --> vm.yaml:8:31
      |
    8 |         factory.launchScript: /vm/launch.py
      |                               ^^^^^^^^^^^^^
      |
      = help: add `/opt/none`, or correct the link

    error[WL0643]: the script `/vm/destroy.py` of the image may not be executed
     --> vm.yaml:9:32
      |
    9 |         factory.destroyScript: /vm/destroy.py
      |                                ^^^^^^^^^^^^^^
      |
      = help: add `RUN chmod +x /vm/destroy.py` to the Dockerfile of the image

    2 errors, 0 warnings
    `windlass explain CODE` explains a code
    ");
    assert_eq!(stored.stderr, run.stderr);
    assert_eq!(env.ok(&["image", "ls"]).stdout, "");
    std::fs::remove_file(env.path("scripts/vm/launch.py")).unwrap();
    std::os::unix::fs::symlink("lunch.py", env.path("scripts/vm/launch.py")).unwrap();
    env.script("scripts/vm/destroy.py", "#!/bin/sh\n");
    env.ok(&["image", "build", "scripts", "-t", "vm:1"]);
    env.ok(&["check", "vm.yaml", "--image", "vm:1"]);
}

#[test]
fn an_image_that_is_nowhere_is_refused() {
    let env = with_scripts();
    let mut command = env.command(&["check", "vm.yaml", "--image", "acme/vm:1"]);
    command.env("DOCKER_HOST", "unix:///no/such/socket").env("XDG_RUNTIME_DIR", env.path("run"));
    let run = env.start(command).end();
    assert_eq!(run.code(), Some(2), "{run}");
    assert!(run.stderr.starts_with("error[WL0587]: there is no image `acme/vm:1`: the store"), "{run}");
    assert!(run.stderr.contains("import it with `windlass image import FILE`"), "{run}");
    env.write("empty.tar", "");
    assert!(env.refuses(&["check", "vm.yaml", "--image", "./empty.tar"]).contains("error[WL0583]"));
}

#[test]
fn scripts_belong_to_manifests() {
    let env = with_scripts();
    env.write("a.yaml", "name: resource::a::1.0\nlifecycle: [Install]\n");
    assert_snapshot!(env.refuses(&["check", "a.yaml", "--scripts", "scripts"]), @"
    error[WL0644]: none of the files is an application manifest, so no script was looked up
     |
     = help: name a manifest, or omit `--scripts` and `--image`

    1 error, 0 warnings
    `windlass explain CODE` explains a code
    ");
}

#[test]
fn manifests_of_one_check_pair_up() {
    let env = with_scripts();
    env.write("vm-factory.yaml", MANIFEST.replace("factory.application: VM", "component.application: Disk"));
    let run = env.run(&["check", "vm.yaml", "vm-factory.yaml"]);
    let pair: Vec<&str> = run.stderr.lines().filter(|line| line.contains("WL0635")).collect();
    assert_eq!(pair, ["warning[WL0635]: the factory `VM Factory` manages `Disk`, and this is `vm`"], "{run}");
    env.write("vm-factory.yaml", MANIFEST.replace("factory.application", "component.application"));
    let run = env.run(&["check", "vm.yaml", "vm-factory.yaml"]);
    assert!(!run.stderr.contains("WL0635"), "{run}");
}
