//! The mapping from actions to script files of a package.

use windlass_driver::{Binding, Package};
use windlass_model::record::PackageFile;
use windlass_model::{Action, Transition};

use crate::binding::binding;
use crate::role::Role;

/// The folder in a package for the files of this driver. The content of the folder is copied into the working
/// folder of each script.
pub(crate) const FOLDER: &str = "Lifecycle/script";

/// The folder of the scripts, relative to [`FOLDER`].
pub(crate) const SCRIPTS: &str = "scripts";

/// A script: a file of a package, or a program in the image of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScriptFile<'p> {
    /// The path of the script. For a file of a package, the path is relative to [`FOLDER`], such as
    /// `scripts/Start.sh`. For a program in the image of the location, it is the path in the image.
    pub path: &'p str,
    /// The file of the package; `None` if the script is a program in the image of the location.
    pub file: Option<&'p PackageFile>,
}

impl<'p> ScriptFile<'p> {
    /// Returns the name of the file, for example `Start.sh`.
    pub(crate) fn name(&self) -> &'p str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// Returns the name of the file without its extension, for example `Start`.
    pub(crate) fn stem(&self) -> &'p str {
        stem(self.name())
    }
}

/// Returns a file name without its extension. An extension with a character that is neither a letter nor a digit is
/// not removed. So the backup `Start.sh~` keeps its whole name, and does not serve the action Start.
pub(crate) fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension)) if extension.bytes().all(|b| b.is_ascii_alphanumeric()) => stem,
        _ => name,
    }
}

/// Returns the scripts of a package, sorted by path.
pub(crate) fn scripts(package: &Package) -> impl Iterator<Item = ScriptFile<'_>> {
    package.files_below(FOLDER).filter_map(|(path, file)| {
        let name = path.strip_prefix(SCRIPTS)?.strip_prefix('/')?;
        (!name.contains('/')).then_some(ScriptFile { path, file: Some(file) })
    })
}

/// The driver property `script`. In a binding of an application's package, this property contains the path of a script.
pub(crate) const SCRIPT: &str = "script";

/// Returns the script that a binding names by its path. Returns `None` if the binding contains no path, or if its
/// package does not belong to an application.
///
/// If the package has no file with this path, the path names a program in the image of the location.
pub(crate) fn of_binding<'p>(package: &'p Package, binding: &'p Binding) -> Option<ScriptFile<'p>> {
    package.pins()?;
    let path = binding.properties.get(SCRIPT)?.as_str()?;
    let pinned = package.files_below(FOLDER).find(|(pinned, _)| *pinned == path.trim_start_matches('/'));
    Some(pinned.map_or(ScriptFile { path, file: None }, |(path, file)| ScriptFile { path, file: Some(file) }))
}

/// Returns the scripts that serve an action. If the result contains more than one script, the choice is ambiguous, and
/// the driver runs none of them.
///
/// For a resource, these are the scripts named after the action. If there are none, the scripts named after the role
/// serve the action, except for Adopt. For an application, the binding of the action contains the path of the script.
pub(crate) fn candidates<'p>(package: &'p Package, action: &Action, role: &Role) -> Vec<ScriptFile<'p>> {
    if package.pins().is_some() {
        return binding(package, action).and_then(|named| of_binding(package, named)).into_iter().collect();
    }
    let own = named(package, &[action.as_str()]);
    // Adopt must never run a script that creates a new instance.
    let may_be_role = *action != Action::Transition(Transition::Adopt);
    if own.is_empty() && may_be_role { named(package, role.names()) } else { own }
}

/// Returns the health check script of a package; `None` if the package has no health check script, or several of them.
/// In the package of an application, the binding of Integrity names the script. In the package of a resource, the
/// script is found by its name, even if the descriptor does not declare Integrity.
pub(crate) fn health_check(package: &Package) -> Option<ScriptFile<'_>> {
    only(&candidates(package, &Action::Transition(Transition::Integrity), &Role::HealthCheck))
}

