//! Runs one job: starts it, waits until it ends, and writes its outcome.

use std::{io, os::fd::OwnedFd, rc::Rc, time::Duration};

use rustix::process::WaitStatus;
use tokio::{
    net::unix::pipe::Receiver,
    sync::{oneshot, watch},
    task::{JoinHandle, spawn_local},
    time::{Instant, sleep},
};

use crate::{
    End, JobId, OnOwnerDeath, StartFailure, Stream, Timestamp,
    bwrap::plan::SandboxPlan,
    outcome::Version,
    process::{
        layout::JobFolder,
        procfs::Birth,
        record::{Ending, JobRecord},
        supervisor::{
            context::Context,
            groups::Placement,
            handle::{JobRequests, Lengths},
            members::{Members, Orphans},
            pump::{Pump, Pumped},
            sandbox::{Sandbox, SandboxFolders},
            spawn::{self, Started},
        },
        wire::{Input, Reply, Written},
    },
};

/// Number of attempts to write an outcome to a full disk, one per second.
const WRITE_TRIES: u32 = 60;

/// The text of [`End::Lost`] for a job that has removed its own folder.
const REMOVED: &str = "it removed its own folder, which holds its result: a job may write to its working folder and to \
                       TMPDIR, and nowhere above them";

/// A job whose folder is at its final path, ready to start.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) folder: JobFolder,
    pub(crate) record: JobRecord,
    /// Offset of the second line of the file `job.json`. This line tells how the job has ended.
    pub(crate) end_at: u64,
    /// A short stdin. `None` if the job has no stdin, or if its stdin is a file in the job's folder.
    pub(crate) stdin: Option<Input>,
    pub(crate) requests: watch::Receiver<JobRequests>,
    pub(crate) lengths: Rc<Lengths>,
    pub(crate) context: Rc<Context>,
}

impl Job {
    /// Runs the job and reports to the owner, the process that submitted the job. `lock` is the open
    /// file descriptor that locks the job's folder. As long as `lock` is open, all processes see the job as running.
    pub(crate) async fn run(mut self, lock: OwnedFd) {
        let started = self.start().await;
        let at = started.as_ref().ok().map(|running| running.started);
        self.context.send(Reply::Accepted { id: self.id.clone(), at }).await;
        if let (Some(plan), Some(_)) = (&self.record.sandbox, at) {
            let running = self.context.jobs.borrow().len();
            self.context.prewarmed.expect_more(plan, running);
        }
        let (ending, written) = match started {
            Ok(running) => running.end(&mut self).await,
            Err(failure) => {
                (Ending::unstarted(End::NotStarted(failure)), Some([Written::default(), Written::default()]))
            }
        };
        let ending = self.write(ending).await;
        drop(lock);
        // The job is removed from the table before the reply, since the owner (the process that submitted the
        // job) may use the id again at once.
        self.context.jobs.borrow_mut().remove(&self.id);
        self.context.over.notify_one();
        self.context.send(Reply::Ended { id: self.id, ending, written }).await;
    }

    async fn start(&mut self) -> Result<Running, StartFailure> {
        let input = self.stdin.take().map(|Input(bytes)| bytes);
        let sandbox = match &self.record.sandbox {
            Some(plan) => Some(self.sandbox(plan).await?),
            None => None,
        };
        let (limits, groups) = (&self.record.limits, &self.context.groups);
        let placement = if sandbox.is_some() { Placement::Sandbox } else { Placement::Host };
        let mut group = groups.of(limits, placement);
        let begun = std::time::Instant::now();
        let started = match &mut group {
            Ok(group) => {
                spawn::start(&self.folder, &self.record, input, sandbox.as_ref(), group, groups).await
            }
            Err(error) => Err(StartFailure::Other(format!("its limits can't be enforced: {error}"))),
        };
        let group = group.ok().flatten();
        let (Started { pid, stdout, stderr }, sandbox) = match (started, sandbox) {
            (Ok(started), sandbox) => (started, sandbox),
            (Err(failure), sandbox) => {
                if let Some(sandbox) = sandbox {
                    sandbox.close().await;
                }
                if let Some(group) = group {
                    groups.give_back(group, limits, placement);
                }
                return Err(failure);
            }
        };
        let orphans = match &sandbox {
            Some(sandbox) => Orphans::In(sandbox.first),
            None => Orphans::Marked(self.folder.path().to_owned()),
        };
        let running = Running {
            started: Timestamp::now(),
            status: self.context.reaper.status_of(pid),
            members: Members::new(Birth { pid, at: begun }, orphans, group, self.context.mains.clone()),
            sandbox,
            pumps: None,
        };
        match self.pumps(stdout, stderr) {
            Ok(pumps) => Ok(Running { pumps: Some(pumps), ..running }),
            Err(error) => {
                running.clear(self).await;
                Err(StartFailure::Other(error.to_string()))
            }
        }
    }

