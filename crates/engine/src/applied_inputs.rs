//! Applied inputs of relationships. A *pair* is a relationship between one source node and one target node. The
//! operations that create a pair get values as inputs, and the engine records these values. The operations that
//! later remove the pair get the same values again.

use std::collections::{BTreeMap, BTreeSet};

use windlass_driver::Input;
use windlass_lifecycle::{Shown, ValueChange};
use windlass_model::assembly::Property;
use windlass_model::record::{Failure, Given, PairKey};
use windlass_model::resolve::{Answer, Resolved, Resolver};
use windlass_model::{AssemblyName, InstanceId, PropertyName, Timestamp};
use windlass_secret::SecretRef;
use windlass_store::Batch;

use crate::values::{Unknown, argument, secret_gone};
use crate::world::{Secrets, World};

/// Returns the values that the engine has passed to the operations which create a pair. Returns `None` if these
/// values are not recorded.
///
/// A [pair](PairKey) is a relationship between two nodes.
///
/// # Errors
/// A failure if a secret among the values can't be opened and `unknown` is [`Unknown::Refused`]. If `unknown` is
/// [`Unknown::LeftOut`], the result omits this secret.
pub(crate) fn given(
    world: &World,
    pair: &PairKey,
    unknown: Unknown,
) -> Result<Option<BTreeMap<PropertyName, Input>>, Failure> {
    let Some(given) = world.pairs.get(pair).and_then(|pair| pair.given.as_ref()) else { return Ok(None) };
    let mut opened = BTreeMap::new();
    for (name, value) in given {
        match (open(&world.secrets, value), value) {
            (Some(input), _) => drop(opened.insert(name.clone(), input)),
            (None, Given::Secret(secret)) if unknown == Unknown::Refused => {
                return Err(secret_gone(name, &format!("`{secret}`")));
            }
            _ => {}
        }
    }
    Ok(Some(opened))
}

/// Records the values that the engine passes to the operations which create a pair. The new values replace the
/// values of an earlier attempt.
pub(crate) fn give(
    world: &mut World,
    key: &PairKey,
    values: &BTreeMap<PropertyName, Input>,
    now: Timestamp,
    batch: &mut Batch,
) {
    let World { pairs, secrets, assembly, .. } = world;
    pairs.forget_inputs(key, secrets, batch);
    let given = sealed(secrets, &assembly.name, key, values, batch);
    pairs.put_inputs(key, given, now, batch);
}

/// Converts the values of a pair to the form that the record of the pair contains. Each sensitive value is sealed in
/// the store. In place of the value, the record contains a reference to the sealed value.
fn sealed(
    secrets: &mut Secrets,
    own: &AssemblyName,
    key: &PairKey,
    values: &BTreeMap<PropertyName, Input>,
    batch: &mut Batch,
) -> BTreeMap<PropertyName, Given> {
    let PairKey { assembly, relationship, source, target } = key;
    let id = InstanceId::of(&format!("{assembly} {relationship} {source} {target}"));
    let mut seal = |number: usize, input: &Input| {
        if !input.sensitive {
            return Given::Plain(input.value.clone());
        }
        let secret: SecretRef =
            format!("{own}:given/{id}/{number}").parse().expect("an assembly, an id and a number are one");
        secrets.seal(secret.clone(), own, input.value.to_string(), batch);
        Given::Secret(secret)
    };
    let values = values.iter().enumerate();
    values.map(|(number, (name, input))| (name.clone(), seal(number, input))).collect()
}

/// Returns a recorded value; `None` for a secret that can't be opened.
fn open(secrets: &Secrets, given: &Given) -> Option<Input> {
    Some(match given {
        Given::Plain(value) => Resolved::plain(value.clone()),
        Given::Secret(secret) => {
            Resolved { value: serde_json::from_str(secrets.text(secret)?).ok()?, sensitive: true }
        }
    })
}

/// Returns the pairs that were created with outdated values, each with the changes of its values. A value is
/// outdated if the desired version of the assembly now gives the pair another value.
///
/// An unknown value of the desired version does not count as changed. The plan already waits for the element that
/// will publish this value.
pub(crate) fn outdated_pairs(world: &World) -> Vec<(PairKey, Vec<ValueChange>)> {
    let topology = world.topology();
    let mut resolver = Resolver::new(topology, world);
    let mut outdated = Vec::new();
    for pair in world.pairs.there() {
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
                    let Ok(Answer::Known(mut now)) = argument(&mut resolver, topology, key, template) else {
                        continue;
                    };
                    now.sensitive |= sensitive;
                    now
                }
                _ => Resolved::plain(serde_json::Value::Null),
            };
            let was = match given.get(name) {
                Some(was) => open(&world.secrets, was),
                None => Some(Resolved::plain(serde_json::Value::Null)),
            };
            // If the recorded value is a secret that can't be opened, the two values can't be compared.
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
