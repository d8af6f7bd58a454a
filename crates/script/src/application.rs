//! Creates the package of an application or a factory. The package runs the scripts that the manifest names.

use std::collections::BTreeMap;

use windlass_driver::noop::Noop;
use windlass_driver::{Binding, Bindings, Driver as _, Package};
use windlass_manifest::Role;
use windlass_model::pins::Pins;
use windlass_model::record::PackageFile;
use windlass_model::{Action, DescriptorName, Transition};

use crate::binding::KIND;
use crate::scripts::{FOLDER, SCRIPT, users};

/// Returns the package of an application or a factory.
///
/// `files` have paths relative to the folder of the scripts. The manifest names each script by a path. If none of
/// `files` has this path, the path names a program in the image of the location.
///
/// The package of an application runs the scripts of the manifest for these actions: the launch script for Install,
/// the destroy script for Uninstall, the health check for Integrity, and the reconfiguration script for Reconfigure.
/// The name of a command in the package is the id of the command's pin (its entry in the manifest), in the form
/// `INTERFACE.PIN`. The package of a factory runs only the discovery script.
#[must_use]
#[expect(clippy::missing_panics_doc, reason = "the parsed text is a constant of the right form")]
pub fn application_package(
    name: DescriptorName,
    role: &Role,
    pins: Pins,
    files: Vec<PackageFile>,
) -> Package {
    let script = |path: &str| {
        vec![Binding {
            driver: KIND.parse().expect("a driver's kind is a word"),
            infrastructure: vec!["*".to_owned()],
            properties: BTreeMap::from([(SCRIPT.to_owned(), path.into())]),
        }]
    };
    let mut bindings = Bindings::default();
    match role {
        Role::Application(application) => {
            let transitions = [
                (Transition::Install, Some(&application.launch)),
                (Transition::Uninstall, Some(&application.destroy)),
                (Transition::Integrity, application.health_check.as_ref()),
                (Transition::Reconfigure, application.reconfiguration.as_ref()),
            ];
            let given =
                transitions.into_iter().filter_map(|(action, path)| Some((action, script(&path?.value))));
            bindings.transitions = given.collect();
            let commands = application.commands.iter();
            bindings.commands = commands.map(|(pin, path)| (pin.to_string(), script(&path.value))).collect();
        }
        Role::Factory(factory) => {
            let discovery = factory.discovery.iter().flat_map(|discovery| script(&discovery.script.value));
            bindings.queries = discovery.collect();
            // The scripts of an application also receive the values of its factory. So if these values change, no
            // script has to run for the factory itself. The transition Reconfigure of the factory is bound to a
            // driver that does nothing.
            let none = Binding {
                driver: Noop.kind(),
                infrastructure: vec!["*".to_owned()],
                properties: BTreeMap::new(),
            };
            bindings.transitions.insert(Transition::Reconfigure, vec![none]);
        }
    }
    let placed = |file: PackageFile| PackageFile { path: format!("{FOLDER}/{}", file.path), ..file };
    Package::new(name, bindings, files.into_iter().map(placed).collect()).with_pins(pins)
}

/// Tells whether two packages of an application run different scripts for `action`. The scripts differ if their paths
/// differ, or if a file differs that the scripts may use. A file that is no script of the manifest may be used by every
/// script.
#[must_use]
pub fn is_other_script(old: &Package, new: &Package, action: &Action) -> bool {
    let uses = |package: &Package, file: &PackageFile| {
        users(package, &file.path).is_none_or(|actions| actions.contains(action))
    };
    let has_other_file = |package: &Package, other: &Package| {
        package.files().iter().any(|file| !other.files().contains(file) && uses(package, file))
    };
    old.bindings().named(action) != new.bindings().named(action)
        || has_other_file(old, new)
        || has_other_file(new, old)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(path: &str, files: &[(&str, &str)]) -> Package {
        let script = |path: &str| Binding {
            driver: KIND.parse().unwrap(),
            infrastructure: vec!["*".to_owned()],
            properties: BTreeMap::from([(SCRIPT.to_owned(), path.into())]),
        };
        let transitions = [(Transition::Reconfigure, path), (Transition::Install, "/vm/launch.py")];
        let transitions = transitions.map(|(transition, path)| (transition, vec![script(path)]));
        let bindings = Bindings { transitions: transitions.into(), ..Bindings::default() };
        let file = |(path, content): &(&str, &str)| PackageFile {
            path: format!("{FOLDER}/{path}"),
            executable: true,
            content: content.as_bytes().to_vec(),
        };
        let files = files.iter().map(file).collect();
        Package::new("resource::vm::1".parse().unwrap(), bindings, files).with_pins(Pins::default())
    }

    #[test]
    fn a_script_is_another_one_if_its_path_or_a_file_of_it_differs() {
        let (own, launch) = ("/vm/change.py", ("vm/launch.py", "1"));
        let old = package(own, &[("vm/change.py", "1"), launch, ("lib.py", "1")]);
        let is_other = |new| is_other_script(&old, &new, &Action::Transition(Transition::Reconfigure));
        for (new, expected) in [
            (package(own, &[("vm/change.py", "1"), ("vm/launch.py", "2"), ("lib.py", "1")]), false),
            (package(own, &[("vm/change.py", "2"), launch, ("lib.py", "1")]), true),
            (package(own, &[("vm/change.py", "1"), launch, ("lib.py", "2")]), true),
            (package(own, &[("vm/change.py", "1"), launch]), true),
            (package("/in-image.py", &[("vm/change.py", "1"), launch, ("lib.py", "1")]), true),
        ] {
            assert_eq!(is_other(new.clone()), expected, "{new:?}");
        }
    }
}
