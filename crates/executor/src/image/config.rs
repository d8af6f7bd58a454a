//! The config of an image, which states how the programs of the image are run.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Digest;

/// The settings with which the programs of an image are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageConfig {
    /// Environment variables for the programs of the image, by name.
    pub env: BTreeMap<String, String>,
    /// Entry point of the image: a program with its first arguments.
    pub entrypoint: Vec<String>,
    /// Default command of the image: arguments of the entry point, or a program with arguments if the image has no
    /// entry point.
    pub cmd: Vec<String>,
    /// User that runs the programs, such as `app` or `1000`. A group may follow, as in `1000:1000`. `None` if the
    /// config names no user.
    pub user: Option<String>,
    /// Folder in which the programs of the image are started. `None` if the config names no folder.
    pub working_dir: Option<String>,
    /// Labels for people and tools.
    pub labels: BTreeMap<String, String>,
    /// Processor architecture in the notation of Go, such as `amd64`.
    pub architecture: String,
    /// Operating system that the image is for.
    pub os: String,
}

impl ImageConfig {
    /// Returns the user and the group, if the image names the user by number. The group is `None` if the image names
    /// no group, or does not name the group by number.
    pub fn numeric_user(&self) -> Option<(u32, Option<u32>)> {
        let user = self.user.as_deref()?;
        let (user, group) = user.split_once(':').map_or((user, None), |(user, group)| (user, Some(group)));
        Some((user.parse().ok()?, group.and_then(|group| group.parse().ok())))
    }
}

/// The part of the config document that this crate uses (OCI image spec, config.md; the format of docker is
/// the same).
#[derive(Debug, Deserialize)]
pub(crate) struct ConfigFile {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
    #[serde(default)]
    config: Option<Run>,
    rootfs: RootFs,
}

#[derive(Debug, Deserialize)]
struct RootFs {
    #[serde(default)]
    diff_ids: Vec<Digest>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Run {
    #[serde(default)]
    env: Option<Vec<String>>,
    #[serde(default)]
    entrypoint: Option<Vec<String>>,
    #[serde(default)]
    cmd: Option<Vec<String>>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    working_dir: Option<String>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
}

impl ConfigFile {
    /// Returns the digests of the uncompressed layers, the lowest first.
    pub(crate) fn diff_ids(&self) -> &[Digest] {
        &self.rootfs.diff_ids
    }

    pub(crate) fn into_config(self) -> ImageConfig {
        let run = self.config.unwrap_or_default();
        let pair = |variable: String| {
            variable.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        let said = |text: Option<String>| text.filter(|text| !text.is_empty());
        ImageConfig {
            env: run.env.unwrap_or_default().into_iter().filter_map(pair).collect(),
            entrypoint: run.entrypoint.unwrap_or_default(),
            cmd: run.cmd.unwrap_or_default(),
            user: said(run.user),
            working_dir: said(run.working_dir),
            labels: run.labels.unwrap_or_default(),
            architecture: self.architecture,
            os: self.os,
        }
    }
}

/// Returns the architecture of this host in the notation of Go.
pub(crate) fn host_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_not_there() {
        let config: ConfigFile =
            serde_json::from_str(r#"{"config":{"Env":["A=1","B=x=y"],"User":"","Cmd":null},"rootfs":{}}"#)
                .unwrap();
        let config = config.into_config();
        assert_eq!((config.env["A"].as_str(), config.env["B"].as_str()), ("1", "x=y"));
        assert_eq!((config.user, config.cmd.len()), (None, 0));
    }

    #[test]
    fn a_user_counts_by_number_only() {
        let user =
            |text: &str| ImageConfig { user: Some(text.to_owned()), ..ImageConfig::default() }.numeric_user();
        assert_eq!(user("7"), Some((7, None)));
        assert_eq!(user("7:8"), Some((7, Some(8))));
        assert_eq!(user("app"), None);
    }
}
