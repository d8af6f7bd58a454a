//! Measures how the duration of planning grows with the assembly.

use std::fmt::Write as _;

use windlass_descriptor::{Descriptor, MemoryCatalog, Request, compose, read};
use windlass_lifecycle::{Current, up};
use windlass_model::Topology;
use windlass_model::resolve::NothingYet;
use windlass_source::Source;

fn main() {
    divan::main();
}

fn descriptor(text: &str) -> Descriptor {
    let read = read(&Source::new("bench.yaml", text));
    read.descriptor.unwrap_or_else(|| panic!("{}", read.diagnostics))
}

fn composed(sections: &str) -> Topology {
    let mut catalog = MemoryCatalog::new();
    catalog.insert(descriptor(
        "name: resource::r::1.0\nproperties:\n  in: {}\n  out: {read-only: true}\nlifecycle: [Install, Configure, Start, Stop, Uninstall]\noperations: {Join: {}, Leave: {}}\n",
    ));
    let Descriptor::Assembly(assembly) = descriptor(&format!("name: assembly::bench::1.0\n{sections}"))
    else {
        panic!("it is an assembly")
    };
    let (name, parameters) = ("bench".parse().expect("valid"), std::collections::BTreeMap::new());
    let composed = compose(&assembly, Request::new(&name, &parameters, &catalog));
    composed.topology.unwrap_or_else(|| panic!("{}", composed.diagnostics))
}

/// Returns an assembly in which each component reads an output of the tenth component before it.
fn chained(count: usize) -> Topology {
    let mut sections = String::from("composition:\n");
    for at in 0..count {
        let _ = match at.checked_sub(10) {
            Some(before) => writeln!(
                sections,
                "  c{at}: {{type: resource::r::1.0, properties: {{in: {{value: '${{c{before}.out}}'}}}}}}"
            ),
            None => writeln!(sections, "  c{at}: {{type: resource::r::1.0}}"),
        };
    }
    composed(&sections)
}

/// Returns two clusters of a thousand nodes each. A relationship connects each node of the cluster `a` with
/// each node of the cluster `b`.
fn clusters() -> Topology {
    composed(
        "composition:
  a: {type: resource::r::1.0, quantity: 1000}
  b: {type: resource::r::1.0, quantity: 1000}
relationships:
  rel:
    source-capabilities: [a.cap]
    target-requirements: [b.req]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [target.Join], Cease: [target.Leave]}
",
    )
}

#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 5, sample_size = 1)]
fn components(bencher: divan::Bencher<'_, '_>, count: usize) {
    let topology = chained(count);
    bencher
        .counter(divan::counter::ItemsCount::new(count))
        .bench_local(|| up(&Current::default(), &topology, &NothingYet).expect("there is a plan"));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn thousand_by_thousand(bencher: divan::Bencher<'_, '_>) {
    let topology = clusters();
    bencher.bench_local(|| up(&Current::default(), &topology, &NothingYet).expect("there is a plan"));
}
