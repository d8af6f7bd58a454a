//! Creation of saved plans, and their execution.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_driver::Package;
use windlass_engine::{Ask, Preview, Stop};
use windlass_lifecycle::Scale;
use windlass_model::record::ProcessRecord;
use windlass_model::{AssemblyName, ElementName, ProcessId};
use windlass_source::Diagnostics;
use windlass_store::{Store, StoreError};

use super::{Asked, Base, NAMED, Recipe, SavedPlan, SavedPlanError, elements_of, packages_of};
use crate::error::Error;
use crate::intent::{Order, Started};
use crate::open::Windlass;
use crate::request::Pending;
use crate::view::plan::PlanView;

impl Windlass {
    /// Plans what [`up`](Self::up) would do. The plan is saved and executed by [`apply`](Self::apply).
    ///
    /// # Errors
    ///
    /// All problems that prevent it.
    pub async fn plan_to_save(&self, order: &Order) -> Result<(PlanView, SavedPlan, Diagnostics), Error> {
        let (desired, warnings) = self.desired(order).await?;
        let assembly = desired.topology.name().clone();
        let root = desired.topology.root();
        let is_secret = |name: &str| {
            root.is_some_and(|root| root.properties.get(name).is_some_and(|property| property.sensitive))
        };
        // They include values from the environment.
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
        for name in desired.topology.referenced() {
            let last = self.base(&name).await?.last;
            saved.base.references.insert(name, last);
        }
        let preview = self.preview_up(&saved.assembly, Ask::Up(Box::new(desired))).await?;
        Ok((saved.fill(preview), saved, warnings))
    }

    /// Plans what [`change`](Self::change) would do. The plan is saved and executed by
    /// [`apply`](Self::apply). `around` is the descriptor whose surroundings contain the packages of
    /// [`Ask::DownWith`].
    ///
    /// # Errors
    ///
    /// All problems that prevent it.
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

    /// Records the inputs of a plan. The plan itself is filled in later.
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

    /// Returns a path relative to the project's root if it is inside the project.
    fn relative(&self, path: &Path) -> PathBuf {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real.strip_prefix(self.project.root()).map(Path::to_owned).unwrap_or(real)
    }

    /// Prepares to execute a saved plan. `given` provides the plan's secrets as parameters or in its
    /// environment; its other settings are ignored.
    ///
    /// # Errors
    ///
    /// If the plan belongs to another project, its inputs have changed, or the state has moved on. Also all
    /// problems that prevent the intent itself.
    pub async fn apply(&self, saved: &SavedPlan, given: &Order, stop: &Stop) -> Result<Started, Error> {
        let (ask, warnings) = self.saved_ask(saved, given).await?;
        let started = match &saved.asked {
            Asked::Up(_) => self.bring_up(&saved.assembly, ask, warnings, stop).await,
            _ => self.change(&saved.assembly, ask, stop).await,
        };
        started.map_err(|error| saved.explain(error))
    }

    /// Plans what [`apply`](Self::apply) would do, if the saved plan is still valid.
    ///
    /// # Errors
    ///
    /// As for [`apply`](Self::apply).
    pub async fn preview_saved(
        &self,
        saved: &SavedPlan,
        given: &Order,
    ) -> Result<(PlanView, Diagnostics), Error> {
        let (ask, warnings) = self.saved_ask(saved, given).await?;
        let preview = self.preview_up(&saved.assembly, ask).await;
        let Preview { plan, diff, undone, .. } = preview.map_err(|error| saved.explain(error))?;
        Ok((PlanView::new(saved.assembly.clone(), &plan, diff).undone(undone), warnings))
    }

    /// Submits a request to execute a saved plan.
    ///
    /// # Errors
    ///
    /// As for [`apply`](Self::apply), as far as problems are known before the request is executed.
    pub async fn ask_to_apply(&self, saved: &SavedPlan, given: &Order) -> Result<Pending<'_>, Error> {
        let (ask, warnings) = self.saved_ask(saved, given).await?;
        self.ask_for_new(&saved.assembly, ask, warnings).await
    }

    /// Rebuilds the intent of a saved plan, and checks that its inputs have not changed.
    async fn saved_ask(&self, saved: &SavedPlan, given: &Order) -> Result<(Ask, Diagnostics), Error> {
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
        let (plan, changes) = (saved.plan.clone(), Some(saved.changes.clone()));
        Ok((Ask::AsPlanned { ask: Box::new(ask), plan, changes }, warnings))
    }

    /// Rebuilds the intent. Also returns which project files have changed.
    async fn asked_anew(
        &self,
        saved: &SavedPlan,
        given: &Order,
    ) -> Result<(Ask, Diagnostics, Vec<String>), Error> {
        let scale = |cluster: &ElementName, scale| Ask::Scale { cluster: cluster.clone(), scale };
        let ask = match &saved.asked {
            Asked::Up(recipe) => {
                let order = saved.order(recipe, self.project.root(), given);
                let (desired, warnings) = self.desired(&order).await?;
                let mut moved = saved.moved_files(&desired);
                if moved.is_empty() {
                    moved = self.references_since(saved).await?;
                }
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
            return Ok(Base { store: None, root, last: ProcessId(0), references: BTreeMap::new() });
        };
        let last = store.processes_of(assembly, None, 1).await?.pop();
        let last = last.map_or(ProcessId(0), |process| process.id);
        Ok(Base { store: Some(store.id().to_string()), root, last, references: BTreeMap::new() })
    }

    /// Lists the processes of the assembly since the plan was made.
    async fn processes_since(&self, saved: &SavedPlan) -> Result<Vec<String>, Error> {
        let Some(store) = self.store(false).await? else { return Ok(Vec::new()) };
        let since = processes_since(&*store, &saved.assembly, saved.base.last).await?;
        let told = since.iter().take(NAMED);
        let told = told.map(|process| format!("{} {} was {}", process.id, process.intent, process.status));
        let more = since.len().saturating_sub(NAMED);
        Ok(told.chain((more > 0).then(|| format!("and {more} more processes"))).collect())
    }

    /// Lists the first process since then of each referenced assembly.
    async fn references_since(&self, saved: &SavedPlan) -> Result<Vec<String>, Error> {
        let Some(store) = self.store(false).await? else { return Ok(Vec::new()) };
        let mut what = Vec::new();
        for (name, last) in &saved.base.references {
            let first = processes_since(&*store, name, *last).await?.into_iter().next();
            what.extend(first.map(|process| {
                let ProcessRecord { id, intent, status, .. } = process;
                format!("{id} {intent} of the referenced assembly `{name}` was {status}")
            }));
        }
        Ok(what)
    }
}

/// Reads the processes of an assembly that are newer than `last`, oldest first.
async fn processes_since(
    store: &dyn Store,
    name: &AssemblyName,
    last: ProcessId,
) -> Result<Vec<ProcessRecord>, StoreError> {
    /// Number of processes read at once.
    const MANY: usize = 20;
    let mut since: Vec<ProcessRecord> = Vec::new();
    loop {
        let page = store.processes_of(name, since.last().map(|oldest| oldest.id), MANY).await?;
        let read = page.len();
        let newer = since.len();
        since.extend(page.into_iter().filter(|process| process.id > last));
        if since.len() - newer < read.max(1) {
            since.reverse();
            return Ok(since);
        }
    }
}
