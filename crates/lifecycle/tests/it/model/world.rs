//! A simulated world: the state of its elements, and an engine's records of these elements.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_lifecycle::testing::{Ground, Luck};
use windlass_lifecycle::{
    Current, ElementNow, LifecycleError, Options, Planned, Shown, Situation, ValueChange, Version, merged,
    plan,
};
use windlass_model::record::PairKey;
use windlass_model::resolve::Resolved;
use windlass_model::{ElementName, PropertyName, State, Topology, Transition};

use super::rolling::Watched;
use super::run::Run;

/// The record that an engine would have of a resource.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) present: bool,
    /// The transition that failed and may have left something behind.
    pub(super) attempted: Option<Transition>,
    /// The position of the version from which the resource was installed.
    pub(super) version: usize,
    pub(super) installed_by: u64,
    pub(super) configured_by: u64,
}

/// A simulated world: the state of its elements, and an engine's records of these elements.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    pub(super) ground: Ground,
    pub(super) versions: Vec<Topology>,
    pub(super) records: BTreeMap<ElementName, Record>,
    /// Resources with leftovers of failed installations, even if their driver has reported no instance.
    pub(super) debris: BTreeSet<ElementName>,
    /// Pairs whose removal has failed.
    pub(super) half_ended: BTreeSet<PairKey>,
    pub(super) process: u64,
    /// The group whose nodes are counted.
    pub(super) watched: Option<Watched>,
}

/// Returns a plan and its diff as JSON.
fn bytes(planned: &Planned) -> [String; 2] {
    let plan = serde_json::to_string(&planned.plan).expect("a plan is plain data");
    [plan, serde_json::to_string(&planned.diff).expect("a diff is plain data")]
}

impl World {
    fn current(&self, desired: Option<&Topology>) -> Current {
        let installed = self.installed();
        let mut current = Current::default();
        for (name, thing) in self.ground.things() {
            let record = self.records.get(name).cloned().unwrap_or_default();
            let now = ElementNow {
                installed_by: record.installed_by,
                configured_by: record.configured_by,
                outdated: self.outdated_inputs(installed.as_ref(), name),
                attempted: record.attempted,
                ..ElementNow::new(thing.state, record.present)
            };
            current.element(name.clone(), now);
        }
        self.ground.pairs().for_each(|key| current.pair(key.clone()));
        self.ground.half_made().for_each(|(key, half)| current.half_made(key.clone(), half.clone()));
        self.half_ended.iter().for_each(|key| current.half_ended(key.clone()));
        for (key, values) in self.outdated(desired) {
            current.outdated(key, values);
        }
        current
    }

    /// Returns the values of a resource that have changed since they were applied, because their producers
    /// changed.
    fn outdated_inputs(
        &self,
        installed: Option<&Topology>,
        name: &ElementName,
    ) -> BTreeMap<PropertyName, Option<Value>> {
        let given = self.ground.things().get(name).and_then(|thing| thing.input.clone());
        let now = installed.and_then(|installed| self.ground.value(installed, name).ok());
        match (given, now) {
            (Some(given), Some(now)) if given != now => {
                BTreeMap::from([("in".parse().expect("valid"), Some(Value::from(given)))])
            }
            _ => BTreeMap::new(),
        }
    }

    /// Returns the pairs that were created with outdated values.
    fn outdated(&self, desired: Option<&Topology>) -> Vec<(PairKey, Vec<ValueChange>)> {
        let Some(desired) = desired else { return Vec::new() };
        let change = |key: &PairKey| {
            let (before, after) = (self.ground.made_with(key).cloned(), self.ground.peer(desired, key));
            // An unknown value does not count as changed.
            if before == after || after.is_none() && Ground::has_peer(desired, key) {
                return None;
            }
            let shown = |text: Option<String>| Shown::of(&Resolved::plain(text));
            let property = "peer".parse().expect("valid");
            Some((key.clone(), vec![ValueChange { property, before: shown(before), after: shown(after) }]))
        };
        let half_made = self.ground.half_made().map(|(key, _)| key);
        self.ground.pairs().chain(half_made).filter_map(change).collect()
    }

    pub(super) fn installed(&self) -> Option<Topology> {
        let versions: Vec<&Topology> = self.versions.iter().collect();
        let version_of = |name: &ElementName| {
            let there = self.ground.state(name) != State::Absent;
            self.records.get(name).filter(|_| there).map(|record| record.version)
        };
        let half_made = self.ground.half_made().map(|(key, _)| key);
        merged(&versions, version_of, self.ground.pairs().chain(half_made))
    }

    pub(super) fn plan(
        &self,
        desired: Option<&Topology>,
        options: &Options,
    ) -> Result<Planned, LifecycleError> {
        let installed = self.installed();
        let current = self.current(desired);
        let version = |topology| Version { topology, lookup: &self.ground };
        let installed = installed.as_ref().map(version);
        plan(&Situation { current: &current, installed, desired: desired.map(version) }, options)
    }

    /// Plans and executes repeatedly, until no values are outdated. Returns whether all steps succeeded.
    pub(super) fn go(&mut self, desired: Option<&Topology>, options: &Options, luck: Luck) -> bool {
        let mut well = self.go_once(desired, options, luck);
        for round in 1.. {
            let is_left = || {
                let installed = self.installed();
                let mut names = self.ground.things().keys();
                names.any(|name| !self.outdated_inputs(installed.as_ref(), name).is_empty())
                    || !self.outdated(desired).is_empty()
            };
            if !well || desired.is_none() || !options.target.is_empty() || !is_left() {
                break;
            }
            assert!(round < 100, "there is no end to it");
            well = self.go_once(desired, &Options::goal(options.goal), luck);
        }
        well
    }

    /// Plans and executes once.
    fn go_once(&mut self, desired: Option<&Topology>, options: &Options, luck: Luck) -> bool {
        self.ground.forget("t", |_| false);
        self.half_ended.retain(|key| self.ground.is_made(key));
        let planned = self.plan(desired, options).unwrap_or_else(|error| panic!("{error}"));
        // The plan must have the same bytes a second time, although hash maps have another iteration order
        // then.
        let again = self.plan(desired, options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(bytes(&planned), bytes(&again));
        let installed = self.installed();
        self.process += 1;
        self.ground.begin("t", desired);
        self.versions.extend(desired.cloned());
        let well = Run::new(self, &planned.plan, (installed, desired.cloned()), luck).run();
        if well && options.target.is_empty() {
            // After success, all records belong to the newest version.
            let version = self.versions.len().saturating_sub(1);
            self.records.values_mut().for_each(|record| record.version = version);
            self.ground.complete("t");
        }
        well
    }
}
