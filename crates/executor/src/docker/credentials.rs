//! Reads the registry credentials of the Docker client. Its file `config.json` contains them, or names a helper program
//! that returns them.

use std::{collections::BTreeMap, io, process::Stdio, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bollard::auth::DockerCredentials;
use serde::Deserialize;
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use crate::docker::{EndpointError, Environment, endpoint::read_json};

/// Maximum run time of a helper program. This time is enough to query a keychain. If a helper takes longer, for example
/// because it asks a person for a password, windlass kills the helper.
const HELPER_LIMIT: Duration = Duration::from_secs(20);

/// Key under which the Docker client stores the credentials of the default registry.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// The reason why credentials could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialsError {
    #[error(transparent)]
    Config(#[from] EndpointError),
    #[error("the credentials for `{registry}` in the Docker client's configuration are not understood")]
    Odd { registry: String },
    #[error("the credential helper `{helper}` failed: {problem}")]
    Helper { helper: String, problem: String },
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    auths: BTreeMap<String, Auth>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Auth {
    auth: Option<String>,
    identitytoken: Option<String>,
}

impl std::fmt::Debug for Auth {
    /// Writes no content, since the content is a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Auth")
    }
}

/// The output of a helper program.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Helped {
    username: String,
    secret: String,
}

/// Returns the credentials for the registry of an image. Returns `None` if no credentials are stored; many
/// registries need none.
pub(crate) async fn of(
    image: &str,
    environment: &Environment,
) -> Result<Option<DockerCredentials>, CredentialsError> {
    let Some(path) = environment.config_dir().map(|dir| dir.join("config.json")) else { return Ok(None) };
    let Some(config) = read_json::<Config>(&path)? else { return Ok(None) };
    let registry = registry(image);
    let keys = keys(&registry);
    let helper = keys.iter().find_map(|key| config.cred_helpers.get(key));
    let has_entry = keys.iter().any(|key| config.auths.contains_key(key));
    if let Some(helper) = helper.or(config.creds_store.as_ref().filter(|_| has_entry)) {
        return helped(helper, &keys[0], environment).await.map(Some);
    }
    let Some(auth) = keys.iter().find_map(|key| config.auths.get(key)) else { return Ok(None) };
    written(auth, &registry).map(Some)
}

/// Returns the registry of an image: the first part of the name, if it looks like a host, and `docker.io` for
/// any other name.
fn registry(image: &str) -> String {
    match image.split_once('/') {
        Some((first, _)) if first.contains(['.', ':']) || first == "localhost" => first.to_owned(),
        _ => "docker.io".to_owned(),
    }
}

/// Returns the keys under which a registry's credentials may be stored.
fn keys(registry: &str) -> Vec<String> {
    if registry == "docker.io" {
        return vec![DOCKER_HUB.to_owned(), "docker.io".to_owned(), "index.docker.io".to_owned()];
    }
    vec![registry.to_owned(), format!("https://{registry}"), format!("http://{registry}")]
}

fn written(auth: &Auth, registry: &str) -> Result<DockerCredentials, CredentialsError> {
    let odd = || CredentialsError::Odd { registry: registry.to_owned() };
    let mut credentials =
        DockerCredentials { serveraddress: Some(registry.to_owned()), ..DockerCredentials::default() };
    credentials.identitytoken.clone_from(&auth.identitytoken);
    if let Some(auth) = auth.auth.as_ref().filter(|auth| !auth.is_empty()) {
        let text = STANDARD.decode(auth).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let (user, password) = text.as_deref().and_then(|text| text.split_once(':')).ok_or_else(odd)?;
        credentials.username = Some(user.to_owned());
        credentials.password = Some(password.trim_end_matches('\0').to_owned());
    }
    Ok(credentials)
}

/// Runs the helper program `docker-credential-<helper>` with the argument `get`.
async fn helped(
    helper: &str,
    key: &str,
    environment: &Environment,
) -> Result<DockerCredentials, CredentialsError> {
    let program = format!("docker-credential-{helper}");
    let failed = |problem: String| CredentialsError::Helper { helper: program.clone(), problem };
    let run = async {
        let mut command = Command::new(&program);
        for name in ["PATH", "HOME"] {
            command.envs(environment.get(name).map(|value| (name, value)));
        }
        let mut child = command
            .arg("get")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(key.as_bytes()).await?;
        }
        child.wait_with_output().await
    };
    let output = match timeout(HELPER_LIMIT, run).await {
        Ok(output) => output.map_err(|error: io::Error| failed(error.to_string()))?,
        Err(_) => return Err(failed(format!("it did not answer within {HELPER_LIMIT:?}"))),
    };
    if !output.status.success() {
        // After a failure, the helper's stdout is a message for people and contains no credentials.
        return Err(failed(String::from_utf8_lossy(&output.stdout).trim().to_owned()));
    }
    let answer: Helped = serde_json::from_slice(&output.stdout)
        .map_err(|_| failed("its answer is not understood".to_owned()))?;
    let mut credentials =
        DockerCredentials { serveraddress: Some(key.to_owned()), ..DockerCredentials::default() };
    if answer.username == "<token>" {
        credentials.identitytoken = Some(answer.secret);
    } else {
        (credentials.username, credentials.password) = (Some(answer.username), Some(answer.secret));
    }
    Ok(credentials)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn the_registry_is_what_looks_like_a_host() {
        for (image, expected) in [
            ("busybox", "docker.io"),
            ("library/busybox:1", "docker.io"),
            ("ghcr.io/a/b", "ghcr.io"),
            ("localhost:5000/a", "localhost:5000"),
        ] {
            assert_eq!(registry(image), expected);
        }
    }

    #[tokio::test]
    async fn credentials_come_from_the_file_or_from_a_helper() {
        let home = tempfile::tempdir().unwrap();
        let config = r#"{"auths":{"a.example":{"auth":"dXNlcjpwYXNz"},"https://index.docker.io/v1/":{"auth":"aHViOng="}},"credHelpers":{"b.example":"test"}}"#;
        fs::write(home.path().join("config.json"), config).unwrap();
        let helper = home.path().join("docker-credential-test");
        fs::write(
            &helper,
            "#!/bin/sh\nread key; printf '{\"Username\":\"from\",\"Secret\":\"%s\"}' \"$key\"",
        )
        .unwrap();
        fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
        let dir = home.path().to_str().unwrap();
        let path = format!("{dir}:/usr/bin:/bin");
        let environment = [("DOCKER_CONFIG", dir), ("PATH", &path)].into_iter().collect();
        let login = async |image: &str| {
            let found = of(image, &environment).await.unwrap()?;
            Some(format!("{}:{}", found.username?, found.password?))
        };
        assert_eq!(login("a.example/x").await.as_deref(), Some("user:pass"));
        assert_eq!(login("x").await.as_deref(), Some("hub:x"));
        assert_eq!(login("b.example/x:1").await.as_deref(), Some("from:b.example"));
        assert_eq!(login("c.example/x").await, None);
    }
}
