//! A client of an engine for one test, and a check of what the test left.

use std::{collections::BTreeSet, path::Path, process::Command, sync::Arc};

use tokio::sync::{OnceCell, Semaphore};
use windlass_executor::{
    Job,
    docker::{DockerOptions, DockerRuntime, Engine},
    image::build::ImageBuilder,
};

use super::engines::{docker, skipped};

/// Image of these tests: a static busybox.
pub(crate) const IMAGE: &str = "windlass-test/busybox:1";

/// Limit of concurrent tests. They share the processors, and more at once only makes each of them slower.
pub(crate) static TURNS: Semaphore = Semaphore::const_new(4);

/// An engine and a client of it.
pub(crate) struct Place {
    pub(crate) engine: Engine,
    pub(crate) runtime: Arc<DockerRuntime>,
}

impl Place {
    /// Returns the engine that the Docker client would find, and a client of this engine. If the test can't run, the
    /// function reports the test as skipped and returns `None`.
    pub(crate) async fn new(test: &str) -> Option<Self> {
        static LOADED: OnceCell<()> = OnceCell::const_new();
        let engine = docker(test).await?;
        if busybox().is_none() {
            skipped(test, "there is no static busybox: apt-get install busybox-static");
            return None;
        }
        LOADED.get_or_init(async || load(&engine).await).await;
        Some(Self::with(engine, options()).await)
    }

    pub(crate) async fn with(engine: Engine, options: DockerOptions) -> Self {
        let runtime = Arc::new(DockerRuntime::open(engine.clone(), options).await.unwrap());
        Self { engine, runtime }
    }

    /// Returns the containers of this client.
    pub(crate) fn left(&self) -> BTreeSet<String> {
        left(&self.engine, self.runtime.client())
    }
}

pub(crate) fn options() -> DockerOptions {
    DockerOptions::new().image(IMAGE)
}

/// Returns the path of the program that the test image contains.
pub(crate) fn busybox() -> Option<&'static Path> {
    ["/bin/busybox", "/usr/bin/busybox"].map(Path::new).into_iter().find(|path| path.exists())
}

/// Removes the volumes of a case, since they outlive jobs.
pub(crate) fn left_by(place: &Place) {
    let volumes = ask(&place.engine, &["volume", "ls", "--quiet", "--filter", "name=windlass-volume-"]);
    for volume in volumes.iter().filter(|volume| volume.ends_with(place.runtime.client())) {
        ask(&place.engine, &["volume", "rm", volume]);
    }
}

/// Loads the test image.
pub(crate) async fn load(engine: &Engine) {
    let image = ImageBuilder::new(IMAGE).busybox(busybox().unwrap()).unwrap().build().unwrap();
    engine.load_image(image.archive().to_vec()).await.unwrap();
}

/// Returns the containers that carry the label of the client `client`. The function asks the program `docker`, so the
/// result does not depend on the tested code.
pub(crate) fn left(engine: &Engine, client: &str) -> BTreeSet<String> {
    let label = format!("label=io.windlass.client={client}");
    ask(engine, &["ps", "--all", "--filter", &label, "--format", "container {{.Names}} {{.Status}}"])
}

pub(crate) fn ask(engine: &Engine, args: &[&str]) -> BTreeSet<String> {
    let output = Command::new("docker")
        .env("DOCKER_HOST", engine.endpoint().host.to_string())
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

pub(crate) fn sh(script: &str) -> Job {
    Job::command("sh").args(["-c", script])
}
