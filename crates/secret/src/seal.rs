//! Encrypted values for storage, each bound to its name.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::{SecretRef, Sensitive};

const KEY_LENGTH: usize = 32;
const NONCE_LENGTH: usize = 24;
const TAG_LENGTH: usize = 16;
/// Length of a sealed empty value in bytes.
const SHORTEST: usize = 1 + NONCE_LENGTH + TAG_LENGTH;
const VERSION: u8 = 1;
/// Prefix of the authenticated data. The id follows it, so that a value can't be opened under another id.
const DOMAIN: &[u8] = b"windlass secret v1\0";

/// The key that seals secrets: 32 bytes. A key file contains the key as one line of 64 hexadecimal digits, or
/// of base64.
///
/// The key is wiped from memory when dropped, and shown as `***`. The caller reads and writes the key file. The
/// caller also supplies the random bytes for new keys and nonces:
///
/// ```
/// use windlass_secret::{Nonce, SealingKey, SecretRef};
///
/// // In a program: `SealingKey::generate(getrandom::fill)?`.
/// let key = SealingKey::generate(|bytes| Ok::<_, ()>(bytes.fill(7))).unwrap();
/// let same: SealingKey = key.to_line().expose().parse()?;
///
/// let id: SecretRef = "demo/db.password".parse()?;
/// let nonce = Nonce::generate(|bytes| Ok::<_, ()>(bytes.fill(9))).unwrap();
/// let sealed = key.seal(&id, b"hunter22", nonce);
/// assert_eq!(same.open(&id, &sealed)?.expose(), b"hunter22");
/// assert!(key.open(&"demo/other".parse()?, &sealed).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SealingKey(Zeroizing<[u8; KEY_LENGTH]>);

/// The reason why a text is no [`SealingKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SealingKeyError {
    /// The text is not exactly one line.
    #[error("a sealing key is one line, found {0}")]
    Lines(usize),
    /// The text is neither hexadecimal nor base64, or has the wrong length.
    #[error("a sealing key is 64 hexadecimal digits, or 44 characters of base64 (32 bytes)")]
    Form,
}

/// The reason why a sealed value can't be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SealError {
    /// The value has fewer bytes than any sealed value.
    #[error("a sealed value has at least {SHORTEST} bytes, found {0}")]
    Truncated(usize),
    /// The value was written by a newer version of windlass, or is no sealed value.
    #[error("version {0} of sealed values is not known, only {VERSION} is")]
    Version(u8),
    /// The key or the id is wrong, or the bytes were changed; these cases are indistinguishable.
    #[error(
        "the value of `{0}` can't be opened: it was sealed with another key or for another id, or was changed"
    )]
    Rejected(SecretRef),
}

/// A number that is used once: 24 random bytes, generated for each value.
#[derive(Debug)]
pub struct Nonce([u8; NONCE_LENGTH]);

impl Nonce {
    /// Creates a nonce from random bytes.
    ///
    /// # Errors
    /// Returns the error of `fill`, the source of randomness.
    pub fn generate<E>(fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let mut bytes = [0; NONCE_LENGTH];
        fill(&mut bytes)?;
        Ok(Self(bytes))
    }
}

impl SealingKey {
    /// Creates a key from random bytes.
    ///
    /// # Errors
    /// Returns the error of `fill`, the source of randomness.
    pub fn generate<E>(fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let mut key = Self(Zeroizing::new([0; KEY_LENGTH]));
        fill(key.0.as_mut_slice())?;
        Ok(key)
    }

    /// Returns the content of a key file: hexadecimal digits and a line break.
    pub fn to_line(&self) -> Sensitive<String> {
        Sensitive::new(hex::encode(*self.0) + "\n")
    }

    /// Encrypts a value for an id. The value can be opened only under this id.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a nonce is used up: taken by value, it can't be used twice"
    )]
    #[expect(clippy::missing_panics_doc, reason = "the cipher refuses nothing below 256 GiB")]
    pub fn seal(&self, id: &SecretRef, value: &[u8], nonce: Nonce) -> Sealed {
        let payload = Payload { msg: value, aad: &associated(id) };
        let encrypted = self.cipher().encrypt(&XNonce::from(nonce.0), payload);
        let encrypted = encrypted.expect("a value that fits into memory is encrypted");
        let mut bytes = Vec::with_capacity(1 + NONCE_LENGTH + encrypted.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(&nonce.0);
        bytes.extend_from_slice(&encrypted);
        Sealed(bytes)
    }

    /// Decrypts a value that was sealed for this id.
    ///
    /// # Errors
    /// Returns [`SealError::Rejected`] if the key or the id is wrong, or if the value was changed.
    pub fn open(&self, id: &SecretRef, sealed: &Sealed) -> Result<Sensitive<Vec<u8>>, SealError> {
        let (nonce, encrypted) = sealed.parts().ok_or(SealError::Truncated(sealed.0.len()))?;
        let payload = Payload { msg: encrypted, aad: &associated(id) };
        let opened = self.cipher().decrypt(&XNonce::from(nonce), payload);
        opened.map(Sensitive::new).map_err(|_| SealError::Rejected(id.clone()))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.0).into())
    }
}

fn associated(id: &SecretRef) -> Vec<u8> {
    [DOMAIN, id.id().as_bytes()].concat()
}

/// Parses the content of a key file.
impl FromStr for SealingKey {
    type Err = SealingKeyError;

    fn from_str(text: &str) -> Result<Self, SealingKeyError> {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let &[line] = lines.as_slice() else { return Err(SealingKeyError::Lines(lines.len())) };
        let bytes = Zeroizing::new(hex::decode(line).or_else(|_| STANDARD.decode(line)).unwrap_or_default());
        let key = <[u8; KEY_LENGTH]>::try_from(bytes.as_slice()).map_err(|_| SealingKeyError::Form)?;
        Ok(Self(Zeroizing::new(key)))
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(***)")
    }
}

/// A sealed value: an encrypted value that can be opened only with its key and its id ([`SecretRef`]).
///
/// The bytes are the version (1) in one byte, a nonce of 24 bytes, the encrypted value, and a tag of 16 bytes.
/// The encryption is XChaCha20-Poly1305. The bytes do not contain the id. The tag proves that the value was
/// sealed for this id.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// Creates a sealed value from stored bytes.
    ///
    /// # Errors
    /// Returns an error if there are too few bytes, or if they have an unknown version.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, SealError> {
        match bytes.first() {
            Some(&version) if version != VERSION => Err(SealError::Version(version)),
            _ if bytes.len() < SHORTEST => Err(SealError::Truncated(bytes.len())),
            _ => Ok(Self(bytes)),
        }
    }

    /// Returns the bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn parts(&self) -> Option<([u8; NONCE_LENGTH], &[u8])> {
        let (nonce, encrypted) = self.0.get(1..)?.split_first_chunk()?;
        Some((*nonce, encrypted))
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}
