//! An owner of a pool that submits one job and then waits to be killed.
//!
//! Arguments: the pool's folder, the job's id and an image. The program prints a line when the job has
//! printed one.

use std::{env, io::Write, sync::Arc};

use windlass_executor::{
    Job, JobEvent, Runtime,
    docker::{DockerOptions, DockerRuntime, Engine, EngineChoice, Environment, WarmContainers},
    pool::PoolRuntime,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [folder, id, image] = args.as_slice() else { return Err("expected three arguments".into()) };
    #[expect(
        clippy::disallowed_methods,
        reason = "this program stands for one that hands the environment in"
    )]
    let environment: Environment =
        Environment::READ.into_iter().filter_map(|name| Some((name, env::var(name).ok()?))).collect();
    let engine = Engine::connect(&EngineChoice::Docker, &environment).await?;
    let fresh = DockerRuntime::open(engine.clone(), DockerOptions::new()).await?;
    let warm = WarmContainers::open(engine, folder)?;
    let pool = PoolRuntime::new(Arc::new(fresh), Arc::new(warm), 1, format!("{folder}/output"));
    let job = Job::command("sh").args(["-c", "echo ready; sleep 600"]).image(image);
    let id = id.parse()?;
    pool.submit(&id, &job).await?;
    let mut events = pool.events(&id).await?;
    while let Some(event) = events.next().await {
        if let JobEvent::Output { .. } = event {
            writeln!(std::io::stdout(), "ready")?;
        }
    }
    std::future::pending().await
}
