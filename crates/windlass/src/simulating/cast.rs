//! Reads and compiles the manifests of a simulation, and finds the factory of each application.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;
use windlass_cron::CronExpression;
use windlass_driver::{Input, Location, Package, Registry};
use windlass_manifest::{Published, Role, check, check_pairs, codes as manifest_codes, short_name};
use windlass_model::assembly::ElementKind;
use windlass_model::resolve::{Answer, Lookup, Output, Resolver};
use windlass_model::{AssemblyName, Element, ElementName, InstanceId, PropertyName, Transition};
use windlass_script::codes as script_codes;
use windlass_secret::{SecretRef, Sensitive};
use windlass_source::{Diagnostic, Diagnostics, Severity, did_you_mean};
use windlass_update_ops::Shape;

use super::codes;
use crate::applications::{PublishedApplication, RoleKind, files_of, stem, unpublished};
use crate::error::Error;
use crate::launching::{Inputs, Launchable, desired};
use crate::open::Windlass;

/// A manifest file of a simulation, with an optional title. Other manifests refer to the manifest by this title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The title under which the simulation publishes the manifest. If the field is `None`, the title is the name
    /// of the file without its extension, for example `web-vm`.
    ///
    /// There is one exception. Another manifest may refer to this manifest by a title that differs from the file
    /// name only in letter case and punctuation, such as `Web VM`. Then the title of this manifest is `Web VM`.
    pub title: Option<String>,
}

impl FromStr for ManifestFile {
    type Err = Infallible;

    /// Reads `FILE` or `TITLE=FILE`.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let titled = text.split_once('=').filter(|(title, _)| !title.is_empty() && !Path::new(text).exists());
        Ok(match titled {
            Some((title, path)) => Self { path: path.into(), title: Some(title.to_owned()) },
            None => Self { path: text.into(), title: None },
        })
    }
}

/// The applications and factories that take part in a simulation.
pub(super) struct Cast {
    /// The published applications, one for each manifest of an application. Factories are not included.
    pub(super) titles: Vec<Title>,
    pub(super) factories: Vec<Factory>,
    pub(super) location: Arc<Location>,
    /// Whether the simulation has a folder with scripts.
    pub(super) has_scripts: bool,
}

/// One kind of applications: the applications of one published manifest. The simulation calls this kind by the title of
/// the manifest, such as `VM`. The simulation launches or adopts any number of applications of this kind.
pub(super) struct Title {
    pub(super) published: PublishedApplication,
    /// The position of the application's factory in [`Cast::factories`].
    pub(super) factory: usize,
    pub(super) parameters: BTreeMap<String, Value>,
    pub(super) compiled: Compiled,
}

/// The values of an application: the properties of its component, and the parameters that determine them.
#[derive(Debug, Clone)]
pub(super) struct Values {
    pub(super) properties: BTreeMap<PropertyName, Input>,
    pub(super) parameters: BTreeMap<String, Value>,
}

/// The compiled manifest of an application or a factory.
pub(super) struct Compiled {
    pub(super) package: Arc<Package>,
    /// The shape of the instance documents.
    pub(super) shape: Shape,
    /// The component that the scripts of the manifest manage. [`element`](Self::element) returns the full name of this
    /// component in a simulated application.
    pub(super) component: Element,
    pub(super) properties: BTreeMap<PropertyName, Input>,
}

