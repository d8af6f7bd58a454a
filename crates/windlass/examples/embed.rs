//! A program that embeds windlass. It brings up the assembly in the folder of its first argument. With
//! `--ask`, it first shows the plan and asks its user.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints its results")]

use std::error::Error;
use std::process::ExitCode;

use windlass::engine::Stop;
use windlass::model::record::ProcessStatus;
use windlass::{AssemblyInput, Settings, Windlass};

fn main() -> ExitCode {
    // The program starts itself again as the supervisor of its jobs.
    if let Some(code) = windlass::supervise() {
        return code;
    }
    let folder = std::env::args().nth(1).unwrap_or_else(|| "fixtures/assemblies/h_bta".to_owned());
    let asks = std::env::args().any(|argument| argument == "--ask");
    match up(&folder, asks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn up(folder: &str, asks: bool) -> Result<(), Box<dyn Error>> {
    let windlass = Windlass::open(Settings::new(folder))?;
    let started = windlass.up(AssemblyInput::new(folder), &Stop::default()).await?;
    for (number, work) in started.plan().work() {
        println!("{number} {work}");
    }
    let stop = Stop::default();
    if asks && !tokio::task::spawn_blocking(is_agreed_to).await?? {
        // Because of this stop, the process is recorded as cancelled, and no step runs.
        stop.request();
    }
    let ended = windlass.complete(started, &stop).await?;
    println!("{}: {:?}", ended.process.status, ended.outputs);

    let status = windlass.views().status(None).await?;
    println!("{} is {}", status.assemblies[0].name, status.assemblies[0].state);
    windlass.close().await?;
    match ended.process.status {
        ProcessStatus::Completed => Ok(()),
        status => Err(format!("{} {status}", ended.process.id).into()),
    }
}

/// Asks the user. The answer may take any time; meanwhile no other process can change the assembly.
fn is_agreed_to() -> std::io::Result<bool> {
    println!("run it? [y/N]");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(answer.trim() == "y")
}
