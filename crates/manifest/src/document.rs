//! Manifests as typed documents: the content of a file, with the place of every part.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::pins::{Name, PinId, PinType};
use windlass_source::{Node, Source, Span, Spanned};

use crate::grammar::{PinRef, Target};
use crate::name::ComponentPath;

/// An application manifest.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Text from which the manifest was read.
    pub source: Arc<Source>,
    /// Place of the key `application`.
    pub span: Span,
    /// The outermost composite of the application.
    pub application: Composite,
}

impl Manifest {
    /// Calls `visit` with each [`Leaf`] and its path, in the order of the text.
    pub fn for_each_leaf<'m>(&'m self, visit: &mut dyn FnMut(&ComponentPath, &'m Leaf)) {
        self.application.for_each_leaf(&ComponentPath::default(), visit);
    }
}

/// The type of a component.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ComponentType {
    /// `scripted.Component`: something that exists outside of windlass, and is managed by scripts.
    Scripted,
    /// `scripted.ComponentFactory`: a factory. The factory contains the configuration that applications of one kind
    /// share, such as credentials. A script of the factory finds existing instances.
    Factory,
    /// `reference.Service`: a service of the environment.
    Service,
    /// Any other type. windlass reads a component of such a type, and does not launch it.
    Other(String),
}

impl ComponentType {
    /// Returns the component type that a manifest writes as `word`.
    pub fn from_word(word: &str) -> Self {
        match word {
            "scripted.Component" => Self::Scripted,
            "scripted.ComponentFactory" => Self::Factory,
            "reference.Service" => Self::Service,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns the word by which manifests name the component type.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Scripted => "scripted.Component",
            Self::Factory => "scripted.ComponentFactory",
            Self::Service => "reference.Service",
            Self::Other(word) => word,
        }
    }

    /// Tells whether scripts manage the components of this type. windlass knows all pins of such components, because
    /// each of these pins is either declared or built-in.
    pub fn is_scripted(&self) -> bool {
        matches!(self, Self::Scripted | Self::Factory)
    }
}

impl fmt::Display for ComponentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A component of a composite.
#[derive(Debug, Clone)]
pub enum Component {
    /// A component with pins of its own.
    Leaf(Leaf),
    /// A composition of components.
    Composite(Composite),
}

/// A composition of components, which exposes some of their pins.
#[derive(Debug, Clone, Default)]
pub struct Composite {
    /// The type of the composite, such as `composite.Scaler`. The outermost composite has no type.
    pub kind: Option<Spanned<ComponentType>>,
    /// Values for the pins that the composite exposes.
    pub configuration: Configuration,
    /// Interfaces by name. The pins of an interface expose pins of the inner components.
    pub interfaces: IndexMap<Name, ExposedInterface>,
    /// Components of the composition, by name.
    pub components: IndexMap<Name, Component>,
    /// Names of components whose declarations could not be read.
    pub unread: Vec<Name>,
    /// Pairs of components that are connected.
    pub bindings: Vec<Binding>,
    /// Whether a binding could not be read.
    pub has_unread_bindings: bool,
}

impl Composite {
    /// Tells whether a binding of this composition, or of a composition in it, could not be read.
    pub(crate) fn has_unread_bindings(&self) -> bool {
        let inner = |component: &Component| match component {
            Component::Leaf(_) => false,
            Component::Composite(composite) => composite.has_unread_bindings(),
        };
        self.has_unread_bindings || self.components.values().any(inner)
    }

    fn for_each_leaf<'m>(&'m self, path: &ComponentPath, visit: &mut dyn FnMut(&ComponentPath, &'m Leaf)) {
        for (name, component) in &self.components {
            let path = path.child(name);
            match component {
                Component::Leaf(leaf) => visit(&path, leaf),
                Component::Composite(composite) => composite.for_each_leaf(&path, visit),
            }
        }
    }
}

/// The values that a component's `configuration` gives to pins, by the ids of the pins.
pub type Configuration = IndexMap<PinId, Setting>;

/// A value that a manifest gives to a pin. A *pin* is a typed input or output of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Place of the pin's id.
    pub span: Span,
    /// The value as written.
    pub value: Node,
}

/// An interface of a composite.
#[derive(Debug, Clone, Default)]
pub struct ExposedInterface {
    /// Place of the interface's name.
    pub span: Span,
    /// Exposed pins, by name.
    pub pins: IndexMap<Name, ExposedPin>,
    /// The pin `"*"` of this interface. It exposes all pins of an interface of an inner component. For example,
    /// `"*": bind(db#api.*)` exposes all pins of the interface `api` of the component `db`. `None` if there is no pin
    /// `"*"`, or if its declaration could not be read.
    pub wildcard: Option<ExposedPin>,
    /// Names of pins whose declarations could not be read.
    pub unread: Vec<Name>,
}

/// A pin of a composite.
#[derive(Debug, Clone)]
pub struct ExposedPin {
    /// Place of the pin's name.
    pub span: Span,
    /// Pins that this pin exposes, at least one.
    pub targets: Vec<Spanned<PinRef>>,
    /// Label and suggested values of the pin.
    pub presentation: Presentation,
}

/// A component that has a type, and declares its own pins.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Place of the component's name.
    pub span: Span,
    /// Type of the component.
    pub kind: Spanned<ComponentType>,
    /// Values for the component's pins.
    pub configuration: Configuration,
    /// Interfaces of the component, by name.
    pub interfaces: IndexMap<Name, Interface>,
    /// Interfaces that must be connected before the component starts. At its start, all signals of these interfaces
    /// must be present.
    pub required: Vec<Spanned<Name>>,
}

/// An interface of a component.
#[derive(Debug, Clone, Default)]
pub struct Interface {
    /// Place of the interface's name.
    pub span: Span,
    /// Pins of the interface, by name.
    pub pins: IndexMap<Name, Pin>,
    /// Names of pins whose declarations could not be read.
    pub unread: Vec<Name>,
}

/// A pin of a component: a typed input or output, which is a value, a signal or a command.
#[derive(Debug, Clone)]
pub struct Pin {
    /// Place of the pin's name.
    pub span: Span,
    /// Kind of the pin and type of its values.
    pub kind: Spanned<PinType>,
    /// Label and suggested values of the pin.
    pub presentation: Presentation,
    /// Descriptions of the arguments of a command.
    pub arguments: IndexMap<Name, Parameter>,
    /// Descriptions of the results of a command.
    pub results: IndexMap<Name, Parameter>,
    /// Whether the value of a configuration pin is a secret.
    pub sensitive: bool,
}

/// The description of an argument or a result.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Place of the name of the argument or result.
    pub span: Span,
    /// Value that is used if a call of the command gives none.
    pub default: Option<Node>,
    /// Label and suggested values of the argument or result.
    pub presentation: Presentation,
}

/// Texts for people about a pin, an argument or a result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Presentation {
    /// A short text that describes the pin, argument or result. The manifest gives this text under the key `name`.
    pub label: Option<String>,
    /// Suggested values, each by its label.
    pub suggestions: IndexMap<String, Node>,
}

/// An entry of `bindings`, such as `[app, db#sql]`: it connects two components, or two of their interfaces.
#[derive(Debug, Clone)]
pub struct Binding {
    /// Place of the binding in the manifest.
    pub span: Span,
    /// The two connected components or interfaces, in the order in which the entry lists them.
    pub sides: [Spanned<Target>; 2],
}
