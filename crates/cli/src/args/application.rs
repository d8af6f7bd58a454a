//! The commands that publish, list, show and unpublish applications.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::flags::PrintArgs;
use super::launch::LaunchCommand;

/// Publish applications and factories, which are described by manifests, and launch them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app publish vm.yaml --name VM --scripts scripts
  windlass app publish vm-factory.yaml --name 'VM Factory' --scripts scripts
  windlass app ls
  windlass app show VM
  windlass app launch VM -p configuration.size=small
  windlass app check
  windlass app destroy vm
  windlass app unpublish VM")]
pub(crate) struct AppArgs {
    #[command(subcommand)]
    pub(crate) command: AppCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    Publish(AppPublishArgs),
    Ls(AppLsArgs),
    Show(AppShowArgs),
    Unpublish(AppUnpublishArgs),
    #[command(flatten)]
    Launch(LaunchCommand),
}

/// Publish a manifest with its scripts as the next revision.
///
/// If the text and the scripts are the same as in the latest revision, nothing changes. Existing instances keep their
/// revision.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app publish vm.yaml --name VM
  windlass app publish vm.yaml --name VM --scripts scripts    # /vm/launch.py is scripts/vm/launch.py")]
pub(crate) struct AppPublishArgs {
    /// The manifest
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,

    /// The title by which other manifests refer to this manifest [default: the name of the file without its extension]
    #[arg(long = "name", value_name = "TITLE")]
    pub(crate) title: Option<String>,

    /// The folder with the manifest's scripts; a script that is not there must be in the image of the scripting service
    #[arg(long, value_name = "DIR")]
    pub(crate) scripts: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// List the published applications and factories.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app ls
  windlass app ls --format json")]
pub(crate) struct AppLsArgs {
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Show a published application: its pins, scripts, schedule, services and revisions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app show VM
  windlass app show 'VM Factory' --revision 2")]
pub(crate) struct AppShowArgs {
    /// The title or the short name of the application
    #[arg(value_name = "TITLE")]
    pub(crate) title: String,

    /// Show this revision [default: the latest]
    #[arg(long, value_name = "N")]
    pub(crate) revision: Option<u32>,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Remove all revisions of a published application. Instances that were launched from it stay.
///
/// Publishing the title again continues the numbers of its revisions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass app unpublish VM")]
pub(crate) struct AppUnpublishArgs {
    /// The title or the short name of the application
    #[arg(value_name = "TITLE")]
    pub(crate) title: String,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
