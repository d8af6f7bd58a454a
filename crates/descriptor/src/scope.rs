//! Determines the meaning of a `${…}`. The meaning depends on the place of the `${…}` in the descriptor.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use windlass_model::name::RESERVED;
use windlass_model::template::{End, InstanceField};
use windlass_model::{ComponentName, PropertyName};
use windlass_source::{Code, Diagnostic, Source, did_you_mean, listed};

use crate::catalog::Catalog;
use crate::codes;
use crate::document::{AssemblyDescriptor, Component, Descriptor};
use crate::property::Properties;
use crate::resource::ResourceDescriptor;
use crate::template::Reference;

/// The word before the dot in `${each.…}`.
pub(crate) const EACH: &str = "each";

/// The meaning of a `${…}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    /// A property of the descriptor itself.
    Own(PropertyName),
    /// A property of a component or reference.
    Part(ComponentName, PropertyName),
    /// A field that each instance has: its name, its id or its index.
    Instance(InstanceField),
    /// A property of the source or target of the relationship.
    End(End, PropertyName),
    /// A field of the list entry that declares a node: `${each.…}`. The list is the value of the cluster's key
    /// `each`, and has one entry for each node.
    Each(String),
}

/// The names that a `${…}` may contain at one place of a descriptor.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// Text of the descriptor that contains the `${…}`.
    pub(crate) source: &'a Arc<Source>,
    /// Properties of the descriptor itself.
    pub(crate) own: &'a Properties,
    /// Private properties of the resource; `None` in an assembly descriptor.
    pub(crate) private: Option<&'a Properties>,
    /// The assembly whose components and references can be named; `None` in a resource descriptor.
    pub(crate) assembly: Option<&'a AssemblyDescriptor>,
    /// Whether `${source.…}` and `${target.…}` are valid.
    pub(crate) ends: bool,
    /// Whether `${each.…}` is valid. It is valid in the values of a component whose `cluster` has the key `each`.
    pub(crate) each: bool,
}

impl<'a> Scope<'a> {
    pub(crate) fn assembly(assembly: &'a AssemblyDescriptor) -> Self {
        Self {
            source: &assembly.source,
            own: &assembly.properties,
            private: None,
            assembly: Some(assembly),
            ends: false,
            each: false,
        }
    }

    pub(crate) fn relationship(assembly: &'a AssemblyDescriptor) -> Self {
        Self { ends: true, ..Self::assembly(assembly) }
    }

    /// Returns the scope of the values that the assembly gives to a component.
    pub(crate) fn component(assembly: &'a AssemblyDescriptor, component: &Component) -> Self {
        Self { each: component.each().is_some(), ..Self::assembly(assembly) }
    }

    pub(crate) fn resource(resource: &'a ResourceDescriptor) -> Self {
        Self {
            source: &resource.source,
            own: &resource.properties,
            private: Some(&resource.private_properties),
            assembly: None,
            ends: false,
            each: false,
        }
    }

    /// Returns the meaning of a `${…}`, or an error that suggests a valid name.
    pub(crate) fn meaning(&self, reference: &Reference) -> Result<Meaning, Box<Diagnostic>> {
        self.look_up(reference).map_err(|wrong| match wrong {
            Wrong::Said(diagnostic) => diagnostic,
            Wrong::Field(field) => self.unknown_field(reference, field),
            Wrong::Name => self.unknown(reference),
        })
    }

    /// Returns the meaning of a `${…}`; `None` if the `${…}` has no meaning. This method is faster than
    /// [`meaning`](Self::meaning), because it does not search for a valid name to suggest.
    pub(crate) fn find(&self, reference: &Reference) -> Option<Meaning> {
        self.look_up(reference).ok()
    }

