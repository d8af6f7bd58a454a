//! Applies reports of drivers to instance documents, and answers of operators that replace a report. Secrets
//! are sealed on the way.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_driver::{Call, Report, texts};
use windlass_model::instance::{InstanceView, LogEntry, OUTPUTS, shape, take_log};
use windlass_model::record::{Failure, FailureKind, InstanceRecord, Severity};
use windlass_model::resolve::{Lookup, MAX_VALUE};
use windlass_model::{Action, ElementName, InstanceId, PropertyName, Side, Transition};
use windlass_secret::{Redactor, SecretRef};
use windlass_source::suggest;
use windlass_store::Batch;
use windlass_update_ops::Update;

use crate::engine::PublishedOutputs;
use crate::outdated_inputs::{Published, note_readers};
use crate::values::sensitive;
use crate::world::World;

impl World {
    /// Applies a report to the instance document, and returns the entries for the activity log.
    ///
    /// Values of sensitive properties, and values that contain a secret of the call, become secrets here.
    pub(crate) fn apply(
        &mut self,
        call: &Call,
        family: &str,
        report: Report,
        batch: &mut Batch,
    ) -> Result<Vec<LogEntry>, Failure> {
        let parsed = Update::parse(&report.updates, shape()).map_err(|errors| {
            let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Failure::new(FailureKind::Protocol, format!("its updates are not valid: {}", all.join("; ")))
        })?;
        let (update, mut log) = take_log(parsed.update);
        log.extend(report.log);
        let mut record = self.instances.of(&call.element);
        update.apply(&mut record.document).map_err(|error| {
            Failure::new(FailureKind::Protocol, format!("its updates can't be applied: {error}"))
        })?;
        too_much(&record.document)?;
        let before = Published::of(self, &call.element);
        let name = record.document["name"].as_str().map(str::to_owned);
        let secrets = self.seal(&call.element, &call.instance, call.secrets(), &mut record, batch);
        let redactor = Redactor::new(&secrets);
        log.extend(self.undeclared(&call.element, &before, &record));
        let tells = |text: &str| !secrets.is_empty() && holds_secret(&text.into(), &secrets, &redactor);
        let mut told = name.filter(|name| tells(name)).map(|name| ("name", name));
        if let Some(natural) = report.natural {
            if tells(&natural) {
                self.seal_natural(&call.instance, &natural, &mut record, batch);
                told = Some(("id", natural));
            } else {
                (record.natural, record.sealed_natural) = (Some(natural), None);
            }
        }
        for entry in &mut log {
            entry.message = redactor.mask_str(&entry.message);
        }
        self.instances.put(record, batch);
        note_readers(self, &call.action, &before, batch);
        if let Some(private) = report.private {
            self.note(call, family, private, batch);
        }
        match told {
            Some((what, text)) => Err(tells_a_secret(call, what, &text)),
            None => Ok(log),
        }
    }

    /// Warns of newly published outputs that the element doesn't declare, since nothing can read them.
    fn undeclared(
        &self,
        element: &ElementName,
        before: &Published,
        record: &InstanceRecord,
    ) -> Option<LogEntry> {
        /// Maximum number of listed names.
        const NAMED: usize = 3;
        let declared = &self.element(element, Side::Desired)?.properties;
        let published = InstanceView::new(&record.document).outputs()?;
        let is_new = |name: &&String| {
            !declared.contains_key(name.as_str())
                && !before.outputs.keys().any(|known| known.as_str() == *name)
        };
        let near = |name: &String| suggest(name, declared.keys().map(PropertyName::as_str));
        let mut undeclared: Vec<(&String, Option<&str>)> =
            published.keys().filter(is_new).map(|name| (name, near(name))).collect();
        // Likely misspellings come first.
        undeclared.sort_by_key(|(_, near)| near.is_none());
        let told = undeclared.iter().take(NAMED).map(|(name, near)| {
            let near = near.map(|near| format!(" (did you mean `{near}`?)"));
            format!("`{name}`{}", near.unwrap_or_default())
        });
        let told: Vec<String> = told.collect();
        let more = undeclared.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!(
            "it publishes {}{more}, which its descriptor does not declare; nothing can read that",
            told.join(", ")
        );
        (!undeclared.is_empty()).then_some(LogEntry { severity: Severity::Warning, message })
    }

