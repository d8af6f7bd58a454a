//! Plans of clusters whose nodes a list declares.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use windlass_lifecycle::{Options, Planned, Scale, ScaleError, resized, scaled};
use windlass_model::Topology;
use windlass_model::work::Work;

use crate::intents::{change_from, name, web};
use crate::support::all_up;

/// The entries of a list: each key with the value of the property `in`.
type Hosts = Vec<(String, u8)>;

fn farm(hosts: &Hosts, kind: &str) -> Topology {
    let entries = hosts.iter().map(|(key, value)| format!("{{name: {key}, value: v{value}}}"));
    web(&format!(
        "properties:
  hosts: {{type: list, default: [{}]}}
composition:
  web:
    type: resource::{kind}::1.0
    cluster: {{each: '${{hosts}}', key: name}}
    properties: {{in: {{value: '${{each.value}}', volatile: true}}}}
  lb: {{type: resource::r::1.0}}
relationships:
  rel:
    source-capabilities: [web.cap]
    target-requirements: [lb.req]
    source-state: Active
    target-state: Active
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
",
        entries.collect::<Vec<_>>().join(", ")
    ))
}

fn hosts(list: &[(&str, u8)]) -> Hosts {
    list.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
}

fn changed(before: &Hosts, after: &Hosts, kind: &str) -> Planned {
    let (before, after) = (farm(before, kind), farm(after, kind));
    change_from(&all_up(&before), &before, &after, &Options::default()).expect("there is a plan")
}

/// Returns the elements that a plan raises or lowers, and the sources of the relationships that the plan creates or
/// ceases.
fn touched(planned: &Planned, hosts: [&Hosts; 2]) -> BTreeSet<String> {
    let mut touched = BTreeSet::new();
    for (_, work) in planned.plan.work() {
        match work {
            Work::Transition { element, .. } => drop(touched.insert(element.local().to_owned())),
            Work::Relate(relate) => {
                for source in &relate.sources {
                    // A step that concerns all nodes names their group instead.
                    if source.local() == "web" {
                        let all = hosts.into_iter().flatten();
                        touched.extend(all.map(|(key, _)| format!("web__{key}")));
                    } else {
                        touched.insert(source.local().to_owned());
                    }
                }
            }
            other => panic!("{other}"),
        }
    }
    touched
}

#[test]
fn removing_one_from_the_middle_removes_that_one() {
    let before = hosts(&[("rack1", 1), ("rack2", 2), ("rack3", 3)]);
    let after = hosts(&[("rack3", 3), ("rack1", 1)]);
    let planned = changed(&before, &after, "r");
    insta::assert_snapshot!(crate::intents::show(&planned), @"
    - web__rack2 removed

    lb Cease rel: target.Leave
    web__rack2 Stop
    web__rack2 Uninstall
    ");
}

#[test]
fn such_a_group_is_not_scaled() {
    let farm = farm(&hosts(&[("rack1", 1)]), "r");
    let group = name("t__web");
    for error in
        [scaled(&farm, &group, Scale::Out), scaled(&farm, &group, Scale::In), resized(&farm, &group, 4)]
    {
        assert_eq!(error.unwrap_err(), ScaleError::Keyed { name: group.clone() });
    }
    let error = resized(&farm, &group, 4).unwrap_err().to_string();
    assert_eq!(error, "the nodes of `web` are the entries of a list; change the list, and run `windlass up`");
}

/// Generates lists in any order, with their keys and values.
fn list() -> impl Strategy<Value = Hosts> {
    proptest::collection::btree_map(0..9_u8, 0..3_u8, 0..7)
        .prop_map(|map| map.into_iter().map(|(key, value)| (format!("rack{key}"), value)).collect::<Hosts>())
        .prop_shuffle()
}

proptest! {
    /// A plan touches exactly the nodes that were added, removed or given other values.
    #[test]
    fn a_plan_touches_exactly_the_difference(
        before in list(),
        after in list(),
        kind in prop_oneof![Just("r"), Just("live")],
    ) {
        let planned = changed(&before, &after, kind);
        let [old, new] = [&before, &after].map(|list| list.iter().cloned().collect::<BTreeMap<_, _>>());
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let different = keys.into_iter().filter(|key| old.get(*key) != new.get(*key));
        let different: BTreeSet<String> = different.map(|key| format!("web__{key}")).collect();
        let in_diff: BTreeSet<String> =
            planned.diff.elements.iter().map(|change| change.element.local().to_owned()).collect();
        prop_assert_eq!(&in_diff, &different);
        let kept: BTreeSet<&String> = old.iter().filter(|(key, value)| new.get(*key) == Some(*value)).map(|(key, _)| key).collect();
        let touched = touched(&planned, [&before, &after]);
        for key in kept {
            let node = format!("web__{key}");
            prop_assert!(!touched.contains(&node), "{node} stays as it is: {touched:?}");
        }
        prop_assert_eq!(touched.is_superset(&different), true);
    }
}
