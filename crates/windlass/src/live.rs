//! The output of running jobs on this machine, as lines for display.
//!
//! To follow a job, this module reads the stderr of the job from the job's runtime, and masks all recorded secrets.
//! Another windlass program may have started the job.
//!
//! Some jobs may print secrets that are not recorded yet. The module does not follow these jobs. The output of these
//! jobs is shown in masked form after their end is recorded.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use windlass_engine::RecordedSecrets;
use windlass_executor::{Found, JobEvent, JobId, Runtime, Stream};
use windlass_model::record::{CallRecord, JobRecord};
use windlass_model::{AssemblyName, StepId, Timestamp};
use windlass_secret::Redactor;
use windlass_store::ProcessHistory;

use crate::error::Error;
use crate::open::Windlass;

/// Maximum number of lines that wait for the caller of `next`. A slow caller delays the delivery of lines,
/// but not the job.
const QUEUE: usize = 256;

/// Maximum number of bytes of an unfinished line. A longer line is split.
const LONGEST: usize = 8 * 1024;

/// Maximum number of attempts to find a job. The first attempt can fail, because a job is recorded before it
/// is submitted.
const ATTEMPTS: u32 = 3;

/// A line of a running job's output.
#[derive(Debug)]
pub(crate) struct LiveLine {
    /// The id of the job.
    pub(crate) job: String,
    /// The masked text of the line.
    pub(crate) text: String,
}

/// A reason why the output of a running job is not shown before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// The output may contain secrets that are not recorded yet.
    Secrets,
    /// No runtime of this project has the job.
    NotHere,
}

/// The output of the running jobs of processes, as a stream of lines.
pub(crate) struct LiveOutput<'w> {
    windlass: &'w Windlass,
    /// Whether this program executes the jobs.
    own: bool,
    jobs: HashMap<String, Sight>,
    backlog: VecDeque<LiveLine>,
    sender: mpsc::Sender<LiveLine>,
    receiver: mpsc::Receiver<LiveLine>,
}

/// Whether [`LiveOutput`] follows the output of a job.
enum Sight {
    /// No runtime has found the job yet. The number counts the unsuccessful searches for the job.
    Missing(u32),
    /// The output is not followed, for one of the reasons in the enum [`Hidden`].
    Hidden,
    Followed {
        task: AbortHandle,
        lines: usize,
        last: String,
    },
}

impl<'w> LiveOutput<'w> {
    pub(crate) fn new(windlass: &'w Windlass, own: bool) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        Self { windlass, own, jobs: HashMap::new(), backlog: VecDeque::new(), sender, receiver }
    }

    /// Waits for the next line. The future may be dropped while it waits; no line is lost.
    pub(crate) async fn next(&mut self) -> LiveLine {
        let line = match self.backlog.pop_front() {
            Some(line) => line,
            None => self.receiver.recv().await.expect("a sender of it is kept here"),
        };
        self.count(&line);
        line
    }

    /// Like [`next`](Self::next), but returns `None` instead of waiting.
    fn arrived(&mut self) -> Option<LiveLine> {
        let line = self.backlog.pop_front().or_else(|| self.receiver.try_recv().ok())?;
        self.count(&line);
        Some(line)
    }

    fn count(&mut self, line: &LiveLine) {
        if let Some(Sight::Followed { lines, last, .. }) = self.jobs.get_mut(&line.job) {
            *lines += 1;
            last.clone_from(&line.text);
        }
    }

