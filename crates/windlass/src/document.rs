//! Files that windlass writes and later reads. They contain a version, and a digest that detects damage.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use windlass_source::Code;
use windlass_source::files::MAX_SIZE;

use crate::codes;

pub(crate) struct Format {
    /// The kind of the file, as stated under its key `kind`, such as `windlass plan`.
    pub(crate) kind: &'static str,
    /// The version in which new files are written.
    pub(crate) version: u64,
    /// Converts content of an older version to the next version. The first argument is the version of the content.
    pub(crate) upgrade: fn(u64, Value) -> Value,
}

impl Format {
    /// Returns a format for files of the kind `kind`. This format has only one version so far.
    pub(crate) const fn first(kind: &'static str) -> Self {
        Self { kind, version: 1, upgrade: |_, content| content }
    }
}

/// The reason why a file can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The file does not have the expected format or kind.
    #[error("is not a {what}: {why}{}", made_by(what))]
    Other {
        /// The expected kind of file, such as `windlass plan`.
        what: &'static str,
        /// The reason why the file is not of the expected kind, such as `it is not JSON`.
        why: String,
    },
    /// A newer program wrote the file.
    #[error("has version {found}, and this windlass reads version {known}")]
    Newer {
        /// The version of the file.
        found: u64,
        /// The newest version that this program reads.
        known: u64,
    },
    /// The content of the file does not match its digest.
    #[error("is damaged: its content does not match its digest; create it again")]
    Damaged,
}

impl DocumentError {
    /// Returns the code of the error. `windlass explain CODE` explains the error.
    pub fn code(&self) -> Code {
        match self {
            Self::Other { .. } => codes::WRONG_DOCUMENT,
            Self::Newer { .. } => codes::NEWER_DOCUMENT,
            Self::Damaged => codes::DAMAGED_DOCUMENT,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    version: u64,
    kind: String,
    digest: String,
    content: Box<RawValue>,
}

/// The fields of an [`Envelope`] that are parsed first. They tell whether this program can read the rest of the file.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    kind: Option<String>,
    version: Option<u64>,
}

/// Maximum memory for the parsed data of a document, as a multiple of the size of the document's text. If the text is
/// smaller than [`MAX_SIZE`], the maximum is a multiple of [`MAX_SIZE`] instead. [`MAX_SIZE`] is the default limit of
/// the size of a text. A text can be larger, because a user can raise the limit.
const MOST_WEIGHT: usize = 12;

/// Estimates the memory in bytes that a JSON text needs as parsed data. A map with one entry can need a
/// hundred times the size of its text.
fn weight(text: &str) -> usize {
    const MAP: usize = 640;
    const VALUE: usize = 32;
    let (mut weight, mut quoted, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => weight += 1,
            b'{' => weight += MAP,
            b'[' | b',' => weight += VALUE,
            _ => {}
        }
    }
    weight
}

/// Returns a hint that names the command which creates files of a kind.
fn made_by(kind: &str) -> &'static str {
    match kind {
        "windlass plan" => "; `windlass plan FILE -o PLAN` creates one",
        "windlass assembly" => "; `windlass export NAME` creates one",
        _ => "",
    }
}

/// Returns a hint that names the command which uses files of a kind.
fn used_by(kind: &str) -> &'static str {
    match kind {
        "windlass plan" => ", which `windlass apply` executes",
        "windlass assembly" => ", which `windlass import` imports",
        _ => "",
    }
}

/// Serializes content as JSON, together with the kind and the version of `format`, and a digest of the content.
pub(crate) fn write(format: &Format, content: &impl Serialize) -> Result<String, serde_json::Error> {
    let content = serde_json::value::to_raw_value(content)?;
    let digest = digest(content.get());
    let (version, kind) = (format.version, format.kind.to_owned());
    let mut text = serde_json::to_string(&Envelope { version, kind, digest, content })?;
    text.push('\n');
    Ok(text)
}

/// Parses a text that [`write()`] has created. Refuses a text of another kind, with a newer version, or with a wrong
/// digest. Upgrades content of an older version.
pub(crate) fn read<T: DeserializeOwned>(format: &Format, text: &str) -> Result<T, DocumentError> {
    let Format { kind, version: known, upgrade } = *format;
    let other = |why: String| DocumentError::Other { what: kind, why };
    let no_json = |error: serde_json::Error| {
        let cause = if text.trim_start().starts_with('{') {
            format!("it is not valid JSON: {error}")
        } else {
            "it is not JSON".to_owned()
        };
        other(cause)
    };
    if weight(text) > text.len().max(MAX_SIZE).saturating_mul(MOST_WEIGHT) {
        return Err(other("it has too many entries".to_owned()));
    }
    // Only the head is parsed at first, so that a file of another kind needs little memory.
    let seen: Head = serde_json::from_str(text).map_err(no_json)?;
    match seen.kind.as_deref() {
        Some(found) if found == kind => {}
        Some(found) => return Err(other(format!("it is a {found}{}", used_by(found)))),
        None => return Err(other(format!("it has no `\"kind\": \"{kind}\"`"))),
    }
    let found = seen.version.ok_or_else(|| other("it has no version".to_owned()))?;
    if found > known {
        return Err(DocumentError::Newer { found, known });
    }
    let envelope: Envelope = serde_json::from_str(text).map_err(|error| other(error.to_string()))?;
    if digest(envelope.content.get()) != envelope.digest {
        return Err(DocumentError::Damaged);
    }
    let content = envelope.content.get();
    let parsed = if found == known {
        serde_json::from_str(content)
    } else {
        serde_json::from_str(content)
            .map(|content| (found..known).fold(content, |content, version| upgrade(version, content)))
            .and_then(serde_json::from_value)
    };
    parsed.map_err(|error| other(error.to_string()))
}

/// Returns the SHA-256 digest of a text.
pub(crate) fn digest(text: &str) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAN: Format = Format::first("plan");

    #[test]
    fn changed_and_foreign_files_are_refused() {
        let text = write(&PLAN, &json!({"a": 1})).unwrap();
        assert_eq!(read::<Value>(&PLAN, &text).unwrap()["a"], 1);
        assert_eq!(read::<Value>(&PLAN, &text.replace(":1}", ":2}")), Err(DocumentError::Damaged));
        let newer = text.replace("\"version\":1", "\"version\":2");
        assert_eq!(read::<Value>(&PLAN, &newer), Err(DocumentError::Newer { found: 2, known: 1 }));
        for other in ["", "{}", "[]", &text[..20]] {
            assert!(matches!(read::<Value>(&PLAN, other), Err(DocumentError::Other { .. })), "{other}");
        }
        assert!(read::<Value>(&Format::first("assembly"), &text).is_err());
    }

    #[test]
    fn older_files_are_upgraded_one_version_at_a_time() {
        let text = write(&PLAN, &json!([])).unwrap();
        let upgrade = |version, content: Value| {
            let steps = content.as_array().unwrap().iter().cloned();
            steps.chain([json!(version)]).collect()
        };
        let newer = Format { kind: "plan", version: 3, upgrade };
        assert_eq!(read::<Value>(&newer, &text).unwrap(), json!([1, 2]));
    }
}
