//! Launch, reconfiguration, health checks and removal of applications.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_driver::{Package, location};
use windlass_engine::{
    Absence, BaseVersion, CheckEnd, Checked, Consent, EngineError, Request, Stop, check as check_health,
    is_destroyed, parameters_of,
};
use windlass_manifest::Role;
use windlass_manifest::environment::Environment;
use windlass_manifest::resolution::Offers;
use windlass_model::assembly::{ElementKind, OnPackageChange};
use windlass_model::document::DocumentName;
use windlass_model::record::{CallRecord, Intent, LaunchedFrom};
use windlass_model::request::RequestRecord;
use windlass_model::{Action, AssemblyName, Element, State, Topology, Transition};
use windlass_script::is_other_script;
use windlass_source::{Diagnostic, Diagnostics};
use windlass_store::{Snapshot, Store, StoreError};

use super::desired::{Inputs, Launchable, Services, desired};
use super::error::LaunchError;
use super::title::free;
use crate::applications::{ApplicationError, PublishedApplication};
use crate::error::Error;
use crate::open::Windlass;
use crate::request::Pending;
use crate::started::Started;
use crate::view::plan::PlanView;
use crate::wiring::{Mapping, Wiring, owned};

/// The input for launching an application or a factory.
#[derive(Debug, Clone)]
pub struct LaunchInput {
    /// The environment in which the application is launched.
    pub environment: DocumentName,
    /// The name of the new assembly. If `None`, windlass derives the name from the title.
    pub name: Option<AssemblyName>,
    /// The name of the factory of the application. If `None`, windlass chooses the factory, which is possible if
    /// only one factory fits.
    pub factory: Option<AssemblyName>,
    /// Values of the configuration pins, by the exposed ids of the pins.
    pub parameters: BTreeMap<String, Value>,
    /// The values of environment variables. A key is the name of a variable, without a prefix such as
    /// `WINDLASS_PARAM_`. For example, the key for the pin `configuration.size` is `CONFIGURATION_SIZE`. A pin without
    /// an entry in `parameters` gets the value of its variable.
    pub variables: BTreeMap<String, String>,
    /// The parameters whose values were on the command line, where other people could see them.
    pub open: Vec<String>,
}

/// The input for reconfiguring an application.
#[derive(Debug, Clone, Default)]
pub struct ReconfigureInput {
    /// The new values of configuration pins, by the exposed ids of the pins. Other pins keep their values.
    pub parameters: BTreeMap<String, Value>,
    /// The parameters whose values were on the command line, where other people could see them.
    pub open: Vec<String>,
}

/// The functions that launch, reconfigure and check applications.
pub struct Launcher<'w> {
    pub(super) windlass: &'w Windlass,
}

impl<'w> Launcher<'w> {
    /// Creates a launcher for the applications of a project.
    pub fn new(windlass: &'w Windlass) -> Self {
        Self { windlass }
    }

    /// Prepares the launch of a published revision. If the input contains no name, the method chooses a free name for
    /// the new assembly. Simultaneous launches then get different names.
    ///
    /// # Errors
    /// Returns all problems that prevent the launch. In this case, nothing has been changed.
    pub async fn launch(
        &self,
        input: &LaunchInput,
        published: &PublishedApplication,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let mut refused = Vec::new();
        loop {
            let (name, request, warnings) = self.launch_request(input, published, &refused).await?;
            match self.windlass.bring_up(&name, request, warnings, stop).await {
                // The next free name is tried, because a simultaneous command has just taken this name.
                Err(error) if input.name.is_none() && is_taken(&name, &error) => refused.push(name),
                started => return started,
            }
        }
    }

