//! Tests metrics, policies, private properties and search criteria of references in composed topologies.

use insta::assert_snapshot;
use windlass_descriptor::{Composed, Missing};
use windlass_model::policy::Policy;

use crate::support::{World, messages, template};

const WEB: &str = "name: resource::web::1.0
properties: {url: {read-only: true}, period: {default: 10}}
private-properties: {token: {type: password, default: s3cret}, greeting: {value: 'of ${instance.name}, each ${period}'}}
lifecycle: [Install]
metrics:
  load: {type: 'metric::load', publication-period: '${period}'}
  health: {type: 'metric::integrity'}
policies:
  heal: {type: 'policy::heal', metric: health, properties: {smoothing: {value: 3}}}
";

const FRONT: &str = "name: assembly::front::1.0
composition: {web: {type: 'resource::web::1.0'}}
metrics: {busy: {source-metric: web.load}}
";

const NET: &str = "name: resource::net::1.2
properties: {id: {read-only: true}}
lifecycle: {}
queries: {drivers: {script: {selector: {infrastructure-type: [Local]}}}}
";

const SHOP: &str = "name: assembly::shop::1.0
properties: {high: {default: 90}}
composition:
  farm: {type: 'resource::web::1.0', cluster: {initial-quantity: 2, maximum-nodes: 4}}
  front: {type: 'assembly::front::1.0'}
metrics: {load: {source-metric: front.busy}}
policies:
  own: {type: 'policy::scale', metric: farm.load, target: farm, properties: {scaleOut_threshold: '${high}', scaleIn_threshold: 10, smoothing: 2}}
  others: {type: 'policy::scale', metric: load, target: farm, properties: {scaleOut_threshold: {value: 80}}}
";

fn world() -> World {
    World::of(&[WEB, FRONT, NET])
}

fn show(policy: &Policy) -> String {
    let settings: Vec<String> = policy
        .properties
        .iter()
        .map(|(name, setting)| format!("{name}: {}", setting.value.as_ref().map_or(String::new(), template)))
        .collect();
    let Policy { owner, name, kind, metric, target, .. } = policy;
    format!("{owner} {name}: {kind} of {target} by {metric} ({})\n", settings.join(", "))
}

