//! Paths into a document: `status.flags.active`.

use std::fmt;
use std::str::FromStr;

/// The path of an operation: one or more keys, from the top of the document down.
///
/// The text form joins the keys with dots. A dot in a key is written as `\.`, and a backslash as `\\`. These
/// escapes extend MongoDB's syntax, which has none. Paths without a backslash have the same meaning as in
/// MongoDB, except that keys are never indexes: `log.0` is the key `0` of a map `log`, because entries of
/// lists can't be addressed.
///
/// Paths are ordered key by key, so an ancestor sorts directly before all its descendants.
///
/// ```
/// use windlass_update_ops::Path;
///
/// let flag: Path = "status.flags.active".parse()?;
/// assert_eq!(flag.keys().collect::<Vec<_>>(), ["status", "flags", "active"]);
/// assert!(flag.starts_with(&"status".parse()?));
///
/// let host: Path = r"components.10\.0\.0\.1".parse()?;
/// assert_eq!(host.keys().last(), Some("10.0.0.1"));
/// assert_eq!(host.to_string(), r"components.10\.0\.0\.1");
///
/// assert!("status..flags".parse::<Path>().is_err());
/// # Ok::<(), windlass_update_ops::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<String>);

/// The reason why a text is no [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The text is empty.
    #[error("the path is empty")]
    Empty,
    /// The text has a dot at either end, or two in a row.
    #[error("the path `{0}` has an empty key: a dot at an end, or two in a row")]
    EmptyKey(String),
    /// The text has a backslash that precedes neither a dot nor a backslash.
    #[error(r"a `\` in the path `{0}` stands before neither `.` nor `\`")]
    Escape(String),
    /// The path has more than [`Path::MAX_KEYS`] keys.
    #[error("the path has {0} keys, and {max} are the limit", max = Path::MAX_KEYS)]
    TooDeep(usize),
}

impl Path {
    /// Maximum number of keys of a path.
    ///
    /// An update creates the missing maps on its path. Without this limit, one line of text could create a
    /// document with more than 128 levels. `serde_json` refuses to read a document with more than 128 levels.
    pub const MAX_KEYS: usize = 100;

    /// Creates a path of these keys. The keys are literal: a dot in a key does not separate keys.
    ///
    /// # Errors
    /// Fails if there are no keys, if a key is empty, or if there are more than [`Path::MAX_KEYS`] keys.
    pub fn from_keys<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Result<Self, PathError> {
        let path = Self(keys.into_iter().map(Into::into).collect());
        match path.0.len() {
            0 => Err(PathError::Empty),
            1 if path.0[0].is_empty() => Err(PathError::Empty),
            n if n > Self::MAX_KEYS => Err(PathError::TooDeep(n)),
            _ if path.0.iter().any(String::is_empty) => Err(PathError::EmptyKey(path.to_string())),
            _ => Ok(path),
        }
    }

    /// Returns the keys, from the top down. There is at least one key.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator + Clone {
        self.0.iter().map(String::as_str)
    }

    /// Tells whether `self` equals `ancestor` or is below it.
    pub fn starts_with(&self, ancestor: &Path) -> bool {
        self.0.starts_with(&ancestor.0)
    }

    /// Tells whether the two paths are equal, or one is below the other. The order of two operations can
    /// matter only if their paths are comparable.
    pub fn is_comparable(&self, other: &Path) -> bool {
        self.starts_with(other) || other.starts_with(self)
    }

    /// Returns the path that consists of `self` and `key`.
    ///
    /// # Errors
    /// When the key is empty, or the path would have more than [`Path::MAX_KEYS`] keys.
    pub fn join(&self, key: &str) -> Result<Self, PathError> {
        Self::from_keys(self.keys().chain([key]))
    }

    pub(crate) fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Creates a path without checks. Errors use this function, because an error may name an invalid path.
    pub(crate) fn walked(keys: &[String]) -> Self {
        Self(keys.to_vec())
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        let keys = split(text)?;
        if keys.iter().any(String::is_empty) {
            return Err(PathError::EmptyKey(text.to_owned()));
        }
        Self::from_keys(keys)
    }
}

/// Splits a text at the dots that are not escaped, and resolves the escapes.
fn split(text: &str) -> Result<Vec<String>, PathError> {
    let mut keys = vec![];
    let mut key = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '.' => keys.push(std::mem::take(&mut key)),
            '\\' => match chars.next() {
                Some(escaped @ ('.' | '\\')) => key.push(escaped),
                _ => return Err(PathError::Escape(text.to_owned())),
            },
            _ => key.push(c),
        }
    }
    keys.push(key);
    Ok(keys)
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, key) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            f.write_str(&key.replace('\\', r"\\").replace('.', r"\."))?;
        }
        Ok(())
    }
}
