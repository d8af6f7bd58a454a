//! Secrets in JSON values: how they are found, masked, and replaced by markers.
//!
//! A record contains a [marker](SecretRef) in place of a secret. The store keeps the text of the secret,
//! sealed.

use serde_json::Value;
use windlass_driver::PrivateState;
use windlass_driver::texts;
use windlass_model::AssemblyName;
use windlass_model::record::InstanceRecord;
use windlass_secret::{Redactor, SecretRef};

/// The secrets to search for in texts and JSON values.
pub(crate) struct KnownSecrets {
    texts: Vec<String>,
    redactor: Redactor,
}

impl KnownSecrets {
    pub(crate) fn new(texts: Vec<String>) -> Self {
        let redactor = Redactor::new(&texts);
        Self { texts, redactor }
    }

    /// Tells whether a value is or contains one of the secrets. A short secret is found only if a text or a
    /// number in the value equals it.
    pub(crate) fn are_in(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => self.are_in_text(&number.to_string()),
            Value::String(text) => self.are_in_text(text),
            Value::Array(items) => items.iter().any(|item| self.are_in(item)),
            Value::Object(entries) => entries.values().any(|entry| self.are_in(entry)),
        }
    }

    /// Tells whether a text is or contains one of the secrets. A short secret is found only if the text equals
    /// it.
    pub(crate) fn are_in_text(&self, text: &str) -> bool {
        self.redactor.mask_str(text) != text || self.texts.iter().any(|secret| secret == text)
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Takes secrets out of a value: each part that contains a secret is replaced by a marker. Returns each replaced
    /// part with the name of its marker. `names` supplies these names.
    ///
    /// A part is a text or a number. If a key of a mapping contains a secret, the whole mapping is one part. A mapping
    /// that only looks like a marker is replaced, too.
    pub(crate) fn take_out(
        &self,
        value: &mut Value,
        names: &mut dyn Iterator<Item = SecretRef>,
    ) -> Vec<(SecretRef, Value)> {
        let is_part = match &*value {
            Value::Array(_) => false,
            Value::Object(entries) => {
                entries.keys().any(|key| self.are_in_text(key)) || SecretRef::from_value(value).is_some()
            }
            _ => self.are_in(value),
        };
        if is_part {
            let name = names.next().expect("there are more names than parts");
            return vec![(name.clone(), std::mem::replace(value, name.to_value()))];
        }
        match value {
            Value::Array(items) => items.iter_mut().flat_map(|item| self.take_out(item, names)).collect(),
            Value::Object(entries) => {
                entries.values_mut().flat_map(|entry| self.take_out(entry, names)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Finds the secrets of a value, and returns a reference to each of them. In the value, a [marker](SecretRef) takes
/// the place of each secret.
pub(crate) fn markers(value: &Value) -> Vec<SecretRef> {
    match (SecretRef::from_value(value), value) {
        (Some(secret), _) => vec![secret],
        (None, Value::Array(items)) => items.iter().flat_map(markers).collect(),
        (None, Value::Object(entries)) => entries.values().flat_map(markers).collect(),
        _ => Vec::new(),
    }
}

/// Returns the secrets that belong to an instance: its sealed outputs, and its sealed natural id. A report of a driver
/// may contain data that looks like the marker of another secret. So the result contains a secret only if its name is
/// one that the engine gives to outputs and natural ids.
pub(crate) fn secrets_of(instance: &InstanceRecord) -> impl Iterator<Item = SecretRef> {
    let assembly = instance.element.assembly();
    let found = markers(&instance.document).into_iter().chain(instance.sealed_natural.clone());
    found.filter(move |secret| is_of_instance(secret, &assembly))
}

/// Tells whether a secret of an assembly is a sealed output or a sealed natural id of an instance.
pub(crate) fn is_of_instance(secret: &SecretRef, assembly: &AssemblyName) -> bool {
    let name = secret.id().strip_prefix(assembly.as_str()).and_then(|rest| rest.strip_prefix(':'));
    name.is_some_and(|name| name.starts_with("published/") || name.starts_with("natural/"))
}

/// Returns the private state of a driver, with each marker replaced by its secret. `open` returns the JSON text
/// of a secret. A secret that can't be opened becomes null, and is listed in the second result.
pub(crate) fn opened<'s>(
    mut value: Value,
    open: &dyn Fn(&SecretRef) -> Option<&'s str>,
) -> (PrivateState, Vec<SecretRef>) {
    let (mut secrets, mut missing) = (Vec::new(), Vec::new());
    put_back(&mut value, &mut |secret| {
        let part: Option<Value> = open(&secret).and_then(|text| serde_json::from_str(text).ok());
        match &part {
            Some(part) => secrets.extend(texts(part)),
            None => missing.push(secret),
        }
        part.unwrap_or_default()
    });
    (PrivateState { value, secrets }, missing)
}

/// Replaces each [marker](SecretRef) in a value by the secret that the marker stands for. `open` returns this secret.
fn put_back(value: &mut Value, open: &mut dyn FnMut(SecretRef) -> Value) {
    if let Some(secret) = SecretRef::from_value(value) {
        *value = open(secret);
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| put_back(item, open)),
        Value::Object(entries) => entries.values_mut().for_each(|entry| put_back(entry, open)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known() -> KnownSecrets {
        KnownSecrets::new(["hunter22", "abc", "4711"].map(str::to_owned).to_vec())
    }

    #[test]
    fn a_secret_is_found_wherever_it_is_in_a_value() {
        for secret in
            [json!("x-hunter22"), json!(["a", {"b": "hunter22"}]), json!({"port": 4711}), json!("abc")]
        {
            assert!(known().are_in(&secret), "{secret}");
        }
        for plain in [json!("abcd"), json!(4712), json!(["a", null, true])] {
            assert!(!known().are_in(&plain), "{plain}");
        }
    }

    #[test]
    fn parts_with_secrets_are_taken_out_and_put_back() {
        let whole = json!({
            "id": "i-7", "tries": 3, "none": null, "port": 4711,
            "urls": ["tcp://db", "tcp://me:hunter22@db", {"pin": "abc", "name": "web"}],
            "by-password": {"hunter22": 1, "name": "web"},
            "looks-sealed": {"$secret": "t:given/1"},
        });
        let mut names = (0..9).map(|number| format!("t:private/i/{number}").parse().unwrap());
        let mut value = whole.clone();
        let parts = known().take_out(&mut value, &mut names);
        let marker = |number: u32| json!({"$secret": format!("t:private/i/{number}")});
        assert_eq!(
            value,
            json!({
                "id": "i-7", "tries": 3, "none": null, "port": marker(2),
                "urls": ["tcp://db", marker(3), {"pin": marker(4), "name": "web"}],
                "by-password": marker(0), "looks-sealed": marker(1),
            })
        );
        assert_eq!(markers(&value).len(), 5);
        let stored: std::collections::BTreeMap<_, _> =
            parts.into_iter().map(|(secret, part)| (secret, part.to_string())).collect();
        let (state, missing) = opened(value.clone(), &|secret| stored.get(secret).map(String::as_str));
        assert_eq!((state.value, missing), (whole, Vec::new()));
        assert!(state.secrets.contains(&"tcp://me:hunter22@db".to_owned()), "{:?}", state.secrets);
        assert!(!state.secrets.contains(&"i-7".to_owned()));
        let (state, missing) = opened(value, &|_| None);
        assert_eq!(state.value["port"], json!(null));
        assert_eq!(missing.len(), 5);
    }
}
