//! Commands that print information for shells and for `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::flags::ErrorArgs;

/// Print a script that completes commands and options in a shell.
///
/// In bash and zsh the script also completes the names of assemblies, components and processes of the working folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,

    #[command(flatten)]
    pub(crate) _errors: ErrorArgs,
}

/// Write the manual pages, one for each command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder for the pages, which is created if missing
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    #[command(flatten)]
    pub(crate) _errors: ErrorArgs,
}
