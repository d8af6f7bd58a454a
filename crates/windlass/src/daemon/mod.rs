//! The long-running mode: metrics in, policies applied, health looked at, and done what others ask.
//!
//! Nothing is held while nothing is done: the lease of an assembly is taken for an intent, and given back. So other
//! commands work beside it. What they ask of an assembly that is held here, they leave as a request, which is carried
//! out in its turn; what is only queued waits for it. A process that was interrupted here, or where the long-running mode
//! ran before, is gone on with.

mod message;
mod serve;
pub mod socket;

pub use message::{Incoming, Message, Taken};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture};
use tokio::sync::mpsc;
use windlass_engine::monitor::{Act, Demand, Heals, Heard, MOST_HEALS, Monitor, Reading, Sample};
use windlass_engine::{Ask, EngineError, Seen, Stop};
use windlass_lifecycle::{Scale, scaled};
use windlass_model::policy::{MetricKind, metric_id};
use windlass_model::record::ProcessStatus;
use windlass_model::resolve::text_of;
use windlass_model::{AssemblyName, ElementName, ProcessId, RequestId, State, Timestamp};
use windlass_store::{Snapshot, Store, StoreError};

use crate::error::Error;
use crate::open::Windlass;
use crate::view::plan::DriftView;

/// How the long-running mode works.
#[derive(Debug, Clone)]
pub struct Watching {
    /// How often the drivers are asked how parts are whose metrics a policy reads; none never asks.
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
    /// An assembly is watched. It is told again when its policies read other metrics.
    Watches {
        /// The assembly.
        assembly: AssemblyName,
        /// The metrics that its policies read, in order.
        metrics: Vec<String>,
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
    /// A policy demands to heal a part again that did not get well of it: the part is left alone until it says that it is
    /// well, or somebody changes the assembly.
    GivesUp {
        /// The assembly.
        assembly: AssemblyName,
        /// The part, by its name below the assembly.
        part: String,
        /// How often it was healed in vain.
        times: u32,
        /// Why it would be healed.
        because: String,
    },
    /// A health check has found a part not as its record says, and no policy heals it.
    Unwell {
        /// The assembly.
        assembly: AssemblyName,
        /// The part, by its name below the assembly.
        part: String,
        /// How it was found.
        seen: String,
    },
    /// A part that was told of as [unwell](Self::Unwell) is as its record says again.
    Well {
        /// The assembly.
        assembly: AssemblyName,
        /// The part, by its name below the assembly.
        part: String,
    },
    /// A policy or a person demands something that can't be done.
    Refused {
        /// The assembly.
        assembly: AssemblyName,
        /// What was demanded.
        what: String,
        /// Why it can't be done.
        why: String,
    },
    /// A request that somebody has left is taken up.
    TakesUp {
        /// The assembly.
        assembly: AssemblyName,
        /// The request.
        request: RequestId,
        /// What is asked, as `scale out B`.
        what: String,
        /// Who asks.
        by: String,
    },
    /// A process that was interrupted is gone on with.
    GoesOn {
        /// The assembly.
        assembly: AssemblyName,
        /// The process.
        process: ProcessId,
        /// What was asked of it.
        what: String,
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
    /// It was told to stop, and waits for what runs.
    Stopping {
        /// The assemblies on which something runs.
        at_work: Vec<AssemblyName>,
    },
    /// Something did not work that is tried again.
    Trouble(String),
}

/// An assembly under watch.
struct Watched {
    /// Tells it from earlier watches of the same assembly.
    watch: u64,
    monitor: Monitor,
    /// What tells whether it has changed since: the time of its last change and its elements' ids.
    mark: (Timestamp, usize),
    /// Elements by the engine's id of them.
    ids: BTreeMap<String, ElementName>,
    /// The heals of its parts that have not helped.
    heals: Heals,
    /// The metrics that policies read, by the element that they are of and their name there.
    metrics: BTreeMap<ElementName, BTreeMap<String, Read>>,
}

/// A metric that a policy reads.
#[derive(Clone)]
struct Read {
    kind: MetricKind,
    id: String,
}

/// What ends while others go on.
enum Done {
    Intent {
        assembly: AssemblyName,
        notice: Option<Notice>,
    },
    /// What was seen for a watch.
    Health {
        assembly: AssemblyName,
        watch: u64,
        looked: Result<Looked, Error>,
    },
}

/// What a look at the parts of an assembly has brought.
struct Looked {
    /// What policies count.
    samples: Vec<Result<Sample, String>>,
    /// How the parts are that no policy heals.
    others: Vec<DriftView>,
}

impl Watched {
    /// Returns a sample under the name of its element, where its key is the engine's id of it.
    fn by_name(&self, sample: &Sample) -> Sample {
        let element = sample.id.split_once('.').and_then(|(key, metric)| Some((self.ids.get(key)?, metric)));
        let id = element.map_or_else(|| sample.id.clone(), |(element, metric)| format!("{element}.{metric}"));
        Sample { id, reading: sample.reading }
    }
}

struct Daemon<'a> {
    windlass: &'a Windlass,
    store: Arc<dyn Store>,
    stop: Stop,
    watched: BTreeMap<AssemblyName, Watched>,
    /// The metrics that were told of each assembly.
    told: BTreeMap<AssemblyName, Vec<String>>,
    /// How many watches have begun.
    watches: u64,
    /// The parts that are left alone since heals have not helped: of each it was told once.
    given_up: BTreeMap<AssemblyName, BTreeSet<ElementName>>,
    /// The clusters that are as small or as large (`true`) as they may be, of which it was told when their assembly was last
    /// changed.
    at_bound: BTreeMap<(AssemblyName, ElementName, bool), Timestamp>,
    /// The parts that are not well and that no policy heals: of each it was told once.
    unwell: BTreeMap<AssemblyName, BTreeSet<ElementName>>,
    /// When it was last looked around because somebody has sent a metric that nothing reads.
    looked_around: Option<Timestamp>,
    /// The assemblies on which an intent runs: samples count for nothing then.
    at_work: BTreeSet<AssemblyName>,
    /// The assemblies that another command changes, or that one has left half changed: samples count for nothing either.
    elsewhere: BTreeSet<AssemblyName>,
    work: FuturesUnordered<BoxFuture<'a, Done>>,
    looked_at: BTreeSet<AssemblyName>,
    /// What others ask and was tried in vain since it was last looked around.
    tried: BTreeSet<RequestId>,
    /// The interrupted processes that were gone on with: once each.
    gone_on_with: BTreeSet<ProcessId>,
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
        std::fs::create_dir_all(&folder).map_err(|source| Error::Write { path: folder, source })
    }

