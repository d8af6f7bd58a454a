//! The connection to one [runner](crate::runner): the program that runs jobs in a warm container, one after
//! the other.

use std::{collections::BTreeMap, io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::{Instant, sleep, timeout},
};

use super::{
    carrier::{EndContainer, WarmContainer},
    job::PooledJob,
};
use crate::{
    End, Job, Outcome, Output, OutputKind, OutputRequest, StartFailure, Timestamp, folder_content,
    runner::protocol::{
        CHUNK, Ending, FileSpec, Frames, How, MAX_FRAME, OutputSpec, OutputState, Reply, Request, Spec,
        VERSION, encode_data,
    },
};

/// Default `PATH`, if neither the job nor its image sets this variable.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Time after which a [runner](crate::runner) that receives no message ends its jobs and exits.
const LEASE: Duration = Duration::from_secs(60);

/// Maximum time between two messages to a [runner](crate::runner). A runner exits if it receives no message for the
/// time `LEASE`, which is longer.
pub(crate) const BEAT: Duration = Duration::from_secs(15);

/// Maximum time for a [runner](crate::runner) to answer or to read a message.
const PATIENCE: Duration = Duration::from_secs(20);

/// Number of bytes that a message to a runner needs, at most, in addition to the description of the job (the spec).
const RESERVED: usize = 64;

pub(crate) struct RunnerConnection {
    input: Box<dyn AsyncWrite + Send + Unpin>,
    output: Box<dyn tokio::io::AsyncRead + Send + Unpin>,
    frames: Frames,
    buffer: Vec<u8>,
    end: Box<dyn EndContainer>,
    image_digest: Option<String>,
    jobs: u32,
    /// Whether a message may have been sent incompletely. The connection can't be used after that.
    cut: bool,
}

/// The connection to the [runner](crate::runner) is broken; the text is the reason.
#[derive(Debug)]
pub(crate) struct Broken(pub(crate) String);

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl RunnerConnection {
    /// Opens the connection: sends a greeting to the runner, and checks its answer.
    pub(crate) async fn open(container: WarmContainer) -> Result<Self, (Broken, Box<dyn EndContainer>)> {
        let WarmContainer { input, output, image_digest, end } = container;
        let frames = Frames::default();
        let mut connection =
            Self { input, output, frames, buffer: vec![0; CHUNK], end, image_digest, jobs: 0, cut: false };
        match connection.greet().await {
            Ok(()) => Ok(connection),
            Err(broken) => Err((broken, connection.end)),
        }
    }

    async fn greet(&mut self) -> Result<(), Broken> {
        let lease_ms = u64::try_from(LEASE.as_millis()).unwrap_or(u64::MAX);
        self.send(&Request::Hello { version: VERSION, lease_ms }).await?;
        match self.receive().await? {
            Reply::Hello { version: VERSION, .. } => Ok(()),
            Reply::Hello { version, .. } => {
                Err(Broken(format!("its runner speaks version {version}, this program {VERSION}")))
            }
            _ => Err(Broken("its runner sends data before its greeting".to_owned())),
        }
    }

    /// Sends a message to the [runner](crate::runner), and waits for the answer. The message also keeps the runner
    /// alive (see [`LEASE`]).
    pub(crate) async fn ping(&mut self) -> Result<(), Broken> {
        let number = self.jobs;
        self.send(&Request::Ping { number }).await?;
        match self.receive().await? {
            Reply::Pong { number: answered } if answered == number => Ok(()),
            _ => Err(Broken("its runner sends an unexpected answer".to_owned())),
        }
    }

    async fn send(&mut self, request: &Request) -> Result<(), Broken> {
        let mut bytes = Vec::new();
        request.encode(&mut bytes);
        let sent = async {
            self.input.write_all(&bytes).await?;
            self.input.flush().await
        };
        match timeout(PATIENCE, sent).await {
            Ok(sent) => Ok(sent?),
            Err(_) => Err(Broken("its runner doesn't read its input".to_owned())),
        }
    }

    async fn receive(&mut self) -> Result<Reply, Broken> {
        let Self { output, frames, buffer, .. } = self;
        match timeout(PATIENCE, next(output, frames, buffer)).await {
            Ok(reply) => reply,
            Err(_) => Err(Broken("its runner doesn't answer".to_owned())),
        }
    }

    /// Returns the number of jobs that the [runner](crate::runner) has run.
    pub(crate) fn jobs(&self) -> u32 {
        self.jobs
    }

    /// Tells whether the connection can run another job.
    pub(crate) fn is_whole(&self) -> bool {
        !self.cut
    }

    /// Removes the container. If the container has ended by itself, returns the reason, as far as it is
    /// known.
    pub(crate) async fn end(self) -> Option<String> {
        // The runner at the other end exits when its connection is closed.
        drop((self.input, self.output));
        self.end.end().await
    }

    /// Sends a job to the [runner](crate::runner), and waits for the end of the job. The caller
    /// [records](Ended::record) the returned end. After an error, the end of the job is unknown, and the caller removes
    /// the container.
    pub(crate) async fn run(&mut self, job: &PooledJob, env: Vec<(String, String)>) -> Result<Ended, Broken> {
        self.jobs += 1;
        let number = self.jobs;
        let spec = spec(&job.job, job.id.as_str(), env);
        let Self { input, output, frames, buffer, cut, .. } = self;
        let sending = send_all(input, number, spec, job, cut);
        let receiving = receive_all(output, frames, buffer, number, job);
        let (ending, files) = tokio::select! {
            biased;
            received = receiving => received?,
            broken = sending => return Err(broken),
        };
        let mut outcome = Outcome::new(end(ending.how, &job.job), Timestamp::from_millis(ending.ended_ms));
        outcome.image_digest.clone_from(&self.image_digest);
        let states = job.job.outputs.iter().zip(ending.outputs).enumerate();
        outcome.left_behind = ending.left_behind;
        let mut files = files;
        outcome.outputs = states
            .map(|(at, (request, state))| {
                (request.name.clone(), brought(state, files.remove(&at)).received(request.kind))
            })
            .collect();
        Ok(Ended { end: outcome.end.clone(), outcome, totals: ending.totals })
    }
}

