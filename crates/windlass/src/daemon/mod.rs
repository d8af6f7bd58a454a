//! The daemon: receives metrics, applies policies, checks health, and executes requests.
//!
//! The daemon takes the lease of an assembly only while it executes an intent, and releases it afterwards. So
//! other commands work concurrently. A command that finds its assembly held by the daemon submits a request,
//! which is executed in its turn. A request that was only queued waits until a daemon runs. The daemon
//! resumes interrupted processes of its own and of earlier daemons.

mod message;
mod notice;
mod prune;
mod roster;
mod samples;
mod serve;
pub mod socket;
mod work;

pub use message::{Incoming, Message, Taken};
pub use notice::Notice;
pub use prune::keep_pruned;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_engine::monitor::{Act, Demand, Heard, MOST_HEALS, Sample};
use windlass_engine::{EngineError, Stop};
use windlass_lifecycle::{Scale, scaled};
use windlass_model::record::{AssemblyRecord, Event, EventRecord, Intent};
use windlass_model::{AssemblyName, ElementName, ProcessId, RequestId, Seq, State, Timestamp};
use windlass_project::Project;
use windlass_store::{Store, StoreError};

use self::roster::{Counted, Roster};
use self::samples::Looked;
use self::work::{Message as Said, Work};
use crate::blocking::blocking;
use crate::error::Error;
use crate::open::Windlass;
use crate::pages::for_each_assembly;
use crate::view::plan::DriftView;

/// Settings of the daemon.
#[derive(Debug, Clone)]
pub struct Watching {
    /// Interval of health checks of the assemblies whose policies read metrics; `None` disables them.
    pub health: Option<Duration>,
    /// Interval at which the daemon looks for changes by other processes.
    pub refresh: Duration,
}

impl Default for Watching {
    /// Health every minute, changes every five seconds.
    fn default() -> Self {
        Self { health: Some(Duration::from_secs(60)), refresh: Duration::from_secs(5) }
    }
}

struct Daemon<'a> {
    windlass: &'a Windlass,
    store: Arc<dyn Store>,
    stop: Stop,
    /// The last event that was read.
    heard: Seq,
    /// The assemblies that have changed since they were last read.
    changed: BTreeSet<AssemblyName>,
    /// Whether all assemblies were listed once.
    is_listed: bool,
    /// The last error of the store, until it works again.
    trouble: Option<String>,
    roster: Roster,
    /// The metrics that were reported for each assembly.
    told: BTreeMap<AssemblyName, Vec<String>>,
    /// The parts that are no longer healed because heals did not help. Each was reported once.
    given_up: BTreeMap<AssemblyName, BTreeSet<ElementName>>,
    /// The clusters at their minimum or maximum (`true`) size, with the last change of their assembly when
    /// that was reported.
    at_bound: BTreeMap<AssemblyName, BTreeMap<(ElementName, bool), Timestamp>>,
    /// The unwell parts that no policy heals. Each was reported once.
    unwell: BTreeMap<AssemblyName, BTreeSet<ElementName>>,
    /// The time at which the feed was last read because of a metric that no policy reads.
    looked_around: Option<Timestamp>,
    /// The assemblies with an intent that runs here. Their samples are ignored.
    at_work: BTreeSet<AssemblyName>,
    /// The assemblies that another command is changing, or has left unfinished. Their samples are ignored,
    /// too.
    elsewhere: BTreeSet<AssemblyName>,
    work: Work,
    looked_at: BTreeSet<AssemblyName>,
    /// The requests that were tried without success since the last refresh.
    tried: BTreeSet<RequestId>,
    /// The interrupted processes that were resumed. Each is resumed once.
    gone_on_with: BTreeSet<ProcessId>,
    tell: &'a (dyn Fn(Notice) + Send + Sync),
}

/// The reasons for which the daemon wakes up.
enum Wake {
    Refresh,
    Feed,
    Health,
    Sample(Incoming),
    Said(Said),
    Missing,
}

