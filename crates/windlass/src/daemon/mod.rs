//! The daemon: receives metrics, applies policies, checks health, and executes requests.
//!
//! The daemon holds the lease of an assembly only while it executes an intent. At other times, other commands
//! can change the assembly. If a command finds that the daemon is changing the assembly, the command submits
//! a request. The daemon executes the request after its current intent on the assembly. A user can also queue
//! a request while no daemon runs; the next daemon executes this request. The daemon resumes interrupted
//! processes of its own and of earlier daemons.

mod applications;
mod demands;
mod duties;
mod feed;
mod message;
mod notice;
mod roster;
mod running_applications;
mod samples;
mod serve;
pub mod socket;
mod work;

pub use duties::Watching;
pub use message::{Incoming, Message, Taken};
pub use notice::Notice;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_engine::monitor::{Sample, SampleUse};
use windlass_engine::schedule::Started;
use windlass_engine::{EngineError, Stop};
use windlass_model::record::Failure;
use windlass_model::{AssemblyName, ElementName, ProcessId, RequestId, Seq, Timestamp};
use windlass_project::Project;
use windlass_store::{Store, StoreError};

use self::duties::{Duties, Duty};
use self::notice::HEALTH_CHECK;
use self::roster::{Counted, Roster};
use self::running_applications::Applications;
use self::samples::Looked;
use self::work::{Message as Said, TaskError, Work};
use crate::blocking::blocking;
use crate::error::Error;
use crate::file_version::FileVersion;
use crate::open::Windlass;
use crate::prune::{PruneView, UnprunedView};

struct Daemon<'a> {
    windlass: Arc<Windlass>,
    /// The version of `windlass.yaml` that the daemon has tried to read last.
    version: Option<FileVersion>,
    store: Arc<dyn Store>,
    stop: Stop,
    /// The number of the last event that was read.
    last_event: Seq,
    /// The assemblies that have changed since they were last read.
    changed: BTreeSet<AssemblyName>,
    /// Whether the daemon has already listed all assemblies of the store. The first refresh lists them.
    is_listed: bool,
    /// The error of the store that was reported last; `None` while the store works.
    trouble: Option<String>,
    /// The error [`StoreError::Closed`], once the store has returned it: the store can never be used again.
    closed: Option<StoreError>,
    roster: Roster,
    applications: Applications,
    duties: Duties,
    /// The factories whose discovery is running.
    discovering: BTreeSet<AssemblyName>,
    /// The factories whose applications are being checked.
    checking: BTreeSet<AssemblyName>,
    /// The factories with a request that waits for the end of a task. Such a task is a discovery of the
    /// factory, or a health check of the factory's applications.
    awaited: BTreeSet<AssemblyName>,
    /// The duties that could not start when they were due, each with its factory. Such a duty starts when no
    /// intent changes the factory and no request for the factory waits.
    waiting: Vec<(AssemblyName, Started<Duty>)>,
    /// For each assembly, the metrics in the last [`Notice::Watches`] of the daemon.
    reported_metrics: BTreeMap<AssemblyName, Vec<String>>,
    /// The parts that the daemon no longer heals, because they have not recovered after several attempts. Each part was
    /// reported once.
    given_up: BTreeMap<AssemblyName, BTreeSet<ElementName>>,
    /// The clusters for which the daemon has reported that scaling is impossible. The `bool` is `true` for scaling out,
    /// and `false` for scaling in. The time is that of the assembly's last change before the report. The daemon repeats
    /// the report only after a later change.
    at_bound: BTreeMap<AssemblyName, BTreeMap<(ElementName, bool), Timestamp>>,
    /// The parts that do not match their records, and that no policy heals. The daemon has reported each of these
    /// parts once.
    unwell: BTreeMap<AssemblyName, BTreeSet<ElementName>>,
    /// The time of the last extra read of the event feed. If no known policy uses an incoming sample, the daemon
    /// reads the feed at once. The reason is that the feed may announce a new assembly whose policy uses the
    /// sample.
    last_extra_read: Option<Timestamp>,
    /// The assemblies with an intent that this daemon executes. Samples for these assemblies are ignored.
    busy: BTreeSet<AssemblyName>,
    /// The assemblies that another command is changing, or that an interrupted command has left with an unfinished
    /// change. Samples for these assemblies are ignored.
    elsewhere: BTreeSet<AssemblyName>,
    work: Work,
    looked_at: BTreeSet<AssemblyName>,
    /// The requests that this daemon has tried to begin since the last [`Duty::Refresh`]. The next refresh allows
    /// another attempt.
    tried: BTreeSet<RequestId>,
    /// The interrupted processes that this daemon has resumed. Each is resumed only once.
    resumed: BTreeSet<ProcessId>,
    /// The interrupted processes that could not be resumed at the first attempt. The daemon has reported each of them
    /// once, and tries again at each [`Duty::Refresh`].
    not_resumed: BTreeSet<ProcessId>,
    /// The assemblies whose last process may have failed and may [demand a
    /// rollback](windlass_engine::may_demand_rollback). If this rollback has not begun, the daemon begins it at the
    /// next [`Duty::Refresh`].
    failed_changes: BTreeSet<AssemblyName>,
    tell: &'a (dyn Fn(Notice) + Send + Sync),
}

