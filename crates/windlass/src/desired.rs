//! Builds the desired state of an assembly: reads and checks its descriptor, composes the topology, and loads
//! the packages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use windlass_descriptor::compose::MAX_NODES;
use windlass_descriptor::{
    AssemblyDescriptor, Catalog as _, Composed, Descriptor, GivenPlaces, ReferenceRequest, Request,
    ResourceDescriptor, Search, compose_given,
};
use windlass_driver::{Declaration, Package, PackageProblem, Registry};
use windlass_engine::{Desired, EngineEnv, Stop, UpOptions};
use windlass_model::name::DriverKind;
use windlass_model::{Action, AssemblyName, DescriptorName, Part, PropertyName, Template};
use windlass_project::disk::shown;
use windlass_project::{DiskCatalog, Overlay, Project, find_descriptor};
use windlass_source::{Diagnostic, Diagnostics, Place, Source, Span};
use windlass_store::Store;

use crate::error::Error;
use crate::input::{AssemblyInput, variable};
use crate::misfits::misfits;
use crate::references::{Neighbours, ReferenceSearch};

#[derive(Clone, Copy)]
struct Composition<'a> {
    project: &'a Project,
    engine_env: &'a EngineEnv,
    parameters: &'a BTreeMap<String, Value>,
    /// Source locations of the given parameters, for messages.
    places: &'a GivenPlaces,
    stop: &'a Stop,
}

/// An assembly descriptor, and the catalog of its parts.
pub(crate) struct Opened {
    pub(crate) assembly: Arc<AssemblyDescriptor>,
    pub(crate) catalog: DiskCatalog,
    pub(crate) diagnostics: Diagnostics,
}

/// Reads an assembly descriptor, and finds the descriptors of the assembly's parts. [`DiskCatalog::around`] lists the
/// places that are searched. `catalog` contains the `--catalog` folders.
pub(crate) fn open(project: &Project, file: &Path, catalog: &[PathBuf]) -> Result<Opened, Error> {
    let file = find_descriptor(file).map_err(|diagnostic| Error::Input(vec![*diagnostic].into()))?;
    let (assembly, mut diagnostics) = read_assembly(project.overlay(), &file)?;
    let (catalog, found) = DiskCatalog::around(&file, &assembly, project, catalog);
    diagnostics.extend(found);
    Ok(Opened { assembly, catalog, diagnostics })
}

/// Reads an assembly descriptor, and returns it with the problems of its text.
pub(crate) fn read_assembly(
    overlay: &Overlay,
    file: &Path,
) -> Result<(Arc<AssemblyDescriptor>, Diagnostics), Error> {
    let read = overlay.load(file);
    let mut diagnostics = read.diagnostics;
    match read.descriptor {
        Some(Descriptor::Assembly(assembly)) => Ok((assembly, diagnostics)),
        Some(Descriptor::Resource(resource)) => {
            diagnostics.push(not_an_assembly(&resource));
            Err(Error::Input(diagnostics))
        }
        None => Err(Error::Input(none_in(file, diagnostics))),
    }
}

/// Adds help to the diagnostics of a file that contains no usable descriptor.
fn none_in(file: &Path, diagnostics: Diagnostics) -> Diagnostics {
    use windlass_descriptor::codes::{NOT_A_DESCRIPTOR, OTHER_KIND};
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside =
        find_descriptor(folder).ok().filter(|beside| beside.canonicalize().ok() != file.canonicalize().ok());
    let completed = diagnostics.into_iter().map(|mut said| {
        if said.code == OTHER_KIND {
            said.severity = windlass_source::Severity::Error;
        }
        if let (true, Some(beside)) = (said.code == NOT_A_DESCRIPTOR, &beside) {
            let help = said.help.map(|help| format!("{help}; ")).unwrap_or_default();
            said.help = Some(format!("{help}did you mean `{}`?", shown(beside)));
        }
        said
    });
    completed.collect::<Vec<_>>().into()
}

