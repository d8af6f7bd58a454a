//! Compares the installed and the desired packages of elements, to show the differences to people.

use std::collections::{BTreeMap, BTreeSet};

use windlass_driver::{Package, Registry};
use windlass_lifecycle::{Affected, Diff, FileChange, FileChangeKind, PackageDiff};
use windlass_model::assembly::PackageDigest;
use windlass_model::record::PackageFile;
use windlass_model::{Action, ElementName};

use crate::panic::described;
use crate::world::World;

/// Adds the differences between installed and desired packages to a diff. The function compares the packages of
/// these elements:
///
/// - elements whose package gets new content,
/// - elements that keep their old package although the desired package differs.
pub(crate) fn note_package_diffs(world: &World, drivers: &Registry, diff: &mut Diff) {
    let changed = diff.elements.iter().filter(|change| change.repackaged).map(|change| &change.element);
    let mut parts: BTreeMap<(&PackageDigest, &PackageDigest), BTreeSet<&ElementName>> = BTreeMap::new();
    for part in changed.chain(&diff.outdated) {
        let made = world.elements.get(part).and_then(|record| record.made.as_ref());
        let desired = world.topology().get(part).and_then(|part| world.packages.desired(&part.descriptor));
        if let (Some(made), Some(desired)) = (made, desired) {
            parts.entry((&made.package, desired.digest())).or_default().insert(part);
        }
    }
    let diffs = parts.into_iter().filter_map(|((old, new), parts)| {
        let old = world.packages.previous(old)?;
        let new = world.packages.desired(old.name()).filter(|package| package.digest() == new)?;
        Some(PackageDiff {
            descriptor: new.name().clone(),
            parts: parts.into_iter().cloned().collect(),
            drivers: old.bindings() != new.bindings(),
            files: files(drivers, old, new),
        })
    });
    diff.packages = diffs.collect();
}

/// Returns the files that differ between two packages, sorted by path.
fn files(drivers: &Registry, old: &Package, new: &Package) -> Vec<FileChange> {
    let (before, after) = (by_path(old), by_path(new));
    let paths: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let change = |path: &str| {
        let (kind, package) = match (before.get(path), after.get(path)) {
            (None, _) => (FileChangeKind::Added, new),
            (_, None) => (FileChangeKind::Removed, old),
            (before, after) if before != after => (FileChangeKind::Changed, new),
            _ => return None,
        };
        Some(FileChange { path: path.to_owned(), kind, affects: affected(drivers, package, path) })
    };
    paths.into_iter().filter_map(change).collect()
}

fn by_path(package: &Package) -> BTreeMap<&str, &PackageFile> {
    package.files().iter().map(|file| (file.path.as_str(), file)).collect()
}

/// Returns the actions that use a file, according to the drivers of its package. If a driver names no actions,
/// the file counts as used by all actions.
fn affected(drivers: &Registry, package: &Package, path: &str) -> Affected {
    let kinds = package.bindings().drivers();
    let users = kinds.into_iter().map(|kind| {
        let driver = drivers.get(kind)?;
        // If the driver panics, the function can't know which actions use the file. The result is then that all
        // actions use it.
        described(|| driver.users(package, path)).ok().flatten()
    });
    let users: Option<BTreeSet<Action>> =
        users.collect::<Option<Vec<Vec<Action>>>>().map(|all| all.into_iter().flatten().collect());
    users.map_or(Affected::All, |actions| Affected::Only(actions.into_iter().collect()))
}
