//! An HTTP endpoint `POST /metrics` on a Unix socket. Only the user who owns the socket file can connect to
//! the endpoint.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::routing::post;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

use super::{Incoming, Message, Taken};
use crate::blocking::blocking;
use crate::error::Error;

/// Maximum size of a request's body in bytes, which is enough for some thousands of messages.
const LARGEST: usize = 1 << 20;
/// Maximum time that a sender of samples waits for the reply. The reply reports samples that no policy has used. If
/// the daemon needs more time, the reply covers only the samples that the daemon has already processed. The daemon
/// processes the other samples later.
const ANSWER: Duration = Duration::from_secs(5);

/// A Unix socket that receives metrics. Dropping it removes the socket file.
pub struct MetricSocket {
    path: PathBuf,
    listener: Option<UnixListener>,
}

impl MetricSocket {
    /// Opens a socket that only the present user may access (mode 0600). Replaces a socket at which no
    /// process listens any more.
    ///
    /// # Errors
    ///
    /// Fails if another process listens at the path, or if the folder can't be written.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        if connect(&path).await.is_ok() {
            return Err(Error::SocketTaken(path));
        }
        let bound = path.clone();
        match blocking(move || listen(&bound)).await {
            Ok(listener) => Ok(Self { path, listener: Some(listener) }),
            Err(source) => Err(Error::Write { path, source }),
        }
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Receives metrics and forwards them to `samples`, until the future is dropped.
    ///
    /// # Errors
    ///
    /// Fails if the socket can't accept connections.
    pub async fn serve(&mut self, samples: mpsc::Sender<Incoming>) -> Result<(), Error> {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        let router = Router::new()
            .route("/metrics", post(take))
            .layer(DefaultBodyLimit::max(LARGEST))
            .with_state(samples);
        let served = axum::serve(listener, router).await;
        served.map_err(|source| Error::File { path: self.path.clone(), source })
    }
}

impl Drop for MetricSocket {
    fn drop(&mut self) {
        // The next daemon replaces a socket that could not be removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Maximum length in bytes of a socket path that is passed unchanged to the system. A longer path is replaced by a
/// short path (see [`Near`]), because the limit of the system is 107 bytes.
const LONGEST: usize = 100;

/// A short path to a file in a deeply nested folder, for system calls that limit the length of a path.
struct Near {
    /// The open folder that contains the file. `None` if the original path of the file is short enough.
    ///
    /// With an open folder, the field `path` is `/proc/self/fd/<descriptor of the folder>/<file name>`. This path is
    /// valid only while the folder is open. Without an open folder, the field `path` is the original path.
    _folder: Option<File>,
    path: PathBuf,
}

impl Near {
    fn to(path: &Path) -> std::io::Result<Self> {
        let (Some(folder), Some(name), true) =
            (path.parent(), path.file_name(), path.as_os_str().len() > LONGEST)
        else {
            return Ok(Self { _folder: None, path: path.to_owned() });
        };
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { _folder: Some(folder), path })
    }
}

/// Creates a socket that only the present user may access. Replaces an existing file at the path.
fn listen(path: &Path) -> std::io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let near = Near::to(path)?;
    let listener = UnixListener::bind(&near.path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn connect(path: &Path) -> std::io::Result<UnixStream> {
    let path = path.to_owned();
    let near = blocking(move || Near::to(&path)).await?;
    UnixStream::connect(&near.path).await
}

/// Accepts a message about a metric, or a list of such messages. If one message is invalid, the whole list is rejected.
/// The reply has a line for each message that all policies ignore. The line states the reason.
async fn take(
    State(samples): State<mpsc::Sender<Incoming>>,
    body: String,
) -> Result<(StatusCode, String), (StatusCode, String)> {
    let refuse = |why: String| (StatusCode::BAD_REQUEST, format!("{why}\n"));
    let body: Value =
        serde_json::from_str(&body).map_err(|error| refuse(format!("the body is no JSON: {error}")))?;
    let messages = match body {
        Value::Array(messages) => messages,
        message => vec![message],
    };
    let mut taken = Vec::with_capacity(messages.len());
    for message in messages {
        let message: Message = serde_json::from_value(message)
            .map_err(|error| refuse(format!("a message can't be read: {error}")))?;
        taken.push(message.sample().map_err(refuse)?);
    }
    let mut answers = Vec::with_capacity(taken.len());
    for sample in taken {
        let closed = |_| (StatusCode::SERVICE_UNAVAILABLE, "the daemon has stopped\n".to_owned());
        let (answer, answered) = oneshot::channel();
        samples.send(Incoming { sample, answer: Some(answer) }).await.map_err(closed)?;
        answers.push(answered);
    }
    let mut notes: Vec<String> = Vec::new();
    let collect = async {
        for answered in answers {
            match answered.await {
                Ok(Taken::Counted) | Err(_) => {}
                Ok(taken) => notes.push(format!("{taken}\n")),
            }
        }
    };
    // After a timeout, the daemon processes the remaining samples later.
    let _ = tokio::time::timeout(ANSWER, collect).await;
    Ok((StatusCode::ACCEPTED, notes.concat()))
}

/// Sends a message with the value of a metric to the daemon that listens at a socket. Returns the daemon's remark, if
/// there is one. For example, the remark says that no policy reads the metric.
///
/// # Errors
///
/// Fails if no daemon listens at the path, or if the daemon rejects the message. The error contains the
/// reason.
pub async fn push(path: &Path, message: &Value) -> Result<Option<String>, Error> {
    let unheard = |why: String| Error::NotDelivered { path: path.to_owned(), why };
    let stream = connect(path).await.map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => unheard("no process listens there".to_owned()),
        _ => unheard(error.to_string()),
    })?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| unheard(error.to_string()))?;
    let connected = tokio::spawn(connection);
    let request = Request::post("/metrics")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(message.to_string())))
        .map_err(|error| unheard(error.to_string()))?;
    let answer = sender.send_request(request).await.map_err(|error| unheard(error.to_string()))?;
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| unheard(error.to_string()))?.to_bytes();
    connected.abort();
    let why = String::from_utf8_lossy(&body).trim().to_owned();
    if status.is_success() {
        return Ok(Some(why).filter(|note| !note.is_empty()));
    }
    Err(if status == StatusCode::BAD_REQUEST { Error::NoMetric(why) } else { unheard(why) })
}
