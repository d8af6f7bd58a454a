//! Reads a package folder into a [`Package`]: the content and the executable bit of each file, and the driver
//! bindings of the descriptor.
//!
//! All files of the folder belong to the package, with these exceptions:
//!
//! - the folders `_lmctl` and `__pycache__`, and folders whose names begin with a dot;
//! - a top-level `Contains`, which contains other packages, and a top-level `tests`;
//! - READMEs, backup files of editors, and the files that `.windlassignore` lists.
//!
//! A link may point to a file of the same package, and is stored as a copy of that file.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use windlass_descriptor::property::PropertyDecl;
use windlass_descriptor::resource::{ActionDecl, DriverDecl};
use windlass_descriptor::template::Value;
use windlass_descriptor::{Descriptor, ResourceDescriptor};
use windlass_driver::{Binding, Bindings, CommandArgument, Package};
use windlass_model::record::PackageFile;
use windlass_model::{DescriptorName, PropertyName};
use windlass_source::{Code, Diagnostic, Diagnostics, files};

use crate::codes;
use crate::disk::{entries_in, shown, unreadable};
use crate::ignored::Ignored;
use crate::layout::{CONTAINS, RESOURCE, descriptors_in};
use crate::load::load;

/// Maximum number of files in a package.
pub const MAX_FILES: usize = 4096;

/// Maximum total size of a package's files in bytes.
pub const MAX_BYTES: u64 = 64 << 20;

/// The name of the subfolder with the test cases of a package. A [`Package`] does not contain the files of this
/// subfolder.
pub const TESTS: &str = "tests";

/// Maximum folder depth in a package.
const MAX_DEPTH: usize = 32;

/// Creates the package of a resource from the resource's descriptor and the files in `folder`.
///
/// # Errors
/// The errors of [`files_in`].
pub(crate) fn read(
    name: &DescriptorName,
    resource: &ResourceDescriptor,
    folder: &Path,
) -> Result<Package, Diagnostics> {
    Ok(Package::new(name.clone(), bindings(resource), files_in(folder)?))
}

/// Reads the package in a folder. The descriptor of the package is the file `resource.yaml` or
/// `Definitions/lm/resource.yaml` in the folder. Returns `None` if the folder contains no resource descriptor.
///
/// # Errors
/// Returns an error if the descriptor has errors, if a file can't be read, or if a file is not allowed in a package.
pub fn package_in(folder: &Path) -> Result<Option<Package>, Diagnostics> {
    let Some(file) = descriptors_in(folder, &RESOURCE).into_iter().next() else { return Ok(None) };
    let loaded = load(&file);
    match loaded.descriptor {
        Some(Descriptor::Resource(resource)) if !loaded.diagnostics.has_errors() => match &resource.name {
            Some(name) => read(&name.value, &resource, folder).map(Some),
            None => Err(loaded.diagnostics),
        },
        _ => Err(loaded.diagnostics),
    }
}

/// Reads the files in the folder of a package, and sorts them by path. The result leaves out READMEs and other files
/// that [do not belong to a package](self).
///
/// # Errors
/// Returns an error if a file can't be read, or if a file is not allowed in a package.
pub fn files_in(folder: &Path) -> Result<Vec<PackageFile>, Diagnostics> {
    let (ignored, diagnostics) = Ignored::of(folder);
    // If the folder is missing, reading it reports the error.
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut reader =
        Reader { root: folder, real, ignored, files: Vec::new(), bytes: 0, full: false, diagnostics };
    reader.folder(folder, 0);
    if reader.diagnostics.has_errors() {
        reader.diagnostics.sort();
        return Err(reader.diagnostics);
    }
    reader.files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(reader.files)
}

fn bindings(resource: &ResourceDescriptor) -> Bindings {
    let drivers = |action: &ActionDecl| action.drivers.iter().map(binding).collect();
    Bindings {
        transitions: resource.transitions.iter().map(|(name, action)| (*name, drivers(action))).collect(),
        operations: resource
            .operations
            .iter()
            .map(|(name, action)| (name.to_string(), drivers(action)))
            .collect(),
        commands: resource
            .commands
            .iter()
            .map(|(name, action)| (name.to_string(), drivers(action)))
            .collect(),
        arguments: resource
            .commands
            .iter()
            .filter(|(_, command)| !command.properties.is_empty())
            .map(|(name, command)| (name.to_string(), arguments(command)))
            .collect(),
        default: resource.default_drivers.iter().map(binding).collect(),
        queries: resource.queries.iter().map(binding).collect(),
    }
}