#[test]
fn policies_are_bound_to_elements() {
    let Composed { topology, diagnostics, .. } = world().compose_text(SHOP);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    let policies: String = topology.unwrap().policies().iter().map(show).collect();
    assert_snapshot!(policies, @"
    test__farm__1 heal: policy::heal of test__farm__1 by test__farm__1.health (smoothing: 3)
    test__farm__2 heal: policy::heal of test__farm__2 by test__farm__2.health (smoothing: 3)
    test__front__web heal: policy::heal of test__front__web by test__front__web.health (smoothing: 3)
    test own: policy::scale of test__farm by test__farm.load (scaleOut_threshold: ${test.high}, scaleIn_threshold: 10, smoothing: 2)
    test others: policy::scale of test__farm by test__front__web.load (scaleOut_threshold: 80)
    ");
}

#[test]
fn metrics_lead_to_who_publishes_them() {
    let topology = world().compose_text(SHOP).topology.unwrap();
    let metrics = topology.elements().iter().flat_map(|element| {
        element.metrics.iter().map(|(name, metric)| {
            let period = metric.period.as_ref().map_or("-".to_owned(), template);
            format!("{}.{name}: {} from {} every {period}\n", element.name, metric.kind, metric.source)
        })
    });
    assert_snapshot!(metrics.collect::<String>(), @"
    test.load: metric::load from test__front__web.load every -
    test__farm__1.load: metric::load from test__farm__1.load every ${test__farm__1.period}
    test__farm__1.health: metric::integrity from test__farm__1.health every -
    test__farm__2.load: metric::load from test__farm__2.load every ${test__farm__2.period}
    test__farm__2.health: metric::integrity from test__farm__2.health every -
    test__front.busy: metric::load from test__front__web.load every -
    test__front__web.load: metric::load from test__front__web.load every ${test__front__web.period}
    test__front__web.health: metric::integrity from test__front__web.health every -
    ");
}

#[test]
fn settings_that_parameters_decide_are_checked() {
    let text = SHOP.replace("{default: 90}", "{default: 5}");
    assert_snapshot!(world().messages(&text), @"a.yaml:8:128: error[WL0136]: scaleIn_threshold is 10, and must be less than scaleOut_threshold, 5");
    assert_snapshot!(world().given("high", "hot").messages(SHOP), @"a.yaml:8:98: error[WL0136]: `scaleOut_threshold` is a load in percent, from 0 to 100, and `hot` is none");
}

#[test]
fn private_properties_are_there_for_the_resource_alone() {
    let text = "name: assembly::shop::1.0
properties: {leak: {value: '${web.token}'}}
composition: {web: {type: 'resource::web::1.0', properties: {greeting: {value: mine}}}}
";
    assert_snapshot!(world().messages(text), @"
    a.yaml:2:29: error[WL0111]: `token` is private to `web`
        a.yaml:3:15: declared here
        help: move it from `private-properties` to `properties` of its descriptor
    a.yaml:3:62: warning[WL0171]: `greeting` is private to its resource, so the value given here is ignored
        0.yaml:3:64: declared here
    ");
    let text = "name: assembly::shop::1.0\ncomposition: {web: {type: 'resource::web::1.0'}}\n";
    let topology = world().compose_text(text).topology.unwrap();
    let web = topology.elements().last().unwrap();
    let private: Vec<_> = web
        .properties
        .iter()
        .filter(|(_, property)| property.private)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(private, ["token", "greeting"]);
    assert!(!format!("{web:?}").contains("s3cret"));
}

#[test]
fn references_are_requests() {
    let text = "name: assembly::shop::1.0
properties: {network: {default: VIDEO}}
references:
  net:
    type: resource::net::^1.0
    properties: {name: {value: '${network}'}, deploymentLocation: {value: here}, resourceManager: {value: rm}}
";
    let composed = world().compose_text(text);
    assert!(composed.topology.is_none());
    let [request] = &composed.references[..] else { panic!("there is one") };
    assert_eq!(request.element.as_str(), "test__net");
    assert_eq!(request.kind.to_string(), "resource::net::^1.0");
    let properties: Vec<_> =
        request.properties.iter().map(|(name, value)| format!("{name}={}", value.expose())).collect();
    assert_eq!(properties, ["deploymentLocation=here", "name=VIDEO", "resourceManager=rm"]);
    assert_eq!(request.queries.as_ref().unwrap().to_string(), "resource::net::1.2");
    assert!(request.found.is_none());

    let composed = world().existing("resource::net::1.2", "VIDEO", &[("id", "n1")]).compose_text(text);
    assert_eq!(composed.references[0].found.as_ref().unwrap().name, "VIDEO");
    assert!(composed.topology.is_some());
}

#[test]
fn metrics_and_policies_that_can_not_work() {
    assert_snapshot!(world().check(
        "name: assembly::shop::1.0
composition:
  one: {type: 'resource::web::1.0'}
  farm: {type: 'resource::web::1.0', cluster: {}}
metrics:
  nowhere: {source-metric: two.load}
  none: {source-metric: one.laod}
  other: {source-metric: one.load, type: 'metric::integrity'}
  empty: {}
policies:
  health: {type: 'policy::scale', metric: farm.health, target: farm, properties: {smoothing: 0}}
  kind: {type: 'policy::scael', metric: farm.load, target: farm}
  heal: {type: 'policy::heal', metric: farm.health}
  untargeted: {type: 'policy::scale', metric: farm.load, properties: {scaleOut_treshold: 80, scaleIn_threshold: 101}}
  flat: {type: 'policy::scale', metric: farm.load, target: farm, smoothing: 3}
",
        Missing::Refused
    ), @"
    a.yaml:6:28: error[WL0112]: there is no component `two` to take the metric `load` from
        help: there are `one` and `farm`
    a.yaml:7:25: error[WL0135]: the descriptor of `one` declares no metric `laod`
        a.yaml:3:3: the component
        help: did you mean `load`?
    a.yaml:8:42: warning[WL0134]: `other` is declared as `metric::integrity`, and its source is `metric::load`
        help: leave `type` out, and it is that of the source
    a.yaml:9:3: error[WL0134]: the metric `empty` has no `source-metric`, as `balancer.lb_load`
    a.yaml:11:43: error[WL0133]: this policy needs a metric of the kind `metric::load`, and this one is `metric::integrity`
    a.yaml:11:94: error[WL0136]: `smoothing` is a number of periods from 1, and `0` is none
    a.yaml:12:16: warning[WL0133]: there is no kind of policy `policy::scael`, so `kind` does nothing
        help: did you mean `policy::scale`?
    a.yaml:13:16: warning[WL0133]: `policy::heal` is a policy of a resource; here `heal` does nothing
        help: declare it in the descriptor of a resource
    a.yaml:14:3: error[WL0133]: the policy `untargeted` has no `target`
        help: name the component to scale, one with a `cluster`
    a.yaml:14:71: error[WL0136]: a policy has no setting `scaleOut_treshold`
        help: did you mean `scaleOut_threshold`?
    a.yaml:14:113: error[WL0136]: `scaleIn_threshold` is a load in percent, from 0 to 100, and `101` is none
    a.yaml:15:66: warning[WL0139]: `smoothing` stands in the policy `flat` itself, as old descriptors have it
        help: write it below `properties`
    ");
    assert_snapshot!(messages(
        "name: resource::web::1.0
metrics:
  untyped: {publication-period: 5}
  odd: {type: 'metric::lod', publication-period: [1]}
policies:
  heal: {type: 'policy::heal', metric: odd, properties: {smoothing: three}}
  scale: {type: 'policy::scale', metric: od}
"
    ), @"
    a.yaml:3:3: error[WL0134]: the metric `untyped` has no `type`, as `metric::load` or `metric::integrity`
    a.yaml:4:15: warning[WL0134]: there is no kind of metric `metric::lod`; no policy can read it
        help: did you mean `metric::load`?
    a.yaml:4:50: error[WL0134]: `publication-period` is a whole number of seconds, 0 for a metric that is not published
    a.yaml:6:69: error[WL0136]: `smoothing` is a number of periods from 1, and `three` is none
    a.yaml:7:17: warning[WL0133]: `policy::scale` is a policy of an assembly; here `scale` does nothing
        help: declare it in the descriptor of an assembly
    a.yaml:7:42: error[WL0135]: there is no metric `od`
        help: did you mean `odd`?
    ");
}

#[test]
fn types_are_advice() {
    assert_snapshot!(world().check(
        "name: assembly::shop::1.0
properties:
  count: {type: Integer, default: '007'}
  wrong: {type: integer, value: 1.5}
  ratio: {type: float, default: 1e-3}
  flag: {type: boolean, default: maybe}
  list: {type: list, entry-schema: {type: integer}, default: [1, two]}
  map: {type: map, entry-schema: {type: Adress}, default: text}
  json: {type: map, default: '{\"a\": 1}'}
  own: {type: Address, default: {street: x}}
  later: {type: integer, value: '${count}'}
data-types:
  Address: {properties: {street: {type: strng}}}
  Loop: {derived-from: Loop}
  string: {}
composition:
  web: {type: 'resource::typed::1.0', properties: {port: {value: http}}}
",
        Missing::Tolerated
    ), @"
    a.yaml:4:33: warning[WL0117]: `wrong` is declared as `integer`, and its value is not a whole number
        help: the value is taken as it stands; types are advice
    a.yaml:6:34: warning[WL0117]: `flag` is declared as `boolean`, and its value is not `true` or `false`
        help: the value is taken as it stands; types are advice
    a.yaml:7:66: warning[WL0117]: `list` is declared as `list`, and its value is not a whole number, as `entry-schema` says
        help: the value is taken as it stands; types are advice
    a.yaml:8:41: warning[WL0116]: there is no type `Adress`; its values are taken as text
        help: did you mean `Address`?
    a.yaml:8:59: warning[WL0117]: `map` is declared as `map`, and its value is not a mapping
        help: the value is taken as it stands; types are advice
    a.yaml:13:41: warning[WL0116]: there is no type `strng`; its values are taken as text
        help: did you mean `string`?
    a.yaml:14:24: error[WL0145]: `Loop` is derived from itself
    a.yaml:15:3: error[WL0145]: `string` is a type of the language already
    a.yaml:17:15: warning[WL0140]: the descriptor of `web`, `resource::typed::1.0`, is not in the catalog; what depends on it is not checked
        help: put its package into `Contains/` beside the assembly, or name its folder with `--catalog`
    ");
    let typed =
        World::of(&["name: resource::typed::1.0\nproperties: {port: {type: integer}}\nlifecycle: []\n"]);
    assert_snapshot!(typed.check(
        "name: assembly::shop::1.0\ncomposition: {web: {type: 'resource::typed::1.0', properties: {port: {value: http}}}}\n",
        Missing::Tolerated
    ), @"
    a.yaml:2:78: warning[WL0117]: `port` is declared as `integer`, and its value is not a whole number
        0.yaml:2:14: declared here
        help: the value is taken as it stands; types are advice
    ");
}
