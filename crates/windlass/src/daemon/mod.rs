//! The long-running mode: metrics in, policies applied, health looked at.
//!
//! Nothing is held while nothing is done: the lease of an assembly is taken for an intent, and given back. So other
//! commands work beside it, and whoever comes second is told who is at work.

pub mod socket;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture};
use serde::Deserialize;
use tokio::sync::mpsc;
use windlass_engine::monitor::{Act, Demand, Monitor, Reading, Sample};
use windlass_engine::{Ask, EngineError, Stop};
use windlass_model::policy::{MetricKind, metric_id};
use windlass_model::record::ProcessStatus;
use windlass_model::{AssemblyName, ElementName, ProcessId, State, Timestamp};
use windlass_store::{Snapshot, Store, StoreError};

use crate::error::Error;
use crate::open::Windlass;

/// How the long-running mode works.
#[derive(Debug, Clone)]
pub struct Watching {
    /// How often the drivers are asked how parts are whose integrity a policy reads; none never asks.
    pub health: Option<Duration>,
    /// How often it is looked which assemblies there are.
    pub refresh: Duration,
}

impl Default for Watching {
    /// Health every minute, assemblies every five seconds.
    fn default() -> Self {
        Self { health: Some(Duration::from_secs(60)), refresh: Duration::from_secs(5) }
    }
}

/// Something that the long-running mode has noticed or done.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Notice {
    /// An assembly is watched, for this many metrics.
    Watches {
        /// The assembly.
        assembly: AssemblyName,
        /// How many metrics its policies read.
        metrics: usize,
    },
    /// A policy demands something, and a process does it.
    Acts {
        /// The assembly.
        assembly: AssemblyName,
        /// What is done, as `scale out B`.
        what: String,
        /// Why.
        because: String,
    },
    /// A policy demands something that can't be done.
    Refused {
        /// The assembly.
        assembly: AssemblyName,
        /// What was demanded.
        what: String,
        /// Why it can't be done.
        why: String,
    },
    /// A process has ended.
    Ended {
        /// The assembly.
        assembly: AssemblyName,
        /// The process.
        process: ProcessId,
        /// How.
        status: ProcessStatus,
    },
    /// Something did not work that is tried again.
    Trouble(String),
}

/// A metric message, in either of its two shapes: with `integrity` or with `load`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// What was measured: the element's full name, or the engine's id of it.
    pub metric_key: Option<String>,
    /// The metric's name.
    pub metric_name: Option<String>,
    /// Both, as `<key>.<name>`.
    pub metric_id: Option<String>,
    /// `OK` or `BROKEN`.
    pub integrity: Option<String>,
    /// How busy it is, from 0 to 100.
    pub load: Option<f64>,
    /// For people.
    pub message: Option<String>,
}

impl Message {
    /// Reads what was measured.
    ///
    /// # Errors
    ///
    /// A sentence that says what is missing or wrong.
    pub fn sample(&self) -> Result<Sample, String> {
        let id = match (&self.metric_id, &self.metric_key, &self.metric_name) {
            (_, Some(key), Some(name)) => format!("{key}.{name}"),
            (Some(id), _, _) if id.contains('.') => id.clone(),
            _ => {
                return Err(
                    "`metricKey` and `metricName` are needed, or `metricId` as `<key>.<name>`".to_owned()
                );
            }
        };
        let reading = match (self.integrity.as_deref(), self.load) {
            (Some("OK"), None) => Reading::Integrity(true),
            (Some("BROKEN"), None) => Reading::Integrity(false),
            (Some(word), None) => return Err(format!("`integrity` is `OK` or `BROKEN`, not `{word}`")),
            (None, Some(load)) if (0.0..=100.0).contains(&load) => Reading::Load(load),
            (None, Some(load)) => return Err(format!("`load` is a number from 0 to 100, not {load}")),
            _ => return Err("one of `integrity` and `load` is needed".to_owned()),
        };
        Ok(Sample { id, reading })
    }
}

/// An assembly under watch.
struct Watched {
    monitor: Monitor,
    /// What tells whether it has changed since: the time of its last change and its elements' ids.
    mark: (Timestamp, usize),
    /// Elements by the engine's id of them.
    ids: BTreeMap<String, ElementName>,
    /// The integrity metrics that policies read, by the element that they are of.
    integrity: BTreeMap<ElementName, String>,
    /// Whether an intent runs on it: samples count for nothing then.
    busy: bool,
}

/// What ends while others go on.
enum Done {
    Intent { assembly: AssemblyName, notice: Notice },
    Health { assembly: AssemblyName, samples: Result<Vec<Sample>, Error> },
}