/// Returns the path of the project's metric socket.
pub fn metric_socket(project: &Project) -> std::path::PathBuf {
    project.state_dir().join("metrics.sock")
}

/// Creates the project's store if there is none. So the daemon can start before the first assembly
/// exists.
///
/// # Errors
///
/// If it can't be created.
pub async fn make_state(windlass: &Windlass) -> Result<(), Error> {
    windlass.store_or_new().await?;
    let folder = windlass.project.state_dir();
    let made = folder.clone();
    let made = blocking(move || std::fs::create_dir_all(made)).await;
    made.map_err(|source| Error::Write { path: folder, source })
}

/// Monitors all assemblies until `stop` is triggered: applies their policies to incoming samples, and
/// executes requests.
///
/// # Errors
///
/// If the store can't be created or read.
pub async fn watch(
    windlass: &Windlass,
    watching: &Watching,
    mut samples: mpsc::Receiver<Incoming>,
    tell: &(dyn Fn(Notice) + Send + Sync),
    stop: &Stop,
) -> Result<(), Error> {
    let opened = async {
        let store = windlass.store_or_new().await?;
        let heard = store.last_event().await?;
        Ok::<_, Error>((store, heard))
    };
    let (store, heard) = tokio::select! {
        opened = opened => opened?,
        () = stop.soon.cancelled() => return Ok(()),
    };
    let mut feed = store.watch(heard);
    let (work, mut said) = Work::new(windlass.engine(store.clone()), windlass.holder(), stop.clone());
    let mut daemon = Daemon {
        windlass,
        store,
        stop: stop.clone(),
        heard,
        changed: BTreeSet::new(),
        is_listed: false,
        trouble: None,
        roster: Roster::default(),
        told: BTreeMap::new(),
        given_up: BTreeMap::new(),
        at_bound: BTreeMap::new(),
        unwell: BTreeMap::new(),
        looked_around: None,
        at_work: BTreeSet::new(),
        elsewhere: BTreeSet::new(),
        work,
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
        let due = daemon.roster.due();
        let wait = due
            .map_or(Duration::from_secs(3600), |due| Duration::from_millis(due.millis_since(windlass.now())));
        let wake = tokio::select! {
            () = stop.soon.cancelled() => break,
            _ = refresh.tick() => Wake::Refresh,
            Ok(_) = feed.next() => Wake::Feed,
            _ = health.tick(), if watching.health.is_some() => Wake::Health,
            Some(incoming) = samples.recv() => Wake::Sample(incoming),
            Some(said) = said.recv() => Wake::Said(said),
            () = tokio::time::sleep(wait), if due.is_some() => Wake::Missing,
        };
        // A slow store must not delay stopping.
        tokio::select! {
            biased;
            () = daemon.wake(wake) => {}
            () = stop.soon.cancelled() => break,
        }
    }
    // Running processes observe the same stop, as on Ctrl-C.
    if !daemon.at_work.is_empty() {
        tell(Notice::Stopping { at_work: daemon.at_work.iter().cloned().collect() });
    }
    while !(daemon.at_work.is_empty() && daemon.looked_at.is_empty()) {
        let Some(said) = said.recv().await else { break };
        daemon.last_word(said);
    }
    Ok(())
}

