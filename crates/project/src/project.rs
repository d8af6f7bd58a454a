//! A project: the folder of a `windlass.yaml`, the locations of the project, and the folder in which windlass keeps its
//! data about the project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use thiserror::Error;
use windlass_descriptor::{Descriptor, Existing};
use windlass_driver::{Location, Placement, Registry};
use windlass_model::DescriptorName;
use windlass_model::retention::Retention;
use windlass_source::{Diagnostic, Diagnostics, Place, Severity, Source, listed, suggest};

use crate::codes;
use crate::disk::{shown, unreadable};
use crate::file::{Declared, FILE_NAME, PackageOf, ProjectFile, read};
use crate::kinds::RuntimeKinds;
use crate::layout::{RESOURCE, descriptors_in, old_descriptor_in};
use crate::overlay::Overlay;
use crate::secret::SecretError;

/// The folder in which windlass keeps its data about a project. The path is relative to the root of the project.
const STATE_FOLDER: &str = ".windlass";

/// The name of the location for a component that names no location. If the project declares exactly one location,
/// such a component uses the declared location instead.
const LOCAL: &str = "local";

/// A project: a root folder, and the content of its `windlass.yaml` if it has one.
#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
    file: Option<PathBuf>,
    locations: IndexMap<String, Declared>,
    existing: Vec<Existing>,
    packages: Vec<PathBuf>,
    retention: Retention,
    nodes: Option<usize>,
    drivers: Registry,
    sections: BTreeMap<String, String>,
    warnings: Diagnostics,
    overlay: Overlay,
}

impl Project {
    /// Opens the project of a file or folder `start`: the project of the nearest `windlass.yaml` at or above
    /// `start`. If there is none, opens the project of the nearest `windlass.yaml` at or above `fallback`. Without a
    /// `windlass.yaml`, the root of the project is `fallback`.
    ///
    /// This method knows no runtimes and no drivers. So if the `windlass.yaml` names a runtime or configures a driver,
    /// the method returns an error. [`open_with`](Self::open_with) takes the runtimes and drivers as arguments.
    ///
    /// # Errors
    /// Returns all errors: if `start` or `fallback` does not exist, if the `windlass.yaml` can't be read, or if the
    /// `windlass.yaml` has errors.
    pub fn open(start: &Path, fallback: &Path) -> Result<Self, Diagnostics> {
        Self::open_with(start, fallback, Overlay::default(), &RuntimeKinds::default(), &Registry::default())
    }

