//! Random assemblies of up to forty components with relationships, including clusters and nested assemblies.

use indexmap::IndexMap;
use proptest::prelude::*;
use windlass_model::assembly::{
    Cluster, Element, ElementKind, Endpoint, OnFailure, Operation, OperationCall, Property, Relationship,
    Update,
};
use windlass_model::resolve::NothingYet;
use windlass_model::template::End;
use windlass_model::{Modifier, Part, State, Template, Topology, Transition, Transitions};

use super::names::{name, property};
use crate::{Current, LifecycleError, Options, Situation, Version, plan};

/// A component of a random assembly.
#[derive(Debug, Clone)]
pub struct Component {
    /// The kind of component.
    ///
    /// 0 to 2 mean a resource, 3 a cluster of resources, and 4 an assembly of resources. 5 means a cluster of
    /// assemblies, and 6 an assembly that contains an assembly.
    pub shape: u8,
    /// The number of nodes of a cluster (shapes 3 and 5), or of parts of an assembly (shape 4). Other shapes ignore it.
    pub nodes: u8,
    /// A number that determines values of the property `in`, and the reaction of a cluster to a failed batch.
    ///
    /// For an assembly in the component, the value of `in` is usually the number. If the number is 3, the value is a
    /// list that contains only the number. If the number is 2, the value is missing. For a resource in the component,
    /// the value of `in` is the number, followed by the value of `in` of the assembly around the resource (if the
    /// component contains this assembly). If `reads` selects another component, the resource reads that component
    /// instead.
    ///
    /// If the number is odd, a cluster demands a rollback after a failed batch ([`OnFailure::Rollback`]).
    pub value: u8,
    /// The optional transitions that the component's resources declare: Create and Delete (1), Reconfigure
    /// (2), or none (other numbers).
    pub kind: u8,
    /// Whether the properties of the component's resources may change while the resources are Active.
    pub volatile: bool,
    /// A random number that selects an earlier component whose output this component reads.
    ///
    /// The position of the earlier component is this number modulo the number of earlier components. The property
    /// named `in` of each resource of this component then reads the output. If `reads` is `None`, or if there is no
    /// earlier component, the property has the fixed value `value`.
    pub reads: Option<u8>,
    /// The relationship between the parts of the component.
    pub inner: Tie,
}

/// A relationship of a random assembly, between two components or inside one component.
///
/// Between two components, the source is the earlier component. A relationship inside a component ignores the fields
/// `source` and `target`.
#[derive(Debug, Clone, Copy)]
pub struct Tie {
    /// A random number that selects the source among the components before the target. The position of the source
    /// is this number modulo the position of the target.
    pub source: u8,
    /// A random number that selects the target among all components except the first one. With `n` components, the
    /// position of the target is 1 plus this number modulo `n - 1`.
    pub target: u8,
    /// The states that the relationship declares for its source and its target.
    ///
    /// Each state is a number (its rank): Installed is 2, Inactive is 3, and Active is 4.
    pub states: (u8, u8),
    /// Whether the modifiers of source and target are `pre`.
    pub modifiers: (bool, bool),
    /// The operations that the relationship calls: no operation (0), an operation of its target (1), an
    /// operation of its source (2), or both operations (3).
    pub operations: u8,
    /// The property of the source that the relationship reads: none (0), `in` (1), or `out` (2).
    ///
    /// The relationship reads `in` instead of `out` in two cases:
    ///
    /// - The source is an assembly, or a cluster of assemblies. Assemblies publish no outputs.
    /// - The relationship may be created before the source is Installed, and so before the source publishes `out`.
    pub reads: u8,
}

impl Tie {
    /// Creates a relationship between two ends. Each argument sets the field of the same name.
    pub fn new(
        (source, target): (u8, u8),
        states: (u8, u8),
        modifiers: (bool, bool),
        operations: u8,
        reads: u8,
    ) -> Self {
        Self { source, target, states, modifiers, operations, reads }
    }
}

/// The specification of one version of a random assembly.
///
/// The function [`versions`] generates two versions of the same assembly. In both versions, the entries at the same
/// position of a list describe the same component or relationship. The two entries may differ, and one of them may be
/// `None`.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    /// The components of this version of the assembly. Each assembly has two versions. An entry is `None` if only the
    /// other version has a component at this position.
    pub components: Vec<Option<Component>>,
    /// The relationships of this version of the assembly. Each assembly has two versions. An entry is `None` if only
    /// the other version has a relationship at this position.
    pub ties: Vec<Option<Tie>>,
}

