//! `check --fix`: safe fixes are applied, and the rest of a file stays unchanged.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use insta::assert_snapshot;
use rstest::rstest;

use crate::env::TestEnv;

/// Returns a resource with a property section that a test can extend.
fn resource(middle: &str) -> String {
    format!(
        "name: resource::web::1.0  # kept\nproperties:\n  # kept as well\n  port:\n{middle}\nlifecycle: [Install]\n"
    )
}

/// Returns an assembly with a relationship that a test can extend.
fn assembly(types: &str, state: &str) -> String {
    format!(
        "name: assembly::shop::1.0\ncomposition:\n  web:   # the front\n    type: {types}\n  data:\n    type: resource::data::1.0\nrelationships:\n  uses:\n    source-capabilities: [data.store]\n    target-requirements: [web.store]\n    source-state: {state}\n    target-state: Active\n"
    )
}

#[rstest]
#[case::zero_width_space(resource("    \u{200b}type: string"), resource("    type: string"), "WL0005")]
#[case::escaped_comment(
    resource("    type: string\n    \\# not shown"),
    resource("    type: string\n    # not shown"),
    "WL0016"
)]
#[case::space_in_a_name(
    assembly("resource:: web::1.0", "Active"),
    assembly("resource::web::1.0", "Active"),
    "WL0009"
)]
#[case::descripion(resource("    descripion: a port"), resource("    description: a port"), "WL0103")]
#[case::read_only(resource("    read_only: true"), resource("    read-only: true"), "WL0103")]
#[case::require(resource("    require: true"), resource("    required: true"), "WL0103")]
#[case::unique_key(resource("    volatil: true"), resource("    volatile: true"), "WL0103")]
fn safe_fixes_are_applied(#[case] before: String, #[case] after: String, #[case] code: &str) {
    let env = TestEnv::bare();
    env.write("a.yaml", &before);
    assert!(env.run(&["check", "a.yaml"]).stderr.contains(code), "{code} is found before");
    let run = env.run(&["check", "a.yaml", "--fix"]);
    assert_eq!(env.read("a.yaml"), after, "{run}");
    assert!(run.stdout.contains(&format!("({code})")), "{run}");
    let again = env.run(&["check", "a.yaml", "--fix"]);
    assert!(!again.stderr.contains(code), "{again}");
    assert!(again.stderr.contains("nothing was repaired\n"), "{again}");
    assert_eq!(env.read("a.yaml"), after, "a second time changes nothing");
}

/// A file has several problems, and one of them hides others. The file has Windows line breaks, and no line break at
/// its end. One `check --fix` must repair all problems that have a repair, and keep the line breaks.
#[test]
fn all_in_one_go() {
    let env = TestEnv::bare();
    let before = "name: resource::web::1.0\r\nlifecycle\r\n- Install\r\nproperties:\r\n  \\# a comment\r\n  port: {descripion: a port, read_only: true, colour: red}";
    let after = "name: resource::web::1.0\r\nlifecycle:\r\n- Install\r\nproperties:\r\n  # a comment\r\n  port: {description: a port, read-only: true, colour: red}";
    env.write("a.yaml", before);
    let run = env.run(&["check", "a.yaml", "--fix"]);
    assert_eq!(env.read("a.yaml"), after);
    assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
    a.yaml:2:1: add the colon (WL0008)
    a.yaml:5:3: remove the backslash (WL0016)
    a.yaml:6:10: write `description` (WL0103)
    a.yaml:6:30: write `read-only` (WL0103)
    ----- stderr -----
    warning[WL0103]: a property has no `colour`; it is ignored
     --> a.yaml:6:48
      |
    6 |   port: {description: a port, read-only: true, colour: red}
      |                                                ^^^^^^

    4 repairs in 1 file made
    0 errors, 1 warning left
    `windlass explain CODE` explains a code
    ");
}

