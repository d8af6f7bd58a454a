//! Time limits for requests to the server. Without time limits, windlass could not distinguish a slow server from a
//! server that is gone, suspended or locked.

use std::time::Duration;

use tokio_postgres::Config;

/// Maximum duration of a statement on the server.
pub(super) const STATEMENT: Duration = Duration::from_secs(20);

/// Maximum time that a statement waits for a row that another transaction has locked.
pub(super) const LOCK: Duration = Duration::from_secs(10);

/// Maximum time to wait for one answer. This time is longer than the server's own limits, so that the more
/// specific errors of the server arrive first.
pub(super) const ANSWER: Duration = Duration::from_secs(45);

/// Maximum time that a client may wait between two statements of a transaction. After this time, the server closes the
/// connection, and thereby releases the row locks of the transaction. A client that waits longer is suspended or gone.
const IDLE: Duration = Duration::from_secs(10);

/// Maximum silence of the network before a connection counts as broken.
const SILENCE: Duration = Duration::from_secs(15);

/// The default of the crate `tokio-postgres` for the idle time before a keepalive probe.
const UNSET_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// Sets network limits that the address does not set.
pub(super) fn limit_network(config: &mut Config) {
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE);
    }
    if config.get_keepalives_idle() == UNSET_IDLE {
        config.keepalives_idle(SILENCE / 3);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(SILENCE / 3);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(2);
    }
}

/// Returns the server-side limits as connection options.
pub(super) fn of_server() -> String {
    format!(
        "-c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={}",
        STATEMENT.as_millis(),
        LOCK.as_millis(),
        IDLE.as_millis(),
    )
}