/// The end of a job. The caller first returns the job's container to the pool, and then records the end.
pub(crate) struct Ended {
    pub(crate) end: End,
    outcome: Outcome,
    totals: [u64; 2],
}

impl Ended {
    pub(crate) fn record(self, job: &PooledJob) {
        job.has_ended(self.outcome, Some(self.totals));
    }
}

/// Tells whether the spec of a job fits into one frame.
pub(crate) fn fits(job: &Job, id: &str, env: Vec<(String, String)>) -> bool {
    spec(job, id, env).encoded_length() + RESERVED < MAX_FRAME
}

/// Variables that the image of a job can't set. The [runner](crate::runner) sets them for each job.
const OF_RUNNER: [&str; 3] = ["HOME", "TMPDIR", "WINDLASS_JOB"];

/// Returns the environment variables of a job, without those that the [runner](crate::runner) sets. `image_env` are
/// the variables of the job's image, as `NAME=value`.
pub(crate) fn environment(
    job: &Job,
    image_env: &[String],
    tmp: Option<&str>,
    volumes: impl IntoIterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let mut env: BTreeMap<String, String> = [("PATH".to_owned(), PATH.to_owned())].into();
    let image = image_env.iter().filter_map(|variable| variable.split_once('='));
    let image = image.filter(|(name, _)| !OF_RUNNER.contains(name) && !job.path_env.contains_key(*name));
    env.extend(image.map(|(name, value)| (name.to_owned(), value.to_owned())));
    env.insert("LANG".to_owned(), "C.UTF-8".to_owned());
    env.extend(tmp.map(|tmp| ("TMPDIR".to_owned(), tmp.to_owned())));
    env.extend(job.env.clone());
    env.extend(volumes);
    env.into_iter().collect()
}

fn spec(job: &Job, id: &str, env: Vec<(String, String)>) -> Spec {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let limits = &job.limits;
    let keep = [limits.stdout_bytes, limits.stderr_bytes];
    Spec {
        mark: id.to_owned(),
        program: job.program.clone(),
        args: job.args.clone(),
        env,
        path_env: job.path_env.iter().map(|(name, path)| (name.clone(), path.to_string())).collect(),
        files: job
            .files
            .iter()
            .map(|file| FileSpec {
                path: file.path.to_string(),
                mode: file.mode,
                length: file.content.len() as u64,
            })
            .collect(),
        stdin: job.stdin.len() as u64,
        outputs: job
            .outputs
            .iter()
            .map(|output| OutputSpec {
                path: output.path.to_string(),
                max_bytes: output.max_bytes,
                is_folder: output.kind == OutputKind::Folder,
            })
            .collect(),
        timeout_ms: millis(limits.timeout),
        grace_ms: millis(limits.grace),
        spill: keep.map(|keep| limits.spill_bytes.max(keep)),
        keep: keep.map(|keep| keep.div_ceil(2)),
    }
}

