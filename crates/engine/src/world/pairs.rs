//! The records of pairs. A pair is a relationship between two nodes. The record of a pair contains the values that the
//! pair was created with.

use std::collections::{BTreeMap, HashMap};

use windlass_model::record::{ElementRecord, Given, PairKey, PairRecord};
use windlass_model::{ElementName, PropertyName, State, Timestamp};
use windlass_store::{Batch, Change};

use super::secrets::Secrets;

/// The pairs of an assembly. Each pair is a relationship between two nodes.
///
/// A pair is *half-created* if operations that create it were called, but not all of them have succeeded.
#[derive(Default)]
pub(crate) struct Pairs {
    records: BTreeMap<PairKey, PairRecord>,
    /// The number of pairs of each element, as source or target. A pair counts if it exists, or if its creation
    /// has begun.
    tied: HashMap<ElementName, usize>,
    /// Pairs whose records differ between memory and the store. The source or the target of such a pair no longer
    /// exists, so the record in memory says that the pair is not created. The store does not contain this change
    /// yet.
    parted: Vec<PairKey>,
}

impl Pairs {
    /// Creates the collection from the records of an assembly. If the source or the target of a pair no longer exists,
    /// the pair counts as not created. Its record may be out of date, for example because an operation that should
    /// remove the pair has failed.
    pub(crate) fn of(
        records: BTreeMap<PairKey, PairRecord>,
        elements: &BTreeMap<ElementName, ElementRecord>,
    ) -> Self {
        let mut pairs = Self { records, ..Self::default() };
        for pair in pairs.records.values_mut().filter(|pair| pair.is_there()) {
            let PairKey { source, target, .. } = &pair.key;
            if is_gone(elements, source) || is_gone(elements, target) {
                *pair =
                    PairRecord { given: pair.given.take(), ..PairRecord::new(pair.key.clone(), pair.since) };
                pairs.parted.push(pair.key.clone());
            } else {
                for end in [source, target] {
                    *pairs.tied.entry(end.clone()).or_default() += 1;
                }
            }
        }
        pairs
    }

    pub(crate) fn get(&self, key: &PairKey) -> Option<&PairRecord> {
        self.records.get(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PairRecord> {
        self.records.values()
    }

    /// Returns the records of the pairs that exist, and of the pairs whose creation has begun and is not complete. A
    /// pair is one source and one target of a relationship.
    pub(crate) fn there(&self) -> impl Iterator<Item = &PairRecord> {
        self.iter().filter(|pair| pair.is_there())
    }

    /// Tells whether an element, or a group or assembly around it, is the source or the target of a pair. A pair counts
    /// if its creation has begun.
    pub(crate) fn is_tied(&self, element: &ElementName) -> bool {
        let ends = || enclosing(element).chain([element.clone()]);
        ends().any(|end| self.tied.get(&end).is_some_and(|tied| *tied > 0))
    }

    pub(crate) fn put(&mut self, record: PairRecord, batch: &mut Batch) {
        batch.push(Change::PutPair(Box::new(record.clone())));
        let PairKey { source, target, .. } = record.key.clone();
        let now = record.is_there();
        let before = self.records.insert(record.key.clone(), record).is_some_and(|pair| pair.is_there());
        for end in [source, target] {
            let tied = self.tied.entry(end).or_default();
            *tied = (*tied + usize::from(now)).saturating_sub(usize::from(before));
        }
    }

    /// Drops the record of a pair that no longer exists.
    pub(crate) fn remove(&mut self, key: PairKey, secrets: &mut Secrets, batch: &mut Batch) {
        self.forget_inputs(&key, secrets, batch);
        self.records.remove(&key);
        batch.push(Change::DropPair(Box::new(key)));
    }

    /// Adds the changes of some pairs to a batch: the pairs whose source or target no longer exists are recorded
    /// as not created.
    ///
    /// In memory, these pairs are already recorded as not created. The batch makes the same change in the store.
    /// If the source or the target is created again later, the pairs must then be created again, too.
    pub(crate) fn put_parted(&mut self, secrets: &mut Secrets, batch: &mut Batch) {
        for key in std::mem::take(&mut self.parted) {
            self.forget_inputs(&key, secrets, batch);
            if let Some(record) = self.records.get(&key) {
                batch.push(Change::PutPair(Box::new(record.clone())));
            }
        }
    }

    /// Records the inputs of the operations that create a pair. The new inputs replace those of an earlier attempt.
    pub(crate) fn put_inputs(
        &mut self,
        key: &PairKey,
        given: BTreeMap<PropertyName, Given>,
        now: Timestamp,
        batch: &mut Batch,
    ) {
        let known = self.records.get(key).cloned();
        let mut record = known.unwrap_or_else(|| PairRecord::new(key.clone(), now));
        record.given = Some(given);
        self.put(record, batch);
    }

    /// Drops the recorded values that a pair was created with, and the sealed secrets among these values. The method
    /// changes the record of the pair only in memory, so the caller must then store or drop the record.
    pub(crate) fn forget_inputs(&mut self, key: &PairKey, secrets: &mut Secrets, batch: &mut Batch) {
        let given = self.records.get_mut(key).and_then(|pair| pair.given.take()).unwrap_or_default();
        for given in given.into_values() {
            if let Given::Secret(secret) = given {
                secrets.forget(secret, batch);
            }
        }
    }
}

/// Returns the names of the enclosing groups and assemblies, the innermost first.
pub(super) fn enclosing(name: &ElementName) -> impl Iterator<Item = ElementName> {
    let parent = |name: &str| name.rfind("__").map(|at| name[..at].to_owned());
    let names = std::iter::successors(parent(name.as_str()), move |name| parent(name));
    names.filter_map(|name| name.parse().ok())
}

/// Tells whether an element and all elements inside it are Absent; `false` if none of them has a record.
fn is_gone(elements: &BTreeMap<ElementName, ElementRecord>, name: &ElementName) -> bool {
    let behind = elements.range(name..).take_while(|(other, _)| other.as_str().starts_with(name.as_str()));
    let mut own = behind.filter(|(other, _)| *other == name || enclosing(other).any(|whole| whole == *name));
    let mut known = false;
    own.all(|(_, record)| {
        known = true;
        record.state == State::Absent
    }) && known
}
