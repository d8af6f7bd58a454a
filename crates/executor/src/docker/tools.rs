//! The image with the static program `docker/init`, and the containers that are made of this image. Each client
//! keeps one of these containers running, its *anchor*. The volume of the anchor contains the static program,
//! and the containers of all jobs of the client mount this volume. Jobs without a network of their own use the
//! anchor's network. Other containers of the image are short-lived, and prepare volumes.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bollard::{
    models::{ContainerCreateBody, HostConfig, Mount, MountType, MountVolumeOptions, VolumeCreateRequest},
    query_parameters::{AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, RemoveVolumeOptions},
};
use futures::StreamExt;
use tokio::{sync::OnceCell, task::AbortHandle};

use crate::{
    Owner, Volume,
    docker::{
        Description, Engine, EngineError, EngineKind,
        container::{INIT, TOOLS, former_volume_name, preparing_name, strict, volume_name},
        images,
        input::FOLDER,
        labels,
    },
    image::build::{BuiltImage, ImageBuilder},
};

/// The static program that is the first process of each fresh container; empty if the program could not be
/// built.
pub(super) static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/windlass-init"));

/// Folder with mode 0777 in the image that [`image`] builds. Docker gives a new volume the mode of the folder at which
/// the volume is mounted. So all users may write to a new volume that is mounted at `PREPARED`.
const PREPARED: &str = "/volume";

/// Builds the image `windlass/tools:1`, which contains [`PROGRAM`] and the mount points of volumes. Returns an error if
/// `PROGRAM` is empty.
pub(crate) fn image() -> Result<BuiltImage, EngineError> {
    let built_without = || EngineError::Protocol {
        action: "run jobs".to_owned(),
        problem:
            "this program was built without the static program that runs inside containers: build it where \
            `rustc -C target-feature=+crt-static` can link (glibc's libc.a)"
                .to_owned(),
    };
    if PROGRAM.is_empty() {
        return Err(built_without());
    }
    ImageBuilder::new("windlass/tools:1")
        .file(INIT.trim_start_matches('/'), 0o755, PROGRAM)
        .folder(PREPARED.trim_start_matches('/'), 0o777)
        .folder(FOLDER.trim_start_matches('/'), 0o777)
        .entrypoint([INIT])
        .label("io.windlass.role", "tools")
        .build()
        .map_err(|error| EngineError::Protocol { action: "run jobs".to_owned(), problem: error.to_string() })
}

/// The helper containers of one client: its anchor, and short-lived containers that prepare volumes (see the
/// [module](self)).
pub(crate) struct Tools {
    engine: Engine,
    client: String,
    cgroup_parent: Option<String>,
    image: BuiltImage,
    /// The client's [`Anchor`]. The cell is empty until the anchor has been started. If a caller is dropped while it
    /// starts the anchor, the next caller completes the start.
    anchor: Mutex<Arc<OnceCell<Anchor>>>,
    /// The volumes that are being prepared, by name. An entry exists only while callers wait for the
    /// preparation. Afterwards, the next caller asks the container engine whether the volume exists, because
    /// a prepared volume may be removed at any time.
    preparing: Mutex<HashMap<String, Weak<OnceCell<()>>>>,
    next: AtomicU64,
}

/// A running anchor. An anchor is a container that a client keeps running (see the [module](self)). If this value
/// is dropped or the client dies, the container ends, and the container engine removes the container.
struct Anchor {
    name: String,
    /// Task that keeps the connection to the container open. When the task ends, the container ends.
    connection: AbortHandle,
    ended: Arc<AtomicBool>,
}

