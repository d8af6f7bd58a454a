//! Arguments that several commands have.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use windlass::engine::Consent;
use windlass::model::AssemblyName;

use super::numbers::{counted, whole};

/// How something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people.
    Human,
    /// As JSON, with a version.
    Json,
}

/// An assembly and its parameters.
#[derive(Debug, Args)]
pub(crate) struct AssemblyArgs {
    /// The assembly's descriptor, or its folder
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    pub(crate) file: PathBuf,

    /// Name the assembly [default: the middle part of its descriptor's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<AssemblyName>,

    /// Set a property; =@FILE reads the value from a file, =- from standard input. Can be repeated
    #[arg(short = 'p', long = "param", value_name = "KEY=VALUE")]
    pub(crate) parameters: Vec<String>,

    /// Read values of properties from a YAML file; -p takes precedence. Can be repeated
    #[arg(long, visible_alias = "param-file", value_name = "FILE")]
    pub(crate) params: Vec<PathBuf>,

    /// Search this folder for descriptors too
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Vec<PathBuf>,
}

/// How a process runs.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Run this many driver calls at once [default: 4 × cores]
    #[arg(long, value_name = "N", value_parser = counted)]
    pub(crate) parallelism: Option<u16>,

    /// Wait this many seconds for running jobs to end after an interruption
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) grace: u32,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Whether something is done, or only said.
#[derive(Debug, Args)]
pub(crate) struct DryRunArgs {
    /// Print the changes and the plan, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// With --dry-run, exit with code 3 when something would change
    #[arg(long, requires = "dry_run")]
    pub(crate) detailed_exitcode: bool,
}

/// Whether it is done against others.
#[derive(Debug, Args)]
pub(crate) struct ForceArgs {
    /// Proceed even if other assemblies reference components that are removed or replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// Whether the plan is agreed to before it is made.
#[derive(Debug, Args)]
pub(crate) struct ConsentArgs {
    /// Agree to a plan that removes or replaces components that are well, without a question
    #[arg(long)]
    pub(crate) yes: bool,
}

impl ConsentArgs {
    /// Returns the consent before the question.
    pub(crate) fn consent(&self) -> Consent {
        if self.yes { Consent::Any } else { Consent::None }
    }
}

/// Which parts a plan is about.
#[derive(Debug, Args)]
pub(crate) struct PartsArgs {
    /// Limit the plan to this component and its dependencies, such as `B` or `B__1`
    #[arg(long, value_name = "PART")]
    pub(crate) target: Vec<String>,

    /// Re-create this component even if it has not changed, such as `B` or `B__1`
    #[arg(long, value_name = "PART")]
    pub(crate) replace: Vec<String>,
}

/// How something that is found is printed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PrintArgs {
    /// Print in this format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// How errors are printed by a command whose result has one form. `failure` reads it.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ErrorArgs {
    /// Print errors in this format
    #[arg(long = "format", value_enum, default_value_t = Format::Human, global = true)]
    _format: Format,
}

/// How a change is made, or only told.
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