#[test]
fn a_dry_run_prints_a_diff_and_changes_nothing() {
    let env = TestEnv::bare();
    let before = resource("    descripion: a port");
    env.write("a.yaml", &before);
    let run = env.run(&["check", "a.yaml", "--fix", "--dry-run"]);
    assert_eq!(env.read("a.yaml"), before);
    assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
    --- a/a.yaml
    +++ b/a.yaml
    @@ -2,5 +2,5 @@
     properties:
       # kept as well
       port:
    -    descripion: a port
    +    description: a port
     lifecycle: [Install]
    ----- stderr -----
    1 repair in 1 file possible; nothing was changed
    0 errors, 0 warnings left
    ");
    assert_snapshot!(env.refuses(&["check", "a.yaml", "--dry-run"]), @"
    error[WL0800]: the following required arguments were not provided:
      --fix

    Usage: windlass check --fix --dry-run <FILE|DIR>...

    For more information, try '--help'.
    ");
}

#[test]
fn a_repair_that_would_break_the_file_is_not_made() {
    let env = TestEnv::bare();
    let before = resource("    descripion: one\n    description: two\n    read_only: true");
    env.write("a.yaml", &before);
    let run = env.run(&["check", "a.yaml", "--fix"]);
    assert_eq!(env.read("a.yaml"), before.replace("read_only", "read-only"), "{run}");
}

#[test]
fn the_mode_stays_and_nothing_is_left_beside_the_file() {
    let env = TestEnv::bare();
    env.write("a.yaml", resource("    descripion: a port"));
    fs::set_permissions(env.path("a.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    env.ok(&["check", "a.yaml", "--fix"]);
    let mode = fs::metadata(env.path("a.yaml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(env.files(), ["a.yaml"]);
}

#[test]
fn links_are_not_replaced() {
    let env = TestEnv::bare();
    let before = resource("    descripion: a port");
    env.write("real.yaml", &before);
    symlink("real.yaml", env.path("link.yaml")).unwrap();
    let run = env.run(&["check", "link.yaml", "--fix"]);
    assert_snapshot!(run, @"
    exit 2
    ----- stderr -----
    error[WL0305]: `link.yaml` is not changed: it is a link to `real.yaml`
     |
     = help: name that file

    warning[WL0103]: `descripion` is read as `description`
     --> link.yaml:5:5
      |
    5 |     descripion: a port
      |     ^^^^^^^^^^
      |
      = help: write `description`

    nothing was repaired
    1 error, 1 warning left
    `windlass explain CODE` explains a code
    ");
    fs::hard_link(env.path("real.yaml"), env.path("other.yaml")).unwrap();
    let run = env.run(&["check", "real.yaml", "--fix"]);
    assert_snapshot!(run, @"
    exit 2
    ----- stderr -----
    error[WL0305]: `real.yaml` is not changed: it has several names (hard links), which would become different files
     |
     = help: copy it first

    warning[WL0103]: `descripion` is read as `description`
     --> real.yaml:5:5
      |
    5 |     descripion: a port
      |     ^^^^^^^^^^
      |
      = help: write `description`

    nothing was repaired
    1 error, 1 warning left
    `windlass explain CODE` explains a code
    ");
    assert_eq!(env.read("real.yaml"), before);
    assert!(fs::symlink_metadata(env.path("link.yaml")).unwrap().is_symlink());
}

#[test]
fn all_files_of_a_project_are_repaired() {
    let env = TestEnv::bare();
    env.write("windlass.yaml", "version: 1\nlocation:\n  here: {runtim: process}\n");
    env.write("web/resource.yaml", resource("    descripion: a port"));
    env.write(
        "shop/assembly.yaml",
        "name: assembly::shop::1.0\ndescripion: a shop\ncomposition:\n  web:\n    type: resource::web::1.0\n",
    );
    let run = env.run(&["check", ".", "--fix"]);
    assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
    shop/assembly.yaml:2:1: write `description` (WL0103)
    web/resource.yaml:5:5: write `description` (WL0103)
    windlass.yaml:2:1: write `locations` (WL0311)
    windlass.yaml:3:10: write `runtime` (WL0311)
    ----- stderr -----
    4 repairs in 3 files made
    0 errors, 0 warnings left
    ");
    assert_eq!(env.read("windlass.yaml"), "version: 1\nlocations:\n  here: {runtime: process}\n");
}
