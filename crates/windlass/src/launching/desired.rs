//! The engine's input for an application: its compiled manifest and the package of its scripts.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_driver::location::DEPLOYMENT_LOCATION;
use windlass_driver::{Driver as _, Registry};
use windlass_engine::{Desired, UpOptions};
use windlass_manifest::{Checked, Launch, Manifest, Role, compile};
use windlass_model::assembly::{ElementKind, Property};
use windlass_model::name::{DescriptorKind, DescriptorParts};
use windlass_model::record::LaunchedFrom;
use windlass_model::version::Version;
use windlass_model::{AssemblyName, DescriptorName, PropertyName, Template, Topology};
use windlass_script::{KIND, Script, application_package};
use windlass_source::{Diagnostics, Source};

use super::error::LaunchError;
use super::published::{PublishedRevision, Services};
use super::title::slug;
use crate::desired::{open_secrets, recorded};
use crate::error::Error;

/// The inputs of an application.
pub(super) struct Inputs<'a> {
    /// The name of its assembly.
    pub(super) name: &'a AssemblyName,
    pub(super) revision: &'a PublishedRevision,
    pub(super) environment: &'a str,
    /// The location where its scripts run.
    pub(super) location: &'a str,
    /// The factory of an application.
    pub(super) owner: Option<AssemblyName>,
    pub(super) parameters: &'a BTreeMap<String, Value>,
    /// The parameters whose values were on the command line.
    pub(super) open: &'a [String],
}

/// Reads and checks the manifest of a revision. It was checked when it was published, so problems are rare.
pub(super) fn read(revision: &PublishedRevision) -> Result<Manifest, Error> {
    let source =
        Source::new(format!("{} (revision {})", revision.title, revision.number), &*revision.manifest);
    let read = windlass_manifest::read(&source);
    match read.manifest {
        Some(manifest) if !read.diagnostics.has_errors() => Ok(manifest),
        _ => Err(Error::Input(read.diagnostics)),
    }
}

/// Returns the assembly of the factory for an application; `None` for a factory.
pub(super) fn factory(
    role: &Role,
    revision: &PublishedRevision,
    services: &Services,
) -> Result<Option<AssemblyName>, LaunchError> {
    let Role::Application(application) = role else { return Ok(None) };
    let factory = &application.factory.value;
    let found = services.factories.get(factory).cloned();
    let missing = || LaunchError::NoFactory {
        title: revision.title.clone(),
        factory: factory.clone(),
        environment: services.environment.clone(),
        known: services.factories.keys().cloned().collect(),
    };
    found.map(Some).ok_or_else(missing)
}

/// Returns the engine's input for an application, with warnings.
pub(super) fn desired(
    checked: &Checked<'_>,
    role: &Role,
    inputs: &Inputs<'_>,
    drivers: &Registry,
) -> Result<(Desired, Diagnostics), Error> {
    let Inputs { name, revision, environment, location, owner, parameters, open } = inputs;
    let base = slug(&revision.title).unwrap_or_else(|| (*name).clone());
    let assembly = descriptor(DescriptorKind::Assembly, &base, revision.number);
    let resource = descriptor(DescriptorKind::Resource, &base, revision.number);
    let pins = windlass_manifest::pins(checked).unwrap_or_default();
    let package = application_package(resource.clone(), role, pins, revision.files.clone());
    let launch = Launch { name, assembly: &assembly, resource: &resource, parameters };
    let compiled = compile(checked, launch);
    let mut diagnostics = compiled.diagnostics;
    let script = KIND.parse().ok().and_then(|kind| drivers.get(&kind).cloned());
    diagnostics
        .extend(script.map_or_else(|| Script::default().check(&package), |script| script.check(&package)));
    let Some(topology) = compiled.topology.filter(|_| !diagnostics.has_errors()) else {
        return Err(Error::Input(diagnostics));
    };
    let topology = placed(&topology, location);
    diagnostics.extend(open_secrets(open, "was passed on the command line", &topology));
    let from = LaunchedFrom {
        title: revision.title.clone(),
        revision: revision.number,
        environment: (*environment).to_owned(),
    };
    let desired = Desired {
        parameters: recorded(parameters, &topology),
        topology,
        descriptor: assembly,
        owner: owner.clone(),
        application: Some(from),
        secrets: compiled.secrets,
        packages: vec![package],
        options: UpOptions::default(),
    };
    Ok((desired, diagnostics))
}

fn descriptor(kind: DescriptorKind, name: &AssemblyName, revision: u64) -> DescriptorName {
    let version: Version = revision.to_string().parse().expect("a number is a version");
    DescriptorParts { kind, name: name.clone(), version }.into()
}

/// Returns a topology whose component is at a location. Its scripts do not get that property, which is no pin.
fn placed(topology: &Topology, location: &str) -> Topology {
    let mut elements = topology.elements().to_vec();
    let property: PropertyName = DEPLOYMENT_LOCATION.parse().expect("it is the name of a property");
    for element in elements.iter_mut().filter(|element| element.kind == ElementKind::Resource) {
        let value = Some(Template::literal(location));
        element.properties.insert(property.clone(), Property { value, ..Property::default() });
    }
    Topology::new(topology.name().clone(), elements, topology.relationships().to_vec())
}
