//! Changes of declarations that windlass applies without a call of a driver: the outputs of the assembly, policies, and
//! the rules of groups.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use windlass_model::assembly::{ElementKind, Property};
use windlass_model::name::PolicyName;
use windlass_model::policy::Policy;
use windlass_model::resolve::{Answer, Resolved, Resolver};
use windlass_model::template::Part;
use windlass_model::{Element, ElementName, Template, Topology};

use crate::situation::{Shown, Version};

/// A change of a declaration that takes effect without a call of a driver.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeclaredChange {
    /// The element that has the declaration: the assembly, a group or a resource.
    pub element: ElementName,
    /// The path of the declaration. It begins with the section of the descriptor, such as `outputs.url`,
    /// `policies.grow.scaleOut_threshold`, `cluster.maximum-nodes` or `update.pause`.
    pub path: String,
    /// The value before the change. A value that is not known yet is shown as its expression.
    pub before: Shown,
    /// The value after the change.
    pub after: Shown,
}

impl fmt::Display for DeclaredChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "~ {} {}: {} → {}", self.element.local(), self.path, self.before, self.after)
    }
}

/// Returns the changes of declarations between two versions of an assembly. Elements that only one version contains are
/// left out.
pub fn declared_changes(before: Version<'_>, after: Version<'_>) -> Vec<DeclaredChange> {
    let mut comparison = Comparison { old: Reader::of(before), new: Reader::of(after), changes: Vec::new() };
    if let (Some(was), Some(is)) = (before.topology.root(), after.topology.root()) {
        comparison.compare(&is.name, &outputs(was), &outputs(is));
    }
    for is in after.topology.elements() {
        if let Some(was) = before.topology.get(&is.name) {
            comparison.compare(&is.name, &rules(was), &rules(is));
        }
    }
    let (was, is) = (policies(before.topology), policies(after.topology));
    let added = is.keys().filter(|key| !was.contains_key(*key));
    for key @ (owner, name) in was.keys().chain(added) {
        if before.topology.get(owner).is_none() || after.topology.get(owner).is_none() {
            continue;
        }
        match (was.get(key), is.get(key)) {
            (Some(was), Some(is)) => comparison.compare(owner, &settings(was), &settings(is)),
            (was, is) => comparison.compare(owner, &whole(name, was), &whole(name, is)),
        }
    }
    comparison.changes
}

/// The declared values of an element, by path.
type Settings<'a> = BTreeMap<String, Setting<'a>>;

/// A declared value.
enum Setting<'a> {
    /// A fixed value.
    Fixed(Value),
    /// The value of a property.
    Property(&'a Property),
}

/// A comparison of two versions.
struct Comparison<'a> {
    old: Reader<'a>,
    new: Reader<'a>,
    changes: Vec<DeclaredChange>,
}

impl Comparison<'_> {
    /// Adds the changes of the declared values of an element.
    fn compare(&mut self, element: &ElementName, was: &Settings<'_>, is: &Settings<'_>) {
        let added = is.keys().filter(|path| !was.contains_key(*path));
        for path in was.keys().chain(added) {
            let ((was, before), (is, after)) = (self.old.read(was.get(path)), self.new.read(is.get(path)));
            if was != is {
                let (element, path) = (element.clone(), path.clone());
                self.changes.push(DeclaredChange { element, path, before, after });
            }
        }
    }
}

/// Reads the declared values of one version.
struct Reader<'a> {
    resolver: Resolver<'a>,
    root: Option<&'a ElementName>,
}

impl<'a> Reader<'a> {
    fn of(version: Version<'a>) -> Self {
        let root = version.topology.root().map(|root| &root.name);
        Self { resolver: Resolver::new(version.topology, version.lookup), root }
    }

    /// Returns a declared value and its displayable form. If the value is not known yet, both are its expression.
    fn read(&mut self, setting: Option<&Setting<'_>>) -> (Value, Shown) {
        let property = match setting {
            None => return (Value::Null, Shown::Nothing),
            Some(Setting::Fixed(value)) => return (value.clone(), shown(value, false)),
            Some(Setting::Property(property)) => property,
        };
        let Some(template) = &property.value else { return (Value::Null, Shown::Nothing) };
        let (value, is_secret) = match self.resolver.template(template) {
            Ok(Answer::Known(value)) => (value.value, value.sensitive),
            _ => (self.written(template), false),
        };
        let shown = shown(&value, is_secret || property.sensitive);
        (value, shown)
    }

