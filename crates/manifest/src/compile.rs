//! Compiles a manifest to a topology: an assembly with one resource. The resource stands for the scripted component,
//! which is the component that scripts manage.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;
use windlass_model::assembly::{Element, ElementKind, Origin, Property, Topology};
use windlass_model::pins::{PinId, PinType, ValueType};
use windlass_model::sorted::members;
use windlass_model::template::{Part, Template};
use windlass_model::{
    AssemblyName, ComponentName, DescriptorName, ElementName, PropertyName, Transition, Transitions,
};
use windlass_secret::{SecretRef, Sensitive};
use windlass_source::{Diagnostic, Diagnostics, Span};

use crate::builtin::is_declared;
use crate::check::Checked;
use crate::codes;
use crate::document::ComponentType;
use crate::import::read_value;
use crate::name::ComponentPath;
use crate::report::{Report, choose};
use crate::role::{ApplicationRole, Role};
use crate::value;
use crate::visible::{LeafPin, Visible, VisiblePin};

type Properties = IndexMap<PropertyName, Property>;

/// The input that a launch needs in addition to the manifest: the names for the new assembly, and the values that
/// the user gives.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'l> {
    /// The name of the assembly.
    pub name: &'l AssemblyName,
    /// The name of the assembly's descriptor, for example `assembly::vm::3`. The number is the descriptor's version.
    pub assembly: &'l DescriptorName,
    /// The name of the resource's descriptor, for example `resource::vm::3`. The assembly has only one resource.
    pub resource: &'l DescriptorName,
    /// Values of exposed configuration pins, by the ids of the pins. They replace the values of the manifest.
    pub parameters: &'l BTreeMap<String, Value>,
    /// Whether the instance was adopted. The values of the manifest describe instances that the launch script creates.
    /// An adopted instance may have other values. So the pins of an adopted instance get values only from
    /// [`parameters`](Self::parameters), and not from the manifest.
    pub adopted: bool,
}

/// The result of compiling a manifest.
#[derive(Debug, Clone)]
#[must_use]
pub struct Compiled {
    /// The topology; `None` if there are errors.
    pub topology: Option<Topology>,
    /// The values of sensitive pins, by the references to them in the topology.
    pub secrets: BTreeMap<SecretRef, Sensitive<String>>,
    /// The problems of the manifest and of [`Launch::parameters`]. For example, a parameter names a pin that the
    /// application does not expose.
    pub diagnostics: Diagnostics,
}

/// Compiles a manifest to a topology: a root element for the application, with one child for the scripted component. If
/// the manifest has no role ([`Checked::role`]), the result contains an error and no topology.
///
/// A pin is a typed input or output of a component. The child has a property for each configuration pin and each
/// published signal that the manifest declares for the component. If the application exposes such a pin, the root
/// element has a property, too. The name of this property is the exposed id of the pin. One of the two properties gets
/// its value from the other property:
///
/// - For a configuration pin, the child's property gets its value from the property of the root element.
/// - For a signal, the property of the root element gets its value from the child's property.
///
/// The root element also has a property for each built-in configuration pin that the application exposes, such as
/// `component.discoverySchedule`.
///
/// Scripts, commands and consumed signals are part of the [`Role`], not of the topology. The signal `factory.instances`
/// has no property either, because windlass computes its value from the records in the store.
pub fn compile(checked: &Checked<'_>, launch: Launch<'_>) -> Compiled {
    let mut diagnostics = Diagnostics::new();
    let mut report = Report { source: &checked.manifest.source, diagnostics: &mut diagnostics };
    let mut compiler = Compiler { checked, launch, secrets: BTreeMap::new() };
    let elements = compiler.elements(&mut report);
    let secrets = compiler.secrets;
    diagnostics.sort();
    let elements = elements.filter(|_| !diagnostics.has_errors());
    let topology = elements.map(|elements| Topology::new(launch.name.clone(), elements, Vec::new()));
    Compiled { topology, secrets, diagnostics }
}

