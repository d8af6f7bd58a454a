//! Encryption of secrets at rest.

use std::sync::Arc;

use windlass_model::id::Entropy;
use windlass_secret::{Nonce, Sealed, SealingKey, SecretRef, Sensitive};

use crate::error::StoreError;
use crate::key::KeyError;

/// Seals and opens secrets.
pub(crate) struct Seal {
    key: SealingKey,
    entropy: Arc<dyn Entropy>,
}

impl Seal {
    pub(crate) fn new(key: SealingKey, entropy: Arc<dyn Entropy>) -> Self {
        Self { key, entropy }
    }

    /// Seals a value under its name. Each call uses a new nonce, so the bytes differ each time.
    pub(crate) fn seal(&self, secret: &SecretRef, value: &Sensitive<Vec<u8>>) -> Vec<u8> {
        let Ok(nonce) = Nonce::generate(|bytes| {
            self.entropy.fill(bytes);
            Ok::<_, std::convert::Infallible>(())
        });
        self.key.seal(secret, value.expose(), nonce).as_bytes().to_vec()
    }

    /// Opens a value that was sealed under the same name.
    pub(crate) fn open(&self, secret: &SecretRef, sealed: &[u8]) -> Result<Sensitive<Vec<u8>>, StoreError> {
        let opened = Sealed::from_bytes(sealed.to_vec()).and_then(|sealed| self.key.open(secret, &sealed));
        opened.map_err(|source| KeyError::Unopened { secret: secret.clone(), source }.into())
    }

    /// Seals a known value, so that a later open can verify the key.
    pub(crate) fn check_value(&self) -> Vec<u8> {
        self.seal(&check_name(), &Sensitive::new(Vec::new()))
    }

    /// Tells whether `check` was sealed with this key.
    pub(crate) fn fits(&self, check: &[u8]) -> bool {
        self.open(&check_name(), check).is_ok()
    }
}

fn check_name() -> SecretRef {
    "windlass/key-check".parse().expect("the name is fixed and has no strange character")
}