/// Returns the discovery script. In the package of a factory, the manifest names this script. In the package of a
/// resource, the script is found by its name. Returns `None` if there is no such script, or if a resource has several
/// of them.
pub(crate) fn discovery(package: &Package) -> Option<ScriptFile<'_>> {
    if package.pins().is_some() {
        return package.bindings().queries.iter().find_map(|named| of_binding(package, named));
    }
    only(&named(package, Role::Discover.names()))
}

/// Returns the declared actions that use a file of a package. `None` means that each action may use the file.
///
/// - A script in [`FOLDER`] is used by the actions that it serves. The discovery script of a factory serves no action.
/// - Any other file in [`FOLDER`] may be used by each action, because windlass copies the file into the working folder
///   of every script.
/// - A file outside of [`FOLDER`] is used by no action.
pub(crate) fn users(package: &Package, path: &str) -> Option<Vec<Action>> {
    let Some(within) = path.strip_prefix(FOLDER).and_then(|path| path.strip_prefix('/')) else {
        return Some(Vec::new());
    };
    let is_script = if package.pins().is_some() {
        bindings(package)
            .filter_map(|binding| of_binding(package, binding))
            .any(|script| script.path == within)
    } else {
        scripts(package).any(|script| script.path == within)
    };
    let serves = |action: &Action| {
        let candidates = Role::of(package, action).map(|role| candidates(package, action, &role));
        candidates.unwrap_or_default().iter().any(|script| script.path == within)
    };
    is_script.then(|| package.bindings().actions().filter(serves).collect())
}

/// Returns the bindings of all actions and queries of a package.
fn bindings(package: &Package) -> impl Iterator<Item = &Binding> {
    let bindings = package.bindings();
    bindings.transitions.values().chain(bindings.commands.values()).chain([&bindings.queries]).flatten()
}

fn named<'p>(package: &'p Package, names: &[&str]) -> Vec<ScriptFile<'p>> {
    scripts(package).filter(|script| names.contains(&script.stem())).collect()
}

fn only<'p>(scripts: &[ScriptFile<'p>]) -> Option<ScriptFile<'p>> {
    match *scripts {
        [script] => Some(script),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use windlass_driver::{Binding, Bindings};

    use super::*;

    #[test]
    fn a_script_serves_its_actions_and_a_library_all() {
        let file = |path: &str| PackageFile { path: path.to_owned(), executable: true, content: Vec::new() };
        let files = ["scripts/Start.sh", "scripts/unused.sh", "lib/common.sh"];
        let files = files.map(|path| file(&format!("{FOLDER}/{path}")));
        let binding = Binding {
            driver: "script".parse().unwrap(),
            infrastructure: vec!["*".to_owned()],
            properties: std::collections::BTreeMap::new(),
        };
        let bindings = Bindings {
            transitions: [(Transition::Start, Vec::new()), (Transition::Stop, Vec::new())].into(),
            default: vec![binding],
            ..Bindings::default()
        };
        let package = Package::new("resource::a::1".parse().unwrap(), bindings, files.into());
        let start = vec![Action::Transition(Transition::Start)];
        for (path, users) in [
            ("Lifecycle/script/scripts/Start.sh", Some(start)),
            ("Lifecycle/script/scripts/unused.sh", Some(Vec::new())),
            ("Lifecycle/script/lib/common.sh", None),
            ("resource.yaml", Some(Vec::new())),
        ] {
            assert_eq!(super::users(&package, path), users, "{path}");
        }
    }

    #[test]
    fn an_extension_is_letters_and_digits() {
        for (name, expected) in [
            ("Start.sh", "Start"),
            ("Start", "Start"),
            ("Start.py3", "Start"),
            ("Start.sh~", "Start.sh~"),
            ("Start.sh.orig", "Start.sh"),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
