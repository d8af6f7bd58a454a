//! The contract of a kind of store.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_model::Clock;
use windlass_model::id::Entropy;
use windlass_store::{KeySource, Store};

use crate::error::Error;

/// A kind of store.
#[async_trait]
pub(crate) trait StoreKind: Send + Sync {
    /// Returns its name, for messages.
    fn name(&self) -> &'static str;

    /// Returns the form of its addresses, such as `postgres://USER@HOST/DATABASE`; `None` if it has no
    /// addresses.
    fn form(&self) -> Option<&'static str>;

    /// Tells whether an address belongs to this kind, including a misspelt one.
    fn owns(&self, address: &str) -> bool;

    /// Returns the place of the state, for messages. It contains no password.
    fn place(&self, settings: &StoreSettings) -> String;

    /// Opens the store. Returns `None` if there is no store and `create` is not set.
    async fn open(&self, settings: &StoreSettings, create: bool) -> Result<Option<Arc<dyn Store>>, Error>;
}

/// The settings of a store.
#[derive(Clone)]
pub(crate) struct StoreSettings {
    /// Its address; `None` for the state folder.
    pub(crate) address: Option<String>,
    /// The state folder of the project.
    pub(crate) folder: PathBuf,
    pub(crate) key: KeySource,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}