    /// Takes a prewarmed sandbox, or creates a sandbox.
    async fn sandbox(&self, plan: &SandboxPlan) -> Result<Sandbox, StartFailure> {
        let taken = self.context.prewarmed.take(plan, &self.folder);
        let moved = |error: io::Error| StartFailure::Other(format!("its files can't be moved: {error}"));
        if let Some(sandbox) = taken.map_err(moved)? {
            return Ok(sandbox);
        }
        let folders = SandboxFolders { work: &self.folder.work(), mark: self.folder.path() };
        self.context.sandboxes.make(plan, folders).await
    }

    fn pumps(&self, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<[Pumping; 2]> {
        let limits = &self.record.limits;
        let stdout = self.pump(Stream::Stdout, Receiver::from_owned_fd(stdout)?, limits.stdout_bytes);
        let stderr = self.pump(Stream::Stderr, Receiver::from_owned_fd(stderr)?, limits.stderr_bytes);
        Ok([stdout, stderr])
    }

    fn pump(&self, stream: Stream, pipe: Receiver, keep: u64) -> Pumping {
        let spill_bytes = self.record.limits.spill_bytes.max(keep);
        let keep = usize::try_from(keep.div_ceil(2)).unwrap_or(usize::MAX);
        let pump = Pump::new(&self.folder, stream, spill_bytes, keep, self.context.memory.clone());
        let (ended, has_ended) = oneshot::channel();
        let (id, requests, context) = (self.id.clone(), self.requests.clone(), self.context.clone());
        let lengths = self.lengths.clone();
        let pumped = spawn_local(pump.run(pipe, has_ended, self.context.buffer.clone(), move |length| {
            lengths.of(stream).set(length);
            if requests.borrow().watched {
                context.try_send(Reply::Output { id: id.clone(), stream, at: Timestamp::now(), length });
            }
        }));
        Pumping { ended, pumped }
    }

    /// Writes the outcome of the job. On a full disk, the function retries, because the outcome must not be lost.
    /// Returns the ending that the caller reports to the owner (the process that submitted the job). If the job has
    /// removed its own folder, this ending is [`End::Lost`]. Otherwise it is `ending`.
    async fn write(&self, ending: Ending) -> Ending {
        let durable = self.record.on_owner_death == OnOwnerDeath::Finish;
        for _ in 0..WRITE_TRIES {
            match ending.write(&self.folder, self.end_at, durable) {
                Ok(()) => return ending,
                // Only the job itself can have removed the locked folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let end = End::Lost(format!("{REMOVED} (it {})", ending.end));
                    return Ending { end, ..ending };
                }
                Err(_) => sleep(Duration::from_secs(1)).await,
            }
        }
        ending
    }
}

struct Running {
    started: Timestamp,
    status: oneshot::Receiver<WaitStatus>,
    members: Members,
    sandbox: Option<Sandbox>,
    /// Tasks that read stdout and stderr. `None` until these tasks start, and after [`end`](Running::end) has taken
    /// them.
    pumps: Option<[Pumping; 2]>,
}

/// The running task of a [`Pump`], which reads and stores stdout or stderr of the job.
struct Pumping {
    /// Sender that tells the pump that the main process has ended.
    ended: oneshot::Sender<()>,
    /// Handle of the task that reads the stream. The task returns the length of the stream, and the content of a
    /// short stream.
    pumped: JoinHandle<Pumped>,
}