    /// Watches all assemblies until it is told to stop: applies their policies to the samples that come in.
    ///
    /// # Errors
    ///
    /// When there is no store yet, or it can't be read.
    pub async fn watch(
        &self,
        watching: &Watching,
        mut samples: mpsc::Receiver<Incoming>,
        tell: &(dyn Fn(Notice) + Send + Sync),
        stop: &Stop,
    ) -> Result<(), Error> {
        let store = self.store_or_new().await?;
        let mut feed = store.watch(store.last_event().await?);
        let mut daemon = Daemon {
            windlass: self,
            store,
            stop: stop.clone(),
            watched: BTreeMap::new(),
            told: BTreeMap::new(),
            watches: 0,
            given_up: BTreeMap::new(),
            at_bound: BTreeMap::new(),
            unwell: BTreeMap::new(),
            looked_around: None,
            at_work: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            work: FuturesUnordered::new(),
            looked_at: BTreeSet::new(),
            tried: BTreeSet::new(),
            gone_on_with: BTreeSet::new(),
            tell,
        };
        let mut refresh = tokio::time::interval(watching.refresh);
        let mut health = tokio::time::interval(watching.health.unwrap_or(Duration::from_secs(3600)));
        for timer in [&mut refresh, &mut health] {
            timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        }
        loop {
            let due = daemon.idle().filter_map(|(_, watched)| watched.monitor.due()).min();
            let wait = due
                .map_or(Duration::from_secs(3600), |due| Duration::from_millis(due.millis_since(self.now())));
            tokio::select! {
                () = stop.soon.cancelled() => break,
                _ = refresh.tick() => daemon.refresh().await,
                Ok(_) = feed.next() => daemon.hear().await,
                _ = health.tick(), if watching.health.is_some() => daemon.look(),
                Some(incoming) = samples.recv() => daemon.take_in(incoming).await,
                Some(done) = daemon.work.next() => daemon.done(done).await,
                () = tokio::time::sleep(wait), if due.is_some() => daemon.time().await,
            }
        }
        // What runs ends as on Ctrl-C; it sees the same stop.
        if !daemon.at_work.is_empty() {
            tell(Notice::Stopping { at_work: daemon.at_work.iter().cloned().collect() });
        }
        while let Some(done) = daemon.work.next().await {
            daemon.done(done).await;
        }
        Ok(())
    }
}

