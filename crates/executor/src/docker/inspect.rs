//! Inspects a job's container on the container engine: its existence, its stage, its log.

use std::{collections::HashMap, io::Read, pin::Pin, time::Duration};

use bollard::{
    container::LogOutput,
    models::{ContainerInspectResponse, ContainerState, ContainerStateStatusEnum},
    query_parameters::{
        DownloadFromContainerOptionsBuilder, InspectContainerOptions, KillContainerOptionsBuilder,
        LogsOptionsBuilder,
    },
};
use futures::{Stream, StreamExt};

use crate::{
    End, JobId, OnOwnerDeath, Outcome,
    docker::{
        Engine, EngineError,
        container::name,
        labels::{self, Record},
        lines::{Collector, Line, Lines},
    },
};

/// Path of the file `told` in the job's volume. The first process of the job's container (`docker/init`) writes each
/// line of its output to this file, too. Only a job with the setting [`OnOwnerDeath::Finish`] has this file.
const COPY: &str = "/windlass/told";

/// Maximum number of times that the runtime asks again whether a container was killed for lack of memory. The
/// container engine learns of such a kill with a delay.
const MEMORY_CHECKS: u32 = 3;
const MEMORY_PAUSE: Duration = Duration::from_millis(100);

/// Maximum number of queries in each of the two loops of [`never_began`]. The first loop waits until the first process
/// of a container has stored its input. The second loop waits until a killed container has ended.
const STORE_CHECKS: u32 = 20;
const STORE_PAUSE: Duration = Duration::from_millis(50);

/// Number of the signal that asks a job to end without a grace period. The signal with the next higher number
/// asks the job to end within 50 ms. Each higher number doubles this time (see `docker/init`).
const FIRST_SIGNAL: u32 = 34;
const LAST_SIGNAL: u32 = 64;
const FIRST_GRACE: Duration = Duration::from_millis(50);

/// The lines from the first process of one container, as they arrive.
pub(crate) type LineStream = Pin<Box<dyn Stream<Item = Result<Vec<Line>, EngineError>> + Send>>;

/// The state of a job's container at the time when [`inspect`] was called.
#[derive(Debug)]
pub(crate) struct InspectedJob {
    pub(crate) record: Record,
    pub(crate) client: String,
    pub(crate) stage: Stage,
    out_of_memory: bool,
}

/// The stage of a container. A paused container counts as [`Running`](Self::Running).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Created, but not started.
    Made,
    Running,
    Exited,
}

/// The end of a job whose container has exited.
#[derive(Debug)]
pub(crate) enum ExitedJob {
    /// The container has not confirmed that it received the whole job, because the client died or gave up the
    /// launch.
    NeverBegan,
    /// The end of the job is known, from the log of the container or from the container engine.
    Ended(Box<Outcome>),
    /// The job may have started, and its end is unknown.
    Gone(Box<Outcome>),
}

/// Inspects a job's container; `None` if the job has no container.
pub(crate) async fn inspect(engine: &Engine, id: &JobId) -> Result<Option<InspectedJob>, EngineError> {
    let inspected = inspect_container(engine, &name(id)).await?;
    let Some(found) = inspected else { return Ok(None) };
    let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
    let Some(record) = Record::read(&labels) else {
        return Err(EngineError::Protocol {
            action: format!("look for the container `{}`", name(id)),
            problem: "a container of another program has that name".to_owned(),
        });
    };
    let state = found.state.unwrap_or_default();
    let client = label(&labels, labels::CLIENT);
    let out_of_memory = state.oom_killed.unwrap_or(false);
    Ok(Some(InspectedJob { record, client, stage: stage(&state), out_of_memory }))
}

async fn inspect_container(
    engine: &Engine,
    name: &str,
) -> Result<Option<ContainerInspectResponse>, EngineError> {
    let options = None::<InspectContainerOptions>;
    match engine.call("look for a container", engine.client().inspect_container(name, options)).await {
        Err(error) if error.is_absent() => Ok(None),
        found => found.map(Some),
    }
}

fn stage(state: &ContainerState) -> Stage {
    match state.status {
        Some(ContainerStateStatusEnum::CREATED) => Stage::Made,
        Some(ContainerStateStatusEnum::EXITED | ContainerStateStatusEnum::DEAD) => Stage::Exited,
        _ if state.running == Some(false) => Stage::Exited,
        _ => Stage::Running,
    }
}

fn label(labels: &HashMap<String, String>, name: &str) -> String {
    labels.get(name).cloned().unwrap_or_default()
}

