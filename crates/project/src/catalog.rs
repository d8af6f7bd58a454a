//! Descriptors on disk, found by name.
//!
//! # Search path
//!
//! For an assembly, [`DiskCatalog::around`] searches the following places. Their order has no effect.
//!
//! 1. the packages in the package folder of the assembly, and in its subfolder `Contains/`;
//! 2. the packages directly in each folder above the package folder, up to the project's root;
//! 3. every `--catalog` folder, with all folders below it;
//! 4. every folder that a key `package` in `windlass.yaml` names, with all folders below it.
//!
//! The packages in the `Contains/` folder of another assembly are found only if a component has that assembly
//! as its type. So two assemblies side by side may each contain a package of the same name.
//!
//! If two files contain descriptors of the same name, each use of the name is an error that names both files.
//! No file takes precedence, because a new file near an assembly must not change the assembly silently.
//!
//! The search skips `_lmctl`, `target`, `node_modules`, folders whose name begins with a dot, and links to a
//! folder that was already visited. In a package, the search opens only files with the path of a descriptor, such as
//! `assembly.yaml` or `Definitions/lm/resource.yaml`. The search ignores a `resource.yaml` that is not a descriptor,
//! because other programs use this file name too. If the search opened every YAML file, windlass would read whole
//! repositories.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use windlass_descriptor::{AssemblyDescriptor, Catalog, Descriptor, Read, read_in};
use windlass_driver::Package;
use windlass_model::DescriptorName;
use windlass_source::{Diagnostic, Diagnostics, Place, Span, suggest};

use crate::codes;
use crate::disk::shown;
use crate::layout::package_of;
use crate::lmproject::surroundings;
use crate::overlay::Overlay;
use crate::package;
use crate::project::{Project, real};
use crate::walk::{Contained, Walk, as_warning};

/// An index of descriptors on disk, by name.
#[derive(Debug, Default)]
pub struct DiskCatalog {
    found: BTreeMap<DescriptorName, Vec<Found>>,
}

/// A file that contains a descriptor.
#[derive(Debug)]
struct Found {
    file: PathBuf,
    descriptor: Descriptor,
    diagnostics: Diagnostics,
}

impl DiskCatalog {
    /// Finds all descriptors in and below some folders. Two files with descriptors of the same name are an
    /// error, even if the name is not used.
    ///
    /// An unreadable file or folder is a warning, because it may not be needed.
    pub fn scan(roots: &[PathBuf]) -> (Self, Diagnostics) {
        Self::scan_with(roots, &Overlay::default())
    }

    /// Finds descriptors as [`scan`](Self::scan) does. If `overlay` has a text for a file, this text is used instead of
    /// the file's content.
    pub fn scan_with(roots: &[PathBuf], overlay: &Overlay) -> (Self, Diagnostics) {
        let mut search = Search { overlay: overlay.clone(), ..Search::default() };
        for root in roots {
            search.below(root, Contained::Open);
        }
        let names: BTreeSet<_> = search.catalog.found.keys().cloned().collect();
        let mut diagnostics = search.finish();
        diagnostics.extend(names.iter().filter_map(|name| search.catalog.conflict(name)));
        (search.catalog, diagnostics)
    }

    /// Finds the descriptors that an assembly can use, by the rules of the [module](self). `file` is the file of the
    /// assembly, and `folders` are the `--catalog` folders.
    ///
    /// The assembly uses some of these descriptors, directly or through nested assemblies. The diagnostics contain:
    ///
    /// - for each used name: the problems in all descriptors of this name, and an error if several files contain
    ///   descriptors of this name;
    /// - the errors of the search, for example for a dangling link;
    /// - the warnings of the search, but only if a used descriptor is missing. The reason may be an unreadable file, or
    ///   a descriptor without a valid name.
    ///
    /// The caller itself must report missing descriptors, and the problems in the text of `file`.
    pub fn around(
        file: &Path,
        assembly: &AssemblyDescriptor,
        project: &Project,
        folders: &[PathBuf],
    ) -> (Self, Diagnostics) {
        let mut search = Search { overlay: project.overlay().clone(), ..Search::default() };
        let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        search.upwards(&file, project.root(), assembly.name.is_some());
        for folder in folders.iter().chain(project.packages()) {
            search.below(folder, Contained::Private);
        }
        let used = search.close_over(assembly);
        let mut diagnostics = search.finish();
        if used.iter().all(|name| search.catalog.found.contains_key(name)) {
            // No descriptor is missing, so warnings about unreadable files are irrelevant.
            diagnostics = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        }
        for name in &used {
            diagnostics.extend(search.catalog.conflict(name));
            // The caller has read the assembly's own file and reports its problems.
            let found =
                search.catalog.found.get(name).into_iter().flatten().filter(|found| found.file != file);
            diagnostics.extend(found.flat_map(|found| found.diagnostics.clone()));
        }
        diagnostics.sort();
        (search.catalog, diagnostics)
    }

    /// Returns the file of a descriptor, as an absolute path without links.
    pub fn file(&self, name: &DescriptorName) -> Option<&Path> {
        self.first(name).map(|found| found.file.as_path())
    }

