//! The `windlass` command: parses arguments, prints, exits. What it does is in the crate `windlass`.

mod alike;
mod args;
mod command;
mod conceal;
mod diagnostics;
mod exit;
mod github;
mod output;
mod parameters;
mod progress;
mod signals;

use std::process::ExitCode;

use output::tell;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    // The program starts itself again to watch over jobs; see `windlass::executor::process`.
    if arguments.peek().is_some_and(|first| first == args::SUPERVISE) {
        return windlass::executor::process::supervise();
    }
    // Jobs may be processes of the same user, and what stands in our environment or memory is not theirs. A kernel that can't
    // do it is no reason to do nothing.
    let _refused = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    // The completions of shells start it, too.
    let code = if arguments.next_if(|first| first == args::COMPLETE_NAMES).is_some() {
        command::names::run(arguments.map(|word| word.to_string_lossy().into_owned()))
    } else {
        command::run(args::parse())
    };
    if let Some(error) = output::trouble() {
        tell!("error: can't write to standard output: {error}");
        return exit::FAILED;
    }
    code
}
