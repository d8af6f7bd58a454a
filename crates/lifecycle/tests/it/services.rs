//! Expected plans of whole services: several versions, modifiers of both ends of relationships, nesting and references.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use insta::assert_snapshot;
use windlass_descriptor::{Existing, MemoryCatalog};
use windlass_lifecycle::{Current, Options, Planned, Situation, Version, down, plan, resized, up};
use windlass_model::resolve::NothingYet;
use windlass_model::{ElementName, Topology};

use crate::support::{USUAL, all_up, assembly, compose_with, descriptor, show, waves};

fn name(name: &str) -> ElementName {
    name.parse().expect("valid")
}

fn service(sections: &str) -> Topology {
    assembly(&[("r", USUAL)], sections)
}

fn goes_up(topology: &Topology) -> String {
    waves(&up(&Current::default(), topology, &NothingYet).expect("there is a plan"))
}

fn goes_down(topology: &Topology) -> String {
    waves(&down(&all_up(topology), topology).expect("there is a plan"))
}

fn changes(before: &Topology, after: &Topology) -> Planned {
    let version = |topology| Some(Version { topology, lookup: &NothingYet });
    let current = all_up(before);
    let situation = Situation { current: &current, installed: version(before), desired: version(after) };
    plan(&situation, &Options::default()).expect("there is a plan")
}

fn shown(planned: &Planned) -> String {
    format!("{}\n{}", planned.diff, waves(&planned.plan))
}

/// Returns a version of an assembly: a telephone exchange and the subscriber registers `registers`.
///
/// The exchange queries the register `asked`. If there are two registers, the relationship `copies` relates the first
/// to the second.
fn exchange(registers: &[&str], asked: &str) -> Topology {
    let mut text = "composition:\n  exchange: {type: resource::r::1.0}\n".to_owned();
    for register in registers {
        let _ = writeln!(text, "  {register}: {{type: resource::r::1.0}}");
    }
    text += "relationships:\n";
    if let [old, new] = registers {
        text += &relationship("copies", old, new, ["Active", "Active"], ["post", "post"]);
    }
    text += &relationship("asks", asked, "exchange", ["Active", "Active"], ["post", "post"]);
    service(&text)
}

fn relationship(own: &str, source: &str, target: &str, states: [&str; 2], modifiers: [&str; 2]) -> String {
    let ([source_state, target_state], [source_modifier, target_modifier]) = (states, modifiers);
    format!(
        "  {own}:
    source-capabilities: [{source}.cap]
    target-requirements: [{target}.req]
    source-state: {source_state}
    source-state-modifier: {source_modifier}
    target-state: {target_state}
    target-state-modifier: {target_modifier}
    lifecycle:
      Create: [source.Join, target.Join]
      Cease: [target.Leave, source.Leave]
"
    )
}

