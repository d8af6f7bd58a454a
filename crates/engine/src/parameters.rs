//! The parameters of an assembly, with the values of its secrets.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_model::template::Part;
use windlass_model::{PropertyName, Template};
use windlass_secret::SecretRef;
use windlass_store::Snapshot;

/// Returns the recorded parameters of an assembly, such as a factory. The result contains the values of secrets, not references to
/// them. A secret number or boolean is a text in the result, because every secret is stored as a text.
#[must_use]
pub fn parameters_of(snapshot: &Snapshot) -> BTreeMap<String, Value> {
    let root = snapshot.assembly.topology.root();
    let value = |(name, recorded): (&PropertyName, &Value)| {
        let property = root.and_then(|root| root.properties.get(name));
        let value = match property.filter(|property| property.sensitive) {
            // The record of a parameter lacks the structure of a secret map or list. The topology contains it.
            Some(secret) => exposed(secret.value.as_ref().unwrap_or(&Template::Null), snapshot)?,
            None => recorded.clone(),
        };
        Some((name.to_string(), value))
    };
    snapshot.assembly.parameters.iter().filter_map(value).collect()
}

/// Returns the value of a template that contains only constants and secrets. Each marker of a secret is replaced by the
/// text of the secret. Returns `None` if a secret is missing or is no UTF-8 text. Also returns `None` if the template
/// contains anything else, such as a reference to a property.
fn exposed(template: &Template, snapshot: &Snapshot) -> Option<Value> {
    let text = |part: &Part| match part {
        Part::Literal(text) => Some(text.clone()),
        Part::Secret(secret) => secret_text(secret, snapshot),
        _ => None,
    };
    Some(match template {
        Template::Null => Value::Null,
        Template::Text(parts) => Value::String(parts.iter().map(text).collect::<Option<_>>()?),
        Template::List(items) => {
            Value::Array(items.iter().map(|item| exposed(item, snapshot)).collect::<Option<_>>()?)
        }
        Template::Map(entries) => {
            let entries = entries.iter().map(|(key, entry)| Some((key.clone(), exposed(entry, snapshot)?)));
            Value::Object(entries.collect::<Option<_>>()?)
        }
    })
}

fn secret_text(secret: &SecretRef, snapshot: &Snapshot) -> Option<String> {
    String::from_utf8(snapshot.secrets.get(secret)?.expose().clone()).ok()
}
