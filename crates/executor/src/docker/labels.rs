//! The labels of a container. They contain everything that another client needs to find a job and to read its
//! outcome.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Job, JobId, Limits, Network, OnOwnerDeath, OutputRequest, Owner, Root};

/// Label with the id of the job.
pub(crate) const JOB: &str = "io.windlass.job";
/// Label with the owner of a job or of a volume.
pub(crate) const OWNER: &str = "io.windlass.owner";
/// Label with the name of the client that created the container. All containers have this label, except the warm
/// containers of a [pool](crate::pool).
pub(crate) const CLIENT: &str = "io.windlass.client";
/// Label with the role of a volume, or of a container that runs no job. Example: `anchor`.
pub(crate) const ROLE: &str = "io.windlass.role";
const RECORD: &str = "io.windlass.record";
const RELAXED: &str = "io.windlass.relaxed";

/// The properties of a job that are stored in a label of its container. Other clients need these properties to
/// build the outcome of the job. The properties contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    pub(crate) limits: Limits,
    pub(crate) outputs: Vec<OutputRequest>,
    pub(crate) program: String,
    pub(crate) on_owner_death: OnOwnerDeath,
    pub(crate) digest: Option<String>,
}

impl Record {
    pub(crate) fn new(job: &Job, digest: Option<String>) -> Self {
        Self {
            version: 1,
            limits: job.limits.clone(),
            outputs: job.outputs.clone(),
            program: job.program.clone(),
            on_owner_death: job.on_owner_death,
            digest,
        }
    }

    /// Reads the record from a container's labels; `None` if another program created the container.
    pub(crate) fn read(labels: &HashMap<String, String>) -> Option<Self> {
        serde_json::from_str(labels.get(RECORD)?).ok()
    }
}

/// Returns all labels of a job's container: those of this module, and those of the job itself. The label `team` of a
/// job becomes `io.windlass.label.team`.
pub(crate) fn of_job(id: &JobId, job: &Job, record: &Record, client: &str) -> HashMap<String, String> {
    let mut labels: HashMap<_, _> =
        job.labels.iter().map(|(name, value)| (format!("io.windlass.label.{name}"), value.clone())).collect();
    labels.insert(JOB.to_owned(), id.to_string());
    labels.insert(OWNER.to_owned(), job.owner.to_string());
    labels.insert(CLIENT.to_owned(), client.to_owned());
    labels.insert(RECORD.to_owned(), serde_json::to_string(record).expect("plain data becomes JSON"));
    let relaxed = relaxations(job);
    if !relaxed.is_empty() {
        labels.insert(RELAXED.to_owned(), relaxed.join(","));
    }
    labels
}

/// Returns the labels of a container that runs no job.
pub(crate) fn of_role(role: &str, client: &str) -> HashMap<String, String> {
    [(ROLE, role), (CLIENT, client)].map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Lists the settings of a job that weaken its isolation, such as `network=host`. A person can read this list in the
/// label `io.windlass.relaxed` of the job's container.
fn relaxations(job: &Job) -> Vec<String> {
    let mut relaxed = Vec::new();
    match &job.network {
        Network::Default | Network::None => {}
        Network::Bridge => relaxed.push("network=bridge".to_owned()),
        Network::Host => relaxed.push("network=host".to_owned()),
        Network::Named(name) => relaxed.push(format!("network={name}")),
    }
    if job.isolation.root == Root::Writable {
        relaxed.push("root=writable".to_owned());
    }
    if let Some(user) = job.user.filter(|user| user.uid == 0) {
        relaxed.push(format!("user={}", user.uid));
    }
    relaxed.extend(job.isolation.capabilities.iter().map(|name| format!("capability={name}")));
    relaxed
}

/// Reads the id and the owner of a job from the labels of its container. Returns `None` if one of the two labels is
/// missing or malformed.
pub(crate) fn job_of(labels: &HashMap<String, String>) -> Option<(JobId, Owner)> {
    Some((labels.get(JOB)?.parse().ok()?, labels.get(OWNER)?.parse().ok()?))
}