impl Running {
    async fn end(mut self, job: &mut Job) -> (Ending, Option<[Written; 2]>) {
        let end = self.main_end(job).await;
        let end = if self.members.were_out_of_memory() { of_memory(end) } else { end };
        let [stdout, stderr] = drained(self.pumps.take()).await;
        let started = self.started;
        let left = self.clear(job).await;
        // A timeout, a cancellation or a lack of memory interrupts the main process. Other processes are then
        // expected to remain, so they are not reported.
        let by_itself = matches!(end, End::Exited(_) | End::Signalled(_));
        let left_behind = if by_itself { left } else { Vec::new() };
        let ending = Ending {
            version: Version,
            end,
            started: Some(started),
            ended: Timestamp::now(),
            stdout: stdout.total,
            stderr: stderr.total,
            left_behind,
        };
        let kept = |pumped: Pumped, keep| (pumped.total <= keep).then_some(pumped.short?).map(Written);
        let limits = &job.record.limits;
        let written = kept(stdout, limits.stdout_bytes).zip(kept(stderr, limits.stderr_bytes));
        (ending, written.map(|(stdout, stderr)| [stdout, stderr]))
    }

    /// Kills all remaining processes of the job, and returns their names.
    async fn clear(self, job: &Job) -> Vec<String> {
        let placement = if self.sandbox.is_some() { Placement::Sandbox } else { Placement::Host };
        let left = match self.sandbox {
            // An empty sandbox is closed in the background.
            Some(sandbox) if sandbox.is_empty() => {
                drop(spawn_local(sandbox.close()));
                Vec::new()
            }
            // When the sandbox is closed, the kernel kills all its processes.
            Some(sandbox) => {
                let left = self.members.names();
                sandbox.close().await;
                left
            }
            None => self.members.kill().await,
        };
        if let Some(group) = self.members.into_group() {
            job.context.groups.give_back(group, &job.record.limits, placement);
        }
        left
    }

    /// Waits for the end of the main process. Ends the job at its time limit, or when its end is requested.
    async fn main_end(&mut self, job: &mut Job) -> End {
        let Job { record, requests, .. } = job;
        let end = tokio::select! {
            biased;
            status = &mut self.status => return natural(status.ok()),
            () = sleep(record.limits.timeout) => End::TimedOut,
            () = cancelled(requests) => End::Cancelled,
        };
        let own = match end {
            End::TimedOut => Instant::now().checked_add(record.limits.grace),
            _ => None,
        };
        let patience = || own.into_iter().chain(requests.borrow().cancel).min();
        if !self.members.leave_by(patience).await {
            self.members.kill().await;
        }
        end
    }
}

/// Reads the rest of the output. If other processes still hold the streams open, reads for a short time only.
async fn drained(pumps: Option<[Pumping; 2]>) -> [Pumped; 2] {
    let Some([stdout, stderr]) = pumps else { return [Pumped::default(), Pumped::default()] };
    for ended in [stdout.ended, stderr.ended] {
        let _or_it_has_ended_before = ended.send(());
    }
    [stdout.pumped.await.unwrap_or_default(), stderr.pumped.await.unwrap_or_default()]
}

async fn cancelled(requests: &mut watch::Receiver<JobRequests>) {
    if requests.wait_for(|requests| requests.cancel.is_some()).await.is_err() {
        // The sender is gone, so no further request can arrive.
        std::future::pending::<()>().await;
    }
}

/// Returns [`End::OutOfMemory`] if a job has ended by signal 9 or with exit code 137. Returns any other `end`
/// unchanged.
///
/// The caller knows that the kernel has killed a process of the job for lack of memory. The kernel uses signal 9
/// for this. A shell exits with code 137 if signal 9 has killed the shell's child.
fn of_memory(end: End) -> End {
    match end {
        End::Signalled(9) | End::Exited(137) => End::OutOfMemory,
        other => other,
    }
}

fn natural(status: Option<WaitStatus>) -> End {
    match status.map(|status| (status.exit_status(), status.terminating_signal())) {
        Some((Some(code), _)) => End::Exited(code),
        Some((_, Some(signal))) => End::Signalled(signal),
        _ => End::Lost("its status was not collected".to_owned()),
    }
}
