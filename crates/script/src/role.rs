//! Roles of scripts: the mapping from a resource's actions to the scripts of the protocol.

use windlass_driver::Package;
use windlass_model::{Action, Transition};

/// The role of a script. Each role has its own input document.
///
/// | action | role |
/// |---|---|
/// | Create | launch |
/// | Adopt | launch of an existing instance: the script finds it and answers as for a launch |
/// | Install | launch if Create is not declared, else a step |
/// | Configure, Start, Stop | a step |
/// | Integrity | health check |
/// | Reconfigure | reconfigure |
/// | Uninstall | destroy if Delete is not declared, else a step |
/// | Delete | destroy |
/// | an operation, a command | a command |
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Creates an instance and chooses its natural id.
    Launch,
    /// The script removes an instance.
    Destroy,
    /// Reports the status of an instance without changing it.
    HealthCheck,
    /// Applies new property values to an instance.
    Reconfigure,
    /// Performs a transition that has no document of its own.
    Step(Transition),
    /// Performs an operation or a command.
    Command(String),
    /// Searches for existing instances.
    Discover,
}

impl Role {
    /// Returns the role of the script for an action; `None` for an action that this driver does not support.
    pub fn of(package: &Package, action: &Action) -> Option<Self> {
        let declared = |transition| package.bindings().declares(&Action::Transition(transition));
        Some(match action {
            Action::Transition(Transition::Create | Transition::Adopt) => Self::Launch,
            Action::Transition(Transition::Install) if !declared(Transition::Create) => Self::Launch,
            Action::Transition(Transition::Uninstall) if !declared(Transition::Delete) => Self::Destroy,
            Action::Transition(Transition::Delete) => Self::Destroy,
            Action::Transition(Transition::Integrity) => Self::HealthCheck,
            Action::Transition(Transition::Reconfigure) => Self::Reconfigure,
            Action::Transition(transition) => Self::Step(*transition),
            Action::Operation(operation) => Self::Command(operation.as_str().to_owned()),
            Action::Command(command) => Self::Command(command.as_str().to_owned()),
            _ => return None,
        })
    }

    /// Returns the script names for the role, without extension. Scripts named after the action itself take
    /// precedence.
    pub fn names(&self) -> &'static [&'static str] {
        match self {
            Self::Launch => &["launch"],
            Self::Destroy => &["destroy"],
            Self::HealthCheck => &["healthCheck", "health-check"],
            Self::Reconfigure => &["reconfigure"],
            Self::Discover => &["discover"],
            Self::Step(_) | Self::Command(_) => &[],
        }
    }

    /// Returns the name of the job that runs the script. It is the same when a call is repeated.
    pub fn job_name(&self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Destroy => "destroy",
            Self::HealthCheck => "health-check",
            Self::Reconfigure => "reconfigure",
            Self::Step(_) => "transition",
            Self::Command(_) => "command",
            Self::Discover => "discover",
        }
    }

    /// Tells whether the script changes nothing.
    pub fn reads_only(&self) -> bool {
        matches!(self, Self::HealthCheck | Self::Discover)
    }
}
