//! Bindings for the driver `script` in the descriptor of a package. A binding is an entry of a descriptor. The
//! entry chooses the driver for an action.

use windlass_driver::{Binding, Package};
use windlass_model::Action;

/// The name by which descriptors choose the driver `script`.
pub const KIND: &str = "script";

/// Returns the actions that the resource declares for the driver `script`, each with its binding. Transitions
/// come first.
pub(crate) fn actions(package: &Package) -> impl Iterator<Item = (Action, &Binding)> {
    let actions = package.bindings().actions();
    actions.filter_map(move |action| binding(package, &action).map(|found| (action, found)))
}

/// Returns the first binding of the driver `script` for an action. A binding in `default-driver` counts only if the
/// descriptor names no driver for this action.
pub(crate) fn binding<'p>(package: &'p Package, action: &Action) -> Option<&'p Binding> {
    package.bindings().of_driver(KIND, action)
}
