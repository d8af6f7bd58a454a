//! Plain scripts, and the commands for authors of scripts.

use insta::assert_snapshot;
use rstest::rstest;
use windlass::executor::image::Store;
use windlass::executor::image::build::ImageBuilder;

use crate::containers::{IMAGE, engine};
use crate::env::TestEnv;
use crate::run::Run;

const SCRIPTS: &str = "web/Contains/box/Lifecycle/script/scripts";

/// Creates a project with the assembly `web`, whose component has plain scripts.
fn web(scripts: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::bare();
    write_web(&env, "runtime: process", scripts);
    env
}

fn write_web(env: &TestEnv, runtime: &str, scripts: &[(&str, &str)]) {
    env.write(
        "windlass.yaml",
        format!("version: 1\nlocations: {{here: {{{runtime}, volumes: {{state: /state}}}}}}\n"),
    );
    env.write(
        "web/assembly.yaml",
        "name: assembly::web::1.0
properties:
  greeting: {default: hello}
  token: {default: none, sensitive: true}
  address: {read-only: true, value: '${box.address}'}
composition:
  box:
    type: resource::box::1.0
    properties:
      deploymentLocation: {value: here}
      greeting: {value: '${greeting}'}
      token: {value: '${token}'}
",
    );
    let mut resource = "name: resource::box::1.0
properties:
  greeting: {}
  token: {sensitive: true}
  deploymentLocation: {}
  address: {read-only: true}
default-driver: {script: {properties: {style: plain, effect: repeatable, timeout: 1m}}}
commands: {backup: {}}
lifecycle:
"
    .to_owned();
    env.script(&format!("{SCRIPTS}/backup.sh"), BACKUP);
    for (transition, body) in scripts {
        resource.extend(["  ", transition, ": {}\n"]);
        env.script(&format!("{SCRIPTS}/{transition}.sh"), format!("#!/bin/sh\nset -eu\n{body}\n"));
    }
    env.write("web/Contains/box/resource.yaml", resource);
}

const BACKUP: &str = "#!/bin/sh
cp \"$WINDLASS_ARGUMENTS/target\" \"${WINDLASS_VOLUME_STATE:-.}/target\"
";

const INSTALL: &str = r#"file="$WINDLASS_VOLUME_STATE/$(cat "$WINDLASS_ID_FILE")"
cat "$WINDLASS_IN/greeting" "$WINDLASS_IN/token" >"$file"
echo "$file" >"$WINDLASS_OUT/address"; ls -l "$WINDLASS_IN/token" >&2"#;

const INTEGRITY: &str = r#"test -e "$WINDLASS_VOLUME_STATE/$(cat "$WINDLASS_ID_FILE")""#;

const UNINSTALL: &str = r#"rm "$WINDLASS_VOLUME_STATE/$(cat "$WINDLASS_ID_FILE")""#;

const LIFE: [(&str, &str); 3] = [("Install", INSTALL), ("Integrity", INTEGRITY), ("Uninstall", UNINSTALL)];

