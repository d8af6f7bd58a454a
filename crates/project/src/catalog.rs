//! Descriptors on the disk, found by their names.
//!
//! # Where descriptors are looked for
//!
//! For an assembly ([`DiskCatalog::around`]), in this order, though the order decides nothing:
//!
//! 1. the packages in `Contains/` of its own package folder, and those directly in that folder;
//! 2. the packages directly in each folder above it, up to the project's root;
//! 3. every `--catalog` folder, with all folders below it.
//!
//! The `Contains/` of another assembly is private to it: what is in there can be reached once a component is made from
//! that assembly, and not before. So two assemblies side by side may each contain a package of the same name.
//!
//! Two files with one name are an error that names both, where that name is used. No file takes precedence: what an
//! assembly is made of must not depend on how near something lies.
//!
//! Passed over are `_lmctl`, `target`, `node_modules`, folders whose name begins with a dot, and links back to a
//! folder that has been entered. Only files in the layout of a package are opened, and of those the ones that are no
//! descriptor (other programs have a `resource.yaml` too) are left out in silence.

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

/// Descriptors on the disk, by name.
#[derive(Debug, Default)]
pub struct DiskCatalog {
    found: BTreeMap<DescriptorName, Vec<Found>>,
}

/// A file that has a descriptor.
#[derive(Debug)]
struct Found {
    file: PathBuf,
    descriptor: Descriptor,
    diagnostics: Diagnostics,
}

impl DiskCatalog {
    /// Finds all descriptors at and below some folders. Two files with one name are an error, used or not.
    ///
    /// What can't be read is a warning: it may be missed, or not.
    pub fn scan(roots: &[PathBuf]) -> (Self, Diagnostics) {
        Self::scan_with(roots, &Overlay::default())
    }

    /// Finds descriptors as [`scan`](Self::scan) does, with texts that stand for those of files.
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

    /// Finds what an assembly can be made of; the [module](self) has the rule. `file` is the assembly's, `folders` are
    /// those of `--catalog`.
    ///
    /// The diagnostics are those of everything that the assembly is made of, directly and through other assemblies:
    /// names in two files, and what is wrong with the text of a descriptor. That a descriptor is missing is for the
    /// check of the assembly to say; then files that can't be read, or have no usable name, are mentioned too.
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
            // Nothing is missing, so nothing hides in a file that could not be read.
            diagnostics = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        }
        for name in &used {
            diagnostics.extend(search.catalog.conflict(name));
            // The assembly's own text is its reader's to speak of.
            let found =
                search.catalog.found.get(name).into_iter().flatten().filter(|found| found.file != file);
            diagnostics.extend(found.flat_map(|found| found.diagnostics.clone()));
        }
        diagnostics.sort();
        (search.catalog, diagnostics)
    }

    /// Returns the file that a descriptor was found in, absolute and without links.
    pub fn file(&self, name: &DescriptorName) -> Option<&Path> {
        self.first(name).map(|found| found.file.as_path())
    }

    /// Reads the package of a resource: its files, and what its descriptor says of drivers.
    ///
    /// # Errors
    /// When the name is in no file or in two, the descriptor has mistakes, or a file can't be read or be part of a
    /// package; all problems of all files.
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
        let message = format!("there is no package of a resource `{name}`");
        let diagnostic = Diagnostic::error(codes::NOT_IN_CATALOG, message);
        let names: Vec<String> = self.found.keys().map(ToString::to_string).collect();
        match suggest(&name.to_string(), names.iter().map(String::as_str)) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic
                .help("put it into `Contains/` beside the assembly, or name its folder with `--catalog`"),
        }
    }

    /// Says that a name is in more than one file, if it is.
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

/// Returns the place of a descriptor's name.
fn name_place(descriptor: &Descriptor) -> Place {
    let span = match descriptor {
        Descriptor::Assembly(assembly) => assembly.name.as_ref().map(|name| name.span),
        Descriptor::Resource(resource) => resource.name.as_ref().map(|name| name.span),
    };
    descriptor.source().place(span.unwrap_or(Span::empty(0)))
}

/// A search, and the catalog that comes of it.
#[derive(Default)]
struct Search {
    walk: Walk,
    catalog: DiskCatalog,
    opened: BTreeSet<PathBuf>,
    overlay: Overlay,
    diagnostics: Diagnostics,
}

impl Search {
    /// Looks into the folders from an assembly's up to a root.
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

    /// Looks into a folder that the user has named, and all below it.
    fn below(&mut self, folder: &Path, contained: Contained) {
        match real(folder) {
            Ok(folder) => self.walk.below(&folder, contained),
            Err(diagnostics) => self.diagnostics.extend(diagnostics),
        }
        self.index();
    }

    /// Follows the components of an assembly, and opens what the assemblies among them contain. Returns all names.
    fn close_over(&mut self, assembly: &AssemblyDescriptor) -> BTreeSet<DescriptorName> {
        let mut used = BTreeSet::new();
        let mut open = component_types(assembly);
        while let Some(name) = open.pop() {
            if !used.insert(name.clone()) {
                continue;
            }
            let found = self.catalog.found.get(&name).into_iter().flatten();
            let nested: Vec<_> = found
                .filter_map(|found| match &found.descriptor {
                    Descriptor::Assembly(assembly) => Some((assembly.clone(), package_of(&found.file))),
                    Descriptor::Resource(_) => None,
                })
                .collect();
            for (assembly, package) in nested {
                self.walk.contained_in(&package);
                open.extend(component_types(&assembly));
            }
            self.index();
        }
        used
    }

    /// Opens the files that have been met and not been opened.
    fn index(&mut self) {
        for file in &self.walk.files {
            if self.opened.insert(file.clone()) {
                self.diagnostics.extend(self.catalog.add(file, &self.overlay));
            }
        }
    }

    fn finish(&mut self) -> Diagnostics {
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        diagnostics.extend(std::mem::take(&mut self.walk.diagnostics));
        diagnostics
    }
}

impl DiskCatalog {
    /// Adds a file, if it has a descriptor; returns why it can't be used.
    fn add(&mut self, file: &Path, overlay: &Overlay) -> Option<Diagnostic> {
        let source = match overlay.source(file) {
            Ok(source) => source,
            // Somebody meant a descriptor to be there; other files may be no business of this project's.
            Err(diagnostic) if file.is_symlink() && !file.exists() => return Some(*diagnostic),
            Err(diagnostic) => return Some(as_warning(*diagnostic)),
        };
        let Read { descriptor, diagnostics } = read_in(&source, &surroundings(file));
        let descriptor = descriptor?;
        let Some(name) = descriptor.name().cloned() else { return unnamed(&descriptor, &diagnostics) };
        let found = Found { file: file.to_path_buf(), descriptor, diagnostics };
        let files = self.found.entry(name).or_default();
        files.push(found);
        files.sort_by(|a, b| a.file.cmp(&b.file));
        None
    }
}

/// Says that a descriptor has no usable name; nothing of a document that is something else.
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
    let message = "the descriptor has no usable name, so nothing can be made from it";
    let diagnostic = Diagnostic::warning(codes::UNNAMED, message).at(place);
    let help = cause.map_or("it needs a `name`, as `resource::web::1.0`", |cause| cause.message.as_str());
    is_descriptor.then(|| diagnostic.help(help))
}

/// Returns the names that the components of an assembly are made from.
fn component_types(assembly: &AssemblyDescriptor) -> Vec<DescriptorName> {
    assembly
        .composition
        .values()
        .filter_map(|part| part.kind.as_ref())
        .map(|kind| kind.value.clone())
        .collect()
}
