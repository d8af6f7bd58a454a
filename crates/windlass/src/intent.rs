//! Intents on assemblies: creating an assembly, and changing an existing one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use windlass_driver::Package;
use windlass_engine::{
    Answer, Desired, Ended, EngineError, Loss, Preview, PublishedOutputs, Request, Stop, UpOptions,
};
use windlass_model::assembly::ElementKind;
use windlass_model::instance::InstanceView;
use windlass_model::record::{CallRecord, InstanceRecord, Intent};
use windlass_model::request::RequestRecord;
use windlass_model::{
    Action, AssemblyName, CallId, ElementName, ProcessId, PropertyName, State, Timestamp, Topology,
    Transition,
};
use windlass_source::{Diagnostic, Diagnostics};
use windlass_store::{Holder, Snapshot, Store, StoreError};

use crate::desired::{self, desired};
use crate::error::Error;
use crate::input::AssemblyInput;
use crate::open::Windlass;
use crate::started::Started;
use crate::view::plan::{PlanView, ProtectionChange, UnfinishedProcess};
use crate::wiring::Removal;

impl Windlass {
    /// Prepares to create an assembly, or to change or repair an existing one. [`Started::run`] executes the
    /// process.
    ///
    /// # Errors
    ///
    /// Returns all problems that prevent the process. In this case, nothing has been changed.
    pub async fn up(&self, input: AssemblyInput, stop: &Stop) -> Result<Started, Error> {
        let (desired, warnings) = self.desired(&input, stop).await?;
        let name = desired.topology.name().clone();
        let request = Request::up(desired).with_consent(input.consent).refreshed(input.refresh);
        let protection = self.protection(&request).await?;
        Ok(self.bring_up(&name, request, warnings, stop).await?.with_protection(protection))
    }

    /// Returns the parts that become protected, and the parts that are no longer protected. To find these parts,
    /// the method compares the recorded topology of the assembly with the desired topology. Returns no parts for a
    /// request without a desired topology.
    pub(crate) async fn protection(&self, request: &Request) -> Result<Vec<ProtectionChange>, Error> {
        let (Some(desired), Some(store)) = (request.topology(), self.store(false).await?) else {
            return Ok(Vec::new());
        };
        let before = store.assembly(desired.name()).await?;
        Ok(before.map(|before| ProtectionChange::between(&before.topology, desired)).unwrap_or_default())
    }

    /// Prepares an intent on an assembly that may not exist yet.
    pub(crate) async fn bring_up(
        &self,
        name: &AssemblyName,
        request: Request,
        warnings: Diagnostics,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let store = if let Some(store) = self.store(false).await? {
            store
        } else {
            // This may be the first assembly of the project. A refused intent must not leave a new store
            // behind.
            self.engine_env().preview_new(request.clone())?;
            self.store_or_new().await?
        };
        // Boxed because of its size.
        Box::pin(self.start(store, name, request, warnings, stop)).await
    }

    /// Prepares a change of an existing assembly, for example the intent `down`, `retry`, `scale` or `heal`.
    ///
    /// # Errors
    ///
    /// Returns all problems that prevent the change. In this case, nothing has been changed.
    pub async fn change(
        &self,
        name: &AssemblyName,
        request: impl Into<Request>,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let request = request.into();
        let store = self.store_of(name).await?;
        // Boxed because of its size.
        Box::pin(self.start(store, name, request, Diagnostics::default(), stop)).await
    }

    /// Runs a process to its end, and then the further processes that its intent needs. Returns the result of the last
    /// process. [`Ended::continued`] lists the further processes. For example, `on-failure: rollback` in a descriptor
    /// demands a rollback if a node fails.
    ///
    /// # Errors
    ///
    /// The errors of [`Started::run`] and of [`change`](Self::change). A process that fails or is cancelled is no
    /// error: its status is in [`Ended::process`].
    pub async fn complete(&self, started: Started, stop: &Stop) -> Result<Ended, Error> {
        let next = async |before: Ended, request: Request| {
            self.change(&before.process.assembly, request, stop).await?.run(stop).await
        };
        started.run(stop).await?.continued(next).await
    }

    /// Reads the current packages of an existing assembly from disk, for [`Request::down_with`]. The search
    /// for the packages begins at the assembly's descriptor `file`.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly, or if the file or a package can't be read.
    pub async fn current_packages(
        &self,
        name: &AssemblyName,
        file: &Path,
        catalog: &[PathBuf],
    ) -> Result<Vec<Arc<Package>>, Error> {
        let record = self.snapshot(name).await?.assembly;
        let opened = desired::open(&self.project, file, catalog)?;
        let mut problems = Diagnostics::default();
        let resources: Vec<_> = record.packages.keys().collect();
        let packages = desired::packages(&opened.catalog, resources, self.drivers(), &mut problems);
        if problems.has_errors() { Err(Error::Input(problems)) } else { Ok(packages) }
    }

