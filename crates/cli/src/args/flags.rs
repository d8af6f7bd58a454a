//! Arguments that several commands have.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass::AssemblyInput;
use windlass::engine::Consent;
use windlass::model::AssemblyName;
use windlass::model::assembly::{MaxSurge, MaxUnavailable};

use super::numbers::{counted, duration, seconds};

/// The format of a command's output.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people.
    #[default]
    Human,
    /// JSON; the field `version` is the version of the format.
    Json,
}

/// An assembly and its parameters.
#[derive(Debug, Args)]
pub(crate) struct AssemblyArgs {
    /// The assembly's descriptor, or its folder
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    pub(crate) file: PathBuf,

    /// Name the assembly [default: taken from its descriptor, such as `shop` from `name: assembly::shop::1.0`]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<AssemblyName>,

    /// Set a property; =@FILE reads the value from a file, =- from standard input. Can be repeated
    #[arg(short = 'p', long = "param", value_name = "KEY=VALUE")]
    pub(crate) parameters: Vec<String>,

    /// Read values of properties from a YAML file; -p takes precedence. Can be repeated. The files `params.yaml` and
    /// `*.auto.params.yaml` beside the descriptor are always read first
    #[arg(long, visible_alias = "param-file", value_name = "FILE")]
    pub(crate) params: Vec<PathBuf>,

    /// Set a property to the list of hosts in an Ansible inventory. Each host is a map of its variables. :GROUP selects
    /// only the hosts of this group. The file is static YAML or INI. The list takes precedence over --params. Can be
    /// repeated
    #[arg(long, value_name = "PARAM=FILE[:GROUP]")]
    pub(crate) inventory: Vec<String>,

    /// Search this folder for descriptors too
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Vec<PathBuf>,
}

/// The options for running a process.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Run this many driver calls at once [default: 4 × cores]
    #[arg(long, value_name = "N", value_parser = counted)]
    pub(crate) parallelism: Option<u16>,

    /// Wait this long for running jobs to end after an interruption, such as 30s or 5m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) grace: u32,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// The option for a dry run, which changes nothing.
#[derive(Debug, Args)]
pub(crate) struct DryRunArgs {
    /// Print the changes and the plan, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// With --dry-run, exit with code 3 when something would change
    #[arg(long, requires = "dry_run")]
    pub(crate) detailed_exitcode: bool,
}

/// The option to proceed although other assemblies are affected.
#[derive(Debug, Args)]
pub(crate) struct ForceArgs {
    /// Proceed even if other assemblies reference components that are removed or replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// The option to agree to a plan in advance.
#[derive(Debug, Args)]
pub(crate) struct ConsentArgs {
    /// Agree in advance to a plan that removes or replaces installed components
    #[arg(long)]
    pub(crate) yes: bool,
}

impl ConsentArgs {
    /// Returns the consent that the user has given by the option `--yes`. Without the option, returns
    /// [`Consent::None`]. If the plan needs consent, windlass then asks the user for it.
    pub(crate) fn consent(&self) -> Consent {
        if self.yes { Consent::Any } else { Consent::None }
    }
}

/// The options for the health checks before planning.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct RefreshArgs {
    /// Make the plan from the records alone, without health checks of the components
    #[arg(long)]
    pub(crate) no_refresh: bool,
    /// Wait this long for the health checks; if a check has not ended, the plan uses the record of the component
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "30s",
        value_parser = duration,
        conflicts_with = "no_refresh"
    )]
    refresh_timeout: Duration,
}

impl RefreshArgs {
    /// Returns the maximum time for the health checks; `None` if `--no-refresh` turns the health checks off.
    pub(crate) fn within(self) -> Option<Duration> {
        (!self.no_refresh).then_some(self.refresh_timeout)
    }
}

/// The options that limit a plan to some components, replace components, or set the batches of a rolling change.
#[derive(Debug, Args)]
pub(crate) struct PartsArgs {
    /// Limit the plan to this component, such as `B` or `B__1`, and its dependencies. Can be repeated
    #[arg(long, value_name = "PART")]
    pub(crate) target: Vec<String>,

    /// Leave this component, such as `B` or `B__1`, as it is. Can be repeated
    #[arg(long, value_name = "PART")]
    pub(crate) except: Vec<String>,

    /// Re-create this component, such as `B` or `B__1`, even if it has not changed
    #[arg(long, value_name = "PART")]
    pub(crate) replace: Vec<String>,

    /// Let a change take down this many nodes of a cluster at once: a number, a percentage such as 25%, or `all`
    #[arg(long, value_name = "N")]
    pub(crate) max_unavailable: Option<MaxUnavailable>,

    /// Add this many nodes to a cluster while its nodes change: a number, or a percentage such as 25%
    #[arg(long, value_name = "N")]
    pub(crate) max_surge: Option<MaxSurge>,
}

impl PartsArgs {
    /// Adds these options to the input of a plan.
    pub(crate) fn given_to(&self, input: AssemblyInput) -> AssemblyInput {
        let Self { target, except, replace, max_unavailable, max_surge } = self;
        let input = input.target(target.clone()).except(except.clone()).replace(replace.clone());
        input.max_unavailable(*max_unavailable).max_surge(*max_surge)
    }
}

/// The output format of a command that shows something.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PrintArgs {
    /// Print in this format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// The format of errors, for a command whose result has only one format. The module `failure` reads the option
/// directly from the arguments.
#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct ErrorArgs {
    /// Print errors in this format
    #[arg(long = "format", value_enum, default_value_t = Format::Human, global = true)]
    _format: Format,
}

/// The options of a change: whether it is executed now, only planned, or queued.
#[derive(Debug, Args)]
pub(crate) struct HowArgs {
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,

    /// With --dry-run, save the plan to this file, for `windlass apply`
    #[arg(short = 'o', long, value_name = "PLAN", requires = "dry_run")]
    pub(crate) output: Option<PathBuf>,

    /// Queue the request for `windlass run` and don't wait for it
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) queue: bool,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}
