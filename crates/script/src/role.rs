//! Roles of scripts, and the mapping from the actions of a resource to roles.

use windlass_driver::Package;
use windlass_model::{Action, Transition};

/// The role of a script. Each role has its own input document.
///
/// | action | role |
/// |---|---|
/// | Create | launch |
/// | Adopt | launch; the script creates nothing, but finds an existing instance, and prints it like a new instance |
/// | Install | launch if the resource does not declare Create, otherwise step |
/// | Configure, Start, Stop | step |
/// | Integrity | health check |
/// | Reconfigure | reconfigure |
/// | Uninstall | destroy if the resource does not declare Delete, otherwise step |
/// | Delete | destroy |
/// | an operation, a command | command |
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Creates an instance and chooses its natural id.
    Launch,
    /// Removes an instance.
    Destroy,
    /// Reports the status of an instance without changing it.
    HealthCheck,
    /// Applies new property values to an instance.
    Reconfigure,
    /// Performs a transition that none of the other roles serves, such as Start. All these transitions have the same
    /// form of input document, and the document contains the name of the transition.
    Step(Transition),
    /// Performs an operation of a relationship, or a command that a person starts. The text is the name of the
    /// operation or of the command.
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

    /// Returns the file names of scripts for the role, without extension. If a script has the name of the action, that
    /// script takes precedence over a script with the name of the role.
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

    /// Returns the name of the job that runs the script. If the engine repeats a call, the job has the same name.
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
