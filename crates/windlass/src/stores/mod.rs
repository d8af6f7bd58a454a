//! The kinds of stores. Each kind is one module, and one line of [`KINDS`].

mod kind;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;

use windlass_store::{StoreError, without_password};

use crate::error::Error;

pub(crate) use kind::{StoreKind, StoreSettings};

/// All kinds of stores. The first kind is used if a project names no store address.
const KINDS: &[&dyn StoreKind] = &[
    &sqlite::Sqlite,
    #[cfg(feature = "postgres")]
    &postgres::Postgres,
];

/// Returns the kind of store to which an address belongs. Without an address, returns the first kind.
///
/// # Errors
///
/// Fails if no kind of store of this build supports the address. The message lists the forms of addresses.
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
        of(Some(address)).map(StoreKind::name).unwrap_err().to_string()
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
