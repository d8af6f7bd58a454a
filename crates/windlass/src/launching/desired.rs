//! The engine's input for an application: its compiled manifest and the package of its scripts.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use windlass_driver::location::DEPLOYMENT_LOCATION;
use windlass_driver::{Driver as _, Package, Registry};
use windlass_engine::{Desired, UpOptions};
use windlass_manifest::environment::Environment;
use windlass_manifest::resolution::Offers;
use windlass_manifest::{Checked, Launch, Role, check, compile};
use windlass_model::assembly::{ElementKind, Property};
use windlass_model::document::DocumentName;
use windlass_model::name::{DescriptorKind, DescriptorParts};
use windlass_model::record::LaunchedFrom;
use windlass_model::version::Version;
use windlass_model::{AssemblyName, DescriptorName, PropertyName, Template, Topology, Transition};
use windlass_script::{KIND, Script, application_package};
use windlass_source::Diagnostics;

use super::error::LaunchError;
use crate::applications::PublishedApplication;
use crate::desired::{open_secrets, recorded, with_environment};
use crate::error::Error;

/// The values from which the desired assembly of an application is built.
pub(crate) struct Inputs<'a> {
    /// The name of the application's assembly.
    pub(crate) name: &'a AssemblyName,
    pub(crate) environment: &'a str,
    /// The location where the application's scripts run.
    pub(crate) location: &'a str,
    /// The factory of the application; `None` for a factory.
    pub(crate) owner: Option<AssemblyName>,
    pub(crate) parameters: &'a BTreeMap<String, Value>,
    /// The values of environment variables, for configuration pins without a parameter.
    pub(crate) variables: &'a BTreeMap<String, String>,
    /// The parameters whose values were on the command line, where other people could see them.
    pub(crate) open: &'a [String],
    /// Tells whether a discovery has adopted the instance of the application.
    pub(crate) adopted: bool,
}

/// The services of an environment. windlass searches these services for the factory of an application.
pub(super) struct Services<'a> {
    /// The name of the environment that has these services.
    pub(super) name: &'a DocumentName,
    pub(super) environment: &'a Environment,
    /// The services whose assemblies have not been removed.
    pub(super) existing: &'a Offers,
}

impl Services<'_> {
    /// Returns the name of the factory of `published`. The factory is a service of the environment. The manifest of
    /// `published` declares the role `role`: application or factory. Returns `None` if `published` is itself a factory.
    ///
    /// A service fits if it is the kind of factory that the manifest names, and if its assembly has not been removed.
    /// If several services fit, `chosen` must name one of these services. If only one service fits, `chosen` may be
    /// `None`.
    ///
    /// # Errors
    /// Fails if no service of the environment fits. Also fails if several services fit and `chosen` is
    /// `None`, or if `chosen` is a service that does not fit.
    pub(super) fn factory(
        &self,
        role: &Role,
        published: &PublishedApplication,
        chosen: Option<&AssemblyName>,
    ) -> Result<Option<AssemblyName>, LaunchError> {
        let Role::Application(application) = role else { return Ok(None) };
        let (title, factory) = (published.title.clone(), application.factory.value.clone());
        let environment = self.name.to_string();
        let factories = || self.environment.services.iter().filter(|(_, service)| service.factory);
        let of_title =
            factories().filter(|(_, service)| service.application == factory).map(|(name, _)| name);
        let (found, removed): (Vec<&AssemblyName>, Vec<_>) =
            of_title.partition(|name| self.existing.contains_key(*name));
        match (&found[..], chosen) {
            (_, Some(chosen)) if found.contains(&chosen) => Ok(Some(chosen.clone())),
            ([only], None) => Ok(Some((*only).clone())),
            ([_, ..], _) => {
                let known = found.into_iter().cloned().collect();
                let chosen = chosen.cloned();
                Err(LaunchError::SeveralFactories { title, factory, environment, known, chosen })
            }
            ([], _) => Err(if let Some(removed) = removed.first() {
                let removed = (*removed).clone();
                LaunchError::RemovedFactory { title, factory, environment, removed }
            } else {
                let known = factories().map(|(_, service)| service.application.clone()).collect();
                LaunchError::NoFactory { title, factory, environment, known }
            }),
        }
    }
}

/// A published application that can be launched, with its checked manifest and the package of its scripts.
pub(crate) struct Launchable<'a> {
    pub(crate) published: &'a PublishedApplication,
    pub(crate) checked: Checked<'a>,
    pub(crate) role: Role,
    resource: DescriptorName,
    package: Arc<Package>,
    /// The problems that the driver `script` finds in the package.
    problems: Diagnostics,
}

