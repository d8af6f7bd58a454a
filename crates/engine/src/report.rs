//! Applies the reports of drivers to instance documents, and seals the secrets in these reports.
//!
//! If a report is lost, an operator can state its outputs and its natural id. The module handles this data like a
//! report.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_driver::{Call, Report, texts};
use windlass_model::instance::{InstanceView, LogEntry, OUTPUTS};
use windlass_model::instance_report::{Accepted, accept, natural_id_problem};
use windlass_model::record::{Failure, FailureKind, InstanceRecord, Severity};
use windlass_model::resolve::Lookup;
use windlass_model::{Action, CommandId, ElementName, InstanceId, PropertyName, Side, Timestamp, Transition};
use windlass_secret::{Redactor, SecretRef};
use windlass_source::suggest;
use windlass_store::{Batch, Change, Claim};

use crate::commands;
use crate::engine::PublishedOutputs;
use crate::outdated_inputs::{Published, note_readers};
use crate::sealing::{KnownSecrets, markers};
use crate::values::sensitive;
use crate::world::World;

/// A call, and the further data that [`World::apply`] needs to apply the driver's report about the call.
#[derive(Clone, Copy)]
pub(crate) struct Answered<'a> {
    pub(crate) call: &'a Call,
    /// The key under which the private state of the call's driver is stored.
    pub(crate) family: &'a str,
    /// The secret texts that the driver has registered (`Context::hide`), such as a password in a job's output.
    pub(crate) hidden: &'a [String],
    /// The time of the report.
    pub(crate) now: Timestamp,
}

/// The result of an applied report: entries for the activity log, and the record that the report replaced.
pub(crate) struct Applied {
    /// The entries that come from the driver.
    pub(crate) log: Vec<LogEntry>,
    /// The entries about results of commands.
    pub(crate) results: Vec<LogEntry>,
    /// The record of the instance before the report.
    pub(crate) old: InstanceRecord,
    /// Whether a sealed signal has a new value. The document of the instance contains only a marker of the value, so the
    /// document may be the same as before.
    pub(crate) resealed: bool,
}

impl Applied {
    pub(crate) fn all(self) -> Vec<LogEntry> {
        [self.log, self.results].concat()
    }
}

/// Checks a natural id that a driver reports. A natural id is the id of an instance outside of windlass.
///
/// # Errors
/// The id is invalid. The failure does not contain the id, because the id may contain a secret.
pub(crate) fn check_natural(natural: &str) -> Result<(), Failure> {
    natural_id_problem(natural).map_or(Ok(()), |problem| {
        Err(Failure::new(
            FailureKind::Protocol,
            format!("the id that its driver reports for the instance {problem}"),
        ))
    })
}

impl World {
    /// Applies a report to the instance document, and returns the entries for the activity log.
    ///
    /// The report may contain secrets: for example, passwords from sensitive properties, or passwords that the driver
    /// has registered during the call. An output or a private value that contains a secret is sealed, and a marker
    /// takes its place. In the rest of the document, in the log and in the failure, secrets are masked.
    pub(crate) fn apply(
        &mut self,
        answered: Answered<'_>,
        report: Report,
        batch: &mut Batch,
    ) -> Result<Applied, Failure> {
        let Answered { call, hidden, now, .. } = answered;
        // An earlier build may have recorded an invalid id, which the driver may repeat.
        let is_new = |natural: &&String| call.natural.as_ref() != Some(*natural);
        report.natural.as_ref().filter(is_new).map_or(Ok(()), |natural| check_natural(natural))?;
        let mut record = self.instances.of(&call.element);
        let is_open = |id: &CommandId| commands::is_open(self, &call.element, id);
        let given = [call.secrets(), hidden.to_vec()].concat();
        // The failure names parts of the report, which may contain secrets.
        let Accepted { mut log, results } =
            accept(&mut record.document, &report.updates, call.package.shape(), is_open)
                .map_err(|failure| masked(failure, &given))?;
        log.extend(report.log);
        let before = Published::of(self, &call.element);
        let name = record.document["name"].as_str().map(str::to_owned);
        let is_application = call.package.pins().is_some();
        let signals = if is_application { Signals::All } else { Signals::Outputs };
        let (secrets, resealed) =
            self.seal(&call.element, &call.instance, (given, signals), &mut record, batch);
        if !is_application {
            log.extend(self.undeclared(&call.element, &before, &record));
        }
        let mut exposed = name.filter(|name| secrets.are_in_text(name)).map(|name| ("name", name));
        if let Some(natural) = report.natural {
            if secrets.are_in_text(&natural) {
                self.seal_natural(&call.instance, &natural, &mut record, batch);
                exposed = Some(("id", natural));
            } else {
                self.open_natural(natural, &mut record, batch);
            }
        }
        for entry in &mut log {
            entry.message = secrets.redactor().mask_str(&entry.message);
            entry.data.iter_mut().for_each(|data| secrets.redactor().mask_value(data));
        }
        let old = self.instances.put(record, batch);
        let results = commands::record(self, results, call.package.pins(), &secrets, now, batch);
        note_readers(self, &call.action, &before, batch);
        if let Some(private) = report.private {
            self.put_private(answered, private, &secrets, batch);
        }
        match exposed {
            Some((what, text)) => Err(secret_in_id(call, what, &text)),
            None => Ok(Applied { log, results, old, resealed }),
        }
    }

