//! The environments of a project: listing them, showing them and changing them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use windlass_manifest::environment::{
    Choice, DEFAULT, Environment, EnvironmentError, Property, Secrets, Service, property_type,
};
use windlass_manifest::import::{read_environment, read_value};
use windlass_manifest::name::ComponentPath;
use windlass_manifest::resolution::candidates;
use windlass_model::AssemblyName;
use windlass_model::document::{DocumentDraft, DocumentName, DocumentScope, Expected};
use windlass_model::pins::Name;
use windlass_model::record::AssemblyRecord;
use windlass_model::rename::Renaming;
use windlass_secret::Sensitive;
use windlass_source::Diagnostics;
use windlass_store::{Store, StoreError};

use super::error::ApplicationError;
use super::records::{PAGE, VERSION, body, damaged, environments, key};
use super::stored::environments_in;
use crate::error::Error;
use crate::open::Windlass;
use crate::pages::for_each_assembly;
use crate::wiring::{ServiceReferenceView, Wiring};

/// The environments of a project. The environment `default` always exists.
#[derive(Debug, Clone, Copy)]
pub struct Environments<'w> {
    pub(crate) windlass: &'w Windlass,
}

/// A service to add to an environment, or to remove from it.
#[derive(Debug, Clone)]
pub enum ServiceName {
    /// An assembly that was launched from an application.
    Assembly(AssemblyName),
    /// The scripting service, which runs the scripts of the environment's applications. The text is the name of a
    /// location in `windlass.yaml`.
    Location(String),
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assembly(name) => write!(f, "{name}"),
            Self::Location(location) => write!(f, "{location}"),
        }
    }
}

/// A list of all environments.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct EnvironmentListView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The environments, sorted by name.
    pub environments: Vec<EnvironmentSummary>,
}

/// A summary of an environment, for a list.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct EnvironmentSummary {
    /// The name of the environment.
    pub name: DocumentName,
    /// The location that runs the scripts of the environment's applications; `None` if the environment names no
    /// location.
    pub scripting: Option<String>,
    /// The number of the environment's services.
    pub services: usize,
}

/// An environment with all its content.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct EnvironmentView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the environment.
    pub name: DocumentName,
    /// The location that runs the scripts of the environment's applications; `None` if the environment names no
    /// location.
    pub scripting: Option<String>,
    /// The services of the environment, sorted by name.
    pub services: Vec<ServiceView>,
    /// The user's choices of services. A choice connects a component in the manifest of one service with another
    /// service of the environment.
    pub bindings: Vec<Choice>,
    /// The components of the type `reference.Service` in the manifests of the services, each with its state.
    pub references: Vec<ServiceReferenceView>,
    /// The markers of the environment. A marker is a name that describes the environment, such as `eu`.
    pub markers: Vec<Name>,
    /// The properties of the environment, sorted by name.
    pub properties: Vec<PropertyView>,
}

/// A service of an environment.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ServiceView {
    /// The name of the service's assembly.
    pub name: AssemblyName,
    /// The title of the service's application.
    pub application: String,
    /// Whether the service is a factory.
    pub factory: bool,
    /// Whether the service's assembly has been removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// A property of an environment.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PropertyView {
    /// The name of the property.
    pub name: Name,
    /// The type of the property, in the notation of a manifest.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value of the property; `None` if it is secret.
    pub value: Option<Value>,
    /// Whether the value of the property is a secret.
    pub secret: bool,
}

impl EnvironmentView {
    fn new(name: DocumentName, environment: Environment) -> Self {
        let Environment { services, scripting, bindings, markers, properties, .. } = environment;
        let service = |(name, of): (AssemblyName, Service)| ServiceView {
            name,
            application: of.application,
            factory: of.factory,
            removed: false,
        };
        let properties = properties.into_iter().map(|(name, of)| PropertyView {
            name,
            kind: of.kind.to_string(),
            secret: of.is_secret(),
            value: of.value,
        });
        Self {
            version: 1,
            name,
            scripting,
            services: services.into_iter().map(service).collect(),
            bindings,
            references: Vec::new(),
            markers: markers.into_iter().collect(),
            properties: properties.collect(),
        }
    }
}

