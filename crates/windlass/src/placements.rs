//! Reads which location a descriptor chooses for a component.

use windlass_descriptor::document::Component;
use windlass_driver::Placement;
use windlass_driver::location::{DEPLOYMENT_LOCATION, RESOURCE_MANAGER};
use windlass_source::Span;

/// The choice of a location by the two properties `deploymentLocation` and `resourceManager` of a component.
pub(crate) enum Chosen {
    /// The component has neither of the two properties.
    Nothing,
    /// A property contains a `${…}`, whose value the descriptor does not tell.
    Unknown,
    /// The properties are literal texts. The span is the place of the first of them.
    Literal(Placement, Span),
}

/// Returns the location that the properties of a component choose.
pub(crate) fn chosen(component: &Component) -> Chosen {
    let given = |name: &str| component.properties.get(name)?.value.as_ref();
    let values = [DEPLOYMENT_LOCATION, RESOURCE_MANAGER].map(given);
    let Some(first) = values.iter().flatten().next() else { return Chosen::Nothing };
    if values.iter().flatten().any(|value| value.literal().is_none()) {
        return Chosen::Unknown;
    }
    let [location, manager] = values.map(|value| {
        let text = value?.literal()?;
        (!text.is_empty()).then(|| text.to_owned())
    });
    Chosen::Literal(Placement { location, manager, recorded: None }, first.span)
}
