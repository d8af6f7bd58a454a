//! Functions that compose descriptors and print plans.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use windlass_descriptor::{Descriptor, Existing, MemoryCatalog, Request, compose, read};
use windlass_lifecycle::Plan;
use windlass_lifecycle::{Current, ElementNow};
use windlass_model::assembly::ElementKind;
use windlass_model::record::PairKey;
use windlass_model::{State, Topology};
use windlass_plan::WaitKind;
use windlass_source::Source;

/// The transitions of a resource with the usual lifecycle.
pub(crate) const USUAL: &str = "[Install, Configure, Start, Stop, Uninstall]";

/// Composes an assembly named `t`. Each resource is given by its name and its transitions, and `sections` is
/// the text of the assembly's descriptor.
pub(crate) fn assembly(resources: &[(&str, &str)], sections: &str) -> Topology {
    let mut catalog = MemoryCatalog::new();
    for (name, lifecycle) in resources {
        let text = format!(
            "name: resource::{name}::1.0\nproperties:\n  in: {{}}\n  out: {{read-only: true}}\n  fixed: {{default: x}}\nlifecycle: {lifecycle}\noperations: {{Join: {{}}, Leave: {{}}}}\n"
        );
        catalog.insert(descriptor(name, &text));
    }
    compose_with(&catalog, &format!("name: assembly::t::1.0\n{sections}"), &[], &[])
}

pub(crate) fn descriptor(name: &str, text: &str) -> Descriptor {
    let read = read(&Source::new(format!("{name}.yaml"), text));
    assert!(!read.diagnostics.has_errors(), "{}", read.diagnostics);
    read.descriptor.expect("it can be read")
}

pub(crate) fn compose_with(
    catalog: &MemoryCatalog,
    text: &str,
    existing: &[Existing],
    parameters: &[(&str, &str)],
) -> Topology {
    let Descriptor::Assembly(assembly) = descriptor("t", text) else { panic!("an assembly was expected") };
    let name = assembly.name.as_ref().expect("it has a name").value.name.clone();
    let parameters: BTreeMap<_, _> =
        parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    let composed = compose(&assembly, Request::new(&name, &parameters, catalog).existing(existing));
    composed.topology.unwrap_or_else(|| panic!("{}", composed.diagnostics))
}

/// Returns the folder of a fixture.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/assemblies").join(path)
}

/// Prints a plan without barriers. Each step has a line of its own, and each of its waits has a line below.
pub(crate) fn show(plan: &Plan) -> String {
    let mut text = String::new();
    for step in plan.steps().filter(|step| !step.task.is_barrier()) {
        let _ = writeln!(text, "{} {}", step.number, step.task);
        for wait in step.waits() {
            let sign = if wait.kind == WaitKind::Needs { "needs" } else { "after" };
            let _ = writeln!(text, "    {sign} {}", wait.reason);
        }
    }
    text
}

/// Prints the steps of a plan, without barriers and waits. Each line is a wave: steps that may run concurrently.
pub(crate) fn waves(plan: &Plan) -> String {
    let mut depth = vec![0_usize; plan.steps().len() + 1];
    for _ in 0..plan.steps().len() {
        let mut changed = false;
        for step in plan.steps() {
            let before = step.waits().map(|wait| depth[wait.on.0 as usize]).max().unwrap_or(0);
            let own = before + usize::from(!step.task.is_barrier());
            changed |= depth[step.number.0 as usize] != own;
            depth[step.number.0 as usize] = own;
        }
        if !changed {
            break;
        }
    }
    let mut lines: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (number, work) in plan.work() {
        lines.entry(depth[number.0 as usize]).or_default().push(work.to_string());
    }
    lines.into_values().map(|steps| steps.join(" | ") + "\n").collect()
}

/// Returns the state in which all resources of a topology are Active and all pairs are created.
pub(crate) fn all_up(topology: &Topology) -> Current {
    let mut current = Current::default();
    for element in topology.elements() {
        if element.kind == ElementKind::Resource {
            current.element(element.name.clone(), ElementNow::new(State::Active, true));
        }
    }
    for relationship in topology.relationships() {
        for source in relationship.sources.iter().flat_map(|end| topology.nodes(&end.element)) {
            for target in relationship.targets.iter().flat_map(|end| topology.nodes(&end.element)) {
                current.pair(PairKey {
                    assembly: relationship.assembly.clone(),
                    relationship: relationship.name.clone(),
                    source: source.name.clone(),
                    target: target.name.clone(),
                });
            }
        }
    }
    current
}
