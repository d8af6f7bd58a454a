//! What can be asked: up, down, retry.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use windlass_engine::{Ended, Prepared, Stop};
use windlass_model::record::{EventRecord, ProcessRecord};
use windlass_model::{AssemblyName, Seq};
use windlass_plan::Plan;
use windlass_source::Diagnostics;
use windlass_store::{Store, Watch};

use crate::desired::{Asked, desired};
use crate::error::Error;
use crate::open::Windlass;
use crate::view::plan::PlanView;

/// An assembly to bring up, or to plan.
#[derive(Debug, Clone)]
#[must_use]
pub struct Order {
    pub(crate) file: PathBuf,
    pub(crate) name: Option<AssemblyName>,
    pub(crate) parameters: BTreeMap<String, Value>,
    pub(crate) open: Vec<String>,
    pub(crate) catalog: Vec<PathBuf>,
}

impl Order {
    /// Names the descriptor: its file or its folder.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            name: None,
            parameters: BTreeMap::new(),
            open: Vec::new(),
            catalog: Vec::new(),
        }
    }

    /// Gives the assembly a name; else it is the middle part of its descriptor's name.
    pub fn name(mut self, name: Option<AssemblyName>) -> Self {
        self.name = name;
        self
    }

    /// Gives a property a value.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Gives a property a value that others could see, as on a command line: a warning where it is a secret.
    pub fn open_parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        self.open.push(name.clone());
        self.parameter(name, value)
    }

    /// Adds folders in which descriptors are looked for.
    pub fn catalog(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.catalog.extend(folders);
        self
    }
}

/// A process that is ready to run.
#[must_use = "nothing happens before it is run"]
pub struct Started {
    prepared: Prepared,
    warnings: Diagnostics,
    store: Arc<dyn Store>,
    from: Seq,
}

impl Started {
    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        self.prepared.plan()
    }

    /// Returns the plan as it is shown.
    pub fn plan_view(&self) -> PlanView {
        PlanView::new(self.prepared.topology().name().clone(), self.prepared.plan())
    }

    /// Returns the process.
    pub fn process(&self) -> &ProcessRecord {
        self.prepared.process()
    }

    /// Returns what is worth a remark about the descriptors.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Follows what happens to the assembly from here on. Nothing is told before it is durable.
    pub fn follow(&self) -> Following {
        Following {
            store: self.store.clone(),
            watch: self.store.watch(self.from),
            seen: self.from,
            assembly: self.prepared.process().assembly.clone(),
        }
    }

    /// Runs the process to its end.
    ///
    /// # Errors
    ///
    /// When the store fails. What was committed stays; the same intent again goes on from there.
    pub async fn run(self, stop: &Stop) -> Result<Ended, Error> {
        Ok(self.prepared.run(stop).await?)
    }
}

/// What happens to an assembly, as it becomes durable.
pub struct Following {
    store: Arc<dyn Store>,
    watch: Watch,
    seen: Seq,
    assembly: AssemblyName,
}

impl Following {
    /// Waits for more to happen and returns it, in order. May be dropped while it waits; nothing is missed.
    ///
    /// # Errors
    ///
    /// When the store can't be read.
    pub async fn next(&mut self) -> Result<Vec<EventRecord>, Error> {
        loop {
            self.watch.next().await?;
            let events = self.ready().await?;
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }

    /// Returns what has happened and was not returned yet.
    ///
    /// # Errors
    ///
    /// When the store can't be read.
    pub async fn ready(&mut self) -> Result<Vec<EventRecord>, Error> {
        let events = self.store.events_of(&self.assembly, self.seen, 10_000).await?;
        if let Some(last) = events.last() {
            self.seen = last.seq;
        }
        Ok(events)
    }
}

impl Windlass {
    /// Prepares to bring an assembly up: a new one, or one that is there and lacks something.
    ///
    /// # Errors
    ///
    /// Everything that stands against it. Nothing has been changed then.
    pub async fn up(&self, order: Order, stop: &Stop) -> Result<Started, Error> {
        let (desired, warnings) = desired(&self.asked(&order))?;
        let store = if let Some(store) = self.store(false).await? {
            store
        } else {
            // The first assembly of a project: what is refused shall leave no store behind.
            self.means().preview_up(None, desired.clone())?;
            self.store_or_new().await?
        };
        let from = store.last_event().await?;
        let prepared = self.engine(store.clone()).prepare_up(desired, &self.holder(), stop).await?;
        Ok(Started { prepared, warnings, store, from })
    }

    /// Says what [`up`](Self::up) would do, without changing anything.
    ///
    /// # Errors
    ///
    /// Everything that stands against it.
    pub async fn plan(&self, order: &Order) -> Result<(PlanView, Diagnostics), Error> {
        let (desired, warnings) = desired(&self.asked(order))?;
        let name = desired.topology.name().clone();
        let preview = match self.store(false).await? {
            Some(store) => self.engine(store).preview_up(desired).await?,
            None => self.means().preview_up(None, desired)?,
        };
        Ok((PlanView::new(name, &preview.plan), warnings))
    }

    /// Prepares to take an assembly down.
    ///
    /// # Errors
    ///
    /// Everything that stands against it. Nothing has been changed then.
    pub async fn down(&self, name: &AssemblyName, stop: &Stop) -> Result<Started, Error> {
        let store = self.store_of(name).await?;
        let from = store.last_event().await?;
        let prepared = self.engine(store.clone()).prepare_down(name, &self.holder(), stop).await?;
        Ok(Started { prepared, warnings: Diagnostics::default(), store, from })
    }

    /// Prepares to go on with what was asked of an assembly before. `assume` says of all calls whose end is not known
    /// whether they happened.
    ///
    /// # Errors
    ///
    /// Everything that stands against it.
    pub async fn retry(
        &self,
        name: &AssemblyName,
        assume: Option<bool>,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let store = self.store_of(name).await?;
        let from = store.last_event().await?;
        let prepared = self.engine(store.clone()).prepare_retry(name, assume, &self.holder(), stop).await?;
        Ok(Started { prepared, warnings: Diagnostics::default(), store, from })
    }

    fn asked<'a>(&'a self, order: &'a Order) -> Asked<'a> {
        Asked {
            project: &self.project,
            drivers: self.drivers(),
            file: &order.file,
            name: order.name.as_ref(),
            parameters: &order.parameters,
            open: &order.open,
            catalog: &order.catalog,
        }
    }

    async fn store_or_new(&self) -> Result<Arc<dyn Store>, Error> {
        match self.store(true).await? {
            Some(store) => Ok(store),
            None => Err(Error::Store(windlass_store::StoreError::Closed)),
        }
    }

    /// Returns the store in which an assembly should be.
    pub(crate) async fn store_of(&self, name: &AssemblyName) -> Result<Arc<dyn Store>, Error> {
        let unknown = || windlass_engine::EngineError::Unknown { name: name.clone(), known: Vec::new() };
        Ok(self.store(false).await?.ok_or_else(unknown)?)
    }
}
