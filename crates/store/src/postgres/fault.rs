//! Converts PostgreSQL errors to [`StoreError`]s, and chooses the reaction to a failed transaction.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio_postgres::error::SqlState;

use crate::error::StoreError;
use crate::fault::{self, Refusal};

pub(super) type Fault = fault::Fault<tokio_postgres::Error>;

pub(super) type Outcome<T> = Result<T, Fault>;

impl Refusal for tokio_postgres::Error {
    fn is_orphan(&self) -> bool {
        self.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION)
    }

    fn at(&self, place: &Path) -> StoreError {
        of_server(self, place)
    }
}

fn of_server(error: &tokio_postgres::Error, place: &Path) -> StoreError {
    let path = place.to_owned();
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => StoreError::Full { path },
        Some(code) if is_locked(code) => StoreError::Locked { path },
        Some(code) if is_read_only(code) => {
            let advice = "use a database user with the right to write, and a server that is not read-only";
            StoreError::ReadOnly { path, advice }
        }
        Some(code) if !is_connection(code) => StoreError::Database { path, detail: message_of(error) },
        _ => StoreError::Io {
            action: "reach the store",
            path,
            source: Arc::new(io::Error::other(format!("{}{}", message_of(error), hint(error)))),
        },
    }
}

/// Returns a hint for the user, which is appended to the message of `error`. There are hints for an unreachable server,
/// a rejected login, a missing database, and too many connections. For all other errors, the hint is empty.
fn hint(error: &tokio_postgres::Error) -> &'static str {
    match error.code().map(SqlState::code) {
        None if error.to_string().starts_with("error connecting to server") => {
            "; check the address, and that a PostgreSQL server listens there"
        }
        None if message_of(error).ends_with("password missing") => {
            "; add it to the address, `postgres://USER:PASSWORD@HOST/DATABASE`, and pass the address in `WINDLASS_STATE`, which others can't see"
        }
        // If the message of the error code 28000 does not name a role, the server rejects this kind of
        // connection. Then a user and a password do not help.
        Some("28000") if !message_of(error).contains("role") => "",
        Some("3D000") => "; create it with `createdb`, or name another one",
        Some(code) if code.starts_with("28") => "; give the user and the password in the address",
        Some("53300") => "; try again when there are fewer connections",
        _ => "",
    }
}

fn is_locked(code: &SqlState) -> bool {
    [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::QUERY_CANCELED].contains(code)
}

fn is_read_only(code: &SqlState) -> bool {
    [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::INSUFFICIENT_PRIVILEGE].contains(code)
}

/// Tells whether the cause of an error is outside of windlass. The user must resolve such an error. The causes
/// are a broken connection, a rejected login, a missing database, a shutdown of the server, and a lack of
/// connections or other resources.
fn is_connection(code: &SqlState) -> bool {
    ["08", "28", "3D", "57P", "53"].iter().any(|class| code.code().starts_with(class))
}

/// Returns the message of the server. If the server has sent no message, returns the error of the connection.
fn message_of(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    // Removes the error number of the operating system. Also removes the prefix, because the message of the
    // caller already says that the connection failed.
    let plain = |text: String| {
        let text = text.split(" (os error").next().unwrap_or_default();
        text.strip_prefix("error connecting to server: ").unwrap_or(text).to_owned()
    };
    let mut text = plain(error.to_string());
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = plain(cause.to_string());
        if text == "error connecting to server" {
            text = cause_text;
        } else if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// The possible reactions to a failed transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// No remedy: the server rejected the statement.
    None,
    /// Retry: the transaction conflicted with a concurrent transaction.
    Again,
    /// Reconnect: the connection or its server is gone.
    Reconnect,
}

pub(super) fn remedy(fault: &Fault) -> Remedy {
    match fault {
        Fault::Sql(error) => of_code(error),
        // This crate reports a missing answer as an I/O error.
        Fault::Store(StoreError::Io { .. }) => Remedy::Reconnect,
        Fault::Store(_) | Fault::Damaged(_) => Remedy::None,
    }
}

fn of_code(error: &tokio_postgres::Error) -> Remedy {
    let Some(code) = error.code() else {
        let is_network = std::error::Error::source(error)
            .is_some_and(|source| source.downcast_ref::<io::Error>().is_some());
        return if error.is_closed() || is_network { Remedy::Reconnect } else { Remedy::None };
    };
    if [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code) {
        return Remedy::Again;
    }
    // Lost connections, server shutdowns and starts, and servers without a free connection.
    let lost = ["08", "57P", "53300"].iter().any(|class| code.code().starts_with(class));
    if lost { Remedy::Reconnect } else { Remedy::None }
}
