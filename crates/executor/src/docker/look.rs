//! What an engine tells of a job's container: whether it is there, how far it has come, what was logged.

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

/// Where a job that must finish keeps what it has told.
const COPY: &str = "/windlass/told";

/// How often the engine is asked again whether a container was killed for want of memory: it learns of it a moment late.
const MEMORY_LOOKS: u32 = 3;
const MEMORY_PAUSE: Duration = Duration::from_millis(100);

/// How often it is looked whether a first process has stored what it was given, or has ended.
const STORE_LOOKS: u32 = 20;
const STORE_PAUSE: Duration = Duration::from_millis(50);

/// Between 50 ms and this signal's number the grace doubles with each number (`docker/init`).
const FIRST_SIGNAL: u32 = 34;
const LAST_SIGNAL: u32 = 64;
const FIRST_GRACE: Duration = Duration::from_millis(50);

/// The lines of one job, as they come.
pub(crate) type LineStream = Pin<Box<dyn Stream<Item = Result<Vec<Line>, EngineError>> + Send>>;

/// A job's container.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) record: Record,
    pub(crate) client: String,
    pub(crate) stage: Stage,
    out_of_memory: bool,
}

/// How far a container has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Made, and not started.
    Made,
    Running,
    Exited,
}

/// How a job that has no client any more ended, or never began.
#[derive(Debug)]
pub(crate) enum Remains {
    /// Its client died before the job was told.
    NeverBegan,
    /// Its end was logged, or the engine knows it.
    Ended(Box<Outcome>),
    /// It began, and nobody knows how it ended.
    Gone(Box<Outcome>),
}

/// Looks at a job's container; `None` if there is none.
pub(crate) async fn look(engine: &Engine, id: &JobId) -> Result<Option<Looked>, EngineError> {
    let inspected = inspect(engine, &name(id)).await?;
    let Some(found) = inspected else { return Ok(None) };
    let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
    let Some(record) = Record::read(&labels) else {
        return Err(EngineError::Protocol {
            action: format!("look for the container `{}`", name(id)),
            problem: "there is one of that name that isn't ours".to_owned(),
        });
    };
    let state = found.state.unwrap_or_default();
    let client = label(&labels, labels::CLIENT);
    let out_of_memory = state.oom_killed.unwrap_or(false);
    Ok(Some(Looked { record, client, stage: stage(&state), out_of_memory }))
}

