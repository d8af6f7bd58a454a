//! Launches a job's container, up to the moment when the container has received the whole job.

use std::pin::Pin;

use bollard::query_parameters::{AttachContainerOptionsBuilder, CreateContainerOptionsBuilder};
use futures::{StreamExt, future::try_join_all};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    task::JoinHandle,
};

use crate::{
    Job, JobId, OnOwnerDeath,
    docker::{
        EngineError,
        container::{ContainerContext, body, name},
        engine::EngineKind,
        images::EngineImage,
        input::Input,
        inspect::{self, LineStream},
        labels::{self, Record},
        lines::Line,
        shared::Shared,
    },
};

/// Maximum number of attempts to launch a job. The runtime tries again if, for example, the client's anchor has
/// ended. The anchor is a container that the containers of all jobs need (see [`tools`](crate::docker::tools)).
const TRIES: u32 = 3;

pub(crate) enum Launched {
    /// The container has received the whole job. The job may have ended already.
    Running(Box<Running>),
    /// The job already has a container, because another client has submitted the job.
    Exists,
}

/// A job whose container has confirmed that it received the whole job.
pub(crate) struct Running {
    pub(crate) record: Record,
    pub(crate) lines: LineStream,
    /// Lines that the container sent during the launch. The stream `lines` contains only later lines.
    pub(crate) first: Vec<Line>,
    /// Task that sends the job through a connection to the container. The result of the task is this connection, so the
    /// connection stays open as long as this field exists. If the connection closes and the job has the setting
    /// [`OnOwnerDeath::Kill`], the container ends the job.
    pub(crate) owner: JoinHandle<Pin<Box<dyn AsyncWrite + Send>>>,
}

/// Creates a container, starts it, and sends the job to it.
pub(crate) async fn launch(shared: &Shared, id: &JobId, job: &Job) -> Result<Launched, EngineError> {
    let image = job.image.as_deref().or(shared.options.image.as_deref()).unwrap_or_default();
    let environment = &shared.options.environment;
    let volumes =
        job.volumes.iter().map(|volume| shared.tools.volume(&shared.description, &job.owner, volume));
    let volumes = try_join_all(volumes);
    let (image, _) = tokio::try_join!(
        async {
            let found = shared.engine.ensure_image(image, job.isolation.pull, environment, |_| {}).await;
            found.map_err(|error| advised(error, shared.description.kind))
        },
        volumes
    )?;
    let mut gone: Option<String> = None;
    for _ in 1..TRIES {
        match Box::pin(attempt(shared, id, job, &image, &mut gone)).await {
            Err(error) if gone.is_some() && !error.is_outage() => {}
            result => return result,
        }
    }
    Box::pin(attempt(shared, id, job, &image, &mut gone)).await
}

/// Adds advice to the error about a missing image: how to bring the image to the container engine.
fn advised(error: EngineError, kind: EngineKind) -> EngineError {
    let EngineError::NoImage { image, problem } = error else { return error };
    let program = match kind {
        EngineKind::Docker => "docker",
        EngineKind::Podman => "podman",
    };
    let advice = format!(
        "{problem}; add it to the engine with `{program} pull {image}`, `{program} load -i FILE` or a build, or set another image"
    );
    EngineError::NoImage { image, problem: advice }
}

/// Tries once to launch a job. The parameter `gone` has two purposes:
///
/// - At the call, `gone` may contain the name of an anchor (see `tools`) that has ended. The attempt does not use
///   this anchor.
/// - If the launch fails and a retry may help, the function sets `gone`. The value is the name of the anchor if the
///   anchor has ended, and otherwise an empty text.
async fn attempt(
    shared: &Shared,
    id: &JobId,
    job: &Job,
    image: &EngineImage,
    gone: &mut Option<String>,
) -> Result<Launched, EngineError> {
    let (anchor, scratch) = Box::pin(prepare(shared, job, gone.take())).await?;
    let record = Record::new(job, Some(image.digest.clone()));
    let context = ContainerContext {
        options: &shared.options,
        engine: &shared.description,
        image: image.id.clone(),
        labels: labels::of_job(id, job, &record, &shared.client),
        anchor: &anchor,
        scratch: scratch.as_deref(),
    };
    let options = CreateContainerOptionsBuilder::default().name(&name(id)).build();
    let made = shared.engine.client().create_container(Some(options), body(job, context));
    if let Err(error) = shared.engine.call("create a container", made).await {
        if let Some(scratch) = scratch {
            shared.tools.remove(&scratch).await;
        }
        return not_made(shared, id, anchor, error, gone).await;
    }
    // From now on, the job's container uses the volume that the container `scratch` has prepared. So
    // `scratch` is no longer needed.
    let shell = scratch.map(|scratch| {
        let tools = shared.tools.clone();
        tokio::spawn(async move { tools.remove_shell(&scratch).await })
    });
    match start_and_send(shared, id, job, image, record).await {
        Ok(running) => Ok(Launched::Running(Box::new(running))),
        Err(error) => {
            // The container did not receive the whole job, so the job never ran, and the container is removed.
            // If the container `scratch` has prepared the job's volume, `scratch` must be gone by then: the
            // container engine removes the volume together with the last container that uses it.
            if let Some(shell) = shell {
                let _panicked = shell.await;
            }
            shared.tools.remove(&name(id)).await;
            note_anchor(&error, anchor, gone);
            Err(error)
        }
    }
}

