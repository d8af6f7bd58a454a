//! The role of a manifest. A manifest describes either an application or a factory. A factory finds existing
//! instances of an application.

use indexmap::IndexMap;
use windlass_model::pins::PinId;
use windlass_source::Spanned;

use crate::name::ComponentPath;

/// The role of a manifest, with the scripts that it names.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    /// An application, whose manifest has a `scripted.Component`.
    Application(ApplicationRole),
    /// A factory, whose manifest has a `scripted.ComponentFactory`.
    Factory(FactoryRole),
}

impl Role {
    /// Returns the path of the manifest's scripted component (its `scripted.Component` or
    /// `scripted.ComponentFactory`).
    pub fn component(&self) -> &ComponentPath {
        match self {
            Self::Application(application) => &application.component,
            Self::Factory(factory) => &factory.component,
        }
    }
}

/// The parts of an application's manifest that windlass uses: mainly the paths of the scripts, which create, check and
/// remove instances of the application.
#[derive(Debug, Clone, PartialEq)]
pub struct ApplicationRole {
    /// The path of the component of the type `scripted.Component`, for example `servers.vm`.
    pub component: ComponentPath,
    /// The title of the factory: `factory.name`.
    pub factory: Spanned<String>,
    /// The script that creates an instance.
    pub launch: Spanned<String>,
    /// The script that removes an instance.
    pub destroy: Spanned<String>,
    /// The script that reports the status of instances.
    pub health_check: Option<Spanned<String>>,
    /// The script that applies changed values of configuration pins.
    pub reconfiguration: Option<Spanned<String>>,
    /// The scripts of commands, by the ids of the command pins.
    pub commands: IndexMap<PinId, Spanned<String>>,
}

/// The parts of a factory's manifest that windlass uses: the script that finds existing instances, and the pins that
/// receive the instances of other factories.
#[derive(Debug, Clone, PartialEq)]
pub struct FactoryRole {
    /// The path of the component of the type `scripted.ComponentFactory`, for example `servers.factory`.
    pub component: ComponentPath,
    /// The discovery of instances; `None` if the manifest sets none of the three values of a [`Discovery`].
    pub discovery: Option<Discovery>,
    /// The ids of the factory's mappings. A mapping is a pin of the type `consume-signal`. It receives the instances
    /// of another factory, so that instances of this factory can refer to them. A script reports such a reference
    /// as `{mapping: vms.vm-by-id, key: i-123}`. In this example, `vms.vm-by-id` is the id of the mapping, and
    /// `i-123` is the natural id of the other instance.
    pub mappings: Vec<PinId>,
}

/// The settings by which a factory discovers existing instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Discovery {
    /// The title of the application to which the found instances belong.
    pub application: Spanned<String>,
    /// The script that finds instances.
    pub script: Spanned<String>,
    /// The schedule of the script, as a Quartz expression.
    pub schedule: Spanned<String>,
}