    /// Begins to follow the running jobs of a process. Returns the jobs that can't be followed, each with the reason.
    /// The output of such a job is shown only after the end of the job. Later calls do not return the job again.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn follow<'h>(
        &mut self,
        history: &'h ProcessHistory,
    ) -> Result<Vec<(&'h JobRecord, &'h CallRecord, Hidden)>, Error> {
        let calls: HashMap<_, _> = history.calls.iter().map(|call| (&call.id, call)).collect();
        let running = history.jobs.iter().filter(|job| job.end.is_none());
        let running = running.filter_map(|job| Some((job, *calls.get(job.calls.first()?)?)));
        let new: Vec<_> = running.filter(|(job, _)| self.is_new(job)).collect();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let secrets = self.secrets(&history.process.assembly).await?;
        let mut hidden = Vec::new();
        for (job, call) in new {
            let Some(redactor) = self.redactor(secrets.as_ref(), job, call) else {
                self.jobs.insert(job.id.clone(), Sight::Hidden);
                hidden.push((job, call, Hidden::Secrets));
                continue;
            };
            let Ok(id) = job.id.parse::<JobId>() else { continue };
            if let Some(runtime) = self.find(&job.runtime, &id).await {
                let task =
                    tokio::spawn(send_lines(runtime, id, redactor, self.sender.clone())).abort_handle();
                let followed = Sight::Followed { task, lines: 0, last: String::new() };
                self.jobs.insert(job.id.clone(), followed);
                continue;
            }
            let missed = self.jobs.entry(job.id.clone()).or_insert(Sight::Missing(0));
            if let Sight::Missing(times) = missed {
                *times += 1;
                if *times == ATTEMPTS {
                    *missed = Sight::Hidden;
                    hidden.push((job, call, Hidden::NotHere));
                }
            }
        }
        Ok(hidden)
    }

    fn is_new(&self, job: &JobRecord) -> bool {
        matches!(self.jobs.get(&job.id), None | Some(Sight::Missing(_)))
    }

    /// Reads the secrets of an assembly. Returns `None` if the secrets can't be opened.
    async fn secrets(&self, name: &AssemblyName) -> Result<Option<RecordedSecrets>, Error> {
        let store = self.windlass.store_of(name).await?;
        let snapshot = match store.load(name).await {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) | Err(windlass_store::StoreError::Key(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut references = Vec::new();
        for other in &snapshot.assembly.references {
            references.extend(store.load(other).await?);
        }
        Ok(Some(RecordedSecrets::of(snapshot, references)))
    }

    fn redactor(
        &self,
        secrets: Option<&RecordedSecrets>,
        job: &JobRecord,
        call: &CallRecord,
    ) -> Option<Redactor> {
        let of_call = secrets?.of_call(call)?;
        let of_location = self.windlass.places.secrets(&job.location, self.own)?;
        Some(Redactor::new(of_call.into_iter().chain(of_location)))
    }

    /// Searches the runtimes of this project for the job `id`, which runs or has ended, and returns the runtime
    /// with this job.
    async fn find(&self, kind: &str, id: &JobId) -> Option<Arc<dyn Runtime>> {
        for runtime in self.windlass.places.runtimes.of_kind(kind).await.ok()? {
            if let Ok(Found::Running | Found::Ended(_)) = runtime.find(id).await {
                return Some(runtime);
            }
        }
        None
    }

    /// Stops following a job, and returns the lines of its stderr that were not returned before. `recorded`
    /// is the recorded stderr, in masked form. For a long output, it contains only the end of the stderr.
    pub(crate) fn finish(&mut self, job: &str, recorded: &str) -> Vec<String> {
        let mut others = VecDeque::new();
        let mut rest = Vec::new();
        while let Some(line) = self.arrived() {
            if line.job == job { rest.push(line.text) } else { others.push_back(line) }
        }
        // `others` contains the received lines of jobs other than `job`. They were counted when they were
        // received. They will be counted again when they are taken from the backlog, so the first count is
        // reversed here.
        for line in &others {
            if let Some(Sight::Followed { lines, .. }) = self.jobs.get_mut(&line.job) {
                *lines -= 1;
            }
        }
        self.backlog = others;
        let (shown, last) = match self.jobs.remove(job) {
            Some(Sight::Followed { task, lines, last }) => {
                task.abort();
                (lines, last)
            }
            _ => (0, String::new()),
        };
        rest.extend(after(recorded, shown, &last).map(str::to_owned));
        rest
    }
}

impl Drop for LiveOutput<'_> {
    fn drop(&mut self) {
        for sight in self.jobs.values() {
            if let Sight::Followed { task, .. } = sight {
                task.abort();
            }
        }
    }
}

/// Returns the recorded lines after the first `shown` lines. If only the end of a long output is recorded,
/// returns the lines after `last`, which is the last line that was shown.
fn after<'r>(recorded: &'r str, shown: usize, last: &str) -> std::vec::IntoIter<&'r str> {
    let lines: Vec<&str> = recorded.lines().collect();
    let is_whole = recorded.len() < LONGEST;
    let from = match lines.iter().rposition(|line| *line == last) {
        _ if is_whole || shown == 0 => shown,
        Some(at) => at + 1,
        None => 0,
    };
    lines.get(from..).unwrap_or_default().to_vec().into_iter()
}

/// Sends the lines of a job's stderr to the channel `lines`. Returns when the job has ended, or when the receiver of
/// the channel was dropped.
async fn send_lines(runtime: Arc<dyn Runtime>, id: JobId, redactor: Redactor, lines: mpsc::Sender<LiveLine>) {
    let Ok(mut events) = runtime.events(&id).await else { return };
    let mut masked = redactor.stream();
    let mut line = Vec::new();
    while let Some(event) = events.next().await {
        if let JobEvent::Output { stream: Stream::Stderr, chunk, .. } = event {
            for byte in masked.push(&chunk) {
                if byte != b'\n' {
                    line.push(byte);
                }
                if (byte == b'\n' || line.len() == LONGEST) && !send(&lines, &id, &mut line).await {
                    return;
                }
            }
        }
    }
    line.extend(masked.finish());
    if !line.is_empty() {
        send(&lines, &id, &mut line).await;
    }
}