struct Daemon<'a> {
    windlass: &'a Windlass,
    store: Arc<dyn Store>,
    stop: Stop,
    watched: BTreeMap<AssemblyName, Watched>,
    work: FuturesUnordered<BoxFuture<'a, Done>>,
    looked_at: BTreeSet<AssemblyName>,
    tell: &'a (dyn Fn(Notice) + Send + Sync),
}

impl Windlass {
    /// Returns where metrics are taken in this project.
    pub fn metric_socket(&self) -> std::path::PathBuf {
        self.project.state_dir().join("metrics.sock")
    }

    /// Makes the project's state, if there is none: for those who begin to watch before anything is up.
    ///
    /// # Errors
    ///
    /// When it can't be made.
    pub async fn make_state(&self) -> Result<(), Error> {
        self.store_or_new().await?;
        let folder = self.project.state_dir();
        std::fs::create_dir_all(&folder).map_err(|source| Error::File { path: folder, source })
    }

    /// Watches all assemblies until it is told to stop: applies their policies to the samples that come in.
    ///
    /// # Errors
    ///
    /// When there is no store yet, or it can't be read.
    pub async fn watch(
        &self,
        watching: &Watching,
        mut samples: mpsc::Receiver<Sample>,
        tell: &(dyn Fn(Notice) + Send + Sync),
        stop: &Stop,
    ) -> Result<(), Error> {
        let store = self.store_or_new().await?;
        let mut daemon = Daemon {
            windlass: self,
            store,
            stop: stop.clone(),
            watched: BTreeMap::new(),
            work: FuturesUnordered::new(),
            looked_at: BTreeSet::new(),
            tell,
        };
        let mut refresh = tokio::time::interval(watching.refresh);
        let mut health = tokio::time::interval(watching.health.unwrap_or(Duration::from_secs(3600)));
        for timer in [&mut refresh, &mut health] {
            timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        }
        loop {
            let due =
                daemon.watched.values().filter(|watched| !watched.busy).filter_map(|w| w.monitor.due()).min();
            let wait = due
                .map_or(Duration::from_secs(3600), |due| Duration::from_millis(due.millis_since(self.now())));
            tokio::select! {
                () = stop.soon.cancelled() => break,
                _ = refresh.tick() => daemon.refresh().await,
                _ = health.tick(), if watching.health.is_some() => daemon.look(),
                Some(sample) = samples.recv() => daemon.sample(&sample),
                Some(done) = daemon.work.next() => daemon.done(done).await,
                () = tokio::time::sleep(wait), if due.is_some() => daemon.time(),
            }
        }
        // What runs ends as on Ctrl-C; it sees the same stop.
        while let Some(done) = daemon.work.next().await {
            daemon.done(done).await;
        }
        Ok(())
    }
}