/// Reads the lines of a container's first process from the beginning. If `follow` is true, the stream lasts until
/// the container ends. Otherwise it contains only the lines that exist now.
pub(crate) fn logged(engine: &Engine, id: &JobId, follow: bool) -> LineStream {
    let options = LogsOptionsBuilder::default().stdout(true).follow(follow).tail("all").build();
    let engine = engine.clone();
    let stream = engine.client().logs(&name(id), Some(options));
    Box::pin(lines(engine, stream))
}

/// Assembles lines from the stream of a container engine.
pub(crate) fn lines<S>(engine: Engine, stream: S) -> impl Stream<Item = Result<Vec<Line>, EngineError>>
where
    S: Stream<Item = Result<LogOutput, bollard::errors::Error>>,
{
    let mut lines = Lines::default();
    stream.map(move |piece| match piece {
        Ok(LogOutput::StdOut { message }) => Ok(lines.take(&message)),
        // The container has no terminal. For such a container, the client library returns `Console` only if the
        // stream broke in the middle of a message.
        Ok(LogOutput::Console { .. }) => Err(EngineError::Unreachable {
            endpoint: engine.endpoint().to_string(),
            problem: "the stream broke in the middle of a message".to_owned(),
        }),
        Ok(_) => Ok(Vec::new()),
        Err(error) => Err(engine.error("read the output of a job", error)),
    })
}

/// Returns all lines that the first process of an exited container wrote. Usually the lines come from the
/// container's log. The log lacks the last line if the container engine was down when the process wrote that line.
///
/// If the log lacks the last line, the function also reads the file [`COPY`] in the job's volume. If this file contains
/// the last line, the function returns the lines of the file. Only a job with the setting [`OnOwnerDeath::Finish`] has
/// the file.
pub(crate) async fn all_lines(
    engine: &Engine,
    id: &JobId,
    inspected: &InspectedJob,
) -> Result<Vec<Line>, EngineError> {
    let mut all = Vec::new();
    let mut logged = logged(engine, id, false);
    while let Some(lines) = logged.next().await {
        all.extend(lines?);
    }
    let has_end = |lines: &[Line]| matches!(lines.last(), Some(Line::Ended(_)));
    if !has_end(&all) && inspected.record.on_owner_death == OnOwnerDeath::Finish {
        let copy = copied(engine, id).await?;
        if has_end(&copy) {
            return Ok(copy);
        }
    }
    Ok(all)
}

async fn copied(engine: &Engine, id: &JobId) -> Result<Vec<Line>, EngineError> {
    let options = DownloadFromContainerOptionsBuilder::default().path(COPY).build();
    let mut archive = Vec::new();
    let mut download = engine.client().download_from_container(&name(id), Some(options));
    while let Some(piece) = download.next().await {
        match piece.map_err(|error| engine.error("copy a file from a container", error)) {
            Err(error) if error.is_absent() => return Ok(Vec::new()),
            piece => archive.extend(piece?),
        }
    }
    let mut content = Vec::new();
    let mut archive = tar::Archive::new(archive.as_slice());
    for entry in archive.entries().into_iter().flatten().flatten() {
        // A truncated file is recognised later: it lacks the last line.
        let _cut = entry.take(u64::MAX).read_to_end(&mut content);
    }
    Ok(Lines::default().take(&content))
}

/// Determines the end of a job whose container has exited.
pub(crate) async fn exited_job(
    engine: &Engine,
    id: &JobId,
    inspected: &InspectedJob,
) -> Result<ExitedJob, EngineError> {
    let mut collector = Collector::new(inspected.record.clone());
    for line in all_lines(engine, id, inspected).await? {
        if let Some(outcome) = collector.take(line) {
            return Ok(ExitedJob::Ended(Box::new(outcome)));
        }
    }
    if !collector.is_accepted() {
        return Ok(ExitedJob::NeverBegan);
    }
    Ok(if was_out_of_memory(engine, id, inspected).await? {
        ExitedJob::Ended(Box::new(collector.broken_off(End::OutOfMemory)))
    } else {
        ExitedJob::Gone(Box::new(collector.broken_off(End::Lost(LOST.to_owned()))))
    })
}

