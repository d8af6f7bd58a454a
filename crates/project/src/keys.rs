//! The keys of `windlass.yaml`, by section, with their forms and descriptions.
//!
//! The reader and the JSON Schema both read these tables, so a new key is added in one place.

use windlass_driver::location::SCRIPTING;
use windlass_source::section;

/// A section of `windlass.yaml`.
pub(crate) type Section = windlass_source::keys::Section<Form>;

/// The form of the value of a key in `windlass.yaml`, as far as a schema can express it. The value of an optional
/// key may also be null.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// The version of the document.
    Version,
    /// Text that is not empty. A number or a flag is read as text, as it is written: `1.10` stays `1.10`.
    Text,
    /// A whole number, at least 0.
    Number,
    /// A whole number, at least 1.
    Count,
    /// The maximum number of concurrent jobs, at least 1.
    Jobs,
    /// The maximum number of elements that are copies, as a whole number from 1 to `MAX_ELEMENTS`. Copies are, for
    /// example, all nodes of a group except the first node.
    Elements,
    /// An age: a number with a unit, such as `90d`, `12h` or `30m` (minutes).
    Age,
    /// The name of a registered kind of runtime.
    Runtime,
    /// A mapping from the names of registered drivers to the settings of these drivers.
    Drivers,
    /// A word from a fixed list.
    Word(&'static [&'static str]),
    /// A mapping from the names of volumes to paths.
    Volumes,
    /// A mapping from the names of variables to texts.
    Variables,
    /// A list of the names of variables.
    VariableNames,
    /// An amount of memory: a whole number of bytes, or a number with a unit such as `512M`.
    Memory,
    /// A count of processors, which may be a fraction such as `0.5`.
    Processors,
    /// The name of a descriptor, with its version.
    Descriptor,
    /// A mapping from names to any values.
    Properties,
    /// A mapping. The field of this variant defines the keys of the mapping.
    One(&'static Section),
    /// A list of mappings. The field of this variant defines the keys of each mapping.
    List(&'static Section),
    /// A mapping from names to inner mappings. The field of this variant defines the keys of each inner mapping.
    ByName(&'static Section),
}

section! {
    ROOT: Section, "Project", Strict,
    "A project: its locations, and the existing instances that references may use.";
    "version": Form::Version, required, "The version of this format: 1.";
    "locations": Form::ByName(&LOCATION),
        "The locations of components, by the name in their property `deploymentLocation`.";
    "drivers": Form::Drivers, "The settings of the drivers.";
    "existing": Form::List(&EXISTING),
        "The existing instances that references may resolve to, beside assemblies.";
    "retention": Form::One(&RETENTION), "The limits of each assembly's history.";
    "limits": Form::One(&LIMITS), "The maximum size of assemblies.";
}

section! {
    LOCATION: Section, "Location", StrictOrNull,
    "A deployment place of components. Some runtimes have more keys.";
    "resource-manager": Form::Text,
        "The resource manager of the location. A location without one accepts components of any resource manager.";
    "infrastructure-type": Form::Text,
        "The infrastructure type by which descriptors select drivers; the default is `Local`.";
    "runtime": Form::Runtime,
        "The runtime of the scripts. Without this key, windlass selects the runtime that accepts the most keys of the location.";
    "volumes": Form::Volumes, "Named volumes, and where container runtimes mount them.";
    "environment": Form::Variables,
        "Variables of each job, by name. They have no secrets; `properties` has.";
    "inherit-environment": Form::VariableNames,
        "The variables that each job gets from the environment of the windlass process that starts it.";
    "image": Form::Text, "The image that container runtimes start from.";
    "network": Form::Text, "The network of containers: `none`, `bridge`, `host`, or the name of one.";
    "limits": Form::One(&JOB_LIMITS), "The limits of each job.";
    "max-jobs": Form::Jobs,
        "The maximum number of concurrent jobs of one windlass process; the default is no limit.";
    "adapter": Form::Word(SCRIPTING[0].1),
        "The program that runs the scripts: `invoke` for `/invoke.py` of the image; the default is the script itself.";
    "input": Form::Word(SCRIPTING[1].1),
        "The notation of the documents that scripts read, before that of a descriptor: `yaml` or `json`.";
    "launch-key": Form::Word(SCRIPTING[2].1),
        "The key of launch requests: `launch`, the default, or `launch-instances` for scripts that read that; such a document has both.";
    "properties": Form::Properties,
        "Configuration for the drivers. `{file: PATH}` and `{env: VARIABLE}` refer to secrets.";
}

section! {
    JOB_LIMITS: Section, "JobLimits", StrictOrNull, "The limits of a job.";
    "memory": Form::Memory, "Bytes: `512M`, `2G`.";
    "processes": Form::Count, "Processes at a time.";
    "cpu": Form::Processors, "Processors: `2`, `0.5`.";
    "open-files": Form::Count, "Open files of each process.";
}

section! {
    EXISTING: Section, "Existing", Strict, "An existing instance that references may resolve to.";
    "type": Form::Descriptor, required, "Its type: the name of a descriptor.";
    "name": Form::Text, required, "Its name.";
    "properties": Form::Properties, "Its properties.";
    "package": Form::Text,
        "The folder of the package of its `type`, relative to this file. Relationships may call the package's operations.";
}

section! {
    RETENTION: Section, "Retention", StrictOrNull,
    "The limits of each assembly's history. `windlass prune`, and once a day `windlass run`, removes processes and versions that are neither among the newest nor young.";
    "keep": Form::Number, "The number of newest processes and versions to keep; the default is 50.";
    "older": Form::Age,
        "The age below which all are kept: a number with a unit, such as `90d`, `12h` or `30m`; the default is `90d`.";
}

section! {
    LIMITS: Section, "Limits", StrictOrNull, "The maximum size of assemblies.";
    "nodes": Form::Elements,
        "The maximum number of elements from `quantity`, `cluster` and nested assemblies; the default is 10 000, and the maximum 200 000.";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This crate must know the same keys for the limits of jobs as the crate `windlass-executor`, because that
    /// crate parses the limits.
    #[test]
    fn the_limits_of_jobs_are_those_of_the_executor() {
        assert_eq!(JOB_LIMITS.names, windlass_executor::Bounds::KEYS);
    }
}