    /// Submits a request to launch a published revision, and reserves the name of the new assembly. If the input
    /// contains no name, the method chooses a free name. Simultaneous requests then get different names.
    ///
    /// # Errors
    /// Returns all problems that prevent the launch.
    pub async fn ask_launch(
        &self,
        input: &LaunchInput,
        published: &PublishedApplication,
    ) -> Result<Pending<'w>, Error> {
        let mut refused = Vec::new();
        loop {
            let (name, request, warnings) = self.launch_request(input, published, &refused).await?;
            match self.windlass.ask_to_create(&name, request, warnings).await? {
                Some(pending) => return Ok(pending),
                // A simultaneous command has just taken this name.
                None if input.name.is_none() => refused.push(name),
                None => {
                    let refusal = self.name(input, published, &refused).await.err();
                    return Err(refusal.unwrap_or_else(|| LaunchError::NameInUse(name).into()));
                }
            }
        }
    }

    /// Plans the launch of a published revision, without changing anything.
    ///
    /// # Errors
    /// Returns all problems that prevent the launch.
    pub async fn preview_launch(
        &self,
        input: &LaunchInput,
        published: &PublishedApplication,
    ) -> Result<(PlanView, Diagnostics), Error> {
        let (name, request, warnings) = self.launch_request(input, published, &[]).await?;
        let preview = self.windlass.preview_up(&name, request).await?;
        Ok((PlanView::of(name, preview), warnings))
    }

    /// Prepares the request that launches a published revision, and changes nothing. Returns the name that the new
    /// assembly will get, the request, and warnings. If the input contains a name, the assembly gets this name.
    /// Otherwise, it gets a name that is not in `refused`.
    ///
    /// # Errors
    /// Returns all problems that prevent the launch.
    async fn launch_request(
        &self,
        input: &LaunchInput,
        published: &PublishedApplication,
        refused: &[AssemblyName],
    ) -> Result<(AssemblyName, Request, Diagnostics), Error> {
        let application = Launchable::new(published, self.windlass.drivers())?;
        let environment = self.windlass.environments().find(&input.environment).await?;
        let owner = self.factory(&application.role, published, input, &environment).await?;
        let missing = || LaunchError::NoScriptingService { environment: input.environment.to_string() };
        let location = environment.scripting.as_deref().ok_or_else(missing)?;
        self.is_declared(location, &input.environment)?;
        let name = self.name(input, published, refused).await?;
        let inputs = Inputs {
            name: &name,
            environment: input.environment.as_str(),
            location,
            owner,
            parameters: &input.parameters,
            variables: &input.variables,
            open: &input.open,
            adopted: false,
        };
        let (mut desired, warnings) = desired(&application, &inputs)?;
        // A queued launch is executed later. If another launch has taken the name by then, the engine refuses
        // the queued launch.
        desired.options.only_new = true;
        Ok((name, Request::up(desired), warnings))
    }

    /// Refuses a launch if `windlass.yaml` does not declare the location of the environment's scripts. The engine would
    /// also refuse the launch, but the advice in its error message suits only existing parts.
    fn is_declared(&self, location: &str, environment: &DocumentName) -> Result<(), LaunchError> {
        let locations = self.windlass.project().locations();
        let known: Vec<String> = locations.map(|declared| declared.name.clone()).collect();
        // Without declared locations, scripts run on this machine, at a location of any name.
        if known.is_empty() || known.iter().any(|name| name == location) {
            return Ok(());
        }
        let (environment, location) = (environment.to_string(), location.to_owned());
        Err(LaunchError::UnknownLocation { environment, location, known })
    }

    /// Returns the factory of the application `published`. `role` is the role that the manifest declares:
    /// application or factory. For a factory, returns `None`.
    ///
    /// # Errors
    /// Fails if the environment has no matching factory. If several factories match, `input` must name one of them.
    /// Also fails if the factory requires a signal of another service, and no service of the environment provides the
    /// signal.
    async fn factory(
        &self,
        role: &Role,
        published: &PublishedApplication,
        input: &LaunchInput,
        environment: &Environment,
    ) -> Result<Option<AssemblyName>, Error> {
        let (name, chosen) = (&input.environment, input.factory.as_ref());
        let of =
            |existing: &Offers| Services { name, environment, existing }.factory(role, published, chosen);
        let Some(store) = self.windlass.store(false).await? else { return Ok(of(&Offers::new())?) };
        let mut wiring = Wiring::new(store);
        let existing = wiring.offers(name, environment).await?;
        let Some(owner) = of(&existing)? else { return Ok(None) };
        let Some(record) = wiring.assembly(&owner).await? else { return Ok(Some(owner)) };
        let required = wiring.services(&record).await?.map(|services| services.required.clone());
        for mapping in required.unwrap_or_default() {
            let state = wiring.mapping(&record, name, &mapping.to_string()).await?;
            if let Mapping::Open(why) = state {
                let title = published.title.clone();
                return Err(LaunchError::PendingReference { title, factory: owner, mapping, why }.into());
            }
        }
        Ok(Some(owner))
    }

    /// Chooses the name of the assembly that a launch will create: the requested name, or else the short name of the
    /// published application. If the short name is taken, or if `refused` contains it, appends a number.
    ///
    /// # Errors
    /// Fails if an assembly already has the requested name, or if an open request has reserved it.
    async fn name(
        &self,
        input: &LaunchInput,
        published: &PublishedApplication,
        refused: &[AssemblyName],
    ) -> Result<AssemblyName, Error> {
        let store = self.windlass.store(false).await?;
        let Some(name) = &input.name else {
            let taken = match &store {
                Some(store) => taken_names(&**store).await?,
                None => BTreeSet::new(),
            };
            return Ok(free(&published.name, |name| taken.contains(name) || refused.contains(name)));
        };
        let Some(store) = store else { return Ok(name.clone()) };
        if store.assembly(name).await?.is_some() {
            return Err(LaunchError::NameInUse(name.clone()).into());
        }
        let mut requests = store.requests().await?.into_iter();
        match requests.find(|request| request.assembly == *name) {
            Some(request) => {
                Err(LaunchError::NameReserved { name: name.clone(), request: request.id }.into())
            }
            None => Ok(name.clone()),
        }
    }

    /// Prepares the reconfiguration of an application. Pins without a new value keep their value. `published`
    /// is the revision to which the application belongs after the reconfiguration: its present revision, or a
    /// later one.
    ///
    /// # Errors
    /// Returns all problems that prevent the reconfiguration. In this case, nothing has been changed.
    pub async fn reconfigure(
        &self,
        name: &AssemblyName,
        input: &ReconfigureInput,
        published: &PublishedApplication,
        stop: &Stop,
    ) -> Result<Started, Error> {
        let (request, warnings) = self.reconfigure_request(name, input, published).await?;
        match self.windlass.bring_up(name, request, warnings, stop).await {
            // The engine may have completed the records of an interrupted process, so the reason is known only now.
            Err(error) => Err(self.why_refused(name, error).await?),
            Ok(started) => Ok(started),
        }
    }

    /// Plans the reconfiguration of an application, without changing anything.
    ///
    /// # Errors
    /// Returns all problems that prevent the reconfiguration.
    pub async fn preview_reconfigure(
        &self,
        name: &AssemblyName,
        input: &ReconfigureInput,
        published: &PublishedApplication,
    ) -> Result<(PlanView, Diagnostics), Error> {
        let (request, warnings) = self.reconfigure_request(name, input, published).await?;
        match self.windlass.preview_up(name, request).await {
            Ok(preview) => Ok((PlanView::of(name.clone(), preview), warnings)),
            Err(error) => Err(self.why_refused(name, error).await?),
        }
    }

    /// Explains `error`, the error of a reconfiguration. If the engine has refused to replace the instance, the
    /// returned error states why the reconfiguration can't keep the instance. Any other error is returned unchanged.
    async fn why_refused(&self, name: &AssemblyName, error: Error) -> Result<Error, Error> {
        match error {
            Error::Engine(EngineError::KeepsNoInstance(_)) => {
                Ok(why_replaced(&self.windlass.open_snapshot(name).await?).into())
            }
            error => Ok(error),
        }
    }

    /// Submits the reconfiguration of an application as a request.
    ///
    /// # Errors
    /// Returns all problems that prevent the reconfiguration.
    pub async fn ask_reconfigure(
        &self,
        name: &AssemblyName,
        input: &ReconfigureInput,
        published: &PublishedApplication,
    ) -> Result<Pending<'w>, Error> {
        self.is_not_queued(name).await?;
        let (request, warnings) = self.reconfigure_request(name, input, published).await?;
        self.windlass.ask_for_new(name, request, warnings).await
    }

    /// Refuses a reconfiguration if a request with the intent `Up` is already queued for the application. The engine
    /// would later refuse the reconfiguration, because the queued request changes the application first.
    async fn is_not_queued(&self, name: &AssemblyName) -> Result<(), Error> {
        let Some(store) = self.windlass.store(false).await? else { return Ok(()) };
        let mut requests = store.requests().await?.into_iter();
        match requests.find(|request| request.assembly == *name && request.intent == Intent::Up) {
            Some(RequestRecord { id, .. }) => {
                Err(LaunchError::Queued { name: name.clone(), request: id }.into())
            }
            None => Ok(()),
        }
    }

    async fn reconfigure_request(
        &self,
        name: &AssemblyName,
        input: &ReconfigureInput,
        published: &PublishedApplication,
    ) -> Result<(Request, Diagnostics), Error> {
        let snapshot = self.windlass.open_snapshot(name).await?;
        let from = launched_from(&snapshot)?;
        is_launched(&snapshot)?;
        let application = Launchable::new(published, self.windlass.drivers())?;
        let before = parameters_of(&snapshot);
        let (mut parameters, dropped): (BTreeMap<String, Value>, BTreeMap<String, Value>) =
            before.clone().into_iter().partition(|(pin, _)| application.checked.parameter(pin).is_some());
        parameters.extend(input.parameters.clone());
        let can_reconfigure = match &application.role {
            Role::Application(application) => application.reconfiguration.is_some(),
            // A factory needs no reconfiguration script, because each call of the factory's applications
            // reads the configuration of the factory.
            Role::Factory(_) => true,
        };
        let changed = input.parameters.iter().filter(|(pin, value)| before.get(*pin) != Some(*value));
        let pins: Vec<String> = changed.map(|(pin, _)| pin.clone()).collect();
        if !can_reconfigure && !pins.is_empty() {
            return Err(LaunchError::NoReconfiguration { name: name.clone(), pins }.into());
        }
        let inputs = Inputs {
            name,
            environment: &from.environment,
            location: location_of(&snapshot),
            owner: snapshot.assembly.owner.clone(),
            parameters: &parameters,
            // Pins without a new value keep their value.
            variables: &BTreeMap::new(),
            open: &input.open,
            adopted: from.adopted,
        };
        let (mut desired, mut warnings) = desired(&application, &inputs)?;
        if !self.has_other_reconfiguration(&snapshot, &application).await? {
            desired.topology = on_package_change(&desired.topology, OnPackageChange::Keep);
        }
        desired.options.keeps_instances = true;
        // The request contains the values of all pins. Another command may change some of them before the request runs.
        desired.options.base = Some(Box::new(BaseVersion::of(&snapshot.assembly)));
        warnings.extend(dropped.into_keys().map(|pin| {
            let message =
                format!("revision {} has no parameter `{pin}`, so its value is dropped", published.revision);
            Diagnostic::warning(windlass_manifest::codes::UNKNOWN_PARAMETER, message)
        }));
        // If further processes follow this one, they must not re-create the instance either.
        Ok((Request::up(desired).with_consent(Consent::None), warnings))
    }

    /// Tells whether the reconfiguration script of `application` differs from the script of the package with which the
    /// instance was last configured. If it differs, the script runs even if no value changes.
    async fn has_other_reconfiguration(
        &self,
        snapshot: &Snapshot,
        application: &Launchable<'_>,
    ) -> Result<bool, Error> {
        let new = application.package()?;
        let record = component(snapshot).and_then(|found| snapshot.elements.get(&found.name));
        let Some(made) = record.and_then(|record| record.made.as_ref()) else { return Ok(true) };
        let store = self.windlass.store_of(&snapshot.assembly.name).await?;
        let old = store.package(&made.package).await?;
        let Some(old) = old.and_then(|record| Package::from_record(record).ok()) else { return Ok(true) };
        Ok(is_other_script(&old, &new, &Action::Transition(Transition::Reconfigure)))
    }

    /// Returns the request that destroys an application with the scripts of the revision `published`. Without this
    /// request, the scripts of the application's own revision would run, and a mistake in them could not be corrected.
    ///
    /// # Errors
    /// Returns all problems of the revision's manifest and scripts.
    pub fn destroy_with(&self, published: &PublishedApplication) -> Result<Request, Error> {
        let application = Launchable::new(published, self.windlass.drivers())?;
        Ok(Request::down_with(vec![application.package()?]))
    }

    /// Returns the published application from which an assembly was launched.
    ///
    /// # Errors
    /// Fails if there is no such assembly, or if it was not launched from an application.
    pub async fn launched_from(&self, name: &AssemblyName) -> Result<LaunchedFrom, Error> {
        Ok(launched_from(&self.windlass.snapshot(name).await?)?.clone())
    }

    /// Returns the published revision to which an application belongs. `from` is the result of
    /// [`launched_from`](Self::launched_from).
    ///
    /// # Errors
    /// Fails if the revision is no longer published.
    pub async fn own_revision(
        &self,
        name: &AssemblyName,
        from: &LaunchedFrom,
    ) -> Result<PublishedApplication, Error> {
        match self.windlass.applications().find(&from.title, Some(from.revision)).await {
            Err(Error::Application(ApplicationError::NoRevision { title, revision, latest })) => {
                Err(LaunchError::RevisionGone { name: name.clone(), title, revision, latest }.into())
            }
            found => found,
        }
    }

    /// Returns the applications of a factory. If `factory` is the name of an application, the list is empty.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn applications_of(&self, factory: &AssemblyName) -> Result<Vec<AssemblyName>, Error> {
        let Some(store) = self.windlass.store(false).await? else { return Ok(Vec::new()) };
        Ok(owned(&*store, factory).await?.into_iter().map(|owned| owned.assembly).collect())
    }

    /// Checks the health of applications, and applies the reports. Without names, checks all applications. If
    /// a script reports that an application is destroyed, removes the application; its history stays.
    ///
    /// A check without names doubts some reports. If a factory has several running applications, and all of them are
    /// reported as destroyed, no application is removed, and the checks fail. The scripts may have the credentials of
    /// another account, and so see none of the instances.
    ///
    /// # Errors
    /// Fails if one of the names is not an application, `stop` is triggered, or the store fails.
    pub async fn check(&self, names: &[AssemblyName], stop: &Stop) -> Result<Vec<Checked>, Error> {
        for name in names {
            launched_from(&self.windlass.snapshot(name).await?)?;
        }
        let Some(store) = self.windlass.store(false).await? else { return Ok(Vec::new()) };
        // Only applications have an owner, which is their factory.
        let (names, absence) = if names.is_empty() {
            (store.owned_names().await?, Absence::Doubted)
        } else {
            (names.to_vec(), Absence::Believed)
        };
        let engine = self.windlass.engine(store);
        let checked = check_health(&engine, &names, absence, &self.windlass.holder(), stop).await?;
        for destroyed in checked.iter().filter(|checked| checked.end == CheckEnd::Destroyed) {
            self.finish_destroyed(&destroyed.name, stop).await?;
        }
        Ok(checked)
    }

    /// Removes an application if its scripts have reported that its instance is destroyed. Returns whether the scripts
    /// have reported this. The history of the application stays.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn finish_destroyed(&self, name: &AssemblyName, stop: &Stop) -> Result<bool, Error> {
        let Some(store) = self.windlass.store(false).await? else { return Ok(false) };
        let Some(snapshot) = store.load(name).await? else { return Ok(false) };
        if !is_destroyed(&snapshot) {
            return Ok(false);
        }
        // No instance of the application exists, so no script runs.
        match self.windlass.change(name, Intent::Down, stop).await {
            Ok(started) => drop(started.run(stop).await?),
            // The holder of the lease removes the application, so this process leaves it alone.
            Err(error) if error.holder().is_some() => {}
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    pub(super) async fn package(&self, snapshot: &Snapshot) -> Result<Option<Package>, Error> {
        let store = self.windlass.store_of(&snapshot.assembly.name).await?;
        let digest = component(snapshot).and_then(|found| snapshot.assembly.packages.get(&found.descriptor));
        let Some(digest) = digest else { return Ok(None) };
        Ok(store.package(digest).await?.and_then(|record| Package::from_record(record).ok()))
    }
}

