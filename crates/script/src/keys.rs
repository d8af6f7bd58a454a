//! The keys of the documents that scripts read and print.

/// The key for configuration values. A document can contain this key at two places:
///
/// - At the top of a document for a resource, the key contains the properties of the location. At the top of a document
///   for an application, the key contains the values of the application's factory.
/// - In the entry of an instance, the key contains the values of this instance.
pub(crate) const CONFIGURATION: &str = "configuration";

/// The key for the instances that a launch script must launch. The value is a mapping from instance ids to the entries
/// of the instances.
pub(crate) const LAUNCH: &str = "launch";

/// The former name of the key [`LAUNCH`]. Old scripts read the former name.
pub(crate) const LAUNCH_INSTANCES: &str = "launch-instances";

/// The key for existing instances. The value is a mapping from natural ids to the entries of the instances.
pub(crate) const INSTANCES: &str = "instances";

/// The key for the instance id of a launched instance, in the output of a launch script.
pub(crate) const INSTANCE_ID: &str = "instanceId";

/// The key for the name of a transition, such as `Start`. Only the document for a [step](crate::role::Role::Step)
/// contains this key.
pub(crate) const TRANSITION: &str = "transition";

/// The key for the commands of an instance. The value is a mapping from command ids to commands.
pub(crate) const COMMANDS: &str = "commands";

/// The key for the path of a script, in a request to an [adapter](crate::style::Adapter). The adapter runs this script.
/// A request has the form `{script: <path>, arguments: <input document>}`.
pub(crate) const SCRIPT: &str = "script";

/// The key for the input document of the script, in a request to an [adapter](crate::style::Adapter).
pub(crate) const ARGUMENTS: &str = "arguments";

/// The key for the output document of a script that an [adapter](crate::style::Adapter) has run. The adapter prints
/// `{results: <output document>}`.
pub(crate) const RESULTS: &str = "results";

/// The keys of an input document.
pub(crate) const INPUT: [&str; 5] = [CONFIGURATION, LAUNCH, LAUNCH_INSTANCES, INSTANCES, TRANSITION];

/// The keys of an instance in an input document.
pub(crate) const INSTANCE: [&str; 2] = [CONFIGURATION, COMMANDS];
