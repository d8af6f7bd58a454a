//! The outputs that are known before the plan is executed.

use windlass_model::resolve::{Lookup, Output};
use windlass_model::{ElementName, InstanceId, PropertyName};
use windlass_secret::{SecretRef, Sensitive};

use super::parts::Parts;

/// Looks up the outputs whose values are already known when the plan is made.
///
/// A part may be below Installed at some time during the plan. The outputs of such a part count as not published yet
/// ([`Output::NotYet`]), unless the options leave the part untouched. For the outputs of all other parts, the result
/// is the output from `lookup`.
pub(crate) struct Later<'a, 'p> {
    pub(crate) lookup: &'a dyn Lookup,
    pub(crate) parts: &'p Parts<'a>,
}

impl Lookup for Later<'_, '_> {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        match self.parts.get(element) {
            Some(part) if part.publishes_anew() => Output::NotYet,
            _ => self.lookup.output(element, property),
        }
    }

    fn output_at(&self, place: usize, element: &ElementName, property: &PropertyName) -> Output {
        match self.parts.at(place) {
            Some(part) if part.publishes_anew() => Output::NotYet,
            Some(_) => self.lookup.output_at(place, element, property),
            // The element is no resource of the desired version, but may be one of the installed version.
            None => self.output(element, property),
        }
    }

    fn instance_id(&self, element: &ElementName) -> Option<InstanceId> {
        self.lookup.instance_id(element)
    }

    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>> {
        self.lookup.secret(secret)
    }
}