impl Environments<'_> {
    /// Creates an empty environment.
    ///
    /// # Errors
    /// Returns [`ApplicationError::EnvironmentExists`] if an environment has this name.
    pub async fn create(&self, name: &DocumentName) -> Result<EnvironmentView, Error> {
        let exists = || ApplicationError::EnvironmentExists(name.to_string());
        if name.as_str() == DEFAULT {
            return Err(exists().into());
        }
        let store = self.windlass.store(true).await?.ok_or(StoreError::Closed)?;
        let environment = Environment::default();
        match put(&*store, name, &environment, &Secrets::new(), Expected::Absent).await {
            Ok(()) => Ok(EnvironmentView::new(name.clone(), environment)),
            Err(StoreError::DocumentChanged { .. }) => Err(exists().into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an environment. Fails if the environment contains services, or if applications that were
    /// launched in it still exist.
    ///
    /// # Errors
    /// Returns [`ApplicationError::HasServices`] with the names of the services, or
    /// [`ApplicationError::HasApplications`] with the names of the applications. Returns
    /// [`ApplicationError::Default`] for the default environment. Returns
    /// [`ApplicationError::UnknownEnvironment`] for a missing environment.
    pub async fn remove(&self, name: &DocumentName) -> Result<(), Error> {
        if name.as_str() == DEFAULT {
            return Err(ApplicationError::Default.into());
        }
        let (store, environment, expected) = self.existing(name).await?;
        let services: Vec<String> = environment.services.keys().map(ToString::to_string).collect();
        if !services.is_empty() {
            return Err(ApplicationError::HasServices { name: name.to_string(), services }.into());
        }
        let users = launched_in(&*store, name).await?;
        if !users.is_empty() {
            return Err(ApplicationError::HasApplications { name: name.to_string(), users }.into());
        }
        Ok(store.drop_document(&key(environments(), name.clone()), expected).await?)
    }

    /// Lists the environments of the project.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub async fn list(&self) -> Result<EnvironmentListView, Error> {
        let mut found = vec![];
        if let Some(store) = self.windlass.store(false).await? {
            let all = environments_in(&*store).await?;
            found = all.into_iter().map(|(name, environment)| summary(name, &environment)).collect();
        }
        if !found.iter().any(|one| one.name.as_str() == DEFAULT) {
            found.push(summary(default_name(), &Environment::default()));
            found.sort_by(|one, other| one.name.cmp(&other.name));
        }
        Ok(EnvironmentListView { version: 1, environments: found })
    }

    /// Returns an environment with all its content.
    ///
    /// # Errors
    /// Returns [`ApplicationError::UnknownEnvironment`] if there is no such environment.
    pub async fn show(&self, name: &DocumentName) -> Result<EnvironmentView, Error> {
        self.view(name, self.find(name).await?).await
    }

    /// Returns the view of an environment. For each service of the environment, the view lists the placeholders in the
    /// manifest of the service. A placeholder is a component of the type `reference.Service`.
    async fn view(&self, name: &DocumentName, environment: Environment) -> Result<EnvironmentView, Error> {
        let mut view = EnvironmentView::new(name.clone(), environment.clone());
        let Some(store) = self.windlass.store(false).await? else { return Ok(view) };
        let mut wiring = Wiring::new(store);
        let existing = wiring.offers(name, &environment).await?;
        for service in &mut view.services {
            service.removed = !existing.contains_key(&service.name);
            if let Some(record) = wiring.assembly(&service.name).await?.filter(|_| !service.removed) {
                let references = wiring.service_references_in(&record, name, &environment).await?;
                view.references.extend(references);
            }
        }
        Ok(view)
    }

    /// Returns an environment, without its secrets.
    ///
    /// # Errors
    /// Returns [`ApplicationError::UnknownEnvironment`] if there is no such environment.
    pub async fn find(&self, name: &DocumentName) -> Result<Environment, Error> {
        if self.windlass.store(false).await?.is_none() {
            return if name.as_str() == DEFAULT {
                Ok(Environment::default())
            } else {
                Err(self.unknown(name).await)
            };
        }
        Ok(self.existing(name).await?.1)
    }

    /// Returns the values of the secret properties of an environment, each as JSON.
    ///
    /// # Errors
    /// Fails if the store or its key can't be read.
    pub async fn secrets(&self, name: &DocumentName) -> Result<Secrets, Error> {
        match self.windlass.store(false).await? {
            Some(store) => opened(&*store, name).await,
            None => Ok(Secrets::new()),
        }
    }

    /// Adds a service to an environment. If `replaces` is true, the new service replaces the existing service with
    /// which it conflicts. A new assembly conflicts with a service of the same application, unless the assembly is a
    /// factory. A new location conflicts with the existing scripting service.
    ///
    /// # Errors
    /// Returns [`ApplicationError::NotLaunched`] for an assembly that was not launched from an application.
    /// Returns [`ApplicationError::NoLocation`] if the project does not have the location. Returns
    /// [`EnvironmentError`] if the environment does not allow the change.
    pub async fn add_service(
        &self,
        name: &DocumentName,
        service: &ServiceName,
        replaces: bool,
    ) -> Result<EnvironmentView, Error> {
        match service {
            ServiceName::Assembly(assembly) => {
                let of = self.service(assembly).await?;
                self.change(name, |environment, _| {
                    environment.add_service(assembly.clone(), of.clone(), replaces)
                })
                .await
            }
            ServiceName::Location(location) => {
                let known: Vec<String> =
                    self.windlass.project().locations().map(|location| location.name.clone()).collect();
                if !known.contains(location) {
                    return Err(ApplicationError::NoLocation { location: location.clone(), known }.into());
                }
                self.change(name, |environment, _| environment.set_scripting(location, replaces)).await
            }
        }
    }

    /// Removes a service from an environment.
    ///
    /// # Errors
    /// Returns [`EnvironmentError`], for example if the service was chosen for a component of another
    /// service.
    pub async fn remove_service(
        &self,
        name: &DocumentName,
        service: &ServiceName,
    ) -> Result<EnvironmentView, Error> {
        self.change(name, |environment, _| match service {
            ServiceName::Assembly(assembly) => environment.remove_service(assembly),
            ServiceName::Location(location) => environment.remove_scripting(location),
        })
        .await
    }

    /// Chooses the service `choice.chosen` for a component in the manifest of the service `choice.service`. The
    /// component has the type `reference.Service`.
    ///
    /// # Errors
    /// Returns [`EnvironmentError`] if `choice.service` or `choice.chosen` is not a service of the environment. Returns
    /// [`ApplicationError::NoComponent`] if the manifest of `choice.service` has no such component. Returns
    /// [`ApplicationError::Unfit`] if `choice.chosen` does not expose the pins of the component.
    pub async fn bind(&self, name: &DocumentName, choice: &Choice) -> Result<EnvironmentView, Error> {
        self.fits(name, choice).await?;
        self.change(name, |environment, _| environment.bind(choice.clone())).await
    }

    /// Checks that the user may choose the service `choice.chosen` for the component `choice.component`. This component
    /// belongs to the manifest of the service `choice.service`. Refuses the choice in two cases:
    ///
    /// - The manifest of the service `choice.service` does not contain the component.
    /// - The service `choice.chosen` does not expose all pins of the component.
    async fn fits(&self, name: &DocumentName, choice: &Choice) -> Result<(), Error> {
        let environment = self.find(name).await?;
        let known = environment.service(&choice.service).and(environment.service(&choice.chosen));
        let Some(store) = self.windlass.store(false).await?.filter(|_| known.is_ok()) else { return Ok(()) };
        let mut wiring = Wiring::new(store);
        let Some(record) = wiring.assembly(&choice.service).await? else { return Ok(()) };
        let Some(services) = wiring.services(&record).await? else { return Ok(()) };
        let Some(reference) = services.reference(&choice.component) else {
            let known = services.references.iter().map(|of| of.component.to_string()).collect();
            let (service, component) = (choice.service.clone(), choice.component.clone());
            return Err(ApplicationError::NoComponent { service, component, known }.into());
        };
        let offers = wiring.offers(name, &environment).await?;
        let candidates = candidates(reference, &environment, &offers);
        if candidates.contains(&choice.chosen) {
            return Ok(());
        }
        let exposed = offers.get(&choice.chosen);
        let missing =
            reference.pins.iter().filter(|(id, kind)| exposed.and_then(|pins| pins.get(*id)) != Some(*kind));
        let pins = missing.map(|(id, _)| id.to_string()).collect();
        let known = candidates.iter().map(ToString::to_string).collect();
        let (chosen, component) = (choice.chosen.clone(), choice.component.clone());
        Err(ApplicationError::Unfit { chosen, component, pins, known }.into())
    }

    /// Removes a choice that the user made by [`bind`](Self::bind). `component` is the component for which the user
    /// chose a service. The component has the type `reference.Service`. `service` is the service whose manifest
    /// contains the component.
    ///
    /// # Errors
    /// Returns [`EnvironmentError`] if no service is chosen for the component.
    pub async fn unbind(
        &self,
        name: &DocumentName,
        service: &AssemblyName,
        component: &ComponentPath,
    ) -> Result<EnvironmentView, Error> {
        self.change(name, |environment, _| environment.unbind(service, component)).await
    }

    /// Adds a marker to an environment. A marker is a name that describes the environment, such as `eu`. If the
    /// environment already has the marker, nothing changes.
    ///
    /// # Errors
    /// Returns [`ApplicationError::UnknownEnvironment`] if there is no such environment.
    pub async fn set_marker(&self, name: &DocumentName, marker: &Name) -> Result<EnvironmentView, Error> {
        self.change(name, |environment, _| {
            environment.markers.insert(marker.clone());
            Ok(())
        })
        .await
    }

    /// Removes a marker from an environment.
    ///
    /// # Errors
    /// Returns [`EnvironmentError`] if the environment does not have the marker.
    pub async fn remove_marker(&self, name: &DocumentName, marker: &Name) -> Result<EnvironmentView, Error> {
        self.change(name, |environment, _| environment.remove_marker(marker)).await
    }

    /// Sets a property of an environment. `text` is the value itself for the type `string`, and YAML for
    /// other types.
    ///
    /// # Errors
    /// Returns [`EnvironmentError`] if the type is unknown or the value does not fit. The error does not show
    /// the value.
    pub async fn set_property(
        &self,
        name: &DocumentName,
        property: &Name,
        kind: &str,
        text: &Sensitive<String>,
        secret: bool,
    ) -> Result<EnvironmentView, Error> {
        let wrong = |cause| {
            let cause = Box::new(cause);
            Error::from(ApplicationError::Environment { name: name.to_string(), cause })
        };
        let kind = property_type(kind).map_err(wrong)?;
        // An error of the parser could quote the value, which may be secret. So a value that can't be parsed
        // becomes an empty text. The empty text is then refused, because it does not fit the type.
        let value = read_value(&kind, text.expose()).unwrap_or_else(|_| Value::from(String::new()));
        self.change(name, |environment, secrets| {
            secrets.remove(property);
            let secrets = secret.then_some(secrets);
            environment.set_property(property.clone(), kind.clone(), &value, secrets)
        })
        .await
    }

    /// Removes a property from an environment.
    ///
    /// # Errors
    /// Returns [`EnvironmentError`] if the environment does not have the property.
    pub async fn remove_property(
        &self,
        name: &DocumentName,
        property: &Name,
    ) -> Result<EnvironmentView, Error> {
        self.change(name, |environment, secrets| {
            secrets.remove(property);
            environment.remove_property(property)
        })
        .await
    }

    /// Reads markers and properties from a file, and adds them to an environment. A marker is a name without a value.
    /// If the environment already has a property of the same name, the value in the file replaces the old value. Also
    /// returns warnings about the file.
    ///
    /// # Errors
    /// Returns [`Error::Input`] if the file has errors.
    pub async fn import(
        &self,
        name: &DocumentName,
        file: &Path,
    ) -> Result<(EnvironmentView, Diagnostics), Error> {
        let overlay = self.windlass.project().overlay();
        let source = overlay.source(file).map_err(|one| Error::Input(vec![*one].into()))?;
        let (imported, diagnostics) = read_environment(&source);
        if diagnostics.has_errors() {
            return Err(Error::Input(diagnostics));
        }
        let changed = self.change(name, |environment, secrets| {
            environment.markers.extend(imported.markers.iter().cloned());
            for of in &imported.properties {
                secrets.remove(&of.name);
                let secrets = of.secret.then_some(&mut *secrets);
                environment.set_property(of.name.clone(), of.kind.clone(), &of.value, secrets)?;
            }
            Ok(())
        });
        Ok((changed.await?, diagnostics))
    }

    /// Returns the changed document of each environment that contains the old name of a renamed assembly. In this
    /// document, the new name replaces the old name.
    pub(crate) async fn renamed(
        &self,
        store: &dyn Store,
        renaming: &Renaming,
    ) -> Result<Vec<DocumentDraft>, Error> {
        let mut drafts = Vec::new();
        let mut after: Option<DocumentName> = None;
        loop {
            let page =
                store.documents(&DocumentScope::Project, &environments(), after.as_ref(), PAGE).await?;
            for document in &page {
                let before: Environment = body(document)?;
                let environment =
                    renaming.record(&before).map_err(|error| damaged(&document.key.name, &error))?;
                if environment != before {
                    let name = &document.key.name;
                    let expected = Expected::At(document.revision);
                    drafts.push(draft(name, &environment, &opened(store, name).await?, expected));
                }
            }
            after = page.last().map(|last| last.key.name.clone());
            if page.len() < PAGE {
                return Ok(drafts);
            }
        }
    }

    /// Reads an environment and its secrets, applies `change`, and stores both together. The first change of the
    /// environment `default` creates the document of this environment.
    async fn change(
        &self,
        name: &DocumentName,
        change: impl FnOnce(&mut Environment, &mut Secrets) -> Result<(), EnvironmentError>,
    ) -> Result<EnvironmentView, Error> {
        if name.as_str() != DEFAULT && self.windlass.store(false).await?.is_none() {
            return Err(self.unknown(name).await);
        }
        self.windlass.store(true).await?;
        let (store, mut environment, expected) = self.existing(name).await?;
        let mut secrets = opened(&*store, name).await?;
        let before = environment.clone();
        change(&mut environment, &mut secrets)
            .map_err(Box::new)
            .map_err(|cause| ApplicationError::Environment { name: name.to_string(), cause })?;
        let has_secrets = !secrets.is_empty() || before.properties.values().any(Property::is_secret);
        if environment != before || has_secrets {
            put(&*store, name, &environment, &secrets, expected).await?;
        }
        self.view(name, environment).await
    }

    async fn existing(&self, name: &DocumentName) -> Result<(Arc<dyn Store>, Environment, Expected), Error> {
        let Some(store) = self.windlass.store(false).await? else { return Err(self.unknown(name).await) };
        match store.document(&key(environments(), name.clone())).await? {
            Some(found) => Ok((store, body(&found)?, Expected::At(found.revision))),
            None if name.as_str() == DEFAULT => Ok((store, Environment::default(), Expected::Absent)),
            None => Err(self.unknown(name).await),
        }
    }

    async fn unknown(&self, name: &DocumentName) -> Error {
        let known = match self.list().await {
            Ok(known) => known.environments.iter().map(|one| one.name.to_string()).collect(),
            Err(error) => return error,
        };
        ApplicationError::UnknownEnvironment { name: name.to_string(), known }.into()
    }

    /// Describes an assembly as a service of an environment.
    async fn service(&self, assembly: &AssemblyName) -> Result<Service, Error> {
        let store = self.windlass.store_of(assembly).await?;
        let Some(record) = store.assembly(assembly).await? else {
            return Err(self.windlass.unknown(store, assembly).await);
        };
        // The field `owner` of an application's record names its factory. The record of a factory has no
        // owner.
        let factory = record.owner.is_none();
        let from = record.application.ok_or_else(|| ApplicationError::NotLaunched(assembly.clone()))?;
        Ok(Service { application: from.title, factory })
    }
}

fn summary(name: DocumentName, environment: &Environment) -> EnvironmentSummary {
    EnvironmentSummary {
        name,
        scripting: environment.scripting.clone(),
        services: environment.services.len(),
    }
}

fn default_name() -> DocumentName {
    DEFAULT.parse().expect("it is a valid name")
}

async fn launched_in(store: &dyn Store, environment: &DocumentName) -> Result<Vec<AssemblyName>, Error> {
    let mut found = Vec::new();
    let add = |record: AssemblyRecord| {
        if record.application.is_some_and(|from| from.environment == environment.as_str()) {
            found.push(record.name);
        }
    };
    for_each_assembly(store, add).await?;
    Ok(found)
}

/// Reads the secrets of an environment.
async fn opened(store: &dyn Store, name: &DocumentName) -> Result<Secrets, Error> {
    let sealed = store.document_secrets(&key(environments(), name.clone())).await?;
    let Some(sealed) = sealed else { return Ok(Secrets::new()) };
    let secrets: BTreeMap<Name, String> =
        serde_json::from_slice(sealed.expose()).map_err(|error| damaged(name, &error))?;
    Ok(secrets.into_iter().map(|(name, value)| (name, Sensitive::new(value))).collect())
}

async fn put(
    store: &dyn Store,
    name: &DocumentName,
    environment: &Environment,
    secrets: &Secrets,
    expected: Expected,
) -> Result<(), StoreError> {
    store.put_document(draft(name, environment, secrets, expected), Vec::new()).await.map(drop)
}

/// Returns the document of an environment, ready to be stored.
fn draft(
    name: &DocumentName,
    environment: &Environment,
    secrets: &Secrets,
    expected: Expected,
) -> DocumentDraft {
    let exposed = || secrets.iter().map(|(name, value)| (name, value.expose())).collect::<BTreeMap<_, _>>();
    let sealed = (!secrets.is_empty()).then(|| Sensitive::new(json!(exposed()).to_string().into_bytes()));
    DocumentDraft {
        key: key(environments(), name.clone()),
        expected,
        version: VERSION,
        body: json!(environment),
        secrets: sealed,
        packages: BTreeSet::new(),
    }
}
