//! Measures the speed of a simulation, and the growth of its memory. `scripts/bench-simulate` runs this
//! program.
//!
//! The simulation has 20 factories with 500 applications each. windlass checks the health of each application
//! once in each simulated minute. Most applications always report the same data. One application of twenty
//! reports different data during three of every ten minutes: the status `degraded` in place of `active`, and
//! another IP address.
//!
//! The speed is the simulated time divided by the processor time. The memory is the peak memory of a process
//! that runs only this simulation.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program for the terminal")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use windlass::engine::Stop;
use windlass::simulating::{ManifestFile, SimulationInput, SimulationView, Simulator};
use windlass::{Settings, Windlass};

/// Number of simulated factories. Each factory has applications of one kind.
const FACTORIES: usize = 20;

/// The minimum speed of a simulation in which data replace the output of scripts. The unit is simulated
/// seconds for each second of processor time.
const DATA_GOAL: f64 = 1440.0;

/// The minimum speed of a simulation in which texts replace the output of scripts. windlass parses these
/// texts like the output of a script. The unit is simulated seconds for each second of processor time.
const TEXT_GOAL: f64 = 300.0;

/// The maximum ratio of the peak memory of ten simulated days to the peak memory of one simulated day.
const MEMORY_GOAL: f64 = 1.05;

const DAY: f64 = 86_400.0;

