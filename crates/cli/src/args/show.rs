//! Commands that show recorded information about assemblies.

use clap::{Args, Subcommand};
use windlass::model::retention::Age;
use windlass::model::{AssemblyName, ProcessId};

use super::change::AskedFor;
use super::flags::PrintArgs;
use super::mistakes::counted;

/// List processes, or show one step by step.
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

    /// Only those of this assembly
    pub(crate) name: Option<AssemblyName>,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PsCommand {
    /// Show what was done in a process, step by step, or what has become of a request
    #[command(after_help = "\
Examples:
  windlass ps show p12
  windlass ps show p12 --format json
  windlass ps show q13")]
    Show {
        /// The process, as `p12`, or the request, as `q13`
        #[arg(value_name = "PROCESS|REQUEST")]
        process: AskedFor,

        #[command(flatten)]
        print: PrintArgs,
    },
}

/// List what an assembly was asked to be, and what changed each time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass history h_bta")]
pub(crate) struct HistoryArgs {
    /// The assembly, also one that is gone
    pub(crate) name: AssemblyName,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Remove old processes and versions from the state.
///
/// A process goes with its steps, calls, jobs, logs and events when it has ended, is not among the newest N of its assembly,
/// and ended longer ago than the age. So does a version, which nobody can roll back to afterwards. Open processes, calls that
/// wait for a decision, and the versions that describe what is there now always stay. `windlass run` does this once a day.
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
    /// The assembly, also one that is gone (default: all)
    pub(crate) name: Option<AssemblyName>,

    /// Keep the newest N processes and versions of each assembly (default: `retention`, else 50)
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,

    /// Keep what is younger, as 90d, 12h or 30m (default: `retention`, else 90d)
    #[arg(long, value_name = "AGE")]
    pub(crate) older: Option<Age>,

    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Show what is different between two versions of an assembly.
///
/// `windlass history NAME` lists the versions. What is shown is what would change from the first to the second.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass diff h_bta@p12 h_bta@p15")]
pub(crate) struct DiffArgs {
    /// The older version: the assembly, `@`, and the process that asked for it
    #[arg(value_name = "NAME@PROCESS")]
    pub(crate) from: VersionName,

    /// The newer version
    #[arg(value_name = "NAME@PROCESS")]
    pub(crate) to: VersionName,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// An assembly as a process was asked to make it: `h_bta@p12`.
#[derive(Debug, Clone)]
pub(crate) struct VersionName {
    pub(crate) name: AssemblyName,
    pub(crate) process: ProcessId,
}

impl std::str::FromStr for VersionName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, process) =
            text.split_once('@').ok_or("expected an assembly, `@` and a process, as `h_bta@p12`")?;
        Ok(Self {
            name: name.parse().map_err(|error| format!("{error}"))?,
            process: process.parse().map_err(|error| format!("{error}"))?,
        })
    }
}

/// Show how assemblies are: their components, states, outputs.
///
/// Of a cluster with more than ten nodes, those that are alike share a line, and what is not well comes first. Outputs
/// that differ are counted then: --all or a component shows them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass status
  windlass status h_bta B__1
  windlass status h_bta --format json")]
pub(crate) struct StatusArgs {
    /// Only this assembly
    pub(crate) name: Option<AssemblyName>,

    /// Only this component or node, with all that is in it, as `B` or `B__1`
    pub(crate) component: Option<String>,

    /// List each node of large clusters too
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Show what was done for an assembly: steps, jobs, activity log.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass log h_bta
  windlass log h_bta --last 1
  windlass log h_bta B__1 --format json")]
pub(crate) struct LogArgs {
    /// The assembly, also one that is gone
    pub(crate) name: AssemblyName,

    /// Only what concerns this component, as `B` or `B__1`
    pub(crate) component: Option<String>,

    /// Only the last N processes
    #[arg(long, value_name = "N", value_parser = counted)]
    pub(crate) last: Option<u16>,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
