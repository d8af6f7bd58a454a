//! Tests which operations wait for a slow engine, and which don't.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};
use windlass_executor::{
    End, Isolation, Job, JobId, Outcome, Pull, Runtime,
    docker::{Endpoint, Engine, EngineChoice, Environment, Host},
};

use super::place::{IMAGE, Place, TURNS, left_by, options, sh};

/// Maximum time of an operation that must not wait for the calls that the [`Gate`] holds back.
const LIMIT: Duration = Duration::from_secs(60);

/// Time limit of a call, which no call of these tests reaches.
const CALL_LIMIT: Duration = Duration::from_secs(600);

/// A proxy between a client and an engine. The proxy holds back the calls about one object.
struct Gate {
    held: Arc<Held>,
    listening: JoinHandle<()>,
}

#[derive(Default)]
struct Held {
    /// A call is held if its path contains this text.
    about: Mutex<Option<String>>,
    /// Number of calls that are being held.
    calls: watch::Sender<usize>,
    open: watch::Sender<bool>,
}

impl Gate {
    /// Listens at `near` and forwards connections to `far`.
    fn open(near: &Path, far: &Path) -> Self {
        let listener = UnixListener::bind(near).unwrap();
        let (held, far) = (Arc::new(Held::default()), far.to_owned());
        let listening = tokio::spawn({
            let held = held.clone();
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    let engine = UnixStream::connect(&far).await.unwrap();
                    tokio::spawn(forward(client, engine, held.clone()));
                }
            }
        });
        Self { held, listening }
    }

    /// Holds all calls whose path contains this text.
    fn hold(&self, about: &str) {
        *self.held.about.lock().unwrap() = Some(about.to_owned());
    }

    /// Waits until this many calls are being held.
    async fn holds(&self, calls: usize) {
        let mut held = self.held.calls.subscribe();
        timeout(LIMIT, held.wait_for(|held| *held == calls)).await.expect("the call is made").unwrap();
    }

    fn calls(&self) -> usize {
        *self.held.calls.borrow()
    }

    fn release(&self) {
        self.held.open.send_replace(true);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Held {
    fn is_about(&self, sent: &[u8]) -> bool {
        let line = String::from_utf8_lossy(sent.split(|byte| *byte == b'\r').next().unwrap_or_default());
        self.about.lock().unwrap().as_ref().is_some_and(|about| line.contains(about))
    }
}

async fn forward(client: UnixStream, engine: UnixStream, held: Arc<Held>) {
    let ((mut from_client, mut to_client), (mut from_engine, mut to_engine)) =
        (client.into_split(), engine.into_split());
    let back = async {
        let _closed = tokio::io::copy(&mut from_engine, &mut to_client).await;
        let _hung_up = to_client.shutdown().await;
    };
    let there = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
            if held.is_about(&buffer[..length]) {
                held.calls.send_modify(|calls| *calls += 1);
                let mut open = held.open.subscribe();
                drop(open.wait_for(|open| *open).await);
            }
            if to_engine.write_all(&buffer[..length]).await.is_err() {
                break;
            }
        }
        let _hung_up = to_engine.shutdown().await;
    };
    tokio::join!(there, back);
}

/// A client of an engine behind a gate.
struct World {
    place: Place,
    gate: Gate,
    /// A direct connection to the engine. It is for calls that block the thread, because such a call also blocks the
    /// gate.
    direct: Engine,
    _folder: tempfile::TempDir,
}

impl World {
    /// The test needs an engine with a Unix socket. Without such an engine, the function reports the test as skipped
    /// and returns `None`.
    async fn new(test: &str) -> Option<Self> {
        let there = Place::new(test).await?;
        let Host::Unix(far) = &there.engine.endpoint().host else {
            super::engines::skipped(test, "the engine is not at a socket");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let near = folder.path().join("sock");
        let gate = Gate::open(&near, far);
        let choice: EngineChoice = format!("unix://{}", near.display()).parse().unwrap();
        let endpoint = Endpoint::resolve(&choice, &Environment::default()).unwrap();
        let engine = Engine::connect_to(endpoint).await.unwrap();
        let place = Place::with(engine, options().call_limit(CALL_LIMIT)).await;
        Some(Self { place, gate, direct: there.engine, _folder: folder })
    }

    fn name(&self, name: &str) -> String {
        format!("{name}-{}", self.place.runtime.client())
    }

    fn id(&self, name: &str) -> JobId {
        self.name(name).parse().unwrap()
    }

    /// Returns a job that writes to a volume of this name.
    fn job(&self, volume: &str) -> Job {
        sh("echo there >/kept/file && cat /kept/file")
            .image(IMAGE)
            .volume(self.name(volume).parse().unwrap(), "/kept")
    }

    fn start(&self, name: &str, job: Job) -> JoinHandle<Outcome> {
        let (runtime, id) = (self.place.runtime.clone(), self.id(name));
        tokio::spawn(async move { runtime.run(&id, &job).await.unwrap() })
    }

    async fn close(self) {
        self.place.runtime.close().await;
        left_by(&Place { engine: self.direct, runtime: self.place.runtime });
    }
}

#[tokio::test]
async fn a_volume_that_takes_long_delays_no_other() {
    let Some(world) = World::new("a_volume_that_takes_long_delays_no_other").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    world.gate.hold(&world.name("slow"));
    let first = world.start("first", world.job("slow"));
    world.gate.holds(1).await;
    let second = world.start("second", world.job("slow"));
    let other = timeout(LIMIT, world.start("other", world.job("quick"))).await;
    assert_eq!(other.expect("it doesn't wait for another volume").unwrap().end, End::Exited(0));
    // Jobs with the same volume wait for one preparation.
    assert_eq!(world.gate.calls(), 1);
    world.gate.release();
    for job in [first, second] {
        let outcome = job.await.unwrap();
        assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(0), "there\n"));
    }
    world.close().await;
}

/// A job whose image is missing gives up the preparation of its volume. The next job with that volume
/// prepares it.
#[tokio::test]
async fn a_preparation_that_is_given_up_is_taken_over() {
    let Some(world) = World::new("a_preparation_that_is_given_up_is_taken_over").await else { return };
    let _turn = TURNS.acquire().await.unwrap();
    world.gate.hold(&world.name("slow"));
    let mut isolation = Isolation::default();
    isolation.pull = Pull::Never;
    let without = world.job("slow").image("windlass-test/missing:1").isolation(isolation);
    let outcome = timeout(LIMIT, world.start("without", without)).await.unwrap().unwrap();
    assert!(matches!(outcome.end, End::NotStarted(_)), "{:?}", outcome.end);
    world.gate.release();
    let outcome = timeout(LIMIT, world.start("next", world.job("slow"))).await.unwrap().unwrap();
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(0), "there\n"));
    world.close().await;
}
