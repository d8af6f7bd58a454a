//! Commands about Quartz cron expressions.

use clap::{Args, Subcommand};

use super::flags::PrintArgs;
use super::numbers::counted;

/// Explain Quartz cron expressions, and list their fire times.
///
/// An expression has six or seven fields: second, minute, hour, day of the month, month, day of the week, and
/// optionally the year. One of the two fields for days is `?`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass cron next '0 0/5 * * * ? *'
  windlass cron explain '0 15 10 ? * MON-FRI'")]
pub(crate) struct CronArgs {
    #[command(subcommand)]
    pub(crate) command: CronCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CronCommand {
    Next(CronNextArgs),
    Explain(CronExplainArgs),
}

/// List the next fire times of an expression.
///
/// Without --zone the fields are in UTC. When clocks go forward, skipped local times are no fire times. When clocks go back,
/// a local time that occurs twice is a fire time only at its second occurrence.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass cron next '0 0/5 * * * ? *'
  windlass cron next '0 30 2 L * ?' -n 12 --zone Europe/Berlin
  windlass cron next '0 0 0 29 2 ?' --from 2026-01-31T08:15:30Z --format json")]
pub(crate) struct CronNextArgs {
    /// The expression
    #[arg(value_name = "EXPR")]
    pub(crate) expression: String,

    /// List the fire times after this time, such as 2026-01-31T08:15:30Z or 2026-01-31 [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,

    /// List this many fire times
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = counted, allow_negative_numbers = true)]
    pub(crate) number: u16,

    /// Evaluate the fields in this time zone, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub(crate) zone: String,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Explain an expression in English.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass cron explain '0/30 * * * * ? *'
  windlass cron explain '0 15 10 ? * 6L' --format json")]
pub(crate) struct CronExplainArgs {
    /// The expression
    #[arg(value_name = "EXPR")]
    pub(crate) expression: String,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
