//! Plans that are saved, looked at, and carried out later exactly as they were.
//!
//! A saved plan names what it was made from: what was asked, the descriptor, the parameters, the packages by their digests,
//! the state by its last process. It is made anew when it is carried out, under the lease, and refused where it would not be
//! the same. Secrets are not in it: they are given again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use windlass_driver::Package;
use windlass_engine::{Ask, Desired, Preview, Stop, essence};
use windlass_lifecycle::Scale;
use windlass_model::assembly::PackageDigest;
use windlass_model::{AssemblyName, DescriptorName, ElementName, ProcessId, State, Timestamp, Topology};
use windlass_source::Diagnostics;

use crate::document::{self, DocumentError};
use crate::error::Error;
use crate::intent::{Order, Started};
use crate::open::Windlass;
use crate::request::Pending;
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

fn secrets(missing: &[String], unknown: &[String]) -> String {
    let list = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
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
    /// What it changes, for people.
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
        let text =
            std::fs::read_to_string(file).map_err(|source| Error::File { path: file.to_owned(), source })?;
        let read = document::read(KIND, &text);
        Ok(read.map_err(|cause| SavedPlanError::File { file: file.to_owned(), cause })?)
    }

    /// Writes the plan to a file, whole or not at all.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        let failed = |source| Error::Write { path: file.to_owned(), source };
        let text = document::write(KIND, self).map_err(|error| failed(error.into()))?;
        let part = PathBuf::from(format!("{}.part", file.display()));
        std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, file)).map_err(failed)
    }

    /// Puts the plan in, and returns it as it is shown.
    fn fill(&mut self, preview: Preview) -> PlanView {
        self.plan = essence(&preview.plan);
        self.changes = serde_json::to_value(&preview.diff).unwrap_or_default();
        PlanView::new(self.assembly.clone(), &preview.plan, preview.diff)
    }

    /// Returns the assembly.
    pub fn assembly(&self) -> &AssemblyName {
        &self.assembly
    }

    /// Refuses parameters that are no secrets of the plan, and secrets of it that are not given.
    fn check_secrets(&self, given: &BTreeMap<String, Value>) -> Result<(), SavedPlanError> {
        let none = BTreeSet::new();
        let secrets = match &self.asked {
            Asked::Up(recipe) => &recipe.secrets,
            _ => &none,
        };
        let missing: Vec<String> =
            secrets.iter().filter(|name| !given.contains_key(*name)).cloned().collect();
        let unknown: Vec<String> = given.keys().filter(|name| !secrets.contains(*name)).cloned().collect();
        if missing.is_empty() && unknown.is_empty() {
            Ok(())
        } else {
            Err(SavedPlanError::Secrets { missing, unknown })
        }
    }

    /// Makes the order of a recipe anew, with the secrets that it lacks.
    fn order(&self, recipe: &Recipe, root: &Path, given: &BTreeMap<String, Value>) -> Order {
        let mut order = Order::new(root.join(&recipe.file))
            .name(Some(self.assembly.clone()))
            .catalog(recipe.catalog.iter().map(|folder| root.join(folder)))
            .goal(recipe.goal)
            .adopt(recipe.adopt)
            .replace(recipe.replace.clone())
            .target(recipe.target.clone());
        for (name, value) in recipe.parameters.iter().chain(given) {
            order = order.parameter(name, value.clone());
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

/// How many changed elements are named before the rest is counted.
const NAMED: usize = 3;

fn packages_of(packages: &[Package]) -> BTreeMap<DescriptorName, PackageDigest> {
    packages.iter().map(|package| (package.name().clone(), package.digest().clone())).collect()
}

/// Returns a digest of each element, without the places where things are declared.
fn elements_of(topology: &Topology) -> BTreeMap<String, String> {
    let digest = |value: serde_json::Result<Value>| {
        let mut value = value.unwrap_or_default();
        strip(&mut value);
        document::digest(&value.to_string())
    };
    let local = |name: &ElementName| match name.local() {
        "" => name.to_string(),
        local => local.to_owned(),
    };
    let elements = topology.elements().iter();
    let mut all: BTreeMap<String, String> =
        elements.map(|element| (local(&element.name), digest(serde_json::to_value(element)))).collect();
    all.extend(topology.relationships().iter().map(|relationship| {
        (
            format!("{}:{}", relationship.assembly, relationship.name),
            digest(serde_json::to_value(relationship)),
        )
    }));
    all
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.remove("origin");
            entries.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

impl Windlass {
    /// Plans what [`up`](Self::up) would do, to be saved and carried out by [`apply`](Self::apply).
    ///
    /// # Errors
    ///
    /// Everything that stands against it.
    pub async fn plan_to_save(&self, order: &Order) -> Result<(PlanView, SavedPlan, Diagnostics), Error> {
        let (desired, warnings) = self.desired(order).await?;
        let assembly = desired.topology.name().clone();
        let root = desired.topology.root();
        let is_secret = |name: &str| {
            root.is_some_and(|root| root.properties.get(name).is_some_and(|property| property.sensitive))
        };
        // What the environment has given is among them.
        let (secrets, open): (Vec<_>, Vec<_>) =
            desired.parameters.iter().partition(|(name, _)| is_secret(name.as_str()));
        let recipe = Recipe {
            file: self.relative(&order.file),
            catalog: order.catalog.iter().map(|folder| self.relative(folder)).collect(),
            parameters: open.into_iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
            secrets: secrets.into_iter().map(|(name, _)| name.to_string()).collect(),
            goal: order.goal,
            adopt: order.adopt,
            replace: order.replace.clone(),
            target: order.target.clone(),
        };
        let mut saved = self.saved(assembly, Asked::Up(recipe), &desired.packages).await?;
        saved.elements = elements_of(&desired.topology);
        let preview = self.preview_up(&saved.assembly, Ask::Up(Box::new(desired))).await?;
        Ok((saved.fill(preview), saved, warnings))
    }

    /// Plans what [`change`](Self::change) would do, to be saved and carried out by [`apply`](Self::apply). `around` is the
    /// descriptor around which the packages lie that [`Ask::DownWith`] has.
    ///
    /// # Errors
    ///
    /// Everything that stands against it.
    pub async fn change_to_save(
        &self,
        name: &AssemblyName,
        ask: Ask,
        around: Option<&Path>,
    ) -> Result<(PlanView, SavedPlan), Error> {
        let asked = Asked::of(&ask, around.map(|file| self.relative(file))).ok_or(SavedPlanError::NoPlan)?;
        let packages = match &ask {
            Ask::DownWith(packages) => packages.as_slice(),
            _ => &[],
        };
        let mut saved = self.saved(name.clone(), asked, packages).await?;
        let store = self.store_of(name).await?;
        let preview = Box::pin(self.engine(store).preview(name, ask)).await?;
        Ok((saved.fill(preview), saved))
    }

    /// Writes down what a plan is made from; the plan itself comes after.
    async fn saved(
        &self,
        assembly: AssemblyName,
        asked: Asked,
        packages: &[Package],
    ) -> Result<SavedPlan, Error> {
        let base = self.base(&assembly).await?;
        let (made, packages) = (self.now(), packages_of(packages));
        let (elements, plan, changes) = (BTreeMap::new(), Value::Null, Value::Null);
        Ok(SavedPlan { assembly, made, base, asked, packages, elements, plan, changes })
    }

    /// Returns a path as seen from the project, where it lies in it.
    fn relative(&self, path: &Path) -> PathBuf {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real.strip_prefix(self.project.root()).map(Path::to_owned).unwrap_or(real)
    }

    /// Prepares to carry out a saved plan. `given` are the secrets that it was made with.
    ///
    /// # Errors
    ///
    /// When it is of another project, what it was made from has changed, or the state has moved on; and everything that
    /// stands against it.
    pub async fn apply(
        &self,
        saved: &SavedPlan,
        given: &BTreeMap<String, Value>,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let (ask, warnings) = self.saved_ask(saved, given).await?;
        match &saved.asked {
            Asked::Up(_) => self.bring_up(&saved.assembly, ask, warnings, stop).await,
            _ => self.change(&saved.assembly, ask, stop).await,
        }
    }

    /// Says what [`apply`](Self::apply) would do, if it would do it still.
    ///
    /// # Errors
    ///
    /// As for [`apply`](Self::apply).
    pub async fn preview_saved(
        &self,
        saved: &SavedPlan,
        given: &BTreeMap<String, Value>,
    ) -> Result<(PlanView, Diagnostics), Error> {
        let (ask, warnings) = self.saved_ask(saved, given).await?;
        let Preview { plan, diff, .. } = self.preview_up(&saved.assembly, ask).await?;
        Ok((PlanView::new(saved.assembly.clone(), &plan, diff), warnings))
    }

    /// Leaves it to the long-running mode to carry out a saved plan.
    ///
    /// # Errors
    ///
    /// As for [`apply`](Self::apply), as far as it can be told before it is begun.
    pub async fn ask_to_apply(
        &self,
        saved: &SavedPlan,
        given: &BTreeMap<String, Value>,
    ) -> Result<Pending<'_>, Error> {
        let (ask, warnings) = self.saved_ask(saved, given).await?;
        self.ask_for_new(&saved.assembly, ask, warnings).await
    }

    /// Asks anew what a saved plan was made for, and looks whether it is still the same.
    async fn saved_ask(
        &self,
        saved: &SavedPlan,
        given: &BTreeMap<String, Value>,
    ) -> Result<(Ask, Diagnostics), Error> {
        let here = self.base(&saved.assembly).await?;
        let same = match (&saved.base.store, &here.store) {
            (Some(made), Some(here)) => made == here,
            _ => saved.base.root == here.root,
        };
        if !same {
            let shown = |base: &Base| format!("`{}`", base.root.display());
            let (made, here) = (shown(&saved.base), shown(&here));
            return Err(SavedPlanError::OtherProject { made, here }.into());
        }
        let refuse = |what: Vec<String>| {
            let (assembly, made) = (saved.assembly.clone(), saved.made);
            if what.is_empty() { Ok(()) } else { Err(SavedPlanError::MovedOn { assembly, made, what }) }
        };
        refuse(self.processes_since(saved).await?)?;
        saved.check_secrets(given)?;
        let (ask, warnings, moved) = self.asked_anew(saved, given).await?;
        refuse(moved)?;
        Ok((Ask::AsPlanned { ask: Box::new(ask), plan: saved.plan.clone() }, warnings))
    }

    /// Asks anew what was asked; tells what of the project's files is not what it was.
    async fn asked_anew(
        &self,
        saved: &SavedPlan,
        given: &BTreeMap<String, Value>,
    ) -> Result<(Ask, Diagnostics, Vec<String>), Error> {
        let scale = |cluster: &ElementName, scale| Ask::Scale { cluster: cluster.clone(), scale };
        let ask = match &saved.asked {
            Asked::Up(recipe) => {
                let order = saved.order(recipe, self.project.root(), given);
                let (desired, warnings) = self.desired(&order).await?;
                let moved = saved.moved_files(&desired);
                return Ok((Ask::Up(Box::new(desired)), warnings, moved));
            }
            Asked::DownWith { file } => {
                let file = self.project.root().join(file);
                let packages = self.current_packages(&saved.assembly, &file, &[]).await?;
                let moved = saved.moved_packages(&packages);
                return Ok((Ask::DownWith(packages), Diagnostics::default(), moved));
            }
            Asked::Down => Ask::Down,
            Asked::Retry => Ask::Retry { assume: None },
            Asked::SetState(state) => Ask::SetState(*state),
            Asked::ScaleOut(cluster) => scale(cluster, Scale::Out),
            Asked::ScaleIn(cluster) => scale(cluster, Scale::In),
            Asked::Heal(element) => Ask::Heal(element.clone()),
            Asked::Rollback(process) => Ask::Rollback(*process),
        };
        Ok((ask, Diagnostics::default(), Vec::new()))
    }

    async fn base(&self, assembly: &AssemblyName) -> Result<Base, Error> {
        let root = self.project.root().to_owned();
        let Some(store) = self.store(false).await? else {
            return Ok(Base { store: None, root, last: ProcessId(0) });
        };
        let history = store.history(assembly).await?;
        let last = history.processes.last().map_or(ProcessId(0), |process| process.process.id);
        Ok(Base { store: Some(store.id().to_string()), root, last })
    }

    /// Says what was done to the assembly since a plan was made.
    async fn processes_since(&self, saved: &SavedPlan) -> Result<Vec<String>, Error> {
        let Some(store) = self.store(false).await? else { return Ok(Vec::new()) };
        let history = store.history(&saved.assembly).await?;
        let since = history.processes.iter().map(|known| &known.process);
        let since = since.filter(|process| process.id > saved.base.last);
        Ok(since.map(|process| format!("{} {} was {}", process.id, process.intent, process.status)).collect())
    }
}
