//! Checks of the scripts that a manifest names against the files of a folder.

use windlass_source::{Diagnostics, Severity, Spanned, did_you_mean};

use crate::check::Checked;
use crate::codes;
use crate::report::Report;
use crate::role::Role;

/// A file of a folder of scripts.
#[derive(Debug, Clone, Copy)]
pub struct ScriptFile<'f> {
    /// Its path within the folder, with `/` between its parts.
    pub path: &'f str,
    /// Whether it may be executed.
    pub executable: bool,
}

/// Checks the paths of scripts against a folder. The path `/vm/launch.py` is the file `vm/launch.py`.
///
/// A script that may not be executed is an error. A missing one is a warning, because the image of the scripting
/// service may have it.
pub fn check_scripts(checked: &Checked<'_>, files: &[ScriptFile<'_>]) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let mut report = Report { source: &checked.manifest.source, diagnostics: &mut diagnostics };
    for script in scripts(checked) {
        let path = script.value.trim_start_matches('/');
        match files.iter().find(|file| file.path == path) {
            Some(file) if file.executable => {}
            Some(_) => {
                let message = format!("the script `{path}` may not be executed");
                report.say(Severity::Error, codes::SCRIPT_NOT_EXECUTABLE, script.span, message, |said| {
                    said.help(format!("make it executable: `chmod +x {path}` in the folder of scripts"))
                });
            }
            None => {
                let message =
                    format!("the folder has no `{path}`, so the image of the scripting service must have it");
                report.say(Severity::Warning, codes::SCRIPT_MISSING, script.span, message, |said| {
                    did_you_mean(said, path, files.iter().map(|file| file.path))
                });
            }
        }
    }
    diagnostics.sort();
    diagnostics
}

/// Lists the scripts of a manifest.
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
