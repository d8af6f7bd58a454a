//! Plans that are saved, looked at, and carried out later exactly as they were.
//!
//! A saved plan names what it was made from: what was asked, the descriptor, the parameters, the packages by their digests,
//! the state by its last process. It is made anew when it is carried out, under the lease, and refused where it would not be
//! the same. Secrets are not in it: they are given again.

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
use windlass_source::files::{self, MAX_SIZE};

use crate::document::{self, DocumentError};
use crate::error::Error;
use crate::intent::Order;
use crate::view::plan::PlanView;

/// The kind of the document.
const KIND: &str = "windlass plan";

/// Why a saved plan can't be carried out. Nothing has been changed then.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SavedPlanError {
    /// The file can't be used.
    #[error("`{}` {cause}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why not.
        cause: DocumentError,
    },
    /// It was made in another project.
    #[error("the plan was made for another project, {made}; this is {here}")]
    OtherProject {
        /// The project it was made for.
        made: String,
        /// The one that is open.
        here: String,
    },
    /// The state has moved on.
    #[error("the plan for `{assembly}` was made at {made}, and is out of date: {}; plan anew", what.join(", "))]
    MovedOn {
        /// The assembly.
        assembly: AssemblyName,
        /// When the plan was made.
        made: Timestamp,
        /// What has happened since, as sentence fragments.
        what: Vec<String>,
    },
    /// It would do something else, and it was made with secrets that are given again.
    #[error(
        "what would be done to `{assembly}` now is not what the saved plan says; give {} as it was made with, or plan anew",
        list(secrets)
    )]
    OtherSecrets {
        /// The assembly.
        assembly: AssemblyName,
        /// The secrets that it was made with.
        secrets: Vec<String>,
    },
    /// There is nothing to plan.
    #[error("this can't be planned ahead")]
    NoPlan,
    /// Other parameters are given than the secrets that it lacks.
    #[error("{}", secrets(missing, unknown))]
    Secrets {
        /// The secrets that it was made with and that are not given.
        missing: Vec<String>,
        /// The parameters that are given and that it doesn't lack.
        unknown: Vec<String>,
    },
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn secrets(missing: &[String], unknown: &[String]) -> String {
    if unknown.is_empty() {
        return format!(
            "the plan was made with the secret {}, which is not in it; give it again, as `-p {}=@FILE`",
            list(missing),
            missing.first().map_or("", String::as_str)
        );
    }
    format!("the plan has its parameters; only secrets are given again, and {} is none of its", list(unknown))
}

/// A plan that was saved.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    assembly: AssemblyName,
    made: Timestamp,
    base: Base,
    asked: Asked,
    /// The packages that come with what is asked.
    packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The digest of each element and of the relationships, as the descriptor says that they should be.
    elements: BTreeMap<String, String>,
    /// The plan, without the places of its reasons.
    plan: Value,
    /// What it changes, without places.
    changes: Value,
}

/// The state that it was made for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    /// The store; none where there was none yet.
    store: Option<String>,
    /// The root of the project.
    root: PathBuf,
    /// The last process of the assembly; 0 where there was none.
    last: ProcessId,
    /// The last process of each assembly that is referenced: of a secret, the digests don't tell whether it is another.
    #[serde(default)]
    references: BTreeMap<AssemblyName, ProcessId>,
}

/// What was asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Asked {
    Up(Recipe),
    Down,
    /// By the packages that lie around a descriptor.
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
    /// Writes down what is asked of an assembly that is there, by the packages around a descriptor if by any.
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

/// What an assembly should be.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    file: PathBuf,
    catalog: Vec<PathBuf>,
    parameters: BTreeMap<String, Value>,
    /// The parameters that are secrets.
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
    /// When the file can't be read, or is damaged or something else.
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

    /// Writes the plan to a file, whole or not at all; to a device or a pipe as it is.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        let failed = |source| Error::Write { path: file.to_owned(), source };
        let text = document::write(KIND, self).map_err(|error| failed(error.into()))?;
        output::write(file, text.as_bytes(), 0o666).map_err(failed)
    }

    /// Puts the plan in, and returns it as it is shown.
    fn fill(&mut self, preview: Preview) -> PlanView {
        self.plan = essence(&preview.plan);
        self.changes = essence(&preview.diff);
        PlanView::new(self.assembly.clone(), &preview.plan, preview.diff).undone(preview.undone)
    }

    /// Says what else the reason may be that it would do something else: secrets are given again.
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

    /// Refuses parameters that are no secrets of the plan, and secrets of it that are not given. A file or an environment may
    /// have others beside them.
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

    /// Makes the order of a recipe anew, with the secrets that it lacks.
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

    /// Names the packages that are not what they were.
    fn moved_packages(&self, packages: &[Package]) -> Vec<String> {
        let packages = packages_of(packages);
        let names: BTreeSet<&DescriptorName> = self.packages.keys().chain(packages.keys()).collect();
        let changed = names.into_iter().filter(|name| self.packages.get(*name) != packages.get(*name));
        changed.map(|name| format!("the package of `{name}` is another")).collect()
    }

    /// Says what of the project's files is not what it was.
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
                "{first}{more} would be otherwise by the descriptor, `windlass.yaml` or what is referenced"
            ));
        }
        what
    }
}

/// How many changed elements or processes are named before the rest is counted.
const NAMED: usize = 3;

fn packages_of(packages: &[Package]) -> BTreeMap<DescriptorName, PackageDigest> {
    packages.iter().map(|package| (package.name().clone(), package.digest().clone())).collect()
}

/// Returns a digest of each element, without the places where things are declared.
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
