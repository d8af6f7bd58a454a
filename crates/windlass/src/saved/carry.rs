//! Creation of saved plans, and their execution.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use windlass_driver::Package;
use windlass_engine::{Consent, PlanFingerprint, Request, Selection, Stop};
use windlass_model::record::{Intent, ProcessRecord};
use windlass_model::{AssemblyName, ProcessId};
use windlass_source::Diagnostics;
use windlass_store::{Store, StoreError};

use super::{Base, NAMED, Recipe, SavedPlan, SavedPlanError, elements_of, packages_of};
use crate::error::Error;
use crate::input::{AssemblyInput, REFRESH_TIMEOUT};
use crate::open::Windlass;
use crate::request::Pending;
use crate::started::Started;
use crate::view::plan::PlanView;

impl Windlass {
    /// Plans the changes that [`up`](Self::up) would make. The caller can write the returned [`SavedPlan`] to a file.
    /// [`apply`](Self::apply) executes the plan.
    ///
    /// # Errors
    ///
    /// Returns all problems that prevent the plan.
    pub async fn plan_to_save(
        &self,
        input: &AssemblyInput,
    ) -> Result<(PlanView, SavedPlan, Diagnostics), Error> {
        let (desired, warnings) = self.desired(input, &Stop::default()).await?;
        let assembly = desired.topology.name().clone();
        let root = desired.topology.root();
        let is_secret = |name: &str| {
            root.is_some_and(|root| root.properties.get(name).is_some_and(|property| property.sensitive))
        };
        // The parameters include values from environment variables.
        let (secrets, open): (Vec<_>, Vec<_>) =
            desired.parameters.iter().partition(|(name, _)| is_secret(name.as_str()));
        let recipe = Recipe {
            file: self.relative(&input.file),
            catalog: input.catalog.iter().map(|folder| self.relative(folder)).collect(),
            parameters: open.into_iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
            secrets: secrets.into_iter().map(|(name, _)| name.to_string()).collect(),
            goal: input.goal,
            adopt: input.adopt,
            replace: input.replace.clone(),
            target: input.target.clone(),
            except: input.except.clone(),
            max_unavailable: input.max_unavailable,
            max_surge: input.max_surge,
            current_packages: input.current_packages,
            protect: input.protect,
        };
        let request = Request::up(desired.clone()).refreshed(input.refresh);
        let mut saved = self.saved(assembly, request.intent().clone(), &desired.packages).await?;
        saved.up = Some(recipe);
        saved.elements = elements_of(&desired.topology);
        for name in desired.topology.referenced() {
            let last = self.base(&name).await?.last;
            saved.base.references.insert(name, last);
        }
        let protection = self.protection(&request).await?;
        let preview = self.preview_up(&saved.assembly, request).await?;
        let unfinished = self.unfinished(&saved.assembly, &preview).await?;
        Ok((saved.fill(preview).with_protection(protection).beside(unfinished), saved, warnings))
    }

    /// Plans the changes that [`change`](Self::change) would make, and returns a plan that can be saved to a file.
    /// [`apply`](Self::apply) executes a saved plan.
    ///
    /// If the request comes from [`Request::down_with`], `around` is the file with the assembly's descriptor. When
    /// the plan is applied, windlass searches for the packages in the folders around this file. For any other
    /// request, `around` is `None`.
    ///
    /// # Errors
    ///
    /// Returns all problems that prevent the plan.
    pub async fn change_to_save(
        &self,
        name: &AssemblyName,
        request: impl Into<Request>,
        around: Option<&Path>,
    ) -> Result<(PlanView, SavedPlan), Error> {
        let request = request.into();
        if !request.can_be_saved() {
            return Err(SavedPlanError::NoPlan.into());
        }
        let mut saved = self.saved(name.clone(), request.intent().clone(), request.packages()).await?;
        saved.packages_around = around.map(|file| self.relative(file));
        saved.selection = request.selection().clone();
        let store = self.store_of(name).await?;
        let preview = Box::pin(self.engine(store).preview(name, request)).await?;
        Ok((saved.fill(preview), saved))
    }

    /// Returns a [`SavedPlan`] that contains the inputs of the planning, but no plan yet. The method `fill` adds the
    /// plan.
    async fn saved(
        &self,
        assembly: AssemblyName,
        intent: Intent,
        packages: &[Arc<Package>],
    ) -> Result<SavedPlan, Error> {
        let base = self.base(&assembly).await?;
        let (made, packages) = (self.now(), packages_of(packages));
        let (elements, plan, changes) = (BTreeMap::new(), Value::Null, Value::Null);
        let (up, packages_around) = (None, None);
        Ok(SavedPlan {
            assembly,
            made,
            base,
            intent,
            up,
            packages_around,
            selection: Selection::default(),
            packages,
            project: Some(self.project.sections().clone()),
            elements,
            plan,
            changes,
            observed: None,
        })
    }

    /// Returns a path in the form that saved plans contain. Inside the project, the path is relative to the project's
    /// root. Outside, the path is canonical: absolute and without symbolic links. A path that can't be resolved stays
    /// unchanged.
    fn relative(&self, path: &Path) -> PathBuf {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real.strip_prefix(self.project.root()).map(Path::to_owned).unwrap_or(real)
    }

