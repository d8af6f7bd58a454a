//! The monitored assemblies, with indexes by instance id and by due time. With these indexes, the daemon
//! handles a received or a missing sample of one assembly without a search through all assemblies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use windlass_engine::monitor::{Demand, Heals, Monitor, Sample, SampleUse};
use windlass_engine::{check_failure, monitor_of};
use windlass_model::policy::{MetricKind, metric_id};
use windlass_model::record::Failure;
use windlass_model::{AssemblyName, ElementName, Timestamp};
use windlass_store::Snapshot;

/// A metric that a policy reads.
#[derive(Clone)]
pub(super) struct Read {
    pub(super) kind: MetricKind,
    pub(super) id: String,
}

/// The metrics that policies read, by element and metric name.
pub(super) type Reads = BTreeMap<ElementName, BTreeMap<String, Read>>;

/// A monitored assembly.
pub(super) struct Watched {
    /// A number that distinguishes this monitoring from earlier monitoring of the same assembly.
    pub(super) watch: u64,
    monitor: Monitor,
    /// The time of the assembly's last change.
    pub(super) updated: Timestamp,
    /// The instance ids of the assembly's elements.
    ids: Vec<String>,
    /// For each part of the assembly, the number of heals since the part was last well.
    pub(super) heals: Heals,
    pub(super) reads: Reads,
    /// The parts whose last health check has failed, each with the recorded message of the failure.
    pub(super) failing: BTreeMap<ElementName, String>,
    /// The time at which the next sample counts as missing; `None` while timeouts are suspended, and for an
    /// assembly whose metrics have no period.
    due: Option<Timestamp>,
}

impl Watched {
    /// Returns the ids of the metrics that the assembly's policies read, sorted.
    pub(super) fn metrics(&self) -> Vec<String> {
        self.monitor.sources().collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
    }
}

/// The result of [`Roster::sample`].
#[derive(Default)]
pub(super) struct Counted {
    /// The changes that policies demand because of the sample that was passed to [`Roster::sample`].
    pub(super) demands: Vec<Demand>,
    /// The parts that are now well again after the daemon has healed them.
    pub(super) well: Vec<ElementName>,
}

#[derive(Default)]
pub(super) struct Roster {
    watched: BTreeMap<AssemblyName, Watched>,
    /// The elements of monitored assemblies, by instance id.
    ids: HashMap<String, ElementName>,
    /// For each assembly that waits for a sample: the time at which the sample counts as missing. The earliest time
    /// comes first.
    agenda: BTreeSet<(Timestamp, AssemblyName)>,
    watches: u64,
}

impl Roster {
    /// Starts to monitor an assembly. `snapshot` contains the present records of the assembly. `checks` is the interval of
    /// its health checks; `None` means that there are none. An assembly without policies is not monitored.
    pub(super) fn adopt(
        &mut self,
        snapshot: Snapshot,
        checks: Option<Duration>,
        now: Timestamp,
    ) -> Option<&Watched> {
        let name = snapshot.assembly.name.clone();
        self.remove(&name);
        if snapshot.assembly.topology.policies().is_empty() {
            return None;
        }
        let ids: Vec<(String, ElementName)> =
            snapshot.elements.values().map(|record| (record.id.to_string(), record.name.clone())).collect();
        let (updated, heals) = (snapshot.assembly.updated, Heals::of(snapshot.elements.values()));
        let topology = snapshot.assembly.topology.clone();
        let failing = snapshot.elements.values().filter_map(|record| {
            Some((record.name.clone(), check_failure::recorded(record)?.message.clone()))
        });
        let failing = failing.collect();
        let monitor = monitor_of(snapshot, checks, now);
        let read: BTreeSet<&str> = monitor.sources().collect();
        let mut reads = Reads::new();
        for element in topology.elements() {
            for (metric, declared) in &element.metrics {
                let id = metric_id(&element.name, metric);
                let is_known = matches!(declared.kind, MetricKind::Integrity | MetricKind::Load);
                if is_known && read.contains(id.as_str()) {
                    let of_element = reads.entry(element.name.clone()).or_default();
                    of_element.insert(metric.to_string(), Read { kind: declared.kind.clone(), id });
                }
            }
        }
        self.watches += 1;
        let of_assembly = ids.iter().map(|(id, _)| id.clone()).collect();
        self.ids.extend(ids);
        let watched = Watched {
            watch: self.watches,
            monitor,
            updated,
            ids: of_assembly,
            heals,
            reads,
            failing,
            due: None,
        };
        self.watched.insert(name.clone(), watched);
        self.reschedule(&name);
        self.watched.get(&name)
    }

    /// Stops monitoring an assembly.
    pub(super) fn remove(&mut self, name: &AssemblyName) {
        self.pause(name);
        for id in self.watched.remove(name).into_iter().flat_map(|watched| watched.ids) {
            self.ids.remove(&id);
        }
    }

    /// Suspends the timeouts of an assembly. Meanwhile, an expected sample can't count as missing. The timeouts stay
    /// suspended until [`adopt`](Self::adopt) or [`resume`](Self::resume) is called for the assembly.
    pub(super) fn pause(&mut self, name: &AssemblyName) {
        if let Some(due) = self.watched.get_mut(name).and_then(|watched| watched.due.take()) {
            self.agenda.remove(&(due, name.clone()));
        }
    }

    /// Resumes the timeouts that [`pause`](Self::pause) has suspended. From now on, an expected sample can count as
    /// missing. If the assembly has changed since `pause`, the caller must use [`adopt`](Self::adopt) instead.
    pub(super) fn resume(&mut self, name: &AssemblyName) {
        self.reschedule(name);
    }

    pub(super) fn get(&self, name: &AssemblyName) -> Option<&Watched> {
        self.watched.get(name)
    }

