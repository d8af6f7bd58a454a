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

/// The outcome of publishing.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PublishView {
    /// The version of this format.
    pub version: u32,
    /// The title.
    pub title: String,
    /// Its short name.
    pub name: AssemblyName,
    /// Whether it is an application or a factory.
    pub role: RoleKind,
    /// The latest revision.
    pub revision: u32,
    /// Whether the revision is new. Otherwise the text and the scripts are those of the latest revision.
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

/// The outcome of unpublishing.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct UnpublishView {
    /// The version of this format.
    pub version: u32,
    /// The title.
    pub title: String,
    /// The number of removed revisions.
    pub revisions: usize,
}

/// All published applications.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ApplicationListView {
    /// The version of this format.
    pub version: u32,
    /// The applications and factories, sorted by their short names.
    pub applications: Vec<ApplicationSummary>,
}

impl ApplicationListView {
    pub(super) fn new(applications: Vec<ApplicationSummary>) -> Self {
        Self { version: 1, applications }
    }
}

/// A published application, in a list.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ApplicationSummary {
    /// Its title.
    pub title: String,
    /// Its short name.
    pub name: String,
    /// Whether it is an application or a factory.
    pub role: Option<RoleKind>,
    /// Its latest revision.
    pub revision: u32,
    /// The time of the latest revision.
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

/// A revision of a published application.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ApplicationView {
    /// The version of this format.
    pub version: u32,
    /// Its title.
    pub title: String,
    /// The short name of the title.
    pub name: AssemblyName,
    /// Whether it is an application or a factory.
    pub role: RoleKind,
    /// The shown revision.
    pub revision: u32,
    /// The title of its factory. Only applications have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factory: Option<String>,
    /// The title of the application that found instances belong to. Only factories with discovery have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The Quartz expression of discovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Its scripts.
    pub scripts: Vec<ScriptView>,
    /// Its pins, sorted by id.
    pub pins: Vec<PinView>,
    /// The services that it needs: its components `reference.Service`.
    pub services: Vec<NeededServiceView>,
    /// All revisions, oldest first.
    pub revisions: Vec<RevisionView>,
}

/// A script of an application.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ScriptView {
    /// Its kind: `launch`, `destroy`, `health-check`, `reconfigure` or `discover`. For a command, the id of
    /// its pin.
    pub kind: String,
    /// Its path, as written in the manifest.
    pub path: String,
    /// Whether it was published with the manifest. Otherwise the image of the scripting service contains it.
    pub published: bool,
}

/// A pin of an application.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PinView {
    /// Its id in the component.
    pub id: PinId,
    /// Its direction and type, as in a manifest.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its label for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether its value is a secret.
    pub sensitive: bool,
    /// The ids under which the application exposes it.
    pub exposed: Vec<PinId>,
}

/// A component `reference.Service`, which stands for a service of the environment.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct NeededServiceView {
    /// The component.
    pub component: ComponentPath,
    /// The pins that the service must expose, each with its direction and type.
    pub pins: BTreeMap<String, String>,
    /// Whether applications of the factory are launched only if the component is resolved.
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

/// A revision in a list.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RevisionView {
    /// Its number.
    pub revision: u32,
    /// The time of publishing.
    #[serde(serialize_with = "time::one")]
    pub published: Timestamp,
    /// The digest of its package.
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
