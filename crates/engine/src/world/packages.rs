//! The packages of an assembly: the packages of the desired version, and the packages that existing elements
//! were created from.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use windlass_driver::{Package, Registry};
use windlass_model::assembly::PackageDigest;
use windlass_model::record::{ElementRecord, Failure, FailureKind};
use windlass_model::{DescriptorName, Element, Side, State, Transition};

use crate::panic::described;

/// The packages of an assembly.
#[derive(Default)]
pub(crate) struct Packages {
    /// The packages of the desired version. A package that was not found is not included, and calls that need it fail.
    desired: HashMap<DescriptorName, Arc<Package>>,
    /// The packages to which the records of the assembly refer: for example, the packages that existing elements were
    /// created from, and the packages of earlier versions.
    previous: HashMap<PackageDigest, Arc<Package>>,
    /// Pairs of packages: an old package, and a new package that may replace it. If the new package replaces the
    /// old one, the existing instances are *kept*, because the drivers can manage them with the new package.
    kept: BTreeSet<(PackageDigest, PackageDigest)>,
    /// Whether the engine uses the packages of the desired version to stop and remove existing elements. If `false`,
    /// the engine uses the packages that the elements were created from. For exceptions, see [`of`](Self::of).
    prefers_desired: bool,
}

impl Packages {
    /// Creates the set with previous packages only. [`desire`](Self::desire) adds the packages of the desired
    /// version.
    pub(crate) fn new(previous: HashMap<PackageDigest, Arc<Package>>) -> Self {
        Self { previous, ..Self::default() }
    }

    /// Replaces each package in `self.previous` by `package` if the two packages have the same name.
    pub(crate) fn use_instead(&mut self, package: &Arc<Package>) {
        let same = self.previous.values_mut().filter(|known| known.name() == package.name());
        same.for_each(|known| *known = package.clone());
    }

    /// Makes the engine use the packages of the desired version to stop and remove existing elements. In two cases, the
    /// engine still uses the package that an element was created from:
    ///
    /// - The desired version has no package of the same name.
    /// - The driver can't manage the existing instance with the desired package.
    pub(crate) fn prefer_desired(&mut self) {
        self.prefers_desired = true;
    }

    /// Sets the packages of the desired version. `pinned` contains their digests. The packages themselves come
    /// from `given`, or else from the previous packages.
    ///
    /// # Errors
    /// The name of the first package that is neither in `given` nor among the previous packages. All other
    /// packages are set nevertheless.
    pub(crate) fn desire(
        &mut self,
        pinned: &BTreeMap<DescriptorName, PackageDigest>,
        given: &[Arc<Package>],
    ) -> Result<(), DescriptorName> {
        let given: HashMap<_, _> = given.iter().map(|package| (package.digest(), package)).collect();
        let mut missing = None;
        for (name, digest) in pinned {
            match given.get(digest).copied().or_else(|| self.previous.get(digest)) {
                Some(found) => drop(self.desired.insert(name.clone(), found.clone())),
                None => missing = missing.or_else(|| Some(name.clone())),
            }
        }
        missing.map_or(Ok(()), Err)
    }

