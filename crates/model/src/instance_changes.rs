//! The differences between two states of an instance document, as entries for the activity log.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_secret::SecretRef;

use crate::instance::{InstanceView, LogEntry, METRICS, OUTPUTS, Status};
use crate::record::Severity;

/// The maximum number of characters of a value in a message. Longer values are truncated.
const SHOWN: usize = 200;

/// Returns an entry for each change of the status flags, of a signal, or of the field `reference` of a component.
/// Changed values of metrics get no entry.
///
/// ```
/// use serde_json::json;
/// use windlass_model::instance_changes::document_changes;
///
/// let document = |ip: &str| json!({"interfaces": {"compute": {"signals": {"ip": ip}}}});
/// let changes = document_changes(&document("203.0.113.1"), &document("203.0.113.2"));
/// assert_eq!(changes[0].message, "`compute.ip` is 203.0.113.2, and was 203.0.113.1");
/// ```
pub fn document_changes(before: &Value, after: &Value) -> Vec<LogEntry> {
    let mut entries: Vec<LogEntry> = status_change(before, after).into_iter().collect();
    entries.extend(changes(&signals(before), &signals(after), |name| format!("`{name}`"), "is", "was"));
    let (before, after) = (references(before), references(after));
    let of_component = |name: &str| format!("the component `{name}`");
    entries.extend(changes(&before, &after, of_component, "refers to", "referred to"));
    entries
}

fn status_change(before: &Value, after: &Value) -> Option<LogEntry> {
    let (before, after) = (InstanceView::new(before).status(), InstanceView::new(after).status());
    let flags = |status: &Status| (status.active, status.converging, status.failed);
    if flags(&before) == flags(&after) {
        return None;
    }
    let severity = if after.failed && !before.failed { Severity::Error } else { Severity::Info };
    let message = after.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
    Some(LogEntry::new(
        severity,
        format!("its status is `{}`, and was `{}`{message}", after.word(), before.word()),
    ))
}

/// Returns the values of all signals as texts. The key of an output property is its name, such as `url`. The key of
/// another signal is the id of its pin, such as `compute.ip`. Signals with the value null are left out, and so are all
/// metrics.
fn signals(document: &Value) -> BTreeMap<String, String> {
    let signals = InstanceView::new(document).signals().filter(|(interface, ..)| *interface != METRICS);
    let named = signals.filter(|(.., value)| !value.is_null()).map(|(interface, pin, value)| {
        let name = if interface == OUTPUTS { pin.to_owned() } else { format!("{interface}.{pin}") };
        (name, shown(value))
    });
    named.collect()
}

/// Returns the field `reference` of each component as text, such as `` `i-1` of `vms.by-id` ``. The key is the path of
/// the component, such as `web.vm`.
fn references(document: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), document)];
    while let Some((at, of)) = open.pop() {
        for (name, component) in of["components"].as_object().into_iter().flatten() {
            let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            let reference = &component["reference"];
            if let (Some(mapping), Some(key)) = (reference["mapping"].as_str(), reference["key"].as_str()) {
                found.insert(at.clone(), format!("`{key}` of `{mapping}`"));
            }
            open.push((at, component));
        }
    }
    found
}

/// Returns an entry for each name with different texts in `before` and `after`.
fn changes(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
    subject: impl Fn(&str) -> String,
    is: &str,
    was: &str,
) -> Vec<LogEntry> {
    let new = after.iter().filter(|(name, text)| before.get(*name) != Some(text)).map(|(name, text)| {
        let before = before.get(name).map(|before| format!(", and {was} {before}")).unwrap_or_default();
        format!("{} {is} {text}{before}", subject(name))
    });
    let gone = before.iter().filter(|(name, _)| !after.contains_key(*name));
    let gone =
        gone.map(|(name, text)| format!("{} {was} {text}, and is not reported any more", subject(name)));
    new.chain(gone).map(|message| LogEntry::new(Severity::Info, message)).collect()
}

/// Tells whether a value contains the marker of a secret.
fn has_secret(value: &Value) -> bool {
    SecretRef::from_value(value).is_some()
        || match value {
            Value::Array(items) => items.iter().any(has_secret),
            Value::Object(entries) => entries.values().any(has_secret),
            _ => false,
        }
}

fn shown(value: &Value) -> String {
    if has_secret(value) {
        return "***".to_owned();
    }
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(before: &Value, after: &Value) -> Vec<String> {
        let entries = document_changes(before, after);
        entries.iter().map(|entry| format!("{} {}", entry.severity, entry.message)).collect()
    }

    fn document(interface: &str, signals: &Value) -> Value {
        json!({"interfaces": {interface: {"signals": signals}}})
    }

    #[test]
    fn signals_that_change_are_listed() {
        let before = document("compute", &json!({"ip": "203.0.113.1", "disks": [1], "zone": "a"}));
        let after = document("compute", &json!({"ip": "203.0.113.2", "disks": [1], "cores": 4}));
        assert_eq!(
            lines(&before, &after),
            [
                "INFO `compute.cores` is 4",
                "INFO `compute.ip` is 203.0.113.2, and was 203.0.113.1",
                "INFO `compute.zone` was a, and is not reported any more",
            ]
        );
        assert_eq!(lines(&after, &after), [""; 0]);
        assert_eq!(lines(&json!({}), &document(OUTPUTS, &json!({"url": "x"}))), ["INFO `url` is x"]);
    }

    #[test]
    fn readings_are_not_listed_and_secrets_are_not_shown() {
        assert_eq!(lines(&json!({}), &document(METRICS, &json!({"load": 3}))), [""; 0]);
        let after = document("compute", &json!({"token": {"is": {"$secret": "t/x"}}}));
        assert_eq!(lines(&json!({}), &after), ["INFO `compute.token` is ***"]);
        let long = document("compute", &json!({"text": "ä".repeat(300)}));
        assert_eq!(lines(&json!({}), &long), [format!("INFO `compute.text` is {}…", "ä".repeat(SHOWN))]);
    }

    #[test]
    fn a_status_and_references_are_listed() {
        let status =
            |active: bool, failed: bool| json!({"active": active, "failed": failed, "converging": false});
        let vm = |key: &str| json!({"web": {"components": {"vm": {"reference": {"mapping": "vms.by-id", "key": key}}}}});
        let before = json!({"status": {"flags": status(true, false)}, "components": vm("i-1")});
        let after = json!({
            "status": {"flags": status(false, true), "message": "no disk"}, "components": vm("i-2"),
        });
        assert_eq!(
            lines(&before, &after),
            [
                "ERROR its status is `failed`, and was `active`: no disk",
                "INFO the component `web.vm` refers to `i-2` of `vms.by-id`, and referred to `i-1` of `vms.by-id`",
            ]
        );
    }
}
