//! Checks of several published manifests together. An application and its factory must name each other.

use windlass_source::{Diagnostic, Diagnostics, Severity, Spanned};

use crate::codes;
use crate::document::Manifest;
use crate::report::{Report, choose};
use crate::role::{FactoryRole, Role};

/// A manifest, and the title by which other manifests name it.
#[derive(Debug, Clone, Copy)]
pub struct Published<'m> {
    /// The title of the manifest.
    pub title: &'m str,
    /// The manifest itself.
    pub manifest: &'m Manifest,
    /// The manifest's role, as [`check`](crate::check()) finds it.
    pub role: &'m Role,
}

/// Checks the titles by which applications and factories name each other:
///
/// - An application's manifest contains the title of a factory as `factory.name`. The factory must not name another
///   application.
/// - A factory's manifest may contain the title of an application as `component.application`. The application must not
///   name another factory.
///
/// If no manifest among `published` has the named title, the function only reports a warning, because a manifest
/// with this title may be published later.
pub fn check_pairs(published: &[Published<'_>]) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for one in published {
        let mut report = Report { source: &one.manifest.source, diagnostics: &mut diagnostics };
        match one.role {
            Role::Application(application) => {
                let found = counterpart(&mut report, published, &application.factory, "factory");
                match found.map(|found| (found, found.role)) {
                    Some((_, Role::Factory(FactoryRole { discovery: Some(discovery), .. })))
                        if discovery.application.value != one.title =>
                    {
                        let message = format!(
                            "the factory `{}` manages `{}`, and this is `{}`",
                            application.factory.value, discovery.application.value, one.title
                        );
                        report.error(codes::WRONG_COUNTERPART, application.factory.span, message);
                    }
                    Some((found, Role::Application(_))) => {
                        let message = format!("`{}` is an application, not a factory", found.title);
                        report.error(codes::WRONG_COUNTERPART, application.factory.span, message);
                    }
                    _ => {}
                }
            }
            Role::Factory(FactoryRole { discovery: Some(discovery), .. }) => {
                let found = counterpart(&mut report, published, &discovery.application, "application");
                match found.map(|found| (found, found.role)) {
                    Some((found, Role::Factory(_))) => {
                        let message = format!("`{}` is a factory, not an application", found.title);
                        report.error(codes::WRONG_COUNTERPART, discovery.application.span, message);
                    }
                    Some((found, Role::Application(application)))
                        if application.factory.value != one.title =>
                    {
                        let message = format!(
                            "the application `{}` names the factory `{}`, and this is `{}`",
                            found.title, application.factory.value, one.title
                        );
                        report.error(codes::WRONG_COUNTERPART, discovery.application.span, message);
                    }
                    _ => {}
                }
            }
            Role::Factory(_) => {}
        }
    }
    diagnostics.sort();
    diagnostics
}

/// Finds a manifest by its title. Reports a title without a manifest.
fn counterpart<'p, 'm>(
    report: &mut Report<'_>,
    published: &'p [Published<'m>],
    title: &Spanned<String>,
    what: &str,
) -> Option<&'p Published<'m>> {
    let found = published.iter().find(|one| one.title == title.value);
    if found.is_none() {
        let message = format!("no {what} `{}` is published", title.value);
        report.say(Severity::Warning, codes::NO_COUNTERPART, title.span, message, |said: Diagnostic| {
            choose(said, &title.value, published.iter().map(|one| one.title))
        });
    }
    found
}
