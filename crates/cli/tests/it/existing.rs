//! Operations on existing instances. Either the project lists such an instance with its package, or a driver finds the
//! instance.

use insta::assert_snapshot;

use crate::env::TestEnv;

/// The head of each script. It records the name of the script, the instance of the operation, and an
/// argument.
const SCRIPT: &str = r#"#!/bin/sh
set -eu
input=$(cat)
trace=$(printf '%s\n' "$input" | sed -n 's/^ *location.trace: "\(.*\)"$/\1/p')
vlan=$(printf '%s\n' "$input" | sed -n 's/^ *vlan: "\{0,1\}\([0-9]*\)"\{0,1\}$/\1/p')
net=$(printf '%s\n' "$input" | sed -n '/^instances:$/{n;s/^ *"\{0,1\}\([a-z0-9-]*\)"\{0,1\}:.*/\1/p;}')
name=${0##*/}
echo "${name%.sh} $net $vlan" >>"$trace"
"#;

/// Returns a project with an assembly and the package of a network. A relationship of the assembly attaches a box to
/// the existing network VIDEO.
fn lab(queries: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "lab/assembly.yaml",
        "name: assembly::lab::1.0
properties: {vlan: {default: 7}}
references:
  net:
    type: resource::net::^1.0
    properties:
      name: {value: VIDEO}
      deploymentLocation: {value: admin@local}
      resourceManager: {value: test-rm}
composition:
  box: {type: resource::box::1.0}
relationships:
  port:
    source-capabilities: [net]
    target-requirements: [box.port]
    source-state: Active
    target-state: Active
    target-state-modifier: pre
    properties: {vlan: {value: '${vlan}'}}
    lifecycle: {Create: [source.Attach], Cease: [source.Detach]}
",
    );
    env.write(
        "lab/Contains/box/resource.yaml",
        "name: resource::box::1.0\nlifecycle: [Install, Start, Stop, Uninstall]\ndefault-driver: {noop: {}}\n",
    );
    env.write(
        "nets/resource.yaml",
        format!(
            "name: resource::net::1.3
properties: {{name: {{}}}}
operations: {{Attach: {{}}, Detach: {{}}}}
default-driver: {{script: {{properties: {{effect: repeatable}}}}}}
{queries}"
        ),
    );
    for script in ["Attach", "Detach"] {
        env.script(&format!("nets/Lifecycle/script/scripts/{script}.sh"), SCRIPT);
    }
    env
}

/// Adds the network VIDEO to the instances that the project lists.
fn list(env: &TestEnv, package: &str) {
    let listed = format!(
        "existing:
  - type: resource::net::1.3
    name: VIDEO
    properties: {{id: net-video, deploymentLocation: admin@local, resourceManager: test-rm}}
{package}"
    );
    env.edit("windlass.yaml", "existing:\n", &listed);
}

#[test]
fn operations_run_on_what_the_project_lists() {
    let env = lab("");
    list(&env, "    package: nets\n");
    assert_snapshot!(env.ok(&["up", "lab"]).out(), @"
      + box added (resource::box::1.0)
    1 to add
    lab: 3 steps, up to 1 at once (p1 up)
       s1 box Install
       s2 box Create port: source.Attach
       s3 box Start

    ok        box Create port: source.Attach LONG
    ok        box Install nothing to call
    ok        box Start nothing to call

    done: lab is Active (LONG)
    ");
    assert_eq!(env.trace(), ["Attach net-video 7"]);
    env.ok(&["up", "lab", "-p", "vlan=8"]);
    assert_eq!(env.trace()[1..], ["Detach net-video 7", "Attach net-video 8"]);
    assert_snapshot!(env.ok(&["status"]).out(), @"
    lab Active assembly::lab::1.0, AGE
    ├─ net exists
    └─ box Active AGE
      port created × 1
    ");
    // The pinned scripts take the assembly down, regardless of the scripts on disk.
    env.clear_trace();
    env.edit("nets/Lifecycle/script/scripts/Detach.sh", "set -eu", "exit 9");
    env.ok(&["down", "lab"]);
    assert_eq!(env.trace(), ["Detach net-video 8"]);
}

#[test]
fn operations_run_on_what_a_driver_finds() {
    let env = lab("queries: {drivers: {script: {selector: {infrastructure-type: ['*']}}}}\n");
    env.script(
        "nets/Lifecycle/script/scripts/discover.sh",
        "#!/bin/sh\ncat >/dev/null\necho 'instances: {net-1: {interfaces: {properties: {signals: {name: VIDEO}}}}}'\n",
    );
    env.ok(&["up", "lab", "--catalog", "nets"]);
    assert_eq!(env.trace(), ["Attach net-1 7"]);
    env.ok(&["down", "lab"]);
    assert_eq!(env.trace()[1..], ["Detach net-1 7"]);
}

#[test]
fn a_reference_without_a_package_has_no_operations() {
    let env = lab("");
    list(&env, "");
    assert_snapshot!(env.refuses(&["up", "lab"]), @"
    error[WL0132]: the reference `net` is `VIDEO` of the project, which has no operation `Attach`
      --> lab/assembly.yaml:20:26
       |
    20 |     lifecycle: {Create: [source.Attach], Cease: [source.Detach]}
       |                          ^^^^^^^^^^^^^
       |
       = help: it has none; call an operation of the target

    error[WL0132]: the reference `net` is `VIDEO` of the project, which has no operation `Detach`
      --> lab/assembly.yaml:20:50
       |
    20 |     lifecycle: {Create: [source.Attach], Cease: [source.Detach]}
       |                                                  ^^^^^^^^^^^^^
       |
       = help: it has none; call an operation of the target

    2 errors; nothing was changed
    ");
}

#[test]
fn a_package_that_is_not_there_or_another_is_told() {
    let env = lab("");
    list(&env, "    package: net\n");
    assert_snapshot!(env.refuses(&["up", "lab"]), @"
    error[WL0300]: there is no file or folder `net`
      --> windlass.yaml:22:14
       |
    22 |     package: net
       |              ^^^
       |
       = help: did you mean `nets`?

    1 error; nothing was changed
    ");
    env.edit("windlass.yaml", "package: net\n", "package: lab/Contains/box\n");
    assert_snapshot!(env.refuses(&["up", "lab"]), @"
    error[WL0340]: there is no package of `resource::net::1.3` in `lab/Contains/box`
      --> windlass.yaml:22:14
       |
    22 |     package: lab/Contains/box
       |              ^^^^^^^^^^^^^^^^
       |
       = help: it is the package of `resource::box::1.0`

    1 error; nothing was changed
    ");
    env.edit("windlass.yaml", "package: lab/Contains/box\n", "package: lab/Contains\n");
    assert_snapshot!(env.refuses(&["up", "lab"]), @"
    error[WL0340]: there is no package of `resource::net::1.3` in `lab/Contains`
      --> windlass.yaml:22:14
       |
    22 |     package: lab/Contains
       |              ^^^^^^^^^^^^
       |
       = help: the package of a resource has one of `Definitions/lm/resource.yaml`, `Definitions/lm/resource.yml`, `resource.yaml` and `resource.yml`

    1 error; nothing was changed
    ");
}
