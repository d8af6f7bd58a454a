//! Reading of the store's events, and of the assemblies whose changes the events report.

use std::collections::BTreeSet;

use windlass_engine::may_demand_rollback;
use windlass_model::record::{AssemblyRecord, Event, EventRecord};
use windlass_model::{AssemblyName, State};
use windlass_store::StoreError;

use super::duties::Duty;
use super::{Daemon, Notice};
use crate::pages::for_each_assembly;

impl Daemon<'_> {
    /// Reads the new events of the store. If an event reports a new request, begins the queued requests.
    pub(super) async fn read_events(&mut self) {
        let read = self.read_feed().await;
        if let Some(true) = self.answered(read) {
            self.take_up().await;
        }
    }

    /// Reads the new events, and then the assemblies whose changes the events report. Returns whether an event reports
    /// a new request.
    async fn read_feed(&mut self) -> Result<bool, StoreError> {
        /// Number of events that are read at once.
        const PAGE: usize = 500;
        let mut is_asked = false;
        loop {
            let events = self.store.events(self.last_event, PAGE).await?;
            for EventRecord { seq, draft } in &events {
                self.last_event = *seq;
                is_asked |= matches!(draft.body, Event::Asked { .. });
                self.happened(&draft.assembly, &draft.body);
            }
            if events.len() < PAGE {
                break;
            }
        }
        self.read_changed().await?;
        Ok(is_asked)
    }

    /// Updates the daemon's data about the assembly `name` after an event of this assembly.
    fn happened(&mut self, name: &AssemblyName, event: &Event) {
        match event {
            Event::ProcessStarted { .. } if !self.busy.contains(name) => {
                self.elsewhere.insert(name.clone());
                self.roster.pause(name);
            }
            Event::ProcessEnded { .. } => {
                self.elsewhere.remove(name);
                self.changed.insert(name.clone());
            }
            Event::Renamed { from, .. } => {
                if let Ok(from) = from.parse::<AssemblyName>() {
                    // The records of a factory's applications name the factory.
                    self.changed.extend(self.applications.of(&from).cloned());
                    self.changed.insert(from);
                }
                self.changed.insert(name.clone());
            }
            Event::Exported { .. } | Event::Imported { .. } | Event::Forgotten { .. } => {
                self.changed.insert(name.clone());
            }
            _ => {}
        }
    }

    /// Reads the changed assemblies again. If an assembly can't be read, it stays marked as changed. An assembly with
    /// an unfinished intent is not read now. The end of the intent marks the assembly as changed again.
    async fn read_changed(&mut self) -> Result<(), StoreError> {
        while let Some(name) = self.changed.first().cloned() {
            if !self.is_changing(&name) {
                self.read(&name).await?;
            }
            self.changed.remove(&name);
        }
        Ok(())
    }

    /// Starts or stops monitoring an assembly, according to its current state.
    async fn read(&mut self, name: &AssemblyName) -> Result<(), StoreError> {
        let Some(snapshot) = self.store.load(name).await? else {
            self.forget(name).await;
            return Ok(());
        };
        if may_demand_rollback(&snapshot.assembly) {
            self.failed_changes.insert(name.clone());
        } else {
            self.failed_changes.remove(name);
        }
        self.note_application(&snapshot.assembly).await;
        if snapshot.assembly.goal != State::Active || !snapshot.processes.is_empty() {
            if snapshot.assembly.goal != State::Active {
                self.duties.remove(Duty::Check(name.clone())).await;
            }
            self.roster.remove(name);
            return Ok(());
        }
        let watched = self.roster.adopt(snapshot, self.duties.checks(), self.windlass.now());
        if watched.is_some_and(|watched| !watched.reads.is_empty()) {
            self.duties.check(Duty::Check(name.clone())).await;
        } else {
            self.duties.remove(Duty::Check(name.clone())).await;
        }
        let Some(watched) = watched else { return Ok(()) };
        let metrics = watched.metrics();
        if !metrics.is_empty()
            && !self.stop.is_requested()
            && self.reported_metrics.get(name) != Some(&metrics)
        {
            self.reported_metrics.insert(name.clone(), metrics.clone());
            (self.tell)(Notice::Watches { assembly: name.clone(), metrics });
        }
        Ok(())
    }

    /// Removes all data of the daemon about a deleted assembly.
    async fn forget(&mut self, name: &AssemblyName) {
        self.roster.remove(name);
        self.failed_changes.remove(name);
        self.duties.remove(Duty::Check(name.clone())).await;
        self.forget_application(name).await;
        self.reported_metrics.remove(name);
        self.given_up.remove(name);
        self.at_bound.remove(name);
        self.unwell.remove(name);
    }

    /// Reads the changes that other programs have recorded in the store. Then resumes interrupted processes, begins
    /// demanded rollbacks, and begins queued requests. The first call also lists all assemblies of the store.
    pub(super) async fn refresh(&mut self) {
        let looked = self.look_around().await;
        if self.answered(looked).is_none() {
            return;
        }
        self.tried.clear();
        self.go_on().await;
        self.take_up().await;
    }

    async fn look_around(&mut self) -> Result<(), StoreError> {
        // A killed command writes no event, but the record of its process stays open.
        let open = self.store.open_processes().await?.into_iter().map(|process| process.assembly);
        let elsewhere: BTreeSet<_> = open.filter(|name| !self.busy.contains(name)).collect();
        let before = std::mem::replace(&mut self.elsewhere, elsewhere);
        self.elsewhere.iter().for_each(|name| self.roster.pause(name));
        self.changed.extend(before.into_iter().filter(|name| !self.elsewhere.contains(name)));
        if !self.is_listed {
            let (changed, failed_changes) = (&mut self.changed, &mut self.failed_changes);
            let mark = |assembly: AssemblyRecord| {
                if may_demand_rollback(&assembly) {
                    failed_changes.insert(assembly.name.clone());
                }
                if assembly.application.is_some() || !assembly.topology.policies().is_empty() {
                    changed.insert(assembly.name);
                }
            };
            for_each_assembly(&*self.store, mark).await?;
            self.is_listed = true;
        }
        self.read_feed().await.map(drop)
    }
}