fn component() -> impl Strategy<Value = Component> {
    let reads = proptest::option::of(any::<u8>());
    (0..7_u8, 1..=3_u8, 0..4_u8, 0..3_u8, any::<bool>(), reads, tie()).prop_map(
        |(shape, nodes, value, kind, volatile, reads, inner)| Component {
            shape,
            nodes,
            value,
            kind,
            volatile,
            reads,
            inner,
        },
    )
}

fn tie() -> impl Strategy<Value = Tie> {
    let states = (2..=4_u8, 2..=4_u8);
    let modifiers = (proptest::bool::weighted(0.2), proptest::bool::weighted(0.6));
    (any::<u8>(), any::<u8>(), states, modifiers, 0..4_u8, 0..3_u8).prop_map(
        |(source, target, states, modifiers, operations, reads)| {
            Tie::new((source, target), states, modifiers, operations, reads)
        },
    )
}

/// Generates two versions of an assembly that have some parts in common.
pub fn versions() -> impl Strategy<Value = (Spec, Spec)> {
    // Most assemblies are small, because small failing cases are readable; some have forty components.
    let many = prop_oneof![6 => 1..12_usize, 2 => 12..25_usize, 1 => 25..41_usize];
    let components =
        many.prop_flat_map(|count| proptest::collection::vec((component(), component(), 0..6_u8), count));
    let ties = proptest::collection::vec((tie(), tie(), 0..6_u8), 0..10);
    (components, ties).prop_map(|(components, ties)| {
        let (mut a, mut b) = (Spec::default(), Spec::default());
        for (one, other, how) in components {
            let (one, other) = choose(one, other, how);
            a.components.push(one);
            b.components.push(other);
        }
        for (one, other, how) in ties {
            let (one, other) = choose(one, other, how);
            a.ties.push(one);
            b.ties.push(other);
        }
        (a, b)
    })
}

fn choose<T: Clone>(one: T, other: T, how: u8) -> (Option<T>, Option<T>) {
    match how {
        0 => (Some(one), None),
        1 => (None, Some(other)),
        2 => (Some(one), Some(other)),
        _ => (Some(one.clone()), Some(one)),
    }
}

