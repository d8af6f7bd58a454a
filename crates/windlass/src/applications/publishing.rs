//! Publishing of manifests, and search for published applications.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use windlass_driver::{Bindings, Package};
use windlass_manifest::scripts::{ScriptFile, ScriptPlace};
use windlass_manifest::{Checked, Manifest, check, check_pairs, check_scripts, codes, read, short_name};
use windlass_model::AssemblyName;
use windlass_model::document::{DocumentDraft, DocumentRecord, Expected};
use windlass_model::record::PackageFile;
use windlass_source::{Diagnostic, Diagnostics, Source};
use windlass_store::{Store, StoreError};

use super::error::ApplicationError;
use super::records::{
    ApplicationRecord, PublishedApplication, RevisionRecord, RoleKind, VERSION, applications, body, key,
};
use super::stored::{SCRIPTS, all, document_name, published};
use super::view::{ApplicationListView, ApplicationSummary, ApplicationView, PublishView, UnpublishView};
use crate::error::Error;
use crate::open::Windlass;
use crate::script_files::listed;

/// The path of the manifest in the package of a revision.
const MANIFEST: &str = "manifest.yaml";

/// The published applications of a project.
#[derive(Debug, Clone, Copy)]
pub struct Applications<'w> {
    pub(crate) windlass: &'w Windlass,
}

/// A manifest to publish, with its title and its scripts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Publication {
    /// The file of the manifest.
    pub manifest: PathBuf,
    /// The title of the application. `None` means the name of the manifest file without its extension.
    pub title: Option<String>,
    /// The folder of the manifest's scripts.
    pub scripts: Option<PathBuf>,
}

impl Publication {
    /// Creates a publication of a manifest file.
    pub fn new(manifest: impl Into<PathBuf>) -> Self {
        Self { manifest: manifest.into(), title: None, scripts: None }
    }

    /// Sets the title of the application.
    #[must_use]
    pub fn title(mut self, title: Option<String>) -> Self {
        self.title = title;
        self
    }

    /// Sets the folder of the manifest's scripts.
    #[must_use]
    pub fn scripts(mut self, folder: Option<PathBuf>) -> Self {
        self.scripts = folder;
        self
    }
}

