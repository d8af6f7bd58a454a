//! The daemon, and the command that sends metrics to it.

use clap::{Args, Subcommand};

use super::flags::{ErrorArgs, RunArgs};
use super::numbers::seconds;

/// Run the daemon: execute queued requests, check health, apply policies.
///
/// Policies read metrics and start processes that scale and heal. Metrics come from health checks, from the signals of
/// the interface `metrics`, and from `POST /metrics` on the socket .windlass/metrics.sock, which only the same user can
/// use. With --queue, a command only queues a request for the daemon. While the daemon changes an assembly, other
/// commands that change this assembly also queue their requests. The daemon executes the requests in order. All other
/// commands run at once. After a restart the daemon resumes interrupted processes. SIGTERM and Ctrl-C end it with exit
/// code 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass run
  windlass run --health 30s
  windlass run --state postgres://db.example.org/windlass")]
pub(crate) struct WatchArgs {
    /// The time from one health check of the components to the next, such as 30s or 5m; 0 disables health checks
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) health: u32,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Send a metric to `windlass run`.
///
/// `windlass run` must be running in the same project. It also accepts a metric that no policy reads; its answer then lists
/// the metrics that policies read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass metric push h_bta__A.load 92
  windlass metric push h_bta__B__1.integrity BROKEN")]
pub(crate) struct MetricArgs {
    #[command(subcommand)]
    pub(crate) command: MetricCommand,

    #[command(flatten)]
    pub(crate) _errors: ErrorArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MetricCommand {
    /// Send one reading
    #[command(after_help = "\
Examples:
  windlass metric push h_bta__A.load 92
  windlass metric push h_bta__B__1.integrity BROKEN")]
    Push {
        /// The metric: the full name of a component, `.`, and the metric's name, such as `h_bta__A.load`
        metric: String,
        /// A load from 0 to 100, or OK or BROKEN
        reading: String,
    },
}
