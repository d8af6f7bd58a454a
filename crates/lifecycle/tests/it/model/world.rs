//! What the records of an engine would say, beside what there really is.

use std::collections::BTreeMap;

use windlass_lifecycle::testing::{Ground, Luck};
use windlass_lifecycle::{
    Current, ElementNow, LifecycleError, Options, Planned, Situation, Version, merged, plan,
};
use windlass_model::{ElementName, State, Topology};

use super::run::Run;

/// What an engine would have on record of a resource.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) present: bool,
    /// The version of the assembly that it was installed from.
    pub(super) version: usize,
    pub(super) installed_by: u64,
    pub(super) configured_by: u64,
}

/// The world: what the records of an engine would say, and what is really there.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    pub(super) ground: Ground,
    pub(super) versions: Vec<Topology>,
    pub(super) records: BTreeMap<ElementName, Record>,
    pub(super) process: u64,
}

/// Writes a plan and its diff down.
fn bytes(planned: &Planned) -> [String; 2] {
    let plan = serde_json::to_string(&planned.plan).expect("a plan is plain data");
    [plan, serde_json::to_string(&planned.diff).expect("a diff is plain data")]
}

impl World {
    fn current(&self) -> Current {
        let mut current = Current::default();
        for (name, thing) in self.ground.things() {
            let record = self.records.get(name).cloned().unwrap_or_default();
            let now = ElementNow {
                installed_by: record.installed_by,
                configured_by: record.configured_by,
                ..ElementNow::new(thing.state, record.present)
            };
            current.element(name.clone(), now);
        }
        self.ground.pairs().for_each(|key| current.pair(key.clone()));
        current
    }

    fn installed(&self) -> Option<Topology> {
        let versions: Vec<&Topology> = self.versions.iter().collect();
        let version_of = |name: &ElementName| {
            let there = self.ground.state(name) != State::Absent;
            self.records.get(name).filter(|_| there).map(|record| record.version)
        };
        merged(&versions, version_of, self.ground.pairs())
    }

    pub(super) fn plan(
        &self,
        desired: Option<&Topology>,
        options: &Options,
    ) -> Result<Planned, LifecycleError> {
        let installed = self.installed();
        let current = self.current();
        let version = |topology| Version { topology, lookup: &self.ground };
        let installed = installed.as_ref().map(version);
        plan(&Situation { current: &current, installed, desired: desired.map(version) }, options)
    }

    /// Plans and carries out. Tells whether everything went well.
    pub(super) fn go(&mut self, desired: Option<&Topology>, options: &Options, luck: Luck) -> bool {
        self.ground.forget("t");
        let planned = self.plan(desired, options).unwrap_or_else(|error| panic!("{error}"));
        // The same once more, with all that is hashed in another order: the same bytes come of it.
        let again = self.plan(desired, options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(bytes(&planned), bytes(&again));
        let installed = self.installed();
        self.process += 1;
        self.ground.begin("t", desired);
        self.versions.extend(desired.cloned());
        let well = Run::new(self, &planned.plan, (installed, desired.cloned()), luck).run();
        if well && options.target.is_empty() {
            // From here on, everything is what this version says.
            let version = self.versions.len().saturating_sub(1);
            self.records.values_mut().for_each(|record| record.version = version);
            self.ground.complete("t");
        }
        well
    }
}