impl Applications<'_> {
    /// Publishes a manifest with its scripts as the next revision. If the latest revision has the same
    /// manifest text and the same scripts, creates no revision. Also returns warnings about the manifest.
    ///
    /// # Errors
    /// Returns [`Error::Input`] if the manifest has errors, or is neither an application nor a factory. Also
    /// returns [`Error::Input`] if an application contradicts its published factory, or a factory contradicts
    /// its published application. Returns [`ApplicationError`] for a title that can't be used. Returns
    /// [`StoreError::DocumentChanged`] if another command publishes the same title at the same time.
    pub async fn publish(&self, publication: Publication) -> Result<(PublishView, Diagnostics), Error> {
        let overlay = self.windlass.project().overlay();
        let source = overlay.source(&publication.manifest).map_err(|one| Error::Input(vec![*one].into()))?;
        let scripts = publication.scripts.as_deref().map(files_of).transpose()?;
        let (role, mut warnings) = checked(&source, scripts.as_deref())?;
        let title = publication.title.unwrap_or_else(|| stem(&publication.manifest));
        let name = short_name(&title).ok_or_else(|| ApplicationError::Title(title.clone()))?;
        warnings.extend(self.pairs(&title, &source).await?);
        if warnings.has_errors() {
            return Err(Error::Input(warnings));
        }
        let package = package(&name, &source, scripts.unwrap_or_default());
        // If `create` is true, `store` returns a store or an error, never `None`.
        let store = self.windlass.store(true).await?.ok_or(StoreError::Closed)?;
        let found = store.document(&key(applications(), document_name(&name))).await?;
        let mut record = match &found {
            Some(found) => body::<ApplicationRecord>(found)?,
            None => ApplicationRecord { title: title.clone(), revisions: Vec::new(), removed: 0 },
        };
        if !record.is_published() {
            record.title.clone_from(&title);
        } else if record.title != title {
            return Err(ApplicationError::TitleTaken { title, name, by: record.title }.into());
        }
        let latest = record.revisions.last();
        let is_new = latest.is_none_or(|latest| latest.package != *package.digest());
        if is_new {
            let revision = record.last_number() + 1;
            let published = self.windlass.now();
            let digest = package.digest().clone();
            record.revisions.push(RevisionRecord { revision, published, role, package: digest });
            let draft = DocumentDraft {
                key: key(applications(), document_name(&name)),
                expected: found.map_or(Expected::Absent, |found| Expected::At(found.revision)),
                version: VERSION,
                body: json!(record),
                secrets: None,
                packages: record.revisions.iter().map(|revision| revision.package.clone()).collect(),
            };
            store.put_document(draft, vec![package.to_record()]).await?;
        }
        Ok((PublishView::new(&record, &name, is_new), warnings))
    }

    /// Lists the published applications, sorted by their short names.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub async fn list(&self) -> Result<ApplicationListView, Error> {
        let Some(store) = self.windlass.store(false).await? else {
            return Ok(ApplicationListView::new(Vec::new()));
        };
        let mut found = Vec::new();
        for (document, record) in all(&*store).await? {
            found.push(ApplicationSummary::new(&record, document.key.name.as_str()));
        }
        Ok(ApplicationListView::new(found))
    }

    /// Returns a view of a revision of an application. If `revision` is `None`, returns a view of the latest revision.
    /// `title` is the title or the short name of the application.
    ///
    /// # Errors
    /// Returns [`ApplicationError::Unknown`] if nothing is published under the title. Returns
    /// [`ApplicationError::NoRevision`] if the application has no revision with this number.
    pub async fn show(&self, title: &str, revision: Option<u32>) -> Result<ApplicationView, Error> {
        let (store, document, record) = self.document(title).await?;
        let published = published(&*store, &document, &record, revision).await?;
        Ok(ApplicationView::new(&record, &published))
    }

    /// Returns a revision of an application with its manifest and scripts. If `revision` is `None`, returns the latest
    /// revision. `title` is the title or the short name of the application.
    ///
    /// # Errors
    /// Returns [`ApplicationError::Unknown`] if nothing is published under the title. Returns
    /// [`ApplicationError::NoRevision`] if the application has no revision with this number.
    pub async fn find(&self, title: &str, revision: Option<u32>) -> Result<PublishedApplication, Error> {
        let (store, document, record) = self.document(title).await?;
        published(&*store, &document, &record, revision).await
    }

    /// Removes all revisions of an application. Launched instances of the application stay, because they keep
    /// their own packages. If the title is published again later, the numbers of the removed revisions are
    /// not reused.
    ///
    /// # Errors
    /// Returns [`ApplicationError::Unknown`] if nothing is published under the title. Returns
    /// [`StoreError::DocumentChanged`] if another command publishes the title at the same time.
    pub async fn unpublish(&self, title: &str) -> Result<UnpublishView, Error> {
        let (store, document, record) = self.document(title).await?;
        let rest = ApplicationRecord {
            title: record.title.clone(),
            revisions: Vec::new(),
            removed: record.last_number(),
        };
        let draft = DocumentDraft {
            key: document.key,
            expected: Expected::At(document.revision),
            version: VERSION,
            body: json!(rest),
            secrets: None,
            packages: BTreeSet::new(),
        };
        store.put_document(draft, Vec::new()).await?;
        Ok(UnpublishView { version: 1, title: record.title, revisions: record.revisions.len() })
    }

    /// Finds the record of an application by its title or its short name.
    async fn document(
        &self,
        title: &str,
    ) -> Result<(Arc<dyn Store>, DocumentRecord, ApplicationRecord), Error> {
        let Some(store) = self.windlass.store(false).await? else {
            return Err(ApplicationError::Unknown { title: title.to_owned(), known: Vec::new() }.into());
        };
        if let Some(name) = short_name(title)
            && let Some(found) = store.document(&key(applications(), document_name(&name))).await?
        {
            let record: ApplicationRecord = body(&found)?;
            if record.is_published() && (record.title == title || name.as_str() == title) {
                return Ok((store, found, record));
            }
        }
        let mut known = Vec::new();
        for (_, record) in all(&*store).await? {
            known.push(record.title);
        }
        Err(ApplicationError::Unknown { title: title.to_owned(), known }.into())
    }

    /// Checks a manifest against the published factories and applications. Returns only problems in the
    /// checked manifest, not problems in the published manifests.
    async fn pairs(&self, title: &str, source: &Arc<Source>) -> Result<Diagnostics, Error> {
        let mut others = Vec::new();
        if let Some(store) = self.windlass.store(false).await? {
            for (document, record) in all(&*store).await? {
                if record.title != title {
                    others.push(published(&*store, &document, &record, None).await?);
                }
            }
        }
        let own = read(source).manifest;
        let manifests = others.iter().map(|other| (other.title.as_str(), &other.manifest));
        let manifests: Vec<(&str, &Manifest)> =
            own.iter().map(|manifest| (title, manifest)).chain(manifests).collect();
        let roles: Vec<_> = manifests.iter().map(|(_, manifest)| check(manifest).role).collect();
        let published: Vec<_> = manifests
            .iter()
            .zip(&roles)
            .filter_map(|((title, manifest), role)| {
                Some(windlass_manifest::Published { title, manifest, role: role.as_ref()? })
            })
            .collect();
        let found = check_pairs(&published);
        let is_own =
            |said: &&Diagnostic| said.place().is_some_and(|place| place.source().name() == source.name());
        Ok(found.iter().filter(is_own).cloned().collect())
    }
}

