//! Commands that print information for shells and for `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Print a script that completes commands and options in a shell.
///
/// Those of bash and zsh complete the names of assemblies, parts and processes too, from the store of the working folder.
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
}

/// Write the manual pages, one a command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder to write them to; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
