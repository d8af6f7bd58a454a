//! Views of the references of applications, ready for JSON.

use serde::Serialize;
use windlass_manifest::name::ComponentPath;
use windlass_manifest::resolution::{Provider, ServiceState};
use windlass_model::AssemblyName;
use windlass_model::document::DocumentName;

/// The state of a reference to a service, in one environment. The reference is a component of the type
/// `reference.Service` in the manifest of an application. A service of the environment takes the place of this
/// component.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ServiceReferenceView {
    /// The application whose manifest contains the reference.
    pub referrer: AssemblyName,
    /// The name of the environment.
    pub environment: DocumentName,
    /// The path of the reference in the manifest. The reference is a component of the manifest.
    pub component: ComponentPath,
    /// The state of the reference: `resolved`, `pending` or `dangling`.
    pub state: &'static str,
    /// The service for which the reference stands. If the user has chosen a service, the field contains this service,
    /// even if the service was removed or does not fit.
    ///
    /// If the user has not chosen a service, the field contains the only service that fits. The field is `None` if
    /// no service or several services fit. The field is also `None` if the environment itself replaces the service:
    /// the markers and properties of the environment supply all values of the reference.
    pub service: Option<AssemblyName>,
    /// The reason why the reference is not resolved, and how to resolve it.
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

/// Returns the reason why a reference to a service is not resolved, and how to resolve it. Returns `None` if the
/// reference is resolved. The reference is the component `component`, which has the type `reference.Service`. `of` is
/// the name of the application whose manifest contains this component.
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

/// A reference from an instance to another instance. The scripts of the first instance have reported the
/// reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InstanceReferenceView {
    /// The path of the reference in the tree of components, with `/` between the names.
    pub component: String,
    /// The id of the pin through which the reference is made. This pin belongs to the factory of the referring
    /// instance, and receives the instances of another factory.
    pub mapping: String,
    /// The natural id of the instance to which the reference refers.
    pub key: String,
    /// The state of the reference: `resolved`, `pending` or `dangling`.
    pub state: &'static str,
    /// The application to which the reference refers. A `dangling` reference refers to a removed application, and
    /// the field contains the name of this application. A `pending` reference has no known application, and the
    /// field is `None`.
    pub application: Option<AssemblyName>,
    /// The reason why the reference is not resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
