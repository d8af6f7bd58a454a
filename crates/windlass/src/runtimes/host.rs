//! The limits that control groups of this host enforce on jobs.

use windlass_executor::Capability;
use windlass_executor::process::ControlGroups;

use super::factory::RuntimeView;

/// The limits of jobs with their names for people. The first three are enforced by control groups.
pub(super) const LIMITS: [(Capability, &str); 5] = [
    (Capability::MemoryLimit, "memory"),
    (Capability::PidsLimit, "processes"),
    (Capability::CpuLimit, "processor time"),
    (Capability::TmpLimit, "temporary files"),
    (Capability::OpenFilesLimit, "open files"),
];

/// Adds to a view the limits that control groups enforce on this host, and as caveats the limits that they do
/// not enforce.
pub(super) fn with_groups(view: &mut RuntimeView, groups: &ControlGroups) {
    let version = groups.version.map(|version| format!(" (cgroups v{version})")).unwrap_or_default();
    for (limit, name) in &LIMITS[..3] {
        if groups.limits.has(*limit) {
            view.limits.push(format!("{name}{version}"));
        } else {
            view.caveats.push(format!("it does not limit {name}: control groups for it can't be created"));
        }
    }
}

/// Converts string slices to owned strings.
pub(super) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
