//! The rules for natural ids: the ids that scripts choose for instances.

use windlass_model::instance_report::natural_id_problem;
use windlass_source::Diagnostic;

use crate::codes;

/// Tells whether an id that a script has chosen for an instance is valid.
pub(crate) fn is_valid(natural: &str) -> bool {
    natural_id_problem(natural).is_none()
}

/// Returns the problem of an id that a script has chosen; `None` if the id is [valid](is_valid).
pub(crate) fn problem(natural: &str) -> Option<Diagnostic> {
    let what = natural_id_problem(natural)?;
    let message = format!("the id {natural:?} of the instance {what}");
    let help = "print the id that the instance has outside of windlass, such as `i-123`";
    Some(Diagnostic::error(codes::NATURAL_ID, message).help(help))
}