/// Returns the names that a new assembly can't have: the names of existing assemblies, and the names in queued requests.
/// For example, a queued launch creates its assembly later.
pub(super) async fn taken_names(store: &dyn Store) -> Result<BTreeSet<AssemblyName>, StoreError> {
    let mut taken: BTreeSet<AssemblyName> = store.assembly_names().await?.into_iter().collect();
    taken.extend(store.requests().await?.into_iter().map(|request| request.assembly));
    Ok(taken)
}

pub(super) fn launched_from(snapshot: &Snapshot) -> Result<&LaunchedFrom, LaunchError> {
    let not_one = || LaunchError::NotAnApplication(snapshot.assembly.name.clone());
    snapshot.assembly.application.as_ref().ok_or_else(not_one)
}

/// Tells whether a launch failed because another command uses the name. That command has created an assembly of this
/// name, or it holds the lease on the name and may create the assembly.
fn is_taken(name: &AssemblyName, error: &Error) -> bool {
    match error {
        Error::Engine(EngineError::NameTaken { .. } | EngineError::NameReserved { .. }) => true,
        Error::Store(StoreError::Held { scope: held, .. }) | Error::InUse { assembly: held, .. } => {
            held == name
        }
        _ => false,
    }
}

/// Refuses an application that is being destroyed.
pub(super) fn is_kept(snapshot: &Snapshot) -> Result<(), LaunchError> {
    let name = &snapshot.assembly.name;
    if snapshot.assembly.goal == State::Absent {
        Err(LaunchError::BeingDestroyed(name.clone()))
    } else {
        Ok(())
    }
}