    /// Opens a project as [`open`](Self::open) does. If `overlay` contains a text for a file, the text replaces the
    /// content of the file. Locations may name the runtimes in `kinds`, and `windlass.yaml` may configure `drivers`.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_with(
        start: &Path,
        fallback: &Path,
        overlay: Overlay,
        kinds: &RuntimeKinds,
        drivers: &Registry,
    ) -> Result<Self, Diagnostics> {
        Self::open_as(start, fallback, overlay, drivers, |source| read(source, kinds, drivers))
    }

    /// Opens a project as [`open_with`](Self::open_with) does, to read its records and to run no jobs. An unknown
    /// runtime, driver or key of `windlass.yaml` is only a warning: the program that creates the records may know it.
    ///
    /// # Errors
    /// The errors of [`open_with`](Self::open_with), except those that are warnings here.
    pub fn open_to_read(
        start: &Path,
        fallback: &Path,
        overlay: Overlay,
        kinds: &RuntimeKinds,
        drivers: &Registry,
    ) -> Result<Self, Diagnostics> {
        Self::open_as(start, fallback, overlay, drivers, |source| {
            let (content, diagnostics) = read(source, kinds, drivers);
            let warned = |mut diagnostic: Diagnostic| {
                if codes::KNOWN_ELSEWHERE.contains(&diagnostic.code) {
                    diagnostic.severity = Severity::Warning;
                }
                diagnostic
            };
            (content, diagnostics.into_iter().map(warned).collect())
        })
    }

    fn open_as(
        start: &Path,
        fallback: &Path,
        overlay: Overlay,
        drivers: &Registry,
        read: impl FnOnce(&Arc<Source>) -> (ProjectFile, Diagnostics),
    ) -> Result<Self, Diagnostics> {
        let (start, fallback) = (real(start)?, real(fallback)?);
        let file = match find_file(&start)? {
            Some(file) => Some(file),
            None => find_file(&fallback)?,
        };
        match file {
            Some(file) => Self::read(file, overlay, read),
            None => Ok(Self { overlay, drivers: drivers.clone(), ..Self::without_file(fallback) }),
        }
    }

    fn read(
        file: PathBuf,
        overlay: Overlay,
        read: impl FnOnce(&Arc<Source>) -> (ProjectFile, Diagnostics),
    ) -> Result<Self, Diagnostics> {
        let source = overlay.source(&file).map_err(|diagnostic| Diagnostics::from(vec![*diagnostic]))?;
        let (file_content, mut warnings) = read(&source);
        let ProjectFile { locations, existing, packages, retention, nodes, drivers, sections } = file_content;
        let root = file.parent().unwrap_or(&file).to_path_buf();
        let mut folders = Vec::new();
        for package in packages {
            match package_folder(&root, &package, &overlay) {
                Ok(folder) => folders.push(folder),
                Err(problem) => warnings.push(problem.at(package.place)),
            }
        }
        if warnings.has_errors() {
            return Err(warnings);
        }
        let (file, packages) = (Some(file), folders);
        Ok(Self {
            root,
            file,
            locations,
            existing,
            packages,
            retention,
            nodes,
            drivers,
            sections,
            warnings,
            overlay,
        })
    }

    fn without_file(root: PathBuf) -> Self {
        Self {
            root,
            file: None,
            locations: IndexMap::new(),
            existing: Vec::new(),
            packages: Vec::new(),
            retention: Retention::default(),
            nodes: None,
            drivers: Registry::default(),
            sections: BTreeMap::new(),
            warnings: Diagnostics::new(),
            overlay: Overlay::default(),
        }
    }

    /// Returns the root folder, as an absolute path without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder in which windlass keeps its data about the project. The folder may be missing.
    pub fn state_dir(&self) -> PathBuf {
        self.root.join(STATE_FOLDER)
    }

    /// Returns the rule for the removal of old processes, and of old versions of assemblies.
    pub fn retention(&self) -> Retention {
        self.retention
    }

    /// Returns the path of the `windlass.yaml`, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the warnings about the project's `windlass.yaml`.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Returns digests of the parts of `windlass.yaml` that determine where and how scripts run. The key is
    /// `locations.NAME` or `drivers.NAME`. Secrets, comments, layout and order have no influence.
    pub fn sections(&self) -> &BTreeMap<String, String> {
        &self.sections
    }

    /// Returns the texts that replace the contents of files.
    pub fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// Returns the declared locations, in the order of declaration.
    pub fn locations(&self) -> impl Iterator<Item = &Location> {
        self.locations.values().map(|declared| &declared.location)
    }

    /// Returns the drivers, with their settings from `windlass.yaml`.
    pub fn drivers(&self) -> &Registry {
        &self.drivers
    }

    /// Returns the entries of the list `existing` in `windlass.yaml`. Each entry is an existing instance. A reference
    /// in a descriptor can refer to such an instance.
    pub fn existing(&self) -> &[Existing] {
        &self.existing
    }

    /// Returns the maximum number of copied elements in an assembly; `None` if `windlass.yaml` sets no maximum. In
    /// a group, each node except the first is a copy. If several components nest the same assembly, each nested
    /// assembly except the first is a copy. A copy and all parts inside it are copied elements.
    pub fn nodes(&self) -> Option<usize> {
        self.nodes
    }

    /// Returns the package folders of existing instances, from the key `package` in the entries of `existing`.
    pub fn packages(&self) -> &[PathBuf] {
        &self.packages
    }

    /// Finds the location of a component. A component may name a location, a resource manager, or both. Only the name
    /// of the location affects the choice:
    ///
    /// | declared locations | component names a location | component names no location |
    /// |---|---|---|
    /// | none | an undeclared location of this name | the undeclared location `local` |
    /// | one | the declared location of this name | the declared location |
    /// | several | the declared location of this name | the undeclared location `local` |
    ///
    /// An undeclared location has the runtime `process`.
    ///
    /// If the component names no location, but has an instance, the result is the
    /// [recorded location](Placement::recorded) of this instance.
    ///
    /// # Errors
    /// Returns an error if the project declares locations, but not the named location. Also returns an error if the
    /// instance was created at a declared location, and the project does not declare this location. Also returns an
    /// error if the component and the chosen location name different resource managers.
    pub fn location(&self, placement: &Placement) -> Result<Location, PlacementError> {
        let declared = match (&placement.location, &placement.recorded) {
            (Some(_), Some(recorded)) if self.locations.is_empty() && recorded.is_declared => {
                return Err(self.undeclared(&recorded.name));
            }
            (Some(name), _) if self.locations.is_empty() => return Ok(Location::local(name)),
            (Some(name), _) => self.locations.get(name).ok_or_else(|| self.unknown(name))?,
            (None, Some(recorded)) => match self.locations.get(&recorded.name) {
                Some(declared) => declared,
                None if recorded.is_declared => return Err(self.undeclared(&recorded.name)),
                None => return Ok(Location::local(&recorded.name)),
            },
            (None, None) if self.locations.len() == 1 => &self.locations[0],
            (None, None) => return Ok(Location::local(LOCAL)),
        };
        match (&declared.location.manager, &placement.manager) {
            (Some(has), Some(wanted)) if has != wanted => Err(PlacementError::OtherManager {
                location: declared.location.name.clone(),
                has: has.clone(),
                wanted: wanted.clone(),
                declared: declared.place.clone(),
            }),
            _ => Ok(declared.location.clone()),
        }
    }

    /// Returns a location with the secret property values that `windlass.yaml` refers to. `variables` reads an
    /// environment variable.
    ///
    /// # Errors
    /// Returns an error if a secret can't be read.
    pub fn with_secrets(
        &self,
        mut location: Location,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Location, SecretError> {
        let declared = self.locations.get(&location.name);
        for (property, source) in declared.iter().flat_map(|declared| &declared.sources) {
            let value = source.read(&self.root, variables).map_err(|why| SecretError {
                location: location.name.clone(),
                property: property.clone(),
                why,
            })?;
            location.properties.insert(property.clone(), value.into());
        }
        Ok(location)
    }

    /// Returns a location with the environment variables that its jobs inherit from windlass. `variables` reads a
    /// variable from the environment of windlass. If `environment` of the location also declares a variable, the
    /// declared value takes precedence. Unset variables are left out.
    #[must_use]
    pub fn with_environment(
        &self,
        mut location: Location,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Location {
        let declared = self.locations.get(&location.name);
        for name in declared.iter().flat_map(|declared| &declared.inherited) {
            if let (false, Some(value)) = (location.environment.contains_key(name), variables(name)) {
                location.environment.insert(name.clone(), value);
            }
        }
        location
    }

    fn undeclared(&self, name: &str) -> PlacementError {
        PlacementError::Undeclared { location: name.to_owned(), file: self.file().map(shown) }
    }

    fn unknown(&self, name: &str) -> PlacementError {
        PlacementError::Unknown {
            location: name.to_owned(),
            file: self.file().map(shown).unwrap_or_default(),
            known: self.locations.keys().cloned().collect(),
        }
    }
}

/// The reason why a component can't be placed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// No location has the name.
    #[error("`{file}` declares no location `{location}`")]
    Unknown {
        /// The name that the component requests.
        location: String,
        /// The project file, for display.
        file: String,
        /// The names of the declared locations.
        known: Vec<String>,
    },
    /// The instance of the component was created at a location that is no longer declared.
    #[error(
        "its instance is at the location `{location}`, which {} does not declare",
        file.as_ref().map_or_else(|| "this project".to_owned(), |file| format!("`{file}`"))
    )]
    Undeclared {
        /// The name of the recorded location.
        location: String,
        /// The project file, for display; `None` if the project has none.
        file: Option<String>,
    },
    /// The location belongs to another resource manager.
    #[error("the location `{location}` belongs to the resource manager `{has}`, not to `{wanted}`")]
    OtherManager {
        /// The name of the location.
        location: String,
        /// The resource manager of the location.
        has: String,
        /// The requested resource manager.
        wanted: String,
        /// The declaration of the location.
        declared: Place,
    },
}

