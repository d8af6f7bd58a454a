//! The assemblies under watch, found by the metric that somebody sends and by the time that passes: neither looks at the
//! others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use windlass_engine::monitor::{Demand, Heals, Heard, Monitor, Sample};
use windlass_engine::monitor_of;
use windlass_model::policy::{MetricKind, metric_id};
use windlass_model::{AssemblyName, ElementName, Timestamp};
use windlass_store::Snapshot;

/// A metric that a policy reads.
#[derive(Clone)]
pub(super) struct Read {
    pub(super) kind: MetricKind,
    pub(super) id: String,
}

/// The metrics that policies read, by the element that they are of and their name there.
pub(super) type Reads = BTreeMap<ElementName, BTreeMap<String, Read>>;

/// An assembly under watch.
pub(super) struct Watched {
    /// Tells it from earlier watches of the same assembly.
    pub(super) watch: u64,
    monitor: Monitor,
    /// When the assembly was last changed.
    pub(super) updated: Timestamp,
    /// The engine's ids of its elements.
    ids: Vec<String>,
    /// The heals of its parts that have not helped.
    pub(super) heals: Heals,
    pub(super) reads: Reads,
    /// When its next sample is missing, while it counts.
    due: Option<Timestamp>,
}

impl Watched {
    /// Returns the ids of the metrics that its policies read, in order.
    pub(super) fn metrics(&self) -> Vec<String> {
        self.monitor.sources().collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
    }
}

/// What follows from a sample.
#[derive(Default)]
pub(super) struct Counted {
    pub(super) demands: Vec<Demand>,
    /// The parts that are well, of those that were healed in vain.
    pub(super) well: Vec<ElementName>,
}

/// All assemblies under watch.
#[derive(Default)]
pub(super) struct Roster {
    watched: BTreeMap<AssemblyName, Watched>,
    /// Elements by the engine's id of them.
    ids: HashMap<String, ElementName>,
    /// When the next sample of each assembly is missing, the soonest first.
    agenda: BTreeSet<(Timestamp, AssemblyName)>,
    watches: u64,
}

impl Roster {
    /// Begins to watch an assembly as it is now. One without policies is not watched.
    pub(super) fn adopt(&mut self, snapshot: Snapshot, now: Timestamp) -> Option<&Watched> {
        let name = snapshot.assembly.name.clone();
        self.remove(&name);
        if snapshot.assembly.topology.policies().is_empty() {
            return None;
        }
        let ids: Vec<(String, ElementName)> =
            snapshot.elements.values().map(|record| (record.id.to_string(), record.name.clone())).collect();
        let (updated, heals) = (snapshot.assembly.updated, Heals::of(snapshot.elements.values()));
        let topology = snapshot.assembly.topology.clone();
        let monitor = monitor_of(snapshot, now);
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
        let watched =
            Watched { watch: self.watches, monitor, updated, ids: of_assembly, heals, reads, due: None };
        self.watched.insert(name.clone(), watched);
        self.reschedule(&name);
        self.watched.get(&name)
    }

    /// Watches an assembly no longer.
    pub(super) fn remove(&mut self, name: &AssemblyName) {
        self.pause(name);
        for id in self.watched.remove(name).into_iter().flat_map(|watched| watched.ids) {
            self.ids.remove(&id);
        }
    }

    /// Waits for no samples of an assembly until it is adopted again.
    pub(super) fn pause(&mut self, name: &AssemblyName) {
        if let Some(due) = self.watched.get_mut(name).and_then(|watched| watched.due.take()) {
            self.agenda.remove(&(due, name.clone()));
        }
    }

    /// Waits for samples of an assembly again that was left as it was.
    pub(super) fn resume(&mut self, name: &AssemblyName) {
        self.reschedule(name);
    }

    pub(super) fn get(&self, name: &AssemblyName) -> Option<&Watched> {
        self.watched.get(name)
    }

    /// Notes that heals of parts have helped.
    pub(super) fn note_well(&mut self, name: &AssemblyName, parts: &[ElementName]) {
        if let Some(watched) = self.watched.get_mut(name) {
            for part in parts {
                watched.heals.well(part);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&AssemblyName, &Watched)> {
        self.watched.iter()
    }

    /// Returns when the next sample of any assembly is missing.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.agenda.first().map(|(due, _)| *due)
    }

    /// Returns the assembly that a metric is of, and the sample under the name of its element, where its key is the
    /// engine's id of it.
    pub(super) fn route(&self, sample: &Sample) -> Option<(AssemblyName, Sample)> {
        let (key, metric) = sample.id.split_once('.')?;
        let element = self.ids.get(key).cloned().or_else(|| key.parse().ok())?;
        let named = Sample { id: format!("{element}.{metric}"), reading: sample.reading };
        Some((element.assembly(), named))
    }

    /// Tells what a sample means to the policies of its assembly.
    pub(super) fn heard(&self, name: &AssemblyName, sample: &Sample) -> Heard {
        self.watched.get(name).map_or(Heard::Unread, |watched| watched.monitor.heard(sample))
    }

    /// Counts a sample.
    pub(super) fn sample(&mut self, now: Timestamp, name: &AssemblyName, sample: &Sample) -> Counted {
        let Some(watched) = self.watched.get_mut(name) else { return Counted::default() };
        let demands = watched.monitor.sample(now, sample);
        let well = watched.monitor.well().into_iter().filter(|part| watched.heals.is_tried(part));
        let well = well.cloned().collect();
        self.reschedule(name);
        Counted { demands, well }
    }

    /// Counts the samples that are missing by now.
    pub(super) fn time(&mut self, now: Timestamp) -> Vec<(AssemblyName, Demand)> {
        let mut demands = Vec::new();
        while let Some((due, name)) = self.agenda.first().cloned().filter(|(due, _)| *due <= now) {
            self.agenda.remove(&(due, name.clone()));
            let Some(watched) = self.watched.get_mut(&name) else { continue };
            watched.due = None;
            demands.extend(watched.monitor.time(now).into_iter().map(|demand| (name.clone(), demand)));
            self.reschedule(&name);
        }
        demands
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
