//! The first process of a container: takes one job from its standard input, runs it, and tells of it on its standard
//! output, line by line.
//!
//! It is compiled by the crate's build script into one static program with nothing but the standard library, and is
//! mounted read-only into every container, so that it runs in any image. What a container alone can't tell, it does:
//! a signal from an exit code above 128, a missing program from a missing interpreter, how much was written beyond what
//! is kept; and it holds the time limit and ends what is left when nobody is connected any more.
//!
//! # What it reads
//! Records: a letter, a length (`u64`, little-endian), that many bytes. The end of the input tells that the owner has gone.
//!
//! | record | is |
//! |---|---|
//! | `a` | an argument, the program first |
//! | `e` | a variable, `NAME=value` |
//! | `n` | the limits in words: time limit and grace in ms, bytes kept of stdout and of stderr, bytes stored, `kill` or `finish` |
//! | `d` | the most files that a process of the job may have open |
//! | `f` | a file: its mode in octal and its path; the next `c` is its content |
//! | `i` | what the job reads |
//! | `o` | an output: its greatest size and its path |
//! | `.` | the end of the job; what comes after it is not read |
//!
//! # What it writes
//! Lines of ASCII of less than 16 KiB, a letter and words; bytes are base64. Who reads them later from the engine's log
//! reads the same.
//!
//! | line | is |
//! |---|---|
//! | `A` | everything has been stored |
//! | `R why` | it could not be |
//! | `S time` | the job runs |
//! | `o bytes`, `e bytes` | it wrote this to stdout, to stderr |
//! | `O bytes`, `E bytes` | the last it wrote of what is too much to be stored |
//! | `F number state` | what became of an output; lines `f bytes` with its content follow |
//! | `L bytes` | the names of processes that it has left running, a line each |
//! | `X started ended stdout stderr end` | how it ended, when, and how many bytes it wrote; the last line |
//!
//! A job that must finish keeps a copy in the file `told` of its volume: what is told while the engine is dead is in no log.
//!
//! # Signals
//! The real-time signal 34 + n asks the job to end, and ends it after 50 ms × 2^(n-1), at once for n = 0. SIGTERM is not
//! sent by us: it means that the engine stops the container.
//!
//! # The modules, in the order of a job's life
//! `spec` reads it, `start` starts it, `streams` takes what it writes, `signals` and `processes` tell what happens to it,
//! `life` decides when it is over, `outputs` brings back its files. `report` writes the lines, `sys` has the system calls. `refusal`,
//! why a program can't be run, is shared.

#[path = "../../refusal.rs"]
mod refusal;

mod life;
mod outputs;
mod processes;
mod report;
mod signals;
mod spec;
mod start;
mod streams;
mod sys;

use std::{
    io,
    path::Path,
    process,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use crate::{
    life::{End, Event},
    report::{Report, now},
    spec::Spec,
};

/// Where the job's volume is mounted.
const ROOT: &str = "/windlass";

/// Where the job runs.
const WORK: &str = "/windlass/work";

/// What this program exits with when no process of the job says otherwise.
const NO_EXIT_CODE: i32 = 125;

fn main() {
    sys::shut_off();
    let signals = signals::block();
    if std::env::args().nth(1).as_deref() == Some("anchor") {
        return anchor(signals);
    }
    let mut input = io::BufReader::with_capacity(64 << 10, io::stdin());
    let mut report = Report::to_stdout();
    let spec = match Spec::read(&mut input) {
        Ok(Some(spec)) => spec,
        // Whoever began to describe the job has gone before the end: it was never there.
        Ok(None) => process::exit(NO_EXIT_CODE),
        Err(error) => {
            report.say_bytes("R", error.to_string().as_bytes());
            // The rest is taken, so that who writes it comes to read why it was refused.
            let _gone = io::copy(&mut input, &mut io::sink());
            process::exit(NO_EXIT_CODE);
        }
    };
    if spec.must_finish {
        report.copy_to(&Path::new(ROOT).join("told"));
    }
    report.say("A");
    let (sender, events) = channel();
    signals::watch(signals, sender.clone());
    if !spec.must_finish {
        watch_owner(input, sender.clone());
    }
    process::exit(run(&spec, &report, sender, &events));
}

/// Stays as long as somebody is connected: others share its network, in which there is nothing, and what it has mounted.
fn anchor(signals: sys::SigSet) {
    thread::spawn(move || {
        signals.wait();
        process::exit(0);
    });
    let _gone = io::copy(&mut io::stdin(), &mut io::sink());
}

/// Tells when the input ends, and with it the owner.
fn watch_owner(mut input: impl io::Read + Send + 'static, events: Sender<Event>) {
    thread::spawn(move || {
        let _gone = io::copy(&mut input, &mut io::sink());
        let _over = events.send(Event::OwnerGone);
    });
}

/// Runs the job and tells of it; returns what this program exits with.
fn run(spec: &Spec, report: &Report, sender: Sender<Event>, events: &Receiver<Event>) -> i32 {
    // All threads are there before the job is: it may leave no room for any.
    let stdout = streams::pump('o', spec.keep[0], spec, report, &sender);
    let stderr = streams::pump('e', spec.keep[1], spec, report, &sender);
    let (started, is_started) = channel::<()>();
    thread::spawn(move || is_started.recv().is_ok().then(|| processes::reap(&sender)));
    let mut child = match start::start(spec) {
        Ok(child) => child,
        Err(why) => return report.say_end(&End::NotStarted(why), None, [0; 2]),
    };
    let started_at = now();
    report.say(&format!("S {started_at}"));
    let main = i32::try_from(child.id()).expect("process numbers fit");
    stdout.begin(child.stdout.take());
    stderr.begin(child.stderr.take());
    let _it_waits = started.send(());
    let end = life::run_to_end(spec, main, events, report);
    // All who could write are gone, so both streams have ended.
    let totals = [stdout.end('O', report), stderr.end('E', report)];
    outputs::bring_back(spec, report);
    report.say_end(&end, Some(started_at), totals)
}
