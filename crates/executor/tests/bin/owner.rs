//! A program that owns a process runtime, submits one job, and then waits to be killed.
//!
//! Arguments: the state folder, the supervisor's program, the job's id, `kill` or `finish`, and a shell script. When
//! the job prints something, the owner prints `ready`.

use std::{env, io::Write};

use windlass_executor::{
    Job, JobEvent, OnOwnerDeath, Runtime,
    process::{ProcessRuntime, SupervisorCommand},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [state, supervisor, id, fate, script] = args.as_slice() else {
        return Err("expected five arguments".into());
    };
    let fate = if fate == "finish" { OnOwnerDeath::Finish } else { OnOwnerDeath::Kill };
    let runtime = ProcessRuntime::open(state, SupervisorCommand::new(supervisor, [""; 0]))?;
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
