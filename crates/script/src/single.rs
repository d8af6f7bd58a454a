//! A package with a single script. A user can run this script by hand, independent of any assembly.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_driver::case::CaseAction;
use windlass_driver::{Binding, Bindings, Package};
use windlass_model::Action;
use windlass_model::record::PackageFile;

use crate::binding::KIND;
use crate::role::Role;
use crate::scripts::{FOLDER, SCRIPTS, stem};

/// Returns a package with one action, which the given script serves.
///
/// The field `path` of `script` must be a file name without a folder. If the file name does not fit the action,
/// the package contains the script under a file name that fits.
///
/// `others` are further files for the package. The field `path` of each of these files is its path in the package.
/// If one of these files is a script for the same action, the package does not contain this file. `properties` are
/// the driver properties.
///
/// ```
/// use windlass_driver::{Driver, case::CaseAction};
/// use windlass_model::{Action, Transition, record::PackageFile};
/// use windlass_script::{Script, single_script};
///
/// let content = b"#!/bin/sh\n".to_vec();
/// let script = PackageFile { path: "make-vm.sh".into(), executable: true, content };
/// let launch = CaseAction::Perform(Action::Transition(Transition::Install));
/// let package = single_script(&launch, script, Vec::new(), [].into());
/// assert_eq!(package.files()[0].path, "Lifecycle/script/scripts/Install.sh");
/// assert_eq!(Script::default().check(&package), []);
/// ```
#[expect(clippy::missing_panics_doc, reason = "the parsed texts are constants of the right form")]
pub fn single_script(
    action: &CaseAction,
    script: PackageFile,
    others: Vec<PackageFile>,
    properties: BTreeMap<String, Value>,
) -> Package {
    let binding = Binding {
        driver: KIND.parse().expect("a driver's kind is a word"),
        infrastructure: vec!["*".to_owned()],
        properties,
    };
    let mut bindings = Bindings { default: vec![binding.clone()], ..Bindings::default() };
    let name = match action {
        CaseAction::Perform(Action::Transition(transition)) => {
            bindings.transitions.insert(*transition, Vec::new());
            transition.as_str()
        }
        CaseAction::Perform(Action::Operation(operation)) => {
            bindings.operations.insert(operation.to_string(), Vec::new());
            operation.as_str()
        }
        CaseAction::Perform(action) => {
            bindings.commands.insert(action.as_str().to_owned(), Vec::new());
            action.as_str()
        }
        CaseAction::Discover => {
            bindings.queries.push(binding);
            Role::Discover.names()[0]
        }
    };
    let descriptor = "resource::script::1.0".parse().expect("it has the form of a name");
    let empty = Package::new(descriptor, bindings, Vec::new());
    let role = match action {
        CaseAction::Perform(action) => Role::of(&empty, action),
        CaseAction::Discover => Some(Role::Discover),
    };
    let mut names: Vec<&str> = role.map(|role| role.names().to_vec()).unwrap_or_default();
    names.push(name);
    let folder = format!("{FOLDER}/{SCRIPTS}/");
    let is_other = |file: &PackageFile| {
        let own = file.path.strip_prefix(&folder);
        !own.is_some_and(|own| own == script.path || names.contains(&stem(own)))
    };
    let mut files: Vec<PackageFile> = others.into_iter().filter(is_other).collect();
    let extension = &script.path[stem(&script.path).len()..];
    let file =
        if names.contains(&stem(&script.path)) { script.path.clone() } else { format!("{name}{extension}") };
    files.push(PackageFile { path: format!("{folder}{file}"), ..script });
    Package::new(empty.name().clone(), empty.bindings().clone(), files)
}