/// A register is added, the exchange is moved to it, and the old register is removed. Then these three
/// changes are reverted.
#[test]
fn an_upgrade_in_four_versions() {
    let one = exchange(&["old"], "old");
    let two = exchange(&["old", "new"], "old");
    let three = exchange(&["old", "new"], "new");
    let four = exchange(&["new"], "new");
    assert_snapshot!(goes_up(&one), @"
    exchange Install | old Install
    exchange Configure | old Configure
    exchange Start | old Start
    exchange Create asks: source.Join, target.Join
    ");
    assert_snapshot!(shown(&changes(&one, &two)), @"
    + new added (resource::r::1.0)
    + relationship copies added (old to new)

    new Install
    new Configure
    new Start
    new Create copies: source.Join, target.Join
    ");
    assert_snapshot!(shown(&changes(&two, &three)), @"
    ~ relationship asks moved, old to exchange → new to exchange

    exchange Cease asks: target.Leave, source.Leave
    exchange Create asks: source.Join, target.Join
    ");
    assert_snapshot!(shown(&changes(&three, &four)), @"
    - old removed
    - relationship copies removed (old to new)

    new Cease copies: target.Leave, source.Leave
    old Stop
    old Uninstall
    ");
    assert_snapshot!(shown(&changes(&four, &three)), @"
    + old added (resource::r::1.0)
    + relationship copies added (old to new)

    old Install
    old Configure
    old Start
    new Create copies: source.Join, target.Join
    ");
    assert_snapshot!(shown(&changes(&three, &two)), @"
    ~ relationship asks moved, new to exchange → old to exchange

    exchange Cease asks: target.Leave, source.Leave
    exchange Create asks: source.Join, target.Join
    ");
    assert_snapshot!(shown(&changes(&two, &one)), @"
    - new removed
    - relationship copies removed (old to new)

    new Cease copies: target.Leave, source.Leave
    new Stop
    new Uninstall
    ");
    // In a single upgrade, the new register is ready before the old relationship is ceased.
    assert_snapshot!(show(&changes(&one, &four).plan), @"
    s1 new Install
    s2 new Configure
        needs new is Installed first
        after all parts are Installed
    s3 new Start
        needs new is Inactive first
        after all parts are Inactive
    s4 exchange Cease asks: target.Leave, source.Leave
        needs asks: its replacement new must be Active first
        after all parts are Active
    s5 exchange Create asks: source.Join, target.Join
        needs asks: source new must be Active
        needs asks: the old relationship is ceased first
    s6 old Stop
        needs asks: its replacement is related first
        needs asks: it is ceased before source old leaves Active
        after all relationships are moved
    s7 old Uninstall
        needs old is Inactive first
        after all parts are stopped
    ");
}

/// Both ends are Active before the relationship between them is created.
#[test]
fn ends_that_both_come_first() {
    let text = format!(
        "composition:
  gateway: {{type: resource::r::1.0, quantity: 2}}
  dispatcher: {{type: resource::r::1.0}}
relationships:
{}",
        relationship("dispatch", "gateway", "dispatcher", ["Active", "Active"], ["post", "post"])
    );
    let topology = service(&text);
    assert_snapshot!(show(&up(&Current::default(), &topology, &NothingYet).unwrap()), @"
    s1 gateway__1 Install
    s2 gateway__2 Install
    s3 dispatcher Install
    s4 gateway__1 Configure
        needs gateway__1 is Installed first
        after all parts are Installed
    s5 gateway__2 Configure
        needs gateway__2 is Installed first
        after all parts are Installed
    s6 dispatcher Configure
        needs dispatcher is Installed first
        after all parts are Installed
    s7 gateway__1 Start
        needs gateway__1 is Inactive first
        after all parts are Inactive
    s8 gateway__2 Start
        needs gateway__2 is Inactive first
        after all parts are Inactive
    s9 dispatcher Start
        needs dispatcher is Inactive first
        after all parts are Inactive
    s10 dispatcher Create dispatch: source.Join, target.Join × 2
        needs dispatch: target dispatcher must be Active
        after dispatch: it is created with each source gateway that is Active
    ");
    assert_snapshot!(goes_down(&topology), @"
    dispatcher Cease dispatch: target.Leave, source.Leave × 2
    dispatcher Stop | gateway__1 Stop | gateway__2 Stop
    gateway__1 Uninstall | gateway__2 Uninstall | dispatcher Uninstall
    ");
}

/// The relationship `wait` has no operations: its target only waits for its source. In one case, the first step of the
/// target waits until the source is Active. In the other case, the last step of the target waits until the source is
/// Installed.
#[test]
fn a_relationship_that_only_waits() {
    let waits = |source: &str, target: &str| {
        service(&format!(
            "composition:
  base: {{type: resource::r::1.0}}
  site: {{type: resource::r::1.0}}
  free: {{type: resource::r::1.0}}
relationships:
  wait:
    source-capabilities: [base.cap]
    target-requirements: [site.req]
    source-state: {source}
    target-state: {target}
    lifecycle: {{Create: [], Cease: []}}
"
        ))
    };
    let (first, last) = (waits("Active", "Installed"), waits("Installed", "Active"));
    assert_snapshot!(show(&up(&Current::default(), &first, &NothingYet).unwrap()), @"
    s1 base Install
    s2 base Configure
        needs base is Installed first
    s3 base Start
        needs base is Inactive first
    s4 site Install
        needs wait: base must be Active
    s5 free Install
    s6 site Configure
        needs site is Installed first
        after all parts are Installed
    s7 free Configure
        needs free is Installed first
        after all parts are Installed
    s8 site Start
        needs site is Inactive first
        after all parts are Inactive
    s9 free Start
        needs free is Inactive first
        after all parts are Inactive
    ");
    assert_snapshot!(goes_down(&first), @"
    site Stop | free Stop
    site Uninstall
    base Stop
    base Uninstall | free Uninstall
    ");
    assert_snapshot!(goes_up(&last), @"
    base Install | site Install | free Install
    base Configure | site Configure | free Configure
    base Start | site Start | free Start
    ");
    assert_snapshot!(goes_down(&last), @"
    base Stop | site Stop | free Stop
    base Uninstall | site Uninstall | free Uninstall
    ");
}

/// Each case gives the source and the target of a relationship another combination of required states and modifiers.
/// windlass must create the relationship before an end with `pre` reaches its required state. An end with `post` must
/// reach its state first.
#[test]
fn modifiers_in_all_combinations() {
    let of = |states, source, target| {
        let text =
            "composition:\n  a: {type: resource::r::1.0}\n  b: {type: resource::r::1.0}\nrelationships:\n";
        service(&format!("{text}{}", relationship("rel", "a", "b", states, [source, target])))
    };
    let both = |states, source, target| {
        let topology = of(states, source, target);
        format!("{}--\n{}", goes_up(&topology), goes_down(&topology))
    };
    let active = ["Active", "Active"];
    assert_snapshot!(both(active, "post", "pre"), @"
    a Install | b Install
    a Configure | b Configure
    a Start
    b Create rel: source.Join, target.Join
    b Start
    --
    b Cease rel: target.Leave, source.Leave
    b Stop | a Stop
    a Uninstall | b Uninstall
    ");
    assert_snapshot!(both(active, "post", "post"), @"
    a Install | b Install
    a Configure | b Configure
    a Start | b Start
    b Create rel: source.Join, target.Join
    --
    b Cease rel: target.Leave, source.Leave
    b Stop | a Stop
    a Uninstall | b Uninstall
    ");
    assert_snapshot!(both(active, "pre", "pre"), @"
    a Install | b Install
    a Configure | b Configure
    b Create rel: source.Join, target.Join
    a Start | b Start
    --
    b Cease rel: target.Leave, source.Leave
    b Stop | a Stop
    a Uninstall | b Uninstall
    ");
    assert_snapshot!(both(active, "pre", "post"), @"
    a Install | b Install
    a Configure | b Configure
    b Start
    b Create rel: source.Join, target.Join
    a Start
    --
    b Cease rel: target.Leave, source.Leave
    b Stop | a Stop
    a Uninstall | b Uninstall
    ");
    let mixed = ["Active", "Inactive"];
    assert_snapshot!(both(mixed, "post", "pre"), @"
    a Install | b Install
    a Configure
    a Start
    b Create rel: source.Join, target.Join
    b Configure
    b Start
    --
    b Stop
    b Cease rel: target.Leave, source.Leave
    a Stop
    a Uninstall | b Uninstall
    ");
    assert_snapshot!(both(mixed, "post", "post"), @"
    a Install | b Install
    a Configure | b Configure
    a Start
    b Create rel: source.Join, target.Join
    b Start
    --
    b Stop | b Cease rel: target.Leave, source.Leave
    a Stop
    a Uninstall | b Uninstall
    ");
    assert_snapshot!(both(mixed, "pre", "pre"), @"
    a Install | b Install
    a Configure
    b Create rel: source.Join, target.Join
    b Configure
    a Start | b Start
    --
    b Stop | b Cease rel: target.Leave, source.Leave
    a Stop
    a Uninstall | b Uninstall
    ");
    assert_snapshot!(both(mixed, "pre", "post"), @"
    a Install | b Install
    a Configure | b Configure
    b Create rel: source.Join, target.Join
    a Start | b Start
    --
    b Stop | b Cease rel: target.Leave, source.Leave
    a Stop
    a Uninstall | b Uninstall
    ");
    let low = ["Installed", "Active"];
    assert_snapshot!(both(low, "pre", "pre"), @"
    b Install
    b Configure
    b Create rel: source.Join, target.Join
    a Install
    a Configure
    a Start | b Start
    --
    a Stop | b Cease rel: target.Leave, source.Leave
    b Stop
    a Uninstall | b Uninstall
    ");
}

/// Returns two related clusters.
fn farm() -> Topology {
    let cluster = "cluster: {initial-quantity: 1, minimum-nodes: 1, maximum-nodes: 4, scaling-increment: 1}";
    service(&format!(
        "composition:
  store: {{type: resource::r::1.0, {cluster}}}
  web: {{type: resource::r::1.0, {cluster}}}
relationships:
{}",
        relationship("reads", "store", "web", ["Active", "Active"], ["post", "pre"])
    ))
}

#[test]
fn from_one_node_to_four_and_back_to_two() {
    let sized = |nodes| resized(&farm(), &name("t__web"), nodes).expect("it can have so many");
    let (one, four, two) = (sized(1), sized(4), sized(2));
    assert_snapshot!(show(&changes(&one, &four).plan), @"
    s1 web__2 Install
    s2 web__3 Install
    s3 web__4 Install
    s4 web__2 Configure
        needs web__2 is Installed first
        after all parts are Installed
    s5 web__3 Configure
        needs web__3 is Installed first
        after all parts are Installed
    s6 web__4 Configure
        needs web__4 is Installed first
        after all parts are Installed
    s7 web__2 Create reads: source.Join, target.Join
        needs reads: target web__2 must be Inactive
    s8 web__3 Create reads: source.Join, target.Join
        needs reads: target web__3 must be Inactive
    s9 web__4 Create reads: source.Join, target.Join
        needs reads: target web__4 must be Inactive
    s10 web__2 Start
        needs web__2 is Inactive first
        needs reads: it is created before target web__2 becomes Active
        after all parts are Inactive
    s11 web__3 Start
        needs web__3 is Inactive first
        needs reads: it is created before target web__3 becomes Active
        after all parts are Inactive
    s12 web__4 Start
        needs web__4 is Inactive first
        needs reads: it is created before target web__4 becomes Active
        after all parts are Inactive
    ");
    assert_snapshot!(show(&changes(&four, &two).plan), @"
    s1 web__3 Cease reads: target.Leave, source.Leave
    s2 web__3 Stop
        needs reads: it is ceased before target web__3 leaves Active
    s3 web__4 Cease reads: target.Leave, source.Leave
    s4 web__4 Stop
        needs reads: it is ceased before target web__4 leaves Active
    s5 web__3 Uninstall
        needs web__3 is Inactive first
        after all parts are stopped
    s6 web__4 Uninstall
        needs web__4 is Inactive first
        after all parts are stopped
    ");
    // If the cluster is the source, targets get pairs with new nodes. They lose their pairs with old nodes
    // before the old nodes are removed.
    let sized = |nodes| resized(&farm(), &name("t__store"), nodes).expect("it can have so many");
    assert_snapshot!(shown(&changes(&sized(1), &sized(4))), @"
    + store__2 added (resource::r::1.0)
    + store__3 added (resource::r::1.0)
    + store__4 added (resource::r::1.0)

    store__2 Install | store__3 Install | store__4 Install
    store__2 Configure | store__3 Configure | store__4 Configure
    store__2 Start | store__3 Start | store__4 Start
    web__1 Create reads: source.Join, target.Join × 3
    ");
    assert_snapshot!(shown(&changes(&sized(4), &sized(2))), @"
    - store__3 removed
    - store__4 removed

    web__1 Cease reads: target.Leave, source.Leave × 2
    store__3 Stop | store__4 Stop
    store__3 Uninstall | store__4 Uninstall
    ");
}

#[test]
fn a_node_of_a_related_cluster_is_healed() {
    let topology = resized(&farm(), &name("t__web"), 2).expect("it can have so many");
    let topology = resized(&topology, &name("t__store"), 2).expect("it can have so many");
    let heal = |node: &str| {
        let version = Some(Version { topology: &topology, lookup: &NothingYet });
        let current = all_up(&topology);
        let situation = Situation { current: &current, installed: version, desired: version };
        show(&plan(&situation, &Options::heal([name(node)])).expect("there is a plan").plan)
    };
    assert_snapshot!(heal("t__web__2"), @"
    s1 web__2 Cease reads: target.Leave, source.Leave × 2
    s2 web__2 Stop
        needs reads: it is ceased before target web__2 leaves Active
    s3 web__2 Create reads: source.Join, target.Join × 2
        needs reads: the old relationship is ceased first
        needs reads: target web__2 must be Inactive
    s4 web__2 Start
        needs web__2 is Inactive first
        needs reads: it is created before target web__2 becomes Active
        after unhealthy parts are cleaned up
    ");
    assert_snapshot!(heal("t__store__2"), @"
    s1 web__1 Cease reads: target.Leave, source.Leave
    s2 web__2 Cease reads: target.Leave, source.Leave
    s3 store__2 Stop
        needs reads: it is ceased before source store__2 leaves Active
    s4 store__2 Start
        needs store__2 is Inactive first
        after unhealthy parts are cleaned up
    s5 web__1 Create reads: source.Join, target.Join
        needs reads: the old relationship is ceased first
        needs reads: source store__2 must be Active
    s6 web__2 Create reads: source.Join, target.Join
        needs reads: the old relationship is ceased first
        needs reads: source store__2 must be Active
    ");
}

/// Returns a site that contains a rack with hosts. Each level has relationships inside, and one relationship
/// crosses all levels.
fn site() -> Topology {
    let mut catalog = MemoryCatalog::new();
    let resource = "name: resource::r::1.0
properties: {in: {}, out: {read-only: true}}
lifecycle: [Install, Configure, Start, Stop, Uninstall]
operations: {Join: {}, Leave: {}}
";
    catalog.insert(descriptor("r", resource));
    let host = format!(
        "name: assembly::host::1.0
properties: {{uplink: {{}}, address: {{read-only: true, value: '${{card.out}}'}}}}
composition:
  card: {{type: resource::r::1.0, properties: {{in: {{value: '${{uplink}}'}}}}}}
  guest: {{type: resource::r::1.0}}
relationships:
{}operations:
  Plug: {{source-operation: guest.Join}}
  Unplug: {{source-operation: guest.Leave}}
",
        relationship("attach", "card", "guest", ["Active", "Inactive"], ["post", "pre"])
    );
    catalog.insert(descriptor("host", &host));
    let rack = "name: assembly::rack::1.0
properties: {uplink: {}}
composition:
  power: {type: resource::r::1.0}
  host: {type: assembly::host::1.0, properties: {uplink: {value: '${uplink}'}}}
  spare: {type: assembly::host::1.0, properties: {uplink: {value: '${host.address}'}}}
relationships:
  feeds:
    source-capabilities: [power.cap]
    target-requirements: [host.req, spare.req]
    source-state: Active
    target-state: Installed
operations:
  Plug: {source-operation: host.Plug}
  Unplug: {source-operation: host.Unplug}
";
    catalog.insert(descriptor("rack", rack));
    let text = "name: assembly::t::1.0
composition:
  router: {type: resource::r::1.0}
  rack: {type: assembly::rack::1.0, properties: {uplink: {value: '${router.out}'}}}
relationships:
  route:
    source-capabilities: [router.cap]
    target-requirements: [rack.req]
    source-state: Active
    target-state: Active
    lifecycle: {Create: [target.Plug], Cease: [target.Unplug]}
";
    compose_with(&catalog, text, &[], &[])
}

#[test]
fn an_assembly_in_an_assembly_in_an_assembly() {
    let topology = site();
    assert_snapshot!(show(&up(&Current::default(), &topology, &NothingYet).unwrap()), @"
    s1 router Install
    s2 rack__power Install
    s3 rack__power Configure
        needs rack__power is Installed first
    s4 rack__power Start
        needs rack__power is Inactive first
    s5 rack__host__card Install
        needs rack__host__card reads `in` from router (`out`), known once router is installed
        needs feeds: rack__power must be Active
    s6 rack__host__guest Install
        needs feeds: rack__power must be Active
    s7 rack__spare__card Install
        needs feeds: rack__power must be Active
        needs rack__spare__card reads `in` from rack__host__card (`out`), known once rack__host__card is installed
    s8 rack__spare__guest Install
        needs feeds: rack__power must be Active
    s9 router Configure
        needs router is Installed first
        after all parts are Installed
    s10 rack__host__card Configure
        needs rack__host__card is Installed first
        after all parts are Installed
    s11 rack__host__card Start
        needs rack__host__card is Inactive first
        after all parts are Installed
    s12 rack__spare__card Configure
        needs rack__spare__card is Installed first
        after all parts are Installed
    s13 rack__spare__card Start
        needs rack__spare__card is Inactive first
        after all parts are Installed
    s14 rack__host__guest Create attach: source.Join, target.Join
        needs attach: target rack__host__guest must be Installed
        needs attach: source rack__host__card must be Active
    s15 rack__host__guest Configure
        needs rack__host__guest is Installed first
        needs attach: it is created before target rack__host__guest becomes Inactive
        after all parts are Installed
    s16 rack__spare__guest Create attach: source.Join, target.Join
        needs attach: target rack__spare__guest must be Installed
        needs attach: source rack__spare__card must be Active
    s17 rack__spare__guest Configure
        needs rack__spare__guest is Installed first
        needs attach: it is created before target rack__spare__guest becomes Inactive
        after all parts are Installed
    s18 router Start
        needs router is Inactive first
        after all parts are Inactive
    s19 rack Create route: target.Plug
        needs route: source router must be Active
        needs route: target rack must be Inactive
    s20 rack__host__guest Start
        needs rack__host__guest is Inactive first
        needs route: it is created before target rack becomes Active
        after all parts are Inactive
    s21 rack__spare__guest Start
        needs rack__spare__guest is Inactive first
        needs route: it is created before target rack becomes Active
        after all parts are Inactive
    ");
    assert_snapshot!(goes_down(&topology), @"
    rack Cease route: target.Unplug
    rack__host__guest Stop | rack__spare__guest Stop | router Stop
    rack__host__guest Cease attach: target.Leave, source.Leave | rack__spare__guest Cease attach: target.Leave, source.Leave
    rack__host__guest Uninstall | rack__host__card Stop | rack__spare__guest Uninstall | rack__spare__card Stop
    rack__spare__card Uninstall
    rack__host__card Uninstall
    rack__power Stop
    router Uninstall | rack__power Uninstall
    ");
}

/// A reference has no lifecycle: the target does not wait for it, but the relationship is still created.
#[test]
fn a_reference_is_a_source_that_is_always_there() {
    let mut catalog = MemoryCatalog::new();
    let resource = "name: resource::r::1.0
properties: {in: {}}
lifecycle: [Install, Configure, Start, Stop, Uninstall]
operations: {Join: {}, Leave: {}}
";
    catalog.insert(descriptor("r", resource));
    let existing = [Existing::listed(
        "resource::net::1.0".parse().expect("valid"),
        "lan".to_owned(),
        BTreeMap::from([("id".to_owned(), "net-7".into())]),
    )];
    let text = "name: assembly::t::1.0
references:
  network: {type: resource::net::1.0, properties: {name: {value: lan}}}
composition:
  a: {type: resource::r::1.0, properties: {in: {value: '${network.id}'}}}
  b: {type: resource::r::1.0}
relationships:
  joins:
    source-capabilities: [network]
    target-requirements: [a.req]
    source-state: Active
    target-state: Inactive
    lifecycle: {Create: [target.Join], Cease: [target.Leave]}
";
    let topology = compose_with(&catalog, text, &existing, &[]);
    assert_snapshot!(show(&up(&Current::default(), &topology, &NothingYet).unwrap()), @"
    s1 a Install
    s2 b Install
    s3 a Create joins: target.Join
        needs joins: target a must be Installed
    s4 a Configure
        needs a is Installed first
        needs joins: it is created before target a becomes Inactive
        after all parts are Installed
    s5 b Configure
        needs b is Installed first
        after all parts are Installed
    s6 a Start
        needs a is Inactive first
        after all parts are Inactive
    s7 b Start
        needs b is Inactive first
        after all parts are Inactive
    ");
    assert_snapshot!(goes_down(&topology), @"
    a Stop | b Stop
    b Uninstall | a Cease joins: target.Leave
    a Uninstall
    ");
}