fn not_an_assembly(resource: &windlass_descriptor::ResourceDescriptor) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        windlass_descriptor::codes::NOT_A_DESCRIPTOR,
        "this is a resource descriptor, and an assembly is needed",
    )
    .help("name the assembly that the resource is part of");
    match &resource.name {
        Some(name) => diagnostic.at(resource.source.place(name.span)),
        None => diagnostic,
    }
}

/// Builds the desired state of an assembly, and returns it with warnings. On failure, the error contains all
/// problems. `stop` ends a search for the target of a reference.
pub(crate) async fn desired(
    project: &Project,
    engine_env: &EngineEnv,
    input: &AssemblyInput,
    store: Option<Arc<dyn Store>>,
    stop: &Stop,
) -> Result<(Desired, Diagnostics), Error> {
    let Opened { assembly, catalog, mut diagnostics } = open(project, &input.file, &input.catalog)?;
    let Some(descriptor) = assembly.name.as_ref().map(|name| name.value.clone()) else {
        return Err(Error::Input(diagnostics));
    };
    let name = input.name.as_ref().unwrap_or(&descriptor.name);
    let (parameters, added) = with_environment(&input.parameters, &input.environment, settable(&assembly));
    let mut places = input.places.clone();
    places.sources.extend(added.iter().map(|name| (name.clone(), "by an environment variable".to_owned())));
    let composition = Composition { project, engine_env, parameters: &parameters, places: &places, stop };
    let composed = referred(composition, &assembly, &catalog, name, store.as_deref()).await?;
    diagnostics.extend(composed.diagnostics);
    let packages = packages(&catalog, &composed.resources, &engine_env.drivers, &mut diagnostics);
    if !diagnostics.has_errors() {
        diagnostics.extend(misfits(&assembly, &parameters, &input.places.names));
    }
    diagnostics.sort();
    let Some(topology) = composed.topology.filter(|_| !diagnostics.has_errors()) else {
        return Err(Error::Input(diagnostics));
    };
    diagnostics.extend(open_secrets(&input.open, "was passed on the command line", &topology));
    diagnostics.extend(open_secrets(&added, "was passed in the environment", &topology));
    let parameters = recorded(&parameters, &topology);
    let desired = Desired {
        topology,
        descriptor,
        owner: None,
        application: None,
        parameters,
        secrets: composed.secrets,
        packages,
        options: UpOptions::default(),
    };
    Ok((desired, diagnostics))
}

/// Composes the topology of an assembly, and resolves its references. A reference can resolve to another assembly of
/// the store, to an instance that the project lists, or to an instance that a driver finds.
async fn referred(
    composition: Composition<'_>,
    assembly: &Arc<AssemblyDescriptor>,
    catalog: &DiskCatalog,
    name: &AssemblyName,
    store: Option<&dyn Store>,
) -> Result<Composed, Error> {
    let request = Request::new(name, composition.parameters, catalog)
        .existing(composition.project.existing())
        .nodes(composition.project.nodes().unwrap_or(MAX_NODES));
    let first = compose_given(assembly, Request { search: Search::Later, ..request }, composition.places);
    if first.references.is_empty() {
        return Ok(first);
    }
    // References can be resolved only when all existing instances are known.
    let neighbours = Neighbours::of(store, name).await?;
    let bound = neighbours.bound();
    let mut existing = composition.project.existing().to_vec();
    existing.extend(neighbours.candidates(store, &first.references).await?);
    let request = Request { bound: &bound, ..request }.existing(&existing);
    let second = compose_given(assembly, Request { search: Search::Later, ..request }, composition.places);
    let mut found = BTreeMap::new();
    let pending: Vec<&ReferenceRequest> = second.references.iter().filter(|one| one.pending).collect();
    if pending.is_empty() {
        return Ok(second);
    }
    let search = ReferenceSearch {
        engine_env: composition.engine_env,
        catalog,
        store: store.map(|store| store.id().clone()),
        stop: composition.stop,
    };
    for reference in pending {
        if let Some(resource) = &reference.queries {
            let mut problems = Diagnostics::default();
            let package = packages(catalog, [resource], &composition.engine_env.drivers, &mut problems).pop();
            let Some(package) = package.filter(|_| !problems.has_errors()) else {
                return Err(Error::Input(problems));
            };
            let things = search.look_for(reference, package).await?;
            found.insert(reference.element.clone(), things);
        }
    }
    Ok(compose_given(assembly, Request { search: Search::Done(&found), ..request }, composition.places))
}

