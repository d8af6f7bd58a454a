//! SHA-256 digests, which identify sequences of bytes.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
#[cfg(feature = "image")]
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, spelled `sha256:` and 64 lower-case hexadecimal digits.
///
/// ```
/// use windlass_executor::Digest;
///
/// let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// let digest: Digest = text.parse()?;
/// assert_eq!((digest.to_string().as_str(), digest.short()), (text, "e3b0c44298fc"));
/// # Ok::<(), windlass_executor::DigestError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// An error for a malformed digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a digest: expected `sha256:` and 64 lower-case hexadecimal digits")]
pub struct DigestError {
    /// The text as given.
    pub text: String,
}

impl Digest {
    /// Computes the digest of these bytes.
    #[cfg(feature = "image")]
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(Sha256::new_with_prefix(bytes))
    }

    #[cfg(feature = "image")]
    pub(crate) fn from_hash(hash: Sha256) -> Self {
        Self(hex::encode(hash.finalize()))
    }

    /// Returns the hexadecimal digits without `sha256:`.
    pub fn hex(&self) -> &str {
        &self.0
    }

    /// Returns the first twelve hexadecimal digits, the form for people.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match text.strip_prefix("sha256:") {
            Some(hex) if hex.len() == 64 && hex.bytes().all(is_digit) => Ok(Self(hex.to_owned())),
            _ => Err(DigestError { text: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_spelling_is_taken() {
        let hex = "a".repeat(64);
        assert_eq!(format!("sha256:{hex}").parse::<Digest>().unwrap().short(), "aaaaaaaaaaaa");
        for bad in [
            hex.clone(),
            format!("sha256:{}", hex.to_uppercase()),
            format!("sha512:{hex}"),
            format!("sha256:{hex}a"),
            "sha256:../../../../../../../../../../../../../../../../../../../../aaaaaa".to_owned(),
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
