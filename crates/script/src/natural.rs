//! The rules for natural ids: the ids that scripts choose for instances.

use windlass_source::Diagnostic;

use crate::codes;

/// Tells whether an id that a script has chosen for an instance is valid. Messages and lists show the id in a line, so
/// the id must not be empty, and must not contain control characters such as line breaks.
pub(crate) fn is_valid(natural: &str) -> bool {
    !natural.is_empty() && !natural.contains(char::is_control)
}

/// Returns the problem of an id that a script has chosen; `None` if the id is [valid](is_valid).
pub(crate) fn problem(natural: &str) -> Option<Diagnostic> {
    let what = if natural.is_empty() { "is empty" } else { "contains a control character" };
    let message = format!("the id {natural:?} of the instance {what}");
    let help = "print the id that the instance has outside of windlass, such as `i-123`";
    (!is_valid(natural)).then(|| Diagnostic::error(codes::NATURAL_ID, message).help(help))
}
