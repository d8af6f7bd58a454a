//! What a script is for: the table from a resource's actions to the scripts of the protocol.

use windlass_driver::Package;
use windlass_model::{Action, Transition};

/// What a script is asked to do; each has a document of its own.
///
/// | action | role |
/// |---|---|
/// | Create | launch |
/// | Adopt | launch, of something that exists already: the script finds it and answers as for a launch |
/// | Install | launch if Create is not declared, else a step |
/// | Configure, Start, Stop | a step |
/// | Integrity | health check |
/// | Reconfigure | reconfigure |
/// | Uninstall | destroy if Delete is not declared, else a step |
/// | Delete | destroy |
/// | an operation | a command |
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Makes an instance and chooses its natural id.
    Launch,
    /// Removes an instance.
    Destroy,
    /// Looks how an instance is, and changes nothing.
    HealthCheck,
    /// Gives an instance new values of its properties.
    Reconfigure,
    /// Takes an instance through a transition that has no document of its own.
    Step(Transition),
    /// Performs an operation.
    Command(String),
    /// Finds the instances that exist.
    Discover,
}

impl Role {
    /// Returns the role of the script for an action; none for actions that this driver does not know.
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
            _ => return None,
        })
    }

    /// Returns the names of a script by what it does, without extension. They stand behind the action's own name.
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

    /// Returns the name of the job that runs it, the same whenever the same call is made again.
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

    /// Tells whether the script only looks.
    pub fn reads_only(&self) -> bool {
        matches!(self, Self::HealthCheck | Self::Discover)
    }
}