impl PlacementError {
    /// Returns the error as a diagnostic with its code, help, and the declaration of the location. The caller
    /// adds the place of the component.
    pub fn diagnostic(&self) -> Diagnostic {
        let message = self.to_string();
        match self {
            Self::Unknown { location, known, .. } => {
                let names = || known.iter().map(String::as_str);
                let help = match suggest(location, names()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it declares {}", listed(names())),
                };
                Diagnostic::error(codes::UNKNOWN_LOCATION, message).help(help)
            }
            Self::Undeclared { location, .. } => {
                let help = format!(
                    "declare `{location}` again in `{FILE_NAME}`, or name another location in the component's \
                     `deploymentLocation`"
                );
                Diagnostic::error(codes::UNKNOWN_LOCATION, message).help(help)
            }
            Self::OtherManager { declared, has, .. } => Diagnostic::error(codes::WRONG_MANAGER, message)
                .related(declared.clone(), "declared here")
                .help(format!("set the component's `resourceManager` to `{has}`")),
        }
    }
}

/// Returns the folder of a package: `root` joined with `package.path`.
///
/// # Errors
/// Returns an error if the folder does not exist, or contains no descriptor with the name `package.descriptor`.
fn package_folder(root: &Path, package: &PackageOf, overlay: &Overlay) -> Result<PathBuf, Box<Diagnostic>> {
    let folder = root.join(&package.path);
    folder.metadata().map_err(|error| unreadable(&folder, &error))?;
    let files = descriptors_in(&folder, &RESOURCE).into_iter().chain(old_descriptor_in(&folder));
    let names = files.filter_map(|file| match overlay.load(&file).descriptor? {
        Descriptor::Resource(resource) => Some(resource.name.as_ref()?.value.clone()),
        Descriptor::Assembly(_) => None,
    });
    let names: Vec<DescriptorName> = names.collect();
    if names.contains(&package.descriptor) {
        return Ok(folder);
    }
    let message = format!("there is no package of `{}` in `{}`", package.descriptor, shown(&folder));
    let diagnostic = Diagnostic::error(codes::NOT_IN_CATALOG, message);
    Err(Box::new(match names.first() {
        Some(name) => diagnostic.help(format!("it is the package of `{name}`")),
        None => diagnostic.help(format!("the package of a resource has one of {}", listed(RESOURCE))),
    }))
}

/// Returns the absolute path without links.
pub(crate) fn real(path: &Path) -> Result<PathBuf, Diagnostics> {
    // An empty path means the working folder: `Path::parent` returns an empty path for a bare file name.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    path.canonicalize().map_err(|error| vec![*unreadable(path, &error)].into())
}

/// Finds the nearest project file at or above a path.
fn find_file(start: &Path) -> Result<Option<PathBuf>, Diagnostics> {
    for folder in start.ancestors() {
        let file = folder.join(FILE_NAME);
        // A file that can't be read counts too, so that reading it reports the error.
        if file.symlink_metadata().is_ok() {
            return Ok(Some(file));
        }
        let other = folder.join("windlass.yml");
        if other.symlink_metadata().is_ok() {
            let message = format!("`{}` is not read: a project file is called `{FILE_NAME}`", shown(&other));
            let diagnostic =
                Diagnostic::error(codes::FILE_NAME, message).help(format!("rename it to `{FILE_NAME}`"));
            return Err(vec![diagnostic].into());
        }
    }
    Ok(None)
}
