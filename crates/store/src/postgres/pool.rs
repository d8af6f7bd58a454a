//! Connections for reading, and for changes outside of batches, such as the renewal of a lease. They are separate from
//! the connection that applies batches. So a lease can be renewed while a large batch is written.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts,
};
use futures::future::BoxFuture;
use tokio::time::Instant;
use tokio_postgres::{IsolationLevel, Transaction};

use super::connect::Address;
use super::fault::{Fault, Outcome, Remedy, remedy};
use super::limits::ANSWER;
use super::xact::{self, Fate, Xact};
use crate::error::StoreError;

/// Pause before a failed operation is retried.
pub(super) const PAUSE: Duration = Duration::from_millis(200);

/// Maximum number of attempts of a transaction that conflicts with concurrent transactions.
pub(super) const ATTEMPTS: usize = 5;

/// A pool of connections. The store has one pool for reading, and one pool for changes outside of batches.
#[derive(Clone)]
pub(super) struct Connections {
    pool: Pool,
    address: Arc<Address>,
    /// Maximum time that a change waits for an unreachable server. It equals the time after which a lease
    /// expires.
    patience: Duration,
}

/// The outcome of a transaction that is not known to be committed.
struct Failed<T> {
    fault: Fault,
    /// Set if the server did not answer the commit. It contains the transaction, and the value that the transaction
    /// had computed before the commit.
    unanswered: Option<(Xact, T)>,
}