fn arguments(command: &ActionDecl) -> BTreeMap<PropertyName, CommandArgument> {
    let argument = |declared: &PropertyDecl| CommandArgument {
        required: declared.required,
        sensitive: declared.sensitive,
        default: declared.effective().and_then(Value::literal).map(str::to_owned),
    };
    command.properties.iter().map(|(name, declared)| (name.clone(), argument(declared))).collect()
}

fn binding(driver: &DriverDecl) -> Binding {
    Binding {
        driver: driver.driver.clone(),
        infrastructure: driver.infrastructure.clone(),
        properties: driver.properties.clone().into_iter().collect(),
    }
}

struct Reader<'a> {
    root: &'a Path,
    /// The absolute path of `root`, without links. The target of a link is compared with this path.
    real: PathBuf,
    ignored: Ignored,
    files: Vec<PackageFile>,
    bytes: u64,
    full: bool,
    diagnostics: Diagnostics,
}

impl Reader<'_> {
    fn refuse(&mut self, code: Code, message: String, help: &str) {
        self.diagnostics.push(Diagnostic::error(code, message).help(help));
    }

    fn folder(&mut self, folder: &Path, depth: usize) {
        let entries = match entries_in(folder) {
            Ok(entries) => entries,
            Err(diagnostic) => return self.diagnostics.push(diagnostic),
        };
        for path in entries {
            match path.symlink_metadata() {
                _ if self.full => return,
                Ok(metadata) if self.is_ignored(&path, metadata.is_dir()) => {}
                Ok(metadata) if metadata.is_dir() && is_left_out(&path, depth) => {}
                Ok(metadata) if metadata.is_dir() && depth == MAX_DEPTH => self.too_large(&path),
                Ok(metadata) if metadata.is_dir() => self.folder(&path, depth + 1),
                Ok(metadata) if metadata.is_symlink() => self.link(&path),
                Ok(metadata) => self.file(&path, &metadata),
                Err(error) => self.diagnostics.push(unreadable(&path, &error)),
            }
        }
    }

    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let relative = path.strip_prefix(self.root).ok().and_then(Path::to_str);
        relative.is_some_and(|path| self.ignored.has(path, is_folder))
    }

    fn link(&mut self, path: &Path) {
        let help = "put a copy of the file there";
        match path.canonicalize().and_then(|target| Ok((target.metadata()?, target))) {
            Ok((_, target)) if !target.starts_with(&self.real) => {
                let message =
                    format!("`{}` is a link out of the package, to `{}`", shown(path), shown(&target));
                self.refuse(codes::LINK, message, help);
            }
            Ok((metadata, _)) if metadata.is_dir() => {
                let message =
                    format!("`{}` is a link to a folder, and a package may link to files only", shown(path));
                self.refuse(codes::LINK, message, "put a folder with copies of the files there");
            }
            Ok((metadata, _)) => self.file(path, &metadata),
            Err(_) => {
                let message = format!("`{}` is a link to a missing file", shown(path));
                self.refuse(codes::LINK, message, help);
            }
        }
    }

    fn file(&mut self, path: &Path, metadata: &Metadata) {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        let Some(name) = relative.to_str() else {
            let message = format!("the name of `{}` is not UTF-8", shown(path));
            return self.refuse(codes::NOT_A_FILE, message, "rename it");
        };
        if !metadata.is_file() {
            let message = format!("`{}` is neither a file nor a folder", shown(path));
            return self.refuse(codes::NOT_A_FILE, message, "move it out of the package");
        }
        self.bytes += metadata.len();
        if self.files.len() == MAX_FILES || self.bytes > MAX_BYTES {
            return self.too_large(path);
        }
        match files::read(path, usize::try_from(MAX_BYTES).unwrap_or(usize::MAX)) {
            Ok(content) => self.files.push(PackageFile {
                path: name.to_owned(),
                executable: metadata.permissions().mode() & 0o111 != 0,
                content,
            }),
            Err(error) => self.diagnostics.push(unreadable(path, &error.into())),
        }
    }

    fn too_large(&mut self, path: &Path) {
        self.full = true;
        let message = format!(
            "the package `{}` has more than {MAX_FILES} files, {} MiB or {MAX_DEPTH} levels of folders; `{}` is beyond that",
            shown(self.root),
            MAX_BYTES >> 20,
            shown(path)
        );
        self.refuse(codes::PACKAGE_TOO_LARGE, message, "let the scripts download large files");
    }
}

/// Tells whether a folder is excluded from the package because of its name, such as `__pycache__`. `depth` is 0 for
/// a folder directly in the package folder. Folders with the names `Contains` and `tests` are excluded only at this
/// depth.
fn is_left_out(folder: &Path, depth: usize) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.starts_with('.')
        || matches!(name.as_str(), "_lmctl" | "__pycache__")
        || (depth == 0 && (name == CONTAINS || name == TESTS))
}
