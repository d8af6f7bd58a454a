//! Queries about the outcome of a transaction whose commit was not answered.

use tokio_postgres::GenericClient;
use tokio_postgres::error::SqlState;

use super::fault::Outcome;

/// A transaction, identified by its number and the start time of its server. The number alone is not enough.
/// A server that restarts after a crash reuses the numbers of transactions that had not reached its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Xact {
    id: i64,
    /// When the server was started, in microseconds since 1970.
    server: i64,
}

/// The outcome of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Committed,
    Aborted,
    /// The transaction is still open, because the server has not noticed that the client is gone.
    Open,
    /// windlass can't find out whether the transaction was committed. The server was restarted, and now reports a
    /// committed transaction with the same number as this transaction. After a crash, the server may give the
    /// number of an interrupted transaction to a later transaction. So the committed transaction may be a later
    /// one.
    Unknown,
}

/// The start time of the server, in microseconds since 1970.
const SERVER: &str = "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint";

pub(super) async fn current(db: &impl GenericClient) -> Outcome<Xact> {
    let row = db.query_one(&format!("SELECT txid_current(), {SERVER}"), &[]).await?;
    Ok(Xact { id: row.get(0), server: row.get(1) })
}

pub(super) async fn fate(db: &impl GenericClient, xact: Xact) -> Outcome<Fate> {
    let (status, server) = match db.query_one(&format!("SELECT txid_status($1), {SERVER}"), &[&xact.id]).await
    {
        Ok(row) => (row.get::<_, Option<String>>(0), row.get::<_, i64>(1)),
        // A standby server that took over without the last transactions has not reached this number yet.
        Err(error) if error.code() == Some(&SqlState::INVALID_PARAMETER_VALUE) => return Ok(Fate::Aborted),
        Err(error) => return Err(error.into()),
    };
    Ok(match (status.as_deref(), xact.server == server) {
        (Some("committed"), true) => Fate::Committed,
        (Some("committed"), false) => Fate::Unknown,
        (Some("in progress"), true) => Fate::Open,
        _ => Fate::Aborted,
    })
}

#[cfg(test)]
mod tests {
    use tokio_postgres::{Client, NoTls};

    use super::*;
    use crate::testing::server::Server;

    async fn connect(server: &Server) -> Client {
        let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// The server crashes while a transaction is open. After the restart, a committed transaction may have the same
    /// number as the interrupted transaction. [`fate`] must not report the interrupted transaction as committed.
    #[tokio::test]
    async fn a_transaction_that_a_crash_has_cut_is_never_committed() {
        let Some(server) = Server::own() else { return };
        let db = connect(&server).await;
        for sql in ["CREATE TABLE t (n int)", "CHECKPOINT", "BEGIN", "INSERT INTO t VALUES (1)"] {
            db.batch_execute(sql).await.unwrap();
        }
        let cut = current(&db).await.unwrap();
        assert_eq!(fate(&connect(&server).await, cut).await.unwrap(), Fate::Open);
        server.stop();
        server.start_again();
        let db = connect(&server).await;
        assert_eq!(fate(&db, cut).await.unwrap(), Fate::Aborted);
        let mut last = cut.id - 1;
        while last < cut.id {
            for sql in ["BEGIN", "INSERT INTO t VALUES (2)"] {
                db.batch_execute(sql).await.unwrap();
            }
            let other = current(&db).await.unwrap();
            db.batch_execute("COMMIT").await.unwrap();
            assert_eq!(fate(&db, other).await.unwrap(), Fate::Committed);
            last = other.id;
        }
        let expected = if last == cut.id { Fate::Unknown } else { Fate::Aborted };
        assert_eq!(fate(&db, cut).await.unwrap(), expected);
    }
}