impl Daemon<'_> {
    /// Returns the assemblies on which nothing runs.
    fn idle(&self) -> impl Iterator<Item = (&AssemblyName, &Watched)> {
        self.watched.iter().filter(|(name, _)| !self.is_changing(name))
    }

    /// Returns those on which nothing runs, to count for them.
    fn idle_mut(&mut self) -> impl Iterator<Item = (&AssemblyName, &mut Watched)> {
        let Self { watched, at_work, elsewhere, .. } = self;
        watched.iter_mut().filter(|(name, _)| !at_work.contains(*name) && !elsewhere.contains(*name))
    }

    /// Tells whether an intent runs on an assembly, here or elsewhere.
    fn is_changing(&self, name: &AssemblyName) -> bool {
        self.at_work.contains(name) || self.elsewhere.contains(name)
    }

    /// Sees to what others have done or asked.
    async fn hear(&mut self) {
        if let Err(error) = self.look_elsewhere().await {
            (self.tell)(Notice::Trouble(error.to_string()));
        }
        self.take_up().await;
    }

    /// Finds out which assemblies others change. What they have changed is watched anew.
    async fn look_elsewhere(&mut self) -> Result<(), StoreError> {
        let open = self.store.open_processes().await?.into_iter().map(|process| process.assembly);
        let elsewhere: BTreeSet<_> = open.filter(|name| !self.at_work.contains(name)).collect();
        let before = std::mem::replace(&mut self.elsewhere, elsewhere);
        let ended = before.into_iter().filter(|name| !self.is_changing(name)).collect::<Vec<_>>();
        for name in &ended {
            self.watched.remove(name);
        }
        if ended.is_empty() { Ok(()) } else { self.find().await }
    }

    /// Finds out which assemblies there are and what they are like now, what is asked, and what was left.
    async fn refresh(&mut self) {
        let looked = match self.look_elsewhere().await {
            Ok(()) => self.find().await,
            failed => failed,
        };
        if let Err(error) = looked {
            (self.tell)(Notice::Trouble(error.to_string()));
        }
        self.tried.clear();
        self.go_on().await;
        self.take_up().await;
    }

    async fn find(&mut self) -> Result<(), StoreError> {
        let there = self.store.assemblies().await?;
        let at_work = &self.at_work;
        self.watched
            .retain(|name, _| at_work.contains(name) || there.iter().any(|assembly| assembly.name == *name));
        let is_there = |name: &AssemblyName| there.iter().any(|assembly| assembly.name == *name);
        self.given_up.retain(|name, _| is_there(name));
        self.told.retain(|name, _| is_there(name));
        self.at_bound.retain(|(name, ..), _| is_there(name));
        for assembly in there {
            let known = self.watched.get(&assembly.name);
            let same = known.is_some_and(|known| known.mark.0 == assembly.updated);
            if same || self.at_work.contains(&assembly.name) || assembly.goal != State::Active {
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
        let heals = Heals::of(snapshot.elements.values());
        let monitor = windlass_engine::monitor_of(snapshot, self.windlass.now());
        let read: BTreeSet<&str> = monitor.sources().collect();
        let mut looked_for: BTreeMap<ElementName, BTreeMap<String, Read>> = BTreeMap::new();
        for element in topology.elements() {
            for (metric, declared) in &element.metrics {
                let id = metric_id(&element.name, metric);
                let is_known = matches!(declared.kind, MetricKind::Integrity | MetricKind::Load);
                if is_known && read.contains(id.as_str()) {
                    let of_element = looked_for.entry(element.name.clone()).or_default();
                    of_element.insert(metric.to_string(), Read { kind: declared.kind.clone(), id });
                }
            }
        }
        let metrics: Vec<String> = read.into_iter().map(str::to_owned).collect();
        let begins = !monitor.is_empty() && !self.stop.soon.is_cancelled();
        if begins && self.told.get(&name) != Some(&metrics) {
            self.told.insert(name.clone(), metrics.clone());
            (self.tell)(Notice::Watches { assembly: name.clone(), metrics });
        }
        self.watches += 1;
        self.watched
            .insert(name, Watched { watch: self.watches, monitor, mark, ids, heals, metrics: looked_for });
    }

    /// Takes in what somebody has sent, and answers.
    async fn take_in(&mut self, incoming: Incoming) {
        /// How often it is looked around for what isn't watched yet, in milliseconds.
        const PAUSE: i64 = 1000;
        let Incoming { sample, answer } = incoming;
        let now = self.windlass.now();
        let is_unread = matches!(self.taken(&sample), Taken::Unread { .. });
        if is_unread && self.looked_around.is_none_or(|last| last.plus_millis(PAUSE) <= now) {
            self.looked_around = Some(now);
            if let Err(error) = self.find().await {
                (self.tell)(Notice::Trouble(error.to_string()));
            }
        }
        let taken = self.taken(&sample);
        self.sample(&sample).await;
        if let Some(answer) = answer {
            // Who has gone away does not want to know.
            let _ = answer.send(taken);
        }
    }

    /// Tells what a sample means to what is watched.
    fn taken(&self, sample: &Sample) -> Taken {
        let id = || sample.id.clone();
        let mut taken = None;
        for (name, watched) in &self.watched {
            match watched.monitor.heard(&watched.by_name(sample)) {
                Heard::Counted if self.is_changing(name) => {
                    taken = Some(Taken::AtWork { id: id(), assembly: name.clone() });
                }
                Heard::Counted => return Taken::Counted,
                Heard::OtherSort(sort) => taken = Some(Taken::OtherSort { id: id(), sort }),
                Heard::Unread => {}
            }
        }
        taken.unwrap_or_else(|| {
            let known: BTreeSet<&str> =
                self.watched.values().flat_map(|watched| watched.monitor.sources()).collect();
            Taken::Unread { id: id(), known: known.into_iter().map(str::to_owned).collect() }
        })
    }

    async fn sample(&mut self, sample: &Sample) {
        let now = self.windlass.now();
        let (mut demands, mut well) = (Vec::new(), Vec::new());
        for (name, watched) in self.idle_mut() {
            let sample = watched.by_name(sample);
            let found = watched.monitor.sample(now, &sample);
            demands.extend(found.into_iter().map(|demand| (name.clone(), demand)));
            let helped = watched.monitor.well().into_iter().filter(|part| watched.heals.is_tried(part));
            let helped: Vec<ElementName> = helped.cloned().collect();
            if !helped.is_empty() {
                well.push((name.clone(), helped));
            }
        }
        for (name, parts) in well {
            self.note_well(&name, &parts).await;
        }
        self.act(demands).await;
    }

    /// Writes down that heals have helped.
    async fn note_well(&mut self, name: &AssemblyName, parts: &[ElementName]) {
        let engine = self.windlass.engine(self.store.clone());
        match engine.note_well(name, parts, &self.windlass.holder()).await {
            Ok(()) => {
                if let Some(watched) = self.watched.get_mut(name) {
                    for part in parts {
                        watched.heals.well(part);
                    }
                }
            }
            // Somebody is at work there. The next sample says it again.
            Err(error) if error.will_pass() => {}
            Err(error) => (self.tell)(Notice::Trouble(error.to_string())),
        }
    }

    async fn time(&mut self) {
        let now = self.windlass.now();
        let demands = self.idle_mut().flat_map(|(name, watched)| {
            let found = watched.monitor.time(now);
            found.into_iter().map(|demand| (name.clone(), demand)).collect::<Vec<_>>()
        });
        let demands = demands.collect();
        self.act(demands).await;
    }

    /// Starts what policies demand: one intent an assembly, and none where another command has begun one meanwhile.
    async fn act(&mut self, demands: Vec<(AssemblyName, Demand)>) {
        if demands.is_empty() {
            return;
        }
        if let Err(error) = self.look_elsewhere().await {
            (self.tell)(Notice::Trouble(error.to_string()));
        }
        for (name, demand) in demands {
            if self.is_changing(&name) {
                continue;
            }
            let (what, ask) = match demand.act {
                Act::Heal(part) if self.leaves_alone(&name, &part, &demand.because) => continue,
                Act::Heal(part) => (format!("heal {}", part.local()), Ask::Heal(part)),
                Act::Scale(cluster, scale) => {
                    let word = if scale == Scale::Out { "out" } else { "in" };
                    let what = format!("scale {word} {}", cluster.local());
                    if self.is_at_bound(&name, &cluster, scale, &what).await {
                        continue;
                    }
                    (what, Ask::Scale { cluster, scale })
                }
            };
            (self.tell)(Notice::Acts { assembly: name.clone(), what: what.clone(), because: demand.because });
            self.change(name, what, ask);
        }
    }

    /// Tells whether a cluster is as small or as large as it may be. That is said once: an idle cluster at its minimum is
    /// as it should be, and its load demands the same again and again.
    async fn is_at_bound(
        &mut self,
        name: &AssemblyName,
        cluster: &ElementName,
        scale: Scale,
        what: &str,
    ) -> bool {
        let Some(changed) = self.watched.get(name).map(|watched| watched.mark.0) else { return false };
        let key = (name.clone(), cluster.clone(), scale == Scale::Out);
        if self.at_bound.get(&key) == Some(&changed) {
            return true;
        }
        let Ok(Some(snapshot)) = self.store.load(name).await else { return false };
        let Err(why) = scaled(&snapshot.assembly.topology, cluster, scale) else { return false };
        self.at_bound.insert(key, changed);
        (self.tell)(Notice::Refused { assembly: name.clone(), what: what.to_owned(), why: why.to_string() });
        true
    }

    /// Tells of parts that no policy heals: once that they are not well, and once that they are again.
    fn tell_of(&mut self, name: &AssemblyName, parts: Vec<DriftView>) {
        let known = self.unwell.entry(name.clone()).or_default();
        for DriftView { element, well, seen } in parts {
            let (assembly, part) = (name.clone(), element.local().to_string());
            match (well, known.contains(&element)) {
                (Some(false), false) => {
                    known.insert(element);
                    (self.tell)(Notice::Unwell { assembly, part, seen });
                }
                (Some(true), true) => {
                    known.remove(&element);
                    (self.tell)(Notice::Well { assembly, part });
                }
                _ => {}
            }
        }
    }

    /// Tells whether a part was healed in vain too often to try again, and says so once.
    fn leaves_alone(&mut self, name: &AssemblyName, part: &ElementName, because: &str) -> bool {
        let given_up = self.given_up.entry(name.clone()).or_default();
        if !self.watched.get(name).is_some_and(|watched| watched.heals.is_left_alone(part)) {
            given_up.remove(part);
            return false;
        }
        if given_up.insert(part.clone()) {
            (self.tell)(Notice::GivesUp {
                assembly: name.clone(),
                part: part.local().to_string(),
                times: MOST_HEALS,
                because: because.to_owned(),
            });
        }
        true
    }

    /// Asks the drivers how the parts are of assemblies that have policies.
    fn look(&mut self) {
        for (name, watched) in &self.watched {
            let skipped = self.is_changing(name) || watched.metrics.is_empty();
            if skipped || !self.looked_at.insert(name.clone()) {
                continue;
            }
            let (windlass, store, name) = (self.windlass, self.store.clone(), name.clone());
            let (metrics, watch) = (watched.metrics.clone(), watched.watch);
            let look = async move {
                let seen = windlass.engine(store).look(&name).await;
                let looked = seen.map_err(Error::from).map(|seen| {
                    let found = seen.iter().filter_map(|seen| Some((seen, metrics.get(&seen.element)?)));
                    let samples = found.flat_map(|(seen, read)| samples(seen, read)).collect();
                    let others = seen.iter().filter(|seen| !is_healed(&seen.element, &metrics)).cloned();
                    Looked { samples, others: others.map(DriftView::new).collect() }
                });
                Done::Health { assembly: name, watch, looked }
            };
            self.work.push(look.boxed());
        }
    }

    async fn done(&mut self, done: Done) {
        match done {
            Done::Intent { assembly, notice: None } => drop(self.at_work.remove(&assembly)),
            Done::Intent { assembly, notice: Some(notice) } => {
                (self.tell)(notice);
                self.at_work.remove(&assembly);
                // It is another assembly now: what was counted before counts for nothing.
                self.watched.remove(&assembly);
                self.refresh().await;
            }
            Done::Health { assembly, watch, looked } => {
                self.looked_at.remove(&assembly);
                // What was seen before it was changed says nothing of how it is now.
                if self.watched.get(&assembly).is_none_or(|watched| watched.watch != watch) {
                    return;
                }
                match looked {
                    Ok(Looked { samples, others }) => {
                        self.tell_of(&assembly, others);
                        for sample in samples {
                            match sample {
                                Ok(sample) => self.sample(&sample).await,
                                Err(wrong) => (self.tell)(Notice::Trouble(wrong)),
                            }
                        }
                    }
                    Err(Error::Engine(EngineError::Unknown { .. })) => {}
                    Err(error) => (self.tell)(Notice::Trouble(error.to_string())),
                }
            }
        }
    }
}

/// Tells whether a policy reads the integrity of a part.
fn is_healed(element: &ElementName, metrics: &BTreeMap<ElementName, BTreeMap<String, Read>>) -> bool {
    let mut read = metrics.get(element).into_iter().flat_map(BTreeMap::values);
    read.any(|read| matches!(read.kind, MetricKind::Integrity))
}

/// Returns what a health check has measured of the metrics that are read: what it says in the interface `metrics`, and of
/// integrity else whether it was well. One that is not well is broken, whatever it says.
fn samples(seen: &Seen, read: &BTreeMap<String, Read>) -> Vec<Result<Sample, String>> {
    let reading = |name: &str, kind: &MetricKind| {
        let said = seen.metrics.get(name).filter(|said| !said.is_null()).map(text_of);
        Some(match (kind, said) {
            (MetricKind::Integrity, _) if seen.is_well() == Some(false) => Ok(Reading::Integrity(false)),
            (MetricKind::Integrity, Some(said)) => message::integrity(&said),
            (MetricKind::Integrity, None) => Ok(Reading::Integrity(seen.is_well()?)),
            (_, Some(said)) => message::load(&said),
            (_, None) => return None,
        })
    };
    let of_metric = |(name, Read { kind, id }): (&String, &Read)| {
        let wrong = |wrong| format!("`{id}` by its health check: {wrong}");
        Some(reading(name, kind)?.map(|reading| Sample { id: id.clone(), reading }).map_err(wrong))
    };
    read.iter().filter_map(of_metric).collect()
}