impl Compiled {
    pub(super) fn sensitive(&self) -> BTreeSet<PropertyName> {
        let properties = self.component.properties.iter().filter(|(_, property)| property.sensitive);
        properties.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the full name of the manifest's component in the simulated application or factory `assembly`. For
    /// example, the component `machine` has the full name `vm-2__machine` in the application `vm-2`.
    pub(super) fn element(&self, assembly: &AssemblyName) -> ElementName {
        let root = ElementName::from(assembly);
        self.component.component.as_ref().map_or_else(|| root.clone(), |part| root.child(part))
    }

    /// Tells whether the manifest has a health check script.
    pub(super) fn is_checked(&self) -> bool {
        self.package.bindings().transitions.contains_key(&Transition::Integrity)
    }
}

/// A factory. The simulation launches each factory once.
pub(super) struct Factory {
    pub(super) name: AssemblyName,
    pub(super) compiled: Compiled,
    pub(super) configuration: BTreeMap<String, Input>,
    /// The position of an application in [`Cast::titles`], and the times of the discovery. The discovery searches
    /// for instances of this application. `None` if the factory has no discovery.
    pub(super) discovery: Option<(usize, CronExpression)>,
}

/// The files and values from which a [`Cast`] is read.
pub(super) struct CastInput<'i> {
    pub(super) manifests: &'i [ManifestFile],
    pub(super) scripts: Option<&'i Path>,
    pub(super) parameters: &'i BTreeMap<String, Value>,
    pub(super) location: Location,
}

impl Cast {
    /// Reads and compiles the manifests. Also returns warnings about them.
    ///
    /// # Errors
    /// Returns all problems of the manifests and of the parameters.
    pub(super) fn read(windlass: &Windlass, input: CastInput<'_>) -> Result<(Self, Diagnostics), Error> {
        let scripts = input.scripts.map(files_of).transpose()?;
        let mut warnings = Diagnostics::new();
        let mut read = Vec::new();
        for file in input.manifests {
            let overlay = windlass.project().overlay();
            let source = overlay.source(&file.path).map_err(|one| Error::Input(vec![*one].into()))?;
            let title = file.title.clone().unwrap_or_else(|| stem(&file.path));
            let (published, said) = unpublished(&source, title, scripts.as_deref())?;
            warnings.extend(said);
            read.push((published, file.title.is_some()));
        }
        let all = titled(read);
        let read = all.iter().map(|one| Launchable::new(one, windlass.drivers()));
        let applications = read.collect::<Result<Vec<Launchable<'_>>, Error>>()?;
        refuse_strangers(&applications)?;
        let mut cast = Self {
            titles: Vec::new(),
            factories: Vec::new(),
            location: Arc::new(input.location),
            has_scripts: scripts.is_some(),
        };
        let parameters = distributed(input.parameters, &applications)?;
        let mut compiled = Vec::new();
        for (application, parameters) in applications.iter().zip(parameters) {
            let one = compile(application, &cast.location.name, &parameters)?;
            warnings.extend(one.1);
            compiled.push((application.published.clone(), application.role.clone(), parameters, one.0));
        }
        cast.fill(compiled);
        if !cast.has_scripts {
            // Without a folder of scripts, no script runs: the answers of the simulation give all results. So
            // warnings about missing script files do not apply.
            let of_files = [manifest_codes::SCRIPT_MISSING, script_codes::SCRIPT_MISSING];
            warnings = warnings.into_iter().filter(|warning| !of_files.contains(&warning.code)).collect();
        }
        Ok((cast, warnings))
    }

    /// Adds the factories, and then their applications.
    fn fill(&mut self, compiled: Vec<(PublishedApplication, Role, BTreeMap<String, Value>, Compiled)>) {
        let (applications, factories): (Vec<_>, Vec<_>) =
            compiled.into_iter().partition(|(published, ..)| published.role == RoleKind::Application);
        let mut discovered = Vec::new();
        let mut by_title = BTreeMap::new();
        for (published, role, _, compiled) in factories {
            by_title.insert(published.title, self.factories.len());
            let pins = compiled.package.pins();
            let configuration = pins.map(|pins| pins.configuration(&compiled.properties)).unwrap_or_default();
            if let Role::Factory(role) = role {
                discovered.push(role.discovery);
            }
            self.factories.push(Factory { name: published.name, compiled, configuration, discovery: None });
        }
        for (published, role, parameters, compiled) in applications {
            let Role::Application(role) = role else { continue };
            let Some(factory) = by_title.get(&role.factory.value).copied() else { continue };
            self.titles.push(Title { published, factory, parameters, compiled });
        }
        for (factory, discovery) in self.factories.iter_mut().zip(discovered) {
            let Some(discovery) = discovery else { continue };
            let title = self.titles.iter().position(|one| one.published.title == discovery.application.value);
            // The schedule is valid, because the check of manifests refuses invalid schedules.
            factory.discovery = title.zip(discovery.schedule.value.parse().ok());
        }
    }

