//! Creates the package of an application or a factory. The package runs the scripts that the manifest names.

use std::collections::BTreeMap;

use windlass_driver::noop::Noop;
use windlass_driver::{Binding, Bindings, Driver as _, Package};
use windlass_manifest::Role;
use windlass_model::pins::Pins;
use windlass_model::record::PackageFile;
use windlass_model::{DescriptorName, Transition};

use crate::binding::KIND;
use crate::scripts::{FOLDER, SCRIPT};

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