/// Completes `parameters` with the values of environment variables. `settable` contains the names of the properties that
/// users can set. If `parameters` contains no value for such a property, the property gets the value of its environment
/// variable. Also returns the names of the properties that got a value in this way.
pub(crate) fn with_environment(
    parameters: &BTreeMap<String, Value>,
    environment: &BTreeMap<String, String>,
    settable: impl IntoIterator<Item = String>,
) -> (BTreeMap<String, Value>, Vec<String>) {
    let mut all = parameters.clone();
    let mut added = Vec::new();
    for name in settable {
        if let Some(value) = environment.get(&variable(&name)).filter(|_| !all.contains_key(&name)) {
            all.insert(name.clone(), Value::from(value.as_str()));
            added.push(name);
        }
    }
    (all, added)
}

/// Returns the names of those properties of an assembly whose values users can set.
pub(crate) fn settable(assembly: &AssemblyDescriptor) -> impl Iterator<Item = String> {
    let properties = assembly.properties.iter();
    let settable = properties.filter(|(_, property)| !property.read_only && property.value.is_none());
    settable.map(|(name, _)| name.to_string())
}

/// Reads the packages of resources. The drivers of each package then check the package.
pub(crate) fn packages<'a>(
    catalog: &DiskCatalog,
    resources: impl IntoIterator<Item = &'a DescriptorName>,
    drivers: &Registry,
    diagnostics: &mut Diagnostics,
) -> Vec<Arc<Package>> {
    let mut packages = Vec::new();
    for resource in resources {
        match catalog.package(resource) {
            Ok(package) => {
                for kind in package.bindings().drivers() {
                    let found = drivers.get(kind).map(|driver| driver.check(&package)).unwrap_or_default();
                    diagnostics
                        .extend(found.into_iter().map(|problem| placed(catalog, resource, kind, problem)));
                }
                if let Some(Descriptor::Resource(descriptor)) = catalog.find(resource) {
                    diagnostics.extend(unknown_properties(&descriptor, drivers));
                }
                packages.push(Arc::new(package));
            }
            // Problems in the text of the descriptor are among `diagnostics` already.
            Err(problems) => {
                for problem in problems {
                    if !diagnostics.contains(&problem) {
                        diagnostics.push(problem);
                    }
                }
            }
        }
    }
    packages
}

/// Returns a diagnostic for each unknown driver property: the descriptor sets the property for a driver, and
/// the driver does not know it. If the driver panics while it lists its properties, the diagnostic names the panic.
fn unknown_properties(descriptor: &ResourceDescriptor, drivers: &Registry) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for declared in descriptor.drivers() {
        if drivers.get(&declared.driver).is_none() {
            continue;
        }
        found.extend(declared.property_spans.iter().filter_map(|(name, span)| {
            let problem = windlass_driver::properties::unknown(drivers, &declared.driver, name)?;
            Some(problem.at(descriptor.source.place(*span)))
        }));
    }
    found
}

/// Returns the diagnostic of a problem that the driver `kind` has found in a package. The driver knows only paths
/// within the package, so this function replaces these paths by paths on the disk. A diagnostic without a place gets
/// the place of the wrong declaration in the descriptor. Without such a declaration, the diagnostic gets the place of
/// the descriptor's name.
pub(crate) fn placed(
    catalog: &DiskCatalog,
    resource: &DescriptorName,
    kind: &DriverKind,
    problem: PackageProblem,
) -> Diagnostic {
    let PackageProblem { diagnostic: mut problem, declaration } = problem;
    match &mut problem.primary {
        Some(label) => {
            let place = on_disk(catalog, resource, &label.place);
            let [inside, outside] = [&label.place, &place].map(|place| place.source().name());
            problem.help = problem.help.map(|help| help.replace(inside, outside));
            label.place = place;
            for label in &mut problem.related {
                label.place = on_disk(catalog, resource, &label.place);
            }
            problem
        }
        None => match catalog.find(resource) {
            Some(Descriptor::Resource(descriptor)) => {
                let declared = declaration.and_then(|declaration| declared(&descriptor, kind, &declaration));
                match declared.or_else(|| descriptor.name.as_ref().map(|name| name.span)) {
                    Some(span) => problem.at(descriptor.source.place(span)),
                    None => problem,
                }
            }
            _ => problem,
        },
    }
}

