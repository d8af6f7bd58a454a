//! A map with rollback.

use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;

/// A map of records whose latest changes can be undone. For this purpose, the map also stores the old value of each
/// record that has changed since the last [`keep`](Table::keep).
#[derive(Debug)]
pub(super) struct Table<K, V> {
    rows: BTreeMap<K, V>,
    undo: Vec<(K, Option<V>)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), undo: Vec::new() }
    }
}

impl<K: Ord + Clone, V> Table<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.rows.get(key)
    }

    pub(super) fn has(&self, key: &K) -> bool {
        self.rows.contains_key(key)
    }

    pub(super) fn iter(&self) -> btree_map::Iter<'_, K, V> {
        self.rows.iter()
    }

    pub(super) fn values(&self) -> btree_map::Values<'_, K, V> {
        self.rows.values()
    }

    pub(super) fn last(&self) -> Option<(&K, &V)> {
        self.rows.last_key_value()
    }

    pub(super) fn after(&self, key: &K) -> btree_map::Range<'_, K, V> {
        self.rows.range((Bound::Excluded(key), Bound::Unbounded))
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        let old = self.rows.insert(key.clone(), value);
        self.undo.push((key, old));
    }

    pub(super) fn drop(&mut self, key: &K) {
        if let Some(old) = self.rows.remove(key) {
            self.undo.push((key.clone(), Some(old)));
        }
    }

    pub(super) fn drop_where(&mut self, doomed: impl Fn(&K, &V) -> bool) {
        let keys: Vec<K> =
            self.rows.iter().filter(|(key, value)| doomed(key, value)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.drop(&key);
        }
    }

    /// Replaces the values of the rows that match `wanted`. The keys of the rows stay the same.
    pub(super) fn update(&mut self, wanted: impl Fn(&K, &V) -> bool, new: impl Fn(&V) -> V) {
        let rows = self.rows.iter().filter(|(key, value)| wanted(key, value));
        let rows: Vec<(K, V)> = rows.map(|(key, value)| (key.clone(), new(value))).collect();
        for (key, value) in rows {
            self.put(key, value);
        }
    }

    /// Replaces the rows that match `wanted`. The new keys are derived from the new values.
    pub(super) fn replace(
        &mut self,
        wanted: impl Fn(&K, &V) -> bool,
        new: impl Fn(&V) -> V,
        key: impl Fn(&V) -> K,
    ) {
        let rows = self.rows.iter().filter(|(key, value)| wanted(key, value));
        let rows: Vec<(K, V)> = rows.map(|(key, value)| (key.clone(), new(value))).collect();
        for (old, value) in rows {
            self.drop(&old);
            self.put(key(&value), value);
        }
    }

    /// Keeps all changes so far. [`undo`](Self::undo) can't roll back these changes any more.
    pub(super) fn keep(&mut self) {
        self.undo.clear();
    }

    /// Rolls back all changes since the last `keep`, the latest first.
    pub(super) fn undo(&mut self) {
        for (key, old) in std::mem::take(&mut self.undo).into_iter().rev() {
            match old {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }
}

impl<K: Ord + Clone, V: Clone> Table<K, V> {
    /// Copies the rows that match `wanted`.
    pub(super) fn select(&self, wanted: impl Fn(&K, &V) -> bool) -> BTreeMap<K, V> {
        let rows = self.rows.iter().filter(|(key, value)| wanted(key, value));
        rows.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_back_to_what_was_kept() {
        let mut table = Table::default();
        table.put("kept", 1);
        table.put("dropped", 2);
        table.keep();

        table.put("kept", 3);
        table.put("kept", 4);
        table.drop(&"dropped");
        table.put("new", 5);
        table.undo();
        assert_eq!(table.iter().collect::<Vec<_>>(), [(&"dropped", &2), (&"kept", &1)]);
    }
}
