//! Measures how long a small job takes on each runtime of this crate. For comparison, the same job also runs as a plain
//! child process, and by the command line of a container engine (`docker run`).
//!
//! ```console
//! $ scripts/bench-jobs
//! ```
//!
//! A *contestant* is one way to run the job, such as a runtime. Every contestant runs a shell script that reads a
//! line of YAML and prints one. Contestants run in turns, so that other load of the host affects all of them.
//! The benchmark omits a contestant that can't run (no `bwrap`, no engine), and prints its name. Arguments select
//! contestants by name; `bare` always runs. The exit code is 1 when a goal is missed.
//!
//! To add a contestant: implement [`Contestant`] and put it into [`contestants`](lines::contestants).

mod goals;
mod lines;
mod row;

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use windlass_executor::{Job, Runtime, process::supervise};

use crate::{goals::Goal, lines::Contestants};

/// Number of measured runs of each contestant, unless it is slow.
const ROUNDS: usize = 200;

/// Number of jobs that run at each level of concurrency.
const CROWD: usize = 256;

/// Number of comparisons between levels of concurrency.
const CROWD_ROUNDS: usize = 5;

/// Minimum ratio of the throughput with 64 concurrent jobs to the throughput with 8 concurrent jobs. The
/// minimum is below 1 because other programs on this machine also affect the throughput.
const SAME: f64 = 0.9;

type Failure = Box<dyn std::error::Error>;

/// One way to run the benchmark's script, for example a runtime. The table has one line for each contestant.
#[async_trait(?Send)]
pub(crate) trait Contestant {
    /// Name of the contestant.
    fn name(&self) -> &'static str;

    /// Runs the script once and returns the duration of each phase. `round` is unique.
    async fn once(&mut self, round: usize) -> Result<Phases, Failure>;

    /// Number of measured runs; fewer for slow contestants.
    fn rounds(&self) -> usize {
        ROUNDS
    }

    /// Removes everything that the contestant has created.
    async fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Durations of the three phases of one run: the submission of the job, the wait for its end, and its removal. Some
/// [`Contestant`]s can't separate these phases. The second value is then the duration of the whole run, and the other
/// two values are zero.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Phases(pub(crate) [Duration; 3]);

impl Phases {
    fn total(self) -> Duration {
        self.0.iter().sum()
    }
}

/// The measurements of one contestant.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) median: Duration,
    p95: Duration,
    phases: [Duration; 3],
}

fn main() -> ExitCode {
    if env::args_os().nth(1).is_some_and(|first| first == "--supervise-jobs") {
        return supervise();
    }
    let only: Vec<String> = env::args().skip(1).collect();
    let measured = tokio::runtime::Runtime::new()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(measure(&only)));
    match measured {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _unheard = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures all contestants and prints the results. Returns `false` if a goal is missed.
async fn measure(only: &[String]) -> Result<bool, Failure> {
    let dir = tempfile::tempdir()?;
    let mut out = io::stdout();
    let mut all = lines::contestants(dir.path()).await?;
    if !only.is_empty() {
        let is_asked = |name: &str| name == "bare" || only.iter().any(|only| only == name);
        let (asked, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut all.running).into_iter().partition(|contestant| is_asked(contestant.name()));
        all.running = asked;
        for other in others {
            other.close().await?;
        }
        all.crowds.retain(|crowd| is_asked(crowd.name));
    }
    for (name, why) in &all.absent {
        writeln!(out, "SKIPPED: {name}: {why}")?;
    }
    let measured = compare(&mut out, &mut all).await;
    all.close().await?;
    let goals = measured?;
    Ok(goals::print(&mut out, &goals)?)
}

async fn compare(out: &mut impl Write, all: &mut Contestants) -> Result<Vec<Goal>, Failure> {
    let running = &mut all.running;
    let mut times: Vec<Vec<Phases>> = running.iter().map(|_| Vec::new()).collect();
    // The first round is not measured: it pays for connections, supervisors and warm containers.
    for contestant in running.iter_mut() {
        contestant.once(ROUNDS).await?;
    }
    for round in 0..ROUNDS {
        for (contestant, times) in running.iter_mut().zip(&mut times) {
            // If a contestant has fewer runs than there are rounds, its runs are spread evenly over the
            // rounds.
            if round % (ROUNDS / contestant.rounds()) == 0 {
                times.push(contestant.once(round).await?);
            }
        }
    }
    let lines: Vec<Line> =
        running.iter().zip(&times).map(|(contestant, times)| line(contestant.name(), times)).collect();
    print_table(out, &lines)?;
    let mut goals = goals::of_medians(&lines);
    for crowd in &all.crowds {
        goals.push(crowd.compare(out).await?);
    }
    for crowd in all.crowds.iter().filter(|crowd| crowd.name != "docker") {
        goals.extend(row::row(out, crowd).await?);
    }
    Ok(goals)
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

/// A runtime, and a job that the benchmark runs on it many times: concurrently, and in a long sequence.
pub(crate) struct Crowd {
    pub(crate) name: &'static str,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) job: Job,
    /// Number of times that one throughput measurement runs the job.
    pub(crate) jobs: usize,
}

impl Crowd {
    /// Compares the throughput with 64 concurrent jobs to the throughput with 8. The measurements alternate.
    async fn compare(&self, out: &mut impl Write) -> Result<Goal, Failure> {
        let (mut few, mut many) = (Vec::new(), Vec::new());
        for round in 0..CROWD_ROUNDS {
            few.push(self.run(round, 8).await?);
            many.push(self.run(round, 64).await?);
        }
        let (few, many) = (quantile(few, 50), quantile(many, 50));
        let rate =
            |took: Duration| f64::from(u32::try_from(self.jobs).unwrap_or(u32::MAX)) / took.as_secs_f64();
        let name = self.name;
        writeln!(out, "{name}: {:.0} jobs a second at 8 at once, {:.0} at 64", rate(few), rate(many))?;
        let ratio = few.as_secs_f64() / many.as_secs_f64();
        Ok(goals::at_least(&format!("{name}: 64 at once as fast a job as 8"), ratio, SAME))
    }

    /// Runs the job `self.jobs` times. At most `at_once` runs are concurrent. Returns the time from the start of the
    /// first run to the end of the last run.
    async fn run(&self, round: usize, at_once: usize) -> Result<Duration, Failure> {
        let begun = Instant::now();
        let next = std::cell::Cell::new(0);
        let worker = || async {
            while next.get() < self.jobs {
                let number = next.replace(next.get() + 1);
                let id = format!("crowd-{}-{round}-{at_once}-{number}", self.name).parse()?;
                self.runtime.run(&id, &self.job).await?;
            }
            Ok::<(), Failure>(())
        };
        futures::future::try_join_all((0..at_once).map(|_| worker())).await?;
        Ok(begun.elapsed())
    }
}