impl Daemon<'_> {
    async fn wake(&mut self, wake: Wake) {
        match wake {
            Wake::Refresh => self.refresh().await,
            Wake::Feed => self.hear().await,
            Wake::Health => self.look(),
            Wake::Sample(incoming) => self.take_in(incoming).await,
            Wake::Said(said) => self.take(said).await,
            Wake::Missing => self.time().await,
        }
    }

    /// Tells whether an intent runs on an assembly, here or in another process.
    fn is_changing(&self, name: &AssemblyName) -> bool {
        self.at_work.contains(name) || self.elsewhere.contains(name)
    }

    /// Reports once that the store fails, and once that it works again.
    fn answered<T>(&mut self, answer: Result<T, StoreError>) -> Option<T> {
        match answer {
            Ok(answer) => {
                if self.trouble.take().is_some() {
                    (self.tell)(Notice::Back { store: self.windlass.store_kind() });
                }
                Some(answer)
            }
            Err(error) => {
                let trouble = error.to_string();
                if self.trouble.as_ref() != Some(&trouble) {
                    (self.tell)(Notice::Trouble(trouble.clone()));
                    self.trouble = Some(trouble);
                }
                None
            }
        }
    }

    /// Handles events and requests of other processes.
    async fn hear(&mut self) {
        let heard = self.read_feed().await;
        if let Some(true) = self.answered(heard) {
            self.take_up().await;
        }
    }

    /// Reads new events, and the assemblies that they have changed. Tells whether there are new requests.
    async fn read_feed(&mut self) -> Result<bool, StoreError> {
        /// Number of events read at once.
        const PAGE: usize = 500;
        let mut is_asked = false;
        loop {
            let events = self.store.events(self.heard, PAGE).await?;
            for EventRecord { seq, draft } in &events {
                self.heard = *seq;
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

    /// Applies an event to the daemon's view of its assembly.
    fn happened(&mut self, name: &AssemblyName, event: &Event) {
        match event {
            Event::ProcessStarted { .. } if !self.at_work.contains(name) => {
                self.elsewhere.insert(name.clone());
                self.roster.pause(name);
            }
            Event::ProcessEnded { .. } => {
                self.elsewhere.remove(name);
                self.changed.insert(name.clone());
            }
            Event::Exported { .. } | Event::Imported { .. } | Event::Forgotten { .. } => {
                self.changed.insert(name.clone());
            }
            _ => {}
        }
    }

    /// Reads the changed assemblies again. An assembly that could not be read stays marked as changed.
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
            self.forget(name);
            return Ok(());
        };
        if snapshot.assembly.goal != State::Active || !snapshot.processes.is_empty() {
            self.roster.remove(name);
            return Ok(());
        }
        let Some(watched) = self.roster.adopt(snapshot, self.windlass.now()) else { return Ok(()) };
        let metrics = watched.metrics();
        if !metrics.is_empty() && !self.stop.soon.is_cancelled() && self.told.get(name) != Some(&metrics) {
            self.told.insert(name.clone(), metrics.clone());
            (self.tell)(Notice::Watches { assembly: name.clone(), metrics });
        }
        Ok(())
    }

    /// Removes everything about a deleted assembly.
    fn forget(&mut self, name: &AssemblyName) {
        self.roster.remove(name);
        self.told.remove(name);
        self.given_up.remove(name);
        self.at_bound.remove(name);
        self.unwell.remove(name);
    }

    /// Looks for changes by other processes, requests and interrupted processes. The first time it also lists
    /// the assemblies.
    async fn refresh(&mut self) {
        let looked = self.look_around().await;
        if self.answered(looked).is_none() {
            return;
        }
        self.tried.clear();
        self.go_on().await;
        self.take_up().await;
    }

    async fn look_around(&mut self) -> Result<(), StoreError> {
        // A killed process writes no event: its process record stays open.
        let open = self.store.open_processes().await?.into_iter().map(|process| process.assembly);
        let elsewhere: BTreeSet<_> = open.filter(|name| !self.at_work.contains(name)).collect();
        let before = std::mem::replace(&mut self.elsewhere, elsewhere);
        self.elsewhere.iter().for_each(|name| self.roster.pause(name));
        self.changed.extend(before.into_iter().filter(|name| !self.elsewhere.contains(name)));
        if !self.is_listed {
            let changed = &mut self.changed;
            let mark = |assembly: AssemblyRecord| {
                if !assembly.topology.policies().is_empty() {
                    changed.insert(assembly.name);
                }
            };
            for_each_assembly(&*self.store, mark).await?;
            self.is_listed = true;
        }
        self.read_feed().await.map(drop)
    }

    /// Handles a sample, and replies.
    async fn take_in(&mut self, incoming: Incoming) {
        /// Minimum interval between two reads of the feed for an unknown metric, in milliseconds.
        const PAUSE: i64 = 1000;
        let Incoming { sample, answer } = incoming;
        let now = self.windlass.now();
        let is_unread = matches!(self.taken(&sample), Taken::Unread { .. });
        if is_unread && self.looked_around.is_none_or(|last| last.plus_millis(PAUSE) <= now) {
            self.looked_around = Some(now);
            self.hear().await;
        }
        let taken = self.taken(&sample);
        self.sample(&sample).await;
        if let Some(answer) = answer {
            // The send fails if the sender is gone.
            let _ = answer.send(taken);
        }
    }

    /// Returns the effect of a sample on the policies.
    fn taken(&self, sample: &Sample) -> Taken {
        let id = sample.id.clone();
        let routed = self.roster.route(sample);
        let heard = routed.as_ref().map(|(name, sample)| (name, self.roster.heard(name, sample)));
        match heard {
            Some((name, Heard::Counted)) if self.is_changing(name) => {
                Taken::AtWork { id, assembly: name.clone() }
            }
            Some((_, Heard::Counted)) => Taken::Counted,
            Some((_, Heard::OtherSort(sort))) => Taken::OtherSort { id, sort },
            _ => Taken::Unread { id, known: self.roster.sources().into_iter().collect() },
        }
    }

    async fn sample(&mut self, sample: &Sample) {
        let Some((name, sample)) = self.roster.route(sample) else { return };
        if self.is_changing(&name) {
            return;
        }
        let Counted { demands, well } = self.roster.sample(self.windlass.now(), &name, &sample);
        if !well.is_empty() {
            self.note_well(&name, &well).await;
        }
        self.act(demands.into_iter().map(|demand| (name.clone(), demand)).collect()).await;
    }

    /// Records that heals have helped.
    async fn note_well(&mut self, name: &AssemblyName, parts: &[ElementName]) {
        let work = &self.work.context;
        match work.engine.note_well(name, parts, &work.holder).await {
            Ok(()) => self.roster.note_well(name, parts),
            // Another process holds the assembly. The next sample will report it again.
            Err(error) if error.will_pass() => {}
            Err(error) => (self.tell)(Notice::Trouble(error.to_string())),
        }
    }

    async fn time(&mut self) {
        let demands = self.roster.time(self.windlass.now());
        self.act(demands).await;
    }

    /// Starts the demands of policies, one intent per assembly. Skips an assembly that another command has
    /// begun to change.
    async fn act(&mut self, demands: Vec<(AssemblyName, Demand)>) {
        if demands.is_empty() {
            return;
        }
        self.hear().await;
        for (name, demand) in demands {
            if self.is_changing(&name) {
                continue;
            }
            let (what, intent) = match demand.act {
                Act::Heal(part) if self.leaves_alone(&name, &part, &demand.because) => continue,
                Act::Heal(part) => (format!("heal {}", part.local()), Intent::Heal(part)),
                Act::Scale(cluster, scale) => {
                    let word = if scale == Scale::Out { "out" } else { "in" };
                    let what = format!("scale {word} {}", cluster.local());
                    if self.is_at_bound(&name, &cluster, scale, &what).await {
                        continue;
                    }
                    let intent = match scale {
                        Scale::Out => Intent::ScaleOut(cluster),
                        Scale::In => Intent::ScaleIn(cluster),
                    };
                    (what, intent)
                }
            };
            (self.tell)(Notice::Acts { assembly: name.clone(), what: what.clone(), because: demand.because });
            self.change(name, what, intent);
        }
    }

    /// Tells whether a cluster is at its minimum or maximum size, or may not shrink. Reports that once, because the load of an
    /// idle cluster keeps demanding the same. Clusters are not scaled either while a change has left additional nodes.
    async fn is_at_bound(
        &mut self,
        name: &AssemblyName,
        cluster: &ElementName,
        scale: Scale,
        what: &str,
    ) -> bool {
        let Some(changed) = self.roster.get(name).map(|watched| watched.updated) else { return false };
        let key = (cluster.clone(), scale == Scale::Out);
        if self.at_bound.get(name).and_then(|told| told.get(&key)) == Some(&changed) {
            return true;
        }
        let Ok(Some(snapshot)) = self.store.load(name).await else { return false };
        if !snapshot.assembly.surge.is_empty() {
            return true;
        }
        let topology = &snapshot.assembly.topology;
        let is_protected = scale == Scale::In && topology.protector(cluster).is_some();
        let why = match scaled(topology, cluster, scale) {
            Err(why) => why.to_string(),
            Ok(_) if is_protected => format!("`{}` is protected", cluster.local()),
            Ok(_) => return false,
        };
        self.at_bound.entry(name.clone()).or_default().insert(key, changed);
        (self.tell)(Notice::Refused { assembly: name.clone(), what: what.to_owned(), why });
        true
    }

    /// Reports parts that no policy heals: once when they become unwell, and once when they are well again.
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

    /// Tells whether a part is no longer healed because too many heals did not help. Reports that once.
    fn leaves_alone(&mut self, name: &AssemblyName, part: &ElementName, because: &str) -> bool {
        let given_up = self.given_up.entry(name.clone()).or_default();
        if !self.roster.get(name).is_some_and(|watched| watched.heals.is_left_alone(part)) {
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

    /// Starts health checks of the assemblies whose policies read metrics.
    fn look(&mut self) {
        for (name, watched) in self.roster.iter() {
            let is_changing = self.at_work.contains(name) || self.elsewhere.contains(name);
            let skipped = is_changing || watched.reads.is_empty();
            if !skipped && self.looked_at.insert(name.clone()) {
                self.work.look(name.clone(), watched.watch, watched.reads.clone());
            }
        }
    }

    /// Handles a message of a task.
    async fn take(&mut self, said: Said) {
        match said {
            Said::Tell(notice) => (self.tell)(notice),
            Said::Ended { assembly, notice } => {
                self.at_work.remove(&assembly);
                match notice {
                    // The assembly has changed, so earlier samples no longer count.
                    Some(notice) => {
                        (self.tell)(notice);
                        self.roster.remove(&assembly);
                        self.changed.insert(assembly);
                    }
                    None => self.roster.resume(&assembly),
                }
                self.hear().await;
                self.take_up().await;
            }
            Said::Looked { assembly, watch, seen } => {
                self.looked_at.remove(&assembly);
                // Observations from before a change say nothing about the current state.
                if self.roster.get(&assembly).is_none_or(|watched| watched.watch != watch) {
                    return;
                }
                match seen {
                    Ok(looked) => self.count(&assembly, looked).await,
                    Err(EngineError::Unknown { .. } | EngineError::Stopped) => {}
                    Err(error) => (self.tell)(Notice::Trouble(error.to_string())),
                }
            }
        }
    }

    async fn count(&mut self, assembly: &AssemblyName, Looked { samples, others }: Looked) {
        self.tell_of(assembly, others);
        for sample in samples {
            match sample {
                Ok(sample) => self.sample(&sample).await,
                Err(wrong) => (self.tell)(Notice::Trouble(wrong)),
            }
        }
    }

    /// Handles a message of a task after the daemon was asked to stop.
    fn last_word(&mut self, said: Said) {
        match said {
            Said::Tell(notice) => (self.tell)(notice),
            Said::Ended { assembly, notice } => {
                self.at_work.remove(&assembly);
                notice.into_iter().for_each(self.tell);
            }
            Said::Looked { assembly, .. } => drop(self.looked_at.remove(&assembly)),
        }
    }
}