/// Refuses an application if its launch has not succeeded, or if its destroy script has begun. The script also counts
/// as begun if windlass was killed during the call of the script. If the destruction failed before the script began,
/// the instance still exists. The application is then not refused.
fn is_launched(snapshot: &Snapshot) -> Result<(), LaunchError> {
    let name = || snapshot.assembly.name.clone();
    let removes = |call: &CallRecord| {
        matches!(call.action, Action::Transition(Transition::Uninstall | Transition::Delete))
    };
    if snapshot.calls.iter().any(removes) {
        return Err(LaunchError::BeingDestroyed(name()));
    }
    match component(snapshot).and_then(|found| snapshot.elements.get(&found.name)) {
        Some(record) if matches!(record.attempted, Some(Transition::Uninstall | Transition::Delete)) => {
            Err(LaunchError::BeingDestroyed(name()))
        }
        Some(record) if record.state == State::Absent && snapshot.assembly.goal == State::Absent => {
            Err(LaunchError::BeingDestroyed(name()))
        }
        Some(record) if !matches!(record.state, State::Absent | State::Created | State::Failed) => Ok(()),
        _ => Err(LaunchError::NotLaunched(name())),
    }
}

/// Returns a copy of the topology whose resources react to a change of their package as `reaction` says.
fn on_package_change(topology: &Topology, reaction: OnPackageChange) -> Topology {
    let mut elements = topology.elements().to_vec();
    for element in elements.iter_mut().filter(|element| element.kind == ElementKind::Resource) {
        element.on_package_change = Some(reaction);
    }
    Topology::new(topology.name().clone(), elements, topology.relationships().to_vec())
}

/// Returns the reason why a reconfiguration can't keep the instance of an application.
fn why_replaced(snapshot: &Snapshot) -> LaunchError {
    if let Err(reason) = is_launched(snapshot) {
        return reason;
    }
    let name = snapshot.assembly.name.clone();
    let record = component(snapshot).and_then(|found| snapshot.elements.get(&found.name));
    match record.map(|record| record.state) {
        Some(State::Active) | None => LaunchError::WouldReplace(name),
        // `retry` would destroy the application.
        Some(_) if snapshot.assembly.goal == State::Absent => LaunchError::BeingDestroyed(name),
        Some(state) => LaunchError::NotActive { name, state },
    }
}

/// Returns the scripted component of an application's topology.
pub(super) fn component(snapshot: &Snapshot) -> Option<&Element> {
    let elements = snapshot.assembly.topology.elements().iter();
    elements.into_iter().find(|element| element.kind == ElementKind::Resource)
}

/// Returns the location where the scripts of an application run.
pub(super) fn location_of(snapshot: &Snapshot) -> &str {
    let property = component(snapshot).and_then(|found| found.properties.get(location::DEPLOYMENT_LOCATION));
    property.and_then(|property| property.value.as_ref()?.as_literal()).unwrap_or_default()
}
