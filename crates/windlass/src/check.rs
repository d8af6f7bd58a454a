//! Checks of descriptors, their packages and the project file. A check reports all problems.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};
use windlass_descriptor::document::{Component, ReferenceDecl};
use windlass_descriptor::{
    AssemblyDescriptor, Catalog, Descriptor, MemoryCatalog, Missing, check, check_lists, read,
};
use windlass_driver::Registry;
use windlass_manifest::is_manifest;
use windlass_model::DescriptorName;
use windlass_model::name::DescriptorKind;
use windlass_project::{DiskCatalog, Overlay, Project, find_descriptor};
use windlass_source::files::MAX_SIZE;
use windlass_source::{Code, Diagnostic, Diagnostics, Place, Severity, Source};

use crate::desired::{open, packages};
use crate::error::Error;
use crate::manifests::Manifests;
use crate::nesting;
use crate::open::drivers;
use crate::placements::{Chosen, chosen};
use crate::programs::ProgramCheck;
use crate::published::refused;
use crate::runtimes::RuntimeRegistry;
use crate::script_files::ScriptFiles;

/// The result of a check.
#[derive(Debug, Clone, Serialize)]
pub struct CheckView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// Number of errors.
    pub errors: usize,
    /// Number of warnings.
    pub warnings: usize,
    /// The files that were repaired before the check; empty unless a repair was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<RepairedFile>,
    /// All diagnostics, sorted by file and place.
    pub diagnostics: Diagnostics,
}

impl CheckView {
    pub(crate) fn new(mut diagnostics: Diagnostics) -> Self {
        // Sorting puts equal diagnostics next to each other.
        diagnostics.sort();
        let mut unique = diagnostics.into_vec();
        unique.dedup();
        let diagnostics = Diagnostics::from(unique);
        Self {
            version: 1,
            errors: diagnostics.count(Severity::Error),
            warnings: diagnostics.count(Severity::Warning),
            repaired: Vec::new(),
            diagnostics,
        }
    }
}

/// A file that was repaired.
#[derive(Debug, Clone, Serialize)]
pub struct RepairedFile {
    /// The path of the file, for display.
    pub file: String,
    /// The fixes that were applied to the file.
    pub fixes: Vec<AppliedFix>,
    /// The text of the file before the repair.
    #[serde(skip)]
    pub before: String,
    /// The text of the file after the repair.
    #[serde(skip)]
    pub after: String,
}

/// A fix that was applied.
#[derive(Debug, Clone, Serialize)]
pub struct AppliedFix {
    /// The code of the diagnostic that offered the fix.
    pub code: Code,
    /// The fix, as an instruction, such as ``write `description` ``.
    pub description: String,
    /// The place of the diagnostic that offered the fix. The line and the column refer to the text that the check read
    /// before the fix was applied.
    #[serde(serialize_with = "line_and_column")]
    pub place: Place,
}

fn line_and_column<S: Serializer>(place: &Place, serializer: S) -> Result<S::Ok, S::Error> {
    let start = place.start();
    BTreeMap::from([("line", start.line), ("column", start.column)]).serialize(serializer)
}

/// Checks files and folders. A folder that contains an assembly is checked with everything that the assembly
/// uses. Any other folder is checked with all descriptors in it.
///
/// # Errors
///
/// Fails only if the working folder can't be determined. All other problems are part of the result.
pub fn check_paths(paths: &[PathBuf], folders: &[PathBuf]) -> Result<CheckView, Error> {
    let (overlay, runtimes, drivers) = (Overlay::default(), RuntimeRegistry::default(), drivers());
    let (overlay, runtimes, drivers) = (&overlay, &runtimes, &drivers);
    check_over(CheckInput { paths, folders, overlay, runtimes, drivers, scripts: None })
}

/// The input of a check.
#[derive(Debug, Clone, Copy)]
pub struct CheckInput<'a> {
    /// The files and folders to check.
    pub paths: &'a [PathBuf],
    /// The folders with further descriptors.
    pub folders: &'a [PathBuf],
    /// Texts that are read in place of files, for example the buffers of an editor.
    pub overlay: &'a Overlay,
    /// The kinds of runtimes that locations may have.
    pub runtimes: &'a RuntimeRegistry,
    /// The drivers that check packages. `windlass.yaml` may contain settings for these drivers.
    pub drivers: &'a Registry,
    /// The files among which the check looks for the scripts that a manifest names; `None` skips this part of
    /// the check.
    pub scripts: Option<&'a ScriptFiles>,
}

