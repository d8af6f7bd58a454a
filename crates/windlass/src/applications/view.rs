//! Views of published applications.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_manifest::name::ComponentPath;
use windlass_manifest::{Role, ServiceReference, Services, check, pins};
use windlass_model::assembly::PackageDigest;
use windlass_model::pins::{PinId, Pins};
use windlass_model::{AssemblyName, Timestamp};

use super::records::{ApplicationRecord, PublishedApplication, RevisionRecord, RoleKind};
use crate::view::time;

/// The result of publishing a manifest.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PublishView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The title of the application, for example `VM Factory`. Manifests refer to the application by this title.
    pub title: String,
    /// The short name, which is derived from the title. For example, the title `VM Factory` has the short name
    /// `vm-factory`.
    pub name: AssemblyName,
    /// Whether the manifest declares an application or a factory.
    pub role: RoleKind,
    /// The number of the latest revision.
    pub revision: u32,
    /// Whether publishing created a revision. If false, the latest revision already had the published text
    /// and scripts.
    pub new: bool,
}

impl PublishView {
    pub(super) fn new(record: &ApplicationRecord, name: &AssemblyName, new: bool) -> Self {
        let latest = record.revisions.last();
        Self {
            version: 1,
            title: record.title.clone(),
            name: name.clone(),
            role: latest.map_or(RoleKind::Application, |latest| latest.role),
            revision: latest.map_or(0, |latest| latest.revision),
            new,
        }
    }
}

/// The result of unpublishing an application.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct UnpublishView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The title of the application.
    pub title: String,
    /// The number of removed revisions.
    pub revisions: usize,
}

/// A list of all published applications.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ApplicationListView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The applications and factories, sorted by their short names.
    pub applications: Vec<ApplicationSummary>,
}

impl ApplicationListView {
    pub(super) fn new(applications: Vec<ApplicationSummary>) -> Self {
        Self { version: 1, applications }
    }
}

/// A summary of a published application, for a list.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ApplicationSummary {
    /// The title of the application, for example `VM Factory`. Manifests refer to the application by this title.
    pub title: String,
    /// The short name, which is derived from the title. For example, the title `VM Factory` has the short name
    /// `vm-factory`.
    pub name: String,
    /// Whether the manifest of the latest revision declares an application or a factory. `None` if there is no
    /// revision.
    pub role: Option<RoleKind>,
    /// The number of the latest revision; 0 if there is no revision.
    pub revision: u32,
    /// The time at which the latest revision was published. `None` if there is no revision.
    #[serde(serialize_with = "time::maybe")]
    pub published: Option<Timestamp>,
}

impl ApplicationSummary {
    pub(super) fn new(record: &ApplicationRecord, name: &str) -> Self {
        let latest = record.revisions.last();
        Self {
            title: record.title.clone(),
            name: name.to_owned(),
            role: latest.map(|latest| latest.role),
            revision: latest.map_or(0, |latest| latest.revision),
            published: latest.map(|latest| latest.published),
        }
    }
}

/// A published application: the content of one revision, and a list of all revisions.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ApplicationView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The title of the application, for example `VM Factory`. Manifests refer to the application by this title.
    pub title: String,
    /// The short name, which is derived from the title. For example, the title `VM Factory` has the short name
    /// `vm-factory`.
    pub name: AssemblyName,
    /// Whether the manifest of the shown revision declares an application or a factory.
    pub role: RoleKind,
    /// The number of the shown revision.
    pub revision: u32,
    /// The title of the application's factory; `None` for a factory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factory: Option<String>,
    /// The title of the application whose existing instances the factory's discovery script finds. `None` for an
    /// application, and for a factory without discovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The Quartz expression for the times of the factory's discovery. `None` for an application, and for a
    /// factory without discovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The scripts that the manifest names.
    pub scripts: Vec<ScriptView>,
    /// The pins of the component that the manifest's scripts manage, sorted by id. A pin is a value or a command.
    pub pins: Vec<PinView>,
    /// The services that the application needs: its components of the type `reference.Service`.
    pub services: Vec<NeededServiceView>,
    /// All revisions of the application, oldest first.
    pub revisions: Vec<RevisionView>,
}

