//! The daemon, and the command that sends metrics to it.

use clap::{Args, Subcommand};

use super::flags::RunArgs;
use super::mistakes::whole;

/// Watch assemblies: apply policies, look at health, do what is queued.
///
/// Takes metrics by `POST /metrics` on the socket .windlass/metrics.sock, which only its owner can reach, and from health
/// checks: whether a part is well, and the signals of its interface `metrics`. Policies scale and heal, each time as a process
/// of its own. Other commands work beside it. Requests for an assembly in use, and those of --queue, wait in a queue that it
/// serves in order. After a restart it resumes the interrupted processes. SIGTERM and Ctrl-C end it with exit code 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass run
  windlass run --health 30
  windlass run --state postgres://db.example.org/windlass")]
pub(crate) struct WatchArgs {
    /// Look at the health of parts every so many seconds; 0 never does
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) health: u32,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Send a metric to `windlass run`.
///
/// It has to be running in the same project. A metric that no policy reads is taken too, and the answer says which ones are read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass metric push h_bta__A.load 92
  windlass metric push h_bta__B__1.integrity BROKEN")]
pub(crate) struct MetricArgs {
    #[command(subcommand)]
    pub(crate) command: MetricCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MetricCommand {
    /// Send one reading
    #[command(after_help = "\
Examples:
  windlass metric push h_bta__A.load 92
  windlass metric push h_bta__B__1.integrity BROKEN")]
    Push {
        /// The metric: the full name of a part, `.`, and the metric's name, as `h_bta__A.load`
        metric: String,
        /// A load from 0 to 100, or OK or BROKEN
        reading: String,
    },
}
