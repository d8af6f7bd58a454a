//! The content of `windlass.yaml`, and every message about invalid content.

use insta::assert_snapshot;
use serde_json::json;
use windlass_driver::{Location, Placement, Registry};
use windlass_executor::Bounds;
use windlass_project::{Overlay, Project};

use crate::folder::Folder;
use crate::kinds::kinds;

fn open(text: &str) -> (Folder, Result<Project, windlass_source::Diagnostics>) {
    let folder = Folder::with(&[("windlass.yaml", text)]);
    let start = folder.path("");
    let project = Project::open_with(&start, &start, Overlay::default(), &kinds(), &Registry::default());
    (folder, project)
}

fn messages(text: &str) -> String {
    let (folder, project) = open(text);
    folder.show(&project.map_or_else(|errors| errors, |project| project.warnings().clone()))
}

#[test]
fn a_project_says_how_far_assemblies_may_grow() {
    let nodes = |text: &str| open(text).1.unwrap().nodes();
    assert_eq!(nodes("version: 1\n"), None);
    assert_eq!(nodes("version: 1\nlimits: {}\n"), None);
    assert_eq!(nodes("version: 1\nlimits: {nodes: 50000}\n"), Some(50_000));
    let said = messages("version: 1\nlimits: {nodes: 200001, node: 1}\n");
    let bad = "2:17: error[WL0319]: `nodes` is a whole number from 1 to 200000, not `200001`";
    assert!(said.contains(bad), "{said}");
    assert!(said.contains("2:25: error[WL0311]: `limits` has no key `node`"), "{said}");
}

