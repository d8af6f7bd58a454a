//! A client of an engine. The program submits one job, reads the events of the job, and then waits until a test kills
//! the program.
//!
//! Arguments: the engine's address, the image, the client's name, the job's id, `kill` or `finish`, and a shell script.
//! With `kill`, the job is killed after the program's death. With `finish`, the job runs to its end. The program prints
//! a line when the job has printed one.

use std::{env, io::Write};

use windlass_executor::{
    Job, JobEvent, OnOwnerDeath, Runtime,
    docker::{DockerOptions, DockerRuntime, EngineChoice, Environment},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [host, image, client, id, fate, script] = args.as_slice() else {
        return Err("expected six arguments".into());
    };
    let fate = if fate == "finish" { OnOwnerDeath::Finish } else { OnOwnerDeath::Kill };
    let (choice, options): (EngineChoice, _) =
        (host.parse()?, DockerOptions::new().image(image).client(client));
    let runtime = DockerRuntime::connect(&choice, &Environment::default(), options).await?;
    let (id, job) = (id.parse()?, Job::command("sh").args(["-c", script]).on_owner_death(fate));
    runtime.submit(&id, &job).await?;
    let mut events = runtime.events(&id).await?;
    while let Some(event) = events.next().await {
        if let JobEvent::Output { .. } = event {
            writeln!(std::io::stdout(), "ready")?;
        }
    }
    std::future::pending().await
}