    /// Returns the position in [`titles`](Self::titles) of the entry whose title or short name is `text`. Returns
    /// `None` if there is no such entry.
    pub(super) fn title(&self, text: &str) -> Option<usize> {
        let is_it = |one: &Title| one.published.title == text || one.published.name.as_str() == text;
        self.titles.iter().position(is_it)
    }
}

impl Title {
    /// Compiles the manifest with new values of some configuration pins. Returns the values of all properties
    /// and parameters.
    pub(super) fn with(
        &self,
        drivers: &Registry,
        location: &str,
        values: &BTreeMap<String, Value>,
    ) -> Result<Values, Error> {
        let mut parameters = self.parameters.clone();
        parameters.extend(values.clone());
        let application = Launchable::new(&self.published, drivers)?;
        let (compiled, _) = compile(&application, location, &parameters)?;
        Ok(Values { properties: compiled.properties, parameters })
    }
}

/// Corrects the titles that were derived from file names. The flag of each manifest tells whether the user has given
/// the title. A given title stays the same.
///
/// A derived title can differ in spelling from the title that another manifest uses. For example, the file
/// `web-vm.yaml` has the derived title `web-vm`, and the manifest of the factory refers to the application `Web VM`.
/// Both titles have the short name `web-vm`, so the application gets the title `Web VM`.
fn titled(read: Vec<(PublishedApplication, bool)>) -> Vec<PublishedApplication> {
    let named = |one: &PublishedApplication| match check(&one.manifest).role {
        Some(Role::Application(role)) => Some(role.factory.value),
        Some(Role::Factory(role)) => role.discovery.map(|discovery| discovery.application.value),
        None => None,
    };
    let by_name: BTreeMap<AssemblyName, String> = read
        .iter()
        .filter_map(|(one, _)| named(one))
        .filter_map(|title| Some((short_name(&title)?, title)))
        .collect();
    let given = |(one, is_given): (PublishedApplication, bool)| match by_name.get(&one.name) {
        Some(title) if !is_given => PublishedApplication { title: title.clone(), ..one },
        _ => one,
    };
    read.into_iter().map(given).collect()
}