/// The reason why the daemon wakes up.
enum Wake {
    Feed,
    Sample(Incoming),
    Said(Said),
    /// A duty of the schedule starts.
    Duty(Started<Duty>),
    /// The next sample of an assembly is overdue.
    Missing,
}

/// Returns the path of the project's metric socket.
pub fn metric_socket(project: &Project) -> std::path::PathBuf {
    project.state_dir().join("metrics.sock")
}

/// Creates the project's store and state folder if they are missing, so that the daemon can start before the
/// first assembly exists.
///
/// # Errors
///
/// Fails if the store or the folder can't be created.
pub async fn make_state(windlass: &Windlass) -> Result<(), Error> {
    windlass.store_or_new().await?;
    let folder = windlass.project.state_dir();
    let made = folder.clone();
    let made = blocking(move || std::fs::create_dir_all(made)).await;
    made.map_err(|source| Error::Write { path: folder, source })
}

/// Monitors all assemblies until `stop` is triggered. Applies their policies to incoming samples, and
/// executes requests.
///
/// # Errors
///
/// Fails if the store can't be created or read. Also fails if another file has replaced the file of the store. A caller
/// that starts the daemon again then uses the new file.
pub async fn watch(
    windlass: &Windlass,
    watching: &Watching,
    mut samples: mpsc::Receiver<Incoming>,
    tell: &(dyn Fn(Notice) + Send + Sync),
    stop: &Stop,
) -> Result<(), Error> {
    let opened = async {
        let store = windlass.store_or_new().await?;
        store.check_key()?;
        let last_event = store.last_event().await?;
        Ok::<_, Error>((store, last_event))
    };
    let (store, last_event) = tokio::select! {
        opened = opened => opened?,
        () = stop.requested() => return Ok(()),
    };
    let mut feed = store.watch(last_event);
    let (work, mut said) = Work::new(windlass.engine(store.clone()), windlass.holder(), stop.clone());
    let (duties, mut started) = Duties::begin(windlass, watching, stop.clone()).await;
    let mut daemon = Daemon {
        windlass: Arc::new(windlass.clone()),
        version: windlass.version,
        store,
        stop: stop.clone(),
        last_event,
        changed: BTreeSet::new(),
        is_listed: false,
        trouble: None,
        closed: None,
        roster: Roster::default(),
        applications: Applications::default(),
        duties,
        discovering: BTreeSet::new(),
        checking: BTreeSet::new(),
        awaited: BTreeSet::new(),
        waiting: Vec::new(),
        reported_metrics: BTreeMap::new(),
        given_up: BTreeMap::new(),
        at_bound: BTreeMap::new(),
        unwell: BTreeMap::new(),
        last_extra_read: None,
        busy: BTreeSet::new(),
        elsewhere: BTreeSet::new(),
        work,
        looked_at: BTreeSet::new(),
        tried: BTreeSet::new(),
        resumed: BTreeSet::new(),
        not_resumed: BTreeSet::new(),
        failed_changes: BTreeSet::new(),
        tell,
    };
    loop {
        let wait = daemon.roster.due().map(|due| Duration::from_millis(due.millis_since(windlass.now())));
        let wake = tokio::select! {
            () = stop.requested() => break,
            Ok(_) = feed.next() => Wake::Feed,
            Some(incoming) = samples.recv() => Wake::Sample(incoming),
            Some(said) = said.recv() => Wake::Said(said),
            Some(duty) = started.recv() => Wake::Duty(duty),
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => Wake::Missing,
        };
        // A slow store must not delay the stop of the daemon.
        tokio::select! {
            biased;
            () = daemon.wake(wake) => {}
            () = stop.requested() => break,
        }
        if let Some(closed) = daemon.closed.take() {
            // The tasks of this daemon can record nothing more, so it does not wait for them.
            return Err(closed.into());
        }
    }
    // `stop` also stops the tasks of the running intents. Each task ends its jobs in the same way as a command after
    // Ctrl-C. The next daemon resumes the processes.
    if !daemon.busy.is_empty() {
        tell(Notice::Stopping { busy: daemon.busy.iter().cloned().collect() });
    }
    // A running check or discovery holds the lease of its factory, and a daemon on another machine needs this lease.
    // So the daemon waits here for the end of its checks and discoveries.
    while daemon.is_working() {
        let Some(said) = said.recv().await else { break };
        daemon.last_word(said);
    }
    Ok(())
}

