//! The errors and limits of resolving.

use thiserror::Error;

use crate::name::{ElementName, PropertyName};

/// The reason why a property or template can't have a value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// Properties read each other in a cycle.
    #[error("properties read each other in a circle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// The element is installed and has not published the property.
    #[error(
        "`{element}` is installed and has published no property `{property}`; correct its package if necessary, and \
         re-create it with `windlass up --replace {}`",
        .element.local()
    )]
    NeverPublished {
        /// The name of the element.
        element: ElementName,
        /// The name of the property.
        property: PropertyName,
    },
    /// The topology has no element with this name.
    #[error("there is no element `{0}`")]
    UnknownElement(ElementName),
    /// A text is longer than its limit, which is [`MAX_VALUE`] for the values of a topology.
    #[error("the value would have more than {}, with all that it reads", size(*.limit))]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The resolver has collected more than [`MAX_AWAITED`] awaited outputs. Each value has a list of the outputs
    /// that it awaits, and the list of a value includes the lists of all values that it reads. Without this limit,
    /// the lists could fill the memory.
    #[error("the values wait for more than {MAX_AWAITED} outputs, with all that they read")]
    TooManyAwaited,
}

/// The maximum number of awaited outputs that one resolver counts. Each resolver keeps one count for all its values.
/// Each entry of a list or map increases the count by the number of outputs that the entry awaits. Each part of a text
/// such as `${a.ip}:${b.port}` increases the count in the same way. Example: if two entries of a list await the same
/// output, the list increases the count by 2.
pub const MAX_AWAITED: usize = 1 << 21;

/// The maximum size in bytes of a text whose references `${…}` have been replaced by their values.
pub const MAX_VALUE: usize = 4 << 20;

/// Formats a number of bytes that is a multiple of 1024.
fn size(bytes: usize) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mebibytes => format!("{mebibytes} MiB"),
    }
}
