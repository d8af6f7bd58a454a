//! The check of a location's volumes in `windlass.yaml`. The rule for valid volumes depends on the kind of runtime.

use windlass_driver::Location;
use windlass_executor::{JobProblem, VolumeName};
use windlass_project::SettingProblem;
use windlass_project::codes::BAD_VOLUME;
use windlass_source::Diagnostic;

/// The key of a location's volumes.
const VOLUMES: &str = "volumes";

/// Returns an error for each volume of a location that `problem` refuses. `problem` is the rule by which the runtime
/// refuses a volume of a job.
pub(super) fn refused_volumes(
    location: &Location,
    problem: impl Fn(&VolumeName, &str) -> Option<JobProblem>,
) -> Vec<SettingProblem> {
    let refused = |(name, path): (&String, &String)| {
        let found = problem(&name.parse().ok()?, path)?;
        let diagnostic = Diagnostic::error(BAD_VOLUME, found.to_string())
            .help(format!("use another path, such as `/var/lib/{name}`"));
        Some(SettingProblem { key: Some(VOLUMES), entry: Some(name.clone()), diagnostic })
    };
    location.volumes.iter().filter_map(refused).collect()
}
