//! The instances of elements, with the documents that drivers have reported.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_model::instance::{InstanceView, METRICS, OUTPUTS, Status, clear_complaint};
use windlass_model::record::InstanceRecord;
use windlass_model::{ElementName, PropertyName};
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

    /// Stores an empty record for an element that is gone.
    pub(crate) fn empty(&mut self, element: &ElementName, batch: &mut Batch) {
        if let Some(InstanceRecord { revision, .. }) = self.0.remove(element) {
            self.put(InstanceRecord { revision, ..self.of(element) }, batch);
        }
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
        document: json!({}),
        revision: 0,
    }
}
