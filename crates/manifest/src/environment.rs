//! Environments: the services, markers and properties that applications find at run time.
//!
//! The values of secret properties are kept apart from the environment, in [`Secrets`].

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use windlass_model::AssemblyName;
use windlass_model::pins::{Misfit, Name, ValueType};
use windlass_secret::Sensitive;
use windlass_source::{Code, suggest};

use crate::codes;
use crate::grammar::{self, GrammarError};
use crate::name::ComponentPath;

/// Name of the environment that always exists.
pub const DEFAULT: &str = "default";

/// The values of secret properties as JSON texts, by the names of the properties.
pub type Secrets = BTreeMap<Name, Sensitive<String>>;

/// A named set of services, markers and properties, in which applications are launched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Services of the environment, by the names of their assemblies.
    #[serde(default)]
    pub services: BTreeMap<AssemblyName, Service>,
    /// The scripting service: the name of the location that runs the scripts of the environment's applications and
    /// factories. `windlass.yaml` declares the locations. `None` if the environment has no scripting service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripting: Option<String>,
    /// Choices of services for components of the type `reference.Service`. A choice is necessary if several
    /// services fit.
    #[serde(default)]
    pub bindings: Vec<Choice>,
    /// Names that describe the environment, such as `eu`. A marker also supplies a pin to components of the type
    /// `reference.Service`: the marker `eu` supplies the pin with the id `eu.eu`.
    #[serde(default)]
    pub markers: BTreeSet<Name>,
    /// Properties of the environment, by name. The property `zone` supplies the pin `properties.zone`.
    #[serde(default)]
    pub properties: BTreeMap<Name, Property>,
}

/// A service of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Title of the service's application.
    pub application: String,
    /// Whether the service is a factory. Several factories of an environment may have the same title. Two services that
    /// are no factories must have different titles.
    #[serde(default)]
    pub factory: bool,
}

/// The service that was chosen for a component of the type `reference.Service`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Choice {
    /// The service whose manifest contains the component.
    pub service: AssemblyName,
    /// The component of the type `reference.Service`.
    pub component: ComponentPath,
    /// The service that was chosen.
    pub chosen: AssemblyName,
}

/// A property of an environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Property {
    /// Type of the property's value.
    #[serde(rename = "type")]
    pub kind: ValueType,
    /// Value of the property; `None` if the value is secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl Property {
    /// Tells whether the value of the property is a secret.
    pub fn is_secret(&self) -> bool {
        self.value.is_none()
    }
}

/// The reason why a change of an environment was refused.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The environment has no such service.
    #[error("the environment has no service `{service}`{}", near(service, known))]
    NoService {
        /// The name of the requested service.
        service: String,
        /// Names of the environment's services.
        known: Vec<String>,
    },
    /// A service can't be added, because the environment already has a service of the same application.
    #[error("`{service}` is a service of `{application}` already; replace it with `--replace`")]
    SecondService {
        /// The service that the environment already has.
        service: AssemblyName,
        /// The title of the application.
        application: String,
    },
    /// A location can't become the scripting service, because the environment already has a scripting service. The
    /// scripting service is the location that runs the scripts of the environment. The text is the name of the present
    /// scripting service.
    #[error("`{0}` is the scripting service already; replace it with `--replace`")]
    SecondScripting(String),
    /// The user wants to remove a location from the environment, but this location is not the scripting service of the
    /// environment. The scripting service is the location that runs the scripts. The text is the name of the given
    /// location.
    #[error("the location `{0}` is not the scripting service of the environment")]
    NoScripting(String),
    /// A service can't be removed from the environment, because it was chosen for a component of another service.
    #[error("`{service}` is chosen by {}; remove that with `env bind --remove` first", listed(by))]
    Chosen {
        /// The service that can't be removed.
        service: AssemblyName,
        /// The components that the service was chosen for.
        by: Vec<String>,
    },
    /// The choice of a service can't be removed, because no service was chosen for the component.
    #[error("no service is chosen for `{component}` of `{service}`")]
    NoChoice {
        /// The service whose manifest contains the component.
        service: AssemblyName,
        /// The component of the type `reference.Service` for which no service was chosen.
        component: ComponentPath,
    },
    /// The environment has no marker of this name. A marker is a name that describes the environment, such as `eu`.
    #[error("the environment has no marker `{marker}`{}", near(marker, known))]
    NoMarker {
        /// The name of the requested marker.
        marker: String,
        /// The markers that the environment has.
        known: Vec<String>,
    },
    /// The environment has no property of this name.
    #[error("the environment has no property `{property}`{}", near(property, known))]
    NoProperty {
        /// The name of the requested property.
        property: String,
        /// Names of the environment's properties.
        known: Vec<String>,
    },
    /// A text that was given as the type of a property is not a valid type.
    #[error("`{text}` is not the type of a property: {problem}")]
    Type {
        /// The text that the user gave as the type, for example the misspelt `strin`.
        text: String,
        /// The mistake in the text.
        problem: GrammarError,
    },
    /// The given value does not have the property's type.
    #[error("the value of `{property}` does not fit: {misfit}")]
    Value {
        /// The name of the property.
        property: Name,
        /// The mistake. It does not contain the value, which may be secret.
        misfit: Misfit,
    },
}