    /// Returns a warning about newly published outputs that the element does not declare. No property can read
    /// such an output.
    fn undeclared(
        &self,
        element: &ElementName,
        before: &Published,
        record: &InstanceRecord,
    ) -> Option<LogEntry> {
        /// The maximum number of undeclared outputs that the warning lists by name. The warning only counts further
        /// outputs: `and 2 more`.
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
        let names = undeclared.iter().take(NAMED).map(|(name, near)| {
            let near = near.map(|near| format!(" (did you mean `{near}`?)"));
            format!("`{name}`{}", near.unwrap_or_default())
        });
        let names: Vec<String> = names.collect();
        let more = undeclared.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!(
            "it publishes {}{more}, which its descriptor does not declare; nothing can read that",
            names.join(", ")
        );
        (!undeclared.is_empty()).then(|| LogEntry::new(Severity::Warning, message))
    }

    /// Seals the natural id of an instance, because the id contains a secret. The natural id identifies the instance
    /// outside of windlass, for example a virtual machine in its cloud. Later calls, such as the removal of the
    /// instance, still need the id.
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

    /// Writes outputs into the instance document of an element. An operator has stated these outputs, because the
    /// report of a call was lost. `action` is the action of this call.
    ///
    /// The function handles the outputs like the outputs in a report: for example, the function seals secrets. If an
    /// output changes, the elements that read the output have an outdated input, and the function records this input.
    /// If `action` is Install, the function first drops all former output properties, because their values may no
    /// longer be true.
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
        let signals = if self.is_application(element) { Signals::All } else { Signals::Outputs };
        for (name, value) in &published.0 {
            let pin = name.as_str().split_once('.').filter(|_| signals == Signals::All);
            let (interface, pin) = pin.unwrap_or((OUTPUTS, name.as_str()));
            record.document["interfaces"][interface]["signals"][pin] = value.clone();
        }
        let before = Published::of(self, element);
        // An output may contain a secret that the call got as an input.
        let given = (self.secrets.all_texts(), signals);
        self.seal(element, &instance, given, &mut record, batch);
        self.instances.put(record, batch);
        note_readers(self, action, &before, batch);
    }

    /// Tells whether an element belongs to an application. The function looks for pins in the element's package. A pin
    /// is a named value or a command, and only packages of applications declare pins.
    fn is_application(&self, element: &ElementName) -> bool {
        let package =
            self.element(element, Side::Desired).map(|element| self.package(element, Side::Desired));
        package.is_some_and(|package| package.is_ok_and(|package| package.pins().is_some()))
    }

    /// Records the natural id that an operator stated for an element. A natural id is the id of an instance outside of
    /// windlass, for example in a cloud.
    ///
    /// An id that contains a secret of the assembly is sealed. For any other id of an application, the batch also
    /// claims the id.
    pub(crate) fn call_it(&mut self, element: &ElementName, claim: Claim, batch: &mut Batch) {
        let natural = claim.natural_id.clone();
        let mut record = self.instances.of(element);
        let is_secret = KnownSecrets::new(self.secrets.all_texts()).are_in_text(&natural);
        if let Some(instance) = self.instance_id(element).filter(|_| is_secret) {
            self.seal_natural(&instance, &natural, &mut record, batch);
        } else {
            if self.assembly.owner.is_some() {
                batch.push(Change::Claim(claim));
            }
            self.open_natural(natural, &mut record, batch);
        }
        self.instances.put(record, batch);
    }

    /// Sets a natural id that contains no secret. The sealed id that the record had before is removed from the store.
    fn open_natural(&mut self, natural: String, record: &mut InstanceRecord, batch: &mut Batch) {
        record.natural = Some(natural);
        if let Some(sealed) = record.sealed_natural.take() {
            self.secrets.forget(sealed, batch);
        }
    }

    /// Records the private state that a driver has reported for an element. All drivers of one
    /// [family](windlass_driver::Driver::family) share one private state of the element, and the new state replaces the
    /// old one. A value with a secret is sealed, and a [marker](SecretRef) takes its place in the state.
    fn put_private(
        &mut self,
        answered: Answered<'_>,
        mut private: Value,
        secrets: &KnownSecrets,
        batch: &mut Batch,
    ) {
        let Answered { call: Call { element, instance, .. }, family, .. } = answered;
        self.drop_private(element, |key| key == family, batch);
        let Some(record) = self.elements.get(element) else { return };
        let taken: BTreeSet<SecretRef> = record.private.values().flat_map(markers).collect();
        let assembly = element.assembly();
        let names = (0..usize::MAX).map(|number| format!("{assembly}:private/{instance}/{number}"));
        let names = names.map(|id| id.parse().expect("names of assemblies and instances are parts of ids"));
        let mut names = names.filter(|name| !taken.contains(name));
        for (secret, part) in secrets.take_out(&mut private, &mut names) {
            self.secrets.seal(secret, &self.assembly.name, part.to_string(), batch);
        }
        if let Some(record) = self.elements.get_mut(element) {
            record.private.insert(family.to_owned(), private);
            batch.push(Change::PutElement(Box::new(record.clone())));
        }
    }

    /// Drops the private state that drivers have stored for an element, together with the sealed secrets in this
    /// state.
    ///
    /// All drivers of one [family](windlass_driver::Driver::family) share one private state. The function drops
    /// the state of each family for which `is_meant` returns `true`. The caller stores the record of the element.
    pub(crate) fn drop_private(
        &mut self,
        element: &ElementName,
        is_meant: impl Fn(&str) -> bool,
        batch: &mut Batch,
    ) {
        let Some(record) = self.elements.get_mut(element) else { return };
        let (dropped, kept) =
            std::mem::take(&mut record.private).into_iter().partition(|(family, _)| is_meant(family));
        record.private = kept;
        let dropped: BTreeMap<String, Value> = dropped;
        for secret in dropped.values().flat_map(markers) {
            self.secrets.forget(secret, batch);
        }
    }

    /// Replaces the secrets in an instance document. Returns all secrets, and whether a sealed value differs from the
    /// stored one.
    ///
    /// The secrets are the texts `known`, and the values of sensitive properties. `signals` tells which reported
    /// values other elements can read. If such a value contains a secret, the value is stored encrypted, and a
    /// marker takes its place in the document. In the rest of the document, secrets are masked.
    fn seal(
        &mut self,
        element: &ElementName,
        instance: &InstanceId,
        (known, signals): (Vec<String>, Signals),
        record: &mut InstanceRecord,
        batch: &mut Batch,
    ) -> (KnownSecrets, bool) {
        let sensitive: BTreeSet<PropertyName> =
            self.element(element, Side::Desired).map(sensitive).unwrap_or_default();
        if known.is_empty() && sensitive.is_empty() {
            return (KnownSecrets::new(known), false);
        }
        let is_sensitive = |name: &str| sensitive.iter().any(|property| property.as_str() == name);
        let is_new = |value: &Value| !value.is_null() && SecretRef::from_value(value).is_none();
        let mut published = signals.of(&mut record.document);
        let said = published.iter().filter(|(name, value)| is_sensitive(name) && is_new(value));
        let said = said.flat_map(|(_, value)| texts(value)).filter(|text| !text.is_empty());
        let secrets = KnownSecrets::new(known.into_iter().chain(said).collect());
        // Signals of earlier reports are already sealed, and keep their names.
        let taken: BTreeSet<SecretRef> =
            published.iter().filter_map(|(_, value)| SecretRef::from_value(value)).collect();
        let id = |number: usize| format!("{}:published/{instance}/{number}", element.assembly());
        let names = (0..).map_while(|number| id(number).parse::<SecretRef>().ok());
        let mut names = names.filter(|name| !taken.contains(name));
        let mut sealed = Vec::new();
        for (name, value) in &mut published {
            if is_new(value)
                && (is_sensitive(name) || secrets.are_in(value))
                && let Some(secret) = names.next()
            {
                sealed.push((secret.clone(), windlass_model::resolve::text_of(value)));
                **value = secret.to_value();
            }
        }
        let mut resealed = false;
        for (secret, text) in sealed {
            resealed |= self.secrets.text(&secret) != Some(text.as_str());
            self.secrets.seal(secret, &self.assembly.name, text, batch);
        }
        secrets.redactor().mask_value(&mut record.document);
        (secrets, resealed)
    }
}