    /// Records that some parts are well again after the daemon has healed them.
    pub(super) fn note_well(&mut self, name: &AssemblyName, parts: &[ElementName]) {
        if let Some(watched) = self.watched.get_mut(name) {
            for part in parts {
                watched.heals.well(part);
            }
        }
    }

    /// Records the results of health checks; see [`Watched::failing`].
    pub(super) fn note_checks(&mut self, name: &AssemblyName, checks: Vec<(ElementName, Option<Failure>)>) {
        let Some(watched) = self.watched.get_mut(name) else { return };
        for (part, failure) in checks {
            match failure {
                Some(failure) => watched.failing.insert(part, failure.message),
                None => watched.failing.remove(&part),
            };
        }
    }

    /// Returns the earliest timeout among all monitored assemblies. At a timeout, an expected sample counts as missing.
    /// `None` means that no assembly has a timeout.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.agenda.first().map(|(due, _)| *due)
    }

    /// Returns the assembly to which a sample belongs, and a copy of the sample with a uniform id. This id begins
    /// with the full name of the element, as in `shop__web.load`. The id of `sample` may begin with an instance id
    /// instead. Returns `None` if the id of `sample` is invalid.
    pub(super) fn route(&self, sample: &Sample) -> Option<(AssemblyName, Sample)> {
        let (key, metric) = sample.id.split_once('.')?;
        let element = self.ids.get(key).cloned().or_else(|| key.parse().ok())?;
        let named = Sample { id: format!("{element}.{metric}"), reading: sample.reading };
        Some((element.assembly(), named))
    }

    /// Tells how the policies of an assembly use a sample. Returns [`SampleUse::Unread`] if no policy of the
    /// assembly reads the metric of the sample.
    pub(super) fn use_of(&self, name: &AssemblyName, sample: &Sample) -> SampleUse {
        self.watched.get(name).map_or(SampleUse::Unread, |watched| watched.monitor.use_of(sample))
    }

    /// Passes a sample to the policies that read its metric.
    pub(super) fn sample(&mut self, now: Timestamp, name: &AssemblyName, sample: &Sample) -> Counted {
        let Some(watched) = self.watched.get_mut(name) else { return Counted::default() };
        if watched.due.is_some_and(|due| is_too_late(due, now)) {
            watched.monitor.wait_again(now);
        }
        let demands = watched.monitor.sample(now, sample);
        let well = watched.monitor.well().into_iter().filter(|part| watched.heals.is_tried(part));
        let well = well.cloned().collect();
        self.reschedule(name);
        Counted { demands, well }
    }

    /// Handles the metrics for which no sample has arrived in time. Returns the changes that policies demand
    /// because of the missing samples, each with the name of its assembly.
    ///
    /// A sample does not count as missing if the daemon itself may be the cause:
    ///
    /// - The daemon calls this method much too late, for example because the daemon was suspended. The wait for the
    ///   sample then begins again.
    /// - A health check of the assembly is running (`is_being_checked`). The method then schedules the assembly
    ///   again for one second later.
    pub(super) fn time(
        &mut self,
        now: Timestamp,
        is_being_checked: impl Fn(&AssemblyName) -> bool,
    ) -> Vec<(AssemblyName, Demand)> {
        const LATER: i64 = 1000;
        let mut demands = Vec::new();
        while let Some((due, name)) = self.agenda.first().cloned().filter(|(due, _)| *due <= now) {
            self.agenda.remove(&(due, name.clone()));
            let Some(watched) = self.watched.get_mut(&name) else { continue };
            watched.due = None;
            if is_too_late(due, now) {
                watched.monitor.wait_again(now);
                self.reschedule(&name);
                continue;
            }
            if is_being_checked(&name) {
                let later = now.plus_millis(LATER);
                watched.due = Some(later);
                self.agenda.insert((later, name));
                continue;
            }
            demands.extend(watched.monitor.time(now).into_iter().map(|demand| (name.clone(), demand)));
            self.reschedule(&name);
        }
        demands
    }

    /// Starts all waits for samples of an assembly again at the time `now`. The daemon calls this method if it could
    /// not measure the samples that were due. These samples do not count as missing.
    pub(super) fn wait_again(&mut self, name: &AssemblyName, now: Timestamp) {
        if let Some(watched) = self.watched.get_mut(name).filter(|watched| watched.due.is_some()) {
            watched.monitor.wait_again(now);
            self.reschedule(name);
        }
    }

    /// Restarts the waits for the samples of all assemblies; see [`wait_again`](Self::wait_again).
    pub(super) fn wait_again_for_all(&mut self, now: Timestamp) {
        let waiting: Vec<AssemblyName> = self.agenda.iter().map(|(_, name)| name.clone()).collect();
        for name in &waiting {
            self.wait_again(name, now);
        }
    }

    /// Returns the ids of all metrics that policies read.
    pub(super) fn sources(&self) -> BTreeSet<String> {
        self.watched.values().flat_map(|watched| watched.monitor.sources()).map(str::to_owned).collect()
    }

    fn reschedule(&mut self, name: &AssemblyName) {
        self.pause(name);
        if let Some(watched) = self.watched.get_mut(name) {
            watched.due = watched.monitor.due();
            self.agenda.extend(watched.due.map(|due| (due, name.clone())));
        }
    }
}

/// Tells whether the daemon was probably suspended between the time `due` of a missing sample and the time `now`.
/// This is likely if `now` is much later than `due`. Then the daemon itself may be the reason why samples between
/// these two times are missing.
fn is_too_late(due: Timestamp, now: Timestamp) -> bool {
    const LATE: i64 = 1000;
    due.plus_millis(LATE) < now
}
