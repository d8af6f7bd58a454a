//! Values that must not leak: masked in memory, sealed in storage, and redacted from streams.
//!
//! A secret occurs in three places, with a type for each:
//!
//! - **In memory** it is a [`Sensitive`]: shown as `***`, never serialised, wiped when dropped. Only
//!   [`expose`](Sensitive::expose) returns the value, so a search for this name finds every access.
//! - **In records** it is only named, by a [`SecretRef`]. The value is stored separately as [`Sealed`] bytes,
//!   which a [`SealingKey`] opens under that name only (feature `seal`, on by default).
//! - **In the output of programs** a [`Redactor`] masks the secret. The redactor also finds a secret in common
//!   escapes and encodings, and a secret that is divided between chunks of the output.
//!
//! This crate does no I/O and draws no random numbers.
//!
//! ```
//! use windlass_secret::{Redactor, SecretRef, Sensitive};
//!
//! let password = Sensitive::from("s3cr3t-pass");
//! let reference: SecretRef = "shop/db.password".parse()?;
//! let redactor = Redactor::new([password.expose()]);
//!
//! let printed = format!("connecting with s3cr3t-pass ({password})");
//! assert_eq!(redactor.mask_str(&printed), "connecting with *** (***)");
//! assert_eq!(serde_json::to_string(&reference.to_value())?, r#"{"$secret":"shop/db.password"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod automaton;
mod naming;
mod redact;
mod reference;
#[cfg(feature = "seal")]
mod seal;
mod sensitive;
mod spelling;

pub use naming::names_a_secret;
pub use redact::{RedactedStream, Redactor};
pub use reference::{SecretRef, SecretRefError};
#[cfg(feature = "seal")]
pub use seal::{Nonce, SealError, Sealed, SealingKey, SealingKeyError};
pub use sensitive::{Sensitive, SensitiveString};

/// The text that replaces a secret.
pub const MASK: &str = "***";

/// The README's examples, as doc tests.
#[cfg(all(doctest, feature = "seal"))]
#[doc = include_str!("../README.md")]
mod readme {}