/// The measured values of a simulation.
struct Measured {
    cpu: f64,
    peak_kib: f64,
    checked: u64,
    changes: u64,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ended = match &args[..] {
        [mode, days, count] => days.parse().map_err(Into::into).and_then(|days| one(mode, days, count)),
        _ => all(args.first().map_or("500", String::as_str)),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a goal was missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("bench_simulate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs each simulation in a process of its own. Returns whether the simulations meet the goals for speed and
/// memory.
fn all(count: &str) -> Result<bool, Box<dyn Error>> {
    println!("{FACTORIES} factories with {count} applications each, checks each minute\n");
    println!("| answers | days | processor | × real time | checks | changes | peak |");
    println!("|:--------|-----:|----------:|------------:|-------:|--------:|-----:|");
    let mut measured = Vec::new();
    for (mode, days) in [("data", 1), ("data", 10), ("text", 1)] {
        let one = process(mode, days, count)?;
        let speed = DAY * f64::from(days) / one.cpu;
        println!(
            "| {mode} | {days} | {:.1} s | {speed:.0} | {} | {} | {:.1} MB |",
            one.cpu,
            one.checked,
            one.changes,
            one.peak_kib / 1024.0
        );
        measured.push((one, speed));
    }
    let growth = measured[1].0.peak_kib / measured[0].0.peak_kib;
    println!("\nmemory after ten days: {growth:.3} × that after one");
    println!("goals: data at least {DATA_GOAL}, text at least {TEXT_GOAL}, memory at most {MEMORY_GOAL}");
    Ok(measured[0].1 >= DATA_GOAL && measured[2].1 >= TEXT_GOAL && growth <= MEMORY_GOAL)
}

/// Runs one simulation in a process of its own, and reads the values that it prints.
fn process(mode: &str, days: u32, count: &str) -> Result<Measured, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?).args([mode, &days.to_string(), count]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let values: Vec<&str> = text.split_whitespace().collect();
    match values[..] {
        [cpu, peak, checked, changes] => Ok(Measured {
            cpu: cpu.parse()?,
            peak_kib: peak.parse()?,
            checked: checked.parse()?,
            changes: changes.parse()?,
        }),
        _ => Err(format!("{mode}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Runs one simulation in this process, and prints the measured values.
fn one(mode: &str, days: u32, count: &str) -> Result<bool, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let count: u32 = count.parse()?;
    let input = input(folder.path(), mode, days, count)?;
    let windlass = Windlass::open(Settings::new(folder.path()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stop = Stop::default();
    let begun = cpu();
    let (view, _) = runtime.block_on(Simulator::new(&windlass, &stop).run(&input, &mut |_| {}))?;
    let cpu = cpu() - begun;
    let SimulationView { checked, changes, .. } = view;
    println!("{cpu} {} {checked} {changes}", peak_kib()?);
    Ok(true)
}

/// Writes the manifests and a file of answers to a folder. The answers replace the output of scripts. Returns
/// the input of a simulation with these files.
fn input(folder: &Path, mode: &str, days: u32, count: u32) -> Result<SimulationInput, Box<dyn Error>> {
    let mut manifests = Vec::new();
    let mut answers = "version: 1\nanswers:\n".to_owned();
    for at in 0..FACTORIES {
        let title = format!("app{at:02}");
        let factory = folder.join(format!("factory-{title}.yaml"));
        fs::write(&factory, FACTORY.replace("APP", &title))?;
        let application = folder.join(format!("{title}.yaml"));
        fs::write(&application, APPLICATION.replace("APP", &title))?;
        manifests.extend([factory, application].map(|path| ManifestFile { path, title: None }));
        rules(&mut answers, mode, &title, count)?;
    }
    let file = folder.join("answers.yaml");
    fs::write(&file, answers)?;
    let mut input = SimulationInput::new(manifests);
    input.answers = Some(file);
    input.count = count;
    input.duration = Duration::from_secs(u64::from(days) * 86_400);
    Ok(input)
}

/// Adds entries to the text of the file of answers. The entries replace the output of the health check script
/// for all applications with the title `title`.
fn rules(answers: &mut String, mode: &str, title: &str, count: u32) -> Result<(), std::fmt::Error> {
    let name = |number: u32| if number == 1 { title.to_owned() } else { format!("{title}-{number}") };
    let window = "from: 5m, every: 10m, for: 3m";
    if mode == "data" {
        let odd: Vec<String> = (1..=count).filter(|number| number % 20 == 0).map(name).collect();
        let odd = odd.join(", ");
        writeln!(
            answers,
            "- {{script: health-check, title: {title}, applications: [{odd}], {window}, update: {ODD}}}"
        )?;
        return writeln!(answers, "- {{script: health-check, title: {title}, update: {WELL}}}");
    }
    // The health check right after the launch of an application concerns only this application. The text
    // below lists all applications, and so it would be the wrong output for this check. All launches happen
    // in the first minute. So no text applies before the second minute.
    for (window, changes) in [(window, true), ("from: 1m", false)] {
        writeln!(answers, "- script: health-check\n  title: {title}\n  stdout: |\n    instances:")?;
        for number in 1..=count {
            let update = if changes && number % 20 == 0 { ODD } else { WELL };
            writeln!(answers, "      {}: {update}", name(number))?;
        }
        for key in window.split(", ") {
            writeln!(answers, "  {key}")?;
        }
    }
    Ok(())
}

const WELL: &str = "{status: {flags: {active: true, converging: false, failed: false}}, \
                    $set: {interfaces.compute.signals.ip: 203.0.113.7}}";

const ODD: &str = "{status: {flags: {active: true, converging: false, failed: true}, message: no disk}, \
                   $set: {interfaces.compute.signals.ip: 203.0.113.8}}";

const FACTORY: &str = r#"
application:
  interfaces:
    component: {"*": bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        component.application: APP
        component.discoveryScript: /app/discover.py
        component.discoverySchedule: "0 0/5 * * * ? *"
"#;

const APPLICATION: &str = r#"
application:
  interfaces:
    compute: {"*": bind(vm#compute.*)}
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: factory-APP
        factory.launchScript: /app/launch.py
        factory.destroyScript: /app/destroy.py
        factory.healthCheckScript: /app/check.py
      interfaces:
        compute: {ip: publish-signal(string)}
"#;

/// Returns the processor time that this process has used, in seconds.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
        .as_secs_f64()
}

/// Returns the peak memory of this process.
fn peak_kib() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("the kernel tells no peak")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
