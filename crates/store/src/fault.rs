//! What goes wrong inside a store, before it is known which store it is.

use std::path::Path;

use crate::error::StoreError;

/// What a database says when it refuses.
pub(crate) trait Refusal {
    /// Tells whether a record was refused because what it belongs to is not there.
    fn is_orphan(&self) -> bool;

    /// Makes it the error of the store at `place`.
    fn at(&self, place: &Path) -> StoreError;
}

/// What goes wrong inside.
#[derive(Debug)]
pub(crate) enum Fault<E> {
    /// The database refuses, or is gone.
    Sql(E),
    /// What is stored can't be read.
    Damaged(String),
    /// It has its final form.
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
    /// Tells whether a record was refused because what it belongs to is not there.
    pub(crate) fn is_orphan(&self) -> bool {
        matches!(self, Self::Sql(error) if error.is_orphan())
    }

    /// Makes it the error of the store at `place`.
    pub(crate) fn at(self, place: &Path) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Damaged(detail) => StoreError::Corrupt { path: place.to_owned(), detail },
            Self::Sql(error) => error.at(place),
        }
    }
}