    /// Asks the drivers which existing instances they keep when a package has changed. A driver *keeps* an
    /// instance if the driver can manage the instance with the changed package.
    pub(crate) fn ask_what_is_kept<'a>(
        &mut self,
        elements: impl Iterator<Item = &'a ElementRecord>,
        drivers: &Registry,
    ) {
        let made: BTreeSet<&PackageDigest> =
            elements.filter_map(|record| Some(&record.made.as_ref()?.package)).collect();
        let old = made.into_iter().filter_map(|digest| self.previous.get(digest));
        let changes = old.filter_map(|old| Some((old, self.desired.get(old.name())?)));
        let kept = changes.filter(|(old, new)| old.digest() != new.digest() && keeps(drivers, old, new));
        self.kept = kept.map(|(old, new)| (old.digest().clone(), new.digest().clone())).collect();
    }

    /// Returns the package that the desired version of the assembly uses for the descriptor `name`. `None` if this
    /// package was not found, or if the desired version does not use the descriptor.
    pub(crate) fn desired(&self, name: &DescriptorName) -> Option<&Package> {
        self.desired.get(name).map(Arc::as_ref)
    }

    /// Finds a package to which the records of the assembly refer, by its digest. If [`use_instead`](Self::use_instead)
    /// has replaced this package, the method returns the replacement. Returns `None` if the records do not refer to
    /// such a package, or if the store does not have it.
    pub(crate) fn previous(&self, digest: &PackageDigest) -> Option<&Package> {
        self.previous.get(digest).map(Arc::as_ref)
    }

    /// Returns the changes of packages for which existing instances are *kept*: the drivers can manage the instances
    /// with the new package. Each change is a pair of the old package and the new one.
    pub(crate) fn kept(&self) -> &BTreeSet<(PackageDigest, PackageDigest)> {
        &self.kept
    }

    /// Tells whether existing instances are kept when the package `desired` replaces the package `installed`. They are
    /// kept if the drivers can manage them with the package `desired`.
    pub(crate) fn is_kept(&self, installed: &PackageDigest, desired: &PackageDigest) -> bool {
        self.kept.contains(&(installed.clone(), desired.clone()))
    }

    /// Returns the package that the calls on an element use. `side` is the version of the assembly from which these
    /// calls take their values.
    ///
    /// If the driver can't manage an existing instance with the desired package, all calls use the package that
    /// the element was created from. Otherwise, a call of the desired version uses the desired package.
    ///
    /// A call of the installed version usually uses the package that the element was created from. In two cases,
    /// such a call uses the desired package:
    ///
    /// - The function [`prefer_desired`](Self::prefer_desired) was called.
    /// - The call removes the leftovers of a failed Create or Install, and the driver can manage these leftovers with
    ///   the desired package.
    pub(crate) fn of(
        &self,
        element: &Element,
        record: Option<&ElementRecord>,
        side: Side,
    ) -> Result<Arc<Package>, Failure> {
        let made = record.and_then(|record| record.made.as_ref());
        let previous = made.and_then(|made| self.previous.get(&made.package));
        let is_outdated = || record.is_some_and(|record| self.is_outdated(element, record));
        let is_installed = |previous: &Package| {
            let desired = self.desired.get(&element.descriptor);
            desired.is_none_or(|desired| {
                let may_replace = self.is_kept(previous.digest(), desired.digest());
                !(self.prefers_desired || may_replace && record.is_some_and(never_was))
            })
        };
        let previous = previous
            .filter(|previous| is_outdated() || side == Side::Installed && is_installed(previous.as_ref()));
        // A reference to another assembly may no longer be desired, and has no record of its package. A previous
        // package with the name of the element's resource is then used.
        let parted = || {
            let of_name = self.previous.values().filter(|package| package.name() == &element.descriptor);
            of_name.min_by_key(|package| &package.digest().0)
        };
        let found = previous.or_else(|| self.desired.get(&element.descriptor)).or_else(parted).cloned();
        found.ok_or_else(|| {
            let message = format!("the package of `{}` is not there", element.descriptor);
            Failure::new(FailureKind::NotFound, message)
        })
    }

    /// Tells whether an existing instance still needs its old package, because the driver can't manage the instance
    /// with the desired package. Returns `false` for an element in the state Absent or Failed.
    fn is_outdated(&self, element: &Element, record: &ElementRecord) -> bool {
        if matches!(record.state, State::Absent | State::Failed) {
            return false;
        }
        let known = record.made.as_ref().and_then(|made| self.previous.get(&made.package));
        // An element whose desired resource has another name is created again.
        let (Some(old), Some(new)) = (known, self.desired.get(&element.descriptor)) else { return false };
        old.name() == new.name() && old.digest() != new.digest() && !self.is_kept(old.digest(), new.digest())
    }
}

/// Tells whether the Create or Install of an element failed, so that only leftovers of the element exist.
fn never_was(record: &ElementRecord) -> bool {
    record.state == State::Failed
        && matches!(record.attempted, Some(Transition::Create | Transition::Install))
}

/// Tells whether drivers can manage the instances of the package `old` with the package `new`.
///
/// This requires that both packages name the same drivers, and that each of these drivers agrees.
fn keeps(drivers: &Registry, old: &Package, new: &Package) -> bool {
    let named = old.bindings().drivers();
    let agrees = |kind| {
        let driver = drivers.get(kind);
        driver.is_some_and(|driver| described(|| driver.keeps(old, new)).unwrap_or(false))
    };
    named == new.bindings().drivers() && named.into_iter().all(agrees)
}