struct Compiler<'c> {
    checked: &'c Checked<'c>,
    launch: Launch<'c>,
    secrets: BTreeMap<SecretRef, Sensitive<String>>,
}

impl Compiler<'_> {
    fn elements(&mut self, report: &mut Report<'_>) -> Option<Vec<Element>> {
        self.refuse_foreign(report);
        let parameters = self.parameters(report);
        let Some(role) = self.checked.role.as_ref() else {
            let message = "the manifest has no scripted component that can be launched";
            report.error(codes::NOTHING_TO_LAUNCH, self.checked.manifest.span, message);
            return None;
        };
        let component = role.component();
        let leaf = self.checked.visible.find(component).ok()?;
        let root = ElementName::from(self.launch.name);
        // A manifest allows names that are not valid component names, for example with upper-case letters.
        let part = component.0.last().and_then(|name| name.as_str().parse().ok());
        let part: ComponentName = part.unwrap_or_else(|| "component".parse().expect("it is a valid name"));
        let resource = root.child(&part);
        let (outer, exposed) = self.outer(component, &resource, &parameters);
        let inner = self.inner(leaf, component, &root, &exposed);
        Some(vec![
            self.element(&root, ElementKind::Assembly, self.launch.assembly, outer),
            Element {
                parent: Some(root),
                component: Some(part),
                transitions: transitions(role),
                ..self.element(&resource, ElementKind::Resource, self.launch.resource, inner)
            },
        ])
    }

    /// Reports components of types that windlass does not launch.
    fn refuse_foreign(&self, report: &mut Report<'_>) {
        self.checked.manifest.for_each_leaf(&mut |path, leaf| {
            if let ComponentType::Other(kind) = &leaf.kind.value {
                let message =
                    format!("component `{path}` is of type `{kind}`, which windlass does not launch");
                report.error(codes::FOREIGN_COMPONENT, leaf.kind.span, message);
            }
        });
    }

    /// Converts the parameters to the types of their pins. Reports parameters that fit no pin.
    fn parameters(&self, report: &mut Report<'_>) -> BTreeMap<PinId, Value> {
        let checked = self.checked;
        let mut found = BTreeMap::new();
        for (word, value) in self.launch.parameters {
            let Some((id, kind)) = checked.parameter(word) else {
                if is_configuration(&checked.visible, word) {
                    let message =
                        format!("a launch can't set `{word}`: its value comes from the manifest alone");
                    let said = Diagnostic::error(codes::UNKNOWN_PARAMETER, message);
                    let help = "change the value in the manifest, and publish the manifest again";
                    report.diagnostics.push(said.help(help));
                    continue;
                }
                let settable: Vec<String> = checked.parameters().map(|id| id.to_string()).collect();
                let message = format!("the application has no parameter `{word}`");
                let said = Diagnostic::error(codes::UNKNOWN_PARAMETER, message);
                report.diagnostics.push(choose(said, word, settable.iter().map(String::as_str)));
                continue;
            };
            // A value from a command line is a text, so a text may be YAML for a list, map or record.
            let is_structure = matches!(kind, ValueType::List(_) | ValueType::Map(..) | ValueType::Record(_));
            let read = value.as_str().filter(|_| is_structure).and_then(|text| read_value(kind, text).ok());
            match kind.fit(read.as_ref().unwrap_or(value)) {
                Ok(value) => drop(found.insert(id, value)),
                Err(misfit) => {
                    let message = format!("the value of the parameter `{id}` does not fit: {misfit}");
                    report.diagnostics.push(Diagnostic::error(codes::MISFIT, message));
                }
            }
        }
        self.refuse_contradictions(&found, report);
        found
    }

    /// Reports parameters that give one pin of a component different values. The application exposes such a pin under
    /// several ids.
    fn refuse_contradictions(&self, parameters: &BTreeMap<PinId, Value>, report: &mut Report<'_>) {
        let mut given: BTreeMap<(&ComponentPath, &PinId), PinId> = BTreeMap::new();
        let visible = &self.checked.visible;
        for (id, pin) in visible.pins().filter(|(id, _)| parameters.contains_key(id)) {
            for target in &pin.targets {
                let other = given.insert((&target.component, &target.pin), id.clone());
                if let Some(other) = other.filter(|other| parameters[other] != parameters[&id]) {
                    let message = format!(
                        "the parameters `{other}` and `{id}` set the same value of `{}`, but they differ; \
                         give both the same value",
                        target.component
                    );
                    report.diagnostics.push(Diagnostic::error(codes::MISFIT, message));
                }
            }
        }
    }

    /// Returns the properties of the root element. The application exposes pins of the scripted component `component`.
    /// The root element has one property for each exposed configuration pin, and for each exposed signal that the
    /// manifest declares.
    ///
    /// Also returns a map from the configuration pins of the scripted component to the properties of the root element.
    /// For example, if the application exposes the pin `disk.size` as `vm.size`, the map contains `disk.size` with the
    /// value `vm.size`.
    ///
    /// The application may expose one pin as several properties. For such a pin, the map contains only one of these
    /// properties: a property that a parameter sets. If no parameter sets any of these properties, the map contains the
    /// first property. If parameters set several of them, the values must be equal.
    fn outer(
        &mut self,
        component: &ComponentPath,
        resource: &ElementName,
        parameters: &BTreeMap<PinId, Value>,
    ) -> (Properties, BTreeMap<PinId, PropertyName>) {
        let (mut properties, mut exposed) = (Properties::new(), BTreeMap::new());
        let checked = self.checked;
        for (id, pin) in checked.visible.pins() {
            let targets: Vec<&LeafPin> =
                pin.targets.iter().filter(|target| *target.component == *component).collect();
            let (Some(kind), Some(first)) = (&pin.kind, targets.first()) else { continue };
            let name = property_name(&id);
            let property = match kind {
                PinType::Configuration(kind) => {
                    for target in &targets {
                        let of_pin = exposed.entry(target.pin.clone()).or_insert_with(|| name.clone());
                        if parameters.contains_key(&id) {
                            of_pin.clone_from(&name);
                        }
                    }
                    let value = parameters.get(&id).cloned().or_else(|| self.setting(kind, first));
                    self.configuration(pin, value)
                }
                PinType::PublishSignal(_) if is_declared(&first.pin) => {
                    let value = Template::property(resource.clone(), property_name(&first.pin));
                    Property { value: Some(value), ..self.signal(pin) }
                }
                _ => continue,
            };
            properties.insert(name, property);
        }
        (properties, exposed)
    }

    /// Returns the properties of the child element, which stands for the scripted component. The child has a
    /// property for each configuration pin and each published signal that the manifest declares. `exposed` is the
    /// map that [`outer`](Self::outer) returns.
    fn inner(
        &mut self,
        leaf: &Visible,
        component: &ComponentPath,
        root: &ElementName,
        exposed: &BTreeMap<PinId, PropertyName>,
    ) -> Properties {
        let component = Arc::new(component.clone());
        let mut properties = Properties::new();
        for (id, pin) in leaf.pins().filter(|(id, _)| is_declared(id)) {
            let property = match (&pin.kind, exposed.get(&id)) {
                (Some(PinType::Configuration(_)), Some(name)) => {
                    let value = Template::property(root.clone(), name.clone());
                    Property { value: Some(value), ..self.configuration(pin, None) }
                }
                (Some(PinType::Configuration(kind)), None) => {
                    let value =
                        self.setting(kind, &LeafPin { component: component.clone(), pin: id.clone() });
                    self.configuration(pin, value)
                }
                (Some(PinType::PublishSignal(_)), _) => self.signal(pin),
                _ => continue,
            };
            properties.insert(property_name(&id), property);
        }
        properties
    }

    /// Returns the value that the manifest gives to a pin. Returns `None` if the manifest gives no value, or a value
    /// that does not have the type `kind`. The check of the manifest has reported such a value. Also returns `None` if
    /// the instance was adopted.
    fn setting(&self, kind: &ValueType, pin: &LeafPin) -> Option<Value> {
        if self.launch.adopted {
            return None;
        }
        value::read(kind, &self.checked.settings.get(pin)?.value).ok()
    }

    fn configuration(&mut self, pin: &VisiblePin, value: Option<Value>) -> Property {
        let volatile = matches!(
            &self.checked.role,
            Some(Role::Application(ApplicationRole { reconfiguration: Some(_), .. }))
        );
        let value = value.filter(|value| !value.is_null()).map(|value| self.template(&value, pin.sensitive));
        Property {
            value,
            volatile,
            sensitive: pin.sensitive,
            origin: Some(self.origin(pin.span)),
            ..Property::default()
        }
    }

    fn signal(&self, pin: &VisiblePin) -> Property {
        Property { read_only: true, origin: Some(self.origin(pin.span)), ..Property::default() }
    }

    /// Converts a value to a template. Each text in a sensitive value becomes a secret.
    fn template(&mut self, value: &Value, sensitive: bool) -> Template {
        match value {
            Value::Null => Template::Null,
            Value::Array(items) => {
                Template::List(items.iter().map(|item| self.template(item, sensitive)).collect())
            }
            Value::Object(entries) => {
                let entries = members(entries).into_iter();
                let entries = entries.map(|(key, value)| (key.clone(), self.template(value, sensitive)));
                Template::Map(entries.collect())
            }
            Value::String(text) => self.text(text.clone(), sensitive),
            other => self.text(other.to_string(), sensitive),
        }
    }

    fn text(&mut self, text: String, sensitive: bool) -> Template {
        if !sensitive {
            return Template::literal(text);
        }
        let id = format!("{}:given/{}", self.launch.name, self.secrets.len() + 1);
        let secret: SecretRef = id.parse().expect("an assembly's name and a number make an id");
        self.secrets.insert(secret.clone(), Sensitive::new(text));
        Template::Text(vec![Part::Secret(secret)])
    }

    fn origin(&self, span: Span) -> Origin {
        let source = &self.checked.manifest.source;
        let position = source.position(span.start);
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Origin { file: source.shared_name(), line: number(position.line), column: number(position.column) }
    }

    fn element(
        &self,
        name: &ElementName,
        kind: ElementKind,
        descriptor: &DescriptorName,
        properties: Properties,
    ) -> Element {
        Element {
            name: name.clone(),
            kind,
            parent: None,
            component: None,
            index: None,
            key: None,
            descriptor: descriptor.clone(),
            properties,
            transitions: Transitions::default(),
            operations: IndexMap::new(),
            metrics: IndexMap::new(),
            cluster: None,
            referent: None,
            protected: false,
            on_package_change: None,
            update: None,
            origin: Some(self.origin(self.checked.manifest.span)),
        }
    }
}

/// Returns the transitions that run a script of the manifest. For example, `Install` runs the launch script. A factory
/// has no transitions, because its script only finds existing instances.
fn transitions(role: &Role) -> Transitions {
    let mut transitions = Transitions::default();
    if let Role::Application(application) = role {
        transitions.extend([Transition::Install, Transition::Uninstall]);
        transitions.extend(application.health_check.is_some().then_some(Transition::Integrity));
        transitions.extend(application.reconfiguration.is_some().then_some(Transition::Reconfigure));
    }
    transitions
}

/// Tells whether the application exposes a configuration pin under the given id. The pin may be a built-in one.
fn is_configuration(visible: &Visible, id: &str) -> bool {
    let pin = id.parse().ok().and_then(|id: PinId| visible.pin(&id));
    pin.and_then(|pin| pin.kind.as_ref()).is_some_and(|kind| kind.as_configuration().is_some())
}

fn property_name(id: &PinId) -> PropertyName {
    id.to_string().parse().expect("the id of a pin has no blanks")
}
