//! Plans that are saved, reviewed, and later executed exactly as they were.
//!
//! A saved plan records its inputs: the intent, the descriptor, the parameters, the packages by digest, and
//! the state by its last process. Before execution the plan is computed again under the lease. It is refused
//! if the result differs. Secrets are not saved; the user provides them again.

mod carry;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use windlass_driver::Package;
use windlass_engine::{Ask, Desired, EngineError, Preview, essence};
use windlass_lifecycle::Scale;
use windlass_model::assembly::PackageDigest;
use windlass_model::{AssemblyName, DescriptorName, ElementName, ProcessId, State, Timestamp, Topology};
use windlass_project::output;
use windlass_source::Code;
use windlass_source::files::{self, MAX_SIZE};

use crate::codes;
use crate::document::{self, DocumentError};
use crate::error::Error;
use crate::intent::Order;
use crate::view::plan::PlanView;

/// The kind of the document.
const KIND: &str = "windlass plan";

/// The reason why a saved plan can't be executed. Nothing has been changed then.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SavedPlanError {
    /// The file can't be used.
    #[error("`{}` {cause}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The reason.
        cause: DocumentError,
    },
    /// The plan belongs to another project.
    #[error("the plan was made for another project, {made}; this is {here}")]
    OtherProject {
        /// The project of the plan.
        made: String,
        /// The open project.
        here: String,
    },
    /// The inputs or the state have changed.
    #[error("the plan for `{assembly}` was made at {made}, and is out of date: {}; save a new plan", what.join(", "))]
    MovedOn {
        /// The assembly.
        assembly: AssemblyName,
        /// The time at which the plan was made.
        made: Timestamp,
        /// The changes since then, as sentence fragments.
        what: Vec<String>,
    },
    /// The plan would differ now. It uses secrets that are provided again, so they may be the cause.
    #[error(
        "the steps for `{assembly}` would differ from the saved plan; pass {} with the value of the plan, or save a new plan",
        list(secrets)
    )]
    OtherSecrets {
        /// The assembly.
        assembly: AssemblyName,
        /// The secrets that the plan uses.
        secrets: Vec<String>,
    },
    /// The intent can't be planned ahead.
    #[error("this command can't be saved as a plan")]
    NoPlan,
    /// The given parameters are not exactly the missing secrets.
    #[error("{}", secrets(missing, unknown))]
    Secrets {
        /// Secrets of the plan that were not given.
        missing: Vec<String>,
        /// Given parameters that are not secrets of the plan.
        unknown: Vec<String>,
    },
}

impl SavedPlanError {
    /// Returns the code of the error, which `windlass explain` explains.
    pub fn code(&self) -> Code {
        match self {
            Self::File { cause, .. } => cause.code(),
            Self::OtherProject { .. } => codes::OTHER_PROJECT,
            Self::MovedOn { .. } => codes::PLAN_MOVED_ON,
            Self::OtherSecrets { .. } => codes::OTHER_SECRETS,
            Self::NoPlan => codes::NO_PLAN,
            Self::Secrets { .. } => codes::SECRETS,
        }
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn secrets(missing: &[String], unknown: &[String]) -> String {
    if unknown.is_empty() {
        return format!(
            "the plan needs the secret {}, which it does not contain; pass it again with `-p {}=@FILE`",
            list(missing),
            missing.first().map_or("", String::as_str)
        );
    }
    format!(
        "a plan accepts only its secrets again, and {} is not one of them; save a new plan to change parameters",
        list(unknown)
    )
}

/// A saved plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    assembly: AssemblyName,
    made: Timestamp,
    base: Base,
    asked: Asked,
    /// The packages that belong to the intent.
    packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The digest of each element and relationship that the descriptor declares.
    elements: BTreeMap<String, String>,
    /// The plan, without the source places of its reasons.
    plan: Value,
    /// The changes, without source places.
    changes: Value,
}

/// The state on which a plan is based.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    /// The store's id; `None` if there was no store yet.
    store: Option<String>,
    /// The root of the project.
    root: PathBuf,
    /// The last process of the assembly; 0 if there was none.
    last: ProcessId,
    /// The last process of each referenced assembly. Digests do not show that a secret has changed.
    #[serde(default)]
    references: BTreeMap<AssemblyName, ProcessId>,
}

/// The intent of a saved plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Asked {
    Up(Recipe),
    Down,
    /// Down with the packages around a descriptor.
    DownWith {
        file: PathBuf,
    },
    Retry,
    SetState(State),
    ScaleOut(ElementName),
    ScaleIn(ElementName),
    Heal(ElementName),
    Rollback(Option<ProcessId>),
}

impl Asked {
    /// Converts an intent on an existing assembly. `around` is the descriptor of the packages for
    /// `Ask::DownWith`. Returns `None` for intents that can't be planned ahead.
    fn of(ask: &Ask, around: Option<PathBuf>) -> Option<Self> {
        Some(match ask {
            Ask::Down => Self::Down,
            Ask::DownWith(_) => Self::DownWith { file: around? },
            Ask::Retry { assume: None } => Self::Retry,
            Ask::SetState(state) => Self::SetState(*state),
            Ask::Scale { cluster, scale: Scale::Out } => Self::ScaleOut(cluster.clone()),
            Ask::Scale { cluster, scale: Scale::In } => Self::ScaleIn(cluster.clone()),
            Ask::Heal(element) => Self::Heal(element.clone()),
            Ask::Rollback(process) => Self::Rollback(*process),
            _ => return None,
        })
    }
}

/// The input of an `up` plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    file: PathBuf,
    catalog: Vec<PathBuf>,
    parameters: BTreeMap<String, Value>,
    /// The names of the parameters that are secrets.
    secrets: BTreeSet<String>,
    goal: State,
    adopt: bool,
    replace: Vec<String>,
    target: Vec<String>,
}

