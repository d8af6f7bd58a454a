//! Checks of application manifests. First, each manifest is checked together with its scripts, but without the
//! other manifests. Then each application is compared with its factory.

use std::path::Path;
use std::sync::Arc;

use windlass_manifest::{Manifest, Published, Role, check, check_pairs, codes, read, short_name};
use windlass_source::{Diagnostic, Diagnostics, Severity, Source};

use crate::script_files::ScriptFiles;

/// The application manifests that a check has read so far, and the problems that it has found.
#[derive(Debug)]
pub(crate) struct Manifests<'a> {
    scripts: Option<&'a ScriptFiles>,
    /// The checked manifests, each with the name of its file without the extension.
    read: Vec<(String, Manifest)>,
    found: Diagnostics,
}

impl<'a> Manifests<'a> {
    /// Creates a check that contains no manifests yet. The check looks for the scripts of manifests among the
    /// files `scripts`. `None` skips this part of the check.
    pub(crate) fn new(scripts: Option<&'a ScriptFiles>) -> Self {
        Self { scripts, read: Vec::new(), found: Diagnostics::new() }
    }

    /// Reads and checks a manifest.
    pub(crate) fn add(&mut self, source: &Arc<Source>) {
        let windlass_manifest::Read { manifest, diagnostics } = read(source);
        self.found.extend(diagnostics);
        let Some(manifest) = manifest else { return };
        let checked = check(&manifest);
        if let Some(scripts) = self.scripts {
            self.found.extend(scripts.check(&checked));
        }
        self.found.extend(checked.diagnostics);
        let stem = Path::new(source.name()).file_stem().unwrap_or_default();
        self.read.push((stem.to_string_lossy().into_owned(), manifest));
    }

    /// Completes the check: compares each application with its factory, if both manifests were added. Returns all
    /// problems of the check.
    pub(crate) fn finish(mut self) -> Diagnostics {
        if self.scripts.is_some() && self.read.is_empty() && self.found.is_empty() {
            let message = "none of the files is an application manifest, so no script was looked up";
            let help = "name a manifest, or omit `--scripts` and `--image`";
            self.found.push(Diagnostic::error(codes::NOTHING_TO_LOOK_UP, message).help(help));
        }
        self.found.extend(pairs(&self.read));
        self.found
    }
}

/// Checks that each application names its factory, and that each factory names its application. Manifests name each
/// other by title. The file of a manifest does not contain the title, because a manifest gets its title when it is
/// published. So the check derives the title of each manifest from the name of its file:
///
/// - If another manifest refers to a title that matches the name of the file, the check uses this title. Letter case
///   and punctuation may differ: the [short names](short_name) are compared.
/// - Otherwise, the check uses the name of the file.
///
/// Problems are only warnings, because the published title may differ from the derived title.
fn pairs(manifests: &[(String, Manifest)]) -> Diagnostics {
    let roles: Vec<_> = manifests.iter().map(|(_, manifest)| check(manifest).role).collect();
    let named: Vec<&str> = roles.iter().flatten().filter_map(counterpart).collect();
    let title = |stem: &'_ str| {
        let is_named = |title: &&&str| short_name(title).is_some_and(|name| Some(name) == short_name(stem));
        named.iter().find(is_named).map_or_else(|| stem.to_owned(), |title| (*title).to_owned())
    };
    let titles: Vec<String> = manifests.iter().map(|(stem, _)| title(stem)).collect();
    let published = titles.iter().zip(manifests).zip(&roles);
    let published: Vec<Published<'_>> = published
        .filter_map(|((title, (_, manifest)), role)| {
            Some(Published { title, manifest, role: role.as_ref()? })
        })
        .collect();
    let found = check_pairs(&published).into_iter().filter(|one| one.code == codes::WRONG_COUNTERPART);
    found
        .map(|mut one| {
            one.severity = Severity::Warning;
            one.help(
                "titles are taken from file names here; `windlass app publish FILE --name TITLE` sets one",
            )
        })
        .collect()
}

/// Returns the title of the other manifest to which a role refers. For an application, this is the title of its
/// factory. For a factory, this is the title of the application whose instances the factory discovers. Returns `None`
/// for a factory without discovery.
fn counterpart(role: &Role) -> Option<&str> {
    match role {
        Role::Application(application) => Some(&application.factory.value),
        Role::Factory(factory) => factory.discovery.as_ref().map(|of| of.application.value.as_str()),
    }
}
