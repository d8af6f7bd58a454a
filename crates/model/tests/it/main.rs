//! Resolution of values: known values, awaited outputs, and errors.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::{Value, json};
use windlass_model::assembly::{Element, ElementKind, Property, Topology};
use windlass_model::resolve::{Answer, Lookup, NothingYet, Output, ResolveError, Resolved, Resolver};
use windlass_model::template::InstanceField;
use windlass_model::{ElementName, InstanceId, Part, PropertyName, Template, Transitions};
use windlass_secret::{SecretRef, Sensitive};

fn name(name: &str) -> ElementName {
    name.parse().expect("valid")
}

fn property(name: &str) -> PropertyName {
    name.parse().expect("valid")
}

fn reads(element: &str, name: &str) -> Part {
    Part::Property { element: self::name(element), property: property(name) }
}

fn given(parts: Vec<Part>) -> Property {
    Property { value: Some(Template::Text(parts)), ..Property::default() }
}

fn literal(text: &str) -> Property {
    given(vec![Part::Literal(text.into())])
}

type Sketch<'a> = (&'a str, Vec<(&'a str, Property)>);

/// Creates the topology `t`. The first sketch is its assembly, and the others are resources in it.
fn topology(elements: &[Sketch<'_>]) -> Topology {
    let element = |(at, (element, properties)): (usize, &Sketch<'_>)| Element {
        name: name(element),
        kind: if at == 0 { ElementKind::Assembly } else { ElementKind::Resource },
        parent: (at > 0).then(|| name(elements[0].0)),
        component: None,
        index: None,
        key: None,
        descriptor: "resource::r::1.0".parse().expect("valid"),
        properties: properties.iter().map(|(key, value)| (property(key), value.clone())).collect(),
        transitions: Transitions::default(),
        operations: IndexMap::new(),
        metrics: IndexMap::new(),
        cluster: None,
        referent: None,
        protected: false,
        on_package_change: None,
        update: None,
        origin: None,
    };
    let all = elements.iter().enumerate().map(element).collect();
    Topology::new("t".parse().expect("valid"), all, Vec::new())
}

/// A [`Lookup`] with published outputs. Elements without an output are installed or not, as `installed`
/// states.
#[derive(Default)]
struct Known {
    outputs: BTreeMap<(ElementName, PropertyName), Resolved>,
    installed: bool,
}

impl Lookup for Known {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        match self.outputs.get(&(element.clone(), property.clone())) {
            Some(value) => Output::Published(value.clone()),
            None if self.installed => Output::Nothing,
            None => Output::NotYet,
        }
    }

    fn instance_id(&self, _: &ElementName) -> Option<InstanceId> {
        self.installed.then(|| "abc".parse().expect("valid"))
    }

    fn secret(&self, _: &SecretRef) -> Option<Sensitive<String>> {
        Some(Sensitive::new("hunter2".to_owned()))
    }
}

fn resolve(
    topology: &Topology,
    lookup: &dyn Lookup,
    element: &str,
    name: &str,
) -> Result<Answer, ResolveError> {
    Resolver::new(topology, lookup).property(&self::name(element), &property(name))
}

fn value(answer: Result<Answer, ResolveError>) -> Value {
    match answer {
        Ok(Answer::Known(resolved)) => resolved.value,
        other => panic!("a value was expected: {other:?}"),
    }
}

#[test]
fn text_is_joined_and_a_single_reference_keeps_its_value() {
    let instance = Part::Instance { element: name("t__a"), field: InstanceField::Name };
    let topology = topology(&[
        ("t", vec![("zone", literal("1.10"))]),
        (
            "t__a",
            vec![
                ("gateway", given(vec![instance, Part::Literal("_gateway_".into()), reads("t", "zone")])),
                ("out", Property { read_only: true, ..Property::default() }),
                ("whole", given(vec![reads("t__a", "out")])),
            ],
        ),
    ]);
    let mut known = Known::default();
    assert_eq!(value(resolve(&topology, &known, "t__a", "gateway")), "t__a_gateway_1.10");
    known.outputs.insert((name("t__a"), property("out")), Resolved::plain(json!({"port": 80})));
    assert_eq!(value(resolve(&topology, &known, "t__a", "whole")), json!({"port": 80}));
}

#[test]
fn an_answer_lists_each_missing_output() {
    let out = || Property { read_only: true, ..Property::default() };
    let id = Part::Instance { element: name("t__b"), field: InstanceField::Id };
    let topology = topology(&[
        ("t", vec![("both", given(vec![reads("t__a", "x"), reads("t__b", "y"), id]))]),
        ("t__a", vec![("x", out())]),
        ("t__b", vec![("y", out())]),
    ]);
    let Ok(Answer::Waiting(missing)) = resolve(&topology, &NothingYet, "t", "both") else {
        panic!("it waits for something")
    };
    assert_eq!(missing.len(), 3, "{missing:?}");
}

#[test]
fn a_read_only_property_is_its_own_and_an_optional_one_may_stay_empty() {
    let own = Property { read_only: true, ..literal("declared") };
    let topology = topology(&[
        ("t", vec![]),
        (
            "t__a",
            vec![
                ("own", own),
                ("optional", Property::default()),
                ("promised", Property { read_only: true, ..Property::default() }),
            ],
        ),
    ]);
    let mut known = Known { installed: true, ..Known::default() };
    assert_eq!(value(resolve(&topology, &known, "t__a", "own")), "declared");
    known.outputs.insert((name("t__a"), property("own")), Resolved::plain("published"));
    assert_eq!(value(resolve(&topology, &known, "t__a", "own")), "published");
    assert_eq!(value(resolve(&topology, &known, "t__a", "optional")), Value::Null);
    assert_eq!(
        resolve(&topology, &known, "t__a", "promised").unwrap_err().to_string(),
        "`t__a` is installed and has published no property `promised`; correct its package if necessary, and re-create \
         it with `windlass up --replace a`"
    );
}

#[test]
fn a_value_that_reads_a_secret_is_sensitive() {
    let secret = Part::Secret("t:given/1".parse().expect("valid"));
    let topology = topology(&[
        ("t", vec![("password", Property { sensitive: true, ..given(vec![secret]) })]),
        (
            "t__a",
            vec![
                (
                    "url",
                    given(vec![
                        Part::Literal("db://u:".into()),
                        reads("t", "password"),
                        Part::Literal("@h".into()),
                    ]),
                ),
                ("plain", literal("p")),
            ],
        ),
    ]);
    let known = Known::default();
    let Ok(Answer::Known(url)) = resolve(&topology, &known, "t__a", "url") else { panic!("it is known") };
    assert_eq!((url.value.as_str(), url.sensitive), (Some("db://u:hunter2@h"), true));
    assert_eq!((url.shown(), format!("{url:?}")), (json!("***"), "String(\"***\")".to_owned()));
    let Ok(Answer::Known(plain)) = resolve(&topology, &known, "t__a", "plain") else { panic!("it is known") };
    assert!(!plain.sensitive);
}

#[test]
fn a_value_that_reads_a_sealed_output_is_sensitive() {
    let topology = topology(&[
        ("t", Vec::new()),
        ("t__a", vec![("token", Property { read_only: true, ..Property::default() })]),
        ("t__b", vec![("header", given(vec![Part::Literal("Bearer ".into()), reads("t__a", "token")]))]),
    ]);
    let mut known = Known::default();
    let token = Resolved { value: "hunter2".into(), sensitive: true };
    known.outputs.insert((name("t__a"), property("token")), token);
    let Ok(Answer::Known(header)) = resolve(&topology, &known, "t__b", "header") else {
        panic!("it is known")
    };
    assert_eq!((header.value.as_str(), header.sensitive), (Some("Bearer hunter2"), true));
}

#[test]
fn a_circle_is_named_and_not_followed() {
    let topology = topology(&[
        ("t", vec![("a", given(vec![reads("t", "b")])), ("b", given(vec![reads("t", "c")]))]),
        ("t__x", vec![]),
    ]);
    let mut circle = topology.elements()[0].clone();
    circle.properties.insert(property("c"), given(vec![reads("t", "a")]));
    let topology = Topology::new("t".parse().expect("valid"), vec![circle], Vec::new());
    assert_eq!(
        resolve(&topology, &NothingYet, "t", "a").unwrap_err().to_string(),
        "properties read each other in a circle: t.a -> t.b -> t.c -> t.a"
    );
}

#[test]
fn a_topology_is_read_back_as_it_was_written() {
    let topology = topology(&[("t", vec![("zone", literal("1.10"))]), ("t__a", vec![("x", literal(""))])]);
    let text = serde_json::to_string(&topology).expect("it can be written");
    assert_eq!(serde_json::from_str::<Topology>(&text).expect("it can be read"), topology);
    assert!(text.starts_with(r#"{"version":1,"#), "{text}");
}
