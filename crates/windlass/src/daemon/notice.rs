//! The notices that the daemon reports.

use windlass_model::record::ProcessStatus;
use windlass_model::{AssemblyName, ProcessId, RequestId};

/// An observation or action of the daemon.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Notice {
    /// The daemon monitors an assembly. Reported again when its policies read other metrics.
    Watches {
        /// The assembly.
        assembly: AssemblyName,
        /// The metrics that its policies read, sorted.
        metrics: Vec<String>,
    },
    /// A process executes the demand of a policy.
    Acts {
        /// The assembly.
        assembly: AssemblyName,
        /// The action, such as `scale out B`.
        what: String,
        /// The reason.
        because: String,
    },
    /// A policy demands to heal a part although earlier heals did not help. The daemon ignores the demand
    /// until the part reports that it is well, or the assembly is changed.
    GivesUp {
        /// The assembly.
        assembly: AssemblyName,
        /// The part, by its name relative to the assembly.
        part: String,
        /// Number of heals that did not help.
        times: u32,
        /// The reason for the demand.
        because: String,
    },
    /// A health check found a part that differs from its record, and no policy heals it.
    Unwell {
        /// The assembly.
        assembly: AssemblyName,
        /// The part, by its name relative to the assembly.
        part: String,
        /// The observed state.
        seen: String,
    },
    /// A part that was reported as [unwell](Self::Unwell) matches its record again.
    Well {
        /// The assembly.
        assembly: AssemblyName,
        /// The part, by its name relative to the assembly.
        part: String,
    },
    /// The health check of an application fails. Reported again when it fails in another way.
    CheckFails {
        /// The application.
        assembly: AssemblyName,
        /// The failure.
        why: String,
    },
    /// The health check of an application that [failed](Self::CheckFails) works again.
    CheckWorks {
        /// The application.
        assembly: AssemblyName,
    },
    /// The health check of an application says that it no longer exists. Its records are removed.
    Destroyed {
        /// The application.
        assembly: AssemblyName,
    },
    /// A demand of a policy or a request can't be executed.
    Refused {
        /// The assembly.
        assembly: AssemblyName,
        /// The demand.
        what: String,
        /// The reason.
        why: String,
    },
    /// The daemon begins a request.
    TakesUp {
        /// The assembly.
        assembly: AssemblyName,
        /// The request.
        request: RequestId,
        /// The requested action, such as `scale out B`.
        what: String,
        /// The requester.
        by: String,
    },
    /// The daemon resumes an interrupted process.
    GoesOn {
        /// The assembly.
        assembly: AssemblyName,
        /// The process.
        process: ProcessId,
        /// The intent of the process.
        what: String,
    },
    /// A process has ended.
    Ended {
        /// The assembly.
        assembly: AssemblyName,
        /// The process.
        process: ProcessId,
        /// Its final status.
        status: ProcessStatus,
    },
    /// The daemon was asked to stop, and waits for running processes.
    Stopping {
        /// The assemblies with a running process.
        at_work: Vec<AssemblyName>,
    },
    /// A failure of something that is retried.
    Trouble(String),
    /// The store works again after [trouble](Self::Trouble).
    Back {
        /// The kind of the store.
        store: &'static str,
    },
}
