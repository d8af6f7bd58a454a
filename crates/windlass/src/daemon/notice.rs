//! The notices that the daemon reports.

use windlass_model::instance::Status;
use windlass_model::record::ProcessStatus;
use windlass_model::{AssemblyName, ProcessId, RequestId};

/// The duty `health check`, as [`Notice::CheckFails`] names it.
pub(super) const HEALTH_CHECK: &str = "health check";

/// The health check of all applications of a factory, as [`Notice::CheckFails`] names it.
pub(super) const CHECK_OF_APPLICATIONS: &str = "health check of its applications";

/// The duty `discovery`, as [`Notice::CheckFails`] names it.
pub(super) const DISCOVERY: &str = "discovery";

/// An observation or action of the daemon.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Notice {
    /// The daemon monitors an assembly. If the policies of the assembly later read different metrics, the
    /// daemon repeats the notice.
    Watches {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The metrics that the assembly's policies read, sorted.
        metrics: Vec<String>,
    },
    /// The daemon starts an intent that a policy demands, or a rollback that a failed process demands.
    Acts {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The action, such as `scale out B`.
        what: String,
        /// The reason for the demand.
        because: String,
    },
    /// The daemon stops healing a part, because the part has not recovered after several attempts. A policy still
    /// demands to heal the part. The daemon ignores this demand until a measurement shows that the part is healthy, or
    /// until an intent changes the assembly.
    GivesUp {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The part, by its name relative to the assembly.
        part: String,
        /// The number of times that the daemon has healed the part without success.
        times: u32,
        /// The reason for the demand.
        because: String,
    },
    /// A health check found a part that differs from its record, and no policy heals the part.
    Unwell {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The part, by its name relative to the assembly.
        part: String,
        /// The state that the health check observed.
        seen: String,
    },
    /// A part that was reported as [unwell](Self::Unwell) matches its record again.
    Well {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The part, by its name relative to the assembly.
        part: String,
    },
    /// One of four duties has failed: the health check of an application, the health check of all applications of a
    /// factory, the discovery of a factory, or the health check of an assembly's parts. The notice is repeated when
    /// the failure changes.
    CheckFails {
        /// The assembly, the application or the factory.
        assembly: AssemblyName,
        /// The failing duty: `health check`, `health check of its applications` or `discovery`.
        what: &'static str,
        /// The reason of the failure.
        why: String,
    },
    /// A health check or discovery that [failed](Self::CheckFails) works again.
    CheckWorks {
        /// The assembly, the application or the factory.
        assembly: AssemblyName,
        /// The duty that works again: `health check`, `health check of its applications` or `discovery`.
        what: &'static str,
    },
    /// A health check found that the status of an application differs from the last reported one. The first
    /// check of an application reports only a failed status.
    StatusChanged {
        /// The assembly of the application.
        assembly: AssemblyName,
        /// The status after the check.
        status: Status,
    },
    /// A discovery has found an instance, and has added it as an application.
    Adopted {
        /// The assembly of the new application.
        assembly: AssemblyName,
        /// The factory of the application.
        factory: AssemblyName,
        /// The natural id of the instance.
        natural_id: String,
    },
    /// A health check or a discovery reports that the instance of an application no longer exists. The daemon
    /// removes the application from the records.
    Destroyed {
        /// The assembly of the application.
        assembly: AssemblyName,
    },
    /// The daemon can't execute an intent that a policy or a request demands.
    Refused {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The action that can't be executed.
        what: String,
        /// The reason of the refusal.
        why: String,
    },
    /// The daemon begins a request.
    RequestBegins {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The id of the request.
        request: RequestId,
        /// The requested action, such as `scale out B`.
        what: String,
        /// The requester, for display.
        by: String,
    },
    /// The daemon resumes an interrupted process.
    ProcessResumes {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The id of the process.
        process: ProcessId,
        /// The intent of the process.
        what: String,
    },
    /// A process omits removals and replacements, because no user has permitted them. The process belongs to a policy, or
    /// resumes an interrupted process. The parts stay as they are.
    Omits {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The id of the process.
        process: ProcessId,
        /// The omitted changes: the parts, each with the reason.
        changes: String,
        /// The command with which a user permits and executes the changes.
        command: String,
    },
    /// A process has ended.
    Ended {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The id of the process.
        process: ProcessId,
        /// The final status of the process.
        status: ProcessStatus,
    },
    /// A process has not ended, because the daemon was asked to stop. The next daemon resumes the process.
    Interrupted {
        /// The name of the assembly.
        assembly: AssemblyName,
        /// The id of the process.
        process: ProcessId,
    },
    /// The daemon was asked to stop, and waits for running processes.
    Stopping {
        /// The assemblies with a running process.
        busy: Vec<AssemblyName>,
    },
    /// An action has failed, and the daemon repeats the action later. The text describes the failure.
    Trouble(String),
    /// The store works again after [`Trouble`](Self::Trouble).
    Back {
        /// The name of the store in messages, for example `PostgreSQL`.
        store: &'static str,
    },
    /// The daemon has read the changed `windlass.yaml`. Intents and health checks that begin later use it.
    ProjectRead,
    /// `windlass.yaml` has changed, and can't be used. The daemon keeps the old content until the file changes again.
    ProjectRefused {
        /// The reason why the file can't be used.
        why: String,
    },
}

impl Notice {
    /// Returns the name of the event in the JSON output of `windlass run`. The page `docs/intents.md` describes each
    /// event.
    pub fn event(&self) -> &'static str {
        match self {
            Self::Watches { .. } => "watches",
            Self::Acts { .. } => "acts",
            Self::GivesUp { .. } => "gives-up",
            Self::Unwell { .. } => "unwell",
            Self::Well { .. } => "well",
            Self::CheckFails { .. } => "check-fails",
            Self::CheckWorks { .. } => "check-works",
            Self::StatusChanged { .. } => "status",
            Self::Adopted { .. } => "adopted",
            Self::Destroyed { .. } => "destroyed",
            Self::Refused { .. } => "refused",
            Self::RequestBegins { .. } => "begins",
            Self::ProcessResumes { .. } => "resumes",
            Self::Omits { .. } => "omits",
            Self::Ended { .. } => "ended",
            Self::Interrupted { .. } => "interrupted",
            Self::Stopping { .. } => "stopping",
            Self::Trouble(_) => "trouble",
            Self::Back { .. } => "back",
            Self::ProjectRead => "project-read",
            Self::ProjectRefused { .. } => "project-refused",
        }
    }
}
