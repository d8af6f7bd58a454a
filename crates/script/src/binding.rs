//! The bindings of a package to this driver.

use windlass_driver::{Binding, Package};
use windlass_model::Action;

/// The kind of this driver, as in descriptors.
pub const KIND: &str = "script";

/// Returns the actions that the resource declares for this driver, transitions first.
pub(crate) fn actions(package: &Package) -> impl Iterator<Item = (Action, &Binding)> {
    let actions = package.bindings().actions();
    actions.filter_map(move |action| binding(package, &action).map(|found| (action, found)))
}

/// Returns the first binding of this driver for an action. The default drivers serve only actions that name no
/// driver.
pub(crate) fn binding<'p>(package: &'p Package, action: &Action) -> Option<&'p Binding> {
    package.bindings().of_driver(KIND, action)
}
