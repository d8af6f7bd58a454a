//! Tests of single planning rules.

use insta::assert_snapshot;
use rstest::rstest;
use windlass_lifecycle::Plan;
use windlass_lifecycle::{Current, ElementNow, down, up};
use windlass_model::resolve::NothingYet;
use windlass_model::{ElementName, State};

use crate::support::{USUAL, all_up, assembly, show, waves};

fn name(name: &str) -> ElementName {
    name.parse().expect("valid")
}

fn bring_up(sections: &str) -> Plan {
    let topology = assembly(&[("r", USUAL)], sections);
    up(&Current::default(), &topology, &NothingYet).expect("there is a plan")
}

fn related(source: &str, target: &str) -> String {
    format!(
        "composition:
  a: {{type: resource::r::1.0}}
  b: {{type: resource::r::1.0}}
relationships:
  rel:
    source-capabilities: [a.cap]
    target-requirements: [b.req]
    {source}
    {target}
    lifecycle:
      Create: [target.Join]
      Cease: [target.Leave]
"
    )
}

#[rstest]
#[case::post_pre("post", "pre")]
#[case::post_post("post", "post")]
#[case::pre_pre("pre", "pre")]
#[case::pre_post("pre", "post")]
fn modifiers(#[case] source: &str, #[case] target: &str) {
    let plan = bring_up(&related(
        &format!("source-state: Active\n    source-state-modifier: {source}"),
        &format!("target-state: Active\n    target-state-modifier: {target}"),
    ));
    let waves = waves(&plan);
    let at = |text: &str| waves.find(text).unwrap_or_else(|| panic!("{text}:\n{waves}"));
    let made = at("b Create rel");
    assert_eq!(at("a Start") < made, source == "post", "{waves}");
    assert_eq!(made < at("b Start"), target == "pre", "{waves}");
}