    async fn start(
        &self,
        store: Arc<dyn Store>,
        name: &AssemblyName,
        request: Request,
        warnings: Diagnostics,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let removal = Box::pin(self.removal(&store, name, &request)).await?;
        let from = store.last_event().await?;
        // Boxed: a future of this size would enlarge every future that awaits it.
        let prepared =
            Box::pin(self.engine(store.clone()).prepare(name, request, &self.holder(), stop)).await;
        match prepared {
            Ok(prepared) => {
                if let Some(removal) = removal {
                    self.note(&removal).await;
                }
                Ok(Started::own(prepared, warnings, store, from))
            }
            Err(EngineError::Store(StoreError::Held { scope, by, since })) => {
                Err(held(&*store, scope, by, since).await)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Calls [`Removal::note`] for a removal that has begun. If the call fails, the user gets a message, and the
    /// removal continues.
    pub(crate) async fn note(&self, removal: &Removal) {
        if let Err(error) = removal.note().await {
            self.tell(&error.to_string());
        }
    }

    /// Checks an intent that removes an assembly, and returns the references to this assembly. Refuses to remove an
    /// application to which other applications refer, unless the removal is forced or no resource of the application
    /// exists. Returns `None` for intents that remove no assembly.
    ///
    /// When the removal begins, the caller calls [`Removal::note`]. After the removal, windlass can then show that the
    /// references refer to a removed application.
    pub(crate) async fn removal(
        &self,
        store: &Arc<dyn Store>,
        name: &AssemblyName,
        request: &Request,
    ) -> Result<Option<Removal>, Error> {
        if *request.intent() != Intent::Down {
            return Ok(None);
        }
        let removal = Removal::of(store, name).await?;
        removal.refuse(Loss::Removed, self.is_forced())?;
        Ok(Some(removal))
    }

    /// Plans the changes that [`up`](Self::up) would make, without making them.
    ///
    /// # Errors
    ///
    /// Returns all problems that prevent the plan.
    pub async fn plan(&self, input: &AssemblyInput) -> Result<(PlanView, Diagnostics), Error> {
        let (desired, warnings) = self.desired(input, &Stop::default()).await?;
        let name = desired.topology.name().clone();
        let request = Request::up(desired).refreshed(input.refresh);
        let protection = self.protection(&request).await?;
        let preview = self.preview_up(&name, request).await?;
        let unfinished = self.unfinished(&name, &preview).await?;
        Ok((PlanView::of(name, preview).with_protection(protection).beside(unfinished), warnings))
    }

    /// Returns the process that is changing an assembly now, or that was interrupted or stopped before all of its calls
    /// had ended; `None` if there is no such process. `preview` is a preview of an intent on the assembly. The function
    /// finds a stopped process through the field `unfinished` of `preview`.
    pub(crate) async fn unfinished(
        &self,
        name: &AssemblyName,
        preview: &Preview,
    ) -> Result<Option<UnfinishedProcess>, Error> {
        let Some(store) = self.store(false).await? else { return Ok(None) };
        let mut open = store.open_processes().await?.into_iter().filter(|process| process.assembly == *name);
        let process = match (open.next(), preview.unfinished) {
            (Some(process), _) => process,
            (None, Some(stopped)) => match store.process(stopped).await? {
                Some(process) => process,
                None => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        let runs = store.holder(name).await?.map(|holder| holder.to_string());
        Ok(Some(UnfinishedProcess { id: process.id, intent: process.title(), runs }))
    }

    /// Plans an intent on an assembly that may not exist yet.
    pub(crate) async fn preview_up(&self, name: &AssemblyName, request: Request) -> Result<Preview, Error> {
        Ok(match self.store(false).await? {
            Some(store) => Box::pin(self.engine(store).preview(name, request)).await?,
            None => self.engine_env().preview_new(request)?,
        })
    }

    /// Tells whether an assembly existed and was removed.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read.
    pub async fn is_removed(&self, name: &AssemblyName) -> Result<bool, Error> {
        let Some(store) = self.store(false).await? else { return Ok(false) };
        let is_known = !store.processes_of(name, None, 1).await?.is_empty();
        Ok(is_known && store.assembly(name).await?.is_none())
    }

    /// Tells whether an assembly is an application or a factory that was launched from a published manifest.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read.
    pub async fn is_application(&self, name: &AssemblyName) -> Result<bool, Error> {
        let Some(store) = self.store(false).await? else { return Ok(false) };
        Ok(store.assembly(name).await?.is_some_and(|assembly| assembly.application.is_some()))
    }

    /// Plans the changes that [`change`](Self::change) would make, without making them.
    ///
    /// # Errors
    ///
    /// Returns all problems that prevent the plan.
    pub async fn preview(&self, name: &AssemblyName, request: impl Into<Request>) -> Result<PlanView, Error> {
        let request = request.into();
        let store = self.store_of(name).await?;
        Box::pin(self.removal(&store, name, &request)).await?;
        let preview = Box::pin(self.engine(store).preview(name, request)).await?;
        let unfinished = self.unfinished(name, &preview).await?;
        Ok(PlanView::of(name.clone(), preview).beside(unfinished))
    }

    /// Requests that a process stops. If a daemon executed the process and was interrupted, no daemon resumes the process.
    ///
    /// No further call is started. For a limited time, running jobs may still end by
    /// themselves. The program that executes the process sets this time. After this time, the program cancels the
    /// remaining jobs.
    ///
    /// # Errors
    ///
    /// Fails if the assembly has no such process, or the process has ended. Also fails if a command executed the process
    /// and was interrupted.
    pub async fn cancel(&self, name: &AssemblyName, process: ProcessId) -> Result<(), Error> {
        self.can_cancel(name, process).await?;
        Ok(self.store_of(name).await?.ask_to_stop(name, process).await?)
    }

    /// Returns the id to pass to [`cancel`](Self::cancel): the id of the assembly's last process. Only the last process
    /// can be running. If the process has ended and no request for the assembly is pending, this method still returns
    /// the id; `cancel` then fails.
    ///
    /// # Errors
    ///
    /// Fails if the assembly does not exist, or has no process. Also fails if no process is open and a request for the
    /// assembly is pending; the error names this request.
    pub async fn process_to_cancel(&self, name: &AssemblyName) -> Result<ProcessId, Error> {
        let store = self.store_of(name).await?;
        let last = store.processes_of(name, None, 1).await?.into_iter().next();
        if let Some(last) = last.as_ref().filter(|last| !last.status.is_final()) {
            return Ok(last.id);
        }
        let is_pending = |request: &RequestRecord| request.assembly == *name && request.is_open();
        if let Some(request) = store.requests().await?.into_iter().find(is_pending) {
            return Err(Error::OnlyPending { assembly: request.assembly, request: request.id });
        }
        match last {
            Some(last) => Ok(last.id),
            None => Err(self.unknown(store, name).await),
        }
    }

    /// Checks whether a process can be [cancelled](Self::cancel).
    ///
    /// # Errors
    ///
    /// Fails if the assembly has no such process, or the process has ended. Also fails if a command executed the process
    /// and was interrupted.
    pub async fn can_cancel(&self, name: &AssemblyName, process: ProcessId) -> Result<(), Error> {
        let store = self.store_of(name).await?;
        let found = store.process(process).await?.filter(|found| found.assembly == *name);
        match found {
            Some(found) if found.status.is_final() => Err(Error::Ended { process, status: found.status }),
            // Only the processes of daemons are resumed without a further command.
            Some(found) if !found.unattended && store.holder(name).await?.is_none() => {
                Err(Error::NotRunning { assembly: name.clone(), process })
            }
            Some(_) => Ok(()),
            None => Err(windlass_store::StoreError::NoProcess { scope: name.clone(), process }.into()),
        }
    }

    /// Finds a part of an existing assembly. `part` is the part's name relative to the assembly (`B__1`), its
    /// full name, its instance id, or its natural id.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly or part.
    pub async fn part(&self, name: &AssemblyName, part: &str) -> Result<ElementName, Error> {
        let snapshot = self.snapshot(name).await?;
        let topology = &snapshot.assembly.topology;
        let by_name = |element: &&ElementName| element.local() == part || element.as_str() == part;
        // Parts that will be removed exist only in the records, not in the topology.
        let described = topology.elements().iter().map(|element| &element.name);
        if let Some(found) = described.chain(snapshot.elements.keys()).find(by_name) {
            return Ok(found.clone());
        }
        let by_id = snapshot.elements.values().find(|record| record.id.as_str() == part).map(|r| &r.name);
        let natural = |record: &&InstanceRecord| record.natural.as_deref() == Some(part);
        let by_natural = || snapshot.instances.values().find(natural).map(|record| &record.element);
        by_id.or_else(by_natural).cloned().ok_or_else(|| Error::NoPart {
            assembly: name.clone(),
            part: part.to_owned(),
            known: topology.elements().iter().skip(1).map(|e| e.name.local().to_owned()).collect(),
        })
    }

    /// Parses `id` as the id of an open call of the assembly. Returns `None` if the assembly has no open call with this
    /// id. A call is open until its outcome is final. An undecided call is open too, because its outcome is not final
    /// until a user decides whether the call was executed.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub async fn undecided_call(&self, name: &AssemblyName, id: &str) -> Result<Option<CallId>, Error> {
        let Ok(id) = id.parse::<CallId>() else { return Ok(None) };
        let snapshot = self.store_of(name).await?.load_sealed(name).await?;
        let calls = snapshot.map(|snapshot| snapshot.calls).unwrap_or_default();
        Ok(calls.iter().any(|call| call.id == id && call.state.is_open()).then_some(id))
    }

    /// Parses the names of the outputs that a user states in an answer about an undecided call. An undecided call
    /// is a call whose outcome only a user can determine. The caller stores the returned outputs in the field
    /// [`Answer::published`](windlass_engine::Answer::published) of the answer.
    ///
    /// `open` lists the outputs whose values the user has passed on the command line, where other users of the host
    /// can see them. For each secret among these outputs, the method returns a warning.
    ///
    /// # Errors
    ///
    /// Fails if a name can't be a property name, if the project has no store, or if the store can't be read.
    pub async fn published(
        &self,
        name: &AssemblyName,
        given: BTreeMap<String, Value>,
        open: &[String],
    ) -> Result<(PublishedOutputs, Vec<Diagnostic>), Error> {
        let mut published = PublishedOutputs::default();
        for (property, value) in given {
            let property: PropertyName = property
                .parse()
                .map_err(|error| EngineError::NotPublished(format!("`{property}`: {error}")))?;
            published.0.insert(property, value);
        }
        let snapshot = self.store_of(name).await?.load_sealed(name).await?;
        let elements = snapshot.iter().flat_map(|snapshot| snapshot.assembly.topology.elements());
        let sensitive: BTreeSet<&str> = elements
            .flat_map(|element| element.properties.iter().filter(|(_, property)| property.sensitive))
            .map(|(property, _)| property.as_str())
            .collect();
        let warning = |name: &&String| {
            let message = format!("`{name}` is a secret, and its value was passed on the command line");
            Diagnostic::warning(windlass_descriptor::codes::OPEN_SECRET, message).help(format!(
                "use `--published {name}=@FILE`, `--published {name}=-` or `--published-from FILE`"
            ))
        };
        let warnings =
            open.iter().filter(|name| sensitive.contains(name.as_str())).map(|name| warning(&name));
        Ok((published, warnings.collect()))
    }

    /// Finds the outputs that would have no value after the user has given `answer` for undecided calls. An undecided
    /// call is a call whose outcome only the user can determine.
    ///
    /// An output has a value if `answer` or a record contains one. After an undecided Install, recorded values do not
    /// count, because they belong to the previous instance. If `answer` contains an output that no part publishes, the
    /// result is empty, because windlass refuses such an answer.
    ///
    /// The result can contain too many outputs, because the driver may still have a report of the call, and this report
    /// may contain the missing values. This method does not read the report. windlass reads the report later, when it
    /// applies `answer`.
    ///
    /// # Errors
    ///
    /// Fails if the store can't be read.
    pub async fn unknown_outputs(
        &self,
        name: &AssemblyName,
        answer: &Answer,
    ) -> Result<Vec<(ElementName, Vec<PropertyName>)>, Error> {
        use Transition::{Adopt, Install, Reconfigure};
        let Some(snapshot) = self.store_of(name).await?.load_sealed(name).await? else {
            return Ok(Vec::new());
        };
        let reports = |call: &&CallRecord| {
            let of = [Install, Reconfigure, Adopt].map(Action::Transition).contains(&call.action);
            of && call.state.is_open() && answer.is_about(call)
        };
        let unknown = |call: &CallRecord| {
            let element = snapshot.assembly.topology.get(&call.element)?;
            let document = snapshot.instances.get(&call.element).map(|instance| &instance.document);
            let anew = call.action == Action::Transition(Install);
            let is_known = |output: &PropertyName| {
                let published =
                    document.and_then(|document| InstanceView::new(document).property(output.as_str()));
                (published.is_some() && !anew) || answer.published.0.contains_key(output)
            };
            let outputs = element.properties.iter().filter(|(_, property)| property.read_only);
            let unknown = outputs.map(|(output, _)| output.clone()).filter(|output| !is_known(output));
            Some((call.element.clone(), unknown.collect::<Vec<_>>()))
        };
        let calls: Vec<&CallRecord> = snapshot.calls.iter().filter(reports).collect();
        let is_declared = |name: &PropertyName| {
            let mut elements = calls.iter().filter_map(|call| snapshot.assembly.topology.get(&call.element));
            elements.any(|element| element.properties.get(name).is_some_and(|property| property.read_only))
        };
        if !answer.published.0.keys().all(is_declared) {
            return Ok(Vec::new());
        }
        Ok(calls.into_iter().filter_map(unknown).filter(|(_, outputs)| !outputs.is_empty()).collect())
    }

    /// Builds the desired state of an assembly, and returns it with warnings. `stop` ends a search for the target of a
    /// reference.
    pub(crate) async fn desired(
        &self,
        input: &AssemblyInput,
        stop: &Stop,
    ) -> Result<(Desired, Diagnostics), Error> {
        let store = self.store(false).await?;
        let engine_env = self.engine_env();
        // Boxed because of its size.
        let (mut desired, warnings) =
            Box::pin(desired(&self.project, &engine_env, input, store.clone(), stop)).await?;
        let topology = &desired.topology;
        // A scaled cluster has nodes that the descriptor does not list. The records are needed to find them
        // by name.
        let is_partial = !(input.replace.is_empty() && input.target.is_empty() && input.except.is_empty());
        let before = match store.filter(|_| is_partial) {
            Some(store) => store.load_sealed(topology.name()).await?,
            None => None,
        };
        let names = |parts: &[String]| -> Result<_, Error> {
            parts.iter().map(|part| part_of(topology, before.as_ref(), part)).collect()
        };
        let (replace, target, except) =
            (names(&input.replace)?, names(&input.target)?, names(&input.except)?);
        if input.protect {
            desired.topology.protect();
        }
        desired.options = UpOptions {
            goal: input.goal,
            adopt: input.adopt,
            replace,
            target,
            except,
            max_unavailable: input.max_unavailable,
            max_surge: input.max_surge,
            current_packages: input.current_packages,
            ..UpOptions::default()
        };
        Ok((desired, warnings))
    }

    pub(crate) async fn store_or_new(&self) -> Result<Arc<dyn Store>, Error> {
        match self.store(true).await? {
            Some(store) => Ok(store),
            None => Err(Error::Store(windlass_store::StoreError::Closed)),
        }
    }
}

/// Returns the error for an assembly whose lease another program holds. If the holder has begun a process,
/// the error names this process.
async fn held(store: &dyn Store, assembly: AssemblyName, by: Box<Holder>, since: Timestamp) -> Error {
    match store.processes_of(&assembly, None, 1).await.map(|mut newest| newest.pop()) {
        Ok(Some(process)) if !process.status.is_final() => Error::InUse {
            assembly,
            by,
            process: process.id,
            intent: process.title(),
            since: process.created,
        },
        _ => StoreError::Held { scope: assembly, by, since }.into(),
    }
}

/// Finds a part of an assembly by its full name or by its name relative to the assembly, such as `B__1`. Searches
/// `topology` first, then the recorded topology in `before`, and then the records of the parts in `before`. A part that
/// windlass has not removed yet can have a record although neither topology contains the part.
fn part_of(topology: &Topology, before: Option<&Snapshot>, part: &str) -> Result<ElementName, Error> {
    let is_named = |name: &ElementName| name.local() == part || name.as_str() == part;
    let find = |topology: &Topology| {
        let found = topology.elements().iter().find(|element| is_named(&element.name));
        found.map(|element| (element.name.clone(), element.kind))
    };
    let recorded = || {
        let mut records = before?.elements.values().filter(|record| record.state != State::Absent);
        Some((records.find(|record| is_named(&record.name))?.name.clone(), ElementKind::Resource))
    };
    let found = find(topology).or_else(|| find(&before?.assembly.topology)).or_else(recorded);
    let (name, kind) = found.ok_or_else(|| Error::NoPart {
        assembly: topology.name().clone(),
        part: part.to_owned(),
        known: topology.elements().iter().skip(1).map(|e| e.name.local().to_owned()).collect(),
    })?;
    match kind {
        ElementKind::Reference => Err(Error::IsReference { part: part.to_owned() }),
        _ => Ok(name),
    }
}
