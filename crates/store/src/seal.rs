//! Encryption of secrets at rest.

use std::sync::Arc;

use windlass_model::id::Entropy;
use windlass_model::record::AssemblyRecord;
use windlass_secret::{Nonce, Sealed, SealingKey, SecretRef, Sensitive};

use crate::error::StoreError;
use crate::key::{KeyError, KeySource};

/// Encrypts (*seals*) and decrypts (*opens*) the secrets of a store.
pub(crate) struct Seal {
    /// The key of the store, or the reason why there is none.
    key: Result<SealingKey, KeyError>,
    entropy: Arc<dyn Entropy>,
}

impl Seal {
    /// Obtains the key of a new store. A new store can't be created without a key.
    pub(crate) fn of_new(key: &KeySource, entropy: &Arc<dyn Entropy>) -> Result<Self, KeyError> {
        Ok(Self { key: Ok(key.obtain(true, &**entropy)?), entropy: entropy.clone() })
    }

    /// Obtains the key of an existing store. If the key can't be obtained, the result is a `Seal` without a key. The
    /// store can then read everything except the secrets.
    pub(crate) fn of_existing(key: &KeySource, entropy: &Arc<dyn Entropy>) -> Self {
        Self { key: key.obtain(false, &**entropy), entropy: entropy.clone() }
    }

    /// Returns an error if secrets can't be sealed or opened.
    pub(crate) fn problem(&self) -> Result<(), KeyError> {
        self.key.as_ref().map(drop).map_err(Clone::clone)
    }

    /// Encrypts a value that has the name `secret`. The result can be opened only with the same name. Each call uses a
    /// new nonce, so two calls with the same value return different bytes.
    pub(crate) fn seal(&self, secret: &SecretRef, value: &Sensitive<Vec<u8>>) -> Result<Vec<u8>, StoreError> {
        let key = self.key(secret)?;
        let Ok(nonce) = Nonce::generate(|bytes| {
            self.entropy.fill(bytes);
            Ok::<_, std::convert::Infallible>(())
        });
        Ok(key.seal(secret, value.expose(), nonce).as_bytes().to_vec())
    }

    /// Decrypts a value. `secret` is the name with which the value was sealed.
    pub(crate) fn open(&self, secret: &SecretRef, sealed: &[u8]) -> Result<Sensitive<Vec<u8>>, StoreError> {
        let key = self.key(secret)?;
        let opened = Sealed::from_bytes(sealed.to_vec()).and_then(|sealed| key.open(secret, &sealed));
        opened.map_err(|source| KeyError::Unopened { secret: secret.clone(), source }.into())
    }

    /// Decrypts a secret of an assembly. If the store has no key, the error names a property whose value contains
    /// the secret, such as `` `password` of `shop__db` ``. If no property contains the secret, the error names the
    /// id of the secret.
    pub(crate) fn open_of(
        &self,
        assembly: &AssemblyRecord,
        secret: &SecretRef,
        sealed: &[u8],
    ) -> Result<Sensitive<Vec<u8>>, StoreError> {
        self.open(secret, sealed).map_err(|error| match error {
            StoreError::Key(KeyError::Needed { value, problem }) => {
                let value = assembly
                    .topology
                    .property_of_secret(secret)
                    .map_or(value, |(element, property)| format!("`{property}` of `{element}`"));
                KeyError::Needed { value, problem }.into()
            }
            other => other,
        })
    }

    /// Seals a fixed value, which is then kept in the store. Each program that opens the store decrypts this value
    /// to check its own key.
    pub(crate) fn check_value(&self) -> Result<Vec<u8>, StoreError> {
        self.seal(&check_name(), &Sensitive::new(Vec::new()))
    }

    /// Discards the key if the value `check` was not sealed with this key. `check` is a stored result of
    /// [`check_value`](Self::check_value). After a key is discarded, [`problem`](Self::problem) returns the error
    /// that `wrong` creates.
    pub(crate) fn verify(&mut self, check: &[u8], wrong: impl FnOnce() -> KeyError) {
        if self.key.is_ok() && self.open(&check_name(), check).is_err() {
            self.key = Err(wrong());
        }
    }

    fn key(&self, secret: &SecretRef) -> Result<&SealingKey, KeyError> {
        self.key.as_ref().map_err(|problem| KeyError::Needed {
            value: format!("`{}`", secret.id()),
            problem: Box::new(problem.clone()),
        })
    }
}

fn check_name() -> SecretRef {
    "windlass/key-check".parse().expect("the name is fixed and has no strange character")
}
