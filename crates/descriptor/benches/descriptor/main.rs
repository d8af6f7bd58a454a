//! Measures how long it takes to read, check, compose and resolve generated assemblies.
//!
//! `cargo bench -p windlass-descriptor` runs the benchmarks of the small sizes. `scripts/bench-descriptors`
//! runs this program with `--one`, which measures one shape and size. The script compares the results with
//! the goals.

#![expect(clippy::print_stdout, reason = "a program that prints what it measures")]

mod shapes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use divan::Bencher;
use rustix::time::{ClockId, clock_gettime};
use shapes::{PART, Shape, related};
use windlass_descriptor::compose::MAX_ELEMENTS;
use windlass_descriptor::{
    AssemblyDescriptor, Descriptor, MemoryCatalog, Missing, Request, check, compose, read, resolve,
};
use windlass_source::Source;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--one", shape, count] => one(shape, count.parse().unwrap_or(1000)),
        ["--bomb", name] => bomb(name),
        ["--write", shape, count] => print!("{}", text_of(shape, count.parse().unwrap_or(1000))),
        _ => divan::main(),
    }
}

/// Limit of a text's size in bytes. It is higher than the default, because generated texts are large.
const LIMIT: usize = 256 << 20;

fn text_of(shape: &str, count: usize) -> String {
    match Shape::ALL.into_iter().find(|known| known.name() == shape) {
        Some(shape) => shape.assembly(count),
        None => related(count),
    }
}

fn catalog() -> MemoryCatalog {
    let mut catalog = MemoryCatalog::new();
    if let Some(part) = read(&Source::new("part.yaml", PART)).descriptor {
        catalog.insert(part);
    }
    catalog
}

fn assembly(text: &str) -> Arc<AssemblyDescriptor> {
    let read = read(&Source::with_limit("bench.yaml", text, LIMIT));
    assert!(!read.diagnostics.has_errors(), "{}", read.diagnostics);
    let Some(Descriptor::Assembly(assembly)) = read.descriptor else { panic!("it is an assembly") };
    assembly
}

const STEPS: [&str; 4] = ["read", "check", "compose", "print"];

/// Returns the processor time that this thread has used so far. Unlike elapsed time, processor time hardly
/// changes if other programs are also running.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("time runs forward")
}

/// Runs `work` and returns its result and its processor time.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = processor_time();
    let done = work();
    (done, processor_time().saturating_sub(start))
}

/// Measures how long each of the four `STEPS` takes: reading, checking, composing and printing. Also returns the
/// peak of this process's memory before the printing, in KiB.
fn measure(text: String, catalog: &MemoryCatalog) -> ([Duration; 4], u64) {
    let parameters = BTreeMap::new();
    let source = Source::with_limit("bench.yaml", text, LIMIT);
    let (found, reading) = timed(|| read(&source));
    assert!(!found.diagnostics.has_errors(), "{}", found.diagnostics);
    let descriptor = found.descriptor.expect("it is a descriptor");
    let Descriptor::Assembly(assembly) = &descriptor else { panic!("it is an assembly") };
    let (checked, checking) = timed(|| check(&descriptor, catalog, Missing::Refused));
    assert!(!checked.has_errors(), "{checked}");
    let name = "bench".parse().expect("a name");
    let request = Request::new(&name, &parameters, catalog).nodes(MAX_ELEMENTS);
    let (composed, composing) = timed(|| compose(assembly, request));
    assert!(composed.topology.is_some(), "{}", composed.diagnostics);
    let before = peak();
    drop(composed);
    let (resolved, printing) = timed(|| resolve(assembly, request));
    assert!(resolved.is_ok(), "it resolves");
    ([reading, checking, composing, printing], before)
}

/// Runs the four [`STEPS`] once on a generated assembly, for example on a `grid` of 1000 components.
///
/// Prints the processor time of each step and the elapsed time of all steps (`wall`), in nanoseconds. Also
/// prints the peak of memory before the last step (`peak`) and after it (`printed`), in KiB.
fn one(shape: &str, count: usize) {
    let text = text_of(shape, count);
    let bytes = text.len();
    let catalog = catalog();
    let start = Instant::now();
    let (times, peak_before) = measure(text, &catalog);
    let wall = start.elapsed();
    print!("shape={shape} count={count} bytes={bytes}");
    for (step, time) in STEPS.iter().zip(times) {
        print!(" {step}={}", time.as_nanos());
    }
    println!(" wall={} peak={peak_before} printed={}", wall.as_nanos(), peak());
}

/// Measures how long [`read`] takes to refuse the text of [`shapes::bomb`]. Prints this time in nanoseconds, and
/// the peak of this process's memory in KiB.
fn bomb(name: &str) {
    let source = Source::new("bomb.yaml", shapes::bomb(name));
    let (found, time) = timed(|| read(&source));
    assert!(found.diagnostics.has_errors(), "it is refused");
    println!("bomb={name} bytes={} read={} peak={}", source.text().len(), time.as_nanos(), peak());
}

/// Returns the peak of this process's memory in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[divan::bench(args = Shape::ALL, consts = [1_000, 10_000])]
fn reading<const N: usize>(bencher: Bencher<'_, '_>, shape: Shape) {
    let source = Source::new("bench.yaml", shape.assembly(N));
    bencher.bench(|| read(&source));
}

#[divan::bench(args = Shape::ALL, consts = [1_000, 10_000])]
fn checking<const N: usize>(bencher: Bencher<'_, '_>, shape: Shape) {
    let (descriptor, catalog) = (Descriptor::Assembly(assembly(&shape.assembly(N))), catalog());
    bencher.bench(|| check(&descriptor, &catalog, Missing::Refused));
}

#[divan::bench(args = Shape::ALL, consts = [1_000, 10_000])]
fn composing<const N: usize>(bencher: Bencher<'_, '_>, shape: Shape) {
    let (assembly, catalog) = (assembly(&shape.assembly(N)), catalog());
    let (name, parameters) = ("bench".parse().expect("a name"), BTreeMap::new());
    let request = Request::new(&name, &parameters, &catalog).nodes(MAX_ELEMENTS);
    bencher.bench_local(|| compose(&assembly, request));
}

#[divan::bench(args = Shape::ALL, consts = [1_000, 10_000])]
fn resolving<const N: usize>(bencher: Bencher<'_, '_>, shape: Shape) {
    let (assembly, catalog) = (assembly(&shape.assembly(N)), catalog());
    let (name, parameters) = ("bench".parse().expect("a name"), BTreeMap::new());
    let request = Request::new(&name, &parameters, &catalog);
    bencher.bench_local(|| resolve(&assembly, request));
}
