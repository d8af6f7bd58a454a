//! The kinds of stores. Each kind is one module, and one line of [`KINDS`].

#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_model::Clock;
use windlass_model::id::Entropy;
use windlass_store::{KeySource, Store, StoreError, without_password};

use crate::error::Error;

/// All kinds. The first one keeps the state of projects without an address.
const KINDS: &[&dyn StoreKind] = &[
    &sqlite::Sqlite,
    #[cfg(feature = "postgres")]
    &postgres::Postgres,
];

/// A kind of store.
#[async_trait]
pub(crate) trait StoreKind: Send + Sync {
    /// Returns its name, for messages.
    fn name(&self) -> &'static str;

    /// Returns the form of its addresses, such as `postgres://USER@HOST/DATABASE`; `None` if it has none.
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

/// Finds the kind of an address. Without an address it is the first kind.
///
/// # Errors
///
/// If no kind of this build has such addresses. The message lists the forms of addresses.
pub(crate) fn of(address: Option<&str>) -> Result<&'static dyn StoreKind, Error> {
    let Some(address) = address else { return Ok(KINDS[0]) };
    if let Some(kind) = KINDS.iter().find(|kind| kind.owns(address)) {
        return Ok(*kind);
    }
    let shown = without_password(address);
    let forms: Vec<_> = KINDS.iter().filter_map(|kind| Some(format!("`{}`", kind.form()?))).collect();
    if forms.is_empty() {
        return Err(Error::NoSuchState(shown));
    }
    let form = format!("write it as {}", forms.join(" or "));
    let why = match address.split_once("://") {
        _ if address.is_empty() => format!("it is empty; {form}"),
        Some((scheme, _)) => format!(
            "`{scheme}` is not a supported scheme; {form}, or omit the address to keep the state in `.windlass`"
        ),
        None if address.contains('/') || std::path::Path::new(address).exists() => format!(
            "it is a path, and files keep the state in `.windlass` of the project's folder only; omit the address, or for a \
             server, {form}"
        ),
        None => format!("{form}, or omit it to keep the state in `.windlass`"),
    };
    Err(StoreError::Address { address: shown, why }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(address: &str) -> String {
        of(Some(address)).map(|kind| kind.name()).unwrap_err().to_string()
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn an_address_has_one_kind() {
        for address in ["postgres://me@db/shop", "postgresql://db/shop", "host=db user=me", "pg://db/shop"] {
            assert_eq!(of(Some(address)).unwrap().name(), "PostgreSQL", "{address}");
        }
        for (address, why) in [
            ("", "it is empty"),
            ("sqlite:///x", "`sqlite` is not a supported scheme"),
            (".", "it is a path"),
            ("./state.db", "it is a path"),
            ("shop", "write it as `postgres://USER@HOST/DATABASE`"),
            ("mysql://me:hunter2@db/x", "`mysql` is not a supported scheme"),
        ] {
            let refused = refusal(address);
            assert!(
                refused.contains(why) && refused.contains("postgres://USER@HOST"),
                "{address}: {refused}"
            );
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }

    #[test]
    #[cfg(not(feature = "postgres"))]
    fn a_build_without_servers_names_the_feature() {
        assert!(refusal("postgres://db/shop").contains("without the feature `postgres`"));
    }
}
