//! What a `${…}` means where it stands.

use windlass_model::template::{End, InstanceField};
use windlass_model::{ComponentName, PropertyName};
use windlass_source::Diagnostic;

use crate::catalog::Catalog;
use crate::codes;
use crate::document::AssemblyDescriptor;
use crate::property::Properties;
use crate::read::did_you_mean;
use crate::template::Reference;

/// What a reference means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    /// A property of the descriptor itself.
    Own(PropertyName),
    /// A property of a component or reference.
    Part(ComponentName, PropertyName),
    /// What the engine knows of the instance.
    Instance(InstanceField),
    /// A property of an end of the relationship.
    End(End, PropertyName),
}

/// The names that a reference can mean at its place.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// The properties of the descriptor itself.
    pub(crate) own: &'a Properties,
    /// The assembly, for its components and references; none inside a resource descriptor.
    pub(crate) assembly: Option<&'a AssemblyDescriptor>,
    /// Whether `source` and `target` mean something.
    pub(crate) ends: bool,
}

impl<'a> Scope<'a> {
    pub(crate) fn assembly(assembly: &'a AssemblyDescriptor) -> Self {
        Self { own: &assembly.properties, assembly: Some(assembly), ends: false }
    }

    pub(crate) fn relationship(assembly: &'a AssemblyDescriptor) -> Self {
        Self { ends: true, ..Self::assembly(assembly) }
    }

    pub(crate) fn resource(own: &'a Properties) -> Self {
        Self { own, assembly: None, ends: false }
    }

    /// Finds what a reference means, or says why it means nothing. The place is for the caller to add.
    pub(crate) fn meaning(&self, reference: &Reference) -> Result<Meaning, Box<Diagnostic>> {
        let text = &reference.text;
        match reference.split() {
            ("instance", Some(field)) => match InstanceField::from_word(field) {
                Some(field) => Ok(Meaning::Instance(field)),
                None => Err(unknown_field(text, field)),
            },
            ("source", Some(property)) => self.end(End::Source, property, text),
            ("target", Some(property)) => self.end(End::Target, property, text),
            (component, Some(property)) if self.has_part(component) => part(component, property, text),
            _ => self.own(text),
        }
    }

    fn own(&self, text: &str) -> Result<Meaning, Box<Diagnostic>> {
        if let Some((name, _)) = self.own.get_key_value(text) {
            return Ok(Meaning::Own(name.clone()));
        }
        Err(Box::new(match text.split_once('.') {
            Some((component, _)) if self.assembly.is_some() => unknown_component(
                &format!("`${{{text}}}` names no component `{component}`"),
                component,
                self.parts(),
            ),
            _ => {
                let message = format!("`${{{text}}}` names no property of this descriptor");
                let diagnostic = Diagnostic::error(codes::UNKNOWN_PROPERTY, message);
                did_you_mean(diagnostic, text, self.own.keys().map(PropertyName::as_str))
            }
        }))
    }

    fn end(&self, end: End, property: &str, text: &str) -> Result<Meaning, Box<Diagnostic>> {
        if !self.ends {
            let message = format!("`${{{text}}}` has a meaning only in the properties of a relationship");
            return Err(Box::new(Diagnostic::error(codes::MISPLACED_REFERENCE, message)));
        }
        Ok(Meaning::End(end, parse(property, text)?))
    }

    fn has_part(&self, name: &str) -> bool {
        self.assembly.is_some_and(|a| a.composition.contains_key(name) || a.references.contains_key(name))
    }

    fn parts(&self) -> Vec<&'a str> {
        let Some(assembly) = self.assembly else { return Vec::new() };
        part_names(assembly)
    }
}

fn part(component: &str, property: &str, text: &str) -> Result<Meaning, Box<Diagnostic>> {
    let component = component.parse().map_err(|error| {
        Box::new(Diagnostic::error(codes::TEMPLATE, format!("in `${{{text}}}`: {error}")))
    })?;
    Ok(Meaning::Part(component, parse(property, text)?))
}

fn parse(property: &str, text: &str) -> Result<PropertyName, Box<Diagnostic>> {
    property
        .parse()
        .map_err(|error| Box::new(Diagnostic::error(codes::TEMPLATE, format!("in `${{{text}}}`: {error}"))))
}

fn unknown_field(text: &str, field: &str) -> Box<Diagnostic> {
    let fields = InstanceField::ALL.map(InstanceField::as_str);
    let diagnostic =
        Diagnostic::error(codes::UNKNOWN_PROPERTY, format!("`${{{text}}}`: an instance has no `{field}`"))
            .help("an instance has `name`, `id` and `index`");
    Box::new(did_you_mean(diagnostic, field, fields))
}

/// Returns the names of all components and references.
pub(crate) fn part_names(assembly: &AssemblyDescriptor) -> Vec<&str> {
    assembly.composition.keys().chain(assembly.references.keys()).map(ComponentName::as_str).collect()
}

pub(crate) fn unknown_component(message: &str, name: &str, parts: Vec<&str>) -> Diagnostic {
    let diagnostic = Diagnostic::error(codes::UNKNOWN_COMPONENT, message);
    let diagnostic = if parts.is_empty() {
        diagnostic.help("the assembly has no components and no references")
    } else {
        diagnostic.help(format!("there are {}", quoted(&parts)))
    };
    did_you_mean(diagnostic, name, parts)
}

/// Lists names, the first few of them when there are many.
pub(crate) fn quoted(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN {
        shown.push(format!("{} more", names.len() - SHOWN));
    }
    match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Whether a part has a property, as far as that can be told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Has {
    /// It is declared.
    Yes,
    /// It is not; these are.
    No(Vec<String>),
    /// The part's descriptor is not at hand, or what the part is can only be seen at run time.
    CannotTell,
}

/// Tells whether a component or reference has a property.
pub(crate) fn part_has(
    assembly: &AssemblyDescriptor,
    catalog: &dyn Catalog,
    component: &ComponentName,
    property: &PropertyName,
) -> Has {
    let Some(part) = assembly.composition.get(component) else {
        // What a reference has, is seen once it is resolved.
        return Has::CannotTell;
    };
    if part.properties.contains_key(property) {
        return Has::Yes;
    }
    let Some(descriptor) = part.kind.as_ref().and_then(|kind| catalog.find(&kind.value)) else {
        return Has::CannotTell;
    };
    if descriptor.properties().contains_key(property) {
        return Has::Yes;
    }
    let declared = descriptor.properties().keys().chain(part.properties.keys());
    Has::No(declared.map(ToString::to_string).collect())
}
