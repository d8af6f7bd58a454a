//! Plans an assembly of a given size and prints `components seconds peak-bytes`.
//!
//! `scripts/bench-plan` runs this program once for each size, so that the peak memory belongs to one size.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use windlass_lifecycle::{Current, ElementNow, Options, Situation, Version, plan};
use windlass_model::assembly::{
    Element, ElementKind, Endpoint, MaxUnavailable, OperationCall, Property, Relationship,
};
use windlass_model::record::PairKey;
use windlass_model::resolve::NothingYet;
use windlass_model::template::End;
use windlass_model::{DescriptorName, Modifier, State, Template, Topology, Transition};

#[expect(clippy::print_stdout, reason = "what it prints is what it is for")]
fn main() {
    let shape = std::env::args().nth(1).unwrap_or_default();
    let count: usize = std::env::args().nth(2).and_then(|count| count.parse().ok()).unwrap_or(1_000);
    if let "rolling" | "at-once" = shape.as_str() {
        let max = if shape == "rolling" { MaxUnavailable::ONE } else { MaxUnavailable::All };
        println!("{count} {:.7} {}", change(count, max), peak().unwrap_or(0));
        return;
    }
    let topology = if shape == "clusters" { clusters(count) } else { chained(count) };
    // The first plan loads the program from disk, so it is not measured.
    make(&chained(10));
    // One round measures the time of a single command. Many rounds measure with warm caches.
    let times: usize = std::env::args().nth(3).and_then(|times| times.parse().ok()).unwrap_or(1);
    if std::env::args().nth(4).is_some_and(|word| word == "cold") {
        chill();
    }
    let start = worked();
    for _ in 0..times {
        make(&topology);
    }
    let each = (worked() - start) / f64::from(u32::try_from(times).expect("a few thousand"));
    println!("{count} {each:.7} {}", peak().unwrap_or(0));
}

/// Reads enough other memory to remove the topology from the caches of a core.
///
/// Otherwise, a small topology would still be cached from its creation, unlike a large one.
fn chill() {
    const BYTES: usize = 256 << 20;
    let other = vec![1_u8; BYTES];
    assert_eq!(other.iter().map(|byte| usize::from(*byte)).sum::<usize>(), BYTES);
}

/// Plans an assembly without existing parts, and drops the plan.
fn make(topology: &Topology) {
    let desired = Some(Version { topology, lookup: &NothingYet });
    let situation = Situation { current: &Current::default(), installed: None, desired };
    let planned = plan(&situation, &Options::default()).expect("there is a plan");
    assert!(!planned.plan.is_empty() && !planned.diff.is_empty());
}

/// Plans a change of all nodes of a group that is related to another part. Returns the time in seconds.
fn change(count: usize, max: MaxUnavailable) -> f64 {
    let (old, new) = (served(count, "a"), served(count, "b"));
    let mut current = Current::default();
    for part in old.elements().iter().filter(|element| element.kind == ElementKind::Resource) {
        current.element(part.name.clone(), ElementNow::new(State::Active, true));
    }
    let relationship = &old.relationships()[0];
    for node in old.children(&relationship.sources[0].element) {
        current.pair(PairKey {
            assembly: relationship.assembly.clone(),
            relationship: relationship.name.clone(),
            source: node.name.clone(),
            target: relationship.targets[0].element.clone(),
        });
    }
    let version = |topology| Some(Version { topology, lookup: &NothingYet });
    let situation = Situation { current: &current, installed: version(&old), desired: version(&new) };
    let options = Options { max_unavailable: Some(max), ..Options::default() };
    let start = worked();
    let planned = plan(&situation, &options).expect("there is a plan");
    let time = worked() - start;
    assert_eq!(planned.diff.elements.len(), count);
    time
}

