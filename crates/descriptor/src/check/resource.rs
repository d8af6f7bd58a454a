//! Checks of a resource descriptor. They need no other descriptor.

use std::sync::Arc;

use windlass_model::Transition;
use windlass_model::assembly::OnPackageChange;
use windlass_source::Severity;

use super::context::Said;
use super::{policies, values};
use crate::codes;
use crate::cycle;
use crate::property::PropertyDecl;
use crate::resource::ResourceDescriptor;
use crate::scope::Scope;
use crate::template::Value;

pub(super) fn check(resource: &Arc<ResourceDescriptor>, said: &mut Said<'_>) {
    for section in [&resource.properties, &resource.private_properties] {
        values::types(section, &resource.data_types, said);
        for decl in section.values() {
            for value in decl.values() {
                references(resource, value, said);
            }
        }
    }
    for operation in resource.operations.values().chain(resource.commands.values()) {
        values::types(&operation.properties, &resource.data_types, said);
    }
    for argument in resource.commands.values().flat_map(|command| command.properties.values()) {
        default_of_argument(argument, said);
    }
    for (name, private) in &resource.private_properties {
        let Some(public) = resource.properties.get(name) else { continue };
        let message = format!("`{name}` is declared in `properties` already");
        let diagnostic = said
            .at(Severity::Error, codes::SAME_PROPERTY, private.name_span, message)
            .related(resource.source.place(public.name_span), "declared here")
            .help("remove one of the two");
        said.push(diagnostic);
    }
    reconfigured_without_transition(resource, said);
    let periods = resource.metrics.values().filter_map(|metric| metric.period.as_ref());
    let settings = resource.policies.values().flat_map(|policy| policy.settings.values());
    for value in periods.chain(settings.map(|setting| &setting.value)) {
        references(resource, value, said);
    }
    policies::of_resource(resource, said);
    values::data_types(&resource.data_types, said);
    said.diagnostics.extend(cycle::problems_of_resource(resource));
}

/// Reports the default of a command's argument if the default is not a text, or contains a `${…}`. Users give
/// arguments as texts, and windlass does not evaluate a `${…}` in an argument.
fn default_of_argument(argument: &PropertyDecl, said: &mut Said<'_>) {
    for value in argument.values().filter(|value| value.literal().is_none()) {
        let message = "the default of a command's argument must be a text without `${…}`";
        let diagnostic = said.at(Severity::Error, codes::WRONG_SORT, value.span, message);
        said.push(diagnostic.help("write a text, or pass the value with `windlass call … -a NAME=VALUE`"));
    }
}

/// Reports `on-package-change: reconfigure` in a resource that declares no Reconfigure.
fn reconfigured_without_transition(resource: &ResourceDescriptor, said: &mut Said<'_>) {
    let Some(change) = &resource.on_package_change else { return };
    if change.value != OnPackageChange::Reconfigure
        || resource.transitions.contains_key(&Transition::Reconfigure)
    {
        return;
    }
    let message = "a changed package can't reconfigure an instance: the resource declares no Reconfigure";
    let diagnostic = said.at(Severity::Error, codes::BAD_PACKAGE_CHANGE, change.span, message);
    said.push(diagnostic.help("add `Reconfigure` to `lifecycle`, or write `keep` or `replace`"));
}

fn references(resource: &ResourceDescriptor, value: &Value, said: &mut Said<'_>) {
    let scope = Scope::resource(resource);
    value.for_each_reference(&mut |reference| {
        if scope.find(reference).is_none() && !said.leaves_out(Severity::Error) {
            said.diagnostics.extend(scope.meaning(reference).err().map(|said| *said));
        }
    });
}
