//! The arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use windlass::model::AssemblyName;

/// The hidden command with which the program starts itself as the supervisor of jobs.
pub(crate) const SUPERVISE: &str = "supervise";

/// Bring assemblies up and down whose parts are driven by anything.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Keep the state in this PostgreSQL database instead of .windlass
    #[arg(long, value_name = "ADDRESS", global = true)]
    pub(crate) state: Option<String>,
}

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    something failed; what was done is recorded, and the same command again goes on from there
  2    wrong input; nothing was changed
  130  interrupted; the same command again goes on from there

Environment:
  WINDLASS_KEY_FILE  the file with the key that secrets are sealed with (default: .windlass/key)
  WINDLASS_STATE     where the state is kept, as --state says
  NO_COLOR           print without colours

Examples:
  windlass up fixtures/assemblies/h_bta
  windlass status
  windlass down h_bta";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(UpArgs),
    Down(DownArgs),
    Status(StatusArgs),
    Log(LogArgs),
    Plan(PlanArgs),
    Check(CheckArgs),
    Resolve(ResolveArgs),
    Retry(RetryArgs),
    Explain(ExplainArgs),
}

/// How something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// As JSON, with a version.
    Json,
}

/// An assembly and its parameters.
#[derive(Debug, Args)]
pub(crate) struct AssemblyArgs {
    /// The assembly's descriptor, or the folder it is in
    #[arg(value_name = "FILE|DIR")]
    pub(crate) file: PathBuf,

    /// Name the assembly; else it has the middle part of its descriptor's name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<AssemblyName>,

    /// Give a property a value; @FILE takes it from a file, - from standard input
    #[arg(short = 'p', long = "param", value_name = "KEY=VALUE")]
    pub(crate) parameters: Vec<String>,

    /// Take values of properties from a YAML file; those given by -p come first
    #[arg(long, visible_alias = "param-file", value_name = "FILE")]
    pub(crate) params: Vec<PathBuf>,

    /// Look for descriptors in this folder too
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Vec<PathBuf>,
}

/// How a process runs.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Run this many driver calls at once [default: 4 × cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) parallelism: Option<u16>,

    /// Let running jobs end by themselves for this many seconds when interrupted
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) grace: u32,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Bring an assembly up, or repair what of it is not up.
///
/// Reads and checks the descriptor, plans, prints the plan, runs the lifecycle scripts of all components and the
/// operations between them, and ends with the assembly's output properties.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass up fixtures/assemblies/h_bta
  windlass up shop.yaml --name shop-test -p region=eu-1 -p nodes=3
  windlass up shop.yaml --params production.yaml -p password=@/run/secrets/password")]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Take an assembly down and forget it.
///
/// The mirror image of up: relationships are ceased, components stopped and uninstalled. It runs the scripts that were
/// pinned when the assembly came up.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass down h_bta")]
pub(crate) struct DownArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Go on with what was last asked of an assembly.
///
/// Uses the descriptor, parameters and scripts that were pinned then. When it is not known whether something happened
/// that must not happen twice, look, and say so with --assume.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass retry h_bta
  windlass retry h_bta --assume not-done")]
pub(crate) struct RetryArgs {
    /// The assembly
    pub(crate) name: AssemblyName,

    /// Say of everything that is undecided whether it happened
    #[arg(long, value_enum, value_name = "ANSWER")]
    pub(crate) assume: Option<Assumption>,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Whether something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Assumption {
    /// It happened; it is not done again.
    Done,
    /// It did not happen; it is done again.
    NotDone,
}

/// Show how assemblies are: their components, states, outputs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass status
  windlass status h_bta --format json")]
pub(crate) struct StatusArgs {
    /// The assembly; else all
    pub(crate) name: Option<AssemblyName>,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Show what was done for an assembly: steps, jobs, activity log.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass log h_bta
  windlass log h_bta B__1 --format json")]
pub(crate) struct LogArgs {
    /// The assembly, also one that is gone
    pub(crate) name: AssemblyName,

    /// Only what concerns this component, as `B` or `B__1`
    pub(crate) component: Option<String>,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Show what up would do, and why each step waits.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass plan fixtures/assemblies/h_bta
  windlass plan shop.yaml -p nodes=3 --format json")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Print an assembly's descriptor with everything filled in that is known.
///
/// What is printed is a descriptor in canonical form. A reference whose value is not known yet stays, with the reason
/// behind it; secrets are not shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass resolve fixtures/assemblies/h_bta
  windlass resolve shop.yaml --name shop-test -p nodes=3
  windlass resolve shop.yaml --params production.yaml --format json")]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Check descriptors, packages and project files, and report all problems at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass check fixtures/assemblies/h_bta
  windlass check . --deny warnings --format github
  windlass check shop.yaml --fix --dry-run
  windlass check --explain WL0112")]
pub(crate) struct CheckArgs {
    /// Descriptors, or folders with descriptors
    #[arg(value_name = "FILE|DIR", required_unless_present = "explain")]
    pub(crate) paths: Vec<PathBuf>,

    /// Look for descriptors in this folder too
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Vec<PathBuf>,

    /// Print as
    #[arg(long, value_enum, default_value_t = CheckFormat::Human)]
    pub(crate) format: CheckFormat,

    /// Fail on these too
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,

    /// Repair what can be repaired without a doubt, and leave the rest of each file as it is
    #[arg(long)]
    pub(crate) fix: bool,

    /// Only print what --fix would change
    #[arg(long, requires = "fix")]
    pub(crate) dry_run: bool,

    /// Explain the code of a message instead
    #[arg(long, value_name = "CODE", exclusive = true)]
    pub(crate) explain: Option<String>,
}

/// How what was found is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people.
    Human,
    /// As JSON, with a version.
    Json,
    /// As SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// As workflow commands, which GitHub shows beside the lines.
    Github,
}

/// What makes a check fail, beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    /// Warnings.
    Warnings,
}

/// Explain the code of a message.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass explain WL0112")]
pub(crate) struct ExplainArgs {
    /// The code
    pub(crate) code: String,
}
