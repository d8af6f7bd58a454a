//! Applied inputs of relationships: the values that a relationship is created with. It is ceased with the same
//! values.

use std::collections::{BTreeMap, BTreeSet};

use windlass_driver::Input;
use windlass_lifecycle::{Shown, ValueChange};
use windlass_model::assembly::Property;
use windlass_model::record::{Failure, Given, PairKey, PairRecord};
use windlass_model::resolve::{Answer, Resolved, Resolver};
use windlass_model::{InstanceId, PropertyName, Timestamp};
use windlass_secret::SecretRef;
use windlass_store::{Batch, Change};

use crate::sealing::{drop_secret, put_secret};
use crate::world::{Unknown, World, argument, secret_gone};

impl World {
    /// Returns the values that the creating operations of a relationship were called with; `None` if they are
    /// not recorded.
    ///
    /// # Errors
    /// A secret that can't be opened, if `unknown` refuses the call then.
    pub(crate) fn given(
        &self,
        pair: &PairKey,
        unknown: Unknown,
    ) -> Result<Option<BTreeMap<PropertyName, Input>>, Failure> {
        let Some(given) = self.pairs.get(pair).and_then(|pair| pair.given.as_ref()) else { return Ok(None) };
        let mut opened = BTreeMap::new();
        for (name, value) in given {
            match (self.open_given(value), value) {
                (Some(input), _) => drop(opened.insert(name.clone(), input)),
                (None, Given::Secret(secret)) if unknown == Unknown::Refused => {
                    return Err(secret_gone(name, &format!("`{secret}`")));
                }
                _ => {}
            }
        }
        Ok(Some(opened))
    }

    /// Returns a recorded value; `None` for a secret that can't be opened.
    fn open_given(&self, given: &Given) -> Option<Input> {
        Some(match given {
            Given::Plain(value) => Resolved::plain(value.clone()),
            Given::Secret(secret) => {
                Resolved { value: serde_json::from_str(self.opened(secret)?).ok()?, sensitive: true }
            }
        })
    }

    /// Records the values that creating operations are called with. They replace those of an earlier attempt.
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
        let mut record = known.unwrap_or_else(|| PairRecord::new(key.clone(), now));
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
        let own = &self.assembly.name;
        let secret: SecretRef =
            format!("{own}:given/{id}/{number}").parse().expect("an assembly, an id and a number are one");
        put_secret(self, secret.clone(), input.value.to_string(), batch);
        Given::Secret(secret)
    }

    /// Drops the recorded values of a relationship that is ceased, or is not created after all.
    pub(crate) fn forget_given(&mut self, key: &PairKey, batch: &mut Batch) {
        let given = self.pairs.get_mut(key).and_then(|pair| pair.given.take()).unwrap_or_default();
        for given in given.into_values() {
            if let Given::Secret(secret) = given {
                drop_secret(self, secret, batch);
            }
        }
    }

    /// Finds the relationships whose recorded values differ from the present values in the desired version. A
    /// value that is unknown now doesn't count as different: the plan already waits for the element that will
    /// publish it.
    pub(crate) fn outdated_pairs(&self) -> Vec<(PairKey, Vec<ValueChange>)> {
        let topology = self.topology();
        let mut resolver = Resolver::new(topology, self);
        let mut outdated = Vec::new();
        for pair in self.pairs.values().filter(|pair| pair.is_there()) {
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
                let was = match given.get(name) {
                    Some(was) => self.open_given(was),
                    None => Some(Resolved::plain(serde_json::Value::Null)),
                };
                // A secret that can't be opened can't be compared.
                let Some(was) = was else { continue };
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
