//! A proxy to an engine. At a chosen call it kills the engine, before or after the call arrives.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::Notify,
    task::JoinHandle,
};

/// The moment at which an engine is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before a call about a container arrives at the engine. The fields are the method of the call, and the end of the
    /// path of the call.
    Before(&'static str, &'static str),
    /// After a call about a container arrives at the engine, and before the engine answers. The fields are the same as
    /// for `Before`.
    After(&'static str, &'static str),
    /// When one connection has sent this many bytes.
    Sent(usize),
    /// When one connection has received this many bytes.
    Heard(usize),
}

/// Returns whether the bytes `sent` begin with a call about a container. The call must have the method `method`, and a
/// path that ends with `end`.
fn begins_with(sent: &[u8], method: &str, end: &str) -> bool {
    let line = String::from_utf8_lossy(sent.split(|byte| *byte == b'\r').next().unwrap_or_default());
    let mut words = line.split(' ');
    let (sent, path) = (words.next(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    sent == Some(method) && path.split('/').any(|part| part == "containers") && path.ends_with(end)
}

/// The engine to kill and the moment.
#[derive(Default)]
struct Trap {
    set: Mutex<Option<(Moment, Pid)>>,
    sprung: Notify,
}

impl Trap {
    /// Kills the engine if `is_now` returns `true` for the chosen moment. Returns whether the engine was killed.
    fn spring_if(&self, is_now: impl Fn(Moment) -> bool) -> bool {
        let taken = self.set.lock().unwrap().take_if(|(moment, _)| is_now(*moment));
        let Some((_, engine)) = taken else { return false };
        kill_process(engine, Signal::KILL).unwrap();
        self.sprung.notify_one();
        true
    }
}

/// The proxy between a client and an engine.
pub(crate) struct Line {
    trap: Arc<Trap>,
    listening: JoinHandle<()>,
}

impl Line {
    /// Listens at `near` and forwards connections to `far`.
    pub(crate) fn open(near: &Path, far: &Path) -> Self {
        let listener = UnixListener::bind(near).unwrap();
        let (trap, far) = (Arc::new(Trap::default()), far.to_owned());
        let listening = tokio::spawn({
            let trap = trap.clone();
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    // While nobody listens at `far`, connections are closed.
                    let Ok(engine) = UnixStream::connect(&far).await else { continue };
                    tokio::spawn(hand_on(client, engine, trap.clone()));
                }
            }
        });
        Self { trap, listening }
    }

    /// Kills the engine with the process id `engine` as soon as `moment` occurs.
    pub(crate) fn kill_at(&self, moment: Moment, engine: Pid) {
        *self.trap.set.lock().unwrap() = Some((moment, engine));
    }

    /// Waits until the engine was killed.
    pub(crate) async fn killed(&self) {
        self.trap.sprung.notified().await;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn hand_on(client: UnixStream, engine: UnixStream, trap: Arc<Trap>) {
    let ((mut from_client, mut to_client), (mut from_engine, mut to_engine)) =
        (client.into_split(), engine.into_split());
    let back = async {
        let (mut buffer, mut heard) = (vec![0; 64 << 10], 0);
        while let Ok(length @ 1..) = from_engine.read(&mut buffer).await {
            heard += length;
            trap.spring_if(|moment| matches!(moment, Moment::Heard(enough) if heard >= enough));
            if to_client.write_all(&buffer[..length]).await.is_err() {
                break;
            }
        }
        let _hung_up = to_client.shutdown().await;
    };
    let there = async {
        let (mut buffer, mut all) = (vec![0; 64 << 10], 0);
        while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
            let sent = &buffer[..length];
            all += length;
            if trap.spring_if(
                |moment| matches!(moment, Moment::Before(method, end) if begins_with(sent, method, end)),
            ) || to_engine.write_all(sent).await.is_err()
            {
                break;
            }
            trap.spring_if(|moment| match moment {
                Moment::After(method, end) => begins_with(sent, method, end),
                Moment::Sent(enough) => all >= enough,
                Moment::Before(..) | Moment::Heard(_) => false,
            });
        }
        let _hung_up = to_engine.shutdown().await;
    };
    tokio::join!(there, back);
}