/// Prepares the helper containers that a job's container needs. Returns their names:
///
/// - The client's anchor (see [`tools`](crate::docker::tools)). If no anchor runs, the function starts one. The
///   function never returns the anchor `gone`, which has ended.
/// - A new container with a volume to which the job's user can write. The job's container takes over this volume.
///   The name is `None` if the job needs no such volume.
async fn prepare(
    shared: &Shared,
    job: &Job,
    gone: Option<String>,
) -> Result<(String, Option<String>), EngineError> {
    let uid = job.user.unwrap_or(shared.options.user).uid;
    let (anchor, scratch) = tokio::join!(
        shared.tools.anchor(&shared.description, gone.as_deref()),
        shared.tools.scratch(&shared.description, uid)
    );
    let scratch = scratch?;
    if let (Err(_), Some(scratch)) = (&anchor, &scratch) {
        shared.tools.remove(scratch).await;
    }
    Ok((anchor?, scratch))
}

/// Handles `error`, the error of the request to create the job's container. There are three cases:
///
/// - The container exists, and is [left over](is_abandoned) from an earlier attempt of this client. The function
///   removes the container, and returns `error`.
/// - The container exists and is not left over, for example because another client has created it. The function
///   returns [`Launched::Exists`].
/// - The request failed for another reason. The function returns `error`.
///
/// If a retry may help, the function also sets the parameter `gone` (see [`attempt`]).
async fn not_made(
    shared: &Shared,
    id: &JobId,
    anchor: String,
    error: EngineError,
    gone: &mut Option<String>,
) -> Result<Launched, EngineError> {
    if error.is_conflict() && error.to_string().contains("in use") {
        if !is_abandoned(shared, id).await? {
            return Ok(Launched::Exists);
        }
        shared.tools.remove(&name(id)).await;
        *gone = Some(String::new());
    } else {
        note_anchor(&error, anchor, gone);
    }
    Err(error)
}

/// Tells whether the job's container is left over from an earlier attempt of this client to launch the job. The attempt
/// failed because the answer to a request came late or never. Such a container has not received the whole job, and
/// never will. If such a container still runs, the function kills it.
async fn is_abandoned(shared: &Shared, id: &JobId) -> Result<bool, EngineError> {
    match inspect::inspect(&shared.engine, id).await? {
        Some(inspected) if inspected.client == shared.client => {
            inspect::never_began(&shared.engine, id, inspected).await
        }
        _ => Ok(false),
    }
}

/// Checks whether the launch of a job failed with `error` because the client's anchor no longer runs. If so, sets
/// `gone` to the name of the anchor, which is the parameter `anchor`. The anchor is a container that the containers
/// of all jobs need (see [`tools`](crate::docker::tools)).
fn note_anchor(error: &EngineError, anchor: String, gone: &mut Option<String>) {
    if let EngineError::Refused { message, .. } = error
        && (message.contains(&anchor)
            || message.contains("cannot join network")
            || message.contains("non running container"))
    {
        *gone = Some(anchor);
    }
}

/// Starts a job's container, sends the job to it, and waits until the container has confirmed that it received the
/// whole job.
async fn start_and_send(
    shared: &Shared,
    id: &JobId,
    job: &Job,
    image: &EngineImage,
    record: Record,
) -> Result<Running, EngineError> {
    let (engine, name) = (&shared.engine, name(id));
    let attach = AttachContainerOptionsBuilder::default().stream(true).stdin(true).stdout(true).build();
    let attached =
        engine.call("attach to a container", engine.client().attach_container(&name, Some(attach))).await?;
    engine.call("start a container", engine.client().start_container(&name, None)).await?;
    let input = Input::new(id, job, &image.env);
    let (mut to, on_owner_death) = (attached.input, job.on_owner_death);
    let owner = tokio::spawn(async move {
        // A write fails if the container has ended. The lines of the container then contain the reason.
        let written = input.write(&mut to).await;
        if written.is_ok() && on_owner_death == OnOwnerDeath::Finish {
            let _ended = to.shutdown().await;
        }
        to
    });
    let mut lines: LineStream = Box::pin(inspect::lines(engine.clone(), attached.output));
    let first = accepted(shared, &mut lines).await;
    match first {
        Ok(first) => Ok(Running { record, lines, first, owner }),
        Err(error) => {
            owner.abort();
            Err(error)
        }
    }
}

/// Waits for the line [`Line::Accepted`], by which the container confirms that it has received the whole job.
/// Returns this line, and the other lines that arrived together with it.
async fn accepted(shared: &Shared, lines: &mut LineStream) -> Result<Vec<Line>, EngineError> {
    let unreachable = |problem: &str| EngineError::Unreachable {
        endpoint: shared.engine.endpoint().to_string(),
        problem: problem.to_owned(),
    };
    loop {
        let next = tokio::time::timeout(shared.options.patience, lines.next()).await;
        let next = next.map_err(|_| unreachable("the container doesn't accept the job"))?;
        let received =
            next.ok_or_else(|| unreachable("the container ended before it accepted the job"))??;
        if let Some(Line::Refused(why)) = received.iter().find(|line| matches!(line, Line::Refused(_))) {
            return Err(EngineError::Refused {
                action: "store the input of the job".to_owned(),
                status: 507,
                message: why.clone(),
            });
        }
        if received.contains(&Line::Accepted) {
            return Ok(received);
        }
    }
}