/// Masks secrets in the texts of a failure.
fn masked(failure: Failure, secrets: &[String]) -> Failure {
    let redactor = Redactor::new(secrets);
    let detail = failure.detail.map(|detail| redactor.mask_str(&detail));
    Failure { message: redactor.mask_str(&failure.message), detail, ..failure }
}

/// Tells which signals of an instance document other elements can read. A signal is a named value in the instance
/// document. Output properties such as `port` are signals too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signals {
    /// Only the output properties, for an element that belongs to no application. The instance document contains the
    /// output properties as signals of the interface [`OUTPUTS`].
    Outputs,
    /// All signals of all interfaces, for an element that belongs to an application.
    All,
}

impl Signals {
    /// Returns the signals that `self` selects in an instance document. Each signal has the name under which other
    /// elements read it. For example, the name is `port` for an output property, and `compute.ip` for the signal `ip`
    /// of the interface `compute`.
    fn of(self, document: &mut Value) -> Vec<(String, &mut Value)> {
        let interfaces = document.get_mut("interfaces").and_then(Value::as_object_mut);
        let interfaces = interfaces.into_iter().flatten();
        let meant = interfaces.filter(|(name, _)| self == Self::All || *name == OUTPUTS);
        let signals = meant.flat_map(|(interface, of)| {
            let signals = of.get_mut("signals").and_then(Value::as_object_mut).into_iter().flatten();
            signals.map(move |(pin, value)| match interface.as_str() {
                OUTPUTS => (pin.clone(), value),
                interface => (format!("{interface}.{pin}"), value),
            })
        });
        signals.collect()
    }
}