/// Plain scripts work on each runtime, from `up` to `down`: they read and write files, and nothing is left.
#[rstest]
#[case::process("runtime: process")]
#[case::sandbox("runtime: sandbox, image: 'IMAGE'")]
#[case::docker("runtime: docker, image: 'IMAGE'")]
fn plain_scripts_on_each_runtime(#[case] runtime: &str) {
    if runtime.contains("docker") && !engine("plain_scripts_on_each_runtime") {
        return;
    }
    let env = TestEnv::bare();
    if runtime.contains("sandbox") {
        let image = ImageBuilder::new(IMAGE).busybox("/bin/busybox".as_ref()).unwrap().build().unwrap();
        env.write("image.tar", image.archive());
        let store = Store::open(env.home().join(".cache/windlass/images")).unwrap();
        store.import(&env.path("image.tar"), None).unwrap();
    }
    write_web(&env, &runtime.replace("IMAGE", IMAGE), &LIFE);
    env.write("token", "hunter22-and-more");
    env.ok(&["check", "web", "--deny", "warnings"]);
    env.ok(&["up", "web", "-p", "token=@token"]);
    let status = env.json(&["status", "web"]);
    assert_eq!(status["assemblies"][0]["state"], "Active", "{status}");
    let address = env.ok(&["output", "web", "address", "--raw"]).stdout;
    assert!(address.contains("/state/"), "{address}");
    let log = env.ok(&["log", "web"]).stdout;
    assert!(log.contains("-rw-------"), "{log}");
    let plan = env.json(&["plan", "web", "-p", "token=@token"]);
    assert_eq!(plan["drift"][0]["well"], true, "{plan}");
    env.ok(&["call", "web", "box", "backup", "-a", "target=/srv"]);
    env.ok(&["down", "web"]);
    std::fs::remove_file(env.path("token")).unwrap();
    assert!(!env.path(".windlass/jobs").exists(), "no file of a job is left");
}

/// After Start, the part converges until its health check succeeds.
#[test]
fn a_plain_script_converges() {
    let start = r#"echo "waiting for the disk" >&2; exit 75"#;
    let integrity = r#"count="$WINDLASS_VOLUME_STATE/count"; echo x >>"$count"
[ "$(wc -l <"$count")" -ge 3 ] || { echo "no answer" >&2; exit 1; }"#;
    let env = web(&[("Install", ""), ("Start", start), ("Integrity", integrity)]);
    env.ok(&["up", "web"]);
    assert_eq!(
        env.read(".windlass/volumes/state/count").lines().count(),
        4,
        "three for Start, one for Integrity"
    );
    let status = env.json(&["status", "web"]);
    assert_eq!(status["assemblies"][0]["state"], "Active", "{status}");
}

