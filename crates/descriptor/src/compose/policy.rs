//! Finds the elements that measure a metric, and the elements that a policy reads and changes.

use indexmap::IndexMap;
use windlass_model::ElementName;
use windlass_model::assembly::{ElementKind, Property};
use windlass_model::name::MetricName;
use windlass_model::policy::{Metric, MetricKind, MetricSource, Policy, PolicyKind};

use super::composer::Composer;
use super::frame::{Binder, Frame};
use crate::check::Thresholds;
use crate::codes;
use crate::metric::PolicyDecl;
use crate::reader::origin;
use crate::resource::ResourceDescriptor;
use crate::scope::Scope;

impl Composer<'_> {
    /// Returns the metrics that the element of a resource publishes.
    pub(super) fn metrics(
        &mut self,
        resource: &ResourceDescriptor,
        element: &ElementName,
    ) -> IndexMap<MetricName, Metric> {
        let binder = Binder {
            scope: Scope::resource(resource),
            source: &resource.source,
            owner: element,
            instance: element,
            each: None,
        };
        let metrics = resource.metrics.iter().map(|(name, decl)| {
            let metric = Metric {
                kind: decl.kind.as_ref().map_or(MetricKind::Other(String::new()), |kind| kind.value.clone()),
                period: decl.period.as_ref().map(|period| self.values.bind(period, binder, false)),
                source: MetricSource { element: element.clone(), metric: name.clone() },
                origin: Some(origin(&resource.source, decl.name_span)),
            };
            (name.clone(), metric)
        });
        metrics.collect()
    }

    /// Adds the promoted metrics to the element of the assembly. An assembly promotes a metric if it offers a
    /// metric of a component as its own. `at` is the index of the assembly's element.
    ///
    /// Each added metric names its publisher: a resource, or a group whose nodes publish the metric.
    pub(super) fn promote_metrics(&mut self, Frame { assembly, owner, .. }: Frame<'_>, at: usize) {
        for (name, decl) in &assembly.metrics {
            let Some(source) = &decl.source else { continue };
            let (component, metric) = &source.value;
            let part = MetricSource { element: owner.child(component), metric: metric.clone() };
            let (kind, source) = self.publisher(part);
            let declared = decl.kind.as_ref().map(|kind| kind.value.clone());
            let metric = Metric {
                kind: declared.or(kind).unwrap_or(MetricKind::Other(String::new())),
                period: None,
                source,
                origin: Some(origin(&assembly.source, decl.name_span)),
            };
            self.elements.at_mut(at).metrics.insert(name.clone(), metric);
        }
    }

    /// Returns the type of a metric, and the publisher of the metric. The publisher is an element, together with the
    /// name of the metric at this element. `metric` contains the element that has the metric:
    ///
    /// - If this element is a resource or a group, the publisher is `metric` itself.
    /// - If this element is an assembly, it promotes the metric of another element. This other element is the
    ///   publisher.
    ///
    /// If the element does not exist or has no such metric, the type is `None`, and the publisher is `metric` itself.
    fn publisher(&self, metric: MetricSource) -> (Option<MetricKind>, MetricSource) {
        let Some(element) = self.elements.find(&metric.element) else {
            return (None, metric);
        };
        let is_group = element.kind == ElementKind::Group;
        let node = if is_group {
            self.elements.find(&self.elements.lowest_node(&element.name))
        } else {
            Some(element)
        };
        let found = node.and_then(|node| node.metrics.get(&metric.metric));
        let kind = found.map(|found| found.kind.clone());
        // For a group, the returned source is the group itself, and not a publisher inside one of its nodes. A
        // metric of a group is read from all nodes of the group.
        let source = found.filter(|_| !is_group).map(|found| found.source.clone());
        (kind, source.unwrap_or(metric))
    }

    /// Creates the policies that an assembly declares.
    pub(super) fn assembly_policies(&mut self, frame: Frame<'_>) {
        let Frame { assembly, owner, .. } = frame;
        for (name, decl) in &assembly.policies {
            let kind = decl.kind.as_ref().map(|kind| kind.value.clone());
            let (Some(kind), Some(metric)) = (kind, &decl.metric) else { continue };
            let metric = match metric.value.split_once('.') {
                None => {
                    metric.value.parse().ok().map(|metric| MetricSource { element: owner.clone(), metric })
                }
                Some((component, metric)) => component
                    .parse()
                    .ok()
                    .zip(metric.parse().ok())
                    .map(|(component, metric)| MetricSource { element: owner.child(&component), metric }),
            };
            let target = decl.target.as_ref().and_then(|target| target.value.parse().ok());
            let target = target.map_or_else(|| owner.clone(), |target| owner.child(&target));
            let Some(metric) = metric.map(|metric| self.publisher(metric).1) else { continue };
            let properties = self.settings(decl, frame.binder(owner));
            self.thresholds(frame, decl, &kind);
            self.policies.push(Policy {
                name: name.clone(),
                owner: owner.clone(),
                kind,
                metric,
                target,
                properties,
                origin: Some(origin(&assembly.source, decl.name_span)),
            });
        }
    }

    /// Checks the settings of a scale policy that contain `${…}`. The check of the descriptor could not evaluate
    /// these settings. Settings whose values are still unknown are left out.
    fn thresholds(&mut self, frame: Frame<'_>, decl: &PolicyDecl, kind: &PolicyKind) {
        if *kind != PolicyKind::Scale {
            return;
        }
        let mut known = IndexMap::new();
        for (name, setting) in decl.settings.iter().filter(|(_, setting)| !setting.value.is_fixed()) {
            let template = self.values.bind(&setting.value, frame.binder(frame.owner), false);
            let Ok(value) = self.known(&template) else { continue };
            known.insert(name.as_str(), (value.text.trim().to_owned(), setting.value.span));
        }
        if known.is_empty() {
            return;
        }
        let find = |name: &str| {
            let fixed = || {
                let value = &decl.settings.get(name)?.value;
                Some((value.literal()?.trim().to_owned(), value.span))
            };
            known.get(name).cloned().or_else(fixed)
        };
        for problem in Thresholds::of(&find).problems() {
            let span = find(problem.setting).map_or(decl.name_span, |(_, span)| span);
            self.error(&frame.assembly.source, codes::BAD_SETTING, span, problem.message);
        }
    }

    /// Creates the policies that a resource declares, for one element of the resource.
    pub(super) fn resource_policies(&mut self, resource: &ResourceDescriptor, binder: Binder<'_>) {
        for (name, decl) in &resource.policies {
            let kind = decl.kind.as_ref().map(|kind| kind.value.clone());
            let metric = decl.metric.as_ref().and_then(|metric| metric.value.parse().ok());
            let (Some(kind), Some(metric)) = (kind, metric) else { continue };
            let owner = binder.owner.clone();
            let properties = self.settings(decl, binder);
            self.policies.push(Policy {
                name: name.clone(),
                owner: owner.clone(),
                kind,
                metric: MetricSource { element: owner.clone(), metric },
                target: owner,
                properties,
                origin: Some(origin(&resource.source, decl.name_span)),
            });
        }
    }

    fn settings(
        &mut self,
        decl: &PolicyDecl,
        binder: Binder<'_>,
    ) -> IndexMap<windlass_model::PropertyName, Property> {
        let settings = decl.settings.iter().map(|(name, setting)| {
            let value = Some(self.values.bind(&setting.value, binder, false));
            let origin = Some(origin(binder.source, setting.value.span));
            (name.clone(), Property { value, origin, ..Property::default() })
        });
        settings.collect()
    }
}
