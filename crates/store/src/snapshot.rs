//! What is read back.

use std::collections::BTreeMap;

use windlass_model::record::{
    AssemblyRecord, CallRecord, ElementRecord, InstanceRecord, JobRecord, PairKey, PairRecord, ProcessRecord,
    StepRecord,
};
use windlass_model::{CallId, ElementName};
use windlass_secret::{SecretRef, Sensitive};

/// An assembly as the engine finds it: all that it needs to go on.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The assembly.
    pub assembly: AssemblyRecord,
    /// How far its elements have come.
    pub elements: BTreeMap<ElementName, ElementRecord>,
    /// What the drivers report of them.
    pub instances: BTreeMap<ElementName, InstanceRecord>,
    /// Its relationships, node by node.
    pub pairs: BTreeMap<PairKey, PairRecord>,
    /// The processes that have not ended, oldest first.
    pub processes: Vec<ProcessRecord>,
    /// The calls that still have to be settled, in the order in which they were first recorded.
    pub calls: Vec<CallRecord>,
    /// The jobs of these calls, each once, in the order in which they were first recorded.
    pub jobs: Vec<JobRecord>,
    /// The values of its secrets.
    pub secrets: BTreeMap<SecretRef, Sensitive<Vec<u8>>>,
}

impl Snapshot {
    /// Returns the jobs of each open call; a job that serves many calls is found under each.
    pub fn jobs_by_call(&self) -> BTreeMap<&CallId, Vec<&JobRecord>> {
        by_call(&self.jobs)
    }
}

/// What was done for an assembly, and for earlier ones of its name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// The processes, oldest first.
    pub processes: Vec<ProcessHistory>,
}

/// What was done in one process.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessHistory {
    /// The process.
    pub process: ProcessRecord,
    /// Its steps, by number.
    pub steps: Vec<StepRecord>,
    /// Their calls, in the order in which they were first recorded.
    pub calls: Vec<CallRecord>,
    /// The jobs of these calls, each once, in the order in which they were first recorded.
    pub jobs: Vec<JobRecord>,
}

impl ProcessHistory {
    /// Returns the jobs of each call; a job that serves many calls is found under each.
    pub fn jobs_by_call(&self) -> BTreeMap<&CallId, Vec<&JobRecord>> {
        by_call(&self.jobs)
    }
}

fn by_call(jobs: &[JobRecord]) -> BTreeMap<&CallId, Vec<&JobRecord>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for job in jobs {
        for call in &job.calls {
            found.entry(call).or_default().push(job);
        }
    }
    found
}