    /// Seals a natural id that contains a secret, for the calls that remove the instance.
    fn seal_natural(
        &mut self,
        instance: &InstanceId,
        natural: &str,
        record: &mut InstanceRecord,
        batch: &mut Batch,
    ) {
        let id = format!("{}:natural/{instance}", record.element.assembly());
        let secret: SecretRef = id.parse().expect("names of assemblies and instances are parts of ids");
        self.secrets.seal(secret.clone(), &self.assembly.name, natural.to_owned(), batch);
        (record.natural, record.sealed_natural) = (None, Some(secret));
    }

    /// Writes the outputs that an operator stated into the instance document, like a report: with secrets
    /// sealed and readers noted. A repeated Install drops the former outputs, which may no longer be true.
    pub(crate) fn publish(
        &mut self,
        element: &ElementName,
        action: &Action,
        published: &PublishedOutputs,
        batch: &mut Batch,
    ) {
        let mut record = self.instances.of(element);
        let mut known = record.document.pointer_mut(&format!("/interfaces/{OUTPUTS}/signals"));
        let previous = known.as_mut().and_then(|outputs| outputs.as_object_mut());
        let previous = previous.filter(|_| *action == Action::Transition(Transition::Install));
        let forgets = previous.map(std::mem::take).is_some_and(|outputs| !outputs.is_empty());
        let says = forgets || !published.0.is_empty();
        let Some(instance) = self.instance_id(element).filter(|_| says) else { return };
        for (name, value) in &published.0 {
            record.document["interfaces"][OUTPUTS]["signals"][name.as_str()] = value.clone();
        }
        let before = Published::of(self, element);
        // An output may repeat a secret that the element was given.
        self.seal(element, &instance, self.secrets.all_texts(), &mut record, batch);
        self.instances.put(record, batch);
        note_readers(self, action, &before, batch);
    }

    /// Records the natural id of an element, as stated by an operator.
    pub(crate) fn call_it(&mut self, element: &ElementName, natural: String, batch: &mut Batch) {
        let record = InstanceRecord { natural: Some(natural), ..self.instances.of(element) };
        self.instances.put(record, batch);
    }

    fn note(&mut self, call: &Call, family: &str, private: Value, batch: &mut Batch) {
        if let Some(record) = self.elements.get_mut(&call.element) {
            record.private.insert(family.to_owned(), private);
            batch.push(windlass_store::Change::PutElement(Box::new(record.clone())));
        }
    }

    /// Replaces secret values in a document by markers, and returns all secrets. These are `known`, and the
    /// values of sensitive properties. An output that contains one of them is secret too.
    fn seal(
        &mut self,
        element: &ElementName,
        instance: &InstanceId,
        known: Vec<String>,
        record: &mut InstanceRecord,
        batch: &mut Batch,
    ) -> Vec<String> {
        let sensitive: BTreeSet<PropertyName> =
            self.element(element, Side::Desired).map(sensitive).unwrap_or_default();
        let mut secrets = known;
        if secrets.is_empty() && sensitive.is_empty() {
            return secrets;
        }
        let is_sensitive = |name: &str| sensitive.iter().any(|property| property.as_str() == name);
        let mut sealed = Vec::new();
        if let Some(outputs) = record.document["interfaces"][OUTPUTS]["signals"].as_object_mut() {
            // Outputs of earlier reports are already sealed, and keep their names.
            let taken: BTreeSet<SecretRef> = outputs.values().filter_map(SecretRef::from_value).collect();
            let is_new = |value: &Value| !value.is_null() && SecretRef::from_value(value).is_none();
            let said = outputs.iter().filter(|(name, value)| is_sensitive(name) && is_new(value));
            secrets.extend(said.flat_map(|(_, value)| texts(value)).filter(|text| !text.is_empty()));
            let redactor = Redactor::new(&secrets);
            let id = |number: usize| format!("{}:published/{instance}/{number}", element.assembly());
            let names = (0..).map_while(|number| id(number).parse::<SecretRef>().ok());
            let mut names = names.filter(|name| !taken.contains(name));
            let is_secret =
                |name: &str, value: &Value| is_sensitive(name) || holds_secret(value, &secrets, &redactor);
            for (name, value) in outputs.iter_mut() {
                if is_new(value)
                    && is_secret(name, value)
                    && let Some(secret) = names.next()
                {
                    sealed.push((secret.clone(), windlass_model::resolve::text_of(value)));
                    *value = secret.to_value();
                }
            }
        }
        for (secret, text) in sealed {
            self.secrets.seal(secret, &self.assembly.name, text, batch);
        }
        mask_texts(&mut record.document, &Redactor::new(&secrets));
        secrets
    }
}

