//! The stream of new log entries that `windlass log --follow` prints. The stream returns an event after the store has
//! recorded the event, and a line of output after the job has written the line.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;
use windlass_model::record::{CallRecord, Event, EventRecord, Severity};
use windlass_model::{AssemblyName, ElementName, ProcessId, Seq, StepId, Timestamp};
use windlass_store::{ProcessHistory, Store, Watch};

use crate::error::Error;
use crate::live::{Hidden, LiveOutput};
use crate::open::Windlass;
use crate::view::log::{LogFilter, concerns};
use crate::view::status::{PairView, pairs_of};

/// The shortest time between two searches for running jobs.
const PAUSE: Duration = Duration::from_millis(250);

/// Maximum number of events that one query of the store returns.
const PAGE: usize = 1_000;

/// An entry of the log, as a JSON document of its own.
#[derive(Debug, Clone, Serialize)]
pub struct LogEntry {
    /// The version of the layout of this entry, for programs that read it as JSON.
    pub version: u32,
    /// The time of the entry.
    #[serde(serialize_with = "crate::view::time::one")]
    pub at: Timestamp,
    /// The assembly to which the entry belongs.
    pub assembly: AssemblyName,
    /// The process to which the entry belongs; `None` for entries outside of processes.
    pub process: Option<ProcessId>,
    /// The severity of the entry. A failure is an error. Output and progress are information. A line of
    /// stderr that begins with the prefix of a severity, such as `E! `, has this severity.
    pub severity: Severity,
    /// The pairs of nodes that a step of a relationship connects or separates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairView>,
    /// The content of the entry.
    pub content: LogContent,
}

/// The content of an entry.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LogContent {
    /// An event of the assembly.
    Event(Event),
    /// A step that was already running when the stream was opened. The time of the entry is the start time of
    /// the step.
    Running {
        /// The title of the step.
        title: String,
    },
    /// A line of a job's output.
    Output {
        /// The element on which the job acts.
        element: ElementName,
        /// The action of the call that the job executes.
        action: String,
        /// Whether the line is from stdout. Stdout is shown when the job has ended.
        stdout: bool,
        /// The masked text of the line.
        line: String,
    },
    /// A running job whose output is shown only when it has ended.
    Hidden {
        /// The element on which the job acts.
        element: ElementName,
        /// The action of the call that the job executes.
        action: String,
        /// The reason why the output is shown later, for example `it runs from HOST; its output is shown when it has
        /// ended`.
        why: String,
    },
}

/// A stream of the log entries of one assembly or of all assemblies.
pub struct LogStream<'w> {
    windlass: &'w Windlass,
    store: Arc<dyn Store>,
    watch: Watch,
    seen: Seq,
    name: Option<AssemblyName>,
    filter: LogFilter,
    live: LiveOutput<'w>,
    /// The processes that are being executed.
    active: BTreeSet<ProcessId>,
    /// The ids of the jobs whose recorded output is already in the stream. When the stream has reported the end of a
    /// process, the jobs of this process are removed from the set.
    reported: HashSet<String>,
    /// The processes whose end is already in the stream. The output of their jobs is not reported again.
    finished: BTreeSet<ProcessId>,
    /// The running jobs that are followed, by their ids.
    running: HashMap<String, (CallRecord, AssemblyName)>,
    ready: VecDeque<LogEntry>,
    refresh_at: Instant,
}

impl<'w> LogStream<'w> {
    /// Follows the log of an assembly, or of all assemblies. If the filter contains a time, the stream begins with the
    /// entries since then. Without a time, the stream begins with the steps that run now, and with the output of their
    /// jobs.
    ///
    /// While a job runs on this machine, the stream returns each line of stderr as soon as the job has written the
    /// line. Another windlass program may have started the job. Some jobs can't be followed, for example jobs on other
    /// machines, and jobs whose output may contain secrets that are not recorded yet. The output of these jobs is
    /// returned after their end is recorded.
    ///
    /// # Errors
    ///
    /// Fails if the assembly or the part does not exist, or if the store can't be read.
    pub async fn open(
        windlass: &'w Windlass,
        name: Option<&AssemblyName>,
        filter: LogFilter,
    ) -> Result<Self, Error> {
        let store = match name {
            Some(name) => windlass.store_of(name).await?,
            None => windlass.store_or_new().await?,
        };
        if let Some(name) = name
            && store.assembly(name).await?.is_none()
            && store.processes_of(name, None, 1).await?.is_empty()
        {
            return Err(windlass.unknown(store, name).await);
        }
        if let (Some(name), Some(part)) = (name, &filter.part) {
            windlass.part(name, part).await?;
        }
        let last = store.last_event().await?;
        let from = match filter.since {
            Some(_) => Seq::START,
            None => last,
        };
        let mut stream = Self {
            windlass,
            watch: store.watch(from),
            seen: from,
            name: name.cloned(),
            live: LiveOutput::new(windlass, false),
            active: BTreeSet::new(),
            reported: HashSet::new(),
            finished: BTreeSet::new(),
            running: HashMap::new(),
            ready: VecDeque::new(),
            refresh_at: Instant::now(),
            filter,
            store,
        };
        if stream.filter.since.is_none() {
            stream.begin().await?;
        }
        Ok(stream)
    }

