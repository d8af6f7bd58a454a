//! The runner: a program that runs jobs inside a container, and can do so in any, since it needs nothing there.
//!
//! ```text
//! runner serve FOLDER [SCRUB…]   runs jobs that an owner sends on stdin, and answers on stdout
//! runner version                 prints the version of what it speaks
//! ```
//!
//! It is compiled on its own by this crate's build script, statically, with nothing but the standard library; see the
//! module `runner` for why. One thread, one loop around `poll`: each job is a small machine (`job`) that is told what
//! has happened and asked when to look again.

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