/// Checks files and folders like [`check_paths`]. The caller also chooses the overlay, the kinds of runtimes,
/// the drivers, and the files among which the check looks for scripts.
///
/// # Errors
///
/// Fails for the reasons of [`check_paths`].
pub fn check_over(input: CheckInput<'_>) -> Result<CheckView, Error> {
    let CheckInput { paths, folders, overlay, runtimes, drivers, scripts } = input;
    let kinds = runtimes.kinds();
    let here = std::env::current_dir().map_err(Error::WorkingFolder)?;
    let mut diagnostics = Diagnostics::default();
    let mut manifests = Manifests::new(scripts);
    let mut project_files = BTreeSet::new();
    for path in paths {
        match Project::open_with(path, &here, overlay.clone(), &kinds, drivers) {
            Ok(project) => {
                diagnostics.extend(project.warnings().clone());
                if let Some(file) = project.file().filter(|file| project_files.insert(file.to_path_buf())) {
                    diagnostics.extend(refused(file, overlay, runtimes, drivers));
                }
                match manifest_of(&project, path) {
                    Some(manifest) => manifests.add(&manifest),
                    None => check_path((&project, runtimes), path, folders, &mut diagnostics),
                }
            }
            Err(problems) => diagnostics.extend(problems),
        }
    }
    diagnostics.extend(manifests.finish());
    Ok(CheckView::new(diagnostics))
}

/// Checks a text that is not in a file, such as the standard input. Messages show `name` in place of a file name.
///
/// If the text is a descriptor, the check looks for other descriptors in the files below `folders`. If the text is a
/// manifest, the check looks for the scripts of the manifest among `scripts`; `None` skips this part of the check.
///
/// Each file below `folders` has a maximum size: [`MAX_SIZE`] bytes, or the size of the text if the text is larger.
pub fn check_text(
    name: &str,
    text: Vec<u8>,
    folders: &[PathBuf],
    scripts: Option<&ScriptFiles>,
) -> CheckView {
    let limit = text.len().max(MAX_SIZE);
    let source = match Source::from_bytes_with_limit(name, text, limit) {
        Ok(source) => source,
        Err(diagnostic) => return CheckView::new(vec![*diagnostic].into()),
    };
    let mut manifests = Manifests::new(scripts);
    if is_manifest(source.text()) {
        manifests.add(&source);
        return CheckView::new(manifests.finish());
    }
    let (catalog, mut diagnostics) = DiskCatalog::scan_with(folders, &Overlay::default().with_limit(limit));
    let read = read(&source);
    diagnostics.extend(read.diagnostics);
    if let Some(descriptor) = read.descriptor {
        diagnostics.extend(checked(&descriptor, &catalog));
    }
    diagnostics.extend(manifests.finish());
    CheckView::new(diagnostics)
}

fn check_path(
    (project, runtimes): (&Project, &RuntimeRegistry),
    path: &Path,
    folders: &[PathBuf],
    diagnostics: &mut Diagnostics,
) {
    if path.is_dir() && find_descriptor(path).is_err() {
        return check_folder(project, runtimes, path, diagnostics);
    }
    match open(project, path, folders) {
        Ok(opened) => {
            diagnostics.extend(opened.diagnostics);
            let assembly = Descriptor::Assembly(opened.assembly);
            diagnostics.extend(checked(&assembly, &opened.catalog));
            if let Descriptor::Assembly(assembly) = &assembly {
                nesting::check([assembly.clone()], &opened.catalog, diagnostics);
            }
            let programs = ProgramCheck { project, catalog: &opened.catalog, runtimes };
            check_parts(programs, &assembly, diagnostics);
        }
        // The file may also contain a single resource. The resource is checked without an assembly.
        Err(Error::Input(problems)) => match by_itself(project, path) {
            Some((resource, found)) => {
                diagnostics.extend(found);
                if let Some(resource) = resource {
                    diagnostics.extend(check(&resource, &MemoryCatalog::new(), Missing::Tolerated));
                }
            }
            None => diagnostics.extend(problems),
        },
        Err(_) => {}
    }
}

/// Checks a descriptor. If a component of an assembly descriptor has the key `each`, also checks the list in this
/// key. Such a component gets one node for each entry of the list.
fn checked(descriptor: &Descriptor, catalog: &dyn Catalog) -> Diagnostics {
    let mut found = check(descriptor, catalog, Missing::Tolerated);
    if let Descriptor::Assembly(assembly) = descriptor {
        found.extend(check_lists(assembly));
    }
    found
}

/// Returns the text of a file if the file is an application manifest.
fn manifest_of(project: &Project, path: &Path) -> Option<Arc<Source>> {
    let source = path.is_file().then(|| project.overlay().source(path).ok())??;
    is_manifest(source.text()).then_some(source)
}