    /// Waits for the next entry. If the returned future is dropped before it is ready, an entry may be returned
    /// twice.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read. The caller can then call this method again to continue the stream.
    pub async fn next(&mut self) -> Result<LogEntry, Error> {
        loop {
            while let Some(entry) = self.ready.pop_front() {
                if entry.severity >= self.filter.level
                    && self.filter.since.is_none_or(|since| entry.at >= since)
                {
                    return Ok(entry);
                }
            }
            let at = self.refresh_at;
            tokio::select! {
                biased;
                line = self.live.next() => {
                    if let Some((call, name)) = self.running.get(&line.job) {
                        let entry = output(self.windlass.now(), name, call, line.text, false);
                        self.ready.extend(self.filter.admits(&call.element).then_some(entry));
                    }
                }
                woken = self.watch.next() => {
                    woken?;
                    self.read().await?;
                }
                () = tokio::time::sleep_until(at), if !self.active.is_empty() => {
                    self.refresh(&[]).await?;
                }
            }
        }
    }

    fn is_followed(&self, assembly: &AssemblyName) -> bool {
        self.name.as_ref().is_none_or(|name| name == assembly)
    }

    /// Reports the steps that are running when the stream begins.
    async fn begin(&mut self) -> Result<(), Error> {
        for process in self.store.open_processes().await? {
            let runs = self.store.holder(&process.assembly).await?.is_some();
            if !runs || !self.is_followed(&process.assembly) {
                continue;
            }
            self.active.insert(process.id);
            let Some(history) = self.store.process_history(process.id).await? else { continue };
            let ended = history.jobs.iter().filter(|job| job.end.is_some());
            self.reported.extend(ended.map(|job| job.id.clone()));
            let running = history.steps.iter().filter(|step| step.ended.is_none());
            for (step, at) in running.filter_map(|step| Some((step, step.started?))) {
                let calls = of_step(&history, step.step);
                if !self.admits_step(&process.assembly, &step.title, &calls) {
                    continue;
                }
                self.ready.push_back(LogEntry {
                    pairs: pairs_of(&calls),
                    process: Some(process.id),
                    ..entry(at, &process.assembly, LogContent::Running { title: step.title.clone() })
                });
            }
        }
        self.refresh(&[]).await
    }

    /// Reads new events, and reports them together with the output of the jobs that have ended.
    async fn read(&mut self) -> Result<(), Error> {
        loop {
            let events = match &self.name {
                Some(name) => self.store.events_of(name, self.seen, PAGE).await?,
                None => self.store.events(self.seen, PAGE).await?,
            };
            let Some(last) = events.last().map(|event| event.seq) else { return Ok(()) };
            let since = self.filter.since.unwrap_or_default();
            let new: Vec<EventRecord> = events.into_iter().filter(|event| event.draft.at >= since).collect();
            self.refresh(&new).await?;
            self.seen = last;
        }
    }

    /// Reads the records of running processes. Follows new jobs, and reports the events. The output of jobs
    /// is reported before the end of their step.
    async fn refresh(&mut self, events: &[EventRecord]) -> Result<(), Error> {
        let begun = Instant::now();
        let mentioned = events.iter().filter_map(|event| event.draft.process);
        let mut processes: BTreeSet<ProcessId> = self.active.iter().copied().chain(mentioned).collect();
        processes.retain(|process| !self.finished.contains(process));
        let mut histories = BTreeMap::new();
        for process in processes {
            if let Some(history) = self.store.process_history(process).await? {
                histories.insert(process, history);
            }
        }
        for event in events {
            let history = event.draft.process.and_then(|process| histories.get(&process));
            match (&event.draft.body, history) {
                (Event::StepEnded { step, .. }, Some(history)) => self.report_ended(history, Some(*step)),
                (Event::ProcessEnded { .. }, Some(history)) => self.report_ended(history, None),
                _ => {}
            }
            self.report(event, history);
        }
        let is_end = |event: &EventRecord| matches!(event.draft.body, Event::ProcessEnded { .. });
        let ended: BTreeSet<ProcessId> =
            events.iter().filter(|event| is_end(event)).filter_map(|event| event.draft.process).collect();
        for history in histories.into_values() {
            self.report_ended(&history, None);
            if history.process.status.is_final() {
                self.active.remove(&history.process.id);
                // The records may show the end of the process before the stream has read its event.
                if ended.contains(&history.process.id) {
                    self.finished.insert(history.process.id);
                    for job in &history.jobs {
                        self.reported.remove(&job.id);
                    }
                }
            } else {
                self.active.insert(history.process.id);
                self.follow(&history).await?;
            }
        }
        // The pause before the next read is at least ten times as long as this read. So a large history is
        // read less often than a small history.
        self.refresh_at = Instant::now() + PAUSE.max(begun.elapsed() * 10);
        Ok(())
    }

