//! What an update says of an instance's status.

use serde_json::Value;
use windlass_model::instance::{InstanceView, Status};
use windlass_update_ops::{Op, Path, Update};

/// What a script said of the status of the whole instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusSaid {
    /// The status as it is after the update.
    pub status: Status,
    /// Whether the script itself has set all flags to false: then there is nothing any more. A single flag that falls
    /// while the others are false says no such thing.
    pub gone: bool,
}

/// Returns what an update says of the status, if it says anything. `document` is the instance before it.
pub(crate) fn said_of(update: &Update, document: &Value) -> Option<StatusSaid> {
    let flags = update.clone().restrict(&path("status"));
    if flags.is_empty() {
        return None;
    }
    // Other parts of the document are not asked, so what can't be applied there is no matter here.
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

/// Returns the text that an update sets at a field of the document's top.
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