/// Reads a file. For a resource, returns the descriptor with the problems of its text. For a kind of document that
/// windlass does not use, such as `assembly-template::shop::1.0`, returns only warnings. For any other file, returns
/// `None`.
fn by_itself(project: &Project, path: &Path) -> Option<(Option<Descriptor>, Diagnostics)> {
    let read = path.is_file().then(|| project.overlay().load(path))?;
    match &read.descriptor {
        Some(Descriptor::Resource(_)) => Some((read.descriptor, read.diagnostics)),
        None if !read.diagnostics.is_empty() && !read.diagnostics.has_errors() => {
            Some((None, read.diagnostics))
        }
        _ => None,
    }
}

/// Checks the resources and nested assemblies of an assembly. For each reference, also checks the resource that
/// [`newest_resource`] returns.
fn check_parts(programs: ProgramCheck<'_>, assembly: &Descriptor, diagnostics: &mut Diagnostics) {
    let ProgramCheck { project, catalog, .. } = programs;
    let mut checked_programs = BTreeSet::new();
    let mut seen: BTreeSet<DescriptorName> = BTreeSet::new();
    let mut open = vec![assembly.clone()];
    while let Some(descriptor) = open.pop() {
        let Descriptor::Assembly(assembly) = &descriptor else { continue };
        diagnostics.extend(misplaced(project, assembly));
        diagnostics.extend(programs.missing(assembly, &mut checked_programs));
        let made = assembly.composition.values().filter_map(|part| Some(part.kind.as_ref()?.value.clone()));
        let made = made.map(|name| (name, true));
        let found =
            assembly.references.values().filter_map(|of| Some((newest_resource(of, catalog)?, false)));
        for (name, is_read) in made.chain(found) {
            if !seen.insert(name.clone()) {
                continue;
            }
            if let Some(part) = catalog.find(&name) {
                if !is_read {
                    diagnostics.extend(project.overlay().load(Path::new(part.source().name())).diagnostics);
                }
                diagnostics.extend(checked(&part, catalog));
                open.push(part);
            }
        }
    }
    let there =
        |name: &&DescriptorName| name.kind == DescriptorKind::Resource && catalog.find(name).is_some();
    packages(catalog, seen.iter().filter(there), project.drivers(), diagnostics);
}

/// Returns an error for each component whose properties `deploymentLocation` and `resourceManager` select no
/// location of the project. If one of the two properties contains a `${…}`, the component is not checked
/// here, because the check does not know the value of the `${…}`.
fn misplaced(project: &Project, assembly: &AssemblyDescriptor) -> Vec<Diagnostic> {
    let of_component = |component: &Component| {
        let Chosen::Literal(placement, span) = chosen(component) else { return None };
        let error = project.location(&placement).err()?;
        Some(error.diagnostic().at(assembly.source.place(span)))
    };
    assembly.composition.values().filter_map(of_component).collect()
}

/// Returns the newest resource of the catalog that a reference accepts. For example, a reference of the type
/// `resource::network::^1.0` accepts `resource::network::1.2`. The section `queries` of this resource names the
/// drivers that search for an existing network. For a reference to an assembly, returns `None`.
fn newest_resource(reference: &ReferenceDecl, catalog: &DiskCatalog) -> Option<DescriptorName> {
    let kind = &reference.kind.as_ref()?.value;
    let accepted = catalog.names().into_iter().filter(|name| !kind.is_assembly() && kind.accepts(name));
    accepted.max_by(|one, other| one.version.cmp(&other.version))
}

fn check_folder(project: &Project, runtimes: &RuntimeRegistry, path: &Path, diagnostics: &mut Diagnostics) {
    let overlay = project.overlay();
    let (catalog, found) = DiskCatalog::scan_with(&[path.to_owned()], overlay);
    diagnostics.extend(found);
    let names = catalog.names();
    if names.is_empty() {
        if let Err(diagnostic) = find_descriptor(path) {
            diagnostics.push(*diagnostic);
        }
        return;
    }
    for name in &names {
        if let Some(descriptor) = catalog.find(name) {
            diagnostics.extend(overlay.load(Path::new(descriptor.source().name())).diagnostics);
            diagnostics.extend(checked(&descriptor, &catalog));
        }
    }
    let assemblies = names.iter().filter_map(|name| match catalog.find(name)? {
        Descriptor::Assembly(assembly) => Some(assembly),
        Descriptor::Resource(_) => None,
    });
    let assemblies: Vec<_> = assemblies.collect();
    diagnostics.extend(assemblies.iter().flat_map(|assembly| misplaced(project, assembly)));
    let (programs, mut seen) = (ProgramCheck { project, catalog: &catalog, runtimes }, BTreeSet::new());
    diagnostics.extend(assemblies.iter().flat_map(|assembly| programs.missing(assembly, &mut seen)));
    nesting::check(assemblies, &catalog, diagnostics);
    let resources = names.iter().filter(|name| name.kind == DescriptorKind::Resource);
    packages(&catalog, resources, project.drivers(), diagnostics);
}