impl Connections {
    pub(super) fn new(address: &Address, connections: usize, patience: Duration) -> Result<Self, StoreError> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(address.config.clone(), address.tls.clone(), recycling);
        let limits = Timeouts { wait: Some(ANSWER), create: Some(address.patience()), recycle: Some(ANSWER) };
        let pool =
            Pool::builder(manager).max_size(connections).runtime(Runtime::Tokio1).timeouts(limits).build();
        let detail = |error: deadpool_postgres::BuildError| StoreError::Database {
            path: address.name.as_str().into(),
            detail: error.to_string(),
        };
        Ok(Self { pool: pool.map_err(detail)?, address: Arc::new(address.clone()), patience })
    }

    /// Runs queries that show the records at one point in time.
    pub(super) async fn read<T: Send>(
        &self,
        work: impl for<'a> FnOnce(&'a Transaction<'a>) -> BoxFuture<'a, Outcome<T>> + Send,
    ) -> Result<T, StoreError> {
        self.transaction(work, Kind::Read).await.map_err(|failed| self.at(failed.fault))
    }

    /// Runs a change in its own transaction. A successful change is applied exactly once, even if the
    /// connection breaks before the answer to the commit arrives.
    pub(super) async fn change<T: Send>(
        &self,
        work: impl for<'a> Fn(&'a Transaction<'a>) -> BoxFuture<'a, Outcome<T>> + Send + Sync,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + self.patience;
        let (mut attempts, mut unanswered) = (0, None);
        loop {
            if let Some((xact, value)) = unanswered.take() {
                match self.fate(xact).await {
                    Ok(Fate::Committed) => return Ok(value),
                    Ok(Fate::Aborted) => {}
                    Ok(Fate::Unknown) => return Err(self.address.outcome_unknown()),
                    Ok(Fate::Open) | Err(_) if Instant::now() < deadline => {
                        unanswered = Some((xact, value));
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                    Ok(Fate::Open) => return Err(self.address.silent()),
                    Err(error) => return Err(error),
                }
            }
            let failed = match self.transaction(&work, Kind::Write).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            attempts += 1;
            let retries = match remedy(&failed.fault) {
                Remedy::None => false,
                Remedy::Again => attempts < ATTEMPTS,
                Remedy::Reconnect => Instant::now() < deadline,
            };
            if !retries {
                return Err(self.at(failed.fault));
            }
            unanswered = failed.unanswered;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn fate(&self, xact: Xact) -> Result<Fate, StoreError> {
        let client = self.pool.get().await.map_err(|error| self.at(self.unreachable(error)))?;
        xact::fate(&**client, xact).await.map_err(|fault| self.at(fault))
    }

    async fn transaction<T: Send>(
        &self,
        work: impl for<'a> FnOnce(&'a Transaction<'a>) -> BoxFuture<'a, Outcome<T>> + Send,
        kind: Kind,
    ) -> Result<T, Failed<T>> {
        let client = self.pool.get().await.map_err(|error| self.unreachable(error))?;
        let mut lent = Lent { client: None, is_idle: false };
        let client = lent.client.insert(client);
        let begun = tokio::time::timeout(ANSWER, async {
            let builder = client.build_transaction();
            let transaction = match kind {
                Kind::Read => builder.isolation_level(IsolationLevel::RepeatableRead).read_only(true).start(),
                Kind::Write => builder.start(),
            };
            let transaction = transaction.await?;
            let found = work(&transaction).await?;
            let xact = match kind {
                Kind::Read => None,
                Kind::Write => Some(xact::current(&*transaction).await?),
            };
            Ok::<_, Fault>((transaction, found, xact))
        });
        let begun = begun.await.map_err(|_| Fault::from(self.address.silent()))?;
        let (transaction, found, xact) = match begun {
            Ok(begun) => begun,
            Err(fault) => {
                lent.is_idle = true;
                return Err(fault.into());
            }
        };
        let fault = match tokio::time::timeout(ANSWER, transaction.commit()).await {
            Ok(Ok(())) => {
                lent.is_idle = true;
                return Ok(found);
            }
            Ok(Err(error)) => error.into(),
            Err(_) => self.address.silent().into(),
        };
        Err(Failed { fault, unanswered: xact.map(|xact| (xact, found)) })
    }

    fn at(&self, fault: Fault) -> StoreError {
        fault.at(Path::new(&self.address.name))
    }

    fn unreachable(&self, error: PoolError) -> Fault {
        match error {
            PoolError::Backend(error) => error.into(),
            PoolError::Timeout(_) => self.address.silent().into(),
            other => StoreError::Io {
                action: "reach the store",
                path: self.address.name.as_str().into(),
                source: Arc::new(std::io::Error::other(other.to_string())),
            }
            .into(),
        }
    }
}

/// A connection that the pool has lent. If the connection is not idle when the value is dropped, the connection is
/// closed and does not return to the pool. The reason: the server may still execute a statement of such a connection,
/// and a next user of the connection would have to wait for the end of this statement.
struct Lent {
    /// The connection; `None` only while the value is being dropped.
    client: Option<Object>,
    /// Whether the server has answered all statements.
    is_idle: bool,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(client) = self.client.take_if(|_| !self.is_idle) {
            drop(Object::take(client));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

impl<T, F: Into<Fault>> From<F> for Failed<T> {
    fn from(fault: F) -> Self {
        Self { fault: fault.into(), unanswered: None }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::sync::oneshot;
    use windlass_model::clock::SystemClock;

    use super::super::options::Options;
    use super::*;
    use crate::KeySource;
    use crate::testing::CountingEntropy;
    use crate::testing::server::Server;

    fn connections(server: &Server) -> Connections {
        let key = KeySource::File(server.folder().join("key"));
        let options = Options::new(key, Arc::new(SystemClock), Arc::new(CountingEntropy::default()));
        let address = Address::parse(&server.url(), &options).unwrap();
        Connections::new(&address, 1, ANSWER).unwrap()
    }

    #[tokio::test]
    async fn an_idle_connection_returns_to_the_pool() {
        let Some(server) = Server::own() else { return };
        let connections = connections(&server);
        connections.read(|_| async { Ok(()) }.boxed()).await.unwrap();
        assert_eq!(connections.pool.status().size, 1);
    }

    /// The reader stops waiting for the answer, as after a timeout. The server still executes the statement.
    #[tokio::test]
    async fn a_connection_with_a_running_statement_does_not_return_to_the_pool() {
        let Some(server) = Server::own() else { return };
        let connections = connections(&server);
        let (begins, begun) = oneshot::channel();
        let read = connections.read(|transaction| {
            async move {
                begins.send(()).unwrap();
                transaction.batch_execute("SELECT pg_sleep(600)").await?;
                Ok(())
            }
            .boxed()
        });
        tokio::select! {
            read = read => read.unwrap(),
            begun = begun => begun.unwrap(),
        }
        assert_eq!(connections.pool.status().size, 0);
    }
}
