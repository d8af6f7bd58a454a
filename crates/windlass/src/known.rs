//! Methods of [`Windlass`] that give access to the store of the project and to the recorded assemblies. Further
//! methods return groups of functions, such as [`Views`].

use std::sync::Arc;

use windlass_engine::EngineError;
use windlass_model::AssemblyName;
use windlass_store::{Snapshot, Store};

use crate::applications::{Applications, Environments};
use crate::error::Error;
use crate::open::Windlass;
use crate::stores;
use crate::upkeep::Upkeep;
use crate::view::Views;

impl Windlass {
    /// Returns the views of the project's recorded assemblies.
    pub fn views(&self) -> Views<'_> {
        Views { windlass: self }
    }

    /// Returns the project's published applications.
    pub fn applications(&self) -> Applications<'_> {
        Applications { windlass: self }
    }

    /// Returns the project's environments.
    pub fn environments(&self) -> Environments<'_> {
        Environments { windlass: self }
    }

    /// Returns the maintenance operations on the project's records.
    pub fn upkeep(&self) -> Upkeep<'_> {
        Upkeep { windlass: self }
    }

    /// Returns the project's store. Returns `None` if no store exists and `create` is false.
    ///
    /// The store is opened once. While another caller opens the store, this call waits for the result.
    pub(crate) async fn store(&self, create: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        // Boxed because the future of opening is large and needed only once.
        let opened = self.store.get_or_try_init(|| Box::pin(self.open_store(create))).await;
        match opened {
            Ok(store) => Ok(Some(store.clone())),
            Err(Unopened::NoStore) => Ok(None),
            Err(Unopened::Failed(error)) => Err(error),
        }
    }

    /// Opens the store. If there is no store, creates one (`create` is true) or fails (`create` is false). After
    /// opening the store, completes or rolls back each interrupted export of an assembly.
    async fn open_store(&self, create: bool) -> Result<Arc<dyn Store>, Unopened> {
        let store = match &self.settings.store {
            Some(store) => store.clone(),
            None => self.open_own_store(create).await?,
        };
        self.upkeep().settle_exports(&store).await?;
        Ok(store)
    }

    /// Opens the store in the state folder, or at the address that the settings contain.
    async fn open_own_store(&self, create: bool) -> Result<Arc<dyn Store>, Unopened> {
        let settings = self.store_settings();
        let kind = stores::of(settings.address.as_deref())?;
        if let Some(notice) = kind.lost(&settings) {
            self.lost_store.call_once(|| self.tell(&notice));
        }
        kind.open(&settings, create).await?.ok_or(Unopened::NoStore)
    }

    /// Returns the project's store, so that the caller can read the assembly `name` from it. If the project has no
    /// store, the assembly does not exist, and the method fails with [`EngineError::Unknown`]. If the project has no
    /// state folder, the method fails with [`Error::NoState`].
    pub(crate) async fn store_of(&self, name: &AssemblyName) -> Result<Arc<dyn Store>, Error> {
        if let Some(store) = self.store(false).await? {
            return Ok(store);
        }
        let is_in_folder = self.store_settings().address.is_none();
        if is_in_folder && !self.project.state_dir().exists() {
            return Err(Error::NoState { name: name.clone(), folder: self.project.root().to_owned() });
        }
        Err(EngineError::Unknown { name: name.clone(), known: Vec::new() }.into())
    }

    /// Returns the records of an existing assembly, without the values of its secrets.
    pub(crate) async fn snapshot(&self, name: &AssemblyName) -> Result<Snapshot, Error> {
        let store = self.store_of(name).await?;
        match store.load_sealed(name).await? {
            Some(snapshot) => Ok(snapshot),
            None => Err(self.unknown(store, name).await),
        }
    }

    /// Returns the records of an existing assembly, with the values of its secrets.
    pub(crate) async fn open_snapshot(&self, name: &AssemblyName) -> Result<Snapshot, Error> {
        let store = self.store_of(name).await?;
        match store.load(name).await? {
            Some(snapshot) => Ok(snapshot),
            None => Err(self.unknown(store, name).await),
        }
    }

    /// Returns the error for an assembly that is not in the store.
    pub(crate) async fn unknown(&self, store: Arc<dyn Store>, name: &AssemblyName) -> Error {
        self.engine(store).unknown(name).await.unwrap_or_else(|error| error).into()
    }
}

/// The reason why [`Windlass::open_store`] has not opened the store. The reason is not kept. The next call of
/// [`Windlass::store`] tries again to open the store.
enum Unopened {
    /// No store exists, and the caller did not want to create one.
    NoStore,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Unopened {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}