    /// Follows the new jobs of a process.
    async fn follow(&mut self, history: &ProcessHistory) -> Result<(), Error> {
        let process = &history.process;
        let calls: HashMap<_, _> = history.calls.iter().map(|call| (&call.id, call)).collect();
        for job in history.jobs.iter().filter(|job| job.end.is_none()) {
            if let Some(call) = job.calls.first().and_then(|call| calls.get(call)) {
                let known = || ((*call).clone(), process.assembly.clone());
                self.running.entry(job.id.clone()).or_insert_with(known);
            }
        }
        let hidden = self.live.follow(history).await?;
        let hidden: Vec<_> = hidden.into_iter().map(|(_, call, why)| (call.clone(), why)).collect();
        for (call, why) in hidden.into_iter().filter(|(call, _)| self.filter.admits(&call.element)) {
            let why = self.reason(process.from.as_deref(), why);
            let content = LogContent::Hidden { element: call.element, action: call.action.to_string(), why };
            let entry = entry(self.windlass.now(), &process.assembly, content);
            self.ready.push_back(LogEntry { process: Some(process.id), ..entry });
        }
        Ok(())
    }

    fn reason(&self, from: Option<&str>, why: Hidden) -> String {
        let later = "its output is shown when it has ended";
        match (why, from) {
            (Hidden::NotHere, Some(from)) if from != self.windlass.home() => {
                format!("it runs from {from}; {later}")
            }
            (Hidden::NotHere, _) => format!("its runtime shows no output of other processes; {later}"),
            (Hidden::Secrets, _) => format!("it may contain new secrets; {later}"),
        }
    }

    /// Reports the output of jobs that have ended. If `step` is given, only the jobs of this step are
    /// reported.
    fn report_ended(&mut self, history: &ProcessHistory, step: Option<StepId>) {
        let calls: HashMap<_, _> = history.calls.iter().map(|call| (&call.id, call)).collect();
        for job in &history.jobs {
            let (Some(end), Some(call)) =
                (&job.end, job.calls.first().and_then(|call| calls.get(call)).copied())
            else {
                continue;
            };
            // The output is recorded when the call has ended.
            let is_meant = step.is_none_or(|step| step == call.step) && call.ended.is_some();
            if !is_meant || !self.reported.insert(job.id.clone()) {
                continue;
            }
            self.running.remove(&job.id);
            let rest = self.live.finish(&job.id, &end.stderr).into_iter().map(|line| (line, false));
            let stdout = end.stdout.iter().flat_map(|stdout| stdout.lines());
            let lines = rest.chain(stdout.map(|line| (line.to_owned(), true)));
            if self.filter.admits(&call.element) {
                let name = &history.process.assembly;
                self.ready.extend(lines.map(|(line, stdout)| output(end.at, name, call, line, stdout)));
            }
        }
    }

    /// Reports an event. If the filter selects a part, the function reports only events that concern this part.
    fn report(&mut self, event: &EventRecord, history: Option<&ProcessHistory>) {
        let assembly = &event.draft.assembly;
        let mut pairs = Vec::new();
        let admitted = match &event.draft.body {
            Event::StepStarted { step, title } | Event::StepEnded { step, title, .. } => {
                let calls = history.map(|history| of_step(history, *step)).unwrap_or_default();
                pairs = pairs_of(&calls);
                self.admits_step(assembly, title, &calls)
            }
            Event::Logged { element, .. } | Event::StateChanged { element, .. } => {
                self.filter.admits(element)
            }
            _ => self.filter.part.is_none(),
        };
        if admitted {
            let entry = entry(event.draft.at, assembly, LogContent::Event(event.draft.body.clone()));
            self.ready.push_back(LogEntry { process: event.draft.process, pairs, ..entry });
        }
    }

    fn admits_step(&self, assembly: &AssemblyName, title: &str, calls: &[&CallRecord]) -> bool {
        let Some(part) = &self.filter.part else { return true };
        let named = format!("{assembly}__{}", title.split(' ').next().unwrap_or_default());
        named.parse().is_ok_and(|element: ElementName| concerns(&element, part))
            || calls.iter().any(|call| concerns(&call.element, part))
    }
}

fn of_step(history: &ProcessHistory, step: StepId) -> Vec<&CallRecord> {
    history.calls.iter().filter(|call| call.step == step).collect()
}

fn output(at: Timestamp, assembly: &AssemblyName, call: &CallRecord, line: String, stdout: bool) -> LogEntry {
    let (element, action) = (call.element.clone(), call.action.to_string());
    let content = LogContent::Output { element, action, stdout, line };
    let pairs = call.pair.iter().map(PairView::new).collect();
    LogEntry { process: Some(call.process), pairs, ..entry(at, assembly, content) }
}

fn entry(at: Timestamp, assembly: &AssemblyName, content: LogContent) -> LogEntry {
    let severity = match &content {
        LogContent::Event(event) => event.severity(),
        LogContent::Output { line, stdout: false, .. } => {
            Severity::of_line(line).map_or(Severity::Info, |(severity, _)| severity)
        }
        _ => Severity::Info,
    };
    LogEntry {
        version: 1,
        at,
        assembly: assembly.clone(),
        process: None,
        severity,
        pairs: Vec::new(),
        content,
    }
}