impl Daemon<'_> {
    async fn wake(&mut self, wake: Wake) {
        self.read_project_again().await;
        match wake {
            Wake::Feed => self.read_events().await,
            Wake::Sample(incoming) => self.take_in(incoming).await,
            Wake::Said(said) => self.take(said).await,
            Wake::Duty(duty) => self.begin_duty(duty).await,
            Wake::Missing => self.time().await,
        }
    }

    /// Reads `windlass.yaml` again if it has changed. Intents and health checks that begin later use the new content.
    /// If the file is invalid or missing, the daemon keeps the old content.
    async fn read_project_again(&mut self) {
        let (windlass, known) = (self.windlass.clone(), self.version);
        let read = blocking(move || {
            let version = FileVersion::of(&windlass.project);
            (version != known).then(|| (version, windlass.reopened()))
        });
        let Some((version, reopened)) = read.await else { return };
        self.version = version;
        let notice = match reopened {
            Ok(windlass) => {
                self.version = windlass.version;
                self.work.context.engine = windlass.engine(self.store.clone());
                self.windlass = Arc::new(windlass);
                Notice::ProjectRead
            }
            Err(why) => Notice::ProjectRefused { why },
        };
        (self.tell)(notice);
    }

    async fn begin_duty(&mut self, started: Started<Duty>) {
        match started.duty {
            Duty::Refresh => {
                self.refresh().await;
                self.duties.ended(Duty::Refresh).await;
            }
            Duty::Prune => self.work.prune(self.windlass.clone()),
            Duty::Check(assembly) => self.look(assembly).await,
            Duty::Discover(ref factory) | Duty::CheckApplications(ref factory) => {
                let factory = factory.clone();
                self.begin_for(factory, started).await;
            }
        }
    }

    /// Starts a duty of a factory. If the daemon executes an intent on the factory, or if a request for the factory
    /// waits, puts the duty into `waiting` instead.
    async fn begin_for(&mut self, factory: AssemblyName, started: Started<Duty>) {
        if self.is_in_use(&factory) {
            self.waiting.push((factory, started));
        } else if matches!(started.duty, Duty::Discover(_)) {
            self.discover(factory, started.fired);
        } else {
            self.check_applications(factory).await;
        }
    }

    fn is_in_use(&self, factory: &AssemblyName) -> bool {
        self.busy.contains(factory) || self.awaited.contains(factory)
    }

    /// Starts the duties that have waited for the end of an intent or a request.
    async fn begin_waiting(&mut self) {
        for (factory, started) in std::mem::take(&mut self.waiting) {
            self.begin_for(factory, started).await;
        }
    }

    /// Reports the assemblies whose old records could not be removed.
    async fn note_pruned(&mut self, pruned: Result<PruneView, TaskError>) {
        self.duties.ended(Duty::Prune).await;
        let failed = match pruned {
            Ok(pruned) => pruned.failed,
            Err(error) => {
                return (self.tell)(Notice::Trouble(format!("old processes can't be removed: {error}")));
            }
        };
        for UnprunedView { name, error } in failed {
            (self.tell)(Notice::Trouble(format!("old processes of `{name}` can't be removed: {error}")));
        }
    }

    /// Tells whether an intent, a health check or a discovery is running.
    fn is_working(&self) -> bool {
        !(self.busy.is_empty()
            && self.looked_at.is_empty()
            && self.checking.is_empty()
            && self.discovering.is_empty())
    }

    /// Tells whether an assembly has an unfinished intent. This daemon or another program may be executing the intent,
    /// or the intent was interrupted.
    fn is_changing(&self, name: &AssemblyName) -> bool {
        self.busy.contains(name) || self.elsewhere.contains(name)
    }

    /// Returns the value that a function of the store has returned. If the function has failed, returns `None` and
    /// reports the failure. Does not report the same failure twice in succession. Also reports the first success
    /// after a failure. A closed store ends the daemon, and is not reported here.
    fn answered<T>(&mut self, answer: Result<T, StoreError>) -> Option<T> {
        match answer {
            Ok(answer) => {
                if self.trouble.take().is_some() {
                    (self.tell)(Notice::Back { store: self.windlass.store_kind() });
                }
                Some(answer)
            }
            Err(error @ StoreError::Closed) => {
                self.closed = Some(error);
                None
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

    /// Handles a sample, and replies to its sender.
    async fn take_in(&mut self, incoming: Incoming) {
        /// Minimum interval in milliseconds between two extra reads of the event feed. After a sample that no known
        /// policy uses, the daemon makes an extra read. The feed may announce a new assembly with a policy that
        /// uses this sample.
        const PAUSE: i64 = 1000;
        let Incoming { sample, answer } = incoming;
        let now = self.windlass.now();
        let is_unread = matches!(self.taken(&sample), Taken::Unread { .. });
        if is_unread && self.last_extra_read.is_none_or(|last| last.plus_millis(PAUSE) <= now) {
            self.last_extra_read = Some(now);
            self.read_events().await;
        }
        let taken = self.taken(&sample);
        self.sample(&sample).await;
        if let Some(answer) = answer {
            // The send fails if the sender has stopped waiting.
            let _ = answer.send(taken);
        }
    }

    /// Returns the effect of a sample on the policies.
    fn taken(&self, sample: &Sample) -> Taken {
        let id = sample.id.clone();
        let routed = self.roster.route(sample);
        let used = routed.as_ref().map(|(name, sample)| (name, self.roster.use_of(name, sample)));
        match used {
            Some((name, SampleUse::Counted)) if self.is_changing(name) => {
                Taken::Busy { id, assembly: name.clone() }
            }
            Some((_, SampleUse::Counted)) => Taken::Counted,
            Some((_, SampleUse::OtherSort(sort))) => Taken::OtherSort { id, sort },
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

    /// Records that some parts are well again after the daemon has healed them.
    async fn note_well(&mut self, name: &AssemblyName, parts: &[ElementName]) {
        let work = &self.work.context;
        match work.engine.note_well(name, parts, &work.holder).await {
            Ok(()) => self.roster.note_well(name, parts),
            // Another process holds the lease of the assembly, so the recovery of the parts can't be recorded now.
            // The next sample reports these parts again, so the daemon ignores this error.
            Err(error) if error.will_pass() => {}
            Err(error) => (self.tell)(Notice::Trouble(error.to_string())),
        }
    }

    /// Records the results of health checks that differ from the recorded ones.
    async fn note_checks(&mut self, name: &AssemblyName, checks: &[(ElementName, Option<Failure>)]) {
        let Some(watched) = self.roster.get(name) else { return };
        let is_new = |(part, failure): &&(ElementName, Option<Failure>)| {
            watched.failing.get(part) != failure.as_ref().map(|failure| &failure.message)
        };
        let new: Vec<(ElementName, Option<Failure>)> = checks.iter().filter(is_new).cloned().collect();
        if new.is_empty() {
            return;
        }
        let work = &self.work.context;
        match work.engine.note_checks(name, &new, &work.holder).await {
            Ok(()) => self.roster.note_checks(name, new),
            // Another process holds the lease of the assembly. The next health check tries again.
            Err(error) if error.will_pass() => {}
            Err(error) => (self.tell)(Notice::Trouble(error.to_string())),
        }
    }

    async fn time(&mut self) {
        let now = self.windlass.now();
        if self.trouble.is_some() {
            // Without the store, health checks can't run. So missing samples say nothing about the parts.
            return self.roster.wait_again_for_all(now);
        }
        let demands = self.roster.time(now, |name| self.looked_at.contains(name));
        self.act(demands).await;
    }

    /// Starts the health check of an assembly, unless an intent is changing the assembly.
    async fn look(&mut self, assembly: AssemblyName) {
        match self.roster.get(&assembly).filter(|_| !self.is_changing(&assembly)) {
            Some(watched) => {
                self.work.look(assembly.clone(), watched.watch, watched.reads.clone());
                self.looked_at.insert(assembly);
            }
            None => self.duties.ended(Duty::Check(assembly)).await,
        }
    }

    /// Handles a message of a task.
    async fn take(&mut self, said: Said) {
        match said {
            Said::Tell(notice) => (self.tell)(notice),
            Said::Ended { assembly, notice } => {
                self.busy.remove(&assembly);
                match notice {
                    // The assembly has changed, so earlier samples no longer count.
                    Some(notice) => {
                        (self.tell)(notice);
                        self.roster.remove(&assembly);
                        self.changed.insert(assembly);
                    }
                    None => self.roster.resume(&assembly),
                }
                self.read_events().await;
                self.take_up().await;
            }
            Said::NotResumed { assembly, process, why } => {
                self.resumed.remove(&process);
                if self.not_resumed.insert(process) {
                    (self.tell)(Notice::Trouble(format!(
                        "`{assembly}`: {process} can't be resumed now: {why}"
                    )));
                }
            }
            Said::Checked { factory, checked } => self.take_checked(factory, checked).await,
            Said::Discovered { factory, found } => self.note_discovered(&factory, found).await,
            Said::Pruned(pruned) => self.note_pruned(pruned).await,
            Said::Looked { assembly, watch, seen } => {
                self.looked_at.remove(&assembly);
                self.duties.ended(Duty::Check(assembly.clone())).await;
                if matches!(seen, Err(TaskError::Panicked)) {
                    self.note_check(&assembly, HEALTH_CHECK, Some(&TaskError::Panicked.to_string()));
                }
                // Observations that began before a change say nothing about the current state.
                if self.roster.get(&assembly).is_none_or(|watched| watched.watch != watch) {
                    return;
                }
                match seen {
                    Ok(looked) => self.count(&assembly, looked).await,
                    Err(error) if error.is_stop() => {}
                    Err(error) if matches!(error.of_engine(), Some(EngineError::Unknown { .. })) => {}
                    Err(error) => {
                        self.roster.wait_again(&assembly, self.windlass.now());
                        self.note_check(&assembly, HEALTH_CHECK, Some(&error.to_string()));
                    }
                }
            }
        }
    }

    async fn count(&mut self, assembly: &AssemblyName, looked: Looked) {
        let Looked { samples, others, checks, unseen } = looked;
        self.note_check(assembly, HEALTH_CHECK, unseen.as_deref());
        self.note_checks(assembly, &checks).await;
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
                self.busy.remove(&assembly);
                notice.into_iter().for_each(self.tell);
            }
            Said::Looked { assembly, .. } => drop(self.looked_at.remove(&assembly)),
            Said::Checked { factory, .. } => drop(self.checking.remove(&factory)),
            Said::Discovered { factory, .. } => drop(self.discovering.remove(&factory)),
            Said::Pruned(_) | Said::NotResumed { .. } => {}
        }
    }
}
