//! The first process of a container that runs one job. It reads the job from its standard input, runs the
//! job, and reports on the job line by line on its standard output.
//!
//! The crate's build script compiles this static program with the standard library only. The program is
//! mounted read-only into every container, so it runs in any image. It does four things that a container
//! alone can't do:
//!
//! - It distinguishes a signal from an exit code above 128, and a missing program from a missing interpreter.
//! - It counts the bytes of output that are not stored.
//! - It enforces the time limit.
//! - It ends a job whose limits (record `n`) contain `kill`, if the client that submitted the job has gone. A job
//!   whose limits contain `finish` continues without its client.
//!
//! # Input
//! The input consists of records. A record is a letter, a length (`u64`, little-endian), and as many bytes of
//! content. If the limits of the job contain `kill`, the end of the input means that the client has gone.
//!
//! | record | content |
//! |---|---|
//! | `a` | an argument; the first is the program |
//! | `e` | a variable, `NAME=value` |
//! | `n` | the limits, separated by spaces: time limit in ms, grace period in ms, maximum bytes of stdout in the outcome, maximum bytes of stderr in the outcome, storage limit of each stream in bytes, `kill` or `finish` |
//! | `d` | the maximum number of open files of each process of the job |
//! | `f` | a file: its mode in octal and its path; the next record `c` is its content |
//! | `i` | the job's stdin |
//! | `o` | an output: its maximum size and its path |
//! | `F` | an output folder, which this program creates: its maximum size and its path |
//! | `.` | the end of the description of the job; further input is not parsed |
//!
//! # Output
//! The output consists of lines of ASCII, each shorter than 16 KiB. A line is a letter and fields. Bytes are
//! in base64, because the log of the container engine would damage bytes that are not UTF-8. This log keeps the
//! lines, so that other clients can read them later.
//!
//! | line | meaning |
//! |---|---|
//! | `A` | all input was stored |
//! | `R why` | the input could not be stored |
//! | `S time` | the job was started |
//! | `o bytes`, `e bytes` | output on stdout, on stderr |
//! | `O bytes`, `E bytes` | the last bytes of stdout, of stderr, if the stream is longer than the storage limit |
//! | `F number state` | the state of the output with the index `number`: `content` if the output can be read, or else the reason, such as `missing` |
//! | `f bytes` | the next bytes of the output that the last `F` named: a file's content, or a folder's encoded files |
//! | `L bytes` | the names of the processes that the job left running, one on each line |
//! | `X started ended stdout stderr end` | the last line: both times, the bytes written, and how the job ended |
//!
//! If the limits of the job contain `finish`, this program also writes the lines to the file `told` in the
//! job's volume. Without this file, the lines that are written while the container engine is down would be
//! lost.
//!
//! # Signals
//! The real-time signal 34 + n asks the job to end, and the job is killed after a grace period. The grace
//! period is 50 ms × 2^(n-1), and zero for n = 0. The client never sends SIGTERM, so SIGTERM means that the
//! container engine stops the container.
//! Clients send the signal through the container engine. So every client of the engine can end the job, and not
//! only the client that submitted it.
//!
//! # Modules, in the order in which a job needs them
//! `spec` reads the job, and `start` starts it. `streams` reads its output. `signals` and `processes` send
//! events, and `life` decides when the job is over. `outputs` collects the job's files. `report` writes the
//! lines, and `sys` wraps the system calls. Other programs also contain the files `folder_content`,
//! `left_behind`, `output_file`, `process_list` and `refusal` (the reasons why a program can't be run).

#[path = "../../folder_content.rs"]
mod folder_content;
#[path = "../../left_behind.rs"]
mod left_behind;
#[path = "../../output_file.rs"]
mod output_file;
#[path = "../../process_list.rs"]
mod process_list;
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

/// Mount point of the job's volume.
const ROOT: &str = "/windlass";

/// Working folder of the job.
const WORK: &str = "/windlass/work";

/// Exit code of this program if the job has no exit code.
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
        // The client disconnected before the description was complete, so the job never existed.
        Ok(None) => process::exit(NO_EXIT_CODE),
        Err(error) => {
            report.say_bytes("R", error.to_string().as_bytes());
            // The rest of the input is read, so that the client can write all of it and then read the reason
            // of the refusal.
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

/// Waits until the client disconnects, or until a signal asks this process to end. A container that runs this
/// function is the anchor of its client. The containers of the client's jobs mount the anchor's volume, which
/// contains this program. Jobs without a network of their own use the anchor's network, which has only the
/// loopback device.
fn anchor(signals: sys::SigSet) {
    thread::spawn(move || {
        signals.wait();
        process::exit(0);
    });
    let _gone = io::copy(&mut io::stdin(), &mut io::sink());
}

/// Starts a thread that sends [`Event::OwnerGone`] when the input of this program ends. The end of the input means that
/// the client has disconnected or is dead.
fn watch_owner(mut input: impl io::Read + Send + 'static, events: Sender<Event>) {
    thread::spawn(move || {
        let _gone = io::copy(&mut input, &mut io::sink());
        let _over = events.send(Event::OwnerGone);
    });
}

/// Runs the job, and reports on it. Returns the exit code of this program.
fn run(spec: &Spec, report: &Report, sender: Sender<Event>, events: &Receiver<Event>) -> i32 {
    // All threads start before the job, since the job may use up the permitted number of processes.
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
    let (end, are_gone) = life::run_to_end(spec, main, events, report);
    // If all processes are gone, no process can write any more, so both streams end.
    let limit = (!are_gone).then_some(streams::REMAINING);
    let totals = [stdout.end('O', report, limit), stderr.end('E', report, limit)];
    outputs::bring_back(spec, report);
    report.say_end(&end, Some(started_at), totals)
}
