//! Driver properties that a resource descriptor sets, but the driver does not support.

use windlass_model::name::DriverKind;
use windlass_source::{Diagnostic, listed, suggest_within};

use crate::codes;
use crate::registry::Registry;

/// Maximum edit distance between a misspelled property and the correct one.
const EDITS: usize = 2;

/// Returns the diagnostic for a driver property that the driver does not support; `None` if the driver supports the
/// property. The diagnostic has no place: the caller adds the place of the property in the descriptor.
///
/// If the name is similar to a supported property, the diagnostic is an error, because the name is probably
/// misspelled. Without the error, a script with the property `timout` would run with the default timeout. For any
/// other unknown property, the diagnostic is a warning, and windlass ignores the property.
///
/// If the driver panics while it lists its properties, the diagnostic is an error about this panic.
///
/// ```
/// use windlass_driver::noop::Noop;
/// use windlass_driver::properties::unknown;
/// use windlass_driver::{Driver, Registry};
///
/// let (drivers, kind) = (Registry::new().with(Noop), Noop.kind());
/// assert_eq!(unknown(&drivers, &kind, "timeout"), None);
/// let problem = unknown(&drivers, &kind, "timout").expect("it is misspelled");
/// assert_eq!(problem.message, "the driver `noop` has no property `timout`");
/// assert_eq!(problem.help.as_deref(), Some("did you mean `timeout`?"));
/// ```
pub fn unknown(drivers: &Registry, kind: &DriverKind, name: &str) -> Option<Diagnostic> {
    let known = match drivers.properties(kind) {
        Ok(known) => known,
        Err(message) => return Some(Diagnostic::error(codes::PANIC, message)),
    };
    let names = || known.iter().map(|property| property.key);
    if names().any(|known| known == name) {
        return None;
    }
    let message = format!("the driver `{kind}` has no property `{name}`");
    Some(match suggest_within(name, names(), EDITS) {
        Some(near) => {
            Diagnostic::error(codes::UNKNOWN_PROPERTY, message).help(format!("did you mean `{near}`?"))
        }
        None => Diagnostic::warning(codes::UNKNOWN_PROPERTY, message)
            .help(format!("it is ignored; the properties are {}", listed(names()))),
    })
}
