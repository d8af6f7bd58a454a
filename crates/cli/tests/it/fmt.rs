//! `windlass fmt` changes the layout of files, but neither their data nor their comments.

use insta::assert_snapshot;

use crate::env::TestEnv;

const BEFORE: &str = "name: assembly::shop::1.0   # the shop
composition:
    # where orders are
    db:
        type:   'resource::db::1.0'
        properties: {motd: {value: \"a # b\"}}
";

const AFTER: &str = "name: assembly::shop::1.0   # the shop
composition:
  # where orders are
  db:
    type:   'resource::db::1.0'
    properties: {motd: {value: \"a # b\"}}
";

#[test]
fn files_are_formatted_once() {
    let env = TestEnv::bare();
    env.write("shop.yaml", BEFORE);
    env.write("good.yml", AFTER);
    env.write(".hidden/shop.yaml", BEFORE);
    env.write("notes.txt", BEFORE);
    let checked = env.run(&["fmt", "--check"]);
    assert_eq!((checked.code(), checked.stdout.as_str()), (Some(2), "shop.yaml\n"), "{checked}");
    assert!(checked.stderr.contains("1 file would be formatted; nothing was changed"), "{checked}");
    assert_eq!(env.read("shop.yaml"), BEFORE);
    env.ok(&["fmt"]);
    assert_eq!(env.read("shop.yaml"), AFTER);
    assert_eq!(
        (env.read(".hidden/shop.yaml"), env.read("notes.txt")),
        (BEFORE.to_owned(), BEFORE.to_owned())
    );
    assert_eq!(env.json(&["fmt", "--check"])["changed"], serde_json::json!([]));
    // A file that can't be read is named, and the others are formatted.
    env.write("broken.yaml", "a: [1\n");
    let broken = env.run(&["fmt", "broken.yaml", ".hidden/shop.yaml"]);
    assert!(broken.code() == Some(2) && broken.stderr.contains("broken.yaml:"), "{broken}");
    assert_eq!(env.read(".hidden/shop.yaml"), AFTER);
}

/// `fmt` must refuse a file that is not YAML. `fmt` must also refuse a shell script, although the text of the script
/// may be valid YAML.
#[test]
fn a_file_that_is_no_yaml_is_refused() {
    let env = TestEnv::bare();
    env.write("Stop.sh", "echo stopped\n");
    env.write("Start.sh", "#!/bin/sh\nexit: 1\n");
    env.write("list.txt", "- a\n");
    assert_snapshot!(env.refuses(&["fmt", "Stop.sh", "Start.sh", "list.txt"]), @"
    error[WL0593]: `Start.sh` is not YAML, and windlass formats nothing else
     --> Start.sh:1:1
      |
    1 | #!/bin/sh
      | ^
      |
      = help: name files that end with `.yaml` or `.yml`, or a folder

    error[WL0593]: `Stop.sh` is not YAML, and windlass formats nothing else
     --> Stop.sh:1:1
      |
    1 | echo stopped
      | ^
      |
      = help: name files that end with `.yaml` or `.yml`, or a folder

    some files can't be formatted; 0 files formatted
    ");
}
