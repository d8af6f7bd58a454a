//! Measures what a job costs, side by side: on the runtimes of this crate, bare, and by the command line of an engine.
//!
//! ```console
//! $ scripts/bench-jobs
//! ```
//!
//! Every contestant runs a shell script that reads a line of YAML and prints one, all of them in turns, so that whatever
//! else the host does falls on all. A contestant that isn't there (no `bwrap`, no engine) is left out and named. The
//! exit code is 1 when a goal is missed.
//!
//! To add one: implement [`Contestant`] and put it into [`contestants`](lines::contestants).

mod goals;
mod lines;

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use windlass_executor::{Job, Runtime, process::supervise};

use crate::lines::Contestants;

/// How often each contestant runs.
const ROUNDS: usize = 100;

/// How many jobs in a row show whether the last costs what the first did.
const ROW: usize = 1000;

/// How many jobs run for each number at once.
const CROWD: usize = 256;

type Failure = Box<dyn std::error::Error>;

/// One line of the table.
#[async_trait(?Send)]
pub(crate) trait Contestant {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Runs the script once; `round` is never the same twice. Returns how long each of its phases took.
    async fn once(&mut self, round: usize) -> Result<Phases, Failure>;

    /// How many rounds it gets; fewer for those that are slow.
    fn rounds(&self) -> usize {
        ROUNDS
    }

    /// Clears up.
    async fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

/// How long the phases of one run took: handing it over, waiting for its end, removing what is left. Who has no phases
/// has all in the second.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Phases(pub(crate) [Duration; 3]);

impl Phases {
    fn total(self) -> Duration {
        self.0.iter().sum()
    }
}

/// What was measured of one contestant.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) median: Duration,
    p95: Duration,
    phases: [Duration; 3],
}

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    if args.next().is_some_and(|first| first == "--supervise-jobs") {
        return supervise(args);
    }
    let measured =
        tokio::runtime::Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(measure()));
    match measured {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _unheard = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures everything and prints it. `false` if a goal is missed.
async fn measure() -> Result<bool, Failure> {
    let dir = tempfile::tempdir()?;
    let mut out = io::stdout();
    let Contestants { mut running, absent, crowds } = lines::contestants(dir.path())?;
    for (name, why) in &absent {
        writeln!(out, "SKIPPED: {name}: {why}")?;
    }
    let mut times: Vec<Vec<Phases>> = running.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for (contestant, times) in running.iter_mut().zip(&mut times) {
            if round < contestant.rounds() {
                times.push(contestant.once(round).await?);
            }
        }
    }
    let lines: Vec<Line> =
        running.iter().zip(&times).map(|(contestant, times)| line(contestant.name(), times)).collect();
    print_table(&mut out, &lines)?;
    let mut goals = goals::of_medians(&lines);
    for (name, runtime, template) in &crowds {
        let few = crowd(&**runtime, template, name, 8).await?;
        let many = crowd(&**runtime, template, name, 64).await?;
        writeln!(out, "{name}: {few:.0} jobs a second at 8 at once, {many:.0} at 64")?;
        // A tenth is what two measurements of the same differ by.
        goals.push(goals::at_least(&format!("{name}: 64 at once as fast a job as 8"), many / few, 0.9));
    }
    if let Some((name, runtime, template)) = crowds.first() {
        let (first, last) = row(&**runtime, template).await?;
        writeln!(out, "{name}: p95 of the first 100 of {ROW} {first:.2?}, of the last 100 {last:.2?}")?;
        goals.push(goals::at_most(
            &format!("{name}: p95 after {ROW} jobs"),
            last.as_secs_f64() / first.as_secs_f64(),
            1.2,
        ));
    }
    for contestant in running {
        contestant.close().await?;
    }
    Ok(goals::print(&mut out, &goals)?)
}

fn line(name: &'static str, times: &[Phases]) -> Line {
    let phase = |index: usize| quantile(times.iter().map(|phases| phases.0[index]).collect(), 50);
    let totals: Vec<Duration> = times.iter().map(|phases| phases.total()).collect();
    Line {
        name,
        median: quantile(totals.clone(), 50),
        p95: quantile(totals, 95),
        phases: [phase(0), phase(1), phase(2)],
    }
}

fn quantile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    times.get(times.len() * percent / 100).copied().unwrap_or_default()
}

fn print_table(out: &mut impl Write, lines: &[Line]) -> io::Result<()> {
    let bare = lines.first().map_or(Duration::ZERO, |line| line.median).as_secs_f64();
    writeln!(
        out,
        "{:<24} {:>9} {:>9} {:>7}   submit   wait  remove   (µs, medians)",
        "", "median", "p95", "× bare"
    )?;
    for line in lines {
        let [submit, wait, remove] = line.phases.map(|phase| phase.as_micros());
        let ratio = line.median.as_secs_f64() / bare;
        let (median, p95) = (line.median.as_micros(), line.p95.as_micros());
        writeln!(
            out,
            "{:<24} {median:>9} {p95:>9} {ratio:>7.2} {submit:>8} {wait:>6} {remove:>7}",
            line.name
        )?;
    }
    Ok(())
}

/// Runs many jobs, so many at a time, and returns how many a second were done.
async fn crowd(runtime: &dyn Runtime, template: &Job, name: &str, at_once: usize) -> Result<f64, Failure> {
    let begun = Instant::now();
    let next = std::cell::Cell::new(0);
    let worker = || async {
        while next.get() < CROWD {
            let number = next.replace(next.get() + 1);
            let id = format!("crowd-{}-{at_once}-{number}", name.replace(' ', "-")).parse()?;
            runtime.run(&id, template).await?;
        }
        Ok::<(), Failure>(())
    };
    futures::future::try_join_all((0..at_once).map(|_| worker())).await?;
    #[expect(clippy::cast_precision_loss, reason = "it is a few hundred")]
    Ok(CROWD as f64 / begun.elapsed().as_secs_f64())
}

/// Runs many jobs one after the other; returns the p95 of the first and of the last hundred.
async fn row(runtime: &dyn Runtime, template: &Job) -> Result<(Duration, Duration), Failure> {
    let mut times = Vec::with_capacity(ROW);
    for number in 0..ROW {
        let begun = Instant::now();
        runtime.run(&format!("row-{number}").parse()?, template).await?;
        times.push(begun.elapsed());
    }
    let last = times.split_off(ROW - 100);
    times.truncate(100);
    Ok((quantile(times, 95), quantile(last, 95)))
}

/// A runtime, and the job that is the script on it, for what is measured beside the table.
pub(crate) type Crowd = (&'static str, Arc<dyn Runtime>, Job);
