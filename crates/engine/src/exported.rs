//! The instances of exported applications. Such an instance still exists, and the discovery script of its factory still
//! finds it. A discovery must not adopt it, because another store may manage it.
//!
//! The batch that exports an application also stores a document, whose key is the id of the export. So the document
//! stays if the name of the application is used again. If an application of this store gets the instance again, windlass
//! drops the document. An import, an adoption or a launch can give an application the instance.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentKind, DocumentScope, Expected};
use windlass_model::record::AssemblyRecord;
use windlass_model::rename::Renaming;
use windlass_model::{AssemblyName, Timestamp, TransferId};
use windlass_store::{Store, StoreError};

/// The version of the format of [`Exported`] in the store.
const VERSION: u32 = 1;

/// The number of documents that are read at once.
const PAGE: usize = 500;

/// The content of the document which records that an application was exported.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Exported {
    application: AssemblyName,
    /// The factory of the application. A renaming of the factory changes this name.
    owner: AssemblyName,
    natural: String,
    file: String,
    /// The application from which the factory was launched; `None` in a document of an earlier build of windlass, or if
    /// the factory did not exist any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The time at which the factory was created. This time distinguishes the factory from a later factory of the same
    /// name. `None` in the same cases as for `title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<Timestamp>,
}

/// The instance of an exported application.
#[derive(Debug, Clone)]
pub struct ExportedInstance {
    /// The name of the application when it was exported.
    pub application: AssemblyName,
    /// The factory of the application, under its present name. If the factory no longer exists, this is its last name.
    pub owner: AssemblyName,
    /// Whether the factory still exists in this store.
    pub is_owner_here: bool,
    /// The id of the instance outside of windlass.
    pub natural_id: String,
    /// The file of the export.
    pub file: String,
    /// The application from which the factory was launched. `None` only if an earlier build of windlass made the export,
    /// and the factory no longer exists.
    title: Option<String>,
    /// The document which records the export.
    pub(crate) key: DocumentKey,
}

impl ExportedInstance {
    /// Tells whether the discovery script of `factory` may find the instance. This holds for each factory of the same
    /// manifest. The configuration of the factory does not matter: windlass can't know which values determine the
    /// instances that the script finds, and the values may have changed since the export.
    pub fn may_be_found_by(&self, factory: &AssemblyRecord) -> bool {
        let title = factory.application.as_ref().map(|from| &from.title);
        match &self.title {
            Some(own) => Some(own) == title,
            None => self.is_owned_by(factory) || !self.is_owner_here,
        }
    }

    /// Tells whether `factory` may take over the exported instance without a statement of the user. The result is
    /// `true` for the factory of the exported application. If that factory no longer exists, the result is `true` for
    /// each factory of the same manifest.
    pub fn belongs_to(&self, factory: &AssemblyRecord) -> bool {
        self.is_owned_by(factory) || !self.is_owner_here && self.may_be_found_by(factory)
    }

    fn is_owned_by(&self, factory: &AssemblyRecord) -> bool {
        self.is_owner_here && self.owner == factory.name
    }
}

/// Returns the document which records that the application `application` of the factory `owner` was exported to `file`.
pub(crate) async fn exported(
    store: &dyn Store,
    transfer: &TransferId,
    application: &AssemblyName,
    (owner, natural): (&AssemblyName, &str),
    file: &str,
) -> Result<DocumentDraft, StoreError> {
    let factory = store.assembly(owner).await?;
    let content = Exported {
        application: application.clone(),
        owner: owner.clone(),
        natural: natural.to_owned(),
        file: file.to_owned(),
        created: factory.as_ref().map(|factory| factory.created),
        title: factory.and_then(|factory| factory.application).map(|from| from.title),
    };
    Ok(draft(key(transfer), Expected::Any, &content))
}

/// Reads the instances of all exported applications. An instance is omitted if it belongs to an application of this
/// store again.
///
/// # Errors
/// An error of the store.
pub async fn exported_instances(store: &dyn Store) -> Result<Vec<ExportedInstance>, StoreError> {
    let mut found = Vec::new();
    for_each(store, |key, _, content| found.push((key, content))).await?;
    let mut owners = BTreeMap::new();
    for (_, content) in &found {
        if !owners.contains_key(&content.owner) {
            let owner = store.assembly(&content.owner).await?;
            owners.insert(content.owner.clone(), owner);
        }
    }
    let instance = |(key, content): (DocumentKey, Exported)| {
        let factory = owners[&content.owner].as_ref();
        let is_owner_here = is_same(&content, factory.map(|factory| factory.created));
        let Exported { application, owner, natural, file, title, .. } = content;
        let of_factory =
            || factory.filter(|_| is_owner_here)?.application.as_ref().map(|from| from.title.clone());
        let title = title.or_else(of_factory);
        ExportedInstance { application, owner, is_owner_here, natural_id: natural, file, title, key }
    };
    Ok(found.into_iter().map(instance).collect())
}

