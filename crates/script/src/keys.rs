//! The keys of the documents that scripts read and print.

/// The values of a location or a factory, or of an instance.
pub(crate) const CONFIGURATION: &str = "configuration";

/// The requests of a launch, by instance ids.
pub(crate) const LAUNCH: &str = "launch";

/// The former name of [`LAUNCH`], which old scripts read.
pub(crate) const LAUNCH_INSTANCES: &str = "launch-instances";

/// The instances, by natural ids.
pub(crate) const INSTANCES: &str = "instances";

/// The transition of a step.
pub(crate) const TRANSITION: &str = "transition";

/// The commands of an instance, by command ids.
pub(crate) const COMMANDS: &str = "commands";

/// The program that an adapter runs.
pub(crate) const SCRIPT: &str = "script";

/// The document that an adapter gives to its program.
pub(crate) const ARGUMENTS: &str = "arguments";

/// The updates in the output of an adapter.
pub(crate) const RESULTS: &str = "results";

/// The keys of an input document.
pub(crate) const INPUT: [&str; 5] = [CONFIGURATION, LAUNCH, LAUNCH_INSTANCES, INSTANCES, TRANSITION];

/// The keys of an instance in an input document.
pub(crate) const INSTANCE: [&str; 2] = [CONFIGURATION, COMMANDS];