/// Checks that the manifests of a simulation fit together. Each of these problems is an error:
///
/// - The manifest of an application's factory is missing, or the manifest of a factory's application is missing.
/// - The manifests of an application and a factory contradict each other.
/// - Two titles have the same short name.
/// - None of the manifests declares an application.
fn refuse_strangers(applications: &[Launchable<'_>]) -> Result<(), Error> {
    let published: Vec<Published<'_>> = applications
        .iter()
        .map(|Launchable { published: one, role, .. }| Published {
            title: &one.title,
            manifest: &one.manifest,
            role,
        })
        .collect();
    let mut problems = Diagnostics::new();
    for said in &check_pairs(&published) {
        if said.code == manifest_codes::NO_COUNTERPART {
            let mut problem =
                Diagnostic::error(codes::BAD_CAST, said.message.replace("is published", "is given"))
                    .help("add its manifest to the command; `TITLE=FILE` gives a file another title");
            if let Some(place) = said.place() {
                problem = problem.at(place.clone());
            }
            problems.push(problem);
        } else {
            problems.push(said.clone());
        }
    }
    let mut seen = BTreeMap::new();
    for Launchable { published: one, .. } in applications {
        if seen.insert(&one.name, one).is_some() {
            let message = format!("there are two manifests with the title `{}`", one.title);
            let place = one.manifest.source.place(one.manifest.span);
            problems.push(
                Diagnostic::error(codes::BAD_CAST, message)
                    .at(place)
                    .help("give one of them another title: `TITLE=FILE`"),
            );
        }
    }
    if !applications.iter().any(|one| matches!(one.role, Role::Application(_))) {
        let message = "there is no manifest of an application, so there is nothing to launch";
        problems.push(Diagnostic::error(codes::BAD_CAST, message).help("add the manifest of an application"));
    }
    if problems.count(Severity::Error) > 0 { Err(Error::Input(problems)) } else { Ok(()) }
}

/// Assigns each parameter to all manifests that expose a configuration pin with the name of the parameter. The result
/// contains the parameters of each manifest, in the order of `applications`. Fails if no manifest exposes a pin for a
/// parameter.
fn distributed(
    parameters: &BTreeMap<String, Value>,
    applications: &[Launchable<'_>],
) -> Result<Vec<BTreeMap<String, Value>>, Error> {
    let pins = |application: &Launchable<'_>| -> BTreeSet<String> {
        application.checked.parameters().map(|id| id.to_string()).collect()
    };
    let pins: Vec<BTreeSet<String>> = applications.iter().map(pins).collect();
    let all: BTreeSet<&str> = pins.iter().flatten().map(String::as_str).collect();
    let unknown = parameters.keys().filter(|name| !all.contains(name.as_str()));
    let unknown: Vec<Diagnostic> = unknown
        .map(|name| {
            let message = format!("no manifest has the parameter `{name}`");
            did_you_mean(
                Diagnostic::error(manifest_codes::UNKNOWN_PARAMETER, message),
                name,
                all.iter().copied(),
            )
        })
        .collect();
    if !unknown.is_empty() {
        return Err(Error::Input(unknown.into()));
    }
    let own = |pins: &BTreeSet<String>| {
        let own = parameters.iter().filter(|(name, _)| pins.contains(*name));
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    Ok(pins.iter().map(own).collect())
}

/// Compiles a manifest in the same way as a launch does.
fn compile(
    application: &Launchable<'_>,
    location: &str,
    parameters: &BTreeMap<String, Value>,
) -> Result<(Compiled, Diagnostics), Error> {
    let inputs = Inputs {
        name: &application.published.name,
        environment: "",
        location,
        owner: None,
        parameters,
        variables: &BTreeMap::new(),
        open: &[],
        adopted: false,
    };
    let (desired, warnings) = desired(application, &inputs)?;
    let secrets = Given(desired.secrets);
    let mut elements = desired.topology.elements().iter();
    let component = elements.find(|element| element.kind == ElementKind::Resource);
    let (Some(component), Some(package)) = (component.cloned(), desired.packages.into_iter().next()) else {
        return Err(Error::Input(application.checked.diagnostics.clone()));
    };
    let mut resolver = Resolver::new(&desired.topology, &secrets);
    let mut properties = BTreeMap::new();
    for name in component.properties.keys() {
        if let Ok(Answer::Known(value)) = resolver.property(&component.name, name) {
            properties.insert(name.clone(), value);
        }
    }
    let shape = package.shape().clone();
    Ok((Compiled { package, shape, component, properties }, warnings))
}

/// The secrets of a launch, by the references to them. A resolver uses this [`Lookup`] before the launch. The
/// lookup contains no outputs and no instance ids, because they do not exist before the launch.
struct Given(BTreeMap<SecretRef, Sensitive<String>>);

impl Lookup for Given {
    fn output(&self, _: &ElementName, _: &PropertyName) -> Output {
        Output::NotYet
    }

    fn instance_id(&self, _: &ElementName) -> Option<InstanceId> {
        None
    }

    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>> {
        self.0.get(secret).cloned()
    }
}