/// Reads a manifest with its scripts, and returns the revision that they form. The function does not store this
/// revision. Also returns warnings about the manifest.
///
/// # Errors
/// Returns [`Error::Input`] if the manifest has errors, or is neither an application nor a factory. Returns
/// [`ApplicationError`] for a title that can't be used.
pub(crate) fn unpublished(
    source: &Arc<Source>,
    title: String,
    scripts: Option<&[PackageFile]>,
) -> Result<(PublishedApplication, Diagnostics), Error> {
    let (role, warnings) = checked(source, scripts)?;
    let name = short_name(&title).ok_or_else(|| ApplicationError::Title(title.clone()))?;
    let scripts = scripts.unwrap_or_default().to_vec();
    let digest = package(&name, source, scripts.clone()).digest().clone();
    let manifest = read(source);
    let manifest = manifest.manifest.ok_or(Error::Input(manifest.diagnostics))?;
    Ok((
        PublishedApplication { title, name, revision: 1, role, package: digest, manifest, scripts },
        warnings,
    ))
}

/// Checks a manifest with its scripts. Returns the manifest's role and warnings.
fn checked(source: &Arc<Source>, scripts: Option<&[PackageFile]>) -> Result<(RoleKind, Diagnostics), Error> {
    let windlass_manifest::Read { manifest, mut diagnostics } = read(source);
    let mut role = None;
    if let Some(manifest) = &manifest {
        let checked = check(manifest);
        role = checked.role.as_ref().map(RoleKind::of);
        match scripts {
            Some(scripts) => {
                diagnostics.extend(check_scripts(&checked, &listed(scripts)[..], ScriptPlace::Package));
            }
            None => diagnostics.extend(without_scripts(&checked)),
        }
        diagnostics.extend(checked.diagnostics);
        if role.is_none() && !diagnostics.has_errors() {
            let message = "the manifest has no scripted component, so there is nothing to launch or discover";
            diagnostics
                .push(Diagnostic::error(codes::NOTHING_TO_LAUNCH, message).at(source.place(manifest.span)));
        }
    }
    diagnostics.sort();
    match role {
        Some(role) if !diagnostics.has_errors() => Ok((role, diagnostics)),
        _ => Err(Error::Input(diagnostics)),
    }
}

/// Returns a warning that a manifest is published without its scripts; `None` if the manifest names no script.
fn without_scripts(checked: &Checked<'_>) -> Option<Diagnostic> {
    let none: &[ScriptFile<'_>] = &[];
    let missing = check_scripts(checked, none, ScriptPlace::Package);
    let place = missing.iter().find_map(Diagnostic::place)?.clone();
    let message = "no `--scripts DIR` was given, so the image of the scripting service must have all scripts of the manifest";
    Some(Diagnostic::warning(codes::SCRIPT_MISSING, message).at(place))
}

pub(crate) fn files_of(folder: &Path) -> Result<Vec<PackageFile>, Error> {
    windlass_project::files_in(folder).map_err(Error::Input)
}

/// Creates the package of a manifest. The package's digest depends only on the short name, the text and the
/// files.
fn package(name: &AssemblyName, source: &Source, scripts: Vec<PackageFile>) -> Package {
    let manifest = PackageFile {
        path: MANIFEST.to_owned(),
        executable: false,
        content: source.text().as_bytes().to_vec(),
    };
    let scripts =
        scripts.into_iter().map(|file| PackageFile { path: format!("{SCRIPTS}{}", file.path), ..file });
    let resource =
        format!("resource::{name}::1").parse().expect("the name of an assembly is one of a resource");
    Package::new(resource, Bindings::default(), scripts.chain([manifest]).collect())
}

pub(crate) fn stem(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
