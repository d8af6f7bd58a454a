//! Launched applications.

use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use windlass::model::document::DocumentName;
use windlass::model::{AssemblyName, CommandId};

use super::change::AnswerArgs;
use super::flags::{DryRunArgs, ForceArgs, HowArgs, PrintArgs, RunArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum LaunchCommand {
    Launch(LaunchArgs),
    Destroy(DestroyArgs),
    Reconfigure(ReconfigureArgs),
    Command(AppCommandArgs),
    Commands(CommandsArgs),
    Check(AppCheckArgs),
    Discover(DiscoverArgs),
    Forget(AppForgetArgs),
}

/// Launch an application or a factory.
///
/// The launch script of the latest revision runs at the location of the environment. The new application is an
/// assembly, so
/// `windlass status`, `log`, `history`, `retry` and `cancel` work for it. A launch never changes an existing assembly.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app launch 'VM Factory' -p configuration.region=eu-1
  windlass app launch VM --name vm-1 -p configuration.size=small
  windlass app launch VM --env production --count 3")]
// The plan of a launch can't be saved.
#[command(mut_arg("output", |output| output.hide(true)))]
pub(crate) struct LaunchArgs {
    /// The title of the application
    pub(crate) title: String,
    /// The environment whose services the application uses
    #[arg(long = "env", value_name = "ENV", default_value = "default")]
    pub(crate) environment: DocumentName,
    /// Name the assembly [default: derived from the title]
    #[arg(long)]
    pub(crate) name: Option<AssemblyName>,
    /// The factory that launches the application, if several services of the environment can launch it
    #[arg(long, value_name = "NAME")]
    pub(crate) factory: Option<AssemblyName>,
    /// Set a configuration pin; =@FILE reads the value from a file, =- from standard input
    #[arg(short = 'p', long = "param", value_name = "PIN=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Read values of configuration pins from a YAML file; -p takes precedence
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Vec<PathBuf>,
    /// Launch this many applications, one after the other
    #[arg(long, value_name = "N", default_value = "1", conflicts_with_all = ["name", "dry_run"])]
    pub(crate) count: NonZeroU16,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Destroy applications.
///
/// The destroy script runs. Then the health check is polled until a script reports a status with all flags false, which
/// means that the application no longer exists. The history stays. An application that other applications refer to is
/// destroyed only with --force. If a script of the application's revision has a mistake, publish a corrected revision,
/// and run its scripts with --latest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app destroy vm-1
  windlass app destroy vm-1 vm-2
  windlass app destroy vm-1 --latest")]
// The plan of a removal can't be saved.
#[command(mut_arg("output", |output| output.hide(true)))]
pub(crate) struct DestroyArgs {
    /// The applications
    #[arg(required = true)]
    pub(crate) names: Vec<AssemblyName>,
    /// Run the scripts of the latest revision [default: the scripts of the application's revision]
    #[arg(long)]
    pub(crate) latest: bool,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Change values of an application, or give it the latest revision.
///
/// The reconfiguration script gets all values. The values of an application without this script can't be changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app reconfigure vm-1 -p configuration.size=large
  windlass app reconfigure vm-1 --latest --dry-run")]
// The plan of a reconfiguration can't be saved.
#[command(mut_arg("output", |output| output.hide(true)))]
pub(crate) struct ReconfigureArgs {
    /// The application
    pub(crate) name: AssemblyName,
    /// Set a configuration pin; =@FILE reads the value from a file, =- from standard input
    #[arg(short = 'p', long = "param", value_name = "PIN=VALUE", required_unless_present_any = ["params", "latest"])]
    pub(crate) parameters: Vec<String>,
    /// Read values of configuration pins from a YAML file; -p takes precedence
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Vec<PathBuf>,
    /// Use the latest revision of the application
    #[arg(long)]
    pub(crate) latest: bool,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Call a command of an application, and print its results.
///
/// The final result may come from a health check, up to one hour after the beginning of the command. Until then,
/// `windlass app command` waits and checks the health; with --async it does not wait.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app command vm-1 control.reboot
  windlass app command vm-1 control.resize -a size=large --async
  windlass app command --wait shopp7s1c0")]
pub(crate) struct AppCommandArgs {
    /// The application
    #[arg(required_unless_present = "wait")]
    pub(crate) name: Option<AssemblyName>,
    /// The id of the command's pin, such as `control.reboot`
    #[arg(value_name = "INTERFACE.PIN", required_unless_present = "wait")]
    pub(crate) command: Option<String>,
    /// Wait only until the script has ended, not for later results; print the id of the command
    #[arg(long = "async")]
    pub(crate) is_async: bool,
    /// Wait for the results of a command that was called
    #[arg(long, value_name = "ID", conflicts_with_all = ["name", "command", "is_async", "given", "arguments"])]
    pub(crate) wait: Option<CommandId>,
    /// Set an argument; =@FILE reads a secret value from a file, =- from standard input
    #[arg(short = 'a', long = "argument", value_name = "KEY=VALUE")]
    pub(crate) given: Vec<String>,
    /// Read arguments from a YAML file, as secrets; --argument takes precedence
    #[arg(long, value_name = "FILE")]
    pub(crate) arguments: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// List the commands of an application, with the types of their arguments and results.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app commands vm-1
  windlass app commands vm-1 --format json")]
pub(crate) struct CommandsArgs {
    /// The application
    pub(crate) name: AssemblyName,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Check the health of applications, and record what their scripts report.
///
/// Applications of one factory with the same script are checked together. If the script reports an application as
/// destroyed, the application is removed; its history stays. There is one exception: a factory has several
/// applications, and the script reports all of them as destroyed. windlass then removes only those that the command
/// names.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app check
  windlass app check vm-1 vm-2")]
pub(crate) struct AppCheckArgs {
    /// The applications; all if none is named
    pub(crate) names: Vec<AssemblyName>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Adopt the instances that the discovery script of a factory finds.
///
/// New instances become applications of the latest revision. Known applications get the reported changes. An
/// application stays even if the script no longer finds its instance. Instances of exported applications are adopted
/// only with --exported.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app discover vm-factory --dry-run
  windlass app discover vm-factory")]
pub(crate) struct DiscoverArgs {
    /// The factory
    pub(crate) factory: AssemblyName,
    /// Print what was found, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also adopt the instances of exported applications. Use this option only if no other store manages these
    /// instances
    #[arg(long)]
    pub(crate) exported: bool,
    /// Adopt the found instance with this natural id, although an application of another factory has the same id. Use
    /// this option only if the two factories find different instances, such as in two clouds
    #[arg(long = "same-id", value_name = "ID")]
    pub(crate) same_ids: Vec<String>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Remove the records of applications, without running scripts.
///
/// The instances of the applications stay as they are, and windlass no longer manages them. The discovery of a factory
/// finds them again. `app forget` asks for confirmation. Without a terminal, it needs --yes instead.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app forget vm-1 --dry-run
  windlass app forget vm-1 vm-2 --yes")]
pub(crate) struct AppForgetArgs {
    /// The applications
    #[arg(required = true)]
    pub(crate) names: Vec<AssemblyName>,
    /// Remove the records without asking for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
