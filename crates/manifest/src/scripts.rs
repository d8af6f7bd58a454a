//! Checks the scripts of a manifest: each script must be an executable file in a folder or an image.

use windlass_source::{Diagnostic, Diagnostics, Severity, Spanned, did_you_mean};

use crate::check::Checked;
use crate::codes;
use crate::report::Report;
use crate::role::Role;

/// The files of a folder or an image. The function [`check_scripts`] looks for the scripts of a manifest among these
/// files.
pub trait ScriptFiles {
    /// Finds a script by the path that the manifest gives, such as `/vm/launch.py`.
    fn find(&self, path: &str) -> ScriptSearch;

    /// Returns the paths of all files, as a manifest writes paths: `/vm/launch.py`.
    fn paths(&self) -> Vec<String>;
}

/// The result of the search for a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptSearch {
    /// The path leads to a file whose mode permits execution, as after `chmod +x`.
    Executable,
    /// The path leads to a file whose mode does not permit execution.
    NotExecutable,
    /// The path leads to a folder, or to something else without content.
    NotAFile,
    /// The path leads to a symbolic link whose target does not exist. The text is this target.
    Dangling(String),
    /// No file or folder has this path.
    Missing,
}

/// The kind of place that contains the scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptPlace {
    /// A folder that accompanies a manifest. The folder may lack scripts, because the image of the scripting service
    /// may contain them. The scripting service is the location that runs the scripts.
    Package,
    /// A folder that contains all scripts.
    Folder,
    /// An image that contains all scripts.
    Image,
}

/// A file of a folder of scripts.
#[derive(Debug, Clone, Copy)]
pub struct ScriptFile<'f> {
    /// The file's path within the folder, with `/` between the parts of the path.
    pub path: &'f str,
    /// Whether the mode of the file permits its execution, as after `chmod +x`.
    pub executable: bool,
}

/// Finds the scripts of a manifest in a folder. If the manifest gives the path `/vm/launch.py`, the script is the
/// file `vm/launch.py` of the folder.
impl ScriptFiles for [ScriptFile<'_>] {
    fn find(&self, path: &str) -> ScriptSearch {
        let path = path.trim_start_matches('/');
        let is_within =
            |file: &ScriptFile<'_>| file.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        match self.iter().find(|file| file.path == path) {
            Some(file) if file.executable => ScriptSearch::Executable,
            Some(_) => ScriptSearch::NotExecutable,
            None if self.iter().any(is_within) => ScriptSearch::NotAFile,
            None => ScriptSearch::Missing,
        }
    }

    fn paths(&self) -> Vec<String> {
        self.iter().map(|file| format!("/{}", file.path)).collect()
    }
}

/// Checks that each script of a manifest is an executable file.
///
/// If `place` is a [`Package`](ScriptPlace::Package), a missing file is a warning, because the image of the
/// scripting service may contain the file. All other problems are errors.
pub fn check_scripts(
    checked: &Checked<'_>,
    files: &(impl ScriptFiles + ?Sized),
    place: ScriptPlace,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let report = Report { source: &checked.manifest.source, diagnostics: &mut diagnostics };
    let mut lookup = Lookup { report, files, place };
    for script in scripts(checked) {
        if place == ScriptPlace::Image && !script.value.starts_with('/') {
            lookup.relative(script);
            continue;
        }
        match files.find(&script.value) {
            ScriptSearch::Executable => {}
            ScriptSearch::NotExecutable => lookup.not_executable(script),
            ScriptSearch::Missing => lookup.missing(script),
            ScriptSearch::NotAFile => {
                lookup.unusable(script, "is no file, so it can't be a script", "name an executable file");
            }
            ScriptSearch::Dangling(target) => {
                let message = format!("leads to `{target}`, which does not exist");
                lookup.unusable(script, &message, &format!("add `{target}`, or correct the link"));
            }
        }
    }
    diagnostics.sort();
    diagnostics
}

struct Lookup<'c, F: ?Sized> {
    report: Report<'c>,
    files: &'c F,
    place: ScriptPlace,
}

