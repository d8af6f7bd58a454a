//! Metrics and policies as resource and assembly descriptors declare them.

use indexmap::IndexMap;
use windlass_model::name::{MetricName, PolicyName};
use windlass_model::policy::{MetricKind, PolicyKind};
use windlass_model::{ComponentName, PropertyName};
use windlass_source::{Diagnostic, Mapping, Span};

use crate::codes;
use crate::reader::{Body, Reader, Spanned, dotted, get, section};
use crate::template::Value;

/// The names of the settings that the descriptor language defines for policies.
pub(crate) const SETTINGS: [&str; 6] = [
    "scaleOut_threshold",
    "scaleIn_threshold",
    "smoothing",
    "scaleOut_smoothing",
    "scaleIn_smoothing",
    "threshold",
];

/// Metrics by name, in the order of declaration.
pub type Metrics = IndexMap<MetricName, MetricDecl>;

/// Policies by name, in the order of declaration.
pub type Policies = IndexMap<PolicyName, PolicyDecl>;

/// A metric that a descriptor declares.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricDecl {
    /// Place of the name.
    pub name_span: Span,
    /// The key `type`: `metric::load` or `metric::integrity`. If an assembly descriptor omits the key, the metric has
    /// the type of its source metric.
    pub kind: Option<Spanned<MetricKind>>,
    /// The key `source-metric` of an assembly descriptor; `None` in a resource descriptor. For example, the value is
    /// `balancer.lb_load`. The metric of the assembly is then the metric `lb_load` of the component `balancer`.
    pub source: Option<Spanned<(ComponentName, MetricName)>>,
    /// The key `publication-period`: seconds between two publications of the metric.
    pub period: Option<Value>,
}

/// A policy that a descriptor declares.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyDecl {
    /// Place of the name.
    pub name_span: Span,
    /// The key `type`: `policy::scale` or `policy::heal`.
    pub kind: Option<Spanned<PolicyKind>>,
    /// The key `metric`: `component.metric` in an assembly, or the name of a metric that the same descriptor
    /// declares.
    pub metric: Option<Spanned<String>>,
    /// The key `target`: the component that the policy scales.
    pub target: Option<Spanned<String>>,
    /// Settings by name. A setting is written as a value (`smoothing: 4`), or as a mapping (`smoothing:
    /// {value: 4}`).
    pub settings: IndexMap<PropertyName, Setting>,
}

/// A setting of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Place of the name.
    pub name_span: Span,
    /// Value of the setting.
    pub value: Value,
}

/// The kind of the descriptor whose metrics are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A resource, which measures its metrics itself.
    Resource,
    /// An assembly. Each of its metrics is a metric of one of its components.
    Assembly,
}

pub(crate) fn read_metrics(reader: &mut Reader<'_>, root: &Mapping, owner: Owner) -> Metrics {
    section(reader, root, "metrics", codes::NAME, |reader, body| metric(reader, body, owner))
}

fn metric(reader: &mut Reader<'_>, body: &Body<'_>, owner: Owner) -> MetricDecl {
    let what = format!("the metric `{}`", body.name);
    let mapping = reader.mapping(body.node, &what);
    let known: &[&str] = match owner {
        Owner::Resource => &["type", "publication-period", "description"],
        Owner::Assembly => &["type", "publication-period", "source-metric", "description"],
    };
    if let Some(mapping) = mapping {
        reader.unknown_keys(
            mapping,
            known,
            if owner == Owner::Resource { "a metric" } else { "a promoted metric" },
        );
    }
    let field = |key: &str| mapping.and_then(|mapping| get(mapping, key)).filter(|node| !node.is_null());
    let kind = field("type").and_then(|node| reader.text(node, "`type`"));
    let kind = kind.map(|text| Spanned { value: MetricKind::from(text.value), span: text.span });
    let period = field("publication-period").map(|node| Value::read(reader.source, node, reader.diagnostics));
    let source = field("source-metric").and_then(|node| {
        let text = reader.text(node, "`source-metric`")?;
        dotted(
            reader,
            &text,
            codes::BAD_METRIC,
            "`source-metric` is a component and its metric, as `balancer.lb_load`",
        )
    });
    let lacks = match owner {
        Owner::Resource => kind.is_none().then_some("`type`, as `metric::load` or `metric::integrity`"),
        Owner::Assembly => {
            field("source-metric").is_none().then_some("`source-metric`, as `balancer.lb_load`")
        }
    };
    if let Some(lacks) = lacks {
        reader.error(codes::BAD_METRIC, body.name_span, format!("{what} has no {lacks}"));
    }
    MetricDecl { name_span: body.name_span, kind, source, period }
}

pub(crate) fn read_policies(reader: &mut Reader<'_>, root: &Mapping) -> Policies {
    section(reader, root, "policies", codes::NAME, policy)
}

fn policy(reader: &mut Reader<'_>, body: &Body<'_>) -> PolicyDecl {
    let what = format!("the policy `{}`", body.name);
    let mapping = reader.mapping(body.node, &what);
    let field = |key: &str| mapping.and_then(|mapping| get(mapping, key)).filter(|node| !node.is_null());
    let mut word = |key: &str| field(key).and_then(|node| reader.text(node, &format!("`{key}`")));
    let (kind, metric, target) = (word("type"), word("metric"), word("target"));
    let kind = kind.map(|text| Spanned { value: PolicyKind::from(text.value), span: text.span });
    let mut settings = IndexMap::new();
    let properties = field("properties").and_then(|node| reader.mapping(node, "`properties`"));
    for entry in properties.map(Mapping::entries).unwrap_or_default() {
        setting(reader, entry, &mut settings);
    }
    let known = ["type", "metric", "target", "properties", "description", "action"];
    for entry in mapping.map(Mapping::entries).unwrap_or_default() {
        if SETTINGS.contains(&entry.key.text()) {
            let key = entry.key.text();
            let message = format!("`{key}` stands in {what} itself, as old descriptors have it");
            let diagnostic = Diagnostic::warning(codes::OLD_SHAPE, message)
                .at(reader.place(entry.key.span()))
                .help("write it below `properties`");
            reader.diagnostics.push(diagnostic);
            setting(reader, entry, &mut settings);
        }
    }
    if let Some(mapping) = mapping {
        let known: Vec<&str> = known.into_iter().chain(SETTINGS).collect();
        reader.unknown_keys(mapping, &known, "a policy");
    }
    for (key, is_there) in [("type", kind.is_some()), ("metric", metric.is_some())] {
        if mapping.is_some() && !is_there {
            reader.error(codes::BAD_POLICY, body.name_span, format!("{what} has no `{key}`"));
        }
    }
    PolicyDecl { name_span: body.name_span, kind, metric, target, settings }
}

/// Reads a setting: a value (`smoothing: 4`), or a mapping (`smoothing: {value: 4}`).
fn setting(
    reader: &mut Reader<'_>,
    entry: &windlass_source::Entry,
    settings: &mut IndexMap<PropertyName, Setting>,
) {
    let Some(name) = reader.key::<PropertyName>(&entry.key, codes::NAME) else { return };
    let node = match entry.value.as_mapping() {
        Some(body) => {
            reader.unknown_keys(body, &["value", "default", "type", "description"], "a setting of a policy");
            body.get("value").or_else(|| body.get("default"))
        }
        None => Some(&entry.value),
    };
    let Some(node) = node.filter(|node| !node.is_null()) else { return };
    let value = Value::read(reader.source, node, reader.diagnostics);
    settings.entry(name.value).or_insert(Setting { name_span: name.span, value });
}
