//! `windlass completions` and `windlass man`.

use std::fs;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::codes;
use crate::exit;
use crate::failure::fault;
use crate::output::print_document;

/// The start of the completion function in the generated shell scripts.
const WORDS: &str = "_windlass() {";

pub(crate) fn completions(args: &CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "windlass", &mut script);
    let script = String::from_utf8_lossy(&script);
    print_document(&match args.shell {
        Shell::Bash => with_names(&script, include_str!("names/bash.sh"), "\nif [[ \"${BASH_VERSINFO"),
        Shell::Zsh => with_names(&script, include_str!("names/zsh.zsh"), "if [ \"$funcstack[1]\""),
        _ => script.into_owned(),
    });
    exit::DONE
}

/// Adds the completion function `ours` to the completion script of clap. `ours` completes the names of assemblies
/// and of other records in the store. For all other words, `ours` calls clap's function, which is renamed to
/// `_windlass_words`.
///
/// The completion script ends with lines that register the completion function with the shell. `registration` is
/// the text with which these lines begin. The text of `ours` is inserted before these lines.
fn with_names(script: &str, ours: &str, registration: &str) -> String {
    let words = script.replacen(WORDS, "_windlass_words() {", 1);
    words.replacen(registration, &format!("{ours}{registration}"), 1)
}

pub(crate) fn man(args: &ManArgs) -> ExitCode {
    let command = Cli::command().disable_help_subcommand(true);
    match fs::create_dir_all(&args.folder).and_then(|()| clap_mangen::generate_to(command, &args.folder)) {
        Ok(()) => exit::DONE,
        Err(error) => {
            fault!(codes::OUTPUT, "can't write manual pages to `{}`: {error}", args.folder.display());
            exit::FAILED
        }
    }
}