    /// Reads the package of a resource: its files and its driver bindings.
    ///
    /// # Errors
    /// Returns all problems of all files. Each of these cases is an error:
    ///
    /// - No file contains a resource descriptor with this name, or more than one file contains one.
    /// - The descriptor has errors.
    /// - A file of the package can't be read.
    /// - A file is not allowed in a package.
    pub fn package(&self, name: &DescriptorName) -> Result<Package, Diagnostics> {
        let Some(found) = self.first(name) else { return Err(vec![self.missing(name)].into()) };
        if let Some(conflict) = self.conflict(name) {
            return Err(vec![conflict].into());
        }
        if found.diagnostics.has_errors() {
            return Err(found.diagnostics.clone());
        }
        match &found.descriptor {
            Descriptor::Resource(resource) => package::read(name, resource, &package_of(&found.file)),
            Descriptor::Assembly(_) => Err(vec![self.missing(name)].into()),
        }
    }

    fn first(&self, name: &DescriptorName) -> Option<&Found> {
        self.found.get(name)?.first()
    }

    fn missing(&self, name: &DescriptorName) -> Diagnostic {
        let message = format!("there is no package of the resource `{name}`");
        let diagnostic = Diagnostic::error(codes::NOT_IN_CATALOG, message);
        let names: Vec<String> = self.found.keys().map(ToString::to_string).collect();
        match suggest(&name.to_string(), names.iter().map(String::as_str)) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic
                .help("put it into `Contains/` beside the assembly, or name its folder with `--catalog`"),
        }
    }

    /// Returns the error for a name with descriptors in several files; `None` for any other name.
    fn conflict(&self, name: &DescriptorName) -> Option<Diagnostic> {
        let [first, others @ ..] = &self.found.get(name)?[..] else { return None };
        if others.is_empty() {
            return None;
        }
        let files: Vec<String> =
            [first].into_iter().chain(others).map(|found| format!("`{}`", shown(&found.file))).collect();
        let message = format!("`{name}` is in {} files: {}", files.len(), files.join(", "));
        let diagnostic = Diagnostic::error(codes::TWO_FILES, message)
            .at(name_place(&first.descriptor))
            .help("remove one, or give it another version");
        Some(others.iter().fold(diagnostic, |diagnostic, found| {
            diagnostic.related(name_place(&found.descriptor), "the same name")
        }))
    }
}

impl Catalog for DiskCatalog {
    fn find(&self, name: &DescriptorName) -> Option<Descriptor> {
        self.first(name).map(|found| found.descriptor.clone())
    }

    fn names(&self) -> Vec<DescriptorName> {
        self.found.keys().cloned().collect()
    }
}

/// Returns the place of a descriptor's name. If the descriptor has no name, returns the start of the text.
fn name_place(descriptor: &Descriptor) -> Place {
    let span = match descriptor {
        Descriptor::Assembly(assembly) => assembly.name.as_ref().map(|name| name.span),
        Descriptor::Resource(resource) => resource.name.as_ref().map(|name| name.span),
    };
    descriptor.source().place(span.unwrap_or(Span::empty(0)))
}

/// A search for descriptors. The field `catalog` contains the descriptors that were found so far.
#[derive(Default)]
struct Search {
    walk: Walk,
    catalog: DiskCatalog,
    opened: BTreeSet<PathBuf>,
    overlay: Overlay,
    diagnostics: Diagnostics,
}

impl Search {
    /// Searches for packages directly in these folders: the folder `Contains` of the assembly's package, the package
    /// folder itself, and each folder above the package folder up to and including `root`.
    ///
    /// `file` is the file of the assembly. If `named` is true, the assembly has a name, and the catalog also gets the
    /// assembly itself.
    fn upwards(&mut self, file: &Path, root: &Path, named: bool) {
        let package = package_of(file);
        self.walk.contained_in(&package);
        for folder in package.ancestors().take_while(|folder| *folder == package || folder.starts_with(root))
        {
            self.walk.packages_in(folder);
        }
        self.walk.files.extend(named.then(|| file.to_path_buf()));
        self.index();
    }

    /// Searches a folder that the user has named, and all folders below it. `contained` tells whether the search also
    /// enters the `Contains` folders of packages below `folder`.
    fn below(&mut self, folder: &Path, contained: Contained) {
        match real(folder) {
            Ok(folder) => self.walk.below(&folder, contained),
            Err(diagnostics) => self.diagnostics.extend(diagnostics),
        }
        self.index();
    }

    /// Finds the descriptors that an assembly uses, directly or through nested assemblies, and returns their names.
    ///
    /// The package of a nested assembly may have a folder `Contains` with further packages. The function adds these
    /// packages to the catalog.
    fn close_over(&mut self, assembly: &AssemblyDescriptor) -> BTreeSet<DescriptorName> {
        let mut used = BTreeSet::new();
        let mut walked = BTreeSet::new();
        let mut open = component_types(assembly);
        while let Some(name) = open.pop() {
            for (file, types) in self.nested(&name, &walked) {
                self.walk.contained_in(&package_of(&file));
                walked.insert(file);
                open.extend(types);
            }
            used.insert(name);
            // A name can be used before the search finds its file. The package of this file is walked later.
            open.extend(self.index().into_iter().filter(|name| used.contains(name)));
        }
        used
    }

