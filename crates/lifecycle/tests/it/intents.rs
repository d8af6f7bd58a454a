//! Plans of upgrades, scaling, heals, goals, adoption and targets.

use insta::assert_snapshot;
use windlass_lifecycle::{
    Current, ElementChangeKind, ElementNow, LifecycleError, Options, Planned, Scale, Shown, Situation,
    ValueChange, Version, healable, plan, scaled,
};
use windlass_model::record::PairKey;
use windlass_model::resolve::{Lookup, NothingYet, Output, Resolved};
use windlass_model::{ElementName, InstanceId, PropertyName, State, Topology};
use windlass_secret::{SecretRef, Sensitive};

use crate::support::{USUAL, all_up, assembly, waves};

pub(crate) fn name(name: &str) -> ElementName {
    name.parse().expect("valid")
}

/// A lookup in which every output has the value `<element>.<property>`.
struct Published;

impl Lookup for Published {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        Output::Published(Resolved::plain(format!("{}.{property}", element.local())))
    }

    fn instance_id(&self, _: &ElementName) -> Option<InstanceId> {
        None
    }

    fn secret(&self, _: &SecretRef) -> Option<Sensitive<String>> {
        None
    }
}

fn change(before: &Topology, after: &Topology, options: &Options) -> Planned {
    change_from(&all_up(before), before, after, options).expect("there is a plan")
}

pub(crate) fn change_from(
    current: &Current,
    before: &Topology,
    after: &Topology,
    options: &Options,
) -> Result<Planned, LifecycleError> {
    let version = |topology| Some(Version { topology, lookup: &Published as &dyn Lookup });
    plan(&Situation { current, installed: version(before), desired: version(after) }, options)
}

pub(crate) fn show(planned: &Planned) -> String {
    format!("{}\n{}", planned.diff, waves(&planned.plan))
}

const RESOURCES: [(&str, &str); 4] = [
    ("r", USUAL),
    ("live", "[Install, Configure, Start, Reconfigure, Stop, Uninstall]"),
    ("kept", "[Install, Start, Reconfigure, Stop, Uninstall]\non-package-change: keep"),
    ("renewed", "[Install, Start, Reconfigure, Stop, Uninstall]\non-package-change: replace"),
];

pub(crate) fn web(sections: &str) -> Topology {
    assembly(&RESOURCES, sections)
}

/// Returns an assembly in which `b` reads an output of `a` and is related to it.
fn pair(a: &str, b: &str) -> Topology {
    web(&format!(
        "composition:
  a: {{type: resource::{a}::1.0}}
  b: {{type: resource::{b}::1.0, properties: {{in: {{value: '${{a.out}}', volatile: true}}}}}}
relationships:
  rel:
    source-capabilities: [a.cap]
    target-requirements: [b.req]
    source-state: Active
    target-state: Active
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
"
    ))
}

#[test]
fn the_same_descriptor_again_gives_an_empty_plan() {
    let topology = pair("r", "live");
    let planned = change(&topology, &topology, &Options::default());
    assert!(planned.plan.is_empty());
    assert!(planned.diff.is_empty());
}