#[test]
fn every_wait_says_why() {
    let plan = bring_up(&related("source-state: Active", "target-state: Inactive"));
    assert_snapshot!(show(&plan), @"
    s1 a Install
    s2 b Install
    s3 a Configure
        needs a is Installed first
        after all parts are Installed
    s4 a Start
        needs a is Inactive first
        after all parts are Installed
    s5 b Create rel: target.Join
        needs rel: target b must be Installed
        needs rel: source a must be Active
    s6 b Configure
        needs b is Installed first
        needs rel: it is created before target b becomes Inactive
        after all parts are Installed
    s7 b Start
        needs b is Inactive first
        after all parts are Inactive
    ");
}

#[test]
fn a_literal_value_orders_nothing_and_a_published_one_does() {
    let sections = |read: &str| {
        format!(
            "composition:
  a: {{type: resource::r::1.0}}
  b: {{type: resource::r::1.0, properties: {{in: {{value: '${{a.{read}}}'}}}}}}
"
        )
    };
    assert_snapshot!(waves(&bring_up(&sections("fixed"))), @"
    a Install | b Install
    a Configure | b Configure
    a Start | b Start
    ");
    assert_snapshot!(waves(&bring_up(&sections("out"))), @"
    a Install
    b Install
    a Configure | b Configure
    a Start | b Start
    ");
}

#[test]
fn readers_are_taken_down_before_the_outputs_they_read() {
    let sections = "composition:
  a: {type: resource::r::1.0}
  b: {type: resource::r::1.0, properties: {in: {value: '${a.out}'}}}
";
    let topology = assembly(&[("r", USUAL)], sections);
    assert_snapshot!(waves(&down(&all_up(&topology), &topology).unwrap()), @"
    a Stop | b Stop
    b Uninstall
    a Uninstall
    ");
}

#[test]
fn create_and_delete_are_shown_when_declared_only() {
    let resources = [("r", USUAL), ("infra", "[Create, Install, Start, Delete]")];
    let topology =
        assembly(&resources, "composition: {a: {type: resource::infra::1.0}, b: {type: resource::r::1.0}}");
    assert_snapshot!(waves(&up(&Current::default(), &topology, &NothingYet).unwrap()), @"
    a Create
    a Install | b Install
    b Configure | a (Inactive)
    a Start | b Start
    ");
    assert_snapshot!(waves(&down(&all_up(&topology), &topology).unwrap()), @"
    b Stop | a (Inactive)
    b Uninstall | a (Created)
    a Delete
    ");
}

#[test]
fn a_relationship_without_operations_only_orders() {
    let plan = bring_up(
        "composition:
  a: {type: resource::r::1.0, quantity: 3}
  b: {type: resource::r::1.0, quantity: 3}
relationships:
  wait:
    source-capabilities: [a.cap]
    target-requirements: [b.req]
    source-state: Active
    target-state: Installed
    lifecycle: {Create: [], Cease: []}
",
    );
    assert_snapshot!(waves(&plan), @"
    a__1 Install | a__2 Install | a__3 Install
    a__1 Configure | a__2 Configure | a__3 Configure
    a__1 Start | a__2 Start | a__3 Start
    b__1 Install | b__2 Install | b__3 Install
    b__1 Configure | b__2 Configure | b__3 Configure
    b__1 Start | b__2 Start | b__3 Start
    ");
    // The gate has 3 + 3 waits instead of 9.
    let waits: usize = plan.steps().map(|step| step.waits().len()).sum();
    assert!(waits < 40, "{waits}");
}

#[test]
fn only_what_is_missing_is_done() {
    let topology = assembly(&[("r", USUAL)], &related("source-state: Active", "target-state: Active"));
    let mut current = all_up(&topology);
    current.element(name("t__b"), ElementNow::new(State::Installed, true));
    assert_snapshot!(waves(&up(&current, &topology, &NothingYet).unwrap()), @r"
    b Configure
    b Start
    ");
    current.element(name("t__b"), ElementNow::new(State::Failed, true));
    assert_snapshot!(waves(&up(&current, &topology, &NothingYet).unwrap()), @"
    b Cease rel: target.Leave
    b Uninstall
    b Install
    b Configure
    b Create rel: target.Join
    b Start
    ");
    current.element(name("t__b"), ElementNow::new(State::Failed, false));
    assert_snapshot!(waves(&up(&current, &topology, &NothingYet).unwrap()), @"
    b Install
    b Configure
    b Start
    ");
}

#[test]
fn a_circle_is_printed_edge_by_edge_with_what_would_break_it() {
    let relationship = |name: &str, source: &str, target: &str| {
        format!(
            "  {name}:
    source-capabilities: [{source}.cap]
    target-requirements: [{target}.req]
    source-state: Active
    target-state: Installed
"
        )
    };
    let sections = format!(
        "composition:
  a: {{type: resource::r::1.0}}
  b: {{type: resource::r::1.0}}
relationships:
{}{}",
        relationship("first", "a", "b"),
        relationship("second", "b", "a")
    );
    let topology = assembly(&[("r", USUAL)], &sections);
    assert_snapshot!(up(&Current::default(), &topology, &NothingYet).unwrap_err(), @"
    the plan has a cycle: 6 steps wait for each other
      a Install waits for b Start: second: b must be Active (t.yaml:11:3)
      b Start waits for b Configure: b is Inactive first
      b Configure waits for b Install: b is Installed first
      b Install waits for a Start: first: a must be Active (t.yaml:6:3)
      a Start waits for a Configure: a is Inactive first
      a Configure waits for a Install: a is Installed first
    help: give the relationship `second` another state or modifier, or give the relationship `first` another state or modifier
    ");
}

#[test]
fn a_pre_installed_gate_holds_the_install() {
    let plan = bring_up(&related("source-state: Active", "target-state: Installed"));
    assert_snapshot!(waves(&plan), @"
    a Install
    a Configure
    a Start
    b Create rel: target.Join
    b Install
    b Configure
    b Start
    ");
}
