//! The instances of exported applications. Such an instance still exists, and the discovery script of its factory still
//! finds it. A discovery must not adopt it, because another store may manage it.
//!
//! The batch that exports an application also stores a document, whose key is the id of the export. So the document
//! stays if the name of the application is used again. The batch that imports the application, or adopts its instance
//! again, drops the document.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentKind, DocumentScope, Expected};
use windlass_model::rename::Renaming;
use windlass_model::{AssemblyName, TransferId};
use windlass_store::{Store, StoreError};

/// The version of the format of [`Exported`] in the store.
const VERSION: u32 = 1;

/// The number of documents that are read at once.
const PAGE: usize = 500;

/// The content of the document which records that an application was exported.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Exported {
    application: AssemblyName,
    owner: AssemblyName,
    natural: String,
    file: String,
}

/// The instance of an exported application.
#[derive(Debug, Clone)]
pub struct ExportedInstance {
    /// The name of the application when it was exported.
    pub application: AssemblyName,
    /// The factory of the application, under its present name.
    pub owner: AssemblyName,
    /// The id of the instance outside of windlass.
    pub natural_id: String,
    /// The file of the export.
    pub file: String,
    /// The document which records the export.
    pub(super) key: DocumentKey,
}

/// Returns the document which records that the application `application` of the factory `owner` was exported to `file`.
pub(super) fn exported(
    transfer: &TransferId,
    application: &AssemblyName,
    (owner, natural): (&AssemblyName, &str),
    file: &str,
) -> DocumentDraft {
    let key = DocumentKey {
        scope: DocumentScope::Project,
        kind: kind(),
        name: transfer.as_str().parse().expect("the id of an export is a valid name of a document"),
    };
    let content = Exported {
        application: application.clone(),
        owner: owner.clone(),
        natural: natural.to_owned(),
        file: file.to_owned(),
    };
    draft(key, Expected::Any, &content)
}

/// Reads the instances of all exported applications. An application is not among them if it was imported again, or if its
/// instance was adopted again.
///
/// # Errors
/// An error of the store.
pub async fn exported_instances(store: &dyn Store) -> Result<Vec<ExportedInstance>, StoreError> {
    let mut found = Vec::new();
    for_each(store, |key, _, content| {
        let Exported { application, owner, natural, file } = content;
        found.push(ExportedInstance { application, owner, natural_id: natural, file, key });
    })
    .await?;
    Ok(found)
}

/// Returns the keys of the documents which record that the instance `natural` of the factory `owner` was exported.
pub(super) async fn keys_of(
    store: &dyn Store,
    (owner, natural): (&AssemblyName, &str),
) -> Result<Vec<DocumentKey>, StoreError> {
    let found = exported_instances(store).await?.into_iter();
    let same = found.filter(|instance| instance.owner == *owner && instance.natural_id == natural);
    Ok(same.map(|instance| instance.key).collect())
}

/// Returns the changed documents after the renaming of a factory.
pub(super) async fn renamed(
    store: &dyn Store,
    renaming: &Renaming,
) -> Result<Vec<DocumentDraft>, StoreError> {
    let mut drafts = Vec::new();
    for_each(store, |key, expected, content| {
        if content.owner == renaming.from {
            drafts.push(draft(key, expected, &Exported { owner: renaming.to.clone(), ..content }));
        }
    })
    .await?;
    Ok(drafts)
}

/// Calls `each` with the key, the revision and the content of each document. Ignores documents that a newer version of
/// windlass has stored, and that this program can't read.
async fn for_each(
    store: &dyn Store,
    mut each: impl FnMut(DocumentKey, Expected, Exported),
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.documents(&DocumentScope::Project, &kind(), after.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|last| last.key.name.clone());
        for document in page.into_iter().filter(|document| document.version <= VERSION) {
            if let Ok(content) = serde_json::from_value(document.body) {
                each(document.key, Expected::At(document.revision), content);
            }
        }
        if is_last {
            return Ok(());
        }
    }
}

fn draft(key: DocumentKey, expected: Expected, content: &Exported) -> DocumentDraft {
    let body = serde_json::to_value(content).expect("it is plain data");
    DocumentDraft { key, expected, version: VERSION, body, secrets: None, packages: BTreeSet::new() }
}

fn kind() -> DocumentKind {
    "exported".parse().expect("it is a valid kind")
}
