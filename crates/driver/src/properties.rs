//! Driver properties that a resource descriptor sets, but the driver does not support.

use windlass_source::{Diagnostic, listed, suggest_within};

use crate::codes;
use crate::contract::Driver;

/// Maximum edit distance between a misspelled property and the correct one.
const EDITS: usize = 2;

/// Returns the diagnostic for a driver property that the driver does not support; `None` if the driver supports the
/// property. The diagnostic has no place: the caller adds the place of the property in the descriptor.
///
/// If the name is similar to a supported property, the diagnostic is an error, because the name is probably
/// misspelled. Without the error, a script with the property `timout` would run with the default timeout. For any
/// other unknown property, the diagnostic is a warning, and windlass ignores the property.
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
