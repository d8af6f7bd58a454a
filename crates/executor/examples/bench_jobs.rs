//! Measures what a job costs on the process runtime, beside the same command started directly.
//!
//! ```console
//! $ cargo run --release -p windlass-executor --example bench_jobs
//! ```
//!
//! Both run a shell script that reads its input and prints a line, one after the other and in turns, so that whatever
//! else the host does falls on both.

use std::{
    env,
    io::{self, Write},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use windlass_executor::{
    Job, OnOwnerDeath, Runtime, RuntimeError,
    process::{ProcessRuntime, SupervisorCommand, supervise},
};

const ROUNDS: usize = 200;
const SCRIPT: &str = "read line; echo \"status: $line\"";
const INPUT: &str = "ok\n";

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    if args.next().is_some_and(|first| first == "--supervise-jobs") {
        return supervise(args);
    }
    match tokio::runtime::Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(measure())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _unheard = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let runtime =
        ProcessRuntime::open(dir.path().join("jobs"), SupervisorCommand::this_program(["--supervise-jobs"]))?;
    let (mut bare, mut kill, mut finish) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        bare.push(run_bare()?);
        kill.push(run_job(&runtime, round, OnOwnerDeath::Kill).await?);
        finish.push(run_job(&runtime, round, OnOwnerDeath::Finish).await?);
    }
    runtime.close().await?;
    let bare = median(&mut bare);
    let mut out = io::stdout();
    writeln!(out, "median of {ROUNDS}       µs  ratio")?;
    for (name, median) in
        [("bare", bare), ("job, kill", median(&mut kill)), ("job, finish", median(&mut finish))]
    {
        let ratio = median.as_secs_f64() / bare.as_secs_f64();
        writeln!(out, "{name:<14} {:>6}  {ratio:.2}", median.as_micros())?;
    }
    Ok(())
}

/// The same with nothing around it: fork, exec, input, output, wait.
fn run_bare() -> io::Result<Duration> {
    let begun = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(INPUT.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let took = begun.elapsed();
    assert_eq!(output.stdout, b"status: ok\n");
    Ok(took)
}

async fn run_job(
    runtime: &ProcessRuntime,
    round: usize,
    fate: OnOwnerDeath,
) -> Result<Duration, RuntimeError> {
    let id = format!("bench-{round}").parse().expect("it is made of letters, a hyphen and digits");
    let job = Job::command("sh").args(["-c", SCRIPT]).stdin(INPUT).on_owner_death(fate);
    let begun = Instant::now();
    let outcome = runtime.run(&id, &job).await?;
    let took = begun.elapsed();
    assert_eq!(outcome.stdout.text(), "status: ok\n");
    Ok(took)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
