//! The status of an instance, as the exit code of a plain script states it.

use windlass_update_ops::{Op, Path};

/// The status of an instance, as the exit code of a plain script states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    /// Whether the instance is active. `None` leaves the recorded flag unchanged.
    pub active: Option<bool>,
    pub converging: bool,
    /// Whether the instance has failed. `None` leaves the recorded flag unchanged.
    pub failed: Option<bool>,
    pub message: Option<String>,
}

impl Status {
    /// Returns a status that sets only the flag `converging` to true. The flags `active` and `failed` keep their
    /// recorded values.
    pub(crate) fn converging(message: Option<String>) -> Self {
        Self { active: None, converging: true, failed: None, message }
    }

    /// Returns the status of an instance that no longer exists: all three flags are false.
    pub(crate) fn gone(message: Option<String>) -> Self {
        Self { active: Some(false), converging: false, failed: Some(false), message }
    }

    /// Returns the operations that write the status into the instance document.
    ///
    /// An update that sets all three flags `active`, `converging` and `failed` to false reports that the instance no
    /// longer exists. Only the operations of a [`gone`](Self::gone) status set all three flags to false.
    pub(crate) fn operations(self) -> Vec<(Path, Op)> {
        let flag = |name: &str, value: bool| (path(&["status", "flags", name]), Op::Replace(value.into()));
        let message = self.message.map_or(Op::Unset, |message| Op::Replace(message.into()));
        let mut operations =
            vec![flag("converging", self.converging), (path(&["status", "message"]), message)];
        operations.extend(self.active.map(|active| flag("active", active)));
        operations.extend(self.failed.map(|failed| flag("failed", failed)));
        operations
    }
}

fn path(keys: &[&str]) -> Path {
    Path::from_keys(keys.iter().copied()).expect("the keys are not empty")
}
