//! The instances of elements, with the documents that drivers have reported.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_model::instance::{InstanceView, METRICS, OUTPUTS, Status, clear_complaint};
use windlass_model::record::{FormerOutput, InstanceRecord};
use windlass_model::{ElementName, ProcessId, PropertyName};
use windlass_secret::SecretRef;
use windlass_store::{Batch, Change};

#[derive(Default)]
pub(crate) struct Instances(BTreeMap<ElementName, InstanceRecord>);

impl Instances {
    pub(crate) fn new(records: BTreeMap<ElementName, InstanceRecord>) -> Self {
        Self(records)
    }

    pub(crate) fn get(&self, element: &ElementName) -> Option<&InstanceRecord> {
        self.0.get(element)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &InstanceRecord> {
        self.0.values()
    }

    /// Returns the record of an element; an empty record if the element has none.
    pub(crate) fn of(&self, element: &ElementName) -> InstanceRecord {
        self.0.get(element).cloned().unwrap_or_else(|| empty(element))
    }

    /// Stores a changed record as the next revision. Returns the previous record of the element; an empty
    /// record if the element had none.
    pub(crate) fn put(&mut self, record: InstanceRecord, batch: &mut Batch) -> InstanceRecord {
        let record = InstanceRecord { revision: record.revision + 1, ..record };
        batch.push(Change::PutInstance(Box::new(record.clone())));
        let element = record.element.clone();
        self.0.insert(element.clone(), record).unwrap_or_else(|| empty(&element))
    }

    /// Stores an empty record for an element that is gone. The record keeps only the former outputs.
    pub(crate) fn empty(&mut self, element: &ElementName, batch: &mut Batch) {
        if let Some(InstanceRecord { revision, former_outputs, .. }) = self.0.remove(element) {
            self.put(InstanceRecord { revision, former_outputs, ..self.of(element) }, batch);
        }
    }

    /// Stores the present outputs of an element as former outputs, before the instance of the element is removed or
    /// replaced. `installed_by` is the process that created the instance.
    ///
    /// windlass compares former outputs with later outputs. A sealed output is not stored, because its marker may stay
    /// the same if its value changes.
    pub(crate) fn keep_outputs(&mut self, element: &ElementName, installed_by: ProcessId, batch: &mut Batch) {
        let Some(record) = self.get(element) else { return };
        let mut former = record.former_outputs.clone();
        for name in self.outputs(element) {
            let Some(value) = self.output(element, &name) else { continue };
            if SecretRef::from_value(value).is_some() {
                former.remove(&name);
            } else if former.get(&name).is_none_or(|known| known.value != *value) {
                former.insert(name, FormerOutput { value: value.clone(), since: installed_by });
            }
        }
        if former != record.former_outputs {
            self.put(InstanceRecord { former_outputs: former, ..self.of(element) }, batch);
        }
    }

    /// Returns the outputs of an element that have the same value as in an earlier instance of the element. Each output
    /// comes with the process that created the first instance with this value.
    pub(crate) fn unchanged_outputs(
        &self,
        element: &ElementName,
    ) -> impl Iterator<Item = (&PropertyName, ProcessId)> {
        let former = self.get(element).into_iter().flat_map(|record| &record.former_outputs);
        let unchanged = former.filter(|(name, former)| self.output(element, name) == Some(&former.value));
        unchanged.map(|(name, former)| (name, former.since))
    }

    /// Drops the record of an element from memory only.
    pub(crate) fn remove(&mut self, element: &ElementName) {
        self.0.remove(element);
    }

    /// Returns the names of the values that an element publishes for other elements.
    ///
    /// In the instance document, each value belongs to an interface. A value of the interface [`OUTPUTS`] keeps its
    /// name. The name of any other value is `INTERFACE.NAME`. The metrics of the element are omitted.
    pub(crate) fn outputs(&self, element: &ElementName) -> impl Iterator<Item = PropertyName> {
        let document = self.get(element).map(|instance| InstanceView::new(&instance.document));
        let signals = document.into_iter().flat_map(InstanceView::signals);
        let names = signals.filter_map(|(interface, pin, _)| match interface {
            OUTPUTS => Some(pin.to_owned()),
            METRICS => None,
            interface => Some(format!("{interface}.{pin}")),
        });
        names.filter_map(|name| name.parse::<PropertyName>().ok())
    }

    /// Returns a published output of an element. For a sealed output, the result is a marker.
    pub(crate) fn output(&self, element: &ElementName, property: &PropertyName) -> Option<&Value> {
        InstanceView::new(&self.get(element)?.document).property(property.as_str())
    }

    /// Returns the status that drivers have reported for an element. If the element has no record, no flag of the
    /// status is set.
    pub(crate) fn status(&self, element: &ElementName) -> Status {
        self.get(element).map(|instance| InstanceView::new(&instance.document).status()).unwrap_or_default()
    }

    /// Clears the flags `failed` and `converging`, which drivers have reported for an element.
    ///
    /// The engine calls this method at the first report of a transition. Flags from before the transition then can't be
    /// mistaken for the result of the transition.
    pub(crate) fn forget_complaint(&mut self, element: &ElementName) {
        if let Some(record) = self.0.get_mut(element) {
            clear_complaint(&mut record.document);
        }
    }
}

/// Returns the record of an element without an instance.
fn empty(element: &ElementName) -> InstanceRecord {
    InstanceRecord {
        element: element.clone(),
        natural: None,
        sealed_natural: None,
        former_outputs: BTreeMap::new(),
        document: json!({}),
        revision: 0,
    }
}