impl SavedPlan {
    /// Reads a saved plan.
    ///
    /// # Errors
    ///
    /// If the file can't be read, is damaged, or is not a saved plan.
    pub fn read(file: &Path) -> Result<Self, Error> {
        Self::read_within(file, MAX_SIZE)
    }

    /// Reads a saved plan of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub fn read_within(file: &Path, limit: usize) -> Result<Self, Error> {
        let text = files::read_text(file, limit)
            .map_err(|source| Error::File { path: file.to_owned(), source: source.into() })?;
        let read = document::read(KIND, &text);
        Ok(read.map_err(|cause| SavedPlanError::File { file: file.to_owned(), cause })?)
    }

    /// Writes the plan to a file atomically. A device or a pipe is written directly.
    ///
    /// # Errors
    ///
    /// If it can't be written.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        let failed = |source| Error::Write { path: file.to_owned(), source };
        let text = document::write(KIND, self).map_err(|error| failed(error.into()))?;
        output::write(file, text.as_bytes(), 0o666).map_err(failed)
    }

    /// Stores the plan and its changes, and returns them as a view.
    fn fill(&mut self, preview: Preview) -> PlanView {
        self.plan = essence(&preview.plan);
        self.changes = essence(&preview.diff);
        PlanView::new(self.assembly.clone(), &preview.plan, preview.diff).undone(preview.undone)
    }

    /// Replaces the error of a changed plan if the secrets may be the reason, because they were given again.
    fn explain(&self, error: Error) -> Error {
        match (&self.asked, error) {
            (Asked::Up(recipe), Error::Engine(EngineError::MovedOn(assembly)))
                if !recipe.secrets.is_empty() =>
            {
                let secrets = recipe.secrets.iter().cloned().collect();
                SavedPlanError::OtherSecrets { assembly, secrets }.into()
            }
            (_, error) => error,
        }
    }

    /// Returns the assembly.
    pub fn assembly(&self) -> &AssemblyName {
        &self.assembly
    }

    /// Refuses missing secrets, and parameters that are not secrets of the plan. A file or an environment may
    /// contain others.
    fn check_secrets(&self, given: &Order) -> Result<(), SavedPlanError> {
        let none = BTreeSet::new();
        let secrets = match &self.asked {
            Asked::Up(recipe) => &recipe.secrets,
            _ => &none,
        };
        let missing: Vec<String> = secrets.iter().filter(|name| !given.gives(name)).cloned().collect();
        let unknown = given.parameters.keys().filter(|name| !given.places.contains_key(*name));
        let unknown: Vec<String> = unknown.filter(|name| !secrets.contains(*name)).cloned().collect();
        if missing.is_empty() && unknown.is_empty() {
            Ok(())
        } else {
            Err(SavedPlanError::Secrets { missing, unknown })
        }
    }

    /// Rebuilds the order of an `up` plan, with the given secrets.
    fn order(&self, recipe: &Recipe, root: &Path, given: &Order) -> Order {
        let mut order = Order::new(root.join(&recipe.file))
            .name(Some(self.assembly.clone()))
            .catalog(recipe.catalog.iter().map(|folder| root.join(folder)))
            .goal(recipe.goal)
            .adopt(recipe.adopt)
            .replace(recipe.replace.clone())
            .target(recipe.target.clone());
        for (name, value) in &recipe.parameters {
            order = order.parameter(name, value.clone());
        }
        for name in &recipe.secrets {
            order = order.parameter_of(given, name);
        }
        order
    }

    /// Lists the packages that have changed.
    fn moved_packages(&self, packages: &[Package]) -> Vec<String> {
        let packages = packages_of(packages);
        let names: BTreeSet<&DescriptorName> = self.packages.keys().chain(packages.keys()).collect();
        let changed = names.into_iter().filter(|name| self.packages.get(*name) != packages.get(*name));
        changed.map(|name| format!("the package of `{name}` has changed")).collect()
    }

    /// Lists the changes in the project's files.
    fn moved_files(&self, desired: &Desired) -> Vec<String> {
        let mut what = self.moved_packages(&desired.packages);
        let elements = elements_of(&desired.topology);
        let names: BTreeSet<&String> = self.elements.keys().chain(elements.keys()).collect();
        let changed: Vec<String> = names
            .into_iter()
            .filter(|name| self.elements.get(*name) != elements.get(*name))
            .map(|name| format!("`{name}`"))
            .collect();
        if !changed.is_empty() {
            let first = changed.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = match changed.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            what.push(format!(
                "{first}{more} would differ: the descriptor, `windlass.yaml` or a reference has changed"
            ));
        }
        what
    }
}

/// Maximum number of changed elements or processes that are named; the rest is counted.
const NAMED: usize = 3;

fn packages_of(packages: &[Package]) -> BTreeMap<DescriptorName, PackageDigest> {
    packages.iter().map(|package| (package.name().clone(), package.digest().clone())).collect()
}

/// Returns a digest of each element and relationship, without source places.
fn elements_of(topology: &Topology) -> BTreeMap<String, String> {
    let digest = |essence: Value| document::digest(&essence.to_string());
    let local = |name: &ElementName| match name.local() {
        "" => name.to_string(),
        local => local.to_owned(),
    };
    let elements = topology.elements().iter();
    let mut all: BTreeMap<String, String> =
        elements.map(|element| (local(&element.name), digest(essence(element)))).collect();
    all.extend(topology.relationships().iter().map(|relationship| {
        (format!("{}:{}", relationship.assembly, relationship.name), digest(essence(relationship)))
    }));
    all
}