#[test]
fn wrong_output_of_plain_scripts() {
    let env = web(&[("Install", r#"echo x >"$WINDLASS_OUT/adress""#)]);
    let up = env.ok(&["up", "web"]).out();
    let warning = up.lines().find(|line| line.starts_with("warning")).unwrap();
    assert_snapshot!(warning, @"warning   box: it publishes `adress` (did you mean `address`?), which its descriptor does not declare; nothing can read that");
    let env = web(&[("Install", r#"echo '{' >"$WINDLASS_OUT/address.json""#)]);
    let up = env.run(&["up", "web"]);
    assert_eq!(up.code(), Some(1), "{up}");
    let out = up.out();
    let failed: Vec<&str> = out.lines().skip_while(|line| !line.starts_with("failed")).take(3).collect();
    assert_snapshot!(failed.join("\n"), @"
    failed    box Install: the output of `Install.sh` can't be used: `$WINDLASS_OUT/address.json` is not JSON: EOF while parsing an object at line 2 column 0
              | error[WL0440]: `$WINDLASS_OUT/address.json` is not JSON: EOF while parsing an object at line 2 column 0
              |     help: write one JSON value, or a text to `address` without `.json`
    ");
}

/// A launch script has created a machine, and one of its output files is invalid. The id of the machine is kept, so
/// that the machine can be removed.
#[test]
fn the_id_of_a_launch_with_an_invalid_output_is_kept() {
    let install = r#"echo vm-17 >"$WINDLASS_ID_FILE"; touch "$WINDLASS_VOLUME_STATE/vm-17"
echo '{' >"$WINDLASS_OUT/address.json""#;
    let env = web(&[("Install", install), ("Uninstall", UNINSTALL)]);
    let machines = || std::fs::read_dir(env.path(".windlass/volumes/state")).unwrap().count();
    let up = env.run(&["up", "web"]);
    assert_eq!((up.code(), machines()), (Some(1), 1), "{up}");
    env.ok(&["down", "web"]);
    assert_eq!(machines(), 0);
    // The next launch has another id, and the machine of the failed launch does not stay.
    env.run(&["up", "web"]);
    let corrected = install.replace("vm-17", "vm-18").replace("echo '{'", "echo '{}'");
    env.script(&format!("{SCRIPTS}/Install.sh"), format!("#!/bin/sh\nset -eu\n{corrected}\n"));
    env.ok(&["up", "web"]);
    assert_eq!(machines(), 1);
    env.ok(&["down", "web"]);
    assert_eq!(machines(), 0);
}

#[test]
fn check_knows_the_style() {
    let env = web(&LIFE);
    env.edit("web/Contains/box/resource.yaml", "style: plain", "style: simple");
    assert_snapshot!(env.refuses(&["check", "web"]), @"
    error[WL0404]: in `resource::box::1.0`: the driver property `style` is `plain` or `full`, not `simple`
     --> web/Contains/box/resource.yaml:7:40
      |
    7 | default-driver: {script: {properties: {style: simple, effect: repeatable, timeout: 1m}}}
      |                                        ^^^^^

    1 error, 0 warnings
    `windlass explain CODE` explains a code
    ");
    env.edit("web/Contains/box/resource.yaml", "style: simple", "stile: plain");
    assert!(env.refuses(&["check", "web"]).contains("did you mean `style`?"));
}

/// Creates the package `vm`. Its scripts keep their files in a folder of the test instead of `/tmp`, because
/// tests run concurrently.
fn new_package(env: &TestEnv, options: &[&str]) -> Run {
    let made = env.ok(&[&["script", "new", "vm"], options].concat());
    std::fs::create_dir_all(state(env)).unwrap();
    for file in env.files().iter().filter(|file| file.starts_with("vm/")) {
        if env.path(file).is_file() {
            std::fs::write(env.path(file), env.read(file).replace("/tmp", &state(env))).unwrap();
        }
    }
    made
}

fn state(env: &TestEnv) -> String {
    env.path("state").to_str().unwrap().to_owned()
}

/// A new package passes the check and its own test cases, in each language and style.
#[rstest]
fn a_new_package_works(#[values("sh", "python")] language: &str, #[values("plain", "full")] style: &str) {
    let env = TestEnv::bare();
    let made = new_package(&env, &["--lang", language, "--style", style]);
    assert!(made.stdout.ends_with("\nnext: `windlass script test vm` runs its test cases\n"), "{made}");
    env.ok(&["check", "vm", "--deny", "warnings"]);
    let report = "ok      vm/tests/1-install.yaml
ok      vm/tests/2-integrity.yaml
ok      vm/tests/3-uninstall.yaml
3 passed, 0 failed
";
    assert_eq!(env.ok(&["script", "test", "vm"]).stdout, report);
    assert!(env.refuses(&["script", "new", "vm"]).contains("exists already"));
}

#[test]
fn a_case_that_fails_is_updated() {
    let env = TestEnv::bare();
    new_package(&env, &[]);
    env.edit("vm/Lifecycle/script/scripts/Install.sh", "WINDLASS_OUT/file", "WINDLASS_OUT/place");
    let test = env.run(&["script", "test", "vm"]);
    assert_eq!(test.code(), Some(1), "{test}");
    assert_snapshot!(test.stdout.replace(&state(&env), "/tmp"), @r#"
    failed  vm/tests/1-install.yaml
      expected:
        id: "case"
        updates:
          "$set":
            interfaces.properties.signals.file: "/tmp/greeting-case"
      result:
        id: "case"
        updates:
          "$set":
            interfaces.properties.signals.place: "/tmp/greeting-case"
      stderr:
        wrote /tmp/greeting-case
    ok      vm/tests/2-integrity.yaml
    ok      vm/tests/3-uninstall.yaml
    2 passed, 1 failed
    "#);
    let before = env.read("vm/tests/1-install.yaml");
    assert!(env.ok(&["script", "test", "vm", "--update"]).stdout.contains("2 passed, 1 updated, 0 failed"));
    let after = env.read("vm/tests/1-install.yaml");
    assert_eq!(after, before.replace("signals.file:", "signals.place:"));
    env.ok(&["script", "test", "vm"]);
    let view = env.json(&["script", "test", "vm"]);
    assert_eq!(view["cases"][0]["passed"], true, "{view}");
}

/// `script test --update` writes the results into the file of a test case. If the new file would not be a valid test
/// case, windlass must not change the file.
#[test]
fn an_update_keeps_a_case_readable() {
    let env = TestEnv::bare();
    new_package(&env, &[]);
    std::fs::remove_file(env.path("vm/tests/2-integrity.yaml")).unwrap();
    std::fs::remove_file(env.path("vm/tests/3-uninstall.yaml")).unwrap();
    let file = "vm/tests/1-install.yaml";
    let input = "input: {properties: {greeting: hi}}";
    let update = ["script", "test", "vm", "--update"];
    // The keys are indented, and the last key may be `expect`.
    let indented = format!("# c\n  version: 1\n  action: Install\n  {input}");
    for tail in ["", "\n", "\n  expect:\n    id: x\n", "\n  expect: {}"] {
        env.write(file, format!("{indented}{tail}"));
        let test = env.ok(&update);
        assert!(test.stdout.contains("1 updated, 0 failed"), "{test}");
        let after = env.read(file);
        assert!(after.starts_with(&format!("{indented}\n  expect:\n    id: \"case\"\n")), "{after}");
        env.ok(&["script", "test", "vm"]);
    }
    let flow = format!("{{version: 1, action: Install, {input}");
    for tail in ["}\n", ", expect: {id: x}}\n", "\n, expect: {id: x}}\n"] {
        let case = format!("{flow}{tail}");
        env.write(file, &case);
        let refused = env.refuses(&update);
        assert!(refused.contains("can't be written"), "{refused}");
        assert_eq!(env.read(file), case);
    }
    let case = format!("version: 1\naction: Install\n{input}\n");
    env.write(file, format!("{case}...\n"));
    assert!(env.refuses(&update).contains("can't be written"));
    assert_eq!(env.read(file), format!("{case}...\n"));
    // A link stays a link.
    std::fs::remove_file(env.path(file)).unwrap();
    env.write("case.yaml", case);
    std::os::unix::fs::symlink("../../case.yaml", env.path(file)).unwrap();
    env.ok(&update);
    assert!(env.path(file).is_symlink() && env.read("case.yaml").contains("expect:"));
}

#[test]
fn one_script_by_hand() {
    let env = TestEnv::bare();
    env.script("try.sh", "#!/bin/sh\necho \"hi, $(cat \"$WINDLASS_IN/password\")\" >&2\ncat \"$WINDLASS_IN/size\" >\"$WINDLASS_OUT/size.json\"\n");
    env.write("input.yaml", "properties: {size: 3}\nsecrets: {password: hunter22}\n");
    let run = env.ok(&["script", "run", "launch", "try.sh", "-i", "input.yaml", "--style", "plain"]);
    assert_snapshot!(run.stdout, @r#"
    id: "case"
    updates:
      "$set":
        interfaces.properties.signals.size: 3
    "#);
    assert_eq!(run.stderr, "hi, ***\n");
    assert!(!env.path(".windlass").exists(), "nothing is recorded");
    // A script without a package has the full style by default, which does not provide these files.
    let run = env.run(&["script", "run", "launch", "try.sh", "-i", "input.yaml"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert_snapshot!(run.stdout, @r#"
    error:
      kind: "failed"
      message: "`Install.sh` exited with code 1"
    "#);
}

#[test]
fn a_script_of_a_package_by_hand() {
    let env = web(&LIFE);
    let run = |kind: &str, script: &str| env.run(&["script", "run", kind, &format!("{SCRIPTS}/{script}")]);
    let checked = run("health-check", "Integrity.sh");
    assert_eq!(checked.code(), Some(1), "{checked}");
    assert_snapshot!(checked.stdout, @r#"
    error:
      kind: "failed"
      message: "`Integrity.sh` found that the instance is not active: scripts/Integrity.sh: 3: WINDLASS_VOLUME_STATE: parameter not set"
    "#);
    env.write("input.yaml", "id: vm-1\narguments: {target: /srv}\n");
    let backup = format!("{SCRIPTS}/backup.sh");
    assert_eq!(env.ok(&["script", "run", "command", &backup, "-i", "input.yaml"]).stdout, "id: \"vm-1\"\n");
}

#[test]
fn wrong_arguments_for_scripts() {
    let env = TestEnv::bare();
    env.script("try.sh", "#!/bin/sh\n");
    env.write("input.yaml", "property: {size: 3}\n");
    env.write("vm/resource.yaml", "name: resource::vm::1.0\n");
    env.write("old/resource.yaml", "name: resource::old::1.0\n");
    env.write("old/tests/a.yaml", "version: 1\naction: Instal\n");
    for (args, message) in [
        (&["script", "run", "lunch", "try.sh"][..], "did you mean `launch`?"),
        (&["script", "run", "launch", "no.sh"], "can't read `no.sh`"),
        (&["script", "run", "launch", "try.sh", "-i", "input.yaml"], "unknown key `property`"),
        (&["script", "test", "nowhere"], "nowhere"),
        (&["script", "test", "."], "is no package"),
        (&["script", "test", "vm"], "can't read `vm/tests`"),
        (&["script", "test", "old"], "declares no `Instal`"),
    ] {
        let refused = env.refuses(args);
        assert!(refused.contains(message), "{args:?}: {refused}");
    }
}

/// The input file of `script run` may have the form of the document that a script reads on stdin. windlass must report
/// a mistake in this document with its place.
#[test]
fn a_script_is_run_with_the_document_that_it_reads() {
    let env = TestEnv::bare();
    env.script(
        "check.sh",
        "#!/bin/sh\ncat >input\ncat input >&2\nprintf 'instances: {vm-17: {$set: {status.flags.active: true}}}\\n'\n",
    );
    let document = "\
configuration:
  location.region: eu-1
instances:
  vm-17:
    configuration:
      properties.size: 3
";
    env.write("input.yaml", document);
    let run = |kind: &str| env.run(&["script", "run", kind, "check.sh", "-i", "input.yaml"]);
    let checked = run("health-check");
    assert_eq!(checked.code(), Some(0), "{checked}");
    for line in ["  location.region: \"eu-1\"", "  vm-17:", "      properties.size: 3"] {
        assert!(checked.stderr.contains(line), "{line}: {checked}");
    }
    env.write("input.yaml", "instances: {vm-17: {commands: {c1: {operations: {check: {target: /srv}}}}}}\n");
    let called = run("command");
    assert!(called.stderr.contains("          target: \"/srv\"\n"), "{called}");
    env.write("input.yaml", document.replace("configuration:\n      ", "config:\n      "));
    assert_snapshot!(run("health-check").stderr, @"
    error[WL0429]: instance `vm-17` has no key `config`
     --> input.yaml:5:5
      |
    5 |     config:
      |     ^^^^^^
      |
      = help: it has `configuration` and `commands`

    1 error; nothing was changed
    ");
    env.write("input.yaml", format!("{document}  vm-18: {{configuration: {{configuration.login: root}}}}\n"));
    let refused = run("health-check");
    assert_eq!(refused.code(), Some(2), "{refused}");
    assert_snapshot!(refused.stderr, @"
    error[WL0592]: a script that is run by hand has one instance, and this is the second of 2
     --> input.yaml:7:3
      |
    7 |   vm-18: {configuration: {configuration.login: root}}
      |   ^^^^^
      |
      = help: write a document for each instance

    1 error; nothing was changed
    ");
}