#[test]
fn all_keys_are_read() {
    let (_folder, project) = open(
        "version: 1
locations:
  admin@local:
    resource-manager: test-rm
    infrastructure-type: Edge
    runtime: boxed
    port: 0080
    volumes: {state: /var/lib/demo}
    environment: {REGION: eu-1, DEBUG: 1, EMPTY:}
    inherit-environment: [SSH_AUTH_SOCK, REGION]
    image: windlass/python:1
    network: bridge
    max-jobs: 2
    properties: {retries: 3, secure: true, region: eu-1, release: 1.10}
existing:
  - type: resource::network::1.0
    name: VIDEO
    properties: {id: 007, cidr: 10.0.0.0/8}
",
    );
    let project = project.unwrap();
    let placement =
        Placement { location: Some("admin@local".into()), manager: Some("test-rm".into()), recorded: None };
    assert_snapshot!(format!("{:#?}", project.location(&placement).unwrap()), @r#"
    Location {
        name: "admin@local",
        is_declared: true,
        manager: Some(
            "test-rm",
        ),
        infrastructure: "Edge",
        runtime: "boxed",
        settings: {
            "port": "0080",
        },
        pool_secrets: Fresh,
        image: Some(
            "windlass/python:1",
        ),
        network: Some(
            "bridge",
        ),
        volumes: {
            "state": "/var/lib/demo",
        },
        environment: {
            "DEBUG": "1",
            "EMPTY": "",
            "REGION": "eu-1",
        },
        limits: Bounds {
            memory_bytes: None,
            pids: None,
            cpu_millis: None,
            open_files: None,
        },
        max_jobs: Some(
            2,
        ),
        scripting: {},
        properties: {
            "region": String("eu-1"),
            "release": Number(1.1),
            "retries": Number(3),
            "secure": Bool(true),
        },
        secret: {},
    }
    "#);
    let [network] = project.existing() else { panic!("one is declared") };
    assert_eq!(
        (network.descriptor.to_string().as_str(), network.name.as_str()),
        ("resource::network::1.0", "VIDEO")
    );
    // Property values of existing instances keep their spelling, as in descriptors.
    assert_eq!(json!(network.properties), json!({"id": "007", "cidr": "10.0.0.0/8"}));
    assert!(project.warnings().is_empty());
}

#[test]
fn a_location_may_limit_its_concurrent_jobs() {
    let text = "version: 1
locations:
  a: {max-jobs: 0}
  b: {max-jobs: -1}
  c: {max-jobs: many}
  d: {max-jobs: 4294967296}
  e: {max-jobs: [1]}
  f: {max-jobs: 4294967295}
  g: {max_jobs: 1}
";
    assert_snapshot!(messages(text), @"
    windlass.yaml:3:17: error[WL0328]: `max-jobs` is a whole number from 1 to 4294967295, not `0`
    windlass.yaml:4:17: error[WL0328]: `max-jobs` is a whole number from 1 to 4294967295, not `-1`
    windlass.yaml:5:17: error[WL0328]: `max-jobs` is a whole number from 1 to 4294967295, not `many`
    windlass.yaml:6:17: error[WL0328]: `max-jobs` is a whole number from 1 to 4294967295, not `4294967296`
    windlass.yaml:7:17: error[WL0312]: `max-jobs` must be text, and this is a list
    windlass.yaml:9:7: error[WL0311]: the location `g` has no key `max_jobs`
        help: did you mean `max-jobs`?
    ");
}

#[test]
fn sections_may_be_empty() {
    let (_folder, project) = open("version: 1\nlocations:\nexisting: []\n");
    let project = project.unwrap();
    assert_eq!((project.locations().count(), project.existing().len()), (0, 0));
}

#[test]
fn a_location_without_keys_is_a_local_process() {
    let (_folder, project) = open("version: 1\nlocations:\n  here:\n");
    let project = project.unwrap();
    let declared = Location { is_declared: true, ..Location::local("here") };
    assert_eq!(project.locations().next(), Some(&declared));
}

#[test]
fn the_version_is_required() {
    assert_snapshot!(messages("locations: {}\n"), @"
    windlass.yaml:1:1: error[WL0310]: `windlass.yaml` has no `version`
        help: begin it with a line `version: 1`
    ");
    assert_snapshot!(messages(""), @"
    windlass.yaml:1:1: error[WL0310]: `windlass.yaml` has no `version`
        help: begin it with a line `version: 1`
    ");
    assert_snapshot!(messages("# nothing yet\n"), @"
    windlass.yaml:1:1: error[WL0310]: `windlass.yaml` has no `version`
        help: begin it with a line `version: 1`
    ");
}

#[test]
fn other_versions_are_refused() {
    assert_snapshot!(messages("version: 2\n"), @"
    windlass.yaml:1:10: error[WL0310]: the document's version is `2`, and this windlass reads version `1`
        help: use the windlass that it was written for
    ");
    assert_snapshot!(messages("version: one\n"), @"
    windlass.yaml:1:10: error[WL0310]: the document's version is `one`, and this windlass reads version `1`
        help: write `version: 1`
    ");
    assert_snapshot!(messages("version: [1]\n"), @"
    windlass.yaml:1:10: error[WL0310]: the document's version is a list, and this windlass reads version `1`
        help: write `version: 1`
    ");
}

#[test]
fn unknown_keys_are_errors() {
    assert_snapshot!(messages("version: 1\nlocation: {}\nplugins: {}\n"), @"
    windlass.yaml:2:1: error[WL0311]: `windlass.yaml` has no key `location`
        help: did you mean `locations`?
    windlass.yaml:3:1: error[WL0311]: `windlass.yaml` has no key `plugins`
        help: it may have `version`, `locations`, `drivers`, `existing`, `retention` and `limits`
    ");
    assert_snapshot!(messages("version: 1\nlocations:\n  a: {resource_manager: x, runtime: process, port: 80}\n"), @"
    windlass.yaml:3:7: error[WL0311]: the location `a` has no key `resource_manager`
        help: did you mean `resource-manager`?
    windlass.yaml:3:52: error[WL0324]: `port` has no meaning for the runtime `process`
        help: set `runtime: boxed`, or remove it
    ");
    assert_snapshot!(messages("version: 1\nexisting:\n  - {type: resource::a::1, name: a, property: {}}\n"), @"
    windlass.yaml:3:37: error[WL0311]: an entry of `existing` has no key `property`
        help: it may have `type`, `name`, `properties` and `package`
    ");
}

#[test]
fn an_unknown_key_can_be_repaired() {
    let (_folder, project) = open("version: 1\nlocation: {}\n");
    let errors = project.unwrap_err();
    let fixes: Vec<_> = errors.fixes().map(|fix| fix.description.as_str()).collect();
    assert_eq!(fixes, ["write `locations`"]);
}

#[test]
fn values_of_the_wrong_sort() {
    assert_snapshot!(messages("- version: 1\n"), @"windlass.yaml:1:1: error[WL0312]: `windlass.yaml` must be a mapping, and this is a list");
    assert_snapshot!(messages("version: 1\nlocations: [a]\nexisting: {a: b}\n"), @"
    windlass.yaml:2:12: error[WL0312]: `locations` must be a mapping, and this is a list
    windlass.yaml:3:11: error[WL0312]: `existing` must be a list, and this is a mapping
    ");
    assert_snapshot!(
        messages("version: 1\nlocations:\n  a: here\n  b: {image: [x], network: '', properties: none}\n"),
        @"
    windlass.yaml:3:6: error[WL0312]: the location `a` must be a mapping, and this is text
    windlass.yaml:4:14: error[WL0312]: `image` must be text, and this is a list
    windlass.yaml:4:28: error[WL0312]: `network` must be text, and this is empty
    windlass.yaml:4:44: error[WL0312]: `properties` must be a mapping, and this is text
    "
    );
    assert_snapshot!(messages("version: 1\nexisting:\n  - text\n  - {type: resource::a::1, name: [a]}\n"), @"
    windlass.yaml:3:5: error[WL0312]: an entry of `existing` must be a mapping, and this is text
    windlass.yaml:4:34: error[WL0312]: `name` must be text, and this is a list
    ");
}

#[test]
fn a_location_needs_a_name() {
    assert_snapshot!(messages("version: 1\nlocations:\n  '': {}\n"), @"windlass.yaml:3:3: error[WL0314]: the name of a location is empty");
}

#[test]
fn a_volume_is_no_folder_of_the_host() {
    let text = "version: 1
locations:
  a:
    volumes:
      /srv/data: /data
      ./data: /data
      State: /data
      state: data
      up: /data/../etc
      root: /
      fine: /data
";
    assert_snapshot!(messages(text), @"
    windlass.yaml:5:7: error[WL0316]: `/srv/data` is not a valid volume name: expected 1 to 63 lower-case letters, digits and hyphens, the first not a hyphen
        help: a volume has a name, and the runtime chooses its folder; a folder of the host is not allowed
    windlass.yaml:6:7: error[WL0316]: `./data` is not a valid volume name: expected 1 to 63 lower-case letters, digits and hyphens, the first not a hyphen
        help: a volume has a name, and the runtime chooses its folder; a folder of the host is not allowed
    windlass.yaml:7:7: error[WL0316]: `State` is not a valid volume name: expected 1 to 63 lower-case letters, digits and hyphens, the first not a hyphen
        help: a volume has a name, and the runtime chooses its folder; a folder of the host is not allowed
    windlass.yaml:8:14: error[WL0316]: `data` can't be the path of a volume
        help: use an absolute path without `..`, such as `/var/lib/state`
    windlass.yaml:9:11: error[WL0316]: `/data/../etc` can't be the path of a volume
        help: use an absolute path without `..`, such as `/var/lib/up`
    windlass.yaml:10:13: error[WL0316]: `/` can't be the path of a volume
        help: use an absolute path without `..`, such as `/var/lib/root`
    ");
}

#[test]
fn retention_has_two_limits() {
    assert_snapshot!(messages("version: 1\nretention: {keep: many, older: 1w}\n"), @"
    windlass.yaml:2:19: error[WL0326]: `keep` is a number, and this is `many`
    windlass.yaml:2:32: error[WL0326]: `older` is a number with a unit, such as `90d`, `12h` or `30m`, and this is `1w`
    ");
    for (text, keep, older) in [
        ("version: 1\n", 50, "90d"),
        ("version: 1\nretention:\n", 50, "90d"),
        ("version: 1\nretention: {keep: 3}\n", 3, "90d"),
        ("version: 1\nretention: {older: 12h, keep: 0}\n", 0, "12h"),
    ] {
        let (_folder, project) = open(text);
        let retention = project.unwrap().retention();
        assert_eq!((retention.keep, retention.older.to_string().as_str()), (keep, older), "{text}");
    }
}

#[test]
fn limits_of_jobs() {
    let text = "version: 1
locations:
  a: {limits: {memory: 512M, processes: 64, cpu: 1.5, open-files: 1024}}
  b: {limits: {}}
";
    let (_folder, project) = open(text);
    let project = project.unwrap();
    let limits: Vec<Bounds> = project.locations().map(|location| location.limits).collect();
    let set = Bounds {
        memory_bytes: Some(512 << 20),
        pids: Some(64),
        cpu_millis: Some(1500),
        open_files: Some(1024),
    };
    assert_eq!(limits, [set, Bounds::default()]);
    let text = "version: 1
locations:
  a: {limits: {memory: lots, processes: 0, cpu: -1, open-files: [1], swap: 1G}}
";
    let shown = messages(text);
    for said in [
        "`memory` is an amount of bytes such as `512M` or `2G`, at least 4M, and this is `lots`",
        "`processes` is a number from 1 on, and this is `0`",
        "`cpu` is a number of processors such as `2` or `0.5`, at least 0.01, and this is `-1`",
        "`open-files` must be text, and this is a list",
        "`swap`",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
}

#[test]
fn what_exists_has_a_type_and_a_name() {
    let text = "version: 1
existing:
  - {type: resource::network::1.0}
  - {name: a}
  - {type: resource::network::^1.0, name: a}
  - {type: network, name: a}
  - {type: '', name: a}
";
    assert_snapshot!(messages(text), @"
    windlass.yaml:3:5: error[WL0313]: an entry of `existing` has no `name`
    windlass.yaml:4:5: error[WL0313]: an entry of `existing` has no `type`
    windlass.yaml:5:12: error[WL0314]: `^1.0` is a range of versions, and one version is needed here
    windlass.yaml:6:12: error[WL0314]: `network` is not of the form `kind::name::version`, such as `assembly::shop::1.0`
    windlass.yaml:7:12: error[WL0312]: `type` must be text, and this is empty
    ");
}

#[test]
fn what_exists_is_listed_once() {
    let text = "version: 1
existing:
  - {type: resource::network::1.0, name: a, properties: {deploymentLocation: x}}
  - {type: resource::network::1.0, name: a, properties: {deploymentLocation: y}}
  - {type: resource::network::1.0, name: a, properties: {deploymentLocation: x, id: 2}}
";
    assert_snapshot!(messages(text), @"
    windlass.yaml:5:5: error[WL0317]: `a`, a `resource::network::1.0`, is listed twice
        windlass.yaml:3:5: listed here first
    ");
}

#[test]
fn a_package_must_be_there() {
    assert_snapshot!(messages("version: 1\nexisting:\n  - {type: resource::a::1.0, name: a, package: a}\n"), @"windlass.yaml:3:48: error[WL0300]: there is no file or folder `a`");
}

#[test]
fn errors_of_syntax_come_with_all_others() {
    assert_snapshot!(messages("version: 3\nlocations:\n  a: {runtime: vm\nexisting: none\n"), @"
    windlass.yaml:1:10: error[WL0310]: the document's version is `3`, and this windlass reads version `1`
        help: use the windlass that it was written for
    windlass.yaml:3:6: error[WL0019]: `{` is never closed
        windlass.yaml:4:1: this was read as part of it
        help: close it with `}`, or quote the text
    windlass.yaml:3:16: error[WL0315]: there is no runtime `vm`
        help: there are `process` and `boxed`
    windlass.yaml:4:11: error[WL0312]: `existing` must be a list, and this is text
    ");
    assert_snapshot!(messages("version: 1\nlocations: {}\nlocations: {}\n"), @"
    windlass.yaml:3:1: error[WL0010]: key `locations` is given twice
        windlass.yaml:2:1: first given here
        help: remove or rename one of the two
    ");
}

#[test]
fn text_that_is_not_utf8() {
    let folder = Folder::new();
    folder.write("windlass.yaml", b"version: 1\nlocations: {\xff: {}}\n");
    let errors = Project::open(&folder.path(""), &folder.path("")).unwrap_err();
    assert_snapshot!(folder.show(&errors), @"
    windlass.yaml:2:13: error[WL0002]: the text is not UTF-8: byte 0xff at offset 23
        help: save the file as UTF-8; bytes that are not text can be given as base64
    ");
}

#[test]
fn secrets_of_a_location_are_read_when_they_are_needed() {
    let (folder, project) = open(
        "version: 1
locations:
  here:
    properties: {access: {file: keys/access}, entry: {env: ENTRY}, file: {a: 1}, region: eu-1}
",
    );
    let project = project.unwrap();
    let location = project.location(&Placement::default()).unwrap();
    assert_eq!(location.properties.keys().collect::<Vec<_>>(), ["file", "region"]);
    let none = |_: &str| None;
    let error = project.with_secrets(location.clone(), &none).unwrap_err().to_string();
    assert!(
        error.starts_with("the property `access` of the location `here` is to be read from `"),
        "{error}"
    );
    std::fs::create_dir(folder.path("keys")).unwrap();
    std::fs::write(folder.path("keys/access"), "hunter2\n").unwrap();
    let error = project.with_secrets(location.clone(), &none).unwrap_err().to_string();
    assert!(error.contains("the variable `ENTRY`, which is not set"), "{error}");
    let variables = |name: &str| (name == "ENTRY").then(|| "hunter3".to_owned());
    let location = project.with_secrets(location, &variables).unwrap();
    assert_eq!(location.secrets(), ["hunter2", "hunter3"]);
}

#[test]
fn a_secret_in_clear_is_warned_of_and_masked_all_the_same() {
    let (_folder, project) =
        open("version: 1\nlocations:\n  here:\n    properties: {db-password: hunter2, env: {env: 1x}}\n");
    let problems = project.unwrap_err();
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["WL0329", "WL0312"]);
    let (_folder, project) =
        open("version: 1\nlocations:\n  here:\n    properties: {db-password: hunter2}\n");
    let location = project.unwrap().location(&Placement::default()).unwrap();
    assert_eq!(location.secrets(), ["hunter2"]);
}
