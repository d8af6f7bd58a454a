//! Documents: data of other crates. The store keeps each document with a revision.
//!
//! The store does not read the body of a document. Each document contains the version number of its body's format.
//! The crate that writes the document assigns this number. A writer can state the revision that it expects
//! ([`Expected`]). If the document then has another revision, because another writer has changed the document, the
//! store refuses the change.
//!
//! ```
//! use windlass_model::document::{DocumentKey, DocumentScope};
//!
//! let key = DocumentKey {
//!     scope: DocumentScope::Project,
//!     kind: "environment".parse()?,
//!     name: "default".parse()?,
//! };
//! assert_eq!(key.to_string(), "environment `default`");
//! # Ok::<(), windlass_model::document::DocumentNameError>(())
//! ```

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use windlass_secret::Sensitive;

use crate::assembly::PackageDigest;
use crate::name::AssemblyName;
use crate::newtype::checked_text;

/// The maximum length of a [`DocumentKind`] in bytes. All valid characters are ASCII.
const MAX_KIND: usize = 16;

/// The maximum length of a [`DocumentName`] in bytes. All valid characters are ASCII.
const MAX_NAME: usize = 50;

/// An invalid kind or name of a document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DocumentNameError {
    /// The kind is empty, too long, or contains a character other than lower-case letters and `-`.
    #[error("`{0}` is not a kind of document: it has 1 to {MAX_KIND} lower-case letters and `-`")]
    Kind(String),
    /// The name is empty, too long, or contains a forbidden character.
    #[error("`{0}` is not the name of a document: it has 1 to {MAX_NAME} letters, digits, `.`, `_` and `-`")]
    Name(String),
}

checked_text! {
    /// The kind of a document: 1 to 16 lower-case ASCII letters and `-`.
    DocumentKind: DocumentNameError = |text| {
        let is_valid = (1..=MAX_KIND).contains(&text.len())
            && text.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if is_valid { Ok(()) } else { Err(DocumentNameError::Kind(text.to_owned())) }
    };
    /// The name of a document, unique among the documents of the same scope and kind: 1 to 50 ASCII letters,
    /// digits, `.`, `_` and `-`.
    DocumentName: DocumentNameError = |text| {
        let is_valid = (1..=MAX_NAME).contains(&text.len())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if is_valid { Ok(()) } else { Err(DocumentNameError::Name(text.to_owned())) }
    };
}

/// The scope of a document: the project or the assembly that the document belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentScope {
    /// The document belongs to the project. The store keeps the document until windlass drops it, for example when a
    /// user removes an environment.
    Project,
    /// The document belongs to an assembly. When the store removes the assembly, it also removes the document.
    Assembly(AssemblyName),
}

impl DocumentScope {
    /// Returns the assembly that the document belongs to; none for a document of the project.
    pub fn assembly(&self) -> Option<&AssemblyName> {
        match self {
            Self::Project => None,
            Self::Assembly(name) => Some(name),
        }
    }

    /// Returns the name of the assembly; an empty text for the project.
    pub fn as_str(&self) -> &str {
        self.assembly().map_or("", AssemblyName::as_str)
    }
}

/// The identity of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DocumentKey {
    /// The project or the assembly that the document belongs to.
    pub scope: DocumentScope,
    /// The kind of the document, such as `environment`.
    pub kind: DocumentKind,
    /// The name of the document.
    pub name: DocumentName,
}

impl fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name)?;
        match &self.scope {
            DocumentScope::Project => Ok(()),
            DocumentScope::Assembly(name) => write!(f, " of `{name}`"),
        }
    }
}

/// The number of a document's last change. All documents of a store share one increasing sequence of numbers.
/// So no two changes have the same number, even if a document was dropped and created again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub u64);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The state in which a writer expects a document. If the document has another state, the store refuses the change of
/// this writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The writer expects no particular state. Documents that are changed only under a lease need no expectation,
    /// because only one program holds the lease.
    Any,
    /// The document does not exist.
    Absent,
    /// The document has this revision.
    At(Revision),
}

/// A stored document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentRecord {
    /// The identity of the document.
    pub key: DocumentKey,
    /// The number of the document's last change.
    pub revision: Revision,
    /// The version of the body's format. The crate that writes the document assigns this number.
    pub version: u32,
    /// The data of the document.
    pub body: Value,
    /// The packages that the store keeps as long as the document exists.
    pub packages: BTreeSet<PackageDigest>,
}

/// A document to store.
#[derive(Debug, Clone)]
pub struct DocumentDraft {
    /// The identity of the document.
    pub key: DocumentKey,
    /// The condition under which the store writes the document.
    pub expected: Expected,
    /// The version of the body's format.
    pub version: u32,
    /// The data of the document, without secrets.
    pub body: Value,
    /// The secret part of the document's data. The store seals this part. The method `document` of the store
    /// does not return it, but `document_secrets` does.
    pub secrets: Option<Sensitive<Vec<u8>>>,
    /// The packages that the store keeps as long as the document exists. The store must contain them already.
    pub packages: BTreeSet<PackageDigest>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_names_are_short_words() {
        assert!("application".parse::<DocumentKind>().is_ok());
        for wrong in ["", "App", "an-application-kind"] {
            assert!(wrong.parse::<DocumentKind>().is_err(), "{wrong}");
        }
        assert!("vm-factory_1.0".parse::<DocumentName>().is_ok());
        for wrong in ["", "VM Factory", "a/b", &"a".repeat(51)] {
            assert!(wrong.parse::<DocumentName>().is_err(), "{wrong}");
        }
    }
}
