//! The store in a PostgreSQL database, which several machines share.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_store::postgres::{self, Options};
use windlass_store::{KeySource, PostgresStore, Store, StoreError, without_password};

use super::kind::{StoreKind, StoreSettings};
use crate::blocking::blocking;
use crate::error::Error;

pub(super) struct Postgres;

#[async_trait]
impl StoreKind for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn form(&self) -> Option<&'static str> {
        Some(postgres::FORM)
    }

    fn owns(&self, address: &str) -> bool {
        postgres::is_address(address)
    }

    fn place(&self, settings: &StoreSettings) -> String {
        settings.address.as_deref().map(without_password).unwrap_or_default()
    }

    async fn open(&self, settings: &StoreSettings, create: bool) -> Result<Option<Arc<dyn Store>>, Error> {
        let StoreSettings { address, key, clock, entropy, .. } = settings.clone();
        if let (true, KeySource::File(file)) = (create, key.clone()) {
            blocking(move || make_folder_of(&file)).await?;
        }
        let options = Options::new(key, clock, entropy).create(create);
        match PostgresStore::open(&address.unwrap_or_default(), options).await {
            Ok(store) => Ok(Some(Arc::new(store))),
            Err(StoreError::Missing { .. }) if !create => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Creates the folder of the key if it is missing. Only the present user can access the new folder.
fn make_folder_of(key: &Path) -> Result<(), Error> {
    let Some(folder) = key.parent() else { return Ok(()) };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| Error::Write { path: folder.to_owned(), source })
}
