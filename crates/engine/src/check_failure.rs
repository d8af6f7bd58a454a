//! The recorded failure of an element whose health check has failed.

use windlass_model::record::{ElementRecord, Failure};

/// The beginning of the recorded message of every failed health check.
const CHECK_FAILED: &str = "the health check failed: ";

/// Returns the failure that windlass records for an element after a failed health check. `failure` is the failure of
/// the check. The recorded message consists of the words `the health check failed` and the message of `failure`.
pub fn of(failure: &Failure) -> Failure {
    Failure { message: format!("{CHECK_FAILED}{}", failure.message), ..failure.clone() }
}

/// Returns the recorded failure of an element, if this failure comes from a health check.
pub fn recorded(record: &ElementRecord) -> Option<&Failure> {
    // Older versions of windlass did not record the origin of a failure. In their records, only the message shows it.
    let is_of_check =
        |failure: &&Failure| record.of_check.unwrap_or_else(|| failure.message.starts_with(CHECK_FAILED));
    record.failure.as_ref().filter(is_of_check)
}

/// Tells whether the failure of a health check means that the script of the check has failed for the element. Such an
/// element is checked alone next time. If the check could not run, the result is `false`, because such a failure
/// says nothing about the element.
pub fn is_suspect(failure: &Failure) -> bool {
    !failure.kind.could_not_run()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use windlass_model::record::FailureKind;
    use windlass_model::{InstanceId, Timestamp};

    use super::*;

    fn element() -> ElementRecord {
        let id = InstanceId::of("t__a");
        ElementRecord::new("t__a".parse().unwrap(), id, Timestamp::from_millis(0))
    }

    fn failure(message: &str) -> Failure {
        Failure::new(FailureKind::Failed, message)
    }

    /// Returns the record that the store would read if an older version of windlass had written it. The older version
    /// did not store the origin of a failure.
    fn older(record: &ElementRecord) -> ElementRecord {
        let mut stored = serde_json::to_value(record).unwrap();
        let fields = stored.as_object_mut().unwrap();
        assert_ne!(fields.remove("of_check"), None);
        serde_json::from_value(stored).unwrap()
    }

    #[test]
    fn a_script_can_not_pretend_to_be_a_health_check() {
        let mut record = element();
        record.note_failure(Some(failure("the health check failed: no disk")));
        assert_eq!(recorded(&record), None);
        let stored = serde_json::to_value(&record).unwrap();
        assert_eq!(recorded(&serde_json::from_value(stored).unwrap()), None);
    }

    #[test]
    fn the_origin_of_a_failure_does_not_depend_on_its_message() {
        let mut record = element();
        record.note_failed_check(failure("no disk"));
        assert_eq!(recorded(&record), record.failure.as_ref());
        record.note_failure(None);
        assert_eq!((recorded(&record), serde_json::to_value(&record).unwrap().get("of_check")), (None, None));
    }

    #[test]
    fn the_message_classifies_a_failure_that_an_older_version_recorded() {
        let mut record = element();
        record.note_failed_check(of(&failure("no disk")));
        let old = older(&record);
        assert_eq!(recorded(&old), record.failure.as_ref());
        record.note_failure(Some(failure("no disk")));
        assert_eq!(recorded(&older(&record)), None);
    }

    #[test]
    fn an_element_whose_check_could_not_run_is_no_suspect() {
        let suspects = |kinds: &[&str]| -> Vec<bool> {
            let kind = |kind: &&str| serde_json::from_value(Value::from(*kind)).unwrap();
            kinds.iter().map(kind).map(|kind| is_suspect(&Failure::new(kind, "why"))).collect()
        };
        assert_eq!(suspects(&["refused", "capacity", "infrastructure", "lost"]), [false; 4]);
        assert_eq!(
            suspects(&["failed", "timeout", "protocol", "gone", "not-found", "already-exists"]),
            [true; 6]
        );
    }
}