/// Tells whether an assembly has a plan.
///
/// The modifiers `pre` and `post` of a relationship demand that the relationship is created before or after a node
/// reaches its state. If these demands form a cycle, the assembly has no plan.
///
/// # Panics
///
/// Panics if planning fails for another reason.
pub fn has_order(topology: &Topology) -> bool {
    let desired = Some(Version { topology, lookup: &NothingYet });
    let situation = Situation { current: &Current::default(), installed: None, desired };
    match plan(&situation, &Options::default()) {
        Ok(_) => true,
        Err(LifecycleError::Order(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

fn element(at: &str, kind: ElementKind, parent: Option<&str>) -> Element {
    Element {
        name: name(at),
        kind,
        parent: parent.map(name),
        component: None,
        index: None,
        key: None,
        descriptor: "assembly::any::1.0".parse().expect("valid"),
        properties: IndexMap::new(),
        transitions: Transitions::default(),
        operations: IndexMap::new(),
        cluster: None,
        referent: None,
        protected: false,
        on_package_change: None,
        update: None,
        metrics: IndexMap::new(),
        origin: None,
    }
}

impl Component {
    /// Returns the full name of the component. For example, `t__s2` is a cluster at position 2 of the assembly `t`.
    ///
    /// The letter before the position, here `s`, depends on the [`shape`](Self::shape). So a resource that becomes a
    /// cluster or an assembly gets another name. If the resource kept its name, an interrupted upgrade could confuse
    /// the planner; see "Limits" in `docs/design/lifecycle.md`.
    fn name(&self, root: &str, at: usize) -> String {
        match self.shape {
            3 => format!("{root}__s{at}"),
            4 => format!("{root}__a{at}"),
            5 => format!("{root}__g{at}"),
            6 => format!("{root}__n{at}"),
            _ => format!("{root}__c{at}"),
        }
    }
}

impl Spec {
    /// Returns the topology of the assembly. The name of the assembly is `t`.
    pub fn topology(&self) -> Topology {
        self.topology_of("t")
    }

    /// Returns the topology of the assembly. The name of the assembly is `root`.
    ///
    /// # Panics
    ///
    /// Panics if `root` is not a valid assembly name.
    pub fn topology_of(&self, root: &str) -> Topology {
        let mut draft =
            Draft { spec: self, root, elements: Vec::new(), relationships: Vec::new(), inner: Vec::new() };
        draft.elements.push(element(root, ElementKind::Assembly, None));
        for (at, component) in self.components.iter().enumerate() {
            if let Some(component) = component {
                draft.add(at, component);
            }
        }
        draft.relate();
        let Draft { elements, mut relationships, inner, .. } = draft;
        relationships.extend(inner);
        Topology::new(root.parse().expect("a name of an assembly"), elements, relationships)
    }
}

/// A topology under construction.
struct Draft<'a> {
    spec: &'a Spec,
    root: &'a str,
    elements: Vec<Element>,
    relationships: Vec<Relationship>,
    /// The relationships inside components. The topology lists them after all other relationships.
    inner: Vec<Relationship>,
}

impl Draft<'_> {
    fn add(&mut self, at: usize, component: &Component) {
        let own = component.name(self.root, at);
        match component.shape {
            0..=2 => self.resource(&own, self.root, component),
            3 | 5 => {
                let mut group = element(&own, ElementKind::Group, Some(self.root));
                group.cluster = Some(Cluster { minimum: 1, maximum: Some(4), increment: 1 });
                let on_failure = if component.value % 2 == 1 { OnFailure::Rollback } else { OnFailure::Stop };
                group.update = Some(Update { on_failure, ..Update::default() });
                self.elements.push(group);
                for index in 1..=u32::from(component.nodes) {
                    let node = format!("{own}__{index}");
                    let place = self.elements.len();
                    if component.shape == 3 {
                        self.resource(&node, &own, component);
                    } else {
                        self.pair(&node, &own, component);
                    }
                    self.elements[place].index = Some(index);
                }
            }
            4 => {
                let parts: Vec<String> =
                    (1..=component.nodes).map(|part| format!("{own}__p{part}")).collect();
                self.assembly(&own, self.root, &parts[0], component);
                for part in &parts {
                    self.resource(part, &own, component);
                }
            }
            _ => {
                // The component consists of a resource and an assembly that contains an assembly.
                let (first, middle) = (format!("{own}__p1"), format!("{own}__m"));
                let (deepest, last) = (format!("{middle}__d"), format!("{middle}__p1"));
                self.assembly(&own, self.root, &first, component);
                self.resource(&first, &own, component);
                self.assembly(&middle, &own, &last, component);
                self.pair(&deepest, &middle, component);
                self.resource(&last, &middle, component);
                self.inner.push(relationship(&own, "outer", (&first, &middle), component.inner));
                self.inner.push(relationship(&middle, "middle", (&deepest, &last), component.inner));
            }
        }
    }

    /// Adds an assembly of two related resources.
    fn pair(&mut self, node: &str, parent: &str, component: &Component) {
        let (first, second) = (format!("{node}__p1"), format!("{node}__p2"));
        self.assembly(node, parent, &first, component);
        for part in [&first, &second] {
            self.resource(part, node, component);
        }
        self.inner.push(relationship(node, "inner", (&first, &second), component.inner));
    }

    /// Adds an assembly whose operations are the operations of its part `leads_to`.
    fn assembly(&mut self, at: &str, parent: &str, leads_to: &str, component: &Component) {
        let mut assembly = element(at, ElementKind::Assembly, Some(parent));
        promote(&mut assembly, leads_to);
        let literal = Template::literal(component.value.to_string());
        let value = match component.value {
            2 => None,
            3 => Some(Template::List(vec![literal])),
            _ => Some(literal),
        };
        assembly.properties.insert(property("in"), Property { value, ..Property::default() });
        self.elements.push(assembly);
    }

    fn resource(&mut self, at: &str, parent: &str, component: &Component) {
        let mut resource = element(at, ElementKind::Resource, Some(parent));
        resource.descriptor = format!("resource::k{}::1.0", component.kind % 2).parse().expect("valid");
        let usual = [Transition::Install, Transition::Configure, Transition::Start, Transition::Stop];
        resource.transitions.extend(usual);
        resource.transitions.insert(Transition::Uninstall);
        match component.kind {
            1 => resource.transitions.extend([Transition::Create, Transition::Delete]),
            2 => resource.transitions.insert(Transition::Reconfigure),
            _ => {}
        }
        promote(&mut resource, at);
        let own: usize = at.split("__").nth(1).and_then(|c| c[1..].parse().ok()).expect("a component");
        let value = self.read(component, own).unwrap_or_else(|| self.fixed(parent, component));
        let given = |value| Property { value, volatile: component.volatile, ..Property::default() };
        resource.properties.insert(property("in"), given(Some(value)));
        resource.properties.insert(property("out"), Property { read_only: true, ..given(None) });
        self.elements.push(resource);
    }

    /// Creates a value for the property `in` of a resource. The value reads no output. If the resource is in an
    /// assembly below the root, the value reads the property `in` of the assembly.
    fn fixed(&self, parent: &str, component: &Component) -> Template {
        let number = component.value.to_string();
        let parent = name(parent);
        let assembly = self.elements.iter().find(|element| element.name == parent);
        if assembly.is_none_or(|assembly| !assembly.properties.contains_key(&property("in"))) {
            return Template::literal(number);
        }
        let read = Part::Property { element: parent, property: property("in") };
        Template::Text(vec![Part::Literal(number), read])
    }

    /// Returns a value that reads the output `out` of an earlier component.
    ///
    /// The field `component.reads` selects the earlier component. `own` is the position of `component`.
    ///
    /// Returns `None` if `component` reads no output.
    fn read(&self, component: &Component, own: usize) -> Option<Template> {
        let components = &self.spec.components;
        let before: Vec<usize> = (0..own).filter(|at| components[*at].is_some()).collect();
        let at = *before.get(usize::from(component.reads?) % before.len().max(1))?;
        let own = self.name(at);
        let leaf = match components[at].as_ref()?.shape {
            0..=2 => own,
            3 => format!("{own}__1"),
            4 | 6 => format!("{own}__p1"),
            _ => format!("{own}__1__p2"),
        };
        Some(Template::property(name(&leaf), property("out")))
    }

    fn name(&self, at: usize) -> String {
        self.spec.components[at].as_ref().map(|component| component.name(self.root, at)).unwrap_or_default()
    }

    /// Adds the relationships between components.
    fn relate(&mut self) {
        let components = &self.spec.components;
        let there: Vec<usize> = (0..components.len()).filter(|at| components[*at].is_some()).collect();
        if there.len() < 2 {
            return;
        }
        for (at, tie) in self.spec.ties.iter().enumerate() {
            let Some(tie) = tie else { continue };
            // Sources precede targets, so that most assemblies have a plan.
            let target = 1 + usize::from(tie.target) % (there.len() - 1);
            let source = usize::from(tie.source) % target;
            let ends = (self.name(there[source]), self.name(there[target]));
            let ends = (&*ends.0, &*ends.1);
            self.relationships.push(relationship(self.root, &format!("r{at}"), ends, *tie));
        }
    }
}

/// Adds four operations to `element`, for calls by random relationships.
///
/// If an added operation is called, the element `leads_to` executes it. For an assembly, `leads_to` is one of its
/// parts. For a resource, `leads_to` is the resource itself.
fn promote(element: &mut Element, leads_to: &str) {
    for operation in ["Join1", "Leave1", "Join2", "Leave2"] {
        let operation: windlass_model::OperationName = operation.parse().expect("valid");
        let found = Operation { element: name(leads_to), operation: operation.clone() };
        element.operations.insert(operation, found);
    }
}

fn relationship(assembly: &str, own: &str, ends: (&str, &str), tie: Tie) -> Relationship {
    let modifier = |pre| if pre { Modifier::Pre } else { Modifier::Post };
    let call = |operation: &str, (number, end): (u8, End)| OperationCall {
        end,
        operation: format!("{operation}{number}").parse().expect("valid"),
    };
    let calls = |operation| -> Vec<OperationCall> {
        let both = [(1, End::Target), (2, End::Source)];
        let called = both.into_iter().filter(|(number, _)| tie.operations & number != 0);
        called.map(|one| call(operation, one)).collect()
    };
    let end = |at: &str| vec![Endpoint { element: name(at), capability: None }];
    let state = |rank: u8| State::LADDER[usize::from(rank)];
    let mut properties = IndexMap::new();
    // The output of a source is not known if the relationship may be created before the source is installed.
    // Assemblies publish no outputs.
    let early = tie.modifiers.0 && tie.states.0 == 2;
    let publishes = ends.0.rsplit("__").next().is_some_and(|own| own.starts_with(['c', 's', 'p']));
    if tie.reads > 0 {
        let read = if tie.reads == 2 && publishes && !early { "out" } else { "in" };
        let part = Part::End { end: End::Source, property: property(read) };
        let value = Some(Template::Text(vec![part]));
        properties.insert(property("peer"), Property { value, ..Property::default() });
    }
    Relationship {
        name: own.parse().expect("valid"),
        assembly: name(assembly),
        sources: end(ends.0),
        targets: end(ends.1),
        source_state: state(tie.states.0),
        source_modifier: modifier(tie.modifiers.0),
        target_state: state(tie.states.1),
        target_modifier: modifier(tie.modifiers.1),
        properties,
        create: calls("Join"),
        cease: calls("Leave"),
        origin: None,
    }
}
