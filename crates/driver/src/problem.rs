//! Problems that a driver finds in a package.

use std::fmt;

use windlass_model::Action;
use windlass_source::Diagnostic;

/// A problem that a driver finds in a package.
///
/// A driver knows the files of a package, but not the text of its resource descriptor. If a file is wrong, the
/// diagnostic contains the place in the file. If the descriptor is wrong, the diagnostic has no place, and the
/// field `declaration` names the wrong declaration. The caller finds the place of this declaration.
///
/// ```
/// use windlass_driver::{Declaration, PackageProblem, codes};
/// use windlass_model::{Action, Transition};
/// use windlass_source::Diagnostic;
///
/// let problem = Diagnostic::error(codes::NOOP_VALUE, "`timeout` is a time such as `30s`, not `soon`");
/// let install = Action::Transition(Transition::Install);
/// let problem = PackageProblem::from(problem).in_property(Some(install), "timeout");
/// assert!(matches!(problem.declaration, Some(Declaration::Property { .. })));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageProblem {
    /// The problem.
    pub diagnostic: Diagnostic,
    /// The wrong declaration in the descriptor; `None` if the problem concerns a file, or the package as a
    /// whole.
    pub declaration: Option<Declaration>,
}

/// A declaration of a resource descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declaration {
    /// A transition, an operation or a command.
    Action(Action),
    /// The section `queries` of the descriptor. It names the drivers that search for existing instances.
    Queries,
    /// A property of the driver.
    Property {
        /// The action to which the driver is bound; `None` for a driver in the section `queries`.
        action: Option<Action>,
        /// The name of the property.
        key: String,
    },
}

impl PackageProblem {
    /// Sets the field [`declaration`](Self::declaration) to the action whose declaration is wrong.
    #[must_use]
    pub fn in_action(self, action: Action) -> Self {
        Self { declaration: Some(Declaration::Action(action)), ..self }
    }

    /// Sets the field [`declaration`](Self::declaration) to [`Declaration::Queries`]. The section `queries` of a
    /// descriptor names the drivers that search for existing instances.
    #[must_use]
    pub fn in_queries(self) -> Self {
        Self { declaration: Some(Declaration::Queries), ..self }
    }

    /// Sets the field [`declaration`](Self::declaration) to the driver property `key`. `action` is the action to which
    /// the driver is bound. `None` means a driver in the section `queries`: this driver searches for existing
    /// instances, and is bound to no action.
    #[must_use]
    pub fn in_property(self, action: Option<Action>, key: &str) -> Self {
        Self { declaration: Some(Declaration::Property { action, key: key.to_owned() }), ..self }
    }
}

impl fmt::Display for PackageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(f)
    }
}

impl From<Diagnostic> for PackageProblem {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostic, declaration: None }
    }
}
