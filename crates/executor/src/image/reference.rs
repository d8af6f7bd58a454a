//! Image names and references.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Digest;

/// The name of an image in a store, in the form `name:tag`. A name that is parsed without a tag gets the tag
/// `latest`.
///
/// Names are normalised as in container engines: `docker.io/library/busybox` becomes `busybox`.
///
/// ```
/// use windlass_executor::image::ImageName;
///
/// let name: ImageName = "docker.io/library/busybox".parse()?;
/// assert_eq!(name.to_string(), "busybox:latest");
/// # Ok::<(), windlass_executor::image::ReferenceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageName {
    repository: String,
    tag: String,
}

/// A job's reference to its image: a name, a digest, or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reference {
    /// A name in the store.
    Name(ImageName),
    /// Digest of the image's config, or of the image's manifest. The digest of the config is also the id of the
    /// image. As text, the reference is `sha256:…` or `name@sha256:…`.
    Digest(Digest),
    /// A file or folder that contains exactly one image. As text, the reference is a path that starts with `/`,
    /// `./` or `../`.
    Path(PathBuf),
}

/// An error for a text that is no image reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` names no image: expected NAME[:TAG], sha256:DIGEST, or a path that starts with `/`, `./` or `../`"
)]
pub struct ReferenceError {
    /// The text as given.
    pub text: String,
}

impl ImageName {
    /// Returns the name without its tag.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the tag.
    pub fn tag(&self) -> &str {
        &self.tag
    }
}

impl FromStr for ImageName {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let wrong = || ReferenceError { text: text.to_owned() };
        // A colon before a slash belongs to the port of a registry, and begins no tag.
        let (repository, tag) = match text.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, tag),
            _ => (text, "latest"),
        };
        let repository = repository.strip_prefix("docker.io/").unwrap_or(repository);
        let repository = repository.strip_prefix("library/").unwrap_or(repository);
        let is_part = |part: &str| {
            part.starts_with(|first: char| first.is_ascii_alphanumeric())
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-:".contains(c))
        };
        let is_tag = !tag.is_empty()
            && tag.len() <= 128
            && !tag.starts_with(['.', '-'])
            && tag.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if !is_tag || repository.len() > 255 || !repository.split('/').all(is_part) {
            return Err(wrong());
        }
        Ok(Self { repository: repository.to_owned(), tag: tag.to_owned() })
    }
}

impl TryFrom<String> for ImageName {
    type Error = ReferenceError;

    fn try_from(text: String) -> Result<Self, ReferenceError> {
        text.parse()
    }
}

impl From<ImageName> for String {
    fn from(name: ImageName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.repository, self.tag)
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        if ["/", "./", "../"].iter().any(|start| text.starts_with(start)) {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        let digest = text.rsplit_once('@').map_or(text, |(_, digest)| digest);
        if digest.starts_with("sha256:") {
            return digest.parse().map(Self::Digest).map_err(|_| ReferenceError { text: text.to_owned() });
        }
        text.parse().map(Self::Name)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Digest(digest) => digest.fmt(f),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_in_one_way() {
        for (text, expected) in [
            ("busybox", "busybox:latest"),
            ("busybox:1", "busybox:1"),
            ("docker.io/library/busybox:1", "busybox:1"),
            ("docker.io/acme/tool", "acme/tool:latest"),
            ("localhost:5000/acme/tool", "localhost:5000/acme/tool:latest"),
            ("localhost:5000/acme/tool:v2", "localhost:5000/acme/tool:v2"),
        ] {
            assert_eq!(text.parse::<ImageName>().unwrap().to_string(), expected);
        }
        for bad in ["", ":1", "a:", "a b", "../x", "a//b", "a:.x", "-a", "a/../b"] {
            assert!(bad.parse::<ImageName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_reference_is_a_name_a_digest_or_a_path() {
        let digest = Digest::of(b"x");
        for (text, expected) in [
            ("./a.tar".to_owned(), Reference::Path("./a.tar".into())),
            ("/a.tar".to_owned(), Reference::Path("/a.tar".into())),
            (digest.to_string(), Reference::Digest(digest.clone())),
            (format!("acme/tool:1@{digest}"), Reference::Digest(digest.clone())),
            ("a.tar".to_owned(), Reference::Name("a.tar".parse().unwrap())),
        ] {
            assert_eq!(text.parse::<Reference>().unwrap(), expected);
        }
        assert!("sha256:12".parse::<Reference>().is_err());
    }
}
