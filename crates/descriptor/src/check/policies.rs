//! Checks the metrics and the policies of a descriptor.
//!
//! An assembly promotes a metric if it offers a metric of a component as its own. The check of a promoted
//! metric requires that the component exists and has the metric. The check of a policy covers its metric, its
//! target and its settings.

use std::str::FromStr;

use windlass_model::ComponentName;
use windlass_model::name::MetricName;
use windlass_model::policy::{MetricKind, PolicyKind};
use windlass_source::{Severity, Span, did_you_mean, listed, suggest, suggest_within};

use super::context::{Check, Said};
use crate::codes;
use crate::metric::{MetricDecl, PolicyDecl, SETTINGS};
use crate::reader::{EDITS, Spanned};
use crate::resource::ResourceDescriptor;
use crate::scope::Scope;
use crate::template::Value;

pub(super) fn metrics(check: &mut Check<'_, '_>) {
    for (name, metric) in &check.assembly.metrics {
        kind(metric, check.said);
        if let Some(period) = &metric.period {
            check.value(period, Scope::assembly(check.assembly));
            period_of(period, check.said);
        }
        let Some(source) = &metric.source else { continue };
        let (component, from) = &source.value;
        if !check.assembly.composition.contains_key(component) {
            let message = format!("there is no component `{component}` to take the metric `{from}` from");
            check.no_component(component.as_str(), source.span, message);
            continue;
        }
        let found = metric_of(check, component, from, source.span);
        if let (Some(declared), Some(found)) = (&metric.kind, found.and_then(|found| found.kind))
            && declared.value != found.value
        {
            let message =
                format!("`{name}` is declared as `{}`, and its source is `{}`", declared.value, found.value);
            let diagnostic = check.said.at(Severity::Warning, codes::BAD_METRIC, declared.span, message);
            check.said.push(diagnostic.help("leave `type` out, and it is that of the source"));
        }
    }
}

/// Returns the declaration of a component's metric. If the descriptor of the component is available and
/// declares no such metric, the function reports an error.
fn metric_of(
    check: &mut Check<'_, '_>,
    component: &ComponentName,
    metric: &MetricName,
    span: Span,
) -> Option<MetricDecl> {
    let descriptor = check.descriptor_of(component)?;
    if let Some(found) = descriptor.metrics().get(metric) {
        return Some(found.clone());
    }
    let part = check.assembly.composition.get(component)?;
    if check.said.leaves_out(Severity::Error) {
        return None;
    }
    let message = format!("the descriptor of `{component}` declares no metric `{metric}`");
    let names: Vec<&str> = descriptor.metrics().keys().map(MetricName::as_str).collect();
    let diagnostic = check
        .said
        .at(Severity::Error, codes::UNKNOWN_METRIC, span, message)
        .related(check.source().place(part.name_span), "the component")
        .help(declares(&names));
    check.said.push(did_you_mean(diagnostic, metric.as_str(), names));
    None
}

pub(super) fn policies(check: &mut Check<'_, '_>) {
    for (name, policy) in &check.assembly.policies {
        for setting in policy.settings.values() {
            check.value(&setting.value, Scope::assembly(check.assembly));
        }
        let expected = PolicyKind::Scale;
        policy_kind(name.as_str(), policy, &expected, check.said);
        settings(policy, check.said);
        policy_metric(check, name.as_str(), policy);
        match &policy.target {
            Some(target) => policy_target(check, name.as_str(), target),
            None if is(policy, &expected) => {
                let message = format!("the policy `{name}` has no `target`");
                let diagnostic = check.said.at(Severity::Error, codes::BAD_POLICY, policy.name_span, message);
                check.said.push(diagnostic.help("name the component to scale, one with a `cluster`"));
            }
            None => {}
        }
    }
}

fn policy_metric(check: &mut Check<'_, '_>, name: &str, policy: &PolicyDecl) {
    let Some(metric) = &policy.metric else { return };
    let Some((component, from)) = metric.value.split_once('.') else {
        return own_metric(check, policy, metric);
    };
    let Ok(from) = MetricName::from_str(from) else { return };
    let Some((component, _)) = check.assembly.composition.get_key_value(component) else {
        let message = format!("the metric `{}` of the policy `{name}` is of no component", metric.value);
        return check.no_component(component, metric.span, message);
    };
    let found = metric_of(check, component, &from, metric.span);
    measures(policy, found.as_ref(), metric.span, check.said);
}

