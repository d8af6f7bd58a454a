//! Values that must not leak: masked, sealed, and cut out of streams.
//!
//! A secret goes three ways, and each has its type:
//!
//! - **In memory** it is a [`Sensitive`]: shown as `***`, never serialised, wiped when dropped. Only
//!   [`expose`](Sensitive::expose) gives it out, which is easy to search for.
//! - **In records** it is not at all. They hold a [`SecretRef`], a name; the value lies apart as [`Sealed`]
//!   bytes, which a [`SealingKey`] opens under that name only.
//! - **In what programs print** it is cut out by a [`Redactor`], whichever way it was escaped or encoded and
//!   wherever the stream was cut into chunks.
//!
//! This crate reads no file, draws no random numbers and prints nothing.
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
mod redact;
mod reference;
mod seal;
mod sensitive;
mod spelling;

pub use redact::{RedactedStream, Redactor};
pub use reference::{SecretRef, SecretRefError};
pub use seal::{Nonce, SealError, Sealed, SealingKey, SealingKeyError};
pub use sensitive::{Sensitive, SensitiveString};

/// What is shown in place of a secret.
pub const MASK: &str = "***";
