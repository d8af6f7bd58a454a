//! The stored forms of applications and environments.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use windlass_manifest::{Manifest, Role};
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope};
use windlass_model::record::PackageFile;
use windlass_model::{AssemblyName, Timestamp};

use super::error::ApplicationError;

/// The version of the format in which the bodies of application and environment documents are written.
pub(super) const VERSION: u32 = 1;

/// Number of documents that are read at once.
pub(super) const PAGE: usize = 500;

/// A published application, with all of its revisions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ApplicationRecord {
    pub(super) title: String,
    /// The revisions of the application, oldest first. The list is empty if the application is no longer
    /// published.
    pub(super) revisions: Vec<RevisionRecord>,
    /// The highest number of a removed revision; 0 if no revision was removed. The next revision gets a
    /// higher number, because records of instances may still contain the numbers of removed revisions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) removed: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ApplicationRecord {
    /// Tells whether the application has revisions.
    pub(super) fn is_published(&self) -> bool {
        !self.revisions.is_empty()
    }

    /// Returns the highest number that any revision ever had, including removed revisions.
    pub(super) fn last_number(&self) -> u32 {
        self.revisions.last().map_or(0, |latest| latest.revision).max(self.removed)
    }
}

/// A revision of a published application.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RevisionRecord {
    /// The number of the revision, from 1 on.
    pub(super) revision: u32,
    pub(super) published: Timestamp,
    /// Whether the manifest declares an application or a factory.
    pub(super) role: RoleKind,
    /// The digest of the revision's package. The package contains the text of the manifest, and the scripts.
    pub(super) package: PackageDigest,
}

/// The kind of a published manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RoleKind {
    /// An application, whose manifest has a `scripted.Component`.
    Application,
    /// A factory, whose manifest has a `scripted.ComponentFactory`.
    Factory,
}

impl RoleKind {
    /// Returns the kind of a role.
    pub fn of(role: &Role) -> Self {
        match role {
            Role::Application(_) => Self::Application,
            Role::Factory(_) => Self::Factory,
        }
    }

    /// Returns the name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Factory => "factory",
        }
    }
}

/// A revision of a published application, with its manifest and scripts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PublishedApplication {
    /// The title of the application, for example `VM Factory`. Manifests refer to the application by this title.
    pub title: String,
    /// The short name, which is derived from the title. For example, the title `VM Factory` has the short name
    /// `vm-factory`.
    pub name: AssemblyName,
    /// The number of the revision.
    pub revision: u32,
    /// Whether the manifest declares an application or a factory.
    pub role: RoleKind,
    /// The digest of the revision's package in the store.
    pub package: PackageDigest,
    /// The manifest of the revision.
    pub manifest: Manifest,
    /// The files of the revision's script folder, sorted by path. If a manifest names the script
    /// `/vm/launch.py`, the path of the file is `vm/launch.py`.
    pub scripts: Vec<PackageFile>,
}

pub(super) fn applications() -> DocumentKind {
    "application".parse().expect("it is a valid kind")
}

pub(super) fn environments() -> DocumentKind {
    "environment".parse().expect("it is a valid kind")
}

/// Returns the key of a document that belongs to the project.
pub(super) fn key(kind: DocumentKind, name: DocumentName) -> DocumentKey {
    DocumentKey { scope: DocumentScope::Project, kind, name }
}

/// Parses the body of a document. Returns [`ApplicationError::Newer`] if a newer version of windlass wrote the
/// document, and [`ApplicationError::Damaged`] if the body can't be parsed.
pub(super) fn body<T: DeserializeOwned>(record: &DocumentRecord) -> Result<T, ApplicationError> {
    if record.version > VERSION {
        return Err(ApplicationError::Newer(record.key.name.to_string()));
    }
    serde_json::from_value(record.body.clone()).map_err(|error| damaged(&record.key.name, &error))
}

/// Returns the error for a stored document that can't be parsed, or whose secrets can't be parsed. The error contains
/// no stored value, because the value may be a secret.
pub(super) fn damaged(name: &DocumentName, error: &serde_json::Error) -> ApplicationError {
    ApplicationError::Damaged { name: name.to_string(), cause: cause(error).to_owned() }
}

/// Describes the cause of a parse error, without the parsed text.
fn cause(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        Category::Data => "a field is missing or has a wrong value",
        Category::Syntax | Category::Eof | Category::Io => "it is not JSON",
    }
}
