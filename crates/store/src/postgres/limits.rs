//! How long anything may take. A server that is gone, asleep or locked is told apart from a slow one by time alone.

use std::time::Duration;

use tokio_postgres::Config;

/// How long a statement may take on the server.
pub(super) const STATEMENT: Duration = Duration::from_secs(20);

/// How long a statement may wait for a row that another machine holds.
pub(super) const LOCK: Duration = Duration::from_secs(10);

/// How long one answer is waited for: longer than the server's own limits, which tell more.
pub(super) const ANSWER: Duration = Duration::from_secs(45);

/// How long a connection may do nothing between the statements of a transaction, and keep others from the rows that it has
/// locked: after that its client is suspended, or gone.
const IDLE: Duration = Duration::from_secs(10);

/// How long the network may be silent before a connection is taken for broken.
const SILENCE: Duration = Duration::from_secs(15);

/// What the driver takes for the idle time before a probe where nothing is said.
const UNSET_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// Sets the limits of the network, where the address does not.
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

/// Returns the limits of the server as options of a connection.
pub(super) fn of_server() -> String {
    format!(
        "-c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={}",
        STATEMENT.as_millis(),
        LOCK.as_millis(),
        IDLE.as_millis(),
    )
}