impl Anchor {
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Tools {
    pub(crate) fn new(
        engine: Engine,
        client: String,
        cgroup_parent: Option<String>,
    ) -> Result<Self, EngineError> {
        let image = image()?;
        Ok(Self {
            engine,
            client,
            cgroup_parent,
            image,
            anchor: Mutex::default(),
            preparing: Mutex::default(),
            next: AtomicU64::new(0),
        })
    }

    /// Returns the name of the client's [`Anchor`]. Starts a new anchor if none runs, or if the current anchor has the
    /// name `instead_of`. A caller passes the name of an anchor as `instead_of` if the caller has found that this
    /// anchor no longer runs.
    pub(crate) async fn anchor(
        &self,
        engine: &Description,
        instead_of: Option<&str>,
    ) -> Result<String, EngineError> {
        let current = self.current_anchor(instead_of);
        let anchor = current.get_or_try_init(|| self.start_anchor(engine)).await?;
        Ok(anchor.name.clone())
    }

    /// Returns the cell `self.anchor`, which contains the client's [`Anchor`] or is empty. If the anchor in the
    /// cell no longer runs, the function first replaces the cell by an empty cell.
    ///
    /// The caller may know that an anchor no longer runs, and then passes the name of this anchor as `instead_of`.
    fn current_anchor(&self, instead_of: Option<&str>) -> Arc<OnceCell<Anchor>> {
        let mut current = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        if current.get().is_some_and(|anchor| anchor.has_ended() || instead_of == Some(&anchor.name)) {
            *current = Arc::default();
        }
        current.clone()
    }

    async fn start_anchor(&self, engine: &Description) -> Result<Anchor, EngineError> {
        images::load_if_missing(&self.engine, &self.image).await?;
        let name = self.fresh("anchor");
        let host = HostConfig {
            network_mode: Some("none".to_owned()),
            auto_remove: Some(true),
            cgroup_parent: self.cgroup_parent.clone(),
            ..strict(engine)
        };
        let body = ContainerCreateBody {
            cmd: Some(vec!["anchor".to_owned()]),
            user: Some("65534:65534".to_owned()),
            open_stdin: Some(true),
            stdin_once: Some(true),
            attach_stdin: Some(true),
            // The container engine creates this volume and fills it from the image. The containers of jobs
            // mount the volume, too, read-only.
            volumes: Some(vec![TOOLS.to_owned()]),
            ..self.body("anchor", host)
        };
        self.create(&name, body).await?;
        let attach = AttachContainerOptionsBuilder::default().stream(true).stdin(true).stdout(true).build();
        let attached = async {
            let docker = self.engine.client();
            let attached = self
                .engine
                .call("attach to a container", docker.attach_container(&name, Some(attach)))
                .await?;
            self.engine.call("start a container", docker.start_container(&name, None)).await?;
            Ok(attached)
        };
        let attached = match attached.await {
            Ok(attached) => attached,
            Err(error) => {
                self.remove(&name).await;
                return Err(error);
            }
        };
        let ended = Arc::new(AtomicBool::new(false));
        let (mut output, input, seen) = (attached.output, attached.input, ended.clone());
        let connection = tokio::spawn(async move {
            while let Some(Ok(_)) = output.next().await {}
            seen.store(true, Ordering::Relaxed);
            drop(input);
        });
        Ok(Anchor { name, connection: connection.abort_handle(), ended })
    }

    /// Prepares a volume to which the user `uid` of a job may write. For this purpose, creates a helper container with
    /// the volume, and returns the name of the helper container. The helper container is never started. When the caller
    /// has created the job's container with the same volume, the caller [removes](Self::remove_shell) the helper
    /// container. Returns `None` if the user may write to a new volume without this preparation.
    pub(crate) async fn scratch(
        &self,
        engine: &Description,
        uid: u32,
    ) -> Result<Option<String>, EngineError> {
        // Podman makes the user of the container the owner of a new volume, and root may write to any volume.
        // In both cases, the job can write to the volume without a preparation.
        if engine.kind == EngineKind::Podman || uid == 0 {
            return Ok(None);
        }
        let name = self.fresh("scratch");
        let body = ContainerCreateBody {
            volumes: Some(vec![FOLDER.to_owned()]),
            ..self.body("scratch", HostConfig { network_mode: Some("none".to_owned()), ..strict(engine) })
        };
        self.create(&name, body).await?;
        Ok(Some(name))
    }

    /// Creates the volume of an owner if it does not exist. With Docker, the function also gives all users the
    /// permission to write to the new volume. Podman needs no such step: a new volume belongs to the user of the
    /// first container that mounts it.
    pub(crate) async fn volume(
        &self,
        engine: &Description,
        owner: &Owner,
        volume: &Volume,
    ) -> Result<(), EngineError> {
        let source = volume_name(owner, volume);
        // A volume that another job is creating at this moment is not prepared yet.
        let preparation = self.preparation(&source);
        preparation.get_or_try_init(|| self.prepare_volume(engine, owner, volume, source)).await?;
        Ok(())
    }

    /// Returns the cell that is set when a volume is prepared. All callers that need the volume at the same
    /// time get the same cell, so only one of them prepares the volume.
    fn preparation(&self, source: &str) -> Arc<OnceCell<()>> {
        let mut preparing = self.preparing.lock().unwrap_or_else(PoisonError::into_inner);
        preparing.retain(|_, cell| cell.strong_count() > 0);
        let under_way = preparing.get(source).and_then(Weak::upgrade);
        under_way.unwrap_or_else(|| {
            let cell = Arc::default();
            preparing.insert(source.to_owned(), Arc::downgrade(&cell));
            cell
        })
    }

    async fn prepare_volume(
        &self,
        engine: &Description,
        owner: &Owner,
        volume: &Volume,
        source: String,
    ) -> Result<(), EngineError> {
        let docker = self.engine.client();
        let marker = preparing_name(owner, volume);
        let exists = self.has_volume(&source).await?;
        if exists && (engine.kind == EngineKind::Podman || !self.has_volume(&marker).await?) {
            return Ok(());
        }
        let former = former_volume_name(volume);
        if !exists && self.has_volume(&former).await? {
            return Err(EngineError::FormerVolume { volume: volume.name.to_string(), former, name: source });
        }
        let labels = |role: &str| {
            let labels = [(labels::ROLE, role), (labels::OWNER, owner.as_str())];
            Some(labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
        };
        let create = async |name: &str, role: &str| {
            let name = Some(name.to_owned());
            let request =
                VolumeCreateRequest { name, labels: labels(role), ..VolumeCreateRequest::default() };
            self.engine.call("create a volume", docker.create_volume(request)).await
        };
        if engine.kind == EngineKind::Podman {
            create(&source, "volume").await?;
            return Ok(());
        }
        // The container engine creates the volume and prepares it when it creates the container. If this process
        // is killed meanwhile, the engine may stop between the two. The marker then remains, and the next process
        // prepares the volume again.
        create(&marker, "preparing").await?;
        let mount = Mount {
            typ: Some(MountType::VOLUME),
            source: Some(source),
            target: Some(PREPARED.to_owned()),
            volume_options: Some(MountVolumeOptions {
                labels: labels("volume"),
                ..MountVolumeOptions::default()
            }),
            ..Mount::default()
        };
        let host =
            HostConfig { network_mode: Some("none".to_owned()), mounts: Some(vec![mount]), ..strict(engine) };
        let name = self.fresh("volume");
        self.create(&name, self.body("volume", host)).await?;
        self.remove(&name).await;
        let removed = docker.remove_volume(&marker, None::<RemoveVolumeOptions>);
        match self.engine.call("remove a volume", removed).await {
            Err(error) if error.is_absent() => Ok(()),
            removed => removed,
        }
    }

    async fn has_volume(&self, name: &str) -> Result<bool, EngineError> {
        let docker = self.engine.client();
        match self.engine.call("look for a volume", docker.inspect_volume(name)).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_absent() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the container of the client's [`Anchor`], if the client has one, and waits until the container
    /// is gone.
    pub(crate) async fn close(&self) {
        let current = std::mem::take(&mut *self.anchor.lock().unwrap_or_else(PoisonError::into_inner));
        // If another task is starting the anchor, this call waits until the start is complete. The call starts
        // no anchor itself.
        if let Ok(anchor) = current.get_or_try_init(async || Err(())).await {
            self.remove(&anchor.name).await;
        }
    }

    /// Removes a container with its anonymous volumes. If the removal fails, the error is ignored, because it does not
    /// affect a job. A later clean-up finds the container by the label of its client, and removes it.
    pub(crate) async fn remove(&self, name: &str) {
        let _swept_later = self.engine.remove_container(name, true).await;
    }

    /// Removes a helper container that has prepared a volume. The volume stays, because another container uses it.
    pub(crate) async fn remove_shell(&self, name: &str) {
        let _swept_later = self.engine.remove_container(name, false).await;
    }

    fn fresh(&self, role: &str) -> String {
        format!("windlass-{role}-{}-{}", self.client, self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn body(&self, role: &str, host: HostConfig) -> ContainerCreateBody {
        ContainerCreateBody {
            image: Some(self.image.id().to_owned()),
            labels: Some(labels::of_role(role, &self.client)),
            host_config: Some(host),
            ..ContainerCreateBody::default()
        }
    }

    async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<(), EngineError> {
        let options = CreateContainerOptionsBuilder::default().name(name).build();
        let create = || {
            self.engine.call(
                "create a container",
                self.engine.client().create_container(Some(options.clone()), body.clone()),
            )
        };
        match create().await {
            // The image was removed from the engine. Most of the time no container uses it, so a clean-up may
            // remove it.
            Err(error) if error.is_absent() => {
                images::load_if_missing(&self.engine, &self.image).await?;
                create().await.map(|_| ())
            }
            made => made.map(|_| ()),
        }
    }
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tools({})", self.client)
    }
}
