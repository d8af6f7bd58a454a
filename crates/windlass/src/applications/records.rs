//! The stored forms of applications and environments.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use windlass_manifest::{Manifest, Role};
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope};
use windlass_model::record::PackageFile;
use windlass_model::{AssemblyName, Timestamp};

use super::error::ApplicationError;

/// The version of the bodies of all documents here.
pub(super) const VERSION: u32 = 1;

/// Number of documents that are read at once.
pub(super) const PAGE: usize = 500;

/// A published application, with all of its revisions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ApplicationRecord {
    /// Its title.
    pub(super) title: String,
    /// Its revisions, oldest first; empty if it is no longer published.
    pub(super) revisions: Vec<RevisionRecord>,
    /// The number of the last revision that was removed. Numbers are not reused, because records of instances
    /// contain them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) removed: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ApplicationRecord {
    /// Tells whether it has revisions.
    pub(super) fn is_published(&self) -> bool {
        !self.revisions.is_empty()
    }

    /// Returns the highest number of a revision, even if that revision was removed.
    pub(super) fn last_number(&self) -> u32 {
        self.revisions.last().map_or(0, |latest| latest.revision).max(self.removed)
    }
}

/// A revision of an application.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RevisionRecord {
    /// Its number, from 1 on.
    pub(super) revision: u32,
    /// The time of publishing.
    pub(super) published: Timestamp,
    /// Whether it is an application or a factory.
    pub(super) role: RoleKind,
    /// The package with the text of the manifest and the scripts.
    pub(super) package: PackageDigest,
}

/// The kind of a published manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RoleKind {
    /// It has a `scripted.Component`.
    Application,
    /// It has a `scripted.ComponentFactory`.
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
    /// Its title.
    pub title: String,
    /// The short name of the title.
    pub name: AssemblyName,
    /// The number of the revision.
    pub revision: u32,
    /// Whether it is an application or a factory.
    pub role: RoleKind,
    /// The package that the store keeps for it.
    pub package: PackageDigest,
    /// Its manifest.
    pub manifest: Manifest,
    /// The files of its folder of scripts, sorted by path. A script `/vm/launch.py` is the file `vm/launch.py`.
    pub scripts: Vec<PackageFile>,
}

/// Returns the kind of the documents of applications.
pub(super) fn applications() -> DocumentKind {
    "application".parse().expect("it is a valid kind")
}

/// Returns the kind of the documents of environments.
pub(super) fn environments() -> DocumentKind {
    "environment".parse().expect("it is a valid kind")
}

/// Returns the key of a document of the project.
pub(super) fn key(kind: DocumentKind, name: DocumentName) -> DocumentKey {
    DocumentKey { scope: DocumentScope::Project, kind, name }
}

/// Reads the body of a document.
pub(super) fn body<T: DeserializeOwned>(record: &DocumentRecord) -> Result<T, ApplicationError> {
    let newer = || ApplicationError::Newer(record.key.name.to_string());
    if record.version > VERSION {
        return Err(newer());
    }
    serde_json::from_value(record.body.clone()).map_err(|_| newer())
}
