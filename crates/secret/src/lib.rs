//! Values that must not leak: masked, sealed, and cut out of streams.

mod reference;
mod sensitive;

pub use reference::{SecretRef, SecretRefError};
pub use sensitive::{Sensitive, SensitiveString};

/// What is shown in place of a secret.
pub const MASK: &str = "***";