/// Sends the spec and the input of a job. Then forwards cancellations, and sends a ping at intervals, so that
/// the runner does not take this process for dead. Returns only after an error.
async fn send_all(
    input: &mut (dyn AsyncWrite + Send + Unpin),
    number: u32,
    spec: Spec,
    job: &PooledJob,
    cut: &mut bool,
) -> Broken {
    let sent = async {
        *cut = true;
        let mut bytes = Vec::new();
        Request::Start { job: number, spec: Box::new(spec) }.encode(&mut bytes);
        let contents = job.job.files.iter().map(|file| &file.content).chain([&job.job.stdin]);
        for piece in contents.flat_map(|content| content.expose().chunks(CHUNK)) {
            if bytes.len() > CHUNK {
                input.write_all(&bytes).await?;
                bytes.clear();
            }
            encode_data(&mut bytes, number, piece);
        }
        input.write_all(&bytes).await?;
        input.flush().await?;
        *cut = false;
        let mut cancellation = job.cancellation();
        cancellation.mark_changed();
        loop {
            let request = tokio::select! {
                Ok(()) = cancellation.changed() => {
                    let Some(until) = *cancellation.borrow_and_update() else { continue };
                    let grace = until.saturating_duration_since(Instant::now());
                    Request::Cancel { job: number, grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) }
                }
                () = sleep(BEAT) => Request::Ping { number },
            };
            bytes.clear();
            request.encode(&mut bytes);
            *cut = true;
            input.write_all(&bytes).await?;
            input.flush().await?;
            *cut = false;
        }
    };
    let result: io::Result<std::convert::Infallible> = sent.await;
    match result {
        Ok(never) => match never {},
        Err(error) => error.into(),
    }
}

type Files = BTreeMap<usize, Vec<u8>>;

/// Returns the maximum number of bytes that a [runner](crate::runner) may send for the content of an output.
fn most_bytes(output: &OutputRequest) -> u64 {
    match output.kind {
        OutputKind::File => output.max_bytes,
        OutputKind::Folder => folder_content::max_encoded(output.max_bytes),
    }
}

/// Receives all messages of a job until its end.
async fn receive_all(
    output: &mut (dyn tokio::io::AsyncRead + Send + Unpin),
    frames: &mut Frames,
    buffer: &mut [u8],
    number: u32,
    job: &PooledJob,
) -> Result<(Ending, Files), Broken> {
    let mut files = Files::new();
    loop {
        let reply = next(output, frames, buffer).await?;
        match reply {
            Reply::Started { job: of, at_ms } if of == number => {
                job.has_started(Timestamp::from_millis(at_ms));
            }
            Reply::Output { job: of, stream, bytes } if of == number => {
                job.has_written(stream.into(), &bytes);
            }
            Reply::Tail { job: of, stream, bytes } if of == number => job.has_tail(stream.into(), &bytes),
            Reply::File { job: of, index, bytes } if of == number => {
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                let most = job.job.outputs.get(index).map_or(0, most_bytes);
                let file = files.entry(index).or_default();
                file.extend_from_slice(&bytes);
                if file.len() as u64 > most {
                    return Err(Broken("its runner sends more data than requested".to_owned()));
                }
            }
            Reply::Ended { job: of, ending } if of == number => return Ok((*ending, files)),
            Reply::Pong { .. } => {}
            _ => return Err(Broken("its runner reports another job".to_owned())),
        }
    }
}

async fn next(
    output: &mut (dyn tokio::io::AsyncRead + Send + Unpin),
    frames: &mut Frames,
    buffer: &mut [u8],
) -> Result<Reply, Broken> {
    loop {
        if let Some(frame) = frames.next_frame().map_err(|error| Broken(error.to_string()))? {
            return Reply::decode(frame).map_err(|error| Broken(error.to_string()));
        }
        match output.read(buffer).await? {
            0 => return Err(Broken("its runner has exited".to_owned())),
            length => frames.push(&buffer[..length]),
        }
    }
}

fn end(how: How, job: &Job) -> End {
    let program = job.program.clone();
    End::NotStarted(match how {
        How::Exited(code) => return End::Exited(code),
        How::Signalled(signal) => return End::Signalled(signal),
        How::TimedOut => return End::TimedOut,
        How::Cancelled => return End::Cancelled,
        How::OutOfMemory => return End::OutOfMemory,
        How::NotFound => StartFailure::NotFound { program },
        How::InterpreterNotFound(interpreter) => StartFailure::InterpreterNotFound { program, interpreter },
        How::NotExecutable(why) => StartFailure::NotExecutable { program, why },
        How::NotStarted(why) => StartFailure::Other(why),
    })
}

fn brought(state: OutputState, content: Option<Vec<u8>>) -> Output {
    match state {
        OutputState::Content(_) => Output::Content(content.unwrap_or_default()),
        OutputState::Missing => Output::Missing,
        OutputState::TooLarge(bytes) => Output::TooLarge { bytes },
        OutputState::Outside => Output::Outside,
        OutputState::NotAFile => Output::NotAFile,
        OutputState::Unreadable(why) => Output::Unreadable(why),
    }
}
