//! The definition of a job's container, as the client sends it to the container engine. This module does no
//! I/O.

use std::collections::HashMap;

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig, Mount, MountType, MountVolumeOptions,
    ResourcesUlimits,
};

use sha2::{Digest, Sha256};

use crate::{
    Capability, Job, JobError, JobId, JobProblem, Limits, Network, Owner, Root, User, Volume, VolumeName,
    docker::{Description, DockerOptions, EngineKind, input::FOLDER},
};

/// Mount point of the static program (`docker/init`) in every container.
pub(crate) const TOOLS: &str = "/.windlass";
pub(crate) const INIT: &str = "/.windlass/init";

/// Returns the name of a job's container.
pub(crate) fn name(id: &JobId) -> String {
    format!("windlass-{id}")
}

/// Returns the name of a volume on the container engine. The name contains the owner: several projects may
/// share an engine, but they do not share volumes.
pub(crate) fn volume_name(owner: &Owner, volume: &Volume) -> String {
    format!("{}{}-{}", VOLUME, in_names(owner), volume.name)
}

/// Returns the name of the marker of `volume`. The marker is a second, empty volume, and exists only while `volume` is
/// being prepared. If the client is killed meanwhile, the marker remains, and another client prepares `volume` again.
pub(crate) fn preparing_name(owner: &Owner, volume: &Volume) -> String {
    format!("windlass-preparing-{}-{}", in_names(owner), volume.name)
}

/// Returns the name that earlier versions of windlass gave to a volume. The name does not contain the owner.
pub(crate) fn former_volume_name(volume: &Volume) -> String {
    format!("{VOLUME}{}", volume.name)
}

const VOLUME: &str = "windlass-volume-";

/// Converts an owner into a part of the name of a volume. ASCII letters, digits, `.` and `_` stay, and every other
/// character becomes `_`. If a character was replaced, a digest of the owner is appended. So the texts for two
/// different owners differ.
fn in_names(owner: &Owner) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let text = owner.as_str();
    if text.chars().all(fits) {
        return text.to_owned();
    }
    let digest = Sha256::digest(text.as_bytes());
    let plain: String = text.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    format!("{plain}.{}", hex::encode(&digest[..6]))
}

/// Checks whether a job can run in a container. For example, the container needs an image.
pub(crate) fn check(job: &Job, options: &DockerOptions) -> Result<(), JobError> {
    let mut problems = Vec::new();
    if job.image.is_none() && options.image.is_none() {
        problems.push(JobProblem::NoImage);
    }
    problems.extend(volume_problems(job));
    if problems.is_empty() { Ok(()) } else { Err(JobError { problems }) }
}

/// Returns the mistakes in the mount points of a job's volumes.
pub(crate) fn volume_problems(job: &Job) -> Vec<JobProblem> {
    job.volumes.iter().filter_map(|volume| volume_problem(&volume.name, &volume.path)).collect()
}

/// Returns the problem of a volume whose mount point is malformed, or reserved for the runtime. The runtime refuses jobs
/// with such a volume.
pub fn volume_problem(name: &VolumeName, path: &str) -> Option<JobProblem> {
    let trimmed = path.trim_end_matches('/');
    let is_taken =
        ["/tmp", FOLDER, TOOLS].iter().any(|own| trimmed == *own || trimmed.starts_with(&format!("{own}/")));
    let is_malformed = trimmed.split('/').skip(1).any(|part| matches!(part, "" | "." | ".."));
    (!trimmed.starts_with('/') || is_taken || is_malformed)
        .then(|| JobProblem::VolumePath { name: name.clone(), path: path.to_owned() })
}

/// The parameters of a job's container, in addition to the job.
pub(crate) struct ContainerContext<'a> {
    pub(crate) options: &'a DockerOptions,
    pub(crate) engine: &'a Description,
    /// Id of the image.
    pub(crate) image: String,
    pub(crate) labels: HashMap<String, String>,
    /// Name of the anchor, a container that the client keeps running. The anchor's volume contains the static
    /// program `docker/init`, which the container of each job runs as its first process. Jobs without a network
    /// of their own use the anchor's network.
    pub(crate) anchor: &'a str,
    /// Name of the container that has created a volume to which the user of the job can write. The job's
    /// container takes over this volume. If the name is `None`, the job's container creates its volume itself.
    pub(crate) scratch: Option<&'a str>,
}

