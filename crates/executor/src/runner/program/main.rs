//! The runner: a program that runs jobs inside a container. It works in any container, since it has no
//! dependencies.
//!
//! ```text
//! runner serve FOLDER [SCRUB…]   runs jobs that an owner sends on stdin, and answers on stdout
//! runner version                 prints the version of its protocol
//! ```
//!
//! An owner is a process that submits jobs. `FOLDER` contains the folders of the jobs. `SCRUB…` are folders in
//! which jobs may leave files behind, such as `/tmp`. If the runner is the first process of its namespace, it
//! empties the `SCRUB…` folders each time its last running job has ended.
//!
//! The build script of the crate compiles the runner statically, without other crates; the module `runner`
//! gives the reasons. The runner has one thread with one loop around `poll`. Each job is a small state machine
//! (`job`): it receives events and returns the time of its next check.

#[path = "../../folder_content.rs"]
mod folder_content;
#[path = "../../left_behind.rs"]
mod left_behind;
#[path = "../../output_file.rs"]
mod output_file;
#[path = "../../process_list.rs"]
mod process_list;
#[path = "../protocol.rs"]
mod protocol;
#[path = "../../refusal.rs"]
mod refusal;

mod files;
mod job;
mod launch;
mod processes;
mod serve;
mod sys;

use std::{env, io, path::Path, process::ExitCode};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["serve", folder, scrub @ ..] => serve::serve(Path::new(folder), scrub).map(|()| 0),
        ["version"] => {
            println!("{}", protocol::VERSION);
            Ok(0)
        }
        _ => Err(io::Error::other("expected: serve FOLDER [SCRUB…], version")),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("windlass-runner: {error}");
            ExitCode::from(125)
        }
    }
}
