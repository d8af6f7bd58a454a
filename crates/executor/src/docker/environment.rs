//! The environment variables that select a container engine.

use std::{collections::BTreeMap, path::PathBuf};

/// The variables of the user's environment by which this crate finds a container engine, for example
/// `DOCKER_HOST`.
///
/// The embedding program reads the variables, and passes them to this crate as an `Environment`. So the
/// endpoint of the container engine depends only on arguments.
///
/// ```
/// use windlass_executor::docker::Environment;
///
/// let environment: Environment = [("DOCKER_HOST", "tcp://build-1:2375")].into_iter().collect();
/// assert_eq!(environment.get("DOCKER_HOST"), Some("tcp://build-1:2375"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Variables that this crate reads. A credential helper inherits the environment of this process, and may
    /// read other variables there.
    pub const READ: [&'static str; 8] = [
        "DOCKER_HOST",
        "DOCKER_CONTEXT",
        "DOCKER_CONFIG",
        "DOCKER_TLS_VERIFY",
        "DOCKER_CERT_PATH",
        "HOME",
        "PATH",
        "XDG_RUNTIME_DIR",
    ];

    /// Returns a variable. An empty value counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the folder of the Docker client's configuration: `DOCKER_CONFIG`, or, if this variable is not
    /// set, `.docker` in the home folder.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        let named = self.get("DOCKER_CONFIG").map(PathBuf::from);
        named.or_else(|| Some(PathBuf::from(self.get("HOME")?).join(".docker")))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