impl Daemon<'_> {
    /// Finds out which assemblies there are, and what they are like now.
    async fn refresh(&mut self) {
        match self.find().await {
            Ok(()) => {}
            Err(error) => (self.tell)(Notice::Trouble(error.to_string())),
        }
    }

    async fn find(&mut self) -> Result<(), StoreError> {
        let there = self.store.assemblies().await?;
        self.watched
            .retain(|name, watched| watched.busy || there.iter().any(|assembly| assembly.name == *name));
        for assembly in there {
            let known = self.watched.get(&assembly.name);
            let same = known.is_some_and(|known| known.busy || known.mark.0 == assembly.updated);
            if same || assembly.goal != State::Active {
                continue;
            }
            let Some(snapshot) = self.store.load(&assembly.name).await? else { continue };
            if !snapshot.processes.is_empty() {
                continue;
            }
            self.adopt(snapshot);
        }
        Ok(())
    }

    /// Begins to watch an assembly as it is now.
    fn adopt(&mut self, snapshot: Snapshot) {
        let name = snapshot.assembly.name.clone();
        let ids = snapshot.elements.values().map(|record| (record.id.to_string(), record.name.clone()));
        let ids: BTreeMap<_, _> = ids.collect();
        let mark = (snapshot.assembly.updated, snapshot.elements.len());
        let topology = snapshot.assembly.topology.clone();
        let monitor = windlass_engine::monitor_of(snapshot, self.windlass.now());
        let read: BTreeSet<&str> = monitor.sources().collect();
        let mut integrity = BTreeMap::new();
        for element in topology.elements() {
            for (metric, declared) in &element.metrics {
                let id = metric_id(&element.name, metric);
                if declared.kind == MetricKind::Integrity && read.contains(id.as_str()) {
                    integrity.insert(element.name.clone(), id);
                }
            }
        }
        if !monitor.is_empty() && !self.watched.contains_key(&name) {
            (self.tell)(Notice::Watches { assembly: name.clone(), metrics: read.len() });
        }
        self.watched.insert(name, Watched { monitor, mark, ids, integrity, busy: false });
    }

    fn sample(&mut self, sample: &Sample) {
        let now = self.windlass.now();
        let mut demands = Vec::new();
        for (name, watched) in self.watched.iter_mut().filter(|(_, watched)| !watched.busy) {
            // The key may be the engine's id of an element.
            let by_id = sample.id.split_once('.').and_then(|(key, metric)| {
                let element = watched.ids.get(key)?;
                Some(Sample { id: format!("{element}.{metric}"), reading: sample.reading })
            });
            let found = watched.monitor.sample(now, by_id.as_ref().unwrap_or(sample));
            demands.extend(found.into_iter().map(|demand| (name.clone(), demand)));
        }
        self.act(demands);
    }

    fn time(&mut self) {
        let now = self.windlass.now();
        let idle = self.watched.iter_mut().filter(|(_, watched)| !watched.busy);
        let demands = idle.flat_map(|(name, watched)| {
            let found = watched.monitor.time(now);
            found.into_iter().map(|demand| (name.clone(), demand)).collect::<Vec<_>>()
        });
        let demands = demands.collect();
        self.act(demands);
    }

    /// Starts what policies demand: one intent an assembly.
    fn act(&mut self, demands: Vec<(AssemblyName, Demand)>) {
        for (name, demand) in demands {
            let Some(watched) = self.watched.get_mut(&name).filter(|watched| !watched.busy) else { continue };
            watched.busy = true;
            let (what, ask) = match demand.act {
                Act::Heal(element) => (format!("heal {}", element.local()), Ask::Heal(element)),
                Act::Scale(cluster, scale) => {
                    let word = if scale == windlass_lifecycle::Scale::Out { "out" } else { "in" };
                    (format!("scale {word} {}", cluster.local()), Ask::Scale { cluster, scale })
                }
            };
            (self.tell)(Notice::Acts { assembly: name.clone(), what: what.clone(), because: demand.because });
            let (windlass, stop) = (self.windlass, self.stop.clone());
            let carry_out = async move {
                let notice = match windlass.see_through(&name, ask, &stop).await {
                    Ok((process, status)) => Notice::Ended { assembly: name.clone(), process, status },
                    Err(error) => Notice::Refused { assembly: name.clone(), what, why: error.to_string() },
                };
                Done::Intent { assembly: name, notice }
            };
            self.work.push(carry_out.boxed());
        }
    }

    /// Asks the drivers how the parts are whose integrity policies read.
    fn look(&mut self) {
        for (name, watched) in &self.watched {
            if watched.busy || watched.integrity.is_empty() || !self.looked_at.insert(name.clone()) {
                continue;
            }
            let (windlass, store, name) = (self.windlass, self.store.clone(), name.clone());
            let integrity = watched.integrity.clone();
            let look = async move {
                let seen = windlass.engine(store).look(&name).await;
                let samples = seen.map_err(Error::from).map(|seen| {
                    let readings = seen.into_iter().filter_map(|seen| {
                        let id = integrity.get(&seen.element)?.clone();
                        Some(Sample { id, reading: Reading::Integrity(seen.is_well()?) })
                    });
                    readings.collect()
                });
                Done::Health { assembly: name, samples }
            };
            self.work.push(look.boxed());
        }
    }

    async fn done(&mut self, done: Done) {
        match done {
            Done::Intent { assembly, notice } => {
                (self.tell)(notice);
                // It is another assembly now: what was counted before counts for nothing.
                self.watched.remove(&assembly);
                self.refresh().await;
            }
            Done::Health { assembly, samples } => {
                self.looked_at.remove(&assembly);
                match samples {
                    Ok(samples) => samples.iter().for_each(|sample| self.sample(sample)),
                    Err(Error::Engine(EngineError::Unknown { .. })) => {}
                    Err(error) => (self.tell)(Notice::Trouble(error.to_string())),
                }
            }
        }
    }
}

impl Windlass {
    /// Carries an intent out, and says how its process ended.
    async fn see_through(
        &self,
        name: &AssemblyName,
        ask: Ask,
        stop: &Stop,
    ) -> Result<(ProcessId, ProcessStatus), Error> {
        let started = self.change(name, ask, stop).await?;
        let ended = started.run(stop).await?;
        Ok((ended.process.id, ended.process.status))
    }
}
