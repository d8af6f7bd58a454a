//! The built-in pins of the component types `scripted.Component` and `scripted.ComponentFactory`. Manifests
//! do not declare these pins.

use windlass_model::pins::{PinId, PinType, ValueType};

use crate::document::ComponentType;

/// The name of a built-in interface. The interface `factory` of a `scripted.Component` contains pins for the title
/// of the factory and for the paths of the scripts, such as `factory.launchScript`. The interface `factory` of a
/// `scripted.ComponentFactory` contains only the signal `factory.instances`.
pub(crate) const FACTORY: &str = "factory";

/// The name of a built-in interface. The interface `component` of a `scripted.ComponentFactory` contains the
/// configuration pins for the discovery of existing instances, such as `component.discoveryScript`.
pub(crate) const COMPONENT: &str = "component";

/// The name of the signal `factory.instances`, by which a factory publishes its instances.
///
/// The value of the signal is a map. Each key is the natural id of an instance (its id outside of windlass, such as
/// `i-123`). The value of the key is the name of the application that manages the instance.
pub(crate) const INSTANCES: &str = "instances";

/// The pins that configure discovery. Their values are the title of the application to which found instances belong,
/// the script that finds the instances, and the schedule of this script.
pub(crate) const DISCOVERY: [&str; 3] = ["application", "discoveryScript", "discoverySchedule"];

/// Tells whether the manifest itself declares the pin `id` of a scripted component. The pins of the interfaces
/// `factory` and `component` are built in, for example `factory.launchScript`.
pub(crate) fn is_declared(id: &PinId) -> bool {
    ![FACTORY, COMPONENT].contains(&id.interface.as_str())
}

/// Returns the built-in pins of a component type, each with its interface, name and type.
pub(crate) fn pins(kind: &ComponentType) -> Vec<(&'static str, &'static str, PinType)> {
    let text = |interface, pin| (interface, pin, PinType::Configuration(ValueType::String));
    match kind {
        ComponentType::Scripted => {
            let texts =
                ["name", "launchScript", "destroyScript", "healthCheckScript", "reconfigurationScript"];
            let commands = PinType::Configuration(ValueType::map_of_strings());
            let commands = (FACTORY, "commandScripts", commands);
            texts.into_iter().map(|pin| text(FACTORY, pin)).chain([commands]).collect()
        }
        ComponentType::Factory => {
            let instances = PinType::PublishSignal(ValueType::map_of_strings());
            let instances = (FACTORY, INSTANCES, instances);
            DISCOVERY.into_iter().map(|pin| text(COMPONENT, pin)).chain([instances]).collect()
        }
        ComponentType::Service | ComponentType::Other(_) => Vec::new(),
    }
}
