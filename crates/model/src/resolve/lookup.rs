//! The trait [`Lookup`], through which a resolver reads outputs, instance ids and secrets.

use windlass_secret::{SecretRef, Sensitive};

use super::answer::Resolved;
use crate::id::InstanceId;
use crate::name::{ElementName, PropertyName};

/// The known outputs, instance ids and secrets of the elements.
pub trait Lookup {
    /// Returns the output that the driver of an element has published for a property.
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output;

    /// Returns the same as [`output`](Self::output). An implementation that stores its data by position can
    /// use `place`, the element's position in the topology.
    fn output_at(&self, place: usize, element: &ElementName, property: &PropertyName) -> Output {
        let _ = place;
        self.output(element, property)
    }

    /// Returns the instance id of the element; none if no id is assigned yet.
    fn instance_id(&self, element: &ElementName) -> Option<InstanceId>;

    /// Returns the text of a secret; none if the text is not available. The resolver then uses `***`.
    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>>;
}

/// The output of a driver for one property.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// The value that the driver has published. If the store keeps this value encrypted, [`Resolved::sensitive`] is
    /// true.
    Published(Resolved),
    /// The driver has published no value yet, but may publish one later.
    NotYet,
    /// The driver has published no value, and is not expected to publish one later. This is the
    /// case, for example, if the element is already Installed, Inactive or Active.
    Nothing,
}

/// A [`Lookup`] that knows no output, id or secret. A resolver with this lookup can't compute values that read outputs
/// or ids. The resolver uses `***` for each secret.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingYet;

impl Lookup for NothingYet {
    fn output(&self, _: &ElementName, _: &PropertyName) -> Output {
        Output::NotYet
    }

    fn instance_id(&self, _: &ElementName) -> Option<InstanceId> {
        None
    }

    fn secret(&self, _: &SecretRef) -> Option<Sensitive<String>> {
        None
    }
}