/// Returns a group of nodes that are related to one other part.
fn served(count: usize, value: &str) -> Topology {
    let mut elements = vec![element("t", ElementKind::Assembly, None)];
    elements.push(element("t__a", ElementKind::Group, Some("t")));
    for at in 1..=count {
        let mut node = element(&format!("t__a__{at}"), ElementKind::Resource, Some("t__a"));
        let value = Some(Template::literal(value));
        node.properties.insert("in".parse().expect("valid"), Property { value, ..Property::default() });
        elements.push(node);
    }
    elements.push(element("t__b", ElementKind::Resource, Some("t")));
    Topology::new("t".parse().expect("valid"), elements, vec![joined()])
}

/// Returns the CPU time of this thread in seconds, which excludes other load on the machine.
fn worked() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("time runs forward").as_secs_f64()
}

/// Returns the peak memory of the process in bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Creates an element. All elements share the memory of one descriptor name, as elements of the same resource do in a
/// real assembly.
fn element(name: &str, kind: ElementKind, parent: Option<&str>) -> Element {
    static DESCRIPTOR: LazyLock<DescriptorName> =
        LazyLock::new(|| "resource::r::1.0".parse().expect("valid"));
    Element {
        name: name.parse().expect("valid"),
        kind,
        parent: parent.map(|parent| parent.parse().expect("valid")),
        component: None,
        index: None,
        key: None,
        descriptor: DESCRIPTOR.clone(),
        properties: BTreeMap::new().into_iter().collect(),
        transitions: [
            Transition::Install,
            Transition::Configure,
            Transition::Start,
            Transition::Stop,
            Transition::Uninstall,
        ]
        .into(),
        operations: BTreeMap::new().into_iter().collect(),
        cluster: None,
        referent: None,
        protected: false,
        on_package_change: None,
        update: None,
        metrics: BTreeMap::new().into_iter().collect(),
        origin: None,
    }
}

/// Returns an assembly in which each component reads an output of the tenth component before it.
fn chained(count: usize) -> Topology {
    let mut elements = vec![element("t", ElementKind::Assembly, None)];
    for at in 0..count {
        let mut part = element(&format!("t__c{at}"), ElementKind::Resource, Some("t"));
        if let Some(before) = at.checked_sub(10) {
            let producer = format!("t__c{before}").parse().expect("valid");
            let value = Some(Template::property(producer, "out".parse().expect("valid")));
            part.properties.insert("in".parse().expect("valid"), Property { value, ..Property::default() });
        }
        let out = Property { read_only: true, ..Property::default() };
        part.properties.insert("out".parse().expect("valid"), out);
        elements.push(part);
    }
    Topology::new("t".parse().expect("valid"), elements, Vec::new())
}

/// Returns two clusters of `count` nodes each. A relationship connects each node of the cluster `a` with each
/// node of the cluster `b`.
fn clusters(count: usize) -> Topology {
    let mut elements = vec![element("t", ElementKind::Assembly, None)];
    for group in ["t__a", "t__b"] {
        elements.push(element(group, ElementKind::Group, Some("t")));
        for at in 1..=count {
            elements.push(element(&format!("{group}__{at}"), ElementKind::Resource, Some(group)));
        }
    }
    Topology::new("t".parse().expect("valid"), elements, vec![joined()])
}

/// Returns a relationship from the element `t__a` to the element `t__b`. The relationship has one operation for its
/// creation and one for its removal.
fn joined() -> Relationship {
    let end = |name: &str| vec![Endpoint { element: name.parse().expect("valid"), capability: None }];
    let call = |operation: &str| {
        vec![OperationCall { end: End::Target, operation: operation.parse().expect("valid") }]
    };
    Relationship {
        name: "rel".parse().expect("valid"),
        assembly: "t".parse().expect("valid"),
        sources: end("t__a"),
        targets: end("t__b"),
        source_state: State::Active,
        source_modifier: Modifier::Post,
        target_state: State::Active,
        target_modifier: Modifier::Pre,
        properties: BTreeMap::new().into_iter().collect(),
        create: call("Join"),
        cease: call("Leave"),
        origin: None,
    }
}
