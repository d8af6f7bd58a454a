//! The status of an instance in an update.

use std::sync::LazyLock;

use serde_json::Value;
use windlass_model::instance::{InstanceView, Status};
use windlass_update_ops::{Op, Path, Update};

/// The status that a script reported for an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusSaid {
    /// The status after the update.
    pub status: Status,
    /// Whether the instance no longer exists. This is true if the update itself sets all three flags `active`,
    /// `converging` and `failed` to false. If the update sets only some of them, the instance still exists, even if
    /// the other flags are already false.
    pub gone: bool,
}

/// Returns the status that an update reports, if any. `document` is the instance document before the update.
pub(crate) fn said_of(update: &Update, document: &Value) -> Option<StatusSaid> {
    static STATUS: LazyLock<Path> = LazyLock::new(|| path("status"));
    let flags = update.clone().restrict(&STATUS);
    if flags.is_empty() {
        return None;
    }
    // Only the status is evaluated, so updates of other fields that can't be applied do not matter.
    let mut after = serde_json::json!({ "status": document["status"] });
    flags.apply(&mut after).ok()?;
    let status = InstanceView::new(&after).status();
    // If any flag is true after the update, the update has not set all three flags to false. Then `says_gone` is
    // not called.
    let is_any_true = status.active || status.converging || status.failed;
    Some(StatusSaid { gone: !is_any_true && says_gone(&flags), status })
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
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Map, json};
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

    proptest! {
        /// An instance is gone if and only if an update itself sets the flags `active`, `converging` and `failed` to
        /// false.
        ///
        /// The update has one of three forms: it replaces `status`, it replaces `status.flags`, or it sets each flag
        /// separately. In the first two forms, a missing flag counts as false. The flags before the update have no
        /// effect.
        #[test]
        fn only_an_explicit_status_says_gone(
            before in prop::array::uniform3(any::<bool>()),
            written in prop::array::uniform3(any::<Option<bool>>()),
            form in 0..3,
        ) {
            let names = ["active", "converging", "failed"];
            let document = json!({"status": {"flags": names.into_iter().zip(before).collect::<BTreeMap<_, _>>()}});
            let flags: Map<String, Value> = names
                .into_iter()
                .zip(written)
                .filter_map(|(name, flag)| Some((name.to_owned(), flag?.into())))
                .collect();
            let each = flags.iter().map(|(name, flag)| (format!("status.flags.{name}"), flag.clone()));
            let wire = match form {
                0 => json!({"status": {"flags": flags}}),
                1 => json!({"$set": {"status.flags": flags}}),
                _ => json!({"$set": each.collect::<Map<_, _>>()}),
            };
            let said = said_of(&Update::parse(&wire, shape()).unwrap().update, &document);
            // The forms 0 and 1 replace all flags, so a missing flag becomes false. Form 2 sets single flags, so a
            // missing flag stays unchanged.
            let is_whole = form < 2;
            let all_false = written.iter().all(|flag| if is_whole { *flag != Some(true) } else { *flag == Some(false) });
            let expected = names.into_iter().zip(before).zip(written).map(|((_, before), written)| {
                written.unwrap_or(!is_whole && before)
            });
            match said {
                Some(said) => {
                    prop_assert_eq!(said.gone, all_false, "{}", wire);
                    let Status { active, converging, failed, .. } = said.status;
                    prop_assert_eq!(vec![active, converging, failed], expected.collect::<Vec<_>>());
                }
                None => prop_assert!(!is_whole && flags.is_empty(), "{}", wire),
            }
        }
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