/// Tells whether a job never began. A job never began if its container has not received the whole job. Before the call,
/// the caller makes sure that no client still launches the job: the client is dead, or the client has given up.
///
/// If the container runs, the function waits for the first line of the container's output. This line confirms that
/// the container has received the whole job. If the line does not arrive within about a second, the function kills
/// the container, because the container would wait forever for the rest of the job.
pub(crate) async fn never_began(
    engine: &Engine,
    id: &JobId,
    inspected: InspectedJob,
) -> Result<bool, EngineError> {
    let mut inspected = inspected;
    if inspected.stage == Stage::Running {
        for _ in 0..STORE_CHECKS {
            if has_lines(engine, id, &inspected).await? {
                return Ok(false);
            }
            tokio::time::sleep(STORE_PAUSE).await;
        }
        kill(engine, id).await?;
        for _ in 0..STORE_CHECKS {
            match inspect(engine, id).await? {
                None => return Ok(true),
                Some(now) => inspected = now,
            }
            if inspected.stage != Stage::Running {
                break;
            }
            tokio::time::sleep(STORE_PAUSE).await;
        }
    }
    Ok(match inspected.stage {
        Stage::Made => true,
        Stage::Running => false,
        Stage::Exited => matches!(exited_job(engine, id, &inspected).await?, ExitedJob::NeverBegan),
    })
}

/// Tells whether a container's first process has written any line. Its first line confirms that all input was
/// stored.
async fn has_lines(engine: &Engine, id: &JobId, inspected: &InspectedJob) -> Result<bool, EngineError> {
    let mut logged = logged(engine, id, false);
    while let Some(lines) = logged.next().await {
        if !lines?.is_empty() {
            return Ok(true);
        }
    }
    Ok(inspected.record.on_owner_death == OnOwnerDeath::Finish && !copied(engine, id).await?.is_empty())
}

/// A text for people: the reason why a job is lost.
pub(crate) const LOST: &str =
    "its container was killed by another program, or the engine or its machine stopped";

/// Tells whether the container engine reports that a process of the container was killed for lack of memory.
pub(crate) async fn was_out_of_memory(
    engine: &Engine,
    id: &JobId,
    inspected: &InspectedJob,
) -> Result<bool, EngineError> {
    let mut out = inspected.out_of_memory;
    for _ in 0..MEMORY_CHECKS {
        if out {
            break;
        }
        tokio::time::sleep(MEMORY_PAUSE).await;
        out = inspect(engine, id).await?.is_some_and(|inspected| inspected.out_of_memory);
    }
    Ok(out)
}

/// Asks a job to end within the time `grace`. The request has no effect if the job has ended, or if its container
/// is gone.
pub(crate) async fn ask_to_end(engine: &Engine, id: &JobId, grace: Duration) -> Result<(), EngineError> {
    signal(engine, id, &signal_for(grace).to_string()).await
}

/// Kills all processes of a container. The request has no effect if the container has ended or is gone.
pub(crate) async fn kill(engine: &Engine, id: &JobId) -> Result<(), EngineError> {
    signal(engine, id, "SIGKILL").await
}

async fn signal(engine: &Engine, id: &JobId, signal: &str) -> Result<(), EngineError> {
    let options = KillContainerOptionsBuilder::default().signal(signal).build();
    match engine.call("signal a container", engine.client().kill_container(&name(id), Some(options))).await {
        Err(error) if error.is_absent() || error.is_conflict() => Ok(()),
        // These texts mean that the container has already ended. Podman always answers with one of these
        // texts. Docker uses such a text only for a moment after the end of the container. Later, Docker
        // reports a conflict.
        Err(EngineError::Refused { message, .. })
            if message.contains("is not running")
                || message.contains("process not found")
                || message.contains("no such process") =>
        {
            Ok(())
        }
        done => done,
    }
}

/// Returns the signal that asks a job to end within `grace`. Each signal stands for one grace period: 0, 50 ms,
/// 100 ms, 200 ms and so on. If `grace` lies between two of these periods, the function returns the signal for the
/// longer period.
fn signal_for(grace: Duration) -> u32 {
    if grace.is_zero() {
        return FIRST_SIGNAL;
    }
    (1..LAST_SIGNAL - FIRST_SIGNAL)
        .find(|step| FIRST_GRACE * 2_u32.pow(step - 1) >= grace)
        .map_or(LAST_SIGNAL, |step| FIRST_SIGNAL + step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_means_at_least_the_grace() {
        for (millis, expected) in [(0, 34), (1, 35), (50, 35), (51, 36), (100, 36), (5000, 42), (600_000, 49)]
        {
            assert_eq!(signal_for(Duration::from_millis(millis)), expected, "{millis}");
        }
        assert_eq!(signal_for(Duration::MAX), 64);
    }
}
