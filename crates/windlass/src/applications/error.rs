//! The reasons why an application or an environment can't be published, found or changed.

use thiserror::Error;
use windlass_manifest::codes;
use windlass_manifest::environment::EnvironmentError;
use windlass_manifest::name::ComponentPath;
use windlass_model::AssemblyName;
use windlass_source::{Code, suggest};

/// The reason why an application or an environment can't be published, found or changed. A function that
/// returns this error has changed nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ApplicationError {
    /// Nothing is published under the title.
    #[error("no application or factory `{title}` is published{}", near(title, known, "there are"))]
    Unknown {
        /// The title that was requested.
        title: String,
        /// The titles of published applications and factories.
        known: Vec<String>,
    },
    /// The application has no such revision.
    #[error("`{title}` has no revision {revision}; the latest is {latest}")]
    NoRevision {
        /// The title of the application.
        title: String,
        /// The number of the requested revision.
        revision: u32,
        /// The number of the latest revision.
        latest: u32,
    },
    /// The title has no valid short name.
    #[error("the title `{0}` has no ASCII letter to begin its short name with; choose another with `--name`")]
    Title(String),
    /// Another title has the same short name.
    #[error("`{title}` has the short name `{name}`, which `{by}` has; choose another title with `--name`")]
    TitleTaken {
        /// The title to publish.
        title: String,
        /// The short name of `title` and of `by`.
        name: AssemblyName,
        /// The title that is already published.
        by: String,
    },
    /// There is no such environment.
    #[error("there is no environment `{name}`{}", near(name, known, "there are"))]
    UnknownEnvironment {
        /// The name of the requested environment.
        name: String,
        /// The names of the existing environments.
        known: Vec<String>,
    },
    /// An environment of this name already exists.
    #[error("the environment `{0}` exists already; `windlass env show {0}` shows it")]
    EnvironmentExists(String),
    /// The environment has services.
    #[error(
        "the environment `{name}` has the services {}; remove them with `windlass env service rm {name} NAME`",
        listed(services)
    )]
    HasServices {
        /// The name of the environment.
        name: String,
        /// The names of the environment's services.
        services: Vec<String>,
    },
    /// Applications were launched in the environment.
    #[error(
        "the environment `{name}` has applications: {}; destroy them first with `windlass app destroy NAME`",
        some(users)
    )]
    HasApplications {
        /// The name of the environment.
        name: String,
        /// The applications that were launched in the environment.
        users: Vec<AssemblyName>,
    },
    /// The default environment can't be removed.
    #[error("the environment `default` always exists and can't be removed")]
    Default,
    /// The assembly was not launched from an application.
    #[error(
        "`{0}` was not launched from a published application, so it can't be a service; `windlass app ls` lists applications"
    )]
    NotLaunched(AssemblyName),
    /// The manifest of the service has no such component.
    #[error("the manifest of `{service}` has no `reference.Service` `{component}`{}", near(&component.to_string(), known, "there are"))]
    NoComponent {
        /// The service whose manifest lacks the component.
        service: AssemblyName,
        /// The path of the requested component.
        component: ComponentPath,
        /// The components of the type `reference.Service` in the manifest.
        known: Vec<String>,
    },
    /// The chosen service does not expose all pins that the component needs.
    #[error(
        "`{chosen}` does not expose {}, which `{component}` needs; {}",
        listed(pins),
        if known.is_empty() { "no service of the environment fits".to_owned() } else { format!("these services fit: {}", listed(known)) }
    )]
    Unfit {
        /// The service that was chosen.
        chosen: AssemblyName,
        /// The component for which the service was chosen.
        component: ComponentPath,
        /// All pins that the component needs. The chosen service does not expose all of them.
        pins: Vec<String>,
        /// The services that expose the needed pins.
        known: Vec<String>,
    },
    /// The project has no such location.
    #[error("`windlass.yaml` has no location `{location}`{}", near(location, known, "there are"))]
    NoLocation {
        /// The name of the requested location.
        location: String,
        /// The locations of the project.
        known: Vec<String>,
    },
    /// The environment does not allow the change.
    #[error("environment `{name}`: {cause}")]
    Environment {
        /// The name of the environment.
        name: String,
        /// The reason why the change is not allowed.
        cause: Box<EnvironmentError>,
    },
    /// A newer version of windlass has written the record of the application or of the environment. The running
    /// version can't read the record.
    #[error("a newer windlass has stored `{0}`; use that version")]
    Newer(String),
    /// The stored record of the application or of the environment is damaged and can't be read. If a newer version of
    /// windlass has written the record, the error is [`Newer`](Self::Newer) instead.
    #[error(
        "the stored record of `{name}` is damaged: {cause}; keep a copy of the store, then restore a backup"
    )]
    Damaged {
        /// The name of the application or of the environment.
        name: String,
        /// The damage that was found.
        cause: String,
    },
}

impl ApplicationError {
    /// Tells whether invalid input caused the error. A damaged record is no invalid input.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Damaged { .. })
    }

    /// Returns the code of the error.
    pub fn code(&self) -> Code {
        match self {
            Self::Unknown { .. } | Self::NoRevision { .. } => codes::UNKNOWN_APPLICATION,
            Self::Title(_) | Self::TitleTaken { .. } => codes::BAD_TITLE,
            Self::UnknownEnvironment { .. } => codes::UNKNOWN_ENVIRONMENT,
            Self::EnvironmentExists(_) => codes::ENVIRONMENT_EXISTS,
            Self::HasServices { .. } | Self::HasApplications { .. } | Self::Default => codes::SERVICE_IN_USE,
            Self::NotLaunched(_) | Self::NoLocation { .. } | Self::NoComponent { .. } => {
                codes::UNKNOWN_SERVICE
            }
            Self::Unfit { .. } => codes::UNFIT_SERVICE,
            Self::Environment { cause, .. } => cause.code(),
            Self::Newer(_) => windlass_store::codes::NEWER,
            Self::Damaged { .. } => windlass_store::codes::CORRUPT,
        }
    }
}

fn near(wanted: &str, known: &[String], words: &str) -> String {
    match suggest(wanted, known.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; {words} {}", listed(known)),
    }
}

/// Maximum number of applications that a message lists.
const LISTED: usize = 8;

/// Lists the first [`LISTED`] names.
fn some(names: &[AssemblyName]) -> String {
    let first: Vec<String> = names.iter().take(LISTED).map(ToString::to_string).collect();
    match names.len().saturating_sub(LISTED) {
        0 => listed(&first),
        more => format!("{} and {more} more", listed(&first)),
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
