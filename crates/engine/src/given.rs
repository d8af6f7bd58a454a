//! The values that relationships were made with: their operations are given them once, and whoever ends a relationship gives
//! the same.

use std::collections::{BTreeMap, BTreeSet};

use windlass_driver::Input;
use windlass_lifecycle::{Shown, ValueChange};
use windlass_model::assembly::Property;
use windlass_model::record::{Given, PairKey, PairRecord};
use windlass_model::resolve::{Answer, Resolved, Resolver};
use windlass_model::{InstanceId, PropertyName, Timestamp};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Change};

use crate::world::{World, argument};

impl World {
    /// Returns what the operations were given that made a relationship, or have begun to; none where that is not on record.
    pub(crate) fn given(&self, pair: &PairKey) -> Option<BTreeMap<PropertyName, Input>> {
        let given = self.pairs.get(pair)?.given.as_ref()?;
        Some(given.iter().map(|(name, value)| (name.clone(), self.open_given(value))).collect())
    }

    fn open_given(&self, given: &Given) -> Input {
        match given {
            Given::Plain(value) => Resolved::plain(value.clone()),
            Given::Secret(secret) => {
                let json = self.opened(secret).and_then(|text| serde_json::from_str(text).ok());
                Resolved { value: json.unwrap_or_else(|| "***".into()), sensitive: true }
            }
        }
    }

    /// Notes what the operations are given that make a relationship, in place of what an earlier attempt was given.
    pub(crate) fn give(
        &mut self,
        key: &PairKey,
        values: &BTreeMap<PropertyName, Input>,
        now: Timestamp,
        batch: &mut Batch,
    ) {
        self.forget_given(key, batch);
        let given: BTreeMap<PropertyName, Given> = values
            .iter()
            .enumerate()
            .map(|(number, (name, input))| (name.clone(), self.seal_given(key, number, input, batch)))
            .collect();
        let known = self.pairs.get(key).cloned();
        let mut record = known.unwrap_or_else(|| PairRecord {
            key: key.clone(),
            created: false,
            progress: 0,
            since: now,
            given: None,
        });
        record.given = Some(given);
        self.put_pair(record.clone());
        batch.push(Change::PutPair(Box::new(record)));
    }

    fn seal_given(&mut self, key: &PairKey, number: usize, input: &Input, batch: &mut Batch) -> Given {
        if !input.sensitive {
            return Given::Plain(input.value.clone());
        }
        let PairKey { assembly, relationship, source, target } = key;
        let id = InstanceId::of(&format!("{assembly} {relationship} {source} {target}"));
        let own = self.assembly.name.clone();
        let secret: SecretRef =
            format!("{own}:given/{id}/{number}").parse().expect("an assembly, an id and a number are one");
        let json = input.value.to_string();
        let value = Sensitive::new(json.clone().into_bytes());
        batch.push(Change::PutSecret { secret: secret.clone(), assembly: own, value });
        self.keep_secret(secret.clone(), Some(Sensitive::new(json)));
        Given::Secret(secret)
    }

    /// Forgets what a relationship was made with that is ended, or that is not made after all.
    pub(crate) fn forget_given(&mut self, key: &PairKey, batch: &mut Batch) {
        let given = self.pairs.get_mut(key).and_then(|pair| pair.given.take()).unwrap_or_default();
        for given in given.into_values() {
            if let Given::Secret(secret) = given {
                self.keep_secret(secret.clone(), None);
                batch.push(Change::DropSecret(secret));
            }
        }
    }

    /// Finds the relationships that were made with values that are others by now, as what is wanted has them. What is not
    /// known now is no other value: whoever publishes it anew is waited for, and so the plan knows of it.
    pub(crate) fn outdated(&self) -> Vec<(PairKey, Vec<ValueChange>)> {
        let topology = self.topology();
        let mut resolver = Resolver::new(topology, self);
        let mut outdated = Vec::new();
        for pair in self.pairs.values().filter(|pair| pair.created) {
            let Some(given) = &pair.given else { continue };
            let key = &pair.key;
            let Some(wanted) = topology.relationship(&key.assembly, key.relationship.as_str()) else {
                continue;
            };
            let names: BTreeSet<&PropertyName> = given.keys().chain(wanted.properties.keys()).collect();
            let mut changes = Vec::new();
            for name in names {
                let now = match wanted.properties.get(name).map(|property| (property, &property.value)) {
                    Some((Property { sensitive, .. }, Some(template))) => {
                        let Ok(Answer::Known(mut now)) = argument(&mut resolver, topology, key, template)
                        else {
                            continue;
                        };
                        now.sensitive |= sensitive;
                        now
                    }
                    _ => Resolved::plain(serde_json::Value::Null),
                };
                let was = given.get(name).map(|was| self.open_given(was));
                let was = was.unwrap_or_else(|| Resolved::plain(serde_json::Value::Null));
                if was.value != now.value {
                    let (before, after) = (Shown::of(&was), Shown::of(&now));
                    changes.push(ValueChange { property: name.clone(), before, after });
                }
            }
            if !changes.is_empty() {
                outdated.push((key.clone(), changes));
            }
        }
        outdated
    }
}
