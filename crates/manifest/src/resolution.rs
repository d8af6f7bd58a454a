//! Resolution of components of the type `reference.Service` to services of an environment.
//!
//! The result depends on the present content of the environment, not on the order of its changes.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::AssemblyName;
use windlass_model::pins::{PinId, PinType, ValueType};

use crate::environment::Environment;
use crate::services::ServiceReference;

/// The existing services of an environment, each with the pins that the service's application exposes.
pub type Offers = BTreeMap<AssemblyName, BTreeMap<PinId, PinType>>;

/// The name of the interface whose pins represent the properties of an environment.
const PROPERTIES: &str = "properties";

/// The provider of a component of the type `reference.Service`. It is a service, or the environment itself. The
/// provider has all pins that the component declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// A service of the environment.
    Service(AssemblyName),
    /// The markers and properties of the environment.
    Environment,
}

/// The state of a component of the type `reference.Service`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceState {
    /// The component has a provider, which [`resolve`] has found.
    Resolved(Provider),
    /// No service has all pins of the component.
    Missing,
    /// Several services have all pins of the component, and none of these services was chosen.
    Ambiguous(BTreeSet<AssemblyName>),
    /// The chosen service does not have the component's pins.
    Unfit(AssemblyName),
    /// The chosen service no longer exists.
    Dangling(AssemblyName),
}

impl ServiceState {
    /// Returns the word for the state: `resolved`, `dangling`, or `pending` for all other states.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Resolved(_) => "resolved",
            Self::Missing | Self::Ambiguous(_) | Self::Unfit(_) => "pending",
            Self::Dangling(_) => "dangling",
        }
    }

    /// Returns the service that is the provider of the component. Returns `None` if the component has no provider, or
    /// if its provider is the environment itself.
    pub fn service(&self) -> Option<&AssemblyName> {
        match self {
            Self::Resolved(Provider::Service(service)) => Some(service),
            _ => None,
        }
    }
}

/// Resolves a component of the type `reference.Service` to a provider: a service of the environment, or the environment
/// itself.
///
/// `reference` is the component. `of` is the name of the service whose manifest contains this component. A service fits
/// if it exposes each pin of the component, with the same id and the same type. The first rule that applies determines
/// the provider:
///
/// - If the user has chosen a service for the component, only this service can be the provider.
/// - If the markers and properties of the environment supply all pins of the component, the environment is the
///   provider. For example, the marker `eu` supplies the pin `eu.eu`.
/// - If exactly one service fits, this service is the provider. The service with the name `of` does not count.
///
/// `offers` contains the existing services. A service of `environment` that is not in `offers` no longer exists.
pub fn resolve(
    reference: &ServiceReference,
    of: &AssemblyName,
    environment: &Environment,
    offers: &Offers,
) -> ServiceState {
    let fits = |exposed: &BTreeMap<PinId, PinType>| {
        reference.pins.iter().all(|(id, kind)| exposed.get(id) == Some(kind))
    };
    let choice = environment
        .bindings
        .iter()
        .find(|choice| choice.service == *of && choice.component == reference.component);
    if let Some(chosen) = choice.map(|choice| choice.chosen.clone()) {
        let offer = offers.get(&chosen).filter(|_| environment.services.contains_key(&chosen));
        return match offer {
            None => ServiceState::Dangling(chosen),
            Some(exposed) if fits(exposed) => ServiceState::Resolved(Provider::Service(chosen)),
            Some(_) => ServiceState::Unfit(chosen),
        };
    }
    if fits(&of_environment(environment)) {
        return ServiceState::Resolved(Provider::Environment);
    }
    let mut fitting = candidates(reference, environment, offers);
    fitting.remove(of);
    match (fitting.pop_first(), fitting.is_empty()) {
        (None, _) => ServiceState::Missing,
        (Some(only), true) => ServiceState::Resolved(Provider::Service(only)),
        (Some(first), false) => {
            fitting.insert(first);
            ServiceState::Ambiguous(fitting)
        }
    }
}

/// Returns the services that have the pins of the component `reference`.
pub fn candidates(
    reference: &ServiceReference,
    environment: &Environment,
    offers: &Offers,
) -> BTreeSet<AssemblyName> {
    let existing = offers.iter().filter(|(name, _)| environment.services.contains_key(*name));
    let fitting =
        existing.filter(|(_, exposed)| reference.pins.iter().all(|(id, kind)| exposed.get(id) == Some(kind)));
    fitting.map(|(name, _)| name.clone()).collect()
}

/// Returns the markers and properties of an environment as pins. The marker `eu` becomes the pin `eu.eu`, and
/// the property `region` becomes the pin `properties.region`.
fn of_environment(environment: &Environment) -> BTreeMap<PinId, PinType> {
    let markers = environment.markers.iter().map(|marker| {
        let id = PinId { interface: marker.clone(), pin: marker.clone() };
        (id, PinType::PublishSignal(ValueType::Unit))
    });
    let properties = environment.properties.iter().map(|(name, property)| {
        let interface = PROPERTIES.parse().expect("it is a valid name");
        (PinId { interface, pin: name.clone() }, PinType::PublishSignal(property.kind.clone()))
    });
    markers.chain(properties).collect()
}
