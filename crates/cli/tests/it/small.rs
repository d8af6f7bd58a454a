//! A small assembly with one component, whose scripts are written by the test.

use std::fmt::Write as _;

use crate::env::TestEnv;

/// The head of each script. It records the script's name in the trace, and defines the function `answer` for
/// a launch.
pub(crate) const HEAD: &str = r#"#!/bin/sh
set -eu
input=$(cat)
trace=$(printf '%s\n' "$input" | sed -n 's/^ *location.trace: "\(.*\)"$/\1/p')
id=$(printf '%s\n' "$input" | sed -n '/^launch:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;}')
name=${0##*/}
echo "${name%.sh}" >>"$trace"
answer() {
    printf 'instances:\n  "%s":\n    instanceId: "%s"\n' "$id" "$id"
}
"#;

/// The folder of the scripts of `small`.
pub(crate) const SCRIPTS: &str = "small/Contains/box/Lifecycle/script/scripts";

/// The descriptor of the component of `small`.
pub(crate) const RESOURCE: &str = "small/Contains/box/Definitions/lm/resource.yaml";

impl TestEnv {
    /// Creates a project with the assembly `small`. Its component `box` has a script for each named
    /// transition, and the driver properties `driver`, such as `effect: once`.
    pub(crate) fn small(driver: &str, scripts: &[(&str, &str)]) -> Self {
        let env = Self::new();
        env.write_small(driver, scripts);
        env
    }

    /// Writes the assembly `small` into a project.
    pub(crate) fn write_small(&self, driver: &str, scripts: &[(&str, &str)]) {
        self.write(
            "small/assembly.yaml",
            "name: assembly::small::1.0\ncomposition:\n  box:\n    type: resource::box::1.0\n    quantity: 1\n",
        );
        let mut resource = "name: resource::box::1.0\nlifecycle:\n".to_owned();
        for (transition, body) in scripts {
            writeln!(resource, "  {transition}: {{}}").unwrap();
            self.script(&format!("{SCRIPTS}/{transition}.sh"), format!("{HEAD}{body}\n"));
        }
        write!(
            resource,
            "default-driver:\n  script:\n    selector:\n      infrastructure-type: ['*']\n    properties: {{{driver}}}\n"
        )
        .unwrap();
        self.write(RESOURCE, resource);
    }
}
