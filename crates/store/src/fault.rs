//! Internal errors of a store, which do not contain the path of the store yet.

use std::path::Path;

use crate::error::StoreError;

/// An error that a database returned.
pub(crate) trait Refusal {
    /// Tells whether the database refused a record because the record refers to a missing record.
    fn is_orphan(&self) -> bool;

    /// Converts the error into a store error with the path `place`.
    fn at(&self, place: &Path) -> StoreError;
}

/// An error inside a store. `E` is the error type of the database, such as `rusqlite::Error`. [`at`](Self::at) converts
/// the error into a [`StoreError`], and adds the path of the store.
#[derive(Debug)]
pub(crate) enum Fault<E> {
    /// The database returned an error, or can't be reached.
    Sql(E),
    /// Stored data can't be read.
    Damaged(String),
    /// An error that is already a store error.
    Store(StoreError),
}

impl<E: Refusal> From<E> for Fault<E> {
    fn from(error: E) -> Self {
        Self::Sql(error)
    }
}

impl<E> From<StoreError> for Fault<E> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<E: Refusal> Fault<E> {
    /// Tells whether a record was refused because the record that it refers to is missing.
    pub(crate) fn is_orphan(&self) -> bool {
        matches!(self, Self::Sql(error) if error.is_orphan())
    }

    /// Converts the error into a store error with the path `place`.
    pub(crate) fn at(self, place: &Path) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Damaged(detail) => StoreError::Corrupt { path: place.to_owned(), detail },
            Self::Sql(error) => error.at(place),
        }
    }
}
