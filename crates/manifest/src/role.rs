//! The role of a manifest: an application that scripts manage, or its factory.

use indexmap::IndexMap;
use windlass_model::pins::PinId;
use windlass_source::Spanned;

use crate::name::ComponentPath;

/// The role of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    /// It has a `scripted.Component`.
    Application(ApplicationRole),
    /// It has a `scripted.ComponentFactory`.
    Factory(FactoryRole),
}

impl Role {
    /// Returns the path of the scripted component.
    pub fn component(&self) -> &ComponentPath {
        match self {
            Self::Application(application) => &application.component,
            Self::Factory(factory) => &factory.component,
        }
    }
}

/// An application: its factory and its scripts, by their paths.
#[derive(Debug, Clone, PartialEq)]
pub struct ApplicationRole {
    /// The scripted component.
    pub component: ComponentPath,
    /// The title of the factory: `factory.name`.
    pub factory: Spanned<String>,
    /// The script that creates an instance.
    pub launch: Spanned<String>,
    /// The script that removes an instance.
    pub destroy: Spanned<String>,
    /// The script that reports the status of instances.
    pub health_check: Option<Spanned<String>>,
    /// The script that applies changed values.
    pub reconfiguration: Option<Spanned<String>>,
    /// The scripts of commands, by the pins of the component.
    pub commands: IndexMap<PinId, Spanned<String>>,
}

/// A factory: its discovery and its mappings.
#[derive(Debug, Clone, PartialEq)]
pub struct FactoryRole {
    /// The factory component.
    pub component: ComponentPath,
    /// Its discovery; `None` if the manifest sets none of the three values.
    pub discovery: Option<Discovery>,
    /// The pins through which its instances refer to instances of other factories. The `mapping` of a
    /// reference names one of these pins.
    pub mappings: Vec<PinId>,
}

/// The discovery of a factory.
#[derive(Debug, Clone, PartialEq)]
pub struct Discovery {
    /// The title of the application that found instances belong to.
    pub application: Spanned<String>,
    /// The script that finds instances.
    pub script: Spanned<String>,
    /// The Quartz expression of its schedule.
    pub schedule: Spanned<String>,
}
