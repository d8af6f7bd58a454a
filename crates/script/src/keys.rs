//! The keys of the documents that scripts read and print.

/// The key of the configuration. At the top of a document, the configuration contains the values of the location or of
/// the factory. Inside an instance, the configuration contains the values of the instance.
pub(crate) const CONFIGURATION: &str = "configuration";

/// The key of the instances that a launch script is to launch, by instance id.
pub(crate) const LAUNCH: &str = "launch";

/// The former name of the key [`LAUNCH`]. Old scripts read the former name.
pub(crate) const LAUNCH_INSTANCES: &str = "launch-instances";

/// The key of existing instances, by natural id.
pub(crate) const INSTANCES: &str = "instances";

/// The key of the name of the transition that a script performs. Only the document for a
/// [step](crate::role::Role::Step) contains this key.
pub(crate) const TRANSITION: &str = "transition";

/// The key of the commands of an instance, by command id.
pub(crate) const COMMANDS: &str = "commands";

/// The key of the name of the script that an [adapter](crate::style::Adapter) runs.
pub(crate) const SCRIPT: &str = "script";

/// The key of the input document that an [adapter](crate::style::Adapter) passes to the script.
pub(crate) const ARGUMENTS: &str = "arguments";

/// The key of the script's output, in the output of an [adapter](crate::style::Adapter).
pub(crate) const RESULTS: &str = "results";

/// The keys of an input document.
pub(crate) const INPUT: [&str; 5] = [CONFIGURATION, LAUNCH, LAUNCH_INSTANCES, INSTANCES, TRANSITION];

/// The keys of an instance in an input document.
pub(crate) const INSTANCE: [&str; 2] = [CONFIGURATION, COMMANDS];
