//! A value that is masked when printed.

use std::fmt;

use secrecy::{ExposeSecret, SecretBox};
use zeroize::Zeroize;

/// A value that must not leak. It is shown as `***`, and is wiped from memory when it is dropped. Only the method
/// [`expose`](Self::expose) returns the value.
///
/// This example shows its behaviour:
///
/// ```
/// use windlass_secret::Sensitive;
///
/// let password = Sensitive::from("hunter2".to_owned());
/// assert_eq!(format!("{password} {password:?} {:?}", Some(&password)), "*** *** Some(***)");
/// assert_eq!(password.expose(), "hunter2");
/// ```
///
/// A `Sensitive` can't be serialised, so that no record, log or report contains it by accident:
///
/// ```compile_fail
/// let password = windlass_secret::Sensitive::from("hunter2".to_owned());
/// serde_json::to_string(&password);
/// ```
///
/// A `Sensitive` can't be compared either, since a comparison may reveal how much of a guess is right:
///
/// ```compile_fail
/// let password = windlass_secret::Sensitive::from("hunter2".to_owned());
/// assert!(password == windlass_secret::Sensitive::from("hunter2".to_owned()));
/// ```
pub struct Sensitive<T: Zeroize>(SecretBox<T>);

/// A sensitive text.
pub type SensitiveString = Sensitive<String>;

impl<T: Zeroize> Sensitive<T> {
    /// Wraps a value as sensitive.
    pub fn new(value: T) -> Self {
        Self(SecretBox::new(Box::new(value)))
    }

    /// Returns the value. An audit of secrets reviews each call of this function.
    pub fn expose(&self) -> &T {
        self.0.expose_secret()
    }
}

impl<T: Zeroize> From<T> for Sensitive<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl From<&str> for Sensitive<String> {
    fn from(value: &str) -> Self {
        Self::new(value.to_owned())
    }
}

impl<T: Zeroize + Clone> Clone for Sensitive<T> {
    fn clone(&self) -> Self {
        Self::new(self.expose().clone())
    }
}

impl<T: Zeroize> fmt::Debug for Sensitive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(crate::MASK)
    }
}

impl<T: Zeroize> fmt::Display for Sensitive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(crate::MASK)
    }
}