#[test]
fn replacing_an_element_reconfigures_its_readers() {
    let topology = pair("r", "live");
    let options = Options { replace: [name("t__a")].into(), ..Options::default() };
    assert_snapshot!(show(&change(&topology, &topology, &options)), @"
    -/+ a replaced
    ~ b changed
        in: a.out → (known once a is installed)

    b Cease rel: target.Leave
    a Stop
    a Uninstall
    a Install
    a Configure
    a Start | b Reconfigure
    b Create rel: target.Join
    ");
    let topology = pair("r", "r");
    assert_snapshot!(show(&change(&topology, &topology, &options)), @"
    -/+ a replaced
    -/+ b replaced
        in: a.out → (known once a is installed)

    b Cease rel: target.Leave
    b Stop | a Stop
    b Uninstall
    a Uninstall
    a Install
    b Install
    a Configure | b Configure
    a Start
    b Create rel: target.Join
    b Start
    ");
}

fn valued(volatile: &str, value: &str) -> Topology {
    web(&format!(
        "properties:
  size: {{default: {value}}}
composition:
  a: {{type: resource::live::1.0, properties: {{in: {{value: '${{size}}', volatile: {volatile}}}}}}}
  b: {{type: resource::r::1.0, properties: {{in: {{value: '${{a.in}}'}}}}}}
"
    ))
}

/// A removed property is volatile if the installed version declares it as volatile.
#[test]
fn a_removed_volatile_property_is_reconfigured() {
    let after = web("composition:\n  a: {type: resource::live::1.0}\n  b: {type: resource::r::1.0}\n");
    let removed =
        |volatile| change(&valued(volatile, "x"), &after, &Options::default()).diff.elements[0].kind;
    assert_eq!(removed("true"), ElementChangeKind::Reconfigured);
    assert_eq!(removed("false"), ElementChangeKind::Reinstalled);
}

#[test]
fn a_volatile_property_is_reconfigured_and_any_other_reinstalled() {
    let options = Options::default();
    assert_snapshot!(show(&change(&valued("true", "x"), &valued("true", "y"), &options)), @"
    ~ a changed
        in: x → y
    -/+ b replaced
        in: x → y

    b Stop
    b Uninstall
    b Install
    b Configure
    a Reconfigure | b Start
    ");
    assert_snapshot!(show(&change(&valued("false", "x"), &valued("false", "y"), &options)), @"
    -/+ a replaced
        in: x → y
    -/+ b replaced
        in: x → y

    a Stop | b Stop
    a Uninstall | b Uninstall
    a Install | b Install
    a Configure | b Configure
    a Start | b Start
    ");
}

#[test]
fn a_cluster_is_scaled_out_and_in() {
    let one = web("composition:
  lb: {type: resource::r::1.0}
  node: {type: resource::r::1.0, cluster: {minimum-nodes: 1, maximum-nodes: 4, scaling-increment: 1}, properties: {in: {value: '${instance.name} ${instance.index}'}}}
relationships:
  balance:
    source-capabilities: [node.cap]
    target-requirements: [lb.req]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [target.Join], Cease: [target.Leave]}
");
    let cluster = name("t__node");
    let out = |topology: &Topology| scaled(topology, &cluster, Scale::Out).expect("it can be scaled");
    let two = out(&one);
    assert_snapshot!(show(&change(&one, &two, &Options::default())), @"
    + node__2 added (resource::r::1.0)

    node__2 Install
    node__2 Configure
    node__2 Start
    lb Create balance: target.Join
    ");
    let four = out(&out(&two));
    assert_snapshot!(scaled(&four, &cluster, Scale::Out).unwrap_err().to_string(), @"`t__node` can't grow by 1: nodes now 4, at most 4 (`maximum-nodes`)");
    assert_snapshot!(scaled(&one, &cluster, Scale::In).unwrap_err().to_string(), @"`t__node` can't shrink by 1: nodes now 1, at least 1 (`minimum-nodes`)");
    assert_snapshot!(scaled(&one, &name("t__lb"), Scale::In).unwrap_err().to_string(), @"`t__lb` is not a cluster; the clusters are `node`");
    let three = scaled(&four, &cluster, Scale::In).expect("it can be scaled");
    assert_eq!(three, out(&two));
    let two_again = scaled(&three, &cluster, Scale::In).expect("it can be scaled");
    assert_snapshot!(show(&change(&four, &two_again, &Options::default())), @"
    - node__3 removed
    - node__4 removed

    lb Cease balance: target.Leave × 2
    node__3 Stop | node__4 Stop
    node__3 Uninstall | node__4 Uninstall
    ");
}

#[test]
fn one_broken_node_is_healed_and_nothing_else_is_touched() {
    let topology = web("composition:
  a: {type: resource::r::1.0, quantity: 2}
  b: {type: resource::r::1.0, quantity: 2}
relationships:
  rel:
    source-capabilities: [a.cap]
    target-requirements: [b.req]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [target.Join], Cease: [target.Leave]}
");
    let node = healable(&topology, &name("t__a__2")).expect("it is a resource").clone();
    assert_snapshot!(show(&change(&topology, &topology, &Options::heal([node.clone()]))), @"
    ↻ a__2 restarted

    b__1 Cease rel: target.Leave | b__2 Cease rel: target.Leave
    a__2 Stop
    a__2 Start
    b__1 Create rel: target.Join | b__2 Create rel: target.Join
    ");
    let mut current = all_up(&topology);
    current.element(node.clone(), ElementNow::new(State::Failed, true));
    current.element(name("t__b__1"), ElementNow::new(State::Inactive, true));
    let planned = change_from(&current, &topology, &topology, &Options::heal([node])).unwrap();
    assert_snapshot!(show(&planned), @"
    -/+ a__2 replaced, it has failed

    b__1 Cease rel: target.Leave | b__2 Cease rel: target.Leave
    a__2 Uninstall
    a__2 Install
    a__2 Configure
    a__2 Start
    b__2 Create rel: target.Join
    ");
    assert_eq!(healable(&topology, &name("t__a")), Ok(&name("t__a")));
}

#[test]
fn an_assembly_goes_to_a_state_and_back() {
    let topology = pair("r", "r");
    let mut current = all_up(&topology);
    let at = |current: &Current, goal| {
        waves(&change_from(current, &topology, &topology, &Options::goal(goal)).unwrap().plan)
    };
    assert_snapshot!(at(&current, State::Inactive), @"
    b Cease rel: target.Leave
    b Stop | a Stop
    ");
    assert_snapshot!(at(&current, State::Installed), @"
    b Cease rel: target.Leave
    b Stop | a Stop
    b Uninstall
    a Uninstall
    a Install
    b Install
    ");
    current = Current::default();
    assert_snapshot!(at(&current, State::Installed), @"
    a Install
    b Install
    ");
    assert_snapshot!(at(&current, State::Inactive), @"
    a Install
    b Install
    a Configure | b Configure
    ");
}

#[test]
fn an_existing_instance_is_adopted_without_create() {
    let topology = pair("r", "r");
    let options = Options { adopt: true, ..Options::default() };
    let situation = Situation {
        current: &Current::default(),
        installed: None,
        desired: Some(Version { topology: &topology, lookup: &NothingYet }),
    };
    assert_snapshot!(show(&plan(&situation, &options).unwrap()), @"
    + a adopted
    + b adopted

    a Adopt
    b Adopt
    b Create rel
    ");
}

#[test]
fn a_target_brings_only_what_it_needs() {
    let topology = web("composition:
  a: {type: resource::r::1.0}
  b: {type: resource::r::1.0, properties: {in: {value: '${a.out}'}}}
  c: {type: resource::r::1.0}
");
    let options = Options { target: [name("t__b")].into(), ..Options::default() };
    let situation = Situation {
        current: &Current::default(),
        installed: None,
        desired: Some(Version { topology: &topology, lookup: &NothingYet }),
    };
    assert_snapshot!(waves(&plan(&situation, &options).unwrap().plan), @"
    a Install
    b Install
    a Configure | b Configure
    a Start | b Start
    ");
    let options = Options { target: [name("t__x")].into(), ..Options::default() };
    assert_snapshot!(plan(&situation, &options).unwrap_err().to_string(), @"there is no element `t__x`; there are `a`, `b`, `c`");
}

/// The value of a property changes, and the user names one node as the target of the plan. The plan must change only
/// this node. The other nodes must stay, and the relationship `rel` must still connect them with the part `lb`. The
/// list `undone` must contain the changes of the other nodes, because the plan does not make them.
#[test]
fn a_target_leaves_the_other_nodes_of_its_cluster_alone() {
    let cluster = |size: &str| {
        web(&format!(
            "composition:
  web: {{type: resource::r::1.0, quantity: 3, properties: {{size: {{value: '{size}'}}}}}}
  lb: {{type: resource::r::1.0, properties: {{size: {{value: '{size}'}}}}}}
relationships:
  rel:
    source-capabilities: [web.cap]
    target-requirements: [lb.req]
    source-state: Active
    target-state: Active
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
"
        ))
    };
    let options = Options { target: [name("t__web__1")].into(), ..Options::default() };
    let planned = change(&cluster("1"), &cluster("2"), &options);
    assert_snapshot!(crate::support::show(&planned.plan), @"
    s1 lb Cease rel: target.Leave
    s2 web__1 Stop
        needs rel: it is ceased before source web__1 leaves Active
    s3 web__1 Uninstall
        needs web__1 is Inactive first
        after all parts that change are stopped
    s4 web__1 Install
        needs web__1 is Absent first
        after all parts that change are uninstalled
    s5 web__1 Configure
        needs web__1 is Installed first
        after all parts that change are Installed again
    s6 web__1 Start
        needs web__1 is Inactive first
        after all parts that change are Inactive again
    s7 lb Create rel: target.Join
        needs rel: the old relationship is ceased first
        needs rel: source web__1 must be Active
    ");
    assert_snapshot!(format!("{}undone\n{}", planned.diff, planned.undone), @"
    -/+ web__1 replaced
        size: 1 → 2
    undone
    -/+ web__2 replaced
        size: 1 → 2
    -/+ web__3 replaced
        size: 1 → 2
    -/+ lb replaced
        size: 1 → 2
    ");
}

/// Returns two sources and two targets, all related to each other by `rel`.
fn crossed(target_state: &str, a: &str) -> Topology {
    web(&format!(
        "composition:
  a: {{type: resource::{a}::1.0, quantity: 2}}
  b: {{type: resource::r::1.0, quantity: 2}}
relationships:
  rel:
    source-capabilities: [a.cap]
    target-requirements: [b.req]
    source-state: Active
    target-state: {target_state}
    properties: {{peer: {{value: '${{source.out}}'}}}}
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
"
    ))
}

/// Records that a pair was created with another value of the property `peer`.
fn outdated(current: &mut Current, source: &str, target: &str, before: &str) {
    let key = PairKey {
        assembly: name("t"),
        relationship: "rel".parse().expect("valid"),
        source: name(source),
        target: name(target),
    };
    let value = |text: &str| Shown::of(&Resolved::plain(text));
    let change =
        ValueChange { property: "peer".parse().expect("valid"), before: value(before), after: value("new") };
    current.outdated(key, vec![change]);
}

#[test]
fn pairs_with_outdated_values_are_re_created_in_place() {
    let topology = crossed("Active", "r");
    let mut current = all_up(&topology);
    outdated(&mut current, "t__a__2", "t__b__1", "old");
    outdated(&mut current, "t__a__2", "t__b__2", "old");
    let at =
        |current: &Current, options: &Options| change_from(current, &topology, &topology, options).unwrap();
    assert_snapshot!(show(&at(&current, &Options::default())), @"
    ~ relationship rel re-created (a to b)
        peer: old → new

    b__1 Cease rel: target.Leave | b__2 Cease rel: target.Leave
    b__1 Create rel: target.Join | b__2 Create rel: target.Join
    ");
    outdated(&mut current, "t__a__1", "t__b__2", "older");
    assert_snapshot!(show(&at(&current, &Options::default())), @"
    ~ relationship rel re-created (a to b)
        peer: old → new
        peer: older → new

    b__1 Cease rel: target.Leave | b__2 Cease rel: target.Leave × 2
    b__1 Create rel: target.Join | b__2 Create rel: target.Join × 2
    ");
    assert_snapshot!(crate::support::show(&at(&current, &Options::default()).plan), @"
    s1 b__1 Cease rel: target.Leave
    s2 b__2 Cease rel: target.Leave × 2
    s3 b__1 Create rel: target.Join
        needs rel: the outdated relationship is ceased first: its `peer` has changed
    s4 b__2 Create rel: target.Join × 2
        needs rel: the outdated relationship is ceased first: its `peer` has changed
    ");
    // All pairs of a replaced end are re-created, even pairs that are not outdated. The outdated pairs of
    // other ends are re-created too.
    let replace = Options { replace: [name("t__a__2")].into(), ..Options::default() };
    assert_snapshot!(show(&at(&current, &replace)), @"
    -/+ a__2 replaced
    ~ relationship rel re-created (a to b)
        peer: older → new

    b__1 Cease rel: target.Leave | b__2 Cease rel: target.Leave × 2
    a__2 Stop
    a__2 Uninstall
    a__2 Install
    a__2 Configure
    a__2 Start
    b__1 Create rel: target.Join | b__2 Create rel: target.Join × 2
    ");
    // A heal re-creates only the pairs of the healed part.
    assert_snapshot!(show(&at(&current, &Options::heal([name("t__a__1")]))), @"
    ↻ a__1 restarted

    b__1 Cease rel: target.Leave | b__2 Cease rel: target.Leave
    a__1 Stop
    a__1 Start
    b__1 Create rel: target.Join | b__2 Create rel: target.Join
    ");
    let down = Situation {
        current: &current,
        installed: Some(Version { topology: &topology, lookup: &Published }),
        desired: None,
    };
    assert_snapshot!(waves(&plan(&down, &Options::default()).unwrap().plan), @"
    b__1 Cease rel: target.Leave × 2 | b__2 Cease rel: target.Leave × 2
    b__1 Stop | b__2 Stop | a__1 Stop | a__2 Stop
    a__1 Uninstall | a__2 Uninstall | b__1 Uninstall | b__2 Uninstall
    ");
}

/// The target stays in its state while a pair is re-created, even if the pair was created when the target was
/// in a lower state.
#[test]
fn a_target_keeps_its_state_while_its_relationship_is_re_created() {
    let topology = crossed("Inactive", "r");
    let mut current = all_up(&topology);
    outdated(&mut current, "t__a__1", "t__b__1", "old");
    let planned = change_from(&current, &topology, &topology, &Options::default()).unwrap();
    assert_snapshot!(show(&planned), @"
    ~ relationship rel re-created (a to b)
        peer: old → new

    b__1 Cease rel: target.Leave
    b__1 Create rel: target.Join
    ");
}

/// The declaration of a relationship has changed, and one of its pairs has outdated values. The diff must list the
/// relationship only once.
#[test]
fn a_change_of_a_relationship_alone_is_shown_as_such() {
    let (before, after) = (crossed("Active", "r"), crossed("Active", "r"));
    let other = web("composition:
  a: {type: resource::r::1.0, quantity: 2}
  b: {type: resource::r::1.0, quantity: 2}
relationships:
  rel:
    source-capabilities: [a.cap]
    target-requirements: [b.req]
    source-state: Active
    target-state: Active
    properties: {peer: {value: 'at ${source.out}'}}
    lifecycle: {Create: [target.Join], Cease: [target.Leave]}
");
    let mut current = all_up(&before);
    outdated(&mut current, "t__a__1", "t__b__1", "old");
    let planned = |after| change_from(&current, &before, after, &Options::default()).unwrap();
    assert_snapshot!(planned(&other).diff.to_string(), @"~ relationship rel changed (a to b)");
    assert_snapshot!(planned(&after).diff.to_string(), @"
    ~ relationship rel re-created (a to b)
        peer: old → new
    ");
}

/// A relationship is renamed. windlass must cease the pairs with the old name before it creates the pairs with the new
/// name. This applies if both ends of a pair stay, and also if an end is replaced.
#[test]
fn a_renamed_relationship_is_ceased_before_it_is_created_again() {
    let named = |name: &str, states: &str, a: &str| {
        web(&format!(
            "composition:
  a: {{type: resource::r::1.0, properties: {{in: {{value: {a}}}}}}}
  b: {{type: resource::r::1.0}}
  c: {{type: resource::r::1.0}}
relationships:
  {name}:
    source-capabilities: [a.cap]
    target-requirements: [b.req]
    {states}
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
  {name}-to-c:
    source-capabilities: [a.cap]
    target-requirements: [c.req]
    source-state: Active
    target-state: Active
    lifecycle: {{Create: [target.Join], Cease: [target.Leave]}}
"
        ))
    };
    let both = "source-state: Active\n    target-state: Active";
    let planned = change(&named("old", both, "x"), &named("new", both, "x"), &Options::default());
    assert_snapshot!(show(&planned), @"
    + relationship new added (a to b)
    + relationship new-to-c added (a to c)
    - relationship old removed (a to b)
    - relationship old-to-c removed (a to c)

    b Cease old: target.Leave | c Cease old-to-c: target.Leave
    b Create new: target.Join | c Create new-to-c: target.Join
    ");
    let before_start = "source-state: Inactive\n    source-state-modifier: pre\n    target-state: Active";
    let planned = change(&named("old", both, "x"), &named("new", before_start, "y"), &Options::default());
    assert_snapshot!(show(&planned), @"
    -/+ a replaced
        in: x → y
    + relationship new added (a to b)
    + relationship new-to-c added (a to c)
    - relationship old removed (a to b)
    - relationship old-to-c removed (a to c)

    b Cease old: target.Leave | c Cease old-to-c: target.Leave
    a Stop
    a Uninstall
    a Install
    b Create new: target.Join
    a Configure
    a Start
    c Create new-to-c: target.Join
    ");
}
