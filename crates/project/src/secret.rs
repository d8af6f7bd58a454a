//! Secrets of a location: values that `windlass.yaml` refers to but does not contain.

use std::path::{Path, PathBuf};

use thiserror::Error;
use windlass_source::files;

/// Maximum length of a secret value in bytes.
const LONGEST: usize = 1 << 20;

/// The source of a location's property value.
///
/// ```yaml
/// properties:
///   token: {file: secrets/token}     # relative to the folder of windlass.yaml
///   password: {env: CLOUD_PASSWORD}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretSource {
    /// A file, relative to the project's root. If the file is a single line, its line break is not part of
    /// the value.
    File(PathBuf),
    /// A variable of windlass's own environment.
    Env(String),
}

/// The reason why a secret can't be read. The message contains no part of the secret.
#[derive(Debug, Error)]
#[error("the property `{property}` of the location `{location}` {why}")]
pub struct SecretError {
    /// The name of the location.
    pub location: String,
    /// The name of the property.
    pub property: String,
    /// The reason, such as "is empty". In the message of this error, the reason follows the names of the property and
    /// the location.
    pub why: String,
}

impl SecretSource {
    /// Reads the value. `variables` reads an environment variable.
    ///
    /// # Errors
    /// Returns the reason why the value can't be read, in the form of [`SecretError::why`].
    pub fn read(&self, root: &Path, variables: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let (value, origin) = match self {
            Self::File(path) => {
                let path = root.join(path);
                let text = files::read_text(&path, LONGEST)
                    .map_err(|why| format!("is to be read from `{}`: {why}", path.display()))?;
                (files::value(text), format!("the file `{}`", path.display()))
            }
            Self::Env(name) => {
                let value = variables(name).ok_or_else(|| {
                    format!("is to be read from the variable `{name}`, which is not set; `export {name}=…`")
                })?;
                (value, format!("the variable `{name}`"))
            }
        };
        if value.is_empty() { Err(format!("is empty: there is nothing in {origin}")) } else { Ok(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_variable_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "hunter2\r\n").unwrap();
        std::fs::write(folder.path().join("key"), "-----BEGIN\nabc\n").unwrap();
        std::fs::write(folder.path().join("empty"), "\n").unwrap();
        std::fs::write(folder.path().join("large"), vec![b'a'; (1 << 20) + 1]).unwrap();
        std::fs::write(folder.path().join("binary"), [0xff]).unwrap();
        let none = |_: &str| None;
        let read = |source: SecretSource| source.read(folder.path(), &none);
        assert_eq!(read(SecretSource::File("token".into())).unwrap(), "hunter2");
        assert_eq!(read(SecretSource::File("key".into())).unwrap(), "-----BEGIN\nabc\n");
        let variables = |name: &str| (name == "TOKEN").then(|| "hunter2".to_owned());
        assert_eq!(SecretSource::Env("TOKEN".into()).read(folder.path(), &variables).unwrap(), "hunter2");
        for (source, why) in [
            (SecretSource::File("empty".into()), "is empty"),
            (SecretSource::File("none".into()), "no such file"),
            (SecretSource::File(".".into()), "it is a folder"),
            (SecretSource::File("/dev/zero".into()), "it is a device"),
            (SecretSource::File("large".into()), "it has more than 1 MiB"),
            (SecretSource::File("binary".into()), "not UTF-8"),
            (SecretSource::Env("NONE".into()), "not set"),
        ] {
            let error = read(source.clone()).unwrap_err();
            assert!(error.contains(why), "{source:?}: {error}");
        }
    }
}