/// A script that a manifest names.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ScriptView {
    /// The kind of the script: `launch`, `destroy`, `health-check`, `reconfigure` or `discover`. The kind of a
    /// command's script is the id of the command's pin.
    pub kind: String,
    /// The path of the script, as written in the manifest.
    pub path: String,
    /// Whether the script was published with the manifest. If false, the script must be in the image in which the
    /// scripts of the application run.
    pub published: bool,
}

/// A pin: a value or a command that a manifest declares for its component. The scripts of the manifest manage this
/// component.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PinView {
    /// The id of the pin in the component.
    pub id: PinId,
    /// The direction and the type of the pin, in the form of a manifest: `publish-signal(string)`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A readable name of the pin: the value of the key `name` in the manifest. `None` if the manifest sets no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether the value of the pin is a secret.
    pub sensitive: bool,
    /// The ids under which the application exposes the pin.
    pub exposed: Vec<PinId>,
}

/// A component of the type `reference.Service`, which represents a service of the environment.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct NeededServiceView {
    /// The path of the component.
    pub component: ComponentPath,
    /// The pins that the service must expose, by their ids. The value is the direction and the type of the
    /// pin: `publish-signal(string)`.
    pub pins: BTreeMap<String, String>,
    /// Whether the factory launches an application only after windlass has found a service for the component.
    pub required: bool,
}

impl NeededServiceView {
    fn new(reference: &ServiceReference, services: &Services) -> Self {
        let mut required = services.required.iter().filter_map(|id| services.mappings.get(id)?.as_ref());
        Self {
            component: reference.component.clone(),
            pins: reference.pins.iter().map(|(id, kind)| (id.to_string(), kind.to_string())).collect(),
            required: required.any(|source| source.component == reference.component),
        }
    }
}

/// A revision in a list of revisions.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RevisionView {
    /// The number of the revision.
    pub revision: u32,
    /// The time at which the revision was published.
    #[serde(serialize_with = "time::one")]
    pub published: Timestamp,
    /// The digest of the revision's package.
    pub package: PackageDigest,
}

impl RevisionView {
    fn new(record: &RevisionRecord) -> Self {
        Self { revision: record.revision, published: record.published, package: record.package.clone() }
    }
}

impl ApplicationView {
    pub(super) fn new(record: &ApplicationRecord, published: &PublishedApplication) -> Self {
        let checked = check(&published.manifest);
        let is_published = |path: &str| {
            let path = path.trim_start_matches('/');
            published.scripts.iter().any(|file| file.path == path)
        };
        let script = |kind: String, path: &str| ScriptView {
            kind,
            path: path.to_owned(),
            published: is_published(path),
        };
        let mut view = Self {
            version: 1,
            title: published.title.clone(),
            name: published.name.clone(),
            role: published.role,
            revision: published.revision,
            factory: None,
            application: None,
            schedule: None,
            scripts: Vec::new(),
            pins: Vec::new(),
            services: Vec::new(),
            revisions: record.revisions.iter().map(RevisionView::new).collect(),
        };
        match &checked.role {
            Some(Role::Application(of)) => {
                view.factory = Some(of.factory.value.clone());
                let kinds = [
                    ("launch", Some(&of.launch)),
                    ("destroy", Some(&of.destroy)),
                    ("health-check", of.health_check.as_ref()),
                    ("reconfigure", of.reconfiguration.as_ref()),
                ];
                for (kind, path) in kinds {
                    view.scripts.extend(path.map(|path| script(kind.to_owned(), &path.value)));
                }
                view.scripts
                    .extend(of.commands.iter().map(|(pin, path)| script(pin.to_string(), &path.value)));
            }
            Some(Role::Factory(of)) => {
                if let Some(discovery) = &of.discovery {
                    view.application = Some(discovery.application.value.clone());
                    view.schedule = Some(discovery.schedule.value.clone());
                    view.scripts.push(script("discover".to_owned(), &discovery.script.value));
                }
            }
            None => {}
        }
        let services = Services::of(&checked);
        let needed = services.references.iter().map(|of| NeededServiceView::new(of, &services));
        view.services = needed.collect();
        for (id, pin) in pins(&checked).iter().flat_map(Pins::iter) {
            view.pins.push(PinView {
                id,
                kind: pin.kind.to_string(),
                label: pin.label.clone(),
                sensitive: pin.sensitive,
                exposed: pin.exposed.clone(),
            });
        }
        view
    }
}