/// Checks the metric of a policy, if the policy names the metric without a component. The assembly must declare this
/// metric.
fn own_metric(check: &mut Check<'_, '_>, policy: &PolicyDecl, metric: &Spanned<String>) {
    if let Some(own) = check.assembly.metrics.get(metric.value.as_str()) {
        return measures(policy, Some(own), metric.span, check.said);
    }
    if check.said.leaves_out(Severity::Error) {
        return;
    }
    let names: Vec<&str> = check.assembly.metrics.keys().map(MetricName::as_str).collect();
    let message = format!("there is no metric `{}`", metric.value);
    let diagnostic = check
        .said
        .at(Severity::Error, codes::UNKNOWN_METRIC, metric.span, message)
        .help("write `<component>.<metric>`, or the name of a metric that the assembly promotes");
    check.said.push(did_you_mean(diagnostic, &metric.value, names));
}

fn policy_target(check: &mut Check<'_, '_>, name: &str, target: &Spanned<String>) {
    match check.assembly.composition.get(target.value.as_str()) {
        Some(component) if component.each().is_some() => {
            let message =
                format!("the policy `{name}` scales `{}`, whose nodes a list declares", target.value);
            let diagnostic = check
                .said
                .at(Severity::Error, codes::BAD_POLICY, target.span, message)
                .related(check.source().place(component.size_span()), "the list")
                .help("remove the policy, or declare a number of nodes in place of `each`");
            check.said.push(diagnostic);
        }
        Some(component) if component.cluster.is_none() => {
            let message = format!("the policy `{name}` scales `{}`, which has no `cluster`", target.value);
            let diagnostic = check
                .said
                .at(Severity::Error, codes::BAD_POLICY, target.span, message)
                .related(check.source().place(component.name_span), "the component")
                .help("give it a `cluster` with the bounds between which it may scale");
            check.said.push(diagnostic);
        }
        Some(_) => {}
        None => {
            let message = format!("the policy `{name}` scales `{}`, which is no component", target.value);
            check.no_component(&target.value, target.span, message);
        }
    }
}

/// Checks the metrics and policies of a resource.
pub(super) fn of_resource(resource: &ResourceDescriptor, said: &mut Said<'_>) {
    for metric in resource.metrics.values() {
        kind(metric, said);
        if let Some(period) = &metric.period {
            period_of(period, said);
        }
    }
    for (name, policy) in &resource.policies {
        policy_kind(name.as_str(), policy, &PolicyKind::Heal, said);
        settings(policy, said);
        let Some(metric) = &policy.metric else { continue };
        if let Some(found) = resource.metrics.get(metric.value.as_str()) {
            measures(policy, Some(found), metric.span, said);
            continue;
        }
        if said.leaves_out(Severity::Error) {
            continue;
        }
        let names: Vec<&str> = resource.metrics.keys().map(MetricName::as_str).collect();
        let message = format!("there is no metric `{}`", metric.value);
        let diagnostic =
            said.at(Severity::Error, codes::UNKNOWN_METRIC, metric.span, message).help(declares(&names));
        said.push(did_you_mean(diagnostic, &metric.value, names));
    }
}

fn declares(names: &[&str]) -> String {
    if names.is_empty() {
        "it declares none; add it to `metrics` there".to_owned()
    } else {
        format!("it declares {}", listed(names))
    }
}

fn kind(metric: &MetricDecl, said: &mut Said<'_>) {
    let Some(kind) = &metric.kind else { return };
    if let MetricKind::Other(word) = &kind.value {
        let message = format!("there is no kind of metric `{word}`; no policy can read it");
        let diagnostic = said
            .at(Severity::Warning, codes::BAD_METRIC, kind.span, message)
            .help(format!("there are {}", listed(MetricKind::WORDS)));
        said.push(did_you_mean(diagnostic, word, MetricKind::WORDS.iter().copied()));
    }
}

fn period_of(period: &Value, said: &mut Said<'_>) {
    let is_bad = period.literal().is_some_and(|text| text.trim().parse::<u32>().is_err());
    if is_bad || (period.is_fixed() && period.literal().is_none()) {
        let message =
            "`publication-period` is a whole number of seconds, 0 for a metric that is not published";
        said.error(codes::BAD_METRIC, period.span, message);
    }
}

fn is(policy: &PolicyDecl, kind: &PolicyKind) -> bool {
    policy.kind.as_ref().is_some_and(|found| found.value == *kind)
}