/// Returns the failure for an instance's id or name that contains a secret. It names the property that was
/// given to the call with that secret.
fn tells_a_secret(call: &Call, what: &str, text: &str) -> Failure {
    let given = call.properties.iter().chain(&call.arguments).filter(|(_, input)| input.sensitive);
    let given = given.map(|(name, input)| (name.to_string(), texts(&input.value)));
    let of_place = call.location.properties.iter().filter(|(name, _)| call.location.secret.contains(*name));
    let of_place = of_place.map(|(name, value)| (format!("location.{name}"), texts(value)));
    let is_in = |secrets: &[String]| holds_secret(&text.into(), secrets, &Redactor::new(secrets));
    let property = given.chain(of_place).find(|(_, secrets)| is_in(secrets)).map(|(name, _)| name);
    let property =
        property.map_or_else(|| "a secret that it publishes".to_owned(), |name| format!("`{name}`"));
    let message = format!(
        "the {what} of the instance holds the value of {property}, which is secret; \
         the script must choose another, because it is shown in clear"
    );
    Failure::new(FailureKind::Protocol, message)
}

/// Refuses outputs that exceed the maximum size of a value.
fn too_much(document: &Value) -> Result<(), Failure> {
    for (name, value) in InstanceView::new(document).outputs().into_iter().flatten() {
        let large = match value {
            Value::String(text) => text.len() > MAX_VALUE,
            Value::Array(_) | Value::Object(_) => value.to_string().len() > MAX_VALUE,
            _ => false,
        };
        if large {
            let message = format!("it publishes more than {} MiB as `{name}`", MAX_VALUE >> 20);
            return Err(Failure::new(FailureKind::Protocol, message));
        }
    }
    Ok(())
}

/// Tells whether a value is or contains one of the secrets. A short secret is detected only as a whole value.
fn holds_secret(value: &Value, secrets: &[String], redactor: &Redactor) -> bool {
    let is_secret =
        |text: &str| redactor.mask_str(text) != text || secrets.iter().any(|secret| secret == text);
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(number) => is_secret(&number.to_string()),
        Value::String(text) => is_secret(text),
        Value::Array(items) => items.iter().any(|item| holds_secret(item, secrets, redactor)),
        Value::Object(entries) => entries.values().any(|entry| holds_secret(entry, secrets, redactor)),
    }
}

/// Masks all texts of a document, except markers.
fn mask_texts(value: &mut Value, redactor: &Redactor) {
    if SecretRef::from_value(value).is_some() {
        return;
    }
    match value {
        Value::String(text) => *text = redactor.mask_str(text),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_texts(item, redactor)),
        Value::Object(entries) => {
            let told = |name: &String| redactor.mask_str(name) != *name;
            if entries.keys().any(told) {
                let all = std::mem::take(entries);
                entries.extend(all.into_iter().map(|(name, value)| (redactor.mask_str(&name), value)));
            }
            entries.values_mut().for_each(|entry| mask_texts(entry, redactor));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_found_wherever_it_is_in_a_value() {
        let secrets = ["hunter22".to_owned(), "abc".to_owned(), "4711".to_owned()];
        let redactor = Redactor::new(&secrets);
        let holds = |value| holds_secret(&value, &secrets, &redactor);
        for secret in
            [json!("x-hunter22"), json!(["a", {"b": "hunter22"}]), json!({"port": 4711}), json!("abc")]
        {
            assert!(holds(secret.clone()), "{secret}");
        }
        for plain in [json!("abcd"), json!(4712), json!(["a", null, true])] {
            assert!(!holds(plain.clone()), "{plain}");
        }
    }

    #[test]
    fn names_in_a_document_are_masked_too() {
        let mut document = json!({"interfaces": {"m": {"signals": {"of-hunter22": "hunter22", "b": 1}}}});
        mask_texts(&mut document, &Redactor::new(["hunter22"]));
        assert_eq!(document, json!({"interfaces": {"m": {"signals": {"of-***": "***", "b": 1}}}}));
    }
}
