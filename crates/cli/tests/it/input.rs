//! Invalid input: it causes one error with its place and a remedy, exit code 2, and no change.

use insta::assert_snapshot;

use crate::{
    env::TestEnv,
    small::{RESOURCE, SCRIPTS},
};

fn small() -> TestEnv {
    TestEnv::small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")])
}

/// Writes a descriptor, and returns the error of `up`.
fn up_of(text: impl AsRef<[u8]>) -> String {
    let env = small();
    env.write("small/assembly.yaml", text);
    env.refuses(&["up", "small"])
}

/// A file that is not a descriptor causes a single error, not an error for each line.
#[test]
fn a_file_of_another_sort() {
    let env = TestEnv::with("h_bta");
    env.write(
        "h_bta/README.md",
        "# Shop\n\nIt sells: books\n\n* one\n* two\n\n```yaml\nname: assembly::shop::1.0\n```\n",
    );
    assert_snapshot!(env.refuses(&["up", "h_bta/README.md"]), @"
    error[WL0100]: this is not a descriptor: it looks like a page of Markdown
     --> h_bta/README.md:8:1
      |
    8 | ```yaml
      | ^^^^^^^
      |
      = help: put the descriptor that stands between its fences, if one does, into a file of its own; did you mean `h_bta/assembly.yaml`?

    1 error; nothing was changed
    ");
    env.write("deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: shop\n---\napiVersion: v1\nkind: Service\n");
    assert_snapshot!(env.refuses(&["plan", "deployment.yaml"]), @"
    error[WL0100]: this is not a descriptor: it looks like a Kubernetes manifest (`kind: Deployment`)
     --> deployment.yaml:2:1
      |
    2 | kind: Deployment
      | ^^^^^^^^^^^^^^^^
      |
      = help: a resource whose scripts apply and delete it can be part of an assembly

    1 error; nothing was changed
    ");
    env.write("up.sh", "#!/bin/sh\nset -eu\nif [ -e a ]; then echo \"a: b\"; fi\n");
    assert_snapshot!(env.refuses(&["check", "up.sh"]), @"
    error[WL0100]: this is not a descriptor: it looks like a script for `/bin/sh`
     --> up.sh:1:1
      |
    1 | #!/bin/sh
      | ^^^^^^^^^
      |
      = help: a script belongs to the package of a resource, and runs when an assembly with it comes up

    1 error, 0 warnings
    `windlass explain CODE` explains a code
    ");
    env.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe");
    assert_snapshot!(env.refuses(&["up", "logo.png"]), @"
    error[WL0002]: `logo.png` is a PNG image, and a text is needed
     |
     = help: name another file

    1 error; nothing was changed
    ");
    env.write("passwd", "root:x:0:0\ndaemon:x:1:1\n");
    assert_snapshot!(env.refuses(&["plan", "passwd"]), @"
    error[WL0100]: a descriptor is a mapping with a `name`, and this is text
     --> passwd:1:1
      |
    1 | root:x:0:0
      | ^^^^^^^^^^

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["up", "windlass.yaml"]), @"
    error[WL0100]: this is not a descriptor: it looks like the file of a project
     --> windlass.yaml:4:1
      |
    4 | version: 1
      | ^^^^^^^
      |
      = help: name an assembly's descriptor or its folder; this file is found without being named

    1 error; nothing was changed
    ");
    env.write("kind.yaml", "name: type::shop::1.0\n");
    assert_snapshot!(env.refuses(&["up", "kind.yaml"]), @"
    error[WL0108]: this is a descriptor of the kind `type`, of which windlass makes nothing
     --> kind.yaml:1:7
      |
    1 | name: type::shop::1.0
      |       ^^^^^^^^^^^^^^^
      |
      = help: it is left unchecked; windlass reads `assembly` and `resource`

    1 error; nothing was changed
    ");
    assert!(env.ok(&["check", "kind.yaml"]).stderr.contains("0 errors, 1 warning"));
    env.ok(&["plan", "h_bta", "-o", "bta.plan"]);
    let refused = env.refuses(&["up", "bta.plan"]);
    assert!(
        refused.contains("`windlass apply FILE` carries it out") && refused.contains("1 error;"),
        "{refused}"
    );
    env.write("empty.yaml", "# nothing\n");
    assert_snapshot!(env.refuses(&["up", "empty.yaml"]), @"
    error[WL0100]: `empty.yaml` is empty
     |
     = help: a descriptor begins with its name, such as `name: assembly::shop::1.0`

    1 error; nothing was changed
    ");
    assert_snapshot!(env.run_with(&["check", "-"], ""), @"
    exit 2
    ----- stderr -----
    error[WL0100]: `<stdin>` is empty
     |
     = help: a descriptor begins with its name, such as `name: assembly::shop::1.0`

    1 error, 0 warnings
    `windlass explain CODE` explains a code
    ");
}

#[test]
fn a_file_that_is_none() {
    let env = TestEnv::with("h_bta");
    assert_snapshot!(env.refuses(&["up", "h_bat"]), @"
    error[WL0300]: there is no file or folder `h_bat`
     |
     = help: did you mean `h_bta`?

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["up", "h_bta/Contains"]), @"
    error[WL0303]: there is no assembly descriptor in `h_bta/Contains`
     |
     = help: an assembly has one of `assembly.yaml`, `assembly.yml`, `Descriptor/assembly.yml` and `Descriptor/assembly.yaml`

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["up", "h_bta/Contains/h_simple/Definitions/lm/resource.yaml"]), @"
    error[WL0100]: this is a resource descriptor, and an assembly is needed
     --> h_bta/Contains/h_simple/Definitions/lm/resource.yaml:2:7
      |
    2 | name: resource::h_simple::1.0  # a server that is the source of a relationship
      |       ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: name the assembly that the resource is part of

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["plan", "nowhere/assembly.yaml"]), @"
    error[WL0300]: there is no file or folder `nowhere/assembly.yaml`

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["check", "nowhere"]), @"
    error[WL0300]: there is no file or folder `nowhere`

    1 error, 0 warnings
    `windlass explain CODE` explains a code
    ");
    assert_snapshot!(env.refuses(&["up", ""]), @"
    error[WL0800]: a value is required for '[FILE|DIR]' but none was supplied

    For more information, try '--help'.
    ");
}

#[test]
fn a_file_that_is_no_descriptor() {
    assert_snapshot!(up_of(""), @"
    error[WL0100]: `small/assembly.yaml` is empty
     |
     = help: a descriptor begins with its name, such as `name: assembly::shop::1.0`

    1 error; nothing was changed
    ");
    assert_snapshot!(up_of("# nothing\n"), @"
    error[WL0100]: `small/assembly.yaml` is empty
     |
     = help: a descriptor begins with its name, such as `name: assembly::shop::1.0`

    1 error; nothing was changed
    ");
    assert_snapshot!(up_of("name: [assembly\ncomposition: {\n"), @"
    error[WL0019]: `[` is never closed
     --> small/assembly.yaml:1:7
      |
    1 | name: [assembly
      |       ^ opened here
    2 | composition: {
      | -------------- this was read as part of it
      |
      = help: close it with `]`, or quote the text

    error[WL0019]: `{` is never closed
     --> small/assembly.yaml:2:14
      |
    2 | composition: {
      |              ^ opened here
      |
      = help: close it with `}`, or quote the text

    2 errors; nothing was changed
    ");
    assert_snapshot!(up_of("just words\n"), @"
    error[WL0100]: a descriptor is a mapping with a `name`, and this is text
     --> small/assembly.yaml:1:1
      |
    1 | just words
      | ^^^^^^^^^^

    1 error; nothing was changed
    ");
    assert_snapshot!(up_of("- a\n- list\n"), @"
    error[WL0100]: a descriptor is a mapping with a `name`, and this is a list
     --> small/assembly.yaml:1:1
      |
    1 | - a
      | ^^^

    1 error; nothing was changed
    ");
    assert_snapshot!(up_of(b"\x7fELF\x02\x01\x00\x00\xff\xfe"), @"
    error[WL0002]: `small/assembly.yaml` is a program, and a text is needed
     |
     = help: name another file

    1 error; nothing was changed
    ");
    assert_snapshot!(up_of("name: assembly::small::1.0\nname: assembly::other::1.0\n"), @"
    error[WL0010]: key `name` is given twice
     --> small/assembly.yaml:2:1
      |
    1 | name: assembly::small::1.0
      | ---- first given here
    2 | name: assembly::other::1.0
      | ^^^^ given again here
      |
      = help: remove or rename one of the two

    1 error; nothing was changed
    ");
    assert_snapshot!(up_of("name: small\n"), @"
    error[WL0101]: `small` is not of the form `kind::name::version`, such as `assembly::shop::1.0`
     --> small/assembly.yaml:1:7
      |
    1 | name: small
      |       ^^^^^

    1 error; nothing was changed
    ");
}

#[test]
fn references_to_nowhere_and_in_circles() {
    assert_snapshot!(up_of("name: assembly::small::1.0\ncomposition:\n  box:\n    type: resource::box::1.0\n    properties:\n      a:\n        value: ${bax.port}\n      b:\n        value: ${instance.nmae}\n"), @"
    error[WL0112]: `${bax.port}` names no component `bax`
     --> small/assembly.yaml:7:16
      |
    7 |         value: ${bax.port}
      |                ^^^^^^^^^^^
      |
      = help: did you mean `box`?

    error[WL0111]: `${instance.nmae}`: an instance has no `nmae`
     --> small/assembly.yaml:9:16
      |
    9 |         value: ${instance.nmae}
      |                ^^^^^^^^^^^^^^^^
      |
      = help: did you mean `name`?

    2 errors; nothing was changed
    ");
    assert_snapshot!(up_of("name: assembly::small::1.0\nproperties:\n  a:\n    value: ${b}\n  b:\n    value: ${c}\n  c:\n    value: ${a}\ncomposition: {}\n"), @"
    error[WL0113]: properties read each other in a circle: a -> b -> c -> a
     --> small/assembly.yaml:4:12
      |
    4 |     value: ${b}
      |            ^^^^ `a` reads `b`
    5 |   b:
    6 |     value: ${c}
      |            ---- `b` reads `c`
    7 |   c:
    8 |     value: ${a}
      |            ---- `c` reads `a`
      |
      = help: give one of them a value of its own

    1 error; nothing was changed
    ");
    assert_snapshot!(up_of("name: assembly::small::1.0\nreferences:\n  net:\n    type: resource::network::1.0\n    properties:\n      name:\n        value: blue\ncomposition: {}\n"), @"
    error[WL0160]: the reference `net` fits nothing: there is no `resource::network::1.0` with name `blue`
     --> small/assembly.yaml:4:11
      |
    4 |     type: resource::network::1.0
      |           ^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: declare it under `existing:` in `windlass.yaml`

    note[WL0144]: the reference `net` doesn't say where to look: it has no `deploymentLocation` and `resourceManager`
     --> small/assembly.yaml:4:11
      |
    4 |     type: resource::network::1.0
      |           ^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: an instance at any location fits

    1 error; nothing was changed
    ");
}

/// Two relationships form a circle: each of two components must be Active before the other one reaches Inactive.
/// Inactive is the state before Active, so neither component can start. windlass must refuse the assembly.
#[test]
fn relationships_in_a_circle() {
    let env = small();
    env.ok(&["up", "small", "--name", "before"]);
    env.edit(
        RESOURCE,
        "lifecycle:\n",
        "capabilities:\n  port:\n    type: tcp\nrequirements:\n  port:\n    type: tcp\nlifecycle:\n",
    );
    env.write(
        "small/assembly.yaml",
        "name: assembly::small::1.0
composition:
  a:
    type: resource::box::1.0
  b:
    type: resource::box::1.0
relationships:
  there:
    source-capabilities: [a.port]
    target-requirements: [b.port]
    source-state: Active
    target-state: Inactive
  back:
    source-capabilities: [b.port]
    target-requirements: [a.port]
    source-state: Active
    target-state: Inactive
",
    );
    assert_snapshot!(env.refuses(&["up", "small"]), @"
    error[WL0537]: the plan has a cycle: 4 steps wait for each other
      a (Inactive) waits for b (Active): back: b must be Active (small/assembly.yaml:13:3)
      b (Active) waits for b (Inactive): b is Inactive first
      b (Inactive) waits for a (Active): there: a must be Active (small/assembly.yaml:8:3)
      a (Active) waits for a (Inactive): a is Inactive first
    help: give the relationship `back` another state or modifier, or give the relationship `there` another state or modifier
    ");
    assert_snapshot!(env.refuses(&["plan", "small"]), @"
    error[WL0537]: the plan has a cycle: 4 steps wait for each other
      a (Inactive) waits for b (Active): back: b must be Active (small/assembly.yaml:13:3)
      b (Active) waits for b (Inactive): b is Inactive first
      b (Inactive) waits for a (Active): there: a must be Active (small/assembly.yaml:8:3)
      a (Active) waits for a (Inactive): a is Inactive first
    help: give the relationship `back` another state or modifier, or give the relationship `there` another state or modifier
    ");
}

#[test]
fn parameters() {
    let env = TestEnv::with("streamer_cluster");
    std::fs::remove_file(env.path("streamer_cluster/params.yaml")).unwrap();
    assert_snapshot!(env.refuses(&["up", "streamer_cluster"]), @"
    error[WL0151]: `deploymentLocation` is required and has no value
     --> streamer_cluster/assembly.yaml:6:3
      |
    6 |   deploymentLocation:
      |   ^^^^^^^^^^^^^^^^^^
      |
      = help: give it with `-p deploymentLocation=…`

    error[WL0151]: `resourceManager` is required and has no value
      --> streamer_cluster/assembly.yaml:10:3
       |
    10 |   resourceManager:
       |   ^^^^^^^^^^^^^^^
       |
       = help: give it with `-p resourceManager=…`

    error[WL0151]: `tenant_key_name` is required and has no value
      --> streamer_cluster/assembly.yaml:18:3
       |
    18 |   tenant_key_name:
       |   ^^^^^^^^^^^^^^^
       |
       = help: give it with `-p tenant_key_name=…`

    error[WL0151]: `management-network-name` is required and has no value
      --> streamer_cluster/assembly.yaml:22:3
       |
    22 |   management-network-name:
       |   ^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: give it with `-p management-network-name=…`

    error[WL0151]: `public-network-name` is required and has no value
      --> streamer_cluster/assembly.yaml:26:3
       |
    26 |   public-network-name:
       |   ^^^^^^^^^^^^^^^^^^^
       |
       = help: give it with `-p public-network-name=…`

    error[WL0151]: `storage-name` is required and has no value
      --> streamer_cluster/assembly.yaml:30:3
       |
    30 |   storage-name:
       |   ^^^^^^^^^^^^
       |
       = help: give it with `-p storage-name=…`

    6 errors; nothing was changed
    ");
    let env = TestEnv::with("h_bta");
    assert_snapshot!(env.refuses(&["up", "h_bta", "-p", "numOfServer=2"]), @"
    error[WL0150]: the assembly has no property `numOfServer`
     |
     = help: did you mean `numOfServers`?

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["up", "h_bta", "-p", "output=2"]), @"
    error[WL0152]: `output` is read-only and can't be set
      --> h_bta/assembly.yaml:14:3
       |
    14 |   output:
       |   ^^^^^^ declared here

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["up", "h_bta", "-p", "numOfServers=five"]), @"
    error[WL0120]: a whole number from 0 is needed, and this is `five`
      --> h_bta/assembly.yaml:79:25
       |
    79 |       initial-quantity: ${numOfServers}
       |                         ^^^^^^^^^^^^^^^
       |
       = help: `numOfServers` is given by `-p numOfServers`

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["up", "h_bta", "-p", "numOfServers=5"]), @"
    error[WL0121]: initial-quantity is 5, more than maximum-nodes, 4
      --> h_bta/assembly.yaml:79:25
       |
    79 |       initial-quantity: ${numOfServers}
       |                         ^^^^^^^^^^^^^^^
       |
       = help: `numOfServers` is given by `-p numOfServers`

    1 error; nothing was changed
    ");
    env.write("params.yaml", "data: x\nnumOfServers: six\n");
    assert_snapshot!(env.refuses(&["up", "h_bta", "--params", "params.yaml"]), @"
    error[WL0120]: a whole number from 0 is needed, and this is `six`
      --> h_bta/assembly.yaml:79:25
       |
    79 |       initial-quantity: ${numOfServers}
       |                         ^^^^^^^^^^^^^^^
      ::: params.yaml:2:1
       = note: given here

    1 error; nothing was changed
    ");
    let by_variable = TestEnv::with("h_bta").with_variable("WINDLASS_PARAM_NUMOFSERVERS", "seven");
    assert_snapshot!(by_variable.refuses(&["up", "h_bta"]), @"
    error[WL0120]: a whole number from 0 is needed, and this is `seven`
      --> h_bta/assembly.yaml:79:25
       |
    79 |       initial-quantity: ${numOfServers}
       |                         ^^^^^^^^^^^^^^^
       |
       = help: `numOfServers` is given by an environment variable

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["up", "h_bta", "-p", "data"]), @"error[WL0800]: `-p data` has no `=`: write `-p name=value`, `-p name=@FILE` or `-p name=-`");
    assert_snapshot!(env.refuses(&["up", "h_bta", "-p", "=2"]), @"error[WL0800]: `-p =2` names no property: write `-p name=value`");
    assert_snapshot!(env.refuses(&["up", "h_bta", "-p", "data=@nowhere"]), @"error[WL0568]: can't read `nowhere`: No such file or directory");
    assert_snapshot!(env.refuses(&["up", "h_bta", "--params", "nowhere.yaml"]), @"error[WL0568]: can't read `nowhere.yaml`: No such file or directory");
    env.write("params.yaml", "- data\n");
    assert_snapshot!(env.refuses(&["up", "h_bta", "--params", "params.yaml"]), @"
    error[WL0104]: a parameter file must be a mapping of names to values
    --> params.yaml:1:1

    1 error; nothing was changed
    ");
    env.write("params.yaml", "dta: x\nnumOfservers: 3\n");
    assert_snapshot!(env.refuses(&["up", "h_bta", "--params", "params.yaml"]), @"
    error[WL0150]: the assembly has no property `dta`
    --> params.yaml:1:1
     = help: did you mean `data`?

    error[WL0150]: the assembly has no property `numOfservers`
    --> params.yaml:2:1
     = help: did you mean `numOfServers`?

    2 errors; nothing was changed
    ");
}

#[test]
fn missing_files_of_a_package() {
    let env = small();
    env.edit("small/assembly.yaml", "resource::box::1.0", "resource::bax::1.0");
    assert_snapshot!(env.refuses(&["up", "small"]), @"
    error[WL0140]: the descriptor of `box`, `resource::bax::1.0`, is not in the catalog
     --> small/assembly.yaml:4:11
      |
    4 |     type: resource::bax::1.0
      |           ^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `resource::box::1.0`?

    1 error; nothing was changed
    ");

    let env = small();
    std::fs::remove_file(env.path(&format!("{SCRIPTS}/Install.sh"))).unwrap();
    assert_snapshot!(env.refuses(&["up", "small"]), @"
    error[WL0400]: `resource::box::1.0` declares Install, and `Lifecycle/script/scripts` has no script `Install` or `launch` for it
     --> small/Contains/box/Definitions/lm/resource.yaml:3:3
      |
    3 |   Install: {}
      |   ^^^^^^^
      |
      = help: add `Lifecycle/script/scripts/Install.sh`, or remove Install from the descriptor

    1 error; nothing was changed
    ");

    let env = small();
    let script = format!("{SCRIPTS}/Install.sh");
    let text = env.read(&script);
    std::fs::remove_file(env.path(&script)).unwrap();
    env.write(&script, text);
    assert_snapshot!(env.refuses(&["up", "small"]), @"
    error[WL0402]: the script `Install.sh` has no run bit
     --> small/Contains/box/Lifecycle/script/scripts/Install.sh:1:1
      |
    1 | #!/bin/sh
      | ^
      |
      = help: chmod +x small/Contains/box/Lifecycle/script/scripts/Install.sh

    1 error; nothing was changed
    ");

    let env = small();
    env.script(&script, "echo no first line\n");
    assert_snapshot!(env.refuses(&["up", "small"]), @"
    error[WL0403]: the script `Install.sh` does not name its interpreter
     --> small/Contains/box/Lifecycle/script/scripts/Install.sh:1:1
      |
    1 | echo no first line
      | ^^^^^^^^^^^^^^^^^^
      |
      = help: begin the file with `#!/bin/sh`, or with the interpreter that it is written for

    1 error; nothing was changed
    ");

    let env = small();
    env.edit(RESOURCE, "{effect: repeatable}", "{effect: sometimes, timeout: 10, retries: 3}");
    assert_snapshot!(env.refuses(&["up", "small"]), @"
    error[WL0404]: in `resource::box::1.0`: the driver property `effect` is `repeatable` or `once`, not `sometimes`
     --> small/Contains/box/Definitions/lm/resource.yaml:9:18
      |
    9 |     properties: {effect: sometimes, timeout: 10, retries: 3}
      |                  ^^^^^^

    error[WL0404]: in `resource::box::1.0`: the driver property `timeout` is a time such as `30s`, `10m` or `1h30m`, not `10`
     --> small/Contains/box/Definitions/lm/resource.yaml:9:37
      |
    9 |     properties: {effect: sometimes, timeout: 10, retries: 3}
      |                                     ^^^^^^^

    warning[WL0450]: the driver `script` has no property `retries`
     --> small/Contains/box/Definitions/lm/resource.yaml:9:50
      |
    9 |     properties: {effect: sometimes, timeout: 10, retries: 3}
      |                                                  ^^^^^^^
      |
      = help: it is ignored; the properties are `effect`, `timeout`, `limits`, `style` and `input`

    2 errors; nothing was changed
    ");
}

/// `check` reports all problems at once.
#[test]
fn check_reports_everything() {
    let env = TestEnv::new();
    let printed =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/negative/streamer_cluster_as_printed.yaml");
    env.write("printed.yaml", std::fs::read(printed).unwrap());
    let run = env.run(&["check", "printed.yaml"]);
    assert_eq!(run.code(), Some(2));
    assert_snapshot!(run, @"
    exit 2
    ----- stderr -----
    warning[WL0140]: the descriptor of `streamer`, `resource::c_streamer::1.0`, is not in the catalog; what depends on it is not checked
      --> printed.yaml:51:11
       |
    51 |     type: resource::c_streamer::1.0
       |           ^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`

    warning[WL0140]: the descriptor of `balancer`, `resource::c_balancer::1.0`, is not in the catalog; what depends on it is not checked
      --> printed.yaml:79:11
       |
    79 |     type: 'resource::c_balancer::1.0'
       |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`

    warning[WL0140]: the descriptor of `net_video`, `resource::net_video::1.0`, is not in the catalog; what depends on it is not checked
       --> printed.yaml:105:11
        |
    105 |     type: resource::net_video::1.0
        |           ^^^^^^^^^^^^^^^^^^^^^^^^
        |
        = help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`

    error[WL0112]: `storage.VideoNetwork` is at the target end, and there is no component `storage`
       --> printed.yaml:155:9
        |
    155 |       - storage.VideoNetwork
        |         ^^^^^^^^^^^^^^^^^^^^
        |
        = help: there are `streamer`, `balancer`, `net_video`, `management-network` and `public-network`

    error[WL0112]: `storage.ManagementNetwork` is at the target end, and there is no component `storage`
       --> printed.yaml:164:9
        |
    164 |       - storage.ManagementNetwork
        |         ^^^^^^^^^^^^^^^^^^^^^^^^^
        |
        = help: there are `streamer`, `balancer`, `net_video`, `management-network` and `public-network`

    2 errors, 3 warnings
    `windlass explain CODE` explains a code
    ");
}

#[test]
fn check_finds_nothing_in_the_fixtures() {
    for assembly in ["h_bta", "streamer_cluster"] {
        let env = TestEnv::with(assembly);
        assert_eq!(env.ok(&["check", assembly]).stderr, "0 errors, 0 warnings\n");
    }
}

#[test]
fn names() {
    let env = TestEnv::with("h_bta");
    env.write_small("effect: repeatable", &[("Install", "answer"), ("Uninstall", "")]);
    env.ok(&["up", "small", "--name", "shop"]);
    assert_snapshot!(env.refuses(&["up", "h_bta", "--name", "shop"]), @"error[WL0501]: `shop` is the name of an assembly of `assembly::small::1.0` already; choose another with `--name`");
    assert_snapshot!(env.refuses(&["plan", "h_bta", "--name", "shop"]), @"error[WL0501]: `shop` is the name of an assembly of `assembly::small::1.0` already; choose another with `--name`");
    assert_snapshot!(env.refuses(&["down", "shpo"]), @"error[WL0500]: there is no assembly `shpo`; did you mean `shop`?");
    assert_snapshot!(env.refuses(&["status", "Shop"]), @"error[WL0500]: there is no assembly `Shop`; did you mean `shop`?");
    assert_snapshot!(env.refuses(&["log", "shpo"]), @"error[WL0500]: there is no assembly `shpo`; did you mean `shop`?");
    assert_snapshot!(env.refuses(&["retry", "shpo"]), @"error[WL0500]: there is no assembly `shpo`; did you mean `shop`?");
}

#[test]
fn a_component_that_is_not_there() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    assert_snapshot!(env.refuses(&["log", "h_bta", "C"]), @"error[WL0553]: no step ran for a component `C` of `h_bta`; there are `A`, `B__1`");
    assert_snapshot!(env.refuses(&["log", "h_bta", "B__2"]), @"error[WL0553]: no step ran for a component `B__2` of `h_bta`; did you mean `B__1`?");
    for component in ["B", "B__1", "h_bta__B__1", "A"] {
        env.ok(&["log", "h_bta", component]);
    }
}

#[test]
fn a_parameter_of_a_file_is_shown_where_it_stands() {
    let env = small();
    env.write("params.yaml", "# what differs here\nregoin: eu-1\n");
    assert_snapshot!(env.refuses(&["up", "small", "--params", "params.yaml"]), @"
    error[WL0150]: the assembly has no property `regoin`
    --> params.yaml:2:1
     = help: it has none that can be set

    1 error; nothing was changed
    ");
}

#[test]
fn an_assembly_is_not_called_like_a_root_of_references() {
    assert_snapshot!(small().refuses(&["up", "small", "--name", "source"]), @"
    error[WL0800]: invalid value 'source' for '--name <NAME>': the assembly name `source` is reserved for `${source.…}`

    For more information, try '--help'.
    ");
}

/// Devices and pipes are refused wherever an argument names a file, and no command waits for them.
#[test]
fn devices_and_pipes_are_refused_without_waiting() {
    let env = small();
    assert!(std::process::Command::new("mkfifo").arg(env.path("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink("nowhere", env.path("dangling")).unwrap();
    let what = [("/dev/zero", "a device"), ("pipe", "a named pipe"), ("dangling", "which is not there")];
    for (file, why) in what {
        let at = format!("a=@{file}");
        let commands: [&[&str]; 7] = [
            &["check", file],
            &["up", file],
            &["resolve", "small", "--params", file],
            &["plan", "small", "-p", &at],
            &["apply", file],
            &["import", file],
            &["spiff", "merge", file],
        ];
        for command in commands {
            let run = env.run(command);
            assert_eq!(run.code(), Some(2), "{command:?}\n{run}");
            assert!(run.stderr.contains(why), "{command:?}\n{run}");
        }
    }
}

#[test]
fn a_document_above_the_size_limit_is_refused() {
    let env = small();
    let large = env.read("small/assembly.yaml") + &"#".repeat(2000);
    env.write("small/assembly.yaml", &large);
    for args in [["check", "small"], ["resolve", "small"]] {
        let refused = env.run(&[&["--max-size", "1000"], &args[..]].concat());
        assert_eq!(refused.code(), Some(2), "{refused}");
        assert!(refused.stderr.contains("has more than 1000 bytes"), "{refused}");
        assert!(refused.stderr.contains("--max-size"), "{refused}");
        env.ok(&[&args[..], &["--max-size", "1MiB"]].concat());
    }
    let from_stdin = env.run_with(&["check", "-", "--max-size", "1KiB"], &large);
    assert_eq!(from_stdin.code(), Some(2), "{from_stdin}");
    assert!(from_stdin.stderr.contains("it has more than 1 KiB; `--max-size` allows more"), "{from_stdin}");
}

#[test]
fn a_key_and_a_store_that_are_no_files_are_errors() {
    for (name, make) in
        [("key", "pipe"), ("state.db", "pipe"), ("state.db", "link"), ("key", "link"), ("", "link")]
    {
        let env = small();
        if !name.is_empty() {
            std::fs::create_dir(env.path(".windlass")).unwrap();
        }
        let path = env.path(".windlass").join(name);
        let path = std::path::PathBuf::from(path.to_str().unwrap().trim_end_matches('/'));
        if make == "pipe" {
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        } else {
            std::os::unix::fs::symlink("nowhere", &path).unwrap();
        }
        let run = env.run(&["up", "small"]);
        assert_ne!(run.code(), Some(0), "{name} {make}\n{run}");
        if name != "key" {
            // The store can't be read, so the command must not report that no assembly exists.
            let status = env.run(&["status"]);
            assert_ne!(status.code(), Some(0), "{name} {make}\n{status}");
        }
    }
}

/// The descriptor in a package is a named pipe or a dangling link. windlass must report an error, and must not wait for
/// data from the pipe.
#[test]
fn a_package_whose_descriptor_is_no_file_is_reported() {
    for (make, why) in [("pipe", "a named pipe"), ("link", "which is not there")] {
        let env = small();
        let descriptor = env.path(crate::small::RESOURCE);
        std::fs::remove_file(&descriptor).unwrap();
        if make == "pipe" {
            assert!(std::process::Command::new("mkfifo").arg(&descriptor).status().unwrap().success());
        } else {
            std::os::unix::fs::symlink("nowhere", &descriptor).unwrap();
        }
        for command in ["check", "up", "plan"] {
            let run = env.run(&[command, "small"]);
            assert_eq!(run.code(), Some(2), "{command} {make}\n{run}");
            assert!(
                run.stderr.contains(why) && run.stderr.contains("resource.yaml"),
                "{command} {make}\n{run}"
            );
        }
    }
}

/// A descriptor has a thousand errors. windlass must print the first hundred errors, and the number of all errors.
#[test]
fn messages_end_after_a_hundred() {
    let env = small();
    let many: Vec<String> = (0..1000).map(|n| format!("  c{n}: {{}}\n")).collect();
    let many = many.concat();
    env.write("small/assembly.yaml", format!("name: assembly::small::1.0\ncomposition:\n{many}"));
    let refused = env.refuses(&["up", "small"]);
    assert_eq!(refused.matches("error[WL").count(), 100, "{refused}");
    assert!(refused.contains("900 more errors are not shown"), "{refused}");
    assert!(refused.contains("1000 errors; nothing was changed"), "{refused}");
    // A file with a single long line is not drawn for every error.
    let line: Vec<String> = (0..20_000).map(|n| format!("c{n}: {{}}, ")).collect();
    let line = line.concat();
    env.write("small/assembly.yaml", format!("{{name: 'assembly::small::1.0', composition: {{{line}}}}}\n"));
    let refused = env.refuses(&["up", "small"]);
    assert!(refused.len() < 50_000, "{} bytes", refused.len());
    assert!(refused.contains("--> small/assembly.yaml:1:"), "{refused}");
}
