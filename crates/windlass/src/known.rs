//! Finding existing assemblies.

use std::sync::Arc;

use windlass_engine::EngineError;
use windlass_model::AssemblyName;
use windlass_store::{Snapshot, Store};

use crate::error::Error;
use crate::open::Windlass;

impl Windlass {
    /// Returns the store, which must exist if the assembly does.
    pub(crate) async fn store_of(&self, name: &AssemblyName) -> Result<Arc<dyn Store>, Error> {
        let unknown = || EngineError::Unknown { name: name.clone(), known: Vec::new() };
        Ok(self.store(false).await?.ok_or_else(unknown)?)
    }

    /// Returns the records of an existing assembly.
    pub(crate) async fn snapshot(&self, name: &AssemblyName) -> Result<Snapshot, Error> {
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