impl<F: ScriptFiles + ?Sized> Lookup<'_, F> {
    /// Returns the path of a script, in the form that messages show. A path in an image begins with `/`. A path in a
    /// folder is relative to the folder, so the method removes a leading `/`.
    fn shown<'s>(&self, script: &'s Spanned<String>) -> &'s str {
        if self.place == ScriptPlace::Image { &script.value } else { script.value.trim_start_matches('/') }
    }

    fn owner(&self) -> &'static str {
        if self.place == ScriptPlace::Image { "image" } else { "folder" }
    }

    /// Reports that a manifest names a script of an image by a relative path, such as `vm/launch.py`. The file at such
    /// a path would depend on the working folder of the job.
    fn relative(&mut self, script: &Spanned<String>) {
        let path = &script.value;
        let message =
            format!("the path of the script `{path}` is relative, and an image needs an absolute one");
        self.report.say(Severity::Error, codes::SCRIPT_MISSING, script.span, message, |said| {
            said.help(format!("write its path from the root of the image: `/{path}`"))
        });
    }

    fn not_executable(&mut self, script: &Spanned<String>) {
        let path = self.shown(script);
        let (message, help) = match self.place {
            ScriptPlace::Image => (
                format!("the script `{path}` of the image may not be executed"),
                format!("add `RUN chmod +x {path}` to the Dockerfile of the image"),
            ),
            ScriptPlace::Package | ScriptPlace::Folder => (
                format!("the script `{path}` may not be executed"),
                format!("make it executable: `chmod +x {path}` in the folder of scripts"),
            ),
        };
        let code = codes::SCRIPT_NOT_EXECUTABLE;
        self.report.say(Severity::Error, code, script.span, message, |said| said.help(help));
    }

    fn missing(&mut self, script: &Spanned<String>) {
        let (path, owner, files) = (self.shown(script), self.owner(), self.files);
        let (severity, message, help) = match self.place {
            ScriptPlace::Package => (
                Severity::Warning,
                format!("the folder has no `{path}`, so the image of the scripting service must have it"),
                None,
            ),
            ScriptPlace::Folder | ScriptPlace::Image => (
                Severity::Error,
                format!("the {owner} has no `{path}`"),
                Some(format!("add the file to the {owner}, or correct the path")),
            ),
        };
        self.report.say(severity, codes::SCRIPT_MISSING, script.span, message, |said| {
            let said = near(said, &script.value, files);
            match help.filter(|_| said.help.is_none()) {
                Some(help) => said.help(help),
                None => said,
            }
        });
    }

    /// Reports a path that leads to something other than a file.
    fn unusable(&mut self, script: &Spanned<String>, what: &str, help: &str) {
        let message = format!("`{}` of the {} {what}", self.shown(script), self.owner());
        let code = codes::SCRIPT_MISSING;
        self.report.say(Severity::Error, code, script.span, message, |said| said.help(help));
    }
}

/// Adds a suggestion to a diagnostic about a missing script: the file whose path is most similar to `path`. If no path
/// is similar, and the folder in `path` does not exist, the function searches all folders for the file name. If exactly
/// one file has this name, the function suggests this file.
fn near(said: Diagnostic, path: &str, files: &(impl ScriptFiles + ?Sized)) -> Diagnostic {
    let paths = files.paths();
    let said = did_you_mean(said, path, paths.iter().map(String::as_str));
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_there = |other: &String| {
        other.trim_start_matches('/').starts_with(&format!("{}/", folder.trim_start_matches('/')))
    };
    if said.help.is_some() || paths.iter().any(is_there) {
        return said;
    }
    let mut same = paths.iter().filter(|other| other.rsplit('/').next() == Some(name));
    match (same.next(), same.next()) {
        (Some(other), None) => said.help(format!("did you mean `{other}`?")),
        _ => said,
    }
}

/// Returns the paths of the scripts that a manifest names.
fn scripts<'c>(checked: &'c Checked<'_>) -> Vec<&'c Spanned<String>> {
    match &checked.role {
        Some(Role::Application(of)) => [&of.launch, &of.destroy]
            .into_iter()
            .chain(&of.health_check)
            .chain(&of.reconfiguration)
            .chain(of.commands.values())
            .collect(),
        Some(Role::Factory(of)) => of.discovery.iter().map(|discovery| &discovery.script).collect(),
        None => Vec::new(),
    }
}
