//! Stores the last target of each reference whose target was removed. If the target of a reference was removed, the
//! reference is dangling. If the target never existed, the reference is pending. The records of existing instances
//! can't distinguish these two cases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;
use windlass_model::AssemblyName;
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentScope, Expected};
use windlass_model::rename::Renaming;
use windlass_store::{Batch, Store, StoreError};

use crate::applications::document_name;
use crate::error::Error;

/// The version of the stored document.
const VERSION: u32 = 1;

/// The names of removed applications to which instances of one factory have referred.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PastTargets {
    /// The last target of each reference. For the reference `{mapping: vms.vm-by-id, key: i-123}`, the outer key is
    /// `vms.vm-by-id`, and the inner key is `i-123`. The value is the application to which the reference referred.
    targets: BTreeMap<String, BTreeMap<String, AssemblyName>>,
}

impl PastTargets {
    /// Returns the application to which a reference referred last. `mapping` and `key` are the two parts of the
    /// reference, such as `vms.vm-by-id` and `i-123`. Returns `None` if no such application is stored.
    pub(super) fn get(&self, mapping: &str, key: &str) -> Option<&AssemblyName> {
        self.targets.get(mapping)?.get(key)
    }

    fn insert(&mut self, mapping: &str, key: &str, application: &AssemblyName) -> bool {
        let of_mapping = self.targets.entry(mapping.to_owned()).or_default();
        of_mapping.insert(key.to_owned(), application.clone()).as_ref() != Some(application)
    }
}

fn key_of(factory: &AssemblyName) -> DocumentKey {
    let kind = "past-reference".parse().expect("it is a valid kind");
    DocumentKey { scope: DocumentScope::Project, kind, name: document_name(factory) }
}

/// Reads the names of removed applications to which instances of `factory` have referred. Ignores a document that a
/// newer version of windlass has stored.
pub(super) async fn read(store: &dyn Store, factory: &AssemblyName) -> Result<PastTargets, Error> {
    let found = store.document(&key_of(factory)).await?.filter(|found| found.version <= VERSION);
    Ok(found.and_then(|found| serde_json::from_value(found.body).ok()).unwrap_or_default())
}

/// Records that a reference in an instance of `factory` has referred to `application`. The caller is about to remove
/// `application`. `mapping` and `key` are the two parts of the reference, such as `vms.vm-by-id` and `i-123`.
pub(super) async fn note(
    store: &dyn Store,
    factory: &AssemblyName,
    (mapping, key): (&str, &str),
    application: &AssemblyName,
) -> Result<(), Error> {
    loop {
        let found = store.document(&key_of(factory)).await?;
        // A newer version of windlass has stored this document. This program can't read the document, so it does
        // not overwrite it.
        if found.as_ref().is_some_and(|found| found.version > VERSION) {
            return Ok(());
        }
        let expected = found.as_ref().map_or(Expected::Absent, |found| Expected::At(found.revision));
        let body = found.and_then(|found| serde_json::from_value(found.body).ok());
        let mut past: PastTargets = body.unwrap_or_default();
        if !past.insert(mapping, key, application) {
            return Ok(());
        }
        let draft = DocumentDraft {
            key: key_of(factory),
            expected,
            version: VERSION,
            body: json!(past),
            secrets: None,
            packages: [].into(),
        };
        match store.put_document(draft, Vec::new()).await {
            // Another command has written at the same time, so this command tries again.
            Err(StoreError::DocumentChanged { .. }) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

/// Deletes the stored [`PastTargets`] of `factory`. The factory is removed afterwards.
pub(super) async fn forget(store: &dyn Store, factory: &AssemblyName) -> Result<(), Error> {
    Ok(store.drop_document(&key_of(factory), Expected::Any).await?)
}

/// Adds changes to `batch` that move the stored [`PastTargets`] of a factory from its old name to its new name.
///
/// Without this move, the renamed factory would have no past targets, and its dangling references would count as
/// pending. A new factory with the old name would get the past targets of the renamed factory.
pub(crate) async fn move_past_targets(
    store: &dyn Store,
    renaming: &Renaming,
    batch: Batch,
) -> Result<Batch, Error> {
    let Some(before) = store.document(&key_of(&renaming.from)).await? else { return Ok(batch) };
    // The removed applications keep their names, so the body stays as it is, even in a newer format.
    let after = DocumentDraft {
        key: key_of(&renaming.to),
        expected: Expected::Any,
        version: before.version,
        body: before.body,
        secrets: None,
        packages: before.packages,
    };
    Ok(batch.drop_document(before.key, Expected::At(before.revision)).put_document(after))
}