/// Warns of a policy that has no effect because of its `type`. In an assembly, the only valid `type` is that of a
/// scale policy. In a resource, the only valid `type` is that of a heal policy. `here` is the `type` that is valid
/// in the checked descriptor.
fn policy_kind(name: &str, policy: &PolicyDecl, here: &PolicyKind, said: &mut Said<'_>) {
    let Some(kind) = policy.kind.as_ref().filter(|kind| kind.value != *here) else { return };
    match &kind.value {
        PolicyKind::Other(word) => {
            let message = format!("there is no kind of policy `{word}`, so `{name}` does nothing");
            let diagnostic = said
                .at(Severity::Warning, codes::BAD_POLICY, kind.span, message)
                .help(format!("there are {}", listed(PolicyKind::WORDS)));
            said.push(did_you_mean(diagnostic, word, PolicyKind::WORDS.iter().copied()));
        }
        found => {
            let place = if *here == PolicyKind::Scale { "a resource" } else { "an assembly" };
            let message = format!("`{found}` is a policy of {place}; here `{name}` does nothing");
            let diagnostic = said.at(Severity::Warning, codes::BAD_POLICY, kind.span, message);
            said.push(diagnostic.help(format!("declare it in the descriptor of {place}")));
        }
    }
}

/// Checks that a heal policy reads an integrity metric, and that a scale policy reads a load metric.
fn measures(policy: &PolicyDecl, metric: Option<&MetricDecl>, span: Span, said: &mut Said<'_>) {
    let wanted = match policy.kind.as_ref().map(|kind| &kind.value) {
        Some(PolicyKind::Heal) => MetricKind::Integrity,
        Some(PolicyKind::Scale) => MetricKind::Load,
        _ => return,
    };
    let Some(found) = metric.and_then(|metric| metric.kind.as_ref()) else { return };
    if found.value != wanted && !matches!(found.value, MetricKind::Other(_)) {
        let message =
            format!("this policy needs a metric of the kind `{wanted}`, and this one is `{}`", found.value);
        said.error(codes::BAD_POLICY, span, message);
    }
}

/// Checks the names of a policy's settings, and the values that contain no `${…}`.
fn settings(policy: &PolicyDecl, said: &mut Said<'_>) {
    for (name, setting) in &policy.settings {
        if SETTINGS.contains(&name.as_str()) {
            continue;
        }
        let is_misspelt = suggest_within(name.as_str(), SETTINGS, EDITS).is_some();
        let severity = if is_misspelt { Severity::Error } else { Severity::Warning };
        if !said.leaves_out(severity) {
            let ignored = if is_misspelt { "" } else { "; it is ignored" };
            let message = format!("a policy has no setting `{name}`{ignored}");
            let diagnostic = said.at(severity, codes::BAD_SETTING, setting.name_span, message);
            let taken = suggest(name.as_str(), SETTINGS).filter(|near| policy.settings.contains_key(*near));
            said.push(match taken {
                Some(taken) => diagnostic.help(format!("`{taken}` is there already; remove one of the two")),
                None => did_you_mean(diagnostic, name.as_str(), SETTINGS),
            });
        }
    }
    let known = |name: &str| {
        let value = &policy.settings.get(name)?.value;
        value.literal().map(|text| (text.trim().to_owned(), value.span))
    };
    for problem in Thresholds::of(&known).problems() {
        let span = known(problem.setting).map_or(policy.name_span, |(_, span)| span);
        said.error(codes::BAD_SETTING, span, problem.message);
    }
}

/// Settings of a policy, each with its name and its value. Settings whose values are not known yet are left out.
pub(crate) struct Thresholds {
    settings: Vec<(&'static str, String)>,
}

/// An error about one setting of a policy, such as `scaleOut_threshold: 120`.
pub(crate) struct Problem {
    pub(crate) setting: &'static str,
    pub(crate) message: String,
}

impl Thresholds {
    /// Collects the settings for which `known` returns a value. `known` gets the name of a setting, and returns the
    /// value as text. `known` also returns data that this function ignores, such as the place of the value.
    pub(crate) fn of<T>(known: &dyn Fn(&str) -> Option<(String, T)>) -> Self {
        let settings = SETTINGS.into_iter().filter_map(|name| Some((name, known(name)?.0)));
        Self { settings: settings.collect() }
    }

    /// Returns the problems of the collected settings.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, text) in &self.settings {
            let number = text.parse::<u32>();
            let message = match (name.contains("smoothing"), number) {
                (true, Ok(1..)) | (false, Ok(0..=100)) => continue,
                (true, _) => format!("`{name}` is a number of periods from 1, and `{text}` is none"),
                (false, _) => format!("`{name}` is a load in percent, from 0 to 100, and `{text}` is none"),
            };
            problems.push(Problem { setting: name, message });
        }
        let number = |name: &str| {
            let found = self.settings.iter().find(|(known, _)| *known == name)?;
            found.1.parse::<u32>().ok()
        };
        if let (Some(down), Some(up)) = (number("scaleIn_threshold"), number("scaleOut_threshold"))
            && down >= up
        {
            let message =
                format!("scaleIn_threshold is {down}, and must be less than scaleOut_threshold, {up}");
            problems.push(Problem { setting: "scaleIn_threshold", message });
        }
        problems
    }
}