    fn look_up<'r>(&self, reference: &'r Reference) -> Result<Meaning, Wrong<'r>> {
        match reference.split() {
            ("instance", Some(field)) => {
                InstanceField::from_word(field).map(Meaning::Instance).ok_or(Wrong::Field(field))
            }
            ("source", Some(property)) => Ok(self.end(End::Source, property, reference)?),
            ("target", Some(property)) => Ok(self.end(End::Target, property, reference)?),
            (EACH, Some(field)) if self.each => Ok(Meaning::Each(field.to_owned())),
            (part, property) => match (property, self.part(part)) {
                (Some(property), Some(part)) => {
                    Ok(Meaning::Part(part.clone(), self.parse(property, reference)?))
                }
                _ => self.own_property(&reference.text).map(Meaning::Own).ok_or(Wrong::Name),
            },
        }
    }

    /// Returns `name` as a [`ComponentName`], if the assembly has a component or reference with this name. In a
    /// resource descriptor, the method returns `None`.
    fn part(&self, name: &str) -> Option<&'a ComponentName> {
        let assembly = self.assembly?;
        let component = assembly.composition.get_key_value(name).map(|(name, _)| name);
        component.or_else(|| assembly.references.get_key_value(name).map(|(name, _)| name))
    }

    fn own_property(&self, name: &str) -> Option<PropertyName> {
        let private = || self.private.and_then(|private| private.get_key_value(name));
        self.own.get_key_value(name).or_else(private).map(|(name, _)| name.clone())
    }

    fn error(&self, code: Code, reference: &Reference, message: String) -> Diagnostic {
        Diagnostic::error(code, message).at(self.source.place(reference.span))
    }

    /// Returns the error about an unknown property, component or reference.
    fn unknown(&self, reference: &Reference) -> Box<Diagnostic> {
        let text = &reference.text;
        if let ((component, Some(_)), Some(_)) = (reference.split(), self.assembly) {
            let message = format!("`${{{text}}}` names no component `{component}`");
            let mut names = self.parts();
            names.extend(RESERVED.iter().filter(|root| self.ends || **root == "instance"));
            let diagnostic = self.error(codes::UNKNOWN_COMPONENT, reference, message);
            if component == EACH {
                let help =
                    "`each` has a meaning only in the properties of a component whose `cluster` has `each`";
                return Box::new(diagnostic.help(help));
            }
            if self.own_property(component).is_some() {
                let help = format!(
                    "`{component}` is a property, and `${{{component}}}` is the whole of it; no part of a value can be read"
                );
                return Box::new(diagnostic.help(help));
            }
            return Box::new(unknown_component(diagnostic, component, &self.parts(), &names));
        }
        let message = format!("`${{{text}}}` names no property of this descriptor");
        let diagnostic = self.error(codes::UNKNOWN_PROPERTY, reference, message);
        if self.part(text).is_some() {
            let help = format!("`{text}` is a component; name one of its properties, as `${{{text}.id}}`");
            return Box::new(diagnostic.help(help));
        }
        let private = self.private.into_iter().flat_map(Properties::keys);
        let names = self.own.keys().chain(private).map(PropertyName::as_str);
        let diagnostic = did_you_mean(diagnostic, text, names.chain(INSTANCE));
        if diagnostic.help.is_some() {
            return Box::new(diagnostic);
        }
        Box::new(diagnostic.help("declare it in `properties`, or give the value here"))
    }

    fn end(&self, end: End, property: &str, reference: &Reference) -> Result<Meaning, Box<Diagnostic>> {
        if !self.ends {
            let text = &reference.text;
            let message = format!("`${{{text}}}` has a meaning only in the properties of a relationship");
            return Err(Box::new(self.error(codes::MISPLACED_REFERENCE, reference, message)));
        }
        Ok(Meaning::End(end, self.parse(property, reference)?))
    }

    fn parse<T>(&self, name: &str, reference: &Reference) -> Result<T, Box<Diagnostic>>
    where
        T: FromStr,
        T::Err: Display,
    {
        name.parse().map_err(|error| {
            Box::new(self.error(codes::TEMPLATE, reference, format!("in `${{{}}}`: {error}", reference.text)))
        })
    }

    fn unknown_field(&self, reference: &Reference, field: &str) -> Box<Diagnostic> {
        let message = format!("`${{{}}}`: an instance has no `{field}`", reference.text);
        let diagnostic = self
            .error(codes::UNKNOWN_PROPERTY, reference, message)
            .help("an instance has `name`, `id` and `index`");
        Box::new(did_you_mean(diagnostic, field, InstanceField::ALL.map(InstanceField::as_str)))
    }

    fn parts(&self) -> Vec<&'a str> {
        let Some(assembly) = self.assembly else { return Vec::new() };
        part_names(assembly)
    }
}

/// The reason why a `${…}` is invalid.
enum Wrong<'r> {
    /// Any reason that the other variants do not cover, such as a `${source.…}` outside of a relationship. The
    /// variant contains the complete error about the `${…}`.
    Said(Box<Diagnostic>),
    /// The `${…}` reads a field that no instance has.
    Field(&'r str),
    /// The `${…}` contains an unknown name.
    Name,
}

impl From<Box<Diagnostic>> for Wrong<'_> {
    fn from(diagnostic: Box<Diagnostic>) -> Self {
        Self::Said(diagnostic)
    }
}

/// All names that begin with `instance.` and that a `${…}` may contain.
const INSTANCE: [&str; 3] = ["instance.name", "instance.id", "instance.index"];

/// Returns the names of all components and references of an assembly.
pub(crate) fn part_names(assembly: &AssemblyDescriptor) -> Vec<&str> {
    assembly.composition.keys().chain(assembly.references.keys()).map(ComponentName::as_str).collect()
}

/// Adds a help text to a diagnostic: the existing components and references, and the name in `names` that is
/// nearest to `name`.
pub(crate) fn unknown_component(
    diagnostic: Diagnostic,
    name: &str,
    parts: &[&str],
    names: &[&str],
) -> Diagnostic {
    let diagnostic = if parts.is_empty() {
        diagnostic.help("the assembly has no components and no references")
    } else {
        diagnostic.help(format!("there are {}", listed(parts)))
    };
    did_you_mean(diagnostic, name, names.iter().copied())
}

/// The result of the search for a property of a component or reference.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Has {
    /// The property is declared.
    Yes,
    /// The property is not declared.
    No,
    /// The property is declared, but only the resource itself can read it.
    Private,
    /// The descriptor is not in the catalog, so its properties are unknown.
    CannotTell,
}

/// Searches for a property of a component. The function searches the properties that the assembly gives to the
/// component, and then the component's descriptor.
pub(crate) fn part_has(part: &Component, catalog: &dyn Catalog, property: &PropertyName) -> Has {
    if part.properties.contains_key(property) {
        return Has::Yes;
    }
    match part.kind.as_ref().and_then(|kind| catalog.find(&kind.value)) {
        Some(descriptor) => has(&descriptor, property),
        None => Has::CannotTell,
    }
}

/// Searches for a property in a descriptor. The result is [`Has::Private`] for a private property of a resource.
pub(crate) fn has(descriptor: &Descriptor, property: &PropertyName) -> Has {
    if descriptor.properties().contains_key(property) {
        return Has::Yes;
    }
    if descriptor.private_properties().is_some_and(|private| private.contains_key(property)) {
        return Has::Private;
    }
    Has::No
}
