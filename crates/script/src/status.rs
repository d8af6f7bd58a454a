//! The status of an instance in an update.

use serde_json::Value;
use windlass_model::instance::{InstanceView, Status};
use windlass_update_ops::{Op, Path, Update};

/// The status that a script reported for an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusSaid {
    /// The status after the update.
    pub status: Status,
    /// Whether the update sets all three flags to false, which means that the instance no longer exists.
    /// Setting a single flag to false does not mean that, even if the others already are false.
    pub gone: bool,
}

/// Returns the status that an update reports, if any. `document` is the instance document before the update.
pub(crate) fn said_of(update: &Update, document: &Value) -> Option<StatusSaid> {
    let flags = update.clone().restrict(&path("status"));
    if flags.is_empty() {
        return None;
    }
    // Only the status is evaluated, so updates of other parts that can't be applied do not matter.
    let mut after = serde_json::json!({ "status": document["status"] });
    flags.apply(&mut after).ok()?;
    Some(StatusSaid { status: InstanceView::new(&after).status(), gone: says_gone(&flags) })
}

fn says_gone(update: &Update) -> bool {
    let mut alone = serde_json::json!({});
    let applied = update.apply(&mut alone).is_ok();
    let flag = |name: &str| alone["status"]["flags"][name].as_bool();
    applied && ["active", "converging", "failed"].into_iter().all(|name| flag(name) == Some(false))
}

/// Returns the text that an update sets at a top-level field of the document.
pub(crate) fn text_at(update: &Update, field: &str) -> Option<String> {
    match update.get(&path(field)) {
        Some(Op::Replace(Value::String(text))) => Some(text.clone()),
        _ => None,
    }
}

fn path(text: &str) -> Path {
    text.parse().expect("paths of this crate are words joined by dots")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_model::instance::shape;

    use super::*;

    fn gone(wire: &Value) -> Option<bool> {
        let active = json!({"status": {"flags": {"active": true, "converging": false, "failed": false}}});
        said_of(&Update::parse(wire, shape()).unwrap().update, &active).map(|said| said.gone)
    }

    #[test]
    fn only_flags_that_the_script_sets_itself_say_gone() {
        assert_eq!(gone(&json!({"name": "web"})), None);
        assert_eq!(gone(&json!({"$set": {"status.flags.active": false}})), Some(false));
        assert_eq!(gone(&json!({"status": {"message": "at rest"}})), Some(false));
        assert_eq!(gone(&json!({"status": {"flags": {"active": false}}})), Some(true));
        assert_eq!(gone(&json!({"$set": {"status.flags": {"active": false}}})), Some(true));
        assert_eq!(
            gone(&json!({"$set": {"status.flags.active": false, "status.flags.converging": false,
                "status.flags.failed": false}})),
            Some(true)
        );
    }

    #[test]
    fn the_status_is_that_after_the_update() {
        let before = json!({"status": {"flags": {"active": true, "converging": true, "failed": false}}});
        let wire = json!({"$set": {"status.flags.converging": false, "status.message": "ready"}});
        let said = said_of(&Update::parse(&wire, shape()).unwrap().update, &before).unwrap();
        assert_eq!(said.status.word(), "active");
        assert_eq!(said.status.message.as_deref(), Some("ready"));
    }
}