async fn inspect(engine: &Engine, name: &str) -> Result<Option<ContainerInspectResponse>, EngineError> {
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

/// Reads what a job's first process has told, from the beginning; with `follow`, as it comes until the container ends.
pub(crate) fn logged(engine: &Engine, id: &JobId, follow: bool) -> LineStream {
    let options = LogsOptionsBuilder::default().stdout(true).follow(follow).tail("all").build();
    let engine = engine.clone();
    let stream = engine.client().logs(&name(id), Some(options));
    Box::pin(lines(engine, stream))
}

/// Puts the lines together that come on a stream of an engine.
pub(crate) fn lines<S>(engine: Engine, stream: S) -> impl Stream<Item = Result<Vec<Line>, EngineError>>
where
    S: Stream<Item = Result<LogOutput, bollard::errors::Error>>,
{
    let mut lines = Lines::default();
    stream.map(move |piece| match piece {
        Ok(LogOutput::StdOut { message }) => Ok(lines.take(&message)),
        // Without a terminal this is the torn end of a stream that broke.
        Ok(LogOutput::Console { .. }) => Err(EngineError::Unreachable {
            endpoint: engine.endpoint().to_string(),
            problem: "the stream broke in the middle of a message".to_owned(),
        }),
        Ok(_) => Ok(Vec::new()),
        Err(error) => Err(engine.error("read what a job writes", error)),
    })
}

/// Reads all that a job whose container has exited has told: from the log, or, if that has no end, from the copy that a
/// job that must finish has in its volume. An engine that is dead when it is told something has it in no log.
pub(crate) async fn told(engine: &Engine, id: &JobId, looked: &Looked) -> Result<Vec<Line>, EngineError> {
    let mut all = Vec::new();
    let mut logged = logged(engine, id, false);
    while let Some(lines) = logged.next().await {
        all.extend(lines?);
    }
    let has_end = |lines: &[Line]| matches!(lines.last(), Some(Line::Ended(_)));
    if !has_end(&all) && looked.record.on_owner_death == OnOwnerDeath::Finish {
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
        match piece.map_err(|error| engine.error("bring back a file", error)) {
            Err(error) if error.is_absent() => return Ok(Vec::new()),
            piece => archive.extend(piece?),
        }
    }
    let mut content = Vec::new();
    let mut archive = tar::Archive::new(archive.as_slice());
    for entry in archive.entries().into_iter().flatten().flatten() {
        // A file that is cut off has no end, and that is seen.
        let _cut = entry.take(u64::MAX).read_to_end(&mut content);
    }
    Ok(Lines::default().take(&content))
}

/// Finds out how a job ended whose container has exited.
pub(crate) async fn remains(engine: &Engine, id: &JobId, looked: &Looked) -> Result<Remains, EngineError> {
    let mut collector = Collector::new(looked.record.clone());
    for line in told(engine, id, looked).await? {
        if let Some(outcome) = collector.take(line) {
            return Ok(Remains::Ended(Box::new(outcome)));
        }
    }
    if !collector.is_accepted() {
        return Ok(Remains::NeverBegan);
    }
    Ok(if was_out_of_memory(engine, id, looked).await? {
        Remains::Ended(Box::new(collector.broken_off(End::OutOfMemory)))
    } else {
        Remains::Gone(Box::new(collector.broken_off(End::Lost(LOST.to_owned()))))
    })
}

/// Finds out whether a job never began that nobody will tell anything any more: its client is dead, or has given it up. One
/// that waits for the rest of its description is ended, since it would wait for ever; only then is it decided.
pub(crate) async fn never_began(engine: &Engine, id: &JobId, looked: Looked) -> Result<bool, EngineError> {
    let mut looked = looked;
    if looked.stage == Stage::Running {
        for _ in 0..STORE_LOOKS {
            if was_told(engine, id, &looked).await? {
                return Ok(false);
            }
            tokio::time::sleep(STORE_PAUSE).await;
        }
        kill(engine, id).await?;
        for _ in 0..STORE_LOOKS {
            match look(engine, id).await? {
                None => return Ok(true),
                Some(now) => looked = now,
            }
            if looked.stage != Stage::Running {
                break;
            }
            tokio::time::sleep(STORE_PAUSE).await;
        }
    }
    Ok(match looked.stage {
        Stage::Made => true,
        Stage::Running => false,
        Stage::Exited => matches!(remains(engine, id, &looked).await?, Remains::NeverBegan),
    })
}

/// Tells whether a job's first process has said anything: that all was stored comes first.
async fn was_told(engine: &Engine, id: &JobId, looked: &Looked) -> Result<bool, EngineError> {
    let mut logged = logged(engine, id, false);
    while let Some(lines) = logged.next().await {
        if !lines?.is_empty() {
            return Ok(true);
        }
    }
    Ok(looked.record.on_owner_death == OnOwnerDeath::Finish && !copied(engine, id).await?.is_empty())
}

/// Why a job is lost, for people.
pub(crate) const LOST: &str =
    "its container was killed, and not by us: the engine, or the machine it runs on, went away";

/// Tells whether the kernel has killed the first process for want of memory.
pub(crate) async fn was_out_of_memory(
    engine: &Engine,
    id: &JobId,
    looked: &Looked,
) -> Result<bool, EngineError> {
    let mut out = looked.out_of_memory;
    for _ in 0..MEMORY_LOOKS {
        if out {
            break;
        }
        tokio::time::sleep(MEMORY_PAUSE).await;
        out = look(engine, id).await?.is_some_and(|looked| looked.out_of_memory);
    }
    Ok(out)
}

/// Asks a job to end within this time. That it has ended, or is gone, is fine.
pub(crate) async fn ask_to_end(engine: &Engine, id: &JobId, grace: Duration) -> Result<(), EngineError> {
    signal(engine, id, &signal_for(grace).to_string()).await
}

/// Ends a container with all that is in it. That it has ended, or is gone, is fine.
pub(crate) async fn kill(engine: &Engine, id: &JobId) -> Result<(), EngineError> {
    signal(engine, id, "SIGKILL").await
}

async fn signal(engine: &Engine, id: &JobId, signal: &str) -> Result<(), EngineError> {
    let options = KillContainerOptionsBuilder::default().signal(signal).build();
    match engine.call("signal a container", engine.client().kill_container(&name(id), Some(options))).await {
        Err(error) if error.is_absent() || error.is_conflict() => Ok(()),
        // Podman, and Docker in the moment between the end and its knowledge of it.
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

/// The signal that means this grace, or a longer one.
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
