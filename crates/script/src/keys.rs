//! The keys of the documents that scripts read and print.

/// The configuration. At the top of a document, it contains the values of the location or of the factory. Inside an
/// instance, it contains the values of the instance.
pub(crate) const CONFIGURATION: &str = "configuration";

/// The instances that a launch script is to launch, by instance id.
pub(crate) const LAUNCH: &str = "launch";

/// The former name of the key [`LAUNCH`]. Old scripts read the former name.
pub(crate) const LAUNCH_INSTANCES: &str = "launch-instances";

/// The instances, by natural id.
pub(crate) const INSTANCES: &str = "instances";

/// The name of the transition that a script performs, if several transitions have the same form of document.
pub(crate) const TRANSITION: &str = "transition";

/// The commands of an instance, by command id.
pub(crate) const COMMANDS: &str = "commands";

/// The script that an [adapter](crate::style::Adapter) runs.
pub(crate) const SCRIPT: &str = "script";

/// The document that an [adapter](crate::style::Adapter) gives to the script.
pub(crate) const ARGUMENTS: &str = "arguments";

/// The output of the script, in the output of an [adapter](crate::style::Adapter).
pub(crate) const RESULTS: &str = "results";

/// The keys of an input document.
pub(crate) const INPUT: [&str; 5] = [CONFIGURATION, LAUNCH, LAUNCH_INSTANCES, INSTANCES, TRANSITION];

/// The keys of an instance in an input document.
pub(crate) const INSTANCE: [&str; 2] = [CONFIGURATION, COMMANDS];
