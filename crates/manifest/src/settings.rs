//! The values that a manifest gives to pins, and the precedence of these values.

use std::collections::HashMap;

use windlass_model::pins::{PinId, PinType};
use windlass_source::{Fix, Severity, Span};

use crate::builtin;
use crate::codes;
use crate::document::{Component, ComponentType, Composite, Configuration, Leaf, Setting};
use crate::name::ComponentPath;
use crate::report::{Report, choose};
use crate::value;
use crate::visible::{LeafPin, Visible, unknown_pin};

/// The values that a manifest gives to pins. If several composites give a value to one pin, the value of the
/// outermost composite applies.
pub type Settings<'m> = HashMap<LeafPin, &'m Setting>;

/// Collects the values that a manifest sets for pins. A pin is a typed input or output of a component. Reports
/// values for unknown pins, and values that do not fit the type of the pin.
pub(crate) fn collect<'m>(
    report: &mut Report<'_>,
    application: &'m Composite,
    visible: &Visible,
) -> Settings<'m> {
    let mut settings = Settings::new();
    composite(report, application, visible, &ComponentPath::default(), &mut settings);
    settings
}

fn composite<'m>(
    report: &mut Report<'_>,
    composite: &'m Composite,
    visible: &Visible,
    path: &ComponentPath,
    settings: &mut Settings<'m>,
) {
    // Inner values come first, so that outer ones replace them.
    for (name, component) in &composite.components {
        let Some(of) = visible.children.get(name) else { continue };
        let path = path.child(name);
        match component {
            Component::Leaf(leaf) => {
                configuration(report, &leaf.configuration, Some(leaf), (of, &path), settings);
            }
            Component::Composite(inner) => self::composite(report, inner, of, &path, settings),
        }
    }
    configuration(report, &composite.configuration, None, (visible, path), settings);
}

fn configuration<'m>(
    report: &mut Report<'_>,
    values: &'m Configuration,
    leaf: Option<&Leaf>,
    (visible, path): (&Visible, &ComponentPath),
    settings: &mut Settings<'m>,
) {
    for (given, setting) in values {
        let current = leaf.and_then(|leaf| current_id(leaf, given));
        if let Some(current) = &current {
            let is_ignored = values.contains_key(current);
            let message = if is_ignored {
                format!("`{given}` is ignored, since `{current}` is there too")
            } else {
                format!("`{given}` is read as `{current}`")
            };
            report.say(Severity::Warning, codes::OLD_PIN, setting.span, message, |said| {
                if is_ignored {
                    return said.help("remove it");
                }
                let fix = format!("write `{current}`");
                said.help(&fix).fix(Fix::replace(fix, setting.span, current.to_string()))
            });
            if is_ignored {
                continue;
            }
        }
        let id = current.as_ref().unwrap_or(given);
        let Some(pin) = visible.pin(id) else {
            missing(report, (visible, path), id, setting.span);
            continue;
        };
        if let Some(kind) = &pin.kind {
            let Some(kind) = kind.as_configuration() else {
                let message =
                    format!("only configuration pins have a value, and `{id}` is a `{}`", kind.kind());
                report.error(codes::NOT_CONFIGURATION, setting.span, message);
                continue;
            };
            if let Err(misfit) = value::read(kind, &setting.value) {
                let message = format!("the value of `{id}` does not fit: {misfit}");
                report.error(codes::MISFIT, setting.value.span(), message);
                continue;
            }
        }
        settings.extend(pin.targets.iter().map(|target| (target.clone(), setting)));
    }
}

/// Returns the current id of a pin that a manifest sets by an old id. Old manifests of factories contain, for example,
/// `factory.discoveryScript` instead of `component.discoveryScript`. Returns `None` if `given` is no old id.
fn current_id(leaf: &Leaf, given: &PinId) -> Option<PinId> {
    let is_old = leaf.kind.value == ComponentType::Factory
        && given.interface.as_str() == builtin::FACTORY
        && builtin::DISCOVERY.contains(&given.pin.as_str());
    let interface = builtin::COMPONENT.parse().expect("a built-in name is valid");
    is_old.then(|| PinId { interface, pin: given.pin.clone() })
}

/// Reports a value for a pin that does not exist. The help suggests the most similar id of a configuration pin. If
/// no id is similar, the help lists the ids of all configuration pins.
fn missing(report: &mut Report<'_>, (visible, path): (&Visible, &ComponentPath), id: &PinId, span: Span) {
    if visible.lacks(&id.interface) != Some(Severity::Error) {
        return unknown_pin(report, visible, path, (&id.interface, Some(&id.pin)), span);
    }
    let whose = if path.0.is_empty() { "the application".to_owned() } else { format!("component `{path}`") };
    let message = format!("{whose} has no pin `{id}`");
    report.say(Severity::Error, codes::UNKNOWN_PIN, span, message, |said| {
        let is_settable = |kind: &PinType| kind.as_configuration().is_some();
        let pins = visible.pins().filter(|(_, pin)| pin.kind.as_ref().is_none_or(is_settable));
        let ids: Vec<String> = pins.map(|(id, _)| id.to_string()).collect();
        choose(said, &id.to_string(), ids.iter().map(String::as_str))
    });
}
