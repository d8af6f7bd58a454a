//! The `windlass` command: parses arguments, prints results, exits. The functionality is in the crate
//! `windlass`.

mod alike;
mod args;
mod codes;
mod command;
mod conceal;
mod diagnostics;
mod exit;
mod failure;
mod github;
mod outage;
mod output;
mod parameters;
mod progress;
mod signals;
mod size_limit;

use std::process::ExitCode;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

fn main() -> ExitCode {
    if let Some(code) = windlass::supervise() {
        return code;
    }
    let mut arguments = std::env::args_os().skip(1).peekable();
    // Jobs may run as the same user as this process, and must not read its environment or its memory. If the
    // kernel refuses this protection, the program continues without the protection.
    let _refused = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    // The scripts for shell completion start the program with this hidden command.
    let code = if arguments.next_if(|first| first == args::COMPLETE_NAMES).is_some() {
        command::names::run(arguments.map(|word| word.to_string_lossy().into_owned()))
    } else {
        args::mistakes::parse().map_or_else(|code| code, command::run)
    };
    if let Some(error) = output::trouble() {
        // The error is not printed as JSON, because JSON errors go to standard output.
        failure::tell_error(&format!("can't write to standard output: {error}"), Some(codes::OUTPUT));
        return exit::FAILED;
    }
    code
}
