//! Driver properties that a resource descriptor sets, but the driver does not support.

use windlass_source::{Diagnostic, listed, suggest_within};

use crate::codes;
use crate::contract::Driver;

/// Maximum edit distance between a misspelled property and the correct one.
const EDITS: usize = 2;

/// Returns the diagnostic for a driver property that the driver does not support; `None` if the driver
/// supports it. The caller adds the place.
///
/// A misspelled property is an error, because its value would be ignored: a script with a misspelled
/// `timeout` would run with the default timeout. Any other unknown property is ignored, with a warning.
///
/// ```
/// use windlass_driver::{noop::Noop, properties::unknown};
///
/// assert_eq!(unknown(&Noop, "timeout"), None);
/// let problem = unknown(&Noop, "timout").expect("it is misspelled");
/// assert_eq!(problem.message, "the driver `noop` has no property `timout`");
/// assert_eq!(problem.help.as_deref(), Some("did you mean `timeout`?"));
/// ```
pub fn unknown(driver: &dyn Driver, name: &str) -> Option<Diagnostic> {
    let known = driver.properties();
    let names = || known.iter().map(|property| property.key);
    if names().any(|known| known == name) {
        return None;
    }
    let message = format!("the driver `{}` has no property `{name}`", driver.kind());
    Some(match suggest_within(name, names(), EDITS) {
        Some(near) => {
            Diagnostic::error(codes::UNKNOWN_PROPERTY, message).help(format!("did you mean `{near}`?"))
        }
        None => Diagnostic::warning(codes::UNKNOWN_PROPERTY, message)
            .help(format!("it is ignored; the properties are {}", listed(names()))),
    })
}
