//! The secrets of an assembly in plain text.

use std::collections::BTreeMap;

use windlass_model::AssemblyName;
use windlass_model::record::InstanceRecord;
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Change, Snapshot};

/// The texts of the secrets of an assembly. The map omits a secret that can't be opened, or whose value is no text.
#[derive(Default)]
pub(crate) struct Secrets(BTreeMap<SecretRef, Sensitive<String>>);

impl Secrets {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let texts = snapshot.secrets.iter().filter_map(|(secret, value)| {
            let text = String::from_utf8(value.expose().clone()).ok()?;
            Some((secret.clone(), Sensitive::new(text)))
        });
        Self(texts.collect())
    }

    /// Returns the text of a secret as a sensitive value. Returns `None` if the secret is not text or can't be
    /// opened.
    pub(crate) fn get(&self, secret: &SecretRef) -> Option<&Sensitive<String>> {
        self.0.get(secret)
    }

    /// Returns the text of a secret. Returns `None` if the secret is not text or can't be opened.
    pub(crate) fn text(&self, secret: &SecretRef) -> Option<&str> {
        self.0.get(secret).map(|value| value.expose().as_str())
    }

    pub(crate) fn all_texts(&self) -> Vec<String> {
        self.0.values().map(|secret| secret.expose().clone()).collect()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &SecretRef> {
        self.0.keys()
    }

    /// Returns the natural id of an instance. If the store keeps the id encrypted (sealed), returns the plain text.
    pub(crate) fn natural(&self, instance: &InstanceRecord) -> Option<String> {
        let sealed = || self.text(instance.sealed_natural.as_ref()?).map(str::to_owned);
        instance.natural.clone().or_else(sealed)
    }

    /// Adds secrets in memory only. The store has them already, or the caller stores them.
    pub(crate) fn extend(&mut self, secrets: &BTreeMap<SecretRef, Sensitive<String>>) {
        self.0.extend(secrets.iter().map(|(secret, value)| (secret.clone(), value.clone())));
    }

    /// Records a secret of an assembly, in memory and in `batch`. The store keeps the text of the secret encrypted
    /// (*sealed*).
    pub(crate) fn seal(
        &mut self,
        secret: SecretRef,
        assembly: &AssemblyName,
        text: String,
        batch: &mut Batch,
    ) {
        let value = Sensitive::new(text.clone().into_bytes());
        batch.push(Change::PutSecret { secret: secret.clone(), assembly: assembly.clone(), value });
        self.0.insert(secret, Sensitive::new(text));
    }

    /// Removes a secret in memory and in the store.
    pub(crate) fn forget(&mut self, secret: SecretRef, batch: &mut Batch) {
        self.0.remove(&secret);
        batch.push(Change::DropSecret(secret));
    }
}
