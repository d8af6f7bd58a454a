//! A new assembly of one component, as a start for the user's own.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_model::DescriptorName;

use crate::error::Error;
use crate::open::{Settings, Windlass};

/// The language of the scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// POSIX shell.
    Shell,
    /// Python 3 without packages.
    Python,
}

/// The files that were created.
#[derive(Debug, Clone, Serialize)]
pub struct InitView {
    /// The version of this format.
    pub version: u32,
    /// The name of the assembly.
    pub name: String,
    /// The files, relative to the folder.
    pub files: Vec<PathBuf>,
}

/// A file of the new assembly.
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

const DESCRIPTORS: [NewFile; 2] = [
    document("assembly.yaml", include_str!("init/assembly.yaml")),
    document("Contains/greeter/resource.yaml", include_str!("init/resource.yaml")),
];

const SHELL: [NewFile; 3] = [
    script("Contains/greeter/Lifecycle/script/scripts/Install.sh", include_str!("init/sh/Install.sh")),
    script("Contains/greeter/Lifecycle/script/scripts/Integrity.sh", include_str!("init/sh/Integrity.sh")),
    script("Contains/greeter/Lifecycle/script/scripts/Uninstall.sh", include_str!("init/sh/Uninstall.sh")),
];

const PYTHON: [NewFile; 4] = [
    document("Contains/greeter/Lifecycle/script/lib/protocol.py", include_str!("init/python/protocol.py")),
    script("Contains/greeter/Lifecycle/script/scripts/Install.py", include_str!("init/python/Install.py")),
    script(
        "Contains/greeter/Lifecycle/script/scripts/Integrity.py",
        include_str!("init/python/Integrity.py"),
    ),
    script(
        "Contains/greeter/Lifecycle/script/scripts/Uninstall.py",
        include_str!("init/python/Uninstall.py"),
    ),
];

/// Creates an assembly in a folder, which is created if missing. `name` is the middle part of the descriptor's
/// name; the default is the name of the folder. A `windlass.yaml` is added if the folder belongs to no project.
///
/// # Errors
///
/// If the name is invalid, one of the files exists, or a file can't be written. Existing files are never
/// changed.
pub fn init(folder: &Path, name: Option<&str>, language: Language) -> Result<InitView, Error> {
    let failed = |source| Error::Write { path: folder.to_owned(), source };
    let absolute = std::path::absolute(folder).map_err(failed)?;
    let of_folder = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.map(str::to_owned).or(of_folder).unwrap_or_default();
    let descriptor: DescriptorName = format!("assembly::{name}::1.0").parse()?;
    let scripts: &[NewFile] = match language {
        Language::Shell => &SHELL,
        Language::Python => &PYTHON,
    };
    fs::create_dir_all(&absolute).map_err(failed)?;
    let needs_project = Windlass::open(Settings::new(&absolute))?.project().file().is_none();
    let files: Vec<&NewFile> =
        needs_project.then_some(&PROJECT).into_iter().chain(&DESCRIPTORS).chain(scripts).collect();
    if let Some(existing) = files.iter().map(|file| folder.join(file.path)).find(|path| path.exists()) {
        let source = io::Error::new(ErrorKind::AlreadyExists, "it exists already; name another folder");
        return Err(Error::Write { path: existing, source });
    }
    for file in &files {
        let path = folder.join(file.path);
        create(&path, file, &descriptor.to_string()).map_err(|source| Error::Write { path, source })?;
    }
    Ok(InitView { version: 1, name, files: files.iter().map(|file| file.path.into()).collect() })
}

fn create(path: &Path, file: &NewFile, descriptor: &str) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let mode = if file.is_script { 0o777 } else { 0o666 };
    let text = file.text.replace("assembly::NAME::1.0", descriptor);
    File::options().write(true).create_new(true).mode(mode).open(path)?.write_all(text.as_bytes())
}
