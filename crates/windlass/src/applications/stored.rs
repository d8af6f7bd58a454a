//! Reading of published applications and environments from a store.

use windlass_manifest::environment::Environment;
use windlass_manifest::{read, short_name};
use windlass_model::AssemblyName;
use windlass_model::document::{DocumentName, DocumentRecord, DocumentScope};
use windlass_model::record::PackageFile;
use windlass_source::Source;
use windlass_store::{Store, StoreError};

use super::error::ApplicationError;
use super::records::{ApplicationRecord, PAGE, PublishedApplication, applications, body, environments, key};
use crate::error::Error;

/// The folder of the scripts in the package of a revision.
pub(super) const SCRIPTS: &str = "scripts/";

/// Reads all published applications, each with its document.
pub(super) async fn all(store: &dyn Store) -> Result<Vec<(DocumentRecord, ApplicationRecord)>, Error> {
    let (mut found, mut after) = (Vec::new(), None::<DocumentName>);
    loop {
        let page = store.documents(&DocumentScope::Project, &applications(), after.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|last| last.key.name.clone());
        for document in page {
            let record: ApplicationRecord = body(&document)?;
            if record.is_published() {
                found.push((document, record));
            }
        }
        if is_last {
            return Ok(found);
        }
    }
}

/// Reads a revision of an application from the store. If `revision` is `None`, reads the latest revision.
pub(super) async fn published(
    store: &dyn Store,
    document: &DocumentRecord,
    record: &ApplicationRecord,
    revision: Option<u32>,
) -> Result<PublishedApplication, Error> {
    let latest = record.revisions.last().map_or(0, |latest| latest.revision);
    let wanted = revision.unwrap_or(latest);
    let Some(found) = record.revisions.iter().find(|of| of.revision == wanted) else {
        let title = record.title.clone();
        return Err(ApplicationError::NoRevision { title, revision: wanted, latest }.into());
    };
    let lost = || StoreError::NoPackage { key: Box::new(document.key.clone()) };
    let package = store.package(&found.package).await?.ok_or_else(lost)?;
    let (mut text, mut scripts) = (None, Vec::new());
    for file in package.files {
        match file.path.strip_prefix(SCRIPTS) {
            Some(path) => scripts.push(PackageFile { path: path.to_owned(), ..file }),
            None => text = Some(file.content),
        }
    }
    let text = text.and_then(|text| String::from_utf8(text).ok()).ok_or_else(lost)?;
    let source = Source::with_limit(format!("{} revision {wanted}", record.title), &*text, text.len());
    let manifest = read(&source);
    Ok(PublishedApplication {
        title: record.title.clone(),
        name: short_name(&record.title).ok_or_else(|| ApplicationError::Title(record.title.clone()))?,
        revision: wanted,
        role: found.role,
        package: found.package.clone(),
        manifest: manifest.manifest.ok_or(Error::Input(manifest.diagnostics))?,
        scripts,
    })
}

/// Returns a revision of a published application from a store. Returns `None` if the revision is not
/// published.
pub(crate) async fn revision_in(
    store: &dyn Store,
    title: &str,
    revision: u32,
) -> Result<Option<PublishedApplication>, Error> {
    let Some(name) = short_name(title) else { return Ok(None) };
    let found = store.document(&key(applications(), document_name(&name))).await?;
    let Some(document) = found else { return Ok(None) };
    let record: ApplicationRecord = body(&document)?;
    if !record.revisions.iter().any(|of| of.revision == revision) {
        return Ok(None);
    }
    published(store, &document, &record, Some(revision)).await.map(Some)
}

/// Reads the stored environments, sorted by name. `default` is among them only if it was ever changed.
pub(crate) async fn environments_in(store: &dyn Store) -> Result<Vec<(DocumentName, Environment)>, Error> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.documents(&DocumentScope::Project, &environments(), after.as_ref(), PAGE).await?;
        for document in &page {
            found.push((document.key.name.clone(), body(document)?));
        }
        after = page.last().map(|last| last.key.name.clone());
        if page.len() < PAGE {
            return Ok(found);
        }
    }
}

/// Returns the name of the document that contains an application.
pub(crate) fn document_name(name: &AssemblyName) -> DocumentName {
    name.as_str().parse().expect("the name of an assembly is one of a document")
}