    /// Returns the files with an assembly of this name, except the files in `walked`. Each file comes with the types of
    /// the assembly's components.
    fn nested(
        &self,
        name: &DescriptorName,
        walked: &BTreeSet<PathBuf>,
    ) -> Vec<(PathBuf, Vec<DescriptorName>)> {
        let found = self.catalog.found.get(name).into_iter().flatten();
        let open = found.filter(|found| !walked.contains(&found.file));
        let assemblies = open.filter_map(|found| match &found.descriptor {
            Descriptor::Assembly(assembly) => Some((found.file.clone(), component_types(assembly))),
            Descriptor::Resource(_) => None,
        });
        assemblies.collect()
    }

    /// Opens the files that were found since the last call. Returns the names of the descriptors in these files.
    fn index(&mut self) -> Vec<DescriptorName> {
        let mut names = Vec::new();
        for file in std::mem::take(&mut self.walk.files) {
            if !self.opened.contains(&file) {
                match self.catalog.add(&file, &self.overlay) {
                    Ok(name) => names.extend(name),
                    Err(problem) => self.diagnostics.push(*problem),
                }
                self.opened.insert(file);
            }
        }
        names
    }

    fn finish(&mut self) -> Diagnostics {
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        diagnostics.extend(std::mem::take(&mut self.walk.diagnostics));
        diagnostics
    }
}

impl DiskCatalog {
    /// Adds a file if it contains a descriptor, and returns the name of the descriptor.
    ///
    /// # Errors
    /// Returns the problem if the file can't be used.
    fn add(&mut self, file: &Path, overlay: &Overlay) -> Result<Option<DescriptorName>, Box<Diagnostic>> {
        let source = match overlay.source(file) {
            Ok(source) => source,
            // A dangling link or a named pipe is an error, because it must be a mistake. An unreadable
            // regular file is only a warning, because it may be unrelated to this project.
            Err(diagnostic) if !file.is_file() => return Err(diagnostic),
            Err(diagnostic) => return Err(Box::new(as_warning(*diagnostic))),
        };
        let Read { descriptor, diagnostics } = read_in(&source, &surroundings(file));
        let Some(descriptor) = descriptor else { return Ok(None) };
        let Some(name) = descriptor.name().cloned() else {
            return unnamed(&descriptor, &diagnostics).map_or(Ok(None), |problem| Err(Box::new(problem)));
        };
        let found = Found { file: file.to_path_buf(), descriptor, diagnostics };
        let files = self.found.entry(name.clone()).or_default();
        files.push(found);
        files.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(Some(name))
    }
}

/// Returns the warning that a descriptor has no valid name. `diagnostics` are the problems of the descriptor. If one of
/// these problems concerns the name, the warning contains the place and the message of this problem.
///
/// Returns `None` for a resource that has neither transitions nor default drivers, because such a document is
/// probably not a descriptor.
fn unnamed(descriptor: &Descriptor, diagnostics: &Diagnostics) -> Option<Diagnostic> {
    let is_descriptor = match descriptor {
        Descriptor::Assembly(_) => true,
        Descriptor::Resource(resource) => {
            !resource.transitions.is_empty() || !resource.default_drivers.is_empty()
        }
    };
    let codes = [windlass_descriptor::codes::NAME, windlass_descriptor::codes::MISSING_NAME];
    let cause = diagnostics.iter().find(|diagnostic| codes.contains(&diagnostic.code));
    let place = cause.and_then(Diagnostic::place).cloned().unwrap_or_else(|| name_place(descriptor));
    let message = "the descriptor has no valid name, so no assembly can use it";
    let diagnostic = Diagnostic::warning(codes::UNNAMED, message).at(place);
    let help =
        cause.map_or("it needs a `name`, such as `resource::web::1.0`", |cause| cause.message.as_str());
    is_descriptor.then(|| diagnostic.help(help))
}

/// Returns the descriptor names of an assembly's components.
fn component_types(assembly: &AssemblyDescriptor) -> Vec<DescriptorName> {
    assembly
        .composition
        .values()
        .filter_map(|part| part.kind.as_ref())
        .map(|kind| kind.value.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search calls `index` once for each used name. The work of all calls together must not grow with the square of
    /// the number of files.
    #[test]
    fn a_file_is_indexed_by_one_call_only() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
            std::fs::write(dir.path().join(name).join("resource.yaml"), "transitions: {}\n").unwrap();
        }
        let mut search = Search::default();
        search.walk.packages_in(dir.path());
        assert_eq!(search.walk.files.len(), 2);
        search.index();
        assert_eq!((search.walk.files.len(), search.opened.len()), (0, 2));
        search.walk.packages_in(dir.path());
        search.index();
        assert_eq!((search.walk.files.len(), search.opened.len()), (0, 2));
    }
}