/// Tells whether the factory in `content` still exists. `created` is the time at which the present assembly of the same
/// name was created; `None` if no assembly has this name.
fn is_same(content: &Exported, created: Option<Timestamp>) -> bool {
    created.is_some_and(|created| content.created.is_none_or(|of| of == created))
}

/// Returns the keys of the documents which record that the instance `natural` was exported. `owner` is the factory of
/// the application that has the instance now.
pub(crate) async fn keys_of(
    store: &dyn Store,
    (owner, natural): (&AssemblyName, &str),
) -> Result<Vec<DocumentKey>, StoreError> {
    let mut found = exported_instances(store).await?;
    found.retain(|instance| instance.natural_id == natural);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let factory = store.assembly(owner).await?;
    found.retain(|instance| factory.as_ref().is_some_and(|factory| instance.belongs_to(factory)));
    Ok(found.into_iter().map(|instance| instance.key).collect())
}

/// Drops the documents which record that the instance `natural` was exported, because the launch of the application
/// `name` has reported this instance.
pub(crate) async fn forget_launched(
    store: &dyn Store,
    name: &AssemblyName,
    natural: &str,
) -> Result<(), StoreError> {
    let Some(owner) = store.assembly(name).await?.and_then(|record| record.owner) else { return Ok(()) };
    for key in keys_of(store, (&owner, natural)).await? {
        store.drop_document(&key, Expected::Any).await?;
    }
    Ok(())
}

/// Returns the present name of the factory of an exported application; `None` if the factory no longer exists, or if
/// this store did not make the export.
pub(crate) async fn present_factory(
    store: &dyn Store,
    transfer: &TransferId,
) -> Result<Option<AssemblyName>, StoreError> {
    let Some(document) = store.document(&key(transfer)).await? else { return Ok(None) };
    let Some(content) = read(document.version, document.body) else { return Ok(None) };
    let owner = store.assembly(&content.owner).await?;
    Ok(is_same(&content, owner.map(|owner| owner.created)).then_some(content.owner))
}

/// Returns the documents about the exported applications of a renamed factory, with the new name of the factory.
/// `created` is the time at which the factory was created. This time distinguishes the factory from other factories
/// that had the same name.
pub(crate) async fn renamed(
    store: &dyn Store,
    renaming: &Renaming,
    created: Timestamp,
) -> Result<Vec<DocumentDraft>, StoreError> {
    let mut drafts = Vec::new();
    for_each(store, |key, expected, content| {
        if content.owner == renaming.from && is_same(&content, Some(created)) {
            drafts.push(draft(key, expected, &Exported { owner: renaming.to.clone(), ..content }));
        }
    })
    .await?;
    Ok(drafts)
}

/// Calls `each` with the key, the revision and the content of each document. Ignores documents that this program can't
/// read.
async fn for_each(
    store: &dyn Store,
    mut each: impl FnMut(DocumentKey, Expected, Exported),
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.documents(&DocumentScope::Project, &kind(), after.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|last| last.key.name.clone());
        for document in page {
            if let Some(content) = read(document.version, document.body) {
                each(document.key, Expected::At(document.revision), content);
            }
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Reads the content of a document. Returns `None` if a newer version of windlass has stored the document in a newer
/// format.
fn read(version: u32, body: Value) -> Option<Exported> {
    (version <= VERSION).then(|| serde_json::from_value(body).ok())?
}

fn draft(key: DocumentKey, expected: Expected, content: &Exported) -> DocumentDraft {
    let body = serde_json::to_value(content).expect("it is plain data");
    DocumentDraft { key, expected, version: VERSION, body, secrets: None, packages: BTreeSet::new() }
}

fn key(transfer: &TransferId) -> DocumentKey {
    DocumentKey {
        scope: DocumentScope::Project,
        kind: kind(),
        name: transfer.as_str().parse().expect("the id of an export is a valid name of a document"),
    }
}

fn kind() -> DocumentKind {
    "exported".parse().expect("it is a valid kind")
}
