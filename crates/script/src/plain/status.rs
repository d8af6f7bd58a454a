//! The status of an instance that follows from an exit code.

use windlass_update_ops::{Op, Path};

/// The status to report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    /// Whether the instance is active, if the script tells.
    pub active: Option<bool>,
    pub converging: bool,
    pub failed: bool,
    pub message: Option<String>,
}

impl Status {
    /// Returns the status of an instance that is not there yet.
    pub(crate) fn converging(message: Option<String>) -> Self {
        Self { active: None, converging: true, failed: false, message }
    }

    /// Returns the operations of an update that reports the status. They never set all three flags to false,
    /// which would mean that the instance no longer exists.
    pub(crate) fn operations(self) -> Vec<(Path, Op)> {
        let flag = |name: &str, value: bool| (path(&["status", "flags", name]), Op::Replace(value.into()));
        let message = self.message.map_or(Op::Unset, |message| Op::Replace(message.into()));
        let mut operations =
            vec![flag("converging", self.converging), (path(&["status", "message"]), message)];
        operations.extend(self.active.map(|active| flag("active", active)));
        operations.extend(self.failed.then(|| flag("failed", true)));
        operations
    }
}

fn path(keys: &[&str]) -> Path {
    Path::from_keys(keys.iter().copied()).expect("the keys are not empty")
}