impl EnvironmentError {
    /// Returns the code of the error.
    pub fn code(&self) -> Code {
        match self {
            Self::NoService { .. } | Self::NoScripting(_) | Self::NoChoice { .. } => codes::UNKNOWN_SERVICE,
            Self::SecondService { .. } | Self::SecondScripting(_) => codes::SECOND_SERVICE,
            Self::Chosen { .. } => codes::SERVICE_IN_USE,
            Self::NoMarker { .. } | Self::NoProperty { .. } => codes::UNKNOWN_PROPERTY,
            Self::Type { .. } | Self::Value { .. } => codes::BAD_PROPERTY,
        }
    }
}

fn near(wanted: &str, known: &[String]) -> String {
    match suggest(wanted, known.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; it has {}", listed(known)),
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn names<T: ToString>(of: impl IntoIterator<Item = T>) -> Vec<String> {
    of.into_iter().map(|name| name.to_string()).collect()
}

impl Environment {
    /// Adds a service. If the environment has a service with the same `name`, the new service replaces that
    /// service.
    ///
    /// A service also has a title ([`Service::application`]). If the new service is a factory, other services may
    /// have the same title. If the new service is not a factory, a service with the same title and another name
    /// conflicts with the new service. If `replaces` is true, the method removes the conflicting service.
    /// Otherwise, the method returns an error.
    ///
    /// # Errors
    /// Both errors occur only if the new service conflicts with an old service:
    ///
    /// - [`EnvironmentError::SecondService`]: `replaces` is false.
    /// - [`EnvironmentError::Chosen`]: `replaces` is true, but the old service can't be removed. A user has chosen the
    ///   old service for a component of another service.
    pub fn add_service(
        &mut self,
        name: AssemblyName,
        service: Service,
        replaces: bool,
    ) -> Result<(), EnvironmentError> {
        let other = self
            .services
            .iter()
            .find(|(other, of)| !service.factory && **other != name && of.application == service.application);
        if let Some(other) = other.map(|(other, _)| other.clone()) {
            if !replaces {
                return Err(EnvironmentError::SecondService {
                    service: other,
                    application: service.application,
                });
            }
            self.remove_service(&other)?;
        }
        self.services.insert(name, service);
        Ok(())
    }

    /// Removes a service. Also removes the entries of [`bindings`](Self::bindings) that choose services for the
    /// components of the removed service.
    ///
    /// # Errors
    /// Returns [`EnvironmentError::NoService`] if the environment lacks the service. Returns
    /// [`EnvironmentError::Chosen`] if the service was chosen for a component of another service.
    pub fn remove_service(&mut self, name: &AssemblyName) -> Result<(), EnvironmentError> {
        self.service(name)?;
        let of_others =
            self.bindings.iter().filter(|choice| choice.chosen == *name && choice.service != *name);
        let by: Vec<String> =
            of_others.map(|choice| format!("{}.{}", choice.service, choice.component)).collect();
        if !by.is_empty() {
            return Err(EnvironmentError::Chosen { service: name.clone(), by });
        }
        self.bindings.retain(|choice| choice.service != *name);
        self.services.remove(name);
        Ok(())
    }

    /// Returns the service `name`.
    ///
    /// # Errors
    /// Returns [`EnvironmentError::NoService`] if the environment lacks the service.
    pub fn service(&self, name: &AssemblyName) -> Result<&Service, EnvironmentError> {
        let unknown =
            || EnvironmentError::NoService { service: name.to_string(), known: names(self.services.keys()) };
        self.services.get(name).ok_or_else(unknown)
    }

    /// Chooses the scripting service: the location that runs the scripts of the environment's applications and
    /// factories. `location` is the name of the location. If `replaces` is true, the location replaces the present
    /// scripting service.
    ///
    /// # Errors
    /// Returns [`EnvironmentError::SecondScripting`] if another location is the scripting service, and `replaces` is
    /// false.
    pub fn set_scripting(&mut self, location: &str, replaces: bool) -> Result<(), EnvironmentError> {
        if let Some(present) = self.scripting.as_ref().filter(|present| *present != location && !replaces) {
            return Err(EnvironmentError::SecondScripting(present.clone()));
        }
        self.scripting = Some(location.to_owned());
        Ok(())
    }

    /// Removes the scripting service from the environment. The scripting service is the location that runs the
    /// scripts of the environment. `location` must be the name of this location. The method does not remove the
    /// location from the project.
    ///
    /// # Errors
    /// Returns [`EnvironmentError::NoScripting`] if `location` is not the scripting service.
    pub fn remove_scripting(&mut self, location: &str) -> Result<(), EnvironmentError> {
        if self.scripting.as_deref() != Some(location) {
            return Err(EnvironmentError::NoScripting(location.to_owned()));
        }
        self.scripting = None;
        Ok(())
    }

    /// Chooses a service for a component of another service. The choice replaces an earlier one.
    ///
    /// # Errors
    /// Returns [`EnvironmentError::NoService`] if the environment lacks one of the two services.
    pub fn bind(&mut self, choice: Choice) -> Result<(), EnvironmentError> {
        self.service(&choice.service)?;
        self.service(&choice.chosen)?;
        self.bindings.retain(|of| (&of.service, &of.component) != (&choice.service, &choice.component));
        self.bindings.push(choice);
        self.bindings.sort();
        Ok(())
    }

    /// Removes the choice of a service for a component.
    ///
    /// # Errors
    /// Returns [`EnvironmentError::NoChoice`] if no service is chosen for the component.
    pub fn unbind(
        &mut self,
        service: &AssemblyName,
        component: &ComponentPath,
    ) -> Result<(), EnvironmentError> {
        let before = self.bindings.len();
        self.bindings.retain(|of| (&of.service, &of.component) != (service, component));
        if self.bindings.len() == before {
            let (service, component) = (service.clone(), component.clone());
            return Err(EnvironmentError::NoChoice { service, component });
        }
        Ok(())
    }

    /// Removes a marker.
    ///
    /// # Errors
    /// Returns [`EnvironmentError::NoMarker`] if the environment lacks the marker.
    pub fn remove_marker(&mut self, marker: &Name) -> Result<(), EnvironmentError> {
        if self.markers.remove(marker) {
            return Ok(());
        }
        Err(EnvironmentError::NoMarker { marker: marker.to_string(), known: names(&self.markers) })
    }

    /// Sets a property to a value of the type `kind`. If `secrets` is given, the value is secret, and is stored
    /// in `secrets`, not in the environment.
    ///
    /// # Errors
    /// Returns [`EnvironmentError::Value`] if the value does not fit the type. The error does not show the
    /// value.
    pub fn set_property(
        &mut self,
        name: Name,
        kind: ValueType,
        value: &Value,
        secrets: Option<&mut Secrets>,
    ) -> Result<(), EnvironmentError> {
        let value = match kind.fit(value) {
            Ok(value) if !value.is_null() || kind == ValueType::Unit => value,
            Ok(_) => {
                let misfit = Misfit { expected: kind, found: "null" };
                return Err(EnvironmentError::Value { property: name, misfit });
            }
            Err(misfit) => return Err(EnvironmentError::Value { property: name, misfit }),
        };
        let value = match secrets {
            Some(secrets) => {
                secrets.insert(name.clone(), Sensitive::new(value.to_string()));
                None
            }
            None => Some(value),
        };
        self.properties.insert(name, Property { kind, value });
        Ok(())
    }

    /// Removes a property.
    ///
    /// # Errors
    /// Returns [`EnvironmentError::NoProperty`] if the environment lacks the property.
    pub fn remove_property(&mut self, name: &Name) -> Result<(), EnvironmentError> {
        if self.properties.remove(name).is_some() {
            return Ok(());
        }
        let known = names(self.properties.keys());
        Err(EnvironmentError::NoProperty { property: name.to_string(), known })
    }
}

/// Parses the type of a property, such as `map<string, int>`.
///
/// # Errors
/// Returns [`EnvironmentError::Type`] if the text is not a type.
pub fn property_type(text: &str) -> Result<ValueType, EnvironmentError> {
    grammar::value_type(text)
        .map_err(|problem| EnvironmentError::Type { text: text.chars().take(100).collect(), problem })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn name<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
        text.parse().unwrap()
    }

    fn service(application: &str, factory: bool) -> Service {
        Service { application: application.to_owned(), factory }
    }

    #[test]
    fn an_application_has_one_service_and_many_factories() {
        let mut of = Environment::default();
        for (factory, is_factory) in [("vms-eu", true), ("vms-us", true), ("db-1", false), ("db-1", false)] {
            let title = if is_factory { "VM Factory" } else { "DB" };
            of.add_service(name(factory), service(title, is_factory), false).unwrap();
        }
        let second = of.add_service(name("db-2"), service("DB", false), false).unwrap_err();
        assert_eq!(second.to_string(), "`db-1` is a service of `DB` already; replace it with `--replace`");
        of.add_service(name("db-2"), service("DB", false), true).unwrap();
        assert_eq!(names(of.services.keys()), ["db-2", "vms-eu", "vms-us"]);
        let unknown = of.remove_service(&name("vms-uk")).unwrap_err();
        assert_eq!(unknown.to_string(), "the environment has no service `vms-uk`; did you mean `vms-us`?");
    }

    #[test]
    fn a_chosen_service_stays() {
        let mut of = Environment::default();
        of.add_service(name("vms"), service("VM Factory", true), false).unwrap();
        of.add_service(name("pets"), service("PetClinic Factory", true), false).unwrap();
        let choice = Choice { service: name("pets"), component: name("vm-factory"), chosen: name("vms") };
        of.bind(choice.clone()).unwrap();
        of.bind(choice).unwrap();
        assert_eq!(of.bindings.len(), 1);
        assert_eq!(
            of.remove_service(&name("vms")).unwrap_err().to_string(),
            "`vms` is chosen by `pets.vm-factory`; remove that with `env bind --remove` first"
        );
        of.unbind(&name("pets"), &name("vm-factory")).unwrap();
        of.remove_service(&name("vms")).unwrap();
        assert!(of.unbind(&name("pets"), &name("vm-factory")).is_err());
    }

    #[test]
    fn properties_have_a_type_and_secrets_are_apart() {
        let (mut of, mut secrets) = (Environment::default(), Secrets::new());
        of.set_property(name("size"), property_type("int").unwrap(), &json!("5"), None).unwrap();
        of.set_property(name("key"), ValueType::String, &json!("hunter2"), Some(&mut secrets)).unwrap();
        assert_eq!(of.properties[&name::<Name>("size")].value, Some(json!(5)));
        assert!(of.properties[&name::<Name>("key")].is_secret());
        assert!(!serde_json::to_string(&of).unwrap().contains("hunter2"));
        assert_eq!(secrets[&name::<Name>("key")].expose(), "\"hunter2\"");
        let wrong = of.set_property(name("size"), ValueType::Int, &json!("hunter2"), None).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "the value of `size` does not fit: `int` is expected, and this is text"
        );
        let wrong = property_type("strin").unwrap_err().to_string();
        assert_eq!(wrong, "`strin` is not the type of a property: there is no type `strin`");
        let stored: Environment = serde_json::from_value(serde_json::to_value(&of).unwrap()).unwrap();
        assert_eq!(stored, of);
    }
}
