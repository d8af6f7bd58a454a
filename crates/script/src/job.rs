//! Construction of the job that runs a script.

use thiserror::Error;
use windlass_driver::{Location, Package, PoolSecrets};
use windlass_executor::{Job, NameError, Network, OnOwnerDeath, VolumeName, WorkPath, WorkPathError};

use crate::role::Role;
use crate::scripts::{FOLDER, ScriptFile};
use crate::settings::Settings;
use crate::style::Adapter;

/// The reason why no job can be built for a script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum JobRefusal {
    /// A file of the package has an unusable path.
    #[error("the file `{FOLDER}/{path}` can't be placed: {source}")]
    File {
        /// The path relative to [`FOLDER`].
        path: String,
        source: WorkPathError,
    },
    /// A volume of the location has an invalid name.
    #[error("the volume `{name}` of the location `{location}` can't be mounted: {source}")]
    Volume {
        /// The name of the volume in `windlass.yaml`.
        name: String,
        location: String,
        source: NameError,
    },
    /// The script has no executable bit.
    #[error("the script `{FOLDER}/{path}` has no run bit: `chmod +x` it")]
    NotExecutable {
        /// The path relative to [`FOLDER`].
        path: String,
    },
}

/// Returns the job that runs a script. The caller adds the input of the script, and sets the [`fate`] of the job.
///
/// The working folder of the job contains a copy of the package's folder [`FOLDER`], with executable bits. The job
/// starts a script of the package by its path in this copy. So the script can use the other files of the folder, such
/// as `lib/protocol.sh`, but can't change them for other jobs.
///
/// No part of the input document appears in the arguments or in the environment of the job.
pub(crate) fn job(
    script: ScriptFile<'_>,
    package: &Package,
    location: &Location,
    settings: Settings,
) -> Result<Job, JobRefusal> {
    if script.file.is_some_and(|file| !file.executable) {
        return Err(JobRefusal::NotExecutable { path: script.path.to_owned() });
    }
    let program = match settings.adapter {
        Adapter::Direct => program(script),
        Adapter::Invoke => INVOKE.to_owned(),
    };
    let mut job = Job::command(program).timeout(settings.timeout).network(network(location));
    job.limits = job.limits.within(&location.limits).within(&settings.bounds);
    let job = with_files(job, package)?;
    let mut job = with_volumes(job, location)?;
    for (name, value) in &location.environment {
        job = job.env(name, value);
    }
    Ok(match &location.image {
        Some(image) => job.image(image),
        None => job,
    })
}

/// The path of the adapter in images of the Tonomi platform.
const INVOKE: &str = "/invoke.py";

/// Returns the path by which a job starts a script. If the script is a file of the package, the path is relative to the
/// working folder of the job. If the script is a program in the image of the location, the path is the path in the
/// image.
pub(crate) fn program(script: ScriptFile<'_>) -> String {
    match script.file {
        // A name without a slash would be searched in `PATH`.
        Some(_) if !script.path.contains('/') => format!("./{}", script.path),
        _ => script.path.to_owned(),
    }
}

/// Makes a job [run alone](Job::alone()) in its container if the input of the job contains `secrets`. If the location
/// declares `pool-secrets: shared`, the job may share its container with other jobs in spite of the secrets.
pub(crate) fn with_secrets(location: &Location, secrets: &[String], job: Job) -> Job {
    match location.pool_secrets {
        PoolSecrets::Fresh if !secrets.is_empty() => job.alone(),
        _ => job,
    }
}

/// Returns what happens to a script's job if the windlass program that started the job dies.
///
/// A script that changes something runs to its end, because a partial change is worse than a complete one. The next
/// windlass program reads the result of the script. A read-only script is killed, because it can be repeated.
pub(crate) fn fate(role: &Role) -> OnOwnerDeath {
    if role.reads_only() { OnOwnerDeath::Kill } else { OnOwnerDeath::Finish }
}

fn with_files(mut job: Job, package: &Package) -> Result<Job, JobRefusal> {
    for (path, file) in package.files_below(FOLDER) {
        let place: WorkPath =
            path.parse().map_err(|source| JobRefusal::File { path: path.to_owned(), source })?;
        // The runtime may run the script as any user, so all users may read it. A package contains no
        // secrets.
        let mode = if file.executable { 0o755 } else { 0o644 };
        job = job.file_with_mode(place, mode, file.content.as_slice());
    }
    Ok(job)
}

fn with_volumes(mut job: Job, location: &Location) -> Result<Job, JobRefusal> {
    for (name, path) in &location.volumes {
        let volume: VolumeName = name.parse().map_err(|source| JobRefusal::Volume {
            name: name.clone(),
            location: location.name.clone(),
            source,
        })?;
        job = job.volume(volume, path);
    }
    Ok(job)
}

/// Returns the network of a location. If the location names no network, the runtime decides: a container gets
/// no network, and a process uses the network of the host.
fn network(location: &Location) -> Network {
    match location.network.as_deref() {
        None => Network::Default,
        Some("none") => Network::None,
        Some("bridge") => Network::Bridge,
        Some("host") => Network::Host,
        Some(name) => Network::Named(name.to_owned()),
    }
}