    /// Returns a template as it stands in a descriptor.
    fn written(&self, template: &Template) -> Value {
        match template {
            Template::Text(parts) => parts.iter().map(|part| self.part(part)).collect::<String>().into(),
            Template::List(items) => items.iter().map(|item| self.written(item)).collect(),
            Template::Map(entries) => {
                let entries = entries.iter().map(|(key, entry)| (key.clone(), self.written(entry)));
                Value::Object(entries.collect::<Map<_, _>>())
            }
            Template::Null => Value::Null,
        }
    }

    fn part(&self, part: &Part) -> String {
        match part {
            Part::Property { element, property } if Some(element) == self.root => format!("${{{property}}}"),
            Part::Property { element, property } => format!("${{{}.{property}}}", element.local()),
            other => other.to_string(),
        }
    }
}

fn shown(value: &Value, sensitive: bool) -> Shown {
    Shown::of(&Resolved { value: value.clone(), sensitive })
}

/// Returns the outputs of an assembly: the properties whose values only the descriptor gives.
fn outputs(root: &Element) -> Settings<'_> {
    let outputs = root.properties.iter().filter(|(_, property)| property.read_only);
    outputs.map(|(name, property)| (format!("outputs.{name}"), Setting::Property(property))).collect()
}

/// Returns the descriptor of an assembly, and the rules for the size of a group and for changes of its nodes.
fn rules(element: &Element) -> Settings<'_> {
    let mut rules = Settings::new();
    let mut set = |path: &str, value: Value| drop(rules.insert(path.to_owned(), Setting::Fixed(value)));
    if element.kind == ElementKind::Assembly {
        set("descriptor", element.descriptor.to_string().into());
    }
    if let Some(cluster) = &element.cluster {
        set("cluster.minimum-nodes", cluster.minimum.into());
        set("cluster.maximum-nodes", cluster.maximum.into());
        set("cluster.scaling-increment", cluster.increment.into());
    }
    if let Some(update) = &element.update {
        let text = |value: Option<String>| value.map_or(Value::Null, Value::from);
        set("update.max-unavailable", text(update.max_unavailable.map(|number| number.to_string())));
        set("update.max-surge", text(update.max_surge.map(|number| number.to_string())));
        set("update.pause", text(update.pause.map(|pause| pause.to_string())));
        set("update.on-failure", serde_json::to_value(update.on_failure).unwrap_or_default());
    }
    rules
}

/// Returns the policies of a topology, by the elements that own the policies, and by name.
fn policies(topology: &Topology) -> BTreeMap<(&ElementName, &PolicyName), &Policy> {
    topology.policies().iter().map(|policy| ((&policy.owner, &policy.name), policy)).collect()
}

/// Returns a policy as a single value, because it is added or removed; empty if there is no such policy.
fn whole(name: &PolicyName, policy: Option<&&Policy>) -> Settings<'static> {
    let kind = policy.map(|policy| Setting::Fixed(policy.kind.to_string().into()));
    kind.map(|kind| (format!("policies.{name}"), kind)).into_iter().collect()
}

/// Returns the settings of a policy.
fn settings(policy: &Policy) -> Settings<'_> {
    let Policy { name, kind, metric, target, properties, .. } = policy;
    let path = |key: &str| format!("policies.{name}.{key}");
    let fixed = [
        ("type", kind.to_string()),
        ("metric", format!("{}.{}", metric.element.local(), metric.metric)),
        ("target", target.local().to_owned()),
    ];
    let fixed = fixed.map(|(key, value)| (path(key), Setting::Fixed(value.into())));
    let properties = properties.iter();
    fixed
        .into_iter()
        .chain(properties.map(|(key, property)| (path(key.as_str()), Setting::Property(property))))
        .collect()
}