/// Returns the place of a declaration in a resource descriptor; `None` if the descriptor does not contain it.
fn declared(descriptor: &ResourceDescriptor, kind: &DriverKind, declaration: &Declaration) -> Option<Span> {
    let action = |action: &Action| match action {
        Action::Transition(transition) => descriptor.transitions.get(transition),
        Action::Operation(operation) => descriptor.operations.get(operation),
        Action::Command(command) => descriptor.commands.get(command),
        _ => None,
    };
    match declaration {
        Declaration::Action(name) => action(name).map(|declared| declared.name_span),
        Declaration::Queries => descriptor.queries.first().map(|declared| declared.name_span),
        Declaration::Property { action: name, key } => {
            // The drivers of the action itself take precedence over the default drivers of the resource. A
            // call of the action chooses its driver by the same rule.
            let own = match name {
                Some(name) => action(name).map(|declared| &declared.drivers),
                None => Some(&descriptor.queries),
            };
            let mut drivers = own.into_iter().flatten().chain(&descriptor.default_drivers);
            let driver = drivers.find(|driver| driver.driver == *kind)?;
            Some(driver.property_spans.get(key).copied().unwrap_or(driver.name_span))
        }
        _ => None,
    }
}

fn on_disk(catalog: &DiskCatalog, resource: &DescriptorName, place: &Place) -> Place {
    let descriptor = catalog.file(resource).unwrap_or(Path::new(""));
    let mut folders = descriptor.ancestors().skip(1);
    let file = folders.find_map(|folder| {
        let file = folder.join(place.source().name());
        file.is_file().then_some(file)
    });
    match file {
        Some(file) => Source::new(shown(&file), place.source().text()).place(place.span()),
        None => place.clone(),
    }
}

/// Returns a warning for each secret whose value other people could see. `open` contains the names of the
/// parameters with visible values. `passed` states how the values were passed, for example `was passed on the
/// command line`.
pub(crate) fn open_secrets(
    open: &[String],
    passed: &str,
    topology: &windlass_model::Topology,
) -> Vec<Diagnostic> {
    let Some(root) = topology.root() else { return Vec::new() };
    let secret =
        |name: &&String| root.properties.get(name.as_str()).is_some_and(|property| property.sensitive);
    let warning = |name: &String| {
        let message = format!("`{name}` is a secret, and its value {passed}");
        Diagnostic::warning(windlass_descriptor::codes::OPEN_SECRET, message)
            .help(format!("use `-p {name}=@FILE`, `-p {name}=-` or `--params FILE`"))
    };
    open.iter().filter(secret).map(warning).collect()
}

/// Returns the parameters as they are recorded, without sensitive values. For a sensitive text, the marker of its
/// secret is recorded; `topology` contains this marker. For a sensitive value of another type, `***` is recorded.
pub(crate) fn recorded(
    parameters: &BTreeMap<String, Value>,
    topology: &windlass_model::Topology,
) -> BTreeMap<PropertyName, Value> {
    let Some(root) = topology.root() else { return BTreeMap::new() };
    let record = |(name, value): (&String, &Value)| {
        let (name, property) = root.properties.get_key_value(name.as_str())?;
        let value = if property.sensitive { marker(property.value.as_ref()) } else { value.clone() };
        Some((name.clone(), value))
    };
    parameters.iter().filter_map(record).collect()
}

fn marker(template: Option<&Template>) -> Value {
    match template {
        Some(Template::Text(parts)) => match &parts[..] {
            [Part::Secret(secret)] => secret.to_value(),
            _ => Value::from("***"),
        },
        _ => Value::from("***"),
    }
}