/// Returns the failure of a call that reports an instance id or a name with a secret in it. The message names
/// the property through which the call got that secret.
fn secret_in_id(call: &Call, what: &str, text: &str) -> Failure {
    let given = call.properties.iter().chain(&call.arguments).filter(|(_, input)| input.sensitive);
    let given = given.map(|(name, input)| (format!("`{name}`"), texts(&input.value)));
    let of_place = call.location.properties.iter().filter(|(name, _)| call.location.secret.contains(*name));
    let of_place = of_place.map(|(name, value)| (format!("`location.{name}`"), texts(value)));
    let of_factory = call.configuration.iter().filter(|(_, input)| input.sensitive);
    let of_factory =
        of_factory.map(|(name, input)| (format!("`{name}` of its factory"), texts(&input.value)));
    let is_in = |secrets: Vec<String>| KnownSecrets::new(secrets).are_in_text(text);
    let mut known = given.chain(of_place).chain(of_factory);
    let property = known.find_map(|(name, secrets)| is_in(secrets).then_some(name));
    let property = property.unwrap_or_else(|| "a secret that it publishes".to_owned());
    let message = format!(
        "the {what} of the instance holds the value of {property}, which is secret; \
         the script must choose another, because it is shown in clear"
    );
    Failure::new(FailureKind::Protocol, message)
}