/// Builds the definition of a job's container.
pub(crate) fn body(job: &Job, context: ContainerContext<'_>) -> ContainerCreateBody {
    let ContainerContext { options, engine, image, labels, anchor, scratch } = context;
    let mut volumes_from = vec![format!("{anchor}:ro")];
    volumes_from.extend(scratch.map(|scratch| format!("{scratch}:rw")));
    let mut host = strict(engine);
    limit(&mut host, &job.limits, options, engine, OWN_THREADS);
    host.tmpfs = Some(tmp(job.isolation.tmp_bytes.unwrap_or(options.tmp_bytes)));
    host.network_mode = Some(network(&job.network, anchor));
    host.readonly_rootfs = Some(job.isolation.root == Root::ReadOnly);
    host.cap_add = Some(job.isolation.capabilities.iter().cloned().collect());
    host.volumes_from = Some(volumes_from);
    host.mounts = Some(job.volumes.iter().map(|volume| mount(&job.owner, volume)).collect());
    host.cgroup_parent.clone_from(&options.cgroup_parent);
    ContainerCreateBody {
        image: Some(image),
        entrypoint: Some(vec![INIT.to_owned()]),
        cmd: Some(Vec::new()),
        user: Some(user(job.user.unwrap_or(options.user))),
        working_dir: Some("/".to_owned()),
        volumes: scratch.is_none().then(|| vec![FOLDER.to_owned()]),
        labels: Some(labels),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(false),
        tty: Some(false),
        healthcheck: Some(no_health_check()),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    }
}

/// Switches the health check of an image off. Otherwise the check would run as a program beside the job.
pub(crate) fn no_health_check() -> HealthConfig {
    HealthConfig { test: Some(vec!["NONE".to_owned()]), ..HealthConfig::default() }
}

/// Returns a host configuration with the strictest isolation. If a job requests less isolation, the caller changes
/// the configuration accordingly.
pub(crate) fn strict(engine: &Description) -> HostConfig {
    let unlimited = [("max-size", "1024g"), ("max-file", "1")];
    let unlimited = || unlimited.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let is_docker = engine.kind == EngineKind::Docker;
    HostConfig {
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(vec!["no-new-privileges".to_owned()]),
        readonly_rootfs: Some(true),
        // Podman gets no ulimits in the request. With one ulimit in the request, Podman drops its own
        // configured limits and raises other limits above the permitted values.
        ulimits: is_docker
            .then(|| vec![ResourcesUlimits { name: Some("core".to_owned()), soft: Some(0), hard: Some(0) }]),
        // The log is practically never rotated. A rotated log would lose its first lines, which are needed
        // for the outcome. The first process limits the output of the job.
        log_config: Some(HostConfigLogConfig {
            typ: Some("json-file".to_owned()),
            config: is_docker.then(unlimited),
        }),
        ..HostConfig::default()
    }
}

/// Sets the limits of a container as far as the engine enforces them. If the job does not set a limit, the limit in
/// `options` applies. `own` is the number of processes and threads in the container that do not belong to the job.
pub(crate) fn limit(
    host: &mut HostConfig,
    limits: &Limits,
    options: &DockerOptions,
    engine: &Description,
    own: i64,
) {
    let enforces = |capability| engine.capabilities.contains(&capability);
    if enforces(Capability::MemoryLimit) {
        let bytes = limits.memory_bytes.unwrap_or(options.memory_bytes);
        host.memory = Some(i64::try_from(bytes).unwrap_or(i64::MAX));
        // Equal values mean that the container gets no swap.
        host.memory_swap = host.memory;
    }
    if enforces(Capability::PidsLimit) {
        host.pids_limit = Some(i64::from(limits.pids.unwrap_or(options.pids)) + own);
    }
    if enforces(Capability::CpuLimit) {
        let processors = u32::try_from(engine.processors).unwrap_or(1).saturating_mul(1000);
        let millis = limits.cpu_millis.unwrap_or(options.cpu_millis).min(processors);
        host.nano_cpus = Some(i64::from(millis) * 1_000_000);
    }
}

/// Returns the setting for a file system in memory at `/tmp` in a container, with a maximum size of `bytes`.
pub(crate) fn tmp(bytes: u64) -> HashMap<String, String> {
    [("/tmp".to_owned(), format!("rw,nosuid,nodev,exec,mode=1777,size={bytes}"))].into()
}

/// Number of threads of the first process while a job runs: the main thread, one for stdout, one for stderr, one
/// for signals, one for the client's connection, and one that reaps processes.
const OWN_THREADS: i64 = 6;

fn network(network: &Network, anchor: &str) -> String {
    match network {
        // If a job has no network, its container uses the network of the client's anchor (see `tools`), with
        // only the loopback device. Creating a network for each container would double the time in which a
        // container starts.
        Network::Default | Network::None => format!("container:{anchor}"),
        Network::Bridge => "bridge".to_owned(),
        Network::Host => "host".to_owned(),
        Network::Named(name) => name.clone(),
    }
}

fn mount(owner: &Owner, volume: &Volume) -> Mount {
    mount_of(volume_name(owner, volume), volume.path.clone())
}

/// Returns the mount of the volume `name` at `path` in a container. An empty volume stays empty: the container engine
/// does not copy the image's files at `path` to the volume.
pub(crate) fn mount_of(name: String, path: String) -> Mount {
    Mount {
        typ: Some(MountType::VOLUME),
        source: Some(name),
        target: Some(path),
        volume_options: Some(MountVolumeOptions { no_copy: Some(true), ..MountVolumeOptions::default() }),
        ..Mount::default()
    }
}

/// Returns a user in the notation of container engines.
pub(crate) fn user(user: User) -> String {
    match user.gid {
        Some(gid) => format!("{}:{gid}", user.uid),
        None => user.uid.to_string(),
    }
}
