//! The resource limits of jobs on this host. Control groups of the kernel enforce some of these limits.

use windlass_executor::Capability;
use windlass_executor::process::ControlGroups;

use super::factory::RuntimeView;

/// The limits on jobs, each with its name in messages. Control groups enforce only the first three limits.
pub(super) const LIMITS: [(Capability, &str); 5] = [
    (Capability::MemoryLimit, "memory"),
    (Capability::PidsLimit, "processes"),
    (Capability::CpuLimit, "processor time"),
    (Capability::TmpLimit, "temporary files"),
    (Capability::OpenFilesLimit, "open files"),
];

/// Completes the view of a runtime. Adds the limits that control groups can enforce on this host, and a caveat for
/// each limit that they can't enforce. Only the first three entries of [`LIMITS`] are considered.
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

pub(super) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