impl<'a> Launchable<'a> {
    /// Checks a published application before a launch.
    ///
    /// # Errors
    /// Returns all problems of the application's manifest.
    pub(crate) fn new(published: &'a PublishedApplication, drivers: &Registry) -> Result<Self, Error> {
        let checked = check(&published.manifest);
        let Some(role) = checked.role.clone().filter(|_| !checked.diagnostics.has_errors()) else {
            return Err(Error::Input(checked.diagnostics));
        };
        let resource = descriptor(DescriptorKind::Resource, published);
        let pins = windlass_manifest::pins(&checked).unwrap_or_default();
        let package = application_package(resource.clone(), &role, pins, published.scripts.clone());
        let script = KIND.parse().ok().and_then(|kind| drivers.get(&kind).cloned());
        let problems =
            script.map_or_else(|| Script::default().check(&package), |script| script.check(&package));
        let problems = problems.into_iter().map(|problem| problem.diagnostic).collect();
        Ok(Self { published, checked, role, resource, package: Arc::new(package), problems })
    }

    /// Returns the package of the application's scripts.
    ///
    /// # Errors
    /// Returns the problems of the package, if one of them is an error.
    pub(super) fn package(&self) -> Result<Arc<Package>, Error> {
        if self.problems.has_errors() {
            return Err(Error::Input(self.problems.clone()));
        }
        Ok(self.package.clone())
    }
}

/// Returns the engine's input for an application, with warnings.
///
/// # Errors
/// Returns all problems of the parameters and of the package.
pub(crate) fn desired(
    application: &Launchable<'_>,
    inputs: &Inputs<'_>,
) -> Result<(Desired, Diagnostics), Error> {
    let Launchable { published, checked, role, resource, package, problems } = application;
    let Inputs { name, environment, location, owner, parameters, variables, open, adopted } = inputs;
    let settable = checked.parameters().map(|id| id.to_string());
    let (parameters, added) = with_environment(parameters, variables, settable);
    let assembly = descriptor(DescriptorKind::Assembly, published);
    let launch = Launch { name, assembly: &assembly, resource, parameters: &parameters, adopted: *adopted };
    let compiled = compile(checked, launch);
    let mut diagnostics = compiled.diagnostics;
    diagnostics.extend(problems.iter().cloned());
    let Some(topology) = compiled.topology.filter(|_| !diagnostics.has_errors()) else {
        return Err(Error::Input(diagnostics));
    };
    let topology = placed(&topology, location, role);
    diagnostics.extend(open_secrets(open, "was passed on the command line", &topology));
    diagnostics.extend(open_secrets(&added, "was passed in the environment", &topology));
    let from = LaunchedFrom {
        title: published.title.clone(),
        revision: published.revision,
        environment: (*environment).to_owned(),
        adopted: *adopted,
    };
    let desired = Desired {
        parameters: recorded(&parameters, &topology),
        topology,
        descriptor: assembly,
        owner: owner.clone(),
        application: Some(from),
        secrets: compiled.secrets,
        packages: vec![package.clone()],
        options: UpOptions::default(),
    };
    Ok((desired, diagnostics))
}

/// Returns the name of a descriptor of the application. This name contains the version 1 for every revision of the
/// application. If the version differed between two revisions, the change to the new revision would be an upgrade.
/// An upgrade may re-create the instance.
fn descriptor(kind: DescriptorKind, published: &PublishedApplication) -> DescriptorName {
    let version: Version = "1".parse().expect("a number is a version");
    DescriptorParts { kind, name: published.name.clone(), version }.into()
}

/// Completes the topology of an application or a factory:
/// - The component gets an additional property: the location at which its scripts run. Scripts do not receive this
///   property, because it is not a pin.
/// - If `role` is a factory, the other properties become volatile: their values may change while the factory is active.
///   No script runs for such a change. The scripts of the factory's applications receive the new values at their next
///   calls.
fn placed(topology: &Topology, location: &str, role: &Role) -> Topology {
    let mut elements = topology.elements().to_vec();
    let property: PropertyName = DEPLOYMENT_LOCATION.parse().expect("it is the name of a property");
    let is_factory = matches!(role, Role::Factory(_));
    for property in elements.iter_mut().flat_map(|element| element.properties.values_mut()) {
        property.volatile |= is_factory;
    }
    for element in elements.iter_mut().filter(|element| element.kind == ElementKind::Resource) {
        let value = Some(Template::literal(location));
        element.transitions.extend(is_factory.then_some(Transition::Reconfigure));
        element.properties.insert(property.clone(), Property { value, ..Property::default() });
    }
    Topology::new(topology.name().clone(), elements, topology.relationships().to_vec())
}
