//! Applications.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::launch::LaunchCommand;

/// Launch and manage applications of custom components.
#[derive(Debug, Args)]
pub(crate) struct AppArgs {
    #[command(subcommand)]
    pub(crate) command: AppCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// Temporary.
    Publish {
        manifest: PathBuf,
        #[arg(long)]
        name: Option<String>,
        #[arg(long)]
        scripts: Option<PathBuf>,
    },
    /// Temporary.
    Service { name: Option<String>, #[arg(long)] location: Option<String> },
    #[command(flatten)]
    Launch(LaunchCommand),
}
