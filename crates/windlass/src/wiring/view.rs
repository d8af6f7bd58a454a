//! Views of the references of applications, ready for JSON.

use serde::Serialize;
use windlass_manifest::name::ComponentPath;
use windlass_manifest::resolution::{Provider, ServiceState};
use windlass_model::AssemblyName;
use windlass_model::document::DocumentName;

/// A component of the type `reference.Service` of an application, with its state in an environment.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ServiceReferenceView {
    /// The application whose manifest contains the component.
    pub referrer: AssemblyName,
    /// The name of the environment.
    pub environment: DocumentName,
    /// The path of the component.
    pub component: ComponentPath,
    /// The state of the component: `resolved`, `pending` or `dangling`.
    pub state: &'static str,
    /// The service to which the component is resolved, or the chosen service that was removed or lacks the
    /// pins. `None` if there is no such service, or if the environment itself provides the pins.
    pub service: Option<AssemblyName>,
    /// The reason why the component is not resolved, and how to resolve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl ServiceReferenceView {
    pub(super) fn new(
        of: &AssemblyName,
        environment: &DocumentName,
        component: &ComponentPath,
        state: &ServiceState,
    ) -> Self {
        let service = match state {
            ServiceState::Resolved(Provider::Service(service))
            | ServiceState::Unfit(service)
            | ServiceState::Dangling(service) => Some(service.clone()),
            _ => None,
        };
        Self {
            referrer: of.clone(),
            environment: environment.clone(),
            component: component.clone(),
            state: state.word(),
            service,
            why: why(of, environment, component, state),
        }
    }
}

/// Returns the reason why a component is not resolved, and how to resolve it.
pub(super) fn why(
    of: &AssemblyName,
    environment: &DocumentName,
    component: &ComponentPath,
    state: &ServiceState,
) -> Option<String> {
    let bind = format!("windlass env bind {environment} {of} {component}");
    Some(match state {
        ServiceState::Resolved(_) => return None,
        ServiceState::Missing => format!(
            "no service of the environment `{environment}` fits `{component}`; add one with `windlass env service add {environment} NAME`"
        ),
        ServiceState::Ambiguous(candidates) => {
            let names: Vec<String> = candidates.iter().map(|name| format!("`{name}`")).collect();
            format!("{} fit `{component}`; choose one with `{bind} NAME`", names.join(" and "))
        }
        ServiceState::Unfit(chosen) => format!(
            "the chosen service `{chosen}` does not have the pins of `{component}`; choose another with `{bind} NAME`"
        ),
        ServiceState::Dangling(chosen) => format!(
            "the chosen service `{chosen}` of `{component}` has gone; choose another with `{bind} NAME`, or remove the choice with `{bind} --remove`"
        ),
    })
}

/// A reference from one instance to another, which the scripts of the first instance have reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InstanceReferenceView {
    /// The path of the reference in the tree of components, with `/` between the names.
    pub component: String,
    /// The mapping of the reference, which is a pin of the factory.
    pub mapping: String,
    /// The natural id of the instance to which the reference refers.
    pub key: String,
    /// The state of the reference: `resolved`, `pending` or `dangling`.
    pub state: &'static str,
    /// The application that the reference resolves to, or that it resolved to before the application was
    /// removed.
    pub application: Option<AssemblyName>,
    /// The reason why the reference is not resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
