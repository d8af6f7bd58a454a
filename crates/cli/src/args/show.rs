//! Commands that show recorded information about assemblies.

use clap::{Args, Subcommand, ValueEnum};
use windlass::model::record::Severity;
use windlass::model::retention::Age;
use windlass::model::{AssemblyName, ProcessId, PropertyName};

use super::change::AskedFor;
use super::flags::PrintArgs;
use super::numbers::counted;

/// List processes, or show the steps of one process.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  windlass ps
  windlass ps h_bta
  windlass ps show p12"
)]
pub(crate) struct PsArgs {
    #[command(subcommand)]
    pub(crate) show: Option<PsCommand>,

    /// List only the processes of this assembly
    pub(crate) name: Option<AssemblyName>,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PsCommand {
    /// Show a process step by step, or the status of a request
    #[command(after_help = "\
Examples:
  windlass ps show p12
  windlass ps show p12 --format json
  windlass ps show q13")]
    Show {
        /// The process, such as `p12`, or the request, such as `q13`
        #[arg(value_name = "PROCESS|REQUEST")]
        process: AskedFor,

        #[command(flatten)]
        print: PrintArgs,
    },
}

/// List the processes of an assembly, and the changes of each version.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass history h_bta")]
pub(crate) struct HistoryArgs {
    /// The assembly, which may have been removed
    pub(crate) name: AssemblyName,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Remove old processes and versions from the state.
///
/// An ended process is removed if it is older than --older, and not among the newest --keep processes of its assembly.
/// Its steps, calls, jobs, logs and events are removed too. Old versions are removed by the same rule; a `rollback` to
/// them is then impossible. Open processes, undecided calls and the versions in use are kept. `windlass run` prunes
/// once a day.
#[derive(Debug, Args)]
#[command(after_help = "\
`retention:` in `windlass.yaml` sets both limits:

  retention:
    keep: 50
    older: 90d

Examples:
  windlass prune --dry-run
  windlass prune h_bta --keep 10 --older 30d")]
pub(crate) struct PruneArgs {
    /// The assembly, which may have been removed (default: all)
    pub(crate) name: Option<AssemblyName>,

    /// Keep the newest N processes and versions of each assembly (default: `retention`, else 50)
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,

    /// Keep processes and versions younger than this age, such as 90d, 12h or 30m (default: `retention`, else 90d)
    #[arg(long, value_name = "AGE")]
    pub(crate) older: Option<Age>,

    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Show the differences between two versions of an assembly.
///
/// Shows the changes from the first version to the second. `windlass history NAME` lists the versions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass diff h_bta@p12 h_bta@p15")]
pub(crate) struct DiffArgs {
    /// The older version, such as `h_bta@p12`
    #[arg(value_name = "NAME@PROCESS")]
    pub(crate) from: VersionName,

    /// The newer version
    #[arg(value_name = "NAME@PROCESS")]
    pub(crate) to: VersionName,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// A version of an assembly, named by the process that created it: `h_bta@p12`.
#[derive(Debug, Clone)]
pub(crate) struct VersionName {
    pub(crate) name: AssemblyName,
    pub(crate) process: ProcessId,
}

impl std::str::FromStr for VersionName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, process) =
            text.split_once('@').ok_or("expected an assembly, `@` and a process, such as `h_bta@p12`")?;
        Ok(Self {
            name: name.parse().map_err(|error| format!("{error}"))?,
            process: process.parse().map_err(|error| format!("{error}"))?,
        })
    }
}

/// Show the components, states and outputs of assemblies.
///
/// Similar nodes of a cluster with more than ten nodes share a line, and failed nodes come first. If the nodes of a
/// line have different values of an output, the line shows only the number of values; --all, or the name of a
/// component, lists the values.
///
/// Launched applications are listed by environment and factory, and similar applications share a line. The status of one
/// application also shows its natural id, configuration and references.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass status
  windlass status h_bta B__1
  windlass status h_bta --watch
  windlass status h_bta --format json")]
pub(crate) struct StatusArgs {
    /// Show only this assembly
    pub(crate) name: Option<AssemblyName>,

    /// Show only this component or node, such as `B` or `B__1`, and its contents
    pub(crate) component: Option<String>,

    /// List each node of large clusters too
    #[arg(long)]
    pub(crate) all: bool,

    /// Print the status after each change, until the assembly is removed; a terminal shows only the latest status
    #[arg(short = 'w', long)]
    pub(crate) watch: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Print the outputs of an assembly, or one of them.
///
/// Outputs are the read-only properties of the assembly with a known value. A secret is printed as ***, and is an
/// error with --raw.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass output h_bta
  windlass output h_bta output --raw
  windlass output h_bta --format json")]
pub(crate) struct OutputArgs {
    /// The assembly
    pub(crate) name: AssemblyName,

    /// Print only the value of this output
    pub(crate) key: Option<PropertyName>,

    /// Print a text without quotes and without a line break after it
    #[arg(long, requires = "key", conflicts_with = "format")]
    pub(crate) raw: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// The severity of log entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Trace,
    Debug,
    Info,
    #[value(alias = "warning")]
    Warn,
    Error,
}

impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => Self::Trace,
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warn => Self::Warning,
            Level::Error => Self::Error,
        }
    }
}

/// Show the steps, jobs and activity log of an assembly.
///
/// Entries are in the order of time. Below a job, lines with `|` are its stderr, and lines with `>` its stdout. With
/// --follow, the output begins with the steps that run now, or with the entries of the period --since. After that, new
/// events and the stderr of running jobs are printed immediately, until Ctrl-C. The stderr of a job on another
/// machine is not shown; the machine is named instead.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass log h_bta
  windlass log h_bta --last 1
  windlass log h_bta --since 5m --level warn
  windlass log -f
  windlass log -f h_bta B__1
  windlass log h_bta B__1 --format json")]
pub(crate) struct LogArgs {
    /// The assembly, which may have been removed; --follow without a name shows all assemblies
    #[arg(required_unless_present = "follow")]
    pub(crate) name: Option<AssemblyName>,

    /// Show only the entries of this component, such as `B` or `B__1`
    pub(crate) component: Option<String>,

    /// Show only the last N processes
    #[arg(long, value_name = "N", value_parser = counted, conflicts_with = "follow")]
    pub(crate) last: Option<u16>,

    /// Print new entries and the output of running jobs, until interrupted
    #[arg(short = 'f', long)]
    pub(crate) follow: bool,

    /// Show only entries younger than this age, such as 5m, 12h or 30s
    #[arg(long, value_name = "AGE")]
    pub(crate) since: Option<Age>,

    /// Show only entries of at least this severity; a failed step is an error, and a skipped step a warning
    #[arg(long, value_enum)]
    pub(crate) level: Option<Level>,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
