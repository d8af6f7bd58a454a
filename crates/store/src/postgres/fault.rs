//! From PostgreSQL's errors to ours.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_postgres::error::SqlState;

use crate::error::StoreError;

/// What goes wrong inside, before it is known which store it is.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server refuses, or is gone.
    Sql(tokio_postgres::Error),
    /// What is stored can't be read.
    Damaged(String),
    /// It has its final form.
    Store(StoreError),
}

pub(super) type Outcome<T> = Result<T, Fault>;

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// Tells whether a record was refused because what it belongs to is not there.
    pub(super) fn is_orphan(&self) -> bool {
        matches!(self, Self::Sql(error) if error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION))
    }

    /// Makes it the error of a store, named as in `place`.
    pub(super) fn at(self, place: &str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Damaged(detail) => StoreError::Corrupt { path: place.into(), detail },
            Self::Sql(error) => of_server(&error, place),
        }
    }
}

fn of_server(error: &tokio_postgres::Error, place: &str) -> StoreError {
    let path = PathBuf::from(place);
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => StoreError::Full { path },
        Some(code) if is_locked(code) => StoreError::Locked { path },
        Some(code) if is_read_only(code) => StoreError::ReadOnly { path },
        Some(code) if !is_connection(code) => StoreError::Database { path, detail: told(error) },
        _ => StoreError::Io {
            action: "reach the store",
            path,
            source: Arc::new(io::Error::other(told(error))),
        },
    }
}

fn is_locked(code: &SqlState) -> bool {
    [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::QUERY_CANCELED].contains(code)
}

fn is_read_only(code: &SqlState) -> bool {
    [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::INSUFFICIENT_PRIVILEGE].contains(code)
}

/// Classes of which the user, not the program, has to hear: connection, authorization, no such database, shutdown,
/// too many connections.
fn is_connection(code: &SqlState) -> bool {
    ["08", "28", "3D", "57P", "53"].iter().any(|class| code.code().starts_with(class))
}

/// Writes what the server said, else what happened on the way to it.
fn told(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
