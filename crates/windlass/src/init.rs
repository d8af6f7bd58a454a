//! Creation of the files of an example: an assembly with one component. The user then changes these files.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_model::DescriptorName;
use windlass_model::name::DescriptorKind;
pub use windlass_script::Style;

use crate::error::Error;
use crate::open::{Settings, Windlass};

/// The language of the scripts of a new package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Scripts for a POSIX shell.
    Shell,
    /// Python 3 without third-party packages.
    Python,
}

/// The files that [`init`] or [`new_package`] has created.
#[derive(Debug, Clone, Serialize)]
pub struct InitView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly or package. For example, `shop` is the name of an assembly with the descriptor
    /// `assembly::shop::1.0`.
    pub name: String,
    /// The paths of the files, relative to the folder.
    pub files: Vec<PathBuf>,
}

/// A file that is created in a new assembly or package.
struct NewFile {
    path: &'static str,
    text: &'static str,
    is_script: bool,
}

const fn document(path: &'static str, text: &'static str) -> NewFile {
    NewFile { path, text, is_script: false }
}

const fn script(path: &'static str, text: &'static str) -> NewFile {
    NewFile { path, text, is_script: true }
}

const PROJECT: NewFile = document("windlass.yaml", include_str!("init/windlass.yaml"));

const ASSEMBLY: NewFile = document("assembly.yaml", include_str!("init/assembly.yaml"));

/// The folder of the package in the new assembly.
const PACKAGE: &str = "Contains/greeter";

/// Returns the files of a new package. `$style` is the form of the input and output of the scripts: `plain`
/// or `full`. `$language` is the language of the scripts: `sh` or `python`.
macro_rules! package {
    ($style:literal, $language:literal: $($name:literal)*) => {
        const {
            &[
                document("resource.yaml", include_str!(concat!("init/", $style, "/resource.yaml"))),
                document("tests/1-install.yaml", include_str!(concat!("init/", $style, "/tests/1-install.yaml"))),
                document("tests/2-integrity.yaml", include_str!(concat!("init/", $style, "/tests/2-integrity.yaml"))),
                document("tests/3-uninstall.yaml", include_str!(concat!("init/", $style, "/tests/3-uninstall.yaml"))),
                $(script(
                    concat!("Lifecycle/script/scripts/", $name),
                    include_str!(concat!("init/", $style, "/", $language, "/", $name)),
                )),*
            ]
        }
    };
}

/// The Python module for scripts of the style [`Style::Full`], which exchange YAML documents with windlass.
/// The scripts read their input and print their answer by means of this module.
const PROTOCOL: NewFile =
    document("Lifecycle/script/lib/protocol.py", include_str!("init/full/python/protocol.py"));

/// Returns the files of a package, relative to its folder.
fn package_files(language: Language, style: Style) -> Vec<&'static NewFile> {
    let files: &[NewFile] = match (style, language) {
        (Style::Plain, Language::Shell) => {
            package!("plain", "sh": "Install.sh" "Integrity.sh" "Uninstall.sh")
        }
        (Style::Plain, Language::Python) => {
            package!("plain", "python": "Install.py" "Integrity.py" "Uninstall.py")
        }
        (_, Language::Shell) => package!("full", "sh": "Install.sh" "Integrity.sh" "Uninstall.sh"),
        (_, Language::Python) => package!("full", "python": "Install.py" "Integrity.py" "Uninstall.py"),
    };
    let protocol = (style != Style::Plain && language == Language::Python).then_some(&PROTOCOL);
    files.iter().chain(protocol).collect()
}

/// Creates an assembly in a folder. Creates the folder if it is missing, and a `windlass.yaml` if the folder belongs to
/// no project. The default of `name` is the name of the folder. For example, with the name `shop`, the descriptor is
/// `assembly::shop::1.0`.
///
/// # Errors
///
/// Fails if the name is invalid, if one of the files to create exists already, or if a file can't be written. Existing
/// files are never changed.
pub fn init(folder: &Path, name: Option<&str>, language: Language, style: Style) -> Result<InitView, Error> {
    let failed = |source| Error::Write { path: folder.to_owned(), source };
    let absolute = std::path::absolute(folder).map_err(failed)?;
    let of_folder = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.map(str::to_owned).or(of_folder).unwrap_or_default();
    let descriptor: DescriptorName = format!("assembly::{name}::1.0").parse()?;
    fs::create_dir_all(&absolute).map_err(failed)?;
    let windlass = Windlass::open(Settings::new(&absolute))?;
    // Without a `windlass.yaml` at or above the folder, the project is that of the working folder.
    let root = windlass.project().root();
    let is_inside = absolute.canonicalize().map_err(failed)?.starts_with(root);
    let needs_project = !is_inside || windlass.project().file().is_none();
    let own = needs_project.then_some(&PROJECT).into_iter().chain([&ASSEMBLY]);
    let own = own.map(|file| (PathBuf::from(file.path), file));
    let package = package_files(language, style).into_iter();
    let files: Vec<_> = own.chain(package.map(|file| (Path::new(PACKAGE).join(file.path), file))).collect();
    create_all(folder, &files, &descriptor)?;
    Ok(InitView { version: 1, name, files: files.into_iter().map(|(path, _)| path).collect() })
}

/// Creates the package of a resource, with test cases, in a folder. Creates the folder if it is missing. The default of
/// `name` is the name of the folder. For example, with the name `web`, the descriptor is `resource::web::1.0`.
///
/// # Errors
///
/// Fails if the name is invalid, if one of the files to create exists already, or if a file can't be written. Existing
/// files are never changed.
pub fn new_package(
    folder: &Path,
    name: Option<&str>,
    language: Language,
    style: Style,
) -> Result<InitView, Error> {
    let failed = |source| Error::Write { path: folder.to_owned(), source };
    let absolute = std::path::absolute(folder).map_err(failed)?;
    let of_folder = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.map(str::to_owned).or(of_folder).unwrap_or_default();
    let descriptor: DescriptorName = format!("resource::{name}::1.0").parse()?;
    fs::create_dir_all(&absolute).map_err(failed)?;
    let files = package_files(language, style).into_iter();
    let files: Vec<_> = files.map(|file| (PathBuf::from(file.path), file)).collect();
    create_all(folder, &files, &descriptor)?;
    Ok(InitView { version: 1, name, files: files.into_iter().map(|(path, _)| path).collect() })
}

/// Creates files. If one of them exists, creates none.
fn create_all(
    folder: &Path,
    files: &[(PathBuf, &NewFile)],
    descriptor: &DescriptorName,
) -> Result<(), Error> {
    if let Some(existing) = files.iter().map(|(path, _)| folder.join(path)).find(|path| path.exists()) {
        let source = io::Error::new(ErrorKind::AlreadyExists, "it exists already; name another folder");
        return Err(Error::Write { path: existing, source });
    }
    for (path, file) in files {
        let path = folder.join(path);
        create(&path, file, descriptor).map_err(|source| Error::Write { path, source })?;
    }
    Ok(())
}

fn create(path: &Path, file: &NewFile, descriptor: &DescriptorName) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let mode = if file.is_script { 0o777 } else { 0o666 };
    let placeholder = match descriptor.kind {
        DescriptorKind::Assembly => "assembly::NAME::1.0",
        DescriptorKind::Resource => "resource::greeter::1.0",
    };
    let text = file.text.replace(placeholder, &descriptor.to_string());
    File::options().write(true).create_new(true).mode(mode).open(path)?.write_all(text.as_bytes())
}
