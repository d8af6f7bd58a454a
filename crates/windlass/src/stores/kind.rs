//! The contract of a kind of store.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_model::Clock;
use windlass_model::id::Entropy;
use windlass_store::{KeySource, Store};

use crate::error::Error;

/// A kind of store, such as SQLite or PostgreSQL. The address of a store determines its kind.
#[async_trait]
pub(crate) trait StoreKind: Send + Sync {
    /// Returns the name of the kind, for messages.
    fn name(&self) -> &'static str;

    /// Returns the form of the addresses of this kind, such as `postgres://USER@HOST/DATABASE`. Returns
    /// `None` if a store of this kind has no address.
    fn form(&self) -> Option<&'static str>;

    /// Tells whether a text is meant as an address of this kind, even if the address is misspelt.
    fn owns(&self, address: &str) -> bool;

    /// Returns the path or the address of the store, for messages. The text contains no password.
    fn place(&self, settings: &StoreSettings) -> String;

    /// Returns a notice for the user if the store does not exist, but seems to have existed before.
    fn lost(&self, _: &StoreSettings) -> Option<String> {
        None
    }

    /// Opens the store. Returns `None` if no store exists and `create` is false.
    async fn open(&self, settings: &StoreSettings, create: bool) -> Result<Option<Arc<dyn Store>>, Error>;
}

#[derive(Clone)]
pub(crate) struct StoreSettings {
    /// The address of the store; `None` for a store in the state folder.
    pub(crate) address: Option<String>,
    /// The state folder of the project.
    pub(crate) folder: PathBuf,
    pub(crate) key: KeySource,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}
