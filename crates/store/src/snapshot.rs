//! The records that a store reads for its callers.

use std::collections::BTreeMap;

use windlass_model::record::{
    AssemblyRecord, CallRecord, ElementRecord, InstanceRecord, JobRecord, PairKey, PairRecord, ProcessRecord,
    StepRecord,
};
use windlass_model::{AssemblyName, CallId, ElementName};
use windlass_secret::{SecretRef, Sensitive};

/// An assembly with all records that the engine needs to resume work on it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The record of the assembly.
    pub assembly: AssemblyRecord,
    /// The records of the assembly's elements.
    pub elements: BTreeMap<ElementName, ElementRecord>,
    /// The instances of the assembly's elements, as the drivers have reported them.
    pub instances: BTreeMap<ElementName, InstanceRecord>,
    /// The pairs of the assembly. A pair is a relationship between one source element and one target element.
    pub pairs: BTreeMap<PairKey, PairRecord>,
    /// The processes that have not ended, oldest first.
    pub processes: Vec<ProcessRecord>,
    /// The open calls, in the order in which they were first recorded.
    pub calls: Vec<CallRecord>,
    /// The jobs of the open calls, each once, in the order in which they were first recorded.
    pub jobs: Vec<JobRecord>,
    /// The values of the assembly's secrets.
    pub secrets: BTreeMap<SecretRef, Sensitive<Vec<u8>>>,
}

impl Snapshot {
    /// Returns the jobs of each open call. A job that serves several calls appears under each of them.
    pub fn jobs_by_call(&self) -> BTreeMap<&CallId, Vec<&JobRecord>> {
        by_call(&self.jobs)
    }
}

/// The processes of an assembly, and of earlier assemblies with the same name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// The processes, oldest first.
    pub processes: Vec<ProcessHistory>,
}

/// One process with its steps, calls and jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessHistory {
    /// The record of the process.
    pub process: ProcessRecord,
    /// The steps of the process, by number.
    pub steps: Vec<StepRecord>,
    /// The calls of the steps, in the order in which they were first recorded.
    pub calls: Vec<CallRecord>,
    /// The jobs of the calls, each once, in the order in which they were first recorded.
    pub jobs: Vec<JobRecord>,
}

impl ProcessHistory {
    /// Returns the jobs of each call. A job that serves several calls appears under each of them.
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

/// An assembly that belongs to another assembly, its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// The name of the owned assembly.
    pub assembly: AssemblyName,
    /// The natural id of the assembly; none if no id was [claimed](crate::Store::claim).
    pub natural_id: Option<String>,
}