async fn send(lines: &mpsc::Sender<LiveLine>, id: &JobId, line: &mut Vec<u8>) -> bool {
    let text = String::from_utf8_lossy(&std::mem::take(line)).into_owned();
    lines.send(LiveLine { job: id.to_string(), text }).await.is_ok()
}

/// A step that was running when [`RunningSteps::read`] read the process from the store.
#[derive(Debug, Clone)]
pub struct RunningStep {
    /// The number of the step.
    pub id: StepId,
    /// The title of the step.
    pub title: String,
    /// The start time of the step.
    pub since: Timestamp,
    /// The number of the step's calls that have ended.
    pub ended_calls: u64,
    /// The last line that a running job of the step has written to stderr, with secrets masked. Lines without text are
    /// skipped. `None` before the first line, and if the job can't be followed. For example, a job is not followed if
    /// its output may contain secrets that are not recorded yet.
    pub last_line: Option<String>,
}

/// The running steps of a process, with the output of their jobs.
pub struct RunningSteps<'w> {
    live: LiveOutput<'w>,
    /// For each running job, the last line with text that the job has written to stderr. The key is the job's id.
    last: HashMap<String, String>,
}

impl<'w> RunningSteps<'w> {
    /// Observes the running steps of processes. `own` tells whether this program executes the processes.
    pub fn new(windlass: &'w Windlass, own: bool) -> Self {
        Self { live: LiveOutput::new(windlass, own), last: HashMap::new() }
    }

    /// Returns the running steps of a process, sorted by their start times.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub async fn read(
        &mut self,
        name: &AssemblyName,
        process: windlass_model::ProcessId,
    ) -> Result<Vec<RunningStep>, Error> {
        let store = self.live.windlass.store_of(name).await?;
        let Some(history) = store.process_history(process).await? else { return Ok(Vec::new()) };
        self.live.follow(&history).await?;
        while let Some(LiveLine { job, text }) = self.live.arrived() {
            if !text.trim().is_empty() {
                self.last.insert(job, text);
            }
        }
        let ended = history.jobs.iter().filter(|job| job.end.is_some());
        for job in ended {
            self.live.finish(&job.id, "");
            self.last.remove(&job.id);
        }
        let mut calls: HashMap<StepId, Vec<&CallRecord>> = HashMap::new();
        for call in &history.calls {
            calls.entry(call.step).or_default().push(call);
        }
        let open: HashMap<_, _> = history
            .calls
            .iter()
            .filter(|call| call.state.is_open())
            .map(|call| (&call.id, call.step))
            .collect();
        let of_step = |job: &JobRecord| job.calls.iter().find_map(|call| open.get(call).copied());
        let mut last: HashMap<StepId, &String> = HashMap::new();
        for job in history.jobs.iter().filter(|job| job.end.is_none()) {
            last.extend(of_step(job).zip(self.last.get(&job.id)));
        }
        let running = history.steps.iter().filter(|step| step.ended.is_none());
        let mut running: Vec<RunningStep> = running
            .filter_map(|step| {
                let calls = calls.get(&step.step).map(Vec::as_slice).unwrap_or_default();
                let ended = calls.iter().filter(|call| !call.state.is_open()).count();
                Some(RunningStep {
                    id: step.step,
                    title: step.title.clone(),
                    since: step.runs_since()?,
                    ended_calls: u64::try_from(ended).unwrap_or(u64::MAX),
                    last_line: last.get(&step.step).map(|line| (*line).clone()),
                })
            })
            .collect();
        running.sort_by_key(|step| (step.since, step.id));
        Ok(running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_output_continues_after_the_shown_lines() {
        let rest = |recorded: &str, shown: usize, last: &str| after(recorded, shown, last).count();
        assert_eq!(rest("a\nb\nb\nc\n", 2, "b"), 2);
        assert_eq!(rest("a\n", 1, "a"), 0);
        assert_eq!(rest("a\n", 3, "b"), 0);
        let long = format!("{}\nx\ny\n", "z".repeat(LONGEST));
        assert_eq!(rest(&long, 700, "x"), 1);
        assert_eq!(rest(&long, 700, "lost"), 3);
    }
}
