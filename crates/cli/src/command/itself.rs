//! `windlass completions` and `windlass man`.

use std::fs;
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit;
use crate::output::{print, tell};

pub(crate) fn completions(args: &CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "windlass", &mut script);
    print(&String::from_utf8_lossy(&script));
    exit::DONE
}

pub(crate) fn man(args: &ManArgs) -> ExitCode {
    let command = Cli::command().disable_help_subcommand(true);
    match fs::create_dir_all(&args.folder).and_then(|()| clap_mangen::generate_to(command, &args.folder)) {
        Ok(()) => exit::DONE,
        Err(error) => {
            tell!("error: can't write manual pages to `{}`: {error}", args.folder.display());
            exit::FAILED
        }
    }
}
