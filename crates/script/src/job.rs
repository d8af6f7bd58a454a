//! From a script to the job that runs it.

use thiserror::Error;
use windlass_driver::{Call, Location, Package, PoolSecrets};
use windlass_executor::{Job, NameError, Network, OnOwnerDeath, VolumeName, WorkPath, WorkPathError};

use crate::role::Role;
use crate::scripts::{FOLDER, ScriptFile};
use crate::settings::Settings;

/// A script that no runtime could be given.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum JobRefusal {
    /// A file of the package can't be placed.
    #[error("the file `{FOLDER}/{path}` can't be placed: {source}")]
    File {
        /// The path from [`FOLDER`].
        path: String,
        /// Why not.
        source: WorkPathError,
    },
    /// A volume of the location has no valid name.
    #[error("the volume `{name}` of the location `{location}` can't be mounted: {source}")]
    Volume {
        /// The volume.
        name: String,
        /// The location.
        location: String,
        /// Why not.
        source: NameError,
    },
    /// The script has no run bit.
    #[error("the script `{FOLDER}/{path}` has no run bit: `chmod +x` it")]
    NotExecutable {
        /// The path from [`FOLDER`].
        path: String,
    },
}

/// Returns the job that runs a script with this document on its stdin.
///
/// All of the package's folder for this driver is placed in the working folder, with its run bits, and the script is
/// started there by its relative path; so it finds its neighbours (`. lib/protocol.sh`) and can't change them for
/// others. Nothing of the document goes into arguments or environment.
///
/// A script that changes something runs to its end when its owner dies: half of a change is worse than all of it, and
/// the next owner counts what it finds. One that only looks is ended, since looking again costs nothing.
pub(crate) fn job(
    script: ScriptFile<'_>,
    package: &Package,
    location: &Location,
    settings: Settings,
) -> Result<Job, JobRefusal> {
    if !script.file.executable {
        return Err(JobRefusal::NotExecutable { path: script.path.to_owned() });
    }
    let mut job = Job::command(script.path).timeout(settings.timeout).network(network(location));
    job.limits = job.limits.within(&location.limits).within(&settings.bounds);
    let job = with_files(job, package)?;
    let job = with_volumes(job, location)?;
    Ok(match &location.image {
        Some(image) => job.image(image),
        None => job,
    })
}

/// Keeps the secrets of a call out of containers that other jobs were in or will be in, unless the location lets them in.
pub(crate) fn with_secrets_of(call: &Call, job: Job) -> Job {
    match call.location.pool_secrets {
        PoolSecrets::Fresh if !call.secrets().is_empty() => job.alone(),
        _ => job,
    }
}

/// Returns what becomes of the job of a script when its owner dies.
pub(crate) fn fate(role: &Role) -> OnOwnerDeath {
    if role.reads_only() { OnOwnerDeath::Kill } else { OnOwnerDeath::Finish }
}

fn with_files(mut job: Job, package: &Package) -> Result<Job, JobRefusal> {
    for (path, file) in package.files_below(FOLDER) {
        let place: WorkPath =
            path.parse().map_err(|source| JobRefusal::File { path: path.to_owned(), source })?;
        // Whoever the runtime chooses to run it may read it; secrets are never in a package.
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

/// A location without a network leaves it to the runtime: none in a container, the host's for a process.
fn network(location: &Location) -> Network {
    match location.network.as_deref() {
        None => Network::Default,
        Some("none") => Network::None,
        Some("bridge") => Network::Bridge,
        Some("host") => Network::Host,
        Some(name) => Network::Named(name.to_owned()),
    }
}
