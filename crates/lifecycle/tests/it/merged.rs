//! The merged topology of an interrupted upgrade.

use proptest::prelude::*;
use windlass_lifecycle::merged;
use windlass_lifecycle::testing::{few, versions};
use windlass_model::Topology;
use windlass_model::assembly::ElementKind;
use windlass_model::resolve::{Answer, NothingYet, Resolver};

/// Returns the values of the resources' properties as text. Values that read an output are left out.
fn values(topology: &Topology) -> Vec<String> {
    let mut resolver = Resolver::new(topology, &NothingYet);
    let mut values = Vec::new();
    for element in topology.elements().iter().filter(|element| element.kind == ElementKind::Resource) {
        for property in element.properties.keys() {
            if let Ok(Answer::Known(known)) = resolver.property(&element.name, property) {
                values.push(format!("{} {property}: {}", element.name, known.value));
            }
        }
    }
    values.sort_unstable();
    values
}

proptest! {
    #![proptest_config(few(200))]

    /// An upgrade was interrupted before its first step, so all resources still belong to the first version. In the
    /// merged topology, the resources must have the values of the first version. This rule also holds for a value that
    /// refers to a property of an assembly.
    #[test]
    fn a_resource_of_an_older_version_has_the_values_of_that_version((before, after) in versions()) {
        let (before, after) = (before.topology(), after.topology());
        let version_of = |name: &_| before.get(name).is_some().then_some(0);
        let merged = merged(&[&before, &after], version_of, []).expect("there are versions");
        let known: Vec<String> = values(&before);
        let now = values(&merged);
        for value in &known {
            prop_assert!(now.contains(value), "{value}\nnot in {now:#?}");
        }
    }
}
