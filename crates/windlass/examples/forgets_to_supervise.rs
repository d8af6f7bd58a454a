//! A program whose `main` does not begin with `windlass::supervise()`, so its jobs have no supervisor. A test
//! shows that the failure names the remedy.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints its results")]

use std::error::Error;

use windlass::engine::Stop;
use windlass::{AssemblyInput, Settings, Windlass};

fn main() {
    let folder = std::env::args().nth(1).unwrap_or_default();
    if let Err(error) = up(&folder) {
        eprintln!("{error}");
    }
}

#[tokio::main]
async fn up(folder: &str) -> Result<(), Box<dyn Error>> {
    let windlass = Windlass::open(Settings::new(folder))?;
    let started = windlass.up(AssemblyInput::new(folder), &Stop::default()).await?;
    started.run(&Stop::default()).await?;
    println!("{}", serde_json::to_string(&windlass.views().status(None).await?)?);
    Ok(windlass.close().await?)
}
