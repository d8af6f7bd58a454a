//! Published applications: numbered revisions of manifests, with their scripts.
//!
//! A revision is a package of the store. It contains the text of a manifest, and the files of the folder with
//! the manifest's scripts. If neither the text nor a file has changed since the latest revision,
//! `windlass app publish` creates no revision.

mod environments;
mod error;
mod publishing;
mod records;
mod stored;
mod view;

pub use self::environments::{
    EnvironmentListView, EnvironmentSummary, EnvironmentView, Environments, PropertyView, ServiceName,
    ServiceView,
};
pub use self::error::ApplicationError;
pub use self::publishing::{Applications, Publication};
pub(crate) use self::publishing::{files_of, stem, unpublished};
pub use self::records::{PublishedApplication, RoleKind};
pub(crate) use self::stored::{document_name, environments_in, revision_in};
pub use self::view::{
    ApplicationListView, ApplicationSummary, ApplicationView, NeededServiceView, PinView, PublishView,
    RevisionView, ScriptView, UnpublishView,
};