    /// Prepares to execute a saved plan. `given` provides the plan's secrets, as parameters or as environment
    /// variables, and the maximum time of the health checks. The other settings of `given` are ignored.
    ///
    /// # Errors
    ///
    /// Fails if the plan belongs to another project, or if the plan's inputs or the assembly have changed
    /// since the plan was saved. Also fails for the same reasons as an execution of the intent without a saved plan.
    pub async fn apply(
        &self,
        saved: &SavedPlan,
        given: &AssemblyInput,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let (request, warnings) = self.saved_request(saved, given, stop).await?;
        let protection = self.protection(&request).await?;
        let started = match &saved.up {
            Some(_) => self.bring_up(&saved.assembly, request, warnings, stop).await,
            None => self.change(&saved.assembly, request, stop).await,
        };
        Ok(started.map_err(|error| saved.explain(error))?.with_protection(protection))
    }

    /// Plans the changes that [`apply`](Self::apply) would make. The saved plan must still be valid.
    ///
    /// # Errors
    ///
    /// Fails like [`apply`](Self::apply).
    pub async fn preview_saved(
        &self,
        saved: &SavedPlan,
        given: &AssemblyInput,
    ) -> Result<(PlanView, Diagnostics), Error> {
        let (request, warnings) = self.saved_request(saved, given, &Stop::default()).await?;
        let protection = self.protection(&request).await?;
        let preview = self.preview_up(&saved.assembly, request).await;
        let preview = preview.map_err(|error| saved.explain(error))?;
        Ok((PlanView::of(saved.assembly.clone(), preview).with_protection(protection), warnings))
    }

    /// Submits a request to execute a saved plan. `stop` ends a search for the target of a reference.
    ///
    /// # Errors
    ///
    /// Fails if the plan belongs to another project, or if the plan's inputs or the assembly have changed since the
    /// plan was saved. Also fails if `given` lacks a secret of the plan. Other problems are found when the request
    /// is executed.
    pub async fn ask_to_apply(
        &self,
        saved: &SavedPlan,
        given: &AssemblyInput,
        stop: &Stop,
    ) -> Result<Pending<'_>, Error> {
        let (request, warnings) = self.saved_request(saved, given, stop).await?;
        self.ask_for_new(&saved.assembly, request, warnings).await
    }

    /// Builds the request that executes a saved plan. Fails if the plan belongs to another project, or if the plan's
    /// inputs or the assembly have changed since the plan was saved. `given` contains the plan's secrets.
    async fn saved_request(
        &self,
        saved: &SavedPlan,
        given: &AssemblyInput,
        stop: &Stop,
    ) -> Result<(Request, Diagnostics), Error> {
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
            if what.is_empty() { Ok(()) } else { Err(SavedPlanError::Outdated { assembly, made, what }) }
        };
        refuse(self.processes_since(saved).await?)?;
        refuse(saved.moved_sections(&self.project))?;
        saved.check_secrets(given)?;
        let (request, warnings, moved) = self.rebuilt(saved, given, stop).await?;
        refuse(moved)?;
        let expected = PlanFingerprint::of(&saved.plan, Some(&saved.changes));
        let request = match &saved.observed {
            Some(observed) => {
                let within = given.refresh.or(Some(REFRESH_TIMEOUT));
                request.refreshed(within).as_observed(observed.clone())
            }
            None => request,
        };
        // The saved plan is permitted. A further process, for example for outdated inputs, has another plan.
        let request = request.with_consent(Consent::Plan(expected.clone()));
        Ok((request.as_planned(expected), warnings))
    }

    /// Builds the request of a saved plan again from the plan's inputs. The list of texts in the result describes the
    /// inputs, such as a package or a referenced assembly, that have changed since the plan was saved.
    async fn rebuilt(
        &self,
        saved: &SavedPlan,
        given: &AssemblyInput,
        stop: &Stop,
    ) -> Result<(Request, Diagnostics, Vec<String>), Error> {
        if let Some(recipe) = &saved.up {
            let input = saved.input(recipe, self.project.root(), given);
            let (desired, warnings) = self.desired(&input, stop).await?;
            let mut moved = saved.moved_files(&desired);
            if moved.is_empty() {
                moved = self.references_since(saved).await?;
            }
            return Ok((Request::up(desired), warnings, moved));
        }
        if let Some(file) = &saved.packages_around {
            let file = self.project.root().join(file);
            let packages = self.current_packages(&saved.assembly, &file, &[]).await?;
            let moved = saved.moved_packages(&packages);
            let request = Request::down_with(packages).limited_to(saved.selection.clone());
            return Ok((request, Diagnostics::default(), moved));
        }
        let request = Request::from(saved.intent.clone()).limited_to(saved.selection.clone());
        Ok((request, Diagnostics::default(), Vec::new()))
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

    /// Lists the assembly's processes that began or ended after the plan was made.
    async fn processes_since(&self, saved: &SavedPlan) -> Result<Vec<String>, Error> {
        let Some(store) = self.store(false).await? else { return Ok(Vec::new()) };
        // The last process may have been running when the plan was made.
        let last = store.process(saved.base.last).await?;
        let last = last.filter(|process| process.ended.is_some_and(|ended| ended > saved.made));
        let since = processes_since(&*store, &saved.assembly, saved.base.last).await?;
        let since: Vec<ProcessRecord> = last.into_iter().chain(since).collect();
        let named = since.iter().take(NAMED);
        let named = named.map(|process| format!("{} {} was {}", process.id, process.intent, process.status));
        let more = since.len().saturating_sub(NAMED);
        Ok(named.chain((more > 0).then(|| format!("and {more} more processes"))).collect())
    }

    /// Lists, for each referenced assembly, the first process that began after the plan was made.
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
    /// Maximum number of processes that one query of the store returns.
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
